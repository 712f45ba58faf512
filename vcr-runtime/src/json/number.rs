use std::fmt;

use super::Sink;

/// A JSON number in the spelling of its document.
#[derive(Clone, PartialEq)]
pub(crate) enum Number {
    /// An integer whose decimal text is exactly what `i64` prints.
    Int(i64),
    /// Anything else, as written: fractions, exponents, integers of any size, `-0`.
    Text(Box<str>),
}

impl Number {
    /// `text` must be a number by the JSON grammar.
    pub(crate) fn from_text(text: &str) -> Self {
        // 18 digits fit into an i64 whatever they are.
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit()) && text != "-0" {
            let magnitude = digits
                .bytes()
                .fold(0_i64, |sum, byte| sum * 10 + i64::from(byte - b'0'));
            return Self::Int(if digits.len() == text.len() {
                magnitude
            } else {
                -magnitude
            });
        }
        Self::Text(text.into())
    }

    pub(crate) fn from_u64(value: u64) -> Self {
        // As it would be read: equal numbers are kept alike.
        match i64::try_from(value) {
            Ok(value) if value < 10_i64.pow(18) => Self::Int(value),
            _ => Self::Text(value.to_string().into()),
        }
    }

    /// Milliseconds with at most three decimals and at least one, as the seed's cassettes spell durations.
    pub(crate) fn from_micros_as_ms(micros: u64) -> Self {
        let (whole, rest) = (micros / 1000, micros % 1000);
        let mut text = format!("{whole}.{rest:03}");
        while text.ends_with('0') && !text.ends_with(".0") {
            text.pop();
        }
        Self::Text(text.into())
    }

    /// Appends its text.
    pub(crate) fn write(&self, out: &mut impl Sink) {
        match self {
            Self::Int(value) => {
                if *value < 0 {
                    out.put("-");
                }
                digits_into(value.unsigned_abs(), out);
            }
            Self::Text(text) => out.put(text),
        }
    }

    /// How long its text is.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Int(value) => {
                let digits = value.unsigned_abs().checked_ilog10().unwrap_or_default() as usize + 1;
                digits + usize::from(*value < 0)
            }
            Self::Text(text) => text.len(),
        }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(*value).ok(),
            Self::Text(text) => text.parse().ok(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "callers ask for the nearest double")]
    pub(crate) fn as_f64(&self) -> f64 {
        match self {
            Self::Int(value) => *value as f64,
            // A JSON number always parses; an overflow becomes an infinity, which callers range-check.
            Self::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }
}

/// Appends the digits of a number: formatting it takes as long as the rest of a short line.
pub(crate) fn digits_into(mut number: u64, out: &mut impl Sink) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // They are digits.
    out.put(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_survives() {
        for text in [
            "0",
            "-0",
            "-7",
            "1.0",
            "1e16",
            "1E+16",
            "-1.0e-07",
            "18446744073709551615",
            "9007199254740993",
        ] {
            assert_eq!(Number::from_text(text).to_string(), text);
            let mut out = String::new();
            Number::from_text(text).write(&mut out);
            assert_eq!(out, text);
        }
        for value in [0, 7, -10, i64::MAX, i64::MIN] {
            let mut out = String::new();
            Number::Int(value).write(&mut out);
            assert_eq!(out, value.to_string());
        }
        assert_eq!(Number::from_u64(u64::MAX).as_u64(), Some(u64::MAX));
        for value in [0, 999_999_999_999_999_999, 1_000_000_000_000_000_000, u64::MAX] {
            assert!(
                Number::from_u64(value) == Number::from_text(&value.to_string()),
                "{value}"
            );
        }
    }

    #[test]
    fn durations_have_one_to_three_decimals() {
        for (micros, text) in [
            (0, "0.0"),
            (40_000, "40.0"),
            (1, "0.001"),
            (123_456, "123.456"),
            (1_500, "1.5"),
        ] {
            assert_eq!(Number::from_micros_as_ms(micros).to_string(), text);
        }
    }
}
