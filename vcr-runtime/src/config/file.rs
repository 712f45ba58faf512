use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use regex::Regex;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::catalogue::Catalogue;
use super::layer::{self, Key, Layer};
use super::nearest::hint;
use super::providers::ProviderTable;
use super::{Environment, Mode, ServeSettings, Settings};
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "vcr.toml";
const TABLES: [&str; 5] = ["catalogue", "providers", "redact", "serve", "upstreams"];

/// `vcr.toml` beside Cargo.toml: what a project sets once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectFile {
    layer: Layer,
    pub(crate) redact: RedactRules,
    /// Name to base address, without a trailing slash.
    pub(crate) upstreams: BTreeMap<String, String>,
    /// Providers of the project's own, by name.
    pub(crate) providers: BTreeMap<String, ProviderTable>,
    /// What there is to find while nothing is live.
    pub(crate) catalogue: Catalogue,
}

/// What a project adds to the built-in redaction, and what it takes back.
#[derive(Clone, Debug, Default)]
pub(crate) struct RedactRules {
    /// Response headers to drop although the built-in list keeps them.
    pub(crate) headers: Vec<String>,
    /// Query parameters whose value goes.
    pub(crate) query: Vec<String>,
    /// JSON members whose value goes.
    pub(crate) members: Vec<String>,
    /// Texts that go wherever they stand.
    pub(crate) patterns: Vec<Regex>,
    /// Variables whose value goes although their name does not sound like a credential.
    pub(crate) env: Vec<String>,
    pub(crate) keep_headers: Vec<String>,
    pub(crate) keep_query: Vec<String>,
    pub(crate) keep_members: Vec<String>,
    pub(crate) keep_env: Vec<String>,
}

impl ProjectFile {
    /// Reads the file of `directory`, once a process; no file is an empty one.
    pub(crate) fn load(directory: &Path) -> Result<Arc<Self>> {
        static FILES: Mutex<Option<HashMap<PathBuf, Arc<ProjectFile>>>> = Mutex::new(None);
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.get_or_insert_default();
        if let Some(file) = files.get(directory) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(Self::read(&directory.join(NAME))?);
        files.insert(directory.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn read(path: &Path) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::io("read", path, &error)),
        }
    }

    /// `path` is named in errors.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self> {
        let reader = Reader { text, path };
        let document = DeTable::parse(text).map_err(|error| {
            reader.error(
                error.span().unwrap_or(0..0),
                error.message(),
                "mend the TOML syntax",
            )
        })?;
        let mut file = Self {
            layer: Layer::file(path.to_owned()),
            ..Self::default()
        };
        for (name, value) in document.get_ref() {
            match name.get_ref().as_ref() {
                "catalogue" => file.catalogue = reader.catalogue(value)?,
                "redact" => file.redact = reader.redact(value)?,
                "providers" => file.providers = reader.providers(value)?,
                "upstreams" => file.upstreams = reader.upstreams(value)?,
                "serve" => {
                    for (name, value) in reader.table("serve", value)? {
                        reader.setting("serve", name, value, &mut file.layer)?;
                    }
                }
                _ => reader.setting("", name, value, &mut file.layer)?,
            }
        }
        // Ask for every setting once, so that a wrong one is told whatever overrides it later.
        let environment = Environment::default();
        Settings::resolve(&[], &environment, &file, Mode::Replay).map_err(|error| error.at(path))?;
        ServeSettings::resolve(&Layer::builder(), &environment, &file).map_err(|error| error.at(path))?;
        Ok(file)
    }

    pub(super) fn layer(&self) -> &Layer {
        &self.layer
    }
}

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// One file on its way in: places become lines.
pub(super) struct Reader<'a> {
    text: &'a str,
    pub(super) path: &'a Path,
}

