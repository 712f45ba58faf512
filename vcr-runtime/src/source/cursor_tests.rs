use super::*;
use crate::json::{Json, Object, parse};
use crate::model::Metrics;

fn live(text: &str) -> CanonicalRequest {
    CanonicalRequest {
        protocol: "openai-chat".to_owned(),
        model: "m".to_owned(),
        messages: vec![Json::from(text)],
        parameters: Object::new(),
        ..CanonicalRequest::default()
    }
}

/// A call with text, start and end.
fn call(text: &str, span: Option<(u64, u64)>) -> Call {
    Call {
        request: RecordedRequest::recorded(live(text), "sha256:0".to_owned()).into(),
        started_us: span.map(|(start, _)| start),
        metrics: span.map(|(start, end)| Metrics {
            ttfb_us: 0,
            total_us: end - start,
        }),
        ..Call::default()
    }
}

fn cursor(calls: Vec<Call>) -> Cursor {
    let take = Take {
        trace_id: "t".to_owned(),
        calls,
    };
    Cursor::new(take, &Arc::new(Redactor::none()), &IgnorePaths::default())
}

fn once(matching: Matching) -> How<'static> {
    How {
        matching,
        repeat: false,
        session: None,
        scope: None,
    }
}

#[test]
fn where_calls_may_repeat_the_last_equal_one_answers_again() {
    for matching in [Matching::Sequential, Matching::Keyed] {
        let mut cursor = cursor(vec![
            call("a", Some((0, 1))),
            call("b", Some((1, 2))),
            call("a", Some((2, 3))),
        ]);
        let mut again = |text: &str, repeat: bool| {
            let how = How {
                matching,
                repeat,
                session: None,
                scope: None,
            };
            cursor
                .take(&live(text), how, |_, _| Ok(()))
                .map(|(index, _)| index)
        };
        assert_eq!(again("a", true).unwrap(), 0);
        assert_eq!(again("b", true).unwrap(), 1);
        assert_eq!(again("b", true).unwrap(), 1);
        for _ in 0..3 {
            assert_eq!(again("a", true).unwrap(), 2);
        }
        // Only who asks for it gets a repetition.
        assert!(matches!(
            again("a", false),
            Err(NotTaken::Exhausted {
                call: 0,
                by: 1,
                equal: 2
            })
        ));
        assert!(matches!(again("c", true), Err(NotTaken::Unknown)));
        assert_eq!(cursor.leftovers().count(), 0);
    }
}

#[test]
fn a_call_written_by_hand_and_the_last_of_an_order_may_repeat_too() {
    let mut by_hand = call("a", None);
    Arc::make_mut(&mut by_hand.request).hash = None;
    let mut cursor = cursor(vec![by_hand, call("b", None)]);
    let how = |matching| How {
        matching,
        repeat: true,
        session: None,
        scope: None,
    };
    for _ in 0..2 {
        assert_eq!(
            cursor
                .take(&live("a"), how(Matching::Keyed), |_, _| Ok(()))
                .unwrap()
                .0,
            0
        );
    }
    for _ in 0..2 {
        assert_eq!(
            cursor
                .take(&live("x"), how(Matching::Order), |_, _| Ok(()))
                .unwrap()
                .0,
            1
        );
    }
    // One that was given away cannot come back.
    let mut spent = super::tests::cursor(vec![call("a", None)]);
    take(&mut spent, "a", Matching::Keyed).unwrap();
    assert!(matches!(
        spent.take(&live("a"), how(Matching::Keyed), |_, _| Ok(())),
        Err(NotTaken::Exhausted { .. })
    ));
}

fn take(cursor: &mut Cursor, text: &str, matching: Matching) -> Result<usize, NotTaken> {
    cursor
        .take(&live(text), once(matching), |_, _| Ok(()))
        .map(|(index, _)| index)
}

