//! Properties over generated answers and generated nonsense.

use proptest::prelude::*;

use crate::json::{Json, Number, Object, compact, parse};
use crate::protocol::Timeline;
use crate::protocol::{Framer, Framing, Wire, WireEvent};

use super::super::Messages;
use super::recorder::{difference, events, loss, payloads, record, record_merged, record_text, record_unary};

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// A content block as a unary answer has it.
fn block() -> impl Strategy<Value = Json> {
    let text = "[a-z\u{e9}\u{1F980}\"\\\\\n ]{0,6}";
    let input = prop::collection::vec(("[a-c]{1,2}", -9_i64..9), 0..3).prop_map(|members| {
        let members = members
            .into_iter()
            .map(|(name, value)| (name, parse(&value.to_string()).unwrap()));
        let mut input = Object::new();
        members.for_each(|(name, value)| input.set(name, value));
        Json::Object(input)
    });
    prop_oneof![
        text.prop_map(|text| object(vec![("type", "text".into()), ("text", text.into())])),
        (text, "[a-z]{0,4}").prop_map(|(text, signature)| object(vec![
            ("type", "thinking".into()),
            ("thinking", text.into()),
            ("signature", signature.into())
        ])),
        ("[a-z]{1,4}", input.clone()).prop_map(|(id, input)| object(vec![
            ("type", "tool_use".into()),
            ("id", id.into()),
            ("name", "f".into()),
            ("input", input)
        ])),
        input.prop_map(|input| object(vec![
            ("type", "server_tool_use".into()),
            ("id", "s".into()),
            ("name", "web_search".into()),
            ("input", input)
        ])),
        text.prop_map(|data| object(vec![("type", "redacted_thinking".into()), ("data", data.into())])),
        text.prop_map(|text| object(vec![
            ("type", "text".into()),
            ("text", text.into()),
            ("citations", vec![Json::from("c")].into())
        ])),
    ]
}

fn message() -> impl Strategy<Value = Json> {
    let reason = prop::sample::select(vec!["end_turn", "tool_use", "max_tokens", "brand_new"]);
    let usage = (0_u64..1000, 0_u64..1000, prop::option::of(0_u64..1000));
    (prop::collection::vec(block(), 0..6), reason, usage).prop_map(
        |(content, reason, (input, output, cached))| {
            let mut usage = vec![("input_tokens", input.into()), ("output_tokens", output.into())];
            usage.extend(cached.map(|cached| ("cache_read_input_tokens", cached.into())));
            object(vec![
                ("id", "msg_1".into()),
                ("type", "message".into()),
                ("role", "assistant".into()),
                ("model", "m".into()),
                ("content", content.into()),
                ("stop_reason", reason.into()),
                ("stop_sequence", Json::Null),
                ("usage", object(usage)),
            ])
        },
    )
}

/// Documents that look like events and are wrong in every place.
fn nonsense() -> impl Strategy<Value = Json> {
    let words = [
        "",
        "x",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
        "text",
        "thinking",
        "tool_use",
        "text_delta",
        "thinking_delta",
        "signature_delta",
        "input_json_delta",
        "citations_delta",
        "$content",
        "$usage",
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        Just(Json::Bool(true)),
        any::<u64>().prop_map(|number| Json::Number(Number::from_u64(number))),
        (0_u64..2).prop_map(Json::from),
        prop::sample::select(words.to_vec()).prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let names = vec![
            "type",
            "type",
            "index",
            "message",
            "content_block",
            "delta",
            "content",
            "usage",
            "stop_reason",
            "text",
            "thinking",
            "signature",
            "partial_json",
            "citation",
            "input",
            "id",
            "name",
            "error",
            "input_tokens",
            "output_tokens",
            "body",
            "end",
            "usage_late",
            "usage_lacks",
            "tool",
            "done",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            prop::collection::vec((prop::sample::select(names), inner), 0..6).prop_map(object),
        ]
    })
}

/// Nonsense where a decoder looks for it.
fn event() -> impl Strategy<Value = Json> {
    let place = |word: &'static str, member: &'static str| {
        (nonsense(), 0_u64..2).prop_map(move |(inner, index)| {
            object(vec![
                ("type", word.into()),
                ("index", index.into()),
                (member, inner),
            ])
        })
    };
    prop_oneof![
        nonsense(),
        place("message_start", "message"),
        place("content_block_start", "content_block"),
        place("content_block_delta", "delta"),
        place("content_block_stop", "x"),
        place("message_delta", "delta"),
        place("message_delta", "usage"),
        place("error", "error"),
    ]
}

