use super::*;
use crate::config::{Matching, OverrideFile, SessionFiles};
use crate::source::How;

const FINISH: &str = "{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}}";

/// A log whose calls say `texts`.
fn log(created: u32, id: &str, texts: &[&str]) -> String {
    let header = format!("{{\"type\":\"session\",\"version\":0,\"id\":\"{id}\",\"createdAt\":{created}}}\n");
    let calls = texts.iter().enumerate().map(|(step, text)| {
        let data = |chunk: &str| {
            format!(
                "{{\"type\":\"assistant/chunk\",\"data\":{{\"turn\":1,\"step\":{step},\"chunk\":{chunk}}}}}\n"
            )
        };
        let text = format!("{{\"type\":\"text-delta\",\"index\":0,\"text\":\"{text}\"}}");
        data(&text) + &data(FINISH)
    });
    header + &calls.collect::<String>()
}

/// `source` has the other files behind its path: `session:p.jsonl?child=c.jsonl&override=o.json&pace_ms=5`.
fn open(files: &[(&str, &str)], source: &str) -> Result<(tempfile::TempDir, ScriptSource)> {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(root.path().join(name), text).unwrap();
    }
    let (path, options) = source.split_once('?').unwrap_or((source, ""));
    let mut files = SessionFiles {
        path: path.strip_prefix("session:").unwrap().to_owned(),
        ..SessionFiles::default()
    };
    let mut overrides = None;
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap();
        match name {
            "child" => files.children.push(value.to_owned()),
            "override" => {
                // As a variable names it: it need not be there.
                overrides = Some(OverrideFile {
                    path: value.to_owned(),
                    required: false,
                });
            }
            _ => files.pace_ms = Some(value.parse().unwrap()),
        }
    }
    let source = ScriptSource::open(root.path(), &files, overrides.as_ref(), Providers::default())?;
    Ok((root, source))
}

fn request(text: &str) -> CanonicalRequest {
    let message = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}");
    CanonicalRequest {
        protocol: "completion".to_owned(),
        messages: vec![crate::json::parse(&message).unwrap()],
        ..CanonicalRequest::default()
    }
}

fn answer(
    source: &mut ScriptSource,
    session: Option<&str>,
    request: &CanonicalRequest,
) -> Result<Answer, NotTaken> {
    source.take(&Ask {
        request,
        how: How {
            matching: Matching::Sequential,
            // A script that has ended is not begun again.
            repeat: true,
            session,
            scope: None,
        },
        servable: &|_| Ok(()),
    })
}

fn say(source: &mut ScriptSource, session: Option<&str>) -> Result<String, String> {
    let request = request("hi");
    match answer(source, session, &request) {
        Ok(answer) => Ok(answer
            .call
            .frames
            .iter()
            .map(|frame| frame.chunk.as_str())
            .collect()),
        Err(why) => Err(explain(source, &request, why, false).to_string()),
    }
}

fn explain(source: &ScriptSource, request: &CanonicalRequest, why: NotTaken, private: bool) -> Error {
    let place = Where {
        test: "my::test",
        remedy: &crate::source::Remedy::Test(String::new()),
        matching: Matching::Sequential,
        private,
    };
    source.explain(request, why, place)
}

