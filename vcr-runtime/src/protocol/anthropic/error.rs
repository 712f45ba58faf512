//! Errors: `{"type": "error", "error": {"type": …, "message": …}}`, as an HTTP body and as an event.

use crate::json::{Json, Object};
use crate::model::Boundary;

use super::words::RULES;

/// The usual form of an error that has none of its own.
pub(super) fn write(boundary: &Boundary) -> Json {
    let mut error = Object::new();
    error.push("type", boundary.error_type.as_str());
    error.push("message", boundary.message.as_str());
    let mut body = Object::new();
    body.push("type", "error");
    body.push("error", error);
    Json::Object(body)
}

/// An error with the message that the cassette tells, which a person may have edited.
pub(super) fn with_message(mut body: Json, boundary: &Boundary) -> Json {
    if RULES.error(None, &body).message == boundary.message {
        return body;
    }
    let Some(members) = body.as_object_mut() else {
        return write(boundary);
    };
    match members.get_mut("error") {
        Some(Json::Object(error)) => error.set("message", boundary.message.as_str()),
        Some(other) => *other = boundary.message.as_str().into(),
        None => members.set("message", boundary.message.as_str()),
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};
    use crate::model::BoundaryKind;

    #[test]
    fn every_shape_is_read() {
        for (text, error_type, message) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "overloaded_error",
                "Overloaded",
            ),
            (r#"{"error":"m"}"#, "error", "m"),
            (r#"{"message":"m","type":"t"}"#, "t", "m"),
            (r#""Bad Gateway""#, "error", "Bad Gateway"),
            ("{}", "error", "{}"),
        ] {
            let error = RULES.error(Some(529), &parse(text).unwrap());
            assert_eq!(
                (error.error_type.as_str(), error.message.as_str(), error.status),
                (error_type, message, Some(529))
            );
        }
    }

    #[test]
    fn an_edited_message_goes_where_the_old_one_was() {
        let boundary = Boundary {
            kind: BoundaryKind::Http,
            error_type: "t".to_owned(),
            message: "new".to_owned(),
            status: None,
            code: None,
        };
        for (body, edited) in [
            (
                r#"{"error":{"message":"m","x":1},"request_id":"r"}"#,
                r#"{"error":{"message":"new","x":1},"request_id":"r"}"#,
            ),
            (r#"{"error":"m"}"#, r#"{"error":"new"}"#),
            (r#"{"message":"m"}"#, r#"{"message":"new"}"#),
            (
                r#""m""#,
                r#"{"type":"error","error":{"type":"t","message":"new"}}"#,
            ),
        ] {
            assert_eq!(compact(&with_message(parse(body).unwrap(), &boundary)), edited);
        }
    }
}
