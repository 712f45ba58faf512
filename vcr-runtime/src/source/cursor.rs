//! Which recorded call answers a request: matching over one take, each call served once.

use std::borrow::Cow;
use std::sync::Arc;

use super::by_print::ByPrint;
use super::{How, NotTaken};
use crate::canon::{self, IgnorePaths};
use crate::config::Matching;
use crate::error::Error;
use crate::model::{Call, CanonicalRequest, RecordedRequest, Take};
use crate::protocol::{Providers, asks_alike, level};
use crate::redact::Redactor;

/// A take being played.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// A call is handed over when it is taken, so that whoever delivers it need not copy it.
    calls: Vec<Option<Arc<Call>>>,
    /// Each call's request as it is compared: ignored members removed, and redacted by today's rules unless they are still
    /// `unapplied`.
    keys: Vec<Arc<RecordedRequest>>,
    /// Today's rules, until something depends on them. A live request is redacted before it is looked for, so a record that
    /// equals it holds nothing that they would change; they are needed when no record does.
    unapplied: Option<Arc<Redactor>>,
    /// The fingerprint of each key; `None` for calls written by hand.
    prints: Vec<Option<u64>>,
    /// Calls not yet taken, by fingerprint, in recorded order.
    strict: ByPrint,
    /// Calls not yet taken that were written by hand and are compared on the members they have.
    loose: Vec<usize>,
    /// What compares requests of different protocols, and the form of each key; only where they may match.
    across: Option<Across>,
    order: PartialOrder,
    /// Which request, counted from 1, took each call.
    taken: Vec<Option<usize>>,
    /// The first call that nobody has taken.
    next: usize,
    served: usize,
}

impl Cursor {
    pub(crate) fn new(take: Take, redactor: &Arc<Redactor>, ignore: &IgnorePaths) -> Self {
        let mut cursor = Self {
            order: PartialOrder::of(&take.calls),
            // What is ignored must be left out of what was redacted, as it is of a live request.
            unapplied: ignore.is_empty().then(|| Arc::clone(redactor)),
            taken: vec![None; take.calls.len()],
            calls: Vec::with_capacity(take.calls.len()),
            keys: Vec::with_capacity(take.calls.len()),
            prints: Vec::with_capacity(take.calls.len()),
            strict: ByPrint::with_capacity(take.calls.len()),
            loose: Vec::new(),
            across: None,
            next: 0,
            served: 0,
        };
        for (index, mut call) in take.calls.into_iter().enumerate() {
            let key = if ignore.is_empty() {
                Arc::clone(&call.request)
            } else {
                key(&mut call, redactor, ignore)
            };
            let print = canon::fingerprint_recorded(&key);
            match print {
                Some(print) => cursor.strict.push(print, index),
                None => cursor.loose.push(index),
            }
            cursor.keys.push(key);
            cursor.prints.push(print);
            cursor.calls.push(Some(Arc::new(call)));
        }
        cursor
    }

    /// Lets calls of other protocols answer too.
    pub(crate) fn cross(&mut self, providers: Providers) {
        self.apply_rules();
        let forms = self.keys.iter().map(|key| form(&providers, key)).collect();
        self.across = Some(Across { providers, forms });
    }

    /// A key and a request of different protocols in the form in which they are compared.
    pub(crate) fn forms(
        &self,
        index: usize,
        live: &CanonicalRequest,
    ) -> Option<(CanonicalRequest, CanonicalRequest)> {
        if self.keys[index].protocol.as_ref() == Some(&live.protocol) {
            return None;
        }
        let across = self.across.as_ref()?;
        let mut recorded = across.forms.get(index)?.clone()?;
        let mut live = across.providers.neutral(live)?;
        level(&mut recorded, &mut live);
        Some((recorded, live))
    }

    /// How many calls the take has.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// How many frames each call has that has not been taken.
    pub(crate) fn frames(&self) -> Vec<usize> {
        let calls = self.calls.iter();
        calls
            .map(|call| call.as_ref().map_or(0, |call| call.frames.len()))
            .collect()
    }

