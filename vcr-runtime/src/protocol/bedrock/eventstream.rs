//! `application/vnd.amazon.eventstream`: messages of headers and a payload behind a length. The checksums are the
//! client's concern.

/// A message, as far as a reader needs it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// `:event-type`.
    pub(super) event: Option<String>,
    /// `:exception-type`, or `:error-code`.
    pub(super) exception: Option<String>,
    /// `:error-message`.
    pub(super) error: Option<String>,
    pub(super) payload: Vec<u8>,
}

/// Cuts bytes into messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    rest: Vec<u8>,
    broken: bool,
}

const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// AWS allows 24 MiB of payload.
const MAX_LENGTH: usize = 32 << 20;

impl Messages {
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<Message>) {
        if self.broken {
            return;
        }
        self.rest.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = number(&self.rest[start..], 0) {
            if !(PRELUDE + CHECKSUM..=MAX_LENGTH).contains(&length) {
                self.broken = true;
                break;
            }
            let Some(message) = self.rest.get(start..start + length) else {
                break;
            };
            match read(message) {
                Some(message) => out.push(message),
                None => self.broken = true,
            }
            start += length;
        }
        self.rest.drain(..start);
    }

    /// Whether every byte belongs to a message that is whole.
    pub(super) fn is_whole(&self) -> bool {
        !self.broken && self.rest.is_empty()
    }

    /// Whether something came that is no message.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(bytes)).ok()
}

fn read(bytes: &[u8]) -> Option<Message> {
    let end = PRELUDE.checked_add(number(bytes, 4)?)?;
    let payload = bytes.get(end..bytes.len() - CHECKSUM)?;
    let mut message = Message {
        payload: payload.to_vec(),
        ..Message::default()
    };
    let mut headers = bytes.get(PRELUDE..end)?;
    while let Some((length, rest)) = headers.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (value, rest) = value(*kind, rest)?;
        headers = rest;
        let text = || std::str::from_utf8(value).ok().map(str::to_owned);
        match name {
            b":event-type" => message.event = text(),
            b":exception-type" | b":error-code" => message.exception = text(),
            b":error-message" => message.error = text(),
            _ => {}
        }
    }
    Some(message)
}

/// A header's value by its type, and what follows it.
fn value(kind: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match kind {
        // True and false.
        0 | 1 => bytes.split_at_checked(0),
        2 => bytes.split_at_checked(1),
        3 => bytes.split_at_checked(2),
        4 => bytes.split_at_checked(4),
        // A long number, a point in time.
        5 | 8 => bytes.split_at_checked(8),
        // Bytes, text.
        6 | 7 => {
            let (length, rest) = bytes.split_at_checked(2)?;
            rest.split_at_checked(usize::from(u16::from_be_bytes(length.try_into().ok()?)))
        }
        9 => bytes.split_at_checked(16),
        _ => None,
    }
}
