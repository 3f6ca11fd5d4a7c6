//! Conversion of numbers to strings, and of strings to numbers.
//!
//! Semantics: `tf.strings.as_string`, `to_number`.

use super::shared::{flat, is_text, text};
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::functions::apply::unary;
use crate::expr::kernels::cast::{bools, cast, dtype_of, i64s, native};
use crate::expr::kernels::datum::RowError;
use crate::expr::kernels::printf::{Format, Notation, parse_float, parse_integer};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::OperandKind;
use crate::numerals::Comma;
use crate::schema::DType;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, LargeStringArray, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["strings.as_string", "as_string", "dtypes.as_string"],
        "input|x, precision=-1, scientific=False, shortest=False, width=-1, fill=\"\"",
        "Convert numbers and bools to text, formatted as by printf. For a json field, strings are returned as they are, and other values as JSON.",
        [
            ("strings.as_string([3, 2])", "[\"3\", \"2\"]"),
            ("strings.as_string([3.1415926, 2.71828], precision=2)", "[\"3.14\", \"2.72\"]"),
            ("strings.as_string(7, width=3, fill=\"0\")", "\"007\"")
        ],
        as_string
    ),
    function!(
        ["strings.to_number", "string_to_number"],
        "input|x|string_tensor, out_type=float32",
        "Convert strings to numbers.",
        [("strings.to_number([\"1.5\", \" -inf\"])", "[1.5, -inf]"), ("strings.to_number(\"42\", out_type=int64)", "42")],
        to_number
    ),
];

/// Maximum precision and field width.
const WIDEST: i64 = 10_000;

/// The text of JSON values: a string without its quotes, anything else as JSON.
fn json_as_string(call: &mut Call) -> ExprResult<OperandKind> {
    if let Some(i) = (1..6).find(|i| call.given(*i).is_some()) {
        return Err(call.error(format!("{}: {} is for numbers; this is json", call.name, call.param(i))));
    }
    let x = call.sized(0)?;
    unary(call, x, DType::String, |array| {
        let text = |json: &str| match json.starts_with('"') {
            true => serde_json::from_str(json).map_err(|_| Error::internal("text that is not JSON")),
            false => Ok(json.to_owned()),
        };
        let json = array.as_string_opt::<i64>().ok_or_else(|| Error::internal("JSON in another layout"))?;
        let texts = json.iter().map(|json| json.map(text).transpose()).collect::<Result<LargeStringArray>>()?;
        Ok(Arc::new(texts) as ArrayRef)
    })
}

fn as_string(call: &mut Call) -> ExprResult<OperandKind> {
    if call.operand(0)?.node().is_some_and(|node| node.ty.dtype() == Some(&DType::Json) && !node.ty.is_sparse()) {
        return json_as_string(call);
    }
    let x = call.tensor(0)?;
    let dtype = x.dtype()?.clone();
    let size = |i: usize| -> ExprResult<Option<usize>> {
        let n = call.optional_int(i)?.unwrap_or(-1);
        if n > WIDEST {
            return Err(ExprError::at(
                call.operand(i)?.span.clone(),
                format!("{}: {} is {n}; it must be at most {WIDEST}", call.name, call.param(i)),
            ));
        }
        Ok(usize::try_from(n).ok())
    };
    let (precision, width) = (size(1)?, size(4)?);
    let notation = match (call.flag(2, false)?, call.flag(3, false)?) {
        (true, true) => return Err(call.error(format!("{}: scientific and shortest cannot be used together", call.name))),
        (true, false) => Notation::Scientific,
        (false, true) => Notation::Shortest,
        (false, false) => Notation::Fixed,
    };
    let whole = dtype.is_integer() || dtype == DType::Bool;
    if whole && (precision.is_some() || notation != Notation::Fixed) {
        return Err(call.error(format!("{}: precision, scientific and shortest are for floats; this is {dtype}", call.name)));
    }
    let fill = match call.string(5)?.as_deref() {
        None | Some("") => None,
        Some(flag) => match flag.as_bytes() {
            [flag @ (b'0' | b'-' | b'+' | b' ' | b'#')] => Some(*flag),
            _ => {
                return Err(ExprError::at(
                    call.operand(5)?.span.clone(),
                    format!("{}: fill must be \"0\", \"-\", \"+\", \" \" or \"#\", not {flag:?}", call.name),
                ));
            }
        },
    };
    let width = width.unwrap_or(0);
    // Text is formatted only if there is a width. The precision is the number of bytes kept, which may cut a character.
    let precision = precision.filter(|_| width > 0 || !is_text(&dtype));
    let format = Format { notation, precision, width, fill };
    let cuts = is_text(&dtype) && precision.is_some();
    let to = if cuts || dtype == DType::Bytes { DType::Bytes } else { DType::String };
    unary(call, x, to.clone(), move |array| written(array, &format, &to))
}

