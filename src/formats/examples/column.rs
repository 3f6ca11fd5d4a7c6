//! Decodes one column of a block: the features of one leaf in all records.

use super::arrange::{Arrange, Fixed, Vectors, known_count};
use super::entries::Entries;
use super::features::{Features, RowError, Span};
use super::mapping::{Absent, Leaf, Shape, Stored};
use super::named::Named;
use super::nested::Nested;
use super::packed::Packed;
use super::values::{Append, Bytes, Doubles, Floats, Ints, Nothing, Store};
use super::wire::{self, DecodeError, Parse};
use crate::error::{Result, mismatch};
use crate::schema::DType;
use crate::tensor::Tensor;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// The tensor of a leaf. Errors in records that do not fit are added to `errors`; their values in the tensor are
/// unspecified.
///
/// # Errors
/// Only internal errors.
pub fn decode(leaf: &Leaf, features: &Features, errors: &mut Vec<RowError>) -> Result<Tensor> {
    let inferred = leaf.inferred;
    match &leaf.stored {
        Stored::Values => {}
        Stored::Bits => return with_values(Ints::bits(), leaf, features, errors),
        Stored::Packed(packing) => return with_values(Packed::new(packing.clone()), leaf, features, errors),
        Stored::Named(names) => return with_values(Named::new(names.clone()), leaf, features, errors),
    }
    match &leaf.dtype {
        DType::Null | DType::Arrow(_) => with_values(Nothing::new(inferred), leaf, features, errors),
        DType::Float64 => with_values(Doubles::new(inferred), leaf, features, errors),
        DType::Float16 | DType::Float32 => with_values(Floats::new(&leaf.dtype, inferred), leaf, features, errors),
        DType::String | DType::Bytes | DType::Json => with_values(Bytes::new(&leaf.dtype, inferred), leaf, features, errors),
        integer => with_values(Ints::new(integer, inferred), leaf, features, errors),
    }
}

fn with_values<V: Append>(values: V, leaf: &Leaf, features: &Features, errors: &mut Vec<RowError>) -> Result<Tensor> {
    match &leaf.shape {
        Shape::Scalar => run(Fixed::new(1, &[]), values, leaf, features, errors),
        Shape::Dense(_) if known_count(&leaf.dims).is_some() => {
            run(Fixed::new(known_count(&leaf.dims).unwrap_or(0), &leaf.dims), values, leaf, features, errors)
        }
        Shape::Dense(axes) if axes.is_empty() => run(Vectors::default(), values, leaf, features, errors),
        Shape::Dense(axes) => run(Nested::new(axes), values, leaf, features, errors),
        Shape::Sparse { indices, sorted } => run(Entries::new(indices, *sorted, leaf.dims.len()), values, leaf, features, errors),
    }
}

fn run<A: Arrange, V: Append>(mut shape: A, mut values: V, leaf: &Leaf, features: &Features, errors: &mut Vec<RowError>) -> Result<Tensor> {
    let companions = shape.companions();
    let mut valid = BooleanBufferBuilder::new(features.nrows);
    let mut nulls = false;
    values.reserve(features.bytes, features.spans.get(leaf.values).map_or(&[], Vec::as_slice));
    for row in 0..features.nrows {
        let span = features.span(leaf.values, row);
        let start = values.store().len();
        let missing = span.is_empty() && companions.iter().all(|f| features.span(*f, row).is_empty());
        let outcome = if missing {
            absent(&mut shape, &mut values, leaf, features, row)
        } else {
            present(&mut shape, &mut values, leaf, features, row, span)
        };
        match outcome {
            Ok(present) => {
                nulls |= !present;
                valid.append(present);
            }
            Err(error) => {
                let null = features.nulls && leaf.optional && !error.widens;
                errors.push(RowError { row, field: leaf.path.clone(), error, null });
                values.store().truncate(start);
                let n = shape.empty(leaf);
                values.store().fill(n);
                nulls |= null;
                valid.append(!null);
            }
        }
    }
    let nulls = nulls.then(|| NullBuffer::new(valid.finish()));
    shape.finish(features.nrows, values, nulls, leaf)
}

/// Handles a record without the feature. Returns whether the result is something other than null.
fn absent(shape: &mut impl Arrange, values: &mut impl Append, leaf: &Leaf, features: &Features, row: usize) -> Parse<bool> {
    match &leaf.absent {
        Absent::Null => {
            let n = shape.empty(leaf);
            values.store().fill(n);
            Ok(false)
        }
        Absent::Empty => {
            let n = shape.empty(leaf);
            values.store().fill(n);
            Ok(true)
        }
        Absent::Default(default) => {
            let start = values.store().len();
            values.default(default);
            shape.accept(leaf, features, row, values.store().len() - start)?;
            Ok(true)
        }
        Absent::Error => {
            let name = leaf.path.trim_matches('`');
            let what = if leaf.inferred {
                format!("the record has no feature named `{name}`, but all earlier records have one").into()
            } else {
                format!("the record has no feature named `{name}`, and there is no default").into()
            };
            Err(DecodeError { at: 0, what, widens: leaf.inferred })
        }
    }
}

fn present(shape: &mut impl Arrange, values: &mut impl Append, leaf: &Leaf, features: &Features, row: usize, span: Span) -> Parse<bool> {
    let (start, at) = (values.store().len(), span.start);
    if let Stored::Packed(packing) = &leaf.stored
        && let Some(sizes) = packing.sizes
        && let Some((kind, list)) = wire::list(features.bytes, features.span(sizes, row))?
    {
        if kind != wire::FeatureKind::Int64 {
            return wire::fail(list.at(), mismatch("the sizes of tensors in an int64_list", kind.described()));
        }
        values.sizes(list)?;
    }
    if let Some((kind, list)) = wire::list(features.bytes, span)? {
        values.append(kind, list)?;
    }
    let n = values.store().len() - start;
    // --scalar: an empty list means no value.
    if n == 0 && leaf.inferred && matches!(leaf.shape, Shape::Scalar) {
        if !matches!(leaf.absent, Absent::Null) {
            return Err(DecodeError { at, what: "found an empty list, but all earlier records have one value".into(), widens: true });
        }
        shape.empty(leaf);
        values.store().fill(1);
        return Ok(false);
    }
    shape.accept(leaf, features, row, n).map_err(|error| DecodeError { at: if error.at == 0 { at } else { error.at }, ..error })?;
    Ok(true)
}
