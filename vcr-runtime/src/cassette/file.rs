//! Opening a cassette. Only the take that is played is built; the others are passed over.

use std::path::Path;

use super::decode::{Stored, take_of};
use super::fault::{Fault, Read, Segment, Wrong};
use super::version::{CURRENT, Compatibility, FormatVersion};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, JsonError, Limits, Parser};
use crate::model::Take;

/// Larger files are refused before they are read: no cassette that people review comes near.
const MAX_BYTES: u64 = 1 << 30;

/// Which take to play.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chosen<'a> {
    /// `latest_trace_id`.
    Latest,
    /// A pinned trace id.
    Pinned(&'a str),
}

/// A cassette opened for replay.
#[derive(Debug)]
pub(crate) struct Cassette {
    pub(crate) take: Take,
}

/// The head of a file and the text of each take.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    pub(super) version: Option<FormatVersion>,
    pub(super) test: Option<String>,
    pub(super) latest: Option<String>,
    pub(super) history: Vec<String>,
    pub(super) takes: Vec<(String, &'a str)>,
    /// The take to play, where it was known on the way which one that is.
    built: Option<Take>,
    /// Members that this version does not know, to be written back.
    pub(super) others: Vec<(String, Json)>,
}

impl Cassette {
    /// Reads the file and builds the chosen take.
    ///
    /// # Errors
    /// `CassetteMissing`, `CassetteBroken` (with line, column and path in the document), `CassetteVersion`,
    /// `TakeMissing`, `Io`.
    pub(crate) fn open(path: &Path, chosen: Chosen<'_>) -> Result<Self> {
        let text = read(path)?;
        Self::from_text(path, &text, chosen)
    }

    pub(crate) fn from_text(path: &Path, text: &str, chosen: Chosen<'_>) -> Result<Self> {
        let mut outline = outline(path, text, Some(chosen))?;
        let id = match chosen {
            Chosen::Pinned(id) => id.to_owned(),
            Chosen::Latest => outline.latest.clone().ok_or_else(|| {
                broken(
                    path,
                    "the member `latest_trace_id` is missing, so nothing says which take to play",
                )
            })?,
        };
        let position = outline.takes.iter().position(|(key, _)| *key == id);
        let Some(position) = position else {
            let known: Vec<&str> = outline.takes.iter().map(|(key, _)| key.as_str()).collect();
            return Err(Error::new(
                ErrorKind::TakeMissing,
                format!("{} has no take `{id}`", path.display()),
                if known.is_empty() {
                    "the cassette is empty: record it with VCR_MODE=record".to_owned()
                } else {
                    format!(
                        "it has {}; correct the pin or record the take again",
                        known.join(", ")
                    )
                },
            )
            .at(path));
        };
        let take = match outline.built.take() {
            Some(take) => take,
            None => stored(path, text, &id, outline.takes[position].1)?.take,
        };
        Ok(Self { take })
    }
}

/// Builds a take from its `part` of the file's text.
pub(super) fn stored(path: &Path, text: &str, id: &str, part: &str) -> Result<Stored> {
    take_of(id, &mut parser(part)).map_err(|fault| match fault.below(id).below("traces") {
        Fault::Syntax(error) => syntax(path, &error),
        Fault::Wrong(wrong) => misfit(path, text, wrong),
    })
}

/// Whether a cassette has a take of that id; a file that is not there has none.
pub(crate) fn holds(path: &Path, trace_id: &str) -> Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    let text = read(path)?;
    Ok(outline(path, &text, None)?
        .takes
        .iter()
        .any(|(id, _)| id == trace_id))
}

/// The test that recorded a cassette; `None` when there is no file or it does not say.
pub(crate) fn owner(path: &Path) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(None);
    }
    let text = read(path)?;
    Ok(outline(path, &text, None)?.test)
}

pub(super) fn parser(text: &str) -> Parser<'_> {
    Parser::new(
        text,
        Limits {
            depth: 256,
            nodes: 50_000_000,
            unique_keys: false,
            finite_numbers: false,
        },
    )
}

