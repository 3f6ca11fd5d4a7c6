//! Labels under construction, as floats or, if the schema says so, as integers.

use super::line::Label;
use crate::schema::DType;
use arrow_array::{ArrayRef, Float64Array, Int64Array, UInt64Array};
use std::sync::Arc;

/// The labels of some lines.
pub enum Labels {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
    Unsigned(Vec<u64>),
    /// The number of labels that are not read.
    Unread(usize),
}

impl Labels {
    /// The dtype in which labels of a dtype are read.
    pub fn natural(dtype: Option<&DType>) -> DType {
        match dtype {
            Some(DType::UInt64) => DType::UInt64,
            Some(dtype) if dtype.is_integer() => DType::Int64,
            _ => DType::Float64,
        }
    }

    pub fn new(natural: &DType, are_read: bool) -> Labels {
        match natural {
            _ if !are_read => Labels::Unread(0),
            DType::UInt64 => Labels::Unsigned(Vec::new()),
            DType::Int64 => Labels::Integers(Vec::new()),
            _ => Labels::Floats(Vec::new()),
        }
    }

    /// # Errors
    /// The expected form.
    #[inline(always)]
    pub fn push(&mut self, label: &Label) -> Result<(), &'static str> {
        match self {
            Labels::Floats(values) => {
                values.push(label.value);
                if label.is_rounded() {
                    Err("expected a label that float64 can represent exactly (--schema 'label: int64' reads it)")
                } else {
                    Ok(())
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
            Labels::Floats(values) => values.len(),
            Labels::Integers(values) => values.len(),
            Labels::Unsigned(values) => values.len(),
            Labels::Unread(n) => *n,
        }
    }

    pub fn truncate(&mut self, n: usize) {
        match self {
            Labels::Floats(values) => values.truncate(n),
            Labels::Integers(values) => values.truncate(n),
            Labels::Unsigned(values) => values.truncate(n),
            Labels::Unread(all) => *all = n,
        }
    }

    /// The labels; zeros if they are not read.
    pub fn finish(self) -> ArrayRef {
        match self {
            Labels::Floats(values) => Arc::new(Float64Array::from(values)),
            Labels::Integers(values) => Arc::new(Int64Array::from(values)),
            Labels::Unsigned(values) => Arc::new(UInt64Array::from(values)),
            Labels::Unread(n) => Arc::new(Float64Array::from(vec![0.0; n])),
        }
    }
}
