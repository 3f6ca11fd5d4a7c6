//! Single values as Python and NumPy print them.
//!
//! Formats: `numpy/_core/arrayprint.py` of NumPy 2 (`FloatingFormat`, `IntegerFormat`,
//! `BoolFormat`), `repr` of Python's bytes and floats.

use crate::schema::DType;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use half::f16;

/// Maximum number of fractional digits in an array.
const PRECISION: usize = 8;

/// The flat values of a field.
#[derive(Clone, Copy)]
pub struct FlatValues<'a> {
    pub array: &'a ArrayRef,
    pub dtype: &'a DType,
}

/// One value.
enum Value<'a> {
    Bool(bool),
    Int(i128),
    Float(Float),
    Bytes(&'a [u8]),
    /// A value of an Arrow type that has no Python form.
    Other(String),
}

impl<'a> FlatValues<'a> {
    fn at(&self, i: usize) -> Value<'a> {
        macro_rules! int {
            ($t:ty) => {
                Value::Int(self.array.as_primitive::<$t>().value(i).into())
            };
        }
        match self.dtype {
            DType::Bool => Value::Bool(self.array.as_boolean().value(i)),
            DType::Int8 => int!(Int8Type),
            DType::Int16 => int!(Int16Type),
            DType::Int32 => int!(Int32Type),
            DType::Int64 => int!(Int64Type),
            DType::UInt8 => int!(UInt8Type),
            DType::UInt16 => int!(UInt16Type),
            DType::UInt32 => int!(UInt32Type),
            DType::UInt64 => int!(UInt64Type),
            DType::Float16 => Value::Float(Float { value: self.array.as_primitive::<Float16Type>().value(i).to_f64(), width: Width::Half }),
            DType::Float32 => Value::Float(Float { value: self.array.as_primitive::<Float32Type>().value(i).into(), width: Width::Single }),
            DType::Float64 => Value::Float(Float { value: self.array.as_primitive::<Float64Type>().value(i), width: Width::Double }),
            DType::String | DType::Json => Value::Bytes(self.array.as_string::<i64>().value(i).as_bytes()),
            DType::Bytes => Value::Bytes(self.array.as_binary::<i64>().value(i)),
            DType::Null => Value::Other("None".to_owned()),
            DType::Arrow(_) => Value::Other(foreign(self.array, i)),
        }
    }

    pub fn is_null(&self, i: usize) -> bool {
        *self.dtype == DType::Null || self.array.is_null(i)
    }

    /// `str` of the NumPy scalar.
    pub fn str(&self, i: usize) -> String {
        match self.at(i) {
            Value::Float(float) => float.str(),
            other => plain(other),
        }
    }

    /// `repr` of the Python object that `.item()` returns.
    pub fn item(&self, i: usize) -> String {
        match self.at(i) {
            Value::Float(float) => Float { width: Width::Double, ..float }.str(),
            other => plain(other),
        }
    }

    /// How NumPy prints the values of an array of which `shown` are printed.
    pub fn formatter(self, shown: &[usize]) -> Box<dyn Fn(usize) -> String + 'a> {
        if self.dtype.is_float() {
            let floats = shown.iter().filter_map(|i| if let Value::Float(f) = self.at(*i) { Some(f) } else { None }).collect::<Vec<_>>();
            let format = FloatFormat::of(&floats);
            return Box::new(move |i| if let Value::Float(float) = self.at(i) { format.text(&float) } else { String::new() });
        }
        let width = match self.dtype {
            dtype if dtype.is_integer() => shown.iter().map(|i| self.str(*i).len()).max().unwrap_or(0),
            DType::Bool => 5,
            _ => 0,
        };
        Box::new(move |i| format!("{:>width$}", self.str(i)))
    }
}

fn plain(value: Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Float(float) => float.str(),
        Value::Bytes(bytes) => bytes_repr(bytes),
        Value::Other(text) => text,
    }
}

fn foreign(array: &ArrayRef, i: usize) -> String {
    let options = arrow_cast::display::FormatOptions::default();
    match arrow_cast::display::ArrayFormatter::try_new(array.as_ref(), &options) {
        Ok(format) => format.value(i).try_to_string().unwrap_or_else(|e| e.to_string()),
        Err(e) => e.to_string(),
    }
}

