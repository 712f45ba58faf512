//! The same JSON in another spelling is the same request; another order of an array, or other white space in a string, is not.

use vcr_tests::rig::{Delivered, InProcess, Rig, Say, complaint, done};
use vcr_tests::{Reply, Upstream, http};

const RECORDED: &str =
    r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi there"}],"stop":["a","b"]}"#;

async fn recorded() -> Rig {
    let upstream = Upstream::start([Reply::text("ok")]);
    let rig = Rig::new();
    let vcr = rig.record();
    let url = format!("{}/chat/completions", vcr.base_url_for(&upstream.v1()).unwrap());
    http::post(&url, RECORDED).await.text().await;
    done(vcr).await;
    rig
}

async fn replayed(rig: &Rig, body: &str) -> Result<String, String> {
    let vcr = rig.replay();
    let url = format!(
        "{}/chat/completions",
        vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap()
    );
    let answer = Delivered::of(http::post(&url, body).await).await;
    if answer.status == 200 {
        done(vcr).await;
        return Ok(answer.text());
    }
    complaint(vcr).await;
    Err(answer.miss())
}

#[tokio::test]
async fn key_order_and_white_space_do_not_count() {
    let rig = recorded().await;
    for body in [
        r#"{ "stop":["a","b"], "messages":[{"content":"hi there","role":"user"}], "model":"gpt-4o-mini"}"#,
        "{\n\t\"messages\" : [ { \"content\" : \"hi\\u0020there\", \"role\":\"us\\u0065r\" } ] ,\r\n\"model\":\"gpt-4o-mini\",\"stop\" : [\"a\" , \"b\"] }",
        r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi there"}],"stop":["a","b"],"stream":false}"#,
        r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi there"}],"stop":["a","b"],"temperature":null}"#,
    ] {
        assert_eq!(replayed(&rig, body).await.as_deref(), Ok("ok"), "{body}");
    }
}

#[tokio::test]
async fn array_order_and_white_space_in_strings_count() {
    let rig = recorded().await;
    for (from, to, at) in [
        (r#"["a","b"]"#, r#"["b","a"]"#, "stop[0]"),
        ("hi there", "hi  there", "messages[0].content"),
        ("hi there", "hi there ", "messages[0].content"),
        (
            r#""role":"user""#,
            r#""role":"user","name":null"#,
            "messages[0].name",
        ),
    ] {
        let miss = replayed(&rig, &RECORDED.replace(from, to)).await.unwrap_err();
        assert!(miss.contains(at), "{to} is not reported at {at}:\n{miss}");
    }
}

#[tokio::test]
async fn intercept() {
    let rig = Rig::new();
    let vcr = rig.record();
    let request: serde_json::Value = serde_json::from_str(RECORDED).unwrap();
    let answer = vcr
        .intercept(&request, || async { Ok::<_, std::io::Error>("ok".to_owned()) })
        .await
        .unwrap();
    done(vcr).await;
    let vcr = rig.replay();
    let reordered: serde_json::Value = serde_json::from_str(
        r#"{"stop":["a","b"],"messages":[{"content":"hi there","role":"user"}],"model":"gpt-4o-mini"}"#,
    )
    .unwrap();
    let again: String = vcr
        .intercept(&reordered, || async {
            Err(std::io::Error::other("called upstream in replay"))
        })
        .await
        .unwrap();
    done(vcr).await;
    assert_eq!(again, answer);
}

#[tokio::test]
async fn in_process_options_in_another_order() {
    let rig = Rig::new();
    let vcr = rig.record();
    let request = vcr_runtime::Request::new("openai/gpt-4o-mini").user("hi");
    let one = request.clone().parameter("top_p", 0.5).parameter("seed", 7);
    InProcess::new(&vcr, [vec![Say::Text("ok"), Say::Finish("stop")]])
        .send(one)
        .await;
    done(vcr).await;
    let vcr = rig.replay();
    let other = request.parameter("seed", 7).parameter("top_p", 0.50);
    assert_eq!(InProcess::new(&vcr, []).send(other).await.text(), "ok");
    done(vcr).await;
}
