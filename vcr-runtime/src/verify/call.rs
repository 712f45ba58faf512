use super::difference::{DifferenceKind, Findings};
use super::files::millis;
use super::{raw, said};
use crate::canon::{IgnorePaths, from_recorded, request_hash};
use crate::model::{Call, RawBody};
use crate::protocol::Providers;

/// Differences of times below this are rounding: files have milliseconds.
const ROUNDING_US: u64 = 1_000;

pub(super) fn check(call: &Call, ignore: &IgnorePaths, providers: &Providers, findings: &mut Findings<'_>) {
    hash(call, ignore, findings);
    times(call, findings);
    if let Some(told) = raw::told(call, providers) {
        said::compare(call, &told, said::Natives::Compared, findings);
    }
}

/// The hash is of the request less the ignored parts, which the file keeps.
fn hash(call: &Call, ignore: &IgnorePaths, findings: &mut Findings<'_>) {
    let Some(stored) = &call.request.hash else { return };
    let whole = from_recorded(&call.request);
    let right = request_hash(&whole);
    if *stored == right {
        return;
    }
    if !ignore.is_empty() {
        let mut compared = whole;
        ignore.apply(&mut compared);
        if *stored == request_hash(&compared) {
            return;
        }
    }
    findings.add(DifferenceKind::RequestHash, "request_hash", right, stored);
}

fn times(call: &Call, findings: &mut Findings<'_>) {
    if let Some(metrics) = call.metrics {
        let spoken: u64 = call.frames.iter().map(|frame| frame.delta_us).sum();
        let total = metrics.total_us;
        if spoken > total + ROUNDING_US {
            let found = format!("{} in all", millis(spoken));
            findings.add(
                DifferenceKind::Order,
                "response_timeline",
                format!("deltas of at most {}", millis(total)),
                found,
            );
        }
        if metrics.ttfb_us > total + ROUNDING_US {
            let expected = format!("at most {}", millis(total));
            findings.add(
                DifferenceKind::Order,
                "network_metrics.ttfb_ms",
                expected,
                millis(metrics.ttfb_us),
            );
        }
    }
    let offsets: Vec<u64> = match call.raw.as_ref().map(|raw| &raw.body) {
        Some(RawBody::Chunks { offsets_us, .. }) => offsets_us.clone(),
        Some(RawBody::Transcript(pieces)) => pieces.iter().map(|piece| piece.offset_us).collect(),
        Some(RawBody::Unary(_)) | None => Vec::new(),
    };
    if let Some(late) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        findings.add(
            DifferenceKind::Order,
            "raw_payload",
            format!("piece {} at {} or later", late + 1, millis(offsets[late])),
            millis(offsets[late + 1]),
        );
    }
}
