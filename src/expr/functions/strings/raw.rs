//! Reinterprets bytes as numbers.
//!
//! Semantics: `tf.io.decode_raw`.

use super::shared::{rows, text};
use crate::error::Error;
use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::expr::operand::OperandKind;
use crate::schema::{DType, Dim};
use crate::tensor::limits::check_count;
use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[function!(
    ["io.decode_raw", "decode_raw"],
    "input_bytes|x|bytes, out_type, little_endian=True, fixed_length=None",
    "Reinterpret the bytes of each string as a row of numbers. All strings of a dense tensor must have the same length within a record; \
     fixed_length truncates them or pads them with zeros.",
    [("io.decode_raw(\"\\x01\\x00\\x02\\x00\", int16)", "[1, 2]"), ("io.decode_raw(\"ab\", uint8)", "[97, 98]")],
    decode_raw
)];

fn decode_raw(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let dtype = call.dtype(1)?.filter(|dtype| dtype.is_number() || *dtype == DType::Bool);
    let dtype = dtype.ok_or_else(|| call.error("io.decode_raw: out_type must be a number dtype, such as float32, or bool"))?;
    // A bool is one byte.
    let held = if dtype == DType::Bool { DType::UInt8 } else { dtype.clone() };
    let width = held.arrow().primitive_width().ok_or_else(|| call.internal("a number without a width"))?;
    let is_little = call.flag(2, true)?;
    let fixed = call.optional_int(3)?;
    let fixed = fixed.map(|n| usize::try_from(n).ok().filter(|n| *n > 0 && n % width == 0).ok_or(n)).transpose().map_err(|n| {
        call.error(format!("io.decode_raw: fixed_length must be a positive multiple of {width}, the size of {dtype}, not {n}"))
    })?;
    let axis = if let Some(nbytes) = fixed {
        Dim::known((nbytes / width) as u64)
    } else if x.ty.is_ragged() {
        Dim::RAGGED
    } else {
        Dim::UNIFORM
    };
    rows(call, x, axis, std::slice::from_ref(&dtype.clone()), move |texts, lengths| {
        let mut bytes: Vec<u8> = Vec::with_capacity(texts.nbytes());
        for (i, value) in texts.iter().enumerate() {
            if let Some(nbytes) = fixed {
                lengths.push(nbytes / width);
                let end = bytes.len().saturating_add(nbytes);
                check_count(Some(end / width), i).map_err(|e| (i, e))?;
                bytes.extend_from_slice(&value[..value.len().min(nbytes)]);
                bytes.resize(end, 0);
                continue;
            }
            if value.len() % width != 0 {
                return Err((i, Error::data(format!("{} bytes cannot be divided into {dtype} values of {width} bytes", value.len()))));
            }
            lengths.push(value.len() / width);
            bytes.extend_from_slice(value);
        }
        if dtype == DType::Bool {
            return Ok(vec![Arc::new(BooleanArray::from_iter(bytes.into_iter().map(|byte| Some(byte != 0)))) as ArrayRef]);
        }
        if !is_little {
            bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        let n = bytes.len() / width;
        let array: Result<ArrayRef, _> =
            ArrayData::builder(held.arrow()).len(n).add_buffer(Buffer::from_vec(bytes)).align_buffers(true).build().map(make_array);
        Ok(vec![array.map_err(|e| (0, Error::internal(e.to_string())))?])
    })
}
