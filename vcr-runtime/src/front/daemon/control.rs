//! What a request says to the daemon, taken out of it before anything else looks at it.

use bytes::Bytes;
use http::HeaderMap;

use crate::front::gateway::Fault;
use crate::json::{Json, JsonError, Limits, Object, Parser, compact, parse};
use crate::protocol::{is_control, without_control};
use crate::session::control_headers;

use super::fault::malformed;

/// A request's control members, and its body with and without them.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) members: Object,
    /// As it came.
    body: Bytes,
    /// Whether control members stand in it.
    steers: bool,
    /// Whether some of them stand in its `metadata`.
    nested: bool,
    /// The model that a JSON body names.
    pub(super) model: Option<String>,
}

impl Control {
    /// Reads headers and body. Where they contradict each other the body's own members count most, then those of its
    /// `metadata`, then the headers. `is_json` says that the path takes nothing but JSON objects.
    ///
    /// # Errors
    /// The body is no JSON object although it has to be one.
    pub(super) fn read(headers: &HeaderMap, body: Bytes, is_json: bool) -> Result<Self, Fault> {
        let mut control = Self {
            members: control_headers(headers.iter().filter_map(|(name, value)| {
                Some((name.as_str(), std::str::from_utf8(value.as_bytes()).ok()?))
            })),
            body,
            steers: false,
            nested: false,
            model: None,
        };
        let told = std::str::from_utf8(&control.body)
            .map_err(|error| error.to_string())
            .and_then(|text| Told::of(text).map_err(|error| error.to_string()));
        match told {
            Ok(Some(told)) => control.take(told),
            Ok(None) if is_json => return Err(malformed("it is JSON, but no object")),
            Err(why) if is_json => return Err(malformed(&why)),
            // Bodies of paths that no protocol knows may be anything.
            Ok(None) | Err(_) => {}
        }
        Ok(control)
    }

    fn take(&mut self, told: Told) {
        let Told { own, metadata, model } = told;
        self.model = model;
        self.nested = !metadata.is_empty();
        self.steers = self.nested || !own.is_empty();
        for (name, value) in metadata.into_iter().chain(own) {
            self.put(name, value);
        }
    }

    /// The body to match by. Protocols leave control members out by themselves, so that one that `is_known` can read it as
    /// it came.
    pub(super) fn to_match(&self, is_known: bool) -> Bytes {
        if self.steers && (!is_known || self.nested) {
            self.rest().map_or_else(|| self.body.clone(), text)
        } else {
            self.body.clone()
        }
    }

    /// The body to pass on: without control members, and with another model where one is given.
    pub(super) fn into_forward(self, model: Option<&str>) -> Bytes {
        if model.is_none() && !self.steers {
            return self.body;
        }
        let Some(mut rest) = self.rest() else {
            return self.body;
        };
        if let Some(model) = model {
            rest.set("model", model);
        }
        text(rest)
    }

    /// The body without control members; `None` where it is no object.
    fn rest(&self) -> Option<Object> {
        let Ok(Json::Object(document)) = parse(unmarked(std::str::from_utf8(&self.body).ok()?)) else {
            return None;
        };
        let kept = document.into_iter().filter_map(|(name, value)| match value {
            _ if is_control(&name) => None,
            Json::Object(members)
                if name == "metadata" && members.iter().any(|(name, _)| is_control(name)) =>
            {
                without_control(members).map(|members| (name, members.into()))
            }
            value => Some((name, value)),
        });
        Some(kept.collect())
    }

    /// A member that counts more than what was there. The mode has two names.
    fn put(&mut self, name: String, value: Json) {
        if value.is_null() {
            return;
        }
        match &*name {
            "vcr" => self.members.remove("vcr_mode"),
            "vcr_mode" => self.members.remove("vcr"),
            _ => None,
        };
        self.members.set(name, value);
    }
}

/// What the body of a request says to the daemon. Everything else in it is passed over.
#[derive(Default)]
struct Told {
    /// Its own control members, and those of its metadata.
    own: Object,
    metadata: Object,
    model: Option<String>,
}