#[test]
fn sessions_take_their_scripts_in_the_order_of_their_first_calls() {
    let (_root, mut source) = open(
        &[
            ("p.jsonl", &log(900, "p", &["p0", "p1"])),
            ("late.jsonl", &log(20, "b", &["late"])),
            ("tie.jsonl", &log(20, "a", &["tie"])),
        ],
        "session:p.jsonl?child=late.jsonl&child=tie.jsonl",
    )
    .unwrap();
    assert_eq!(say(&mut source, Some("x")).unwrap(), "p0");
    assert_eq!(say(&mut source, None).unwrap(), "tie");
    let mut of_body = request("hi");
    let metadata = crate::json::parse("{\"session_id\":\"z\"}").unwrap();
    of_body.parameters.push("metadata", metadata);
    let third = answer(&mut source, None, &of_body).unwrap();
    assert_eq!((third.index, third.call.frames[0].chunk.as_str()), (3, "late"));
    let over = say(&mut source, Some("fourth")).unwrap_err();
    assert!(
        over.starts_with("a call came from live session 4, and only 3 sessions were recorded\n"),
        "{over}"
    );
    assert!(
        over.ends_with(
            "record the session again with all its children, and name their logs in `child_files`"
        ),
        "{over}"
    );
    assert_eq!(say(&mut source, Some("x")).unwrap(), "p1");
    let exhausted = say(&mut source, Some("x")).unwrap_err();
    assert!(
        exhausted.starts_with("call 3 of the session `x` has no entry: its script p.jsonl has 2 calls\n  test      my::test\n  script    "),
        "{exhausted}"
    );
    assert!(
        exhausted.contains("p.jsonl (3 of 3 sessions bound, 4 of 4 calls taken)"),
        "{exhausted}"
    );
    assert_eq!(source.leftovers().left, []);
}

#[test]
fn siblings_that_nothing_tells_apart_are_named_with_the_ways_out() {
    let (_root, mut source) = open(
        &[
            ("p.jsonl", &log(1, "p", &["p0", "p1"])),
            ("a.jsonl", &log(2, "rec-a", &["a0", "a1"])),
            ("b.jsonl", &log(3, "rec-b", &["b0", "b1"])),
        ],
        "session:p.jsonl?child=b.jsonl&child=a.jsonl",
    )
    .unwrap();
    assert_eq!(say(&mut source, Some("main")).unwrap(), "p0");
    assert_eq!(say(&mut source, Some("x")).unwrap(), "a0");
    let asked = request("hi");
    let hash = crate::canon::request_hash(&asked);
    let why = answer(&mut source, Some("y"), &asked).unwrap_err();
    assert_eq!(why.reason(), Some(crate::observe::Reason::NoMatch));
    let text = explain(&source, &asked, why, false).to_string();
    assert!(
        text.starts_with("a session's first call may belong to a.jsonl or b.jsonl, whose sessions run side by side\n  test      my::test\n"),
        "{text}"
    );
    let advice = |hash: &str| {
        format!(
            "\nmake the calls of each session through a handle with its recorded id, such as `vcr.session(\"rec-a\")`, or write `\"firstRequestHash\":\"{hash}\"` into the header of the log that begins with this request"
        )
    };
    assert!(text.ends_with(&advice(&hash)), "{text}");
    let why = answer(&mut source, Some("y"), &asked).unwrap_err();
    let private = explain(&source, &asked, why, true).to_string();
    assert!(private.ends_with(&advice("sha256:…")), "{private}");
    // Written there, it tells them apart.
    let told = log(3, "rec-b", &["b0", "b1"]).replace(
        "{\"type\":\"session\"",
        &format!("{{\"type\":\"session\",\"firstRequestHash\":\"{hash}\""),
    );
    let (_root, mut source) = open(
        &[
            ("p.jsonl", &log(1, "p", &["p0"])),
            ("a.jsonl", &log(2, "rec-a", &["a0"])),
            ("b.jsonl", &told),
        ],
        "session:p.jsonl?child=b.jsonl&child=a.jsonl",
    )
    .unwrap();
    assert_eq!(say(&mut source, Some("main")).unwrap(), "p0");
    assert_eq!(say(&mut source, Some("x")).unwrap(), "b0");
    assert_eq!(say(&mut source, Some("y")).unwrap(), "a0");
}

