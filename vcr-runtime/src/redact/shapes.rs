use std::ops::Range;

use super::names::Names;

/// A text that looks like a credential: it begins with (or contains) a literal that is looked for in one pass over
/// the text, then the surroundings decide.
pub(super) struct Shape {
    pub(super) literal: &'static str,
    pub(super) rule: &'static str,
    kind: Kind,
}

enum Kind {
    /// The literal and at least so many letters and digits.
    Alphanumeric(usize),
    /// The same with `-` and `_` among them, and a digit.
    Dashed(usize),
    /// A key that begins with `sk-`.
    SecretKey,
    /// The literal and exactly sixteen capitals and digits.
    AccessKey,
    Jwt,
    /// What follows the word.
    Bearer,
    PrivateKey,
    /// The password and the query of a URL.
    Url,
    /// Forty characters of base64 after the name.
    AwsSecret,
}

const fn shape(literal: &'static str, rule: &'static str, kind: Kind) -> Shape {
    Shape { literal, rule, kind }
}

/// Literals of at least four bytes, and no more than 32 of them: within these bounds the search looks at 32 bytes at a time
/// and seldom stops for nothing.
pub(super) const LONG: [Shape; 32] = [
    shape("AIza", "a Google API key", Kind::Dashed(20)),
    shape("gsk_", "a Groq key", Kind::Alphanumeric(20)),
    shape("xai-", "an xAI key", Kind::Alphanumeric(20)),
    shape("pplx-", "a Perplexity key", Kind::Alphanumeric(20)),
    shape("nvapi-", "an NVIDIA key", Kind::Dashed(20)),
    shape("sk_live_", "a Stripe key", Kind::Alphanumeric(16)),
    shape("ghp_", "a GitHub token", Kind::Alphanumeric(20)),
    shape("gho_", "a GitHub token", Kind::Alphanumeric(20)),
    shape("ghs_", "a GitHub token", Kind::Alphanumeric(20)),
    shape("github_pat_", "a GitHub token", Kind::Dashed(20)),
    shape("glpat-", "a GitLab token", Kind::Dashed(16)),
    shape("ya29.", "a Google access token", Kind::Dashed(20)),
    shape("xoxa-", "a Slack token", Kind::Dashed(10)),
    shape("xoxb-", "a Slack token", Kind::Dashed(10)),
    shape("xoxp-", "a Slack token", Kind::Dashed(10)),
    shape("AKIA", "an AWS access key", Kind::AccessKey),
    shape("ASIA", "an AWS access key", Kind::AccessKey),
    shape("ecret_access_key", "an AWS secret key", Kind::AwsSecret),
    shape("ecretAccessKey", "an AWS secret key", Kind::AwsSecret),
    shape("ECRET_ACCESS_KEY", "an AWS secret key", Kind::AwsSecret),
    // `{"alg`, `{"typ`, `{"kid` in base64.
    shape("eyJh", "a JSON web token", Kind::Jwt),
    shape("eyJ0", "a JSON web token", Kind::Jwt),
    shape("eyJr", "a JSON web token", Kind::Jwt),
    shape("earer ", "a bearer token", Kind::Bearer),
    shape("-----BEGIN ", "a private key", Kind::PrivateKey),
    // https and redis, http and amqp, mysql and postgresql, mongodb, mongodb+srv.
    shape("s://", "a credential in a URL", Kind::Url),
    shape("p://", "a credential in a URL", Kind::Url),
    shape("l://", "a credential in a URL", Kind::Url),
    shape("b://", "a credential in a URL", Kind::Url),
    shape("v://", "a credential in a URL", Kind::Url),
    // Ids of an account: no credentials, but nobody else's business. Providers write them into error messages.
    shape("org-", "an organisation id", Kind::Alphanumeric(20)),
    shape("proj_", "a project id", Kind::Alphanumeric(20)),
];

/// The few whose literal is shorter, in a pass of their own.
pub(super) const SHORT: [Shape; 3] = [
    shape("sk-", "a key that begins with sk-", Kind::SecretKey),
    shape("hf_", "a Hugging Face token", Kind::Alphanumeric(20)),
    shape("r8_", "a Replicate token", Kind::Alphanumeric(20)),
];

/// No shape but that of a credential in a URL is shorter.
pub(super) const LEAST_KEY: usize = 15;

/// A bound on what is looked at for one literal, so that no text makes the search quadratic.
const LONGEST: usize = 16 * 1024;

impl Shape {
    /// Calls `secret` with what the literal at `at` belongs to.
    pub(super) fn secrets(&self, text: &str, at: usize, query: &Names, mut secret: impl FnMut(Range<usize>)) {
        let after = at + self.literal.len();
        match self.kind {
            Kind::Url => url(text, after, query, secret),
            _ => {
                if let Some(range) = self.single(text, at) {
                    secret(range);
                }
            }
        }
    }

