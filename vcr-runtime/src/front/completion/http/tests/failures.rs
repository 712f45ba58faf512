use std::time::Duration;

use super::server::{Said, events, json, live, said, serve, upstream};
use crate::front::completion::http::HttpUpstream;
use crate::{CallError, ErrorKind, Failure, FailureCategory, Request};

fn request(model: &str) -> Request {
    Request::new(model).user("hi")
}

fn failure<T>(result: Result<T, CallError>) -> Failure {
    match result {
        Err(CallError::Failed(failure)) => failure,
        Err(error) => panic!("not the upstream's: {error}"),
        Ok(_) => panic!("no failure"),
    }
}

/// Asks `provider` for a whole answer, and gets that one; there is none for a second attempt.
async fn asked(provider: &str, answer: Said) -> Failure {
    let server = serve(vec![Some(answer)]);
    let client = live(upstream(provider, &server.base));
    failure(client.completion(request(&format!("{provider}/m"))).await)
}

#[tokio::test]
async fn http_errors_keep_type_message_status_and_code() {
    let body =
        r#"{"error":{"message":"Slow down","type":"rate_limit","param":null,"code":"rate_limit_exceeded"}}"#;
    let error = asked("openai", said(429, "application/json", body)).await;
    assert_eq!((error.message.as_str(), error.status), ("Slow down", Some(429)));
    assert_eq!(error.error_type, "rate_limit");
    assert_eq!(error.code.as_deref(), Some("rate_limit_exceeded"));
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let error = asked("anthropic", said(529, "application/json", body)).await;
    assert_eq!(
        (error.error_type.as_str(), error.message.as_str()),
        ("overloaded_error", "Overloaded")
    );
    assert_eq!(error.status, Some(529));
}

#[tokio::test]
async fn answers_of_somebody_else_are_quoted() {
    let page = format!("<html>{}</html>", "é".repeat(500));
    let error = asked("openai", said(502, "text/html", page.clone())).await;
    assert_eq!(
        (error.error_type.as_str(), error.status),
        ("HttpError", Some(502))
    );
    assert!(error.message.starts_with("<html>é") && error.message.chars().count() == 301);
    let error = asked("anthropic", said(200, "text/html", page)).await;
    assert_eq!(error.error_type, "UnreadableAnswer");
    let error = asked("openai", said(302, "text/html", "")).await;
    assert_eq!(
        (error.error_type.as_str(), error.status),
        ("HttpError", Some(302))
    );
}

#[tokio::test]
async fn an_error_in_a_stream_and_an_early_end_come_after_the_text() {
    const CHUNK: &str =
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#;
    const ERROR: &str = r#"{"error":{"message":"it broke","type":"server_error"}}"#;
    for (payloads, class, message) in [
        (&[CHUNK, ERROR, "[DONE]"][..], "server_error", "it broke"),
        (&[CHUNK], "Truncated", "before the provider said"),
    ] {
        let server = serve(vec![Some(events(payloads))]);
        let client = live(upstream("openai", &server.base));
        let mut stream = client.completion_stream(request("m")).await.unwrap();
        let mut text = String::new();
        let error = loop {
            match stream.next().await.expect("an error ends it") {
                Ok(frame) => text.push_str(&frame.chunk),
                Err(error) => break failure::<()>(Err(error)),
            }
        };
        assert_eq!(text, "Hel");
        assert_eq!(error.error_type, class);
        assert!(error.message.contains(message), "{error}");
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test]
async fn a_missing_key_is_named_and_nothing_is_sent() {
    // Nobody listens there.
    let upstream = |keys| {
        HttpUpstream::new()
            .base_url("gemini", "http://127.0.0.1:9")
            .unwrap()
            .keys(keys)
    };
    let ask = async |upstream| failure(live(upstream).completion(request("gemini/m")).await);
    let error = ask(upstream(|_| None)).await;
    assert!(
        error
            .message
            .contains("GEMINI_API_KEY or GOOGLE_API_KEY is not set"),
        "{error}"
    );
    assert_eq!(error.code.as_deref(), Some("missing_key"));
    assert_eq!(error.category(), FailureCategory::Authentication);
    let error = ask(upstream(|_| Some("se\ncret".to_owned()))).await;
    assert!(
        error.message.contains("GEMINI_API_KEY holds") && !error.to_string().contains("cret"),
        "{error}"
    );
    let error = ask(upstream(|_| Some("  ".to_owned()))).await;
    assert_eq!(error.code.as_deref(), Some("missing_key"));
}

#[tokio::test]
async fn what_cannot_be_asked_is_said_before_anything_is_sent() {
    let client = live(upstream("anthropic", "http://127.0.0.1:9"));
    let error = failure(
        client
            .completion(request("anthropic/m").parameter("seed", 1))
            .await,
    );
    assert_eq!(error.error_type, "UnsupportedRequest");
    assert!(error.message.contains("`seed`"), "{error}");
    let error = failure(client.completion(request("telepathy/m")).await);
    assert_eq!(error.error_type, "UnknownProvider");
}

#[tokio::test]
async fn a_refused_connection_is_told_without_its_url() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = failure(live(upstream("openai", &base)).completion(request("m")).await);
    assert_eq!(
        (error.error_type.as_str(), error.code.as_deref()),
        ("ConnectionError", Some("connect"))
    );
    assert!(!error.message.contains("chat/completions"), "{error}");
}