/// Reads the whole file as UTF-8.
pub(super) fn read(path: &Path) -> Result<String> {
    let length = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => return Err(broken(path, "this is not a regular file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing(path)),
        Err(error) => return Err(Error::io("open the cassette", path, &error)),
    };
    if length > MAX_BYTES {
        return Err(broken(path, "the file is larger than 1 GiB"));
    }
    let bytes = std::fs::read(path).map_err(|error| Error::io("read the cassette", path, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        broken(path, &format!("line {line} is not valid UTF-8")).at_line(line, 1)
    })
}

pub(super) fn missing(path: &Path) -> Error {
    let directory_exists = path.parent().is_some_and(Path::is_dir);
    let mut message = format!("there is no cassette {}", path.display());
    if !directory_exists {
        message.push_str(" (nor its directory: a test binary that was moved needs its fixtures moved along)");
    }
    Error::new(
        ErrorKind::CassetteMissing,
        message,
        "record it once with `VCR_MODE=record cargo test` and a key",
    )
    .at(path)
}

/// Walks the file: its head is read, takes are skipped unless `chosen` says to build them on the way.
pub(super) fn outline<'a>(path: &Path, text: &'a str, chosen: Option<Chosen<'_>>) -> Result<Outline<'a>> {
    let mut outline = Outline::default();
    let mut parser = parser(text);
    let walked = parser.members(|parser, key| {
        match &*key {
            "format_version" => {
                let member = parser.value()?;
                let version = FormatVersion::from_json(Some(&member));
                outline.version =
                    Some(version.ok_or_else(|| parser.error("expected a version such as 1 or \"1.2\""))?);
            }
            "test" => outline.test = text_or_null(parser)?,
            "latest_trace_id" => outline.latest = text_or_null(parser)?,
            "history_keys" => parser.items(|parser, _| {
                if let Json::String(id) = parser.value()? {
                    outline.history.push(id);
                }
                Read::Ok(())
            })?,
            "traces" => {
                let wanted = match chosen {
                    Some(Chosen::Pinned(id)) => Some(id.to_owned()),
                    Some(Chosen::Latest) => outline.latest.clone(),
                    None => None,
                };
                parser.members(|parser, id| {
                    if outline.takes.iter().any(|(known, _)| *known == id) {
                        return Err(parser.error("two takes have the same trace id").into());
                    }
                    parser.ahead();
                    let start = parser.position();
                    if wanted.as_deref() == Some(&*id) {
                        outline.built = Some(take_of(&id, parser)?.take);
                    } else {
                        parser.skip()?;
                    }
                    let part = &text[start..parser.position()];
                    outline.takes.push((id.into_owned(), part));
                    Read::Ok(())
                })?;
            }
            _ => {
                let value = parser.value()?;
                outline.others.push((key.into_owned(), value));
            }
        }
        Ok(())
    });
    match walked.and_then(|()| Ok(parser.end()?)) {
        Ok(()) => {}
        Err(Fault::Syntax(error)) => return Err(syntax(path, &error)),
        Err(Fault::Wrong(wrong)) => {
            // A syntax error further on, or another version, is the better reason.
            self::outline(path, text, None)?;
            return Err(misfit(path, text, wrong));
        }
    }
    check_version(path, outline.version.unwrap_or(CURRENT))?;
    Ok(outline)
}

fn text_or_null(parser: &mut Parser<'_>) -> std::result::Result<Option<String>, JsonError> {
    match parser.value()? {
        Json::String(text) => Ok(Some(text)),
        Json::Null => Ok(None),
        _ => Err(parser.error("expected a string before here")),
    }
}

fn check_version(path: &Path, version: FormatVersion) -> Result<()> {
    if version.compatibility() != Compatibility::None {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::CassetteVersion,
        format!(
            "{} has cassette format {version}, this build of vcr-runtime {} reads format {}.x",
            path.display(),
            env!("CARGO_PKG_VERSION"),
            CURRENT.major
        ),
        "use the vcr-runtime that wrote it, or record it again with VCR_MODE=record",
    )
    .at(path))
}

pub(super) fn broken(path: &Path, message: &str) -> Error {
    Error::new(
        ErrorKind::CassetteBroken,
        format!("{} is no readable cassette: {message}", path.display()),
        "restore it from version control, or delete it and record it again with VCR_MODE=record",
    )
    .at(path)
}

pub(super) fn syntax(path: &Path, error: &JsonError) -> Error {
    broken(path, &error.to_string()).at_line(error.line, error.column)
}

pub(super) fn misfit(path: &Path, text: &str, wrong: Wrong) -> Error {
    let place = wrong.path_text();
    match locate(text, &wrong.path) {
        Some((line, column)) => broken(
            path,
            &format!("{} in `{place}` at line {line} column {column}", wrong.message),
        )
        .at_line(line, column),
        None => broken(path, &format!("{} in `{place}`", wrong.message)),
    }
}

