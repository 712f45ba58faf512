use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use super::nearest::hint;
use crate::json::{Json, Object, compact};

/// Every setting that can be written down as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Mode,
    Speed,
    Chaos,
    ChaosSeed,
    Tick,
    Targets,
    IncludeRaw,
    Matching,
    FixtureDir,
    Scenario,
    Invoker,
    Filename,
    Source,
    OverrideFile,
    ChildFiles,
    Session,
    Ignore,
    AllowUnused,
    Private,
    RetryAfter,
    KeepTransient,
    Cross,
    Repeat,
    Listen,
    Upstream,
    Idle,
    Grace,
    BodyLimit,
}

#[cfg(test)]
impl Key {
    /// Those of a session, as opposed to those of a daemon.
    pub(super) fn of_sessions() -> impl Iterator<Item = Self> {
        let rows = NAMES.iter().filter(|names| !names.file.starts_with("serve."));
        rows.map(|names| names.key)
    }
}

/// How a setting is called in each place; empty where it cannot stand.
struct Names {
    key: Key,
    variable: &'static str,
    metadata: &'static [&'static str],
    attribute: &'static str,
    file: &'static str,
}

/// The table of the documentation, row by row.
const NAMES: [Names; 28] = [
    row(Key::Mode, "VCR_MODE", &["vcr_mode", "vcr"], "mode", ""),
    row(Key::Speed, "VCR_SPEED", &["vcr_speed"], "speed", "speed"),
    row(Key::Chaos, "VCR_CHAOS", &["vcr_chaos"], "chaos", "chaos"),
    row(Key::ChaosSeed, "VCR_CHAOS_SEED", &[], "", ""),
    row(Key::Tick, "VCR_TICK", &["vcr_tick"], "tick", "tick"),
    row(Key::Targets, "VCR_TARGETS", &["vcr_target_trace"], "trace", ""),
    row(
        Key::IncludeRaw,
        "VCR_INCLUDE_RAW",
        &["vcr_include_raw"],
        "include_raw",
        "include_raw",
    ),
    row(
        Key::Matching,
        "VCR_MATCHING",
        &["vcr_matching"],
        "matching",
        "matching",
    ),
    row(
        Key::FixtureDir,
        "VCR_FIXTURE_DIR",
        &["vcr_fixture_dir"],
        "fixture_dir",
        "fixture_dir",
    ),
    row(Key::Scenario, "", &["vcr_scenario"], "scenario", ""),
    row(Key::Invoker, "", &["vcr_invoker"], "invoker", ""),
    row(Key::Filename, "", &["vcr_filename"], "filename", ""),
    row(Key::Source, "VCR_SOURCE", &[], "source", ""),
    row(Key::OverrideFile, "VCR_OVERRIDE_FILE", &[], "override_file", ""),
    row(Key::ChildFiles, "VCR_CHILD_FILES", &[], "child_files", ""),
    row(Key::Session, "", &["vcr_session"], "", ""),
    row(Key::Ignore, "", &[], "ignore", "ignore"),
    row(Key::AllowUnused, "", &[], "allow_unused", ""),
    row(Key::Private, "", &[], "private", ""),
    row(Key::RetryAfter, "", &[], "", "retry_after"),
    row(Key::KeepTransient, "", &[], "", "keep_transient"),
    row(Key::Cross, "", &[], "", "cross"),
    row(Key::Repeat, "VCR_REPEAT", &["vcr_repeat"], "", "repeat"),
    row(Key::Listen, "VCR_LISTEN", &[], "", "serve.listen"),
    row(Key::Upstream, "VCR_UPSTREAM", &[], "", "serve.upstream"),
    row(Key::Idle, "VCR_IDLE", &[], "", "serve.idle"),
    row(Key::Grace, "VCR_GRACE", &[], "", "serve.grace"),
    row(Key::BodyLimit, "VCR_BODY_LIMIT", &[], "", "serve.body_limit"),
];

/// The variables by which the harness that writes session scripts names its files.
const OF_SESSIONS: [(&str, Key); 3] = [
    ("DSH_SNAPSHOT_FILE", Key::Source),
    ("DSH_SNAPSHOT_OVERRIDE", Key::OverrideFile),
    ("DSH_SNAPSHOT_CHILD_FILES", Key::ChildFiles),
];

