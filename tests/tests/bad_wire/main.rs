//! What providers and proxies should not send: the caller gets it to the byte, the record says what was odd about it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, which print what they measured"
)]

use serde_json::{Value, json};
use vcr_tests::protocols::{BEDROCK, Protocol, STREAMED};
use vcr_tests::rig::{Cassette, Rig, done};
use vcr_tests::upstream::{Length, Reply};
use vcr_tests::{Split, Upstream};

/// What became of a body: recorded, verified and replayed.
struct Outcome {
    case: String,
    body: Vec<u8>,
    cassette: Cassette,
    replayed: Vec<u8>,
    /// Whether the replay broke off.
    broken: bool,
}

async fn pass(protocol: &Protocol, what: &str, reply: Reply, split: Split) -> Outcome {
    let case = format!("{} {what} {split:?}", protocol.name);
    let body = reply.bytes();
    let streamed = reply.length == Length::Chunked;
    let status = reply.status;
    let upstream = Upstream::start([reply.split(split)]);
    let rig = Rig::new();
    let vcr = rig.record();
    let live = protocol.send(&vcr, &upstream.url(), streamed).await;
    done(vcr).await;
    assert_eq!((live.status, live.whole.broken.clone()), (status, None), "{case}");
    assert!(live.whole.bytes() == body, "{case}: the caller got other bytes");
    let cassette = rig.cassette();
    assert_eq!(cassette.call().0["protocol"], protocol.name, "{case}");
    let verified = vcr_runtime::verify(rig.path()).unwrap();
    assert!(verified.is_empty(), "{case}: {verified:?}");

    let vcr = rig.replay();
    let again = protocol.send(&vcr, &upstream.url(), streamed).await;
    done(vcr).await;
    assert_eq!((upstream.count(), again.status), (1, status), "{case}");
    Outcome {
        case,
        body,
        cassette,
        replayed: again.whole.bytes(),
        broken: again.whole.broken.is_some(),
    }
}

impl Outcome {
    /// What is wrong: the record has to tell that something was odd and to keep the bytes, and they have to come back.
    fn odd(&self) -> Option<String> {
        let call = self.cassette.call();
        let note = call.0["note"].as_str().unwrap_or_default();
        let fault = if note.is_empty() {
            format!("no note; the template: {}", call.0["template"])
        } else if !call.has_raw() {
            format!("no raw layer, but: {note}")
        } else if self.replayed != self.body {
            format!("other bytes: {}", String::from_utf8_lossy(&self.replayed))
        } else {
            return None;
        };
        Some(format!("{}: {fault}", self.case))
    }

    fn same_bytes(&self) {
        assert!(
            self.replayed == self.body,
            "{}: other bytes: {}",
            self.case,
            String::from_utf8_lossy(&self.replayed)
        );
    }
}

const SPLITS: [Split; 3] = [Split::Bytes(1), Split::Random(5), Split::Whole];

