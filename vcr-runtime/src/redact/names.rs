/// Names whose values are secrets, whatever they look like. Case, `-` and `_` make no difference; `max_tokens` and
/// other counts are never equal to one of them.
#[derive(Clone)]
pub(super) struct Names {
    /// In normal form, sorted.
    names: Vec<String>,
    /// The first and the last letters of the names of each length, so that nearly every other name is told apart at once.
    letters: [(u32, u32); LONGEST + 1],
}

/// The longest built-in name has 22 letters; a project's may be longer.
const LONGEST: usize = 64;

impl Names {
    fn new(built_in: &[&str], added: &[String], kept: &[String]) -> Self {
        let kept: Vec<String> = kept.iter().map(|name| normal(name)).collect();
        let mut names: Vec<String> = built_in
            .iter()
            .map(|name| (*name).to_owned())
            .chain(added.iter().map(|name| normal(name)))
            .filter(|name| !name.is_empty() && !kept.contains(name))
            .collect();
        names.sort_unstable();
        let mut letters = [(0, 0); LONGEST + 1];
        for name in names.iter().map(String::as_bytes) {
            if let (Some(slot), Some(first), Some(last)) =
                (letters.get_mut(name.len()), name.first(), name.last())
            {
                slot.0 |= bit(*first);
                slot.1 |= bit(*last);
            }
        }
        Self { names, letters }
    }

    /// Members of JSON bodies.
    pub(super) fn members(added: &[String], kept: &[String]) -> Self {
        Self::new(&MEMBERS, added, kept)
    }

    /// Parameters of a URL's query.
    pub(super) fn query(added: &[String], kept: &[String]) -> Self {
        Self::new(&QUERY, added, kept)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        // Asked for every member of every request, so nothing is allocated.
        if !(2..=LONGEST).contains(&name.len()) {
            return false;
        }
        let length = letters(name).count();
        let (firsts, lasts) = self.letters[length];
        let (first, last) = (letters(name).next(), letters(name).next_back());
        let (Some(first), Some(last)) = (first, last) else {
            return false;
        };
        if firsts & bit(first) == 0 || lasts & bit(last) == 0 {
            return false;
        }
        self.names
            .binary_search_by(|known| known.bytes().cmp(letters(name)))
            .is_ok()
    }
}

/// The letters of a name in normal form.
fn letters(name: &str) -> impl DoubleEndedIterator<Item = u8> {
    let letters = name.bytes().filter(|byte| !matches!(byte, b'-' | b'_'));
    letters.map(|byte| byte.to_ascii_lowercase())
}

/// Letters that share one are told apart elsewhere.
fn bit(letter: u8) -> u32 {
    1 << (letter & 31)
}

fn normal(name: &str) -> String {
    name.chars()
        .filter(|char| !matches!(char, '-' | '_'))
        .map(|char| char.to_ascii_lowercase())
        .collect()
}

// `token` is no member of this list: log probabilities have it for every word of an answer.
const MEMBERS: [&str; 44] = [
    "accesskeyid",
    "accesstoken",
    "anthropicapikey",
    "apikey",
    "apisecret",
    "apitoken",
    "appsecret",
    "authorization",
    "authtoken",
    "awsaccesskeyid",
    "awssecretaccesskey",
    "awssessiontoken",
    "azureapikey",
    "bearertoken",
    "clientsecret",
    "consumersecret",
    "cookie",
    "geminiapikey",
    "googleapikey",
    "idtoken",
    "mistralapikey",
    "ocpapimsubscriptionkey",
    "openaiapikey",
    "openaiorganization",
    "openaiproject",
    "openrouterapikey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "proxyauthorization",
    "refreshtoken",
    // No key, but the account that the provider names in every answer.
    "safetyidentifier",
    "secret",
    "secretaccesskey",
    "secretkey",
    "securitytoken",
    "sessiontoken",
    "setcookie",
    "sharedsecret",
    "signingsecret",
    "webhooksecret",
    "xapikey",
    "xgoogapikey",
];