const fn row(
    key: Key,
    variable: &'static str,
    metadata: &'static [&'static str],
    attribute: &'static str,
    file: &'static str,
) -> Names {
    Names {
        key,
        variable,
        metadata,
        attribute,
        file,
    }
}

/// The known variables.
pub(super) fn variables() -> impl Iterator<Item = &'static str> {
    NAMES
        .iter()
        .map(|names| names.variable)
        .filter(|name| !name.is_empty())
}

/// The keys that may stand in a table of `vcr.toml`, and what they are called in all; the top has the name ``.
pub(super) fn file_keys(table: &str) -> impl Iterator<Item = (&'static str, &'static str, Key)> + Clone {
    NAMES
        .iter()
        .filter(|names| !names.file.is_empty())
        .filter_map(move |names| {
            let (place, key) = names.file.rsplit_once('.').unwrap_or(("", names.file));
            (place == table).then_some((key, names.file, names.key))
        })
}

fn metadata_keys() -> impl Iterator<Item = &'static str> {
    NAMES.iter().flat_map(|names| names.metadata).copied()
}

/// Where a layer's texts stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Origin {
    #[default]
    Environment,
    Metadata,
    Attribute,
    Builder,
    File(PathBuf),
}

/// One text of a layer, with the name that it has there.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) name: String,
    pub(super) text: String,
    /// A path as it is; its text may be a likeness of it.
    pub(super) path: Option<PathBuf>,
    line: usize,
}

/// The settings of one place, not yet understood.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    origin: Origin,
    pub(super) entries: Vec<Entry>,
    warnings: Vec<String>,
}

impl Layer {
    fn new(origin: Origin) -> Self {
        Self {
            origin,
            ..Self::default()
        }
    }

    fn add(&mut self, key: Key, name: impl Into<String>, text: impl Into<String>, line: usize) {
        self.entries.push(Entry {
            key,
            name: name.into(),
            text: text.into(),
            path: None,
            line,
        });
    }

    /// `odd` has the variables whose values are no Unicode, as they are.
    pub(super) fn environment(
        variables: &BTreeMap<String, String>,
        odd: &BTreeMap<String, OsString>,
    ) -> Self {
        let mut layer = Self::new(Origin::Environment);
        let named = NAMES.iter().map(|names| (names.variable, names.key));
        for (name, key) in named.chain(OF_SESSIONS) {
            let Some(text) = variables.get(name) else { continue };
            let odd = odd.get(name);
            match key {
                Key::ChildFiles => {
                    layer.add_paths(key, name, odd.map_or(text.as_ref(), OsString::as_os_str));
                    continue;
                }
                // A path alone: what is of another kind has no such variable.
                Key::Source if name != "VCR_SOURCE" && !text.trim().is_empty() => {
                    layer.add(key, name, format!("session:{text}"), 0);
                }
                _ => layer.add(key, name, text, 0),
            }
            if let (Some(path), Some(entry)) = (odd, layer.entries.last_mut()) {
                entry.path = Some(PathBuf::from(path));
            }
        }
        layer
    }

