//! What the expansion of `#[vcr_test]` calls. Not public, whatever its visibility says: it may change in any release.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Layer, Mode};
use crate::error::{Error, ErrorKind};
use crate::front::Vcr;
use crate::identity::Place;
use crate::scope::{self, Home, ThreadGuard};
use crate::session::{Opening, Session, Verdict};

/// What the attribute says, as literals; `None` leaves a setting to the environment.
#[derive(Debug)]
#[expect(missing_docs, reason = "the attribute's documentation describes its keys")]
pub struct Spec {
    pub package: &'static str,
    pub manifest_dir: &'static str,
    pub module: &'static str,
    pub function: &'static str,
    /// The function as it was written, where rstest made this one of it for a `#[values]`.
    pub made_of: Option<&'static str>,
    pub file: &'static str,
    pub line: u32,
    pub scenario: Option<&'static str>,
    pub invoker: Option<&'static str>,
    pub filename: Option<&'static str>,
    pub source: Option<&'static str>,
    pub override_file: Option<&'static str>,
    pub child_files: &'static [&'static str],
    pub fixture_dir: Option<&'static str>,
    pub mode: Option<&'static str>,
    pub speed: Option<&'static str>,
    pub tick: Option<&'static str>,
    pub chaos: Option<&'static str>,
    pub trace: Option<&'static str>,
    pub include_raw: Option<&'static str>,
    pub matching: Option<&'static str>,
    pub ignore: &'static [&'static str],
    pub allow_unused: bool,
    pub private: bool,
    pub worker_threads: Option<usize>,
    pub multi_thread: bool,
    pub start_paused: bool,
    /// The test carries `#[should_panic]`.
    pub should_panic: bool,
    pub asynchronous: bool,
}

impl Spec {
    /// The attribute without arguments.
    pub const DEFAULT: Self = Self {
        package: "",
        manifest_dir: "",
        module: "",
        function: "",
        made_of: None,
        file: "",
        line: 0,
        scenario: None,
        invoker: None,
        filename: None,
        source: None,
        override_file: None,
        child_files: &[],
        fixture_dir: None,
        mode: None,
        speed: None,
        tick: None,
        chaos: None,
        trace: None,
        include_raw: None,
        matching: None,
        ignore: &[],
        allow_unused: false,
        private: false,
        worker_threads: None,
        multi_thread: false,
        start_paused: false,
        should_panic: false,
        asynchronous: true,
    };

    fn layer(&self) -> Layer {
        let texts = [
            ("scenario", self.scenario),
            ("invoker", self.invoker),
            ("filename", self.filename),
            ("source", self.source),
            ("override_file", self.override_file),
            ("fixture_dir", self.fixture_dir),
            ("mode", self.mode),
            ("speed", self.speed),
            ("tick", self.tick),
            ("chaos", self.chaos),
            ("trace", self.trace),
            ("include_raw", self.include_raw),
            ("matching", self.matching),
            ("allow_unused", self.allow_unused.then_some("true")),
            ("private", self.private.then_some("true")),
        ];
        let given = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let lists = [("child_files", self.child_files), ("ignore", self.ignore)];
        let listed = lists
            .into_iter()
            .flat_map(|(name, texts)| texts.iter().map(move |text| (name, *text)));
        Layer::attribute(given.chain(listed))
    }

    const fn place(&self) -> Place<'static> {
        Place {
            package: self.package,
            module_path: self.module,
            function: self.function,
            made_of: self.made_of,
            manifest_dir: self.manifest_dir,
        }
    }
}

/// The test's own function, its future type erased so that the runtime is instantiated once a return type.
#[expect(
    missing_debug_implementations,
    reason = "function pointers that nobody prints"
)]
pub enum Body<T> {
    /// An `async fn`.
    Async(fn(Vcr) -> Pin<Box<dyn Future<Output = T>>>),
    /// A `fn`.
    Sync(fn(Vcr) -> T),
}

/// What a test may return.
#[diagnostic::on_unimplemented(
    message = "a `#[vcr_test]` cannot return `{Self}`",
    label = "this return type says neither success nor failure",
    note = "return `()`, `Result<T, E>` or `ExitCode`"
)]
pub trait Outcome {
    /// Whether the test passed.
    fn passed(&self) -> bool;

    /// What a test returns that did nothing. Only what `#[should_panic]` allows, which is `()`, has it.
    #[must_use]
    fn nothing() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

impl Outcome for () {
    fn passed(&self) -> bool {
        true
    }

