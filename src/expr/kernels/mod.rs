//! The loops that do the work of the functions, over slices, dispatched once per dtype and chunk.

pub mod broadcast;
pub mod cast;
pub mod compare;
pub mod datum;
pub mod elementwise;
pub mod entries;
pub mod factor;
pub mod fill;
pub mod hash;
pub mod incomplete_gamma;
pub mod join;
pub mod level;
pub mod lines;
pub mod number;
pub mod pool;
pub mod printf;
pub mod random;
pub mod re2;
pub mod script;
pub mod segment;
pub mod slice;
pub mod special;
pub mod structure;
pub mod text;
pub mod time;
pub mod unicode;
