use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::json::{Place, compact, fitted, parse};

/// Made for these tests; none was ever valid.
const CANARY: &str = "sk-test-7QxCanary0123456789ab";

fn with(rules: &RedactRules, pairs: &[(&str, &str)]) -> Redactor {
    Redactor::new(rules, &Environment::from_pairs(pairs.iter().copied())).unwrap()
}

fn plain() -> Redactor {
    with(&RedactRules::default(), &[])
}

fn json(redactor: &Redactor, text: &str) -> String {
    let mut document = parse(text).unwrap();
    let before = document.clone();
    let changed = redactor.json(&mut document);
    assert_eq!(changed, document != before, "{text}");
    compact(&document)
}

#[test]
fn credentials_are_found_by_their_shape() {
    let alphanumeric = "abcdefghijKLMNOPQRST0123456789uvwxyzABCDEF";
    for secret in [
        CANARY.to_owned(),
        format!("sk-{alphanumeric}"),
        "sk-ant-api03-a1_b2-c3_d4-e5_f6-g7".to_owned(),
        format!("sk-proj-{alphanumeric}_T3BlbkFJ-x"),
        format!("sk-or-v1-{}", "0123456789abcdef".repeat(4)),
        "AIzaSyA1234567890abcdefghijklmnopqrstuv".to_owned(),
        format!("gsk_{alphanumeric}"),
        format!("xai-{alphanumeric}"),
        "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH".to_owned(),
        format!("ghp_{alphanumeric}"),
        format!("gho_{alphanumeric}"),
        format!("github_pat_11ABCDEFG0_{alphanumeric}"),
        "xoxb-123456789012-abcdefghij".to_owned(),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "ASIAIOSFODNN7EXAMPLE".to_owned(),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcDEF-123_x".to_owned(),
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\n-----END RSA PRIVATE KEY-----".to_owned(),
        "-----BEGIN PRIVATE KEY-----\\nMIIEow\\n-----END PRIVATE KEY-----".to_owned(),
        "org-abcdefghij0123456789ABCD".to_owned(),
    ] {
        for (before, after) in [
            ("", ""),
            ("key: ", "."),
            ("\"", "\""),
            ("=", " "),
            ("密", "钥"),
            ("\\n", ")"),
        ] {
            let text = format!("{before}{secret}{after}");
            assert_eq!(
                plain().text(&text),
                format!("{before}[REDACTED]{after}"),
                "{text}"
            );
        }
    }
    for (text, expected) in [
        ("Bearer abcdefghij0123456789", "Bearer [REDACTED]"),
        (
            "authorization: bearer abc.def-ghi~0123456789==",
            "authorization: bearer [REDACTED]",
        ),
        ("postgres://user:p4ss@db/x", "postgres://user:[REDACTED]@db/x"),
        (
            "GET https://h/p?key=AIza-test&alt=sse",
            "GET https://h/p?key=[REDACTED]&alt=sse",
        ),
        (
            "(https://h/?a=1&access_token=x)",
            "(https://h/?a=1&access_token=[REDACTED])",
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [REDACTED]",
        ),
        ("q=%22sk-test-7QxCanary0123456789ab%22", "q=%22[REDACTED]%22"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEow and cut", "[REDACTED]"),
    ] {
        assert_eq!(plain().text(text), expected);
    }
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in [
        "the task-force and the disk-usage-monitor-2024 of a risk-averse desk",
        "sk-learn-contrib-imbalanced and class=\"sk-fading-circle sk-circle1 sk-circle2\"",
        "AKIA is a prefix; ASIAN, EURASIA, akiaiosfodnn7example",
        "eyJhbGciOiJIUzI1NiJ9 alone is no token",
        "Bearer authentication is described below",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "https://example.com:8080/a@b and http://user@host/",
        "sorted(items, key=lambda x: x, signature=inspect.signature(f)) token=x",
        "hf_model_name_with_many_parts gsk_ xai- org-mode proj_",
        "call_abcdefghij0123456789ABCD toolu_01A09q90qw90lq917835lq9 chatcmpl-9abcdefghij0123456789",
        "max_tokens=16 prompt_tokens=3",
    ] {
        assert_eq!(plain().text(text), text);
    }
}

#[test]
fn members_go_by_their_exact_name() {
    assert_eq!(
        json(
            &plain(),
            r#"{"api_key":"sk-test-0000","X-Api-Key":"k","headers":{"Authorization":["Bearer x","y"]},"client-secret":"",
                "max_tokens":16,"usage":{"prompt_tokens":1},"token":"Hello","logprobs":[{"token":"api_key"}],"password":null}"#
        ),
        r#"{"api_key":"[REDACTED]","X-Api-Key":"[REDACTED]","headers":{"Authorization":["[REDACTED]","[REDACTED]"]},"client-secret":"","max_tokens":16,"usage":{"prompt_tokens":1},"token":"Hello","logprobs":[{"token":"api_key"}],"password":null}"#
    );
    // The schema of a tool has members of that name too, and they are objects.
    let schema = r#"{"properties":{"password":{"type":"string","description":"the password"}},"required":["password"]}"#;
    assert_eq!(json(&plain(), schema), schema);
}

