use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::json::Number;

/// Integers with more digits than this keep their exponent: `1e999999999` must not become a gigabyte of zeros.
/// Every finite double that is an integer is shorter (309 digits at most).
const MAX_PLAIN_DIGITS: i64 = 400;

/// What a number is worth, as far as it can be said without allocating.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Int(i64),
    /// A double with a fractional part.
    Fraction(f64),
    /// Everything else, mostly integers beyond 64 bits: the canonical text decides.
    Large,
}

/// The canonical text of a number: equal values have equal texts, whatever their spelling.
///
/// Integers are exact at any size and stand in plain digits. Any other number is worth its nearest double, whose
/// shortest round-trip digits stand in the one form `7.5e-1`. The rule is ours so that no update of a JSON library
/// can change a stored hash.
pub(crate) fn text(number: &Number) -> String {
    let mut out = String::new();
    text_into(number, &mut out);
    out
}

/// Appends [`text`] to `out`.
pub(crate) fn text_into(number: &Number, out: &mut String) {
    let written = match value(number) {
        Value::Int(value) => write!(out, "{value}"),
        Value::Fraction(value) => write!(out, "{value:e}"),
        Value::Large => {
            large_into(number, out);
            Ok(())
        }
    };
    // Writing to a String cannot fail.
    debug_assert!(written.is_ok());
}

/// Whether two numbers have the same value.
pub(crate) fn same(a: &Number, b: &Number) -> bool {
    // Equal spellings need no arithmetic, and they are what replay meets nearly always.
    if a == b {
        return true;
    }
    match (value(a), value(b)) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Fraction(a), Value::Fraction(b)) => a.to_bits() == b.to_bits(),
        (Value::Large, Value::Large) => text(a) == text(b),
        _ => false,
    }
}

pub(super) fn value(number: &Number) -> Value {
    let spelling = match number {
        Number::Int(value) => return Value::Int(*value),
        Number::Text(spelling) => spelling,
    };
    if let Some(decimal) = Decimal::read(spelling)
        && decimal.is_integer()
    {
        return decimal.to_i64().map_or(Value::Large, Value::Int);
    }
    match spelling.parse::<f64>() {
        Ok(double) if double.is_finite() && double.fract() != 0.0 => Value::Fraction(double),
        // The nearest double of a fraction may be an integer: `1e-400` is 0, and 2^53 + 0.25 is 2^53.
        Ok(double) if double.abs() < 9e18 => {
            #[expect(clippy::cast_possible_truncation, reason = "an integer in the range of i64")]
            let integer = double as i64;
            Value::Int(integer)
        }
        _ => Value::Large,
    }
}

#[cold]
fn large_into(number: &Number, out: &mut String) {
    let spelling = number.to_string();
    let Some(decimal) = Decimal::read(&spelling) else {
        // An exponent beyond 18 digits. Its spelling is as good a name as any, and never wrongly equal.
        out.push_str(&spelling);
        return;
    };
    if !decimal.is_integer()
        && let Ok(double) = spelling.parse::<f64>()
        && double.is_finite()
    {
        // `{:.0}` prints all digits of the double; `{}` would pad the shortest ones with zeros.
        out.push_str(&format!("{double:.0}"));
        return;
    }
    decimal.text_into(out);
}

/// A decimal number as sign, significant digits and power of ten; borrows the spelling, allocates nothing.
#[derive(Clone, Copy)]
struct Decimal<'a> {
    negative: bool,
    /// The significant digits without leading and trailing zeros, perhaps with a point among them; empty is zero.
    digits: &'a str,
    /// The power of ten of the last significant digit.
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// `None` for an exponent beyond 18 digits, and for what is no number.
    fn read(spelling: &'a str) -> Option<Self> {
        let (negative, rest) = match spelling.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, spelling),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, "0"),
        };
        if mantissa.is_empty() || !mantissa.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return None;
        }
        let significant = mantissa
            .trim_start_matches(['0', '.'])
            .trim_end_matches(['0', '.']);
        if significant.is_empty() {
            // No sign either: -0 is 0.
            return Some(Self {
                negative: false,
                digits: "",
                exponent: 0,
            });
        }
        let mut power = read_exponent(exponent)?;
        // Where the last significant digit stands, seen from the point.
        let point = mantissa.find('.').unwrap_or(mantissa.len());
        let start = mantissa.len() - mantissa.trim_start_matches(['0', '.']).len();
        let end = start + significant.len();
        let distance = match point.cmp(&end) {
            Ordering::Greater | Ordering::Equal => signed(point - end),
            Ordering::Less => -signed(end - point - 1),
        };
        power += distance;
        Some(Self {
            negative,
            digits: significant,
            exponent: power,
        })
    }

    fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    fn digits(&self) -> impl Iterator<Item = u8> + 'a {
        self.digits.bytes().filter(|byte| *byte != b'.')
    }

    /// The exact value of an integer, where it fits.
    fn to_i64(self) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        // Downward, because i64::MIN has no positive counterpart.
        let mut sum = 0_i64;
        for digit in self.digits() {
            sum = sum.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
        }
        for _ in 0..self.exponent {
            sum = sum.checked_mul(10)?;
        }
        if self.negative {
            Some(sum)
        } else {
            sum.checked_neg()
        }
    }

    fn text_into(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        out.extend(self.digits().map(char::from));
        if self.exponent >= 0
            && signed(self.digits().count()).saturating_add(self.exponent) <= MAX_PLAIN_DIGITS
        {
            out.extend((0..self.exponent).map(|_| '0'));
        } else {
            out.push_str(&format!("e{}", self.exponent));
        }
    }
}