/// `repr` of Python's bytes.
fn bytes_repr(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut text = format!("b{quote}");
    for &b in bytes {
        match b {
            b'\\' => text.push_str("\\\\"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b if char::from(b) == quote => text.extend(['\\', quote]),
            b' '..=b'~' => text.push(char::from(b)),
            b => text.push_str(&format!("\\x{b:02x}")),
        }
    }
    text.push(quote);
    text
}

/// `repr` of a Python str, used for the keys of a dict.
pub fn str_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Width {
    Half,
    Single,
    Double,
}

impl Width {
    /// The nearest value of this width.
    fn round(self, x: f64) -> f64 {
        match self {
            Width::Half => f16::from_f64(x).to_f64(),
            Width::Single => f64::from(x as f32),
            Width::Double => x,
        }
    }

    /// `10 ** min(8, np.finfo(dtype).precision)`: arrays with values this large are printed with exponents.
    fn exponent_from(self) -> f64 {
        match self {
            Width::Half => 1e3,
            Width::Single => 1e6,
            Width::Double => 1e8,
        }
    }
}

#[derive(Clone, Copy)]
struct Float {
    value: f64,
    width: Width,
}

/// The shortest decimal digits that parse back to the value: `digits[0].digits[1..] * 10**exponent`.
struct Digits {
    digits: String,
    exponent: i32,
}

impl Float {
    fn digits(&self) -> Digits {
        let x = self.value.abs();
        let text = match self.width {
            Width::Double => format!("{x:e}"),
            Width::Single => format!("{:e}", x as f32),
            Width::Half => (0..6)
                .map(|precision| format!("{x:.precision$e}"))
                .find(|text| text.parse::<f64>().is_ok_and(|y| f16::from_f64(y).to_f64() == x))
                .unwrap_or_else(|| format!("{x:e}")),
        };
        // Of two shortest candidates at equal distance, choose the one with the even last digit.
        let shortest = split(&text);
        let even = format!("{x:.*e}", shortest.digits.len() - 1);
        if even.parse::<f64>().is_ok_and(|y| self.width.round(y) == x) { split(&even) } else { shortest }
    }

    fn special(&self) -> Option<&'static str> {
        match self.value {
            x if x.is_nan() => Some("nan"),
            f64::INFINITY => Some("inf"),
            f64::NEG_INFINITY => Some("-inf"),
            _ => None,
        }
    }

    fn sign(&self) -> &'static str {
        if self.value.is_sign_negative() { "-" } else { "" }
    }

    /// The shortest text. Uses an exponent below 1e-4 and from 1e16 upwards, or beyond the limits of the narrower
    /// widths.
    fn str(&self) -> String {
        if let Some(special) = self.special() {
            return special.to_owned();
        }
        let x = self.value.abs();
        let exponent_from = if self.width == Width::Double { 1e16 } else { self.width.exponent_from() };
        if x != 0.0 && !(1e-4..exponent_from).contains(&x) {
            let Digits { digits, exponent } = self.digits();
            let point = if digits.len() > 1 { "." } else { "" };
            return format!("{}{}{point}{}e{}", self.sign(), &digits[..1], &digits[1..], exponent_text(exponent, 2));
        }
        let (int, frac) = positional(&self.digits());
        format!("{}{int}.{}", self.sign(), if frac.is_empty() { "0" } else { &frac })
    }

    /// The digits before and after the point, at most eight after it.
    fn positional(&self) -> (String, String) {
        let (mut int, mut frac) = positional(&self.digits());
        if frac.len() > PRECISION {
            let text = format!("{:.PRECISION$}", self.value.abs());
            if let Some((i, f)) = text.split_once('.') {
                int = i.to_owned();
                frac = f.trim_end_matches('0').to_owned();
            }
        }
        (format!("{}{int}", self.sign()), frac)
    }

    /// The digit before the decimal point, the digits after it (at most eight), and the exponent.
    fn scientific(&self) -> (String, String, i32) {
        let mut found = self.digits();
        if found.digits.len() > PRECISION + 1 {
            found = split(&format!("{:.PRECISION$e}", self.value.abs()));
        }
        let frac = found.digits[1..].trim_end_matches('0').to_owned();
        (format!("{}{}", self.sign(), &found.digits[..1]), frac, found.exponent)
    }
}

