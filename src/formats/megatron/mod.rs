//! Megatron indexed datasets: concatenated token ids in `x.bin`, and the start of each sequence in `x.idx`. Source:
//! `megatron/core/datasets/indexed_dataset.py`.
//!
//! ```text
//! "MMIDIDX\0\0" | uint64 version 1 | uint8 code of the dtype | uint64 sequences | uint64 boundaries
//! int32 length of each sequence | int64 its first byte in x.bin | int64 boundaries of documents, in sequences | int8 modes
//! ```
//!
//! A record is a sequence, as is an item of `IndexedDataset`: `tokens`, the number of its `document`, and `mode` if the
//! index has modes. With `--documents`, a record is a document: `tokens: T[?, (?)]`. On output, a record is a document,
//! unless a field `document` groups consecutive records.
//!
//! `index` reads the index in ranges, and `read` reads the values in ranges; `write` writes both, and `values` chooses
//! the output dtype.

mod dtype;
mod index;
mod names;
mod read;
mod values;
mod write;

use self::names::{INDEX, VALUES};
use crate::error::Result;
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `megatron`.
pub struct Megatron;

impl Format for Megatron {
    fn name(&self) -> &'static str {
        "megatron"
    }

    fn summary(&self) -> &'static str {
        "Megatron indexed dataset: FILE.bin and FILE.idx; give either name"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--vocab-size", "--append-eod", "--smallest-dtype", "--documents"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &[INDEX, VALUES]
    }

    fn sniff(&self, head: &[u8]) -> bool {
        head.starts_with(index::MAGIC)
    }

    /// The values do not identify the format; the index file does.
    fn recognises(&self, input: &Input) -> bool {
        let beside = || Input::regular(&input.path()?.with_extension(INDEX)).ok();
        self.sniff(input.head()) || (input.extension() == Some(VALUES) && beside().is_some_and(|index| self.sniff(index.head())))
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(read::DatasetReader { input })))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::writer(schema, options))
    }

    fn needs_file(&self) -> bool {
        true
    }

    fn pair(&self) -> Option<[&'static str; 2]> {
        Some([VALUES, INDEX])
    }
}
