//! Writes records as sequences and documents: values as they arrive, the index at the end.

use super::names::{DOCUMENT, INDEX, MODE, TOKENS, VALUES};
use super::values::{Chunked, Values, cast, one, range};
use super::{dtype, index};
use crate::chunk::{Chunk, Origin};
use crate::error::{Error, Result, mismatch};
use crate::formats::arrays::spool::Spool;
use crate::formats::format::{Encode, Encoded, Writer};
use crate::hint::Hint;
use crate::options::{MegatronOptions, Options};
use crate::path::quoted;
use crate::printable::{listed, shell_word};
use crate::schema::filling::null_refused;
use crate::schema::{DType, Element, Field, Schema};
use crate::tensor::{RowPartition, Tensor, row_of};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use std::io::Write;
use std::sync::Arc;

/// Data that grows in temporary files until the end.
const LENGTHS: usize = 0;
const BOUNDARIES: usize = 1;
const MODES: usize = 2;
/// Number of lengths held before they are written there.
const HELD: usize = 64 << 10;

/// The parts of a record that are written: positions among the columns.
struct SequenceEncoder {
    tokens: usize,
    document: Option<usize>,
    mode: Option<usize>,
    schema: Arc<Schema>,
    by_document: bool,
    /// The output dtype; `None` for the smallest that holds all values.
    dtype: Option<DType>,
    options: MegatronOptions,
}

/// Some sequences.
struct Sequences {
    values: ArrayRef,
    range: (i64, i64),
    /// The partition of values by sequence.
    partition: RowPartition,
    documents: Documents,
    modes: Option<Vec<i8>>,
}

enum Documents {
    /// Each sequence is a document.
    Each,
    /// The document of each sequence.
    Numbered(Vec<Numbered>),
    /// How many sequences each document has.
    Counted(Vec<usize>),
}

/// The document of a sequence. Each dataset counts its documents from 0.
struct Numbered {
    number: i64,
    /// The dataset from which the sequence comes, if it is one.
    dataset: Option<Arc<str>>,
    /// The records there and the item that the sequence comes from; records are 0 if unknown.
    record: (u64, u64, u64),
}

impl Numbered {
    /// Whether a later sequence belongs to the same document, of which this is the first sequence. If that comes again,
    /// so does its dataset.
    fn includes(&self, later: &Numbered) -> bool {
        let is_again = self.dataset.is_some() && self.record.0 > 0 && self.record == later.record;
        self.number == later.number && self.dataset == later.dataset && !is_again
    }
}

