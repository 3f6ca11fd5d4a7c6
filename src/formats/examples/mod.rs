//! tf.Example and tf.SequenceExample, independent of the container of the records.
//!
//! ```text
//! blocks -> read      inference and decoding; raw for records of arbitrary bytes
//!        -> observe   the types of features, for inference
//!        -> decode    the features of all records (wire), then column by column: mapping gives the source features of
//!                     each field; column and lists decode them; arrange, nested and entries build axes from values;
//!                     assemble builds structures
//!
//! chunk -> flatten    fields to features
//!       -> serialize  payloads, with or without frames
//!       -> write      files of framed records
//! ```

mod arrange;
mod assemble;
mod column;
pub mod decode;
mod entries;
mod features;
pub mod flatten;
mod lists;
pub mod mapping;
mod named;
mod nested;
mod observe;
mod packed;
pub mod packing;
mod raw;
pub mod read;
pub mod serialize;
mod values;
pub mod wire;
pub mod write;
