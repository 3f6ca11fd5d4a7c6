//! Reads record batches as tasks.

use super::divided::Divided;
use super::learned::{dictionary_ids, learn};
use super::message::{self, Body, Framed, MAGIC, MAGIC_NBYTES, Memory, Next, lifted};
use super::sizes::{self, ColumnSize, Longest};
use crate::chunk::{Decoded, Origin};
use crate::demand::RecordNumbers;
use crate::error::{Error, Kind, Result};
use crate::formats::columnar::adapt::{self, Columns, DecodedRows, chosen, declared_over};
use crate::formats::columnar::contain::contain;
use crate::formats::columnar::names::{self, Renamed};
use crate::formats::columnar::source::Source;
use crate::formats::columnar::wide_integers::{self, Place};
use crate::formats::format::{Inference, Numbered, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::notice::Notices;
use crate::path::quoted;
use crate::schema::facts::Facts;
use crate::schema::{Field, Schema, columns};
use crate::tensor::arrow::field::check_number;
use crate::tensor::arrow::{encoded, expanded_nbytes, from_arrow_field};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary, read_footer_length};
use arrow_ipc::{Block, MessageHeader, MetadataVersion, root_as_footer};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, FieldRef, SchemaRef};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Read;
use std::sync::Arc;

/// A batch that takes more memory is divided into row ranges.
const BATCH_NBYTES: u64 = 32 << 20;
/// Approximate bytes in memory of each range.
const PART_NBYTES: u64 = 8 << 20;
/// Maximum number of rows in a range.
const PART_ROWS: u64 = 1 << 20;
/// The most bytes between the last block of a file and its footer: the end marker, and padding.
const END_NBYTES: u64 = 8 + 64;
/// A compressed batch with views is decoded before it is divided if it decompresses to this many times its size: then many
/// views may refer to the same values.
const REPETITIVE: u64 = 16;
/// Entries of dictionaries are repeated up to this size, a quarter of the memory or a single record at a time.
const SPREAD_NBYTES: u64 = 64 << 20;

/// The dictionaries of the batches that follow.
#[derive(Clone, Default)]
struct Dictionaries {
    by_id: HashMap<i64, ArrayRef>,
    /// Their bytes in memory.
    nbytes: u64,
}

impl Dictionaries {
    /// Decodes a dictionary, or an addition to one.
    fn decode(&mut self, framed: &Framed, schema: &SchemaRef, memory: Memory) -> Result<()> {
        let message = framed.message()?;
        memory.check("a dictionary", framed.nbytes(), self.nbytes)?;
        let (version, body) = (message.version(), framed.load()?);
        let dictionary = message.header_as_dictionary_batch().ok_or_else(|| Error::data("a dictionary batch has no header"))?;
        let before = self.by_id.get(&dictionary.id()).map_or(0, |values| values.get_buffer_memory_size() as u64);
        let others = self.nbytes.saturating_add(if dictionary.isDelta() { before } else { 0 });
        memory.check("a dictionary", framed.decompressed(&body)?, others)?;
        let unreadable = |e: ArrowError| Error::data(format!("an Arrow dictionary cannot be read: {}", unexpected(e).message()));
        contain("an Arrow dictionary", || read_dictionary(&body, dictionary, schema, &mut self.by_id, &version).map_err(unreadable))?;
        let after = self.by_id.get(&dictionary.id()).map_or(0, |values| values.get_buffer_memory_size() as u64);
        self.nbytes = self.nbytes.saturating_sub(before).saturating_add(after);
        Ok(())
    }
}

/// What the schema message of an input declares.
#[derive(Clone)]
struct Known {
    name: Arc<str>,
    schema: SchemaRef,
    fields: Vec<Field>,
    arrow: Vec<FieldRef>,
    renamed: Renamed,
    /// The index of each column of 128-bit integers, and what they are read as.
    wide: Vec<(usize, String)>,
    /// The columns of 128-bit integers that are read as decimals.
    decimals: Vec<usize>,
}

