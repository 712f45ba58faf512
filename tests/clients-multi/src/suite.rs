use std::fmt::Debug;

use serde_json::json;
use vcr_runtime::{IncludeRaw, Mode, Vcr};
use vcr_tests::rig::{Rig, complaint, done, within};
use vcr_tests::{Reply, Split, Upstream};

use crate::{Said, Talks, Wire};

/// Runs `calls` against a scripted provider while recording, then against the cassette alone, and returns what both gave.
async fn record_then_replay<T: Debug + PartialEq>(
    raw: IncludeRaw,
    replies: Vec<Reply>,
    calls: impl AsyncFn(String) -> T,
) -> T {
    let rig = Rig::new();
    let upstream = Upstream::start(replies);
    let vcr = rig.builder(Mode::Record).include_raw(raw).open().unwrap();
    let live = within(calls(base(&vcr, &upstream))).await;
    done(vcr).await;
    let count = upstream.count();
    assert!(count > 0, "nothing was recorded");

    let vcr = rig.replay();
    let again = within(calls(base(&vcr, &upstream))).await;
    done(vcr).await;
    assert_eq!(again, live, "replay gives something else with raw {raw:?}");
    assert_eq!(upstream.count(), count, "replay reached the provider");
    again
}

fn base(vcr: &Vcr, upstream: &Upstream) -> String {
    vcr.base_url_for(&upstream.url()).unwrap()
}

/// From the raw layer the client sees all that it saw live; from rendered frames, all that the canonical form has.
const LAYERS: [IncludeRaw; 3] = [IncludeRaw::Auto, IncludeRaw::Always, IncludeRaw::Never];

fn seen(said: Said, raw: IncludeRaw) -> Said {
    if raw == IncludeRaw::Never {
        said.canonical()
    } else {
        said
    }
}

/// A text.
pub async fn unary<C: Talks>(wire: Wire, make: impl Fn(&str) -> C) {
    for raw in LAYERS {
        let said = record_then_replay(raw, vec![wire.text("hello")], async |base: String| {
            seen(make(&base).ask("hi", false).await.unwrap(), raw)
        });
        let said = said.await;
        assert_eq!(said.text, "hello");
        assert_eq!(said.tools, []);
        assert_eq!(said.usage, (Some(9), Some(2)));
    }
}

/// A text in pieces, however the network cuts them.
pub async fn stream<C: Talks>(wire: Wire, make: impl Fn(&str) -> C) {
    for raw in LAYERS {
        for split in [Split::Whole, Split::Bytes(1), Split::Random(5)] {
            let reply = wire.text_stream(&["hel", "lo ", "wörld"]).split(split);
            let said = record_then_replay(raw, vec![reply], async |base: String| {
                seen(make(&base).ask("hi", true).await.unwrap(), raw)
            });
            let said = said.await;
            assert_eq!(said.text, "hello wörld", "{split:?}");
            assert_eq!(said.pieces, 3, "{split:?}");
            assert_eq!(said.usage, (Some(9), Some(2)), "{split:?}");
        }
    }
}

/// A tool call, whose result goes back in the client's own form.
pub async fn tool_call<C: Talks>(wire: Wire, make: impl Fn(&str) -> C, stream: bool) {
    for raw in LAYERS {
        let replies = if stream {
            vec![wire.tool_stream(), wire.text_stream(&["it is ", "3"])]
        } else {
            vec![wire.tool(), wire.text("it is 3")]
        };
        let both = record_then_replay(raw, replies, async |base: String| {
            let (call, end) = make(&base).use_tool(stream).await.unwrap();
            // Where the protocol has no ids, clients make some up, and the whole is another each time.
            let call = if wire.has_tool_ids() {
                seen(call, raw)
            } else {
                call.canonical()
            };
            (call, seen(end, raw))
        });
        let (call, end) = both.await;
        assert_eq!(call.tools, [("add".to_owned(), json!({"a": 1, "b": 2}))]);
        assert_eq!(end.text, "it is 3");
    }
}

/// An error of the provider, in its own form.
pub async fn http_error<C: Talks>(wire: Wire, make: impl Fn(&str) -> C) {
    for stream in [false, true] {
        for raw in LAYERS {
            let error = record_then_replay(raw, vec![wire.error()], async |base: String| {
                make(&base).ask("hi", stream).await.unwrap_err()
            });
            let error = error.await;
            assert!(error.contains("no such model"), "stream={stream}: {error}");
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
        make(&base(&vcr, &upstream)).ask("recorded", stream).await.unwrap();
        done(vcr).await;

        let vcr = rig.builder(Mode::Replay).allow_unused(true).open().unwrap();
        let error = within(make(&base(&vcr, &upstream)).ask("changed", stream)).await;
        let error = error.expect_err("a miss is an error");
        for part in ["recorded", "changed", wire.prompt_path()] {
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
        let vcr = rig.builder(mode).open().unwrap();
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