#[test]
fn equal_requests_are_answered_in_recorded_order_then_refused() {
    for matching in [Matching::Sequential, Matching::Keyed] {
        let mut cursor = cursor(vec![
            call("a", Some((0, 1))),
            call("a", Some((1, 2))),
            call("a", Some((2, 3))),
        ]);
        for expected in 0..3 {
            assert_eq!(take(&mut cursor, "a", matching).unwrap(), expected);
        }
        let refused = take(&mut cursor, "a", matching).unwrap_err();
        assert!(
            matches!(
                refused,
                NotTaken::Exhausted {
                    call: 0,
                    by: 1,
                    equal: 3
                }
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn what_was_sequential_stays_strict() {
    let mut cursor = cursor(vec![call("a", Some((0, 10))), call("b", Some((10, 20)))]);
    let refused = take(&mut cursor, "b", Matching::Sequential).unwrap_err();
    assert!(
        matches!(
            refused,
            NotTaken::Early {
                call: 1,
                waits_for: 0
            }
        ),
        "{refused:?}"
    );
    assert_eq!(take(&mut cursor, "b", Matching::Keyed).unwrap(), 1);
    assert_eq!(take(&mut cursor, "a", Matching::Sequential).unwrap(), 0);
}

#[test]
fn what_ran_concurrently_comes_in_any_order() {
    // a and b overlap, c started after both.
    let calls = || {
        vec![
            call("a", Some((0, 10))),
            call("b", Some((5, 30))),
            call("c", Some((30, 40))),
        ]
    };
    for order in [["a", "b", "c"], ["b", "a", "c"]] {
        let mut cursor = cursor(calls());
        for text in order {
            take(&mut cursor, text, Matching::Sequential).unwrap();
        }
        assert_eq!(cursor.leftovers().count(), 0);
    }
    let mut early = cursor(calls());
    take(&mut early, "a", Matching::Sequential).unwrap();
    assert!(matches!(
        take(&mut early, "c", Matching::Sequential),
        Err(NotTaken::Early { waits_for: 1, .. })
    ));
}

#[test]
fn instant_calls_never_block_each_other() {
    let mut cursor = cursor(vec![call("a", Some((5, 5))), call("b", Some((5, 5)))]);
    assert_eq!(take(&mut cursor, "a", Matching::Sequential).unwrap(), 0);
    assert_eq!(take(&mut cursor, "b", Matching::Sequential).unwrap(), 1);
}

#[test]
fn without_times_the_file_order_is_strict() {
    let mut cursor = cursor(vec![call("a", None), call("b", Some((0, 0)))]);
    assert!(matches!(
        take(&mut cursor, "b", Matching::Sequential),
        Err(NotTaken::Early { waits_for: 0, .. })
    ));
    assert_eq!(take(&mut cursor, "a", Matching::Sequential).unwrap(), 0);
    assert_eq!(take(&mut cursor, "b", Matching::Sequential).unwrap(), 1);
}

#[test]
fn order_looks_at_no_body_and_a_refused_call_stays() {
    let mut cursor = cursor(vec![call("a", None), call("b", None)]);
    let refuse = |_: usize, _: &Call| Err(Error::new(crate::ErrorKind::Miss, "no", ""));
    assert!(matches!(
        cursor.take(&live("x"), once(Matching::Order), refuse),
        Err(NotTaken::Refused(_))
    ));
    assert_eq!(take(&mut cursor, "x", Matching::Order).unwrap(), 0);
    assert_eq!(take(&mut cursor, "y", Matching::Order).unwrap(), 1);
    assert!(matches!(
        take(&mut cursor, "z", Matching::Order),
        Err(NotTaken::Over)
    ));
}

#[test]
fn hand_written_calls_are_compared_on_what_they_have() {
    let mut by_hand = call("a", None);
    let request = Arc::make_mut(&mut by_hand.request);
    request.hash = None;
    request.model = None;
    request.parameters = parse("{\"temperature\":null}").unwrap().as_object().cloned();
    let mut cursor = cursor(vec![by_hand]);
    let mut request = live("a");
    request.parameters.push("temperature", 1_u64);
    assert!(matches!(
        cursor.take(&request, once(Matching::Sequential), |_, _| Ok(())),
        Err(NotTaken::Unknown)
    ));
    request.parameters = parse("{\"tools\":[1]}").unwrap().as_object().cloned().unwrap();
    assert!(
        cursor
            .take(&request, once(Matching::Sequential), |_, _| Ok(()))
            .is_ok()
    );
}

/// A cursor over recordings that an earlier version of the rules left a secret in.
fn with_secrets(texts: &[&str]) -> Cursor {
    let environment = crate::config::Environment::from_pairs([("A_KEY", "canary-value")]);
    let redactor = Redactor::new(&crate::config::RedactRules::default(), &environment).unwrap();
    let take = Take {
        trace_id: "t".to_owned(),
        calls: texts.iter().map(|text| call(text, None)).collect(),
    };
    Cursor::new(take, &Arc::new(redactor), &IgnorePaths::default())
}

#[test]
fn rules_that_came_later_apply_to_old_recordings() {
    const CLEAN: &str = "say [REDACTED]";
    for matching in [Matching::Sequential, Matching::Keyed, Matching::Order] {
        let mut cursor = with_secrets(&["a", "say canary-value", CLEAN, "say canary-value"]);
        assert_eq!(take(&mut cursor, "a", matching).unwrap(), 0);
        assert_eq!(cursor.key(1).messages, Some(vec![Json::from(CLEAN)]));
        let mut served = Vec::new();
        for _ in 0..3 {
            let (index, call) = cursor
                .take(&live(CLEAN), once(matching), |_, call| {
                    let shown = call.request.messages.as_ref().unwrap();
                    assert_eq!(shown, &[Json::from(CLEAN)]);
                    Ok(())
                })
                .unwrap();
            served.push(index);
            assert_eq!(call.request.hash.as_deref() == Some("sha256:0"), index == 2);
        }
        if matching == Matching::Keyed {
            served.sort_unstable();
        }
        assert_eq!(served, [1, 2, 3]);
    }
}
