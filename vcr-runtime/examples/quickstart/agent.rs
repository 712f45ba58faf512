//! The program under test: it asks a model, runs the tool that the model wants, and reads the streamed answer. It knows
//! nothing of recordings; all that a test changes is the base URL.

use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::Result;

/// Asks `question` and returns what the model says in the end.
pub(crate) async fn ask(http: &Client, base_url: &str, question: &str) -> Result<String> {
    let mut messages = vec![
        json!({ "role": "system", "content": "Use the tools. Answer in one sentence." }),
        json!({ "role": "user", "content": question }),
    ];
    let body = post(http, base_url, &messages, false).await?.text().await?;
    let body: Value = serde_json::from_str(&body)?;
    let reply = &body["choices"][0]["message"];
    messages.push(reply.clone());
    for call in reply["tool_calls"].as_array().into_iter().flatten() {
        let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or("{}"))?;
        messages.push(
            json!({ "role": "tool", "tool_call_id": call["id"], "content": forecast(&arguments["city"]) }),
        );
    }
    read_stream(post(http, base_url, &messages, true).await?).await
}

/// The tool.
fn forecast(city: &Value) -> String {
    json!({ "city": city, "celsius": -4, "sky": "clear" }).to_string()
}

async fn post(http: &Client, base_url: &str, messages: &[Value], stream: bool) -> Result<Response> {
    let mut body =
        json!({ "model": "weather-model", "messages": messages, "temperature": 0, "stream": stream });
    body["tools"] = json!([{ "type": "function", "function": { "name": "get_forecast", "parameters": {
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } } }]);
    let request = http.post(format!("{base_url}/chat/completions"));
    let request = request.header("content-type", "application/json");
    let response = request.body(body.to_string()).send().await?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body: Value = serde_json::from_str(&response.text().await?)?;
    let message = body["error"]["message"].as_str().unwrap_or_default();
    Err(format!("{status}\n{message}").into())
}

/// Puts the text of a stream together as it comes.
async fn read_stream(mut response: Response) -> Result<String> {
    let (mut unread, mut text) = (Vec::new(), String::new());
    while let Some(bytes) = response.chunk().await? {
        unread.extend_from_slice(&bytes);
        while let Some(end) = unread.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = unread.drain(..end + 2).collect();
            let event = String::from_utf8(event)?;
            match event.trim().strip_prefix("data: ") {
                None => {}
                Some("[DONE]") => return Ok(text),
                Some(data) => {
                    let chunk: Value = serde_json::from_str(data)?;
                    text += chunk["choices"][0]["delta"]["content"]
                        .as_str()
                        .unwrap_or_default();
                }
            }
        }
    }
    Err("the stream broke off".into())
}
