//! `bucket`: groups records of similar length, or of equal keys, into batches.

use super::shared::batch_padding::{RecordLimit, batch_plan, check_records, padded};
use super::shared::batches::{batched_chunk, batched_schema, names};
use super::shared::edit::Edits;
use super::shared::fields::field_at;
use super::shared::key_table::KeyTable;
use super::shared::keys::check_key_text;
use super::shared::memory::rows_per_chunk;
use super::shared::padding::{AxisSize, PaddingArgs};
use super::shared::pool::{Pool, RecordId};
use super::shared::shares::key_text;
use super::verb::{Bound, Deferred, Example, Flow, Fold, Operator, Verb};
use crate::chunk::{Chunk, Origin};
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result, mismatch};
use crate::expr::{ScalarExpr, bind_scalar, names_used};
use crate::options::Options;
use crate::printable::shell_word;
use crate::schema::{DType, Schema, Size};
use crate::tensor::ints::saturated;
use crate::tensor::order::sorted_rows;
use crate::tensor::pad::Target;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeBinaryArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Groups records of similar length, or of equal keys, into batches.
#[derive(clap::Args, Clone, Debug)]
pub struct Bucket {
    /// Key of a record; with --boundaries, its length, such as len(tokens)
    #[arg(long, value_name = "EXPR")]
    by: String,
    /// Bucket boundaries, such as 10,20: below 10, 10 to 19, 20 and above [default: a bucket for each key]
    #[arg(long, value_name = "N,..", allow_hyphen_values = true, value_parser = parse_boundaries)]
    boundaries: Option<NumberList>,
    /// Batch sizes, one per bucket (one more than there are boundaries), such as 8,4,2; with keys, cat=4,dog=2,8 (8 for
    /// all other keys)
    #[arg(long, value_name = "N,..")]
    batch_sizes: String,
    /// Pad each batch to its longest record
    #[arg(long)]
    pad: bool,
    /// Pad each batch to the bucket's boundary minus 1; every length must be below the last boundary
    #[arg(long)]
    pad_to_boundary: bool,
    #[command(flatten)]
    padding: PaddingArgs,
    /// Drop incomplete batches at the end
    #[arg(long)]
    drop_remainder: bool,
}

#[derive(Clone, Debug)]
struct NumberList(Vec<usize>);

fn numbers(text: &str) -> Result<Vec<usize>, Error> {
    let number = |part: &str| part.trim().parse::<usize>().ok().filter(|n| i64::try_from(*n).is_ok());
    text.split(',')
        .map(|part| number(part).ok_or_else(|| Error::usage(mismatch("numbers, such as 10,20", format_args!("`{text}`")))))
        .collect()
}

fn parse_boundaries(text: &str) -> Result<NumberList, Error> {
    let is_negative = |part: &str| part.trim().parse::<i64>().is_ok_and(|n| n < 0);
    numbers(text).map(NumberList).map_err(|e| match text.split(',').find(|part| is_negative(part)) {
        Some(part) => Error::usage(format!("a boundary must be at least 0, found {}", part.trim())),
        None => e,
    })
}

/// The batch size of each bucket, with `--boundaries`.
fn parse_sizes(text: &str, nbuckets: usize) -> Result<Vec<usize>> {
    let sizes = numbers(text).map_err(|e| e.prefixed("--batch-sizes"))?;
    if sizes.contains(&0) {
        return Err(Error::usage("--batch-sizes: a batch size must be at least 1"));
    }
    if sizes.len() != nbuckets {
        let error = mismatch(format_args!("{nbuckets} batch sizes, one more than the number of boundaries"), sizes.len());
        return Err(
            Error::usage(error).help("list one size per bucket: one for each boundary, and one for lengths at or above the last boundary")
        );
    }
    Ok(sizes)
}

/// The batch size of each key.
#[derive(Clone, Debug, Default)]
struct KeySizes {
    named: BTreeMap<String, usize>,
    others: Option<usize>,
}

