use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, Number, parse};
use crate::protocol::paths::Path;

use super::conditions::Condition;
use super::table::{Comes, Node, Paths, Rules, Tool};
use super::usage::Count;

type Value<'a> = Spanned<DeValue<'a>>;

/// Tables in tables, at most.
const MAX_DEPTH: usize = 16;

impl Rules {
    /// A table that is compiled in. A mistake in it gives empty rules; the tests of each protocol see to it that there is
    /// none, see [`Rules::parse`].
    pub(crate) fn embedded(text: &str) -> Self {
        Self::parse(text, std::path::Path::new("rules.toml")).unwrap_or_default()
    }

    /// Reads a table; `path` is named in errors.
    pub(crate) fn parse(text: &str, path: &std::path::Path) -> Result<Self> {
        let source = Source { text, path };
        let document = DeTable::parse(text).map_err(|error| {
            source.error(
                error.span().unwrap_or(0..0),
                error.message(),
                "mend the TOML syntax",
            )
        })?;
        let mut rules = Self::default();
        source.rules(document.get_ref(), &mut rules)?;
        Ok(rules)
    }
}

/// The text of a table, for the places of mistakes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) path: &'a std::path::Path,
}

impl Source<'_> {
    pub(super) fn error(
        &self,
        span: Range<usize>,
        problem: impl fmt::Display,
        advice: impl Into<String>,
    ) -> Error {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let message = format!("{} line {line}: {problem}", self.path.display());
        Error::new(ErrorKind::Config, message, advice)
            .at(self.path)
            .at_line(line, column)
    }

    pub(super) fn wrong(&self, key: &str, value: &Value<'_>, wanted: &str) -> Error {
        let problem = format!("`{key}` must be {wanted}, not {}", value.get_ref().type_str());
        self.error(
            value.span(),
            problem,
            "see the rules of the built-in protocols for examples",
        )
    }

    pub(super) fn unknown(&self, key: &Spanned<DeString<'_>>, known: &[&str]) -> Error {
        let word = key.get_ref().as_ref();
        let list: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        let hint = crate::config::hint(word, known.iter().copied());
        let problem = format!("the key `{}` is not known{hint}", word.escape_debug());
        self.error(key.span(), problem, format!("allowed: {}", list.join(", ")))
    }

    pub(super) fn rules(&self, table: &DeTable<'_>, rules: &mut Rules) -> Result<()> {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "stream" => self.stream(value, rules)?,
                "event" => rules.events = self.nodes("event", value, 0)?,
                "body" => rules.bodies = self.nodes("body", value, 0)?,
                "finish" => self.finish(value, rules)?,
                "tools" => self.tools(value, rules)?,
                "usage" => self.usage(value, rules)?,
                "error" => self.error_rules(value, rules)?,
                _ => {
                    let known = ["stream", "event", "body", "finish", "tools", "usage", "error"];
                    return Err(self.unknown(key, &known));
                }
            }
        }
        rules
            .events
            .iter_mut()
            .chain(&mut rules.bodies)
            .for_each(Node::settle);
        Ok(())
    }

    fn stream(&self, value: &Value<'_>, rules: &mut Rules) -> Result<()> {
        for (key, value) in self.table("stream", value)? {
            match key.get_ref().as_ref() {
                "end" => rules.stream.end = Some(self.text("end", value)?),
                "names" => rules.stream.names = Some(self.path("names", value)?),
                "closed_by" => match value.get_ref().as_str() {
                    Some("finish") => rules.stream.closed_by_finish = true,
                    _ => return Err(self.wrong("closed_by", value, "`\"finish\"`")),
                },
                _ => return Err(self.unknown(key, &["end", "names", "closed_by"])),
            }
        }
        Ok(())
    }

    /// `canonical = ["theirs", …]`; words that are given replace those of a table that is already there.
    pub(super) fn finish(&self, value: &Value<'_>, rules: &mut Rules) -> Result<()> {
        let mut words = Vec::new();
        for (key, value) in self.table("finish", value)? {
            let canonical = key.get_ref().as_ref();
            for word in self.texts(canonical, value)? {
                words.push((word, canonical.to_owned()));
            }
        }
        rules
            .finish
            .words
            .retain(|(word, _)| words.iter().all(|(new, _)| new != word));
        rules.finish.words.extend(words);
        Ok(())
    }

    fn tools(&self, value: &Value<'_>, rules: &mut Rules) -> Result<()> {
        for (key, value) in self.table("tools", value)? {
            match key.get_ref().as_ref() {
                "numbering" => match value.get_ref().as_str() {
                    Some("order") => rules.tools.by_order = true,
                    Some("index") => rules.tools.by_order = false,
                    _ => return Err(self.wrong("numbering", value, "`\"order\"` or `\"index\"`")),
                },
                "finish" => rules.tools.finish = self.texts("finish", value)?,
                _ => return Err(self.unknown(key, &["numbering", "finish"])),
            }
        }
        Ok(())
    }

    pub(super) fn usage(&self, value: &Value<'_>, rules: &mut Rules) -> Result<()> {
        let usage = &mut rules.usage;
        for (key, value) in self.table("usage", value)? {
            match key.get_ref().as_ref() {
                "prompt" => usage.prompt = self.count("prompt", value)?,
                "completion" => usage.completion = self.count("completion", value)?,
                "total" => usage.total = self.count("total", value)?,
                "merge" => usage.merge = self.flag("merge", value)?,
                "details" => usage.details = Some(self.texts("details", value)?),
                _ => {
                    let known = ["prompt", "completion", "total", "merge", "details"];
                    return Err(self.unknown(key, &known));
                }
            }
        }
        Ok(())
    }

    fn count(&self, name: &str, value: &Value<'_>) -> Result<Count> {
        let DeValue::Table(table) = value.get_ref() else {
            return Ok(Count::First(self.paths(name, value)?));
        };
        let mut count = Count::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "sum" => count = Count::Sum(self.paths("sum", value)?),
                _ => return Err(self.unknown(key, &["sum"])),
            }
        }
        Ok(count)
    }

    pub(super) fn error_rules(&self, value: &Value<'_>, rules: &mut Rules) -> Result<()> {
        for (key, value) in self.table("error", value)? {
            let name = key.get_ref().as_ref();
            let slot = match name {
                "at" => &mut rules.error.at,
                "type" => &mut rules.error.error_type,
                "message" => &mut rules.error.message,
                "code" => &mut rules.error.code,
                "status" => &mut rules.error.status,
                _ => return Err(self.unknown(key, &["at", "type", "message", "code", "status"])),
            };
            *slot = self.paths(name, value)?;
        }
        Ok(())
    }

    fn nodes(&self, name: &str, value: &Value<'_>, depth: usize) -> Result<Vec<Node>> {
        match value.get_ref() {
            DeValue::Array(items) if depth < MAX_DEPTH => items
                .iter()
                .map(|item| self.node(name, item, depth + 1))
                .collect(),
            DeValue::Array(_) => Err(self.wrong(name, value, "nested less deeply")),
            DeValue::Table(_) => Ok(vec![self.node(name, value, depth + 1)?]),
            _ => Err(self.wrong(name, value, "a table or a list of tables")),
        }
    }

    fn node(&self, name: &str, value: &Value<'_>, depth: usize) -> Result<Node> {
        let mut node = Node::default();
        for (key, value) in self.table(name, value)? {
            self.entry(key, value, depth, &mut node)?;
        }
        Ok(node)
    }

    fn entry(
        &self,
        key: &Spanned<DeString<'_>>,
        value: &Value<'_>,
        depth: usize,
        node: &mut Node,
    ) -> Result<()> {
        let name = key.get_ref().as_ref();
        if let Some(slot) = node.paths_mut(name) {
            *slot = self.paths(name, value)?;
            return Ok(());
        }
        match name {
            "name" => node.name = Some(self.text(name, value)?),
            "when" => node.when = self.conditions(value)?,
            "at" => node.at = Some(self.path(name, value)?),
            "each" => node.each = Some(self.path(name, value)?),
            "native" => node.native = Some(self.path(name, value)?),
            "tool" => node.tool = Some(self.tool(value)?),
            "finish_else" => node.finish_else = Some(self.text(name, value)?),
            "end" => node.end = self.flag(name, value)?,
            "part" => node.parts = self.nodes(name, value, depth)?,
            "kind" => node.kinds = self.nodes(name, value, depth)?,
            _ => {
                let known: Vec<&str> = Node::PATHS
                    .into_iter()
                    .chain([
                        "name",
                        "when",
                        "at",
                        "each",
                        "native",
                        "tool",
                        "finish_else",
                        "end",
                        "part",
                        "kind",
                    ])
                    .collect();
                return Err(self.unknown(key, &known));
            }
        }
        Ok(())
    }

    fn tool(&self, value: &Value<'_>) -> Result<Tool> {
        let mut tool = Tool::default();
        for (key, value) in self.table("tool", value)? {
            let name = key.get_ref().as_ref();
            match name {
                "id" => tool.id = self.paths(name, value)?,
                "name" => tool.name = self.paths(name, value)?,
                "arguments" => tool.arguments = self.paths(name, value)?,
                "comes" => {
                    tool.comes = match value.get_ref().as_str() {
                        Some("fragments") => Comes::Fragments,
                        Some("more") => Comes::More,
                        Some("whole") => Comes::Whole,
                        Some("single") => Comes::Single,
                        _ => return Err(self.wrong(name, value, "`fragments`, `more`, `whole` or `single`")),
                    }
                }
                _ => return Err(self.unknown(key, &["id", "name", "arguments", "comes"])),
            }
        }
        Ok(tool)
    }

    fn conditions(&self, value: &Value<'_>) -> Result<Vec<Condition>> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| self.condition(item)).collect(),
            _ => Ok(vec![self.condition(value)?]),
        }
    }

    fn condition(&self, value: &Value<'_>) -> Result<Condition> {
        let table = self.table("when", value)?;
        let mut path = None;
        let mut condition = None;
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let at = Path::default();
            match name {
                "path" => {
                    path = Some(self.path(name, value)?);
                    continue;
                }
                "event" => condition = Some(Condition::Event(self.texts(name, value)?)),
                "present" => {
                    let wanted = self.flag(name, value)?;
                    condition = Some(Condition::Present { path: at, wanted });
                }
                "is" | "not" => {
                    let (values, denied) = (self.scalars(name, value)?, name == "not");
                    condition = Some(Condition::Is {
                        path: at,
                        values,
                        denied,
                    });
                }
                _ => return Err(self.unknown(key, &["path", "event", "is", "not", "present"])),
            }
        }
        match (condition, path) {
            (Some(condition @ Condition::Event(_)), None) => Ok(condition),
            (Some(Condition::Present { wanted, .. }), Some(path)) => Ok(Condition::Present { path, wanted }),
            (Some(Condition::Is { values, denied, .. }), Some(path)) => {
                Ok(Condition::Is { path, values, denied })
            }
            _ => {
                let wanted = "`{ path = …, is = … }`, `{ path = …, present = … }` or `{ event = … }`";
                Err(self.wrong("when", value, wanted))
            }
        }
    }

    fn scalars(&self, name: &str, value: &Value<'_>) -> Result<Vec<Json>> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| self.scalar(name, item)).collect(),
            _ => Ok(vec![self.scalar(name, value)?]),
        }
    }

    fn scalar(&self, name: &str, value: &Value<'_>) -> Result<Json> {
        match value.get_ref() {
            DeValue::String(text) => Ok(Json::from(text.as_ref())),
            DeValue::Boolean(flag) => Ok(Json::Bool(*flag)),
            DeValue::Integer(number) => match number.to_string().parse::<u64>() {
                Ok(number) => Ok(Json::Number(Number::from_u64(number))),
                Err(_) => parse(&number.to_string()).map_err(|_| self.wrong(name, value, "a decimal number")),
            },
            _ => Err(self.wrong(name, value, "a text, a number or a boolean")),
        }
    }

    pub(super) fn table<'v, 'a>(&self, name: &str, value: &'v Value<'a>) -> Result<&'v DeTable<'a>> {
        let table = value.get_ref().as_table();
        table.ok_or_else(|| self.wrong(name, value, "a table"))
    }

    fn text(&self, name: &str, value: &Value<'_>) -> Result<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| self.wrong(name, value, "a text"))
    }

    fn texts(&self, name: &str, value: &Value<'_>) -> Result<Vec<String>> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| self.text(name, item)).collect(),
            _ => Ok(vec![self.text(name, value)?]),
        }
    }

    fn flag(&self, name: &str, value: &Value<'_>) -> Result<bool> {
        let flag = value.get_ref().as_bool();
        flag.ok_or_else(|| self.wrong(name, value, "`true` or `false`"))
    }

    fn path(&self, name: &str, value: &Value<'_>) -> Result<Path> {
        let text = self.text(name, value)?;
        if text.is_empty() || (text != "." && text.split('.').any(str::is_empty)) {
            return Err(self.error(
                value.span(),
                format_args!("`{name}` holds `{text}`, which is no path"),
                "write names and positions joined by dots, such as `choices.0.text`, or `.` for the value itself",
            ));
        }
        Ok(Path::new(&text))
    }

    pub(super) fn paths(&self, name: &str, value: &Value<'_>) -> Result<Paths> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| self.path(name, item)).collect(),
            _ => Ok(vec![self.path(name, value)?]),
        }
    }
}

impl Node {
    /// Entries that are paths.
    pub(super) const PATHS: [&str; 10] = [
        "choice",
        "index",
        "reasoning",
        "signature",
        "text",
        "refusal",
        "finish",
        "native_finish",
        "usage",
        "error",
    ];

    pub(super) fn paths_mut(&mut self, name: &str) -> Option<&mut Paths> {
        Some(match name {
            "choice" => &mut self.choice,
            "index" => &mut self.index,
            "reasoning" => &mut self.reasoning,
            "signature" => &mut self.signature,
            "text" => &mut self.text,
            "refusal" => &mut self.refusal,
            "finish" => &mut self.finish,
            "native_finish" => &mut self.native_finish,
            "usage" => &mut self.usage,
            "error" => &mut self.error,
            _ => return None,
        })
    }
}
