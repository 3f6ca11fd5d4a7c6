//! Converts tensors to Arrow arrays and back. Values are shared; list offsets change width.
//!
//! ```text
//! int64[?, (?)]                 list<list<int64>>
//! float32[?, 32]                list<fixed_size_list<float32, 32>>
//! {a: string}[?]                list<struct<a: utf8>>
//! sparse<float32>[?, 9]         struct<indices: list<fixed_size_list<int64, 2>>, values: list<float32>,
//!                                      dense_shape: fixed_size_list<int64, 2>>
//! json                          utf8
//! ```
//!
//! Properties that Arrow's types cannot express (`?` or `(?)` at an inner axis, labels, `json`, sparse) are kept in the
//! field's metadata under [`note::KEY`], only if needed. A note that does not fit its field, because another program
//! has changed the file, is ignored.
//!
//! - [`field`]: Arrow fields to types; [`written`]: types to Arrow fields;
//! - [`export`]: tensors to arrays; [`import`]: arrays of any layout to tensors;
//! - [`leaf`]: scalars; [`encoded`]: scalars as dictionaries and run ends; [`expanded`]: the size of rows with their own
//!   values;
//! - [`stored`]: fields written in the form in which their file stores them;
//! - [`note`]: the metadata; [`extension`]: the canonical tensor extension types.

pub mod encoded;
pub mod expanded;
pub mod export;
pub mod extension;
pub mod field;
pub mod import;
pub mod leaf;
pub mod note;
pub mod stored;
pub mod written;

pub use expanded::{LEAST, expanded_nbytes};
pub use export::to_arrow;
pub use field::{ArrowForm, from_arrow_field};
pub use import::{from_arrow, longest};
pub use written::to_arrow_field;

#[cfg(test)]
mod tests;
