use std::time::Duration;

use crate::json::{Json, to_value};

/// One step of a response timeline: what arrived within one tick.
///
/// The first frame's [`delta`](Self::delta) is the time to the first byte; a unary answer is one frame.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Frame {
    /// Microseconds since the frame before, or since the request for the first.
    pub(crate) delta_us: u64,
    /// Text that became visible with this frame; may be empty.
    pub chunk: String,
    /// Reasoning ("thinking") text of this frame.
    pub reasoning: Option<String>,
    /// The provider's signature over the reasoning, to be sent back unchanged.
    pub reasoning_signature: Option<String>,
    /// Refusal text, where the provider separates it from the answer.
    pub refusal: Option<String>,
    /// Whole tool calls; they stand on the frame that ends their choice.
    pub tool_calls: Vec<ToolCall>,
    /// Which of several choices (`n > 1`) the frame belongs to.
    pub choice: u32,
    /// Why the choice ended: `stop`, `tool_calls`, `length`, `content_filter`, `pause`, or `error`.
    pub finish_reason: Option<String>,
    /// The provider's own word for it, where it differs.
    pub native_finish_reason: Option<String>,
    /// A block that has no provider-neutral form, kept as it was.
    pub(crate) native: Option<Json>,
}

impl Frame {
    /// How long after the frame before this one arrived when it was recorded.
    #[must_use]
    pub const fn delta(&self) -> Duration {
        Duration::from_micros(self.delta_us)
    }

    /// A block of the provider's own that has no neutral form, such as the result of a search that ran on its side.
    #[must_use]
    pub fn native(&self) -> Option<serde_json::Value> {
        self.native.as_ref().map(to_value)
    }

    /// Whether the frame says nothing at all.
    pub(crate) fn is_blank(&self) -> bool {
        self.chunk.is_empty() && self.says_nothing_else()
    }

    /// Whether it is a piece of the first choice's text and no more.
    pub(crate) fn is_text_alone(&self) -> bool {
        self.choice == 0 && self.native_finish_reason.is_none() && self.says_nothing_else()
    }

    fn says_nothing_else(&self) -> bool {
        self.reasoning.is_none()
            && self.reasoning_signature.is_none()
            && self.refusal.is_none()
            && self.tool_calls.is_empty()
            && self.finish_reason.is_none()
            && self.native.is_none()
    }
}

/// A tool call in the form of the OpenAI API, whatever provider made it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The provider's id, which the tool's result must name.
    pub id: String,
    /// What to call.
    pub function: FunctionCall,
}

/// The function of a [`ToolCall`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionCall {
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text, exactly as the model wrote them; may be cut, so not valid JSON.
    pub arguments: String,
}

impl ToolCall {
    /// A call of `name` with `arguments` as JSON text.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            function: FunctionCall {
                name: name.into(),
                arguments: arguments.into(),
            },
        }
    }
}