impl Told {
    /// `None` when the text is no object.
    fn of(text: &str) -> Result<Option<Self>, JsonError> {
        let text = unmarked(text);
        let mut parser = Parser::new(text, Limits::default());
        if parser.ahead() != Some(b'{') {
            parse(text)?;
            return Ok(None);
        }
        let mut told = Self::default();
        parser.members(|parser, name| {
            match &*name {
                "model" => told.model = parser.value()?.as_str().map(str::to_owned),
                "metadata" => {
                    if let Json::Object(members) = parser.value()? {
                        let control = members.into_iter().filter(|(name, _)| is_control(name));
                        told.metadata.0.extend(control);
                    }
                }
                control if is_control(control) => told.own.push(control, parser.value()?),
                _ => drop(parser.skip()?),
            }
            Ok::<(), JsonError>(())
        })?;
        parser.end()?;
        Ok(Some(told))
    }
}

/// A text without the mark of its encoding.
fn unmarked(text: &str) -> &str {
    text.trim_start_matches('\u{FEFF}')
}

fn text(document: Object) -> Bytes {
    compact(&Json::Object(document)).into()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn read(headers: &[(&'static str, &'static str)], body: &str) -> Control {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        Control::read(&headers, Bytes::from(body.to_owned()), true).unwrap()
    }

    fn members(control: &Control) -> String {
        compact(&Json::Object(control.members.clone()))
    }

    #[test]
    fn control_members_leave_the_body_and_the_rest_keeps_its_spelling() {
        let control = read(
            &[],
            r#"{ "model": "a/b", "vcr":"record", "temperature":1.50, "vcr_scenario":"s", "x":[1e3,{"vcr":1}], "vcr_tick":0 }"#,
        );
        assert_eq!(
            members(&control),
            r#"{"vcr":"record","vcr_scenario":"s","vcr_tick":0}"#
        );
        assert_eq!(control.model.as_deref(), Some("a/b"));
        let rest = br#"{"model":"a/b","temperature":1.50,"x":[1e3,{"vcr":1}]}"#;
        assert_eq!(&control.to_match(false)[..], rest);
        // A protocol that is known leaves them out by itself.
        assert!(control.to_match(true).starts_with(b"{ "));
        assert_eq!(&control.into_forward(None)[..], rest);
    }

    #[test]
    fn a_body_without_control_members_stays_as_it_is() {
        let body =
            "{ \"model\" : \"m\", \"messages\":[{\"content\":\"\\\"vcr\\\"\"}], \"metadata\":{\"a\":1} }";
        let control = read(&[], body);
        assert!(control.members.is_empty());
        assert_eq!(&control.to_match(false)[..], body.as_bytes());
        assert_eq!(&control.into_forward(None)[..], body.as_bytes());
    }

    #[test]
    fn the_body_counts_more_than_its_metadata_and_both_more_than_headers() {
        let control = read(
            &[
                ("x-vcr-mode", "live"),
                ("x-vcr-scenario", "h"),
                ("x-vcr-invoker", "h"),
                ("x-vcr-speed", "real"),
            ],
            r#"{"vcr":"replay","vcr_scenario":"b","vcr_speed":null,"metadata":{"vcr_scenario":"m","vcr_invoker":"m"}}"#,
        );
        assert_eq!(
            members(&control),
            r#"{"vcr_scenario":"b","vcr_invoker":"m","vcr_speed":"real","vcr":"replay"}"#
        );
        assert_eq!(&control.to_match(true)[..], b"{}");
        let both = read(&[], r#"{"metadata":{"user":"u","vcr":"new"}}"#);
        assert_eq!(members(&both), r#"{"vcr":"new"}"#);
        assert_eq!(&both.to_match(true)[..], br#"{"metadata":{"user":"u"}}"#);
    }

    #[test]
    fn only_paths_of_a_protocol_want_json() {
        let read = |is_json| Control::read(&HeaderMap::new(), Bytes::from_static(b"a=b"), is_json);
        assert_eq!(&read(false).unwrap().to_match(false)[..], b"a=b");
        let fault = read(true).unwrap_err();
        assert_eq!((fault.status.as_u16(), fault.code), (400, "vcr_malformed_json"));
        let list = Control::read(&HeaderMap::new(), Bytes::from_static(b"[]"), true);
        assert!(list.unwrap_err().message.contains("no object"));
    }

    #[test]
    fn another_model_takes_the_place_of_the_first() {
        for body in [
            r#"{"model":"p/m","n":1.0}"#,
            r#"{"model":"p/m","vcr":"live","n":1.0}"#,
        ] {
            let forwarded = read(&[], body).into_forward(Some("m"));
            assert_eq!(&forwarded[..], br#"{"model":"m","n":1.0}"#);
        }
    }
}
