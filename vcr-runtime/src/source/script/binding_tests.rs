use super::*;
use crate::config::SessionFiles;
use crate::json::parse;
use crate::source::script::load::load;

/// Scripts of two calls each, by what their headers say besides their kind; the first is the primary's. Chunks come at
/// the times of `ran`, where it has any.
fn scripts(headers: &[(&str, Option<[u64; 2]>)]) -> Vec<Script> {
    let root = tempfile::tempdir().unwrap();
    let finish = "{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}}";
    let mut names = Vec::new();
    for (index, (header, ran)) in headers.iter().enumerate() {
        let event = |step: usize| {
            let times = ran.map(|ran| format!("\"seq\":{step},\"time\":{},", ran[step]));
            let times = times.unwrap_or_default();
            format!(
                "{{\"type\":\"assistant/chunk\",{times}\"data\":{{\"turn\":1,\"step\":{step},\"chunk\":{finish}}}}}\n"
            )
        };
        let comma = if header.is_empty() { "" } else { "," };
        let header = format!("{{\"type\":\"session\",\"createdAt\":{index}{comma}{header}}}\n");
        let name = format!("{index}.jsonl");
        std::fs::write(root.path().join(&name), header + &event(0) + &event(1)).unwrap();
        names.push(name);
    }
    let files = SessionFiles {
        path: names.remove(0),
        children: names,
        ..SessionFiles::default()
    };
    load(root.path(), &files, None).unwrap().0
}

const HASH: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000001";

/// One call of a live session, told by its slot.
fn call(scripts: &mut [Script], key: &str, said: &str) -> Result<usize, Vec<usize>> {
    let key = Some(key).filter(|key| !key.is_empty());
    let seat = match seat(scripts, key, || HASH.to_owned()) {
        Ok(seat) => seat,
        Err(NotTaken::Unclear { scripts, hash }) => {
            assert_eq!(hash, HASH);
            return Err(scripts);
        }
        Err(other) => panic!("{other:?}"),
    };
    announce(
        scripts,
        seat.slot,
        &[parse(&format!("[{{\"a\":\"{said}\"}}]")).unwrap()],
    );
    let script = &mut scripts[seat.slot];
    script.next += 1;
    if script.live.is_none() {
        script.live = Some(key.map(str::to_owned));
        script.guessed = seat.guessed;
    }
    Ok(seat.slot)
}

#[test]
fn one_after_the_other_is_the_order_of_creation() {
    let mut scripts = scripts(&[("", None), ("", None), ("", None)]);
    for (key, slot) in [("p", 0), ("x", 1), ("x", 1), ("p", 0), ("y", 2), ("y", 2)] {
        assert_eq!(call(&mut scripts, key, ""), Ok(slot), "{key}");
    }
    let over = seat(&scripts, Some("z"), || HASH.to_owned());
    assert!(matches!(over, Err(NotTaken::Over)));
}

#[test]
fn two_that_run_side_by_side_are_refused() {
    let mut scripts = scripts(&[("", None), ("", None), ("", None), ("", None)]);
    assert_eq!(call(&mut scripts, "p", ""), Ok(0));
    assert_eq!(call(&mut scripts, "x", ""), Ok(1));
    // Which of the two is the first nobody knows.
    assert_eq!(call(&mut scripts, "y", ""), Err(vec![1, 2]));
    assert_eq!(call(&mut scripts, "x", ""), Ok(1));
    assert_eq!(call(&mut scripts, "y", ""), Ok(2));
    // The last that is left may be another's too, as long as that one has not ended.
    assert_eq!(call(&mut scripts, "z", ""), Err(vec![2, 3]));
}

