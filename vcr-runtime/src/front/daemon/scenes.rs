//! The scenarios that are under way: which requests share a session, and when it ends.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::config::{IncludeRaw, Mode, Settings};
use crate::error::Error;
use crate::front::gateway::Fault;
use crate::observe;
use crate::session::{Report, Session, writes};

use super::fault::busy;

/// How long the end of a scenario waits for its calls. Whoever ends it wants an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The cassette that a request names, and the terms on which it uses it.
#[derive(Debug)]
pub(super) struct Asked {
    /// The cassette, or a stand-in for all automatic ones of one invoker.
    pub(super) place: PathBuf,
    pub(super) settings: Arc<Settings>,
    pub(super) latest: Latest,
}

/// The scene that requests with the same control members found last, so that the next one need not look for it.
#[derive(Debug, Default)]
pub(super) struct Latest(Mutex<Weak<Scene>>);

impl Latest {
    fn scene(&self) -> MutexGuard<'_, Weak<Scene>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of that scene, unless it is ending.
    fn enter(&self) -> Option<Call> {
        let scene = self.scene().upgrade()?;
        scene.enter()
    }

    fn is(&self, call: &Call) {
        *self.scene() = Arc::downgrade(&call.0);
    }
}

/// What has to be equal for two requests to share a recording.
#[derive(Clone, Debug, PartialEq)]
struct Terms {
    mode: Mode,
    tick_us: u64,
    include_raw: IncludeRaw,
    keep_transient: bool,
    ignore: Vec<String>,
}

/// One scenario under way.
pub(super) struct Scene {
    place: PathBuf,
    /// What a playing scene is pinned to; requests with other pins play on their own.
    pins: Vec<String>,
    terms: Terms,
    pub(super) session: Arc<Session>,
    state: Mutex<State>,
    /// Whether its cassette has been opened, so that asking it reads no file.
    warm: AtomicBool,
    active: watch::Sender<usize>,
    gone: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    ending: bool,
    idle_since: Instant,
}

/// What came of a scenario.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// Its cassette; where calls named none, a stand-in for the automatic ones of their invoker.
    pub cassette: PathBuf,
    /// What was done with its calls.
    pub mode: Mode,
    /// How many, and what was written.
    pub report: Report,
    /// The first call that nothing recorded answers, recorded calls that nobody asked for, or a recording that could not
    /// be saved.
    pub failure: Option<Error>,
}

/// All scenarios under way.
#[derive(Clone)]
pub(super) struct Scenes(Arc<Inner>);

struct Inner {
    open: Mutex<HashMap<PathBuf, Vec<Arc<Scene>>>>,
    idle: Duration,
}

/// A call of a scene, for as long as it may still be recorded.
#[derive(Debug)]
pub(super) struct Call(Arc<Scene>);

impl Call {
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.0.session
    }

    /// Whether the session can be asked without reading a file.
    pub(super) fn is_warm(&self) -> bool {
        self.0.warm.load(Ordering::Acquire)
    }

    /// The session has been asked once.
    pub(super) fn warm_up(&self) {
        self.0.warm.store(true, Ordering::Release);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.state().idle_since = Instant::now();
        self.0.active.send_modify(|active| *active -= 1);
    }
}

impl Terms {
    fn of(settings: &Settings) -> Self {
        Self {
            mode: settings.effective_mode(),
            tick_us: settings.tick_us,
            include_raw: settings.include_raw,
            keep_transient: settings.keep_transient,
            ignore: settings.ignore.clone(),
        }
    }

    /// Whether calls of both may land in one take, or be played from one.
    fn allow(&self, other: &Self) -> bool {
        self == other || (!writes(self.mode) && self.mode == other.mode)
    }

    /// The first thing that differs.
    fn difference(&self, other: &Self) -> &'static str {
        match () {
            () if self.mode != other.mode => "mode",
            () if self.tick_us != other.tick_us => "vcr_tick",
            () if self.include_raw != other.include_raw => "vcr_include_raw",
            () => "settings",
        }
    }
}

