use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vcr_tests::upstream::BeforeHead;
use vcr_tests::{Gate, Reply, Step, Upstream, http};

use crate::support::{Daemon, Project, chat, refused};

const CHAT: &str = "/v1/chat/completions";

/// It still records and replays.
async fn goes_on(daemon: &Daemon) {
    for mode in ["record", "replay"] {
        let control = json!({"vcr": mode, "vcr_scenario": "well"});
        assert_eq!(daemon.post(CHAT, &chat("Hi", false, &control)).await.status, 200);
    }
    daemon
        .post("/__vcr/finish", &json!({"vcr_scenario": "well"}))
        .await
        .text()
        .await;
}

fn well() -> Upstream {
    Upstream::with(|_| Reply::text("well"))
}

#[tokio::test]
async fn what_a_request_cannot_mean_is_refused_by_name() {
    let upstream = well();
    let project = Project::new("");
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join("fixtures")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), project.fixture("link")).unwrap();
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let record = |members: Value| {
        let mut control = json!({"vcr": "record", "vcr_scenario": "s"});
        for (name, value) in members.as_object().unwrap() {
            control[name] = value.clone();
        }
        chat("Hi", false, &control)
    };
    for (members, code, said) in [
        (
            json!({"vcr": "sometimes"}),
            "vcr_bad_setting",
            "`sometimes`, which is no mode",
        ),
        (json!({"vcr": 7}), "vcr_bad_setting", "`7`, which is no mode"),
        (
            json!({"vcr_speed": "fast"}),
            "vcr_bad_setting",
            "`fast`, which is no speed",
        ),
        (json!({"vcr_tick": "soon"}), "vcr_bad_setting", "is no number"),
        (
            json!({"vcr_scenari": "s"}),
            "vcr_bad_setting",
            "did you mean `vcr_scenario`",
        ),
        (
            json!({"vcr_scenario": "../../etc/passwd"}),
            "vcr_bad_name",
            "the scenario `../../etc/passwd`",
        ),
        (json!({"vcr_scenario": "a\u{0}b"}), "vcr_bad_name", "the scenario"),
        (
            json!({"vcr_scenario": "s".repeat(300)}),
            "vcr_bad_name",
            "more than",
        ),
        (
            json!({"vcr_invoker": "../x"}),
            "vcr_bad_name",
            "the invoker `../x`",
        ),
        (
            json!({"vcr_filename": "../x.json"}),
            "vcr_bad_name",
            "the filename `../x.json`",
        ),
        (
            json!({"vcr_filename": "/etc/passwd"}),
            "vcr_bad_name",
            "the filename `/etc/passwd`",
        ),
        (json!({"vcr_filename": "..\\x"}), "vcr_bad_name", "the filename"),
        (
            json!({"vcr_fixture_dir": ".."}),
            "vcr_bad_name",
            "the directory `..` climbs",
        ),
        (json!({"vcr_fixture_dir": "a/../../b"}), "vcr_bad_name", "climbs"),
        (
            json!({"vcr_fixture_dir": "/tmp"}),
            "vcr_bad_name",
            "the directory `/tmp` is another place",
        ),
        (
            json!({"vcr_fixture_dir": "link"}),
            "vcr_bad_name",
            "is a link that leads elsewhere",
        ),
    ] {
        let (status, refusal, message) = refused(daemon.post(CHAT, &record(members.clone())).await).await;
        assert_eq!((status, refusal.as_str()), (400, code), "{members}: {message}");
        assert!(message.contains(said), "{members}: {message}");
    }
    let header = [("x-vcr-mode", "sometimes")];
    let answer = http::request("POST", &daemon.at(CHAT), &header, b"{\"messages\":[]}").await;
    assert_eq!(refused(answer).await.1, "vcr_bad_setting");
    for body in ["{\"vcr\":", "[1]", "", "\u{feff}", "{\"a\":1}{"] {
        let (status, code, _) = refused(http::post(&daemon.at(CHAT), body).await).await;
        assert_eq!((status, code.as_str()), (400, "vcr_malformed_json"), "{body}");
    }
    assert_eq!(upstream.count(), 0);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    goes_on(&daemon).await;
}

