use std::borrow::Cow;
use std::fmt;

use super::PLACEHOLDER;
use super::finder::{Finder, Reach, Rule, Span};
use super::names::{Names, is_credential_header, is_kept_header, is_opaque_member, is_opaque_type};
use super::strings::strings;
use crate::config::{Environment, RedactRules};
use crate::error::Result;
use crate::json::{Json, Object};
use crate::model::{CanonicalRequest, PLAIN};

/// Removes secrets. Built once a process, and shared.
///
/// Every function is idempotent, and gives the same result whatever the secret was.
pub(crate) struct Redactor {
    pub(super) finder: Finder,
    pub(super) names: Names,
    headers: Vec<String>,
    kept_headers: Vec<String>,
}

/// How many times a text is searched again after a change. Once is the rule; a project's pattern may need more.
const ROUNDS: usize = 8;

/// What is known of a value from where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Plain,
    /// A credential by its name.
    Credential,
    /// A signature or encrypted.
    Opaque,
}

impl Redactor {
    /// One that knows no project and no environment.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::new(&RedactRules::default(), &Environment::default()).unwrap()
    }

    pub(crate) fn new(rules: &RedactRules, environment: &Environment) -> Result<Self> {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Ok(Self {
            finder: Finder::new(rules, environment)?,
            names: Names::members(&rules.members, &rules.keep_members),
            headers: lower(&rules.headers),
            kept_headers: lower(&rules.keep_headers),
        })
    }

    /// A request before it is matched, stored or shown. Returns whether it changed.
    pub(crate) fn request(&self, request: &mut CanonicalRequest) -> bool {
        self.request_within(request, Reach::Everything)
    }

    /// The same for a request whose messages and parameters come from a JSON text that [is plain](Self::is_plain_request), and
    /// from nowhere else: only members that hold a credential by their name are left to be found.
    pub(crate) fn clean_request(&self, request: &mut CanonicalRequest) -> bool {
        self.request_within(request, Reach::Names)
    }

    /// Whether no string of a request's JSON text can hold what looks like a secret. One look at the whole is cheaper than one at
    /// each of its strings.
    pub(crate) fn is_plain_request(&self, text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok_and(|text| !self.finder.suspects(text))
    }

    fn request_within(&self, request: &mut CanonicalRequest, reach: Reach) -> bool {
        // These two may come from a path.
        let mut changed = self.in_place(&mut request.model, Reach::Everything);
        changed |= self.in_place(&mut request.provider, Reach::Everything);
        for message in &mut request.messages {
            changed |= self.value(message, Role::Plain, reach);
        }
        changed |= self.query_of(&request.protocol, &mut request.parameters);
        changed | self.members(&mut request.parameters, reach)
    }

    /// The query of a plain HTTP call, whose keys have names of their own. Returns whether it changed.
    pub(super) fn query_of(&self, protocol: &str, parameters: &mut Object) -> bool {
        if protocol != PLAIN {
            return false;
        }
        let query = parameters.0.iter_mut().find(|(name, _)| name == "query");
        let Some((_, Json::String(query))) = query else {
            return false;
        };
        let redacted = self.query(query);
        let changed = redacted != *query;
        *query = redacted;
        changed
    }

    /// A document: members by their name, texts by what they hold. Returns whether it changed.
    pub(crate) fn json(&self, document: &mut Json) -> bool {
        self.value(document, Role::Plain, Reach::Everything)
    }

    /// A text; when it is JSON itself, as the arguments of a tool are, its members by their name too.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.replaced(text, Reach::Everything)
            .map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// The response headers worth keeping, names in lower case.
    pub(crate) fn headers(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        headers
            .iter()
            .map(|(name, value)| (lower(name), value))
            .filter(|(name, _)| {
                let listed = |list: &[String]| list.iter().any(|listed| listed == name);
                let kept = listed(&self.kept_headers) && !is_credential_header(name);
                kept || (is_kept_header(name) && !listed(&self.headers))
            })
            .map(|(name, value)| {
                let value = match &*name {
                    "location" => value.split(['?', '#']).next().unwrap_or_default(),
                    _ => value,
                };
                (name.into_owned(), self.text(value).into_owned())
            })
            .collect()
    }

    /// Whether a header of this name, in lower case, carries a credential.
    #[cfg(feature = "harness")]
    pub(crate) fn is_credential(name: &str) -> bool {
        is_credential_header(name)
    }

    /// The query of a URL, without `?`.
    pub(crate) fn query(&self, query: &str) -> String {
        query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, value))
                    if !value.is_empty() && self.finder.query().contains(&percent_decoded(name)) =>
                {
                    Cow::Owned(format!("{name}={PLACEHOLDER}"))
                }
                _ => self.text(pair),
            })
            .collect::<Vec<_>>()
            .join("&")
    }

    /// `reach` is what is looked for in texts that nothing is known of.
    fn value(&self, value: &mut Json, role: Role, reach: Reach) -> bool {
        match value {
            Json::String(text) if role == Role::Credential => {
                let changes = !text.is_empty() && text != PLACEHOLDER;
                if changes {
                    PLACEHOLDER.clone_into(text);
                }
                changes
            }
            Json::String(text) if role == Role::Opaque => {
                reach != Reach::Names && self.in_place(text, Reach::Variables)
            }
            Json::String(text) => self.in_place(text, reach),
            Json::Array(items) => {
                let mut changed = false;
                for item in items {
                    changed |= self.value(item, role, reach);
                }
                changed
            }
            Json::Object(object) => self.members(object, reach),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }

    /// The members of an object. Returns whether it changed.
    pub(super) fn object(&self, object: &mut Object) -> bool {
        self.members(object, Reach::Everything)
    }

    fn members(&self, object: &mut Object, reach: Reach) -> bool {
        let has_opaque_data = object
            .get("type")
            .and_then(Json::as_str)
            .is_some_and(is_opaque_type);
        // A gateway that several users share names the account beside an error.
        let names_account = object.get("error").is_some_and(|error| !error.is_null());
        let mut changed = false;
        for (name, value) in &mut object.0 {
            let role = if self.names.contains(name) || (names_account && name == "user_id") {
                Role::Credential
            } else if is_opaque_member(name) || (has_opaque_data && name == "data") {
                Role::Opaque
            } else {
                Role::Plain
            };
            changed |= self.value(value, role, reach);
            changed |= self.in_place(name, reach);
        }
        changed
    }

    fn in_place(&self, text: &mut String, reach: Reach) -> bool {
        match self.replaced(text, reach) {
            Some(replaced) => {
                *text = replaced;
                true
            }
            None => false,
        }
    }

    /// The text without its secrets; `None` when it has none.
    fn replaced(&self, text: &str, reach: Reach) -> Option<String> {
        let mut spans = self.spans(text, reach);
        let mut current: Option<String> = None;
        for _ in 0..ROUNDS {
            if spans.is_empty() {
                break;
            }
            let next = splice(current.as_deref().unwrap_or(text), &spans);
            spans = self.spans(&next, reach);
            current = Some(next);
        }
        current
    }

    pub(super) fn spans(&self, text: &str, reach: Reach) -> Vec<Span> {
        if self.finder.is_too_short(text) {
            return Vec::new();
        }
        let mut known = Vec::new();
        if reach != Reach::Variables && text.trim_ascii_start().starts_with(['{', '[']) {
            strings(text, |item| {
                let is_credential = item.member.is_some_and(|member| self.names.contains(member));
                let value = &text[item.range.clone()];
                if is_credential && !value.is_empty() && value != PLACEHOLDER {
                    known.push(Span {
                        range: item.range,
                        rule: Rule::Member,
                    });
                }
            });
        }
        if reach == Reach::Names && known.is_empty() {
            return known;
        }
        self.finder.find(text, reach, known)
    }
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn splice(text: &str, spans: &[Span]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut written = 0;
    for span in spans {
        out.push_str(&text[written..span.range.start]);
        out.push_str(PLACEHOLDER);
        written = span.range.end;
    }
    out.push_str(&text[written..]);
    out
}

fn percent_decoded(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let bytes = name.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = name.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It knows every secret of the environment.
        formatter.debug_struct("Redactor").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "redactor_tests.rs"]
mod tests;
