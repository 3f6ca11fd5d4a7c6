//! Arrow IPC, stream and file. Source: <https://arrow.apache.org/docs/format/Columnar.html>.
//!
//! - [`message`]: the framing of messages;
//! - [`read`]: record batches as tasks; [`sizes`]: their sizes in memory; [`divided`]: a large batch, shared by its tasks;
//! - [`below_nulls`]: values that Arrow does not specify;
//! - [`write`]: record batches encoded on any thread;
//! - [`dictionaries`]: the dictionaries of an output.

mod batch;
mod batches;
mod below_nulls;
mod dictionaries;
mod divided;
mod file;
mod known;
mod learned;
mod message;
mod padding;
mod sizes;
mod stream;
mod write;

use crate::error::{Error, Result};
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use message::{FEATHER_1, MAGIC, Memory};
use std::sync::Arc;

/// `arrow`: the stream format, for pipes. `arrow-file`: the file format, with a footer for random access, also known as
/// Feather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrow {
    Stream,
    File,
}

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

    fn options(&self) -> &'static [&'static str] {
        &["--row-group-rows", "--tensor-types"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        match self {
            Arrow::Stream => &["arrows"],
            Arrow::File => &["arrow", "feather", "ipc"],
        }
    }

    fn family(&self) -> &'static str {
        "arrow"
    }

    fn has_compression(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> bool {
        match self {
            Arrow::Stream => message::starts_stream(head),
            Arrow::File => head.starts_with(MAGIC) || head.starts_with(FEATHER_1),
        }
    }

    fn reader(&self, input: Arc<Input>, options: &Options) -> Option<Result<Box<dyn Reader>>> {
        if input.head().starts_with(FEATHER_1) {
            let error = Error::data("this is a Feather file of version 1, which predates Arrow IPC").in_input(input.name().clone());
            return Some(Err(
                error.help("rewrite it in Python: pyarrow.feather.write_feather(pyarrow.feather.read_table(FILE), \"x.feather\")")
            ));
        }
        // Both are recognized by their first bytes, so `--from arrow` reads either.
        let memory = Memory(options.max_memory);
        let reader: Box<dyn Reader> = match input.head().starts_with(MAGIC) {
            true => Box::new(file::FileReader::new(input, memory)),
            false => Box::new(stream::StreamReader::new(input, memory)),
        };
        Some(Ok(reader))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::ArrowWriter::try_new(*self == Arrow::File, schema, options).map(|writer| Box::new(writer) as Box<dyn Writer>))
    }
}
