//! Functions of sparse tensors, which store an index and a value for each entry, and a dense shape.
//!
//! ```text
//! indices      [[0 1] [2 0]]          . a .
//! values       [  a     b  ]          . . .
//! dense_shape  [3 3]                  b . .
//! ```
//!
//! Semantics: `tf.sparse`, `tf.SparseTensor`. As there, entries may be in any order and an index may be
//! repeated; functions that need the canonical order check it. Every kernel is a single pass over the entries of a
//! chunk, on the columns of [`crate::tensor::Sparse`].
//!
//! - [`construct`]: SparseTensor, from_dense, eye, and related accessors.
//! - [`structure`]: changing the shape, order and selection of entries.
//! - [`join`]: concat, slice, split.
//! - [`dense`]: to_dense, to_indicator, sparse_to_dense.
//! - [`arithmetic`], [`union`], [`matrix`], [`softmax`]: numeric functions.
//! - [`reduce`], [`count`], [`segments`]: sums, maxima, counts.
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
pub mod sets;
mod shared;
pub mod softmax;
pub mod structure;
pub mod union;
