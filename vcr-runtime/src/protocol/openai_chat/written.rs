//! Writes a unary body from the text of its template, as it stands there but for the slots. What is not expected is left to
//! [`unary`](super::unary), which does the same with a tree.

use crate::json::{Json, JsonError, Limits, Nested, Number, Object, Parser, Sink, compact_into, member_of};
use crate::model::{Frames, Usage};
use crate::protocol::rules::index;

use super::unary::{
    FINISH, NATIVE, REASONING, REFUSAL, Said, TEXT, USAGE, fill_parts, fill_tools, fill_usage, said,
};
use super::words::{COMPLETION, PROMPT, REASONING_KEYS, TOTAL};

/// Appends the body to `out`. `false`, and nothing appended, where the template is none of a unary body, or the answer is
/// not what it was made from.
pub(super) fn write(template: &str, frames: &Frames, usage: Option<&Usage>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut writer = Writer {
        template,
        copied: 0,
        frames,
        usage,
        numbers: Vec::new(),
        out,
    };
    let written = writer.body();
    if written.is_err() {
        out.truncate(start);
    }
    written.is_ok()
}

/// Something that only the tree can tell.
struct Unusual;

impl From<JsonError> for Unusual {
    fn from(_: JsonError) -> Self {
        Self
    }
}

impl Nested for Unusual {
    fn below_member(self, _: &str) -> Self {
        self
    }

    fn below_item(self, _: usize) -> Self {
        self
    }
}

struct Writer<'a, 'o> {
    template: &'a str,
    /// How much of the template has been copied or replaced.
    copied: usize,
    frames: &'a Frames,
    usage: Option<&'a Usage>,
    /// The choices that the template has.
    numbers: Vec<u32>,
    out: &'o mut Vec<u8>,
}

/// Members that were met; a repeated one is unusual.
#[derive(Default)]
struct Met(u8);

impl Met {
    fn note(&mut self, member: u8) -> Result<(), Unusual> {
        let before = self.has(member);
        self.0 |= 1 << member;
        if before { Err(Unusual) } else { Ok(()) }
    }

    fn has(&self, member: u8) -> bool {
        self.0 & (1 << member) != 0
    }
}

type Written = Result<(), Unusual>;

