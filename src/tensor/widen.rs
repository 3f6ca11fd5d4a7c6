//! Converts tensors to another type that holds the same values, as unification and `--schema` require.

use super::time::{self, Rounding};
use super::{RowPartition, Struct, Tensor};
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::printable::counted;
use crate::schema::unify::wider_decimal;
use crate::schema::{DType, Element, Field, Size, Type};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::{CastOptions, cast_with_options};

impl Tensor {
    /// The same rows with type `to`. Nothing is lost: integers become floats or other integers that hold each of them,
    /// floats the nearest other floats, strings bytes, bytes strings if they are UTF-8, missing fields nulls, and
    /// values of dtype null anything. Sizes become known if the rows have that length. Zero-copy if only dims differ.
    ///
    /// ```
    /// use arrow_array::Array;
    /// use tatter::schema::notation;
    /// use tatter::tensor::Tensor;
    /// # use arrow_array::Int64Array;
    /// # use std::sync::Arc;
    /// let (from, to) = (notation::parse_type("int64")?, notation::parse_type("float64")?);
    /// let floats = Tensor::Leaf(Arc::new(Int64Array::from(vec![3, 1]))).widen(&from, &to)?;
    /// assert_eq!(floats.as_leaf()?.data_type(), &arrow_schema::DataType::Float64);
    /// # Ok::<(), tatter::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first row that does not fit, or types that cannot be converted.
    pub fn widen(&self, from: &Type, to: &Type) -> Result<Tensor> {
        if from == to {
            return Ok(self.clone());
        }
        check_nulls(self, to)?;
        if from.element == Element::Value(DType::Null) && from.dims.is_empty() {
            return Tensor::nulls(to, self.nrows());
        }
        let is_null = from.element == Element::Value(DType::Null);
        if !is_null && from.list_dims().len() != to.list_dims().len() {
            return Err(mismatch(from, to));
        }
        match (from.list_dims().first(), to.list_dims().first()) {
            (Some(_), Some(dim)) => {
                let list = self.as_list()?;
                let (partition, values) = match dim.size {
                    Size::Known(size) => known_rows(self, from, size)?,
                    _ => open_rows(list.partition(), list.validity(), list.values())?,
                };
                let values = match list.validity() {
                    Some(v) if partition.uniform_row_length().is_some() => {
                        let covered = (0..partition.nrows()).flat_map(|row| std::iter::repeat_n(v.is_null(row), partition.row_length(row)));
                        without_nulls_below(values, &covered.collect())?
                    }
                    _ => values,
                };
                let mut item = to.item();
                // Items of dtype null can only be null: those of null rows of known size are.
                item.optional |= item.element == Element::Value(DType::Null) && item.dims.is_empty();
                let values = values.widen(&from.item(), &item).map_err(|e| up(e, &partition))?;
                Tensor::list(partition, values, list.validity().cloned())
            }
            (None, None) => element(self, from, to),
            _ => Err(mismatch(from, to)),
        }
    }
}

/// The same rows, with no nulls in the covered rows and inside them: below null structures and null rows of known size,
/// values are unspecified, whether they are null or not.
fn without_nulls_below(tensor: Tensor, covered: &BooleanBuffer) -> Result<Tensor> {
    let validity = tensor.validity().map(|v| NullBuffer::new(v.inner() | covered));
    let tensor = match tensor {
        Tensor::List(list) => {
            let partition = list.partition().clone();
            let items = (0..partition.nrows()).flat_map(|row| std::iter::repeat_n(covered.value(row), partition.row_length(row)));
            let values = without_nulls_below(list.values().clone(), &items.collect())?;
            Tensor::list(partition, values, list.validity().cloned())?
        }
        Tensor::Struct(s) => {
            let (nrows, nulls) = (covered.len(), s.validity().cloned());
            let fields = s.into_fields().into_iter().map(|f| without_nulls_below(f, covered)).collect::<Result<_>>()?;
            Tensor::structure(nrows, fields, nulls)?
        }
        other => other,
    };
    match validity {
        Some(validity) => tensor.with_validity(Some(validity).filter(|v| v.null_count() > 0)),
        None => Ok(tensor),
    }
}

/// Converts an error that names an item to its row.
fn up(error: Error, partition: &RowPartition) -> Error {
    match error.location().row {
        Some(item) if item < partition.nvals() => error.locate(|at| at.row = Some(super::row_of(partition, item))),
        _ => error,
    }
}

fn mismatch(from: &Type, to: &Type) -> Error {
    Error::data(format!("values of type {from} cannot be read as {to}"))
}

