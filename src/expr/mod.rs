//! Expressions: Python syntax with TensorFlow's functions, over the columns of a chunk.
//!
//! ```text
//! text --syntax--> tree with places --bind--> tree with types --eval--> columns
//! ```
//!
//! - [`syntax`] knows operators, brackets and literals, and nothing of fields or functions.
//! - [`bind`] resolves names, fields, methods and attributes, and asks each function for the type of
//!   its result. Everything that can be wrong before the first record is found here, and shown with
//!   the place underlined ([`problem`]). What depends on constants alone is computed at once.
//! - [`eval`] computes whole columns. A record-level function works on a tensor that has the records
//!   as one more, outermost level; no step dispatches per record. A constant is one row that stands
//!   for all records, repeated only where a kernel needs it.
//! - [`functions`] holds the functions: a table row and a kernel each; [`kernels`] the loops.
//!
//! Types decide what TensorFlow's classes decide: a tensor with a `(?)` axis is a ragged one, else it
//! is dense. Axes are counted inside the record.

mod bind;
mod call;
mod constant;
mod eval;
pub mod functions;
mod item;
mod kernels;
mod manual;
mod problem;
mod program;
mod syntax;
#[cfg(test)]
mod tests;
mod types;
mod values;

pub use kernels::cast::{can_cast, cast};
pub use manual::{function_help, function_list, functions_of, manual};
pub use program::{Program, ScalarExpr, bind_scalar, names_used};
