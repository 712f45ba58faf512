use super::*;

#[test]
fn refuses_what_is_not_json_with_its_place() {
    for (text, line, column, path, message) in [
        ("", 1, 1, "", "the document is empty"),
        (
            "{\"a\":\n [1, 2",
            2,
            7,
            "a",
            "the document ends in the middle (was the file cut?)",
        ),
        (
            "{\"a\":{\"b\":[0,01]}}",
            1,
            16,
            "a.b[1]",
            "this is not a JSON number",
        ),
        ("[1] x", 1, 5, "", "something follows the end of the document"),
        (
            "[1]\0\0",
            1,
            4,
            "",
            "a NUL byte follows the document (was the file cut while it was written?)",
        ),
        ("{\n<<<<<<< ours\n}", 2, 1, "", "there is a merge-conflict marker"),
        ("<<<<<<< ours\n{}", 1, 1, "", "there is a merge-conflict marker"),
        (
            "\"é\n\"",
            1,
            3,
            "",
            "a control character in a string must be escaped",
        ),
        ("\"\\ud83e\"", 1, 2, "", "a surrogate escape needs its other half"),
        ("{\"a\" 1}", 1, 6, "", "expected `:` after a member name"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(
            (error.line, error.column, error.path.as_str(), error.message),
            (line, column, path, message),
            "{text:?}"
        );
        let mut skipper = Parser::new(text, Limits::default());
        let skipped = skipper.skip().and_then(|_| skipper.end());
        assert_eq!(skipped.unwrap_err().message, message, "{text:?}");
    }
}

#[test]
fn limits_hold_at_their_edge() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(128)).is_ok());
    assert_eq!(
        parse(&nested(129)).unwrap_err().message,
        "the document is nested too deeply"
    );
    assert_eq!(
        parse(&nested(100_000)).unwrap_err().message,
        "the document is nested too deeply"
    );
    let limits = Limits {
        nodes: 3,
        ..Limits::default()
    };
    assert!(parse_with("[1,2]", limits).is_ok());
    assert!(parse_with("[1,2,3]", limits).is_err());
    // A key counts as well.
    assert!(parse_with("{\"a\":1}", limits).is_ok() && parse_with("{\"a\":[1]}", limits).is_err());
    assert!(Parser::new("{\"a\":[1]}", limits).skip().is_err());
    let limits = Limits {
        unique_keys: true,
        ..Limits::default()
    };
    let error = parse_with("{\"a\":{\"b\":1,\"c\":2,\"b\":3}}", limits).unwrap_err();
    assert_eq!(
        (error.path.as_str(), error.message),
        ("a.b", "the object names this key twice")
    );
    for twice in ["{\"a\":1,\"a\":2}", "[{\"a\":1,\"\\u0061\":2}]"] {
        let skipped = Parser::new(twice, limits).skip().unwrap_err();
        assert_eq!(skipped.message, "the object names this key twice", "{twice}");
        assert!(Parser::new(twice, Limits::default()).skip().is_ok());
    }
    let limits = Limits {
        finite_numbers: true,
        ..Limits::default()
    };
    assert!(parse_with("[1e308,-1e-999,123456789012345678901234567890]", limits).is_ok());
    assert!(parse_with("[1e309]", limits).is_err() && parse("[1e309]").is_ok());
    assert!(Parser::new("-1e400", limits).skip().is_err());
}

#[test]
fn strings_decode_wherever_the_special_byte_stands() {
    for pad in 0..20 {
        let plain = "x".repeat(pad);
        assert_eq!(
            parse(&format!("\"{plain}\\n\\u00e9\\ud83e\\udd80é{plain}\"")).unwrap(),
            Json::String(format!("{plain}\né🦀é{plain}"))
        );
    }
}

#[test]
fn skipping_returns_the_text_of_the_value() {
    let mut parser = Parser::new(" {\"a\": [1, {\"b\": \"\\\"\"}]} ,", Limits::default());
    assert_eq!(parser.skip().unwrap(), "{\"a\": [1, {\"b\": \"\\\"\"}]}");
}

#[test]
fn a_document_that_was_cut_anywhere_is_told_to_be() {
    let text = r#"{"a": [1, -2.5e+3, true, false, null], "b\n": "\u00e9\ud83e\udd80é\\", "c": {}, "d": 0}"#;
    parse(text).unwrap();
    for at in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
        let cut = &text[..at];
        for error in [
            parse(cut).unwrap_err(),
            Parser::new(cut, Limits::default()).skip().unwrap_err(),
        ] {
            assert!(error.message.contains("was the file cut?"), "{cut}: {error}");
        }
    }
}
