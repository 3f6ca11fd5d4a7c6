//! tatter is a command-line tool for records whose fields vary in length.
//!
//! # The flow
//! ```text
//! file -> Reader          one thread at a time, in order: cuts bytes or row groups into blocks
//!           | tasks
//!         workers         decode into columns -> Map verbs        any order
//!           | put back in order
//!         Fold verb       one chunk at a time: batch, shuffle, head ...; `Done` stops the Reader
//!           |
//!         workers         Map verbs -> encode
//!           | in order
//!         Writer -> file
//! ```
//!
//! # Glossary
//! - **record**: an element of the input; **block**: undecoded bytes of some records; **chunk**: decoded columns of
//!   some records; **batch**: only the axis that the verb `batch` creates.
//! - **origin**: the file and the numbers of the records of a chunk; **fault**: a record that cannot be read, which
//!   travels with the chunk until it is counted; **group**: records that are encoded together, such as a row group.
//! - **demand**: the fields and records that a chain needs from its input; **digest**: what a thread has found in a chunk
//!   for a report, to be merged in order.
//! - **row_splits, row_lengths, value_rowids, nrows, nvals, flat_values, ragged_rank**: as in TensorFlow.
//!
//! # Levels
//! A module uses only modules of its own or a lower level. There are no cyclic dependencies, and formats and verbs do
//! not depend on each other (checked by `tests/it/layers.rs`):
//! ```text
//! 0 error hint message numerals panic path notice printable quotes random screen wire
//! 1 schema tensor options demand io decimal json
//! 2 chunk expr
//! 3 formats verbs
//! 4 run
//! 5 cli
//! ```

#![warn(missing_docs)]

pub mod chunk;
pub mod cli;
pub mod decimal;
pub mod demand;
pub mod error;
pub mod expr;
pub mod formats;
pub mod hint;
pub mod io;
pub mod json;
pub mod message;
pub mod notice;
pub mod numerals;
pub mod options;
pub mod panic;
pub mod path;
pub mod printable;
pub mod quotes;
pub mod random;
pub mod run;
pub mod schema;
pub mod screen;
pub mod tensor;
pub mod verbs;
pub mod wire;
