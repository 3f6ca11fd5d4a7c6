//! Lengths, substrings, case and bytes of strings.
//!
//! Semantics: `tf.strings.length`, `substr`, `lower`, `upper`, `strip`, `bytes_split`. TensorFlow's `lower`
//! and `upper` drop everything after a NUL; these functions do not. TensorFlow 2.21 has the letters of Unicode 13, and
//! leaves the 95 pairs of letters that have been added since unchanged; these functions convert them.

use super::shared::{each, flat, rows, text};
use crate::error::Error;
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::functions::apply::pointwise;
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::datum::{RowError, texts};
use crate::expr::kernels::printf::trimmed;
use crate::expr::kernels::text::TextBuilder;
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::schema::{DType, Dim};
use arrow_array::Int32Array;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["strings.length"],
        "input|x, unit=\"BYTE\"",
        "The length in bytes, or in characters with unit=\"UTF8_CHAR\".",
        [("strings.length([\"é!\", \"\"])", "[3, 0]"), ("strings.length(\"é!\", unit=\"UTF8_CHAR\")", "2")],
        length
    ),
    function!(
        ["strings.substr"],
        "input|x, pos, len, unit=\"BYTE\"",
        "Substrings; pos and len count bytes, or characters with unit=\"UTF8_CHAR\". A negative pos counts from the end.",
        [("strings.substr([\"Hello\", \"World\"], -3, 2, unit=\"UTF8_CHAR\")", "[\"ll\", \"rl\"]")],
        substr
    ),
    function!(
        ["strings.lower"],
        "input|x, encoding=\"\"",
        "Convert ASCII letters to lowercase, or all letters with encoding=\"utf-8\".",
        [("strings.lower(\"CamelCase Ä\")", "\"camelcase Ä\""), ("strings.lower(\"Ä\", encoding=\"utf-8\")", "\"ä\"")],
        |c| case(c, |b| b.make_ascii_lowercase(), str::to_lowercase)
    ),
    function!(
        ["strings.upper"],
        "input|x, encoding=\"\"",
        "Convert ASCII letters to uppercase, or all letters with encoding=\"utf-8\".",
        [("strings.upper([\"a\", \"ß\"])", "[\"A\", \"ß\"]"), ("strings.upper(\"ß\", encoding=\"utf-8\")", "\"SS\"")],
        |c| case(c, |b| b.make_ascii_uppercase(), str::to_uppercase)
    ),
    function!(
        ["strings.strip", "string_strip"],
        "input|x",
        "Strip leading and trailing ASCII whitespace.",
        [("strings.strip([\" a b\\n\", \"\"])", "[\"a b\", \"\"]")],
        |c| {
            let x = text(c, 0)?;
            let dtype = x.dtype()?.clone();
            each(c, x, dtype, |text, out| {
                out.extend_from_slice(trimmed(text));
                Ok(())
            })
        }
    ),
    function!(
        ["strings.bytes_split"],
        "input|x",
        "Split each string into its bytes.",
        [("strings.bytes_split([\"abc\", \"\"])", "[[[97], [98], [99]], []]")],
        |c| {
            let x = text(c, 0)?;
            rows(c, x, Dim::RAGGED, &[DType::Bytes], |texts, lengths| {
                let mut out = TextBuilder::with_capacity(0, 0);
                for text in texts.iter() {
                    text.iter().for_each(|byte| out.push(&[*byte]));
                    lengths.push(text.len());
                }
                Ok(vec![out.finish(&DType::Bytes).map_err(|e| (0, e))?])
            })
        }
    ),
];

/// Whether the unit is a character rather than a byte.
fn characters(call: &Call, i: usize) -> ExprResult<bool> {
    match call.string(i)?.as_deref() {
        None | Some("BYTE") => Ok(false),
        Some("UTF8_CHAR") => Ok(true),
        Some(other) => Err(ExprError::at(
            call.operand(i)?.span.clone(),
            format!("{}: unit must be \"BYTE\" or \"UTF8_CHAR\", not {other:?}", call.name),
        )),
    }
}

/// Whether a byte is a UTF-8 continuation byte.
fn continues(byte: &u8) -> bool {
    byte & 0xc0 == 0x80
}

