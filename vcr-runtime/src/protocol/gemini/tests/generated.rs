//! Properties over generated answers and generated nonsense.

use proptest::prelude::*;

use super::super::Gemini;
use crate::json::{Json, Number, Object, compact, parse};
use crate::model::{Frame, ToolCall, Usage};
use crate::protocol::testing::{Recorded, WIDE, difference, events, record, record_payloads, record_unary};
use crate::protocol::{Delivery, Framer, Framing, Wire};

/// Frames as a recorder makes them: one thing each, the end with its tool calls.
fn answers() -> impl Strategy<Value = Recorded> {
    let step = (0_u32..2, 0_u8..2, "[a-z\u{e9}\u{1F980}\"\\\\\n ]{1,6}");
    let tools = prop::collection::vec(("[a-z]{1,5}", "[a-z0-9]{0,4}"), 0..3);
    let reason = prop::sample::select(vec![
        ("stop", "STOP"),
        ("length", "MAX_TOKENS"),
        ("content_filter", "SAFETY"),
    ]);
    let usage = prop::option::of((0_u64..1000, 0_u64..1000));
    let ends = (reason.clone(), tools.clone(), reason, tools);
    (prop::collection::vec(step, 0..12), ends, usage).prop_map(|(steps, ends, usage)| {
        let steps = steps.into_iter().map(|(choice, kind, text)| match kind {
            0 => Frame {
                choice,
                chunk: text,
                ..Frame::default()
            },
            _ => Frame {
                choice,
                reasoning: Some(text),
                ..Frame::default()
            },
        });
        let ends = [(0, ends.0, ends.1), (1, ends.2, ends.3)];
        let ends = ends
            .into_iter()
            .map(|(choice, reason, tools)| end_frame(choice, reason, tools));
        Recorded {
            frames: steps.chain(ends).collect(),
            usage: usage.map(|(prompt, completion)| Usage::new(prompt, completion)),
            ..Recorded::default()
        }
    })
}

