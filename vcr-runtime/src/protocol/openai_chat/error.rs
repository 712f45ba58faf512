//! The error shapes of the family: nested, flat, FastAPI's, plain text.

use crate::json::{Json, Object};
use crate::model::Boundary;

use super::words::RULES;

/// An error body with the message that the cassette tells, which a person may have edited.
pub(in crate::protocol) fn with_message(mut body: Json, boundary: &Boundary) -> Json {
    if RULES.error(None, &body).message == boundary.message {
        return body;
    }
    let error = match body.get("error") {
        Some(Json::Object(_)) => body.as_object_mut().and_then(|body| body.get_mut("error")),
        Some(Json::String(_)) => {
            if let Some(body) = body.as_object_mut() {
                body.set("error", boundary.message.as_str());
            }
            None
        }
        _ => Some(&mut body),
    };
    if let Some(error) = error.and_then(Json::as_object_mut) {
        let name = if error.get("detail").is_some() {
            "detail"
        } else {
            "message"
        };
        error.set(name, boundary.message.as_str());
    }
    body
}

/// The usual body for an error that has none.
pub(in crate::protocol) fn write(boundary: &Boundary) -> Json {
    let mut error = Object::new();
    error.push("message", boundary.message.as_str());
    error.push("type", boundary.error_type.as_str());
    error.push("param", Json::Null);
    error.push("code", boundary.code.as_deref());
    let mut body = Object::new();
    body.push("error", error);
    Json::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};
    use crate::model::BoundaryKind;

    fn told(text: &str) -> (String, String, Option<u16>, Option<String>) {
        let error = RULES.error(None, &parse(text).unwrap());
        (error.error_type, error.message, error.status, error.code)
    }

    fn expected(
        error_type: &str,
        message: &str,
        status: Option<u16>,
        code: Option<&str>,
    ) -> (String, String, Option<u16>, Option<String>) {
        (
            error_type.to_owned(),
            message.to_owned(),
            status,
            code.map(str::to_owned),
        )
    }

    #[test]
    fn every_shape_is_read() {
        assert_eq!(
            told(r#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#),
            expected("t", "m", None, Some("c"))
        );
        assert_eq!(
            told(r#"{"error":{"code":502,"message":"m"}}"#),
            expected("error", "m", Some(502), Some("502"))
        );
        assert_eq!(
            told(r#"{"error":{"message":"m","type":"t","code":"c","status_code":400}}"#),
            expected("t", "m", Some(400), Some("c"))
        );
        assert_eq!(
            told(r#"{"object":"error","message":"m","type":"t","code":"3051","raw_status_code":422}"#),
            expected("t", "m", Some(422), Some("3051"))
        );
        assert_eq!(
            told(r#"{"detail":[{"loc":["x"]}]}"#),
            expected("error", r#"[{"loc":["x"]}]"#, None, None)
        );
        assert_eq!(told(r#"{"detail":"m"}"#), expected("error", "m", None, None));
        assert_eq!(told(r#"{"error":"m"}"#), expected("error", "m", None, None));
        assert_eq!(
            told(r#""Bad Gateway""#),
            expected("error", "Bad Gateway", None, None)
        );
        assert_eq!(
            told(r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#),
            expected("RESOURCE_EXHAUSTED", "m", Some(429), Some("429"))
        );
        assert_eq!(told("{}"), expected("error", "{}", None, None));
        assert_eq!(told("null"), expected("error", "null", None, None));
    }

    #[test]
    fn an_edited_message_goes_where_the_old_one_was() {
        let boundary = Boundary {
            kind: BoundaryKind::Http,
            error_type: "t".to_owned(),
            message: "new".to_owned(),
            status: Some(400),
            code: None,
        };
        for (body, edited) in [
            (
                r#"{"error":{"message":"m","x":1}}"#,
                r#"{"error":{"message":"new","x":1}}"#,
            ),
            (r#"{"error":"m","x":1}"#, r#"{"error":"new","x":1}"#),
            (r#"{"message":"m"}"#, r#"{"message":"new"}"#),
            (r#"{"detail":[1]}"#, r#"{"detail":"new"}"#),
            (r#"{"error":{"message":"new"}}"#, r#"{"error":{"message":"new"}}"#),
        ] {
            assert_eq!(compact(&with_message(parse(body).unwrap(), &boundary)), edited);
        }
    }
}
