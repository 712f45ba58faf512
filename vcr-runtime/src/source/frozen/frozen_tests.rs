use super::*;
use crate::config::Matching;
use crate::json::{Json, parse};
use crate::model::Call;
use crate::redact::Redactor;
use crate::source::How;

fn request(text: &str) -> CanonicalRequest {
    let mut message = crate::json::Object::new();
    message.push("role", "user");
    message.push("content", text);
    CanonicalRequest {
        protocol: "completion".to_owned(),
        messages: vec![Json::Object(message)],
        ..CanonicalRequest::default()
    }
}

fn hash(text: &str) -> String {
    neutral::text(&neutral::key(&request(text), &Providers::default(), 1_000_000).unwrap())
}

fn open(lines: &[(&str, &str)], ceilings: Ceilings) -> (tempfile::TempDir, FrozenSource) {
    let root = tempfile::tempdir().unwrap();
    let text: Vec<String> = lines
        .iter()
        .map(|(asked, answers)| {
            format!(
                "{{\"schema_version\":1,\"request_hash\":\"{}\",{answers}}}\n",
                hash(asked)
            )
        })
        .collect();
    std::fs::write(root.path().join("a.jsonl"), text.concat()).unwrap();
    let comparison = Comparison {
        redactor: Arc::new(Redactor::none()),
        ignore: Arc::default(),
        cross: None,
    };
    let source = FrozenSource::open(
        root.path(),
        "a.jsonl",
        ceilings,
        Providers::default(),
        &comparison,
    )
    .unwrap();
    (root, source)
}

fn take(
    source: &mut FrozenSource,
    text: &str,
    servable: &dyn Fn(&Call) -> Result<()>,
) -> Result<String, NotTaken> {
    let ask = Ask {
        request: &request(text),
        how: How {
            matching: Matching::Sequential,
            // An exhausted sequence stays exhausted.
            repeat: true,
            session: None,
            scope: None,
        },
        servable,
    };
    source
        .take(&ask)
        .map(|answer| format!("{} {}", answer.index, answer.call.frames[0].chunk))
}

fn say(source: &FrozenSource, text: &str, why: NotTaken, private: bool) -> Error {
    let place = Where {
        test: "my::test",
        remedy: &crate::source::Remedy::Test(" test".to_owned()),
        matching: Matching::Sequential,
        private,
    };
    source.explain(&request(text), why, place)
}

const TWO: &str = "\"responses\":[{\"content\":\"a0\"},{\"content\":\"a1\"}]";

#[test]
fn a_sequence_ends_and_a_refused_answer_stays() {
    let (_root, mut source) = open(
        &[("x", "\"response\":{\"content\":\"x0\"}"), ("a", TWO)],
        Ceilings::default(),
    );
    let refuse = |_: &Call| Err(Error::new(crate::ErrorKind::Miss, "no", ""));
    assert!(matches!(
        take(&mut source, "a", &refuse),
        Err(NotTaken::Refused(_))
    ));
    assert_eq!(take(&mut source, "a", &|_| Ok(())).unwrap(), "1 a0");
    assert_eq!(take(&mut source, "a", &|_| Ok(())).unwrap(), "2 a1");
    let exhausted = take(&mut source, "a", &|_| Ok(())).unwrap_err();
    assert!(
        matches!(
            exhausted,
            NotTaken::Exhausted {
                call: 2,
                equal: 2,
                ..
            }
        ),
        "{exhausted:?}"
    );
    let text = say(&source, "a", exhausted, false).to_string();
    assert!(
        text.starts_with("replay sequence for this request is exhausted (2 responses in line 2, all used)"),
        "{text}"
    );
    assert!(matches!(
        take(&mut source, "unknown", &|_| Ok(())),
        Err(NotTaken::Unknown)
    ));
    assert_eq!((source.cursors.len(), source.served), (1, 2));
    assert_eq!(take(&mut source, "x", &|_| Ok(())).unwrap(), "0 x0");
}

