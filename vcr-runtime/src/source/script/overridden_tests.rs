use std::collections::BTreeMap;

use super::*;
use crate::cassette::{self, Head};
use crate::config::Matching;
use crate::json::parse;
use crate::model::{BoundaryKind, Frame, Metrics, RecordedRequest, Take};
use crate::redact::Redactor;
use crate::source::{Comparison, How, Remedy};

fn request(text: &str) -> CanonicalRequest {
    let message = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}");
    let mut request = CanonicalRequest {
        protocol: "completion".to_owned(),
        model: "m".to_owned(),
        messages: vec![parse(&message).unwrap()],
        ..CanonicalRequest::default()
    };
    request.parameters.push("stream", true);
    request
}

/// A call that answers `text` with three frames, one after another.
fn recorded(number: u64, text: &str) -> Call {
    let request = request(text);
    let hash = crate::canon::request_hash(&request);
    let frame = |chunk: &str| Frame {
        delta_us: 10,
        chunk: chunk.to_owned(),
        ..Frame::default()
    };
    let mut last = frame("!");
    last.finish_reason = Some("stop".to_owned());
    Call {
        request: RecordedRequest::recorded(request, hash).into(),
        started_us: Some(100 * number),
        metrics: Some(Metrics {
            ttfb_us: 10,
            total_us: 30,
        }),
        frames: vec![frame("said "), frame(text), last].into(),
        ..Call::default()
    }
}

/// A cassette whose calls answer `texts`, under a document.
fn open(texts: &[&str], document: &str) -> Result<(tempfile::TempDir, Box<dyn Source>)> {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("c.json");
    let take = Take {
        trace_id: "0a0b0c0d0e0f10111213141516171819".to_owned(),
        calls: (0..)
            .zip(texts)
            .map(|(number, text)| recorded(number, text))
            .collect(),
    };
    let head = Head {
        scenario: "s",
        test: None,
    };
    cassette::save(&path, &path, head, &take, &|_| None).unwrap();
    std::fs::write(root.path().join("o.json"), document).unwrap();
    let file = OverrideFile {
        path: "o.json".to_owned(),
        required: true,
    };
    let comparison = Comparison {
        redactor: Arc::new(Redactor::none()),
        ignore: Arc::default(),
        cross: None,
    };
    let cassette = || CassetteSource::open(&path, None, &Remedy::Test(String::new()), &comparison);
    let source = OverriddenSource::open(root.path(), &file, &path, cassette)?;
    Ok((root, source))
}

fn take(source: &mut dyn Source, request: &CanonicalRequest, matching: Matching) -> Result<Answer, NotTaken> {
    let how = How {
        matching,
        repeat: false,
        session: None,
        scope: None,
    };
    source.take(&Ask {
        request,
        how,
        servable: &|_| Ok(()),
    })
}

/// What an answer says, and how it ends.
fn told(answer: &Answer) -> String {
    let text: String = answer
        .call
        .frames
        .iter()
        .map(|frame| frame.chunk.as_str())
        .collect();
    match (&answer.call.boundary, &answer.manner.hang) {
        (None, None) => text,
        (_, Some(_)) => format!("{text}…"),
        (Some(boundary), None) => format!("{text}/{}", boundary.kind.as_str()),
    }
}

fn say(source: &mut dyn Source, text: &str) -> String {
    match take(source, &request(text), Matching::Sequential) {
        Ok(answer) => told(&answer),
        Err(why) => format!("{why:?}").split([' ', '(']).next().unwrap().to_owned(),
    }
}

const PATCHES: &str = r#"{"patches": [
    {"before": 2, "entry": {"kind": "throw", "message": "slow down", "code": "rate_limit", "status": 429, "retryAfterMs": 1500}},
    {"at": 1, "entry": {"kind": "hang", "frames": 1}},
    {"before": 0, "entry": {"kind": "cut", "frames": 2}},
    {"before": 0, "entry": {"kind": "throw", "frames": 1, "message": "it broke", "code": "overloaded"}},
    {"at": 3, "entry": {"kind": "chunks", "chunks": [{"type": "text-delta", "index": 0, "text": "to {{fromRequest:(d)$}}"}, {"type": "finish", "reason": {"kind": "stop"}}]}}
]}"#;

#[test]
fn calls_are_answered_as_the_document_says_under_every_matching() {
    for matching in [Matching::Sequential, Matching::Keyed, Matching::Order] {
        let (_root, mut source) = open(&["a", "b", "c"], PATCHES).unwrap();
        let mut said = Vec::new();
        for text in ["a", "a", "a", "b", "c", "c", "d"] {
            let answer = take(&mut *source, &request(text), matching).unwrap();
            assert!(matches!(
                (&answer.recorded, told(&answer).as_str()),
                (Recorded::Itself, "said a!" | "said c!")
                    | (Recorded::Other(_), "said …")
                    | (
                        Recorded::Nothing,
                        "said a/cancelled" | "said /error" | "/http" | "to d"
                    )
            ));
            said.push(told(&answer));
        }
        assert_eq!(
            said,
            [
                "said a/cancelled",
                "said /error",
                "said a!",
                "said …",
                "/http",
                "said c!",
                "to d"
            ],
            "{matching}"
        );
        assert!(source.leftovers().left.is_empty() && source.unapplied().is_none());
        assert!(matches!(
            take(&mut *source, &request("d"), matching),
            Err(NotTaken::Unknown | NotTaken::Over)
        ));
    }
}

