//! Turns messages into tasks that decode record batches or ranges of their rows.

use super::batch::Batch;
use super::divided::Divided;
use super::known::{Dictionaries, Known, Messages};
use super::learned::dictionary_ids;
use super::message::{self, Body, Framed, Memory};
use super::sizes::{self, ColumnSize, Longest};
use crate::chunk::Decoded;
use crate::demand::RecordNumbers;
use crate::error::{Error, Result, mismatch};
use crate::formats::columnar::adapt::{Columns, chosen};
use crate::formats::columnar::contain::contain;
use crate::formats::format::{Request, Task, Tasks};
use crate::notice::Notices;
use crate::schema::Schema;
use crate::tensor::arrow::expanded_nbytes;
use arrow_buffer::Buffer;
use arrow_ipc::MessageHeader;
use std::sync::Arc;

/// A batch that takes more memory is divided into row ranges.
const BATCH_NBYTES: u64 = 32 << 20;
/// Approximate bytes in memory of each range.
const PART_NBYTES: u64 = 8 << 20;
/// Maximum number of rows in a range.
const PART_ROWS: u64 = 1 << 20;
/// A compressed batch with views is decoded before it is divided if it decompresses to this many times its size: then many
/// views may refer to the same values.
const REPETITIVE: u64 = 16;
/// Entries of dictionaries are repeated up to this size, a quarter of the memory or a single record at a time.
const SPREAD_NBYTES: u64 = 64 << 20;

/// The tasks for the batches of an input, produced by `messages`. `dictionaries` are those that precede them.
///
/// # Errors
/// The columns cannot be read as the fields of the schema.
pub fn tasks(
    known: &Known,
    messages: Messages,
    dictionaries: Arc<Dictionaries>,
    schema: &Schema,
    request: &Request,
) -> Result<Tasks<Decoded>> {
    let name = known.name.clone();
    let columns = Columns::plan(&known.fields, schema, request).map_err(|e| e.in_input(name.clone()))?;
    for (_, text) in known.wide.iter().filter(|(root, _)| columns.roots().contains(root)) {
        request.options.notices.add_about(&name, text, request.options.strict)?;
    }
    let batches = Batches {
        known: Arc::new(known.clone()),
        columns: Arc::new(columns),
        messages,
        dictionaries,
        left: request.records.unwrap_or(u64::MAX),
        only: request.only.clone(),
        first: 0,
        open: None,
        longest: None,
        before: 0,
        memory: Memory(request.options.max_memory),
        record_bytes: request.options.max_record_bytes,
        notices: request.options.notices.clone(),
        strict: request.options.strict,
        noted: false,
    };
    Ok(Box::new(batches.map(move |task| task.map_err(|e| e.in_input(name.clone())))))
}

/// Turns messages into tasks. Dictionaries are decoded on the way, for the batches that follow.
struct Batches {
    known: Arc<Known>,
    columns: Arc<Columns>,
    messages: Messages,
    dictionaries: Arc<Dictionaries>,
    /// Number of records still to be read.
    left: u64,
    /// The numbers of the required records; `None` for all.
    only: Option<Arc<RecordNumbers>>,
    /// Number of records so far.
    first: u64,
    /// A batch, and how many of its rows have been emitted.
    open: Option<(Batch, u64)>,
    /// The most bytes that an entry of each dictionary takes, once a batch needs it.
    longest: Option<Longest>,
    /// The bytes of the batch before, which tasks may still decode, if it was divided.
    before: u64,
    memory: Memory,
    /// `--max-record-bytes`.
    record_bytes: u64,
    notices: Notices,
    strict: bool,
    /// Whether there is a notice about the metadata of a batch.
    noted: bool,
}