const QUERY: [&str; 24] = [
    "accesstoken",
    "apikey",
    "apitoken",
    "auth",
    "authorization",
    "authtoken",
    "awsaccesskeyid",
    "clientsecret",
    "idtoken",
    "key",
    "password",
    "refreshtoken",
    "secret",
    "sessiontoken",
    "sig",
    "signature",
    "subscriptionkey",
    "token",
    "xamzcredential",
    "xamzsecuritytoken",
    "xamzsignature",
    "xapikey",
    "xgoogcredential",
    "xgoogsignature",
];

/// Members that hold a signature or encrypted reasoning. A provider refuses the next turn when a byte of them is
/// changed, so only values of variables are removed from them.
pub(super) fn is_opaque_member(name: &str) -> bool {
    const OPAQUE: [&str; 6] = [
        "signature",
        "thoughtsignature",
        "reasoningsignature",
        "thinkingsignature",
        "encryptedcontent",
        "redactedcontent",
    ];
    // The shortest and the longest, with dashes.
    (9..=24).contains(&name.len()) && OPAQUE.iter().any(|opaque| opaque.bytes().eq(letters(name)))
}

/// The `type` of a block whose `data` is encrypted reasoning.
pub(super) fn is_opaque_type(name: &str) -> bool {
    matches!(name, "redacted_thinking" | "reasoning.encrypted")
}

/// Response headers that are worth keeping: what clients read, and nothing that names an account.
pub(super) fn is_kept_header(name: &str) -> bool {
    matches!(
        name,
        "content-type"
            | "deprecation"
            | "location"
            | "openai-model"
            | "openai-version"
            | "retry-after"
            | "retry-after-ms"
            | "sunset"
            | "warning"
            | "x-should-retry"
    ) || name.starts_with("x-ratelimit-")
        || name.starts_with("anthropic-ratelimit-")
}

/// Headers that no project can keep.
pub(super) fn is_credential_header(name: &str) -> bool {
    matches!(
        name,
        "api-key"
            | "authorization"
            | "cookie"
            | "proxy-authorization"
            | "set-cookie"
            | "x-api-key"
            | "x-goog-api-key"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_normal_form() {
        for name in MEMBERS.iter().chain(&QUERY) {
            assert_eq!(normal(name), *name);
            assert!(name.len() <= LONGEST);
        }
        let (members, query) = (Names::members(&[], &[]), Names::query(&[], &[]));
        assert!(MEMBERS.iter().all(|name| members.contains(name)));
        assert!(
            QUERY
                .iter()
                .all(|name| query.contains(&name.to_ascii_uppercase()))
        );
    }

    #[test]
    fn names_are_exact_but_for_case_and_dashes() {
        let names = Names::members(&["Customer-Ref".to_owned()], &["secret".to_owned()]);
        for name in [
            "api_key",
            "API-Key",
            "apiKey",
            "x-api-key",
            "client_secret",
            "password",
            "customer_ref",
        ] {
            assert!(names.contains(name), "{name}");
        }
        for name in [
            "max_tokens",
            "prompt_tokens",
            "completion_tokens",
            "total_tokens",
            "max_completion_tokens",
            "token",
            "tokens",
            "key",
            "keys",
            "secret",
            "passwords",
            "cached_tokens",
            "",
        ] {
            assert!(!names.contains(name), "{name}");
        }
    }

    #[test]
    fn signatures_and_encrypted_reasoning_are_opaque() {
        for name in [
            "signature",
            "thoughtSignature",
            "thought_signature",
            "reasoning_signature",
            "encrypted_content",
            "redactedContent",
        ] {
            assert!(is_opaque_member(name), "{name}");
        }
        for name in ["data", "content", "signatures", "text", ""] {
            assert!(!is_opaque_member(name), "{name}");
        }
    }
}