/// Line and column of the value at a path (innermost segment first).
fn locate(text: &str, path: &[Segment]) -> Option<(usize, usize)> {
    fn descend(
        parser: &mut Parser<'_>,
        path: &[Segment],
        found: &mut Option<JsonError>,
    ) -> Result<(), JsonError> {
        let Some((segment, rest)) = path.split_last() else {
            parser.ahead();
            found.get_or_insert(parser.error(""));
            return parser.skip().map(drop);
        };
        match segment {
            Segment::Key(wanted) => parser.members(|parser, key| {
                if key == *wanted {
                    descend(parser, rest, found)
                } else {
                    parser.skip().map(drop)
                }
            }),
            Segment::Index(wanted) => parser.items(|parser, index| {
                if index == *wanted {
                    descend(parser, rest, found)
                } else {
                    parser.skip().map(drop)
                }
            }),
        }
    }
    let mut found = None;
    // Whatever is wrong further on does not matter here.
    let _ = descend(&mut parser(text), path, &mut found);
    found.map(|error| (error.line, error.column))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str, chosen: Chosen<'_>) -> Result<Cassette> {
        Cassette::from_text(Path::new("f.json"), text, chosen)
    }

    const TWO: &str = r#"{"scenario":"s","latest_trace_id":"b","history_keys":["a","b"],
 "traces":{"a":{"calls":[]},"b":{"calls":[{"usage":{"prompt_tokens":1}}]}}}"#;

    #[test]
    fn the_latest_take_is_played_unless_one_is_pinned() {
        assert_eq!(open(TWO, Chosen::Latest).unwrap().take.calls.len(), 1);
        assert_eq!(open(TWO, Chosen::Pinned("a")).unwrap().take.calls.len(), 0);
        let error = open(TWO, Chosen::Pinned("c")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TakeMissing);
        assert_eq!(
            error.to_string(),
            "f.json has no take `c`; it has a, b; correct the pin or record the take again"
        );
    }

    #[test]
    fn the_order_of_the_head_does_not_matter() {
        let text = r#"{"traces":{"a":{"calls":[]}},"latest_trace_id":"a"}"#;
        assert_eq!(open(text, Chosen::Latest).unwrap().take.trace_id, "a");
    }

    #[test]
    fn broken_files_say_where_and_what_to_do() {
        let advice = "restore it from version control, or delete it and record it again with VCR_MODE=record";
        for (text, message) in [
            (
                "",
                "f.json is no readable cassette: the document is empty at line 1 column 1",
            ),
            (
                &TWO[..90],
                "f.json is no readable cassette: the document ends in the middle (was the file cut?) at line 2 column 27 (in `traces.a`)",
            ),
            (
                "{\n<<<<<<< ours\n}",
                "f.json is no readable cassette: there is a merge-conflict marker at line 2 column 1",
            ),
            (
                "{}",
                "f.json is no readable cassette: the member `latest_trace_id` is missing, so nothing says which take to play",
            ),
            (
                "{\"latest_trace_id\":\"a\",\"traces\":{\"a\":{\"calls\":[\n{\"usage\": []}]}}}",
                "f.json is no readable cassette: expected an object, found an array in `traces.a.calls[0].usage` at line 2 column 11",
            ),
            (
                "{\"traces\":{\"a\":{},\"a\":{}}}",
                "f.json is no readable cassette: two takes have the same trace id at line 1 column 23 (in `traces.a`)",
            ),
        ] {
            let error = open(text, Chosen::Latest).unwrap_err();
            assert_eq!(error.to_string(), format!("{message}; {advice}"), "{text}");
        }
        let nul = format!("{TWO}{}", "\0".repeat(512));
        assert!(
            open(&nul, Chosen::Latest)
                .unwrap_err()
                .to_string()
                .contains("a NUL byte follows the document")
        );
    }

    #[test]
    fn another_format_names_both_versions() {
        let error = open("{\"format_version\":99,\"traces\":{}}", Chosen::Latest).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CassetteVersion);
        assert!(
            error
                .to_string()
                .starts_with("f.json has cassette format 99.0, this build of vcr-runtime "),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains(" reads format 1.x; use the vcr-runtime that wrote it"),
            "{error}"
        );
        let newer = TWO.replacen('{', "{\"format_version\":\"1.9\",", 1);
        assert!(open(&newer, Chosen::Latest).is_ok());
    }
}
