//! Placeholders in a script: `{{fromRequest:PATTERN}}` and `{{session:N}}`, filled in when a call takes its entry.

use std::cell::OnceCell;

use regex::RegexBuilder;

use super::chunk::{Block, Chunk, Reason};
use super::fields::shown;
use crate::json::Json;

const FROM_REQUEST: &str = "{{fromRequest:";
const SESSION: &str = "{{session:";
/// What a compiled pattern may take, in bytes.
const MOST: usize = 1 << 20;

/// What the placeholders of one call stand for.
pub(super) struct Live<'a> {
    messages: &'a [Json],
    /// The live sessions by the numbers of their scripts.
    sessions: Vec<Option<&'a str>>,
    /// Every text of the messages in order, a line each; most scripts never need it.
    corpus: OnceCell<String>,
}

impl<'a> Live<'a> {
    pub(super) fn new(messages: &'a [Json], sessions: Vec<Option<&'a str>>) -> Self {
        Self {
            messages,
            sessions,
            corpus: OnceCell::new(),
        }
    }

    /// Fills in one text.
    pub(super) fn text(&self, text: &mut String) -> Result<(), String> {
        if !text.contains(FROM_REQUEST) && !text.contains(SESSION) {
            return Ok(());
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(open) = rest.find("{{") {
            let (before, from) = rest.split_at(open);
            filled.push_str(before);
            if let Some(behind) = from.strip_prefix(FROM_REQUEST) {
                let close = behind
                    .find("}}")
                    .ok_or_else(|| format!("the placeholder `{}` is not closed by `}}}}`", shown(from)))?;
                // Of several braces the last two close it, so that a pattern may end in a count such as `{4}`.
                let more = behind[close + 2..]
                    .bytes()
                    .take_while(|byte| *byte == b'}')
                    .count();
                filled.push_str(self.of_request(&behind[..close + more])?);
                rest = &behind[close + more + 2..];
            } else if let Some((number, behind)) = session(from) {
                filled.push_str(self.of_session(number)?);
                rest = behind;
            } else {
                filled.push_str("{{");
                rest = &from[2..];
            }
        }
        filled.push_str(rest);
        *text = filled;
        Ok(())
    }

    fn of_request(&self, pattern: &str) -> Result<&str, String> {
        let shown = shown(pattern);
        let compiled = RegexBuilder::new(pattern)
            .size_limit(MOST)
            .build()
            .map_err(|error| {
                let error = error.to_string();
                let cause = error.lines().last().unwrap_or_default();
                format!("the pattern `{shown}` of a placeholder is no regular expression: {cause}")
            })?;
        let corpus = self.corpus.get_or_init(|| {
            let mut texts = Vec::new();
            self.messages
                .iter()
                .for_each(|message| leaves(message, &mut texts));
            texts.join("\n")
        });
        let last = compiled.captures_iter(corpus).last();
        let last = last.ok_or_else(|| {
            format!("the pattern `{shown}` of a placeholder matches nothing in the request")
        })?;
        let found = last.get(1).or_else(|| last.get(0));
        Ok(found.map_or("", |found| found.as_str()))
    }

    fn of_session(&self, number: usize) -> Result<&str, String> {
        let live = self.sessions.get(number - 1).copied().flatten();
        live.ok_or_else(|| {
            format!("the placeholder `{{{{session:{number}}}}}` is used, and no live session with a key is bound to that script yet")
        })
    }

    /// Fills in every text of a chunk.
    pub(super) fn chunk(&self, chunk: &mut Chunk) -> Result<(), String> {
        match chunk {
            Chunk::Text { text, .. } | Chunk::Reasoning { text, .. } => self.text(text),
            Chunk::Tool {
                id, name, arguments, ..
            } => {
                self.text(id)?;
                name.as_mut().map_or(Ok(()), |name| self.text(name))?;
                self.text(arguments)
            }
            Chunk::End { block, .. } => match block {
                Block::Text(text) | Block::Reasoning(text) => self.text(text),
                Block::Tool { id, name, arguments } => {
                    self.text(id)?;
                    self.text(name)?;
                    self.text(arguments)
                }
                Block::Other(block) => self.json(block),
            },
            Chunk::Finish(Reason::Aborted(failure) | Reason::Error(failure)) => {
                self.text(&mut failure.message)?;
                self.text(&mut failure.code)
            }
            Chunk::Start | Chunk::Usage(_) | Chunk::Finish(_) => Ok(()),
        }
    }

    fn json(&self, value: &mut Json) -> Result<(), String> {
        match value {
            Json::String(text) => self.text(text),
            Json::Array(items) => items.iter_mut().try_for_each(|item| self.json(item)),
            Json::Object(object) => object.0.iter_mut().try_for_each(|(_, value)| self.json(value)),
            Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
        }
    }
}

/// The number of `{{session:N}}`, counted from 1, and what follows it.
fn session(text: &str) -> Option<(usize, &str)> {
    let (number, behind) = text.strip_prefix(SESSION)?.split_once("}}")?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    Some((number.parse().ok().filter(|_| plain)?, behind))
}

/// Every text of a document, in order.
pub(super) fn leaves<'a>(value: &'a Json, texts: &mut Vec<&'a str>) {
    match value {
        Json::String(text) => texts.push(text),
        Json::Array(items) => items.iter().for_each(|item| leaves(item, texts)),
        Json::Object(object) => object.iter().for_each(|(_, value)| leaves(value, texts)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, String> {
        let messages = [crate::json::parse(
            "{\"role\":\"user\",\"content\":[{\"text\":\"id=ab12 then\"},{\"text\":\"id=cd34}\"}]}",
        )
        .unwrap()];
        let live = Live::new(&messages, vec![Some("s-1"), None]);
        let mut text = text.to_owned();
        live.text(&mut text).map(|()| text)
    }

    #[test]
    fn the_last_match_stands_in_its_place() {
        for (text, filled) in [
            (
                "plain {{x}} {{session:}} {{session:01}}",
                "plain {{x}} {{session:}} {{session:01}}",
            ),
            ("<{{fromRequest:id=([a-z0-9]+)}}>", "<cd34>"),
            ("{{fromRequest:id=[a-z]{2}}}!", "id=cd!"),
            ("{{fromRequest:then$}}{{fromRequest:^user}}", ""),
            ("{{session:1}}/{{fromRequest:(?:id)=ab(.)}}", "s-1/1"),
        ] {
            match filled {
                "" => assert_eq!(
                    fill(text),
                    Err("the pattern `then$` of a placeholder matches nothing in the request".to_owned())
                ),
                filled => assert_eq!(fill(text).unwrap(), filled),
            }
        }
    }

    #[test]
    fn what_cannot_be_filled_is_named() {
        for (text, problem) in [
            (
                "{{fromRequest:a",
                "the placeholder `{{fromRequest:a` is not closed by `}}`",
            ),
            (
                "{{fromRequest:zz+}}",
                "the pattern `zz+` of a placeholder matches nothing in the request",
            ),
            (
                "{{fromRequest:(?=a)}}",
                "the pattern `(?=a)` of a placeholder is no regular expression: error: look-around, including look-ahead and look-behind, is not supported",
            ),
            (
                "{{session:2}}",
                "the placeholder `{{session:2}}` is used, and no live session with a key is bound to that script yet",
            ),
            (
                "{{session:3}}",
                "the placeholder `{{session:3}}` is used, and no live session with a key is bound to that script yet",
            ),
        ] {
            assert_eq!(fill(text).unwrap_err(), problem);
        }
        let open = fill(&format!("{{{{fromRequest:{}", "x".repeat(1000))).unwrap_err();
        assert!(open.len() < 120 && open.contains("xxx…`"), "{open}");
        let huge = fill("{{fromRequest:(a{1000}){1000}}}").unwrap_err();
        assert!(huge.contains("size limit"), "{huge}");
    }
}
