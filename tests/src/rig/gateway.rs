use serde_json::Value;
use vcr_runtime::{Protocol, Vcr};

use crate::http::{self, Response, Whole};
use crate::sdk::Answer;

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub whole: Whole,
}

impl Delivered {
    /// Reads the rest of an answer.
    pub async fn of(response: Response) -> Self {
        let (status, headers) = (response.status, response.headers.clone());
        Self {
            status,
            headers,
            whole: response.whole().await,
        }
    }

    /// The value of a header; its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// What an SDK makes of it.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer::read(
            self.header("content-type").unwrap_or_default(),
            &self.whole.bytes(),
        )
    }

    /// The text of the first choice.
    #[must_use]
    pub fn text(&self) -> String {
        self.answer().text().to_owned()
    }

    /// The message of the miss that it is.
    ///
    /// # Panics
    /// When it is none.
    pub fn miss(&self) -> String {
        assert_eq!(self.status, 409, "a miss is a conflict: {}", self.whole.text());
        let body: Value = serde_json::from_slice(&self.whole.bytes()).expect("a miss in JSON");
        assert_eq!(body["type"], "error");
        assert_eq!(body["error"]["type"], "vcr_replay_miss");
        assert_eq!(body["error"]["code"], "vcr_replay_miss");
        body["error"]["message"].as_str().expect("a message").to_owned()
    }
}

/// Asks for a chat completion at this base.
pub async fn direct(base: &str, body: &Value) -> Delivered {
    Delivered::of(http::post(&format!("{base}/chat/completions"), &body.to_string()).await).await
}

/// Asks through the session's gateway; `upstream` is the base that would answer live, such as [`crate::Upstream::v1`].
///
/// # Panics
/// When the session has no gateway.
pub async fn ask(vcr: &Vcr, upstream: &str, body: &Value) -> Delivered {
    direct(&vcr.base_url_for(upstream).expect("the gateway"), body).await
}

/// Asks through the session's gateway for what OpenAI would answer.
///
/// # Panics
/// When the session has no gateway.
pub async fn chat(vcr: &Vcr, body: &Value) -> Delivered {
    direct(&vcr.base_url(Protocol::OpenAi).expect("the gateway"), body).await
}