impl Scene {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of the scene, unless it is ending.
    fn enter(self: &Arc<Self>) -> Option<Call> {
        let state = self.state();
        (!state.ending).then(|| {
            self.active.send_modify(|active| *active += 1);
            Call(Arc::clone(self))
        })
    }

    fn active(&self) -> usize {
        *self.active.borrow()
    }

    /// From here on nobody enters. False when that was so before.
    fn close(&self) -> bool {
        !std::mem::replace(&mut self.state().ending, true)
    }

    /// The same, if it was idle that long; else how long it has to go on being idle.
    fn close_if_idle(&self, idle: Duration) -> Result<(), Duration> {
        let mut state = self.state();
        if self.active() > 0 {
            // Its end starts the time anew.
            return Err(idle);
        }
        let left = idle.saturating_sub(state.idle_since.elapsed());
        if !left.is_zero() {
            return Err(left);
        }
        state.ending = true;
        Ok(())
    }

    async fn is_gone(&self) {
        // A sender that is gone means the same.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }
}

/// What a request finds.
enum Found {
    In(Call),
    /// Wait until this one is gone.
    Ending(Arc<Scene>),
    /// Another use of the cassette has to end first.
    End(Arc<Scene>),
    Refused(Fault),
}

impl Scenes {
    pub(super) fn new(idle: Duration) -> Self {
        Self(Arc::new(Inner {
            open: Mutex::default(),
            idle,
        }))
    }

    /// Enters the scene of a request, and begins it with `open` where there is none. What the cassette was used for
    /// before ends here, unless it is a recording with calls under way.
    pub(super) async fn enter(&self, asked: &Asked, open: impl Fn() -> Session) -> Result<Call, Fault> {
        if let Some(call) = asked.latest.enter() {
            return Ok(call);
        }
        loop {
            match self.0.find(asked, &open) {
                Found::In(call) => {
                    asked.latest.is(&call);
                    return Ok(call);
                }
                Found::Refused(fault) => return Err(fault),
                Found::Ending(scene) => scene.is_gone().await,
                Found::End(scene) => {
                    self.0.conclude(scene).await;
                }
            }
        }
    }

    /// Ends the scenes of a cassette, or all. Waits for their calls, a while.
    pub(super) async fn end(&self, place: Option<&Path>) -> Vec<Ended> {
        let scenes: Vec<Arc<Scene>> = {
            let open = self.0.open();
            let mine = open
                .iter()
                .filter(|(key, _)| place.is_none_or(|place| place == key.as_path()));
            mine.flat_map(|(_, scenes)| scenes.iter().cloned()).collect()
        };
        let mut all = Vec::new();
        for scene in scenes {
            if scene.close() {
                all.extend(self.0.conclude(scene).await);
            } else {
                scene.is_gone().await;
            }
        }
        all.sort_by(|a: &Ended, b| a.cassette.cmp(&b.cassette));
        all
    }

