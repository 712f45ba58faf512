//! How much of a cassette a call takes, by the file's own text.

use serde_json::Value;

/// The members that hold the answer, not the request, its identity or the head.
pub(crate) const ANSWER: [&str; 6] = [
    "response_timeline",
    "exception_boundary",
    "usage",
    "template",
    "raw_payload",
    "note",
];

/// The bytes of each member of the only call in a cassette, as it stands in the file.
pub(crate) fn members(text: &str) -> Vec<(String, usize)> {
    // traces, the take, its members.
    const INDENT: &str = "      ";
    let mut found: Vec<(String, usize)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let Some(rest) = line.strip_prefix(INDENT) else {
            continue;
        };
        if let Some((name, _)) = rest.strip_prefix('"').and_then(|rest| rest.split_once("\":")) {
            found.push((name.to_owned(), 0));
        }
        if let Some((_, size)) = found.last_mut() {
            *size += line.len();
        }
    }
    found
}

/// The same without white space.
pub(crate) fn compact(call: &Value) -> Vec<(String, usize)> {
    let members = call.as_object().unwrap().iter();
    members
        // The name in quotes, a colon and a comma.
        .map(|(name, value)| (name.clone(), name.len() + 4 + value.to_string().len()))
        .collect()
}

/// The sum over those that hold the answer.
pub(crate) fn answer(members: &[(String, usize)]) -> usize {
    let own = members.iter().filter(|(name, _)| ANSWER.contains(&name.as_str()));
    own.map(|(_, size)| size).sum()
}
