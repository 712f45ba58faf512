//! Which headers travel.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers that concern one connection only (RFC 9110 7.6.1), and those that HTTP software treats so.
pub(in crate::front) fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// The names that `connection` headers declare to be hop-by-hop as well, in lower case.
pub(in crate::front) fn named_by_connection<'a>(values: impl Iterator<Item = &'a str>) -> Vec<String> {
    values
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty())
        .collect()
}

/// The caller's headers for the session, which go no further.
pub(super) fn control(headers: &HeaderMap) -> Vec<(String, String)> {
    pairs(headers, is_control)
}

fn is_control(name: &str) -> bool {
    name == "x-vcr" || name.starts_with("x-vcr-")
}

/// Headers as text, names in lower case.
pub(in crate::front) fn as_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    pairs(headers, |_| true)
}

fn pairs(headers: &HeaderMap, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| wanted(name.as_str()))
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect()
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// What goes on to the upstream of the caller's headers.
pub(super) fn for_upstream(headers: &HeaderMap) -> HeaderMap {
    let mut kept = end_to_end(headers, |name| {
        // The body was read whole and is sent with its own length; a 100 was given already.
        matches!(name, "host" | "content-length" | "accept-encoding" | "expect") || is_control(name)
    });
    // Said aloud: without the header a server may pick any coding it likes.
    kept.insert(
        http::header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    kept
}

/// What goes on to the caller of the upstream's headers. The length only where no body comes with it (HEAD); else the body
/// says how long it is.
pub(super) fn for_caller(headers: &HeaderMap, keep_length: bool) -> HeaderMap {
    end_to_end(headers, |name| name == "content-length" && !keep_length)
}

/// A recorded head as it is sent again. What cannot stand in a header is left out: the file may be edited by hand.
pub(super) fn from_recording(recorded: &[(String, String)]) -> HeaderMap {
    let named = named_by_connection(
        recorded
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
            .map(|(_, value)| value.as_str()),
    );
    let mut headers = HeaderMap::with_capacity(recorded.len());
    for (name, value) in recorded {
        let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(value.as_bytes()),
        ) else {
            continue;
        };
        // The body is plain and its framing is ours.
        let ours = matches!(name.as_str(), "content-length" | "content-encoding");
        if !ours && !is_hop_by_hop(name.as_str()) && !named.iter().any(|other| other == name.as_str()) {
            headers.append(name, value);
        }
    }
    headers
}

fn end_to_end(headers: &HeaderMap, drop: impl Fn(&str) -> bool) -> HeaderMap {
    let named = named_by_connection(
        headers
            .get_all(http::header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok()),
    );
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let plain = name.as_str();
        if !is_hop_by_hop(plain) && !named.iter().any(|other| other == plain) && !drop(plain) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_upstream_gets_the_callers_headers_but_for_those_of_the_connection() {
        let sent = for_upstream(&map(&[
            ("authorization", "Bearer k"),
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("host", "127.0.0.1:1"),
            ("content-length", "3"),
            ("accept-encoding", "gzip"),
            ("x-vcr-scenario", "s"),
            ("te", "trailers"),
            ("expect", "100-continue"),
        ]));
        assert_eq!(names(&sent), ["accept-encoding", "authorization"]);
        assert_eq!(sent["accept-encoding"], "identity");
    }

    #[test]
    fn the_length_travels_only_where_no_body_does() {
        let upstream = map(&[
            ("content-length", "3"),
            ("content-encoding", "br"),
            ("x-request-id", "r"),
        ]);
        assert_eq!(
            names(&for_caller(&upstream, false)),
            ["content-encoding", "x-request-id"]
        );
        let with_length = ["content-encoding", "content-length", "x-request-id"];
        assert_eq!(names(&for_caller(&upstream, true)), with_length);
    }

    #[test]
    fn a_recorded_head_loses_its_framing_and_what_is_no_header() {
        let recorded: Vec<_> = [
            ("Content-Type", "text/event-stream"),
            ("Connection", "x-hop"),
            ("x-hop", "1"),
            ("Transfer-Encoding", "chunked"),
            ("content-length", "99"),
            ("content-encoding", "gzip"),
            ("bad name", "1"),
            ("x-split", "a\r\nb: c"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let sent = from_recording(&recorded);
        assert_eq!(names(&sent), ["content-type", "set-cookie"]);
        assert_eq!(sent.get_all("set-cookie").iter().count(), 2);
    }
}
