//! Ten megabytes in one event, or in one body.

use serde_json::json;
use vcr_tests::rig::{Rig, done};
use vcr_tests::upstream::Reply;
use vcr_tests::{Split, Upstream};

use vcr_tests::protocols::STREAMED;

/// The size of the text.
const BIG: usize = 10 << 20;
/// The most memory while recording and while replaying, in bodies. The upstream and the client of the test, which are in
/// the same process, have three of them.
const BODIES: usize = 14;
/// Which case a process of its own is to run.
const CASE: &str = "VCR_TESTS_BIG";

/// Each case has a process of its own, because memory is counted by the process.
#[test]
fn ten_megabytes_in_one_event() {
    for place in 0..STREAMED.len() * 2 {
        let this = std::env::current_exe().unwrap();
        let child = std::process::Command::new(this)
            .args(["--exact", "big::one_case", "--ignored", "--nocapture"])
            .env(CASE, place.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout);
        let told = text.lines().find_map(|line| line.strip_prefix("big: "));
        println!("{}", told.unwrap_or("nothing was told"));
        assert!(
            child.status.success() && told.is_some(),
            "{text}{}",
            String::from_utf8_lossy(&child.stderr)
        );
    }
}

/// The member of this process's status, in bytes; `None` where there is no such file.
fn memory(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    Some(kilobytes << 10)
}

#[tokio::test]
#[ignore = "run by ten_megabytes_in_one_event in a process of its own"]
async fn one_case() {
    let Ok(place) = std::env::var(CASE) else {
        println!("skipped: not in a process of its own");
        return;
    };
    let place: usize = place.parse().unwrap();
    let (protocol, streamed) = (&STREAMED[place / 2], place.is_multiple_of(2));
    let text = json!("words and ".repeat(BIG / 10));
    let reply = if streamed {
        protocol.stream_reply(protocol.events(&text).0.concat())
    } else {
        Reply::json(&(protocol.unary)(&text))
    };
    let body = reply.bytes();
    let before = memory("VmHWM:");
    let upstream = Upstream::start([reply.split(Split::Bytes(16 << 10))]);
    let rig = Rig::new();
    let started = std::time::Instant::now();
    let vcr = rig.record();
    let live = protocol.send(&vcr, &upstream.url(), streamed).await;
    done(vcr).await;
    let recorded = (memory("VmHWM:"), started.elapsed());
    assert!(live.whole.bytes() == body, "the caller got other bytes");
    drop(live);

    let vcr = rig.replay();
    let again = protocol.send(&vcr, &upstream.url(), streamed).await;
    done(vcr).await;
    let replayed = (memory("VmHWM:"), started.elapsed());
    assert!(again.whole.broken.is_none() && again.whole.bytes().len() >= BIG);
    let tenths = |peak: Option<usize>| Some((peak? - before?) * 10 / body.len());
    println!(
        "big: {} {}: {} bytes; recorded with {:?} tenths of the body in {:?}; recorded and replayed with {:?} in {:?}; {} bytes in the cassette",
        protocol.name,
        if streamed { "stream" } else { "unary" },
        body.len(),
        tenths(recorded.0),
        recorded.1,
        tenths(replayed.0),
        replayed.1,
        std::fs::metadata(rig.path()).unwrap().len(),
    );
    assert!(tenths(replayed.0).is_none_or(|peak| peak <= BODIES * 10));
}
