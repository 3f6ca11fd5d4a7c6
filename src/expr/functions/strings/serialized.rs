//! Tensors serialized as TensorProto messages.
//!
//! Semantics: `tf.io.parse_tensor`, `tf.io.serialize_tensor`; `tensorflow/core/framework/tensor.proto`, `types.proto`, `tensor_shape.proto`.

use super::shared::{is_text, rows, text};
use crate::error::{Error, Result, mismatch};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::{bounding_known, merged};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::schema::{DType, Dim, Type};
use crate::tensor::Tensor;
use crate::wire::{self, Value};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use std::ops::Range;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["io.parse_tensor", "parse_tensor"],
        "serialized|x, out_type",
        "Parse a tensor written by tf.io.serialize_tensor. The values are returned as one row; use reshape to restore the shape.",
        [("io.parse_tensor(io.decode_base64(\"CAMSCBICCAISAggCIhABAAAAAgAAAAMAAAAEAAAA\"), int32)", "[1, 2, 3, 4]")],
        parse_tensor
    ),
    function!(
        ["io.serialize_tensor", "serialize_tensor"],
        "tensor|x",
        "Serialize a dense tensor (its dtype, shape and values) to bytes that io.parse_tensor reads.",
        [
            ("io.encode_base64(io.serialize_tensor([[1, 2], [3, 4]]))", "\"CAMSCBICCAISAggCIhABAAAAAgAAAAMAAAAEAAAA\""),
            ("io.parse_tensor(io.serialize_tensor([\"a\", \"\", \"bc\"]), string)", "[\"a\", \"\", \"bc\"]"),
        ],
        serialize_tensor
    ),
];

/// Maximum number of values of a tensor that stores one value for all.
const MOST: u64 = 1 << 24;

/// The number of a dtype in a message, and the field that holds its values individually.
fn numbers(dtype: &DType) -> Option<(u64, u64)> {
    Some(match dtype {
        DType::Float32 => (1, 5),
        DType::Float64 => (2, 6),
        DType::Int32 => (3, 7),
        DType::UInt8 => (4, 7),
        DType::Int16 => (5, 7),
        DType::Int8 => (6, 7),
        DType::String | DType::Bytes => (7, 8),
        DType::Int64 => (9, 10),
        DType::Bool => (10, 11),
        DType::UInt16 => (17, 7),
        DType::Float16 => (19, 13),
        DType::UInt32 => (22, 16),
        DType::UInt64 => (23, 17),
        _ => return None,
    })
}

fn parse_tensor(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let dtype = call.dtype(1)?.and_then(|dtype| Some((numbers(&dtype)?, dtype)));
    let ((number, field), dtype) = dtype.ok_or_else(|| call.error("io.parse_tensor: out_type must be a number dtype, bool or string"))?;
    let is_text = field == 8;
    // A bool is one byte.
    let held = if dtype == DType::Bool { DType::UInt8 } else { dtype.clone() };
    let width = if is_text { 1 } else { held.arrow().primitive_width().ok_or_else(|| call.internal("a number without a width"))? };
    let axis = if x.ty.is_ragged() { Dim::RAGGED } else { Dim::UNIFORM };
    rows(call, x, axis, std::slice::from_ref(&dtype.clone()), move |texts, lengths| {
        let mut bytes: Vec<u8> = Vec::with_capacity(texts.nbytes());
        let mut strings = TextBuilder::with_capacity(0, 0);
        for (i, value) in texts.iter().enumerate() {
            let tensor = Serialized::parse(value, field, width).map_err(|e| (i, e))?;
            if tensor.number != number {
                let found =
                    mismatch(format_args!("a serialized tensor of {dtype} (dtype {number})"), format_args!("dtype {}", tensor.number));
                return Err((i, Error::data(found)));
            }
            let nvalues = tensor.nvalues().map_err(|e| (i, e))?;
            lengths.push(nvalues);
            if is_text {
                for n in 0..nvalues {
                    strings.bytes.extend_from_slice(tensor.strings.get(n).or(tensor.strings.last()).copied().unwrap_or_default());
                    strings.end();
                }
                continue;
            }
            tensor.append(nvalues, width, &mut bytes).map_err(|e| (i, e))?;
        }
        if is_text {
            return strings.finish(&dtype).map(|array| vec![array]).map_err(|e| (0, e));
        }
        if dtype == DType::Bool {
            return Ok(vec![Arc::new(BooleanArray::from_iter(bytes.into_iter().map(|byte| Some(byte != 0)))) as ArrayRef]);
        }
        let n = bytes.len() / width;
        let array: Result<ArrayRef, _> =
            ArrayData::builder(held.arrow()).len(n).add_buffer(Buffer::from_vec(bytes)).align_buffers(true).build().map(make_array);
        Ok(vec![array.map_err(|e| (0, Error::internal(e.to_string())))?])
    })
}

