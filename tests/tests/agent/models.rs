//! A program that looks for models before it asks one.

use serde_json::{Value, json};
use vcr_runtime::catalogue::Modality;
use vcr_runtime::{Mode, Protocol, Vcr, vcr_test};

use crate::door::http;

async fn get(url: String) -> (u16, Value) {
    let answer = http().get(url).send().await.unwrap();
    let status = answer.status().as_u16();
    (
        status,
        serde_json::from_str(&answer.text().await.unwrap()).unwrap(),
    )
}

#[vcr_test(source = "session:parent.jsonl", fixture_dir = "fixtures/agent", mode = replay, allow_unused)]
async fn a_client_of_openai_finds_the_catalogue(vcr: Vcr) -> vcr_runtime::Result<()> {
    let base = vcr.base_url(Protocol::OpenAi)?;
    let (status, list) = get(format!("{base}/models")).await;
    assert_eq!((status, &list["object"]), (200, &json!("list")));
    // The catalogue has no `openai`, so it is asked for all that it has.
    let ids = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap());
    assert_eq!(
        ids.collect::<Vec<_>>(),
        ["claude-haiku-4-5", "deepseek-v4-flash", "deepseek-v4-pro"]
    );
    let (status, flash) = get(format!("{base}/models/deepseek-v4-flash")).await;
    let expected = json!({
        "id": "deepseek-v4-flash", "object": "model", "created": 0, "owned_by": "deepseek-official",
        "name": "deepseek-v4-flash", "context_window": 128_000, "input_modalities": ["text"],
        "reasoning_efforts": ["low", "high"], "default_reasoning_effort": "low",
    });
    assert_eq!((status, flash), (200, expected));
    let (status, missing) = get(format!("{base}/models/gpt-9")).await;
    assert_eq!(
        (status, &missing["error"]["code"]),
        (404, &json!("model_not_found"))
    );
    // An agent's own base URL has them too.
    let own = vcr.session("child-1").base_url(Protocol::OpenAi)?;
    assert_eq!(get(format!("{own}/models")).await.1, list);
    Ok(())
}

#[vcr_test(source = "session:parent.jsonl", fixture_dir = "fixtures/agent", mode = replay, allow_unused)]
async fn a_client_of_anthropic_finds_the_models_of_anthropic(vcr: Vcr) -> vcr_runtime::Result<()> {
    let base = vcr.base_url(Protocol::Anthropic)?;
    let (status, page) = get(format!("{base}/v1/models?limit=20")).await;
    let model = json!({
        "type": "model", "id": "claude-haiku-4-5", "display_name": "Claude Haiku 4.5", "created_at": "1970-01-01T00:00:00Z",
    });
    let expected = json!({
        "data": [model], "has_more": false, "first_id": "claude-haiku-4-5", "last_id": "claude-haiku-4-5",
    });
    assert_eq!((status, page), (200, expected));
    let (status, one) = get(format!("{base}/v1/models/claude-haiku-4-5")).await;
    assert_eq!((status, one), (200, model));
    let (status, missing) = get(format!("{base}/v1/models/deepseek-v4-pro")).await;
    assert_eq!((status, &missing["type"]), (404, &json!("error")));
    assert!(
        missing["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no model `deepseek-v4-pro`")
    );
    Ok(())
}

#[tokio::test]
async fn a_cassette_answers_for_itself() {
    let directory = tempfile::tempdir().unwrap();
    let builder = Vcr::builder().scenario("s").fixture_dir(directory.path());
    let vcr = builder.mode(Mode::Replay).open().unwrap();
    let base = vcr.base_url(Protocol::OpenAi).unwrap();
    // A listing that was recorded is answered as it was, so one that was not is a miss.
    let (status, error) = get(format!("{base}/models")).await;
    assert_eq!(
        (status, &error["error"]["code"]),
        (409, &json!("vcr_cassette_missing"))
    );
    vcr.finish().await.unwrap_err();
}

#[vcr_test(source = "session:parent.jsonl", fixture_dir = "fixtures/agent", mode = replay, allow_unused)]
fn the_library_has_all_that_the_catalogue_says(vcr: Vcr) {
    let catalogue = vcr.catalogue();
    let [anthropic, deepseek] = &catalogue.providers[..] else {
        panic!("{catalogue:?}")
    };
    assert_eq!((anthropic.id.as_str(), &anthropic.retry), ("anthropic", &None));
    assert_eq!(anthropic.models[0].default_max_tokens, Some(8192));
    assert_eq!(deepseek.retry.as_ref().unwrap().max_delay.as_millis(), 1);
    assert_eq!(
        deepseek.models[1].input_modalities,
        [Modality::Text, Modality::Image]
    );
    assert_eq!(deepseek.models[1].image_request_tokens, Some(1024));
}
