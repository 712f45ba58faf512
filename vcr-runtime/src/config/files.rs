//! The files that answer: a source, its children, and the document that overrides some of it.

use super::settings::Resolver;
use super::{Key, Layer, SourceName};

/// An override document, relative to the fixture directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OverrideFile {
    pub(crate) path: String,
    /// Whether it has to be there. A variable may name a file that only some scenarios have.
    pub(crate) required: bool,
}

const BESIDE: &str = "a session script in `source`, such as `session:parent.jsonl`, or to leave it out";

impl Resolver<'_> {
    /// The source with its children, and the override document.
    pub(super) fn files(&mut self) -> (Option<SourceName>, Option<OverrideFile>) {
        for key in [Key::Source, Key::OverrideFile, Key::ChildFiles] {
            self.check_agreement(key);
            self.check_unicode(key);
        }
        let mut source = self.value(Key::Source);
        let children = self.children();
        match &mut source {
            Some(SourceName::Session(files)) => {
                files.children = children.into_iter().map(|(_, path)| path).collect();
            }
            _ => {
                if let Some((place, path)) = children.into_iter().next() {
                    let place = format!("{place} holds `{}`, which", path.escape_debug());
                    self.refuse(place, "is no child of a session script: there is none", BESIDE);
                }
            }
        }
        let override_file = self.placed(Key::OverrideFile);
        if let (Some(SourceName::Frozen { .. }), Some((layer, entry))) = (&source, override_file) {
            let place = format!(
                "{} holds `{}`, which",
                layer.place(entry),
                entry.text.escape_debug()
            );
            let allowed = "an `error` in the file of frozen answers, or an override file for a cassette or a session script";
            self.refuse(place, "overrides no frozen answers", allowed);
        }
        let override_file = override_file.map(|(layer, entry)| OverrideFile {
            path: entry.text.trim().to_owned(),
            required: layer.is_explicit(),
        });
        (source, override_file)
    }

    /// The files of the first layer that has any, each with its place.
    fn children(&self) -> Vec<(String, String)> {
        let mut first: Option<(&Layer, &str)> = None;
        let mut children = Vec::new();
        for (layer, entry) in self.entries(Key::ChildFiles) {
            let (chosen, name) = *first.get_or_insert((layer, &entry.name));
            if std::ptr::eq(chosen, layer) && name == entry.name {
                children.push((layer.place(entry), entry.text.clone()));
            }
        }
        children
    }

    /// Refuses two names of one layer that say different things: nobody could know which of them is meant.
    fn check_agreement(&mut self, key: Key) {
        let mut said: Vec<(&Layer, &str, String, Vec<&str>)> = Vec::new();
        for (layer, entry) in self.entries(key) {
            let text = entry.text.trim();
            let known = |(other, name, ..): &&mut (&Layer, &str, _, _)| {
                std::ptr::eq(*other, layer) && *name == entry.name
            };
            match said.iter_mut().find(known) {
                _ if text.is_empty() => {}
                Some((.., texts)) => texts.push(text),
                None => said.push((layer, &entry.name, layer.place(entry), vec![text])),
            }
        }
        let shown = |texts: &[&str]| texts.join(", ").escape_debug().to_string();
        let contradiction = said
            .iter()
            .enumerate()
            .find_map(|(index, (layer, _, place, texts))| {
                let (.., other, others) = said[..index]
                    .iter()
                    .find(|(known, .., before)| std::ptr::eq(*known, *layer) && before != texts)?;
                Some(format!(
                    "{other} holds `{}`, and {place} holds `{}`, which",
                    shown(others),
                    shown(texts)
                ))
            });
        if let Some(place) = contradiction {
            self.refuse(
                place,
                "contradict each other",
                "one of the two, or the same in both",
            );
        }
    }

    /// Refuses names that cannot be compared with those of the fixture directory.
    fn check_unicode(&mut self, key: Key) {
        let odd = self.entries(key).find(|(_, entry)| entry.path.is_some());
        if let Some((layer, entry)) = odd {
            let place = format!(
                "{} holds `{}`, which",
                layer.place(entry),
                entry.text.escape_debug()
            );
            self.refuse(
                place,
                "is not UTF-8",
                "the path of a file in the fixture directory",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, Mode, ProjectFile, SessionFiles, Settings};
    use crate::error::{ErrorKind, Result};

    fn resolve(layers: &[&Layer], pairs: &[(&str, &str)]) -> Result<Settings> {
        let environment = Environment::from_pairs(pairs.iter().copied());
        Settings::resolve(layers, &environment, &ProjectFile::default(), Mode::Replay)
    }

    fn session(path: &str, children: &[&str]) -> Option<SourceName> {
        Some(SourceName::Session(SessionFiles {
            path: path.to_owned(),
            children: children.iter().map(|child| (*child).to_owned()).collect(),
            pace_ms: None,
        }))
    }

    /// Layers, variables, and the text of their error.
    type Case<'a> = (&'a [&'a Layer], &'a [(&'a str, &'a str)], &'a str);

    fn list(paths: &[&str]) -> String {
        std::env::join_paths(paths).unwrap().into_string().unwrap()
    }

    #[test]
    fn variables_of_either_name_say_the_same() {
        let children = list(&["a.jsonl", "", "sub/b.jsonl"]);
        let expected = session("p.jsonl", &["a.jsonl", "sub/b.jsonl"]);
        for pairs in [
            [
                ("VCR_SOURCE", "session:p.jsonl"),
                ("VCR_OVERRIDE_FILE", "o.json"),
                ("VCR_CHILD_FILES", &*children),
            ],
            [
                ("DSH_SNAPSHOT_FILE", "p.jsonl"),
                ("DSH_SNAPSHOT_OVERRIDE", "o.json"),
                ("DSH_SNAPSHOT_CHILD_FILES", &*children),
            ],
        ] {
            let settings = resolve(&[], &pairs).unwrap();
            assert_eq!(settings.source, expected, "{pairs:?}");
            let optional = OverrideFile {
                path: "o.json".to_owned(),
                required: false,
            };
            assert_eq!(settings.override_file, Some(optional));
            assert!(Environment::from_pairs(pairs).warnings().is_empty());
        }
        let both = [
            ("VCR_SOURCE", "session:p.jsonl"),
            ("DSH_SNAPSHOT_FILE", "p.jsonl"),
        ];
        assert_eq!(resolve(&[], &both).unwrap().source, session("p.jsonl", &[]));
        let empty = [
            ("DSH_SNAPSHOT_FILE", " "),
            ("DSH_SNAPSHOT_OVERRIDE", ""),
            ("DSH_SNAPSHOT_CHILD_FILES", ""),
        ];
        let settings = resolve(&[], &empty).unwrap();
        assert_eq!((settings.source, settings.override_file), (None, None));
    }

    #[test]
    fn code_is_asked_before_the_environment_setting_by_setting() {
        let attribute = Layer::attribute([
            ("source", "session:mine.jsonl"),
            ("child_files", "c.jsonl"),
            ("child_files", "d.jsonl"),
        ]);
        let pairs = [
            ("DSH_SNAPSHOT_FILE", "p.jsonl"),
            ("VCR_CHILD_FILES", "other.jsonl"),
            ("VCR_OVERRIDE_FILE", "o.json"),
        ];
        let settings = resolve(&[&attribute], &pairs).unwrap();
        assert_eq!(settings.source, session("mine.jsonl", &["c.jsonl", "d.jsonl"]));
        assert!(settings.override_file.is_some_and(|file| !file.required));
        let attribute = Layer::attribute([("override_file", "mine.json")]);
        let settings = resolve(&[&attribute], &pairs[..1]).unwrap();
        let required = OverrideFile {
            path: "mine.json".to_owned(),
            required: true,
        };
        assert_eq!(settings.override_file, Some(required));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let attribute = Layer::attribute([("source", "frozen:f.jsonl"), ("override_file", "o.json")]);
        let nothing: &[(&str, &str)] = &[];
        let two = list(&["a", "b"]);
        let cases: [Case<'_>; 6] = [
            (
                &[],
                &[("VCR_SOURCE", "session:a"), ("DSH_SNAPSHOT_FILE", "b")],
                "`VCR_SOURCE` holds `session:a`, and `DSH_SNAPSHOT_FILE` holds `session:b`, which contradict each other; allowed: one of the two, or the same in both",
            ),
            (
                &[],
                &[("VCR_OVERRIDE_FILE", "a"), ("DSH_SNAPSHOT_OVERRIDE", "b")],
                "`VCR_OVERRIDE_FILE` holds `a`, and `DSH_SNAPSHOT_OVERRIDE` holds `b`, which contradict each other; allowed: one of the two, or the same in both",
            ),
            (
                &[],
                &[
                    ("DSH_SNAPSHOT_FILE", "p"),
                    ("VCR_CHILD_FILES", &two),
                    ("DSH_SNAPSHOT_CHILD_FILES", "b"),
                ],
                "`VCR_CHILD_FILES` holds `a, b`, and `DSH_SNAPSHOT_CHILD_FILES` holds `b`, which contradict each other; allowed: one of the two, or the same in both",
            ),
            (
                &[],
                &[("DSH_SNAPSHOT_CHILD_FILES", "b")],
                "`DSH_SNAPSHOT_CHILD_FILES` holds `b`, which is no child of a session script: there is none; allowed: a session script in `source`, such as `session:parent.jsonl`, or to leave it out",
            ),
            (
                &[],
                &[("VCR_SOURCE", "sesion:a")],
                "`VCR_SOURCE` holds `sesion:a`, which is no source, did you mean `session`?; allowed: `frozen:PATH` or `session:PATH` below the fixture directory, with options behind it such as `frozen:answers.jsonl?max_calls=40` or `session:parent.jsonl?pace_ms=20`",
            ),
            (
                &[&attribute],
                nothing,
                "the attribute key `override_file` holds `o.json`, which overrides no frozen answers; allowed: an `error` in the file of frozen answers, or an override file for a cassette or a session script",
            ),
        ];
        for (layers, pairs, text) in cases {
            let error = resolve(layers, pairs).unwrap_err();
            assert_eq!(
                (error.kind(), error.to_string().as_str()),
                (ErrorKind::Config, text)
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_no_unicode_is_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        for name in ["VCR_OVERRIDE_FILE", "DSH_SNAPSHOT_FILE", "VCR_CHILD_FILES"] {
            let odd = std::ffi::OsString::from_vec(b"a\xff".to_vec());
            let source = ("VCR_SOURCE".into(), "session:p".into());
            let pairs = [source, (name.into(), odd)];
            let skip = usize::from(name == "DSH_SNAPSHOT_FILE");
            let environment = Environment::from_os_pairs(pairs.into_iter().skip(skip));
            let resolved = Settings::resolve(&[], &environment, &ProjectFile::default(), Mode::Replay);
            let error = resolved.unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{name}` holds")) && error.contains("is not UTF-8"),
                "{error}"
            );
        }
    }
}
