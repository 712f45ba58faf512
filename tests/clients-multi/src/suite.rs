use std::fmt::Debug;

use serde_json::{Value, json};
use vcr_runtime::{IncludeRaw, Matching, Mode, Vcr};
use vcr_tests::rig::{Rig, complaint, done, within};
use vcr_tests::{Reply, Split, Upstream};

use crate::{KEY, Said, Talks, Wire};

/// What of an answer the cassette keeps, and with it what a client has to see again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// The provider's own bytes: everything.
    Bytes,
    /// The defaults: the whole answer, but pieces that came close together are one.
    Defaults,
    /// Canonical frames alone, each as it came: what the canonical form has a place for.
    Frames,
}

const KEPT: [Kept; 3] = [Kept::Bytes, Kept::Defaults, Kept::Frames];

impl Kept {
    fn record(self, rig: &Rig) -> Vcr {
        let builder = rig.builder(Mode::Record);
        let builder = match self {
            Self::Bytes => builder.include_raw(IncludeRaw::Always),
            Self::Defaults => builder,
            Self::Frames => builder.include_raw(IncludeRaw::Never).tick_ms(0.0),
        };
        builder.open().unwrap()
    }

    fn of(self, mut said: Said) -> Said {
        match self {
            Self::Bytes => {}
            Self::Defaults => {
                said.events.clear();
                said.pieces = 0;
            }
            Self::Frames => {
                said.events.clear();
                said.answer = Value::Null;
            }
        }
        said
    }
}

/// Runs `calls` against a scripted provider while recording, then against the cassette alone, and returns what both gave.
async fn record_then_replay<T: Debug + PartialEq>(
    wire: Wire,
    kept: Kept,
    replies: Vec<Reply>,
    calls: impl AsyncFn(String) -> T,
) -> T {
    let rig = Rig::new();
    let upstream = Upstream::start(replies);
    let vcr = kept.record(&rig);
    let live = within(calls(base(&vcr, &upstream))).await;
    done(vcr).await;
    let count = upstream.count();
    assert!(count > 0, "nothing was recorded");
    assert!(!rig.cassette().text.contains(KEY), "the key is in the cassette");
    for request in upstream.received() {
        let mut values = request.headers.iter().map(|(_, value)| value);
        let sent = request.query.contains(KEY) || values.any(|value| value.contains(KEY));
        assert_eq!(sent, wire.has_key(), "the credential on {}", request.path);
    }

    for call in rig.cassette().calls() {
        assert_eq!(call.has_raw(), kept == Kept::Bytes, "{kept:?}");
    }

    // At the address it was recorded at, and at the protocol's own.
    for own in [false, true] {
        let vcr = rig.replay();
        let base = if own {
            wire.own_base(&vcr)
        } else {
            base(&vcr, &upstream)
        };
        let again = within(calls(base)).await;
        done(vcr).await;
        assert_eq!(
            again, live,
            "replay gives something else where {kept:?} are kept; own address: {own}"
        );
    }
    assert_eq!(upstream.count(), count, "replay reached the provider");
    if let ([_, follow_up], Some(signature)) = (upstream.received().as_slice(), wire.signature()) {
        let body = String::from_utf8_lossy(&follow_up.body);
        assert!(body.contains(signature), "the thought is not signed: {body}");
    }
    live
}

fn base(vcr: &Vcr, upstream: &Upstream) -> String {
    vcr.base_url_for(&upstream.url()).unwrap()
}

/// A text.
pub async fn unary<C: Talks>(wire: Wire, make: impl Fn(&str) -> C) {
    for kept in KEPT {
        let said = record_then_replay(wire, kept, vec![wire.text("hello")], async |base: String| {
            kept.of(make(&base).ask("hi", false).await.unwrap())
        });
        let said = said.await;
        assert_eq!(said.text, "hello");
        assert_eq!(said.tools, []);
        assert_eq!(said.usage, (Some(9), Some(2)));
    }
}

