//! CSV and TSV: one record per line, one field per column. Source: RFC 4180; quoting is that of the crate `csv-core`.
//!
//! Types are inferred as in JSON: a column holds booleans, integers, floats or strings, and a column with several of
//! these is rejected. A column of integers, some of which begin with a zero, such as `007`, holds strings. With
//! `--list-separator`, columns that contain it hold lists; `--schema 'x: sparse<float32>[N]'` reads items `id:weight`.
//! Column names are in the first line, or given by `--columns`.
//!
//! `dialect` describes how fields are written, `record` finds where a record ends, `cut` cuts blocks of records, `fields`
//! splits them, `comments` refuses lines before the header, `cell` recognizes values, `observe` and `decode` process columns, `clash` explains
//! columns without a type, and `write` encodes records.

mod cell;
mod clash;
mod comments;
mod cut;
mod decode;
mod dialect;
mod fields;
mod observe;
mod record;
mod values;
mod write;

use self::cut::Cutter;
use self::decode::Decoder;
use self::dialect::Dialect;
use self::fields::Fields;
use self::record::Block;
use crate::chunk::Decoded;
use crate::error::Result;
use crate::formats::cut::first_bytes;
use crate::formats::format::{Format, Inference, Observed, Reader, Request, Task, Tasks, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `csv` and `tsv`.
pub enum Csv {
    Comma,
    Tab,
}

impl Csv {
    fn dialect(&self, options: &Options) -> Dialect {
        Dialect::of(&options.csv, if matches!(self, Csv::Tab) { b'\t' } else { b',' })
    }
}

impl Format for Csv {
    fn name(&self) -> &'static str {
        match self {
            Csv::Comma => "csv",
            Csv::Tab => "tsv",
        }
    }

    fn summary(&self) -> &'static str {
        match self {
            Csv::Comma => "comma-separated values: scalars, and lists with --list-separator",
            Csv::Tab => "tab-separated values; otherwise like csv",
        }
    }

    fn options(&self) -> &'static [&'static str] {
        &["--delimiter", "--quote", "--list-separator", "--nulls", "--columns"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        match self {
            Csv::Comma => &["csv"],
            Csv::Tab => &["tsv", "tab"],
        }
    }

    fn reader(&self, input: Arc<Input>, options: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(
            self.dialect(options).checked().map(|dialect| -> Box<dyn Reader> { Box::new(CsvReader { input, dialect: Arc::new(dialect) }) }),
        )
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(self.dialect(options).checked().and_then(|dialect| write::writer(schema, dialect.for_output(), self.name(), options)))
    }

    fn may_be_empty(&self) -> bool {
        true
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// The observations of an input, as far as they are requested.
fn observations(cutter: Cutter, dialect: Arc<Dialect>, request: Arc<Request>) -> Tasks<Box<dyn Observed>> {
    let names = cutter.names().clone();
    let blocks = first_bytes(cutter, request.sample_bytes, |block| block.bytes.len() as u64);
    let declared = request.declared_alone(|schema, request| Decoder::try_new(&names, &schema, &dialect, &request).map(Arc::new));
    // A file without records still has columns.
    let noted = request.note_misspelt(names.iter().map(String::as_str), |_| Vec::new());
    let first = std::iter::once(noted.map(|()| Block::default()));
    Box::new(first.chain(blocks).map(move |block| {
        let (block, names, dialect, request, declared) = (block?, names.clone(), dialect.clone(), request.clone(), declared.clone());
        let task: Task<Box<dyn Observed>> = Box::new(move || {
            let fields = Fields::split(block, &dialect)?;
            let misfits = declared.map(|declared| declared.misfits(&fields)).unwrap_or_default();
            Ok(Box::new(observe::observe(&fields, &misfits, &names, &dialect, &request)?))
        });
        Ok(task)
    }))
}

struct CsvReader {
    input: Arc<Input>,
    dialect: Arc<Dialect>,
}

impl Reader for CsvReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let (input, dialect, request) = (self.input.clone(), self.dialect.clone(), Arc::new(request.clone()));
        // Opened when its turn comes, because there may be many files, and each has a buffer.
        let opened = std::iter::once_with(move || Cutter::open(&input, &dialect, &request).map(|cutter| (cutter, dialect, request)));
        Ok(Inference::Scan(Box::new(opened.flat_map(|opened| match opened {
            Ok((cutter, dialect, request)) => observations(cutter, dialect, request),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let cutter = Cutter::open(&self.input, &self.dialect, request)?;
        if cutter.names().is_empty() {
            // An empty file has no columns.
            return Ok(Box::new(std::iter::empty()));
        }
        let decoder =
            Arc::new(Decoder::try_new(cutter.names(), schema, &self.dialect, request).map_err(|e| e.in_input(self.input.name().clone()))?);
        Ok(Box::new(cutter.map(move |block| {
            let (block, decoder) = (block?, decoder.clone());
            let task: Task<Decoded> = Box::new(move || decoder.decode(block));
            Ok(task)
        })))
    }
}
