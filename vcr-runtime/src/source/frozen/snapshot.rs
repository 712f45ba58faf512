//! What may be told of a file of frozen answers without telling an answer.

use std::path::Path;

use super::fixtures::Fixtures;
use super::neutral::{self, NoHash};
use crate::canon::hex;
use crate::config::{Ceilings, SourceName};
use crate::error::{Error, ErrorKind, Result};
use crate::json;
use crate::model::CanonicalRequest;
use crate::protocol::Providers;

/// The identity of a file of frozen answers, safe to print anywhere: it has neither an answer nor a path.
///
/// Two files with the same bytes have the same snapshot; any other byte changes
/// [`fixture_set_hash`](Self::fixture_set_hash).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrozenSnapshot {
    /// The version of the file's format.
    pub format_version: u32,
    /// `sha256:` and the 64 digits of the SHA-256 of the file's bytes.
    pub fixture_set_hash: String,
    /// How many distinct requests the file answers.
    pub entry_count: usize,
    /// How many answers it has in all.
    pub response_count: usize,
    /// The ceiling on entries.
    pub max_entries: usize,
    /// The ceiling on one answer, in bytes of compact JSON.
    pub max_result_bytes: usize,
}

impl FrozenSnapshot {
    pub(super) fn of(fixtures: &Fixtures, ceilings: &Ceilings) -> Self {
        Self {
            format_version: 1,
            fixture_set_hash: format!("sha256:{}", hex(&fixtures.set_hash)),
            entry_count: fixtures.len(),
            response_count: fixtures.responses,
            max_entries: ceilings.entries,
            max_result_bytes: ceilings.result,
        }
    }
}

/// Checks a file of frozen answers as a test with `source = "frozen:…"` would when it opens it, without replaying it.
///
/// `source` is what the test says, `frozen:answers.jsonl` with its ceilings; `directory` is the fixture directory.
///
/// ```
/// # fn main() -> vcr_runtime::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("vcr-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory).unwrap();
/// # let hash = "0".repeat(64);
/// # std::fs::write(directory.join("answers.jsonl"), format!(r#"{{"schema_version":1,"request_hash":"sha256:{hash}","response":{{"content":"frozen"}}}}"#)).unwrap();
/// let snapshot = vcr_runtime::probe_frozen(&directory, "frozen:answers.jsonl")?;
/// assert_eq!((snapshot.entry_count, snapshot.response_count), (1, 1));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ErrorKind::Config`] for a text that names no such source or raises a ceiling, [`ErrorKind::CassetteMissing`] when there
/// is no such file, [`ErrorKind::CassetteBroken`] for the first rule that it breaks, with its line.
pub fn probe_frozen(directory: impl AsRef<Path>, source: &str) -> Result<FrozenSnapshot> {
    let SourceName::Frozen { path, ceilings } = SourceName::read(source)? else {
        return Err(Error::new(
            ErrorKind::Config,
            format!("the source `{source}` is no file of frozen answers"),
            "name one as `frozen:PATH`",
        ));
    };
    let fixtures = Fixtures::open(directory.as_ref(), &path, ceilings)?;
    Ok(FrozenSnapshot::of(&fixtures, &ceilings))
}

/// The `request_hash` of a provider-neutral request: an object with `messages` in the shape of chat completions, and
/// `system`, `tools` and parameters beside them. `model` and `stream` make no difference.
///
/// ```
/// let request = serde_json::json!({"system": "bounded", "messages": [{"role": "user", "content": "hi"}]});
/// assert_eq!(
///     vcr_runtime::frozen_request_hash(&request)?,
///     "sha256:561f597adbd6f53ec1a67b57f47ce5fc5c1db8cff9dc6200726b971221ca8b72"
/// );
/// # Ok::<_, vcr_runtime::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Config`] when it is no such object or larger than 1,000,000 bytes.
pub fn frozen_request_hash(request: &serde_json::Value) -> Result<String> {
    let refuse = |why: &str| {
        Error::new(
            ErrorKind::Config,
            format!("the request has no hash: {why}"),
            "give an object with a list `messages`, at most 1,000,000 bytes long",
        )
    };
    let json::Json::Object(mut members) = json::from_value(request.clone()) else {
        return Err(refuse("it is no object"));
    };
    let Some(json::Json::Array(messages)) = members.remove("messages") else {
        return Err(refuse("it has no list `messages`"));
    };
    members.remove("model");
    let request = CanonicalRequest {
        protocol: "intercept".to_owned(),
        messages,
        parameters: members,
        ..CanonicalRequest::default()
    };
    let key = neutral::key(&request, &Providers::default(), Ceilings::default().request);
    key.map(|key| neutral::text(&key)).map_err(|why| {
        refuse(match why {
            NoHash::Repeated => "a member stands twice in it",
            NoHash::TooLarge => "it is too large",
        })
    })
}
