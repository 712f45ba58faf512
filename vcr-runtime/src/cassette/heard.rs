//! An exchange of which no call has been made yet, and its form in the journal: a line that says everything but the body,
//! which follows as it came.

use super::decode::call_of;
use super::file::parser;
use crate::config::IncludeRaw;
use crate::json::{Json, Object, compact_into, digits_into, parse, quote_into};
use crate::model::{CanonicalRequest, End, Framing, HttpHead};

/// What was heard of an exchange. It is read when the take is kept: a caller does not wait for that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    /// Without secrets, as it is stored.
    pub(crate) request: CanonicalRequest,
    /// `None` for that of the request as it is.
    pub(crate) hash: Option<String>,
    /// From the take's start; all other times are from the call's.
    pub(crate) started_us: u64,
    /// How the answer is to be read.
    pub(crate) tick_us: u64,
    pub(crate) include_raw: IncludeRaw,
    /// With the headers that are kept.
    pub(crate) head: Option<HttpHead>,
    /// `None` for a whole body.
    pub(crate) framing: Option<Framing>,
    pub(crate) body: Vec<u8>,
    /// When each piece of the body came, and its length.
    pub(crate) cuts: Vec<(u64, usize)>,
    /// When the last byte came, kept or not.
    pub(crate) last_us: u64,
    /// The body was longer than what is kept of it.
    pub(crate) is_cut: bool,
    pub(crate) total_us: u64,
    pub(crate) end: End,
}

const FRAMINGS: [(&str, Framing); 4] = [
    ("sse", Framing::Sse),
    ("ndjson", Framing::Ndjson),
    ("array", Framing::JsonArray),
    ("opaque", Framing::Opaque),
];

impl Heard {
    /// Its line of the journal, with `room` for more behind it. `None` for an ending that has no form there.
    pub(super) fn line(&self, room: usize) -> Option<String> {
        let end = match &self.end {
            End::Complete => "complete",
            End::Cancelled => "cancelled",
            End::Failed { .. } | End::CutOff => return None,
        };
        let mut line = String::with_capacity(1024 + self.cuts.len() * 8 + room);
        self.asked_into(&mut line);
        if let Some(head) = &self.head {
            line.push_str(",\"http\":{\"status\":");
            digits_into(head.status.into(), &mut line);
            line.push_str(",\"headers\":[");
            for (index, (name, value)) in head.headers.iter().enumerate() {
                line.push_str(if index == 0 { "[" } else { ",[" });
                quote_into(name, &mut line);
                line.push(',');
                quote_into(value, &mut line);
                line.push(']');
            }
            line.push_str("]}");
        }
        line.push_str(",\"heard\":{\"end\":");
        quote_into(end, &mut line);
        line.push_str(",\"include_raw\":");
        quote_into(&self.include_raw.to_string(), &mut line);
        if let Some((name, _)) = FRAMINGS
            .iter()
            .find(|(_, framing)| Some(*framing) == self.framing)
        {
            line.push_str(",\"framing\":");
            quote_into(name, &mut line);
        }
        for (name, number) in [
            (",\"started_us\":", self.started_us),
            (",\"tick_us\":", self.tick_us),
            (",\"last_us\":", self.last_us),
            (",\"total_us\":", self.total_us),
            (",\"body\":", self.body.len() as u64),
        ] {
            line.push_str(name);
            digits_into(number, &mut line);
        }
        line.push_str(if self.is_cut { ",\"is_cut\":true" } else { "" });
        line.push_str(",\"cuts\":[");
        // From piece to piece, which is shorter.
        let mut before_us = 0;
        for (index, (at_us, length)) in self.cuts.iter().enumerate() {
            line.push_str(if index == 0 { "" } else { "," });
            digits_into(at_us - before_us, &mut line);
            before_us = *at_us;
            line.push(',');
            digits_into(*length as u64, &mut line);
        }
        line.push_str("]}}\n");
        Some(line)
    }

    fn asked_into(&self, line: &mut String) {
        let request = &self.request;
        line.push_str("{\"protocol\":");
        quote_into(&request.protocol, line);
        if let Some(hash) = &self.hash {
            line.push_str(",\"request_hash\":");
            quote_into(hash, line);
        }
        line.push_str(",\"request_context\":{\"model\":");
        quote_into(&request.model, line);
        line.push_str(",\"provider\":");
        quote_into(&request.provider, line);
        line.push_str(",\"messages\":[");
        for (index, message) in request.messages.iter().enumerate() {
            line.push_str(if index == 0 { "" } else { "," });
            compact_into(message, line);
        }
        line.push_str("],\"parameters\":{");
        for (index, (name, value)) in request.parameters.iter().enumerate() {
            line.push_str(if index == 0 { "" } else { "," });
            quote_into(name, line);
            line.push(':');
            compact_into(value, line);
        }
        line.push_str("}}");
    }

    /// Whether a line is one of these, and no call.
    pub(super) fn is_line(line: &str) -> bool {
        parse(line).is_ok_and(|document| document.get("heard").is_some())
    }

    /// Reads such a line; the body is `body` of what follows it. `None` when the line is none, or not all of the body is there.
    pub(super) fn read(line: &str, rest: &[u8]) -> Option<Self> {
        let document = parse(line).ok()?;
        let heard = document.get("heard")?.as_object()?;
        let number = |name: &str| heard.get(name)?.as_u64();
        let word = |name: &str| heard.get(name)?.as_str();
        let body = rest.get(..usize::try_from(number("body")?).ok()?)?.to_vec();
        let mut numbers = heard.get("cuts")?.as_array()?.iter().map(Json::as_u64);
        let mut cuts = Vec::new();
        let mut at_us = 0_u64;
        while let Some(more_us) = numbers.next() {
            at_us = at_us.checked_add(more_us?)?;
            cuts.push((at_us, usize::try_from(numbers.next()??).ok()?));
        }
        let length = cuts
            .iter()
            .try_fold(0_usize, |sum, (_, length)| sum.checked_add(*length));
        if length != Some(body.len()) {
            return None;
        }
        let framing = match word("framing") {
            Some(word) => Some(FRAMINGS.iter().find(|(name, _)| *name == word)?.1),
            None => None,
        };
        let call = call_of(&mut parser(line)).ok()?;
        let request = call.request.as_ref().clone();
        Some(Self {
            request: CanonicalRequest {
                protocol: request.protocol?,
                model: request.model.unwrap_or_default(),
                provider: request.provider.unwrap_or_default(),
                messages: request.messages.unwrap_or_default(),
                parameters: request.parameters.unwrap_or_else(Object::new),
            },
            hash: request.hash,
            started_us: number("started_us")?,
            tick_us: number("tick_us")?,
            include_raw: word("include_raw")?.parse().ok()?,
            head: call.http,
            framing,
            body,
            cuts,
            last_us: number("last_us")?,
            is_cut: heard.get("is_cut").is_some(),
            total_us: number("total_us")?,
            end: match word("end")? {
                "complete" => End::Complete,
                "cancelled" => End::Cancelled,
                _ => return None,
            },
        })
    }
}
