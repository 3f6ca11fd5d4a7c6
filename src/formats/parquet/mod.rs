//! Apache Parquet. Source: <https://github.com/apache/parquet-format>.
//!
//! - [`pages`]: the crate's door to a file;
//! - [`footer`]: what is checked of a footer before it is decoded;
//! - [`facts`]: facts in a footer that are not in the types; [`int96`]: the unit of old timestamps;
//! - [`logical`]: logical types of extension types; [`annotation`]: those that Arrow has no type for;
//! - [`schema`]: the Arrow fields that columns are read as and written from;
//! - [`opened`]: a footer that has been read; [`ranges`]: its row groups, cut into ranges of rows; [`read`]: each decoded by a task;
//! - [`lanes`]: a large row group, read once by all its tasks;
//! - [`write`]: a group of rows encoded on any thread; [`dictionary`]: what gets a dictionary;
//! - [`encode`]: column chunks, page by page.

mod annotation;
mod dictionary;
mod encode;
mod facts;
mod failure;
mod footer;
mod int96;
mod lanes;
mod logical;
mod opened;
mod pages;
mod ranges;
mod read;
mod schema;
mod sizes;
mod write;

use crate::error::Result;
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use footer::MAGIC;
use std::sync::Arc;

/// `--from parquet`, `--to parquet`.
pub struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn summary(&self) -> &'static str {
        "Apache Parquet"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn has_compression(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(read::ParquetReader::new(input))))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::ParquetWriter::try_new(schema, options).map(|writer| Box::new(writer) as Box<dyn Writer>))
    }
}