/// The documents of the rows of a chunk, given their numbers.
fn documents_of(numbers: &[i64], origin: &Origin) -> Vec<Numbered> {
    let is_dataset =
        |name: &Arc<str>| [INDEX, VALUES].into_iter().any(|extension| name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.')));
    let files: Vec<Option<Arc<str>>> = origin.files().into_iter().map(|(name, _)| name.filter(is_dataset)).collect();
    let document = |(row, number): (usize, &i64)| {
        let (file, first, last) = origin.source(row);
        let dataset = files.get(file as usize).cloned().flatten();
        Numbered { number: *number, dataset, record: (first, last, origin.item(row)) }
    };
    numbers.iter().enumerate().map(document).collect()
}

struct DatasetWriter {
    encoder: Arc<SequenceEncoder>,
    spool: Spool,
    values: Option<Values>,
    index: Option<Box<dyn Write + Send>>,
    options: Options,
    /// The lengths of the last sequences, the very last of which can still grow.
    lengths: Vec<i32>,
    nsequences: u64,
    nboundaries: u64,
    /// The first sequence of the current document: its number, and where it comes from if documents are numbered.
    start: u64,
    first: Option<Numbered>,
}

/// # Errors
/// The records are not sequences of numbers that an index supports.
pub fn writer(schema: &Arc<Schema>, options: &Options) -> Result<Box<dyn Writer>> {
    let (mut tokens, mut document, mut mode) = (None, None, None);
    for (at, field) in schema.fields.iter().enumerate() {
        match field.name.as_str() {
            DOCUMENT => document = Some(at),
            MODE => mode = Some(at),
            _ if tokens.is_none() => tokens = Some(at),
            _ => {
                let first = tokens.and_then(|at| schema.fields.get(at)).map_or("", |field| &field.name);
                let names = listed(schema.fields.iter().map(|field| quoted(&field.name)), 5);
                let error = format!("megatron stores one list of tokens per record, but the records have the fields {names}");
                let is_row = |field: &&Field| field.ty.rank() == 1 && field.ty.dtype().is_some_and(DType::is_integer);
                let list = schema.fields.iter().find(is_row).map_or(first, |field| &field.name);
                return Err(Error::usage(error).help(format!("keep only that field: select {}", shell_word(&quoted(list)))));
            }
        }
    }
    let Some(tokens) = tokens else {
        return Err(Error::usage("megatron stores a list of tokens per record, but there is no field for it")
            .help(format!("rename it: rename x={TOKENS}")));
    };
    let field = &schema.fields[tokens];
    let dtype = check_tokens(field, &options.megatron)?;
    let by_document = field.ty.rank() == 2;
    for at in document.into_iter().chain(mode) {
        let field = &schema.fields[at];
        let is_integer = field.ty.dtype().is_some_and(DType::is_integer) && !field.ty.is_sparse();
        let rank = usize::from(by_document && field.name == MODE);
        if !is_integer || field.ty.rank() != rank || (by_document && field.name == DOCUMENT) {
            let error = match by_document && field.name == DOCUMENT {
                true => format!(
                    "each record is a document, because {} has two axes, but there is also a field named {DOCUMENT}",
                    quoted(&schema.fields[tokens].name)
                ),
                false => format!("megatron stores {} as an integer for each sequence, but here it is {}", field.name, field.ty),
            };
            return Err(Error::usage(error).help(format!("leave it out: drop {}", shell_word(&quoted(&field.name)))));
        }
    }
    let encoder = SequenceEncoder { tokens, document, mode, schema: schema.clone(), by_document, dtype, options: options.megatron.clone() };
    Ok(Box::new(DatasetWriter {
        encoder: Arc::new(encoder),
        spool: Spool::new(3, options),
        values: None,
        index: None,
        options: options.clone(),
        lengths: Vec::new(),
        nsequences: 0,
        nboundaries: 0,
        start: 0,
        first: None,
    }))
}

/// The output dtype; `None` for the smallest that holds all values.
fn check_tokens(field: &Field, options: &MegatronOptions) -> Result<Option<DType>> {
    let (ty, name) = (&field.ty, quoted(&field.name));
    let refused = |error: String, help: String| Err(Error::usage(error).help(help));
    let says = |what: &str| format!("megatron stores {what}, but {name} is {ty}");
    let dtype = match &ty.element {
        Element::Value(dtype) if dtype.is_number() => dtype,
        _ => return Err(Error::usage(says("lists of numbers")).help(Hint::to_write_jsonl("convert it to token ids first, or "))),
    };
    match ty.rank() {
        0 => return refused(says("a list in each record"), format!("make it a list: map '{name} = expand_dims({name}, 0)'")),
        1 | 2 => {}
        _ => {
            return refused(
                says("sequences, or documents of sequences"),
                format!("merge its axes: merge-dims {} 0 1", shell_word(&name.to_string())),
            );
        }
    }
    let written = match options.vocab_size {
        _ if options.smallest_dtype => None,
        Some(size) => Some(dtype::of_vocabulary(size)),
        None => Some(dtype.clone()),
    };
    if (options.smallest_dtype || options.vocab_size.is_some() || options.append_eod.is_some()) && !dtype.is_integer() {
        return refused(
            says("only token ids with --vocab-size, --smallest-dtype and --append-eod"),
            format!("cast them: cast {name}=int32"),
        );
    }
    if let Some(dtype) = written.as_ref().filter(|dtype| dtype::code(dtype).is_none()) {
        let help = if dtype.is_integer() {
            "cast it, or write the smallest dtype that fits all values: --smallest-dtype"
        } else {
            "cast it to float32"
        };
        return refused(says(&format!("only {}", dtype::names())), help.to_owned());
    }
    if let Some(eod) = options.append_eod {
        let is_beyond = options.vocab_size.is_some_and(|size| u64::try_from(eod).map_or(true, |eod| eod >= size));
        if let Some(size) = options.vocab_size.filter(|_| is_beyond) {
            return refused(
                format!("--append-eod {eod} is not less than --vocab-size {size}"),
                "the vocabulary size must include this token".to_owned(),
            );
        }
        if written.as_ref().is_some_and(|dtype| cast(&one(eod), dtype).is_err()) {
            let dtype = written.map_or_else(String::new, |dtype| dtype.to_string());
            return refused(
                format!("--append-eod {eod} is out of range for {name}, which is {dtype}"),
                format!("cast it first: cast {name}=int32"),
            );
        }
    }
    Ok(written)
}

impl SequenceEncoder {
    fn column<'a>(&self, chunk: &'a Chunk, at: usize) -> Result<&'a Tensor> {
        let column = chunk.columns.get(at).ok_or_else(|| Error::internal("a column is missing"))?;
        match column.first_null_row() {
            Some(row) => Err(null_refused("megatron", &self.schema.fields[at], row)),
            None => Ok(column),
        }
    }

    fn in_field(&self, at: usize) -> impl Fn(Error) -> Error + '_ {
        move |error| error.in_field(quoted(&self.schema.fields[at].name))
    }

    /// The tokens. An error in a value names its row.
    fn tokens(&self, chunk: &Chunk) -> Result<(ArrayRef, (i64, i64), RowPartition, Documents)> {
        let (levels, below) = self.column(chunk, self.tokens)?.levels(1 + usize::from(self.by_document))?;
        let (values, partition) = (below.as_leaf()?, levels.last().ok_or_else(|| Error::internal("a list without an axis"))?);
        let row = |value: usize| {
            let sequence = row_of(partition, value);
            if self.by_document { row_of(levels[0], sequence) } else { sequence }
        };
        if let Some(long) = partition.row_lengths().position(|length| i32::try_from(length).is_err()) {
            let long = if self.by_document { row_of(levels[0], long) } else { long };
            return Err(Error::data("a sequence has more than 2^31 - 1 values").at_row(long));
        }
        let range = if self.options.smallest_dtype || self.options.vocab_size.is_some() { range(values)? } else { (0, 0) };
        if let Some(size) = self.options.vocab_size
            && (range.0 < 0 || u64::try_from(range.1).is_ok_and(|max| max >= size))
        {
            let wide = cast(values, &DType::Int64)?;
            let all = wide.as_primitive::<Int64Type>().values();
            let at = all.iter().position(|id| u64::try_from(*id).map_or(true, |id| id >= size)).unwrap_or(0);
            let expected = format_args!("a token id from 0 to {}", size.saturating_sub(1));
            let found = format_args!("{} (--vocab-size {size})", all.get(at).copied().unwrap_or(0));
            return Err(Error::data(mismatch(expected, found)).at_row(row(at)));
        }
        // In the smallest dtype for this chunk; the writer widens it if other chunks need more.
        let to = self.dtype.clone().unwrap_or_else(|| dtype::smallest(range.0, range.1));
        let values = cast(values, &to).map_err(|e| match e.location().row {
            Some(at) => e.at_row(row(at)),
            None => e,
        })?;
        let documents = if self.by_document { Documents::Counted(levels[0].row_lengths().collect()) } else { Documents::Each };
        Ok((values, range, (*partition).clone(), documents))
    }
}

