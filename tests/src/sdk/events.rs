/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event:` field.
    pub name: Option<String>,
    /// The joined `data:` lines.
    pub data: String,
}

/// The events of a body, by the rules of the HTML standard; an unfinished last one counts as well, as SDKs have it.
///
/// # Panics
/// When the body is not UTF-8.
#[must_use]
pub fn events(body: &[u8]) -> Vec<Event> {
    let text = std::str::from_utf8(body).expect("an event stream in UTF-8");
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let mut name = None;
    let mut data: Vec<&str> = Vec::new();
    for line in text.split('\n').chain([""]) {
        if line.is_empty() {
            if !data.is_empty() {
                events.push(Event {
                    name: name.take(),
                    data: data.join("\n"),
                });
            }
            name = None;
            data.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value),
            "event" => name = Some(value.to_owned()),
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_comments_and_continued_data() {
        let found =
            events(b"\xEF\xBB\xBF: hello\r\nevent: e\r\ndata:a\r\ndata: b\r\n\r\ndata: c\rid: 1\r\rdata");
        let event = |name: Option<&str>, data: &str| Event {
            name: name.map(str::to_owned),
            data: data.to_owned(),
        };
        assert_eq!(
            found,
            [event(Some("e"), "a\nb"), event(None, "c"), event(None, "")]
        );
    }
}
