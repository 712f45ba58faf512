//! Recording again makes a new take that wins; replay never touches the file.

use vcr_runtime::{ErrorKind, Mode};
use vcr_tests::rig::{Rig, ask, chat, done, question, refused};
use vcr_tests::{Reply, Upstream};

async fn record(rig: &Rig, text: &str) {
    let upstream = Upstream::start([Reply::text(text)]);
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &question("hi")).await;
    done(vcr).await;
}

async fn replay(rig: &Rig) -> String {
    let vcr = rig.replay();
    let text = chat(&vcr, &question("hi")).await.text();
    done(vcr).await;
    text
}

#[tokio::test]
async fn the_second_recording_wins() {
    let rig = Rig::new();
    record(&rig, "old").await;
    record(&rig, "new").await;
    assert_eq!(replay(&rig).await, "new");
    assert_eq!(rig.cassette().takes(), 2);
}

#[tokio::test]
async fn five_takes_are_kept_and_the_oldest_goes() {
    let rig = Rig::new();
    let mut ids = Vec::new();
    for number in 0..7 {
        record(&rig, &format!("answer {number}")).await;
        ids.push(
            rig.cassette().value["latest_trace_id"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let cassette = rig.cassette();
    assert_eq!(cassette.takes(), 5);
    let history: Vec<&str> = cassette.value["history_keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    assert_eq!(history, ids[2..], "oldest first");
    assert_eq!(replay(&rig).await, "answer 6");

    let vcr = rig.builder(Mode::Replay).target_traces(&ids[3]).open().unwrap();
    assert_eq!(chat(&vcr, &question("hi")).await.text(), "answer 3");
    done(vcr).await;
    let error = refused(rig.builder(Mode::Replay).target_traces(&ids[0])).await;
    assert_eq!(error.kind(), ErrorKind::TakeMissing);
}

#[tokio::test]
async fn an_equal_take_leaves_the_file_alone() {
    let rig = Rig::new();
    record(&rig, "same").await;
    let (text, time) = (rig.cassette().text, modified(&rig));
    record(&rig, "same").await;
    assert_eq!(rig.cassette().text, text);
    assert_eq!(modified(&rig), time);
}

#[tokio::test]
async fn replay_never_writes() {
    let rig = Rig::new();
    record(&rig, "answer").await;
    let (files, text, time) = (rig.files(), rig.cassette().text, modified(&rig));
    for _ in 0..3 {
        assert_eq!(replay(&rig).await, "answer");
    }
    assert_eq!(
        (rig.files(), rig.cassette().text, modified(&rig)),
        (files, text, time)
    );
}

#[tokio::test]
async fn recording_leaves_nothing_but_the_cassette() {
    let rig = Rig::new();
    record(&rig, "answer").await;
    let files = rig.files();
    let strangers: Vec<&String> = files
        .iter()
        .filter(|name| *name != "fixture_rig_case.json")
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}

#[tokio::test]
async fn live_reads_and_writes_nothing() {
    let rig = Rig::new();
    let upstream = Upstream::start([Reply::text("live")]);
    let vcr = rig.builder(Mode::Live).open().unwrap();
    assert_eq!(ask(&vcr, &upstream.v1(), &question("hi")).await.text(), "live");
    done(vcr).await;
    assert_eq!(rig.files(), Vec::<String>::new());
}

fn modified(rig: &Rig) -> std::time::SystemTime {
    std::fs::metadata(rig.path()).unwrap().modified().unwrap()
}

#[tokio::test]
async fn the_second_recording_wins_and_replay_never_writes_on_every_front() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        for text in ["old", "new"] {
            let vcr = rig.record();
            front.ask(&vcr, "hi", text).await;
            done(vcr).await;
        }
        let before = (rig.files(), rig.cassette().text, modified(&rig));
        let vcr = rig.replay();
        let got = front.ask(&vcr, "hi", "live").await;
        assert_eq!((got.good(), got.live), ("new", false), "{front:?}");
        done(vcr).await;
        assert_eq!(
            (rig.files(), rig.cassette().text, modified(&rig)),
            before,
            "{front:?}"
        );
        assert_eq!(rig.cassette().takes(), 2);
    }
}