impl Encode for SequenceEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let (values, range, partition, mut documents) = self.tokens(&chunk).map_err(self.in_field(self.tokens))?;
        if let Some(at) = self.document {
            let numbers = self.column(&chunk, at).and_then(|column| cast(column.as_leaf()?, &DType::Int64)).map_err(self.in_field(at))?;
            documents = Documents::Numbered(documents_of(numbers.as_primitive::<Int64Type>().values(), &chunk.origin));
        }
        let modes = self.mode.map(|at| self.modes(&chunk, at, &partition, &documents).map_err(self.in_field(at))).transpose()?;
        Ok(Box::new(Sequences { values, range, partition, documents, modes }))
    }
}

impl SequenceEncoder {
    fn modes(&self, chunk: &Chunk, at: usize, sequences: &RowPartition, documents: &Documents) -> Result<Vec<i8>> {
        let (levels, below) = self.column(chunk, at)?.levels(usize::from(self.by_document))?;
        if let (Some(modes), Documents::Counted(counts)) = (levels.first(), documents)
            && let Some(row) = modes.row_lengths().zip(counts).position(|(found, expected)| found != *expected)
        {
            return Err(Error::data(format!("found {} modes for {} sequences", modes.row_length(row), counts[row])).at_row(row));
        }
        let modes = cast(below.as_leaf()?, &DType::Int8)?;
        match modes.len() == sequences.nrows() {
            true => Ok(modes.as_primitive::<Int8Type>().values().to_vec()),
            false => Err(Error::internal("modes of other sequences")),
        }
    }
}

impl DatasetWriter {
    /// Ends the current document; `eod` appends its end-of-document token.
    fn end_document(&mut self, eod: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        if self.encoder.options.append_eod.is_some() && self.nsequences > self.start {
            eod()?;
            let last = self.lengths.last_mut().ok_or_else(|| Error::internal("a sequence without a length"))?;
            *last = last.checked_add(1).ok_or_else(|| Error::data("a sequence has more than 2^31 - 1 values"))?;
        }
        self.start = self.nsequences;
        self.nboundaries += 1;
        self.spool.push(BOUNDARIES, Buffer::from_vec(vec![self.nsequences as i64]))
    }

    fn add_length(&mut self, length: usize) -> Result<()> {
        if self.lengths.len() >= HELD {
            self.pass_lengths(1)?;
        }
        self.lengths.push(i32::try_from(length).map_err(|_| Error::internal("a length that was checked"))?);
        self.nsequences += 1;
        Ok(())
    }

