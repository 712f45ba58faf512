//! Ten megabytes in one event, or in one body: recording and replaying them takes a few times as much memory, no more.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, which print what they measured"
)]

use peak_alloc::PeakAlloc;
use serde_json::json;
use vcr_tests::protocols::{Protocol, STREAMED};
use vcr_tests::rig::{Rig, done};
use vcr_tests::upstream::Reply;
use vcr_tests::{Split, Upstream};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The size of the text.
const BIG: usize = 10 << 20;
/// The most memory that recording may take, and replaying, in tenths of the body.
const RECORDING: usize = 65;
const REPLAYING: usize = 85;

/// What was allocated at most while `work` ran, beyond what there was before, in tenths of `body`.
async fn peak<T>(body: usize, work: impl Future<Output = T>) -> (T, usize) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = work.await;
    (result, (MEMORY.peak_usage() - before) * 10 / body)
}

/// Reads an answer without keeping it, so that the memory is the recorder's alone. `body` is what must come, if to the byte.
async fn ask(
    protocol: &Protocol,
    vcr: &vcr_runtime::Vcr,
    upstream: &str,
    streamed: bool,
    body: Option<&[u8]>,
) -> usize {
    let mut answer = protocol.ask(vcr, upstream, streamed).await;
    let mut size = 0;
    while let Some(piece) = answer.next().await.unwrap() {
        let told = body.is_none_or(|body| body[size..].starts_with(&piece));
        assert!(told, "the caller got other bytes after {size}");
        size += piece.len();
    }
    size
}

/// One test, because the memory is that of the whole process.
#[tokio::test]
async fn ten_megabytes_take_a_few_times_as_much() {
    let text = json!("words and ".repeat(BIG / 10));
    let mut above = Vec::new();
    for protocol in &STREAMED {
        for streamed in [true, false] {
            let reply = if streamed {
                protocol.stream_reply(protocol.events(&text).0.concat())
            } else {
                Reply::json(&(protocol.unary)(&text))
            };
            let body = reply.bytes();
            let size = body.len();
            let upstream = Upstream::start([reply.split(Split::Bytes(16 << 10))]);
            let rig = Rig::new();
            let (read, recorded) = peak(size, async {
                let vcr = rig.record();
                let read = ask(protocol, &vcr, &upstream.url(), streamed, Some(&body)).await;
                done(vcr).await;
                read
            })
            .await;
            assert_eq!(read, size);
            let (read, replayed) = peak(size, async {
                let vcr = rig.replay();
                let read = ask(protocol, &vcr, &upstream.url(), streamed, None).await;
                done(vcr).await;
                read
            })
            .await;
            assert!(read >= BIG);
            let case = format!(
                "{} {}: {size} bytes; recorded with {recorded} and replayed with {replayed} tenths of them",
                protocol.name,
                if streamed { "stream" } else { "unary" },
            );
            println!("{case}");
            if recorded > RECORDING || replayed > REPLAYING {
                above.push(case);
            }
        }
    }
    assert!(above.is_empty(), "{above:#?}");
}