impl<'a> Writer<'a, '_> {
    fn body(&mut self) -> Written {
        let mut parser = Parser::new(self.template, Limits::default());
        let mut met = Met::default();
        parser.members(|parser, name| match &*name {
            "choices" => {
                met.note(0)?;
                parser.items(|parser, position| self.choice(parser, position))
            }
            "usage" => {
                met.note(1)?;
                self.counts(parser)
            }
            _ => copied(parser),
        })?;
        let views = self.frames.views();
        let mut spoken = views.map(|frame| frame.rest.map_or(0, |frame| frame.choice));
        if !met.has(0) || spoken.any(|number| !self.numbers.contains(&number)) {
            return Err(Unusual);
        }
        self.out.put(&self.template[self.copied..]);
        Ok(())
    }

    fn counts(&mut self, parser: &mut Parser<'a>) -> Written {
        let plain = self.usage.filter(|usage| usage.details.is_empty());
        let Some(usage) = plain.filter(|_| self.is_word(parser, USAGE)) else {
            return self.changed(parser, |value, writer| fill_usage(value, writer.usage));
        };
        self.replace(parser)?;
        let counts = [
            (PROMPT, usage.prompt_tokens),
            (COMPLETION, usage.completion_tokens),
            (TOTAL, usage.total_tokens),
        ];
        for (place, (name, count)) in counts.into_iter().enumerate() {
            self.out.put(if place == 0 { "{\"" } else { ",\"" });
            self.out.put(name);
            self.out.put("\":");
            Number::from_u64(count).write(self.out);
        }
        self.out.put("}");
        Ok(())
    }

    fn choice(&mut self, parser: &mut Parser<'a>, position: usize) -> Written {
        if parser.ahead() != Some(b'{') {
            return Err(Unusual);
        }
        let choice = &self.template[parser.position()..];
        let number = index_of(choice).or(u32::try_from(position).ok()).unwrap_or(0);
        self.numbers.push(number);
        let said = said(self.frames.views(), number);
        // What a provider calls the reason stands beside it, or instead of it.
        let native = said
            .native
            .filter(|_| member_of(choice, "native_finish_reason") != Some(NATIVE.into()));
        let mut met = Met::default();
        parser.members(|parser, name| match &*name {
            "index" => {
                met.note(0)?;
                copied(parser)
            }
            "finish_reason" => {
                met.note(1)?;
                let reason = native.or(said.finish);
                self.slot(parser, FINISH, said.finish.is_some(), reason)
            }
            "native_finish_reason" => {
                met.note(2)?;
                self.slot(parser, NATIVE, false, said.native.or(said.finish))
            }
            "message" => {
                met.note(3)?;
                if parser.ahead() == Some(b'{') {
                    self.message(parser, &said)
                } else {
                    copied(parser)
                }
            }
            _ => copied(parser),
        })?;
        if said.finish.is_some() && !met.has(1) {
            return Err(Unusual);
        }
        Ok(())
    }

    fn message(&mut self, parser: &mut Parser<'a>, said: &Said<'a>) -> Written {
        let mut met = Met::default();
        let (mut in_parts, mut reasoned) = (false, false);
        parser.members(|parser, name| match &*name {
            "content" => {
                met.note(0)?;
                in_parts = parser.ahead() == Some(b'[');
                if in_parts {
                    return self.changed(parser, |value, _| {
                        if let Json::Array(parts) = value {
                            fill_parts(parts, said);
                        }
                    });
                }
                self.slot(parser, TEXT, !said.text.is_empty(), Some(&said.text))
            }
            "refusal" => {
                met.note(1)?;
                self.slot(parser, REFUSAL, !said.refusal.is_empty(), Some(&said.refusal))
            }
            "tool_calls" => {
                met.note(2)?;
                self.changed(parser, |value, _| {
                    let mut message = Object::new();
                    message.push("tool_calls", std::mem::take(value));
                    fill_tools(&mut message, said);
                    *value = message.remove("tool_calls").unwrap_or_default();
                })
            }
            "function_call" if !said.tools.is_empty() => Err(Unusual),
            key if REASONING_KEYS.contains(&key) => {
                met.note(if key == REASONING_KEYS[0] { 3 } else { 4 })?;
                if !self.is_word(parser, REASONING) {
                    return copied(parser);
                }
                if std::mem::replace(&mut reasoned, true) {
                    return Err(Unusual);
                }
                self.slot(parser, REASONING, true, Some(&said.reasoning))
            }
            _ => copied(parser),
        })?;
        // Parts have the reasoning among them.
        let is_odd = match in_parts {
            true => reasoned,
            false => !reasoned && !said.reasoning.is_empty(),
        };
        let lacks = (!met.has(0) && !said.text.is_empty())
            || (!met.has(1) && !said.refusal.is_empty())
            || (!met.has(2) && !said.tools.is_empty());
        if is_odd || lacks {
            return Err(Unusual);
        }
        Ok(())
    }

    /// Writes a text where the template has `word`, or, where it is `told`, instead of whatever the template has.
    fn slot(&mut self, parser: &mut Parser<'a>, word: &str, told: bool, text: Option<&str>) -> Written {
        if !told && !self.is_word(parser, word) {
            return copied(parser);
        }
        self.replace(parser)?;
        match text {
            Some(text) => {
                self.out.put("\"");
                self.out.put_escaped(text);
                self.out.put("\"");
            }
            None => self.out.put("null"),
        }
        Ok(())
    }

    /// Whether the next value is the string `word`, in which nothing would be escaped.
    fn is_word(&self, parser: &mut Parser<'a>, word: &str) -> bool {
        parser.ahead();
        let text = self.template[parser.position()..].strip_prefix('"');
        let after = text.and_then(|text| text.strip_prefix(word));
        after.is_some_and(|after| after.starts_with('"'))
    }

    /// Writes the next value as `change` leaves it.
    fn changed(&mut self, parser: &mut Parser<'a>, change: impl FnOnce(&mut Json, &Self)) -> Written {
        parser.ahead();
        self.out.put(&self.template[self.copied..parser.position()]);
        let mut value = parser.value()?;
        self.copied = parser.position();
        change(&mut value, self);
        compact_into(&value, self.out);
        Ok(())
    }

    /// Passes over the next value, with everything before it written.
    fn replace(&mut self, parser: &mut Parser<'a>) -> Written {
        parser.ahead();
        self.out.put(&self.template[self.copied..parser.position()]);
        parser.skip()?;
        self.copied = parser.position();
        Ok(())
    }
}

/// The index that a choice states, which it mostly begins with.
fn index_of(choice: &str) -> Option<u32> {
    let digits = choice
        .strip_prefix("{\"index\":")
        .and_then(|rest| rest.split([',', '}']).next());
    let value = match digits.and_then(|digits| digits.parse::<u32>().ok()) {
        Some(digits) => Some(digits.into()),
        None => member_of(choice, "index"),
    };
    index(value.as_ref())
}

/// Passes over the next value, which stays as it is.
fn copied(parser: &mut Parser<'_>) -> Written {
    parser.skip()?;
    Ok(())
}
