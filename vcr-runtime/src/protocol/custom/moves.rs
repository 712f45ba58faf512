use crate::json::{Json, Object};

/// A dotted path without positions.
type Names = Vec<String>;

/// One thing and its two places: the provider's own, and that of chat completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) own: Names,
    pub(super) usual: Names,
}

/// Which way a payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the provider's places to the usual ones.
    In,
    Out,
}

/// The moves of one kind of payload (the chunks of a stream, or unary bodies).
#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    pub(super) payload: Vec<Move>,
    pub(super) choice: Vec<Move>,
    pub(super) tool: Vec<Move>,
    pub(super) usage: Vec<Move>,
    pub(super) error: Vec<Move>,
    /// The object of a choice that holds its tool calls.
    pub(super) message: &'static str,
}

impl Moves {
    /// Puts the parts of a payload into their other places.
    pub(super) fn apply(&self, payload: &mut Json, way: Way) {
        let Some(payload) = payload.as_object_mut() else {
            return;
        };
        if way == Way::In {
            exchange(payload, &self.payload, way);
        }
        if let Some(Json::Array(choices)) = payload.get_mut("choices") {
            choices
                .iter_mut()
                .filter_map(Json::as_object_mut)
                .for_each(|choice| self.choice(choice, way));
        }
        for (member, moves) in [("usage", &self.usage), ("error", &self.error)] {
            if let Some(Json::Object(members)) = payload.get_mut(member) {
                exchange(members, moves, way);
            }
        }
        if way == Way::Out {
            exchange(payload, &self.payload, way);
        }
    }

    fn choice(&self, choice: &mut Object, way: Way) {
        if way == Way::In {
            exchange(choice, &self.choice, way);
        }
        let message = choice.get_mut(self.message).and_then(Json::as_object_mut);
        if let Some(Json::Array(calls)) = message.and_then(|message| message.get_mut("tool_calls")) {
            calls
                .iter_mut()
                .filter_map(Json::as_object_mut)
                .for_each(|call| exchange(call, &self.tool, way));
        }
        if way == Way::Out {
            exchange(choice, &self.choice, way);
        }
    }
}

/// Puts each thing into its other place, all at once, so that two may change places. What stood there, which is
/// something else by the provider's names, goes the other way and comes back on the way out.
fn exchange(members: &mut Object, moves: &[Move], way: Way) {
    let places = |one: &Move| match way {
        Way::In => (one.own.clone(), one.usual.clone()),
        Way::Out => (one.usual.clone(), one.own.clone()),
    };
    let moves: Vec<(Names, Names)> = moves
        .iter()
        .map(places)
        .filter(|(from, to)| is_open(members, from) && is_open(members, to))
        .collect();
    let taken: Vec<_> = moves.iter().map(|(from, _)| take(members, from, way)).collect();
    let displaced: Vec<_> = moves.iter().map(|(_, to)| take(members, to, way)).collect();
    for ((from, to), (taken, displaced)) in moves.iter().zip(taken.into_iter().zip(displaced)) {
        if let Some(value) = taken {
            put(members, to, value);
        }
        if let Some(value) = displaced {
            put(members, from, value);
        }
    }
}

/// Whether nothing but objects stands on the way.
fn is_open(members: &Object, names: &[String]) -> bool {
    match names {
        [] => false,
        [_] => true,
        [first, rest @ ..] => match members.get(first) {
            None => true,
            Some(Json::Object(inner)) => is_open(inner, rest),
            Some(_) => false,
        },
    }
}

/// Removes a value. On the way out an object that becomes empty by it goes as well: it was only there to hold it.
fn take(members: &mut Object, names: &[String], way: Way) -> Option<Json> {
    match names {
        [] => None,
        [last] => members.remove(last),
        [first, rest @ ..] => {
            let inner = members.get_mut(first)?.as_object_mut()?;
            let value = take(inner, rest, way)?;
            if inner.is_empty() && way == Way::Out {
                members.remove(first);
            }
            Some(value)
        }
    }
}

/// Sets a value; objects on the way are made.
fn put(members: &mut Object, names: &[String], value: Json) {
    match names {
        [] => {}
        [last] => members.set(last.as_str(), value),
        [first, rest @ ..] => {
            if members.get(first).is_none() {
                members.push(first.as_str(), Object::new());
            }
            if let Some(Json::Object(inner)) = members.get_mut(first) {
                put(inner, rest, value);
            }
        }
    }
}
