//! Pieces of parallel tool calls stay with the call that they belong to.

use vcr_runtime::Mode;
use vcr_tests::rig::{InProcess, Rig, Say, ask, chat, done, question, stream_question};
use vcr_tests::{Reply, Split, Upstream};

const BY_INDEX: &str = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"get_w","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"get_t","arguments":"{\"z\""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

/// Two whole calls that only their ids tell apart.
const BY_ID: &str = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"call_c","type":"function","function":{"name":"get_w","arguments":"{}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"call_d","type":"function","function":{"name":"get_w","arguments":"{\"n\":2}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

/// The name on every piece, and an index that starts late.
const ODD: &str = r#"data: {"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":3,"id":"0","type":"function","function":{"name":"get_w","arguments":"{\"a\""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":3,"id":"0","type":"function","function":{"name":"get_w","arguments":":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

async fn round_trip(notation: &str, expected: &[(&str, &str, &str)]) {
    for raw in ["auto", "true", "false"] {
        for split in [Split::Whole, Split::Bytes(1), Split::Random(9)] {
            let upstream = Upstream::start([Reply::sse(notation).split(split)]);
            let rig = Rig::new();
            let vcr = rig
                .builder(Mode::Record)
                .include_raw(raw.parse().unwrap())
                .open()
                .unwrap();
            assert_eq!(
                ask(&vcr, &upstream.v1(), &stream_question("hi"))
                    .await
                    .answer()
                    .tools(),
                expected
            );
            done(vcr).await;
            let recorded = rig.cassette().call().tools();
            let recorded: Vec<_> = recorded
                .iter()
                .map(|(id, name, text)| (id.as_str(), name.as_str(), text.as_str()))
                .collect();
            assert_eq!(recorded, expected, "in the cassette");
            let vcr = rig.replay();
            let again = chat(&vcr, &stream_question("hi")).await.answer();
            done(vcr).await;
            assert_eq!(again.tools(), expected, "in replay with raw={raw}");
            assert_eq!(again.finish(), Some("tool_calls"));
        }
    }
}

#[tokio::test]
async fn told_apart_by_index() {
    round_trip(
        BY_INDEX,
        &[
            ("call_a", "get_w", r#"{"city":"Oslo"}"#),
            ("call_b", "get_t", r#"{"z":1}"#),
        ],
    )
    .await;
}

#[tokio::test]
async fn told_apart_by_id() {
    round_trip(
        BY_ID,
        &[("call_c", "get_w", "{}"), ("call_d", "get_w", r#"{"n":2}"#)],
    )
    .await;
}

#[tokio::test]
async fn a_name_on_every_piece_is_one_name() {
    round_trip(ODD, &[("0", "get_w", r#"{"a":1}"#)]).await;
}

#[tokio::test]
async fn two_choices_with_a_call_each() {
    let text = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]}},{"index":1,"delta":{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"g","arguments":"["}}]}}]}

data: {"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"]"}}]},"finish_reason":"tool_calls"},{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;
    for raw in ["auto", "false"] {
        let upstream = Upstream::start([Reply::sse(text)]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .include_raw(raw.parse().unwrap())
            .open()
            .unwrap();
        let live = ask(&vcr, &upstream.v1(), &stream_question("hi")).await.answer();
        done(vcr).await;
        assert_eq!(live.choices[&1].tools[0].arguments, "[]");
        let vcr = rig.replay();
        let again = chat(&vcr, &stream_question("hi")).await.answer();
        done(vcr).await;
        assert_eq!(again.choices, live.choices, "with raw={raw}");
    }
}

#[tokio::test]
async fn unary() {
    let text = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_c","type":"function","function":{"name":"get_w","arguments":"{\"a\": 1}"}},{"id":"call_d","type":"function","function":{"name":"get_w","arguments":""}}]},"finish_reason":"tool_calls"}]}"#;
    for raw in ["auto", "false"] {
        let upstream = Upstream::start([Reply::json_text(200, text)]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .include_raw(raw.parse().unwrap())
            .open()
            .unwrap();
        ask(&vcr, &upstream.v1(), &question("hi")).await;
        done(vcr).await;
        let vcr = rig.replay();
        let again = chat(&vcr, &question("hi")).await.answer();
        done(vcr).await;
        assert_eq!(
            again.tools(),
            [("call_c", "get_w", "{\"a\": 1}"), ("call_d", "get_w", "")]
        );
    }
}

#[tokio::test]
async fn in_process() {
    let script = vec![
        Say::Tool("call_a", "get_w", r#"{"city":"Oslo"}"#),
        Say::Tool("call_b", "get_t", r#"{"z":1}"#),
        Say::Finish("tool_calls"),
    ];
    let rig = Rig::new();
    let vcr = rig.record();
    let live = InProcess::new(&vcr, [script]).stream("hi").await;
    done(vcr).await;
    assert_eq!(live.tools.len(), 2);
    let vcr = rig.replay();
    let again = InProcess::new(&vcr, []).stream("hi").await;
    done(vcr).await;
    assert_eq!(again.tools, live.tools);
}