impl Known {
    fn new(name: Arc<str>, schema: arrow_ipc::Schema) -> Result<Known> {
        if schema.endianness() != arrow_ipc::Endianness::Little {
            return Err(Error::data("big-endian Arrow is not supported").help("convert it on the machine on which it was written"));
        }
        let (schema, places) = wide_integers::to_schema(schema).map_err(unexpected)?;
        let schema = Arc::new(schema);
        check_number(schema.fields())?;
        let mut fields: Vec<Field> = schema.fields().iter().map(|f| from_arrow_field(f)).collect::<Result<_>>()?;
        let arrow = schema.fields().iter().cloned().collect();
        let renamed = names::distinct_fields(&mut fields);
        let wide = places.iter().map(|place| {
            let (column, read) = (quoted(&fields[place.root()].name), if place.is_decimal() { "decimal128(38, 0)" } else { "bytes" });
            (place.root(), format!("{name}: {column}: {} is read as {read}", place.name()))
        });
        let wide = wide.collect();
        let decimals = places.iter().filter(|place| place.is_decimal()).map(Place::root).collect();
        Ok(Known { name, schema, fields, arrow, renamed, wide, decimals })
    }

    /// The contents of dictionaries that precede the first batch.
    fn learn(&mut self, dictionaries: &HashMap<i64, ArrayRef>) {
        self.fields.iter_mut().for_each(|field| learn(field, dictionaries));
    }

    fn inference(&self, request: &Request) -> Result<Inference> {
        names::announce(&self.name, &self.renamed, &request.options)?;
        let facts = Facts::of_file(self.schema.metadata().clone(), columns(&self.fields));
        Ok(Inference::Known(declared_over(&request.declared, Schema::with_facts(self.fields.clone(), facts))))
    }

    /// The tasks for the batches produced by `messages`. `dictionaries` are those that precede them.
    fn tasks(&self, messages: Messages, dictionaries: Arc<Dictionaries>, schema: &Schema, request: &Request) -> Result<Tasks<Decoded>> {
        let columns = Columns::plan(&self.fields, schema, request).map_err(|e| e.in_input(self.name.clone()))?;
        for (_, text) in self.wide.iter().filter(|(root, _)| columns.roots().contains(root)) {
            request.options.notices.add(text, request.options.strict)?;
        }
        let name = self.name.clone();
        let batches = Batches {
            known: Arc::new(self.clone()),
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
}

/// The messages after the schema, in order.
type Messages = Box<dyn Iterator<Item = Result<Framed>> + Send>;

/// Reads a stream.
pub struct StreamReader {
    input: Arc<Input>,
    memory: Memory,
    /// A pipe can be read only once, so reading continues where inference stopped.
    opened: Option<OpenedStream>,
}

struct OpenedStream {
    known: Known,
    stream: Box<dyn Read + Send>,
    /// The messages after the schema that have already been read.
    read: VecDeque<Result<Next>>,
}

impl StreamReader {
    pub fn new(input: Arc<Input>, memory: Memory) -> StreamReader {
        StreamReader { input, memory, opened: None }
    }

    fn open(&self) -> Result<OpenedStream> {
        let name = self.input.name().clone();
        let mut stream = self.input.open()?;
        let known = contain("the Arrow schema", || {
            let Next::Message(first) = message::read(&mut stream, self.memory)? else {
                return Err(Error::data("the Arrow stream is empty"));
            };
            let schema = first.message()?.header_as_schema().ok_or_else(|| Error::data("the Arrow stream does not start with a schema"))?;
            Known::new(name.clone(), schema)
        });
        let mut known = known.map_err(|e| e.in_input(name))?;
        let mut read = VecDeque::new();
        if known.schema.fields().iter().any(|f| !encoded::dictionaries(f).is_empty()) {
            let mut dictionaries = Dictionaries::default();
            loop {
                let next = message::read(&mut stream, self.memory);
                // Damage is reported when the data is read.
                let is_dictionary =
                    matches!(&next, Ok(Next::Message(framed)) if dictionaries.decode(framed, &known.schema, self.memory).is_ok());
                read.push_back(next);
                if !is_dictionary {
                    break;
                }
            }
            known.learn(&dictionaries.by_id);
        }
        Ok(OpenedStream { known, stream, read })
    }
}

impl Reader for StreamReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => self.open()?,
        };
        self.opened.insert(opened).known.inference(request)
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let OpenedStream { known, stream, read } = match self.opened.take() {
            Some(opened) => opened,
            None => self.open()?,
        };
        let strict = request.options.strict || !self.input.is_regular();
        let (memory, notices) = (self.memory, request.options.notices.clone());
        let mut streams = Streams { known: known.clone(), stream, read, memory, notices, strict, ended: false };
        let messages = std::iter::from_fn(move || streams.next().transpose());
        known.tasks(Box::new(messages), Arc::default(), schema, request)
    }
}

