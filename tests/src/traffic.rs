//! Real recordings of providers, served again to the product. They lie outside the repository, because others own them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sdk::Sdk;
use crate::upstream::Reply;

/// Names the folder, and makes it an error when it is not there.
pub const VARIABLE: &str = "VCR_REAL_TRAFFIC";

/// One recorded request with its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The provider's folder.
    pub folder: String,
    /// The file's stem.
    pub file: String,
    /// Its place in the file.
    pub index: usize,
    /// Such as `POST`.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Without `?`.
    pub query: String,
    /// The request's body.
    pub request: Vec<u8>,
    /// The answer's status.
    pub status: u16,
    /// Those headers of the answer that are not about its transport.
    pub headers: Vec<(String, String)>,
    /// The answer's body.
    pub body: Vec<u8>,
}

impl Exchange {
    /// For people, and unique.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}#{}", self.folder, self.file, self.index)
    }

    /// Whose SDK reads the answer, by its path and not by its folder.
    ///
    /// # Panics
    /// When no SDK has such a path.
    #[must_use]
    pub fn sdk(&self) -> Sdk {
        self.route().0
    }

    /// The path of the base that a client is configured with; the rest of the path is its own.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.path[..self.route().1]
    }

    fn route(&self) -> (Sdk, usize) {
        Sdk::of(&self.path).unwrap_or_else(|| panic!("{}: no SDK asks for {}", self.name(), self.path))
    }

    /// Whether the body comes in pieces; an error for a stream request does not.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        const STREAMS: [&str; 3] = [
            "text/event-stream",
            "application/x-ndjson",
            "application/vnd.amazon.eventstream",
        ];
        self.status == 200 && STREAMS.iter().any(|kind| self.content_type().starts_with(kind))
    }

    /// What an SDK makes of the recorded answer.
    #[must_use]
    pub fn answer(&self) -> Value {
        self.sdk().read(self.content_type(), &self.body)
    }

    /// The content type of the answer.
    #[must_use]
    pub fn content_type(&self) -> &str {
        let found = self.headers.iter().find(|(name, _)| name == "content-type");
        found.map_or("application/json", |(_, value)| value.as_str())
    }

    /// The answer for a scripted upstream.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let mut reply = Reply::new(self.status, "", self.body.clone());
        reply.headers.clone_from(&self.headers);
        if self.is_stream() {
            reply.length = crate::upstream::Length::Chunked;
        }
        reply
    }
}

/// Where the recordings are; `None` with a note on stderr where they are not at hand.
///
/// # Panics
/// When the variable is set but names no folder.
#[must_use]
pub fn root() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let required = named.is_some();
    let root = named
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/real-traffic")));
    if root.is_dir() {
        return Some(root);
    }
    let shown = root.display();
    assert!(!required, "{VARIABLE} names {shown}, which is no folder");
    eprintln!("skipped: no real recordings at {shown}; {VARIABLE} names their folder");
    None
}

/// The folders, one a provider.
pub const FOLDERS: [&str; 13] = [
    "anthropic",
    "azure",
    "bedrock",
    "deepseek",
    "gemini",
    "groq",
    "llamacpp",
    "mistral",
    "ollama",
    "openai-chat",
    "openai-responses",
    "openrouter",
    "vllm",
];

