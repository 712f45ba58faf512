//! A request that is no longer the recorded one is a miss, and the report names what changed.

use serde_json::{Value, json};
use vcr_runtime::Matching;
use vcr_tests::Reply;
use vcr_tests::rig::{InProcess, Rig, Say, chat, complaint, done, stream_question};

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})
}

fn recorded_request() -> Value {
    let mut body = stream_question("hi");
    body["tools"] = json!([tool("search")]);
    body["temperature"] = json!(0.2);
    body
}

/// Every way in which the request differs, and the line that has to say so.
fn changes() -> Vec<(Value, &'static str, &'static str)> {
    let change = |at: &dyn Fn(&mut Value)| {
        let mut body = recorded_request();
        at(&mut body);
        body
    };
    vec![
        (
            change(&|body| body["messages"][0]["content"] = json!("hi!")),
            "changed:",
            "messages[0].content",
        ),
        (
            change(&|body| body["tools"] = json!([tool("search"), tool("fetch")])),
            "added:",
            "tools[1]",
        ),
        (
            change(&|body| body["temperature"] = json!(0)),
            "changed:",
            "temperature",
        ),
        (change(&|body| body["top_p"] = json!(0.9)), "added:", "top_p"),
        (
            change(&|body| drop(body.as_object_mut().unwrap().remove("tools"))),
            "removed:",
            "tools",
        ),
        (
            change(&|body| body["model"] = json!("gpt-4o")),
            "changed:",
            "model",
        ),
        (
            change(&|body| body["stream"] = json!(false)),
            "changed:",
            "stream",
        ),
        (
            change(&|body| {
                let messages = body["messages"].as_array_mut().unwrap();
                messages.insert(0, json!({"role": "system", "content": "Be brief."}));
            }),
            "added:",
            "messages[",
        ),
        (
            change(&|body| {
                let messages = body["messages"].as_array_mut().unwrap();
                messages.push(json!({"role": "user", "content": "and?"}));
            }),
            "added:",
            "messages[1]",
        ),
    ]
}

#[tokio::test]
async fn each_change_is_a_miss_with_its_path() {
    let rig = Rig::recorded([(recorded_request(), Reply::text_stream(&["ok"]))]).await;
    for (body, word, path) in changes() {
        for matching in [Matching::Sequential, Matching::Keyed] {
            let vcr = rig
                .builder(vcr_runtime::Mode::Replay)
                .matching(matching)
                .open()
                .unwrap();
            let miss = chat(&vcr, &body).await.miss();
            let line = miss
                .lines()
                .find(|line| line.contains(word) && line.contains(path));
            assert!(line.is_some(), "no line with {word} and {path}:\n{miss}");
            assert!(
                miss.contains("VCR_MODE=record"),
                "the next command is missing:\n{miss}"
            );
            let verdict = complaint(vcr).await.to_string();
            assert!(verdict.contains(path), "the verdict hides the reason:\n{verdict}");
        }
    }
}

#[tokio::test]
async fn a_refused_call_is_not_consumed() {
    let rig = Rig::recorded([(recorded_request(), Reply::text_stream(&["ok"]))]).await;
    let vcr = rig.replay();
    for (body, _, _) in changes() {
        chat(&vcr, &body).await.miss();
    }
    assert_eq!(chat(&vcr, &recorded_request()).await.text(), "ok");
    complaint(vcr).await;
}

#[tokio::test]
async fn order_compares_nothing_and_says_so() {
    let rig = Rig::recorded([(recorded_request(), Reply::text_stream(&["ok"]))]).await;
    let vcr = rig
        .builder(vcr_runtime::Mode::Replay)
        .matching(Matching::Order)
        .open()
        .unwrap();
    assert_eq!(chat(&vcr, &stream_question("anything")).await.text(), "ok");
    done(vcr).await;
}

#[tokio::test]
async fn a_declared_path_is_ignored_on_both_sides() {
    let with_id = |id: &str| {
        let mut body = recorded_request();
        body["metadata"] = json!({"run_id": id});
        body
    };
    let rig = Rig::recorded([(with_id("one"), Reply::text_stream(&["ok"]))]).await;
    let vcr = rig
        .builder(vcr_runtime::Mode::Replay)
        .ignore(["/metadata/run_id"])
        .open()
        .unwrap();
    assert_eq!(chat(&vcr, &with_id("two")).await.text(), "ok");
    done(vcr).await;
    let vcr = rig.replay();
    assert!(
        chat(&vcr, &with_id("two"))
            .await
            .miss()
            .contains("metadata.run_id")
    );
    complaint(vcr).await;
}

#[tokio::test]
async fn intercept() {
    let rig = Rig::new();
    let vcr = rig.record();
    vcr.intercept(&recorded_request(), || async {
        Ok::<_, std::io::Error>(json!({"ok": true}))
    })
    .await
    .unwrap();
    done(vcr).await;
    for (body, word, path) in changes() {
        let vcr = rig.replay();
        let answer: Result<Value, _> = vcr
            .intercept(&body, || async { Err(std::io::Error::other("called")) })
            .await;
        let miss = answer.unwrap_err().to_string();
        let line = miss
            .lines()
            .find(|line| line.contains(word) && line.contains(path));
        assert!(line.is_some(), "no line with {word} and {path}:\n{miss}");
        complaint(vcr).await;
    }
}

#[tokio::test]
async fn in_process() {
    let rig = Rig::new();
    let request = vcr_runtime::Request::new("openai/gpt-4o-mini")
        .system("Be kind.")
        .user("hi");
    let vcr = rig.record();
    InProcess::new(&vcr, [vec![Say::Text("ok"), Say::Finish("stop")]])
        .send(request.clone())
        .await;
    done(vcr).await;
    for (request, path) in [
        (
            vcr_runtime::Request::new("openai/gpt-4o-mini")
                .system("Be kind.")
                .user("hi!"),
            "messages[1].content",
        ),
        (
            vcr_runtime::Request::new("openai/gpt-4o-mini")
                .system("Be mean.")
                .user("hi"),
            "messages[0].content",
        ),
        (
            vcr_runtime::Request::new("openai/gpt-4o")
                .system("Be kind.")
                .user("hi"),
            "model",
        ),
        (request.clone().parameter("temperature", 0), "temperature"),
    ] {
        let vcr = rig.replay();
        let client = InProcess::new(&vcr, [vec![Say::Text("live")]]);
        let seen = client.send(request).await;
        assert!(
            seen.error.as_deref().is_some_and(|error| error.contains(path)),
            "{path} is not in {seen:?}"
        );
        assert_eq!(client.count(), 0, "a miss went live");
        complaint(vcr).await;
    }
}
