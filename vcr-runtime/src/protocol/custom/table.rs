use std::path::Path;

use crate::config::{ProviderTable, RuleLine, hint};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::openai_chat::RULES;
use crate::protocol::rules::Rules;

use super::moves::{Move, Moves};

/// What a provider's table comes to.
#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) rules: Rules,
    pub(super) event: Moves,
    pub(super) body: Moves,
    /// What stands after the last payload of a stream.
    pub(super) end: String,
}

/// Names in a table, and the usual places relative to the payload.
const PAYLOAD: [(&str, &str); 3] = [("choices", "choices"), ("usage", "usage"), ("error", "error")];
/// The same relative to the choice; `*` is `delta` or `message`.
const CHOICE: [(&str, &str); 7] = [
    ("index", "index"),
    ("text", "*.content"),
    ("reasoning", "*.reasoning_content"),
    ("refusal", "*.refusal"),
    ("tool_calls", "*.tool_calls"),
    ("finish", "finish_reason"),
    ("native_finish", "native_finish_reason"),
];
const TOOL: [(&str, &str); 4] = [
    ("tool.index", "index"),
    ("tool.id", "id"),
    ("tool.name", "function.name"),
    ("tool.arguments", "function.arguments"),
];
const USAGE: [(&str, &str); 3] = [
    ("prompt", "prompt_tokens"),
    ("completion", "completion_tokens"),
    ("total", "total_tokens"),
];
const ERROR: [(&str, &str); 3] = [("type", "type"), ("message", "message"), ("code", "code")];
const WORDS: [&str; 6] = ["stop", "tool_calls", "length", "content_filter", "pause", "error"];

impl Dialect {
    pub(super) fn of(table: &ProviderTable) -> Result<Self> {
        let moves = |message| Moves {
            message,
            ..Moves::default()
        };
        let mut dialect = Self {
            rules: RULES.clone(),
            event: moves("delta"),
            body: moves("message"),
            end: RULES.stream_end().unwrap_or_default().to_owned(),
        };
        let place = Place { file: &table.file };
        for line in &table.rules {
            dialect.line(line, place)?;
        }
        Ok(dialect)
    }

    fn line(&mut self, line: &RuleLine, place: Place<'_>) -> Result<()> {
        let (section, name) = line.key.split_once('.').unwrap_or((&line.key, ""));
        match (section, name) {
            ("event", name) => place.choice_rule(line, name, &mut self.event),
            ("body", name) => place.choice_rule(line, name, &mut self.body),
            ("usage", name) => {
                let found = place.rule(line, name, &USAGE, "")?;
                self.event.usage.push(found.clone());
                self.body.usage.push(found);
                Ok(())
            }
            ("error", name) => {
                let found = place.rule(line, name, &ERROR, "")?;
                self.event.error.push(found.clone());
                self.body.error.push(found);
                Ok(())
            }
            ("finish", word) if WORDS.contains(&word) => {
                self.rules.prefer_words(word, &line.values);
                Ok(())
            }
            ("finish", _) => Err(place.unknown(line, "finish", WORDS.into_iter())),
            ("stream", "end") => {
                place.one(line)?.clone_into(&mut self.end);
                self.rules.set_stream_end(&self.end);
                Ok(())
            }
            ("stream", _) => Err(place.unknown(line, "stream", ["end"].into_iter())),
            _ => {
                let known = ["event", "body", "usage", "error", "finish", "stream"];
                Err(place.unknown(line, "", known.into_iter()))
            }
        }
    }
}

/// Where the lines stand.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Path,
}

impl Place<'_> {
    fn choice_rule(self, line: &RuleLine, name: &str, moves: &mut Moves) -> Result<()> {
        let is = |names: &[(&str, &str)]| names.iter().any(|(known, _)| *known == name);
        if is(&PAYLOAD) {
            moves.payload.push(self.rule(line, name, &PAYLOAD, "")?);
        } else if is(&TOOL) {
            moves.tool.push(self.rule(line, name, &TOOL, "")?);
        } else if is(&CHOICE) {
            let found = self.rule(line, name, &CHOICE, moves.message)?;
            moves.choice.push(found);
        } else {
            let section = line.key.split('.').next().unwrap_or_default();
            let known = PAYLOAD
                .iter()
                .chain(&CHOICE)
                .chain(&TOOL)
                .map(|(known, _)| *known);
            return Err(self.unknown(line, section, known));
        }
        Ok(())
    }

    /// The move that a line asks for.
    fn rule(self, line: &RuleLine, name: &str, names: &[(&str, &str)], message: &str) -> Result<Move> {
        let Some((_, usual)) = names.iter().find(|(known, _)| *known == name) else {
            let section = line.key.split('.').next().unwrap_or_default();
            return Err(self.unknown(line, section, names.iter().map(|(known, _)| *known)));
        };
        let own = self.one(line)?;
        let is_position = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        if own.split('.').any(is_position) {
            return Err(self.error(
                line,
                format!("`{}` holds `{own}`, which is no path of names", line.key),
                "write the names of members joined by dots, such as `delta.text`; positions are not possible here",
            ));
        }
        let names = |path: &str| path.split('.').map(str::to_owned).collect();
        Ok(Move {
            own: names(own),
            usual: names(&usual.replace('*', message)),
        })
    }

    fn one(self, line: &RuleLine) -> Result<&str> {
        match line.values.as_slice() {
            [value] => Ok(value),
            _ => Err(self.error(
                line,
                format!("`{}` must be one text, not a list", line.key),
                "write the one that the provider sends: answers are rendered with it as well",
            )),
        }
    }

    fn unknown<'k>(
        self,
        line: &RuleLine,
        section: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> Error {
        let prefix = if section.is_empty() {
            String::new()
        } else {
            format!("{section}.")
        };
        let known: Vec<String> = known.map(|name| format!("{prefix}{name}")).collect();
        let hint = hint(&line.key, known.iter().map(String::as_str));
        let list: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        self.error(
            line,
            format!("the rule `{}` is not known{hint}", line.key.escape_debug()),
            &format!("allowed: {}", list.join(", ")),
        )
    }

    fn error(self, line: &RuleLine, problem: String, advice: &str) -> Error {
        error(self.file, line.line, problem, advice).at_line(line.line, line.column)
    }
}

/// A mistake in the project's file.
pub(super) fn error(file: &Path, line: usize, problem: String, advice: &str) -> Error {
    let message = format!("{} line {line}: {problem}", file.display());
    Error::new(ErrorKind::Config, message, advice)
        .at(file)
        .at_line(line, 1)
}