fn length(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let characters = characters(call, 1)?;
    flat(call, x, DType::Int32, move |texts| {
        let count = |text: &[u8]| if characters { text.iter().filter(|b| !continues(b)).count() } else { text.len() };
        Ok(Arc::new(Int32Array::from_iter_values(texts.iter().map(|t| i32::try_from(count(t)).unwrap_or(i32::MAX)))))
    })
}

fn case(call: &mut Call, ascii: fn(&mut [u8]), unicode: fn(&str) -> String) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    match call.string(1)?.as_deref() {
        None | Some("") => {
            let dtype = x.dtype()?.clone();
            each(call, x, dtype, move |text, out| {
                let start = out.len();
                out.extend_from_slice(text);
                ascii(&mut out[start..]);
                Ok(())
            })
        }
        Some("utf-8") => each(call, x, DType::String, move |text, out| {
            out.extend_from_slice(unicode(&String::from_utf8_lossy(text)).as_bytes());
            Ok(())
        }),
        Some(other) => Err(ExprError::at(
            call.operand(1)?.span.clone(),
            format!("{}: encoding must be \"\" (ASCII) or \"utf-8\", not {other:?}", call.name),
        )),
    }
}

fn substr(call: &mut Call) -> ExprResult<OperandKind> {
    let (x, pos, len) = (text(call, 0)?, call.integers(1)?, call.integers(2)?);
    let characters = characters(call, 3)?;
    if pos.rank() != len.rank() {
        return Err(call.error(format!("{}: pos and len must have the same shape; these are {} and {}", call.name, pos.ty, len.ty)));
    }
    if last_ragged(&x.ty.dims).is_some() && pos.rank() > 0 {
        return Err(ExprError::at(pos.span.clone(), format!("{}: pos and len of a ragged tensor must be single integers", call.name)));
    }
    // A byte range can cut a character.
    let dtype = if characters { x.dtype()?.clone() } else { DType::Bytes };
    let to = dtype.clone();
    pointwise(call, [x, pos, len], dtype, move |[x, pos, len]| {
        let whole = |e| (0, e);
        let nvals = [x, pos, len].iter().filter(|o| !o.scalar).map(|o| o.array.len()).max().unwrap_or(0);
        let (text, from, count) = (texts(x).map_err(whole)?, i64s(pos.array).map_err(whole)?, i64s(len.array).map_err(whole)?);
        let mut out = TextBuilder::with_capacity(nvals, 0);
        for i in 0..nvals {
            let (text, pos, len) = (text(i), from[if pos.scalar { 0 } else { i }], count[if len.scalar { 0 } else { i }]);
            let part = if characters { character_part(text, pos, len) } else { byte_part(text, pos, len) };
            out.push(part.ok_or_else(|| outside(i, text, pos))?);
        }
        out.finish(&to).map_err(whole)
    })
}

fn outside(i: usize, text: &[u8], pos: i64) -> RowError {
    let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
    (i, Error::data(format!("position {pos} is outside the string {shown:?}")))
}

/// Bytes from `pos`, which counts from the end if negative: at most `len` bytes, or all if `len` is negative.
fn byte_part(text: &[u8], pos: i64, len: i64) -> Option<&[u8]> {
    let start = if pos < 0 { text.len().checked_sub(usize::try_from(pos.unsigned_abs()).ok()?)? } else { usize::try_from(pos).ok()? };
    let rest = text.get(start..)?;
    Some(&rest[..usize::try_from(len).unwrap_or(usize::MAX).min(rest.len())])
}

/// The same for characters: a byte and its continuation bytes. A negative length gives an empty string, or an error if
/// it counts from the end.
fn character_part(text: &[u8], pos: i64, len: i64) -> Option<&[u8]> {
    // Leading continuation bytes count as the first character.
    let starts = || (0..text.len()).filter(|i| *i == 0 || !continues(&text[*i]));
    let (start, len) = if pos < 0 {
        let len = usize::try_from(len).ok()?;
        let back = usize::try_from(pos.unsigned_abs()).ok()?;
        (starts().rev().nth(back - 1)?, len.min(back))
    } else {
        let pos = usize::try_from(pos).ok()?;
        let start = if pos == 0 { Some(0) } else { starts().chain([text.len()]).nth(pos) };
        (start?, usize::try_from(len).unwrap_or(0))
    };
    let rest = &text[start..];
    let end = (1..rest.len()).filter(|i| !continues(&rest[*i])).chain([rest.len()]);
    Some(&rest[..if len == 0 { 0 } else { end.take(len).last().unwrap_or(0) }])
}