fn end_frame(choice: u32, (reason, native): (&str, &str), tools: Vec<(String, String)>) -> Frame {
    let called = !tools.is_empty() && reason == "stop";
    let calls = tools.iter().enumerate();
    Frame {
        choice,
        tool_calls: calls
            .map(|(at, (name, value))| {
                ToolCall::new(format!("call_{at}"), name, format!(r#"{{"{name}":"{value}"}}"#))
            })
            .collect(),
        finish_reason: Some(if called { "tool_calls" } else { reason }.to_owned()),
        native_finish_reason: Some(native.to_owned()),
        ..Frame::default()
    }
}

fn array_parameters() -> Object {
    parse(r#"{"stream":true,"alt":"json"}"#)
        .unwrap()
        .as_object()
        .unwrap()
        .clone()
}

fn wire(payloads: &[Json], parameters: &Object) -> Vec<u8> {
    let delivery = Delivery::of(&Gemini, parameters);
    let pieces = payloads
        .iter()
        .enumerate()
        .map(|(place, payload)| delivery.piece(place, payload, None));
    let body: String = pieces.collect();
    (body + delivery.trailer(payloads.len(), None)).into_bytes()
}

/// Documents that look like chunks and are wrong in every place.
fn nonsense() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<u64>().prop_map(|number| Json::Number(Number::from_u64(number))),
        prop::sample::select(vec![
            "",
            "x",
            "STOP",
            "$parts",
            "$usage",
            "$finish_reason",
            "call 0",
            "empty"
        ])
        .prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 48, 4, |inner| {
        let names = vec![
            "candidates",
            "content",
            "parts",
            "text",
            "thought",
            "thoughtSignature",
            "functionCall",
            "name",
            "args",
            "id",
            "partialArgs",
            "jsonPath",
            "stringValue",
            "willContinue",
            "finishReason",
            "index",
            "usageMetadata",
            "promptTokenCount",
            "candidatesTokenCount",
            "promptFeedback",
            "blockReason",
            "error",
            "message",
            "chunk",
            "first",
            "last",
            "close",
            "candidate",
            "signatures",
            "calls",
            "functionCalls",
            "0",
            "usage_lacks",
            "blocked",
            "partial",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            prop::collection::vec((prop::sample::select(names), inner), 0..6).prop_map(|members| {
                Json::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

/// The nonsense where a decoder looks for it.
fn chunk() -> impl Strategy<Value = Json> {
    let place = |path: &'static [&'static str]| {
        nonsense().prop_map(move |inner| {
            path.iter().rev().fold(inner, |inner, name| match *name {
                "[]" => Json::Array(vec![inner]),
                name => Json::Object([(name.to_owned(), inner)].into_iter().collect()),
            })
        })
    };
    prop_oneof![
        nonsense(),
        place(&["candidates", "[]"]),
        place(&["candidates", "[]", "content", "parts", "[]"]),
        place(&["candidates", "[]", "content", "parts", "[]", "functionCall"]),
        place(&["chunk"]),
    ]
}

/// A content with parts of every kind in any order; unsigned text of a kind that continues itself is one part.
fn parts() -> impl Strategy<Value = Vec<String>> {
    let part = (0_u8..5, "[a-z]{1,3}").prop_map(|(kind, word)| match kind {
        0 => format!(r#"{{"text":"{word}"}}"#),
        1 => format!(r#"{{"text":"{word}","thought":true}}"#),
        2 => format!(r#"{{"executableCode":{{"code":"{word}"}}}}"#),
        3 => format!(r#"{{"functionCall":{{"name":"{word}","args":{{}}}},"thoughtSignature":"{word}"}}"#),
        _ => format!(r#"{{"functionCall":{{"name":"{word}","args":{{}},"id":"{word}"}}}}"#),
    });
    prop::collection::vec(part, 1..9)
}

proptest! {
    #[test]
    fn parts_stay_in_their_order(parts in parts(), cuts in prop::collection::vec(any::<bool>(), 9)) {
        let mut contents = vec![Vec::new()];
        for (part, cut) in parts.iter().zip(&cuts) {
            if *cut {
                contents.push(Vec::new());
            }
            contents.last_mut().unwrap().push(part.as_str());
        }
        contents.retain(|parts| !parts.is_empty());
        let last = contents.len() - 1;
        let chunks: Vec<Json> = contents.iter().enumerate().map(|(at, parts)| {
            let end = if at == last { r#","finishReason":"STOP""# } else { "" };
            let parts = parts.join(",");
            parse(&format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{end},"index":0}}]}}"#)).unwrap()
        }).collect();
        for tick in [0, WIDE] {
            let recorded = record_payloads(&Gemini, &chunks, tick);
            let rendered = Gemini.assemble(&recorded.rendered(&Gemini));
            prop_assert_eq!(difference(&Gemini.assemble(&chunks), &rendered, ""), None);
        }
    }

    #[test]
    fn canonical_to_wire_to_canonical_is_the_identity(answer in answers()) {
        let payloads = answer.rendered(&Gemini);
        let recorded = record_payloads(&Gemini, &payloads, 0);
        // Without a template the words of the reasons are ours: the same but for those that Gemini has one word for.
        prop_assert_eq!(recorded.said(), answer.said());
        prop_assert!(recorded.tail.complete);
        // What was learned from the stream gives the same stream again.
        let again: Vec<String> = recorded.rendered(&Gemini).iter().map(compact).collect();
        prop_assert_eq!(again, payloads.iter().map(compact).collect::<Vec<_>>());
    }

    #[test]
    fn any_split_of_the_bytes_is_the_same_answer(answer in answers(), in_array in any::<bool>(), cuts in prop::collection::vec(0_usize..4000, 0..6)) {
        let (framing, parameters) = match in_array {
            true => (Framing::JsonArray, array_parameters()),
            false => (Framing::Sse, Object::new()),
        };
        let bytes = wire(&answer.rendered(&Gemini), &parameters);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut framer = Framer::new(framing);
        let mut split = Vec::new();
        for cut in cuts.windows(2) {
            framer.push(&bytes[cut[0]..cut[1]], &mut split);
        }
        let leftover = framer.finish(&mut split);
        prop_assert_eq!(leftover.as_deref(), in_array.then_some(&b"\n]"[..]));
        prop_assert_eq!(&split, &events(framing, &bytes));
        let recorded = record(&Gemini, &split, 0);
        prop_assert_eq!(recorded.said(), answer.said());
    }

    #[test]
    fn a_stream_cut_before_its_reason_is_recorded_as_truncated(answer in answers(), share in 0.0_f64..1.0) {
        let payloads = answer.rendered(&Gemini);
        let bytes = wire(&payloads, &Object::new());
        let last = Gemini.frame(payloads.last().unwrap()).len();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "any cut will do")]
        let cut = ((bytes.len() - last) as f64 * share) as usize;
        let recorded = record(&Gemini, &events(Framing::Sse, &bytes[..cut]), 0);
        // One choice may have ended before the other began.
        let all_known = recorded.frames.iter().all(|frame| {
            recorded.frames.iter().any(|other| other.choice == frame.choice && other.finish_reason.is_some())
        });
        prop_assert_eq!(recorded.tail.complete, all_known && !recorded.frames.is_empty());
    }

    #[test]
    fn a_coalesced_answer_assembles_to_the_same(answer in answers()) {
        let payloads = answer.rendered(&Gemini);
        let coarse = record_payloads(&Gemini, &payloads, WIDE);
        prop_assert_eq!(Gemini.assemble(&coarse.rendered(&Gemini)), Gemini.assemble(&payloads));
    }

    #[test]
    fn a_unary_body_is_read_back(answer in answers()) {
        let body = Gemini.render_unary(&answer.answer());
        let recorded = record_unary(&Gemini, 200, &body);
        prop_assert_eq!(&recorded.usage, &answer.usage);
        prop_assert_eq!(compact(&Gemini.render_unary(&recorded.answer())), compact(&body));
    }

    #[test]
    fn nonsense_never_panics(chunks in prop::collection::vec(chunk(), 0..5)) {
        let recorded = record_payloads(&Gemini, &chunks, 0);
        Gemini.assemble(&recorded.rendered(&Gemini));
        Gemini.assemble(&chunks);
        Gemini.render_unary(&recorded.answer());
        for chunk in &chunks {
            // Any document may stand in a cassette as a template.
            let mut unary = record_unary(&Gemini, 200, chunk);
            Gemini.render_unary(&unary.answer());
            unary.rendered(&Gemini);
            unary.tail.template = Some(chunk.clone());
            unary.frames.clone_from(&recorded.frames);
            Gemini.render_unary(&unary.answer());
            unary.rendered(&Gemini);
        }
    }
}
