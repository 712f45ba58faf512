//! Token counts of the family: read, written back, and the slot that stands for them in a template.

use crate::json::{Json, Object};
use crate::model::Usage;

const USAGE: &str = "usage";
const SLOT: &str = "$usage";

/// What a protocol calls its counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) prompt: &'static str,
    /// `None` where answers have no tokens of their own.
    pub(super) completion: Option<&'static str>,
    pub(super) total: &'static str,
}

impl Counts {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        [Some(self.prompt), self.completion, Some(self.total)]
            .into_iter()
            .flatten()
    }

    /// A usage object with at least one count.
    pub(super) fn read(&self, usage: &Json) -> Option<Usage> {
        let members = usage.as_object()?;
        let count = |name: &str| members.get(name).and_then(Json::as_u64);
        let (prompt, completion) = (count(self.prompt), self.completion.and_then(count));
        let total = count(self.total);
        prompt.or(completion).or(total)?;
        let mut read = Usage::new(prompt.unwrap_or(0), completion.unwrap_or(0));
        read.total_tokens = total.unwrap_or(read.total_tokens);
        let is_count = |name: &str| self.names().any(|known| known == name);
        read.details = members
            .iter()
            // A count of a wrong type is kept as a detail, so that it is written back.
            .filter(|(name, value)| !is_count(name) || value.as_u64().is_none())
            .cloned()
            .collect();
        Some(read)
    }

    /// The counts, each followed by the details of its name, as the API writes them.
    pub(super) fn write(&self, usage: &Usage) -> Object {
        let mut members = Object::new();
        for name in self.names() {
            members.push(name, self.count(usage, name));
            for (detail, value) in usage
                .details
                .iter()
                .filter(|(detail, _)| detail.starts_with(name))
            {
                members.set(detail.clone(), value.clone());
            }
        }
        for (detail, value) in usage.details.iter() {
            members.set(detail.clone(), value.clone());
        }
        members
    }

    fn count(&self, usage: &Usage, name: &str) -> u64 {
        match name {
            name if name == self.prompt => usage.prompt_tokens,
            name if name == self.total => usage.total_tokens,
            _ => usage.completion_tokens,
        }
    }

    /// Takes the counts out of a body. Where they do not come in the usual order, their names stay.
    pub(super) fn take(&self, body: &mut Object) -> Option<Usage> {
        let wire = body.get(USAGE)?;
        let usage = self.read(wire)?;
        let is_usual = *wire == Json::Object(self.write(&usage));
        let names = wire.as_object().into_iter().flat_map(Object::iter);
        let names: Vec<Json> = names.map(|(name, _)| name.as_str().into()).collect();
        body.set(USAGE, if is_usual { SLOT.into() } else { Json::Array(names) });
        Some(usage)
    }

    /// Puts the counts back. Without a slot only counts that came from elsewhere make a difference.
    pub(super) fn fill(&self, body: &mut Object, usage: Option<&Usage>) {
        let counts = usage.map(|usage| self.write(usage));
        match body.get_mut(USAGE) {
            Some(Json::Array(names)) => {
                let counts = counts.unwrap_or_default();
                let names = names.iter().filter_map(Json::as_str);
                let members = names.filter_map(|name| Some((name.to_owned(), counts.get(name)?.clone())));
                let members: Object = members.collect();
                body.set(USAGE, members);
            }
            Some(slot) if slot.as_str() == Some(SLOT) || counts.is_some() => *slot = counts.into(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    const COUNTS: Counts = Counts {
        prompt: "input_tokens",
        completion: Some("output_tokens"),
        total: "total_tokens",
    };

    #[test]
    fn counts_come_back_to_the_letter_in_whatever_order() {
        for (body, slot) in [
            (
                r#"{"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13,"cost":0.10}}"#,
                r#"{"usage":"$usage"}"#,
            ),
            (
                r#"{"usage":{"total_tokens":3,"output_tokens":null,"input_tokens":1}}"#,
                r#"{"usage":["total_tokens","output_tokens","input_tokens"]}"#,
            ),
            (r#"{"usage":null}"#, r#"{"usage":null}"#),
            (r#"{"usage":{"x":null}}"#, r#"{"usage":{"x":null}}"#),
            ("{}", "{}"),
        ] {
            let Json::Object(mut members) = parse(body).unwrap() else {
                panic!("an object")
            };
            let usage = COUNTS.take(&mut members);
            assert_eq!(compact(&Json::Object(members.clone())), slot);
            COUNTS.fill(&mut members, usage.as_ref());
            assert_eq!(compact(&Json::Object(members)), body);
        }
    }

    #[test]
    fn a_missing_total_is_the_sum() {
        let usage = COUNTS
            .read(&parse(r#"{"input_tokens":9,"output_tokens":4}"#).unwrap())
            .unwrap();
        assert_eq!(usage, Usage::new(9, 4));
    }
}
