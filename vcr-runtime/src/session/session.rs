//! A session: one test's cassettes, settings and ledger. Every front asks it what to do with a call.

use std::any::Any;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use once_cell::sync::OnceCell;

use super::breaker::StreamBreaker;
use super::call_reader::Keep;
use super::exchange::Hanging;
use super::ledger::Ledger;
use super::names::{auto, played};
use super::play::{Played, check_shape};
use super::recorder::CallRecorder;
use super::shelf::Shelf;
use super::surroundings::Surroundings;
use super::tape::{Found, Label, Role, Tape};
use crate::canon::IgnorePaths;
use crate::config::{Chaos, Environment, Jitter, Layer, Matching, Mode, ProjectFile, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::identity::{Identity, Place, Registry};
use crate::json::Object;
use crate::model::CanonicalRequest;
use crate::observe::{self, Asked, Outcome, Reason};
use crate::protocol::{Providers, Wire};
use crate::redact::Redactor;
use crate::source::{Answer, Comparison, How, NotTaken, Remedy, Where};

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

/// One test's session.
pub(crate) struct Session {
    pub(crate) place: Place<'static>,
    layers: Vec<Layer>,
    default_mode: Mode,
    pub(crate) start_paused: bool,
    pub(super) around: Surroundings,
    pub(super) settings: Arc<Settings>,
    pub(crate) remedy: Remedy,
    breaker: Mutex<Option<Arc<dyn StreamBreaker>>>,
    pub(super) shelf: Shelf,
    /// The tape of calls without settings of their own, found once: naming a file costs more than answering a call.
    own: OnceLock<Arc<Tape>>,
    ledger: Arc<Mutex<Ledger>>,
    pub(super) ended: AtomicBool,
    /// What nobody asked for is no fault any more.
    pub(super) disposed: AtomicBool,
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
        let project = ProjectFile::load(environment.manifest_dir(opening.place.manifest_dir))?;
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
            let remark = format!("chaos latency was drawn with VCR_CHAOS_SEED={seed}");
            ledger.remarks.push(remark);
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
        session.ledger = Arc::new(Mutex::new(ledger));
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
            shelf: Shelf::default(),
            own: OnceLock::new(),
            ledger: Arc::default(),
            ended: AtomicBool::new(false),
            disposed: AtomicBool::new(false),
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

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.around.redactor
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
    /// call's own `vcr…` members, and `key` is that of the agent that it belongs to by the way that it came. Every error is
    /// in the ledger already.
    pub(crate) fn begin(
        &self,
        request: CanonicalRequest,
        wire: Option<&'static dyn Wire>,
        control: &Object,
        key: Option<&str>,
    ) -> Result<Turn> {
        self.begin_with(request, wire, self.settings_of(control), key, false)
    }

    /// The same with the call's settings, where they could be read. `is_clean` says that it is a
    /// [clean request](crate::redact::Redactor::clean_request).
    pub(crate) fn begin_with(
        &self,
        mut request: CanonicalRequest,
        wire: Option<&'static dyn Wire>,
        settings: Result<Arc<Settings>>,
        key: Option<&str>,
        is_clean: bool,
    ) -> Result<Turn> {
        if self.ended.load(Ordering::Acquire) {
            self.ledger().late += 1;
            return Err(self.late());
        }
        let settings = settings.map_err(|error| self.fault(error))?;
        let asked = asked(wire);
        if settings.effective_mode() == Mode::Live {
            self.ledger().live += 1;
            observe::call(asked, Outcome::Live);
            return Ok(Turn::Live);
        }
        let redactor = &self.around.redactor;
        match is_clean {
            true => redactor.clean_request(&mut request),
            false => redactor.request(&mut request),
        };
        let turn = self.turn(request, wire, &settings, key);
        let outcome = match &turn {
            Ok(Turn::Live) => Outcome::Live,
            Ok(Turn::Record(_)) => Outcome::Recorded,
            Ok(Turn::Replay(_)) => Outcome::Matched,
            Err((_, Some(reason))) => Outcome::Missed(*reason),
            Err((_, None)) => Outcome::Failed,
        };
        observe::call(asked, outcome);
        turn.map_err(|(error, _)| {
            if error.kind() == ErrorKind::Ended {
                self.ledger().late += 1;
                return error;
            }
            self.fault(error)
        })
    }

    fn turn(
        &self,
        request: CanonicalRequest,
        wire: Option<&'static dyn Wire>,
        settings: &Arc<Settings>,
        key: Option<&str>,
    ) -> std::result::Result<Turn, (Error, Option<Reason>)> {
        let tape = self
            .tape(settings, Some(&request))
            .map_err(|error| (error, None))?;
        let servable = |call: &crate::model::Call| check_shape(call, &request, wire);
        // A recording that is being mended has no order yet.
        let matching = match (tape.role, settings.matching) {
            (Role::New, Matching::Sequential) => Matching::Keyed,
            (_, matching) => matching,
        };
        let how = How {
            matching,
            repeat: settings.repeat,
            session: settings.session.as_deref(),
            scope: key,
        };
        match tape.find(&request, how, settings.speed.time_factor(), &servable) {
            Ok(Found::Play(Answer {
                index, call, manner, ..
            })) => {
                self.ledger().served += 1;
                let call = match wire {
                    Some(_) if call.is_of_another_protocol(&request.protocol) => {
                        Arc::new(Arc::unwrap_or_clone(call).for_another_protocol())
                    }
                    _ => call,
                };
                Ok(Turn::Replay(Played {
                    call,
                    index,
                    timed: manner.timed,
                    hang: manner.hang.map(|hang| Hanging {
                        hang,
                        ledger: Arc::clone(&self.ledger),
                    }),
                    settings: Arc::clone(settings),
                    take: tape.id().as_bytes().first_chunk().copied(),
                }))
            }
            Ok(Found::Record(slot)) => {
                self.ledger().recorded += 1;
                let hash = tape.hash(&request);
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
                    tape, slot, keep, request, hash, breaker,
                )))
            }
            Err(NotTaken::Late) => Err((self.late(), None)),
            Err(not_taken) => {
                let test = self.test();
                let place = Where {
                    test: &test,
                    remedy: &self.remedy,
                    matching: settings.matching,
                    private: settings.private,
                };
                let reason = not_taken.reason();
                Err((tape.explain(&request, not_taken, place), reason))
            }
        }
    }

    fn late(&self) -> Error {
        let test = self.test();
        let (says, advice) = match self.is_disposed() {
            true => (
                format!("a call came after the session of `{test}` was disposed of"),
                "dispose of it once the last call has been made",
            ),
            false => (
                format!("a call came after its test `{test}` had ended"),
                "await the task that makes it before the test returns",
            ),
        };
        Error::new(ErrorKind::Ended, says, advice)
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
        // A call that names a cassette means that cassette, as it is: a document is for the test's own.
        if ["vcr_scenario", "vcr_filename"]
            .iter()
            .any(|name| control.get(name).is_some())
        {
            settings.source = None;
            settings.override_file = None;
        }
        Ok(Arc::new(settings))
    }

    /// Whether a call with these settings finds its cassette open, so that deciding about it reads no file.
    pub(crate) fn is_ready(&self, settings: &Arc<Settings>) -> bool {
        let is_own = Arc::ptr_eq(settings, &self.settings);
        settings.effective_mode() == Mode::Live || (is_own && self.own.get().is_some())
    }

    /// The cassette of a call, opened at its first use.
    pub(super) fn tape(
        &self,
        settings: &Arc<Settings>,
        request: Option<&CanonicalRequest>,
    ) -> Result<Arc<Tape>> {
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
        let open = |role: Role, path: &Path| self.open_tape(path, role, &identity, settings);
        let mode = settings.effective_mode();
        let Some(tape) = self.shelf.tape(&cassette, &played, mode, open)? else {
            return Err(self.late());
        };
        let is_sourced = tape.role == Role::Replay && settings.source.is_some();
        let named = is_sourced || identity.scenario.is_some() || identity.filename.is_some();
        Ok((tape, named))
    }

    fn open_tape(&self, path: &Path, role: Role, identity: &Identity, settings: &Settings) -> Result<Tape> {
        let test = self.test();
        // Frozen answers and scripts are for every test; a cassette is one test's. What is recorded goes to the cassette, wherever the
        // answers come from.
        if role != Role::Replay || settings.source.is_none() {
            Registry::process().claim(path, &test)?;
        }
        let label = Label {
            scenario: identity.scenario.clone().unwrap_or_else(|| "auto".to_owned()),
            test: (!self.place.function.is_empty()).then_some(test),
            made_of: self.place.made_of,
            remedy: self.remedy.clone(),
        };
        let comparison = Comparison {
            redactor: Arc::clone(&self.around.redactor),
            ignore: Arc::new(IgnorePaths::parse(&settings.ignore)?),
            cross: settings.cross.then(|| self.around.providers.clone()),
        };
        let source = match role {
            Role::Record => None,
            Role::Replay | Role::New => self.source(settings, identity, path, role, &label, &comparison)?,
        };
        let mut notes = Vec::new();
        if let (Role::Record, Some(file)) = (role, &settings.override_file) {
            notes.push(format!(
                "the override file {} is not applied to a recording",
                file.path
            ));
        }
        let tape = Tape::open(path.to_owned(), role, source, label, comparison, &mut notes)?;
        let mut ledger = self.ledger();
        notes.into_iter().for_each(|note| ledger.note(note));
        Ok(tape)
    }
}

pub(crate) fn asked(wire: Option<&'static dyn Wire>) -> Asked {
    wire.map_or(Asked::PLAIN, |wire| Asked {
        protocol: wire.name(),
        route: wire.route(),
    })
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