/// Every case is a body that is odd, for every protocol and in every cut.
async fn odd_streams(what: &str, body: impl Fn(&Protocol) -> Vec<u8>) {
    let mut faults = Vec::new();
    for protocol in &STREAMED {
        for split in SPLITS {
            let reply = protocol.stream_reply(body(protocol));
            faults.extend(pass(protocol, what, reply, split).await.odd());
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

async fn odd_bodies(what: &str, body: impl Fn(&Protocol) -> Vec<u8>) {
    let mut faults = Vec::new();
    for protocol in STREAMED.iter().chain([&BEDROCK]) {
        for split in SPLITS {
            let reply = Reply::new(200, "application/json", body(protocol));
            faults.extend(pass(protocol, what, reply, split).await.odd());
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn the_good_answers_are_not_odd() {
    for protocol in &STREAMED {
        let (events, _) = protocol.events(&json!("ok"));
        let outcome = pass(
            protocol,
            "good",
            protocol.stream_reply(events.concat()),
            Split::Bytes(1),
        )
        .await;
        assert_eq!(outcome.cassette.call().0["note"], Value::Null, "{}", outcome.case);
    }
    for protocol in STREAMED.iter().chain([&BEDROCK]) {
        let reply = Reply::json(&(protocol.unary)(&json!("ok")));
        let outcome = pass(protocol, "good", reply, Split::Bytes(1)).await;
        assert_eq!(outcome.cassette.call().0["note"], Value::Null, "{}", outcome.case);
        assert_eq!(outcome.cassette.call().text(), "ok", "{}", outcome.case);
    }
}

#[tokio::test]
async fn json_cut_in_the_middle() {
    odd_streams("cut event", |protocol| {
        protocol.changed(|payload| payload[..payload.len() / 2].to_vec())
    })
    .await;
    odd_bodies("cut body", |protocol| {
        let body = (protocol.unary)(&json!("ok")).to_string();
        body.as_bytes()[..body.len() / 2].to_vec()
    })
    .await;
}

#[tokio::test]
async fn invalid_utf_8() {
    let broken = |payload: &[u8]| {
        let at = payload.windows(2).position(|two| two == b"ok").unwrap();
        [&payload[..at], b"\xC3(\xFF", &payload[at..]].concat()
    };
    odd_streams("invalid UTF-8", |protocol| protocol.changed(broken)).await;
    odd_bodies("invalid UTF-8", |protocol| {
        broken((protocol.unary)(&json!("ok")).to_string().as_bytes())
    })
    .await;
}

#[tokio::test]
async fn wrong_types_in_known_fields() {
    for wrong in [json!(7), json!({"a": 1}), json!(true)] {
        odd_streams(&format!("text {wrong}"), |protocol| {
            protocol.events(&wrong).0.concat()
        })
        .await;
        odd_bodies(&format!("text {wrong}"), |protocol| {
            (protocol.unary)(&wrong).to_string().into_bytes()
        })
        .await;
    }
}

#[tokio::test]
async fn what_is_no_object() {
    for payload in ["<html>Bad Gateway</html>", "[1]", "17", "\"text\""] {
        odd_streams(payload, |protocol| {
            protocol.with(protocol.frame(payload.as_bytes(), None))
        })
        .await;
        odd_bodies(payload, |_| payload.as_bytes().to_vec()).await;
    }
    odd_bodies("nothing", |_| Vec::new()).await;
    odd_bodies("a foreign object", |_| b"{\"hello\":1}".to_vec()).await;
}

#[tokio::test]
async fn an_unfinished_last_event() {
    for protocol in &STREAMED {
        for split in SPLITS {
            let (events, at) = protocol.events(&json!("ok"));
            let whole = events[..=at].concat();
            let body = whole[..whole.len() - 6].to_vec();
            let outcome = pass(protocol, "unfinished", protocol.stream_reply(body), split).await;
            let call = outcome.cassette.call();
            assert_eq!(call.boundary("kind"), "truncated", "{}", outcome.case);
            // What was finished comes again, and it ends without the marker, as it did live.
            let replayed = String::from_utf8(outcome.replayed.clone()).unwrap();
            let payloads = replayed
                .lines()
                .map(|line| line.strip_prefix("data: ").unwrap_or(line));
            let found: Vec<Value> = payloads
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect();
            assert_eq!(
                found,
                (protocol.payloads)(&json!("ok")).0[..at],
                "{}",
                outcome.case
            );
            assert!(
                !outcome.broken,
                "{}: the recorded stream ended in order",
                outcome.case
            );
        }
    }
}

/// An event or a block that nobody knows is no fault: it is kept, in some form.
#[tokio::test]
async fn unknown_events_and_members() {
    for protocol in &STREAMED {
        for split in SPLITS {
            let reply = protocol.stream_reply(protocol.with(protocol.event(&(protocol.unknown)())));
            let outcome = pass(protocol, "unknown", reply, split).await;
            assert!(outcome.cassette.text.contains("unheard_of"), "{}", outcome.case);
            let replayed = String::from_utf8_lossy(&outcome.replayed).into_owned();
            assert!(replayed.contains("unheard_of"), "{}: {replayed}", outcome.case);
        }
    }
    // Where a text is expected, some of the family have a list of parts.
    for part in [json!(1), json!({"type": "unheard_of"})] {
        let (events, _) = STREAMED[0].events(&json!([part]));
        let outcome = pass(
            &STREAMED[0],
            "part",
            STREAMED[0].stream_reply(events.concat()),
            Split::Whole,
        )
        .await;
        let replayed = String::from_utf8(outcome.replayed).unwrap();
        assert!(
            replayed.contains(&json!([part]).to_string()),
            "{}: {replayed}",
            outcome.case
        );
    }
    for protocol in STREAMED.iter().chain([&BEDROCK]) {
        let mut body = (protocol.unary)(&json!("ok"));
        body["unheard_of"] = json!({"x": [1.50, null]});
        let outcome = pass(protocol, "unknown", Reply::json(&body), Split::Whole).await;
        let again: Value = serde_json::from_slice(&outcome.replayed).unwrap();
        assert_eq!(again, body, "{}", outcome.case);
    }
}

/// A mark at the beginning is allowed, and no part of what is said.
#[tokio::test]
async fn a_byte_order_mark() {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    for protocol in &STREAMED {
        for split in SPLITS {
            let (events, _) = protocol.events(&json!("ok"));
            let reply = protocol.stream_reply([MARK, &events.concat()].concat());
            let outcome = pass(protocol, "mark", reply, split).await;
            assert!(
                outcome.cassette.call().text().starts_with("ok"),
                "{}",
                outcome.case
            );
        }
    }
    for protocol in STREAMED.iter().chain([&BEDROCK]) {
        let body = (protocol.unary)(&json!("ok")).to_string();
        let reply = Reply::new(200, "application/json", [MARK, body.as_bytes()].concat());
        let outcome = pass(protocol, "mark", reply, Split::Whole).await;
        assert_eq!(outcome.cassette.call().text(), "ok", "{}", outcome.case);
    }
}

/// An error page of a proxy in front of a provider.
#[tokio::test]
async fn a_page_instead_of_an_error() {
    for protocol in STREAMED.iter().chain([&BEDROCK]) {
        let page = "<html><h1>502 Bad Gateway</h1></html>";
        let reply = Reply::new(502, "text/html", page);
        let outcome = pass(protocol, "page", reply, Split::Random(2)).await;
        assert_eq!(
            outcome.cassette.call().boundary("kind"),
            "http",
            "{}",
            outcome.case
        );
        outcome.same_bytes();
    }
}
