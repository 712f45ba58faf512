//! Properties over generated answers and generated nonsense.

use proptest::prelude::*;

use super::super::{CHAT, GENERATE};
use crate::json::{Json, Number, compact};
use crate::model::{Frame, ToolCall, Usage};
use crate::protocol::testing::{Recorded, WIDE, events, record, record_payloads, record_unary};
use crate::protocol::{Framer, Framing, Wire};

/// Frames as a recorder makes them: one thing each, the end with its tool calls.
fn answers() -> impl Strategy<Value = Recorded> {
    let step = (any::<bool>(), "[a-z\u{e9}\u{1F980}\"\\\\\n ]{1,6}");
    let tools = prop::collection::vec(("[a-z]{1,5}", "[a-z0-9]{0,4}"), 0..3);
    let end = (prop::sample::select(vec!["stop", "length"]), tools);
    let usage = prop::option::of((0_u64..1000, 0_u64..1000));
    (prop::collection::vec(step, 0..12), end, usage).prop_map(|(steps, (reason, tools), usage)| {
        let steps = steps.into_iter().map(|(is_text, text)| match is_text {
            true => Frame {
                chunk: text,
                ..Frame::default()
            },
            false => Frame {
                reasoning: Some(text),
                ..Frame::default()
            },
        });
        let tool_calls: Vec<ToolCall> = tools
            .iter()
            .enumerate()
            .map(|(at, (name, value))| {
                ToolCall::new(format!("call_{at}"), name, format!(r#"{{"{name}":"{value}"}}"#))
            })
            .collect();
        let called = !tool_calls.is_empty() && reason == "stop";
        let end = Frame {
            tool_calls,
            finish_reason: Some(if called { "tool_calls" } else { reason }.to_owned()),
            native_finish_reason: called.then(|| "stop".to_owned()),
            ..Frame::default()
        };
        Recorded {
            frames: steps.chain([end]).collect(),
            usage: usage.map(|(prompt, completion)| Usage::new(prompt, completion)),
            ..Recorded::default()
        }
    })
}

fn wire(payloads: &[Json]) -> Vec<u8> {
    payloads
        .iter()
        .map(|payload| CHAT.frame(payload))
        .collect::<String>()
        .into_bytes()
}

/// Documents that look like lines and are wrong in every place.
fn nonsense() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<u64>().prop_map(|number| Json::Number(Number::from_u64(number))),
        prop::sample::select(vec!["", "x", "stop", "$text", "$id", "$done_reason"]).prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let names = vec![
            "message",
            "content",
            "thinking",
            "response",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "index",
            "id",
            "done",
            "done_reason",
            "error",
            "eval_count",
            "prompt_eval_count",
            "line",
            "last",
            "tool_call",
            "model",
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
    #[test]
    fn canonical_to_wire_to_canonical_is_the_identity(answer in answers(), generate in any::<bool>()) {
        let endpoint: &dyn Wire = if generate { &GENERATE } else { &CHAT };
        let payloads = answer.rendered(endpoint);
        let recorded = record_payloads(endpoint, &payloads, 0);
        prop_assert_eq!(recorded.said(), answer.said());
        prop_assert!(recorded.tail.complete);
        // What was learned from the stream gives the same stream again.
        prop_assert_eq!(recorded.rendered(endpoint), payloads);
    }

    #[test]
    fn any_split_of_the_bytes_is_the_same_answer(answer in answers(), generate in any::<bool>(), cuts in prop::collection::vec(0_usize..4000, 0..6)) {
        let endpoint: &dyn Wire = if generate { &GENERATE } else { &CHAT };
        let bytes = wire(&answer.rendered(endpoint));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut framer = Framer::new(Framing::Ndjson);
        let mut split = Vec::new();
        for cut in cuts.windows(2) {
            framer.push(&bytes[cut[0]..cut[1]], &mut split);
        }
        prop_assert_eq!(framer.finish(&mut split), None);
        prop_assert_eq!(&split, &events(Framing::Ndjson, &bytes));
        let recorded = record(endpoint, &split, 0);
        prop_assert_eq!(recorded.said(), answer.said());
    }

    #[test]
    fn a_cut_stream_is_recorded_as_truncated(answer in answers(), generate in any::<bool>(), share in 0.0_f64..1.0) {
        let endpoint: &dyn Wire = if generate { &GENERATE } else { &CHAT };
        let bytes = wire(&answer.rendered(endpoint));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "any cut will do")]
        let cut = ((bytes.len() - 1) as f64 * share) as usize;
        let recorded = record(endpoint, &events(Framing::Ndjson, &bytes[..cut]), 0);
        prop_assert!(!recorded.tail.complete);
    }

    #[test]
    fn a_coalesced_answer_assembles_to_the_same(answer in answers()) {
        let payloads = answer.rendered(&CHAT);
        let coarse = record_payloads(&CHAT, &payloads, WIDE);
        prop_assert_eq!(CHAT.assemble(&coarse.rendered(&CHAT)), CHAT.assemble(&payloads));
    }

    #[test]
    fn a_unary_body_is_read_back(answer in answers()) {
        let body = CHAT.render_unary(&answer.answer());
        let recorded = record_unary(&CHAT, 200, &body);
        prop_assert_eq!(&recorded.usage, &answer.usage);
        prop_assert_eq!(compact(&CHAT.render_unary(&recorded.answer())), compact(&body));
    }

    #[test]
    fn nonsense_never_panics(lines in prop::collection::vec(nonsense(), 0..5)) {
        for endpoint in [&CHAT, &GENERATE] {
            let recorded = record_payloads(endpoint, &lines, 0);
            endpoint.assemble(&recorded.rendered(endpoint));
            endpoint.assemble(&lines);
            endpoint.render_unary(&recorded.answer());
            for line in &lines {
                // Any document may stand in a cassette as a template.
                let mut unary = record_unary(endpoint, 200, line);
                endpoint.render_unary(&unary.answer());
                unary.rendered(endpoint);
                unary.tail.template = Some(line.clone());
                unary.frames.clone_from(&recorded.frames);
                endpoint.render_unary(&unary.answer());
                unary.rendered(endpoint);
            }
        }
    }
}