    /// Passes on the lengths except for the last few.
    fn pass_lengths(&mut self, kept: usize) -> Result<()> {
        let rest = self.lengths.split_off(self.lengths.len().saturating_sub(kept));
        let whole = std::mem::replace(&mut self.lengths, rest);
        self.spool.push(LENGTHS, Buffer::from_vec(whole))
    }

    fn write_sequences(&mut self, sequences: Sequences, values: &mut Values) -> Result<()> {
        let Sequences { values: flat, range, partition, documents, modes } = sequences;
        let eod = self.encoder.options.append_eod;
        // Values that have not been passed on yet, and the end of the last sequence.
        let (mut from, mut end) = (0, 0);
        let mut pass = |values: &mut Values, to: usize| {
            let part = flat.slice(from, to - from);
            from = to;
            if part.is_empty() { Ok(()) } else { values.push(&part, range) }
        };
        let mut finish = |writer: &mut DatasetWriter, end: usize| {
            writer.end_document(&mut || {
                pass(values, end)?;
                eod.map_or(Ok(()), |eod| values.push(&one(eod), (eod, eod)))
            })
        };
        match documents {
            Documents::Each => {
                for row in 0..partition.nrows() {
                    self.add_length(partition.row_length(row))?;
                    end = partition.range(row).end;
                    finish(self, end)?;
                }
            }
            Documents::Numbered(numbers) => {
                for (row, document) in numbers.into_iter().enumerate() {
                    match &self.first {
                        Some(first) if first.includes(&document) => {}
                        first => {
                            if first.is_some() {
                                finish(self, end)?;
                            }
                            self.first = Some(document);
                        }
                    }
                    self.add_length(partition.row_length(row))?;
                    end = partition.range(row).end;
                }
            }
            Documents::Counted(counts) => {
                let mut row = 0;
                for count in counts {
                    for row in row..row + count {
                        self.add_length(partition.row_length(row))?;
                        end = partition.range(row).end;
                    }
                    row += count;
                    finish(self, end)?;
                }
            }
        }
        pass(values, flat.len())?;
        match modes {
            Some(modes) => self.spool.push(MODES, Buffer::from_vec(modes)),
            None => Ok(()),
        }
    }

    fn write_index(&mut self, dtype: &DType) -> Result<()> {
        let mut out = self.index.take().ok_or_else(|| Error::internal("a dataset without an index"))?;
        let code = dtype::code(dtype).ok_or_else(|| Error::internal("a dtype without a code"))?;
        let counts = [self.nsequences.to_le_bytes(), (self.nboundaries + 1).to_le_bytes()].concat();
        out.write_all(&[index::MAGIC, &1u64.to_le_bytes(), &[code], &counts].concat()).map_err(Error::output)?;
        self.spool.copy(LENGTHS, &mut out)?;
        let width = dtype.arrow().primitive_width().unwrap_or(1) as i64;
        let mut pointer = 0i64;
        let pointers = |block: &[u8]| {
            let mut made = Vec::with_capacity(2 * block.len());
            for length in block.chunks_exact(4) {
                made.extend_from_slice(&pointer.to_le_bytes());
                pointer += i64::from(i32::from_le_bytes([length[0], length[1], length[2], length[3]])) * width;
            }
            Ok(made)
        };
        self.spool.copy(LENGTHS, &mut Chunked { width: 4, rest: Vec::new(), each: pointers, out: &mut out })?;
        out.write_all(&0i64.to_le_bytes()).map_err(Error::output)?;
        self.spool.copy(BOUNDARIES, &mut out)?;
        self.spool.copy(MODES, &mut out)?;
        out.flush().map_err(Error::output)
    }
}

impl Writer for DatasetWriter {
    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.values = Some(match &self.encoder.dtype {
            Some(dtype) => Values::Written { dtype: dtype.clone(), out },
            None => Values::kept(out, &self.options),
        });
        Ok(())
    }

    fn begin_second(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.index = Some(out);
        Ok(())
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let sequences = encoded.downcast::<Sequences>().map_err(|_| Error::internal("no sequences to write"))?;
        let mut values = self.values.take().ok_or_else(|| Error::internal("a dataset that has not begun"))?;
        let written = self.write_sequences(*sequences, &mut values);
        self.values = Some(values);
        written
    }

    fn finish(&mut self) -> Result<()> {
        let mut values = self.values.take().ok_or_else(|| Error::internal("a dataset that has not begun"))?;
        if self.first.is_some() {
            let eod = self.encoder.options.append_eod;
            self.end_document(&mut || eod.map_or(Ok(()), |eod| values.push(&one(eod), (eod, eod))))?;
        }
        let dtype = values.finish()?;
        self.pass_lengths(0)?;
        self.write_index(&dtype)
    }
}
