//! A document that is another one but for a few places. What stays is shared with it; only what leads to a change is made
//! anew.

use std::borrow::Cow;

use super::document::{LIMITS, tree_of};
use super::parse::{Parsed, Parser};
use super::write::{compact_into, quote_into};
use super::{Json, Object, Sink};

/// A part of such a document.
#[derive(Clone, Debug)]
pub(crate) enum View<'a> {
    /// As it is in the other.
    Kept(&'a Json),
    /// The same, where the other is a text without white space.
    Raw(&'a str),
    Text(Cow<'a, str>),
    Made(Json),
    List(Vec<Self>),
    Members(Members<'a>),
}

/// The members of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, View<'a>)>);

impl<'a> View<'a> {
    /// What stands here, as a tree.
    pub(crate) fn tree(&self) -> Cow<'_, Json> {
        match self {
            Self::Kept(tree) => Cow::Borrowed(tree),
            Self::Made(tree) => Cow::Borrowed(tree),
            other => Cow::Owned(other.clone().into_json()),
        }
    }

    /// Whether it is the string `word`, in which nothing would be escaped.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        match self {
            Self::Kept(tree) => tree.as_str() == Some(word),
            Self::Made(tree) => tree.as_str() == Some(word),
            Self::Text(text) => text == word,
            Self::Raw(text) => {
                let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                inner == Some(word)
            }
            Self::List(_) | Self::Members(_) => false,
        }
    }

    pub(crate) fn is_list(&self) -> bool {
        match self {
            Self::Kept(tree) => tree.as_array().is_some(),
            Self::Made(tree) => tree.as_array().is_some(),
            Self::Raw(text) => text.starts_with('['),
            Self::List(_) => true,
            Self::Text(_) | Self::Members(_) => false,
        }
    }

    pub(crate) fn is_object(&self) -> bool {
        match self {
            Self::Kept(tree) => tree.as_object().is_some(),
            Self::Made(tree) => tree.as_object().is_some(),
            Self::Raw(text) => text.starts_with('{'),
            Self::Members(_) => true,
            Self::Text(_) | Self::List(_) => false,
        }
    }

    /// The members of an object, to be changed.
    pub(crate) fn members(&mut self) -> Option<&mut Members<'a>> {
        let opened = match self {
            Self::Kept(Json::Object(object)) => Some(Members::kept(object)),
            Self::Made(Json::Object(object)) => Some(Members::made(std::mem::take(object))),
            Self::Raw(text) if text.starts_with('{') => Members::raw(text),
            _ => None,
        };
        if let Some(opened) = opened {
            *self = Self::Members(opened);
        }
        match self {
            Self::Members(members) => Some(members),
            _ => None,
        }
    }

    /// The elements of an array, to be changed.
    pub(crate) fn list(&mut self) -> Option<&mut Vec<Self>> {
        let opened = match self {
            Self::Kept(Json::Array(items)) => Some(items.iter().map(View::Kept).collect()),
            Self::Made(Json::Array(items)) => {
                let items = std::mem::take(items).into_iter();
                Some(items.map(View::Made).collect())
            }
            Self::Raw(text) if text.starts_with('[') => raw_items(text),
            _ => None,
        };
        if let Some(opened) = opened {
            *self = Self::List(opened);
        }
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Changes it as a tree, for whoever changes much of it.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Json)) {
        let mut tree = std::mem::replace(self, Self::Made(Json::Null)).into_json();
        change(&mut tree);
        *self = Self::Made(tree);
    }

    pub(crate) fn into_json(self) -> Json {
        match self {
            Self::Kept(tree) => tree.clone(),
            Self::Raw(text) => tree_of(text),
            Self::Text(text) => Json::String(text.into_owned()),
            Self::Made(tree) => tree,
            Self::List(items) => Json::Array(items.into_iter().map(Self::into_json).collect()),
            Self::Members(Members(members)) => {
                let members = members.into_iter();
                Json::Object(
                    members
                        .map(|(name, value)| (name.into_owned(), value.into_json()))
                        .collect(),
                )
            }
        }
    }

    /// Appends it without white space, as [`compact`](super::compact) writes the tree.
    pub(crate) fn write(&self, out: &mut impl Sink) {
        match self {
            Self::Kept(tree) => compact_into(tree, out),
            Self::Made(tree) => compact_into(tree, out),
            Self::Raw(text) => out.put(text),
            Self::Text(text) => quote_into(text, out),
            Self::List(items) => {
                out.put("[");
                for (index, item) in items.iter().enumerate() {
                    out.put(if index > 0 { "," } else { "" });
                    item.write(out);
                }
                out.put("]");
            }
            Self::Members(Members(members)) => {
                out.put("{");
                for (index, (name, value)) in members.iter().enumerate() {
                    out.put(if index > 0 { "," } else { "" });
                    quote_into(name, out);
                    out.put(":");
                    value.write(out);
                }
                out.put("}");
            }
        }
    }
}

