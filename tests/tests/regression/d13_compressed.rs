//! Compressed bodies are stored as text, and the length that is sent is that of what is sent.

use vcr_runtime::Mode;
use vcr_tests::gzip::{gzip, zlib};
use vcr_tests::rig::{Rig, ask, chat, done, question, stream_question};
use vcr_tests::{Reply, Upstream};

fn packed(encoding: &str, plain: &Reply) -> Reply {
    let body = match encoding {
        "gzip" => gzip(&plain.bytes()),
        "deflate" => zlib(&plain.bytes()),
        _ => plain.bytes(),
    };
    let mut reply = plain.clone().header("content-encoding", encoding);
    reply.steps = vec![vcr_tests::Step::Bytes(body)];
    reply
}

#[tokio::test]
async fn a_compressed_answer_is_text_in_the_cassette() {
    for encoding in ["gzip", "deflate", "identity"] {
        for (plain, body) in [
            (Reply::text("packed"), question("hi")),
            (Reply::text_stream(&["pack", "ed"]), stream_question("hi")),
        ] {
            let upstream = Upstream::start([packed(encoding, &plain)]);
            let rig = Rig::new();
            let vcr = rig.record();
            let live = ask(&vcr, &upstream.v1(), &body).await;
            assert_eq!(
                live.text(),
                "packed",
                "{encoding} reached the caller as {:?}",
                live.headers
            );
            done(vcr).await;
            assert_eq!(rig.cassette().call().text(), "packed", "{encoding}");
            let vcr = rig.replay();
            let again = chat(&vcr, &body).await;
            done(vcr).await;
            assert_eq!(again.text(), "packed", "{encoding}");
            assert_eq!(again.header("content-encoding"), None);
            assert_eq!(again.whole.broken, None);
        }
    }
}

#[tokio::test]
async fn nothing_is_asked_for_that_cannot_be_read() {
    let upstream = Upstream::start([Reply::text("x")]);
    let rig = Rig::new();
    let vcr = rig.record();
    let url = format!("{}/chat/completions", vcr.base_url_for(&upstream.v1()).unwrap());
    let headers = [
        ("content-type", "application/json"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
    ];
    let body = question("hi").to_string();
    vcr_tests::http::request("POST", &url, &headers, body.as_bytes())
        .await
        .text()
        .await;
    done(vcr).await;
    let asked = upstream.received()[0]
        .header("accept-encoding")
        .unwrap_or_default()
        .to_owned();
    assert!(
        !asked.contains("br") && !asked.contains("zstd"),
        "accept-encoding: {asked}"
    );
}

#[tokio::test]
async fn an_encoding_that_nobody_asked_for_is_never_stored_as_text() {
    let body: Vec<u8> = vec![0x0B, 0x02, 0x80, 0xFF, 0xFE, 0x00, 0x03];
    let mut reply = Reply::text("x").header("content-encoding", "br");
    reply.steps = vec![vcr_tests::Step::Bytes(body.clone())];
    let upstream = Upstream::start([reply]);
    let rig = Rig::new();
    let vcr = rig.record();
    let live = ask(&vcr, &upstream.v1(), &question("hi")).await;
    let _ = vcr.finish().await;
    if live.status == 200 {
        // Handed on as it is: then it has to come back as it is, label included.
        let vcr = rig.replay();
        let again = chat(&vcr, &question("hi")).await;
        done(vcr).await;
        assert_eq!(
            (again.whole.bytes(), again.header("content-encoding")),
            (body, Some("br"))
        );
    } else {
        assert!(
            live.whole.text().contains("br"),
            "a refusal names the encoding: {}",
            live.whole.text()
        );
    }
}

#[tokio::test]
async fn a_cassette_that_a_person_edited_has_the_right_length() {
    let upstream = Upstream::start([Reply::text("shrt")]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .include_raw("false".parse().unwrap())
        .open()
        .unwrap();
    ask(&vcr, &upstream.v1(), &question("hi")).await;
    done(vcr).await;
    let text = rig.cassette().text;
    assert_eq!(text.matches("shrt").count(), 1, "one truth: {text}");
    std::fs::write(rig.path(), text.replace("shrt", "a much longer \u{e4}nswer")).unwrap();
    let vcr = rig.replay();
    let again = chat(&vcr, &question("hi")).await;
    done(vcr).await;
    assert_eq!(
        (again.text().as_str(), again.whole.broken),
        ("a much longer \u{e4}nswer", None)
    );
}

#[tokio::test]
async fn a_shortened_secret_leaves_the_length_right() {
    let secret = format!("sk-proj-{}", "aB3".repeat(16));
    let upstream = Upstream::start([Reply::text(&format!("your key is {secret}"))]);
    let rig = Rig::new();
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &question("hi")).await;
    done(vcr).await;
    assert!(!rig.cassette().text.contains(&secret));
    let vcr = rig.replay();
    let again = chat(&vcr, &question("hi")).await;
    done(vcr).await;
    assert_eq!(again.whole.broken, None);
    assert!(again.text().starts_with("your key is "));
}