/// The messages of concatenated streams: `cat a.arrows b.arrows`.
struct Streams {
    known: Known,
    stream: Box<dyn Read + Send>,
    /// Messages read ahead.
    read: VecDeque<Result<Next>>,
    memory: Memory,
    notices: Notices,
    strict: bool,
    /// Whether the end-of-stream marker of the last stream has been read.
    ended: bool,
}

impl Streams {
    fn next(&mut self) -> Result<Option<Framed>> {
        loop {
            let next = self.read.pop_front().unwrap_or_else(|| message::read(&mut self.stream, self.memory));
            let framed = match next {
                Ok(Next::Message(framed)) => framed,
                Ok(Next::EndMarker) => {
                    self.ended = true;
                    continue;
                }
                Ok(Next::End) if self.ended => return Ok(None),
                Ok(Next::End) => return self.unmarked().map(|()| None),
                Err(error) if self.ended && error.kind() == Kind::Data => return Err(not_a_stream()),
                Err(error) => return Err(error),
            };
            let Some(schema) = framed.message()?.header_as_schema() else {
                return if self.ended { Err(not_a_stream()) } else { Ok(Some(framed)) };
            };
            if !self.ended {
                self.unmarked()?;
            }
            self.ended = false;
            let next = contain("the Arrow schema", || Known::new(self.known.name.clone(), schema))?;
            if next.schema.fields() != self.known.schema.fields() {
                return Err(Error::data("another Arrow stream with different columns follows the first")
                    .help("read them as two inputs: columns missing from one of them become null, and types are unified"));
            }
            if next.schema.metadata() != self.known.schema.metadata() {
                let text = "the metadata of the first Arrow stream is kept; that of another stream after it differs";
                self.notices.add(format!("{}: {text}", self.known.name), self.strict)?;
            }
            return Ok(Some(framed));
        }
    }

    /// The stream ends without its marker, so its writer may have been interrupted.
    fn unmarked(&self) -> Result<()> {
        let text = "the Arrow stream has no end marker: it may be truncated";
        match self.strict {
            true => Err(Error::data(text).help("write the stream again in full, or read it from a file, for which this is only a notice")),
            false => self.notices.add(format!("{}: {text}", self.known.name), false),
        }
    }
}

fn not_a_stream() -> Error {
    Error::data("the data after the end of the Arrow stream is not another stream")
}

/// Reads a file: first the dictionaries, then its record batches, each from its block.
pub struct FileReader {
    input: Arc<Input>,
    memory: Memory,
    opened: Option<Arc<Footer>>,
}

struct Footer {
    known: Known,
    source: Source,
    dictionaries: Arc<Dictionaries>,
    blocks: Vec<Block>,
    /// The keys of the footer's own metadata, which is not part of the schema.
    keys: Vec<String>,
}

impl FileReader {
    pub fn new(input: Arc<Input>, memory: Memory) -> FileReader {
        FileReader { input, memory, opened: None }
    }

    fn opened(&mut self) -> Result<Arc<Footer>> {
        if let Some(opened) = &self.opened {
            return Ok(opened.clone());
        }
        let name = self.input.name().clone();
        let source = self.input.file().and_then(|file| Source::new(file).map_err(|e| Error::io(&name, "cannot read", &e)))?;
        let read = || Footer::read(name.clone(), source, self.memory);
        let footer = contain("the Arrow footer", read).map_err(|e| e.in_input(name.clone()))?;
        Ok(self.opened.insert(Arc::new(footer)).clone())
    }
}

