//! Functions of sparse tensors: an index, a value and a dense shape for what is not the default.
//!
//! ```text
//! indices      [[0 1] [2 0]]          . a .
//! values       [  a     b  ]          . . .
//! dense_shape  [3 3]                  b . .
//! ```
//!
//! Source of the meaning: `tf.sparse`, `tf.SparseTensor`. Entries may be in any order and an index
//! may occur twice, as there; what needs the canonical order says so. Every kernel is one walk over the entries of
//! a chunk, on the columns of [`crate::tensor::Sparse`].
//!
//! - [`construct`]: SparseTensor, from_dense, eye, and related accessors.
//! - [`structure`]: other shapes, orders and choices of the same entries.
//! - [`join`]: concat, slice, split.
//! - [`dense`]: to_dense, to_indicator, sparse_to_dense.
//! - [`arithmetic`], [`union`], [`matrix`], [`softmax`]: numbers.
//! - [`reduce`], [`count`], [`segments`]: sums, greatest values, counts.
//! - [`cross`]: combinations of values.

pub mod arithmetic;
pub mod construct;
pub mod count;
pub mod cross;
pub mod dense;
pub mod join;
pub mod matrix;
pub mod reduce;
pub mod segments;
mod shared;
pub mod softmax;
pub mod structure;
pub mod union;
