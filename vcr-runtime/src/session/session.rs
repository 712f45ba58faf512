//! A session: one test's cassettes, settings and ledger. Every front asks it what to do with a call.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use once_cell::sync::OnceCell;

use super::breaker::StreamBreaker;
use super::ledger::Ledger;
use super::play::{Played, check_shape};
use super::recorder::{CallRecorder, Keep};
use super::tape::{Found, Label, Role, Tape, Tapes};
use crate::canon::{self, IgnorePaths};
use crate::config::{Chaos, Environment, Jitter, Layer, Matching, Mode, ProjectFile, Settings, SourceName};
use crate::error::{Error, ErrorKind, Result};
use crate::identity::{Identity, Place, Registry};
use crate::json::Object;
use crate::model::CanonicalRequest;
use crate::observe::{self, Asked, Outcome, Reason};
use crate::protocol::{Providers, Wire};
use crate::redact::Redactor;
use crate::source::{Answer, CassetteSource, Comparison, FrozenSource, How, Remedy, Source, Where};

/// Everything that a session is opened with.
pub(crate) struct Opening {
    pub(crate) place: Place<'static>,
    /// In order of precedence, the strongest first.
    pub(crate) layers: Vec<Layer>,
    pub(crate) default_mode: Mode,
    /// The attribute asked for a paused clock.
    pub(crate) start_paused: bool,
    pub(crate) breaker: Option<Arc<dyn StreamBreaker>>,
}

/// What the sessions of one project have in common.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) project: Arc<ProjectFile>,
    pub(crate) providers: Providers,
    pub(crate) environment: &'static Environment,
    pub(crate) redactor: Arc<Redactor>,
}

impl Surroundings {
    /// # Errors
    /// `Config` for a provider or a rule of redaction that cannot be used.
    pub(crate) fn of(project: Arc<ProjectFile>) -> Result<Self> {
        let environment = Environment::process();
        Ok(Self {
            providers: Providers::of(&project)?,
            redactor: Arc::new(Redactor::new(&project.redact, environment)?),
            environment,
            project,
        })
    }
}

/// One test's session.
pub(crate) struct Session {
    pub(crate) place: Place<'static>,
    layers: Vec<Layer>,
    default_mode: Mode,
    pub(crate) start_paused: bool,
    around: Surroundings,
    settings: Arc<Settings>,
    pub(crate) remedy: Remedy,
    breaker: Mutex<Option<Arc<dyn StreamBreaker>>>,
    tapes: Mutex<Tapes>,
    /// The tape of calls without settings of their own, found once: naming a file costs more than answering a call.
    own: OnceLock<Arc<Tape>>,
    ledger: Mutex<Ledger>,
    ended: AtomicBool,
    /// What a front keeps for the session's life, such as a server. The session itself knows no front.
    pub(crate) front: OnceCell<Box<dyn Any + Send + Sync>>,
}

/// What a front has to do with a call.
#[expect(
    clippy::large_enum_variant,
    reason = "made once a call and taken apart at once; a box would cost more"
)]
#[derive(Debug)]
pub(crate) enum Turn {
    /// Pass it through and keep nothing.
    Live,
    Record(CallRecorder),
    Replay(Played),
}

/// Whether any session was ever opened in this process: from then on a call outside every session is refused.
static OPENED: AtomicBool = AtomicBool::new(false);

impl Session {
    /// Opens the session of a test.
    ///
    /// # Errors
    /// `Config` for a value outside its set.
    pub(crate) fn open(opening: Opening) -> Result<Self> {
        let session = Self::open_for_one_call(opening)?;
        OPENED.store(true, Ordering::Release);
        Ok(session)
    }