#[test]
fn what_was_recorded_side_by_side_is_refused_at_once() {
    let together = [("", Some([0, 90])), ("", Some([10, 30])), ("", Some([20, 40]))];
    let mut concurrent = scripts(&together);
    assert_eq!(call(&mut concurrent, "p", ""), Ok(0));
    assert_eq!(call(&mut concurrent, "x", ""), Err(vec![1, 2]));
    let apart = [("", Some([0, 90])), ("", Some([10, 20])), ("", Some([20, 40]))];
    let mut serial = scripts(&apart);
    assert_eq!(call(&mut serial, "p", ""), Ok(0));
    assert_eq!(call(&mut serial, "x", ""), Ok(1));
}

#[test]
fn an_id_an_announcement_and_a_first_request_tell_them_apart() {
    let first = format!("\"id\":\"c\",\"firstRequestHash\":\"{HASH}\"");
    let headers = [
        ("\"id\":\"p\"", None),
        ("\"id\":\"a\"", None),
        ("\"id\":\"b\"", None),
        (first.as_str(), None),
        ("\"id\":\"d\"", None),
    ];
    let mut by_id = scripts(&headers);
    for (key, slot) in [("b", 2), ("x", 0), ("a", 1), ("d", 4), ("c", 3)] {
        assert_eq!(call(&mut by_id, key, ""), Ok(slot), "{key}");
    }
    let mut told = scripts(&headers);
    let says = "started subagent k-1, and: started subagent `k/2`. It started subagent k-1: yes";
    assert_eq!(call(&mut told, "main", says), Ok(0));
    assert_eq!((told[1].key(), told[2].key()), (Some("k-1"), Some("k/2")));
    for (key, slot) in [("k/2", 2), ("other", 3), ("k-1", 1), ("last", 4)] {
        assert_eq!(call(&mut told, key, says), Ok(slot), "{key}");
    }
}

#[test]
fn a_session_that_was_announced_and_never_came_keeps_no_script() {
    let mut scripts = scripts(&[("", None), ("", None)]);
    assert_eq!(call(&mut scripts, "p", "started subagent ghost"), Ok(0));
    assert_eq!(call(&mut scripts, "x", ""), Ok(1));
    assert_eq!(scripts[1].key(), Some("x"));
}

#[test]
fn a_session_below_another_is_no_sibling() {
    let nested = |inner: &'static str| {
        [
            ("\"id\":\"p\"", None),
            ("\"id\":\"a\"", None),
            (inner, None),
            ("\"parentSession\":\"p\"", None),
        ]
    };
    let mut by_parent = scripts(&nested("\"parentSession\":\"a\""));
    for (key, slot) in [("p", 0), ("x", 1), ("y", 2)] {
        assert_eq!(call(&mut by_parent, key, ""), Ok(slot), "{key}");
    }
    let deep = [
        ("\"delegationDepth\":0", None),
        ("\"delegationDepth\":1", None),
        ("\"delegationDepth\":2", None),
        ("", None),
    ];
    let mut by_depth = scripts(&deep);
    for (key, slot) in [("p", 0), ("x", 1), ("y", 2)] {
        assert_eq!(call(&mut by_depth, key, ""), Ok(slot), "{key}");
    }
    // An announcement goes to a child of the one that makes it.
    let mut told = scripts(&nested("\"parentSession\":\"a\""));
    assert_eq!(call(&mut told, "p", ""), Ok(0));
    assert_eq!(call(&mut told, "x", ""), Ok(1));
    assert_eq!(call(&mut told, "p", "started subagent z"), Ok(0));
    assert_eq!(told[3].key(), Some("z"));
    // Parents that go round end the search.
    let round = [
        ("", None),
        ("\"id\":\"a\",\"parentSession\":\"b\"", None),
        ("\"id\":\"b\",\"parentSession\":\"a\"", None),
        ("", None),
    ];
    let round = scripts(&round);
    assert!(!is_below(&round, 1, 3) && is_below(&round, 1, 2));
}

#[test]
fn a_script_without_calls_is_no_sessions() {
    let mut scripts = scripts(&[("", None), ("\"seedLength\":2", None), ("", None)]);
    assert_eq!(call(&mut scripts, "p", ""), Ok(0));
    assert_eq!(call(&mut scripts, "x", ""), Ok(2));
}
