//! Loops over slices: the work of the functions, dispatched once per dtype and chunk.

pub mod broadcast;
pub mod cast;
pub mod elementwise;
pub mod level;
pub mod lines;
pub mod number;
pub mod ranges;
pub mod segment;
pub mod slice;
