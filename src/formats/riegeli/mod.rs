//! Riegeli/records files that end with the footer of ArrayRecord: chunks of records, each listed in the footer.
//!
//! ```text
//! signature | chunk of records | chunk of records | ... | footer: offset, size and records of each chunk | padding | postscript: offset of the footer
//! |<- 64 KiB, the first 24 bytes of which are the header of the block ->|                                          |<- the last block              ->|
//! ```
//!
//! Semantics: `doc/riegeli_records_file_format.md` in google/riegeli; `cpp/layout.proto`, `cpp/array_record_reader.cc` and
//! `cpp/array_record_writer.cc` in google/array_record.
//!
//! - [`block`]: the bytes of a chunk between block headers, and the hashes of both.
//! - [`header`]: chunk headers.
//! - [`simple`]: chunks of records: sizes and values, each compressed.
//! - [`footer`]: the locations of the chunks.
//! - [`file`]: reads a file by position; [`unclosed`]: reads a file without a footer.
//! - [`cutter`]: groups the chunks, in order or by record number.
//! - [`write`]: writes a file.

mod block;
mod cutter;
mod file;
mod footer;
mod header;
mod simple;
mod unclosed;
mod write;

pub use cutter::Cutter;
pub use file::ArrayFile;
pub use header::is_riegeli;
pub use simple::Codec;
pub use write::{Packed, RecordFile};
