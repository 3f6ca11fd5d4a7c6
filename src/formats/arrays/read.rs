//! Reads arrays as records: axis 0 of all arrays is sliced into chunks, side by side.

use super::bind::Bound;
use super::block::{Blocks, LeafBlock, LeafReader, Opening};
use super::contents::{Contents, Location, OpenArrays, StoredArray};
use super::decode::FieldDecoder;
use super::element::ElementKind;
use super::stream::{ArrayStream, IntegerStream};
use crate::chunk::{Decoded, Origin};
use crate::demand::Wanted;
use crate::error::{Error, Result, mismatch};
use crate::formats::columnar::adapt::{Columns, DecodedRows, inferred};
use crate::formats::columnar::source::Source;
use crate::formats::format::{Inference, MAX_EMPTY_RECORDS, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::arrays::values_name;
use crate::schema::facts::Facts;
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{DType, Dim, Field, MAX_FIELDS, Schema, Type, columns, too_many_fields};
use crate::tensor::Tensor;
use std::collections::HashSet;
use std::sync::Arc;

/// Maximum number of sizes in a dense shape.
const MAX_NDIMS: u64 = 64;

/// Reads one file of arrays. The file is closed between inference and reading, because a run can have thousands of
/// files.
pub struct ArraysReader {
    input: Arc<Input>,
    open: OpenArrays,
    contents: Option<Arc<Contents>>,
}

impl ArraysReader {
    pub fn new(input: Arc<Input>, open: OpenArrays) -> ArraysReader {
        ArraysReader { input, open, contents: None }
    }

    fn contents(&mut self, request: &Request) -> Result<Arc<Contents>> {
        if let Some(contents) = &self.contents {
            return Ok(contents.clone());
        }
        let contents = contents(&self.input, self.open)?;
        let is_needed = |name: &str| {
            // The arrays of a ragged or sparse field are named after it.
            let field = name.split_once('/').map_or(name, |(field, _)| field);
            let includes = |wanted: &Wanted| wanted.includes(name) || wanted.includes(field);
            includes(&request.wanted) && !includes(&request.dropped)
        };
        let stem = |array: &StoredArray| array.name.split_once('/').map_or(array.name.as_str(), |(field, _)| field).to_owned();
        if contents.arrays.iter().filter(|array| is_needed(&array.name)).map(stem).collect::<HashSet<_>>().len() > MAX_FIELDS {
            let error = too_many_fields().in_input(self.input.name().clone());
            return Err(error.help("to read some of them: select FIELD,FIELD"));
        }
        if let Some((name, error)) = contents.unusable.iter().find(|(name, _)| is_needed(name)) {
            let error = error.clone().in_input(self.input.name().clone());
            return Err(if contents.arrays.is_empty() {
                error
            } else {
                error.help(format!("or leave it out: drop {}", shell_word(&quoted(name))))
            });
        }
        for other in &contents.others {
            let notice = format!("{other} is not an array; it was not read");
            request.options.notices.add_about(self.input.name(), notice, request.options.strict)?;
        }
        let is_bfloat16 = |array: &&StoredArray| array.element.kind == ElementKind::BFloat16 && request.wanted.includes(&array.name);
        if let Some(first) = contents.arrays.iter().find(is_bfloat16) {
            let more = match contents.arrays.iter().filter(is_bfloat16).count() - 1 {
                0 => " is".to_owned(),
                n => format!(" and {n} more are"),
            };
            let notice = format!("{}{more} bfloat16, read as float32", quoted(&first.name));
            request.options.notices.add_about(self.input.name(), notice, request.options.strict)?;
        }
        Ok(self.contents.insert(Arc::new(contents)).clone())
    }

    /// A notice that rows of uint8 are read as strings, which other writers may not have meant.
    fn note_bytes(&self, contents: &Contents, found: &Schema, request: &Request) -> Result<()> {
        let names = contents.by_name();
        let is_uint8 = |field: &&Field| {
            let values = names.get(values_name(&field.name).as_str()).map(|number| &contents.arrays[*number]);
            field.ty.dtype() == Some(&DType::Bytes) && values.is_some_and(|array| array.element.kind == ElementKind::Number(DType::UInt8))
        };
        let is_inferred = |field: &&Field| request.declared.index_of(&field.name).is_none() && request.wanted.includes(&field.name);
        let Some(field) = found.fields.iter().filter(is_inferred).find(is_uint8) else { return Ok(()) };
        let ty = Type::tensor(DType::UInt8, vec![Dim::UNIFORM]);
        let notice = format!(
            "the rows of {} are uint8 and are read as bytes; to read numbers: {}",
            quoted(&field.name),
            schema_option(&format!("{}: {ty}", name_text(&field.name)))
        );
        request.options.notices.add_about(self.input.name(), notice, request.options.strict)
    }
}

/// The contents of a file, with the dense shapes of its sparse fields.
fn contents(input: &Input, open: OpenArrays) -> Result<Contents> {
    let mut contents = open(input).map_err(|e| e.in_input(input.name().clone()))?;
    let mut names = HashSet::new();
    if let Some(twice) = contents.arrays.iter().find(|array| !names.insert(array.name.as_str())) {
        return Err(Error::data("two arrays have this name").in_field(quoted(&twice.name)).in_input(input.name().clone()));
    }
    let small = |a: &StoredArray| {
        a.name.ends_with("/dense_shape") && a.shape.len() == 1 && a.shape[0] <= MAX_NDIMS && a.element.dtype().is_integer()
    };
    for number in 0..contents.arrays.len() {
        let found = &contents.arrays[number];
        if small(found) {
            let shape =
                dense_shape(input, found).map_err(|e| e.in_field(crate::path::quoted(&found.name)).in_input(input.name().clone()))?;
            contents.arrays[number].dense_shape = shape;
        }
    }
    Ok(contents)
}

fn dense_shape(input: &Input, found: &StoredArray) -> Result<Vec<i64>> {
    let source = source(input, &found.location)?;
    let mut numbers = IntegerStream::new(ArrayStream::open(input, source.as_ref(), found, u64::MAX)?, &found.element);
    let mut shape = Vec::new();
    numbers.take(numbers.left(), &mut shape)?;
    match shape.iter().find(|n| **n < 0) {
        Some(n) => Err(Error::data(mismatch("sizes of at least 0", n))),
        None => Ok(shape),
    }
}

/// The file, if the arrays are not read as a stream.
fn source(input: &Input, location: &Location) -> Result<Option<Source>> {
    if matches!(location, Location::Stream { .. }) {
        return Ok(None);
    }
    let file = input.file()?;
    Source::new(file).map(Some).map_err(|e| Error::io(input.name(), "cannot read", &e))
}

impl Reader for ArraysReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let name = self.input.name().clone();
        let contents = self.contents(request)?;
        let bound = Bound::of(&contents, &request.declared, &request.wanted).map_err(|e| e.in_input(name.clone()))?;
        bound.nrecords(&wanted(&bound, request), &contents).map_err(|e| e.in_input(name))?;
        let metadata = contents.metadata.iter().cloned().collect();
        let mut found = bound.schema();
        let dropped = contents.unusable.iter().filter(|(name, _)| request.dropped.includes(name) && request.wanted.includes(name));
        found.fields.extend(dropped.map(|(name, _)| Field::new(name.clone(), Type::NULL)));
        if contents.embedded.is_none() {
            self.note_bytes(&contents, &found, request)?;
        }
        let facts = Facts::of_file(metadata, columns(&found.fields));
        let found = Schema::with_facts(found.fields, facts);
        inferred(request, found)
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let name = self.input.name().clone();
        let contents = self.contents(request)?;
        self.contents = None;
        let tasks = Records::open(&self.input, &contents, schema, request).map_err(|e| e.in_input(name))?;
        Ok(Box::new(tasks))
    }
}

