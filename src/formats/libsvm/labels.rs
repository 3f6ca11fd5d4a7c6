//! Labels under construction, as floats or, if the schema says so, as integers.

use super::line::Label;
use crate::schema::DType;
use arrow_array::{ArrayRef, Float64Array, Int64Array, UInt64Array};
use std::sync::Arc;

/// The labels of some lines.
pub enum Labels {
    /// With the dtype to which they are rounded.
    Floats(Vec<f64>, DType),
    Integers(Vec<i64>),
    Unsigned(Vec<u64>),
    /// The number of labels that are not read.
    Unread(usize),
}

impl Labels {
    /// The dtype in which labels of a dtype are read.
    pub fn natural(dtype: &DType) -> DType {
        match dtype {
            DType::UInt64 => DType::UInt64,
            dtype if dtype.is_integer() => DType::Int64,
            _ => DType::Float64,
        }
    }

    /// No labels yet; `dtype` is that of the schema.
    pub fn new(dtype: &DType, are_read: bool) -> Labels {
        match Labels::natural(dtype) {
            _ if !are_read => Labels::Unread(0),
            DType::UInt64 => Labels::Unsigned(Vec::new()),
            DType::Int64 => Labels::Integers(Vec::new()),
            _ => Labels::Floats(Vec::new(), dtype.clone()),
        }
    }

    /// # Errors
    /// The expected form.
    #[inline(always)]
    pub fn push(&mut self, label: &Label) -> Result<(), &'static str> {
        match self {
            Labels::Floats(values, dtype) => {
                values.push(label.value);
                match label.is_rounded(dtype) {
                    true => Err("a label that its type can represent exactly (see --schema 'label: int64', or uint64)"),
                    false => Ok(()),
                }
            }
            Labels::Integers(values) => label.integer().map(|value| values.push(value)),
            Labels::Unsigned(values) => label.integer().map(|value| values.push(value)),
            Labels::Unread(n) => {
                *n += 1;
                Ok(())
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Labels::Floats(values, _) => values.len(),
            Labels::Integers(values) => values.len(),
            Labels::Unsigned(values) => values.len(),
            Labels::Unread(n) => *n,
        }
    }

    pub fn truncate(&mut self, n: usize) {
        match self {
            Labels::Floats(values, _) => values.truncate(n),
            Labels::Integers(values) => values.truncate(n),
            Labels::Unsigned(values) => values.truncate(n),
            Labels::Unread(all) => *all = n,
        }
    }

    /// The labels; zeros if they are not read.
    pub fn finish(self) -> ArrayRef {
        match self {
            Labels::Floats(values, _) => Arc::new(Float64Array::from(values)),
            Labels::Integers(values) => Arc::new(Int64Array::from(values)),
            Labels::Unsigned(values) => Arc::new(UInt64Array::from(values)),
            Labels::Unread(n) => Arc::new(Float64Array::from(vec![0.0; n])),
        }
    }
}
