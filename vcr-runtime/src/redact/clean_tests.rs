use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::config::{Environment, RedactRules};
use crate::json::quote_into;

const KEY: &str = "sk-proj-q7ZtR0123456789abcdef";
const SECRET: &str = "canary-value";

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    let environment = Environment::from_pairs([("A_KEY", SECRET)]);
    Redactor::new(&RedactRules::default(), &environment).unwrap()
});

fn quoted(text: &str) -> String {
    let mut out = String::new();
    quote_into(text, &mut out);
    out
}

/// How a provider streams a text: the events before it, one for each word, and those behind it.
struct Style {
    form: Form,
    head: &'static str,
    event: fn(usize, &str) -> String,
    tail: &'static str,
}

const STYLES: [Style; 5] = [
    Style {
        form: Form::Events,
        head: ": a comment\n\ndata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
        event: |_, word| {
            format!(
                "data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{}}},\"finish_reason\":null}}]}}\r\n\r\n",
                quoted(word)
            )
        },
        tail: "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"id\":\"c\",\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\ndata: [DONE]\n\n",
    },
    Style {
        form: Form::Events,
        head: "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        event: |number, word| {
            let ping = if number % 2 == 0 {
                "event: ping\ndata: {\"type\":\"ping\"}\n\n"
            } else {
                ""
            };
            format!(
                "{ping}event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{}}}}}\n\n",
                quoted(word)
            )
        },
        tail: "data: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_stop\"}\n\n",
    },
    Style {
        form: Form::Events,
        head: "",
        event: |number, word| {
            format!(
                "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\"item_id\":\"m\",\"output_index\":0,\"delta\":{},\"obfuscation\":\"a{number}\"}}\n\n",
                quoted(word)
            )
        },
        tail: "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\n",
    },
    Style {
        form: Form::Events,
        head: "",
        event: |_, word| {
            format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":{}}}],\"role\":\"model\"}},\"index\":0}}]}}\n\n",
                quoted(word)
            )
        },
        tail: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},\"finishReason\":\"STOP\"}]}\n\n",
    },
    Style {
        form: Form::Lines,
        head: "",
        event: |number, word| {
            format!(
                "{{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:0{number}Z\",\"message\":{{\"role\":\"assistant\",\"content\":{}}},\"done\":false}}\n",
                quoted(word)
            )
        },
        tail: "{\"model\":\"m\",\"created_at\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    },
];

impl Style {
    fn is_clean(&self, words: &[&str]) -> bool {
        let mut text = self.head.to_owned();
        for (number, word) in words.iter().enumerate() {
            text.push_str(&(self.event)(number, word));
        }
        text.push_str(self.tail);
        REDACTOR.is_clean(&text, self.form)
    }
}

#[test]
fn an_ordinary_stream_is_clean_in_every_style() {
    let words = [
        "Hel", "lo", ",", " \"wor", "ld\"", "\n", "\n", "\\", "é 🦀", ":", " {\"a\":", "1}", "x", "x", "x",
    ];
    for style in &STYLES {
        assert!(style.is_clean(&words), "{}", (style.event)(0, "word"));
        assert!(style.is_clean(&[]) && style.is_clean(&["one"]));
    }
}

#[test]
fn a_secret_is_suspected_wherever_it_is_cut() {
    for style in &STYLES {
        for secret in [
            KEY,
            SECRET,
            "{\"pass\\\"word\": \"x\", \"password\" : \"hunter2\"}",
            "postgres://u:pw@h/d",
        ] {
            let ends = || (0..=secret.len()).filter(|end| secret.is_char_boundary(*end));
            for first in ends() {
                for second in ends().filter(|second| *second >= first) {
                    let words = [&secret[..first], &secret[first..second], &secret[second..]];
                    let words = ["so: ", words[0], words[1], words[2], " and"];
                    assert!(!style.is_clean(&words), "{} {words:?}", (style.event)(0, "word"));
                }
            }
            let letters: Vec<String> = secret.chars().map(String::from).collect();
            assert!(!style.is_clean(&letters.iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }
}

#[test]
fn what_hides_or_cannot_be_followed_is_suspected() {
    let chat = |choice: u32, member: &str, text: &str| {
        format!("data: {{\"choices\":[{{\"index\":{choice},\"delta\":{{\"{member}\":\"{text}\"}}}}]}}\n\n")
    };
    let gemini =
        |parts: &str| format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}}}}]}}\n\n");
    let cases = [
        // Spelled with escapes.
        chat(0, "content", "\\u0073k-proj-q7ZtR0123456789abcdef"),
        chat(0, "content", "postgres:\\/\\/u:pw@h\\/d"),
        // By turns with another answer.
        ["ca", "nary-", "va", "lue"]
            .map(|part| chat(0, "content", part) + &chat(1, "content", "x "))
            .concat(),
        ["ca", "nary-", "va", "lue"]
            .map(|part| {
                gemini(&format!("{{\"text\":\"{part}\"}}")) + &gemini("{\"text\":\"x\",\"thought\":true}")
            })
            .concat(),
        gemini("{\"text\":\"canary\"},{\"text\":\"-value\"}"),
        // A text that stood still while another went on.
        ["a", "b", "c"]
            .map(|word| format!("data: {{\"reasoning\":\"-\",\"content\":\"{word}\"}}\n\n"))
            .concat()
            + "data: {\"reasoning\":\"--BEGIN PRIVATE KEY-----\",\"content\":\"d\"}\n\n",
        // The name and its colon in two lines of one event.
        "data: {\"password\"\ndata: : \"hunter2\"}\n\n".to_owned(),
        // A string that does not end with its line.
        "data: {\"content\":\"a\n\n".to_owned(),
        ": a \"comment\n\n".to_owned(),
    ];
    for text in cases {
        assert!(!REDACTOR.is_clean(&text, Form::Events), "{text}");
    }
    let followed = ["a", "b"].map(|word| chat(0, "reasoning", word)).concat()
        + &["c", "d"].map(|word| chat(0, "content", word)).concat();
    assert!(REDACTOR.is_clean(&followed, Form::Events));
}