/// Parses `cat=4,dog=2,8`.
fn parse_key_sizes(text: &str) -> Result<KeySizes> {
    let mut sizes = KeySizes::default();
    for word in text.split(',').map(str::trim) {
        let (name, number) = word.rsplit_once('=').map_or((None, word), |(name, number)| (Some(name.trim().to_owned()), number.trim()));
        let size = number.parse::<usize>().ok().filter(|n| *n > 0 && i64::try_from(*n).is_ok());
        let Some(size) = size else {
            let error = Error::usage(mismatch("KEY=N, or N for all others", format_args!("`{word}`")).prefixed("--batch-sizes"));
            return Err(error.help("for example: --batch-sizes cat=4,dog=2,8"));
        };
        let before = match name {
            Some(name) => sizes.named.insert(name, size),
            None => sizes.others.replace(size),
        };
        if before.is_some() {
            let error = Error::usage(format!("--batch-sizes: `{word}` specifies a second size for the same keys"));
            return Err(error.help("batch sizes for ranges of lengths need --boundaries"));
        }
    }
    Ok(sizes)
}

impl Verb for Bucket {
    const NAME: &'static str = "bucket";
    const SUMMARY: &'static str = "Group records of similar length or equal key into batches";
    const ABOUT: &'static str = "\
Without --boundaries, there is a bucket for each value of EXPR: a string, an integer or a bool. With --boundaries, EXPR is a length, and a \
record goes into the bucket for its length; a length equal to a boundary belongs to the next bucket. A bucket is written as a batch as \
soon as it reaches its batch size; the remaining records are written at the end, in order of boundary or key. The records of open buckets \
are kept in memory (see --max-memory). With --pad, every batch is padded to its longest record; with --pad-to-boundary (which does not require --pad), to \
the bucket's boundary minus 1. --shape and --default work as in `padded-batch`.";
    const MEANING: &'static str = "tf.data.Dataset.bucket_by_sequence_length, group_by_window";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "short and long records in separate batches of two",
            args: "bucket --by 'len(x)' --boundaries 3 --batch-sizes 2,2",
            input: "{\"x\": [1]}\n{\"x\": [2, 2, 2]}\n{\"x\": [3, 3]}\n{\"x\": [4, 4, 4, 4]}\n{\"x\": []}\n",
            output: "{\"x\":[[1],[3,3]]}\n{\"x\":[[2,2,2],[4,4,4,4]]}\n{\"x\":[[]]}\n",
        },
        Example {
            about: "the same, padded",
            args: "bucket --by 'len(x)' --boundaries 3 --batch-sizes 2,2 --pad --default x=-1",
            input: "{\"x\": [1]}\n{\"x\": [2, 2, 2]}\n{\"x\": [3, 3]}\n{\"x\": [4, 4, 4, 4]}\n{\"x\": []}\n",
            output: "{\"x\":[[1,-1],[3,3]]}\n{\"x\":[[2,2,2,-1],[4,4,4,4]]}\n{\"x\":[[]]}\n",
        },
        Example {
            about: "batches of one language each",
            args: "bucket --by lang --batch-sizes de=1,2",
            input: "{\"lang\": \"en\", \"id\": 1}\n{\"lang\": \"de\", \"id\": 2}\n{\"lang\": \"fr\", \"id\": 3}\n{\"lang\": \"en\", \"id\": 4}\n",
            output: "{\"lang\":[\"de\"],\"id\":[2]}\n{\"lang\":[\"en\",\"en\"],\"id\":[1,4]}\n{\"lang\":[\"fr\"],\"id\":[3]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let pads = self.pad || self.pad_to_boundary;
        if !pads && !self.padding.is_empty() {
            return Err(Error::usage("--shape and --default need --pad or --pad-to-boundary"));
        }
        if self.padding.has_max() {
            return Err(Error::usage(
                "`max` is the length of the longest row in the whole input, which is not known when a batch is padded",
            ));
        }
        if self.pad_to_boundary && self.boundaries.is_none() {
            return Err(Error::usage("--pad-to-boundary needs --boundaries").help("to pad each batch to its longest record: --pad"));
        }
        // TensorFlow accepts such boundaries too.
        if let Some(NumberList(boundaries)) = &self.boundaries
            && let Some(pair) = boundaries.windows(2).find(|pair| pair[1] <= pair[0])
        {
            let text =
                format!("bucket: --boundaries: {} is not greater than the preceding {}, so its bucket stays empty", pair[1], pair[0]);
            options.notices.add(text, options.strict)?;
        }
        let numbering = self.numbering(schema, options)?;
        let batched = batched_schema(schema, Size::Uniform);
        let mut padders = Vec::new();
        let mut dense = batched.clone();
        if pads {
            match self.pad_to_boundary {
                false => {
                    let (plan, limits) = batch_plan(schema, &self.padding, options)?;
                    padders.push((plan.edits(&batched, None)?, limits));
                }
                true => {
                    for boundary in self.boundaries.iter().flat_map(|boundaries| &boundaries.0) {
                        padders.push(to_boundary(schema, &batched, &self.padding, options, *boundary)?);
                    }
                }
            }
            dense = padders.first().map_or(dense, |(edits, _)| Arc::new(edits.schema().clone()));
        }
        let sizes = match &self.boundaries {
            Some(boundaries) => parse_sizes(&self.batch_sizes, boundaries.0.len() + 1)?,
            None => Vec::new(),
        };
        let fold = Buckets {
            numbering,
            text: self.by.clone(),
            buckets: sizes.into_iter().map(OpenBucket::new).collect(),
            padders: padders.into(),
            to_boundary: self.pad_to_boundary,
            drop_remainder: self.drop_remainder,
            names: names(schema),
            pool: Pool::new("bucket", "use smaller batches", options),
            nopen: 0,
            most_parts: MOST_PARTS,
            chunk_rows: options.chunk_rows.unwrap_or(usize::MAX),
            left: None,
            ready: VecDeque::new(),
        };
        Ok(Bound { schema: dense, operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        if self.pad || self.pad_to_boundary {
            return Demand { records: None, fields: Wanted::All };
        }
        match names_used(&self.by, false) {
            Some(used) => Demand { records: None, ..after }.and_fields(used.read),
            None => Demand::everything(),
        }
    }
}

impl Bucket {
    fn numbering(&self, schema: &Schema, options: &Options) -> Result<Numbering> {
        let by = bind_scalar(&self.by, schema, options)?;
        let is_integer = by.ty().dtype().is_some_and(DType::is_integer);
        if let Some(boundaries) = &self.boundaries {
            if !is_integer {
                let error = Error::usage(mismatch("an integer", by.ty()).prefixed(format_args!("--by {}", self.by)));
                return Err(error.help("the length of a field is len(FIELD)"));
            }
            let (boundaries, to_boundary) = (boundaries.0.clone(), self.pad_to_boundary);
            return Ok(Numbering::Lengths { by, boundaries, to_boundary });
        }
        let sizes = parse_key_sizes(&self.batch_sizes).map_err(|e| match numbers(&self.batch_sizes) {
            Ok(sizes) if sizes.len() > 1 => Error::usage("several --batch-sizes need --boundaries, or KEY=N for each key")
                .help("for ranges of lengths: --boundaries 10,20 --batch-sizes 8,4,2")
                .help("for keys: --batch-sizes cat=4,dog=2,8"),
            _ => e,
        })?;
        if let Some(dtype) = by.ty().dtype() {
            sizes.named.keys().try_for_each(|name| check_key_text("--batch-sizes", &self.by.to_string(), name, dtype))?;
        }
        let text = bind_scalar(&key_text(&self.by, schema, options)?, schema, options)?;
        let table = KeyTable::new(Self::NAME, "bucket by a coarser key", options);
        Ok(Numbering::Keys { by, text: Box::new(text), sizes, table: Box::new(table) })
    }
}

/// The padding of batches whose records are all shorter than `boundary`.
fn to_boundary(
    schema: &Schema,
    batched: &Schema,
    padding: &PaddingArgs,
    options: &Options,
    boundary: usize,
) -> Result<(Edits, Vec<RecordLimit>)> {
    let (mut plan, mut limits) = batch_plan(schema, padding, options)?;
    let most = boundary.saturating_sub(1);
    let (mut maxima, mut batched) = (Vec::new(), batched.clone());
    for (field, limit) in plan.fields.iter_mut().zip(&mut limits) {
        let (positions, known) = schema.find(&field.path)?;
        // The batch axis, if the field has one, comes first.
        let batch_axes = field.sizes.len() - known.ty.rank();
        // As in TensorFlow, an axis of known size keeps it unless --shape says otherwise.
        let is_given = padding.shape(&field.path, known.ty.rank())?.is_some();
        for (axis, dim) in known.ty.dims.iter().enumerate() {
            if field.sizes[batch_axes + axis] == AxisSize::Longest && (is_given || !matches!(dim.size, Size::Known(_))) {
                field.sizes[batch_axes + axis] = AxisSize::Max;
                limit.targets[axis] = Target::Exact(most);
                // A known size now depends on the batch.
                if let Some(field) = field_at(&mut batched.fields, &positions)
                    && let Size::Known(_) = dim.size
                {
                    field.ty.dims[batch_axes + axis].size = Size::Uniform;
                }
            }
        }
        maxima.push(vec![most; field.sizes.len()]);
    }
    let edits = plan.edits(&batched, Some(&maxima))?;
    Ok((edits, limits))
}

/// A bucket whose records do not fill a batch yet.
struct OpenBucket {
    size: usize,
    records: Vec<RecordId>,
}

impl OpenBucket {
    fn new(size: usize) -> OpenBucket {
        OpenBucket { size, records: Vec::new() }
    }
}

/// Memory of a bucket with few records.
const OPEN_NBYTES: u64 = (size_of::<OpenBucket>() + 4 * size_of::<RecordId>()) as u64;

/// The number of parts added to a pool before small ones are merged: gathering takes time for each.
const MOST_PARTS: usize = 256;

/// The number of a bucket, and the records of a batch.
type Closed = (usize, Vec<RecordId>);

/// Assigns records to buckets.
enum Numbering {
    /// By length, between boundaries.
    Lengths { by: ScalarExpr, boundaries: Vec<usize>, to_boundary: bool },
    /// By key; the text of the expression is kept for messages.
    Keys { by: ScalarExpr, text: Box<ScalarExpr>, sizes: KeySizes, table: Box<KeyTable> },
}

struct Buckets {
    numbering: Numbering,
    text: String,
    buckets: Vec<OpenBucket>,
    /// `None`: batches are not padded. Otherwise one padding for all batches, or one for each boundary.
    padders: Arc<[(Edits, Vec<RecordLimit>)]>,
    to_boundary: bool,
    drop_remainder: bool,
    names: Arc<[String]>,
    /// The records of all open buckets, and some of closed ones. One pool for all: a chunk for each bucket would take far
    /// more memory and time than its few records.
    pool: Pool,
    /// The number of records of open buckets.
    nopen: usize,
    /// The number of parts at which the pool is compacted.
    most_parts: usize,
    chunk_rows: usize,
    /// The buckets still to be emitted at the end of the input, in reverse order.
    left: Option<Vec<usize>>,
    /// The last batches.
    ready: VecDeque<Deferred>,
}

impl Buckets {
    /// The bucket of each row. Adds buckets for new keys.
    fn numbers(&mut self, chunk: &Chunk) -> Result<Vec<usize>> {
        let is_null = |row: usize| {
            let error = Error::data(format!("--by {} is null", self.text)).at_row(row);
            let filter = shell_word(&format!("not is_null({})", self.text));
            error.help(format!("drop such records: filter {filter}"))
        };
        match &mut self.numbering {
            Numbering::Lengths { by, boundaries, to_boundary } => {
                let lengths = by.eval(chunk)?;
                let lengths = lengths.as_leaf()?;
                let (numbers, nulls) = (saturated(lengths)?, lengths.logical_nulls());
                let number = |row: usize| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    true => Err(is_null(row)),
                    false => between(numbers[row], boundaries, *to_boundary).map_err(|e| e.at_row(row)),
                };
                (0..chunk.nrows).map(number).collect()
            }
            Numbering::Keys { by, text, sizes, table } => {
                let keys = by.eval(chunk)?;
                if let Some(row) = keys.first_null_row() {
                    return Err(is_null(row));
                }
                let texts = || cast(text.eval(chunk)?.as_leaf()?, &DataType::LargeBinary).map_err(|e| Error::data(e.to_string()));
                let size = |texts: &LargeBinaryArray, row: usize| {
                    let name = String::from_utf8_lossy(texts.value(row));
                    sizes.named.get(name.as_ref()).copied().or(sizes.others).ok_or_else(|| {
                        let error = Error::data(format!("no batch size for the key {name:?}")).at_row(row);
                        error.help("set a size for all other keys: --batch-sizes KEY=N,..,N")
                    })
                };
                // Before a key is added.
                if sizes.others.is_none() {
                    let texts = texts()?;
                    (0..chunk.nrows).try_for_each(|row| size(texts.as_binary(), row).map(|_| ()))?;
                }
                let found = table.insert(&Chunk::try_new(chunk.nrows, vec![keys], Origin::default())?)?;
                if !found.fresh.is_empty() {
                    let texts = texts()?;
                    for row in found.fresh {
                        self.buckets.push(OpenBucket::new(size(texts.as_binary(), row)?));
                        self.pool.count(OPEN_NBYTES)?;
                    }
                }
                Ok(found.numbers.into_iter().map(|number| number as usize).collect())
            }
        }
    }

    /// The buckets in the order of their boundaries or keys.
    fn order(&mut self) -> Result<Vec<usize>> {
        let Numbering::Keys { table, .. } = &mut self.numbering else { return Ok((0..self.buckets.len()).collect()) };
        let parts = table.take_parts();
        let keys = parts.iter().filter_map(|part| part.columns.first()).collect::<Vec<_>>();
        if keys.is_empty() { Ok(Vec::new()) } else { sorted_rows(&[(Tensor::concat(&keys)?, false)]) }
    }

    /// Takes the records of a bucket.
    fn close(&mut self, number: usize) -> Closed {
        let records = std::mem::take(&mut self.buckets[number].records);
        self.nopen -= records.len();
        (number, records)
    }

    /// The batches with these records.
    fn batches(&self, closed: &[Closed]) -> Result<VecDeque<Deferred>> {
        if closed.is_empty() {
            return Ok(VecDeque::new());
        }
        let ids: Vec<RecordId> = closed.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let records = self.pool.gather(&ids)?;
        if self.padders.is_empty() {
            let lengths = closed.iter().map(|(_, ids)| i64::try_from(ids.len()).unwrap_or(i64::MAX));
            let batches = batched_chunk(&records, &RowPartition::from_row_lengths(lengths)?, &self.names)?;
            return Ok(VecDeque::from([Box::new(move || Ok(batches)) as Deferred]));
        }
        // One at a time and later, because padding can make batches many times larger.
        let mut start = 0;
        let padding = closed.iter().map(|(number, ids)| {
            let own = records.slice(start, ids.len());
            start += ids.len();
            let (padders, names) = (self.padders.clone(), self.names.clone());
            let padder = if self.to_boundary { *number } else { 0 };
            Box::new(move || {
                let batch = batched_chunk(&own, &RowPartition::uniform(own.nrows, 1)?, &names)?;
                let Some((edits, limits)) = padders.get(padder) else { return Ok(batch) };
                check_records(limits, &own).map_err(|e| own.origin.resolve(e, own.nrows))?;
                padded(edits, batch)
            }) as Deferred
        });
        Ok(padding.collect())
    }

    /// Adds records, and prepares the batches that they complete.
    fn add(&mut self, chunk: Chunk) -> Result<()> {
        if !self.pool.has_room_for(&chunk) {
            self.compact()?;
            // The first records may complete batches, and so make room for the others.
            if chunk.nrows > 1 && !self.pool.has_room_for(&chunk) {
                let half = chunk.nrows / 2;
                self.add(chunk.slice(0, half))?;
                return self.add(chunk.slice(half, chunk.nrows - half));
            }
        }
        let numbers = self.numbers(&chunk)?;
        let part = self.pool.next_part();
        self.pool.add(chunk)?;
        let mut closed = Vec::new();
        for (row, number) in numbers.into_iter().enumerate() {
            let open = &mut self.buckets[number];
            open.records.push((part, row));
            self.nopen += 1;
            if open.records.len() == open.size {
                closed.push(self.close(number));
            }
        }
        let batches = self.batches(&closed)?;
        self.ready.extend(batches);
        // As many records were released as remain, so each is moved a few times at most.
        if self.nopen * 2 <= self.pool.nrows() || self.pool.next_part() >= self.most_parts {
            self.compact()?;
        }
        Ok(())
    }

    /// Drops the records of closed buckets.
    fn compact(&mut self) -> Result<()> {
        let mut ids: Vec<RecordId> = self.buckets.iter().flat_map(|open| open.records.iter().copied()).collect();
        self.pool.compact(&mut ids)?;
        self.pool.count(OPEN_NBYTES * self.buckets.len() as u64)?;
        let places = self.buckets.iter_mut().flat_map(|open| &mut open.records);
        places.zip(ids).for_each(|(place, id)| *place = id);
        self.most_parts = self.pool.next_part() * 2 + MOST_PARTS;
        Ok(())
    }
}

