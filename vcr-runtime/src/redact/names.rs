/// Names whose values are secrets, whatever they look like. Case, `-` and `_` make no difference; `max_tokens` and
/// other counts are never equal to one of them.
#[derive(Clone)]
pub(super) struct Names {
    names: Vec<String>,
    /// A bit for the hash of each: nearly every name that is asked for is none of them.
    marks: [u64; WORDS],
}

const WORDS: usize = 16;

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
        let mut marks = [0; WORDS];
        for name in &names {
            let (word, bit) = mark(name);
            marks[word] |= bit;
        }
        Self { names, marks }
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
        // The longest built-in name has 22 letters. Asked for every member of every request, so nothing is allocated.
        if !(2..=64).contains(&name.len()) {
            return false;
        }
        let (word, bit) = mark(name);
        if self.marks[word] & bit == 0 {
            return false;
        }
        let mut all = [0; 64];
        let mut length = 0;
        for letter in letters(name) {
            all[length] = letter;
            length += 1;
        }
        self.names
            .binary_search_by(|known| known.as_bytes().cmp(&all[..length]))
            .is_ok()
    }
}

/// What counts of a name.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    let counts = name.bytes().filter(|byte| !matches!(byte, b'-' | b'_'));
    counts.map(|byte| byte.to_ascii_lowercase())
}

/// The bit of a name: its word, and the word with this bit alone.
fn mark(name: &str) -> (usize, u64) {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for letter in letters(name) {
        hash = (hash ^ u64::from(letter)).wrapping_mul(0x100_0000_01b3);
    }
    // The high bits are the mixed ones.
    let bit = hash >> 54;
    ((bit / 64) as usize % WORDS, 1 << (bit % 64))
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
    // Quick refusal before the copy: every name of the list begins with one of these.
    matches!(
        name.bytes().next(),
        Some(b's' | b't' | b'r' | b'e' | b'S' | b'T' | b'R' | b'E')
    ) && name.len() <= 24
        && matches!(
            normal(name).as_str(),
            "signature"
                | "thoughtsignature"
                | "reasoningsignature"
                | "thinkingsignature"
                | "encryptedcontent"
                | "redactedcontent"
        )
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
        }
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
