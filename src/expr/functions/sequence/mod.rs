//! Sequence functions on Paddle's LoD-Tensors: one file per topic, and shared code.
//!
//! ```text
//! x   float32[2, (?), 1]   [[[1] [2]] [[3] [4] [5]]]      two sequences, of two and of three steps
//! LoD lengths [[2 3]]      offsets [[0 2 5]]              one level for each axis below the first
//! ```
//! A LoD-Tensor is a ragged tensor. Its innermost ragged axis partitions steps into sequences, and the axes below it
//! are those of a step: `[w]`, or none. The functions work on these sequences at any depth; operations that Paddle
//! supports on one level only work on the innermost of several. A result without LoD is dense.
//!
//! Semantics: `paddle.static.nn.sequence_*` of PaddlePaddle 2.6 in static graph mode.

pub mod erase;
pub mod expand;
mod fill;
pub mod levels;
pub mod pad;
pub mod pool;
pub mod rearrange;
pub mod scatter;
mod shared;
