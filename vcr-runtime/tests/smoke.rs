//! The shortest way through the in-process front.

#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap as tests do")]

use vcr_runtime::{Delta, ErrorKind, Failure, Mode, Reply, Request, Vcr};

async fn ask(request: Request) -> Result<Reply, Failure> {
    assert_eq!(request.model(), "m");
    Ok(Reply::from(vec![
        Delta::text("Hel"),
        Delta::text("lo"),
        Delta::finish("stop"),
    ]))
}

fn open(directory: &std::path::Path, mode: Mode) -> Vcr {
    Vcr::builder()
        .scenario("s")
        .fixture_dir(directory)
        .mode(mode)
        .open()
        .unwrap()
}

#[tokio::test]
async fn record_replay_and_miss() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = open(directory.path(), Mode::Record);
    let client = vcr.client(ask);
    assert_eq!(
        client
            .completion(Request::new("m").user("hi"))
            .await
            .unwrap()
            .text,
        "Hello"
    );
    let mut stream = client
        .completion_stream(Request::new("m").user("ho"))
        .await
        .unwrap();
    let mut text = String::new();
    while let Some(frame) = stream.next().await {
        text.push_str(&frame.unwrap().chunk);
    }
    assert_eq!(text, "Hello");
    let report = vcr.finish().await.unwrap();
    assert_eq!(report.recorded, 2);
    println!("{}", std::fs::read_to_string(&report.written[0]).unwrap());

    let vcr = open(directory.path(), Mode::Replay);
    let client = vcr.client(|_: Request| async { Err::<Reply, _>(Failure::new("Live", "went live")) });
    assert_eq!(
        client
            .completion(Request::new("m").user("hi"))
            .await
            .unwrap()
            .text,
        "Hello"
    );
    let stream = client
        .completion_stream(Request::new("m").user("ho"))
        .await
        .unwrap();
    assert_eq!(stream.collect().await.unwrap().text, "Hello");
    vcr.finish().await.unwrap();

    let vcr = open(directory.path(), Mode::Replay);
    let client = vcr.client(ask);
    let error = client
        .completion(Request::new("m").user("hi!"))
        .await
        .unwrap_err();
    println!("{error}");
    let error = vcr.finish().await.unwrap_err();
    println!("{error}");
    assert_eq!(error.kind(), ErrorKind::Miss);
}
