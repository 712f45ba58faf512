use super::*;
use crate::source::script::fault::DOCUMENT;
use std::path::Path;

fn problem(text: &str) -> String {
    let error = Overrides::read(text)
        .unwrap_err()
        .error_of(DOCUMENT, Path::new("o.json"));
    assert_eq!(
        (error.kind(), error.advice()),
        (crate::ErrorKind::CassetteBroken, CORRECT)
    );
    error
        .message()
        .strip_prefix("the override file o.json ")
        .unwrap()
        .to_owned()
}

#[test]
fn each_rule_names_the_place() {
    for (text, expected) in [
        (
            "[",
            "is no JSON document: the document ends in the middle (was the file cut?) (column 2)",
        ),
        ("1", "is neither a list of entries nor `{\"patches\": […]}`"),
        (
            "{\"patches\":[],\"x\":1}",
            "is neither a list of entries nor `{\"patches\": […]}`",
        ),
        (
            "{\"patches\":{}}",
            "is neither a list of entries nor `{\"patches\": […]}`",
        ),
        ("{}", "is neither a list of entries nor `{\"patches\": […]}`"),
        (
            "{\"patches\":[],\"patches\":[]}",
            "is no JSON document: the object names this key twice (column 28)",
        ),
        ("[{}]", "has entry 0, which has no `kind`"),
        (
            "[{\"kind\":1}]",
            "has entry 0, which has a `kind` that is no text",
        ),
        (
            "[{\"kind\":\"chunks\",\"chunks\":{}}]",
            "has entry 0, which has a `chunks` that is no list",
        ),
        (
            "[{\"kind\":\"chunks\",\"chunks\":[1]}]",
            "has entry 0.chunks[0], which is no object",
        ),
        (
            "[{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"text\"}]}]",
            "has entry 0.chunks[0], which has the unknown type `text`",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\",\"code\":\"\"}]",
            "has entry 0, which has an empty `code`",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[],\"message\":1,\"code\":\"c\"}]",
            "has entry 0, which has a `message` that is no text",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\",\"code\":\"c\",\"x\":429}]",
            "has entry 0, which has the member `x`, which has no place there",
        ),
        (
            "[{\"kind\":\"hang\",\"readyFile\":1}]",
            "has entry 0, which has a `readyFile` that is no text",
        ),
        (
            "[{\"kind\":\"hang\",\"chunks\":[]}]",
            "has entry 0, which has the member `chunks`, which has no place there",
        ),
        ("{\"patches\":[1]}", "has patch 0, which is no object"),
        (
            "{\"patches\":[{\"entry\":{\"kind\":\"hang\"}}]}",
            "has patch 0, which has no `at`",
        ),
        (
            "{\"patches\":[{\"at\":0.5,\"entry\":{}}]}",
            "has patch 0, which has an `at` that is no whole number in its range",
        ),
        (
            "{\"patches\":[{\"at\":9007199254740992,\"entry\":{}}]}",
            "has patch 0, which has an `at` that is no whole number in its range",
        ),
        (
            "{\"patches\":[{\"at\":0,\"entry\":1}]}",
            "has patch 0.entry, which is no object",
        ),
        (
            "{\"patches\":[{\"at\":0,\"entry\":{\"kind\":\"hang\"}},{\"at\":1,\"entry\":{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}},{\"type\":\"usage\"}]}}]}",
            "has patch 1.entry.chunks[1], which has no `usage`",
        ),
        ("[{\"kind\":\"hang\"},1]", "has entry 1, which is no object"),
        (
            "[{\"kind\":\"wait\"}]",
            "has entry 0, which is of the unknown kind `wait`",
        ),
        ("[{\"kind\":\"chunks\"}]", "has entry 0, which has no `chunks`"),
        (
            "[{\"kind\":\"chunks\",\"chunks\":[],\"code\":\"x\"}]",
            "has entry 0, which has the member `code`, which has no place there",
        ),
        (
            "[{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"text-delta\",\"index\":0}]}]",
            "has entry 0.chunks[0], which has no `text`",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"\",\"code\":\"c\"}]",
            "has entry 0, which has an empty `message`",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\"}]",
            "has entry 0, which has no `code`",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\",\"code\":\"c\",\"accepted\":1}]",
            "has entry 0, which has an `accepted` that is neither `true` nor `false`",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}}],\"message\":\"m\",\"code\":\"c\"}]",
            "has entry 0, which throws, and has a `finish` among its chunks",
        ),
        (
            "[{\"kind\":\"hang\",\"readyFile\":\"\"}]",
            "has entry 0, which has an empty `readyFile`",
        ),
        ("{\"patches\":[{\"at\":0}]}", "has patch 0, which has no `entry`"),
        (
            "{\"patches\":[{\"at\":0,\"before\":0,\"entry\":{}}]}",
            "has patch 0, which has both `at` and `before`",
        ),
        (
            "{\"patches\":[{\"before\":1.5,\"entry\":{}}]}",
            "has patch 0, which has a `before` that is no whole number in its range",
        ),
        ("[{\"kind\":\"cut\"}]", "has entry 0, which has no `frames`"),
        (
            "[{\"kind\":\"cut\",\"frames\":1,\"readyFile\":\"x\"}]",
            "has entry 0, which has the member `readyFile`, which has no place there",
        ),
        (
            "[{\"kind\":\"throw\",\"chunks\":[],\"frames\":1,\"message\":\"m\",\"code\":\"c\"}]",
            "has entry 0, which has both `chunks` and `frames`",
        ),
        (
            "[{\"kind\":\"throw\",\"message\":\"m\",\"code\":\"c\",\"status\":302}]",
            "has entry 0, which has a `status` that is no failure, which is from 400 to 599",
        ),
        (
            "[{\"kind\":\"throw\",\"message\":\"m\",\"code\":\"c\",\"retryAfterMs\":1}]",
            "has entry 0, which has a `retryAfterMs`, which goes with the `status` of a call that was not accepted",
        ),
        (
            "[{\"kind\":\"throw\",\"message\":\"m\",\"code\":\"c\",\"accepted\":1}]",
            "has entry 0, which has an `accepted` that is neither `true` nor `false`",
        ),
        (
            "[{\"kind\":\"hang\",\"frames\":\"all\"}]",
            "has entry 0, which has a `frames` that is no whole number in its range",
        ),
        (
            "{\"patches\":[{\"at\":-1,\"entry\":{}}]}",
            "has patch 0, which has an `at` that is no whole number in its range",
        ),
        (
            "{\"patches\":[{\"at\":0,\"entry\":{\"kind\":\"hang\"},\"x\":0}]}",
            "has patch 0, which has the member `x`, which has no place there",
        ),
        (
            "{\"patches\":[{\"at\":0,\"entry\":{\"kind\":\"hang\",\"code\":0}}]}",
            "has patch 0.entry, which has the member `code`, which has no place there",
        ),
        (
            "{\"patches\":[{\"at\":1,\"entry\":{\"kind\":\"hang\"}},{\"at\":1,\"entry\":{\"kind\":\"hang\"}}]}",
            "has two patches at 1",
        ),
        (
            "[{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}},{\"type\":\"text-delta\",\"index\":0,\"text\":\"\"}]}]",
            "has entry 0.chunks[1], which comes too late: only `finish` may follow `usage`, and nothing follows `finish`",
        ),
    ] {
        assert_eq!(problem(text), expected, "{text}");
    }
    let deep = problem(&"[".repeat(100_000));
    assert!(
        deep.starts_with("is no JSON document: the document is nested too deeply (column 65"),
        "{deep}"
    );
}

