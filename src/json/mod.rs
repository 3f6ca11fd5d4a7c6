//! JSON text: decoding into columns, inference, and encoding. Text comes from blocks of records (`formats::jsonl`), from the
//! members of other containers, and from fields that contain JSON (`texts`).
//!
//! ```text
//! reading   column: leaf, list, map, object, sparse, union   columns under construction, with the interface in builder
//!           cursor: number, string, skip      the grammar; forms: NaN, bytes, sparse tensors; keys
//!           rules, scalar                     the values that a column accepts
//!           error, suggest                    errors in a value, and the schema that would hold it
//!           texts                             a field that contains JSON, one value in each row
//! inference seen, settle                      observed types, and the schema or the conflicts
//! writing   write, text                       rows as text
//! ```
//!
//! Text is decoded directly into columns: the type of each value is known, so no value tree is built. Source of the
//! meaning: RFC 8259, and the proto3 JSON mapping for non-finite numbers.
//!
//! Terms: a **cause** says whether another schema would hold a bad value; **rules** are what a column accepts; a
//! **form** is a JSON value that represents something else (`{"b64": ...}`).

pub(crate) mod builder;
pub(crate) mod column;
pub(crate) mod cursor;
pub(crate) mod error;
mod forms;
mod keys;
mod leaf;
pub(crate) mod limits;
mod list;
mod map;
mod number;
mod number_blocks;
pub(crate) mod object;
mod rules;
mod scalar;
pub(crate) mod seen;
pub(crate) mod settle;
mod skip;
mod sparse;
mod string;
pub(crate) mod suggest;
pub(crate) mod text;
pub(crate) mod texts;
mod union;
pub(crate) mod write;

pub use self::write::value_text;
