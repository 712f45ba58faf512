use crate::json::Json;
use crate::protocol::paths::{Step, follow};

use super::table::Node;

/// What was read from one payload, besides the events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// The table that was applied; `None` when no `when` held.
    pub(crate) node: Option<&'static Node>,
    /// What said something, and where it stood, in the order of the events.
    pub(crate) hits: Vec<Hit>,
    /// The first thing that was not as the table expects, in words.
    pub(crate) odd: Option<String>,
}

/// A part of a payload that has a canonical form.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) field: Field,
    pub(crate) choice: u32,
    /// For a tool: it is the first fragment of its call.
    pub(crate) is_new: bool,
    /// The table whose entry it was.
    pub(crate) node: &'static Node,
    pub(crate) steps: Vec<Step<'static>>,
}

/// What kind of part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Reasoning,
    Signature,
    Text,
    Refusal,
    Native,
    /// The value that has id, name and arguments; those follow as hits of their own.
    Tool,
    ToolId,
    ToolName,
    ToolArguments,
    Finish,
    NativeFinish,
    Usage,
    Error,
}

impl Field {
    /// The word that stands for the part in templates.
    pub(crate) fn slot(self) -> &'static str {
        match self {
            Self::Reasoning => "$reasoning",
            Self::Signature => "$signature",
            Self::Text => "$text",
            Self::Refusal => "$refusal",
            Self::Native => "$native",
            Self::Tool => "$tool_call",
            Self::ToolId => "$id",
            Self::ToolName => "$name",
            Self::ToolArguments => "$arguments",
            Self::Finish => "$finish_reason",
            Self::NativeFinish => "$native_finish_reason",
            Self::Usage => "$usage",
            Self::Error => "$error",
        }
    }
}

impl Reading {
    /// Whether a hit stands at the steps or below.
    pub(crate) fn says(&self, steps: &[Step<'_>]) -> bool {
        self.hits.iter().any(|hit| hit.steps.starts_with(steps))
    }

    /// Puts the slot word in the place of each part of these kinds, for a template.
    pub(crate) fn put_slots(&self, payload: &mut Json, fields: &[Field]) {
        for hit in self.hits.iter().filter(|hit| fields.contains(&hit.field)) {
            if let Some(value) = follow(payload, &hit.steps) {
                *value = hit.field.slot().into();
            }
        }
    }
}
