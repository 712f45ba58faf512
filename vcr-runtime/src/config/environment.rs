use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use once_cell::sync::OnceCell;

use super::layer::{self, Layer};
use super::nearest::hint;

/// `VCR_*` names that other parts of the product define; they are known, but no settings.
const OTHER_NAMES: [&str; 3] = ["VCR_LOCALE", "VCR_REAL_TRAFFIC", "VCR_REQUIRE_NEXTEST"];

/// How the variables of a harness's settings begin.
pub(crate) const HARNESS: &str = "VCR_HARNESS_";

static SNAPSHOT: OnceCell<Environment> = OnceCell::new();

/// Runs before `main`, hence before any test can change a variable. Nothing here prints or panics: standard output is
/// not ready yet, and test runners list the tests of a binary by reading its output.
#[ctor::ctor(unsafe)]
fn before_main() {
    // Already set: impossible before main, and harmless.
    let _ = SNAPSHOT.set(Environment::capture());
    #[cfg(test)]
    tests::BEFORE_MAIN.store(true, std::sync::atomic::Ordering::Relaxed);
}

/// The environment as it was when the process started.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Those whose values are no Unicode, as they are; `variables` has a likeness of them.
    odd: BTreeMap<String, OsString>,
    layer: Layer,
}

impl Environment {
    /// This process's environment, taken once before `main`. Where the linker dropped the constructor, taken now.
    pub(crate) fn process() -> &'static Self {
        SNAPSHOT.get_or_init(Self::capture)
    }

    fn capture() -> Self {
        // `vars` would panic on names and values that are no Unicode.
        Self::from_os_pairs(std::env::vars_os())
    }

    /// An environment of any bytes.
    pub(crate) fn from_os_pairs(pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut odd = BTreeMap::new();
        let mut variables = BTreeMap::new();
        for (name, value) in pairs {
            let name = name.to_string_lossy().into_owned();
            variables.insert(name.clone(), value.to_string_lossy().into_owned());
            if value.to_str().is_none() {
                odd.insert(name, value);
            }
        }
        Self::new(variables, odd)
    }

    fn new(variables: BTreeMap<String, String>, odd: BTreeMap<String, OsString>) -> Self {
        let layer = Layer::environment(&variables, &odd);
        Self {
            variables,
            odd,
            layer,
        }
    }

    /// Where the package is now, as cargo says; otherwise where it was compiled.
    pub(crate) fn manifest_dir<'a>(&'a self, compiled: &'a str) -> &'a Path {
        const NAME: &str = "CARGO_MANIFEST_DIR";
        match self.odd.get(NAME) {
            Some(odd) => Path::new(odd),
            None => Path::new(self.get(NAME).unwrap_or(compiled)),
        }
    }

    /// An environment of one's own.
    #[cfg(test)]
    pub(crate) fn from_pairs<N: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self::new(pairs.collect(), BTreeMap::new())
    }

    /// The value of a variable; one that is empty says nothing.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.trim().is_empty())
    }

    /// Every variable that says something.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(_, value)| !value.trim().is_empty())
    }

    /// Whether this is a continuous-integration run, where nothing is ever recorded by accident.
    pub(crate) fn ci(&self) -> bool {
        self.get("CI").is_some_and(|value| {
            let value = value.trim();
            value != "0" && !value.eq_ignore_ascii_case("false")
        })
    }

    /// The settings among the variables.
    pub(super) fn layer(&self) -> &Layer {
        &self.layer
    }

    /// One line for each `VCR_*` variable that nobody knows.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let known = || layer::variables().chain(OTHER_NAMES);
        self.variables
            .keys()
            // The harness looks after its own.
            .filter(|name| name.starts_with("VCR_") && !name.starts_with(HARNESS))
            .filter(|name| !known().any(|other| other == *name))
            .map(|name| format!("the variable `{name}` is not known{}", hint(name, known())))
            .collect()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may be secrets.
        formatter
            .debug_struct("Environment")
            .field("variables", &self.variables.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    pub(super) static BEFORE_MAIN: AtomicBool = AtomicBool::new(false);

    #[test]
    fn the_process_environment_is_taken_before_main() {
        assert!(BEFORE_MAIN.load(Ordering::Relaxed));
        assert_eq!(
            Environment::process().get("PATH"),
            std::env::var("PATH").ok().as_deref()
        );
    }

    #[test]
    fn ci_is_set_unless_it_says_no() {
        for (value, ci) in [
            ("true", true),
            ("1", true),
            ("woodpecker", true),
            ("", false),
            (" ", false),
            ("0", false),
            ("False", false),
        ] {
            assert_eq!(Environment::from_pairs([("CI", value)]).ci(), ci, "{value:?}");
        }
        assert!(!Environment::default().ci());
    }

    #[test]
    fn unknown_names_are_warned_about_with_the_nearest_one() {
        let environment = Environment::from_pairs([
            ("VCR_MODE", "replay"),
            ("VCR_MOED", "record"),
            ("VCR_REAL_TRAFFIC", "1"),
            ("VCR_QQQQQQQQQQ", "1"),
            ("MY_VCR_X", "1"),
        ]);
        assert_eq!(
            environment.warnings(),
            [
                "the variable `VCR_MOED` is not known, did you mean `VCR_MODE`?",
                "the variable `VCR_QQQQQQQQQQ` is not known",
            ]
        );
    }

    #[test]
    fn debug_shows_no_value() {
        let environment = Environment::from_pairs([("OPENAI_API_KEY", "canary-value")]);
        assert!(!format!("{environment:?}").contains("canary"));
    }
}