    fn nothing() -> Option<Self> {
        Some(())
    }
}

impl<T, E> Outcome for Result<T, E> {
    fn passed(&self) -> bool {
        self.is_ok()
    }
}

impl Outcome for ExitCode {
    fn passed(&self) -> bool {
        *self == Self::SUCCESS
    }
}

/// How long a test's runtime may take to stop; blocking work cannot be cancelled.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// Runs a test: opens its session, runs its body inside, and decides.
pub fn run<T: Outcome>(spec: &'static Spec, body: Body<T>) -> T {
    let opening = Opening {
        place: spec.place(),
        layers: vec![spec.layer()],
        default_mode: Mode::Replay,
        start_paused: spec.start_paused,
        breaker: None,
    };
    let session = match Session::open(opening) {
        Ok(session) => Arc::new(session),
        Err(error) => return fail(spec, &error),
    };
    let vcr = Vcr::of(session);
    let result = {
        let _ambient = ThreadGuard::enter(Home::of(Arc::clone(&vcr.session)));
        match body {
            Body::Sync(body) => catch_unwind(AssertUnwindSafe(|| body(vcr.clone()))),
            Body::Async(body) => match runtime(spec, &vcr) {
                Ok(runtime) => block_on(runtime, &vcr, body),
                Err(error) => return fail(spec, &error),
            },
        }
    };
    vcr.session.end();
    let passed = match &result {
        Ok(output) => output.passed() && !spec.should_panic,
        Err(_) => spec.should_panic,
    };
    let mut verdict = vcr.conclude_blocking(passed);
    if !passed {
        let reports = first_cause(&mut verdict);
        reports.iter().for_each(|line| say(line));
    }
    let notes = &verdict.report.notes;
    let is_good = passed && verdict.failure.is_none();
    let told = notes.len() - if is_good { verdict.remarks } else { 0 };
    for note in &notes[..told] {
        say(&format!("vcr: {note}"));
    }
    if let Some(line) = &verdict.line {
        say(line);
    }
    match (result, verdict.failure) {
        (_, Some(error)) if passed => fail(spec, &error),
        (result, failure) => {
            // The first cause is the failure; what the session has to say is a note beside it.
            if let Some(error) = failure {
                say(&error.to_string());
            }
            result.unwrap_or_else(|panic| resume_unwind(panic))
        }
    }
}

/// What is said about a test that failed by itself, before the rest: nothing that follows is its cause, unless a call of its
/// own was refused.
fn first_cause(verdict: &mut Verdict) -> Vec<String> {
    let leftovers = verdict
        .failure
        .take_if(|error| error.kind() == ErrorKind::Verdict);
    let Verdict {
        report,
        failure: None,
        line,
        remarks: _,
    } = verdict
    else {
        return Vec::new();
    };
    if leftovers.is_none() && report.notes.is_empty() && line.is_none() {
        return Vec::new();
    }
    let mut lines =
        vec!["vcr: the test failed by itself, and that is the cause; what follows is not".to_owned()];
    let first = leftovers
        .as_ref()
        .and_then(|error| error.message().lines().next());
    lines.extend(first.map(|first| format!("vcr: {first}")));
    lines
}

/// Runs an asynchronous body on the test's own runtime and stops the runtime.
fn block_on<T>(
    runtime: tokio::runtime::Runtime,
    vcr: &Vcr,
    body: fn(Vcr) -> Pin<Box<dyn Future<Output = T>>>,
) -> std::thread::Result<T> {
    let handle = vcr.clone();
    let result = catch_unwind(AssertUnwindSafe(|| runtime.block_on(vcr.scope(body(handle)))));
    vcr.session.end();
    vcr.session.ledger().alive = runtime.handle().metrics().num_alive_tasks();
    runtime.shutdown_timeout(SHUTDOWN);
    result
}

fn runtime(spec: &Spec, vcr: &Vcr) -> Result<tokio::runtime::Runtime, Error> {
    let mut builder = builder(spec);
    builder.enable_all();
    let session = Arc::clone(&vcr.session);
    builder.on_thread_start(move || scope::adopt_thread(Arc::clone(&session)));
    pause(&mut builder, spec, vcr);
    builder.build().map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("the test's runtime could not be started: {error}"),
            "raise the limits on threads and open files",
        )
    })
}

#[cfg(feature = "multi-thread")]
fn builder(spec: &Spec) -> tokio::runtime::Builder {
    if !spec.multi_thread {
        return tokio::runtime::Builder::new_current_thread();
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = spec.worker_threads {
        builder.worker_threads(threads);
    }
    builder
}

#[cfg(not(feature = "multi-thread"))]
fn builder(_: &Spec) -> tokio::runtime::Builder {
    // The attribute refuses `flavor = "multi_thread"` without the feature.
    tokio::runtime::Builder::new_current_thread()
}

#[cfg_attr(
    not(feature = "paused-time"),
    expect(clippy::needless_pass_by_ref_mut, reason = "the feature sets the clock")
)]
/// A paused clock is for replay: live, every timeout would fire while the network is awaited.
fn pause(builder: &mut tokio::runtime::Builder, spec: &Spec, vcr: &Vcr) {
    if !spec.start_paused {
        return;
    }
    if vcr.mode() == Mode::Replay {
        #[cfg(feature = "paused-time")]
        builder.start_paused(true);
    } else {
        vcr.session
            .ledger()
            .note(format!("`start_paused` has no effect in mode {}", vcr.mode()));
    }
    // Without the feature, whose absence the attribute reports, there is nothing to set.
    let _ = builder;
}

/// Fails a test that did not fail by itself.
fn fail<T: Outcome>(spec: &Spec, error: &Error) -> T {
    let text = format!("{error}\n  at        {}:{}", spec.file, spec.line);
    say(&text);
    if spec.should_panic
        && let Some(nothing) = T::nothing()
    {
        // Our panic would be taken for the test's own. Without one the runner fails it.
        say("the session fails this `#[should_panic]` test, so its panic is withheld");
        return nothing;
    }
    // Not `panic!`: its hook would print the report once more, with a backtrace that leads nowhere.
    resume_unwind(Box::new(text))
}

/// Prints for the test's captured output.
fn say(text: &str) {
    eprintln!("{text}");
}

#[cfg(test)]
mod tests;