    /// Opens a session that is no test's: calls outside of it stay what they were.
    pub(crate) fn open_for_one_call(opening: Opening) -> Result<Self> {
        let environment = Environment::process();
        let manifest_dir = environment
            .get("CARGO_MANIFEST_DIR")
            .unwrap_or(opening.place.manifest_dir);
        let project = ProjectFile::load(Path::new(manifest_dir))?;
        let layers: Vec<&Layer> = opening.layers.iter().collect();
        let mut settings = Settings::resolve(&layers, environment, &project, opening.default_mode)?;
        let draws = matches!(settings.chaos, Chaos::Jitter { .. });
        if draws && settings.chaos_seed.is_none() {
            settings.chaos_seed = Some(Jitter::fresh_seed());
        }
        let mut ledger = Ledger::default();
        for warning in environment.warnings() {
            ledger.note(warning);
        }
        if let (true, Some(seed)) = (draws, settings.chaos_seed) {
            ledger.note(format!("chaos latency was drawn with VCR_CHAOS_SEED={seed}"));
        }
        let remedy = Remedy::Test(opening.place.filter());
        let mut session = Self::with(
            Surroundings::of(project)?,
            opening.place,
            Arc::new(settings),
            remedy,
        );
        session.layers = opening.layers;
        session.default_mode = opening.default_mode;
        session.start_paused = opening.start_paused;
        session.breaker = Mutex::new(opening.breaker);
        session.ledger = Mutex::new(ledger);
        Ok(session)
    }

    /// A session whose settings are known already, for fronts that are no test.
    pub(crate) fn with(
        around: Surroundings,
        place: Place<'static>,
        settings: Arc<Settings>,
        remedy: Remedy,
    ) -> Self {
        Self {
            place,
            layers: Vec::new(),
            default_mode: settings.mode,
            start_paused: false,
            around,
            settings,
            remedy,
            breaker: Mutex::default(),
            tapes: Mutex::default(),
            own: OnceLock::new(),
            ledger: Mutex::default(),
            ended: AtomicBool::new(false),
            front: OnceCell::new(),
        }
    }

