use std::sync::Arc;
use std::time::Duration;

use crate::config::{Mode, ProjectFile};
use crate::error::ErrorKind;
use crate::front::daemon::config::DaemonConfig;
use crate::front::daemon::scenes::{Asked, Call, Scenes};
use crate::front::daemon::terms::{NOWHERE, Terms};
use crate::json::{Json, parse};
use crate::protocol::HttpRequest;
use crate::session::{End, HttpTurn, Recording, Session, Surroundings, Upstream};
use crate::source::Remedy;

const IDLE: Duration = Duration::from_secs(10);

/// A daemon without its server.
struct Rig {
    directory: tempfile::TempDir,
    terms: Terms,
    scenes: Scenes,
}

impl Rig {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let around = Surroundings::of(Arc::new(ProjectFile::default())).unwrap();
        let (terms, _) = Terms::new(&DaemonConfig::default(), around, directory.path()).unwrap();
        Self {
            directory,
            terms,
            scenes: Scenes::new(IDLE),
        }
    }

    fn asked(&self, members: &str) -> Arc<Asked> {
        let Json::Object(members) = parse(members).unwrap() else {
            panic!("{members}");
        };
        self.terms.of(&members).unwrap()
    }

    async fn enter(&self, members: &str) -> Result<Call, String> {
        let asked = self.asked(members);
        let open = || {
            Session::with(
                self.terms.around.clone(),
                NOWHERE,
                Arc::clone(&asked.settings),
                Remedy::Request,
            )
        };
        let call = self.scenes.enter(&asked, open).await;
        call.map_err(|fault| format!("{} {}: {}", fault.status.as_u16(), fault.code, fault.message))
    }

    fn ask(&self, call: &Call, members: &str, text: &str) -> HttpTurn {
        let upstream = Upstream {
            provider: "openai".to_owned(),
            base: "http://up.invalid/v1".to_owned(),
        };
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
        let request = HttpRequest {
            method: "POST",
            path: "/chat/completions",
            query: "",
            body: body.as_bytes(),
        };
        let settings = Arc::clone(&self.asked(members).settings);
        call.session().http_turn(&upstream, &request, Ok(settings))
    }

    fn recording(&self, call: &Call, members: &str, text: &str) -> Box<dyn Recording> {
        match self.ask(call, members, text) {
            HttpTurn::Record(recording) => recording,
            other => panic!("{other:?}"),
        }
    }

    /// Records one call from its begin to its end.
    async fn record(&self, members: &str, text: &str) {
        let call = self.enter(members).await.unwrap();
        answer(self.recording(&call, members, text));
    }

    fn cassette(&self, scenario: &str) -> std::path::PathBuf {
        let name = format!("fixture_unknown_invoker_{scenario}.json");
        self.directory.path().join("fixtures").join(name)
    }

    fn open(&self) -> Vec<(Mode, usize)> {
        let all = self.scenes.list();
        all.into_iter().map(|(_, mode, calls)| (mode, calls)).collect()
    }
}

fn answer(mut recording: Box<dyn Recording>) {
    recording.head(200, &[("content-type".to_owned(), "application/json".to_owned())]);
    let body = br#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    assert!(recording.bytes(body).is_continue());
    recording.end(End::Complete);
}

const RECORD: &str = r#"{"vcr":"record","vcr_scenario":"s"}"#;
const REPLAY: &str = r#"{"vcr":"replay","vcr_scenario":"s"}"#;