fn written(array: &ArrayRef, format: &Format, to: &DType) -> Result<ArrayRef> {
    let dtype = dtype_of(array)?;
    let mut out = TextBuilder::with_capacity(array.len(), 0);
    let mut digits = itoa::Buffer::new();
    match &dtype {
        DType::Bool => bools(array)?.iter().for_each(|b| out.push(if b { b"true" } else { b"false" })),
        d if is_text(d) => Texts::of(array)?.iter().for_each(|text| {
            format.text(text, &mut out.bytes);
            out.end();
        }),
        d if d.is_float() => native::<Float64Type>(&cast(array, &DType::Float64)?)?.iter().for_each(|x| {
            format.float(*x, &mut out.bytes);
            out.end();
        }),
        DType::UInt64 => native::<UInt64Type>(array)?.iter().for_each(|n| {
            format.integer(false, digits.format(*n).as_bytes(), false, &mut out.bytes);
            out.end();
        }),
        d => {
            let signed = d.integer_range().0 < 0;
            i64s(&cast(array, &DType::Int64)?)?.iter().for_each(|n| {
                format.integer(*n < 0, digits.format(n.unsigned_abs()).as_bytes(), signed, &mut out.bytes);
                out.end();
            });
        }
    }
    out.finish(to)
}

fn to_number(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let dtype = call.dtype(1)?.unwrap_or(DType::Float32);
    let to = dtype.clone();
    let integers = match &dtype {
        DType::Float32 | DType::Float64 => None,
        DType::Int32 | DType::Int64 | DType::UInt32 | DType::UInt64 => Some(dtype.integer_range()),
        other => {
            return Err(ExprError::at(
                call.operand(1)?.span.clone(),
                format!("{} returns float32, float64, int32, int64, uint32 or uint64, not {other}", call.name),
            ));
        }
    };
    flat(call, x, dtype, move |texts| match (&to, integers) {
        (DType::Float32, _) => read::<Float32Type>(texts, &to, |t| parse_float(t, |s| s.parse().ok(), |x| x as f32)),
        (DType::Float64, _) => read::<Float64Type>(texts, &to, |t| parse_float(t, |s| s.parse().ok(), |x| x)),
        (_, Some((low, high))) => {
            let number = |t: &[u8]| {
                let unsigned_minus = low == 0 && t.contains(&b'-');
                parse_integer(t).filter(|n| (low..=high).contains(n) && !unsigned_minus)
            };
            match to {
                DType::Int32 => read::<Int32Type>(texts, &to, |t| number(t).map(|n| n as i32)),
                DType::Int64 => read::<Int64Type>(texts, &to, |t| number(t).map(|n| n as i64)),
                DType::UInt32 => read::<UInt32Type>(texts, &to, |t| number(t).map(|n| n as u32)),
                _ => read::<UInt64Type>(texts, &to, |t| number(t).map(|n| n as u64)),
            }
        }
        _ => Err((0, Error::internal(format!("text as {to}")))),
    })
}

fn read<T: arrow_array::ArrowPrimitiveType>(
    texts: Texts,
    to: &DType,
    parse: impl Fn(&[u8]) -> Option<T::Native>,
) -> Result<ArrayRef, RowError> {
    let values = texts
        .iter()
        .enumerate()
        .map(|(i, text)| {
            parse(text).ok_or_else(|| {
                let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
                let error = Error::data(format!("the string {shown:?} is not a valid {to}"));
                let is_fraction = to.is_float();
                let readings = Comma::readings(&shown).into_iter().filter(|comma| *comma == Comma::Thousands || is_fraction);
                (i, readings.fold(error, |error, comma| error.help(format!("{}: {}", comma.remedy(), comma.replaced("x")))))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
}
