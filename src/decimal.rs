//! Decimal numbers in text formats.

mod numbers;

use crate::schema::DType;
use half::f16;

pub use numbers::{Number, Numbers};

/// Powers of ten that a float64 holds exactly.
const TENS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];

/// The leading digits: their value, wrapped beyond 64 bits, and their number.
#[inline(always)]
fn digits(bytes: &[u8], mut value: u64) -> (u64, usize) {
    let mut ndigits = 0;
    while let Some(digit) = bytes.get(ndigits).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        ndigits += 1;
    }
    (value, ndigits)
}

/// The float32 nearest to a decimal number, given the nearest float64: rounding twice is wrong only if that is exactly
/// halfway between two float32 values, or close to 0.
#[inline(always)]
pub fn float32(value: f64, text: &[u8]) -> f32 {
    let nearest = value as f32;
    if !is_halfway(value) && (nearest.is_normal() || value == 0.0) {
        return nearest;
    }
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(nearest)
}

/// The float16 nearest to a float64, rounded once: by way of a float32 rounded to odd.
pub fn float16(value: f64) -> f16 {
    let single = value as f32;
    let toward_zero = single.to_bits() - u32::from(f64::from(single).abs() > value.abs());
    f16::from_f32(f32::from_bits(toward_zero | u32::from(f64::from(single) != value)))
}

/// Whether the text of an integer is that of a float, whose absolute value is `value`: its exact value, or its shortest form
/// with zeros, as JavaScript writes floats below 1e21. Such an integer loses nothing as a float.
pub fn is_whole<T: std::fmt::Display>(value: T, text: &str) -> bool {
    let digits = text.trim_start_matches('-');
    format!("{value:.0}") == digits || value.to_string() == digits
}

/// Whether the text of an integer loses nothing as a float64; see [`is_whole`].
pub fn fits_float64(text: &str) -> bool {
    let value = text.parse::<f64>().ok().map(f64::abs).filter(|value| value.is_finite());
    value.is_some_and(|value| value < (1u64 << 53) as f64 || is_whole(value, text))
}

/// The smallest float32 at and above which every float32 is a whole number, but not every whole number is a float32.
pub const WHOLE: f32 = (1u32 << f32::MANTISSA_DIGITS) as f32;

/// The whole number that a text consists of.
pub fn whole(text: &[u8]) -> Option<i128> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether a text is a whole number that float32 does not represent.
pub fn is_too_wide(text: &[u8]) -> bool {
    whole(text).is_some_and(|whole| !DType::Float32.holds_integer(whole))
}

/// Appends an integer. Up to eight digits are written as one word: copying text of arbitrary length takes a function
/// call.
#[inline(always)]
pub fn put_integer<T: itoa::Integer + Copy + TryInto<i64>>(value: T, out: &mut Vec<u8>) {
    match value.try_into() {
        Ok(short @ -99_999_999..=99_999_999) => {
            if short < 0 {
                out.push(b'-');
            }
            let digits = eight_digits(short.unsigned_abs());
            // The last digit stays, even if it is a zero.
            let nzeros = (digits.trailing_zeros() / 8).min(7);
            let text = (digits | 0x3030_3030_3030_3030) >> (8 * nzeros);
            out.extend_from_slice(&text.to_le_bytes());
            out.truncate(out.len() - nzeros as usize);
        }
        _ => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
    }
}

/// The digits of a number below 10^8, a byte each, the first in the lowest byte. Divides all parts at once: by 10^4, then
/// both by 100, then all four by 10.
#[inline(always)]
fn eight_digits(value: u64) -> u64 {
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((halves - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - 10 * tens) << 8)
}

/// Appends a finite float32. Whole numbers and subnormal ones are written with all digits, so that they equal the same
/// number as a float64; others in the shortest form that reads back as the same float32.
#[inline(always)]
fn put_float32(value: f32, out: &mut Vec<u8>) {
    if value.is_subnormal() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(f64::from(value)).as_bytes());
        return;
    }
    if value.abs() < WHOLE {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
        return;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    put_integer(value.abs() as u128, out);
    out.extend_from_slice(b".0");
}

/// Appends a finite float16; see [`put_float32`].
fn put_float16(value: f16, out: &mut Vec<u8>) {
    let exact = f64::from(value);
    // Five digits distinguish any two float16 values.
    let shortest = || (0..5).map(|digits| format!("{exact:.digits$e}")).find(|t| t.parse().map(float16) == Ok(value));
    // As for float32, subnormal numbers have too few bits for a short form close to the value.
    let shown = if exact.fract() == 0.0 || value.classify() == std::num::FpCategory::Subnormal {
        None
    } else {
        shortest().and_then(|t| t.parse::<f64>().ok())
    };
    out.extend_from_slice(zmij::Buffer::new().format_finite(shown.unwrap_or(exact)).as_bytes());
}

/// Whether a number is exactly halfway between two normal float32 values.
#[inline(always)]
pub fn is_halfway(value: f64) -> bool {
    value.to_bits() & 0x1FFF_FFFF == 0x1000_0000
}

