//! The same proof while an answer is recorded: what came, read by the rules, against the call that was made of it.

use std::path::PathBuf;

use super::difference::Findings;
use super::{raw, said};
use crate::json::{Json, compact};
use crate::model::Call;
use crate::protocol::{Told, Wire, WireEvent};

/// The first place at which a recorded stream says something else than its payloads, each with its `event:` name, by the
/// rules.
pub(crate) fn misread_stream(
    call: &Call,
    wire: &dyn Wire,
    heard: &[(Option<&str>, &Json)],
) -> Option<String> {
    // The table alone reads documents that are there already, and nearly always agrees. Where the protocol has code for what
    // its table cannot say, a difference is for the decoder to confirm. Blocks without a canonical form are left to that,
    // and to the comparison of what an SDK makes of the answer.
    if let Some(rules) = wire.rules() {
        difference(call, &rules.told(heard.iter().copied()), said::Natives::Skipped)?;
    }
    let events = heard.iter().map(|(name, payload)| WireEvent {
        event: name.map(str::to_owned),
        data: compact(payload),
        ..WireEvent::default()
    });
    difference(call, &raw::decoded(wire, events), said::Natives::Compared)
}

/// The same of a unary answer.
pub(crate) fn misread_body(call: &Call, wire: &dyn Wire, body: &Json) -> Option<String> {
    let status = call.http.as_ref().map_or(200, |head| head.status);
    difference(call, &raw::of_body(wire, status, body), said::Natives::Compared)
}

fn difference(call: &Call, told: &Told, natives: said::Natives) -> Option<String> {
    let mut all = Vec::new();
    let mut findings = Findings {
        all: &mut all,
        path: PathBuf::new(),
        at: String::new(),
    };
    said::compare(call, told, natives, &mut findings);
    all.into_iter().next().map(|difference| difference.at)
}