proptest! {
    #[test]
    fn canonical_to_wire_to_canonical_is_the_identity(body in message()) {
        let recorded = record_unary(200, &body);
        prop_assert_eq!(difference(&body, &Messages.render_unary(&recorded.answer()), ""), None);
        // Block by block the same message as a stream, and from the stream the same frames.
        let wire = recorded.wire();
        let streamed = record_merged(&events(&wire));
        prop_assert_eq!(&streamed.frames, &recorded.frames);
        prop_assert_eq!(&streamed.usage, &recorded.usage);
        prop_assert_eq!(&streamed.tail.odd, &None);
        prop_assert_eq!(loss(&wire, &streamed), None);
        let mut again = Messages.assemble(&streamed.rendered());
        again.as_object_mut().unwrap().remove("message_stop");
        prop_assert_eq!(difference(&body, &again, ""), None);
        prop_assert_eq!(difference(&body, &Messages.render_unary(&streamed.answer()), ""), None);
        // What was learned from the stream gives the same stream again, byte for byte.
        prop_assert_eq!(streamed.wire(), record_merged(&events(&streamed.wire())).wire());
    }

    #[test]
    fn any_tick_gives_the_same_answer(body in message(), tick in 0_u64..80) {
        let wire = record_unary(200, &body).wire();
        let recorded = record(&events(&wire), Timeline::new(tick));
        prop_assert_eq!(loss(&wire, &recorded), None);
        let frames: u64 = recorded.frames.iter().map(|frame| frame.delta_us).sum();
        prop_assert!(frames <= 10 * events(&wire).len() as u64);
    }

    #[test]
    fn any_split_of_the_bytes_is_the_same_answer(body in message(), cuts in prop::collection::vec(0_usize..4000, 0..6)) {
        let wire = record_unary(200, &body).wire();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (wire.len() + 1)).collect();
        cuts.extend([0, wire.len()]);
        cuts.sort_unstable();
        let mut framer = Framer::new(Framing::Sse);
        let mut split = Vec::new();
        for cut in cuts.windows(2) {
            framer.push(&wire.as_bytes()[cut[0]..cut[1]], &mut split);
        }
        prop_assert_eq!(framer.finish(&mut split), None);
        prop_assert_eq!(&record_merged(&split).frames, &record_merged(&events(&wire)).frames);
    }

    #[test]
    fn a_truncated_stream_is_truncated_and_loses_nothing_that_it_had(body in message(), keep in 0_usize..40) {
        let wire = record_unary(200, &body).wire();
        let all = events(&wire);
        let part = &all[..(keep + 1).min(all.len() - 1)];
        let recorded = record(part, Timeline::new(0));
        prop_assert!(!recorded.tail.complete && !recorded.ended);
        let wired = Messages.assemble(&payloads(part));
        let rendered = Messages.assemble(&recorded.rendered());
        prop_assert_eq!(difference(&wired, &rendered, ""), None);
        if recorded.tail.template.is_some() {
            prop_assert!(!recorded.wire().contains("message_stop"));
        }
    }

    #[test]
    fn nonsense_never_panics(chunks in prop::collection::vec(event(), 0..6)) {
        let events: Vec<WireEvent> = chunks
            .iter()
            .map(|chunk| WireEvent { data: compact(chunk), ..WireEvent::default() })
            .collect();
        let recorded = record(&events, Timeline::new(0));
        Messages.assemble(&recorded.rendered());
        Messages.assemble(&payloads(&events));
        Messages.render_unary(&recorded.answer());
        let wire = recorded.wire();
        // The second time round nothing changes any more.
        let again = record_text(&wire);
        prop_assert_eq!(Messages.assemble(&again.rendered()), Messages.assemble(&record_text(&again.wire()).rendered()));
        for chunk in &chunks {
            // Any document may stand in a cassette as a template.
            let mut unary = record_unary(200, chunk);
            Messages.render_unary(&unary.answer());
            unary.rendered();
            unary.tail.template = Some(chunk.clone());
            unary.frames.clone_from(&recorded.frames);
            Messages.render_unary(&unary.answer());
            unary.rendered();
        }
    }
}
