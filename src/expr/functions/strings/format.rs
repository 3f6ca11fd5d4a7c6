//! Tensors as text in a template.
//!
//! Dense tensors are formatted as TensorFlow prints them, and ragged tensors as nested lists:
//!
//! ```text
//! strings.format("a {}", [[1, 2], [3, 4]])            a [[1 2]
//!                                                      [3 4]]
//! strings.format("a {}", ragged.constant([[1], []]))  a [[1], []]
//! ```
//!
//! Semantics: `tf.strings.format`.

use super::shared::is_text;
use crate::error::Result;
use crate::expr::call::{Arg, Call, Function, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::{bools, cast, dtype_of, i64s, native};
use crate::expr::kernels::level::merged;
use crate::expr::kernels::printf::{Format, Notation, roundtrip};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::types::last_ragged;
use crate::printable::{counted, is_or_are};
use crate::schema::{DType, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::types::{Float32Type, Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};

pub static FUNCTIONS: &[Function] = &[function!(
    ["strings.format"],
    "template, inputs, placeholder=\"{}\", summarize=3",
    "Replace the placeholders of a template with tensors. Each axis shows its first and last summarize items, or all items with -1.",
    [
        ("strings.format(\"sizes: {}\", range(8))", "\"sizes: [0 1 2 ... 5 6 7]\""),
        ("strings.format(\"{} of {}\", (ragged.constant([[1], []]), 2))", "\"[[1], []] of 2\"")
    ],
    format
)];

fn format(call: &mut Call) -> ExprResult<OperandKind> {
    let template = call.string(0)?.ok_or_else(|| call.error("the template must be a string"))?;
    let placeholder = call.string(2)?.unwrap_or_else(|| "{}".to_owned());
    if placeholder.is_empty() {
        return Err(call.error("the placeholder is empty"));
    }
    let pieces: Vec<String> = template.split(&placeholder).map(str::to_owned).collect();
    let ends = match call.optional_int(3)?.unwrap_or(3) {
        -1 => None,
        n => Some(usize::try_from(n).map_err(|_| call.error(format!("summarize must be -1 (all) or a number of items, not {n}")))?),
    };
    let inputs: Vec<Operand> = match call.operand(1)? {
        item if item.elements().is_some() => call.list(1)?,
        item => vec![item.clone()],
    };
    if inputs.len() + 1 != pieces.len() {
        let (wanted, given) = (pieces.len() - 1, inputs.len());
        let wanted = counted(wanted as u64, "placeholder");
        let given = format!("{} {}", is_or_are(given), counted(given as u64, "tensor"));
        return Err(call.error(format!("the template has {wanted} {placeholder:?}, but there {given}")));
    }
    let mut args = Vec::with_capacity(inputs.len());
    for item in &inputs {
        let node = strict_node(item)?;
        let arg = call.push(node);
        call.plain(&arg)?;
        let ragged = last_ragged(&arg.ty.dims).is_some();
        if ragged && ends == Some(0) {
            return Err(ExprError::at(item.span.clone(), "summarize must be -1 or at least 1 for ragged tensors"));
        }
        args.push((arg, ragged));
    }
    let has_bytes = args.iter().any(|(arg, _)| arg.ty.dtype() == Some(&DType::Bytes));
    let dtype = if has_bytes { DType::Bytes } else { DType::String };
    call.one(Type::tensor(dtype.clone(), Vec::new()), move |given| {
        let shown = args.iter().map(|(arg, ragged)| Shown::of(given, arg, *ragged, ends)).collect::<Result<Vec<_>>>()?;
        let mut out = TextBuilder::with_capacity(given.nrows, given.nrows * template.len());
        for record in 0..given.nrows {
            out.bytes.extend_from_slice(pieces[0].as_bytes());
            for (shown, piece) in shown.iter().zip(&pieces[1..]) {
                shown.append(record, &mut out.bytes);
                out.bytes.extend_from_slice(piece.as_bytes());
            }
            out.end();
        }
        out.finish(&dtype).map(Tensor::Leaf)
    })
}

/// A tensor whose records are formatted.
struct Shown {
    levels: Vec<RowPartition>,
    /// The number of values of each record.
    sizes: RowPartition,
    /// The text of each value.
    values: ArrayRef,
    ragged: bool,
    boolean: bool,
    /// The number of items formatted at each end of an axis; `None` for all.
    ends: Option<usize>,
}

impl Shown {
    fn of(args: &Args, arg: &Arg, ragged: bool, ends: Option<usize>) -> Result<Shown> {
        let tensor = arg.of(args)?;
        let (partitions, below) = tensor.levels(arg.rank())?;
        let values = texts_of(below.as_leaf()?, ragged)?;
        let boolean = arg.ty.dtype() == Some(&DType::Bool);
        Ok(Shown {
            levels: partitions.into_iter().cloned().collect(),
            sizes: merged(&tensor, 0, arg.rank())?,
            values,
            ragged,
            boolean,
            ends,
        })
    }

    fn append(&self, record: usize, out: &mut Vec<u8>) {
        if self.ragged {
            return self.axis(0, record, self.ends, out);
        }
        // TensorFlow writes at most as many items at each end of a dense axis as the tensor has values, and no brackets
        // for an empty bool tensor.
        let most = self.sizes.row_length(record);
        let ends = self.ends.map_or(most, |n| n.min(most));
        if ends > 0 || !(self.boolean || self.levels.is_empty()) {
            self.axis(0, record, Some(ends), out);
        } else if !self.boolean {
            out.extend_from_slice(b"...");
        }
    }

    /// Formats item `row` of an axis and everything below it.
    fn axis(&self, axis: usize, row: usize, ends: Option<usize>, out: &mut Vec<u8>) {
        let Some(partition) = self.levels.get(axis) else {
            if let Ok(texts) = Texts::of(&self.values) {
                out.extend_from_slice(texts.get(row));
            }
            return;
        };
        let range = partition.range(row);
        let n = ends.filter(|n| range.len() > 2 * n).unwrap_or(range.len());
        let summarized = n < range.len();
        out.push(b'[');
        for i in 0..n {
            if i > 0 {
                self.space(axis, out);
            }
            self.axis(axis + 1, range.start + i, ends, out);
        }
        if summarized {
            if n > 0 || !self.ragged {
                self.space(axis, out);
            }
            out.extend_from_slice(b"...");
            for i in range.end - n..range.end {
                self.space(axis, out);
                self.axis(axis + 1, i, ends, out);
            }
        }
        out.push(b']');
    }

    /// The separator between two items of an axis.
    fn space(&self, axis: usize, out: &mut Vec<u8>) {
        if self.ragged {
            out.extend_from_slice(b", ");
        } else if axis + 1 == self.levels.len() {
            out.push(b' ');
        } else {
            // Items with several axes are on separate lines.
            out.resize(out.len() + self.levels.len() - axis - 1, b'\n');
            out.resize(out.len() + axis + 1, b' ');
        }
    }
}

/// The text of each value, in the style of ragged or dense tensors.
fn texts_of(array: &ArrayRef, ragged: bool) -> Result<ArrayRef> {
    let fixed = Format { notation: Notation::Fixed, precision: None, width: 0, fill: None };
    let mut out = TextBuilder::with_capacity(array.len(), 0);
    let mut push = |text: &str| out.push(text.as_bytes());
    match dtype_of(array)? {
        DType::Bool if ragged => bools(array)?.iter().for_each(|b| push(if b { "true" } else { "false" })),
        DType::Bool => bools(array)?.iter().for_each(|b| push(if b { "1" } else { "0" })),
        d if is_text(&d) => {
            for text in Texts::of(array)?.iter() {
                quoted(text, ragged, &mut out.bytes);
                out.end();
            }
            return out.finish(&DType::Bytes);
        }
        d if d.is_float() && ragged => {
            for x in native::<Float64Type>(&cast(array, &DType::Float64)?)? {
                fixed.float(*x, &mut out.bytes);
                out.end();
            }
        }
        DType::Float64 => native::<Float64Type>(array)?.iter().for_each(|x| push(&roundtrip(*x, 15, |text| text.parse() == Ok(*x)))),
        d if d.is_float() => native::<Float32Type>(&cast(array, &DType::Float32)?)?
            .iter()
            .for_each(|x| push(&roundtrip(f64::from(*x), 6, |text| text.parse() == Ok(*x)))),
        DType::UInt64 => native::<UInt64Type>(array)?.iter().for_each(|n| push(&n.to_string())),
        _ => i64s(&cast(array, &DType::Int64)?)?.iter().for_each(|n| push(&n.to_string())),
    }
    out.finish(&DType::Bytes)
}

/// Appends a string in quotes, with escapes.
fn quoted(text: &[u8], ragged: bool, out: &mut Vec<u8>) {
    let quote = if ragged { b'\'' } else { b'"' };
    out.push(quote);
    for byte in text {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            _ if ragged => out.push(*byte),
            b'"' => out.extend_from_slice(b"\\\""),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..=0x1f | 0x7f => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            _ => out.push(*byte),
        }
    }
    out.push(quote);
}