fn serialize_tensor(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    if let Some(axis) = last_ragged(&x.ty.dims) {
        return Err(ExprError::at(x.span.clone(), format!("io.serialize_tensor expects a dense tensor, but axis {axis} is ragged"))
            .help("to pad its rows: to_tensor(x)"));
    }
    let dtype = x.dtype()?.clone();
    let (number, _) =
        numbers(&dtype).ok_or_else(|| call.error(format!("io.serialize_tensor: a tensor of {dtype} cannot be serialized")))?;
    call.one(Type::tensor(DType::Bytes, Vec::new()), move |args| {
        let tensor = x.of(args)?;
        let sizes = bounding_known(&tensor, &x.ty.dims)?;
        let counts: Vec<usize> = merged(&tensor, 0, x.rank())?.row_lengths().collect();
        let (_, values) = tensor.levels(x.rank())?;
        let content = Content::of(values.as_leaf()?, &dtype)?;
        let mut out = TextBuilder::with_capacity(args.nrows, content.nbytes() + args.nrows * (16 + 8 * x.rank()));
        let (mut shape, mut at) = (Vec::new(), 0);
        for (record, n) in counts.into_iter().enumerate() {
            shape.clear();
            for axis in &sizes {
                let mut dim = Vec::new();
                if axis[record] > 0 {
                    wire::number(&mut dim, 1, axis[record] as u64);
                }
                wire::bytes(&mut shape, 2, &dim);
            }
            wire::number(&mut out.bytes, 1, number);
            wire::bytes(&mut out.bytes, 2, &shape);
            content.append(at..at + n, &mut out.bytes);
            out.end();
            at += n;
        }
        Ok(Tensor::Leaf(out.finish(&DType::Bytes)?))
    })
}

/// The values of tensors to be serialized.
enum Content<'a> {
    /// The in-memory representation, with that many bytes per value.
    Numbers(Buffer, usize),
    Texts(Texts<'a>),
}

impl<'a> Content<'a> {
    fn of(array: &'a ArrayRef, dtype: &DType) -> Result<Content<'a>> {
        if let Some(bits) = array.as_boolean_opt() {
            return Ok(Content::Numbers(bits.values().iter().map(u8::from).collect::<Vec<u8>>().into(), 1));
        }
        if is_text(dtype) {
            return Ok(Content::Texts(Texts::of(array)?));
        }
        let data = array.to_data();
        let width = array.data_type().primitive_width().ok_or_else(|| Error::internal("a number without a width"))?;
        let values = data.buffers().first().ok_or_else(|| Error::internal("an array without its values"))?;
        Ok(Content::Numbers(values.slice_with_length(data.offset() * width, data.len() * width), width))
    }

    fn nbytes(&self) -> usize {
        match self {
            Content::Numbers(values, _) => values.len(),
            Content::Texts(texts) => texts.nbytes() + 2 * texts.len(),
        }
    }

    fn append(&self, values: Range<usize>, out: &mut Vec<u8>) {
        match self {
            Content::Numbers(_, _) if values.is_empty() => {}
            Content::Numbers(all, width) => {
                wire::bytes(out, 4, all.get(values.start * width..values.end * width).unwrap_or_default());
            }
            Content::Texts(texts) => values.for_each(|i| wire::bytes(out, 8, texts.get(i))),
        }
    }
}

/// A parsed TensorProto.
#[derive(Default)]
struct Serialized<'a> {
    /// The dtype number.
    number: u64,
    /// The size of each axis.
    sizes: Vec<u64>,
    /// All values in their in-memory representation.
    content: &'a [u8],
    /// Individual values; the last one is repeated for the rest.
    listed: Vec<u8>,
    strings: Vec<&'a [u8]>,
}

