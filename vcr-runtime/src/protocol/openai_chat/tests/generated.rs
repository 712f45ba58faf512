//! Properties over generated answers and generated nonsense.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::json::{Json, Number, compact};
use crate::model::{Frame, ToolCall, Usage};
use crate::protocol::testing::written;
use crate::protocol::{Framer, Framing, Wire, WireEvent};

use super::super::OpenAiChat;
use super::recorder::{Recorded, events, payloads, record, record_unary};

/// Frames as a recorder makes them: one thing each, the end of a choice with its tool calls.
fn answers() -> impl Strategy<Value = Recorded> {
    let text = "[a-z\u{e9}\u{1F980}\"\\\\\n ]{1,6}";
    let step = (0_u32..3, 0_u8..3, text);
    let tools = prop::collection::vec(("[a-z]{1,5}", "[{}\":a-z0-9]{0,8}"), 0..3);
    let end = (
        0_u32..3,
        prop::sample::select(vec!["stop", "length", "tool_calls", "content_filter"]),
        tools,
    );
    let usage = prop::option::of((0_u64..1000, 0_u64..1000));
    (
        prop::collection::vec(step, 0..12),
        prop::collection::vec(end, 0..3),
        usage,
    )
        .prop_map(|(steps, ends, usage)| {
            let mut frames: Vec<Frame> = steps
                .into_iter()
                .map(|(choice, kind, text)| step_frame(choice, kind, text))
                .collect();
            for (choice, reason, tools) in ends {
                if frames
                    .iter()
                    .all(|frame| frame.choice != choice || frame.finish_reason.is_none())
                {
                    frames.push(end_frame(choice, reason, tools));
                }
            }
            let usage = usage.map(|(prompt, completion)| Usage::new(prompt, completion));
            Recorded {
                frames,
                usage,
                ..Recorded::default()
            }
        })
}

fn step_frame(choice: u32, kind: u8, text: String) -> Frame {
    let mut frame = Frame {
        choice,
        ..Frame::default()
    };
    match kind {
        0 => frame.chunk = text,
        1 => frame.reasoning = Some(text),
        _ => frame.refusal = Some(text),
    }
    frame
}

fn end_frame(choice: u32, reason: &str, tools: Vec<(String, String)>) -> Frame {
    let calls = tools.into_iter().enumerate();
    Frame {
        choice,
        finish_reason: Some(reason.to_owned()),
        tool_calls: calls
            .map(|(at, (name, arguments))| ToolCall::new(format!("call_{at}"), name, arguments))
            .collect(),
        ..Frame::default()
    }
}

fn wire(chunks: &[Json]) -> Vec<u8> {
    let mut text: String = chunks.iter().map(|chunk| OpenAiChat.frame(chunk)).collect();
    text.push_str(OpenAiChat.trailer(None));
    text.into_bytes()
}