    /// Whether a session was ever opened in this process.
    pub(crate) fn any_opened() -> bool {
        OPENED.load(Ordering::Acquire)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The protocols that the project knows.
    pub(crate) fn providers(&self) -> &Providers {
        &self.around.providers
    }

    pub(crate) fn project(&self) -> &ProjectFile {
        &self.around.project
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_breaker(&self, breaker: Arc<dyn StreamBreaker>) {
        *self.breaker.lock().unwrap_or_else(PoisonError::into_inner) = Some(breaker);
    }

    /// Whether no call of this session goes to an upstream, unless its own metadata say so.
    pub(crate) fn only_replays(&self) -> bool {
        self.settings.effective_mode() == Mode::Replay
    }

    /// The full path of the test; only its package where there is no test.
    pub(crate) fn test(&self) -> String {
        self.place.test_path()
    }

    /// Remembers a fault of a call and gives it back.
    pub(crate) fn fault(&self, error: Error) -> Error {
        self.ledger().fault(error)
    }

    /// Decides about one call. `wire` is the protocol in which the caller will read the answer; `control` holds the
    /// call's own `vcr…` members. Every error is in the ledger already.
    pub(crate) fn begin(
        &self,
        request: CanonicalRequest,
        wire: Option<&'static dyn Wire>,
        control: &Object,
    ) -> Result<Turn> {
        self.begin_with(request, wire, self.settings_of(control))
    }

    /// The same with the call's settings, where they could be read.
    pub(crate) fn begin_with(
        &self,
        mut request: CanonicalRequest,
        wire: Option<&'static dyn Wire>,
        settings: Result<Arc<Settings>>,
    ) -> Result<Turn> {
        if self.ended.load(Ordering::Acquire) {
            return Err(self.late());
        }
        let settings = settings.map_err(|error| self.fault(error))?;
        let asked = asked(wire);
        if settings.effective_mode() == Mode::Live {
            self.ledger().live += 1;
            observe::call(asked, Outcome::Live);
            return Ok(Turn::Live);
        }
        self.around.redactor.request(&mut request);
        let turn = self.turn(&request, wire, &settings);
        let outcome = match &turn {
            Ok(Turn::Live) => Outcome::Live,
            Ok(Turn::Record(_)) => Outcome::Recorded,
            Ok(Turn::Replay(_)) => Outcome::Matched,
            Err((_, Some(reason))) => Outcome::Missed(*reason),
            Err((_, None)) => Outcome::Failed,
        };
        observe::call(asked, outcome);
        turn.map_err(|(error, _)| self.fault(error))
    }

    fn turn(
        &self,
        request: &CanonicalRequest,
        wire: Option<&'static dyn Wire>,
        settings: &Arc<Settings>,
    ) -> std::result::Result<Turn, (Error, Option<Reason>)> {
        let tape = self
            .tape(settings, Some(request))
            .map_err(|error| (error, None))?;
        let servable = |call: &crate::model::Call| check_shape(call, request, wire);
        // A recording that is being mended has no order yet.
        let matching = match (tape.role, settings.matching) {
            (Role::New, Matching::Sequential) => Matching::Keyed,
            (_, matching) => matching,
        };
        let how = How {
            matching,
            repeat: settings.repeat,
        };
        match tape.find(request, how, &servable) {
            Ok(Found::Play(Answer { index, call })) => {
                self.ledger().served += 1;
                let call = match wire {
                    Some(_) if call.is_of_another_protocol(&request.protocol) => {
                        Arc::new(Arc::unwrap_or_clone(call).for_another_protocol())
                    }
                    _ => call,
                };
                let id = format!("vcr-{}", tape.id().get(..8).unwrap_or("00000000"));
                Ok(Turn::Replay(Played {
                    call,
                    index,
                    settings: Arc::clone(settings),
                    id,
                }))
            }
            Ok(Found::Record(slot)) => {
                self.ledger().recorded += 1;
                let hash = tape.hash(request);
                let keep = Keep {
                    tick_us: settings.tick_us,
                    include_raw: settings.include_raw,
                };
                let breaker = self
                    .breaker
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                Ok(Turn::Record(CallRecorder::new(
                    tape,
                    slot,
                    keep,
                    request.clone(),
                    hash,
                    breaker,
                )))
            }
            Err(not_taken) => {
                let test = self.test();
                let place = Where {
                    test: &test,
                    remedy: &self.remedy,
                    matching: settings.matching,
                    private: settings.private,
                };
                let reason = not_taken.reason();
                Err((tape.explain(request, not_taken, place), Some(reason)))
            }
        }
    }

    fn late(&self) -> Error {
        self.ledger().late += 1;
        Error::new(
            ErrorKind::Ended,
            format!("a call came after its test `{}` had ended", self.test()),
            "await the task that makes it before the test returns",
        )
    }

    /// The session's settings, overridden by a call's own members.
    pub(crate) fn settings_of(&self, control: &Object) -> Result<Arc<Settings>> {
        if control.is_empty() {
            return Ok(Arc::clone(&self.settings));
        }
        let metadata = Layer::metadata(control);
        for warning in metadata.warnings() {
            self.ledger().note(warning.clone());
        }
        let mut layers = vec![&metadata];
        layers.extend(&self.layers);
        let mut settings = Settings::resolve(
            &layers,
            self.around.environment,
            self.project(),
            self.default_mode,
        )?;
        settings.chaos_seed = settings.chaos_seed.or(self.settings.chaos_seed);
        // A call that names a cassette means that cassette.
        if ["vcr_scenario", "vcr_filename"]
            .iter()
            .any(|name| control.get(name).is_some())
        {
            settings.source = None;
        }
        Ok(Arc::new(settings))
    }

    /// The cassette of a call, opened at its first use.
    fn tape(&self, settings: &Arc<Settings>, request: Option<&CanonicalRequest>) -> Result<Arc<Tape>> {
        let own = Arc::ptr_eq(settings, &self.settings);
        if let Some(tape) = self.own.get().filter(|_| own) {
            return Ok(Arc::clone(tape));
        }
        let (tape, named) = self.named_tape(settings, request)?;
        if own && named {
            return Ok(Arc::clone(self.own.get_or_init(|| tape)));
        }
        Ok(tape)
    }

    /// The cassette by its name, and whether the name holds for every call with these settings.
    fn named_tape(
        &self,
        settings: &Settings,
        request: Option<&CanonicalRequest>,
    ) -> Result<(Arc<Tape>, bool)> {
        let identity = Identity::resolve(&self.place, settings, self.around.environment)?;
        let cassette = identity.path(&auto(&identity, request))?;
        let played = played(settings, &identity).unwrap_or_else(|| cassette.clone());
        let mut tapes = self.tapes.lock().unwrap_or_else(PoisonError::into_inner);
        let role = match settings.effective_mode() {
            Mode::Record => Role::Record,
            Mode::New => Role::New,
            // Decided once: the file that an `auto` run creates must not turn its later calls into replays.
            Mode::Auto if tapes.contains_key(&(cassette.clone(), Role::Record)) || !played.exists() => {
                Role::Record
            }
            _ => Role::Replay,
        };
        // What is recorded goes to the cassette, wherever the answers come from.
        let is_shared = role == Role::Replay && settings.source.is_some();
        let path = if role == Role::Replay { played } else { cassette };
        let named = is_shared || identity.scenario.is_some() || identity.filename.is_some();
        if let Some(tape) = tapes.get(&(path.clone(), role)) {
            return Ok((Arc::clone(tape), named));
        }
        let test = self.test();
        if !is_shared {
            Registry::process().claim(&path, &test)?;
        }
        let label = Label {
            scenario: identity.scenario.clone().unwrap_or_else(|| "auto".to_owned()),
            test: (!self.place.function.is_empty()).then_some(test),
            remedy: self.remedy.clone(),
        };
        let comparison = Comparison {
            redactor: Arc::clone(&self.around.redactor),
            ignore: Arc::new(IgnorePaths::parse(&settings.ignore)?),
            cross: settings.cross.then(|| self.around.providers.clone()),
        };
        let source = match role {
            Role::Record => None,
            Role::Replay | Role::New => self.source(settings, &identity, &path, role, &label, &comparison)?,
        };
        let mut notes = Vec::new();
        let tape = Tape::open(path.clone(), role, source, label, comparison, &mut notes)?;
        let tape = Arc::new(tape);
        tapes.insert((path, role), Arc::clone(&tape));
        let mut ledger = self.ledger();
        notes.into_iter().for_each(|note| ledger.note(note));
        Ok((tape, named))
    }

    /// What is played; `None` where the cassette does not exist yet and need not.
    fn source(
        &self,
        settings: &Settings,
        identity: &Identity,
        path: &Path,
        role: Role,
        label: &Label,
        comparison: &Comparison,
    ) -> Result<Option<Box<dyn Source>>> {
        if let Some(SourceName::Frozen { path, ceilings }) = &settings.source {
            let (directory, providers) = (&identity.directory, self.around.providers.clone());
            let source = FrozenSource::open(directory, path, *ceilings, providers, comparison)?;
            return Ok(Some(Box::new(source)));
        }
        if role == Role::New && !path.exists() {
            return Ok(None);
        }
        let pin = pin(settings, &label.scenario, path)?;
        let source = CassetteSource::open(path, pin.as_deref(), &label.remedy, comparison)?;
        Ok(Some(Box::new(source)))
    }

    /// The session's own cassette; `None` when each call has an automatic one.
    pub(crate) fn cassette_path(&self) -> Option<PathBuf> {
        let identity = Identity::resolve(&self.place, &self.settings, self.around.environment).ok()?;
        if identity.scenario.is_none() && identity.filename.is_none() {
            return None;
        }
        identity.path("").ok()
    }

    /// The file that answers instead of the cassette.
    fn source_path(&self) -> Option<PathBuf> {
        let identity = Identity::resolve(&self.place, &self.settings, self.around.environment).ok()?;
        played(&self.settings, &identity)
    }

    /// Every cassette that was opened, and the session's own one if it exists though no call opened it.
    pub(crate) fn opened(&self) -> Vec<Arc<Tape>> {
        let mode = self.settings.effective_mode();
        let own = match (self.source_path(), mode) {
            (Some(path), Mode::Replay) => Some(path),
            (Some(path), Mode::Auto) if path.exists() => Some(path),
            (_, Mode::Replay | Mode::Auto | Mode::New) => self.cassette_path().filter(|path| path.exists()),
            _ => None,
        };
        let unopened = own.filter(|path| !self.is_open(path));
        if unopened.is_some() {
            // The test no longer makes these calls: what was recorded is left over.
            if let Err(error) = self.tape(&self.settings, None) {
                self.fault(error);
            }
        }
        let tapes = self.tapes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tapes: Vec<Arc<Tape>> = tapes.values().cloned().collect();
        tapes.sort_by(|a, b| a.path.cmp(&b.path));
        tapes
    }

    /// A recording test that made no call still has a cassette, so that its replay knows that there is nothing to ask. One
    /// whose calls have all moved to other cassettes empties the one that it had, for the same reason.
    pub(crate) fn open_own_for_recording(&self) -> Result<()> {
        if self.settings.effective_mode() != Mode::Record {
            return Ok(());
        }
        let none = self
            .tapes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty();
        let own = self.cassette_path();
        if own.is_some_and(|path| none || (path.exists() && !self.is_open(&path))) {
            self.tape(&self.settings, None)?;
        }
        Ok(())
    }

    /// Whether any call opened a cassette.
    pub(crate) fn is_used(&self) -> bool {
        !self
            .tapes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Whether a cassette was opened, for whatever.
    fn is_open(&self, path: &Path) -> bool {
        let tapes = self.tapes.lock().unwrap_or_else(PoisonError::into_inner);
        tapes.keys().any(|(open, _)| open == path)
    }

    /// No call is accepted from here on. False when it had ended before.
    pub(crate) fn end(&self) -> bool {
        !self.ended.swap(true, Ordering::AcqRel)
    }
}

pub(super) fn asked(wire: Option<&'static dyn Wire>) -> Asked {
    wire.map_or(Asked::PLAIN, |wire| Asked {
        protocol: wire.name(),
        route: wire.route(),
    })
}

/// The file that answers instead of the cassette.
fn played(settings: &Settings, identity: &Identity) -> Option<PathBuf> {
    let SourceName::Frozen { path, .. } = settings.source.as_ref()?;
    Some(identity.directory.join(path))
}

/// The eight digits of a call that has no scenario: those of the seed, from its messages.
fn auto(identity: &Identity, request: Option<&CanonicalRequest>) -> String {
    if identity.scenario.is_some() || identity.filename.is_some() {
        return String::new();
    }
    let messages = request
        .map(|request| request.messages.as_slice())
        .unwrap_or_default();
    let mut id = canon::auto_trace_id(Some(&identity.invoker), messages);
    id.truncate(8);
    id
}

/// The pinned take of a scenario. A bare trace id pins whichever cassette has it: here, if this one does.
fn pin(settings: &Settings, scenario: &str, path: &Path) -> Result<Option<String>> {
    let mut bare = None;
    for pin in &settings.target_traces {
        match &pin.scenario {
            Some(pinned) if pinned == scenario => return Ok(Some(pin.trace.clone())),
            Some(_) => {}
            None => bare = bare.or(Some(&pin.trace)),
        }
    }
    let Some(trace) = bare else {
        return Ok(None);
    };
    // With one bare pin and one cassette the pin is meant for it; with several it belongs to the one that has it.
    if settings.target_traces.len() == 1 || crate::cassette::holds(path, trace)? {
        return Ok(Some(trace.clone()));
    }
    Ok(settings
        .target_traces
        .iter()
        .filter(|pin| pin.scenario.is_none())
        .find(|pin| crate::cassette::holds(path, &pin.trace).unwrap_or(false))
        .map(|pin| pin.trace.clone()))
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("place", &self.place)
            .field("mode", &self.settings.mode)
            .finish_non_exhaustive()
    }
}
