//! Documents that are passed on more often than they are looked into: kept as their text where that is what they were
//! read from, and made into a tree for whoever needs one.

use std::borrow::Cow;
use std::sync::Arc;

use super::parse::{Parsed, Parser, parse_with};
use super::{Json, Limits, compact, compact_into};

/// A document as a tree or as its text, whichever it was made from. Two are equal when they say the same in the same
/// spelling, whatever their form.
#[derive(Clone, Debug)]
pub(crate) enum Document {
    Tree(Json),
    /// What [`compact`] writes of it.
    Text(Arc<str>),
}

impl Document {
    /// The next value of a text, checked and copied without a tree.
    pub(crate) fn read(parser: &mut Parser<'_>) -> Parsed<Self> {
        let mut text = String::new();
        parser.copy(&mut text)?;
        Ok(Self::Text(text.into()))
    }

    /// Its text without white space.
    pub(crate) fn text(&self) -> Arc<str> {
        match self {
            Self::Tree(tree) => compact(tree).into(),
            Self::Text(text) => Arc::clone(text),
        }
    }

    pub(crate) fn tree(&self) -> Cow<'_, Json> {
        match self {
            Self::Tree(tree) => Cow::Borrowed(tree),
            Self::Text(text) => Cow::Owned(tree_of(text)),
        }
    }

    pub(crate) fn into_tree(self) -> Json {
        match self {
            Self::Tree(tree) => tree,
            Self::Text(text) => tree_of(&text),
        }
    }

    /// Changes what it says.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Json)) {
        let mut tree = std::mem::take(self).into_tree();
        change(&mut tree);
        *self = Self::Tree(tree);
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::Tree(Json::Null)
    }
}

impl From<Json> for Document {
    fn from(tree: Json) -> Self {
        Self::Tree(tree)
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tree(one), Self::Tree(other)) => one == other,
            _ => self.text() == other.text(),
        }
    }
}

/// Documents one after the other, kept in the same way.
#[derive(Clone, Debug)]
pub(crate) enum Documents {
    Trees(Vec<Json>),
    Texts(Texts),
}

/// Their texts in one buffer, so that many small ones cost no more than a large one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Appends the next value of a text, checked and copied without a tree.
    pub(crate) fn read(&mut self, parser: &mut Parser<'_>) -> Parsed<()> {
        parser.copy(&mut self.text)?;
        self.ends.push(self.text.len());
        Ok(())
    }

    fn push(&mut self, tree: &Json) {
        compact_into(tree, &mut self.text);
        self.ends.push(self.text.len());
    }

    /// Gives back the room that nothing is in.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// How long all texts are together, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let text = &self.text[start..*end];
            start = *end;
            text
        })
    }
}

impl Documents {
    /// Their texts without white space.
    pub(crate) fn texts(&self) -> Cow<'_, Texts> {
        match self {
            Self::Texts(texts) => Cow::Borrowed(texts),
            Self::Trees(trees) => {
                let mut texts = Texts::default();
                trees.iter().for_each(|tree| texts.push(tree));
                Cow::Owned(texts)
            }
        }
    }

    pub(crate) fn trees(&self) -> Cow<'_, [Json]> {
        match self {
            Self::Trees(trees) => Cow::Borrowed(trees),
            Self::Texts(texts) => Cow::Owned(texts.iter().map(tree_of).collect()),
        }
    }

    /// Changes what they say.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Vec<Json>)) {
        let mut trees = match std::mem::take(self) {
            Self::Trees(trees) => trees,
            texts @ Self::Texts(_) => texts.trees().into_owned(),
        };
        change(&mut trees);
        *self = Self::Trees(trees);
    }
}

impl Default for Documents {
    fn default() -> Self {
        Self::Trees(Vec::new())
    }
}

impl From<Vec<Json>> for Documents {
    fn from(trees: Vec<Json>) -> Self {
        Self::Trees(trees)
    }
}

impl PartialEq for Documents {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Trees(one), Self::Trees(other)) => one == other,
            _ => self.texts() == other.texts(),
        }
    }
}

/// Whoever kept a text has counted already; no file is nested so deep.
const LIMITS: Limits = Limits {
    depth: 512,
    nodes: usize::MAX,
    unique_keys: false,
    finite_numbers: false,
};

/// The tree of a text that was checked when it was kept.
fn tree_of(text: &str) -> Json {
    parse_with(text, LIMITS).unwrap_or_default()
}

/// The member of an object's text, as [`Json::get`] finds it in the tree; `None` where there is no such member.
pub(crate) fn member_of(text: &str, key: &str) -> Option<Json> {
    let mut parser = Parser::new(text, LIMITS);
    let mut found = None;
    let read: Parsed<()> = parser.members(|parser, name| {
        if name == key {
            found = Some(parser.value()?);
        } else {
            parser.skip()?;
        }
        Ok(())
    });
    read.ok().and(found)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    const SPACED: &str = r#"{ "a" : [ 1.50 , "\u00e9\/" ] , "a" : null }"#;
    const TEXT: &str = r#"{"a":[1.50,"é/"],"a":null}"#;

    fn read(text: &str) -> Document {
        Document::read(&mut Parser::new(text, Limits::default())).unwrap()
    }

    #[test]
    fn a_document_says_the_same_in_either_form() {
        let (kept, tree) = (read(SPACED), Document::from(parse(SPACED).unwrap()));
        assert!(matches!(kept, Document::Text(_)) && kept == tree);
        assert_eq!((&*kept.text(), &*tree.text()), (TEXT, TEXT));
        assert_eq!(kept.tree(), tree.tree());
        let mut changed = kept.clone();
        changed.change(|tree| *tree = Json::from("x"));
        assert!(changed != kept && *changed.tree() == Json::from("x"));
    }

    #[test]
    fn documents_stand_apart_in_one_text() {
        let mut texts = Texts::default();
        for text in [SPACED, " 7 ", "\"\""] {
            texts.read(&mut Parser::new(text, Limits::default())).unwrap();
        }
        texts.shrink_to_fit();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [TEXT, "7", "\"\""]);
        assert_eq!((texts.len(), texts.size()), (3, TEXT.len() + 3));
        let mut kept = Documents::Texts(texts);
        let trees = Documents::from(kept.trees().into_owned());
        assert_eq!(kept, trees);
        assert_eq!(kept.texts(), trees.texts());
        kept.change(|trees| drop(trees.pop()));
        assert_eq!(kept.texts().len(), 2);
    }

    #[test]
    fn a_member_of_a_text_is_that_of_its_tree() {
        for text in [
            TEXT,
            r#"{"type":"x","b":{"type":"y"}}"#,
            r#"{"b":1,"type":"x","type":2}"#,
            "{}",
            "[]",
            "null",
            "",
        ] {
            for key in ["a", "type", "c"] {
                let tree = parse(text).unwrap_or_default();
                assert_eq!(member_of(text, key), tree.get(key).cloned(), "{text} {key}");
            }
        }
    }
}