#[test]
fn what_a_call_says_of_its_session_counts_more_than_its_way() {
    let files = [
        ("p.jsonl", log(1, "p", &["p0", "p1"])),
        ("a.jsonl", log(2, "a", &["a0", "a1"])),
        ("b.jsonl", log(3, "b", &["b0"])),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let (_root, mut source) = open(&files, "session:p.jsonl?child=a.jsonl&child=b.jsonl").unwrap();
    let plain = request("hi");
    let mut of_body = request("hi");
    let metadata = crate::json::parse("{\"session_id\":\"b\"}").unwrap();
    of_body.parameters.push("metadata", metadata);
    let mut said = |request: &CanonicalRequest, session: Option<&str>, scope: Option<&str>| {
        let how = How {
            matching: Matching::Sequential,
            repeat: false,
            session,
            scope,
        };
        let servable = &|_: &Call| Ok(());
        let answer = source.take(&Ask {
            request,
            how,
            servable,
        });
        answer.unwrap().call.frames[0].chunk.clone()
    };
    assert_eq!(said(&plain, None, Some("p")), "p0");
    assert_eq!(said(&plain, Some("a"), Some("p")), "a0");
    assert_eq!(said(&of_body, Some("a"), Some("p")), "a1");
    assert_eq!(said(&of_body, None, Some("p")), "b0");
    assert_eq!(said(&plain, None, Some("p")), "p1");
}

#[test]
fn an_announced_session_fills_a_placeholder_before_it_calls() {
    let parent = log(1, "p", &["go", "ask {{session:2}} and {{session:3}}"]);
    let files = [
        ("p.jsonl", parent.as_str()),
        ("a.jsonl", &log(2, "a", &["a0"])),
        ("b.jsonl", &log(3, "b", &["b0"])),
    ];
    let (_root, mut source) = open(&files, "session:p.jsonl?child=a.jsonl&child=b.jsonl").unwrap();
    let asked = |text: &str| request(text);
    answer(&mut source, Some("main"), &asked("begin")).unwrap();
    let told = asked("started subagent k-9. Then it started subagent k-10.");
    let answered = answer(&mut source, Some("main"), &told).unwrap();
    assert_eq!(answered.call.frames[0].chunk, "ask k-9 and k-10");
    // Whoever calls first, each has the script that was kept for it.
    assert_eq!(say(&mut source, Some("k-10")).unwrap(), "b0");
    assert_eq!(say(&mut source, Some("k-9")).unwrap(), "a0");
}

#[test]
fn everything_that_is_left_is_named_at_once() {
    let (_root, mut source) = open(
        &[
            ("p.jsonl", &log(1, "p", &["0", "1", "2"])),
            ("a.jsonl", &log(2, "a", &["0", "1"])),
            ("b.jsonl", &log(3, "b", &["0"])),
            ("empty.jsonl", &log(4, "e", &[])),
        ],
        "session:p.jsonl?child=a.jsonl&child=b.jsonl&child=empty.jsonl",
    )
    .unwrap();
    say(&mut source, None).unwrap();
    say(&mut source, Some("k")).unwrap();
    let left = source.leftovers();
    let lines: Vec<_> = left
        .left
        .iter()
        .map(|left| format!("{}: {} {}", left.name, left.about, left.answers))
        .collect();
    assert_eq!(
        lines,
        [
            "p.jsonl, 1 of 3 calls taken: by the session without a key 2",
            "a.jsonl, 1 of 2 calls taken: by the session `k` 1",
            "b.jsonl, 0 of 1 call taken: no live session was bound to it 1",
        ]
    );
    assert_eq!(left.all, 6);
}

#[test]
fn a_private_report_has_neither_request_nor_key() {
    let (_root, mut source) = open(&[("p.jsonl", &log(1, "p", &["0"]))], "session:p.jsonl").unwrap();
    say(&mut source, Some("key")).unwrap();
    let asked = request("secret words");
    let why = answer(&mut source, Some("key"), &asked).unwrap_err();
    let text = explain(&source, &asked, why, true).to_string();
    assert!(text.starts_with("call 2 of a session has no entry"), "{text}");
    assert!(!text.contains("secret") && !text.contains("key"), "{text}");
}

#[test]
fn a_call_that_is_refused_takes_and_binds_nothing() {
    let (_root, mut source) = open(&[("p.jsonl", &log(1, "p", &["0"]))], "session:p.jsonl").unwrap();
    let asked = request("x");
    let ask = Ask {
        request: &asked,
        how: How {
            matching: Matching::Sequential,
            repeat: false,
            session: Some("a"),
            scope: None,
        },
        servable: &|_| Err(Error::new(crate::ErrorKind::Miss, "no", "")),
    };
    assert!(matches!(source.take(&ask), Err(NotTaken::Refused(_))));
    let plain = CanonicalRequest {
        protocol: "http".to_owned(),
        ..asked
    };
    let refused = answer(&mut source, None, &plain).unwrap_err();
    let text = explain(&source, &plain, refused, false).to_string();
    assert!(
        text.starts_with("a session script answers completions, and this request is none"),
        "{text}"
    );
    assert_eq!(say(&mut source, Some("b")).unwrap(), "0");
}

#[test]
fn an_override_patches_appends_and_replaces() {
    let patch = format!(
        "{{\"patches\":[{{\"at\":2,\"entry\":{{\"kind\":\"chunks\",\"chunks\":[{{\"type\":\"text-delta\",\"index\":0,\"text\":\"new\"}},{FINISH}]}}}},\
         {{\"at\":0,\"entry\":{{\"kind\":\"throw\",\"chunks\":[],\"message\":\"slow down\",\"code\":\"rate_limit\"}}}}]}}"
    );
    let logged = log(1, "p", &["0", "1"]);
    let files = [("p.jsonl", logged.as_str()), ("o.json", &patch)];
    let (_root, mut source) = open(&files, "session:p.jsonl?override=o.json").unwrap();
    let mut asked = request("x");
    asked.parameters.push("stream", true);
    let thrown = answer(&mut source, None, &asked).unwrap().call;
    let boundary = thrown.boundary.as_ref().unwrap();
    assert_eq!(
        (boundary.message.as_str(), boundary.code.as_deref()),
        ("slow down", Some("rate_limit"))
    );
    assert_eq!((thrown.http.as_ref(), thrown.frames.len()), (None, 0));
    assert_eq!(say(&mut source, None).unwrap(), "1");
    assert_eq!(say(&mut source, None).unwrap(), "new");
    // Without its file there is no override, and with a list the log need not be there.
    let (_root, mut source) = open(&files[..1], "session:p.jsonl?override=o.json").unwrap();
    assert_eq!(say(&mut source, None).unwrap(), "0");
    let list = "[{\"kind\":\"throw\",\"chunks\":[{\"type\":\"text-delta\",\"index\":0,\"text\":\"a\"}],\"message\":\"m\",\"code\":\"c\"},{\"kind\":\"chunks\",\"chunks\":[]}]";
    let (_root, mut source) = open(&[("o.json", list)], "session:none.jsonl?override=o.json").unwrap();
    let thrown = answer(&mut source, None, &asked).unwrap().call;
    assert_eq!(
        (
            thrown.frames[0].chunk.as_str(),
            thrown.http.as_ref().map(|head| head.status)
        ),
        ("a", Some(200))
    );
    let (_again, mut unary) = open(&[("o.json", list)], "session:none.jsonl?override=o.json").unwrap();
    let failed = answer(&mut unary, None, &request("x")).unwrap().call;
    assert_eq!((failed.frames.len(), failed.http.as_ref()), (0, None));
    let cut = answer(&mut source, None, &asked).unwrap().call;
    assert_eq!(
        cut.boundary.as_ref().map(|boundary| boundary.kind),
        Some(crate::model::BoundaryKind::Truncated)
    );
}

#[test]
fn a_patch_in_front_of_a_call_leaves_it_to_the_next() {
    let patch = r#"{"patches":[
        {"before":1,"entry":{"kind":"throw","message":"slow down","code":"rate_limit","status":429}},
        {"before":1,"entry":{"kind":"cut","frames":1}},
        {"before":0,"entry":{"kind":"hang","frames":0}},
        {"at":1,"entry":{"kind":"throw","frames":1,"message":"m","code":"c"}}]}"#;
    let logged = log(1, "p", &["0", "1"]);
    let files = [("p.jsonl", logged.as_str()), ("o.json", patch)];
    let (_root, mut source) = open(&files, "session:p.jsonl?override=o.json").unwrap();
    let mut asked = request("x");
    asked.parameters.push("stream", true);
    let mut told = Vec::new();
    for _ in 0..5 {
        let answer = answer(&mut source, None, &asked).unwrap();
        let text: String = answer
            .call
            .frames
            .iter()
            .map(|frame| frame.chunk.as_str())
            .collect();
        let end = answer
            .call
            .boundary
            .as_ref()
            .map_or("ok", |boundary| &boundary.error_type);
        told.push(format!("{text}/{end}"));
    }
    assert_eq!(
        told,
        ["/Cancelled", "0/ok", "/rate_limit", "1/ConnectionReset", "1/c"]
    );
    assert!(matches!(
        answer(&mut source, None, &asked),
        Err(NotTaken::Exhausted { .. })
    ));
    let beyond = r#"{"patches":[{"at":0,"entry":{"kind":"cut","frames":3}}]}"#;
    let files = [("p.jsonl", logged.as_str()), ("o.json", beyond)];
    let error = open(&files, "session:p.jsonl?override=o.json").unwrap_err();
    assert!(
        error
            .message()
            .ends_with("o.json has patch 0.entry, which plays 3 frames, and call 0 of the log has 2 frames"),
        "{error}"
    );
}

