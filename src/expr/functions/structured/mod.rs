//! Structured tensors.
//!
//! Source of the meaning: `tf.experimental.StructuredTensor`.

pub mod construct;
pub mod fields;
pub mod pyval;
