//! Properties over generated answers and generated nonsense.

use proptest::prelude::*;

use crate::json::{Json, Number, compact};
use crate::model::{Frame, ToolCall, Usage};
use crate::protocol::{Framer, Framing, Wire, WireEvent};

use super::super::OpenAiResponses;
use super::recorder::{COARSE, FINE, Recorded, events, payloads, record, record_unary, wire};

/// Frames as a recorder makes them: one thing each, the end with its tool calls.
fn answers() -> impl Strategy<Value = Recorded> {
    let text = "[a-z\u{e9}\u{1F980}\"\\\\\n ]{1,6}";
    let tools = prop::collection::vec(("[a-z]{1,5}", "[{}\":a-z0-9]{1,8}"), 0..3);
    let reason = prop::sample::select(vec!["stop", "length", "content_filter"]);
    let usage = prop::option::of((0_u64..1000, 0_u64..1000));
    (
        prop::collection::vec((0_u8..4, text), 0..12),
        reason,
        tools,
        usage,
    )
        .prop_map(|(steps, reason, tools, usage)| {
            let mut frames: Vec<Frame> = steps.into_iter().map(|(kind, text)| step(kind, text)).collect();
            let reason = if reason == "stop" && !tools.is_empty() {
                "tool_calls"
            } else {
                reason
            };
            let native = match reason {
                "length" => Some("max_output_tokens"),
                "content_filter" => None,
                _ => Some("completed"),
            };
            frames.push(Frame {
                finish_reason: Some(reason.to_owned()),
                native_finish_reason: native.map(str::to_owned),
                tool_calls: (0..)
                    .zip(tools)
                    .map(|(at, (name, arguments))| ToolCall::new(format!("call_{at}"), name, arguments))
                    .collect(),
                ..Frame::default()
            });
            let usage = usage.map(|(prompt, completion)| Usage::new(prompt, completion));
            Recorded {
                frames,
                usage,
                ..Recorded::default()
            }
        })
}

fn step(kind: u8, text: String) -> Frame {
    let mut frame = Frame::default();
    match kind {
        0 => frame.chunk = text,
        1 => frame.reasoning = Some(text),
        2 => frame.reasoning_signature = Some(text),
        _ => frame.refusal = Some(text),
    }
    frame
}

/// Documents that look like events and are wrong in every place.
fn nonsense() -> impl Strategy<Value = Json> {
    let words = vec![
        "",
        "x",
        "message",
        "reasoning",
        "function_call",
        "output_text",
        "summary_text",
        "refusal",
        "completed",
        "failed",
        "$text",
        "$text 3",
        "$reasoning",
        "$signature",
        "$native",
        "$item",
        "$items",
        "$usage",
        "$id",
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.function_call_arguments.delta",
        "response.completed",
        "response.failed",
        "error",
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        Just(Json::Bool(true)),
        (0_u64..3).prop_map(|number| Json::Number(Number::from_u64(number))),
        any::<u64>().prop_map(|number| Json::Number(Number::from_u64(number))),
        prop::sample::select(words).prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 64, 5, |inner| {
        let names = vec![
            "type",
            "response",
            "item",
            "items",
            "output",
            "output_index",
            "item_id",
            "id",
            "content_index",
            "content",
            "summary",
            "summary_index",
            "part",
            "parts",
            "text",
            "delta",
            "refusal",
            "arguments",
            "call_id",
            "name",
            "status",
            "usage",
            "input_tokens",
            "error",
            "code",
            "incomplete_details",
            "reason",
            "encrypted_content",
            "start",
            "layout",
            "0",
            "added",
            "extra",
            "at",
            "after",
            "event",
            "events",
            "skip",
            "until",
            "numbered",
            "$item",
            "$without",
            "content.0",
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn canonical_to_wire_to_canonical_is_the_identity(answer in answers()) {
        let bytes = wire(&answer.rendered());
        let recorded = record(&events(&bytes), FINE);
        prop_assert_eq!(&recorded.frames, &answer.frames);
        let counts = |usage: &Option<Usage>| usage.as_ref().map(|usage| (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens));
        prop_assert_eq!(counts(&recorded.usage), counts(&answer.usage));
        prop_assert_eq!(&recorded.tail.odd, &None);
        prop_assert!(recorded.ended && recorded.tail.complete);
        // What was learned from the stream gives the same stream again, byte for byte.
        prop_assert_eq!(String::from_utf8(wire(&recorded.rendered())), String::from_utf8(bytes));
    }

    #[test]
    fn any_split_of_the_bytes_is_the_same_answer(answer in answers(), cuts in prop::collection::vec(0_usize..9000, 0..6)) {
        let bytes = wire(&answer.rendered());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut framer = Framer::new(Framing::Sse);
        let mut split = Vec::new();
        for cut in cuts.windows(2) {
            framer.push(&bytes[cut[0]..cut[1]], &mut split);
        }
        prop_assert_eq!(framer.finish(&mut split), None);
        prop_assert_eq!(record(&split, FINE).frames, answer.frames);
    }

    #[test]
    fn a_coalesced_answer_assembles_to_the_same(answer in answers()) {
        let rendered = answer.rendered();
        let coarse = record(&events(&wire(&rendered)), COARSE);
        prop_assert_eq!(OpenAiResponses.assemble(&coarse.rendered()), OpenAiResponses.assemble(&rendered));
    }

    #[test]
    fn a_stream_that_breaks_off_is_truncated_and_breaks_off_there_again(answer in answers(), keep in 0_usize..40) {
        let mut rendered = answer.rendered();
        rendered.truncate(keep.min(rendered.len() - 1));
        for tick in [FINE, COARSE] {
            let recorded = record(&events(&wire(&rendered)), tick);
            prop_assert!(!recorded.tail.complete && !recorded.ended);
            if !rendered.is_empty() {
                prop_assert_eq!(OpenAiResponses.assemble(&recorded.rendered()), OpenAiResponses.assemble(&rendered));
            }
        }
    }

    #[test]
    fn a_unary_body_is_read_back(answer in answers()) {
        let body = OpenAiResponses.render_unary(&answer.answer());
        let recorded = record_unary(200, &body);
        prop_assert_eq!(compact(&OpenAiResponses.render_unary(&recorded.answer())), compact(&body));
        let of = |answer: &Recorded, part: fn(&Frame) -> Option<&str>| answer.text(part);
        prop_assert_eq!(of(&recorded, |frame| Some(&frame.chunk)), of(&answer, |frame| Some(&frame.chunk)));
        prop_assert_eq!(of(&recorded, |frame| frame.reasoning.as_deref()), of(&answer, |frame| frame.reasoning.as_deref()));
        prop_assert_eq!(recorded.rendered().len(), record_unary(200, &body).rendered().len());
    }

    #[test]
    fn nonsense_never_panics(chunks in prop::collection::vec(nonsense(), 0..6)) {
        let events: Vec<WireEvent> = chunks
            .iter()
            .map(|chunk| WireEvent { data: compact(chunk), ..WireEvent::default() })
            .collect();
        let recorded = record(&events, FINE);
        OpenAiResponses.assemble(&recorded.rendered());
        OpenAiResponses.assemble(&payloads(&events));
        OpenAiResponses.render_unary(&recorded.answer());
        for chunk in &chunks {
            // Any document may stand in a cassette as a template.
            let mut unary = record_unary(200, chunk);
            OpenAiResponses.render_unary(&unary.answer());
            unary.rendered();
            unary.tail.template = Some(chunk.clone());
            unary.frames.clone_from(&recorded.frames);
            OpenAiResponses.render_unary(&unary.answer());
            unary.rendered();
        }
    }
}
