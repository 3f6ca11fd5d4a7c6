//! Expressions: Python syntax with TensorFlow's functions, over the columns of a chunk.
//!
//! ```text
//! text --syntax--> tree --bind--> typed tree --eval--> columns
//! ```
//!
//! The levels of this folder. A module uses only modules above it:
//!
//! ```text
//! 0 span, error          spans of the text; errors that underline them
//!   template             lines of advice with places for what the user wrote
//!   syntax               text to a tree: operators, brackets and literals, without fields or functions
//!   frames, sql          expressions of pandas, Polars, Spark and SQL, rewritten
//! 1 types                dtype promotion, broadcasting and joining of axes
//!   eval                 the typed tree (Node), its values (Value), and its evaluation over whole columns
//!   operand, literal     the result of binding an expression: a tensor, a literal, a list, a dtype, ...
//!   fields               fields of structures: finding, replacing and removing them
//! 2 kernels              loops over slices, dispatched once per dtype and chunk
//! 3 call                 functions and calls: parameters, calls while being bound, subscripts
//! 4 functions            the functions: one file per family, one table row per function; the registry
//! 5 constants, bind      name resolution and type checking
//!   operators, python    operators; arithmetic on number literals
//!   unknown              errors for names that are neither fields nor functions
//!   advice               functions for names in other languages
//!   names, parts         the names in a text; results that are computed for fewer records at a time
//!   program, scalar      the statements of `map`; the condition of `filter` and other scalars
//!   manual               the functions' man page
//! ```
//!
//! - `bind` finds every error that can be found before the first record and underlines its span in the text.
//!   Expressions that depend only on constants are evaluated immediately.
//! - A function works on a tensor that has the records as an additional outermost level; nothing is dispatched per
//!   record. A constant has one row for all records, which is repeated only if a kernel needs it.
//!
//! Types take the role of TensorFlow's classes: a tensor with a `(?)` axis is ragged, and any other tensor is dense.
//! Axes are numbered within the record.

mod advice;
mod bind;
mod call;
mod columns;
mod constants;
mod error;
mod eval;
mod fields;
mod frames;
pub mod functions;
mod kernels;
mod literal;
mod manual;
mod names;
mod nulls;
mod operand;
mod operators;
mod parts;
mod program;
mod python;
mod scalar;
mod span;
mod sql;
mod steps;
mod syntax;
mod template;
#[cfg(test)]
mod tests;
mod types;
mod unknown;

pub use advice::instead_of;
pub use call::{computable, valueless};
pub use error::clocks;
pub use kernels::cast::{can_cast, cast};
pub use kernels::hash::sip;
pub use kernels::time::time_of_text;
pub use manual::{family_list, function_help, function_list, functions_of, manual};
pub use names::{names_used, negated};
pub use program::Program;
pub use scalar::{ScalarExpr, bind_scalar, bind_scalars};
pub use sql::condition;