/// Documents that look like chunks and are wrong in every place.
fn nonsense() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        Just(Json::Bool(true)),
        any::<u64>().prop_map(|number| Json::Number(Number::from_u64(number))),
        prop::sample::select(vec![
            "",
            "x",
            "text",
            "thinking",
            "stop",
            "error",
            "$text",
            "$tool_calls",
            "$usage"
        ])
        .prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 48, 4, |inner| {
        let names = vec![
            "choices",
            "delta",
            "message",
            "index",
            "content",
            "tool_calls",
            "function",
            "function_call",
            "name",
            "id",
            "arguments",
            "usage",
            "prompt_tokens",
            "error",
            "code",
            "finish_reason",
            "native_finish_reason",
            "type",
            "thinking",
            "text",
            "reasoning",
            "reasoning_content",
            "refusal",
            "x_groq",
            "object",
            "chunk",
            "tail",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            prop::collection::vec((prop::sample::select(names), inner), 0..5).prop_map(|members| {
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
        place(&[]),
        place(&["choices"]),
        place(&["choices", "[]"]),
        place(&["choices", "[]", "delta"]),
        place(&["choices", "[]", "delta", "tool_calls", "[]"]),
        place(&["choices", "[]", "message"]),
        place(&["choices", "[]", "message", "content", "[]"]),
    ]
}

proptest! {
    #[test]
    fn canonical_to_wire_to_canonical_is_the_identity(answer in answers()) {
        let bytes = wire(&answer.rendered());
        let recorded = record(&events(&bytes));
        prop_assert_eq!(&recorded.frames, &answer.frames);
        prop_assert_eq!(&recorded.usage, &answer.usage);
        prop_assert_eq!(&recorded.tail.odd, &None);
        // What was learned from the stream gives the same stream again, byte for byte.
        prop_assert_eq!(wire(&recorded.rendered()), bytes);
    }

    #[test]
    fn any_split_of_the_bytes_is_the_same_answer(answer in answers(), cuts in prop::collection::vec(0_usize..4000, 0..6)) {
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
        prop_assert_eq!(split, events(&bytes));
    }

    #[test]
    fn a_cut_stream_is_recorded_as_truncated_and_loses_nothing_that_it_had(answer in answers(), share in 0.0_f64..1.0) {
        let bytes = wire(&answer.rendered());
        let end = bytes.len() - OpenAiChat.trailer(None).len();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "any cut will do")]
        let cut = (end as f64 * share) as usize;
        let seen = events(&bytes[..cut]);
        let recorded = record(&seen);
        // Without the end marker an answer is whole when every choice that has begun has ended.
        let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
        for chunk in payloads(&seen) {
            for choice in chunk.get("choices").and_then(Json::as_array).unwrap_or_default() {
                let number = choice.get("index").and_then(Json::as_u64);
                begun.insert(number);
                ended.extend(choice.get("finish_reason").and_then(Json::as_str).map(|_| number));
            }
        }
        prop_assert_eq!(recorded.tail.complete, !begun.is_empty() && begun == ended);
        let text = |recorded: &Recorded| -> String { recorded.frames.iter().map(|frame| frame.chunk.as_str()).collect() };
        prop_assert!(text(&answer).starts_with(&text(&recorded)));
    }

    #[test]
    fn a_coalesced_answer_assembles_to_the_same(mut answer in answers()) {
        let fine = OpenAiChat.assemble(&answer.rendered());
        answer.coalesce();
        prop_assert_eq!(OpenAiChat.assemble(&answer.rendered()), fine);
    }

    #[test]
    fn a_unary_body_is_read_back(mut answer in answers()) {
        answer.coalesce();
        let body = OpenAiChat.render_unary(&answer.answer());
        let recorded = record_unary(200, &body);
        prop_assert_eq!(&recorded.usage, &answer.usage);
        prop_assert_eq!(compact(&OpenAiChat.render_unary(&recorded.answer())), compact(&body));
        prop_assert_eq!(written(&OpenAiChat, &recorded.answer()), Some(compact(&body)));
        prop_assert_eq!(OpenAiChat.assemble(&recorded.rendered()), OpenAiChat.assemble(&{
            let mut again = record_unary(200, &body);
            again.coalesce();
            again.rendered()
        }));
    }

    #[test]
    fn nonsense_never_panics_and_a_template_of_it_is_stable(chunks in prop::collection::vec(chunk(), 0..5)) {
        let events: Vec<WireEvent> = chunks
            .iter()
            .map(|chunk| WireEvent { data: compact(chunk), ..WireEvent::default() })
            .collect();
        let recorded = record(&events);
        let rendered = recorded.rendered();
        OpenAiChat.assemble(&rendered);
        OpenAiChat.assemble(&payloads(&events));
        OpenAiChat.render_unary(&recorded.answer());
        for chunk in &chunks {
            // Any document may stand in a cassette as a template.
            let mut unary = record_unary(200, chunk);
            OpenAiChat.render_unary(&unary.answer());
            unary.rendered();
            unary.tail.template = Some(chunk.clone());
            unary.frames.clone_from(&recorded.frames);
            let body = OpenAiChat.render_unary(&unary.answer());
            if let Some(written) = written(&OpenAiChat, &unary.answer()) {
                prop_assert_eq!(written, compact(&body));
            }
            unary.rendered();
        }
    }
}
