use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::file::{Reader, Value};
use crate::error::Result;

/// Tables in tables, at most.
const MAX_DEPTH: usize = 8;

/// A provider of the project's own: `[providers.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProviderTable {
    /// Without a trailing slash.
    pub(crate) base_url: String,
    /// What of its requests' paths lies below the base.
    pub(crate) path: Option<String>,
    /// What it calls things, where it differs from chat completions.
    pub(crate) rules: Vec<RuleLine>,
    /// Where it stands, for errors about it.
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// One entry of a provider's `rules`. What it means is the protocol's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleLine {
    /// Dotted: `event.text`.
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Reader<'_> {
    pub(super) fn providers(&self, value: &Value<'_>) -> Result<BTreeMap<String, ProviderTable>> {
        let mut providers = BTreeMap::new();
        for (name, value) in self.table("providers", value)? {
            let word = name.get_ref().as_ref();
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if word.is_empty() || !word.bytes().all(is_plain) {
                return Err(self.error(
                    name.span(),
                    format_args!("`{}` is no name for a provider", word.escape_debug()),
                    "use letters, digits, `-` and `_`: cassettes store it as their protocol",
                ));
            }
            providers.insert(word.to_owned(), self.provider(name, value)?);
        }
        Ok(providers)
    }

    fn provider(&self, name: &Spanned<DeString<'_>>, value: &Value<'_>) -> Result<ProviderTable> {
        let word = name.get_ref().as_ref();
        let (mut base_url, mut path, mut rules) = (None, None, Vec::new());
        for (key, value) in self.table(&format!("providers.{word}"), value)? {
            match key.get_ref().as_ref() {
                "base_url" => base_url = Some(self.address(&format!("the provider `{word}`"), value)?),
                "path" => path = Some(self.request_path(value)?),
                "rules" => self.rule_lines("", value, 0, &mut rules)?,
                _ => return Err(self.unknown(key, ["base_url", "path", "rules"].into_iter())),
            }
        }
        let base_url = base_url.ok_or_else(|| {
            self.error(
                name.span(),
                format_args!("the provider `{word}` has no `base_url`"),
                format!("write `base_url = \"https://host/path\"` below `[providers.{word}]`"),
            )
        })?;
        Ok(ProviderTable {
            base_url,
            path,
            rules,
            file: self.path.to_owned(),
            line: self.position(&name.span()).0,
        })
    }

    fn request_path(&self, value: &Value<'_>) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) if text.starts_with('/') && !text.contains(['?', '#']) => {
                Ok(text.trim_end_matches('/').to_owned())
            }
            _ => Err(self.error(
                value.span(),
                "`path` must be the path of the requests below `base_url`",
                "write `path = \"/chat/completions\"`",
            )),
        }
    }

    fn rule_lines(
        &self,
        prefix: &str,
        value: &Value<'_>,
        depth: usize,
        lines: &mut Vec<RuleLine>,
    ) -> Result<()> {
        for (name, value) in self.table(if prefix.is_empty() { "rules" } else { prefix }, value)? {
            let word = name.get_ref().as_ref();
            let key = if prefix.is_empty() {
                word.to_owned()
            } else {
                format!("{prefix}.{word}")
            };
            let values = match value.get_ref() {
                DeValue::Table(_) if depth < MAX_DEPTH => {
                    self.rule_lines(&key, value, depth + 1, lines)?;
                    continue;
                }
                DeValue::String(text) => vec![text.as_ref().to_owned()],
                DeValue::Array(_) => self.texts(&key, value)?,
                _ => {
                    return Err(self.error(
                        value.span(),
                        format_args!("`{key}` must be a text or a list of texts"),
                        format!("write `{word} = \"…\"`"),
                    ));
                }
            };
            let (line, column) = self.position(&name.span());
            lines.push(RuleLine {
                key,
                values,
                line,
                column,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ProjectFile;
    use crate::error::ErrorKind;

    #[test]
    fn providers_are_read_with_the_places_of_their_rules() {
        let text = "[providers.acme]\nbase_url = \"https://llm.acme.example/v1/\"\npath = \"/generate/\"\n\
            rules = { event = { text = \"delta.text\" } }\n[providers.acme-2]\nbase_url = \"http://a\"\n\
            [providers.acme-2.rules.finish]\nstop = [\"DONE\", \"END\"]\n";
        let file = ProjectFile::parse(text, Path::new("/p/vcr.toml")).unwrap();
        let acme = &file.providers["acme"];
        assert_eq!(
            (acme.base_url.as_str(), acme.path.as_deref()),
            ("https://llm.acme.example/v1", Some("/generate"))
        );
        assert_eq!(
            (acme.rules[0].key.as_str(), acme.rules[0].line),
            ("event.text", 4)
        );
        let second = &file.providers["acme-2"];
        assert_eq!(
            (second.path.as_deref(), second.rules[0].key.as_str()),
            (None, "finish.stop")
        );
        assert_eq!((second.rules[0].values.len(), second.rules[0].line), (2, 8));
        assert_eq!(
            (second.line, second.file.as_path()),
            (5, Path::new("/p/vcr.toml"))
        );
    }

    #[test]
    fn mistakes_name_file_line_and_remedy() {
        let head = "[providers.a]\nbase_url = \"http://a\"\n";
        for (text, line, message, advice) in [
            (
                "[providers.a]\n",
                1,
                "the provider `a` has no `base_url`",
                "write `base_url",
            ),
            (
                "[providers.a]\nbase_url = \"a\"\n",
                2,
                "the provider `a` has no usable address",
                "write `https",
            ),
            (
                "[providers.\"a b\"]\n",
                1,
                "`a b` is no name for a provider",
                "use letters",
            ),
            (
                &format!("{head}url = 1"),
                3,
                "the key `url` is not known",
                "allowed: `base_url`",
            ),
            (
                &format!("{head}path = \"x\""),
                3,
                "`path` must be the path",
                "write `path",
            ),
            (
                &format!("{head}rules = 1"),
                3,
                "`rules` must be a table",
                "write `[rules]`",
            ),
            (
                &format!("{head}rules = {{ x = 1 }}"),
                3,
                "`x` must be a text or a list",
                "write `x",
            ),
            (
                &format!("{head}rules = {{ x = [1] }}"),
                3,
                "`x` must be a list of texts",
                "write `x",
            ),
        ] {
            let error = ProjectFile::parse(text, Path::new("/p/vcr.toml")).unwrap_err();
            assert_eq!(
                (error.kind(), error.line()),
                (ErrorKind::Config, Some(line)),
                "{error}"
            );
            assert!(error.message().contains(message), "{error}");
            assert!(error.advice().contains(advice), "{error}");
        }
    }
}
