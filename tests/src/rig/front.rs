use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use vcr_runtime::{Request, Vcr};

use super::{InProcess, Say, ask, question};
use crate::{Reply, Upstream};

/// A way in, for what must hold on each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// An HTTP client through the loopback gateway.
    Gateway,
    /// A completion in process.
    Completion,
    /// Any call with serde types.
    Intercept,
}

/// What a caller got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    /// The text, or that of the error.
    pub text: Result<String, String>,
    /// Whether the provider was asked.
    pub live: bool,
}

impl Got {
    /// The text of a good answer.
    ///
    /// # Panics
    /// When it is an error.
    #[must_use]
    pub fn good(&self) -> &str {
        self.text.as_deref().expect("a good answer")
    }

    /// The text of the error; nothing went live.
    ///
    /// # Panics
    /// When it is a good answer, or the provider was asked.
    #[must_use]
    pub fn refused(&self) -> &str {
        assert!(!self.live, "the provider was asked");
        self.text.as_deref().expect_err("an error")
    }
}

impl Front {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gateway, Self::Completion, Self::Intercept];

    /// Asks the plain question; live the provider answers `live`.
    pub async fn ask(self, vcr: &Vcr, prompt: &str, live: &str) -> Got {
        self.send(vcr, &question(prompt), Ok(live)).await
    }

    /// Sends a chat request; live the provider answers with the text, or refuses with it.
    pub async fn send(self, vcr: &Vcr, request: &Value, live: Result<&str, &str>) -> Got {
        match self {
            Self::Gateway => through_the_gateway(vcr, request, live).await,
            Self::Completion => in_process(vcr, request, live).await,
            Self::Intercept => intercepted(vcr, request, live).await,
        }
    }
}

async fn through_the_gateway(vcr: &Vcr, request: &Value, live: Result<&str, &str>) -> Got {
    let reply = match live {
        Ok(text) => Reply::text(text),
        Err(message) => Reply::json(&json!({"error": {"message": message}})).status(503),
    };
    let upstream = Upstream::start([reply]);
    let answer = ask(vcr, &upstream.v1(), request).await;
    let text = if answer.status == 200 {
        Ok(answer.text())
    } else {
        let body: Value = serde_json::from_slice(&answer.whole.bytes()).expect("an error in JSON");
        Err(body["error"]["message"].as_str().expect("a message").to_owned())
    };
    Got {
        text,
        live: upstream.count() > 0,
    }
}

async fn in_process(vcr: &Vcr, request: &Value, live: Result<&str, &str>) -> Got {
    // A script lives as long as its test's process.
    let script = match live {
        Ok(text) => vec![Say::Text(text.to_owned().leak()), Say::Finish("stop")],
        Err(message) => vec![Say::Fail(message.to_owned().leak())],
    };
    let client = InProcess::new(vcr, [script]);
    let model = request["model"].as_str().unwrap_or("m");
    let mut asked = Request::new(format!("openai/{model}"));
    for message in request["messages"].as_array().into_iter().flatten() {
        asked = asked.message(message.clone());
    }
    for (name, value) in request.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "model" | "messages") {
            asked = asked.parameter(name.as_str(), value.clone());
        }
    }
    let seen = client.send(asked).await;
    Got {
        text: seen.error.clone().map_or_else(|| Ok(seen.text()), Err),
        live: client.count() > 0,
    }
}

async fn intercepted(vcr: &Vcr, request: &Value, live: Result<&str, &str>) -> Got {
    let asked = AtomicBool::new(false);
    let answer = vcr.intercept(request, || async {
        asked.store(true, Ordering::SeqCst);
        live.map(str::to_owned).map_err(str::to_owned)
    });
    let answer: Result<String, vcr_runtime::InterceptError<String>> = answer.await;
    Got {
        text: answer.map_err(|error| error.to_string()),
        live: asked.load(Ordering::SeqCst),
    }
}