/// The number at the start of `bytes`, as the nearest float64, and its length. `None` if the text up to the next byte
/// for which `is_end` is true (or the end) is not a number or exceeds float64. `nan`, `inf` and `infinity` are accepted
/// in any case.
#[inline]
pub fn float(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> Option<(f64, usize)> {
    let first = *bytes.first()?;
    let mut at = usize::from(matches!(first, b'-' | b'+'));
    let (mut mantissa, mut ndigits) = digits(bytes.get(at..)?, 0);
    at += ndigits;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        (mantissa, fraction) = digits(bytes.get(at + 1..)?, mantissa);
        ndigits += fraction;
        at += 1 + fraction;
    }
    // One exact division gives the nearest float.
    if (1..=19).contains(&ndigits) && mantissa <= 1 << 53 && bytes.get(at).is_none_or(|b| is_end(*b)) {
        let magnitude = mantissa as f64 / TENS[fraction];
        return Some((if first == b'-' { -magnitude } else { magnitude }, at));
    }
    let end = bytes.iter().position(|b| is_end(*b)).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let value: f64 = text.parse().ok()?;
    (value.is_finite() || !text.bytes().any(|b| b.is_ascii_digit())).then_some((value, end))
}

/// Whether a text of digits, which was read as `value`, is a whole number that the float64 does not represent.
#[inline]
pub fn is_rounded(text: &[u8], value: f64) -> bool {
    const EXACT: f64 = (1u64 << 53) as f64;
    value.abs() >= EXACT && {
        let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        let significant = digits.iter().position(|digit| *digit != b'0').and_then(|start| digits.get(start..)).unwrap_or_default();
        digits.iter().all(u8::is_ascii_digit) && format!("{:.0}", value.abs()).as_bytes() != significant
    }
}

/// The integer at the start of `bytes` and its length: an optional sign and digits.
#[inline]
pub fn integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let first = *bytes.first()?;
    let at = usize::from(matches!(first, b'-' | b'+'));
    let (value, ndigits) = digits(bytes.get(at..)?, 0);
    let length = at + ndigits;
    if (1..=18).contains(&ndigits) {
        let value = i64::try_from(value).ok()?;
        return Some((if first == b'-' { -value } else { value }, length));
    }
    let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
    text.parse().ok().map(|value| (value, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_length_are_written() {
        let powers = (0..19).map(|n| 10i64.pow(n));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, 5 * (power / 7), power + 9 * (power / 11)]);
        let spread = (0..200_000u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 36) as i64);
        let mut out = Vec::new();
        for value in (0..20_000).chain(near).chain(spread).chain([i64::MAX]).flat_map(|value| [value, -value]).chain([i64::MIN]) {
            out.clear();
            put_integer(value, &mut out);
            assert_eq!(out, value.to_string().as_bytes());
        }
        out.clear();
        put_integer(u64::MAX, &mut out);
        put_integer(-7i8, &mut out);
        put_integer(i128::MIN, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{}-7{}", u64::MAX, i128::MIN));
    }

    #[test]
    fn float16_is_rounded_once() {
        // Halfway between 1 and the next float16, and slightly beyond, by less than a float32 can resolve.
        let middle = 1.0 + 2f64.powi(-11);
        let next = f16::from_bits(f16::ONE.to_bits() + 1);
        for (value, expected) in [
            (middle, f16::ONE),
            (middle + 2f64.powi(-40), next),
            (middle - 2f64.powi(-40), f16::ONE),
            (-middle - 2f64.powi(-50), -next),
            (65519.999999, f16::MAX),
            (65520.0, f16::INFINITY),
            (1e300, f16::INFINITY),
            (f64::NEG_INFINITY, f16::NEG_INFINITY),
            (2f64.powi(-25), f16::ZERO),
            (2f64.powi(-25) * (1.0 + 2f64.powi(-40)), f16::from_bits(1)),
            (-0.0, f16::NEG_ZERO),
        ] {
            assert_eq!(float16(value).to_bits(), expected.to_bits(), "{value:e}");
        }
        assert!(float16(f64::NAN).is_nan());
    }

    #[test]
    fn whole_numbers_that_floats_do_not_represent() {
        for (text, expected) in [
            ("9007199254740992", false),
            ("9007199254740993", true),
            ("-0009007199254740994", false),
            ("+9007199254740995", true),
            ("9007199254740993.0", false),
            ("9.007199254740993e15", false),
            ("18446744073709551616", false),
            ("123456789012345678901234567890123456789012345", true),
            ("inf", false),
        ] {
            assert_eq!(is_rounded(text.as_bytes(), text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn a_float_is_the_nearest_to_its_digits() {
        for text in [
            "0",
            "1",
            "-1",
            "+1",
            "0.1",
            ".5",
            "5.",
            "1e3",
            "-2.5E-3",
            "123456789012345678901",
            "0.30000000000000004",
            "9007199254740993",
            "1e-400",
        ] {
            let found = float(format!("{text} 7").as_bytes(), |b| b == b' ');
            assert_eq!(found.map(|(v, n)| (v.to_bits(), n)), Some((text.parse::<f64>().unwrap().to_bits(), text.len())), "{text}");
        }
        assert!(float(b"-0 ", |b| b == b' ').unwrap().0.is_sign_negative());
        assert!(float(b"nan", |_| false).unwrap().0.is_nan());
        assert_eq!(float(b"-inf", |_| false), Some((f64::NEG_INFINITY, 4)));
        for text in ["", "-", ".", "1e400", "1_0", "0x1", "abc", "1;2"] {
            assert_eq!(float(text.as_bytes(), |b| b == b' '), None, "{text}");
        }
    }

    #[test]
    fn an_integer_ends_with_its_digits_and_fits_64_bits() {
        for (text, expected) in [
            ("7:1", Some((7, 1))),
            ("-12 ", Some((-12, 3))),
            ("+0", Some((0, 2))),
            ("9223372036854775807", Some((i64::MAX, 19))),
            ("-9223372036854775808", Some((i64::MIN, 20))),
            ("9223372036854775808", None),
            ("99999999999999999999999", None),
            ("", None),
            ("x", None),
            ("-", None),
        ] {
            assert_eq!(integer(text.as_bytes()), expected, "{text}");
        }
    }
}