/// The fields whose rows are counted: the required fields, or all.
fn wanted(bound: &Bound, request: &Request) -> Vec<usize> {
    let all = 0..bound.fields.len();
    let wanted: Vec<usize> = all.clone().filter(|number| request.wanted.includes(&bound.fields[*number].field.name)).collect();
    if wanted.is_empty() { all.collect() } else { wanted }
}

/// Slices the arrays into tasks.
struct Records {
    name: Arc<str>,
    blocks: Blocks,
    decoder: Arc<Decoder>,
    /// Records sliced so far.
    first: u64,
    over: bool,
}

struct Decoder {
    fields: Vec<FieldDecoder>,
    columns: Columns,
}

impl Records {
    fn open(input: &Input, contents: &Contents, schema: &Schema, request: &Request) -> Result<Records> {
        let bound = Bound::of(contents, &request.declared, &request.wanted)?;
        let found = bound.schema().fields;
        let columns = Columns::plan(&found, schema, request)?;
        let roots = columns.roots().to_vec();
        let counted = if roots.is_empty() { wanted(&bound, request) } else { roots.clone() };
        let nrecords = bound.nrecords(&counted, contents)?;
        let source = match contents.arrays.first() {
            Some(first) => source(input, &first.location)?,
            None => None,
        };
        let opening =
            Opening { input, source: source.as_ref(), contents, bound: &bound, max_record_nbytes: request.options.max_record_bytes };
        let chosen = || roots.iter().map(|root| &bound.fields[*root]);
        // Counting reads no values, but a file that claims so many records must contain some.
        let checked = if nrecords > MAX_EMPTY_RECORDS { &counted } else { &roots };
        let leaves = checked.iter().flat_map(|number| &bound.fields[*number].leaves);
        let mut leaves = leaves.map(|leaf| LeafReader::open(leaf, &opening)).collect::<Result<Vec<_>>>()?;
        let nothing = !leaves.is_empty() && leaves.iter().all(|leaf| leaf.fixed_nbytes() == Some(0));
        // A dense_shape claims any number of rows.
        let is_claimed = counted.iter().any(|number| bound.fields[*number].field.ty.is_sparse());
        if (nothing || is_claimed) && nrecords > MAX_EMPTY_RECORDS {
            return Err(Error::data(format!("{nrecords} empty records are too many")));
        }
        if roots.is_empty() {
            leaves.clear();
        }
        let fields = chosen().map(|field| FieldDecoder::new(field, contents, bound.stacking)).collect();
        let blocks = Blocks::new(leaves, nrecords, request.records.unwrap_or(u64::MAX), request.options.chunk_rows);
        Ok(Records { name: input.name().clone(), blocks, decoder: Arc::new(Decoder { fields, columns }), first: 0, over: false })
    }
}