#[test]
fn members_in_json_inside_of_a_text_go_too() {
    assert_eq!(
        json(
            &plain(),
            r#"{"arguments":"{\"user\":\"u\", \"password\": \"hunter2\", \"cut\":\"x"}"#
        ),
        r#"{"arguments":"{\"user\":\"u\", \"password\": \"[REDACTED]\", \"cut\":\"x"}"#
    );
    assert_eq!(plain().text(r#" [{"secret":"a"#), r#" [{"secret":"[REDACTED]"#);
}

#[test]
fn signatures_and_encrypted_reasoning_are_left_to_the_byte() {
    for text in [
        r#"{"type":"thinking","thinking":"alpha","signature":"EqQBCkYIBRgCKkBzaWduYXR1cmUxMjM0NTY3ODkwYWJjZGVm"}"#,
        r#"{"type":"signature_delta","signature":"sk-test-7QxCanary0123456789ab"}"#,
        r#"{"thoughtSignature":"sk-test-7QxCanary0123456789ab"}"#,
        r#"{"thought_signature":"sk-test-7QxCanary0123456789ab"}"#,
        r#"{"reasoning_signature":"sk-test-7QxCanary0123456789ab"}"#,
        r#"{"encrypted_content":"sk-test-7QxCanary0123456789ab"}"#,
        r#"{"type":"redacted_thinking","data":"ZW5jcnlwdGVkLXBheWxvYWQ="}"#,
        r#"{"data":"sk-test-7QxCanary0123456789ab","type":"redacted_thinking"}"#,
    ] {
        assert_eq!(json(&plain(), text), text);
        let variable = with(&RedactRules::default(), &[("OPENAI_API_KEY", CANARY)]);
        assert!(!json(&variable, text).contains(CANARY), "{text}");
    }
    assert_eq!(
        json(
            &plain(),
            r#"{"data":"sk-test-7QxCanary0123456789ab","type":"image"}"#
        ),
        r#"{"data":"[REDACTED]","type":"image"}"#
    );
}

#[test]
fn a_request_matches_whatever_its_key() {
    // D26: recorded with one key, replayed with another.
    let request = |key: &str| {
        let parameters = parse(&format!(r#"{{"api_key":"{key}","stream":false}}"#)).unwrap();
        let mut request = CanonicalRequest {
            model: "gpt-4o-mini".to_owned(),
            messages: vec![
                parse(&format!(
                    r#"{{"role":"user","content":"my key is {CANARY}{key}"}}"#
                ))
                .unwrap(),
            ],
            parameters: parameters.as_object().unwrap().clone(),
            ..CanonicalRequest::default()
        };
        assert!(plain().request(&mut request));
        assert!(!plain().request(&mut request));
        request
    };
    assert_eq!(request("sk-test-0000"), request("other"));
    assert_eq!(plain().query("key=AIza-test"), plain().query("key=other"));
}

#[test]
fn queries_lose_credentials_by_name_and_by_shape() {
    for (query, expected) in [
        ("key=AIza-test", "key=[REDACTED]"),
        (
            "alt=sse&API-KEY=x&api_key=&token",
            "alt=sse&API-KEY=[REDACTED]&api_key=&token",
        ),
        ("%6Bey=x&q=monkey", "%6Bey=[REDACTED]&q=monkey"),
        (
            "X-Amz-Credential=a&X-Amz-Date=d&X-Amz-Signature=s&X-Amz-Security-Token=t",
            "X-Amz-Credential=[REDACTED]&X-Amz-Date=d&X-Amz-Signature=[REDACTED]&X-Amz-Security-Token=[REDACTED]",
        ),
        ("q=AIzaSyA1234567890abcdefghijklmnopqrstuv", "q=[REDACTED]"),
        ("", ""),
    ] {
        assert_eq!(plain().query(query), expected);
        assert_eq!(plain().query(expected), expected);
    }
}

#[test]
fn response_headers_are_kept_by_list() {
    let rules = RedactRules {
        headers: vec!["Warning".to_owned()],
        keep_headers: vec![
            "X-Request-Id".to_owned(),
            "set-cookie".to_owned(),
            "authorization".to_owned(),
        ],
        ..RedactRules::default()
    };
    let headers: Vec<(String, String)> = [
        ("Content-Type", "application/json"),
        ("openai-organization", "acme-corp"),
        ("openai-project", "p"),
        ("set-cookie", "a=b"),
        ("x-goog-api-key", "k"),
        ("authorization", "k"),
        ("retry-after", "20"),
        ("x-ratelimit-remaining-tokens", "7"),
        ("anthropic-ratelimit-requests-limit", "8"),
        ("location", "https://h/p?key=x#y"),
        ("warning", "w"),
        ("x-request-id", CANARY),
        ("server", "s"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let kept = with(&rules, &[]).headers(&headers);
    let kept: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(
        kept,
        [
            ("content-type", "application/json"),
            ("retry-after", "20"),
            ("x-ratelimit-remaining-tokens", "7"),
            ("anthropic-ratelimit-requests-limit", "8"),
            ("location", "https://h/p"),
            ("x-request-id", "[REDACTED]"),
        ]
    );
    assert_eq!(plain().headers(&headers).len(), 6);
}

#[test]
fn secrets_that_nobody_listed() {
    // D42: the same value in an error body, a tool argument, a URL, a name; another key under an unknown name.
    let redactor = with(
        &RedactRules::default(),
        &[("OPENAI_API_KEY", "sk-test-7Qx/short")],
    );
    let text = r#"{"error":{"message":"Incorrect API key provided: sk-test-7Qx/short. Account org-abcdefghij0123456789ABCD"},
        "user_id":"user_2abcXYZ","arguments":"{\"k\":\"sk-test-7Qx/short\"}","url":"https://h/p?x=sk-test-7Qx%2Fshort",
        "sk-test-7Qx/short":1,"unknown_field":"AIzaSyA1234567890abcdefghijklmnopqrstuv"}"#;
    let result = json(&redactor, text);
    assert_eq!(
        result,
        r#"{"error":{"message":"Incorrect API key provided: [REDACTED]. Account [REDACTED]"},"user_id":"[REDACTED]","arguments":"{\"k\":\"[REDACTED]\"}","url":"https://h/p?x=[REDACTED]","[REDACTED]":1,"unknown_field":"[REDACTED]"}"#
    );
    assert!(redactor.scan(text).is_some());
    assert_eq!(redactor.scan(&result), None);
    assert!(!format!("{redactor:?}").contains("7Qx"));
    // An account's name is nothing secret in the program's own data.
    let own = r#"{"user_id":"u1"}"#;
    assert_eq!(json(&redactor, own), own);
}

#[test]
fn a_project_adds_patterns_and_names() {
    let rules = RedactRules {
        members: vec!["customer".to_owned()],
        query: vec!["sig2".to_owned()],
        patterns: vec![
            regex::Regex::new("(?i)acme-[0-9]{4}").unwrap(),
            regex::Regex::new("[A-Z]{8}").unwrap(),
        ],
        keep_members: vec!["secret".to_owned()],
        ..RedactRules::default()
    };
    let redactor = with(&rules, &[]);
    assert_eq!(
        json(
            &redactor,
            r#"{"customer":"c","secret":"s","text":"ACME-0001 REDACTED [REDACTED]"}"#
        ),
        r#"{"customer":"[REDACTED]","secret":"s","text":"[REDACTED] [REDACTED] [REDACTED]"}"#
    );
    assert_eq!(redactor.query("sig2=x"), "sig2=[REDACTED]");
}

#[test]
fn a_variable_goes_wherever_it_stands() {
    let redactor = with(
        &RedactRules::default(),
        &[
            ("A_TOKEN", "canary-long-value"),
            ("B_TOKEN", "long-value-more"),
            ("C_SECRET", "k-q7Z/tR9x"),
        ],
    );
    for (text, expected) in [
        ("xcanary-long-valuex", "x[REDACTED]x"),
        // Overlapping values go together; a shape and a value too.
        ("canary-long-value-more", "[REDACTED]"),
        ("sk-q7Z/tR9x", "s[REDACTED]"),
        (
            "canary-long-valuesk-test-7QxCanary0123456789ab",
            "[REDACTED][REDACTED]",
        ),
    ] {
        assert_eq!(redactor.text(text), expected);
    }
}

#[test]
fn a_hostile_text_takes_no_time_to_speak_of() {
    for unit in [
        "sk-",
        "eyJ-",
        "-----BEGIN PRIVATE KEY",
        "://a:",
        "?key=",
        "{\"",
        "sk-1234567890abcdef ",
    ] {
        let text = unit.repeat(60_000 / unit.len());
        let start = std::time::Instant::now();
        let redacted = plain().text(&text).into_owned();
        assert_eq!(plain().text(&redacted), redacted);
        assert!(start.elapsed().as_secs() < 20, "{unit}");
    }
}

/// Texts out of pieces that the rules are about, so that they meet in every way.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "sk-",
        "sk-test-",
        "7QxCanary0123456789ab",
        "AIza",
        "AKIA",
        "IOSFODNN7EXAMPLE",
        "eyJ",
        "hbGciOiJIUzI1NiJ9",
        ".",
        "Bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "://",
        "user:",
        "@",
        "?key=",
        "&token=",
        "[REDACTED]",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "\":\"",
        "{\"password\":\"",
        "\\",
        "\\n",
        "%22",
        " ",
        "é",
        "x",
        "0",
        "canary-long-value",
        "canary-",
        "long-value",
        "org-",
        "\n",
        ",",
        "aws_secret_access_key=",
        "ACME-0001",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

static FULL: LazyLock<Redactor> = LazyLock::new(|| {
    let rules = RedactRules {
        patterns: vec![
            regex::Regex::new("ACME-[0-9]+").unwrap(),
            regex::Regex::new("^x.").unwrap(),
        ],
        ..RedactRules::default()
    };
    with(
        &rules,
        &[("A_TOKEN", "canary-long-value"), ("B_SECRET", "long-value\\n\"0")],
    )
});

/// Without patterns and without a value that is spelled with an escape: what a text is searched for as a whole.
static SHAPES: LazyLock<Redactor> = LazyLock::new(plain);
static VARIABLES: LazyLock<Redactor> =
    LazyLock::new(|| with(&RedactRules::default(), &[("A_TOKEN", "canary-long-value")]));

proptest! {
    #[test]
    fn redaction_is_idempotent(text in texts(), member in prop::sample::select(vec!["a", "signature", "data", "secret"])) {
        let redactor = &*FULL;
        let once = redactor.text(&text).into_owned();
        prop_assert_eq!(redactor.text(&once), once.as_str());

        let mut document = Json::Object(Object(vec![
            ("type".to_owned(), "redacted_thinking".into()),
            (member.to_owned(), text.as_str().into()),
            (text.clone(), Json::Array(vec![text.as_str().into()])),
        ]));
        redactor.json(&mut document);
        let again = document.clone();
        prop_assert!(!redactor.json(&mut document), "{:?}", again);
        // What was redacted is never stopped by the last look before writing.
        let mut written = String::new();
        fitted(&document, Place::default(), &mut written);
        prop_assert_eq!(redactor.scan(&written), None);
    }

    #[test]
    fn a_request_is_redacted_alike_whether_its_text_was_searched_or_not(
        text in texts(),
        member in prop::sample::select(vec!["a", "password", "data", "signature", "encrypted_content", "user_id"]),
        kind in prop::sample::select(vec!["text", "redacted_thinking"]),
        spelling in 0..3,
    ) {
        let message = Json::Object(Object(vec![
            ("type".to_owned(), kind.into()),
            ("error".to_owned(), Json::from(kind)),
            (member.to_owned(), text.as_str().into()),
            (text.clone(), Json::Array(vec![text.as_str().into(), format!("[{}]", compact(&text.as_str().into())).into()])),
        ]));
        let mut body = compact(&message);
        // As other programs spell the same.
        match spelling {
            0 => {}
            1 => body = body.replace('/', "\\/"),
            _ => body = body.replace('-', "\\u002d"),
        }
        prop_assert_eq!(&parse(&body).unwrap(), &message);
        for redactor in [&*FULL, &*SHAPES, &*VARIABLES] {
            let mut full = CanonicalRequest {
                messages: vec![message.clone()],
                parameters: message.as_object().unwrap().clone(),
                ..CanonicalRequest::default()
            };
            let mut quick = full.clone();
            prop_assert_eq!(redactor.request(&mut full), match redactor.is_plain_request(body.as_bytes()) {
                true => redactor.clean_request(&mut quick),
                false => redactor.request(&mut quick),
            });
            prop_assert_eq!(&full, &quick);
        }
    }

    #[test]
    fn pieces_join_to_the_redacted_text(text in texts(), cut in any::<prop::sample::Index>()) {
        let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (first, second) = text.split_at(cuts[cut.index(cuts.len())]);
        let (mut first, mut second) = (first.to_owned(), second.to_owned());
        let redactor = &*FULL;
        redactor.pieces(&mut [&mut first, &mut second]);
        prop_assert_eq!(first + &second, redactor.text(&text));
    }
}