impl Reader<'_> {
    pub(super) fn position(&self, span: &Range<usize>) -> (usize, usize) {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }

    pub(super) fn error(
        &self,
        span: Range<usize>,
        problem: impl fmt::Display,
        advice: impl Into<String>,
    ) -> Error {
        let (line, column) = self.position(&span);
        let message = format!("{} line {line}: {problem}", self.path.display());
        Error::new(ErrorKind::Config, message, advice)
            .at(self.path)
            .at_line(line, column)
    }

    pub(super) fn unknown<'k>(
        &self,
        name: &Spanned<DeString<'_>>,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> Error {
        let word = name.get_ref();
        let list: Vec<String> = known.clone().map(|key| format!("`{key}`")).collect();
        self.error(
            name.span(),
            format_args!(
                "the key `{}` is not known{}",
                word.escape_debug(),
                hint(word, known)
            ),
            format!("allowed: {}", list.join(", ")),
        )
    }

    fn setting(
        &self,
        table: &str,
        name: &Spanned<DeString<'_>>,
        value: &Value<'_>,
        layer: &mut Layer,
    ) -> Result<()> {
        let word = name.get_ref().as_ref();
        if table.is_empty() && word == "mode" {
            return Err(self.error(
                name.span(),
                "`mode` is no setting of a project",
                "set VCR_MODE for a run, or `mode` in the attribute of a test",
            ));
        }
        let keys = layer::file_keys(table);
        let Some((_, full, key)) = keys.clone().find(|(known, ..)| *known == word) else {
            let tables = TABLES.into_iter().filter(|_| table.is_empty());
            let known: Vec<&str> = keys.map(|(known, ..)| known).chain(tables).collect();
            return Err(self.unknown(name, known.iter().copied()));
        };
        let (line, _) = self.position(&name.span());
        if key == Key::Ignore {
            for text in self.texts(word, value)? {
                layer.add_from_file(key, word, text, line);
            }
            return Ok(());
        }
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref().to_owned(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(value) => value.to_string(),
            _ => {
                return Err(self.error(
                    value.span(),
                    format_args!("`{word}` must be a text, a number or a boolean"),
                    format!("write `{word} = \"…\"`"),
                ));
            }
        };
        layer.add_from_file(key, full, text, line);
        Ok(())
    }

    pub(super) fn texts(&self, name: &str, value: &Value<'_>) -> Result<Vec<String>> {
        self.spanned_texts(name, value)
            .map(|texts| texts.into_iter().map(|(_, text)| text).collect())
    }

    pub(super) fn spanned_texts(&self, name: &str, value: &Value<'_>) -> Result<Vec<(Range<usize>, String)>> {
        let refuse = |span| {
            self.error(
                span,
                format_args!("`{name}` must be a list of texts"),
                format!("write `{name} = [\"…\", \"…\"]`"),
            )
        };
        let DeValue::Array(items) = value.get_ref() else {
            return Err(refuse(value.span()));
        };
        items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Ok((item.span(), text.as_ref().to_owned())),
                _ => Err(refuse(item.span())),
            })
            .collect()
    }

    pub(super) fn table<'v, 'a>(&self, name: &str, value: &'v Value<'a>) -> Result<&'v DeTable<'a>> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.error(
                value.span(),
                format_args!("`{name}` must be a table"),
                format!("write `[{name}]` on a line of its own"),
            )),
        }
    }

    fn redact(&self, value: &Value<'_>) -> Result<RedactRules> {
        let mut rules = RedactRules::default();
        for (name, value) in self.table("redact", value)? {
            let word = name.get_ref().as_ref();
            if word == "patterns" {
                for (span, pattern) in self.spanned_texts(word, value)? {
                    rules.patterns.push(self.pattern(span, &pattern)?);
                }
                continue;
            }
            let list = match word {
                "headers" => &mut rules.headers,
                "query" => &mut rules.query,
                "members" => &mut rules.members,
                "env" => &mut rules.env,
                "keep_headers" => &mut rules.keep_headers,
                "keep_query" => &mut rules.keep_query,
                "keep_members" => &mut rules.keep_members,
                "keep_env" => &mut rules.keep_env,
                _ => {
                    let known = [
                        "headers",
                        "query",
                        "members",
                        "patterns",
                        "env",
                        "keep_headers",
                        "keep_query",
                        "keep_members",
                        "keep_env",
                    ];
                    return Err(self.unknown(name, known.into_iter()));
                }
            };
            *list = self.texts(word, value)?;
        }
        Ok(rules)
    }

    fn pattern(&self, span: Range<usize>, pattern: &str) -> Result<Regex> {
        let regex = Regex::new(pattern).map_err(|error| {
            self.error(
                span.clone(),
                format_args!("`{pattern}` is no regular expression: {error}"),
                "use the syntax of the regex crate, which has no look-around and no back-references",
            )
        })?;
        // It would cut every text to pieces between its characters.
        if regex.is_match("") {
            return Err(self.error(
                span,
                format_args!("`{pattern}` matches the empty text"),
                "let the pattern need at least one character",
            ));
        }
        Ok(regex)
    }

    fn upstreams(&self, value: &Value<'_>) -> Result<BTreeMap<String, String>> {
        let mut upstreams = BTreeMap::new();
        for (name, value) in self.table("upstreams", value)? {
            let what = format!("the upstream `{}`", name.get_ref());
            upstreams.insert(name.get_ref().as_ref().to_owned(), self.address(&what, value)?);
        }
        Ok(upstreams)
    }

    /// A base address without a slash at its end.
    pub(super) fn address(&self, what: &str, value: &Value<'_>) -> Result<String> {
        let address = match value.get_ref() {
            DeValue::String(text) => text.trim().trim_end_matches('/'),
            _ => "",
        };
        let rest = address
            .strip_prefix("https://")
            .or_else(|| address.strip_prefix("http://"))
            .unwrap_or_default();
        // No credentials and no query in a file that is committed.
        if rest.is_empty() || rest.contains(['@', '?', '#', ' ']) {
            return Err(self.error(
                value.span(),
                format_args!("{what} has no usable address"),
                "write `https://host/path`, without user, query or fragment",
            ));
        }
        Ok(address.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ProjectFile> {
        ProjectFile::parse(text, Path::new("/p/vcr.toml"))
    }

    #[test]
    fn reads_everything_a_project_may_set() {
        let file = parse(
            "speed = \"real\"\ntick = 0\nchaos = 12.5\nmatching = 'keyed'\ninclude_raw = true\nfixture_dir = \"f\"\n\
             ignore = [\"/metadata/run_id\"]\n[redact]\nheaders = [\"warning\"]\nquery = [\"sig2\"]\n\
             members = [\"customer\"]\npatterns = ['(?i)acme-[0-9]{4}']\nenv = [\"DSN\"]\nkeep_headers = [\"x-request-id\"]\n\
             keep_query = [\"key\"]\nkeep_members = [\"secret\"]\nkeep_env = [\"PUBLIC_KEY\"]\n[upstreams]\n\
             openrouter = \"https://openrouter.ai/api/v1/\"\n",
        )
        .unwrap();
        let settings = Settings::resolve(&[], &Environment::default(), &file, Mode::Replay).unwrap();
        assert_eq!(settings.speed.to_string(), "real");
        assert_eq!(settings.tick_us, 0);
        assert_eq!(settings.chaos.to_string(), "12.5");
        assert_eq!(settings.matching.to_string(), "keyed");
        assert_eq!(settings.include_raw.to_string(), "true");
        assert_eq!(settings.fixture_dir.as_deref(), Some(Path::new("f")));
        assert_eq!(settings.ignore, ["/metadata/run_id"]);
        assert_eq!(file.upstreams["openrouter"], "https://openrouter.ai/api/v1");
        assert!(file.redact.patterns[0].is_match("ACME-0001"));
        assert_eq!(file.redact.keep_env, ["PUBLIC_KEY"]);
    }

    #[test]
    fn mistakes_name_file_line_and_remedy() {
        for (text, line, message, advice) in [
            ("speed =", 1, "", "mend the TOML syntax"),
            (
                "\nsped = 1",
                2,
                "the key `sped` is not known, did you mean `speed`?",
                "allowed: `speed`",
            ),
            (
                "mode = \"live\"",
                1,
                "`mode` is no setting of a project",
                "set VCR_MODE",
            ),
            ("tick = [1]", 1, "`tick` must be a text", "write `tick"),
            ("ignore = \"/a\"", 1, "`ignore` must be a list", "write `ignore"),
            ("redact = 1", 1, "`redact` must be a table", "write `[redact]`"),
            (
                "[redact]\nmember = []",
                2,
                "did you mean `members`?",
                "allowed: `headers`",
            ),
            (
                "[redact]\npatterns = ['(']",
                2,
                "`(` is no regular expression",
                "use the syntax",
            ),
            (
                "[redact]\npatterns = ['a*']",
                2,
                "matches the empty text",
                "at least one",
            ),
            (
                "[upstreams]\na = \"ftp://x\"",
                2,
                "`a` has no usable address",
                "write `https",
            ),
            (
                "[upstreams]\na = \"https://u:p@x\"",
                2,
                "`a` has no usable address",
                "without user",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert_eq!(error.line(), Some(line), "{error}");
            let named = error.message().starts_with(&format!("/p/vcr.toml line {line}: "));
            assert!(named && error.message().contains(message), "{error}");
            assert!(error.advice().contains(advice), "{error}");
        }
    }

    #[test]
    fn a_wrong_value_names_its_key_and_line() {
        let error = parse("\nmatching = \"keyd\"").unwrap_err();
        assert_eq!(
            error.message(),
            "`matching` in /p/vcr.toml line 2 holds `keyd`, which is no way of matching, did you mean `keyed`?"
        );
        assert_eq!(error.path(), Some(Path::new("/p/vcr.toml")));
    }

    #[test]
    fn is_read_once_a_directory_and_may_be_absent() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(NAME), "tick = 7").unwrap();
        let first = ProjectFile::load(directory.path()).unwrap();
        std::fs::write(directory.path().join(NAME), "tick = 8").unwrap();
        assert!(Arc::ptr_eq(&first, &ProjectFile::load(directory.path()).unwrap()));
        let empty = tempfile::tempdir().unwrap();
        assert!(ProjectFile::load(empty.path()).unwrap().upstreams.is_empty());
    }
}
