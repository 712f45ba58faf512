use std::path::Path;

use serde_json::Value;

/// A cassette as another program would read it.
#[derive(Clone, Debug)]
pub struct Cassette {
    /// The file's text.
    pub text: String,
    /// The same, parsed.
    pub value: Value,
}

impl Cassette {
    /// Reads the file.
    ///
    /// # Panics
    /// When it is not there or no JSON.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { text, value }
    }

    /// The latest take.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn take(&self) -> &Value {
        let id = self.value["latest_trace_id"].as_str().expect("latest_trace_id");
        let take = &self.value["traces"][id];
        assert!(take.is_object(), "no trace {id}");
        take
    }

    /// How many takes are kept.
    #[must_use]
    pub fn takes(&self) -> usize {
        self.value["traces"].as_object().map_or(0, serde_json::Map::len)
    }

    /// The calls of the latest take, whether it is flat or has several.
    #[must_use]
    pub fn calls(&self) -> Vec<RecordedCall> {
        let take = self.take();
        match take["calls"].as_array() {
            Some(calls) => calls.iter().cloned().map(RecordedCall).collect(),
            None => vec![RecordedCall(take.clone())],
        }
    }

    /// The only call of the latest take.
    ///
    /// # Panics
    /// When there are more or fewer.
    #[must_use]
    pub fn call(&self) -> RecordedCall {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "one call was expected in {}", self.text);
        calls.remove(0)
    }
}

/// One recorded call.
#[derive(Clone, Debug)]
pub struct RecordedCall(pub Value);

impl RecordedCall {
    /// The frames.
    #[must_use]
    pub fn frames(&self) -> &[Value] {
        self.0["response_timeline"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The text of choice 0.
    #[must_use]
    pub fn text(&self) -> String {
        let own = self
            .frames()
            .iter()
            .filter(|frame| frame["choice"].as_u64().unwrap_or(0) == 0);
        own.filter_map(|frame| frame["chunk"].as_str()).collect()
    }

    /// The tool calls of all frames, as id, name and arguments.
    #[must_use]
    pub fn tools(&self) -> Vec<(String, String, String)> {
        let calls = self
            .frames()
            .iter()
            .flat_map(|frame| frame["tool_calls"].as_array().cloned().unwrap_or_default());
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        calls
            .map(|call| {
                (
                    word(&call["id"]),
                    word(&call["function"]["name"]),
                    word(&call["function"]["arguments"]),
                )
            })
            .collect()
    }

    /// The last finish reason.
    #[must_use]
    pub fn finish(&self) -> Option<&str> {
        self.frames()
            .iter()
            .rev()
            .find_map(|frame| frame["finish_reason"].as_str())
    }

    /// Whether the call ended badly.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.0["exception_boundary"]["occurred"]
            .as_bool()
            .unwrap_or(false)
    }

    /// How it ended badly.
    #[must_use]
    pub fn boundary(&self, member: &str) -> &str {
        self.0["exception_boundary"][member].as_str().unwrap_or_default()
    }

    /// The text of the last message of the request.
    #[must_use]
    pub fn prompt(&self) -> &str {
        let messages = self.0["request_context"]["messages"].as_array();
        let last = messages.and_then(|messages| messages.last());
        last.and_then(|message| message["content"].as_str())
            .unwrap_or_default()
    }

    /// Whether the raw layer was kept.
    #[must_use]
    pub fn has_raw(&self) -> bool {
        !self.0["raw_payload"].is_null()
    }
}
