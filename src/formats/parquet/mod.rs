//! Apache Parquet. Source: <https://github.com/apache/parquet-format>.
//!
//! - [`pages`]: file access for the parquet crate;
//! - [`footer`]: validates a footer before it is decoded;
//! - [`facts`]: column properties in a footer that are not in the types; [`int96`]: the unit of legacy timestamps;
//! - [`logical`]: logical types of extension types; [`annotation`]: logical types without an Arrow equivalent;
//! - [`schema`]: the Arrow fields as which columns are read and written;
//! - [`opened`]: a file with its footer read; [`ranges`]: divides row groups into ranges of rows; [`read`]: decodes
//!   each range in a task;
//! - [`categories`]: the values of dictionaries, whether they occur or not;
//! - [`lanes`]: a large row group, read once by all its tasks;
//! - [`write`]: encodes groups of rows on any thread; [`dictionary`]: decides on dictionary encoding;
//! - [`encode`]: encodes column chunks, page by page;
//! - [`headers`]: the headers of pages; [`sizes`]: sizes in memory, checked before pages are decompressed; [`front_coded`]: those of strings that repeat the
//!   start of the one before; [`measure`]: the sizes of records.

mod annotation;
mod categories;
mod dictionary;
mod encode;
mod facts;
mod failure;
mod footer;
mod front_coded;
mod headers;
mod int96;
mod lanes;
mod logical;
mod measure;
mod opened;
mod pages;
mod ranges;
mod read;
mod row_groups;
mod schema;
mod sizes;
mod write;

use crate::error::Result;
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use footer::{ENCRYPTED_MAGIC, MAGIC};
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

    fn options(&self) -> &'static [&'static str] {
        &["--row-group-rows", "--tensor-types"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn has_compression(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> bool {
        head.starts_with(MAGIC) || head.starts_with(ENCRYPTED_MAGIC)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(read::ParquetReader::new(input))))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::ParquetWriter::try_new(schema, options).map(|writer| Box::new(writer) as Box<dyn Writer>))
    }
}
