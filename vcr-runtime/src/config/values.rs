use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::nearest::hint;
use crate::error::{Error, ErrorKind, Result};

/// Longest latency or window that is accepted. It bounds every sum of times, so that no clock overflows.
const DAY_MS: f64 = 86_400_000.0;

/// What a session does with a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Pass it through and keep nothing.
    Live,
    /// Always call the upstream and save; never read.
    Record,
    /// Answer from the cassette alone; there is no transport.
    #[default]
    Replay,
    /// Replay where the cassette exists, else record. With `CI` set: replay.
    Auto,
    /// Replay what matches and record what misses as a new take. With `CI` set: replay.
    New,
}

/// How fast a recorded answer is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Speed {
    /// Without any wait.
    #[default]
    Max,
    /// With the recorded times.
    Real,
    /// So many times faster than recorded; `0.5` is half as fast.
    Factor(f64),
}

/// Latency that replay adds at every speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chaos {
    /// None.
    #[default]
    None,
    /// That much before the first frame.
    Fixed(Duration),
    /// A seeded random time in this range before every frame.
    Jitter {
        /// Least time.
        lo: Duration,
        /// Longest time.
        hi: Duration,
    },
}

/// Whether the provider's own bytes are kept beside the canonical layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IncludeRaw {
    /// Where the canonical layer would lose something.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Which recorded call answers a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Matching {
    /// The one with an equal request, in the recording's own partial order.
    #[default]
    Sequential,
    /// The one with an equal request, in any order.
    Keyed,
    /// The next one; requests are not compared.
    Order,
}

/// Why a text is no value of its setting; an [`Error`] once the place of the text is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Continues "`VCR_MODE` holds `x`, which …".
    pub(crate) problem: String,
    /// Every allowed form.
    pub(crate) allowed: String,
}

/// A setting that has a text form. `text` comes without outer spaces and is not empty.
pub(crate) trait Parse: Sized {
    fn parse(text: &str) -> std::result::Result<Self, Refusal>;
}

/// Forgives outer spaces; an empty text says nothing.
pub(crate) fn parse_optional<T: Parse>(text: &str) -> std::result::Result<Option<T>, Refusal> {
    match text.trim() {
        "" => Ok(None),
        text => T::parse(text).map(Some),
    }
}

/// One of a closed set of words, in any case.
pub(super) fn word<T: Copy>(
    text: &str,
    what: &str,
    words: &[(&'static str, T)],
) -> std::result::Result<T, Refusal> {
    let names = || words.iter().map(|(name, _)| *name);
    words
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, value)| *value)
        .ok_or_else(|| Refusal {
            problem: format!("is no {what}{}", hint(text, names())),
            allowed: names()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// A finite number that is not negative; the error is the reason.
fn number(text: &str) -> std::result::Result<f64, &'static str> {
    match text.trim().parse::<f64>() {
        Ok(number) if !number.is_finite() => Err("is not finite"),
        Ok(number) if number < 0.0 => Err("is negative"),
        Ok(number) => Ok(number),
        Err(_) => Err("is no number"),
    }
}

/// Milliseconds as whole microseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and a day after the check"
)]
pub(crate) fn micros(text: &str) -> std::result::Result<u64, &'static str> {
    match number(text)? {
        ms if ms > DAY_MS => Err("is more than a day"),
        ms => Ok((ms * 1000.0).round() as u64),
    }
}

fn ms(micros: u128) -> String {
    let text = format!("{}.{:03}", micros / 1000, micros % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

const MODES: [(&str, Mode); 5] = [
    ("live", Mode::Live),
    ("record", Mode::Record),
    ("replay", Mode::Replay),
    ("auto", Mode::Auto),
    ("new", Mode::New),
];
const RAWS: [(&str, IncludeRaw); 3] = [
    ("auto", IncludeRaw::Auto),
    ("true", IncludeRaw::Always),
    ("false", IncludeRaw::Never),
];
const MATCHINGS: [(&str, Matching); 3] = [
    ("sequential", Matching::Sequential),
    ("keyed", Matching::Keyed),
    ("order", Matching::Order),
];

fn name_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words
        .iter()
        .find(|(_, other)| other == value)
        .map_or("?", |(name, _)| *name)
}

impl Parse for Mode {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        word(text, "mode", &MODES)
    }
}