impl Footer {
    fn read(name: Arc<str>, source: Source, memory: Memory) -> Result<Footer> {
        let cut = || Error::data("the file has no Arrow footer at its end: it is truncated, or still being written");
        let tail_at = source.nbytes().checked_sub(10).filter(|at| *at >= MAGIC_NBYTES).ok_or_else(cut)?;
        let tail = source.bytes(tail_at, 10).map_err(|e| lifted(&e))?;
        if !tail.ends_with(MAGIC) {
            return Err(cut());
        }
        let tail = <[u8; 10]>::try_from(tail).map_err(|_| cut())?;
        let length = read_footer_length(tail).map_err(unexpected)?;
        let start = tail_at
            .checked_sub(length as u64)
            .ok_or_else(|| Error::data(format!("the footer claims {length} bytes, but the Arrow file has only {}", source.nbytes())))?;
        let bytes = source.bytes(start, length).map_err(|e| lifted(&e))?;
        let footer = root_as_footer(&bytes).map_err(|e| message::invalid("the Arrow footer", &e))?;
        let schema = footer.schema().ok_or_else(|| Error::data("the Arrow footer has no schema"))?;
        let blocks: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
        let listed = footer.dictionaries().iter().flatten().map(|block| message::at(&source, block)).collect::<Result<Vec<_>>>()?;
        let mut complete = HashSet::new();
        for dictionary in &listed {
            complete.extend(message::complete_dictionary(&dictionary.message()?));
        }
        check_blocks(&source, footer.dictionaries().iter().flatten().chain(&blocks).copied(), &complete, start)?;
        let (mut known, mut dictionaries) = (Known::new(name, schema)?, Dictionaries::default());
        for dictionary in &listed {
            dictionaries.decode(dictionary, &known.schema, memory)?;
        }
        known.learn(&dictionaries.by_id);
        let keys = footer.custom_metadata().iter().flatten().filter_map(|pair| pair.key()).map(str::to_owned).collect();
        Ok(Footer { known, source, blocks, dictionaries: Arc::new(dictionaries), keys })
    }
}

/// Checks that the blocks of the footer do not overlap, and that there is no message between or after them: records
/// would be repeated or lost. A dictionary that is replaced by another one with the same id need not be listed;
/// `dictionaries` are the ids of those that are.
fn check_blocks(source: &Source, blocks: impl Iterator<Item = Block>, dictionaries: &HashSet<i64>, footer: u64) -> Result<()> {
    let end = |b: &Block| b.offset().saturating_add(b.metaDataLength().into()).saturating_add(b.bodyLength());
    let mut places: Vec<(u64, u64)> = blocks
        .map(|block| (u64::try_from(block.offset()).unwrap_or(0), u64::try_from(end(&block)).unwrap_or(0)))
        .filter(|(start, end)| start < end)
        .collect();
    places.sort_unstable();
    // The schema comes first; it was read from the footer.
    let schema = message::end(source, MAGIC_NBYTES)?.filter(|end| places.first().is_none_or(|(start, _)| end <= start));
    let mut at = schema.or(places.first().map(|(start, _)| *start)).unwrap_or(footer);
    for (start, end) in places.into_iter().chain([(footer, footer)]) {
        if start < at {
            return Err(Error::data(format!("the Arrow footer is damaged: a block starts at byte {start}, inside the one before")));
        }
        while let Some(end) = message::end_of_dictionary(source, at, dictionaries)?.filter(|end| *end <= start) {
            at = end;
        }
        if start - at >= 8 && message::end(source, at)?.is_some() {
            return Err(Error::data(format!("the Arrow footer is damaged: it does not list the message at byte {at}")));
        }
        if start == footer && start - at > END_NBYTES {
            return Err(Error::data(format!("the Arrow footer does not list the {} bytes before it", start - at))
                .help("if several files were concatenated: pass them as several inputs instead"));
        }
        at = end;
    }
    Ok(())
}

