//! Arrays of bytes: some formats keep whole bodies so, a byte a line.

use super::parse::{Parsed, Parser};

impl Parser<'_> {
    /// The array of bytes that comes next, `[0, 255]`.
    pub(crate) fn bytes(&mut self) -> Parsed<Vec<u8>> {
        self.ahead();
        if let Some((bytes, end)) = well_formed(self.text.as_bytes(), self.at) {
            self.at = end;
            return Ok(bytes);
        }
        // Once more, to say where it is not.
        let mut bytes = Vec::new();
        self.items(|parser, _| {
            parser.ahead();
            let start = parser.at;
            let byte = parser.skip()?.parse().ok();
            bytes
                .push(byte.ok_or_else(|| parser.error_at(start, "expected a byte, a number from 0 to 255"))?);
            Parsed::Ok(())
        })?;
        Ok(bytes)
    }
}

/// The array at `at`, and where it ends. Walking it value by value would take several times as long.
fn well_formed(text: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
    let mut bytes = Vec::new();
    if *text.get(at)? != b'[' {
        return None;
    }
    at = after_white_space(text, at + 1);
    if *text.get(at)? == b']' {
        return Some((bytes, at + 1));
    }
    loop {
        let mut value = digit(*text.get(at)?)?;
        at += 1;
        while let Some(next) = text.get(at).copied().and_then(digit) {
            // Neither a leading zero nor more than a byte.
            if value == 0 || value > 25 {
                return None;
            }
            value = value * 10 + next;
            at += 1;
        }
        bytes.push(u8::try_from(value).ok()?);
        at = after_white_space(text, at);
        match *text.get(at)? {
            b',' => at = after_white_space(text, at + 1),
            b']' => return Some((bytes, at + 1)),
            _ => return None,
        }
    }
}

fn after_white_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::*;

    fn read(text: &str) -> Result<Vec<u8>, String> {
        let mut parser = Parser::new(text, Limits::default());
        let bytes = parser.bytes().map_err(|error| error.to_string())?;
        parser.end().map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    #[test]
    fn every_byte_in_every_spacing() {
        let all: Vec<u8> = (0..=255).collect();
        for joint in [",", ", ", ",\n      ", " ,\r\n\t"] {
            let texts: Vec<String> = all.iter().map(u8::to_string).collect();
            for (open, close) in [("[", "]"), (" [ ", "\n]\n")] {
                assert_eq!(
                    read(&format!("{open}{}{close}", texts.join(joint))),
                    Ok(all.clone())
                );
            }
        }
        assert_eq!((read("[]"), read("[ \n]")), (Ok(vec![]), Ok(vec![])));
    }

    #[test]
    fn what_is_no_byte_is_refused_at_its_place() {
        for (text, place) in [
            (
                "[1,256]",
                "expected a byte, a number from 0 to 255 at line 1 column 4 (in `[1]`)",
            ),
            ("[1000000]", "expected a byte"),
            ("[-1]", "expected a byte"),
            ("[1.0]", "expected a byte"),
            ("[\"1\"]", "expected a byte"),
            ("[01]", "line 1 column 4"),
            ("[1,]", "line 1 column 4"),
            ("[1", "line 1 column 3"),
            ("[1 2]", "line 1 column 4"),
            ("{}", "expected an array"),
            ("", "line 1 column 1"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(place), "{text}: {said}");
        }
    }
}
