//! A user's tests, each of which misbehaves when `APP_FAULT` is set. Compiled once and run under every runner and mode.

use serde_json::{Value, json};
use vcr_runtime::{Vcr, vcr_test};
use vcr_tests::{Reply, Upstream, rig};

fn fault() -> bool {
    std::env::var_os("APP_FAULT").is_some()
}

/// The request, changed in the way that `APP_CHANGE` names.
fn request(prompt: &str) -> Value {
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    let mut tools = vec![json!({"type": "function", "function": {"name": "search"}})];
    let mut temperature = json!(0.5);
    match std::env::var("APP_CHANGE").as_deref() {
        Ok("prompt") => messages[0]["content"] = json!(format!("{prompt}!")),
        Ok("tool") => tools.push(json!({"type": "function", "function": {"name": "fetch"}})),
        Ok("temperature") => temperature = json!(0.6),
        Ok("system") => messages.insert(0, json!({"role": "system", "content": "Be brief."})),
        _ => {}
    }
    json!({"model": "m", "messages": messages, "tools": tools, "temperature": temperature})
}

async fn ask(vcr: &Vcr, prompt: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    eprintln!("asked: {prompt}");
    let request = request(prompt);
    let answer = vcr.intercept(&request, || async {
        eprintln!("went live: {prompt}");
        Ok::<_, std::io::Error>(format!("answer to {prompt}"))
    });
    Ok(answer.await?)
}

#[vcr_test]
async fn passes(vcr: Vcr) {
    assert_eq!(ask(&vcr, "first").await.unwrap(), "answer to first");
    assert_eq!(ask(&vcr, "second").await.unwrap(), "answer to second");
    if std::env::var_os("APP_MORE").is_some() {
        let _ = ask(&vcr, "third").await;
    }
}

#[vcr_test]
async fn panics(vcr: Vcr) {
    ask(&vcr, "first").await.unwrap();
    assert!(!fault(), "the assertion of the test");
    ask(&vcr, "second").await.unwrap();
}

#[vcr_test]
async fn returns_err(vcr: Vcr) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    ask(&vcr, "first").await?;
    if fault() {
        return Err("boom".into());
    }
    ask(&vcr, "second").await?;
    Ok(())
}

#[vcr_test]
async fn times_out(vcr: Vcr) -> Result<(), tokio::time::error::Elapsed> {
    ask(&vcr, "first").await.unwrap();
    if fault() {
        tokio::time::timeout(std::time::Duration::from_millis(1), std::future::pending::<()>()).await?;
    }
    ask(&vcr, "second").await.unwrap();
    Ok(())
}

#[vcr_test]
async fn swallows(vcr: Vcr) {
    let prompt = if fault() { "another" } else { "first" };
    let _ = ask(&vcr, prompt).await.unwrap_or_default();
}

#[vcr_test]
async fn leaves_over(vcr: Vcr) {
    ask(&vcr, "first").await.unwrap();
    if !fault() {
        ask(&vcr, "second").await.unwrap();
    }
}

#[vcr_test]
async fn forgets_a_task(vcr: Vcr) {
    ask(&vcr, "first").await.unwrap();
    let handle = vcr.clone();
    let task = tokio::spawn(async move { ask(&handle, "second").await.map(drop) });
    if !fault() {
        task.await.unwrap().unwrap();
    }
}

#[vcr_test]
async fn leaves_a_call_unfinished(vcr: Vcr) {
    ask(&vcr, "first").await.unwrap();
    if fault() {
        let handle = vcr.clone();
        tokio::spawn(async move {
            let request = request("second");
            let never = handle.intercept(&request, std::future::pending::<Result<String, std::io::Error>>);
            never.await.map(drop)
        });
        tokio::task::yield_now().await;
    } else {
        ask(&vcr, "second").await.unwrap();
    }
}

#[vcr_test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_late(vcr: Vcr) {
    ask(&vcr, "first").await.unwrap();
    if !fault() {
        return;
    }
    let (sender, ended) = std::sync::mpsc::channel::<()>();
    // Dropped when the runtime's workers stop, and that is after the test has ended.
    tokio::spawn(async move {
        let _sender = sender;
        std::future::pending::<()>().await;
    });
    let (running, started) = tokio::sync::oneshot::channel();
    tokio::task::spawn_blocking(move || {
        running.send(()).unwrap();
        ended.recv().unwrap_err();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let error = runtime.block_on(ask(&vcr, "late")).unwrap_err();
        eprintln!("refused: {error}");
    });
    started.await.unwrap();
}

#[vcr_test]
#[should_panic(expected = "the assertion of the test")]
async fn expects_a_panic(vcr: Vcr) {
    ask(&vcr, "first").await.unwrap();
    assert!(!fault(), "the assertion of the test");
    ask(&vcr, "second").await.unwrap();
}

#[vcr_test]
async fn mutates(vcr: Vcr) {
    let _ = ask(&vcr, "first").await;
}

#[vcr_test]
async fn mutates_over_http(vcr: Vcr) {
    let upstream = Upstream::with(|_| Reply::text("ok"));
    let _ = rig::ask(&vcr, &upstream.v1(), &request("first")).await;
    eprintln!("upstream calls: {}", upstream.count());
}

#[vcr_test]
fn without_async(vcr: Vcr) {
    vcr.sync_scope(|| ());
    assert!(!fault(), "the assertion of the test");
}

#[vcr_test]
async fn probe(vcr: Vcr) {
    eprintln!("probe runs in {:?}", vcr.mode());
}
