//! Throw-away cargo projects: for what only a user's own `cargo test` shows, such as exit codes and printed reports.
//!
//! A project is named, not temporary: its folder lies in the target directory and is rewritten only where it changed, so
//! that many tests, in one process or in many, share one compilation.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Makes a missing cargo-nextest an error.
pub const REQUIRE_NEXTEST: &str = "VCR_REQUIRE_NEXTEST";

/// A cargo project that depends on the runtime by path.
#[derive(Clone, Debug)]
pub struct Project {
    directory: PathBuf,
    target: PathBuf,
}

/// Who runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// `cargo test`.
    Test,
    /// `cargo nextest run`.
    Nextest,
}

/// One run of a project's tests, before it starts.
#[derive(Debug)]
pub struct Run {
    command: Command,
    runner: Runner,
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the runner called it a success.
    pub success: bool,
    /// Both streams, stdout first.
    pub output: String,
}

impl Project {
    /// The project of that name, with these files beside the `Cargo.toml` that is written for it.
    ///
    /// # Panics
    /// When the files cannot be written.
    #[must_use]
    pub fn new(name: &str, files: &[(&str, &str)]) -> Self {
        Self::with_manifest(name, "", files)
    }

    /// The same with more text at the end of `Cargo.toml`, where `[dependencies]` is the open table.
    ///
    /// # Panics
    /// When the files cannot be written.
    #[must_use]
    pub fn with_manifest(name: &str, more: &str, files: &[(&str, &str)]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("the workspace");
        let target = target_directory().join("functional");
        let directory = target.join("projects").join(name);
        fs::create_dir_all(directory.join("src")).expect("the project's folder");
        let lock = File::create(target.join("projects").join(format!("{name}.lock"))).expect("a lock file");
        lock.lock().expect("the lock");
        let manifest = manifest(name, root, more);
        let lockfile = fs::read_to_string(root.join("Cargo.lock")).expect("the workspace's lock file");
        write(&directory.join("Cargo.toml"), &manifest);
        if !directory.join("Cargo.lock").exists()
            || newer(&root.join("Cargo.lock"), &directory.join("Cargo.lock"))
        {
            write(&directory.join("Cargo.lock"), &lockfile);
        }
        write(&directory.join("src/lib.rs"), "");
        for (path, text) in files {
            write(&directory.join(path), text);
        }
        Self { directory, target }
    }

    /// The project that most tests share, so that it is compiled once: one target a file of `tests/projects`.
    ///
    /// # Panics
    /// When the files cannot be written.
    #[must_use]
    pub fn shared() -> Self {
        let more = "rstest = { version = \"0.29\", default-features = false }";
        Self::with_manifest(
            "functional",
            more,
            &[
                ("tests/verdict.rs", include_str!("../projects/verdict.rs")),
                ("tests/cases.rs", include_str!("../projects/cases.rs")),
                ("tests/shared_file.rs", include_str!("../projects/shared_file.rs")),
                ("tests/clock.rs", include_str!("../projects/clock.rs")),
                ("tests/many.rs", include_str!("../projects/many.rs")),
            ],
        )
    }

    /// Where it lies.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A run of the test that is named exactly `test` in the target `tests/{target}.rs`; `None` with a note when the
    /// runner is not installed.
    #[must_use]
    pub fn run(&self, runner: Runner, target: &str, test: &str) -> Option<Run> {
        let mut command = self.cargo();
        match runner {
            Runner::Test => command.args([
                "test",
                "--offline",
                "--quiet",
                "--test",
                target,
                "--",
                "--exact",
                test,
            ]),
            Runner::Nextest => {
                if !has_nextest() {
                    return None;
                }
                let filter = format!("test(={test})");
                command.args(["nextest", "run", "--offline", "--no-fail-fast", "--color=never"]);
                command.args(["--test", target, "-E", &filter])
            }
        };
        Some(Run { command, runner })
    }

    /// A run of a whole target with `cargo test` and these arguments after the double dash.
    #[must_use]
    pub fn run_all(&self, target: &str, arguments: &[&str]) -> Run {
        let mut command = self.cargo();
        command
            .args(["test", "--offline", "--quiet", "--test", target, "--"])
            .args(arguments);
        Run {
            command,
            runner: Runner::Test,
        }
    }

    /// A run of one test by its executable, without a runner: quick, and for what depends on the process alone.
    ///
    /// # Panics
    /// When the project does not compile.
    #[must_use]
    pub fn direct(&self, target: &str, test: &str) -> Run {
        let executables = self.build();
        let name = |path: &&PathBuf| {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            stem.is_some_and(|stem| stem.rsplit_once('-').is_some_and(|(name, _)| name == target))
        };
        let mut command = Command::new(executables.iter().find(name).expect("the target's executable"));
        command.current_dir(&self.directory).stdin(Stdio::null());
        clean(&mut command);
        command
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .args(["--exact", test, "--nocapture"]);
        Run {
            command,
            runner: Runner::Test,
        }
    }

    /// Compiles the tests and returns their executables.
    ///
    /// # Panics
    /// When they do not compile.
    #[must_use]
    pub fn build(&self) -> Vec<PathBuf> {
        let mut command = self.cargo();
        command.args([
            "test",
            "--offline",
            "--quiet",
            "--tests",
            "--no-run",
            "--message-format=json",
        ]);
        let output = command.output().expect("cargo");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the project does not compile:\n{errors}");
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
            .collect()
    }