    /// What is under way: cassette, mode, calls.
    pub(super) fn list(&self) -> Vec<(PathBuf, Mode, usize)> {
        let open = self.0.open();
        let mut all: Vec<_> = open
            .values()
            .flatten()
            .map(|scene| (scene.place.clone(), scene.terms.mode, scene.active()))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

impl Inner {
    fn open(&self) -> MutexGuard<'_, HashMap<PathBuf, Vec<Arc<Scene>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(self: &Arc<Self>, asked: &Asked, open: &impl Fn() -> Session) -> Found {
        let mut scenes = self.open();
        // Looked up by reference first: a request of a scene that is open makes no copy of its path.
        if let Some(here) = scenes.get(&asked.place) {
            for scene in here {
                if let Some(found) = scene.suits(asked) {
                    return found;
                }
            }
        }
        let scene = Arc::new(Scene {
            place: asked.place.clone(),
            pins: pins(&asked.settings),
            terms: Terms::of(&asked.settings),
            session: Arc::new(open()),
            state: Mutex::new(State {
                ending: false,
                idle_since: Instant::now(),
            }),
            warm: AtomicBool::new(false),
            active: watch::Sender::new(0),
            gone: watch::Sender::new(false),
        });
        let Some(call) = scene.enter() else {
            return Found::Ending(scene);
        };
        scenes
            .entry(asked.place.clone())
            .or_default()
            .push(Arc::clone(&scene));
        tokio::spawn(end_when_idle(
            Arc::downgrade(self),
            Arc::downgrade(&scene),
            self.idle,
        ));
        Found::In(call)
    }

    /// Saves and forgets a scene that was closed. `None` when it never used its cassette.
    async fn conclude(&self, scene: Arc<Scene>) -> Option<Ended> {
        let mut active = scene.active.subscribe();
        // Calls that take longer are not kept; the report says so.
        let _ = tokio::time::timeout(PATIENCE, active.wait_for(|active| *active == 0)).await;
        let session = Arc::clone(&scene.session);
        // Files are read, locked, written and flushed.
        let verdict =
            tokio::task::spawn_blocking(move || session.is_used().then(|| session.conclude(true, 0)));
        let verdict = verdict.await.ok().flatten();
        {
            let mut open = self.open();
            if let Some(here) = open.get_mut(&scene.place) {
                here.retain(|other| !Arc::ptr_eq(other, &scene));
                if here.is_empty() {
                    open.remove(&scene.place);
                }
            }
        }
        scene.gone.send_replace(true);
        let verdict = verdict?;
        let ended = Ended {
            cassette: scene.place.clone(),
            mode: scene.terms.mode,
            report: verdict.report,
            failure: verdict.failure,
        };
        let Report {
            replayed,
            recorded,
            written,
            ..
        } = &ended.report;
        observe::ended(&ended.cassette, *replayed, *recorded, !written.is_empty());
        Some(ended)
    }
}

impl Scene {
    /// What this scene means for a request of its cassette; `None`: nothing.
    fn suits(self: &Arc<Self>, asked: &Asked) -> Option<Found> {
        let terms = Terms::of(&asked.settings);
        if self.terms.allow(&terms) {
            if !writes(terms.mode) && self.pins != pins(&asked.settings) {
                return None;
            }
            let entered = self.enter();
            return Some(entered.map_or_else(|| Found::Ending(Arc::clone(self)), Found::In));
        }
        let recording = writes(self.terms.mode);
        if self.state().ending {
            return Some(Found::Ending(Arc::clone(self)));
        }
        if recording && (self.active() > 0 || self.terms.mode == terms.mode) {
            return Some(Found::Refused(self.refused(&terms)));
        }
        self.close();
        Some(Found::End(Arc::clone(self)))
    }

    fn refused(&self, asked: &Terms) -> Fault {
        busy(format!(
            "{} is being recorded with another {} (mode `{}`, tick {} ms, raw `{}`); wait for its calls, \
             or end the recording with POST /__vcr/finish",
            self.place.display(),
            self.terms.difference(asked),
            self.terms.mode,
            self.terms.tick_us as f64 / 1000.0,
            self.terms.include_raw,
        ))
    }
}

fn pins(settings: &Settings) -> Vec<String> {
    let pins = settings.target_traces.iter();
    pins.map(|pin| format!("{}:{}", pin.scenario.as_deref().unwrap_or_default(), pin.trace))
        .collect()
}

/// Ends a scene once nothing has happened in it for that long.
async fn end_when_idle(scenes: Weak<Inner>, scene: Weak<Scene>, idle: Duration) {
    let mut wait = idle;
    loop {
        tokio::time::sleep(wait).await;
        let (Some(scenes), Some(scene)) = (scenes.upgrade(), scene.upgrade()) else {
            return;
        };
        if *scene.gone.borrow() || scene.state().ending {
            return;
        }
        match scene.close_if_idle(idle) {
            Ok(()) => {
                scenes.conclude(scene).await;
                return;
            }
            Err(left) => wait = left,
        }
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Scene")
            .field("place", &self.place)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Scenes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.list()).finish()
    }
}