#[test]
fn a_refusal_has_its_status_and_a_wait() {
    let (_root, mut source) = open(
        &["a"],
        &PATCHES[..PATCHES.find("    {\"at\": 1").unwrap()]
            .replace("2,", "0,")
            .replace("}},\n", "}}]}"),
    )
    .unwrap();
    let answer = take(&mut *source, &request("a"), Matching::Sequential).unwrap();
    let boundary = answer.call.boundary.as_ref().unwrap();
    assert_eq!(
        (boundary.kind, boundary.status, boundary.code.as_deref()),
        (BoundaryKind::Http, Some(429), Some("rate_limit"))
    );
    let head = answer.call.http.as_ref().unwrap();
    let headers: BTreeMap<_, _> = head.headers.iter().cloned().collect();
    assert_eq!(
        (
            head.status,
            headers["retry-after-ms"].as_str(),
            headers["retry-after"].as_str()
        ),
        (429, "1500", "2")
    );
}

#[test]
fn what_a_beginning_leaves_out_takes_no_time() {
    let (_root, mut source) = open(
        &["a"],
        r#"{"patches":[{"at":0,"entry":{"kind":"cut","frames":2}}]}"#,
    )
    .unwrap();
    let answer = take(&mut *source, &request("a"), Matching::Keyed).unwrap();
    let metrics = answer.call.metrics.unwrap();
    assert_eq!((metrics.ttfb_us, metrics.total_us), (10, 20));
    let boundary = answer.call.boundary.as_ref().unwrap();
    assert_eq!(
        (boundary.error_type.as_str(), boundary.message.as_str()),
        (
            "ConnectionReset",
            "the connection broke off behind 2 frames, as the override file says"
        )
    );
    // A whole answer has no beginning.
    let (_root, mut source) = open(
        &["a"],
        r#"{"patches":[{"at":0,"entry":{"kind":"cut","frames":2}}]}"#,
    )
    .unwrap();
    let mut whole = request("a");
    whole.parameters.set("stream", false);
    let answer = take(&mut *source, &whole, Matching::Order).unwrap();
    assert_eq!(
        (told(&answer).as_str(), answer.call.http.as_ref()),
        ("/cancelled", None)
    );
}