/// At most 18 digits, so that no later sum overflows.
fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = match digits.trim_start_matches('0') {
        "" if !digits.is_empty() => "0",
        significant => significant,
    };
    if digits.is_empty() || digits.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude: i64 = digits.parse().ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// A length as a signed number; no text in memory is longer.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(spelling: &str) -> String {
        text(&Number::from_text(spelling))
    }

    #[test]
    fn spellings_of_one_value_have_one_text() {
        for (spellings, expected) in [
            (
                &["1", "1.0", "1e0", "10e-1", "0.1e1", "100E-02", "1.000"][..],
                "1",
            ),
            (
                &[
                    "0",
                    "-0",
                    "0.0",
                    "-0.0e5",
                    "0e999999999999999999999",
                    "1e-400",
                    "-1e-400",
                ],
                "0",
            ),
            (
                &["100000000000000000000", "1e20", "1e+20", "1.0E20", "10.0e19"],
                "100000000000000000000",
            ),
            (
                &["1e16", "1e+16", "10000000000000000.0", "10000000000000000"],
                "10000000000000000",
            ),
            (&["0.1", "0.10", "0.10000000000000001", "1e-1", "100e-3"], "1e-1"),
            (&["1.5", "15e-1", "1.50"], "1.5e0"),
            (&["-1.0e-07", "-0.0000001"], "-1e-7"),
            (
                &["9223372036854775807", "9223372036854775807.0"],
                "9223372036854775807",
            ),
            (
                &["-9223372036854775808", "-9.223372036854775808e18"],
                "-9223372036854775808",
            ),
            (
                &["18446744073709551615", "18446744073709551615.00"],
                "18446744073709551615",
            ),
            (&["1e999999999", "10e999999998"], "1e999999999"),
            (&["1.5e400", "15e399", "0.15e401"], "15e399"),
            // The double next to it is 2^53; one above an i64 needs all its digits.
            (&["9007199254740992.25", "9007199254740992"], "9007199254740992"),
            (
                &["12345678901234567890.5", "12345678901234567168"],
                "12345678901234567168",
            ),
        ] {
            for spelling in spellings {
                assert_eq!(canonical(spelling), expected, "{spelling}");
                assert!(
                    same(&Number::from_text(spelling), &Number::from_text(spellings[0])),
                    "{spelling}"
                );
            }
        }
        assert_eq!(canonical("1e400").len(), 5);
        assert_eq!(canonical("1e300").len(), 301);
    }

    #[test]
    fn different_values_have_different_texts() {
        for (a, b) in [
            ("0.7", "0.7000001"),
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551615", "18446744073709551616"),
            ("1", "-1"),
            ("1.5", "-1.5"),
            ("1e99999999999999999999", "1e99999999999999999998"),
            ("1e500", "1e501"),
            ("0.3", "0.30000000000000004"),
            // Around the border between plain digits and an exponent.
            ("1e399", "1e400"),
        ] {
            assert_ne!(canonical(a), canonical(b), "{a} {b}");
            assert!(!same(&Number::from_text(a), &Number::from_text(b)), "{a} {b}");
        }
    }

    #[test]
    fn hostile_exponents_stay_short() {
        for spelling in [
            "1e999999999999999999",
            "-1e-999999999999999999",
            "1e-99999999999999999999999",
            "1E+000000000000000000000000001",
        ] {
            assert!(canonical(spelling).len() < 40, "{spelling}");
        }
        assert_eq!(canonical("1E+000000000000000000000000001"), "10");
    }

    #[test]
    fn a_text_that_is_no_number_is_itself() {
        // A caller's own type may smuggle one in; it must neither panic nor equal anything else.
        for spelling in ["NaN", "inf", "", "-", "e5", "1e"] {
            assert_eq!(text(&Number::Text(spelling.into())), spelling);
        }
    }

    proptest::proptest! {
        #[test]
        fn integers_are_exact(mantissa in proptest::num::u64::ANY, exponent in 0_u32..19, point in 0_usize..19) {
            let exact = (u128::from(mantissa) * 10_u128.pow(exponent)).to_string();
            // The same integer with a point somewhere among its digits.
            let digits = mantissa.to_string();
            let (whole, rest) = digits.split_at(point % digits.len());
            let pointed = format!("{whole}{}.{rest}0e{}", if whole.is_empty() { "0" } else { "" }, exponent as usize + rest.len());
            proptest::prop_assert_eq!(&canonical(&pointed), &exact);
            proptest::prop_assert_eq!(&canonical(&exact), &exact);
            proptest::prop_assert_eq!(canonical(&format!("-{mantissa}e{exponent}")), if mantissa == 0 { "0".to_owned() } else { format!("-{exact}") });
        }

        #[test]
        fn a_double_has_one_text_however_it_is_printed(double in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            let text = canonical(&format!("{double:e}"));
            proptest::prop_assert_eq!(&canonical(&format!("{double}")), &text);
            if double.fract() != 0.0 {
                proptest::prop_assert_eq!(&canonical(&format!("{double:.17e}")), &text);
                proptest::prop_assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(double.to_bits()));
            }
        }
    }
}