impl Reader for FileReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let footer = self.opened()?;
        if !footer.keys.is_empty() {
            let text = format!("{}: the metadata of the footer is not kept: {}", footer.known.name, footer.keys.join(", "));
            request.options.notices.add(text, request.options.strict)?;
        }
        footer.known.inference(request)
    }

    fn numbered(&mut self, _: &Request) -> Result<Option<Numbered>> {
        if !self.input.is_regular() {
            return Ok(None);
        }
        let footer = self.opened()?;
        let name = &footer.known.name;
        let nrows = |block| message::at(&footer.source, block)?.nrows(footer.known.fields.len());
        let rows: Vec<u64> = footer.blocks.iter().map(nrows).collect::<Result<_>>().map_err(|e| e.in_input(name.clone()))?;
        let nrecords = rows.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let nread = nrecords.div_ceil((rows.len() as u64).max(1)).max(1);
        Ok(Some(Numbered { nrecords, nread, nbytes: footer.source.nbytes(), by: format!("the footer of {name}").into() }))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let footer = self.opened()?;
        let (known, dictionaries, mut next) = (footer.known.clone(), footer.dictionaries.clone(), 0);
        let messages = std::iter::from_fn(move || {
            let block = footer.blocks.get(next)?;
            next += 1;
            // Another kind of message would be a batch that is lost.
            Some(message::at(&footer.source, block).and_then(|framed| framed.nrows(footer.known.fields.len()).map(|_| framed)))
        });
        known.tasks(Box::new(messages), dictionaries, schema, request)
    }
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