#[test]
fn a_hang_says_a_little_and_names_its_ready_file() {
    let list = "[{\"kind\":\"hang\",\"readyFile\":\"DIR/ready\"},{\"kind\":\"hang\",\"readyFile\":\"DIR/none/ready\"}]";
    let target = tempfile::tempdir().unwrap();
    let directory = target.path().display().to_string();
    let list = list.replace("DIR", &directory);
    let (_root, mut source) = open(&[("o.json", &list)], "session:none.jsonl?override=o.json").unwrap();
    let asked = request("x");
    let answer_ = answer(&mut source, None, &asked).unwrap();
    assert_eq!(answer_.call.frames[0].chunk, "partial");
    let hang = answer_.manner.hang.unwrap();
    let ready = target.path().join("ready");
    assert!(!ready.exists());
    hang.begin().unwrap();
    assert_eq!(std::fs::read(&ready).unwrap(), b"");
    // A file that is there is not emptied.
    std::fs::write(&ready, "kept").unwrap();
    hang.begin().unwrap();
    assert_eq!(std::fs::read(&ready).unwrap(), b"kept");
    let text = say(&mut source, None).unwrap_err();
    let expected = format!(
        "call 2 of none.jsonl cannot be played: its ready file cannot be made: there is no directory {directory}/none\n"
    );
    assert!(text.starts_with(&expected), "{text}");
}