#[tokio::test]
async fn only_this_machine_is_served_and_only_what_is_known() {
    let project = Project::new("");
    let daemon = project.serve(&["--body-limit", "1000"]).await;
    let authority = daemon.url.strip_prefix("http://").unwrap();
    let raw = async |head: &str| {
        let mut stream = TcpStream::connect(authority).await.unwrap();
        let head = head.replace("PORT", authority.rsplit(':').next().unwrap());
        stream
            .write_all(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    };
    for (head, status, code) in [
        (
            "GET /v1/models HTTP/1.1\r\nhost: evil.example:PORT",
            403,
            "vcr_forbidden_host",
        ),
        (
            "GET /v1/models HTTP/1.1\r\nhost: 192.168.0.1:PORT",
            403,
            "vcr_forbidden_host",
        ),
        (
            "GET /v1/models HTTP/1.1\r\nhost: localhost:PORT\r\norigin: https://evil.example",
            403,
            "vcr_forbidden_origin",
        ),
        (
            "GET http://api.openai.com/v1/models HTTP/1.1\r\nhost: localhost:PORT",
            400,
            "vcr_not_a_proxy",
        ),
        (
            "GET /nothing HTTP/1.1\r\nhost: localhost:PORT",
            404,
            "vcr_unknown_path",
        ),
        (
            "GET /metrics HTTP/1.1\r\nhost: localhost:PORT",
            404,
            "vcr_unknown_path",
        ),
        (
            "GET /__vcr/finish HTTP/1.1\r\nhost: localhost:PORT",
            405,
            "vcr_method",
        ),
        (
            "GET /__vcr/start HTTP/1.1\r\nhost: localhost:PORT",
            404,
            "vcr_unknown_path",
        ),
    ] {
        let text = raw(head).await;
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status} "))
                && text.contains(&format!("\"code\":\"{code}\"")),
            "{head}: {text}"
        );
    }
    let local = raw("GET /v1/models HTTP/1.1\r\nhost: localhost:PORT\r\norigin: http://localhost:3000").await;
    assert!(local.starts_with("HTTP/1.1 200 "), "{local}");
    let (status, code, message) = refused(
        daemon
            .post(CHAT, &chat(&"x".repeat(1000), false, &json!({})))
            .await,
    )
    .await;
    assert_eq!((status, code.as_str()), (413, "vcr_body_too_large"));
    assert!(message.contains("1000 bytes"), "{message}");
    let answer = daemon.get("/v1/models").await;
    assert_eq!(answer.json().await["data"], json!([]));
}

