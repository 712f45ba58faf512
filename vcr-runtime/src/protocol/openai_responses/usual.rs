//! What a response repeats: its request (tools and instructions, whole), and the API's own defaults. A cassette has the
//! request, and the defaults stand here, so a template in a file keeps of a response what neither of them tells:
//!
//! ```json
//! {"$usual": 1, "id": "resp_1", "created_at": 1778037177, "model": "gpt-5.5-2026-04-23",
//!  "tools": [{"$asked": {"strict": true}}, "$asked"], "$without": ["moderation"]}
//! ```
//!
//! `$usual` is the number of the table of defaults, `$without` are members that the table has and the response has not.
//! Among the tools, `$asked` is the tool of the request at the same place, with what the server changed in it.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::json::{Json, Object, compact, parse};
use crate::model::RecordedRequest;

use super::request::instructions;
use super::skeleton::{WITHOUT, patched};
use super::template::Origin;

const MARK: &str = "$usual";
const ASKED: &str = "$asked";
const TOOLS: &str = "tools";

/// Files name the table that they were written by: one with other values needs another number, and both must be kept.
const TABLE: u64 = 1;
const DEFAULTS: [(&str, &str); 30] = [
    ("object", r#""response""#),
    ("status", r#""completed""#),
    ("background", "false"),
    ("error", "null"),
    ("frequency_penalty", "0.0"),
    ("incomplete_details", "null"),
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("max_tool_calls", "null"),
    ("metadata", "{}"),
    ("model", "null"),
    ("moderation", "null"),
    ("output", r#""$items""#),
    ("parallel_tool_calls", "true"),
    ("presence_penalty", "0.0"),
    ("previous_response_id", "null"),
    ("prompt_cache_key", "null"),
    ("prompt_cache_retention", "null"),
    ("reasoning", r#"{"effort":null,"summary":null}"#),
    ("safety_identifier", "null"),
    ("service_tier", r#""default""#),
    ("store", "true"),
    ("temperature", "1.0"),
    ("text", r#"{"format":{"type":"text"},"verbosity":"medium"}"#),
    ("tool_choice", r#""auto""#),
    (TOOLS, "[]"),
    ("top_logprobs", "0"),
    ("top_p", "1.0"),
    ("truncation", r#""disabled""#),
    ("user", "null"),
];
const USAGE: (&str, &str) = ("usage", "$usage");

static USUAL: LazyLock<Object> = LazyLock::new(|| {
    let defaults = DEFAULTS.iter();
    let mut usual: Object = defaults
        .map(|(name, text)| ((*name).to_owned(), parse(text).unwrap_or_default()))
        .collect();
    usual.push(USAGE.0, USAGE.1);
    usual
});

/// The response that the request leads one to expect.
fn usual(request: &RecordedRequest) -> Object {
    let mut usual = USUAL.clone();
    for (name, value) in request.parameters.iter().flat_map(Object::iter) {
        if usual.get(name).is_some() && !value.is_null() {
            usual.set(name.clone(), value.clone());
        }
    }
    if let Some(model) = &request.model {
        usual.set("model", model.as_str());
    }
    if let Some(text) = request.messages.as_deref().and_then(instructions) {
        usual.set("instructions", text);
    }
    usual
}

/// The template as files have it.
pub(super) fn lean(mut template: Json, request: &RecordedRequest) -> Json {
    if let Some(response) = response_mut(&mut template) {
        let usual = usual(request);
        let mut rest = Object(vec![(MARK.to_owned(), TABLE.into())]);
        rest.0.extend(diff(&usual, response).0);
        if let (Some(asked), Some(told)) = (usual.get(TOOLS), rest.get(TOOLS)) {
            let tools = lean_tools(asked, told);
            rest.set(TOOLS, tools);
        }
        // A server that knows few of these members is shorter in full.
        let rest = Json::Object(rest);
        if compact(&rest).len() < compact(&Json::Object(response.clone())).len()
            && let Json::Object(rest) = rest
        {
            *response = rest;
        }
    }
    template
}

/// What [`lean`] made it of. A template of a file that keeps all of the response is whole already.
pub(super) fn whole<'t>(template: &'t Json, request: &RecordedRequest) -> Cow<'t, Json> {
    let mut filled = template.clone();
    let Some(response) = response_mut(&mut filled) else {
        return Cow::Borrowed(template);
    };
    if response.get(MARK).and_then(Json::as_u64) != Some(TABLE) {
        return Cow::Borrowed(template);
    }
    response.remove(MARK);
    let usual = usual(request);
    if let (Some(asked), Some(told)) = (usual.get(TOOLS), response.get(TOOLS)) {
        let tools = whole_tools(asked, told);
        response.set(TOOLS, tools);
    }
    let patch = Json::Object(std::mem::take(response));
    if let Json::Object(whole) = patched(&Json::Object(usual), Some(&patch)) {
        *response = whole;
    }
    Cow::Owned(filled)
}

fn response_mut(template: &mut Json) -> Option<&mut Object> {
    match Origin::of(Some(&*template)) {
        Origin::Stream => template.as_object_mut()?.get_mut("response")?.as_object_mut(),
        Origin::Unary => template.as_object_mut(),
        Origin::Nowhere => None,
    }
}

fn lean_tools(asked: &Json, told: &Json) -> Json {
    let (Json::Array(asked), Json::Array(tools)) = (asked, told) else {
        return told.clone();
    };
    let lean = tools.iter().enumerate().map(|(at, tool)| {
        let (Some(asked), Some(own)) = (asked.get(at).and_then(Json::as_object), tool.as_object()) else {
            return tool.clone();
        };
        let patch = diff(asked, own);
        if patch.is_empty() {
            return ASKED.into();
        }
        Object(vec![(ASKED.to_owned(), patch.into())]).into()
    });
    Json::Array(lean.collect())
}

fn whole_tools(asked: &Json, told: &Json) -> Json {
    let Json::Array(tools) = told else {
        return told.clone();
    };
    let whole = tools.iter().enumerate().map(|(at, tool)| {
        let is_asked = tool.as_str() == Some(ASKED);
        match (asked.at(at), is_asked, tool.get(ASKED)) {
            (Some(asked), true, _) => asked.clone(),
            (Some(asked), false, Some(patch)) => patched(asked, Some(patch)),
            _ => tool.clone(),
        }
    });
    Json::Array(whole.collect())
}

/// The patch that makes `target` of `base`, whatever the order of members.
fn diff(base: &Object, target: &Object) -> Object {
    let differs = |name: &str, value: &Json| base.get(name).is_none_or(|base| !same(base, value));
    let mut patch: Object = target
        .iter()
        .filter(|(name, value)| differs(name, value))
        .cloned()
        .collect();
    let gone = base.iter().filter(|(name, _)| target.get(name).is_none());
    let gone: Vec<Json> = gone.map(|(name, _)| name.as_str().into()).collect();
    if !gone.is_empty() {
        patch.push(WITHOUT, gone);
    }
    patch
}

/// Equal but for the order of members. Numbers are equal when they are spelt the same: clients see the difference
/// between `1` and `1.0`.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            let has = |(name, value): &(String, Json)| b.get(name).is_some_and(|other| same(value, other));
            a.len() == b.len() && a.iter().all(has)
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> RecordedRequest {
        let document = parse(text).unwrap();
        RecordedRequest {
            model: document.get("model").and_then(Json::as_str).map(str::to_owned),
            messages: document
                .get("messages")
                .and_then(Json::as_array)
                .map(<[Json]>::to_vec),
            parameters: document.get("parameters").and_then(Json::as_object).cloned(),
            ..RecordedRequest::default()
        }
    }

    #[test]
    fn the_table_is_json() {
        for (name, text) in DEFAULTS {
            assert_eq!(compact(&parse(text).unwrap()), text, "{name}");
        }
    }

    #[test]
    fn only_what_neither_request_nor_default_tells_is_kept() {
        let all = compact(&Json::Object(USUAL.clone()));
        let asked = r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],
            "parameters":{"temperature":0.70,"stream":true,"reasoning":null,"tools":[{"type":"function","name":"f","parameters":{"a":1,"b":2}},{"type":"x"}]}}"#;
        let tools = r#"[{"name":"f","parameters":{"b":2,"a":1},"type":"function","strict":true},{"type":"x"},{"type":"y"}]"#;
        let echo = all
            .replace(r#""instructions":null"#, r#""instructions":"Be brief.""#)
            .replace(r#""temperature":1.0"#, r#""temperature":0.70"#)
            .replace(r#""model":null"#, r#""model":"m-2026""#)
            .replace(r#""tools":[]"#, &format!(r#""tools":{tools}"#))
            .replace(r#""moderation":null,"#, "")
            .replace(r#""top_p":1.0"#, r#""top_p":1"#);
        for (asked, response, kept) in [
            ("{}", all.as_str(), r#"{"$usual":1}"#),
            (
                asked,
                echo.as_str(),
                r#"{"$usual":1,"model":"m-2026","tools":[{"$asked":{"strict":true}},"$asked",{"type":"y"}],"top_p":1,"$without":["moderation"]}"#,
            ),
            // A request that a person has changed still fills what it can.
            ("{}", r#"{"id":"r"}"#, r#"{"id":"r"}"#),
        ] {
            let request = request(asked);
            for (template, lean_form) in [
                (
                    format!(r#"{{"response":{response},"items":[]}}"#),
                    format!(r#"{{"response":{kept},"items":[]}}"#),
                ),
                (
                    response.replace(r#""$items""#, "[3]"),
                    kept.replace(r#""$usual":1"#, r#""$usual":1,"output":[3]"#),
                ),
            ] {
                let template = parse(&template).unwrap();
                if Origin::of(Some(&template)) == Origin::Nowhere {
                    continue;
                }
                let found = lean(template.clone(), &request);
                let expected = parse(&lean_form).unwrap();
                assert!(same(&found, &expected), "{} for {lean_form}", compact(&found));
                let again = whole(&found, &request);
                assert!(same(&again, &template), "{}", compact(&again));
            }
        }
    }

    #[test]
    fn a_template_that_keeps_all_is_whole() {
        for text in [
            r#"{"response":{"id":"r","status":"completed"},"items":[]}"#,
            r#"{"id":"r","output":[]}"#,
            r#"{"error":{"message":"m"}}"#,
            // Of a later version.
            r#"{"response":{"$usual":2,"id":"r"}}"#,
            "7",
        ] {
            let template = parse(text).unwrap();
            assert_eq!(*whole(&template, &RecordedRequest::default()), template);
        }
    }
}
