use crate::protocol::paths::Path;

use super::conditions::Condition;
use super::error::ErrorRules;
use super::usage::UsageRules;

/// What a provider calls things: the table of `rules.toml`, see the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(super) stream: StreamRules,
    pub(super) events: Vec<Node>,
    pub(super) bodies: Vec<Node>,
    pub(super) finish: FinishRules,
    pub(super) tools: ToolRules,
    pub(super) usage: UsageRules,
    pub(super) error: ErrorRules,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StreamRules {
    pub(super) end: Option<String>,
    pub(super) names: Option<Path>,
    pub(super) closed_by_finish: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FinishRules {
    /// The provider's word and the canonical one.
    pub(super) words: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ToolRules {
    pub(super) by_order: bool,
    pub(super) finish: Vec<String>,
}

/// Paths of which the first that leads to something counts.
pub(super) type Paths = Vec<Path>;

/// One table of extraction entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(super) name: Option<String>,
    pub(super) when: Vec<Condition>,
    pub(super) at: Option<Path>,
    pub(super) each: Option<Path>,
    pub(super) choice: Paths,
    pub(super) index: Paths,
    pub(super) reasoning: Paths,
    pub(super) signature: Paths,
    pub(super) text: Paths,
    pub(super) refusal: Paths,
    pub(super) native: Option<Path>,
    pub(super) tool: Option<Tool>,
    pub(super) finish: Paths,
    pub(super) native_finish: Paths,
    pub(super) finish_else: Option<String>,
    pub(super) usage: Paths,
    pub(super) error: Paths,
    pub(super) end: bool,
    pub(super) parts: Vec<Self>,
    pub(super) kinds: Vec<Self>,
    /// What may stand at the paths of this table; anything else is odd.
    pub(super) accepts: Vec<(Path, Kinds)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tool {
    pub(super) id: Paths,
    pub(super) name: Paths,
    pub(super) arguments: Paths,
    pub(super) comes: Comes,
}

/// How a tool table's calls come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Comes {
    /// In fragments, told apart by index or id.
    #[default]
    Fragments,
    /// As more of a call that is known under its index; else it is none.
    More,
    /// Each value is a call of its own.
    Whole,
    /// In fragments of the one call that there can be.
    Single,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const STRING: Self = Self(1);
    pub(super) const ARRAY: Self = Self(2);
    pub(super) const OBJECT: Self = Self(4);
    pub(super) const ANY: Self = Self(u8::MAX);

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has(self, value: &crate::json::Json) -> bool {
        use crate::json::Json;
        let kind = match value {
            Json::Null => return true,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
            Json::Bool(_) | Json::Number(_) => return self == Self::ANY,
        };
        self.0 & kind.0 != 0
    }
}

impl Rules {
    /// The canonical word for a provider's finish reason. Words that nobody knows stay as they are.
    pub(crate) fn finish<'a>(&'a self, native: &'a str) -> &'a str {
        let known = self.finish.words.iter().find(|(word, _)| word == native);
        known.map_or(native, |(_, canonical)| canonical)
    }

    /// The data that ends a stream.
    pub(crate) fn stream_end(&self) -> Option<&str> {
        self.stream.end.as_deref()
    }

    /// Another end marker; an empty one is none.
    pub(crate) fn set_stream_end(&mut self, end: &str) {
        self.stream.end = (!end.is_empty()).then(|| end.to_owned());
    }

    /// Words for a canonical one, before those that are known already.
    pub(crate) fn prefer_words(&mut self, canonical: &str, words: &[String]) {
        let known = std::mem::take(&mut self.finish.words);
        let new = words.iter().map(|word| (word.clone(), canonical.to_owned()));
        let old = known.into_iter().filter(|(word, _)| !words.contains(word));
        self.finish.words = new.chain(old).collect();
    }

    /// The provider's first word for a canonical finish reason, for answers that came from elsewhere.
    pub(crate) fn finish_word<'a>(&'a self, canonical: &'a str) -> &'a str {
        let known = self.finish.words.iter().find(|(_, word)| word == canonical);
        known.map_or(canonical, |(word, _)| word)
    }
}

impl Node {
    /// The table's own name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether an entry of this table looks at that member of its value.
    pub(crate) fn owns(&self, member: &str) -> bool {
        self.accepts.iter().any(|(path, _)| path.head() == Some(member))
    }

    /// Notes what may stand where, here and below. Called once, when the table is complete.
    pub(super) fn settle(&mut self) {
        let mut accepts = Vec::new();
        let mut add = |path: &Path, kinds: Kinds| match accepts.iter_mut().find(|(known, _)| known == path) {
            Some((_, known)) => *known = Kinds::and(*known, kinds),
            None => accepts.push((path.clone(), kinds)),
        };
        let texts = [
            &self.reasoning,
            &self.signature,
            &self.text,
            &self.refusal,
            &self.finish,
            &self.native_finish,
        ];
        texts
            .into_iter()
            .flatten()
            .for_each(|path| add(path, Kinds::STRING));
        if let Some(tool) = &self.tool {
            tool.id
                .iter()
                .chain(&tool.name)
                .for_each(|path| add(path, Kinds::STRING));
            tool.arguments.iter().for_each(|path| add(path, Kinds::ANY));
        }
        self.usage.iter().for_each(|path| add(path, Kinds::OBJECT));
        let open = [&self.choice, &self.index, &self.error];
        open.into_iter().flatten().for_each(|path| add(path, Kinds::ANY));
        for child in self.parts.iter().chain(&self.kinds) {
            match (&child.at, &child.each) {
                (Some(at), _) => add(at, Kinds::OBJECT),
                (None, Some(each)) => add(each, Kinds::ARRAY),
                (None, None) => {}
            }
        }
        self.accepts = accepts;
        self.parts
            .iter_mut()
            .chain(&mut self.kinds)
            .for_each(Self::settle);
    }
}