/// A text in pieces, however the network cuts them.
pub async fn stream<C: Talks>(wire: Wire, make: impl Fn(&str) -> C) {
    for (kept, split) in KEPT
        .into_iter()
        .zip([Split::Whole, Split::Random(5), Split::Bytes(1)])
    {
        let reply = wire.text_stream(&["hel", "lo ", "wörld"]).split(split);
        let said = record_then_replay(wire, kept, vec![reply], async |base: String| {
            kept.of(make(&base).ask("hi", true).await.unwrap())
        });
        let said = said.await;
        assert_eq!(said.text, "hello wörld", "{split:?}");
        assert!(kept == Kept::Defaults || said.pieces == 3, "{split:?}: {said:?}");
        assert_eq!(said.usage, (Some(9), Some(2)), "{split:?}");
    }
}

/// A tool call, whose result goes back in the client's own form.
pub async fn tool_call<C: Talks>(wire: Wire, make: impl Fn(&str) -> C, stream: bool) {
    for kept in KEPT {
        let replies = if stream {
            vec![wire.tool_stream(), wire.text_stream(&["it is ", "3"])]
        } else {
            vec![wire.tool(), wire.text("it is 3")]
        };
        let both = record_then_replay(wire, kept, replies, async |base: String| {
            let (call, end) = make(&base).use_tool(stream).await.unwrap();
            // Where the protocol has no ids, clients make some up, and the whole is another each time.
            let call = if wire.has_tool_ids() {
                kept.of(call)
            } else {
                Kept::Frames.of(call)
            };
            (call, kept.of(end))
        });
        let (call, end) = both.await;
        assert_eq!(call.reasoning, "Hm");
        assert_eq!(call.tools, [("add".to_owned(), json!({"a": 1, "b": 2}))]);
        assert_eq!(end.text, "it is 3");
    }
}

/// An error of the provider, in its own form.
pub async fn http_error<C: Talks>(wire: Wire, make: impl Fn(&str) -> C) {
    for stream in [false, true] {
        for kept in KEPT {
            let error = record_then_replay(wire, kept, vec![wire.error()], async |base: String| {
                make(&base).ask("hi", stream).await.unwrap_err()
            });
            let error = error.await;
            for part in ["404", "no such model"] {
                assert!(error.contains(part), "stream={stream}, no {part}: {error}");
            }
        }
    }
}

/// A request that was not recorded: the client shows the message, and does not try again.
pub async fn miss<C: Talks>(wire: Wire, make: impl Fn(&str) -> C) {
    for stream in [false, true] {
        let rig = Rig::new();
        let upstream = Upstream::start([if stream {
            wire.text_stream(&["hello"])
        } else {
            wire.text("hello")
        }]);
        let vcr = rig.record();
        make(&base(&vcr, &upstream))
            .ask("recorded", stream)
            .await
            .unwrap();
        done(vcr).await;

        let vcr = rig.builder(Mode::Replay).allow_unused(true).open().unwrap();
        let error = within(make(&wire.own_base(&vcr)).ask("changed", stream)).await;
        let error = error.expect_err("a miss is an error");
        for part in [
            "409",
            "last user \\\"recorded\\\"",
            "\\\"recorded\\\" -> \\\"changed\\\"",
            wire.prompt_path(),
        ] {
            assert!(error.contains(part), "stream={stream}, no {part}: {error}");
        }
        // A client that tries again is a second miss, and the verdict counts them.
        let verdict = complaint(vcr).await.to_string();
        assert!(
            !verdict.contains("more had no answer"),
            "more than one attempt:\n{verdict}"
        );
        assert_eq!(upstream.count(), 1);
    }
}

/// From other tasks and threads than the test's own.
pub async fn tasks<C: Talks>(wire: Wire, make: impl Fn(&str) -> C + Send + Copy + 'static) {
    let rig = Rig::new();
    let upstream = Upstream::with(move |request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let number = (0..4).find(|number| text.contains(&format!("number {number}")));
        wire.text(&format!("echo of {}", number.expect("a prompt with a number")))
    });
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).matching(Matching::Keyed).open().unwrap();
        let base = base(&vcr, &upstream);
        let mut threads = Vec::new();
        for number in 0..4 {
            let base = base.clone();
            threads.push(tokio::task::spawn_blocking(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(make(&base).ask(&format!("number {number}"), false))
            }));
        }
        for (number, thread) in threads.into_iter().enumerate() {
            let said = within(thread).await.unwrap().unwrap();
            assert_eq!(said.text, format!("echo of {number}"), "{mode:?}");
        }
        done(vcr).await;
    }
    assert_eq!(upstream.count(), 4);
}
