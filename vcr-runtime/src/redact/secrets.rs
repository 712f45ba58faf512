use crate::config::{Environment, RedactRules};
use crate::json::escape_into;

/// Shortest value that is taken for a secret: shorter ones would be found in ordinary text.
const SHORTEST: usize = 8;
/// The same for variables that a project names itself.
const SHORTEST_NAMED: usize = 4;

/// The value of a variable, in each spelling in which it may stand in a text.
#[derive(Clone)]
pub(super) struct Secret {
    pub(super) variable: String,
    pub(super) spellings: Vec<String>,
}

/// The secrets of the environment.
pub(super) fn secrets(rules: &RedactRules, environment: &Environment) -> Vec<Secret> {
    environment
        .iter()
        .map(|(name, value)| (name, value.trim()))
        .filter(|(name, _)| !rules.keep_env.iter().any(|kept| kept == name))
        .filter(|(name, value)| {
            if rules.env.iter().any(|named| named == name) {
                return value.len() >= SHORTEST_NAMED;
            }
            is_credential(name) && is_secret(value)
        })
        .map(|(name, value)| Secret {
            variable: name.to_owned(),
            spellings: spellings(value),
        })
        .collect()
}

fn is_credential(name: &str) -> bool {
    const PARTS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
    /// Words that contain one of the parts and mean something else.
    const OTHERS: [&str; 6] = ["KEYBOARD", "KEYMAP", "KEYCLOAK", "KEYRING", "MONKEY", "TOKENIZER"];
    let name = OTHERS
        .iter()
        .fold(name.to_ascii_uppercase(), |name, other| name.replace(other, ""));
    // The product's own settings are no secrets.
    !name.starts_with("VCR_") && PARTS.iter().any(|part| name.contains(part))
}

fn is_secret(value: &str) -> bool {
    let first = value.chars().next();
    value.len() >= SHORTEST
        // A single character again and again is a mask, or padding.
        && value.chars().any(|char| Some(char) != first)
        && value.parse::<f64>().is_err()
        && !is_path(value)
        && !is_plain_address(value)
        && !WORDS.contains(&value.to_ascii_lowercase().as_str())
}

/// A path, and not base64 that happens to begin with a slash: its first directory is a word.
fn is_path(value: &str) -> bool {
    let windows = value.as_bytes().get(1..3);
    if windows == Some(b":\\") || windows == Some(b":/") {
        return true;
    }
    if ["./", "../", "~/"].iter().any(|start| value.starts_with(start)) {
        return true;
    }
    let Some(directory) = value.strip_prefix('/').and_then(|rest| rest.split('/').next()) else {
        return false;
    };
    let lower = directory
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    !directory.is_empty() && lower || ["Users", "Library", "Applications", "Volumes"].contains(&directory)
}

/// An address without user, query or long path segments, such as that of a token endpoint.
fn is_plain_address(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !rest.contains(['@', '?', '#'])
        && rest.split('/').skip(1).all(|segment| segment.len() < 16)
}

/// Values that stand in for a key where none is needed, and words of the protocols.
const WORDS: [&str; 39] = [
    "anonymous",
    "anything",
    "api-key",
    "api_key",
    "assistant",
    "changeme",
    "completion",
    "completions",
    "default",
    "development",
    "disabled",
    "dummy-key",
    "dummy_key",
    "enabled",
    "fake-key",
    "fake_key",
    "function",
    "lm-studio",
    "localhost",
    "messages",
    "no-key-required",
    "none-required",
    "not-needed",
    "not-required",
    "not-used",
    "not_needed",
    "optional",
    "password",
    "placeholder",
    "production",
    "required",
    "test-key",
    "test_key",
    "testing",
    "undefined",
    "unused-key",
    "your-api-key",
    "your_api_key",
    "sk-local",
];

/// As it is, as JSON escapes it, and as a URL does.
fn spellings(value: &str) -> Vec<String> {
    let mut spellings = vec![value.to_owned()];
    let mut escaped = String::new();
    escape_into(value, &mut escaped);
    let encoded = percent_encoded(value);
    for spelling in [escaped, encoded] {
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    }
    spellings
}

fn percent_encoded(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rules: &RedactRules, pairs: &[(&str, &str)]) -> Vec<String> {
        let environment = Environment::from_pairs(pairs.iter().copied());
        secrets(rules, &environment)
            .into_iter()
            .map(|secret| secret.variable)
            .collect()
    }

    #[test]
    fn names_that_sound_like_credentials() {
        let value = "q7ZtR-canary";
        for (name, taken) in [
            ("OPENAI_API_KEY", true),
            ("HF_TOKEN", true),
            ("DB_PASSWORD", true),
            ("PGPASSWD", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("my_client_secret", true),
            ("GOOGLE_CREDENTIALS", true),
            ("HOME", false),
            ("TOKENIZER_NAME", false),
            ("KEYBOARD_LAYOUT", false),
            ("VCR_KEY", false),
        ] {
            assert_eq!(
                !found(&RedactRules::default(), &[(name, value)]).is_empty(),
                taken,
                "{name}"
            );
        }
    }

    #[test]
    fn values_that_are_no_secrets() {
        for (value, taken) in [
            ("q7ZtR-ca", true),
            ("q7ZtR-c", false),
            ("  q7ZtR  ", false),
            ("/home/u/.config/key.pem", false),
            ("/run/secrets/key", false),
            ("/aB3+xyzzy/0123456789abcdefghijklmnopq", true),
            ("C:\\keys\\k.pem", false),
            ("~/.ssh/id_ed25519", false),
            ("1234567890", false),
            ("3.14159265", false),
            ("required", false),
            ("PlaceHolder", false),
            ("xxxxxxxxxxxx", false),
            ("https://auth.example.com/oauth/token", false),
            ("https://hooks.example.com/T00/B00/XXXXXXXXXXXXXXXXXXXXXXXX", true),
            ("postgres://u:canary@h/d", true),
        ] {
            assert_eq!(
                !found(&RedactRules::default(), &[("A_TOKEN", value)]).is_empty(),
                taken,
                "{value}"
            );
        }
    }

    #[test]
    fn a_project_adds_and_takes_back() {
        let rules = RedactRules {
            env: vec!["DSN".to_owned()],
            keep_env: vec!["PUBLIC_KEY".to_owned()],
            ..RedactRules::default()
        };
        assert_eq!(
            found(&rules, &[("DSN", "abcd"), ("PUBLIC_KEY", "q7ZtR-canary")]),
            ["DSN"]
        );
        assert!(found(&rules, &[("DSN", "abc")]).is_empty());
    }

    #[test]
    fn spellings_of_json_and_urls() {
        assert_eq!(
            spellings("a\"b\\c/d"),
            ["a\"b\\c/d", "a\\\"b\\\\c/d", "a%22b%5Cc%2Fd"]
        );
        assert_eq!(spellings("plain-1"), ["plain-1"]);
    }
}
