//! Answers without a template: written by hand, or recorded from another protocol.

use crate::json::{Json, compact};
use crate::model::{Boundary, BoundaryKind, Frame, Usage};
use crate::protocol::{Answer, Wire};

use super::super::OpenAiChat;

fn by_hand<'a>(frames: &'a [Frame], usage: Option<&'a Usage>, boundary: Option<&'a Boundary>) -> Answer<'a> {
    Answer {
        frames,
        usage,
        boundary,
        template: None,
        model: "m",
        id: "vcr-01234567",
    }
}

fn hand_frames() -> Vec<Frame> {
    let chunk = |text: &str| Frame {
        chunk: text.to_owned(),
        ..Frame::default()
    };
    let mut last = chunk("");
    last.finish_reason = Some("stop".to_owned());
    last.reasoning_signature = Some("of another protocol".to_owned());
    vec![chunk("Hel"), chunk("lo"), last]
}

#[test]
fn an_answer_written_by_hand_is_a_plausible_stream() {
    let (frames, usage) = (hand_frames(), Usage::new(3, 2));
    let chunks = OpenAiChat.render_stream(&by_hand(&frames, Some(&usage), None));
    let head = r#""id":"vcr-01234567","object":"chat.completion.chunk","created":0,"model":"m""#;
    let expected = [
        (
            0,
            format!(
                r#"{{{head},"choices":[{{"index":0,"delta":{{"role":"assistant","content":""}},"finish_reason":null}}]}}"#
            ),
        ),
        (
            0,
            format!(
                r#"{{{head},"choices":[{{"index":0,"delta":{{"content":"Hel"}},"finish_reason":null}}]}}"#
            ),
        ),
        (
            1,
            format!(
                r#"{{{head},"choices":[{{"index":0,"delta":{{"content":"lo"}},"finish_reason":null}}]}}"#
            ),
        ),
        (
            2,
            format!(r#"{{{head},"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}]}}"#),
        ),
        (
            2,
            format!(
                r#"{{{head},"choices":[],"usage":{{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}}}"#
            ),
        ),
    ];
    let chunks: Vec<_> = chunks
        .into_iter()
        .map(|(frame, chunk)| (frame, compact(&chunk)))
        .collect();
    assert_eq!(chunks, expected);
    assert_eq!(OpenAiChat.frame(&Json::Null), "data: null\n\n");
}

#[test]
fn failures_written_by_hand_are_told_unless_the_transport_failed() {
    let (frames, usage) = (hand_frames(), Usage::new(3, 2));
    let last = |kind, error_type: &str| {
        let boundary = Boundary {
            kind,
            error_type: error_type.to_owned(),
            message: "m".to_owned(),
            status: None,
            code: None,
        };
        let chunks = OpenAiChat.render_stream(&by_hand(&frames, Some(&usage), Some(&boundary)));
        compact(&chunks.last().unwrap().1)
    };
    let error = r#"{"error":{"message":"m","type":"RateLimitError","param":null,"code":null}}"#;
    assert_eq!(last(BoundaryKind::Error, "RateLimitError"), error);
    // No usage follows either: the stream just ends.
    assert!(last(BoundaryKind::Error, "reset").contains(r#""finish_reason":"stop""#));
    assert!(last(BoundaryKind::Cutoff, "quota").contains(r#""finish_reason":"stop""#));
}

#[test]
fn reasons_of_other_protocols_become_words_that_clients_know() {
    let mut frames = hand_frames();
    frames[2].finish_reason = Some("pause".to_owned());
    frames[2].native_finish_reason = Some("pause_turn".to_owned());
    let chunks = OpenAiChat.render_stream(&by_hand(&frames, None, None));
    assert!(compact(&chunks.last().unwrap().1).contains(r#""finish_reason":"stop""#));
    let body = OpenAiChat.render_unary(&by_hand(&frames, None, None));
    assert!(compact(&body).contains(r#""finish_reason":"stop""#));
}
