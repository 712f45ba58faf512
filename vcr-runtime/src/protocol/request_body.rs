//! What reading a JSON request body takes, whatever the protocol.

use crate::json::{Json, Object, parse};

use super::HttpRequest;

/// First in the parameters, there or not, as the cassette format has it.
pub(super) const LEADING: [&str; 3] = ["temperature", "max_tokens", "stream"];

/// The object that a `POST` to a path with that end carries; `None` when it is another request.
pub(super) fn posted(http: &HttpRequest<'_>, path_end: &str) -> Option<Object> {
    if http.method != "POST" || !http.path.ends_with(path_end) {
        return None;
    }
    let text = std::str::from_utf8(http.body).ok()?;
    match parse(text.trim_start_matches('\u{FEFF}')).ok()? {
        Json::Object(body) => Some(body),
        _ => None,
    }
}

/// The parameters of a request: what `take` gives back of the members, without those that steer this tool.
pub(super) fn parameters(body: Object, mut take: impl FnMut(&str, Json) -> Option<Json>) -> Object {
    let mut parameters = Object::new();
    for name in LEADING {
        parameters.push(name, Json::Null);
    }
    for (name, value) in body {
        let value = match (name.as_str(), value) {
            (control, _) if is_control(control) => continue,
            ("metadata", Json::Object(members)) => without_control(members).map(Json::Object),
            (_, value) => take(&name, value),
        };
        if let Some(value) = value {
            parameters.set(name, value);
        }
    }
    if parameters.get("stream").is_none_or(Json::is_null) {
        parameters.set("stream", false);
    }
    parameters
}

/// Appends the parameters that were stated to a body that is rebuilt.
#[cfg(test)]
pub(super) fn state(parameters: &Object, body: &mut Object) {
    for (name, value) in parameters.iter() {
        let implied = match (name.as_str(), value) {
            ("stream", Json::Bool(false)) => true,
            (name, Json::Null) => LEADING.contains(&name),
            _ => false,
        };
        if !implied {
            body.push(name.clone(), value.clone());
        }
    }
}

/// Members that steer this tool; no provider may see or be matched by them.
pub(crate) fn is_control(name: &str) -> bool {
    name == "vcr" || name.starts_with("vcr_")
}

/// `None` when nothing but control members was in there: without them the caller would not have sent the object.
pub(crate) fn without_control(metadata: Object) -> Option<Object> {
    let before = metadata.len();
    let kept: Object = metadata
        .into_iter()
        .filter(|(name, _)| !is_control(name))
        .collect();
    (before == 0 || !kept.is_empty()).then_some(kept)
}
