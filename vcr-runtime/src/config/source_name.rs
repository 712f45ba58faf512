//! Where a session's answers come from, when it is not its cassette: `frozen:answers.jsonl?max_calls=40`.

use super::nearest::hint;
use super::values::{Parse, Refusal};
use crate::error::{Error, ErrorKind};

/// A source by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceName {
    /// Frozen answers, by the hash of their request.
    Frozen {
        /// Relative to the fixture directory.
        path: String,
        ceilings: Ceilings,
    },
    /// The log of a recorded session, an entry a call.
    Session(SessionFiles),
}

/// The files of a session script, relative to the fixture directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionFiles {
    /// The log of the primary session.
    pub(crate) path: String,
    /// The logs of the sessions that the primary one started; a setting of their own.
    pub(crate) children: Vec<String>,
    /// How long each chunk is waited for.
    pub(crate) pace_ms: Option<u64>,
}

impl SessionFiles {
    /// One `name=value` behind the path.
    fn set(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if name != "pace_ms" {
            let hint = match name {
                "child" => ", the logs of children are the setting `child_files`".to_owned(),
                "override" => ", an override document is the setting `override_file`".to_owned(),
                _ => hint(name, ["pace_ms"]),
            };
            return Err(format!("has no option `{name}`{hint}"));
        }
        let number = value.parse().ok().filter(|pace| *pace <= MOST_PACE_MS);
        let number = number.ok_or_else(|| {
            format!("sets `pace_ms` to `{value}`, which is no whole number from 0 to {MOST_PACE_MS}")
        })?;
        self.pace_ms = Some(number);
        Ok(())
    }
}

/// An hour: whoever waits longer for a chunk waits for nothing.
const MOST_PACE_MS: u64 = 3_600_000;

/// What a file of frozen answers may not exceed. A run may lower a ceiling and never raise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ceilings {
    /// Bytes of the file.
    pub(crate) file: usize,
    /// Distinct requests.
    pub(crate) entries: usize,
    /// Answers of one request.
    pub(crate) responses: usize,
    /// Bytes of one answer as compact JSON.
    pub(crate) result: usize,
    /// Bytes of a request in its canonical form.
    pub(crate) request: usize,
    /// Answers that one run may take.
    pub(crate) calls: usize,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            file: 8_000_000,
            entries: 10_000,
            responses: 1_024,
            result: 1_048_576,
            request: 1_000_000,
            calls: usize::MAX,
        }
    }
}

