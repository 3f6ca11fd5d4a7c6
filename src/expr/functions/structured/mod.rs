//! Structured tensors.
//!
//! Semantics: `tf.experimental.StructuredTensor`.

pub mod construct;
pub mod fields;
pub mod pyval;