impl Parse for IncludeRaw {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        word(text, "choice", &RAWS)
    }
}

impl Parse for Matching {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        word(text, "way of matching", &MATCHINGS)
    }
}

impl Parse for bool {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        word(text, "yes or no", &[("true", true), ("false", false)])
    }
}

impl Parse for u64 {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        text.parse().map_err(|_| Refusal {
            problem: "is no whole number of 64 bits".to_owned(),
            allowed: "a whole number from 0 to 18446744073709551615".to_owned(),
        })
    }
}

impl Parse for Speed {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        let refuse = |problem: String| Refusal {
            problem,
            allowed: "`max`, `real`, or a factor from `0.001x` to `1000000x` such as `4x`".to_owned(),
        };
        if text.eq_ignore_ascii_case("max") {
            return Ok(Self::Max);
        }
        if text.eq_ignore_ascii_case("real") {
            return Ok(Self::Real);
        }
        let Some(factor) = text.strip_suffix(['x', 'X']).map(str::trim_end) else {
            let hint = match number(text) {
                Ok(factor) => format!(", did you mean `{factor}x`?"),
                Err(_) => hint(text, ["max", "real"]),
            };
            return Err(refuse(format!("is no speed{hint}")));
        };
        // Beyond these bounds the product with a recorded time could overflow a clock.
        match number(factor) {
            Ok(factor) if (0.001..=1e6).contains(&factor) => Ok(Self::Factor(factor)),
            Ok(_) => Err(refuse("is out of range".to_owned())),
            Err(reason) => Err(refuse(reason.to_owned())),
        }
    }
}

impl Parse for Chaos {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        let refuse = |problem: &str| Refusal {
            problem: problem.to_owned(),
            allowed: "milliseconds such as `250`, or a range such as `20..200`".to_owned(),
        };
        let time = |text: &str| micros(text).map(Duration::from_micros).map_err(refuse);
        let Some((lo, hi)) = text.split_once("..") else {
            let fixed = time(text)?;
            return Ok(if fixed.is_zero() {
                Self::None
            } else {
                Self::Fixed(fixed)
            });
        };
        let (lo, hi) = (time(lo)?, time(hi)?);
        if lo > hi {
            return Err(refuse("is a range whose end comes before its start"));
        }
        Ok(if hi.is_zero() {
            Self::None
        } else {
            Self::Jitter { lo, hi }
        })
    }
}

impl Speed {
    /// What recorded times are multiplied with.
    pub(crate) fn time_factor(self) -> f64 {
        match self {
            Self::Max => 0.0,
            Self::Real => 1.0,
            Self::Factor(factor) => 1.0 / factor,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(name_of(&MODES, self))
    }
}

impl fmt::Display for IncludeRaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(name_of(&RAWS, self))
    }
}

impl fmt::Display for Matching {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(name_of(&MATCHINGS, self))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => formatter.pad("max"),
            Self::Real => formatter.pad("real"),
            Self::Factor(factor) => formatter.pad(&format!("{factor}x")),
        }
    }
}

impl fmt::Display for Chaos {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.pad("0"),
            Self::Fixed(time) => formatter.pad(&ms(time.as_micros())),
            Self::Jitter { lo, hi } => {
                formatter.pad(&format!("{}..{}", ms(lo.as_micros()), ms(hi.as_micros())))
            }
        }
    }
}

fn from_str<T: Parse>(text: &str) -> Result<T> {
    let refusal = match text.trim() {
        "" => Refusal {
            problem: "says nothing".to_owned(),
            allowed: "a value".to_owned(),
        },
        trimmed => match T::parse(trimmed) {
            Ok(value) => return Ok(value),
            Err(refusal) => refusal,
        },
    };
    Err(Error::new(
        ErrorKind::Config,
        format!("`{}` {}", text.escape_debug(), refusal.problem),
        format!("allowed: {}", refusal.allowed),
    ))
}