    fn single(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let after = at + self.literal.len();
        match self.kind {
            Kind::AwsSecret => return aws_secret(bytes, after),
            Kind::Bearer => return bearer(bytes, at, after),
            _ if !begins_word(bytes, at) => return None,
            _ => {}
        }
        let end = match self.kind {
            Kind::Alphanumeric(least) => run(bytes, after, least, u8::is_ascii_alphanumeric)?,
            Kind::Dashed(least) => {
                let end = run(bytes, after, least, is_dashed)?;
                bytes[after..end].iter().any(u8::is_ascii_digit).then_some(end)?
            }
            Kind::SecretKey => secret_key(bytes, after)?,
            Kind::AccessKey => {
                let end = run(bytes, after, 16, u8::is_ascii_alphanumeric)?;
                let capitals = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
                (end == after + 16 && bytes[after..end].iter().all(capitals)).then_some(end)?
            }
            Kind::Jwt => jwt(bytes, at)?,
            Kind::PrivateKey => private_key(text, at)?,
            Kind::Url | Kind::AwsSecret | Kind::Bearer => return None,
        };
        Some(at..end)
    }
}

/// Whether a word may begin at `at`. The letter before may belong to an escape: the text can be JSON, or a URL.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let Some(last) = before.last() else {
        return true;
    };
    if !last.is_ascii_alphanumeric() && *last != b'_' {
        return true;
    }
    let ends_with = |mark: &[u8], hex: usize| {
        before
            .len()
            .checked_sub(mark.len() + hex)
            .map(|start| &before[start..])
            .is_some_and(|tail| {
                tail.starts_with(mark) && tail[mark.len()..].iter().all(u8::is_ascii_hexdigit)
            })
    };
    (before.len() >= 2 && before[at - 2] == b'\\' && b"nrtbf".contains(last))
        || ends_with(b"%", 2)
        || ends_with(b"\\u", 4)
}

