use crate::json::{Json, compact};
use crate::protocol::WireError;

use super::Rules;
use super::table::Paths;

/// What the parts of an error are called.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorRules {
    pub(super) at: Paths,
    pub(super) error_type: Paths,
    pub(super) message: Paths,
    pub(super) code: Paths,
    pub(super) status: Paths,
}

impl Rules {
    /// Reads whatever shape an error came in. `status` is the HTTP status, where it tells of the error.
    pub(crate) fn error(&self, status: Option<u16>, body: &Json) -> WireError {
        let rules = &self.error;
        let body = match body {
            // Google's endpoints wrap the body of a stream request in an array.
            Json::Array(items) if items.len() == 1 => &items[0],
            body => body,
        };
        let error = first(&rules.at, body).unwrap_or(body);
        WireError {
            error_type: found(&rules.error_type, error)
                .find_map(Json::as_str)
                .unwrap_or("error")
                .to_owned(),
            message: self.message(error),
            status: status.or_else(|| found(&rules.status, error).find_map(http_status)),
            code: match first(&rules.code, error) {
                Some(Json::String(code)) => Some(code.clone()),
                Some(Json::Number(code)) => Some(code.to_string()),
                _ => None,
            },
        }
    }

    fn message(&self, error: &Json) -> String {
        match (error, first(&self.error.message, error)) {
            (Json::String(text), _) | (_, Some(Json::String(text))) => text.clone(),
            (_, Some(other)) => compact(other),
            (_, None) => compact(error),
        }
    }
}

fn found<'v>(paths: &'v Paths, value: &'v Json) -> impl Iterator<Item = &'v Json> {
    let there = paths.iter().filter_map(|path| path.get(value));
    there.filter(|found| !found.is_null())
}

fn first<'v>(paths: &'v Paths, value: &'v Json) -> Option<&'v Json> {
    found(paths, value).next()
}

fn http_status(value: &Json) -> Option<u16> {
    let status = u16::try_from(value.as_u64()?).ok()?;
    (400..600).contains(&status).then_some(status)
}