impl Batches {
    fn step(&mut self) -> Result<Option<Task<Decoded>>> {
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            if let Some((batch, given)) = self.open.take() {
                let nrows = batch.nrows.div_ceil(batch.nparts).max(1).min(batch.nrows - given).min(self.left);
                let (share, first) = (batch.framed.nbytes() / batch.nparts, self.first);
                self.left -= nrows;
                self.first += nrows;
                let part = batch.clone();
                if given + nrows < batch.nrows {
                    self.open = Some((batch, given + nrows));
                }
                match &self.only {
                    None => return Ok(Some(Box::new(move || part.decode(given, nrows, first, share)))),
                    Some(only) => {
                        if let Some(wanted) = only.within(first + 1..=first + nrows, first + 1) {
                            return Ok(Some(Box::new(move || chosen(part.decode(given, nrows, first, share)?, &wanted))));
                        }
                    }
                }
                continue;
            }
            let Some(framed) = self.messages.next().transpose()? else { return Ok(None) };
            let message = framed.message()?;
            match message.header_type() {
                MessageHeader::DictionaryBatch if !self.columns.roots().is_empty() => {
                    Arc::make_mut(&mut self.dictionaries).decode(&framed, &self.known.schema, self.memory)?;
                    self.longest = None;
                }
                MessageHeader::Schema => self.begin_stream(message.header_as_schema())?,
                MessageHeader::RecordBatch => {
                    let nrows = framed.nrows(self.known.fields.len())?;
                    if self.pass_unwanted(nrows) {
                        continue;
                    }
                    let keys: Vec<&str> = message.custom_metadata().iter().flatten().filter_map(|pair| pair.key()).collect();
                    if !keys.is_empty() && !self.noted {
                        self.noted = true;
                        let text = format!("the metadata of record batches is not kept: {}", keys.join(", "));
                        self.notices.add_about(&self.known.name, text, self.strict)?;
                    }
                    if nrows > 0 {
                        let records = (self.first + 1, self.first.saturating_add(nrows));
                        let batch = self.batch(framed.clone(), nrows).map_err(|e| e.locate(|at| at.records = Some(records)))?;
                        self.open = Some((batch, 0));
                    }
                }
                MessageHeader::DictionaryBatch => {}
                other => return Err(Error::data(mismatch("a record batch", format_args!("a message {}", message::kind(other))))),
            }
        }
    }

    /// A new stream, of the same columns, has its own dictionaries and ids for them.
    fn begin_stream(&mut self, schema: Option<arrow_ipc::Schema>) -> Result<()> {
        (self.dictionaries, self.longest) = (Arc::default(), None);
        let Some(schema) = schema else { return Ok(()) };
        let next = contain("the Arrow schema", || Known::new(self.known.name.clone(), schema))?;
        if dictionary_ids(&next.schema) != dictionary_ids(&self.known.schema) {
            self.known = Arc::new(self.known.with_ids_of(next));
        }
        Ok(())
    }

    /// A batch, which is read if its size decides on its division.
    fn batch(&mut self, mut framed: Framed, nrows: u64) -> Result<Batch> {
        let (columns, known) = (self.columns.clone(), self.known.clone());
        let roots = columns.roots();
        let (nbytes, is_compressed) = (framed.nbytes(), framed.is_compressed());
        let has_views = roots.iter().any(|root| sizes::has_views(known.arrow[*root].data_type()));
        let before = self.before;
        let beside = |nbytes| if nbytes > BATCH_NBYTES { before } else { 0 };
        let mut sizes = Vec::new();
        if !roots.is_empty() {
            self.memory.check("a record batch", nbytes, beside(nbytes))?;
            if is_compressed || has_views || nbytes > BATCH_NBYTES {
                // Read once for all parts.
                framed.body = Body::Here(framed.load()?);
            }
            let none = Buffer::default();
            let body = if let Body::Here(body) = &framed.body { body } else { &none };
            let longest = self.longest.get_or_insert_with(|| sizes::longest_entries(&self.dictionaries.by_id));
            sizes = sizes::of_batch(&framed, body, &known.arrow, roots, longest)?;
        }
        let mut total = ColumnSize::default();
        sizes.iter().for_each(|size| total.add(*size));
        let held = if is_compressed { nbytes.saturating_add(total.memory) } else { nbytes };
        self.memory.check("a record batch", held, beside(held))?;
        self.before = if held > BATCH_NBYTES { held } else { 0 };
        let shares: Vec<u64> = sizes.iter().map(|size| size.memory).collect();
        let mut batch = Batch {
            known,
            dictionaries: self.dictionaries.clone(),
            nrows,
            nparts: 1,
            divided: Some(Arc::new(Divided::new(roots, &shares))),
            most: (self.memory.0 / 4).max(self.record_bytes).max(SPREAD_NBYTES),
            record_bytes: self.record_bytes,
            columns,
            framed,
        };
        if is_compressed && has_views && total.memory / REPETITIVE > nbytes {
            let arrays = batch.shared(0)?;
            let expanded = arrays.iter().map(expanded_nbytes).fold(0, u64::saturating_add);
            total.implied = total.implied.max(expanded.saturating_sub(total.memory));
        }
        let rows = total.memory.saturating_add(total.implied);
        let by_size = if rows > BATCH_NBYTES { rows.div_ceil(PART_NBYTES) } else { 1 };
        let by_entries = total.entries.div_ceil(SPREAD_NBYTES.min(self.memory.0 / 4).max(1));
        batch.nparts = by_size.max(by_entries).max(nrows.div_ceil(PART_ROWS)).clamp(1, nrows.max(1));
        if batch.nparts == 1 {
            batch.divided = None;
        }
        Ok(batch)
    }

    /// Skips a batch without any required record.
    fn pass_unwanted(&mut self, nrows: u64) -> bool {
        let Some(only) = &self.only else { return false };
        let next = only.from(self.first + 1).map(|range| *range.start());
        if next.is_some_and(|next| next <= self.first + nrows) {
            return false;
        }
        self.first += nrows;
        self.left = if next.is_none() { 0 } else { self.left.saturating_sub(nrows) };
        true
    }
}

impl Iterator for Batches {
    type Item = Result<Task<Decoded>>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if matches!(step, Some(Err(_))) {
            self.left = 0;
        }
        step
    }
}