fn is_dashed(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// The end of a run of at least `least` bytes of a set.
fn run(bytes: &[u8], from: usize, least: usize, set: impl Fn(&u8) -> bool) -> Option<usize> {
    let rest = &bytes[from..];
    let length = rest.iter().take(LONGEST).take_while(|byte| set(byte)).count();
    (length >= least).then_some(from + length)
}

/// At least sixteen characters with a digit. Words with dashes, such as class names in HTML, have no long part with a
/// digit around; keys of the vendors that put words after `sk-` are told by those.
fn secret_key(bytes: &[u8], from: usize) -> Option<usize> {
    // Bounded apart from the run's own length: a text may be nothing but `sk-sk-sk-…`.
    let head = &bytes[from..bytes.len().min(from + 256)];
    let head = &head[..head.iter().take_while(|byte| is_dashed(byte)).count()];
    if head.len() < 16 || !head.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let vendor = ["ant-", "proj-", "svcacct-", "admin-", "or-v"]
        .iter()
        .any(|vendor| head.starts_with(vendor.as_bytes()));
    let part = head
        .split(|byte| matches!(byte, b'-' | b'_'))
        .map(<[u8]>::len)
        .max();
    if vendor || part.is_some_and(|longest| longest >= 12) {
        run(bytes, from, 16, is_dashed)
    } else {
        None
    }
}

/// Three parts of base64 with dots between, or more when it is encrypted.
fn jwt(bytes: &[u8], at: usize) -> Option<usize> {
    let head = &bytes[at..bytes.len().min(at + 2048)];
    let head = head.iter().take_while(|byte| is_dashed(byte)).count();
    let part = |end: usize, least| match bytes.get(end) {
        Some(b'.') => run(bytes, end + 1, least, is_dashed),
        _ => None,
    };
    if head < 10 {
        return None;
    }
    let mut end = part(part(at + head, 10)?, 10)?;
    while let Some(next) = part(end, 1) {
        end = next;
    }
    Some(end)
}

fn bearer(bytes: &[u8], at: usize, after: usize) -> Option<Range<usize>> {
    // The literal lacks its first letter, whose case differs.
    let start = at.checked_sub(1)?;
    if !matches!(bytes[start], b'B' | b'b') || !begins_word(bytes, start) {
        return None;
    }
    let end = run(bytes, after, 20, |byte| {
        is_dashed(byte) || b".~+/=".contains(byte)
    })?;
    bytes[after..end]
        .iter()
        .any(u8::is_ascii_digit)
        .then_some(after..end)
}

/// From `-----BEGIN … PRIVATE KEY-----` to its end, or as far as it looks like one.
fn private_key(text: &str, at: usize) -> Option<usize> {
    const MARK: &str = "PRIVATE KEY";
    let bytes = text.as_bytes();
    let label = &bytes[at..bytes.len().min(at + 64)];
    let label = label
        .windows(MARK.len())
        .position(|window| window == MARK.as_bytes())?;
    let body = at + label + MARK.len();
    // Not beyond the string that holds it: JSON may stand around.
    let window = &bytes[body..bytes.len().min(body + LONGEST)];
    let window = &window[..window
        .iter()
        .position(|byte| *byte == b'"')
        .unwrap_or(window.len())];
    let find = |mark: &[u8], from: usize| {
        let found = window
            .get(from..)?
            .windows(mark.len())
            .position(|part| part == mark);
        found.map(|found| from + found + mark.len())
    };
    if let Some(end) = find(b"-----END ", 0).and_then(|end| find(b"-----", end)) {
        return Some(body + end);
    }
    let is_body = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=-\\:, \r\n\t".contains(byte);
    Some(body + window.iter().take_while(is_body).count())
}

/// The password and the credentials among the parameters of a URL, from behind its `://`.
fn url(text: &str, after: usize, query: &Names, mut secret: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let longest = text.len().min(after + 2048);
    let length = bytes[after..longest]
        .iter()
        .take_while(|byte| is_url(**byte))
        .count();
    let end = after + length;
    let rest = &bytes[after..end];
    let authority = rest
        .iter()
        .position(|byte| b"/?#".contains(byte))
        .unwrap_or(rest.len());
    if let Some(at_sign) = rest[..authority].iter().rposition(|byte| *byte == b'@')
        && let Some(colon) = rest[..at_sign].iter().position(|byte| *byte == b':')
        && colon + 1 < at_sign
    {
        secret(after + colon + 1..after + at_sign);
    }
    let Some(mark) = rest.iter().position(|byte| *byte == b'?') else {
        return;
    };
    let mut start = after + mark + 1;
    for pair in bytes[start..end].split(|byte| matches!(byte, b'&' | b'#')) {
        let whole = start..start + pair.len();
        start = whole.end + 1;
        let Some(equals) = pair.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let value = whole.start + equals + 1..char_end(text, whole.end);
        let name = text.get(whole.start..whole.start + equals);
        if !value.is_empty() && name.is_some_and(|name| query.contains(name.trim_start_matches("amp;"))) {
            secret(value);
        }
    }
}

fn is_url(byte: u8) -> bool {
    !matches!(
        byte,
        0..=b' ' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'(' | b')' | b'{' | b'}' | b','
    )
}

/// The bound of a run may fall into a character.
fn char_end(text: &str, end: usize) -> usize {
    (end..text.len())
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(text.len())
}

fn aws_secret(bytes: &[u8], after: usize) -> Option<Range<usize>> {
    let between = |byte: &&u8| b" \t\"'\\:=>".contains(byte);
    let start = after + bytes[after..].iter().take(8).take_while(between).count();
    let end = run(bytes, start, 40, |byte| {
        byte.is_ascii_alphanumeric() || b"+/".contains(byte)
    })?;
    (start > after).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_long_as_the_finder_takes_them_to_be() {
        for shape in LONG.iter().chain(&SHORT) {
            let least = match shape.kind {
                Kind::Alphanumeric(least) | Kind::Dashed(least) => least,
                Kind::SecretKey | Kind::AccessKey => 16,
                Kind::Jwt => 10 + 1 + 10 + 1 + 10 - shape.literal.len(),
                Kind::Bearer => 20,
                Kind::PrivateKey => "PRIVATE KEY".len(),
                Kind::AwsSecret => 1 + 40,
                Kind::Url => {
                    assert!(shape.literal.ends_with("://"));
                    continue;
                }
            };
            assert!(shape.literal.len() + least >= LEAST_KEY, "{}", shape.literal);
        }
    }

    #[test]
    fn no_literal_hides_another_one() {
        // The search goes on behind a literal. One that begins inside of it must begin inside of a word too.
        for outer in &LONG {
            for inner in &LONG {
                for at in 1..outer.literal.len() {
                    let tail = &outer.literal[at..];
                    if tail.starts_with(inner.literal) || inner.literal.starts_with(tail) {
                        assert!(
                            !begins_word(outer.literal.as_bytes(), at),
                            "{} {}",
                            outer.literal,
                            inner.literal
                        );
                        assert!(!matches!(inner.kind, Kind::Url | Kind::AwsSecret | Kind::Bearer));
                    }
                }
            }
        }
    }
}
