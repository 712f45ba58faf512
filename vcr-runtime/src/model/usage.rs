use crate::json::{Json, Object, to_value};

/// Token counts in the provider-neutral form.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub completion_tokens: u64,
    /// The sum, as the provider states it.
    pub total_tokens: u64,
    /// Every other member of the provider's usage, as it was sent.
    pub(crate) details: Object,
}

impl Usage {
    /// Counts without details.
    #[must_use]
    pub fn new(prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
            details: Object::new(),
        }
    }

    /// What else the provider counted, under its own names: `prompt_tokens_details`, `cost`. An object, empty where
    /// there is nothing.
    #[must_use]
    pub fn details(&self) -> serde_json::Value {
        to_value(&Json::Object(self.details.clone()))
    }
}
