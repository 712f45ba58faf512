//! A session log to one entry a call.

use super::chunk::{Chunk, Timed};
use super::fault::Fault;
use super::log::{self, Form, Header, Row, Step};

/// A session log that keeps all the rules. What was said stays in the text until a call asks for it.
#[derive(Debug)]
pub(super) struct Log {
    text: String,
    pub(super) header: Header,
    /// When its first chunk of its own came and when its last, where the log tells.
    pub(super) ran: Option<(u64, u64)>,
    calls: Vec<Span>,
}

/// Where in the text the chunks of one call stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: usize,
    to: usize,
    /// Chunks of the first line that are not its own.
    skip: usize,
}

/// A call whose end has not come yet.
struct Open {
    step: Step,
    line: usize,
    span: Span,
    /// Only the end may follow.
    counted: bool,
}

const OVERRIDE: &str = "a call that ended by an error or was cancelled is no part of a log: say what it did in an override file (`override_file`), as a list of entries";

impl Log {
    /// Reads a log. A child's begins behind what it inherited.
    pub(super) fn read(text: String, is_child: bool) -> Result<Self, Fault> {
        let mut lines = log::lines(&text);
        let (number, _, first) = lines.next().ok_or_else(|| {
            Fault::file(
                "has no header",
                "record the session again, or name another file in `source`",
            )
        })?;
        let header = log::header(first).map_err(|says| Fault::line(number, says))?;
        let mut deriving = Deriving {
            skip: if is_child { header.seed_length } else { 0 },
            ..Deriving::default()
        };
        for (number, start, line) in lines {
            let (form, row) = log::row(line).map_err(|says| Fault::line(number, says))?;
            deriving.form(number, form)?;
            deriving.take(number, start..start + line.len(), &row)?;
        }
        deriving.boundary("the log ends")?;
        let Deriving { ran, calls, .. } = deriving;
        Ok(Self {
            text,
            header,
            ran,
            calls,
        })
    }

    /// How many calls it holds.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The chunks of a call with their times in milliseconds; `None` beyond the last.
    pub(super) fn call(&self, index: usize) -> Option<Timed> {
        let span = self.calls.get(index)?;
        let text = self.text.get(span.from..span.to)?;
        let mut all = Vec::new();
        for (_, _, line) in log::lines(text) {
            // Every line was read when the log was.
            match log::row(line).ok()?.1 {
                Row::Chunks(_, chunks) | Row::Summary(Some(chunks)) => all.extend(chunks),
                Row::Summary(None) | Row::Other => {}
            }
        }
        all.drain(..span.skip.min(all.len()));
        Some(all)
    }
}

#[derive(Default)]
struct Deriving {
    /// Events that are still to be passed over.
    skip: u64,
    form: Option<Form>,
    open: Option<Open>,
    calls: Vec<Span>,
    ran: Option<(u64, u64)>,
}

impl Deriving {
    fn form(&mut self, line: usize, form: Form) -> Result<(), Fault> {
        match *self.form.get_or_insert(form) {
            first if first == form => Ok(()),
            Form::Full => Err(Fault::line(
                line,
                "has no number and time, and the lines before it have: projected and full lines do not mix",
            )),
            Form::Projected => Err(Fault::line(
                line,
                "has a number and a time, and the lines before it have none: projected and full lines do not mix",
            )),
        }
    }

    /// Notes when a chunk came. Projected lines have no times.
    fn came(&mut self, time: u64) {
        if self.form == Some(Form::Full) {
            let (first, last) = self.ran.unwrap_or((time, time));
            self.ran = Some((first.min(time), last.max(time)));
        }
    }

    fn take(&mut self, line: usize, place: std::ops::Range<usize>, row: &Row) -> Result<(), Fault> {
        let inherited = self.skip.min(row.events());
        self.skip -= inherited;
        if inherited == row.events() {
            return Ok(());
        }
        match row {
            Row::Other => Ok(()),
            Row::Summary(said) => {
                self.boundary("a summary comes")?;
                if let Some(said) = said {
                    said.iter().for_each(|(time, _)| self.came(*time));
                    self.calls.push(Span {
                        from: place.start,
                        to: place.end,
                        skip: 0,
                    });
                }
                Ok(())
            }
            Row::Chunks(step, chunks) => {
                let skip = usize::try_from(inherited).unwrap_or(usize::MAX);
                chunks.iter().skip(skip).for_each(|(time, _)| self.came(*time));
                if self.open.as_ref().is_some_and(|open| open.step != *step) {
                    self.boundary("another call begins")?;
                }
                let open = self.open.get_or_insert(Open {
                    step: *step,
                    line,
                    span: Span {
                        from: place.start,
                        to: place.end,
                        skip,
                    },
                    counted: false,
                });
                open.span.to = place.end;
                for (_, chunk) in chunks.iter().skip(skip) {
                    match chunk {
                        Chunk::Finish(_) => {}
                        _ if open.counted => {
                            return Err(Fault::line(
                                line,
                                "has a chunk behind the `usage` of its call; only `finish` may follow",
                            ));
                        }
                        Chunk::Usage(_) => open.counted = true,
                        _ => {}
                    }
                }
                // Packed rows never hold one, so it is the line's only chunk.
                if let Some((_, Chunk::Finish(_))) = chunks.last() {
                    self.calls.extend(self.open.take().map(|open| open.span));
                }
                Ok(())
            }
        }
    }

    /// Here no call may be open.
    fn boundary(&mut self, what: &str) -> Result<(), Fault> {
        match self.open.take() {
            None => Ok(()),
            Some(Open { step, line, .. }) => {
                let Step { turn, step } = step;
                let says = format!(
                    "begins the call of turn {turn} step {step}, which has no `finish` before {what}"
                );
                Err(Fault::line(line, says).advising(OVERRIDE))
            }
        }
    }
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