fn element(tensor: &Tensor, from: &Type, to: &Type) -> Result<Tensor> {
    match (tensor, &from.element, &to.element) {
        (Tensor::Leaf(array), Element::Value(a), Element::Value(b)) => Ok(Tensor::Leaf(cast(array, a, b)?)),
        (Tensor::Struct(s), Element::Struct(a), Element::Struct(b)) => structure(s, tensor.nrows(), a, b),
        (Tensor::Sparse(s), Element::Sparse(a), Element::Sparse(b)) if from.rank() == to.rank() => {
            let wrong = |row: &usize| {
                s.validity().is_none_or(|v| v.is_valid(*row))
                    && s.shape_of(*row)
                        .iter()
                        .zip(&to.dims)
                        .any(|(size, d)| matches!(d.size, Size::Known(n) if i64::try_from(n).ok() != Some(*size)))
            };
            if let Some(row) = (0..s.nrows()).find(wrong) {
                return Err(Error::data(format!("found a dense_shape of {:?}, but the schema says {to}", s.shape_of(row))).at_row(row));
            }
            let values = cast(s.values(), a, b)?;
            let parts = (s.ndims(), s.entries().clone(), s.indices().clone(), s.dense_shape().clone(), s.validity().cloned());
            Ok(Tensor::Sparse(super::Sparse::try_new(parts.0, parts.1, parts.2, values, parts.3, parts.4)?))
        }
        _ => Err(mismatch(from, to)),
    }
}

fn structure(s: &Struct, nrows: usize, from: &[Field], to: &[Field]) -> Result<Tensor> {
    let below_null = s.validity().filter(|v| v.null_count() > 0).map(|v| !v.inner());
    let fields = to.iter().map(|target| {
        let name = target.source_name();
        let tensor = match from.iter().position(|f| f.name == name) {
            Some(place) => {
                let optional = target.ty.optional || target.default.is_some();
                let (found, wanted) = (&from[place].ty, target.ty.clone().with_optional(optional));
                match &below_null {
                    Some(covered) if *found != wanted => widen_uncovered(&s.fields()[place], found, &wanted, covered)?,
                    _ => s.fields()[place].widen(found, &wanted)?,
                }
            }
            None if target.ty.optional || target.default.is_some() => Tensor::nulls(&target.ty.clone().with_optional(true), nrows)?,
            None => return Err(Error::data("the structure has no such field").help("to read it as null, write `optional` before its type")),
        };
        match &target.default {
            Some(default) => tensor.fill_null_rows(&target.ty, default),
            None => Ok(tensor),
        }
    });
    let fields = fields.zip(to).map(|(t, f)| t.map_err(|e: Error| e.within(quoted(&f.name)))).collect::<Result<_>>()?;
    Tensor::structure(nrows, fields, s.validity().cloned())
}

fn check_nulls(tensor: &Tensor, to: &Type) -> Result<()> {
    match tensor.validity().and_then(|v| (0..v.len()).find(|row| v.is_null(*row))) {
        Some(row) if !to.optional => Err(Error::data(format!("found null, but the schema says {to}"))
            .at_row(row)
            .help("write `optional` before the type, or add a default: = VALUE")),
        _ => Ok(()),
    }
}

/// A field of a structure that is null in the covered rows. What is stored there is not a value of the field, so
/// neither nulls nor values have to fit its type.
fn widen_uncovered(tensor: &Tensor, from: &Type, to: &Type, covered: &BooleanBuffer) -> Result<Tensor> {
    let (from, nullable) = (from.clone().with_optional(true), to.clone().with_optional(true));
    let nrows = tensor.nrows();
    let rows: Vec<usize> = (0..nrows).map(|row| if covered.value(row) { nrows } else { row }).collect();
    let wide = Tensor::concat(&[tensor, &Tensor::nulls(&from, 1)?])?.gather(&rows)?.widen(&from, &nullable)?;
    if to.optional {
        return Ok(wide);
    }
    let wide = without_nulls_below(wide, covered)?;
    check_nulls(&wide, to)?;
    Ok(wide)
}

/// Rows of known size: unchanged if they have that length, otherwise an error. Null rows are filled with nulls.
fn known_rows(tensor: &Tensor, from: &Type, size: u64) -> Result<(RowPartition, Tensor)> {
    let list = tensor.as_list()?;
    let size = usize::try_from(size).map_err(|_| Error::data("the size is too large for this machine"))?;
    let partition = list.partition();
    if partition.uniform_row_length() == Some(size) {
        return Ok((partition.clone(), list.values().clone()));
    }
    let is_null = |row: usize| list.validity().is_some_and(|v| v.is_null(row));
    if let Some(row) = (0..partition.nrows()).find(|row| !is_null(*row) && partition.row_length(*row) != size) {
        return Err(
            Error::data(format!("found {}, but the schema says {size}", counted(partition.row_length(row) as u64, "item"))).at_row(row)
        );
    }
    let uniform = RowPartition::uniform(size, partition.nrows())?;
    if list.validity().is_none() {
        return Ok((uniform, list.values().clone()));
    }
    let nvals = list.values().nrows();
    let places: Vec<usize> = (0..partition.nrows())
        .flat_map(|row| (0..size).map(move |i| (row, i)))
        .map(|(row, i)| if is_null(row) { nvals } else { partition.start(row) + i })
        .collect();
    let filler = Tensor::nulls(&from.item(), 1)?;
    Ok((uniform, Tensor::concat(&[list.values(), &filler])?.gather(&places)?))
}

