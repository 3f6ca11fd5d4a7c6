//! Fingerprints of items.
//!
//! Semantics: `tf.fingerprint`.

use super::shared::is_text;
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::hash::fingerprint64;
use crate::expr::kernels::level::merged;
use crate::expr::kernels::text::Texts;
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::schema::{DType, Dim, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt8Array};
use std::sync::Arc;

/// Bytes in a fingerprint.
const NBYTES: usize = 8;

pub static FUNCTIONS: &[Function] = &[function!(
    ["fingerprint"],
    "data|x, method=\"farmhash64\"",
    "The FarmHash Fingerprint64 of each item of axis 0, as 8 bytes (uint8), least significant first.",
    [
        ("fingerprint([\"\"])", "[[79, 64, 144, 47, 59, 106, 225, 154]]"),
        ("bitcast(fingerprint([\"a\", \"b\"]), int64)[0] == bitcast(fingerprint([\"a\"]), int64)[0]", "true")
    ],
    fingerprint
)];

fn fingerprint(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    if x.ty.is_sparse() || x.rank() == 0 || last_ragged(&x.ty.dims).is_some() {
        let error = ExprError::at(x.span.clone(), format!("fingerprint expects a dense tensor with at least one axis, found {}", x.ty));
        return Err(error.help("for a single value: fingerprint(expand_dims(x, 0))[0]"));
    }
    call.check_dtype(&x, "numbers, bools or strings", |d| d.is_number() || *d == DType::Bool || is_text(d))?;
    if call.string(1)?.is_some_and(|method| method != "farmhash64") {
        return Err(ExprError::at(call.operand(1)?.span.clone(), "fingerprint: the only method is \"farmhash64\""));
    }
    let (text, rank) = (x.ty.dtype().is_some_and(is_text), x.rank());
    let ty = Type::tensor(DType::UInt8, vec![x.ty.dims[0].clone(), Dim::known(NBYTES as u64)]);
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let items = merged(&tensor, 1, rank)?;
        let (_, below) = tensor.levels(rank)?;
        let values = below.as_leaf()?;
        let prints = if text { of_texts(&Texts::of(values)?, &items, rank) } else { of_numbers(values, &items) };
        let prints: ArrayRef = Arc::new(UInt8Array::from(prints));
        let each = Tensor::list(RowPartition::uniform(NBYTES, items.nrows())?, Tensor::Leaf(prints), None)?;
        Tensor::list(tensor.as_list()?.partition().clone(), each, None)
    })
}

/// The fingerprints of strings, or of the fingerprints of the strings in each item.
fn of_texts(texts: &Texts, items: &RowPartition, rank: usize) -> Vec<u8> {
    let own: Vec<u8> = texts.iter().flat_map(|text| fingerprint64(text).to_le_bytes()).collect();
    if rank == 1 { own } else { of_bytes(&own, items, NBYTES) }
}

fn of_numbers(values: &ArrayRef, items: &RowPartition) -> Vec<u8> {
    if let Some(flags) = values.as_boolean_opt() {
        let bytes: Vec<u8> = flags.values().iter().map(u8::from).collect();
        return of_bytes(&bytes, items, 1);
    }
    let (layout, width) = (values.to_data(), values.data_type().primitive_width().unwrap_or(1));
    let bytes = layout.buffers().first().map_or(&[][..], |buffer| buffer.as_slice());
    let start = layout.offset() * width;
    of_bytes(bytes.get(start..).unwrap_or_default(), items, width)
}

/// The fingerprint of the bytes of each item, whose values take `width` bytes each.
fn of_bytes(bytes: &[u8], items: &RowPartition, width: usize) -> Vec<u8> {
    let of_item = |item: usize| {
        let range = items.range(item);
        fingerprint64(bytes.get(range.start * width..range.end * width).unwrap_or_default()).to_le_bytes()
    };
    (0..items.nrows()).flat_map(of_item).collect()
}