/// Waits until the provider has the request, and then for the limit, which a paused clock reaches at once.
async fn silence(change: fn(HttpUpstream) -> HttpUpstream) -> Failure {
    let mut server = serve(vec![None]);
    let client = live(change(upstream("openai", &server.base)));
    let call = tokio::spawn(async move { client.completion(request("m")).await });
    server.seen.recv().await.unwrap();
    tokio::time::pause();
    failure(call.await.unwrap())
}

#[tokio::test]
async fn a_silent_provider_reaches_the_idle_limit() {
    let error = silence(|upstream| upstream.idle_timeout(Duration::from_secs(60))).await;
    assert_eq!(
        (error.error_type.as_str(), error.code.as_deref()),
        ("TimeoutError", Some("idle_timeout"))
    );
    assert!(error.message.contains("openai was silent for 60s"), "{error}");
    assert_eq!(error.category(), FailureCategory::Timeout);
}

#[tokio::test]
async fn the_total_limit_counts_from_the_start() {
    let error = silence(|upstream| upstream.timeout(Duration::from_secs(90))).await;
    assert_eq!(error.code.as_deref(), Some("total_timeout"));
    assert!(error.message.contains("within 90s"), "{error}");
}

#[tokio::test]
async fn a_stream_that_falls_silent_keeps_what_it_said() {
    let said =
        events(&[r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#]);
    let mut server = serve(vec![Some(said.then_silence())]);
    let client = live(upstream("openai", &server.base));
    let mut stream = client.completion_stream(request("m")).await.unwrap();
    server.seen.recv().await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().chunk, "Hel");
    tokio::time::pause();
    let error = failure::<()>(Err(stream.next().await.unwrap().unwrap_err()));
    assert_eq!(error.code.as_deref(), Some("idle_timeout"));
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_never_made_reaches_the_connect_limit() {
    // Nobody answers the TLS handshake.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let upstream = upstream("openai", &base).connect_timeout(Duration::from_secs(5));
    let error = failure(live(upstream).completion(request("m")).await);
    assert_eq!(error.code.as_deref(), Some("connect_timeout"), "{error}");
    assert!(
        error.message.contains("no connection to openai within 5s"),
        "{error}"
    );
}

#[tokio::test]
async fn one_upstream_serves_several_runtimes() {
    let server = serve(vec![Some(json("{}")), Some(json("{}"))]);
    let upstream = upstream("openai", &server.base);
    for _ in 0..2 {
        let upstream = upstream.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime
                .block_on(live(upstream).completion(request("m")))
                .map(|answer| answer.text)
        });
        assert_eq!(thread.join().unwrap().unwrap(), "");
    }
}

#[test]
fn headers_of_http_and_of_the_key_are_refused() {
    for (name, value, problem) in [
        ("Authorization", "Bearer x", "is set by the upstream itself"),
        ("X-Api-Key", "x", "is set by the upstream itself"),
        ("Content-Length", "1", "is set by the upstream itself"),
        ("Transfer-Encoding", "chunked", "concerns the connection"),
        ("Proxy-Authorization", "x", "concerns the connection"),
        ("bad name", "x", "has no possible name"),
        ("x-ok", "a\r\nb: c", "has a value that cannot be sent"),
    ] {
        let error = HttpUpstream::new().header(name, value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(problem), "{error}");
    }
    assert!(HttpUpstream::new().base_url("openai", "ftp://x").is_err());
    assert!(HttpUpstream::new().base_url("openai", "http://u:p@x").is_err());
}
