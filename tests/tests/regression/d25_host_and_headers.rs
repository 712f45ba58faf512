//! Ports, hosts and SDK headers are no part of a request.

use vcr_runtime::{Mode, Protocol};
use vcr_tests::rig::{Rig, done, question};
use vcr_tests::{Reply, Upstream, http};

async fn send(base: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let url = format!("{base}/chat/completions");
    let response = http::request("POST", &url, headers, question("hi").to_string().as_bytes()).await;
    (response.status, response.text().await)
}

const RECORDED: [(&str, &str); 4] = [
    ("content-type", "application/json"),
    ("user-agent", "sdk/1.0"),
    ("x-retry-count", "0"),
    ("authorization", "Bearer one"),
];
const REPLAYED: [(&str, &str); 4] = [
    ("content-type", "application/json; charset=utf-8"),
    ("user-agent", "sdk/1.1"),
    ("x-retry-count", "1"),
    ("authorization", "Bearer two"),
];

#[tokio::test]
async fn another_port_and_other_headers_match() {
    let rig = Rig::new();
    let upstream = Upstream::start([Reply::text("ok")]);
    let vcr = rig.record();
    send(&vcr.base_url_for(&upstream.v1()).unwrap(), &RECORDED).await;
    done(vcr).await;
    drop(upstream);
    let other = Upstream::start([]);
    let vcr = rig.replay();
    let (status, text) = send(&vcr.base_url_for(&other.v1()).unwrap(), &REPLAYED).await;
    assert_eq!(status, 200, "{text}");
    done(vcr).await;
    let vcr = rig.replay();
    let (status, text) = send(&vcr.base_url(Protocol::OpenAi).unwrap(), &REPLAYED).await;
    assert_eq!(status, 200, "{text}");
    done(vcr).await;
    assert_eq!(other.count(), 0);
}

#[tokio::test]
async fn headers_reach_the_upstream_but_not_the_cassette() {
    let rig = Rig::new();
    let reply = Reply::text("ok")
        .header("set-cookie", "session=s3cret")
        .header("x-request-id", "req_1");
    let upstream = Upstream::start([reply]);
    let vcr = rig.builder(Mode::Record).open().unwrap();
    send(&vcr.base_url_for(&upstream.v1()).unwrap(), &RECORDED).await;
    done(vcr).await;
    let request = &upstream.received()[0];
    assert_eq!(request.header("authorization"), Some("Bearer one"));
    assert_eq!(request.header("user-agent"), Some("sdk/1.0"));
    assert!(
        request.header("host").unwrap().ends_with(&upstream.url()[16..]),
        "{:?}",
        request.header("host")
    );
    let text = rig.cassette().text;
    for hidden in ["Bearer", "sdk/1.0", "s3cret", "127.0.0.1"] {
        assert!(!text.contains(hidden), "{hidden} is in the cassette:\n{text}");
    }
}

#[tokio::test]
async fn two_sessions_have_two_ports() {
    let (one, two) = (
        Rig::recorded([(question("hi"), Reply::text("one"))]).await,
        Rig::recorded([(question("hi"), Reply::text("two"))]).await,
    );
    let (first, second) = (one.replay(), two.replay());
    let (left, right) = (
        first.base_url(Protocol::OpenAi).unwrap(),
        second.base_url(Protocol::OpenAi).unwrap(),
    );
    assert_ne!(left, right);
    assert!(
        left.starts_with("http://127.0.0.1:") && left.ends_with("/openai/v1"),
        "{left}"
    );
    assert!(send(&right, &RECORDED).await.1.contains("two"));
    assert!(send(&left, &RECORDED).await.1.contains("one"));
    done(first).await;
    done(second).await;
}
