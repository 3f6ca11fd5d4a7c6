//! Arrow IPC, stream and file. Source: <https://arrow.apache.org/docs/format/Columnar.html>.
//!
//! - [`message`]: framing; [`source`]: a file that threads read at different places;
//! - [`read`]: record batches as tasks; [`write`]: record batches encoded on any thread;
//! - shared with Parquet: [`adapt`] (a file's columns made to fit the run's schema), [`codec`], [`contain`].

pub(super) mod adapt;
pub(super) mod codec;
pub(super) mod contain;
mod message;
mod read;
pub(super) mod source;
mod write;

use super::{Format, Reader, Writer};
use crate::error::Result;
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `arrow`: the stream, for pipes. `arrow-file`: with a footer, for random access; also known as Feather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrow {
    Stream,
    File,
}

const MAGIC: &[u8] = b"ARROW1";

impl Format for Arrow {
    fn name(&self) -> &'static str {
        match self {
            Arrow::Stream => "arrow",
            Arrow::File => "arrow-file",
        }
    }

    fn summary(&self) -> &'static str {
        match self {
            Arrow::Stream => "Arrow IPC stream",
            Arrow::File => "Arrow IPC file (Feather)",
        }
    }

    fn extensions(&self) -> &'static [&'static str] {
        match self {
            Arrow::Stream => &["arrows"],
            Arrow::File => &["arrow", "feather", "ipc"],
        }
    }

    fn sniff(&self, head: &[u8]) -> bool {
        match self {
            Arrow::Stream => message::starts_stream(head),
            Arrow::File => head.starts_with(MAGIC),
        }
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        // Either is told by its first bytes: `--from arrow` reads both.
        let reader: Box<dyn Reader> =
            if input.head().starts_with(MAGIC) { Box::new(read::FileReader::new(input)) } else { Box::new(read::StreamReader::new(input)) };
        Some(Ok(reader))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::ArrowWriter::try_new(*self, schema, options).map(|writer| Box::new(writer) as Box<dyn Writer>))
    }
}