#[test]
fn a_patch_may_append_and_not_lie_beyond() {
    let patch = Overrides::read("{\"patches\":[{\"at\":2,\"entry\":{\"kind\":\"hang\"}}]}").unwrap();
    let check = |calls: usize| patch.check("log", calls, |_| 0);
    assert_eq!((check(2), check(3)), (Ok(()), Ok(())));
    let error = check(1).unwrap_err().error_of(DOCUMENT, Path::new("o.json"));
    assert_eq!(
        error.to_string(),
        "the override file o.json has a patch at 2, and the log has 1 call; patch a call that is there, counted from 0, or append by `at` with the number of calls"
    );
}

#[test]
fn a_throw_behind_chunks_was_accepted() {
    let accepted = |rest: &str| {
        let text = format!("[{{\"kind\":\"throw\",\"message\":\"m\",\"code\":\"c\",{rest}}}]");
        match Overrides::read(&text).unwrap() {
            Overrides::Replace(entries) => match &entries[..] {
                [Entry::Throw { failure, .. }] => failure.accepted,
                other => panic!("{other:?}"),
            },
            Overrides::Patch(_) => panic!("a list replaces"),
        }
    };
    assert!(!accepted("\"chunks\":[]") && !accepted("\"frames\":0") && accepted("\"frames\":1"));
    assert!(accepted("\"chunks\":[],\"accepted\":true"));
    assert!(accepted(
        "\"chunks\":[{\"type\":\"text-delta\",\"index\":0,\"text\":\"a\"}]"
    ));
}
