//! The form that a recorded answer had.

use super::{Delivery, Framing, find};
use crate::model::{Call, RawBody};

/// Whether the recorded answer was a stream; `None` when the file does not say (written by hand).
pub(crate) fn is_streamed(call: &Call) -> Option<bool> {
    match (call.content_type(), &call.raw) {
        (Some(value), _) => Some(Framing::of(Some(value)).is_some() || in_array(call)),
        (None, Some(raw)) => Some(!matches!(raw.body, RawBody::Unary(_))),
        (None, None) => None,
    }
}

/// The form that the recorded request asked for.
pub(crate) fn recorded_delivery(call: &Call) -> Option<Delivery<'static>> {
    let wire = find(call.request.protocol.as_deref()?)?;
    Some(Delivery::of(wire, call.request.parameters.as_ref()?))
}

/// Whether the recorded answer was a stream in the form of one JSON array.
pub(crate) fn in_array(call: &Call) -> bool {
    recorded_delivery(call).is_some_and(|asked| asked.answered(call.content_type()).is_array())
}