/// Rows of unknown size; null rows become empty.
fn open_rows(partition: &RowPartition, validity: Option<&NullBuffer>, values: &Tensor) -> Result<(RowPartition, Tensor)> {
    match validity {
        Some(v) if partition.uniform_row_length().is_some_and(|size| size > 0) => {
            let lengths = (0..partition.nrows()).map(|row| if v.is_null(row) { 0 } else { partition.row_length(row) as i64 });
            let kept: Vec<usize> = (0..partition.nrows()).filter(|row| v.is_valid(*row)).flat_map(|row| partition.range(row)).collect();
            Ok((RowPartition::from_row_lengths(lengths)?, values.gather(&kept)?))
        }
        _ => Ok((partition.clone(), values.clone())),
    }
}

/// Casts values to another dtype without changing them.
fn cast(array: &ArrayRef, from: &DType, to: &DType) -> Result<ArrayRef> {
    if from == to {
        return Ok(array.clone());
    }
    let allowed = match (from, to) {
        (DType::Null, _) | (DType::String, DType::Bytes) | (DType::Bytes, DType::String) | (DType::Json, DType::String) => true,
        (DType::Arrow(x), DType::Arrow(y)) => match (from.time(), to.time()) {
            (Some(a), Some(b)) => a.kind == b.kind && a.zone.is_some() == b.zone.is_some() && time::converts(&a, &b),
            _ => wider_decimal(x, y).is_some(),
        },
        (a, b) => a.is_number() && b.is_number(),
    };
    if !allowed {
        return Err(Error::data(format!("values of dtype {from} cannot be read as {to}")));
    }
    if let (Some(_), DType::Arrow(ty)) = (from.time(), to) {
        return time::convert(array, ty, Rounding::Refuse);
    }
    let safe = CastOptions { safe: true, ..Default::default() };
    let cast = |array: &ArrayRef, to: &DType| cast_with_options(array, &to.arrow(), &safe).map_err(|e| Error::data(e.to_string()));
    let result = cast(array, to)?;
    let first = if from.is_float() && to.is_float() {
        // Floats are rounded to the nearest value, but not to infinity.
        overflow(array, &result)?
    } else if from.is_number() || matches!(from, DType::Arrow(_)) {
        first_change(array, &cast(&result, from)?)
    } else if *from == DType::Null {
        None
    } else {
        (result.null_count() > array.null_count()).then(|| (0..array.len()).find(|i| result.is_null(*i) && !array.is_null(*i)).unwrap_or(0))
    };
    match first {
        None => Ok(result),
        Some(row) if from.is_integer() && to.is_float() => {
            Err(Error::data(format!("{to} cannot represent {} exactly", shown(array, row))).at_row(row))
        }
        Some(row) => Err(Error::data(format!("{} is not a valid {to}", shown(array, row))).at_row(row)),
    }
}

/// The first finite value that is no longer finite.
fn overflow(before: &ArrayRef, after: &ArrayRef) -> Result<Option<usize>> {
    let wide = |a: &ArrayRef| {
        cast_with_options(a, &arrow_schema::DataType::Float64, &CastOptions::default()).map_err(|e| Error::data(e.to_string()))
    };
    let (before, after) = (wide(before)?, wide(after)?);
    let (x, y) = (before.as_primitive::<Float64Type>(), after.as_primitive::<Float64Type>());
    Ok((0..x.len()).find(|i| x.is_valid(*i) && x.value(*i).is_finite() && !y.value(*i).is_finite()))
}

fn first_change(before: &ArrayRef, after: &ArrayRef) -> Option<usize> {
    if before.to_data() == after.to_data() { None } else { Tensor::Leaf(before.clone()).first_difference(&Tensor::Leaf(after.clone())) }
}

fn shown(array: &ArrayRef, row: usize) -> String {
    let text = arrow_cast::display::array_value_to_string(array, row).unwrap_or_default();
    if text.chars().count() > 40 { format!("{}...", text.chars().take(37).collect::<String>()) } else { text }
}
