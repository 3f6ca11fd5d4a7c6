//! TFRecord files of tf.Example.
//!
//! ```text
//! bytes -> cutter   blocks of whole records, using the lengths in their frames (framing); resync finds the next record after damage
//!          ranges   the same for regular files, by byte ranges on any thread
//!       -> reader   processes blocks from any container; raw for records of arbitrary bytes
//!       -> observe  the types of features, for inference
//!       -> decode   the features of all records (wire), then column by column: mapping gives the source features of each
//!                   field; column and lists decode them; arrange, nested and entries build axes from values;
//!                   assemble builds structures
//!
//! chunk -> flatten  fields to features
//!       -> encode   framed records
//! ```

mod arrange;
mod assemble;
mod column;
pub mod cutter;
pub mod decode;
pub mod encode;
mod entries;
mod features;
pub mod flatten;
pub mod framing;
pub mod index;
mod lists;
pub mod mapping;
mod named;
mod nested;
mod observe;
pub mod only;
mod packed;
pub mod packing;
mod ranges;
mod raw;
pub mod reader;
mod resync;
mod values;
pub mod wire;

use crate::chunk::Decoded;
use crate::error::Result;
use crate::formats::cut::Cut;
use crate::formats::format::{Format, Inference, Numbered, Reader, Request, Tasks, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use cutter::Cutter;
use index::{Index, Table};
use reader::Pieces;
use std::sync::Arc;
use wire::Message;

/// TFRecord of tf.Example.
pub struct TfRecord;

/// TFRecord of tf.SequenceExample.
pub struct SequenceExample;

impl Format for SequenceExample {
    fn name(&self) -> &'static str {
        "sequence-example"
    }

    fn summary(&self) -> &'static str {
        "TFRecord of tf.SequenceExample"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--raw-records", "--scalar", "--no-verify"]
    }

    fn family(&self) -> &'static str {
        "tfrecord"
    }

    fn sniff(&self, head: &[u8]) -> bool {
        recognise(head) == Some(Message::SequenceExample)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(TfRecordReader { input, sequences: true, table: None })))
    }

    fn has_offsets(&self) -> bool {
        true
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(encode::TfRecordWriter::new(schema, options, true).map(|w| Box::new(w) as Box<dyn Writer>))
    }
}

impl Format for TfRecord {
    fn name(&self) -> &'static str {
        "tfrecord"
    }

    fn summary(&self) -> &'static str {
        "TFRecord of tf.Example"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--raw-records", "--scalar", "--no-verify"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tfrecord", "tfrecords"]
    }

    fn may_be_empty(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> bool {
        recognise(head).is_some_and(|message| message != Message::SequenceExample)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(TfRecordReader { input, sequences: false, table: None })))
    }

    fn has_offsets(&self) -> bool {
        true
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(encode::TfRecordWriter::new(schema, options, false).map(|w| Box::new(w) as Box<dyn Writer>))
    }
}

/// The message type of the first records of an input; `None` if it is not a TFRecord. Records without features are
/// ambiguous.
fn recognise(head: &[u8]) -> Option<Message> {
    framing::header(head).filter(|h| h.holds)?;
    let messages = framing::payloads(head).map(|payload| wire::message(head, payload));
    Some(messages.into_iter().find(|message| *message != Message::Empty).unwrap_or(Message::Empty))
}

struct TfRecordReader {
    input: Arc<Input>,
    sequences: bool,
    /// Its index file, once it has been read.
    table: Option<Arc<Table>>,
}

impl TfRecordReader {
    /// The pieces of the input: of all records, or of those required by the run.
    fn pieces(&self, request: &Request, sample_bytes: Option<u64>) -> Result<Pieces> {
        let cutter = || Ok(Cutter::new(self.input.open()?, self.input.name().clone(), request));
        let Some(only) = &request.only else {
            if sample_bytes.is_none()
                && let Some(pieces) = ranges::pieces(&self.input, request)?
            {
                return Ok(Box::new(pieces));
            }
            return Ok(Box::new(cutter()?.sampling(sample_bytes).pieces()));
        };
        if let Some(table) = &self.table {
            return only::by_table(&self.input, table.clone(), only, &request.options);
        }
        match only::by_index(&self.input, only, &request.options)? {
            Some(pieces) => Ok(pieces),
            None => Ok(Box::new(only::cut_out(cutter()?, only.clone()))),
        }
    }

    fn message(&self) -> Message {
        if self.sequences { Message::SequenceExample } else { Message::Example }
    }
}

impl Reader for TfRecordReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        reader::infer(self.input.name(), self.message(), request, || self.pieces(request, request.sample_bytes))
    }

    fn numbered(&mut self, request: &Request) -> Result<Option<Numbered>> {
        if self.table.is_none() {
            self.table = Index::beside(&self.input, &request.options)?.map(Index::table).transpose()?.map(Arc::new);
        }
        Ok(self.table.as_ref().map(|table| table.numbered()))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        reader::read(self.input.name(), self.message(), schema, request, self.pieces(request, None)?)
    }
}
