//! Apache Parquet. Source: <https://github.com/apache/parquet-format>.
//!
//! - [`pages`]: the crate's door to a file;
//! - [`footer`]: what is checked of a footer before it is decoded;
//! - [`schema`]: the Arrow fields that columns are read as and written from;
//! - [`read`]: row groups, or ranges of their rows, as tasks;
//! - [`write`]: a group of rows encoded on any thread.

mod dictionary;
mod footer;
mod pages;
mod read;
mod schema;
mod write;

use super::{Format, Reader, Writer};
use crate::error::{Error, Kind, Result};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use parquet::errors::ParquetError;
use std::sync::Arc;

/// `--from parquet`, `--to parquet`.
pub struct Parquet;

const MAGIC: &[u8] = b"PAR1";

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

/// An error of the parquet crate: of the data, unless a file is behind it.
fn lifted(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(io) => from_io(&io),
            Err(other) => Error::data(other.to_string()),
        },
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) | ParquetError::ArrowError(text) => {
            Error::data(text)
        }
        other => Error::data(other.to_string()),
    }
}

fn from_io(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Error::new(Kind::Closed, "the reader closed the pipe"),
        std::io::ErrorKind::UnexpectedEof => Error::data("the file ends too early"),
        _ => Error::new(Kind::Io, error.to_string()),
    }
}
