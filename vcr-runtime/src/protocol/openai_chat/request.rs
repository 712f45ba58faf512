use crate::json::{Json, Object, parse};
use crate::model::CanonicalRequest;
use crate::protocol::HttpRequest;
use crate::protocol::request_body::{LEADING, is_control, without_control};

use super::chat::{NAME, PATH, PROVIDER};

/// Reads a chat completions request; `None` when it is something else.
pub(super) fn canonical(path: &str, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
    if http.method != "POST" || !http.path.ends_with(path) {
        return None;
    }
    let text = std::str::from_utf8(http.body).ok()?;
    let Json::Object(body) = parse(text.trim_start_matches('\u{FEFF}')).ok()? else {
        return None;
    };
    body.get("messages")?.as_array()?;

    let mut parameters = Object(Vec::with_capacity(LEADING.len() + body.len()));
    for name in LEADING {
        parameters.push(name, Json::Null);
    }
    let mut messages = Vec::new();
    let mut model = None;
    for (name, value) in body {
        match (name.as_str(), value) {
            ("messages", Json::Array(items)) => messages = items,
            ("model", Json::String(text)) => model = Some(text),
            ("metadata", Json::Object(members)) => {
                if let Some(members) = without_control(members) {
                    parameters.set(name, members);
                }
            }
            (control, _) if is_control(control) => {}
            (_, value) => parameters.set(name, value),
        }
    }
    if parameters.get("stream").is_none_or(Json::is_null) {
        parameters.set("stream", false);
    }
    Some(CanonicalRequest {
        protocol: NAME.to_owned(),
        model: model
            .filter(|model| !model.is_empty())
            .or_else(|| deployment(http.path))
            .unwrap_or_default(),
        provider: PROVIDER.to_owned(),
        messages,
        parameters,
    })
}

/// The body that [`canonical`] reads back to the same request.
#[cfg(test)]
pub(super) fn rebuild(request: &CanonicalRequest) -> Json {
    let mut body = Object::new();
    body.push("model", request.model.as_str());
    body.push("messages", request.messages.clone());
    for (name, value) in request.parameters.iter() {
        if !(LEADING.contains(&name.as_str()) && value.is_null()) {
            body.push(name.clone(), value.clone());
        }
    }
    Json::Object(body)
}

/// The model of Azure's paths, `/openai/deployments/<deployment>/chat/completions`.
fn deployment(path: &str) -> Option<String> {
    let (_, rest) = path.strip_suffix(PATH)?.rsplit_once("/deployments/")?;
    (!rest.is_empty() && !rest.contains('/')).then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;

    fn request(path: &str, body: &str) -> Option<CanonicalRequest> {
        canonical(
            PATH,
            &HttpRequest {
                method: "POST",
                path,
                query: "",
                body: body.as_bytes(),
            },
        )
    }

    #[test]
    fn three_parameters_lead_and_the_others_keep_their_order() {
        let body = r#"{"top_p":1.0,"stream":true,"model":"m","vcr":"record","messages":[{"role":"user","content":"x"}],
            "vcr_speed":"max","tools":[{"b":1,"a":2}],"temperature":0.70,"user":null}"#;
        let request = request("/v1/chat/completions", body).unwrap();
        assert_eq!(request.model, "m");
        assert!(request.stream());
        assert_eq!(
            compact(&Json::Object(request.parameters)),
            r#"{"temperature":0.70,"max_tokens":null,"stream":true,"top_p":1.0,"tools":[{"b":1,"a":2}],"user":null}"#
        );
        assert_eq!(
            compact(&Json::Array(request.messages)),
            r#"[{"role":"user","content":"x"}]"#
        );
    }

    #[test]
    fn a_request_is_rebuilt_to_the_same_request() {
        for body in [
            r#"{"model":"m","messages":[]}"#,
            r#"{"messages":[],"model":"m","stream":null,"max_tokens":5}"#,
            r#"{"model":"m","messages":[{"role":"system","content":[{"type":"text","text":"x"}]}],"stream":true,"n":2,
                "seed":12345678901234567890,"metadata":{"run":"1"},"stream_options":{"include_usage":true}}"#,
        ] {
            let first = request("/chat/completions", body).unwrap();
            let again = request("/chat/completions", &compact(&rebuild(&first))).unwrap();
            assert_eq!(first, again, "{body}");
        }
    }

    #[test]
    fn control_members_leave_the_metadata_too() {
        let parameters = |metadata: &str| {
            let body = format!(r#"{{"messages":[],"metadata":{metadata}}}"#);
            request("/chat/completions", &body).unwrap().parameters
        };
        assert_eq!(
            parameters(r#"{"vcr":"replay","vcr_scenario":"s"}"#).get("metadata"),
            None
        );
        let kept = parameters(r#"{"vcr":"replay","run":"1"}"#);
        assert_eq!(
            kept.get("metadata").map(compact).as_deref(),
            Some(r#"{"run":"1"}"#)
        );
        assert!(parameters("{}").get("metadata").is_some());
    }

    #[test]
    fn azure_deployments_name_the_model() {
        let path = "/openai/deployments/my-gpt/chat/completions";
        assert_eq!(request(path, r#"{"messages":[]}"#).unwrap().model, "my-gpt");
        assert_eq!(
            request(path, r#"{"messages":[],"model":"m"}"#).unwrap().model,
            "m"
        );
    }

    #[test]
    fn other_requests_are_not_ours() {
        for (path, body) in [
            ("/v1/responses", r#"{"messages":[]}"#),
            ("/v1/chat/completions", r#"{"prompt":"x"}"#),
            ("/v1/chat/completions", r#"{"messages":"x"}"#),
            ("/v1/chat/completions", "[]"),
            ("/v1/chat/completions", "{"),
            ("/v1/chat/completions", ""),
        ] {
            assert!(request(path, body).is_none(), "{path} {body}");
        }
        let get = HttpRequest {
            method: "GET",
            path: PATH,
            query: "",
            body: b"",
        };
        assert!(canonical(PATH, &get).is_none());
    }
}
