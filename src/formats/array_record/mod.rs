//! ArrayRecord, Grain's container format: tf.Examples or arbitrary bytes, with random access by record number.
//!
//! The container is [`super::riegeli`]; records are decoded like those of TFRecords.

mod write;

use crate::chunk::{Chunk, Decoded, Origin};
use crate::error::Result;
use crate::formats::cut::Cut;
use crate::formats::examples::read;
use crate::formats::examples::wire::{self, Message};
use crate::formats::format::{Format, Inference, Numbered, Reader, Request, Task, Tasks, Writer};
use crate::formats::records::block::{Piece, Pieces};
use crate::formats::riegeli::{ArrayFile, Cutter, is_riegeli};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Records counted at a time.
const COUNTED: u64 = 1 << 20;

/// `array-record`.
pub struct ArrayRecord;

impl Format for ArrayRecord {
    fn name(&self) -> &'static str {
        "array-record"
    }

    fn summary(&self) -> &'static str {
        "ArrayRecord of tf.Example: Riegeli chunks with an index, as read by Grain"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--raw-records", "--scalar", "--no-verify", "--row-group-rows"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["array_record", "arrayrecord"]
    }

    fn sniff(&self, head: &[u8]) -> bool {
        is_riegeli(head)
    }

    fn has_compression(&self) -> bool {
        true
    }

    fn has_features(&self) -> bool {
        true
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(ArrayReader { input, file: None })))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::writer(schema, options))
    }
}

struct ArrayReader {
    input: Arc<Input>,
    file: Option<ArrayFile>,
}

impl ArrayReader {
    fn file(&mut self, request: &Request) -> Result<ArrayFile> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let file = ArrayFile::open(&self.input, &request.options)?;
        Ok(self.file.insert(file).clone())
    }

    /// The kind of the first nonempty record, if it is near the start.
    fn message(&mut self, request: &Request) -> Result<Message> {
        if request.options.raw_records {
            return Ok(Message::Example);
        }
        let Some(Ok(Piece::Packed(block))) = Cutter::new(self.file(request)?, request).sampling(Some(1)).pieces().next() else {
            return Ok(Message::Example);
        };
        let block = block()?;
        let found = block.payloads.iter().map(|payload| wire::message(&block.bytes, payload.clone()));
        Ok(found.into_iter().find(|message| *message != Message::Empty).unwrap_or(Message::Example))
    }

    fn pieces(&mut self, request: &Request, sample_bytes: Option<u64>) -> Result<Pieces> {
        Ok(Box::new(Cutter::new(self.file(request)?, request).sampling(sample_bytes).pieces()))
    }
}

impl Reader for ArrayReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let name = self.input.name().clone();
        let message = self.message(request)?;
        read::infer(&name, message, request, || self.pieces(request, request.sample_bytes))
    }

    fn numbered(&mut self, request: &Request) -> Result<Option<Numbered>> {
        if !self.input.is_regular() {
            return Ok(None);
        }
        let file = self.file(request)?;
        let nread = file.nrecords.div_ceil((file.places.len() as u64).max(1)).max(1);
        Ok(Some(Numbered { nrecords: file.nrecords, nread, nbytes: file.nbytes(), by: format!("the footer of {}", file.name).into() }))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let name = self.input.name().clone();
        let wants_none = request.wanted.is_none();
        let file = self.file(request)?;
        if wants_none && request.only.is_none() && file.rest.is_none() {
            return Ok(counted(name, file.nrecords.min(request.records.unwrap_or(u64::MAX)), file.nbytes()));
        }
        let message = self.message(request)?;
        read::read(&name, message, schema, request, self.pieces(request, None)?)
    }
}

/// Yields records of which only the number is needed; the footer has it.
fn counted(name: Arc<str>, nrecords: u64, nbytes: u64) -> Tasks<Decoded> {
    Box::new((0..nrecords.div_ceil(COUNTED)).map(move |n| {
        let (name, first) = (name.clone(), n * COUNTED);
        let rows = COUNTED.min(nrecords - first) as usize;
        let nbytes = if n == 0 { nbytes } else { 0 };
        let task: Task<Decoded> = Box::new(move || {
            let chunk = Chunk::try_new(rows, Vec::new(), Origin::consecutive(name, first + 1))?;
            Ok(Decoded { chunk, faults: Vec::new(), nbytes, offsets: Vec::new() })
        });
        Ok(task)
    }))
}