    fn cargo(&self) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut command = Command::new(cargo);
        command.current_dir(&self.directory).stdin(Stdio::null());
        clean(&mut command);
        command
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_TERM_COLOR", "never");
        command
    }
}

impl Run {
    /// With a fixture directory, by its variable.
    #[must_use]
    pub fn fixtures(self, directory: &Path) -> Self {
        self.env("VCR_FIXTURE_DIR", directory)
    }

    /// With a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With an input that stays open until the caller closes it.
    #[must_use]
    pub fn with_input(mut self) -> Self {
        self.command.stdin(Stdio::piped());
        self
    }

    /// Starts it without waiting.
    ///
    /// # Panics
    /// When the runner cannot be started.
    #[must_use]
    pub fn spawn(mut self) -> Child {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().expect("the test runner")
    }

    /// Runs it.
    ///
    /// # Panics
    /// When the runner cannot be started, and when no test ran at all: a filter that finds nothing is a mistake.
    #[must_use]
    pub fn outcome(mut self) -> Outcome {
        let output = self.command.output().expect("the test runner");
        let outcome = Outcome::of(output);
        assert!(
            !outcome.output.contains("could not compile"),
            "the project does not compile:\n{}",
            outcome.output
        );
        let ran = match self.runner {
            Runner::Test => outcome.output.contains("running 1 test") || outcome.output.contains("tests"),
            Runner::Nextest => {
                outcome.output.contains("Starting ") && !outcome.output.contains("Starting 0 tests")
            }
        };
        assert!(ran, "no test ran:\n{}", outcome.output);
        outcome
    }
}

impl Outcome {
    /// What a process left behind.
    #[must_use]
    pub fn of(output: std::process::Output) -> Self {
        let text = [output.stdout, output.stderr].concat();
        Self {
            success: output.status.success(),
            output: String::from_utf8_lossy(&text).into_owned(),
        }
    }

    /// Asserts success or failure, with the output as the reason.
    ///
    /// # Panics
    /// When it went the other way.
    pub fn expect(&self, success: bool) -> &Self {
        assert_eq!(self.success, success, "unexpected outcome:\n{}", self.output);
        self
    }

    /// Asserts that the output has this text.
    ///
    /// # Panics
    /// When it has not.
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.output.contains(text), "{text:?} is not in:\n{}", self.output);
        self
    }

    /// Asserts that the output does not have this text.
    ///
    /// # Panics
    /// When it has.
    pub fn never_says(&self, text: &str) -> &Self {
        assert!(!self.output.contains(text), "{text:?} is in:\n{}", self.output);
        self
    }
}

/// Removes what the surrounding run must not hand down: settings of the product, of test runners, of this package.
pub fn clean(command: &mut Command) {
    const PREFIXES: [&str; 7] = [
        "VCR_",
        "DSH_SNAPSHOT_",
        "NEXTEST",
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
    ];
    const NAMES: [&str; 5] = ["CI", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "RUST_BACKTRACE"];
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let upper = text.to_ascii_uppercase();
        if PREFIXES.iter().any(|prefix| upper.starts_with(prefix)) || NAMES.contains(&upper.as_str()) {
            command.env_remove(text);
        }
    }
}

/// Whether nextest can be run.
///
/// # Panics
/// When it cannot, although [`REQUIRE_NEXTEST`] is set.
#[must_use]
pub fn has_nextest() -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let found = Command::new(cargo)
        .args(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        assert!(
            std::env::var_os(REQUIRE_NEXTEST).is_none(),
            "{REQUIRE_NEXTEST} is set, but there is no nextest"
        );
        eprintln!("skipped: cargo-nextest is not installed; {REQUIRE_NEXTEST} makes this an error");
    }
    found
}

/// The target directory of the running test.
fn target_directory() -> PathBuf {
    let executable = std::env::current_exe().expect("the test's own path");
    let mut above = executable.ancestors();
    let found = above.find(|path| path.join("CACHEDIR.TAG").exists());
    found.map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
        Path::to_owned,
    )
}

fn manifest(name: &str, root: &Path, more: &str) -> String {
    let path = |crate_name: &str| root.join(crate_name).display().to_string().replace('\\', "/");
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [profile.dev]\ndebug = false\n\n[dependencies]\nserde_json = \"1\"\n\
         tokio = {{ version = \"1\", features = [\"rt\", \"time\", \"macros\"] }}\n\
         vcr-runtime = {{ path = \"{}\", features = [\"multi-thread\", \"paused-time\"] }}\nvcr-tests = {{ path = \"{}\" }}\n{more}\n",
        path("vcr-runtime"),
        path("tests"),
    )
}

/// Writes only what differs, so that cargo does not build again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn newer(left: &Path, right: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    time(left) > time(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_this_run_reaches_a_project() {
        let mut command = Command::new("true");
        clean(&mut command);
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
        let has = |name: &str| removed.iter().any(|(own, _)| *own == name);
        assert!(has("CARGO_PKG_NAME"), "cargo and nextest both set it");
        assert!(!has("PATH"));
    }

    #[test]
    fn the_target_directory_is_the_one_in_use() {
        let executable = std::env::current_exe().unwrap();
        assert!(
            executable.starts_with(target_directory()),
            "{}",
            target_directory().display()
        );
    }
}