    /// The request of a call as it is compared and may be shown.
    pub(crate) fn key(&self, index: usize) -> Cow<'_, RecordedRequest> {
        let key = &*self.keys[index];
        let clean = self.unapplied.as_ref().and_then(|rules| redacted(key, rules));
        clean.map_or(Cow::Borrowed(key), Cow::Owned)
    }

    /// The calls that nobody asked for.
    pub(crate) fn leftovers(&self) -> impl Iterator<Item = usize> + '_ {
        self.taken
            .iter()
            .enumerate()
            .filter(|(_, by)| by.is_none())
            .map(|(index, _)| index)
    }

    /// Which request took each call.
    pub(crate) fn taken(&self) -> &[Option<usize>] {
        &self.taken
    }

    /// Takes the call that answers `live`. `servable` looks at it, and at its number, first; what it refuses
    /// is not consumed.
    pub(crate) fn take(
        &mut self,
        live: &CanonicalRequest,
        how: How<'_>,
        servable: impl Fn(usize, &Call) -> Result<(), Error>,
    ) -> Result<(usize, Arc<Call>), NotTaken> {
        let How { matching, repeat, .. } = how;
        let request = self.served + 1;
        let mut found = self.look(live, matching, repeat);
        // An earlier call may be equal by rules that came after it.
        if !matches!(&found, Ok(found) if self.waits_for(*found, matching).is_none()) && self.apply_rules() {
            found = self.look(live, matching, repeat);
        }
        let found = found?;
        if let Some(waits_for) = self.waits_for(found, matching) {
            return Err(NotTaken::Early {
                call: found,
                waits_for,
            });
        }
        // What will never be asked for again is given away, so that it is freed.
        let kept = self.calls[found].as_ref().filter(|_| repeat).map(Arc::clone);
        let Some(call) = self.calls[found].take() else {
            // It was taken by a request that did not want it repeated.
            return Err(self.why_not(live));
        };
        if let Err(refusal) = servable(found, &call) {
            self.calls[found] = Some(call);
            return Err(NotTaken::Refused(refusal));
        }
        self.calls[found] = kept;
        if !repeat || !self.is_last(found, live) {
            self.remove(found);
        }
        self.taken[found].get_or_insert(request);
        while self.taken.get(self.next).is_some_and(Option::is_some) {
            self.next += 1;
        }
        self.served = request;
        Ok((found, call))
    }

    /// Redacts the recorded requests by today's rules. Returns whether that changed one.
    fn apply_rules(&mut self) -> bool {
        let Some(rules) = self.unapplied.take() else {
            return false;
        };
        let mut changed = false;
        for index in 0..self.keys.len() {
            let Some(key) = redacted(&self.keys[index], &rules) else {
                continue;
            };
            changed = true;
            let print = canon::fingerprint_recorded(&key);
            if let (Some(before), Some(print)) = (self.prints[index], print) {
                self.strict.rename(before, print, index);
            }
            self.prints[index] = print;
            if let Some(call) = &mut self.calls[index] {
                let mut request = key.clone();
                rekey(&mut request, &key);
                Arc::make_mut(call).request = Arc::new(request);
            }
            self.keys[index] = Arc::new(key);
        }
        changed
    }

    /// The call that answers the request, whenever its turn is.
    fn look(&mut self, live: &CanonicalRequest, matching: Matching, repeat: bool) -> Result<usize, NotTaken> {
        if matching != Matching::Order {
            return self.equal(live, repeat).ok_or_else(|| self.why_not(live));
        }
        // Whatever stands there answers, so nothing else tells that it holds no secret.
        self.apply_rules();
        let last = self.calls.len().checked_sub(1).filter(|_| repeat);
        let next = (self.next < self.calls.len()).then_some(self.next);
        next.or(last).ok_or(NotTaken::Over)
    }

    fn waits_for(&mut self, index: usize, matching: Matching) -> Option<usize> {
        (matching == Matching::Sequential).then(|| self.order.waits_for(index, &self.taken))?
    }

    /// Whether no other call is left that answers the request.
    fn is_last(&self, index: usize, live: &CanonicalRequest) -> bool {
        let equal = self.prints[index].map(|print| self.strict.of(print));
        let others = equal.into_iter().flatten().chain(self.loose.iter().copied());
        !others
            .filter(|other| *other != index && self.taken[*other].is_none())
            .any(|other| canon::same_request(&self.keys[other], live))
    }

    /// The first call in recorded order that is equal to the request and not taken; where there is none and calls may
    /// repeat, the one that was left in its place.
    fn equal(&self, live: &CanonicalRequest, repeat: bool) -> Option<usize> {
        let print = canon::fingerprint(live);
        self.equal_where(live, print, |index| self.taken[index].is_none())
            .or_else(|| repeat.then(|| self.equal_where(live, print, |_| true)).flatten())
    }

    fn equal_where(&self, live: &CanonicalRequest, print: u64, may: impl Fn(usize) -> bool) -> Option<usize> {
        let same = |index: &usize| may(*index) && canon::same_request(&self.keys[*index], live);
        let strict = self.strict.of(print).find(same);
        let loose = self.loose.iter().copied().find(same);
        match (strict, loose) {
            (Some(strict), Some(loose)) => Some(strict.min(loose)),
            (None, None) => self.alike(live).find(|index| may(*index)),
            (found, None) | (None, found) => found,
        }
    }

    /// The calls of other protocols that answer the request, taken ones too.
    fn alike(&self, live: &CanonicalRequest) -> impl Iterator<Item = usize> + '_ {
        let across = self.across.as_ref();
        let form = across.and_then(|across| across.providers.neutral(live));
        let forms = across.map_or(&[][..], |across| &across.forms);
        let protocol = live.protocol.clone();
        forms.iter().enumerate().filter_map(move |(index, recorded)| {
            let other = self.keys[index].protocol.as_ref() != Some(&protocol);
            let alike = asks_alike(recorded.as_ref()?, form.as_ref()?);
            (other && alike).then_some(index)
        })
    }

    fn why_not(&self, live: &CanonicalRequest) -> NotTaken {
        let keys = self.keys.iter().enumerate();
        let mut equal: Vec<usize> = keys
            .filter(|(_, key)| canon::same_request(key, live))
            .map(|(index, _)| index)
            .collect();
        equal.extend(self.alike(live));
        match equal.first().and_then(|call| Some((*call, self.taken[*call]?))) {
            Some((call, by)) => NotTaken::Exhausted {
                call,
                by,
                equal: equal.len(),
            },
            None => NotTaken::Unknown,
        }
    }

    fn remove(&mut self, index: usize) {
        if let Some(print) = self.prints[index] {
            self.strict.remove(print, index);
        }
        if let Some(position) = self.loose.iter().position(|other| *other == index) {
            self.loose.remove(position);
        }
    }
}

