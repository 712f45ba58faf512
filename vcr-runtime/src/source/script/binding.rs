//! Which script a live session gets.
//!
//! Live sessions have other keys in every run. One that calls for the first time is known by its recorded id, by what
//! another session's request said of it, or by its first request; else the scripts go round in the order in which they were
//! created. That order says nothing about sessions that run side by side, so those are refused instead.

use super::fill::leaves;
use super::load::Script;
use crate::json::Json;
use crate::source::NotTaken;

/// What a session says once it has started another one, in front of the other one's key.
const STARTED: &str = "started subagent ";

/// The script of a live session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) slot: usize,
    /// Nothing but the order speaks for it, and others that may run beside it are free.
    pub(super) guessed: bool,
}

impl Seat {
    const fn sure(slot: usize) -> Self {
        Self { slot, guessed: false }
    }
}

/// The script of the live session with that key: the one that it has, else the one that it is to have. `hash` is that of
/// the request that it makes.
pub(super) fn seat(
    scripts: &[Script],
    key: Option<&str>,
    hash: impl FnOnce() -> String,
) -> Result<Seat, NotTaken> {
    let find = |fits: &dyn Fn(&Script) -> bool| scripts.iter().position(fits);
    let own = find(&|script| has(script, key));
    let by_key = |key| {
        find(&|script| is_free(script) && id(script) == Some(key))
            .or_else(|| find(&|script| is_free(script) && script.announced.as_deref() == Some(key)))
    };
    if let Some(slot) = own.or_else(|| key.and_then(by_key)) {
        return Ok(Seat::sure(slot));
    }
    // Whoever starts another session has called before.
    if scripts.first().is_some_and(is_free) {
        return Ok(Seat::sure(0));
    }
    let free = free(scripts);
    let Some(&next) = free.first() else {
        return Err(NotTaken::Over);
    };
    let first_request = |slot: usize| scripts[slot].header()?.first_request.as_deref();
    let hash = hash();
    if let Some(slot) = free.iter().find(|slot| first_request(**slot) == Some(&hash)) {
        return Ok(Seat::sure(*slot));
    }
    let mut rivals: Vec<usize> = (1..scripts.len())
        .filter(|other| *other != next && is_abreast(scripts, next, *other))
        .filter(|other| match free.contains(other) {
            true => overlap(&scripts[next], &scripts[*other]),
            false => is_under_way(&scripts[*other]),
        })
        .collect();
    if rivals.is_empty() {
        let guessed = free[1..].iter().any(|other| is_abreast(scripts, next, *other));
        return Ok(Seat { slot: next, guessed });
    }
    rivals.push(next);
    rivals.sort_unstable();
    Err(NotTaken::Unclear {
        scripts: rivals,
        hash,
    })
}

/// Keeps scripts for the live sessions of which a request in `slot` says that they were started, in the order in which it
/// names them.
pub(super) fn announce(scripts: &mut [Script], slot: usize, messages: &[Json]) {
    if !scripts.iter().any(is_unspoken) {
        return;
    }
    let mut texts = Vec::new();
    messages.iter().for_each(|message| leaves(message, &mut texts));
    for key in texts.into_iter().flat_map(started) {
        let is_known = |script: &Script| has(script, Some(key)) || script.announced.as_deref() == Some(key);
        if scripts.iter().any(is_known) {
            continue;
        }
        let parent = id(&scripts[slot]);
        let is_child = |script: &Script| {
            let of = script.header().and_then(|header| header.parent.as_deref());
            of.is_none() || parent.is_none() || of == parent
        };
        let named = scripts
            .iter()
            .position(|script| is_unspoken(script) && id(script) == Some(key));
        let next = || {
            let mut behind = scripts.iter().enumerate().skip(1);
            behind.find_map(|(place, script)| (is_unspoken(script) && is_child(script)).then_some(place))
        };
        if let Some(place) = named.or_else(next) {
            scripts[place].announced = Some(key.to_owned());
        }
    }
}

/// The keys of the sessions that a text says were started.
fn started(text: &str) -> impl Iterator<Item = &str> {
    text.split(STARTED).skip(1).filter_map(|behind| {
        let behind = behind.trim_start_matches(['`', '"', '\'']);
        let is_key = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | ':' | '/');
        let end = behind.find(|char| !is_key(char)).unwrap_or(behind.len());
        // A sentence may end with it.
        let key = behind[..end].trim_end_matches(['.', ':']);
        (!key.is_empty()).then_some(key)
    })
}

/// The scripts that a new session may have, in their order. Those that are kept for another one come when it never did.
fn free(scripts: &[Script]) -> Vec<usize> {
    let those = |fit: fn(&Script) -> bool| -> Vec<usize> {
        let with_calls = (0..scripts.len()).filter(|slot| scripts[*slot].len() > 0);
        with_calls.filter(|slot| fit(&scripts[*slot])).collect()
    };
    let unspoken = those(is_unspoken);
    match unspoken.is_empty() {
        true => those(is_free),
        false => unspoken,
    }
}

/// The id under which a script was recorded, where its log says.
fn id(script: &Script) -> Option<&str> {
    script
        .header()
        .map(|header| header.id.as_str())
        .filter(|id| !id.is_empty())
}

fn has(script: &Script, key: Option<&str>) -> bool {
    script.live.as_ref().is_some_and(|live| live.as_deref() == key)
}

fn is_free(script: &Script) -> bool {
    script.live.is_none()
}

fn is_unspoken(script: &Script) -> bool {
    is_free(script) && script.announced.is_none()
}

/// Whether its session may be another's, and has not come to its end.
fn is_under_way(script: &Script) -> bool {
    script.guessed && script.next < script.len()
}

/// Whether two were recorded at the same time.
fn overlap(one: &Script, other: &Script) -> bool {
    let (Some(one), Some(other)) = (one.ran(), other.ran()) else {
        return false;
    };
    one.0 < other.1 && other.0 < one.1
}

/// Whether neither session was started, directly or not, by the other one.
fn is_abreast(scripts: &[Script], one: usize, other: usize) -> bool {
    !is_below(scripts, one, other) && !is_below(scripts, other, one)
}

fn is_below(scripts: &[Script], low: usize, high: usize) -> bool {
    let depth = |slot: usize| scripts[slot].header()?.depth;
    let parent = |slot: usize| scripts[slot].header()?.parent.as_deref();
    if parent(low).is_none() {
        return depth(low).zip(depth(high)).is_some_and(|(low, high)| low > high);
    }
    let mut at = low;
    // No chain is longer, and one that goes round has no end.
    for _ in 0..scripts.len() {
        let above =
            parent(at).and_then(|parent| scripts.iter().position(|script| id(script) == Some(parent)));
        match above {
            Some(above) if above == high => return true,
            Some(above) => at = above,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