impl Ceilings {
    /// By their names in a source's text.
    fn named(&mut self) -> [(&'static str, &mut usize); 6] {
        [
            ("max_file_bytes", &mut self.file),
            ("max_entries", &mut self.entries),
            ("max_responses", &mut self.responses),
            ("max_result_bytes", &mut self.result),
            ("max_request_bytes", &mut self.request),
            ("max_calls", &mut self.calls),
        ]
    }

    fn lower(&mut self, option: &str) -> Result<(), String> {
        let (name, text) = option.split_once('=').unwrap_or((option, ""));
        let mut all = self.named();
        let names = all.each_ref().map(|(name, _)| *name);
        let Some((_, ceiling)) = all.iter_mut().find(|(known, _)| *known == name) else {
            return Err(format!("has no ceiling `{name}`{}", hint(name, names)));
        };
        match text.parse::<usize>() {
            Ok(0) | Err(_) => Err(format!("sets `{name}` to `{text}`, which is no number above 0")),
            Ok(value) if value > **ceiling => {
                Err(format!("raises `{name}` to {value}, and it is at most {ceiling}"))
            }
            Ok(value) => {
                **ceiling = value;
                Ok(())
            }
        }
    }
}

impl SourceName {
    /// Reads a source's text where it is no setting.
    ///
    /// # Errors
    /// `Config`, with what is allowed.
    pub(crate) fn read(text: &str) -> crate::error::Result<Self> {
        Self::parse(text).map_err(|Refusal { problem, allowed }| {
            Error::new(
                ErrorKind::Config,
                format!("the source `{text}` {problem}"),
                format!("it is {allowed}"),
            )
        })
    }
}

const KINDS: [&str; 2] = ["frozen", "session"];

impl Parse for SourceName {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |problem: String| {
            Refusal {
            problem,
            allowed: "`frozen:PATH` or `session:PATH` below the fixture directory, with options behind it such as `frozen:answers.jsonl?max_calls=40` or `session:parent.jsonl?pace_ms=20`".to_owned(),
        }
        };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        if !KINDS.contains(&kind) {
            return Err(refuse(format!("is no source{}", hint(kind, KINDS))));
        }
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(refuse("names no file".to_owned()));
        }
        let mut options = options.split('&').filter(|option| !option.is_empty());
        if kind == "session" {
            let mut files = SessionFiles {
                path: path.to_owned(),
                ..SessionFiles::default()
            };
            options.try_for_each(|option| files.set(option)).map_err(refuse)?;
            return Ok(Self::Session(files));
        }
        let mut ceilings = Ceilings::default();
        options
            .try_for_each(|option| ceilings.lower(option))
            .map_err(refuse)?;
        Ok(Self::Frozen {
            path: path.to_owned(),
            ceilings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SourceName, String> {
        SourceName::parse(text).map_err(|refusal| refusal.problem)
    }

    #[test]
    fn ceilings_can_be_lowered_and_not_raised() {
        let expected = SourceName::Frozen {
            path: "a/b.jsonl".to_owned(),
            ceilings: Ceilings {
                entries: 3,
                calls: 40,
                ..Ceilings::default()
            },
        };
        let read = parse("frozen:a/b.jsonl?max_entries=3&max_calls=40&max_result_bytes=1048576");
        assert_eq!(read.unwrap(), expected);
        for (name, most) in [
            ("max_file_bytes", 8_000_000),
            ("max_entries", 10_000),
            ("max_responses", 1_024),
            ("max_result_bytes", 1_048_576),
            ("max_request_bytes", 1_000_000),
        ] {
            assert!(parse(&format!("frozen:a?{name}={most}")).is_ok(), "{name}");
            let raised = most + 1;
            assert_eq!(
                parse(&format!("frozen:a?{name}={raised}")).unwrap_err(),
                format!("raises `{name}` to {raised}, and it is at most {most}")
            );
        }
    }

    #[test]
    fn a_session_has_a_pace() {
        let expected = SourceName::Session(SessionFiles {
            path: "a.jsonl".to_owned(),
            children: Vec::new(),
            pace_ms: Some(5),
        });
        assert_eq!(parse("session:a.jsonl?pace_ms=5").unwrap(), expected);
    }

    #[test]
    fn what_is_no_source_is_refused() {
        for (text, problem) in [
            ("session:", "names no file"),
            ("sesion:a", "is no source, did you mean `session`?"),
            (
                "session:a?pace_m=1",
                "has no option `pace_m`, did you mean `pace_ms`?",
            ),
            (
                "session:a?child=b",
                "has no option `child`, the logs of children are the setting `child_files`",
            ),
            (
                "session:a?override=b",
                "has no option `override`, an override document is the setting `override_file`",
            ),
            (
                "session:a?pace_ms=-1",
                "sets `pace_ms` to `-1`, which is no whole number from 0 to 3600000",
            ),
            ("frozn:a", "is no source, did you mean `frozen`?"),
            ("answers.jsonl", "is no source"),
            ("frozen:", "names no file"),
            ("frozen:?max_calls=1", "names no file"),
            (
                "frozen:a?max_call=1",
                "has no ceiling `max_call`, did you mean `max_calls`?",
            ),
            (
                "frozen:a?max_calls=0",
                "sets `max_calls` to `0`, which is no number above 0",
            ),
            (
                "frozen:a?max_calls",
                "sets `max_calls` to ``, which is no number above 0",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), problem, "{text}");
        }
    }
}