#[test]
fn an_answer_that_cannot_be_read_leaves_all_as_it_is() {
    let (_root, mut source) = open(&["a"], r#"{"patches":[{"before":0,"entry":{"kind":"hang"}}]}"#).unwrap();
    let asked = request("a");
    let refusing = Ask {
        request: &asked,
        how: How {
            matching: Matching::Sequential,
            repeat: false,
            session: None,
            scope: None,
        },
        servable: &|_| Err(Error::new(ErrorKind::Miss, "no", "")),
    };
    assert!(matches!(source.take(&refusing), Err(NotTaken::Refused(error)) if error.message() == "no"));
    assert_eq!(say(&mut *source, "a"), "partial…");
    assert_eq!(say(&mut *source, "a"), "said a!");
}

#[test]
fn a_call_that_repeats_is_patched_each_time_and_preceded_once() {
    let document =
        r#"{"patches":[{"before":0,"entry":{"kind":"hang"}},{"at":0,"entry":{"kind":"cut","frames":1}}]}"#;
    let (_root, mut source) = open(&["a"], document).unwrap();
    let asked = request("a");
    let mut said = Vec::new();
    for _ in 0..3 {
        let how = How {
            matching: Matching::Keyed,
            repeat: true,
            session: None,
            scope: None,
        };
        let ask = Ask {
            request: &asked,
            how,
            servable: &|_| Ok(()),
        };
        said.push(told(&source.take(&ask).unwrap()));
    }
    assert_eq!(said, ["partial…", "said /cancelled", "said /cancelled"]);
}

#[test]
fn a_list_answers_in_order_whatever_is_asked() {
    let list = r#"[{"kind":"throw","message":"m","code":"c"},{"kind":"chunks","chunks":[{"type":"text-delta","index":0,"text":"x"},{"type":"finish","reason":{"kind":"stop"}}]}]"#;
    let (root, mut source) = open(&["a"], list).unwrap();
    // The cassette is not even opened.
    std::fs::remove_file(root.path().join("c.json")).unwrap();
    assert_eq!(say(&mut *source, "other"), "/http");
    let (document, left) = source.unapplied().unwrap();
    assert_eq!((document, left.all), (&*root.path().join("o.json"), 2));
    assert_eq!(
        (left.left[0].name.as_str(), left.left[0].about.as_str()),
        ("entry 1", "chunks")
    );
    assert_eq!(say(&mut *source, "other"), "x");
    assert!(source.unapplied().is_none() && source.leftovers().left.is_empty());
    assert_eq!(say(&mut *source, "other"), "Over");
    let place = Where {
        test: "t",
        remedy: &Remedy::Test(String::new()),
        matching: Matching::Sequential,
        private: true,
    };
    let error = source
        .explain(&request("secret"), NotTaken::Over, place)
        .to_string();
    let expected = format!(
        "every entry of the override file has been used\n  test      t\n  override  {} (2 of 2 entries used)\nif the program is right to ask once more, append an entry to the list",
        root.path().join("o.json").display()
    );
    assert_eq!(error, expected);
}

#[test]
fn what_was_never_applied_is_named_by_its_place() {
    let (_root, mut source) = open(&["a", "b", "c"], PATCHES).unwrap();
    say(&mut *source, "a");
    let (_, left) = source.unapplied().unwrap();
    let named: Vec<String> = left
        .left
        .iter()
        .map(|left| format!("{}: {}", left.name, left.about))
        .collect();
    assert_eq!(
        named,
        [
            "patch 0: throw before 2, which is call 3 of the cassette",
            "patch 1: hang at 1, which is call 2 of the cassette",
            "patch 3: throw before 0, which is call 1 of the cassette",
            "patch 4: chunks at 3, behind the last call of the cassette",
        ]
    );
    assert_eq!((left.all, source.leftovers().left.len()), (5, 3));
    let place = Where {
        test: "t",
        remedy: &Remedy::Test(String::new()),
        matching: Matching::Sequential,
        private: false,
    };
    let error = source
        .explain(&request("z"), NotTaken::Unknown, place)
        .to_string();
    assert!(
        error.contains("no recorded call answers this request") && error.contains("o.json (1 of 5 applied)"),
        "{error}"
    );
}

#[test]
fn a_document_that_does_not_fit_is_refused_with_its_place() {
    for (document, says) in [
        ("{", "is no JSON document"),
        (
            r#"{"patches":[{"before":2,"entry":{"kind":"hang"}}]}"#,
            "has a patch before 2, and the cassette has 2 calls",
        ),
        (
            r#"{"patches":[{"at":3,"entry":{"kind":"hang"}}]}"#,
            "has a patch at 3, and the cassette has 2 calls",
        ),
        (
            r#"{"patches":[{"at":1,"entry":{"kind":"hang"}},{"at":0,"entry":{"kind":"cut","frames":4}}]}"#,
            "has patch 1.entry, which plays 4 frames, and call 0 of the cassette has 3 frames",
        ),
        (
            r#"{"patches":[{"at":2,"entry":{"kind":"hang","frames":1}}]}"#,
            "has patch 0.entry, which plays frames of a recorded call, and it stands behind the last call",
        ),
        (
            r#"[{"kind":"hang"},{"kind":"cut","frames":0}]"#,
            "has entry 1, which plays frames of a recorded call, and a list replaces all calls",
        ),
    ] {
        let error = open(&["a", "b"], document).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CassetteBroken, "{error}");
        assert!(
            error.path().is_some_and(|path| path.ends_with("o.json")),
            "{error}"
        );
        assert!(error.message().contains(&format!("o.json {says}")), "{error}");
        assert!(!error.advice().is_empty(), "{error}");
    }
}

#[test]
fn a_document_that_is_not_there_is_missed_where_code_names_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("c.json");
    let opened = |required| {
        let file = OverrideFile {
            path: "o.json".to_owned(),
            required,
        };
        let cassette = || Err(Error::new(ErrorKind::TakeMissing, "the cassette's turn", ""));
        OverriddenSource::open(root.path(), &file, &path, cassette).unwrap_err()
    };
    let error = opened(true);
    assert_eq!(error.kind(), ErrorKind::CassetteMissing);
    assert!(
        error.to_string().ends_with("o.json cannot be read: there is no such file; put the document there, or leave `override_file` out"),
        "{error}"
    );
    assert_eq!(opened(false).kind(), ErrorKind::TakeMissing);
}

#[cfg(unix)]
#[test]
fn a_document_lies_in_the_fixture_directory_by_whatever_path() {
    let root = tempfile::tempdir().unwrap();
    let inside = root.path().join("in");
    std::fs::create_dir(&inside).unwrap();
    for directory in [root.path(), &inside] {
        std::fs::write(directory.join("o.json"), r#"[{"kind":"hang"}]"#).unwrap();
    }
    std::os::unix::fs::symlink("../o.json", inside.join("link.json")).unwrap();
    let opened = |name: String| {
        let file = OverrideFile {
            path: name,
            required: true,
        };
        let cassette = || Err(Error::new(ErrorKind::TakeMissing, "", ""));
        OverriddenSource::open(&inside, &file, &inside.join("c.json"), cassette)
    };
    let whole = |name: &str| inside.join(name).display().to_string();
    assert!(opened("o.json".to_owned()).is_ok() && opened(whole("o.json")).is_ok());
    let outside = root.path().join("o.json").display().to_string();
    for refused in [
        "../o.json".to_owned(),
        whole("../o.json"),
        outside,
        "link.json".to_owned(),
    ] {
        let error = opened(refused.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CassetteBroken, "{refused}: {error}");
    }
}