impl Iterator for Records {
    type Item = Result<Task<Decoded>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let origin = Origin::consecutive(self.name.clone(), self.first + 1);
        match self.blocks.next() {
            Ok(None) => None,
            Ok(Some((nrecords, nbytes, blocks))) => {
                self.first += nrecords;
                let decoder = self.decoder.clone();
                Some(Ok(Box::new(move || decoder.decode(blocks, nrecords, nbytes, origin))))
            }
            Err(error) => {
                self.over = true;
                Some(Err(error.in_input(self.name.clone())))
            }
        }
    }
}

impl Decoder {
    fn decode(&self, blocks: Vec<LeafBlock>, nrecords: u64, nbytes: u64, origin: Origin) -> Result<Decoded> {
        let nrows = usize::try_from(nrecords).map_err(|_| Error::data("more records than this machine can address"))?;
        let mut blocks = blocks.into_iter();
        let tensors: Vec<Tensor> = self
            .fields
            .iter()
            .map(|field| field.decode(blocks.by_ref().take(field.nleaves()).collect(), nrows))
            .collect::<Result<_>>()
            .map_err(|e| origin.resolve(e, nrows))?;
        let read = |place: usize| tensors.get(place).cloned().ok_or_else(|| Error::data("a column is missing"));
        self.columns.decoded(DecodedRows::new(nrows, origin, nbytes), read)
    }
}

/// A file with a single array as a constant: the array with all its axes, as one row.
///
/// # Errors
/// The file cannot be read, or holds several arrays.
pub fn constant(input: &Input, open: OpenArrays) -> Result<(Type, Tensor)> {
    let contents = contents(input, open)?;
    let bound = Bound::whole(&contents)?;
    let [field] = bound.fields.as_slice() else {
        let names: Vec<&str> = bound.fields.iter().take(10).map(|f| f.field.name.as_str()).collect();
        let error = Error::usage(mismatch("one array", names.join(", ")));
        return Err(error.help("save the one to read: numpy.save(\"x.npy\", array)"));
    };
    let source = match contents.arrays.first() {
        Some(first) => source(input, &first.location)?,
        None => None,
    };
    let opening = Opening { input, source: source.as_ref(), contents: &contents, bound: &bound, max_record_nbytes: u64::MAX };
    let leaves = field.leaves.iter().map(|leaf| LeafReader::open(leaf, &opening)).collect::<Result<Vec<_>>>()?;
    let Some((_, _, blocks)) = Blocks::new(leaves, 1, 1, None).next()? else {
        return Err(Error::internal("a constant without a row"));
    };
    let tensor = FieldDecoder::new(field, &contents, bound.stacking).decode(blocks, 1)?;
    Ok((field.field.ty.clone(), tensor))
}