/// Splits `1.234e-5`.
fn split(text: &str) -> Digits {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    Digits { digits: mantissa.replace('.', ""), exponent: exponent.parse().unwrap_or(0) }
}

/// The digits before and after the point, without trailing zeros.
fn positional(Digits { digits, exponent }: &Digits) -> (String, String) {
    let digits = digits.trim_end_matches('0');
    if *exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        return ("0".to_owned(), if digits.is_empty() { String::new() } else { format!("{zeros}{digits}") });
    }
    let before = *exponent as usize + 1;
    let int = format!("{digits:0<before$}");
    (int[..before].to_owned(), digits.get(before..).unwrap_or("").to_owned())
}

fn exponent_text(exponent: i32, width: usize) -> String {
    format!("{}{:0>width$}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}

/// How NumPy aligns the floats of an array.
struct FloatFormat {
    /// Digits of the exponent, if it is printed.
    exponent: Option<usize>,
    /// Digits after the decimal point, with an exponent.
    precision: usize,
    pad_left: usize,
    pad_right: usize,
}

impl FloatFormat {
    fn of(floats: &[Float]) -> FloatFormat {
        let finite: Vec<&Float> = floats.iter().filter(|f| f.value.is_finite()).collect();
        let mut format = FloatFormat { exponent: None, precision: 0, pad_left: 0, pad_right: 0 };
        if Self::needs_exponent(&finite) {
            let parts: Vec<_> = finite.iter().map(|f| f.scientific()).collect();
            let digits = parts.iter().map(|(_, _, e)| exponent_text(*e, 2).len() - 1).max().unwrap_or(2);
            format.exponent = Some(digits);
            format.precision = parts.iter().map(|(_, frac, _)| frac.len()).max().unwrap_or(0);
            format.pad_left = parts.iter().map(|(int, _, _)| int.len()).max().unwrap_or(0);
            format.pad_right = digits + 2 + format.precision;
        } else {
            let parts: Vec<_> = finite.iter().map(|f| f.positional()).collect();
            format.pad_left = parts.iter().map(|(int, _)| int.len()).max().unwrap_or(0);
            format.pad_right = parts.iter().map(|(_, frac)| frac.len()).max().unwrap_or(0);
        }
        if finite.len() < floats.len() {
            let negative = floats.iter().any(|f| f.value == f64::NEG_INFINITY);
            format.pad_left = format.pad_left.max((3 + usize::from(negative)).saturating_sub(format.pad_right + 1));
        }
        format
    }

    fn needs_exponent(finite: &[&Float]) -> bool {
        let sizes = || finite.iter().map(|f| f.value.abs()).filter(|x| *x != 0.0);
        let Some(width) = finite.first().map(|f| f.width).filter(|_| sizes().next().is_some()) else {
            return false;
        };
        let (least, most) = sizes().fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        most >= width.exponent_from() || least < width.round(0.0001) || width.round(most / least) > 1000.0
    }

    fn text(&self, float: &Float) -> String {
        if let Some(special) = float.special() {
            return format!("{special:>width$}", width = self.pad_left + self.pad_right + 1);
        }
        match self.exponent {
            Some(digits) => {
                // Padded with digits of the exact value rather than with zeros, even though fewer digits identify it.
                let exact = split(&format!("{:.*e}", self.precision, float.value.abs()));
                let int = format!("{}{}", float.sign(), &exact.digits[..1]);
                format!("{int:>left$}.{}e{}", &exact.digits[1..], exponent_text(exact.exponent, digits), left = self.pad_left)
            }
            None => {
                let (int, frac) = float.positional();
                format!("{int:>left$}.{frac:<right$}", left = self.pad_left, right = self.pad_right)
            }
        }
    }
}
