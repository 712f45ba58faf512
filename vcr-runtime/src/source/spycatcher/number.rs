//! How the format spells numbers in what it hashes: as `serde_json` prints what it has read.

use crate::json::Number;

/// Appends the number. Integers of 64 bits stand as they are, everything else is the nearest double in its shortest digits:
/// plain from 1e-5 up to 1e16 and with an exponent beyond, so `1.0` is not `1`, and `1e20` is `1e+20`.
pub(super) fn text_into(number: &Number, out: &mut String) {
    let spelling = match number {
        Number::Int(value) => return out.push_str(&value.to_string()),
        Number::Text(spelling) => &**spelling,
    };
    let is_integer = !spelling.contains(['.', 'e', 'E']);
    if is_integer && spelling != "-0" && (spelling.parse::<u64>().is_ok() || spelling.parse::<i64>().is_ok())
    {
        return out.push_str(spelling);
    }
    match spelling.parse::<f64>() {
        Ok(double) if double.is_finite() => double_into(double, out),
        // A parser with doubles refuses it; its spelling is as good a name as any.
        _ => out.push_str(spelling),
    }
}

fn double_into(double: f64, out: &mut String) {
    // The shortest digits that read back to the same double, as `d.ddde±x`. Of two that are equally near the library takes
    // the even one, as rounding to that many digits does.
    let shortest = format!("{:e}", double.abs());
    let places = shortest
        .split('e')
        .next()
        .map_or(0, |mantissa| mantissa.len().saturating_sub(2));
    let scientific = format!("{:.places$e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits: String = mantissa.chars().filter(|character| *character != '.').collect();
    if double.is_sign_negative() {
        out.push('-');
    }
    let point = exponent + 1;
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    if (1..=16).contains(&point) {
        if length <= point {
            out.push_str(&digits);
            (length..point).for_each(|_| out.push('0'));
            out.push_str(".0");
        } else {
            let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or_default());
            out.push_str(whole);
            out.push('.');
            out.push_str(rest);
        }
    } else if (-4..=0).contains(&point) && double != 0.0 {
        out.push_str("0.");
        (point..0).for_each(|_| out.push('0'));
        out.push_str(&digits);
    } else {
        out.push_str(mantissa);
        out.push('e');
        out.push(if exponent < 0 { '-' } else { '+' });
        out.push_str(&exponent.abs().to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spelling: &str) -> String {
        let mut out = String::new();
        text_into(&Number::from_text(spelling), &mut out);
        out
    }

    #[test]
    fn integers_and_doubles_keep_their_kind() {
        for (spelling, expected) in [
            ("1", "1"),
            ("1.0", "1.0"),
            ("-0", "-0.0"),
            ("-0.0", "-0.0"),
            ("0.0", "0.0"),
            ("0e3", "0.0"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("-9223372036854775809", "-9.223372036854776e+18"),
            ("1e20", "1e+20"),
            ("1E2", "100.0"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("123456789012345680", "123456789012345680"),
            ("1.5e300", "1.5e+300"),
            ("0.1", "0.1"),
            ("12.25", "12.25"),
            ("1e-5", "0.00001"),
            ("1.5e-6", "1.5e-6"),
            ("7.50", "7.5"),
            // Exactly between two spellings of equal length.
            ("170035673400901.125", "170035673400901.12"),
        ] {
            assert_eq!(text(spelling), expected, "{spelling}");
        }
    }

    /// With `arbitrary_precision` somewhere in the build the library keeps the spelling, so there is nothing to compare.
    fn library_has_doubles() -> bool {
        let read = serde_json::from_str::<serde_json::Value>("1e2").map(|value| value.to_string());
        matches!(read.as_deref(), Ok("100.0"))
    }

    proptest::proptest! {
        #[test]
        fn doubles_are_spelled_as_the_library_spells_them(bits in proptest::num::u64::ANY, scale in -12i32..20) {
            for double in [f64::from_bits(bits), (bits >> 40) as f64 * 10f64.powi(scale)] {
                if double.is_finite() && library_has_doubles() {
                    let mut out = String::new();
                    double_into(double, &mut out);
                    proptest::prop_assert_eq!(out, serde_json::to_string(&double).unwrap());
                }
            }
        }
    }
}