    /// An entry for each path of a list as the system writes it.
    fn add_paths(&mut self, key: Key, name: &str, list: &OsStr) {
        for path in std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()) {
            self.add(key, name, path.to_string_lossy(), 0);
            if let (None, Some(entry)) = (path.to_str(), self.entries.last_mut()) {
                entry.path = Some(path);
            }
        }
    }

    /// The control members (`vcr`, `vcr_…`) of a call's metadata or of a gateway request's body.
    pub(crate) fn metadata(members: &Object) -> Self {
        let mut layer = Self::new(Origin::Metadata);
        // By the table's order, so that `vcr_mode` is asked before `vcr`.
        for names in &NAMES {
            for name in names.metadata {
                if let Some(text) = members.get(name).and_then(text_of) {
                    layer.add(names.key, *name, text, 0);
                }
            }
        }
        for (name, _) in members.iter() {
            if name.starts_with("vcr_") && !metadata_keys().any(|known| known == name) {
                let hint = hint(name, metadata_keys());
                layer
                    .warnings
                    .push(format!("the metadata key `{name}` is not known{hint}"));
            }
        }
        layer
    }

    /// The literals of the attribute by its own key names. `env` leaves the choice to the environment.
    pub(crate) fn attribute<'a>(literals: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut layer = Self::new(Origin::Attribute);
        for (name, text) in literals {
            let row = NAMES.iter().find(|names| names.attribute == name);
            if let Some(names) = row.filter(|_| !text.trim().eq_ignore_ascii_case("env")) {
                layer.add(names.key, name, text, 0);
            }
        }
        layer
    }

    /// Values set in code; see [`Layer::set`].
    pub(crate) fn builder() -> Self {
        Self::new(Origin::Builder)
    }

    /// Sets a value, in its text form. [`Key::Ignore`] and [`Key::ChildFiles`] collect, the others replace.
    pub(crate) fn set(&mut self, key: Key, value: impl fmt::Display) {
        if !matches!(key, Key::Ignore | Key::ChildFiles) {
            self.entries.retain(|entry| entry.key != key);
        }
        let name = NAMES.iter().find(|names| names.key == key).map_or("", |names| {
            let named = [names.attribute, names.variable, names.file];
            named.into_iter().find(|name| !name.is_empty()).unwrap_or("")
        });
        self.add(key, name, value.to_string(), 0);
    }

    /// Sets a path, whatever its bytes.
    pub(crate) fn set_path(&mut self, key: Key, path: &Path) {
        self.set(key, path.display());
        if let Some(entry) = self.entries.last_mut() {
            entry.path = Some(path.to_owned());
        }
    }

    pub(super) fn file(path: PathBuf) -> Self {
        Self::new(Origin::File(path))
    }

    pub(super) fn add_from_file(&mut self, key: Key, name: &str, text: String, line: usize) {
        self.add(key, name, text, line);
    }

    /// One line for each key that nobody knows.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether its texts were written in code, for this session or call.
    pub(super) fn is_explicit(&self) -> bool {
        matches!(
            self.origin,
            Origin::Metadata | Origin::Attribute | Origin::Builder
        )
    }

    /// The place of an entry, for an error.
    pub(super) fn place(&self, entry: &Entry) -> String {
        let name = &entry.name;
        match &self.origin {
            Origin::Environment => format!("`{name}`"),
            Origin::Metadata => format!("the metadata key `{name}`"),
            Origin::Attribute => format!("the attribute key `{name}`"),
            Origin::Builder => format!("the builder's `{name}`"),
            Origin::File(path) => format!("`{name}` in {} line {}", path.display(), entry.line),
        }
    }
}

/// Scalars as they are written, lists with commas.
fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        Json::Array(items) => Some(items.iter().filter_map(text_of).collect::<Vec<_>>().join(",")),
        Json::Bool(_) | Json::Number(_) | Json::Object(_) => Some(compact(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(text: &str) -> Layer {
        Layer::metadata(crate::json::parse(text).unwrap().as_object().unwrap())
    }

    #[test]
    fn metadata_takes_scalars_and_warns_about_unknown_keys() {
        let layer = metadata(
            r#"{"vcr":"record","vcr_tick":50,"vcr_include_raw":true,"vcr_sped":"max","run":"x","vcrx":1,
                "vcr_target_trace":["a:b","c"],"vcr_chaos":null}"#,
        );
        let texts: Vec<_> = layer
            .entries
            .iter()
            .map(|entry| (entry.key, &*entry.text))
            .collect();
        assert_eq!(
            texts,
            [
                (Key::Mode, "record"),
                (Key::Tick, "50"),
                (Key::Targets, "a:b,c"),
                (Key::IncludeRaw, "true")
            ]
        );
        assert_eq!(
            layer.warnings(),
            ["the metadata key `vcr_sped` is not known, did you mean `vcr_speed`?"]
        );
    }

    #[test]
    fn env_in_the_attribute_is_unset() {
        let layer = Layer::attribute([("mode", "env"), ("speed", "max")]);
        assert_eq!(layer.entries.len(), 1);
        assert_eq!(layer.place(&layer.entries[0]), "the attribute key `speed`");
    }

    #[test]
    fn every_key_has_one_row() {
        for (index, names) in NAMES.iter().enumerate() {
            assert!(NAMES[index + 1..].iter().all(|other| other.key != names.key));
        }
    }
}
