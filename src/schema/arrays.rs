//! The arrays in which fields are stored in npz, npy and safetensors files, and their names.
//!
//! All records are stacked along the first axis. Below it, every unknown size is ragged:
//! ```text
//! embed: float32[4]        embed                       [records, 4]
//! tokens: int64[?]         tokens/values               [all tokens]
//!                          tokens/row_splits_0         [records + 1]
//! grid: int64[?, (?), 2]   grid/values                 [all, 2]
//!                          grid/row_splits_0, _1       records into rows, rows into items
//! word: string             word/values                 uint8 [all bytes]
//!                          word/row_splits_0           records into bytes
//! feats: sparse<T>[9]      feats/indices               [entries, 2], the record first
//!                          feats/values, feats/dense_shape
//! ```
//! A file with one record (`-o 'batch-#####.npz'`) holds the record's own axes instead: axis 0 of a field is axis 0 of
//! its array, and `?`, which is uniform within a record, is an ordinary size.
//! ```text
//! tokens: int32[?, ?]      tokens                      [256, 509]
//! grid: int64[?, (?)]      grid/values, grid/row_splits_0
//! ```
//! A string is stored as an innermost axis of bytes, a timestamp as datetime64, and a duration as timedelta64. Fields of structures are named by their paths.

use super::leaves::Leaf;
use super::notation::{declaration, schema_option};
use super::{DType, Dim, Size, Type};
use crate::error::{Error, Result};
use crate::printable::shell_word;
use arrow_schema::DataType;

/// The meaning of the first axis of the arrays of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacking {
    /// The records.
    Records,
    /// Axis 0 of the single record.
    One,
}

/// The arrays of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayForm {
    /// One array, with the name of the field.
    Dense,
    /// Flat values, and one array of row splits for each level.
    Ragged {
        /// The number of levels.
        levels: usize,
    },
    /// Indices, values and a dense shape, and also the dense shape of each record if they can differ.
    Sparse {
        /// Whether the dense shapes of the records are stored.
        shapes: bool,
    },
}

/// The element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Numbers and bools, in their dtype.
    Numbers,
    /// Times and durations, as int64 counts of a unit; a null is NaT.
    Times,
    /// UTF-8 in uint8: the last row splits delimit the strings.
    Text,
    /// The same for bytes.
    Bytes,
}

impl Contents {
    /// Whether the values are texts or bytes, with row splits of their own.
    pub fn is_text(self) -> bool {
        matches!(self, Contents::Text | Contents::Bytes)
    }
}

/// How a leaf is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The arrays.
    pub form: ArrayForm,
    /// The element type of the values.
    pub contents: Contents,
    /// The axes of the arrays, including the record axis, but excluding the bytes of strings.
    pub axes: Vec<Dim>,
}

/// Determines how a leaf is stored.
///
/// # Errors
/// No array can hold it; the error has advice.
pub fn stored(leaf: &Leaf, stacking: Stacking) -> Result<Stored> {
    let (path, ty) = (&leaf.path, &leaf.field.ty);
    let refused = |message: String, help: String| Err(Error::usage(message).in_field(path).help(help));
    let contents = match ty.dtype() {
        Some(DType::Null) | None => {
            let drop = format!("leave it out: drop {}", shell_word(&path.to_string()));
            // A field that is null everywhere would still be null with another dtype.
            let ty = Type::tensor(DType::Int64, leaf.field.ty.dims.clone());
            let is_null = ty.dims.is_empty() || leaf.field.ty.with_nulls || leaf.field.ty.optional;
            let help = match is_null || path.names().len() > 1 {
                true => drop,
                false => format!("declare its type, for example {}; or {drop}", schema_option(&declaration(path, ty))),
            };
            return refused("has no value in any record, so the dtype of its array is unknown".to_owned(), help);
        }
        Some(dtype @ DType::Arrow(foreign)) => match foreign.as_ref() {
            DataType::Timestamp(_, None) | DataType::Date32 | DataType::Duration(_) => Contents::Times,
            DataType::Timestamp(unit, Some(_)) => {
                let own = DType::Arrow(Box::new(DataType::Timestamp(*unit, None)));
                let cast = shell_word(&format!("{path}={own}"));
                return refused(
                    format!("NumPy has no {dtype}: its times have no zone"),
                    format!("convert it to UTC without a zone: cast {cast}"),
                );
            }
            _ => return refused(format!("NumPy has no {dtype}"), format!("leave it out: drop {}", shell_word(&path.to_string()))),
        },
        Some(DType::String | DType::Json) => Contents::Text,
        Some(DType::Bytes) => Contents::Bytes,
        Some(_) => Contents::Numbers,
    };
    if ty.is_sparse() {
        return sparse(leaf, stacking, contents);
    }
    let mut axes = match stacking {
        Stacking::One => leaf.dims.clone(),
        Stacking::Records => std::iter::once(Dim::UNIFORM)
            .chain(leaf.dims.iter().map(|d| if d.size == Size::Uniform { Dim { size: Size::Ragged, ..d.clone() } } else { d.clone() }))
            .collect(),
    };
    let text = contents.is_text();
    if text && axes.is_empty() {
        // The string of a single record is one row of bytes.
        axes.push(Dim::known(1));
    }
    let levels = if text { axes.len() } else { axes.iter().rposition(|d| d.size == Size::Ragged).unwrap_or(0) };
    Ok(Stored { form: if levels == 0 { ArrayForm::Dense } else { ArrayForm::Ragged { levels } }, contents, axes })
}

fn sparse(leaf: &Leaf, stacking: Stacking, contents: Contents) -> Result<Stored> {
    let (path, own) = (&leaf.path, leaf.field.ty.rank());
    let help = format!("make it ragged: from-sparse -f {path}");
    if contents != Contents::Numbers {
        let what = if contents == Contents::Times { "times" } else { "strings" };
        return Err(Error::usage(format!("sparse {what} cannot be stored as arrays")).in_field(path).help(help));
    }
    if leaf.dims.len() > own {
        return Err(Error::usage("sparse tensors in a list of structures cannot be stored as arrays").in_field(path).help(help));
    }
    let open = leaf.dims.iter().any(|d| !matches!(d.size, Size::Known(_)));
    let axes = if stacking == Stacking::Records { vec![Dim::UNIFORM] } else { Vec::new() };
    let axes = axes.into_iter().chain(leaf.dims.iter().cloned()).collect();
    Ok(Stored { form: ArrayForm::Sparse { shapes: open && stacking == Stacking::Records }, contents, axes })
}

/// The name of the flat values of a ragged or sparse field.
pub fn values_name(name: &str) -> String {
    format!("{name}/values")
}

/// The name of the row splits of a level; level 0 is the outermost.
pub fn row_splits_name(name: &str, level: usize) -> String {
    format!("{name}/row_splits_{level}")
}

/// The name of the indices of a sparse field.
pub fn indices_name(name: &str) -> String {
    format!("{name}/indices")
}

/// The name of the dense shape of a sparse field.
pub fn dense_shape_name(name: &str) -> String {
    format!("{name}/dense_shape")
}

/// The name of the dense shapes of the records of a sparse field.
pub fn dense_shapes_name(name: &str) -> String {
    format!("{name}/dense_shapes")
}
