use crate::json::{Json, Object};

use super::words::block;

/// What the blocks of one type have besides their canonical parts: of each type what its first block had.
///
/// Blocks that differ from the first of their type carry their members themselves, in the native frame that stands
/// where they begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    text: Option<Object>,
    thinking: Option<Object>,
    tool: Option<Object>,
}

/// Content block types with a canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    Tool,
    /// Every other: kept whole.
    Native,
}

impl Kind {
    pub(super) fn of(members: &Object) -> Self {
        match members.get("type").and_then(Json::as_str) {
            Some(block::TEXT) => Self::Text,
            Some(block::THINKING) => Self::Thinking,
            Some(block::TOOL) => Self::Tool,
            _ => Self::Native,
        }
    }

    /// The member of a template that holds the type's shape.
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Tool => "tool",
            Self::Native => "",
        }
    }

    /// Members with a canonical form.
    fn canonical(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["type", "text"],
            Self::Thinking => &["type", "thinking"],
            Self::Tool => &["type", "id", "name", "input"],
            Self::Native => &[],
        }
    }

    /// What a block of this type has besides its canonical members. A signature has its place here, its text has not.
    pub(super) fn rest(self, members: &Object) -> Object {
        let kept = members
            .iter()
            .filter(|(name, _)| !self.canonical().contains(&name.as_str()));
        kept.map(|(name, value)| match value {
            Json::String(_) if self == Self::Thinking && name == "signature" => (name.clone(), "".into()),
            _ => (name.clone(), value.clone()),
        })
        .collect()
    }

    /// The shape of answers without a template.
    fn usual(self) -> Object {
        match self {
            Self::Thinking => [("signature".to_owned(), Json::from(""))].into_iter().collect(),
            _ => Object::new(),
        }
    }
}

impl Shapes {
    fn slot(&mut self, kind: Kind) -> Option<&mut Option<Object>> {
        match kind {
            Kind::Text => Some(&mut self.text),
            Kind::Thinking => Some(&mut self.thinking),
            Kind::Tool => Some(&mut self.tool),
            Kind::Native => None,
        }
    }

    /// Whether a block with this rest is like the first of its type. The first is, unless it has content of its own.
    pub(super) fn fits(&mut self, kind: Kind, rest: &Object) -> bool {
        let is_content = |value: &Json| match value {
            Json::Array(items) => !items.is_empty(),
            _ => false,
        };
        let Some(slot) = self.slot(kind) else { return false };
        match slot {
            Some(first) => first == rest,
            None if rest.iter().any(|(_, value)| is_content(value)) => false,
            None => {
                *slot = Some(rest.clone());
                true
            }
        }
    }

    /// Adds what is not usual to a template.
    pub(crate) fn write(&self, template: &mut Object) {
        let shapes = [
            (Kind::Text, &self.text),
            (Kind::Thinking, &self.thinking),
            (Kind::Tool, &self.tool),
        ];
        for (kind, shape) in shapes {
            if let Some(shape) = shape.as_ref().filter(|shape| **shape != kind.usual()) {
                template.push(kind.name(), shape.clone());
            }
        }
    }

    /// The shape that a template has for a type.
    pub(super) fn read(template: Option<&Json>, kind: Kind) -> Object {
        let shape = template
            .and_then(|template| template.get(kind.name()))
            .and_then(Json::as_object);
        shape.cloned().unwrap_or_else(|| kind.usual())
    }
}