#[test]
fn placeholders_are_filled_when_the_call_comes() {
    let parent = log(
        1,
        "p",
        &["start", "joined {{session:2}} on {{fromRequest:goal-([0-9]+)}}"],
    );
    let files = [
        ("p.jsonl", parent.as_str()),
        ("c.jsonl", &log(2, "c", &["child of {{session:1}}"])),
    ];
    let (_root, mut source) = open(&files, "session:p.jsonl?child=c.jsonl").unwrap();
    let asked = request("goal-1 goal-27 done");
    let mut said = |session: &str| {
        let answer = answer(&mut source, Some(session), &asked);
        answer
            .map(|answer| answer.call.frames[0].chunk.clone())
            .map_err(|why| match why {
                NotTaken::Refused(error) => error.message().to_owned(),
                other => format!("{other:?}"),
            })
    };
    assert_eq!(said("main").unwrap(), "start");
    assert_eq!(
        said("main").unwrap_err(),
        "call 2 of p.jsonl cannot be played: the placeholder `{{session:2}}` is used, and no live session with a key is bound to that script yet"
    );
    assert_eq!(said("kid").unwrap(), "child of main");
    assert_eq!(said("main").unwrap(), "joined kid on 27");
}

#[test]
fn times_are_those_of_the_pace_or_of_the_log() {
    let full = "{\"type\":\"session\",\"version\":0}\n\
        {\"type\":\"text-chunks\",\"seq0\":1,\"time0\":1000,\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[40],\"texts\":[\"a\",\"b\"]}}\n\
        {\"type\":\"assistant/chunk\",\"seq\":3,\"time\":1100,\"data\":{\"turn\":1,\"step\":1,\"chunk\":{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}}}}\n";
    for (source, timed, deltas, total) in [
        ("session:p.jsonl", false, [0, 40_000, 60_000], 100_000),
        ("session:p.jsonl?pace_ms=7", true, [7_000, 7_000, 7_000], 21_000),
        ("session:p.jsonl?pace_ms=0", false, [0, 40_000, 60_000], 100_000),
    ] {
        let (_root, mut source) = open(&[("p.jsonl", full)], source).unwrap();
        let answer = answer(&mut source, None, &request("x")).unwrap();
        let found: Vec<_> = answer.call.frames.iter().map(|frame| frame.delta_us).collect();
        assert_eq!((answer.manner.timed, found), (timed, deltas.to_vec()));
        assert_eq!(answer.call.metrics.unwrap().total_us, total);
    }
}

