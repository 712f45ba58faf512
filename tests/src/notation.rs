//! A readable notation for streams, and ways to cut a body into odd pieces.
//!
//! Every line ends with LF unless it ends with `<CR>` or `<CRLF>`. `<|>` is a boundary between two transport chunks,
//! `<C3>` one raw byte, `<WAIT 40>` a pause in milliseconds, `<RESET>` a reset connection, and `<EOF>` the end of the
//! connection without the end that the protocol prescribes.

use std::time::Duration;

use crate::upstream::Step;

/// The steps that `text` notates.
///
/// # Panics
/// When a `<…>` is none of the tokens but looks like one that was misspelt.
#[must_use]
pub fn sse(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut bytes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((token, after)) = token(rest) else {
            let next = rest.char_indices().skip(1).find(|(_, letter)| *letter == '<');
            let next = next.map_or(rest.len(), |(at, _)| at);
            bytes.extend_from_slice(&rest.as_bytes()[..next]);
            rest = &rest[next..];
            continue;
        };
        rest = after;
        match token {
            Token::Byte(byte) => bytes.push(byte),
            Token::LineEnd(end) => {
                bytes.extend_from_slice(end);
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
            Token::Boundary => flush(&mut bytes, &mut steps),
            Token::Step(step) => {
                flush(&mut bytes, &mut steps);
                let last = matches!(step, Step::Reset | Step::CloseWithoutEnd);
                steps.push(step);
                if last {
                    return steps;
                }
            }
        }
    }
    flush(&mut bytes, &mut steps);
    steps
}

/// The bytes that `text` notates, up to the first fault.
#[must_use]
pub fn bytes(text: &str) -> Vec<u8> {
    sse(text)
        .into_iter()
        .filter_map(|step| match step {
            Step::Bytes(bytes) => Some(bytes),
            _ => None,
        })
        .flatten()
        .collect()
}

enum Token {
    Byte(u8),
    LineEnd(&'static [u8]),
    Boundary,
    Step(Step),
}

fn token(rest: &str) -> Option<(Token, &str)> {
    let (word, after) = rest.strip_prefix('<')?.split_once('>')?;
    let token = match word {
        "|" => Token::Boundary,
        "CR" => Token::LineEnd(b"\r"),
        "CRLF" => Token::LineEnd(b"\r\n"),
        "EOF" => Token::Step(Step::CloseWithoutEnd),
        "RESET" => Token::Step(Step::Reset),
        _ => match word.strip_prefix("WAIT ") {
            Some(number) => {
                let number = number.parse().expect("milliseconds after WAIT");
                Token::Step(Step::Pause(Duration::from_millis(number)))
            }
            None => Token::Byte(byte(word)?),
        },
    };
    Some((token, after))
}

fn byte(word: &str) -> Option<u8> {
    let upper = word
        .bytes()
        .all(|digit| digit.is_ascii_digit() || digit.is_ascii_uppercase());
    (word.len() == 2 && upper).then(|| u8::from_str_radix(word, 16).ok())?
}

fn flush(bytes: &mut Vec<u8>, steps: &mut Vec<Step>) {
    if !bytes.is_empty() {
        steps.push(Step::Bytes(std::mem::take(bytes)));
    }
}

/// How a body is cut into transport chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One piece.
    Whole,
    /// Pieces of so many bytes.
    Bytes(usize),
    /// Pieces of 1 to 40 bytes, the same ones for the same seed.
    Random(u64),
}

/// `body` in pieces.
#[must_use]
pub fn split(body: &[u8], how: Split) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut rest = body;
    let mut state = 0;
    if let Split::Random(seed) = how {
        state = seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15) | 1;
    }
    while !rest.is_empty() {
        let size = match how {
            Split::Whole => rest.len(),
            Split::Bytes(size) => size,
            Split::Random(_) => draw(&mut state),
        };
        let (piece, after) = rest.split_at(size.clamp(1, rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

/// Xorshift: good enough to cut at places that nobody chose.
fn draw(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    1 + usize::try_from(*state % 40).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_one_step() {
        assert_eq!(sse("data: a < b\n\n"), [Step::Bytes(b"data: a < b\n\n".to_vec())]);
    }

    #[test]
    fn tokens_become_bytes_boundaries_and_faults() {
        let steps = sse("caf<C3><|><A9>\nx<CRLF>\ny<CR>\n<WAIT 40>z<RESET>\nnever");
        assert_eq!(
            steps,
            [
                Step::Bytes(b"caf\xC3".to_vec()),
                Step::Bytes(b"\xA9\nx\r\ny\r".to_vec()),
                Step::Pause(Duration::from_millis(40)),
                Step::Bytes(b"z".to_vec()),
                Step::Reset,
            ]
        );
    }

    #[test]
    fn the_end_without_an_end_is_the_last_step() {
        assert_eq!(
            sse("a<EOF>\n"),
            [Step::Bytes(b"a".to_vec()), Step::CloseWithoutEnd]
        );
        assert_eq!(bytes("a<|>b<EOF>\n"), b"ab");
    }

    #[test]
    fn markup_in_the_payload_is_left_alone() {
        assert_eq!(
            bytes("data: <think>é</think> <|>éx"),
            "data: <think>é</think> éx".as_bytes()
        );
    }

    #[test]
    fn every_split_joins_to_the_body() {
        let body: Vec<u8> = (0..=255).collect();
        for how in [
            Split::Whole,
            Split::Bytes(1),
            Split::Bytes(7),
            Split::Random(1),
            Split::Random(2),
        ] {
            assert_eq!(split(&body, how).concat(), body, "{how:?}");
        }
        assert_eq!(split(&body, Split::Random(5)), split(&body, Split::Random(5)));
        assert_ne!(split(&body, Split::Random(5)), split(&body, Split::Random(6)));
        assert_eq!(split(&body, Split::Bytes(1)).len(), 256);
        assert!(split(b"", Split::Whole).is_empty());
    }
}
