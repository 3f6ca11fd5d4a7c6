//! libsvm, also called svmlight: one line `label [qid:N] index:value ... [# comment]` for each record. Source: the
//! README of LIBSVM; `sklearn.datasets.load_svmlight_file` for multiple labels and for the index base.
//!
//! A record is a row: `label`, `qid` if there is one, and `features: sparse<float32>[n]`. The lines state neither `n`
//! nor whether the first index is 0 or 1. Inference finds both, and the index base is kept as metadata of the schema,
//! so that output uses the same base. Blank lines and comments are not records.
//!
//! `line` implements the grammar, `cut` cuts blocks, `observe` and `decode` process their lines, and `write` encodes
//! them.

mod cut;
mod decode;
mod labels;
mod line;
mod names;
mod observe;
mod write;

use self::cut::{Cutter, records};
use self::decode::Decoder;
use self::names::{FEATURES, LABEL, QID, declares};
use crate::chunk::Decoded;
use crate::error::{Error, Result};
use crate::formats::cut::first_bytes;
use crate::formats::format::{Format, Inference, Observed, Reader, Request, Task, Tasks, Writer};
use crate::io::Input;
use crate::io::line_ranges::LineRanges;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `libsvm`.
pub struct Libsvm;

/// Number of lines examined to recognize the format.
const SNIFFED_LINES: usize = 20;

impl Format for Libsvm {
    fn name(&self) -> &'static str {
        "libsvm"
    }

    fn summary(&self) -> &'static str {
        "libsvm, svmlight: label, qid, and sparse features on each line"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--index-base", "--sum-duplicates"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["libsvm", "svmlight", "svm"]
    }

    fn sniff(&self, head: &[u8]) -> bool {
        // The last line can be truncated.
        let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
        let mut lines = records(whole).take(SNIFFED_LINES).map(|(_, _, line)| line::counted(line));
        lines.next().flatten().is_some_and(|(nlabels, nvalues)| nlabels > 0 && nvalues > 0) && lines.all(|line| line.is_some())
    }

    /// Other text can look like this, such as a time.
    fn is_evident(&self, _: &Input) -> bool {
        false
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(LineReader { input })))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::writer(schema, options))
    }

    fn has_offsets(&self) -> bool {
        true
    }

    fn is_text(&self) -> bool {
        true
    }
}

struct LineReader {
    input: Arc<Input>,
}

fn check_declared(declared: &Schema) -> Result<()> {
    for field in &declared.fields {
        let (name, ty) = (field.source_name(), &field.ty);
        let is_it = match name {
            LABEL => !ty.is_sparse() && ty.rank() <= 1 && ty.dtype().is_some(),
            QID => !ty.is_sparse() && ty.rank() == 0 && ty.dtype().is_some(),
            FEATURES => ty.is_sparse() && ty.rank() == 1,
            _ => false,
        };
        if !is_it {
            return Err(Error::usage(format!("--schema says {}: {ty}, but libsvm has the fields label, qid and features", field.name))
                .help("label: float64, or float64[?] for several; qid: int64; features: sparse<float32>[N], sparse<float64>[N] or sparse<int64>[N]")
                .help("to rename a field, use `from`: --schema 'x: sparse<float32>[?] from features'"));
        }
    }
    Ok(())
}

impl Reader for LineReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        check_declared(&request.declared)?;
        if request.options.index_base.is_some() && declares(&request.declared, LABEL) && declares(&request.declared, FEATURES) {
            return Ok(Inference::Known(request.declared.as_ref().clone()));
        }
        // The index base is a property of the file, so a few records do not tell it.
        let sample_bytes = request.sample_bytes.filter(|_| !self.input.is_regular());
        let all = Request { records: None, only: None, sample_bytes, ..request.clone() };
        let is_part = request.records.is_some() || request.only.is_some();
        let request = if is_part && request.options.index_base.is_none() { &all } else { request };
        let pieces = first_bytes(Cutter::open(&self.input, request)?, request.sample_bytes, |piece| match piece {
            cut::Piece::Block(block) => block.lines.bytes.len() as u64,
            _ => 0,
        });
        Ok(Inference::Scan(Box::new(pieces.map(|piece| {
            let piece = piece?;
            let task: Task<Box<dyn Observed>> = Box::new(move || Ok(Box::new(observe::observe(&piece))));
            Ok(task)
        }))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let decoder = Arc::new(Decoder::try_new(schema, request).map_err(|e| e.in_input(self.input.name().clone()))?);
        if request.records.is_none()
            && let Some(ranges) = LineRanges::open(&self.input, &request.options)?
        {
            let (input, limit) = (self.input.name().clone(), request.options.max_record_bytes);
            return Ok(Box::new(ranges.map(move |range| {
                let (decoder, input) = (decoder.clone(), input.clone());
                let task: Task<Decoded> = Box::new(move || {
                    let (block, long) = cut::pieces_of(range, &input, limit)?;
                    let mut decoded = decoder.decode(block)?;
                    if let Some(long) = long {
                        decoded.append_bad(decoder.decode(long)?);
                    }
                    Ok(decoded)
                });
                Ok(task)
            })));
        }
        Ok(Box::new(Cutter::open(&self.input, request)?.map(move |piece| {
            let (piece, decoder) = (piece?, decoder.clone());
            let task: Task<Decoded> = Box::new(move || decoder.decode(piece));
            Ok(task)
        })))
    }
}