macro_rules! from_str {
    ($($name:ty),*) => {$(
        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                from_str(text)
            }
        }
    )*};
}

from_str!(Mode, Speed, Chaos, IncludeRaw, Matching);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_outer_spaces_are_forgiven() {
        assert_eq!("REPLAY".parse::<Mode>().unwrap(), Mode::Replay);
        assert_eq!("Record".parse::<Mode>().unwrap(), Mode::Record);
        assert_eq!(" replay ".parse::<Mode>().unwrap(), Mode::Replay);
        assert_eq!(" 4X\n".parse::<Speed>().unwrap(), Speed::Factor(4.0));
        assert_eq!("KEYED".parse::<Matching>().unwrap(), Matching::Keyed);
        assert_eq!("True".parse::<IncludeRaw>().unwrap(), IncludeRaw::Always);
    }

    #[test]
    fn an_empty_text_is_unset_and_no_value() {
        assert_eq!(parse_optional::<Mode>(" \t"), Ok(None));
        assert_eq!("".parse::<Mode>().unwrap_err().kind(), ErrorKind::Config);
    }

    #[test]
    fn other_words_are_refused_with_every_allowed_one() {
        let error = "replya".parse::<Mode>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`replya` is no mode, did you mean `replay`?; allowed: `live`, `record`, `replay`, `auto`, `new`"
        );
        for text in ["true", "off", "replay,record", "réplay", "0"] {
            assert!(text.parse::<Mode>().is_err(), "{text}");
        }
        assert!("always".parse::<IncludeRaw>().is_err());
    }

    #[test]
    fn numbers_are_finite_and_not_negative() {
        for (text, reason) in [
            ("-1", "is negative"),
            ("abc", "is no number"),
            ("NaN", "is not finite"),
            ("inf", "is not finite"),
            ("1e300", "is more than a day"),
            ("9..1", "comes before its start"),
            ("1..", "is no number"),
            ("1..-2", "is negative"),
        ] {
            let error = text.parse::<Chaos>().unwrap_err();
            assert!(error.message().contains(reason), "{error}");
        }
        assert_eq!(micros("0.0005"), Ok(1));
        assert_eq!(micros("100"), Ok(100_000));
    }

    #[test]
    fn speeds() {
        for (text, factor) in [
            ("max", 0.0),
            ("real", 1.0),
            ("4x", 0.25),
            ("0.5x", 2.0),
            ("2 x", 0.5),
        ] {
            assert_eq!(text.parse::<Speed>().unwrap().time_factor(), factor, "{text}");
        }
        for text in ["fast", "0x", "-2x", "nanx", "x", "1e9x"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
        let error = "4".parse::<Speed>().unwrap_err();
        assert!(error.message().ends_with("did you mean `4x`?"), "{error}");
    }

    #[test]
    fn every_value_survives_its_text() {
        for (_, mode) in MODES {
            assert_eq!(mode.to_string().parse::<Mode>().unwrap(), mode);
        }
        for (_, raw) in RAWS {
            assert_eq!(raw.to_string().parse::<IncludeRaw>().unwrap(), raw);
        }
        for (_, matching) in MATCHINGS {
            assert_eq!(matching.to_string().parse::<Matching>().unwrap(), matching);
        }
        for speed in [Speed::Max, Speed::Real, Speed::Factor(0.1), Speed::Factor(1.0)] {
            assert_eq!(speed.to_string().parse::<Speed>().unwrap(), speed);
        }
        let us = Duration::from_micros;
        for (chaos, text) in [
            (Chaos::None, "0"),
            (Chaos::Fixed(us(12_500)), "12.5"),
            (Chaos::Fixed(us(500_000)), "500"),
            (Chaos::Jitter { lo: us(0), hi: us(1) }, "0..0.001"),
        ] {
            assert_eq!(chaos.to_string(), text);
            assert_eq!(text.parse::<Chaos>().unwrap(), chaos);
        }
        assert_eq!("0..0".parse::<Chaos>().unwrap(), Chaos::None);
    }
}