#[tokio::test(start_paused = true)]
async fn a_scene_ends_when_nothing_has_happened_for_its_idle_time() {
    let rig = Rig::new();
    rig.record(RECORD, "a").await;
    tokio::time::sleep(IDLE - Duration::from_secs(1)).await;
    // Another call begins the time anew, and while it lasts no time counts.
    let call = rig.enter(RECORD).await.unwrap();
    let recording = rig.recording(&call, RECORD, "b");
    tokio::time::sleep(IDLE * 3).await;
    assert_eq!(rig.open(), [(Mode::Record, 1)]);
    assert!(!rig.cassette("s").exists());
    answer(recording);
    drop(call);
    tokio::time::sleep(IDLE - Duration::from_secs(1)).await;
    assert_eq!(rig.open(), [(Mode::Record, 0)]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    // What is ending already is waited for.
    assert!(rig.scenes.end(None).await.is_empty());
    assert!(rig.open().is_empty());
    let summary = crate::summary(rig.cassette("s")).unwrap();
    assert_eq!((summary.takes.len(), summary.calls.len()), (1, 2));
}

#[tokio::test]
async fn what_is_being_recorded_is_not_recorded_on_other_terms() {
    let rig = Rig::new();
    let call = rig.enter(RECORD).await.unwrap();
    let recording = rig.recording(&call, RECORD, "a");
    for (members, said) in [
        (
            r#"{"vcr":"record","vcr_scenario":"s","vcr_tick":0}"#,
            "another vcr_tick",
        ),
        (
            r#"{"vcr":"record","vcr_scenario":"s","vcr_include_raw":true}"#,
            "another vcr_include_raw",
        ),
        (REPLAY, "another mode"),
    ] {
        let refused = rig.enter(members).await.unwrap_err();
        assert!(
            refused.starts_with("409 vcr_busy: ") && refused.contains(said),
            "{refused}"
        );
        assert!(refused.contains("/__vcr/finish"), "{refused}");
    }
    // Equal terms and other scenarios are no trouble, nor is a setting of replay alone.
    rig.record(r#"{"vcr":"record","vcr_scenario":"s","vcr_speed":"real"}"#, "b")
        .await;
    rig.record(r#"{"vcr":"record","vcr_scenario":"t","vcr_tick":0}"#, "a")
        .await;
    answer(recording);
    drop(call);
    // With no call under way another tick still waits for the end of the take.
    let refused = rig
        .enter(r#"{"vcr":"record","vcr_scenario":"s","vcr_tick":0}"#)
        .await;
    assert!(refused.is_err());
    let ended = rig.scenes.end(None).await;
    let calls: Vec<_> = ended
        .iter()
        .map(|ended| (ended.report.recorded, ended.failure.is_none()))
        .collect();
    assert_eq!(calls, [(2, true), (1, true)]);
    let summary = crate::summary(rig.cassette("s")).unwrap();
    assert_eq!(
        summary
            .calls
            .iter()
            .map(|call| call.prompt.as_str())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
}

#[tokio::test]
async fn a_replay_ends_the_recording_before_it_and_the_reverse() {
    let rig = Rig::new();
    rig.record(RECORD, "a").await;
    let call = rig.enter(REPLAY).await.unwrap();
    assert!(matches!(rig.ask(&call, REPLAY, "a"), HttpTurn::Replay(_)));
    drop(call);
    assert_eq!(rig.open(), [(Mode::Replay, 0)]);
    rig.record(RECORD, "b").await;
    assert_eq!(rig.open(), [(Mode::Record, 0)]);
    rig.scenes.end(Some(&rig.cassette("s"))).await;
    assert_eq!(crate::summary(rig.cassette("s")).unwrap().takes.len(), 2);
}

#[tokio::test]
async fn the_end_waits_for_calls_and_tells_the_verdict() {
    let rig = Rig::new();
    let call = rig.enter(RECORD).await.unwrap();
    let recording = rig.recording(&call, RECORD, "a");
    let end = rig.scenes.end(None);
    let answered = async {
        // Nobody enters what is ending; whoever asks waits for the next.
        let next = rig.enter(RECORD);
        let finish = async {
            tokio::task::yield_now().await;
            answer(recording);
            drop(call);
        };
        tokio::join!(next, finish).0.unwrap()
    };
    let (ended, next) = tokio::join!(end, answered);
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].report.written, [rig.cassette("s")]);
    // A scene that never used its cassette writes none.
    drop(next);
    assert!(rig.scenes.end(None).await.is_empty());
    assert_eq!(crate::summary(rig.cassette("s")).unwrap().takes.len(), 1);

    let call = rig.enter(REPLAY).await.unwrap();
    assert!(
        matches!(rig.ask(&call, REPLAY, "other"), HttpTurn::Refused(error) if error.kind() == ErrorKind::Miss)
    );
    drop(call);
    let ended = rig.scenes.end(None).await;
    let failure = ended[0].failure.as_ref().unwrap();
    assert_eq!(failure.kind(), ErrorKind::Miss);
    assert!(failure.message().contains("was never asked for"), "{failure}");
}

#[tokio::test]
async fn pinned_takes_are_played_beside_each_other() {
    let rig = Rig::new();
    for text in ["a", "b"] {
        rig.record(RECORD, text).await;
        rig.scenes.end(None).await;
    }
    let takes = crate::summary(rig.cassette("s")).unwrap().takes;
    let pinned = |take: &str| format!(r#"{{"vcr":"replay","vcr_scenario":"s","vcr_target_trace":"{take}"}}"#);
    let mut calls = Vec::new();
    for (take, text) in takes.iter().zip(["a", "b"]) {
        let members = pinned(take);
        let call = rig.enter(&members).await.unwrap();
        assert!(
            matches!(rig.ask(&call, &members, text), HttpTurn::Replay(_)),
            "{text}"
        );
        calls.push(call);
    }
    assert_eq!(rig.open(), [(Mode::Replay, 1), (Mode::Replay, 1)]);
    drop(calls);
    assert!(
        rig.scenes
            .end(None)
            .await
            .iter()
            .all(|ended| ended.failure.is_none())
    );
}

#[test]
fn names_and_settings_are_checked_before_anything_is_opened() {
    let rig = Rig::new();
    let refused = |members: &str| {
        let Json::Object(members) = parse(members).unwrap() else {
            panic!("{members}");
        };
        let error = rig.terms.of(&members).unwrap_err();
        (error.kind(), error.to_string())
    };
    for (members, kind, said) in [
        (
            r#"{"vcr":"sometimes"}"#,
            ErrorKind::Config,
            "`vcr` holds `sometimes`, which is no mode",
        ),
        (
            r#"{"vcr_scenaro":"s"}"#,
            ErrorKind::Config,
            "did you mean `vcr_scenario`",
        ),
        (r#"{"vcr_scenario":"../s"}"#, ErrorKind::Identity, "scenario"),
        (r#"{"vcr_filename":"a/b.json"}"#, ErrorKind::Identity, "filename"),
        (r#"{"vcr_invoker":"a\\b"}"#, ErrorKind::Identity, "invoker"),
        (r#"{"vcr_fixture_dir":"../.."}"#, ErrorKind::Identity, "climbs"),
        (
            r#"{"vcr_fixture_dir":"/etc"}"#,
            ErrorKind::Identity,
            "another place",
        ),
        (r#"{"vcr_chaos":-1}"#, ErrorKind::Config, "negative"),
    ] {
        let (refused, text) = refused(members);
        assert_eq!(refused, kind, "{members}: {text}");
        assert!(text.contains(said), "{members}: {text}");
    }
    let asked = rig.asked(r#"{"vcr_scenario":"s","vcr_fixture_dir":"sub"}"#);
    assert!(
        asked
            .place
            .ends_with("fixtures/sub/fixture_unknown_invoker_s.json"),
        "{asked:?}"
    );
    assert!(!rig.directory.path().join("fixtures").exists());
}