#[test]
fn files_that_are_not_there_say_what_to_do() {
    for (files, source, kind, says, advice) in [
        (
            &[][..],
            "session:p.jsonl",
            crate::ErrorKind::CassetteMissing,
            "p.jsonl cannot be read: there is no such file",
            "put the log of a recorded session there",
        ),
        (
            &[("p.jsonl", "{\"type\":\"session\"}")][..],
            "session:p.jsonl?child=c.jsonl",
            crate::ErrorKind::CassetteMissing,
            "c.jsonl cannot be read: there is no such file",
            "record the session with its children again",
        ),
        (
            &[][..],
            "session:../p.jsonl",
            crate::ErrorKind::CassetteBroken,
            "../p.jsonl cannot be read: its path is not a relative path of plain names, at most 1024 bytes long",
            "name another file of the fixture directory",
        ),
        (
            &[
                ("p.jsonl", "{\"type\":\"session\"}"),
                (
                    "o.json",
                    "{\"patches\":[{\"at\":1,\"entry\":{\"kind\":\"hang\"}}]}",
                ),
            ][..],
            "session:p.jsonl?override=o.json",
            crate::ErrorKind::CassetteBroken,
            "o.json has a patch at 1, and the log has 0 calls",
            "patch a call that is there",
        ),
    ] {
        let error = open(files, source).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().ends_with(says), "{error}");
        assert!(error.advice().starts_with(advice), "{error}");
    }
    let root = tempfile::tempdir().unwrap();
    let hole = std::fs::File::create(root.path().join("p.jsonl")).unwrap();
    hole.set_len(1 << 30).unwrap();
    let files = SessionFiles {
        path: "p.jsonl".to_owned(),
        ..SessionFiles::default()
    };
    let error = ScriptSource::open(root.path(), &files, None, Providers::default()).unwrap_err();
    assert!(
        error
            .message()
            .ends_with("p.jsonl cannot be read: it is larger than 64000000 bytes"),
        "{error}"
    );
}