#[test]
fn a_document_is_clean_unless_it_may_hold_a_secret() {
    let body = |content: &str, more: &str| {
        format!(
            "{{\n \"id\": \"c\", \"choices\": [{{\"message\": {{\"content\": {}{more}}}}}]\n}}",
            quoted(content)
        )
    };
    for (text, clean) in [
        (body("a \"word\": 1\n", ""), true),
        (body("{\"a\": {\"b\": []}}", ",\"refusal\":null"), true),
        (body(KEY, ""), false),
        (body(&format!("x {SECRET}"), ""), false),
        (body("x", ",\"api_key\" : \"hunter2\""), false),
        (body("x", ",\"API-Key\"\n\t:\"hunter2\""), false),
        (body("{\"password\": \"hunter2\"}", ""), false),
        (body("{\"password\"\n: \"hunter2\"}", ""), false),
        // JSON in JSON in JSON.
        (body(&quoted("{\"password\"\t: \"hunter2\"}"), ""), false),
        (body("canary", ",\"content\":\"-value\""), false),
        // The first and the last may be one answer.
        (body("canary", ",\"content\":\"x\",\"content\":\"-value\""), false),
        ("no JSON".to_owned(), true),
        (String::new(), true),
    ] {
        assert_eq!(REDACTOR.is_clean(&text, Form::Document), clean, "{text}");
    }
    // What a project looks for itself has no beginning that could be looked for.
    let rules = RedactRules {
        patterns: vec![regex::Regex::new("x+").unwrap()],
        ..RedactRules::default()
    };
    let redactor = Redactor::new(&rules, &Environment::default()).unwrap();
    assert!(!redactor.is_clean("{}", Form::Document));
}

fn chunk() -> impl Strategy<Value = (usize, u32, &'static str)> {
    let words = [
        "",
        "-",
        "x",
        "a ",
        "sk",
        "-",
        "sk-",
        "proj-",
        "q7ZtR0123456789abcdef",
        "canary",
        "-value",
        "{\"pass",
        "word\"",
        ":",
        "\"y\"}",
    ];
    (0_usize..3, 0_u32..2, prop::sample::select(words.to_vec()))
}

proptest! {
    /// Whoever joins the texts of an answer finds no secret in what counts as clean.
    #[test]
    fn what_is_clean_holds_no_secret_in_pieces(
        chunks in prop::collection::vec(chunk(), 0..12),
        one_answer in any::<bool>(),
        side_by_side in any::<bool>(),
    ) {
        const NAMES: [&str; 3] = ["content", "reasoning_content", "refusal"];
        let mut joined = std::collections::BTreeMap::<_, String>::new();
        let mut text = String::new();
        for pair in chunks.chunks(if side_by_side { 2 } else { 1 }) {
            let choices: Vec<String> = pair
                .iter()
                .map(|(name, choice, word)| {
                    let (name, choice) = if one_answer { (NAMES[0], 0) } else { (NAMES[*name], *choice) };
                    joined.entry((name, choice)).or_default().push_str(word);
                    format!("{{\"index\":{choice},\"delta\":{{\"{name}\":{}}}}}", quoted(word))
                })
                .collect();
            text.push_str(&format!("data: {{\"choices\":[{}]}}\n\n", choices.join(",")));
        }
        if REDACTOR.is_clean(&text, Form::Events) {
            for text in joined.values() {
                prop_assert_eq!(&*REDACTOR.text(text), text.as_str());
            }
        }
    }
}