#[test]
fn each_run_has_cursors_of_its_own_over_one_file() {
    let (root, mut first) = open(&[("a", TWO)], Ceilings::default());
    let comparison = Comparison {
        redactor: Arc::new(Redactor::none()),
        ignore: Arc::default(),
        cross: None,
    };
    let mut second = FrozenSource::open(
        root.path(),
        "a.jsonl",
        Ceilings::default(),
        Providers::default(),
        &comparison,
    )
    .unwrap();
    assert!(Arc::ptr_eq(&first.fixtures, &second.fixtures));
    assert_eq!(take(&mut first, "a", &|_| Ok(())).unwrap(), "0 a0");
    assert_eq!(take(&mut second, "a", &|_| Ok(())).unwrap(), "0 a0");
}

#[test]
fn what_is_left_is_named_by_its_line() {
    let (_root, mut source) = open(
        &[("x", "\"response\":{\"content\":\"\"}"), ("a", TWO)],
        Ceilings::default(),
    );
    take(&mut source, "a", &|_| Ok(())).unwrap();
    let left = source.leftovers();
    let names: Vec<&str> = left.left.iter().map(|left| left.name.as_str()).collect();
    assert_eq!((names, left.all), (vec!["line 1", "line 2, response 2"], 3));
    assert_eq!(left.left[0].about, hash("x"));
}

#[test]
fn a_miss_names_the_hash_in_one_fixed_form() {
    let (_root, source) = open(&[("a", TWO)], Ceilings::default());
    let error = say(&source, "hi", NotTaken::Unknown, false);
    let first = format!(
        "no replay fixture matches this request (request_hash: {})",
        hash("hi")
    );
    assert_eq!(error.message().lines().next(), Some(first.as_str()));
    assert_eq!(error.kind(), crate::ErrorKind::Miss);
}

#[test]
fn a_private_run_tells_neither_hash_nor_prompt_in_public() {
    let (root, mut source) = open(
        &[("secret", "\"response\":{\"secret-member\":1}")],
        Ceilings::default(),
    );
    let refused = take(&mut source, "secret", &|_| Ok(())).unwrap_err();
    for (asked, why) in [
        ("secret", NotTaken::Unknown),
        (
            "secret two",
            NotTaken::Exhausted {
                call: 1,
                by: 1,
                equal: 1,
            },
        ),
        ("secret three", refused),
    ] {
        let error = say(&source, asked, why, true);
        let public = format!("{error} {error:?}");
        assert!(
            !public.contains("secret") && !public.contains(&hash(asked)[7..]),
            "{public}"
        );
        assert!(public.contains("a.jsonl.private"), "{public}");
    }
    let text = std::fs::read_to_string(root.path().join("a.jsonl.private")).unwrap();
    let records: Vec<Json> = text.lines().map(|line| parse(line).unwrap()).collect();
    assert_eq!(records.len(), 3);
    assert_eq!(
        records[0].get("request_hash").unwrap().as_str(),
        Some(hash("secret").as_str())
    );
    assert_eq!(records[1].get("reason").unwrap().as_str(), Some("exhausted"));
    assert!(
        text.contains("secret-member") && text.contains("\"test\":\"my::test\""),
        "{text}"
    );
}

#[test]
fn ceilings_on_calls_and_requests_close() {
    let calls = Ceilings {
        calls: 1,
        ..Ceilings::default()
    };
    let (_root, mut source) = open(&[("a", TWO)], calls);
    take(&mut source, "a", &|_| Ok(())).unwrap();
    let refused = take(&mut source, "a", &|_| Ok(())).unwrap_err();
    let text = say(&source, "a", refused, false).to_string();
    assert!(
        text.starts_with("the run has had 1 replayed call, which is its ceiling"),
        "{text}"
    );
    let length = "{\"messages\":[{\"content\":\"a\",\"role\":\"user\"}]}".len();
    let requests = Ceilings {
        request: length,
        ..Ceilings::default()
    };
    let (_root, mut source) = open(&[("a", TWO)], requests);
    assert!(take(&mut source, "a", &|_| Ok(())).is_ok());
    let refused = take(&mut source, "ab", &|_| Ok(())).unwrap_err();
    let text = say(&source, "ab", refused, false).to_string();
    assert!(
        text.starts_with(&format!(
            "replay request is larger than its ceiling of {length} bytes"
        )),
        "{text}"
    );
}