/// A record batch to be decoded, or a range of its rows.
#[derive(Clone)]
struct Batch {
    known: Arc<Known>,
    columns: Arc<Columns>,
    framed: Framed,
    dictionaries: Arc<Dictionaries>,
    /// The number of rows in the whole batch.
    nrows: u64,
    /// The number of parts into which it is divided.
    nparts: u64,
    /// What the parts share, if there are several.
    divided: Option<Arc<Divided>>,
    /// The most bytes of a part once each row has its own values.
    most: u64,
    /// `--max-record-bytes`.
    record_bytes: u64,
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
                        let text = format!("{}: the metadata of record batches is not kept: {}", self.known.name, keys.join(", "));
                        self.notices.add(text, self.strict)?;
                    }
                    if nrows > 0 {
                        let records = (self.first + 1, self.first.saturating_add(nrows));
                        let batch = self.batch(framed.clone(), nrows).map_err(|e| e.locate(|at| at.records = Some(records)))?;
                        self.open = Some((batch, 0));
                    }
                }
                MessageHeader::DictionaryBatch => {}
                other => return Err(Error::data(format!("expected a record batch, found a message {}", message::kind(other)))),
            }
        }
    }

    /// A new stream, of the same columns, has its own dictionaries and ids for them.
    fn begin_stream(&mut self, schema: Option<arrow_ipc::Schema>) -> Result<()> {
        (self.dictionaries, self.longest) = (Arc::default(), None);
        let Some(schema) = schema else { return Ok(()) };
        let next = contain("the Arrow schema", || Known::new(self.known.name.clone(), schema))?;
        if dictionary_ids(&next.schema) != dictionary_ids(&self.known.schema) {
            self.known = Arc::new(Known { schema: next.schema, ..(*self.known).clone() });
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
}

impl Batches {
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

impl Batch {
    /// Rows `start .. start + nrows` of the batch, which are the records from `first` (counted from 0).
    fn decode(&self, start: u64, nrows: u64, first: u64, nbytes: u64) -> Result<Decoded> {
        let origin = Origin::consecutive(self.known.name.clone(), first + 1);
        let count = usize::try_from(nrows).map_err(|_| Error::data("a record batch has too many rows"))?;
        let roots = self.columns.roots();
        if roots.is_empty() {
            // Without columns to decode, nothing else confirms the number of rows.
            let message = self.framed.message()?;
            let nodes = message.header_as_record_batch().and_then(|header| header.nodes());
            if let Some(node) = nodes.and_then(|nodes| nodes.iter().next())
                && u64::try_from(node.length()).ok() != Some(self.nrows)
            {
                return Err(origin.resolve(Error::data(format!("a record batch of {} rows claims {}", node.length(), self.nrows)), count));
            }
            return self.columns.decoded_arrays(DecodedRows::new(count, origin, nbytes), &[], &[]);
        }
        let named = origin.clone();
        let decoded = contain("a record batch", || {
            let start = usize::try_from(start).map_err(|_| Error::data("a record batch has too many rows"))?;
            let arrays = self.shared(start / count.max(1))?;
            let arrays: Vec<ArrayRef> = arrays.iter().map(|c| c.slice(start, count)).collect();
            if let Some(error) = self.too_large(&arrays) {
                return match count {
                    1 => self.columns.rejected(DecodedRows::new(1, origin.clone(), nbytes), origin.resolve(error, 1)),
                    _ => Err(error),
                };
            }
            let decoded = self.columns.decoded_arrays(DecodedRows::new(count, origin, nbytes), &arrays, &self.known.arrow)?;
            self.columns.limited(decoded)
        });
        decoded.map_err(|e| named.resolve(e, count))
    }

    /// All columns, whole; for one of the parts that share them.
    fn shared(&self, part: usize) -> Result<Vec<ArrayRef>> {
        match &self.divided {
            Some(divided) => divided.arrays(part, |roots| contain("a record batch", || self.arrays(roots))),
            None => self.arrays(self.columns.roots()),
        }
    }

    /// The columns `roots`, whole.
    fn arrays(&self, roots: &[usize]) -> Result<Vec<ArrayRef>> {
        let message = self.framed.message()?;
        let version: MetadataVersion = message.version();
        let header = message.header_as_record_batch().ok_or_else(|| Error::data("a record batch has no header"))?;
        let body = self.framed.load()?;
        let batch = RecordBatchDecoder::try_new(&body, header, self.known.schema.clone(), &self.dictionaries.by_id, &version)
            .and_then(|decoder| decoder.with_projection(Some(roots)).read_record_batch())
            .map_err(unexpected)?;
        if batch.num_rows() as u64 != self.nrows {
            return Err(Error::data(format!("a record batch of {} rows claims {}", batch.num_rows(), self.nrows)));
        }
        for (root, array) in roots.iter().zip(batch.columns()).filter(|(root, _)| self.known.decimals.contains(root)) {
            let numbers = array.as_primitive::<Decimal128Type>();
            numbers.validate_decimal_precision(DECIMAL128_MAX_PRECISION).map_err(|_| {
                let error = Error::data("an int128 has more than the 38 digits of a decimal128");
                error.in_field(quoted(&self.known.fields[*root].name))
            })?;
        }
        Ok(batch.columns().to_vec())
    }

    /// The error if the rows of the columns take too much memory once each has its own values.
    fn too_large(&self, arrays: &[ArrayRef]) -> Option<Error> {
        let nrows = arrays.first().map_or(0, |array| array.len());
        let limit = if nrows == 1 { self.record_bytes } else { self.most };
        // A list that is null may have items, which are not read.
        let nbytes = |array: &ArrayRef| if nrows == 1 && array.is_null(0) { 0 } else { expanded_nbytes(array) };
        let column = arrays.iter().map(nbytes).enumerate().find(|(_, nbytes)| *nbytes > limit);
        let (place, nbytes) = column?;
        let name = self.columns.roots().get(place).map_or(String::new(), |root| quoted(&self.known.fields[*root].name));
        let error = match nrows {
            1 => adapt::too_large(nbytes, limit).at_row(0),
            _ => Error::data(format!(
                "the values of {nrows} records take {nbytes} bytes, more than the limit of {limit} for a part of a record batch"
            ))
            .help("drop the column, raise the limit with --max-memory, or write the data in smaller record batches"),
        };
        Some(error.in_field(name))
    }
}

fn unexpected(error: ArrowError) -> Error {
    match error {
        ArrowError::IpcError(text) | ArrowError::ParseError(text) | ArrowError::InvalidArgumentError(text) => Error::data(text),
        other => Error::data(other.to_string()),
    }
}