impl<'a> Serialized<'a> {
    /// `field` holds individual values, of `width` bytes.
    fn parse(message: &'a [u8], field: u64, width: usize) -> Result<Serialized<'a>> {
        let mut tensor = Serialized::default();
        for entry in wire::fields(message) {
            match entry.ok_or_else(damaged)? {
                (1, Value::Varint(number)) => tensor.number = number,
                (2, Value::Bytes(shape)) => {
                    for entry in wire::fields(shape) {
                        match entry.ok_or_else(damaged)? {
                            (2, Value::Bytes(dim)) => {
                                let mut size = 0;
                                for entry in wire::fields(dim) {
                                    if let (1, Value::Varint(n)) = entry.ok_or_else(damaged)? {
                                        size = n;
                                    }
                                }
                                tensor.sizes.push(size);
                            }
                            (3, Value::Varint(1..)) => return Err(Error::data("the tensor has no shape")),
                            _ => {}
                        }
                    }
                }
                (4, Value::Bytes(content)) => tensor.content = content,
                (8, Value::Bytes(text)) if field == 8 => tensor.strings.push(text),
                (own, value) if own == field && field != 8 => tensor.list(field, value, width)?,
                _ => {}
            }
        }
        Ok(tensor)
    }

    /// Adds values stored individually.
    fn list(&mut self, field: u64, value: Value<'a>, width: usize) -> Result<()> {
        let mut number = |n: u64| self.listed.extend_from_slice(n.to_le_bytes().get(..width).unwrap_or_default());
        match value {
            Value::Varint(n) | Value::Fixed(n) => number(n),
            // Packed: floats verbatim, integers as varints.
            Value::Bytes(packed) if field == 5 || field == 6 => self.listed.extend_from_slice(packed),
            Value::Bytes(mut packed) => {
                while !packed.is_empty() {
                    let (n, rest) = wire::split_varint(packed).ok_or_else(damaged)?;
                    number(n);
                    packed = rest;
                }
            }
        }
        Ok(())
    }

    fn nvalues(&self) -> Result<usize> {
        let n = self.sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size));
        let written = (self.content.len() + self.listed.len() + self.strings.len()) as u64;
        n.filter(|n| *n <= written.max(MOST)).map(|n| n as usize).ok_or_else(|| {
            let shape: Vec<String> = self.sizes.iter().map(u64::to_string).collect();
            Error::data(format!("the tensor has the shape [{}], but the message has only {written} bytes of values", shape.join(", ")))
        })
    }

    /// Appends all values.
    fn append(&self, nvalues: usize, width: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let nbytes = nvalues * width;
        if !self.content.is_empty() {
            if self.content.len() != nbytes {
                return Err(Error::data(format!(
                    "the tensor should have {nvalues} values of {width} bytes, but has {} bytes",
                    self.content.len()
                )));
            }
            bytes.extend_from_slice(self.content);
            return Ok(());
        }
        if self.listed.len() > nbytes || !self.listed.len().is_multiple_of(width) {
            return Err(damaged());
        }
        let from = bytes.len();
        bytes.extend_from_slice(&self.listed);
        let last = self.listed.len().checked_sub(width).map_or_else(|| vec![0; width], |at| self.listed[at..].to_vec());
        while bytes.len() - from < nbytes {
            bytes.extend_from_slice(&last);
        }
        Ok(())
    }
}

fn damaged() -> Error {
    Error::data("the bytes are not a tensor written by tf.io.serialize_tensor")
}