/// Every exchange of these folders, or `None` where the recordings are not at hand.
///
/// # Panics
/// When a recording cannot be read, and when the variable is set but names no folder.
#[must_use]
pub fn load(folders: &[&str]) -> Option<Vec<Exchange>> {
    let root = root()?;
    let exchanges = folders.iter().flat_map(|folder| {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
            .unwrap_or_else(|error| panic!("{folder} in {}: {error}", root.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{folder} is empty");
        files.into_iter().flat_map(|file| read(folder, &file))
    });
    Some(exchanges.collect())
}

fn read(folder: &str, file: &Path) -> Vec<Exchange> {
    let name = file.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (stem, kind) = name.split_once('.').unwrap();
    let bare = |content_type: &str, body: String| Exchange {
        body: body.into_bytes(),
        headers: vec![("content-type".to_owned(), content_type.to_owned())],
        ..bare(folder, stem)
    };
    match kind {
        "exchanges.json" => exchanges(folder, stem, &text),
        "chunks.jsonl" => {
            vec![bare("text/event-stream", events(folder, &text))]
        }
        "sse" => vec![bare("text/event-stream", text)],
        "ndjson" => vec![bare("application/x-ndjson", text)],
        "json" => vec![bare("application/json", text)],
        _ => panic!("{} is of no known format", file.display()),
    }
}

/// The stream whose payloads these lines are, framed as that provider does it.
fn events(folder: &str, text: &str) -> String {
    let lines = text.lines().filter(|line| !line.is_empty());
    if folder == "openai-responses" {
        let event = |line: &str| {
            let payload: Value = serde_json::from_str(line).unwrap();
            format!("event: {}\ndata: {line}\n\n", payload["type"].as_str().unwrap())
        };
        return lines.map(event).collect();
    }
    let events = lines.map(|line| format!("data: {line}\n\n"));
    events.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// An exchange whose request was not kept.
fn bare(folder: &str, stem: &str) -> Exchange {
    Exchange {
        folder: folder.to_owned(),
        file: stem.to_owned(),
        index: 0,
        method: "POST".to_owned(),
        path: match folder {
            "azure" => "/openai/deployments/router/chat/completions",
            "openai-responses" => "/v1/responses",
            "ollama" => "/api/chat",
            _ => "/v1/chat/completions",
        }
        .to_owned(),
        query: if folder == "azure" {
            "api-version=2024-10-21"
        } else {
            ""
        }
        .to_owned(),
        request: br#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#.to_vec(),
        status: 200,
        headers: Vec::new(),
        body: Vec::new(),
    }
}

fn exchanges(folder: &str, stem: &str, text: &str) -> Vec<Exchange> {
    let document: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{folder}/{stem}: {error}"));
    let list = document["exchanges"].as_array().expect("exchanges");
    let read = |(index, exchange): (usize, &Value)| {
        let (request, response) = (&exchange["request"], &exchange["response"]);
        let (path, query) = target(request);
        let mut headers = headers(response);
        if !headers.iter().any(|(name, _)| name == "content-type") {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        Exchange {
            index,
            method: request["method"].as_str().unwrap_or("POST").to_owned(),
            path,
            query,
            request: body(request),
            status: response["status"]
                .as_u64()
                .and_then(|status| u16::try_from(status).ok())
                .expect("a status"),
            headers,
            body: body(response),
            ..bare(folder, stem)
        }
    };
    list.iter().enumerate().map(read).collect()
}

fn target(request: &Value) -> (String, String) {
    if let Some(path) = request["path"].as_str() {
        let pairs = request["query"].as_array().map_or(&[][..], Vec::as_slice);
        let pairs = pairs.iter().map(|pair| {
            let word = |at: usize| pair[at].as_str().unwrap_or_default().replace(['[', ']', ' '], "");
            format!("{}={}", word(0), word(1))
        });
        return (path.to_owned(), pairs.collect::<Vec<_>>().join("&"));
    }
    let url = request["url"].as_str().expect("a path or a url");
    let rest = url.split_once("://").expect("a whole url").1;
    let target = rest.find('/').map_or("/", |at| &rest[at..]);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (path.to_owned(), query.to_owned())
}

fn headers(response: &Value) -> Vec<(String, String)> {
    const TRANSPORT: [&str; 6] = [
        "connection",
        "content-encoding",
        "content-length",
        "keep-alive",
        "transfer-encoding",
        "trailer",
    ];
    let pairs = response["headers"].as_array().map_or(&[][..], Vec::as_slice);
    pairs
        .iter()
        .map(|pair| {
            (
                pair[0].as_str().unwrap().to_ascii_lowercase(),
                pair[1].as_str().unwrap().to_owned(),
            )
        })
        .filter(|(name, _)| !TRANSPORT.contains(&name.as_str()))
        .collect()
}

fn body(side: &Value) -> Vec<u8> {
    if let Some(text) = side["body_text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = side["body_base64"].as_str() {
        return base64(text);
    }
    match &side["body_json"] {
        Value::Null => Vec::new(),
        value => value.to_string().into_bytes(),
    }
}

fn base64(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => panic!("{byte:#x} is no base64"),
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xFF).unwrap());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        assert_eq!(base64("TWFu"), b"Man");
        assert_eq!(base64("TWE="), b"Ma");
        assert_eq!(base64("+/8="), [0xFB, 0xFF]);
    }

    #[test]
    fn a_url_and_a_path_give_the_same_parts() {
        let url = serde_json::json!({"url": "https://host/a/b?x=1"});
        let path = serde_json::json!({"path": "/a/b", "query": [["x", "1"]]});
        assert_eq!(target(&url), target(&path));
    }

    #[test]
    fn every_recording_loads() {
        let Some(all) = load(&FOLDERS) else { return };
        assert!(all.len() >= 60, "{} exchanges", all.len());
        for exchange in &all {
            assert!(
                exchange.path.starts_with('/'),
                "{}: {}",
                exchange.name(),
                exchange.path
            );
            assert!(!exchange.body.is_empty(), "{}", exchange.name());
            assert!(!exchange.request.is_empty(), "{}", exchange.name());
        }
    }
}
