//! Numbers as text in C `printf` formats, and text as numbers.
//!
//! Semantics: `tf.strings.as_string`, `tf.strings.to_number`.

/// A number format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub notation: Notation,
    /// Digits after the decimal point, or all digits for the shortest notation.
    pub precision: Option<usize>,
    pub width: usize,
    /// The flag: `0`, `-`, `+`, space or `#`.
    pub fill: Option<u8>,
}

/// `%f`, `%e`, `%g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    Fixed,
    Scientific,
    Shortest,
}

impl Format {
    /// Appends a float.
    pub fn float(&self, x: f64, out: &mut Vec<u8>) {
        let sign = self.sign(x.is_sign_negative());
        if !x.is_finite() {
            let text = if x.is_nan() { "nan" } else { "inf" };
            return self.pad(sign, text.as_bytes(), false, out);
        }
        let alternative = self.fill == Some(b'#');
        let text = match self.notation {
            Notation::Fixed => fixed(x.abs(), self.precision.unwrap_or(6), alternative),
            Notation::Scientific => scientific(x.abs(), self.precision.unwrap_or(6), alternative),
            Notation::Shortest => shortest(x.abs(), self.precision.unwrap_or(6).max(1), alternative),
        };
        self.pad(sign, text.as_bytes(), true, out);
    }

    /// Appends an integer: its sign and its digits.
    pub fn integer(&self, negative: bool, digits: &[u8], signed: bool, out: &mut Vec<u8>) {
        self.pad(if signed { self.sign(negative) } else { b"" }, digits, true, out);
    }

    /// Appends text.
    pub fn text(&self, text: &[u8], out: &mut Vec<u8>) {
        let shown = self.precision.map_or(text, |n| &text[..n.min(text.len())]);
        self.pad(b"", shown, false, out);
    }

    fn sign(&self, negative: bool) -> &'static [u8] {
        match self.fill {
            _ if negative => b"-",
            Some(b'+') => b"+",
            Some(b' ') => b" ",
            _ => b"",
        }
    }

    fn pad(&self, sign: &[u8], body: &[u8], zeros: bool, out: &mut Vec<u8>) {
        let missing = self.width.saturating_sub(sign.len() + body.len());
        let spaces = |out: &mut Vec<u8>| out.resize(out.len() + missing, b' ');
        match self.fill {
            Some(b'-') => {
                out.extend_from_slice(sign);
                out.extend_from_slice(body);
                spaces(out);
            }
            Some(b'0') if zeros => {
                out.extend_from_slice(sign);
                out.resize(out.len() + missing, b'0');
                out.extend_from_slice(body);
            }
            _ => {
                spaces(out);
                out.extend_from_slice(sign);
                out.extend_from_slice(body);
            }
        }
    }
}

fn fixed(x: f64, precision: usize, point: bool) -> String {
    let mut text = format!("{x:.precision$}");
    if point && precision == 0 {
        text.push('.');
    }
    text
}

/// The digits, with a decimal point after the first, and the exponent.
fn mantissa(x: f64, precision: usize) -> (String, i32) {
    let text = format!("{x:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

fn exponent(mut digits: String, exponent: i32) -> String {
    digits.push_str(&format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs()));
    digits
}

fn scientific(x: f64, precision: usize, point: bool) -> String {
    let (mut digits, power) = mantissa(x, precision);
    if point && precision == 0 {
        digits.push('.');
    }
    exponent(digits, power)
}

fn shortest(x: f64, precision: usize, zeros: bool) -> String {
    let (digits, power) = mantissa(x, precision - 1);
    let trimmed = |text: String| match text.contains('.') && !zeros {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match usize::try_from(power) {
        Ok(power) if power < precision => trimmed(fixed(x, precision - 1 - power, zeros)),
        Err(_) if power >= -4 => trimmed(fixed(x, precision - 1 + power.unsigned_abs() as usize, zeros)),
        _ => {
            let digits = if zeros && precision == 1 { digits + "." } else { digits };
            exponent(trimmed(digits), power)
        }
    }
}

/// The number with that many digits as formatted by `%g` or, if that does not parse back, with all digits needed.
pub fn roundtrip(x: f64, digits: usize, same: impl Fn(&str) -> bool) -> String {
    let text = |digits: usize| {
        let mut out = Vec::new();
        Format { notation: Notation::Shortest, precision: Some(digits), width: 0, fill: None }.float(x, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    let short = text(digits);
    if x.is_nan() || same(&short) { short } else { text(if digits == 6 { 9 } else { 17 }) }
}

/// The text without surrounding spaces.
pub fn trimmed(text: &[u8]) -> &[u8] {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|b| !is_space(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !is_space(b)).map_or(start, |i| i + 1);
    &text[start..end]
}

/// An integer with an optional sign; `None` for other text. Source: `tf.strings.to_number`. O(bytes).
pub fn parse_integer(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(trimmed(text)).ok()?;
    // Any number of leading zeros is accepted.
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { Some(0) } else { digits.parse::<i128>().ok().map(|n| sign * n) }
}

/// A float: decimal, hexadecimal, inf or nan; `None` for other text. `parse` reads decimal floats in the required width.
/// Source: `tf.strings.to_number`.
pub fn parse_float<T>(text: &[u8], parse: impl Fn(&str) -> Option<T>, convert: impl Fn(f64) -> T) -> Option<T> {
    let text = std::str::from_utf8(trimmed(text)).ok()?;
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let signed = |x: f64| convert(if negative { -x } else { x });
    let lower = body.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return hexadecimal(hex).map(signed);
    }
    if lower == "inf" || lower == "infinity" {
        return Some(signed(f64::INFINITY));
    }
    if let Some(payload) = lower.strip_prefix("nan") {
        let inside = payload.strip_prefix('(').and_then(|p| p.strip_suffix(')'));
        let fits = payload.is_empty() || inside.is_some_and(|p| p.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        return fits.then(|| signed(f64::NAN));
    }
    if !body.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    parse(text)
}

/// `1f.8p3`, after `0x`.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once('p').map_or((text, "0"), |(digits, power)| (digits, power));
    let power: i64 = power.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let (mut value, mut exponent) = (0u128, 0i64);
    for (i, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u128::from(digit.to_digit(16)?);
        if value >> 100 == 0 {
            value = value << 4 | digit;
        } else {
            // Digits that no longer fit matter only for breaking ties.
            value |= u128::from(digit != 0);
            exponent += 4;
        }
        if i >= whole.len() {
            exponent -= 4;
        }
    }
    let exponent = exponent.saturating_add(power).clamp(-2000, 2000) as i32;
    // In two steps, so that neither factor overflows.
    Some(value as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2))
}
