//! Reading the members of an object one by one, each by its rule.

use crate::json::{Json, Object};

/// An object whose members are looked at. What is wrong is told as a predicate, for its place to stand in front of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(&'a Object);

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Json) -> Result<Self, String> {
        value
            .as_object()
            .map(Self)
            .ok_or_else(|| "is no object".to_owned())
    }

    /// That it has these members at most.
    pub(super) fn only(&self, names: &[&str]) -> Result<(), String> {
        let unknown = self.0.iter().find(|(name, _)| !names.contains(&name.as_str()));
        match unknown {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "has the member `{}`, which has no place there",
                shown(name)
            )),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Json> {
        self.0.get(name)
    }

    /// The member, which must be there.
    pub(super) fn must(&self, name: &str) -> Result<&'a Json, String> {
        self.get(name).ok_or_else(|| format!("has no `{name}`"))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        let text = self.must(name)?.as_str();
        text.ok_or_else(|| format!("has {} that is no text", named(name)))
    }

    /// A text that says something.
    pub(super) fn said(&self, name: &str) -> Result<&'a str, String> {
        match self.text(name)? {
            "" => Err(format!("has an empty `{name}`")),
            text => Ok(text),
        }
    }

    /// A text, where the member is there.
    pub(super) fn maybe_text(&self, name: &str) -> Result<Option<&'a str>, String> {
        self.get(name).map(|_| self.text(name)).transpose()
    }

    pub(super) fn whole<T: TryFrom<u64>>(&self, name: &str) -> Result<T, String> {
        let number = whole(self.must(name)?).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("has {} that is no whole number in its range", named(name)))
    }

    /// A whole number, where the member is there.
    pub(super) fn maybe_whole<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, String> {
        self.get(name).map(|_| self.whole(name)).transpose()
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Json], String> {
        let list = self.must(name)?.as_array();
        list.ok_or_else(|| format!("has {} that is no list", named(name)))
    }
}

/// A member with its article.
pub(super) fn named(name: &str) -> String {
    match name.starts_with(['a', 'e', 'i', 'o']) {
        true => format!("an `{name}`"),
        false => format!("a `{name}`"),
    }
}

/// The largest integer that every JSON reader keeps exactly.
pub(super) const SAFE: u64 = (1 << 53) - 1;

/// A whole number that every reader understands alike.
pub(super) fn whole(value: &Json) -> Option<u64> {
    value.as_u64().filter(|number| *number <= SAFE)
}

/// A name out of an untrusted file, fit to stand in a message.
pub(super) fn shown(name: &str) -> String {
    let mut shown: String = name.chars().take(40).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown.escape_debug().to_string()
}
