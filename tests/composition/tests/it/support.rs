//! The upstream that these tests record, and the shortest way to ask it.

use vcr_runtime::{CallError, Client, Failure, Reply, Request, Vcr};

/// Answers with the question. Only a recording may reach it.
pub async fn upstream(request: Request) -> Result<Reply, Failure> {
    if std::env::var("VCR_MODE").as_deref() != Ok("record") {
        return Err(Failure::new("Live", "a replay has called its upstream"));
    }
    let question = request.messages()[0]["content"].clone();
    Ok(Reply::text(format!(
        "you said {}",
        question.as_str().unwrap_or("nothing")
    )))
}

pub fn question(text: &str) -> Request {
    Request::new("test/echo").user(text)
}

/// Asks in the session that the calling code belongs to.
pub async fn ask(text: &str) -> Result<String, CallError> {
    let completion = Client::new(upstream).completion(question(text)).await?;
    Ok(completion.text)
}

/// Asks in a given session.
pub async fn ask_in(vcr: &Vcr, text: &str) -> Result<String, CallError> {
    let completion = vcr.client(upstream).completion(question(text)).await?;
    Ok(completion.text)
}

/// Asks from code without a runtime.
pub fn ask_blocking(text: &str) -> Result<String, CallError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(ask(text))
}

/// The name of the cassette of the calling code.
pub fn cassette() -> String {
    let path = Vcr::current().unwrap().cassette_path().unwrap();
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
