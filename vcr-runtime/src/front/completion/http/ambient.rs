use std::sync::LazyLock;

use super::HttpUpstream;
use crate::front::completion::{CallError, Client, Completion, CompletionStream, Request};

/// Makes no connection until a call goes live.
static CLIENT: LazyLock<Client> = LazyLock::new(|| Client::new(HttpUpstream::new()));

/// Asks the provider that the model names for a whole answer, in whichever session the call is made: a [`Client`] over
/// an [`HttpUpstream`] with its defaults.
///
/// ```no_run
/// # async fn run() -> Result<(), vcr_runtime::CallError> {
/// use vcr_runtime::{Request, completion};
///
/// let answer = completion(Request::new("anthropic/claude-haiku-4-5").user("Name a colour.")).await?;
/// println!("{}", answer.text);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Client::completion`].
pub async fn completion(request: Request) -> Result<Completion, CallError> {
    CLIENT.completion(request).await
}

/// Asks the provider that the model names for an answer step by step; see [`completion`].
///
/// # Errors
/// As [`Client::completion_stream`].
pub async fn completion_stream(request: Request) -> Result<CompletionStream, CallError> {
    CLIENT.completion_stream(request).await
}
