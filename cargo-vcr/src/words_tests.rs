use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fluent_syntax::ast::Entry;
use vcr_runtime::ErrorKind;

use super::*;

/// The messages of a file by id, each with the arguments that it names.
fn messages(file: &str) -> BTreeMap<String, BTreeSet<String>> {
    let resource = fluent_syntax::parser::parse(file).unwrap();
    let entries = resource.body.into_iter().filter_map(|entry| match entry {
        Entry::Message(message) => Some(message),
        _ => None,
    });
    let mut found = BTreeMap::new();
    for message in entries {
        // The text between the braces; nothing in these files nests deeper.
        let text = format!("{:?}", message.value);
        let parts = text
            .split("VariableReference { id: Identifier { name: \"")
            .skip(1);
        let names = parts.map(|part| part.split('"').next().unwrap().to_owned());
        found.insert(message.id.name.to_owned(), names.collect());
    }
    found
}

#[test]
fn every_language_has_every_message_with_the_same_arguments() {
    let english = messages(ENGLISH.1);
    assert!(english["verify-difference"].contains("expected"), "{english:?}");
    for (tag, file, help) in OTHERS {
        assert_eq!(messages(file), english, "{tag}");
        assert!(messages(help).keys().all(|id| !english.contains_key(id)), "{tag}");
    }
}

#[test]
fn every_kind_of_error_has_a_message() {
    let errors: BTreeSet<String> = messages(ENGLISH.1)
        .into_keys()
        .filter_map(|id| id.strip_prefix("error-").map(str::to_owned))
        .collect();
    let mut kinds: BTreeSet<String> = ErrorKind::ALL
        .iter()
        .map(|kind| kind.as_str().to_owned())
        .collect();
    kinds.insert("other".to_owned());
    assert_eq!(errors, kinds);
    let (english, german) = (Words::of(Some("en")), Words::of(Some("de")));
    for kind in kinds {
        let said = |words: &Words| words.say(&format!("error-{kind}"), [("text", "x { $text }".into())]);
        assert_eq!(said(&english), "x { $text }");
        assert!(said(&german).ends_with(" x { $text }"), "{}", said(&german));
    }
}

#[test]
fn a_locale_without_messages_is_plain_english() {
    for (locale, said) in [
        (None, "nothing is wrong"),
        (Some("en-GB"), "nothing is wrong"),
        (Some("fr-FR"), "nothing is wrong"),
        (Some("not a locale"), "nothing is wrong"),
        (Some("de"), "alles in Ordnung"),
        (Some("de-AT"), "alles in Ordnung"),
    ] {
        let text = Words::of(locale).say("verify-sound", [("path", "a".into())]);
        assert_eq!(text, format!("a: {said}"), "{locale:?}");
    }
}

#[test]
fn a_report_is_that_of_the_library_in_english() {
    let mut report = Report::default();
    let (english, german) = (Words::of(None), Words::of(Some("de")));
    assert_eq!(english.report(&report), report.to_string());
    assert_eq!(german.report(&report), "keine Aufrufe");
    report.replayed = 1;
    report.recorded = 1200;
    report.unused = 3;
    report.written = vec![PathBuf::from("a.json"), PathBuf::from("b.json")];
    report.set_aside = vec![PathBuf::from("c.json")];
    assert_eq!(english.report(&report), report.to_string());
    assert_eq!(
        german.report(&report),
        "1 Aufruf wiedergegeben, 1200 Aufrufe aufgenommen, 3 unbenutzt, geschrieben: a.json, geschrieben: b.json, beiseitegelegt: c.json"
    );
}