#[tokio::test]
async fn a_scenario_is_recorded_on_one_set_of_terms() {
    let gate = Gate::new();
    let reached = Gate::new();
    let upstream = Upstream::start([
        Reply::stream(vec![
            Step::Bytes(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n".to_vec()),
            Step::Reached(reached.clone()),
            Step::Wait(gate.clone()),
            Step::Bytes(b"data: [DONE]\n\n".to_vec()),
        ]),
        Reply::text("well"),
    ]);
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let mut first = daemon
        .post(
            CHAT,
            &chat("Hi", true, &json!({"vcr": "record", "vcr_scenario": "s"})),
        )
        .await;
    first.until("Hi").await;
    reached.passed().await;
    for control in [
        json!({"vcr": "record", "vcr_scenario": "s", "vcr_tick": 0}),
        json!({"vcr": "replay", "vcr_scenario": "s"}),
        json!({"vcr": "new", "vcr_scenario": "s"}),
    ] {
        let (status, code, message) = refused(daemon.post(CHAT, &chat("Ho", false, &control)).await).await;
        assert_eq!((status, code.as_str()), (409, "vcr_busy"), "{control}");
        assert!(message.contains("is being recorded with another"), "{message}");
    }
    gate.open();
    assert_eq!(first.whole().await.broken, None);
    let told = daemon.finish().await;
    assert_eq!(told["finished"][0]["recorded"], 1);
    goes_on(&daemon).await;
}

#[tokio::test]
async fn an_upstream_that_is_down_or_sends_rubbish_is_502() {
    let project = Project::new("");
    let live = chat("Hi", false, &json!({"vcr": "live"}));
    let daemon = project.serve(&["--upstream", &Upstream::nobody()]).await;
    let (status, code, message) = refused(daemon.post(CHAT, &live).await).await;
    assert_eq!((status, code.as_str()), (502, "vcr_upstream_error"));
    assert!(message.contains("connect"), "{message}");
    drop(daemon);

    let rubbish = Reply {
        status: 7,
        ..Reply::text("no status")
    };
    let upstream = Upstream::start([
        Reply::nothing(BeforeHead::Close),
        rubbish,
        Reply::text("a\r\n\r\nb").header("content-encoding", "gzip"),
        Reply::text("well").header("content-encoding", "zstd"),
        Reply::text("well"),
    ]);
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    for _ in 0..2 {
        assert_eq!(refused(daemon.post(CHAT, &live).await).await.0, 502);
    }
    // A head that is well, and a body that is not: the connection breaks, as it did.
    let broken = daemon.post(CHAT, &live).await.whole().await;
    assert!(broken.broken.is_some());
    // Recorded, bytes that cannot be read are of no use.
    let record = chat("Hi", false, &json!({"vcr": "record", "vcr_scenario": "s"}));
    assert_eq!(refused(daemon.post(CHAT, &record).await).await.0, 502);
    assert_eq!(daemon.post(CHAT, &live).await.status, 200);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_told_and_left_alone() {
    let upstream = well();
    let project = Project::new("");
    std::fs::create_dir_all(project.fixture("directory.json")).unwrap();
    std::fs::write(project.fixture("broken.json"), "{\"traces\": [").unwrap();
    std::fs::write(project.fixture("bytes.json"), b"{\"scenario\": \"\xff\"}").unwrap();
    std::fs::write(
        project.fixture("newer.json"),
        "{\"format_version\": \"2.0\", \"latest_trace_id\": \"t\", \"traces\": {}}",
    )
    .unwrap();
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    for (name, code) in [
        ("directory", "vcr_cassette_broken"),
        ("broken", "vcr_cassette_broken"),
        ("bytes", "vcr_cassette_broken"),
        ("newer", "vcr_cassette_broken"),
        ("missing", "vcr_cassette_missing"),
    ] {
        let control = json!({"vcr": "replay", "vcr_filename": name});
        let (status, refusal, message) = refused(daemon.post(CHAT, &chat("Hi", false, &control)).await).await;
        assert_eq!((status, refusal.as_str()), (409, code), "{name}: {message}");
        assert!(message.contains(&format!("{name}.json")), "{message}");
    }
    // Recording over it fails when it is saved, and keeps what was there.
    let control = json!({"vcr": "record", "vcr_filename": "broken"});
    daemon.post(CHAT, &chat("Hi", false, &control)).await.text().await;
    let (status, code, message) = refused(
        daemon
            .post("/__vcr/finish", &json!({"vcr_filename": "broken"}))
            .await,
    )
    .await;
    assert_eq!((status, code.as_str()), (409, "vcr_cassette_broken"), "{message}");
    assert_eq!(
        std::fs::read_to_string(project.fixture("broken.json")).unwrap(),
        "{\"traces\": ["
    );
    goes_on(&daemon).await;
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let project = Project::new("");
    let daemon = project.serve(&[]).await;
    let taken = daemon.url.strip_prefix("http://").unwrap();
    for (arguments, code, said) in [
        (&["--listen", taken][..], 1, "another process listens there"),
        (&["--listen", "0.0.0.0:0"], 1, "is not on this machine alone"),
        (&["--upstream", "nowhere"], 1, "is no URL"),
        (&["--vcr", "sometimes"], 2, "sometimes"),
        (&["--vcr-speed", "fast"], 2, "fast"),
        (&["--idle", "soon"], 2, "soon"),
        (&["--nonsense"], 2, "--nonsense"),
    ] {
        let output = project.command(arguments).output().await.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty());
    }
    let mut command = project.command(&[]);
    let output = command.env("VCR_LISTEN", "everywhere").output().await.unwrap();
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("`VCR_LISTEN` holds `everywhere`")
    );
    let broken = Project::new("[serve]\nlisen = 1\n");
    let output = broken.command(&[]).output().await.unwrap();
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("did you mean `listen`?")
    );
    assert_eq!(daemon.get("/__vcr/status").await.status, 200);
}
