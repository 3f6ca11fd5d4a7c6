//! Expressions: Python syntax with TensorFlow's functions, over the columns of a chunk.
//!
//! ```text
//! text --syntax--> tree --bind--> typed tree --eval--> columns
//! ```
//!
//! The levels of this folder. A module uses only modules above it:
//!
//! ```text
//! 0 span, error          places in the text; errors that underline them
//!   syntax               text to a tree: operators, brackets and literals, nothing of fields or functions
//! 1 types                dtypes promoted, axes broadcast and joined
//!   eval                 the typed tree (Node), its values (Value), and its evaluation over whole columns
//!   operand, literal     what an expression is before the first record: a tensor, a literal, a list, a dtype ...
//!   fields               fields of structures: found, put at a path, removed
//! 2 kernels              loops over slices, dispatched once per dtype and chunk
//! 3 call                 what a function is: parameters, a call while it is bound, subscripts
//! 4 functions            the functions: a file per family, a table row per function; the registry
//! 5 constants, bind      names and functions resolved, types checked
//!   operators, python    operators; arithmetic of numbers before they are tensors
//!   program, manual      the statements of `map`, the condition of `filter`; the functions' man page
//! ```
//!
//! - `bind` finds every error that can be found before the first record and underlines its place in the text.
//!   Expressions that depend only on constants are evaluated immediately.
//! - A function works on a tensor that has the records as an additional outermost level; nothing is dispatched per
//!   record. A constant has one row for all records, which is repeated only if a kernel needs it.
//!
//! Types take the role of TensorFlow's classes: a tensor with a `(?)` axis is ragged, and any other tensor is dense.
//! Axes are counted within the record.

mod bind;
mod call;
mod constants;
mod error;
mod eval;
mod fields;
pub mod functions;
mod kernels;
mod literal;
mod manual;
mod operand;
mod operators;
mod program;
mod python;
mod span;
mod syntax;
#[cfg(test)]
mod tests;
mod types;

pub use kernels::cast::{can_cast, cast};
pub use kernels::hash::sip;
pub use kernels::time::time_of;
pub use manual::{function_help, function_list, functions_of, manual};
pub use program::{Program, ScalarExpr, bind_scalar, names_used};