/// The bucket for a length.
fn between(length: i64, boundaries: &[usize], to_boundary: bool) -> Result<usize> {
    // As in TensorFlow, the first boundary greater than the length. Boundaries need not increase.
    let is_above = |b: &usize| i64::try_from(*b).map_or(true, |b| length < b);
    let number = boundaries.iter().position(is_above).unwrap_or(boundaries.len());
    if to_boundary && number == boundaries.len() {
        let last = boundaries.last().copied().unwrap_or(0);
        let error = Error::data(format!("the length {length} is not less than the last boundary, {last}"));
        return Err(error.help("--pad-to-boundary needs a boundary above the longest record; add one"));
    }
    Ok(number)
}

impl Fold for Buckets {
    fn rejects_as_a_whole(&self) -> bool {
        true
    }

    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        self.add(chunk).map(|()| Flow::More)
    }

    fn deferred(&mut self) -> Vec<Deferred> {
        std::mem::take(&mut self.ready).into()
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        self.finish_deferred()?.map(|chunk| chunk()).transpose()
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        if self.drop_remainder {
            return Ok(None);
        }
        if self.left.is_none() {
            self.left = Some(self.order()?.into_iter().rev().collect());
        }
        while self.ready.is_empty() {
            let wanted = rows_per_chunk(self.pool.nbytes(), self.pool.nrows(), 4 << 20).min(self.chunk_rows);
            let (mut closed, mut nrows) = (Vec::new(), 0);
            while nrows < wanted
                && let Some(number) = self.left.as_mut().and_then(Vec::pop)
            {
                nrows += self.buckets[number].records.len();
                if !self.buckets[number].records.is_empty() {
                    closed.push(self.close(number));
                }
            }
            if closed.is_empty() {
                return Ok(None);
            }
            self.ready = self.batches(&closed)?;
        }
        Ok(self.ready.pop_front())
    }
}