/// What a call's request is compared as where members are ignored.
fn key(call: &mut Call, redactor: &Redactor, ignore: &IgnorePaths) -> Arc<RecordedRequest> {
    let clean = redacted(&call.request, redactor);
    let changed = clean.is_some();
    let mut request = clean.unwrap_or_else(|| (*call.request).clone());
    let mut key = request.clone();
    ignore.apply_recorded(&mut key);
    if changed {
        rekey(&mut request, &key);
        call.request = Arc::new(request);
    }
    Arc::new(key)
}

/// The request by the rules; `None` where they change nothing.
fn redacted(request: &RecordedRequest, rules: &Redactor) -> Option<RecordedRequest> {
    let mut clean = request.clone();
    rules.recorded(&mut clean).then_some(clean)
}

/// A rule that was added since re-keys a request, should it be copied into a new take.
fn rekey(request: &mut RecordedRequest, key: &RecordedRequest) {
    if request.hash.is_some() {
        request.hash = Some(canon::request_hash(&canon::from_recorded(key)));
    }
}

#[derive(Debug)]
struct Across {
    providers: Providers,
    /// `None` for requests that have no such form.
    forms: Vec<Option<CanonicalRequest>>,
}

/// The form of a recorded request; those written by hand have one when they have all members.
fn form(providers: &Providers, key: &RecordedRequest) -> Option<CanonicalRequest> {
    providers.neutral(&CanonicalRequest {
        protocol: key.protocol.clone()?,
        model: key.model.clone()?,
        provider: String::new(),
        messages: key.messages.clone()?,
        parameters: key.parameters.clone()?,
    })
}

/// The order of a recording: A came before B when A had ended before B started.
#[derive(Debug)]
struct PartialOrder {
    /// Start and end of each call; `None` when any call has no times, so that the order of the file is strict.
    spans: Option<Vec<(u64, u64)>>,
    /// Calls by their end. Before `settled` all are taken.
    by_end: Vec<usize>,
    settled: usize,
}

impl PartialOrder {
    fn of(calls: &[Call]) -> Self {
        let spans: Option<Vec<_>> = calls
            .iter()
            .map(|call| Some((call.started_us?, call.ended_us()?)))
            .collect();
        let mut by_end: Vec<usize> = (0..calls.len()).collect();
        if let Some(spans) = &spans {
            by_end.sort_by_key(|index| (spans[*index].1, *index));
        }
        Self {
            spans,
            by_end,
            settled: 0,
        }
    }

    /// A call that came before `index` and has not been taken.
    fn waits_for(&mut self, index: usize, taken: &[Option<usize>]) -> Option<usize> {
        while self
            .by_end
            .get(self.settled)
            .is_some_and(|first| taken[*first].is_some())
        {
            self.settled += 1;
        }
        let open = self.by_end[self.settled..]
            .iter()
            .copied()
            .filter(|other| taken[*other].is_none());
        match &self.spans {
            None => open.take(1).find(|first| *first < index),
            Some(spans) => open
                .take_while(|other| spans[*other].1 <= spans[index].0)
                .find(|other| *other < index),
        }
    }
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
