//! TFRecord files of tf.Example.
//!
//! ```text
//! bytes -> cutter   blocks of whole records, by the lengths in their frames; damage is skipped by resync
//!       -> decode   structure of all records, then column by column (plan, column, values, assemble)
//!       -> observe  the types of features, for inference
//!
//! chunk -> flatten  fields to features
//!       -> encode   framed records
//! ```

mod assemble;
mod column;
mod cutter;
mod decode;
mod encode;
mod entries;
mod flatten;
pub mod framing;
mod observe;
mod plan;
mod resync;
mod steps;
mod values;
pub mod wire;

use crate::chunk::Decoded;
use crate::demand::Wanted;
use crate::error::Result;
use crate::formats::format::{Format, Inference, Observed, Reader, Request, Task, Tasks, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use cutter::{Cut, Cutter};
use std::sync::Arc;

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

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(TfRecordReader { input, sequences: true })))
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

    fn extensions(&self) -> &'static [&'static str] {
        &["tfrecord", "tfrecords"]
    }

    fn sniff(&self, head: &[u8]) -> bool {
        framing::header(head).is_some_and(|h| h.holds)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(TfRecordReader { input, sequences: false })))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(encode::TfRecordWriter::new(schema, options, false).map(|w| Box::new(w) as Box<dyn Writer>))
    }
}

struct TfRecordReader {
    input: Arc<Input>,
    sequences: bool,
}

impl TfRecordReader {
    fn cutter(&self, request: &Request) -> Result<Cutter> {
        Ok(Cutter::new(self.input.open()?, self.input.name().clone(), request))
    }
}

impl Reader for TfRecordReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        if let Some(schema) = known_schema(request) {
            return Ok(Inference::Known(schema));
        }
        let look = Arc::new(observe::Look {
            wanted: request.wanted.clone(),
            declared: observe::declared_features(&request.declared.fields),
            verify: !request.options.no_verify,
            sequences: self.sequences,
            input: self.input.name().clone(),
        });
        let cutter = self.cutter(request)?.sampling(request.sample_bytes);
        Ok(Inference::Scan(Box::new(cutter.filter_map(move |cut| match cut {
            Ok(Cut::Block(block)) => {
                let look = look.clone();
                Some(Ok(Box::new(move || Ok(Box::new(observe::Seen::in_block(&block, &look)) as Box<dyn Observed>)) as Task<_>))
            }
            // Reading meets the damage again, and knows what to do about it.
            Ok(Cut::Lost(_)) => None,
            Err(error) => Some(Err(error)),
        }))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let name = self.input.name().clone();
        let decoder = Arc::new(decode::Decoder::new(schema, request, name.clone(), self.sequences)?);
        let cutter = self.cutter(request)?;
        Ok(Box::new(cutter.map(move |cut| {
            Ok(match cut? {
                Cut::Block(block) => {
                    let decoder = decoder.clone();
                    Box::new(move || decoder.decode(&block)) as Task<Decoded>
                }
                Cut::Lost(fault) => {
                    let decoder = decoder.clone();
                    Box::new(move || {
                        let record = fault.error.location().records.map_or(1, |(first, _)| first);
                        let nothing = framing::Block { first_record: record, ..framing::Block::default() };
                        let mut decoded = decoder.decode(&nothing)?;
                        decoded.nbytes = fault.length;
                        decoded.faults.push(fault);
                        Ok(decoded)
                    })
                }
            })
        })))
    }
}

/// The schema without a look at the records: nothing is wanted, or everything wanted is declared.
fn known_schema(request: &Request) -> Option<Schema> {
    let Wanted::Matching(patterns) = &request.wanted else { return None };
    let declared = |name: &String| request.declared.fields.iter().any(|f| f.name == *name && plan::is_complete(&f.ty));
    patterns
        .iter()
        .all(declared)
        .then(|| Schema::new(request.declared.fields.iter().filter(|f| plan::is_complete(&f.ty)).cloned().collect()))
}
