//! TFRecord files of tf.Example and tf.SequenceExample.

use crate::chunk::Decoded;
use crate::error::Result;
use crate::formats::cut::Cut;
use crate::formats::examples::read;
use crate::formats::examples::wire::{self, Message};
use crate::formats::examples::write;
use crate::formats::format::{Format, Inference, Numbered, Reader, Request, Tasks, Writer};
use crate::formats::records::block::Pieces;
use crate::formats::records::cutter::Cutter;
use crate::formats::records::index::{Index, Table};
use crate::formats::records::{framing, only, ranges};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// A TFRecord format, by the kind of its records.
pub enum TfRecord {
    /// tf.Example.
    Example,
    /// tf.SequenceExample.
    SequenceExample,
}

impl TfRecord {
    fn message(&self) -> Message {
        match self {
            TfRecord::Example => Message::Example,
            TfRecord::SequenceExample => Message::SequenceExample,
        }
    }
}

impl Format for TfRecord {
    fn name(&self) -> &'static str {
        match self {
            TfRecord::Example => "tfrecord",
            TfRecord::SequenceExample => "sequence-example",
        }
    }

    fn summary(&self) -> &'static str {
        match self {
            TfRecord::Example => "TFRecord of tf.Example",
            TfRecord::SequenceExample => "TFRecord of tf.SequenceExample",
        }
    }

    fn options(&self) -> &'static [&'static str] {
        &["--raw-records", "--scalar", "--no-verify"]
    }

    fn family(&self) -> &'static str {
        "tfrecord"
    }

    fn extensions(&self) -> &'static [&'static str] {
        match self {
            TfRecord::Example => &["tfrecord", "tfrecords"],
            // Their files have the same extensions; the records tell them apart.
            TfRecord::SequenceExample => &[],
        }
    }

    fn may_be_empty(&self) -> bool {
        matches!(self, TfRecord::Example)
    }

    fn sniff(&self, head: &[u8]) -> bool {
        recognise(head).is_some_and(|message| (message == Message::SequenceExample) == matches!(self, TfRecord::SequenceExample))
    }

    fn has_features(&self) -> bool {
        true
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(TfRecordReader { input, message: self.message(), table: None })))
    }

    fn has_offsets(&self) -> bool {
        true
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        let sequences = self.message() == Message::SequenceExample;
        Some(write::writer(schema, options, sequences))
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
    message: Message,
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
}

impl Reader for TfRecordReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        read::infer(self.input.name(), self.message, request, || self.pieces(request, request.sample_bytes))
    }

    fn numbered(&mut self, request: &Request) -> Result<Option<Numbered>> {
        if self.table.is_none() {
            self.table = Index::beside(&self.input, &request.options)?.map(Index::table).transpose()?.map(Arc::new);
        }
        Ok(self.table.as_ref().map(|table| table.numbered()))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        read::read(self.input.name(), self.message, schema, request, self.pieces(request, None)?)
    }
}