impl<'a> Members<'a> {
    fn kept(object: &'a Object) -> Self {
        // Room for what is added, too.
        let mut members = Vec::with_capacity(object.len() + 2);
        let kept = object.iter();
        members.extend(kept.map(|(name, value)| (Cow::Borrowed(name.as_str()), View::Kept(value))));
        Self(members)
    }

    /// The members of a text; `None` where it is no object.
    fn raw(text: &'a str) -> Option<Self> {
        let mut members = Vec::with_capacity(ROOM);
        let mut parser = Parser::new(text, LIMITS);
        let read: Parsed<()> = parser.members(|parser, name| {
            members.push((name, View::Raw(parser.skip()?)));
            Ok(())
        });
        read.is_ok().then_some(Self(members))
    }

    fn made(object: Object) -> Self {
        let members = object.into_iter();
        Self(
            members
                .map(|(name, value)| (Cow::Owned(name), View::Made(value)))
                .collect(),
        )
    }

    /// The value of `key`; of repeated keys the last, as in an [`Object`].
    pub(crate) fn get(&self, key: &str) -> Option<&View<'a>> {
        let mut members = self.0.iter().rev();
        members.find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut View<'a>> {
        let mut members = self.0.iter_mut().rev();
        members.find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Replaces the value of `key` in its place, or appends the member.
    pub(crate) fn set(&mut self, key: &'a str, value: View<'a>) {
        match self.get_mut(key) {
            Some(slot) => *slot = value,
            None => self.0.push((Cow::Borrowed(key), value)),
        }
    }
}

/// What most objects of an answer have room in.
const ROOM: usize = 12;

fn raw_items(text: &str) -> Option<Vec<View<'_>>> {
    let mut items = Vec::new();
    let mut parser = Parser::new(text, LIMITS);
    let read: Parsed<()> = parser.items(|parser, _| {
        items.push(View::Raw(parser.skip()?));
        Ok(())
    });
    read.is_ok().then_some(items)
}

impl From<Object> for Members<'_> {
    fn from(object: Object) -> Self {
        Self::made(object)
    }
}

impl<'a> From<Option<&'a str>> for View<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Made(Json::Null), |text| Self::Text(Cow::Borrowed(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{compact, parse};
    use super::*;

    #[test]
    fn a_changed_view_is_written_as_its_tree() {
        let text = r#"{"a":[1,{"b":"$x","b":"$y","c":[]}],"d":"é\n","e":{"f":null}}"#;
        let kept = parse(text).unwrap();
        for mut view in [View::Kept(&kept), View::Made(kept.clone()), View::Raw(text)] {
            let members = view.members().unwrap();
            let items = members.get_mut("a").and_then(View::list).unwrap();
            let inner = items[1].members().unwrap();
            assert!(inner.get("b").unwrap().is_word("$y") && !inner.get("b").unwrap().is_word("$x"));
            assert!(inner.get("c").unwrap().is_list() && !inner.get("c").unwrap().is_object());
            inner.set("b", Some("\"text\"").into());
            inner.set("g", None.into());
            items.push(View::Made(Json::from(true)));
            let tree = members.get_mut("e").unwrap();
            tree.change(|tree| *tree = Json::from("changed"));
            let expected = r#"{"a":[1,{"b":"$x","b":"\"text\"","c":[],"g":null},true],"d":"é\n","e":"changed"}"#;
            let mut out = Vec::new();
            view.write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            assert_eq!(compact(&view.into_json()), expected);
        }
        assert_eq!(compact(&kept), r#"{"a":[1,{"b":"$x","b":"$y","c":[]}],"d":"é\n","e":{"f":null}}"#);
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        let text = Json::from("x");
        for mut view in [View::Kept(&text), View::Raw("\"x\"")] {
            assert!(view.members().is_none() && view.list().is_none());
            assert!(!view.is_object() && !view.is_list() && view.is_word("x"));
            assert_eq!(*view.tree(), text);
        }
    }
}
