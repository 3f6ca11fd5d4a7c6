//! Several inputs as one stream: the records of the input that a verb chooses, or those of all inputs side by side.
//!
//! Unlike the inputs of other runs, which follow each other, these are read side by side: a block of an input is decoded
//! when a record of it is wanted, by the thread that puts the stream together, so that no more than a block of each
//! input is in memory.

use super::engine::Source;
use super::map::accepted;
use super::opened::Opened;
use super::work::{Load, Work};
use crate::chunk::weave::Weave;
use crate::chunk::{Chunk, Decoded, Origin, Rows};
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::formats::{Request, Tasks};
use crate::options::Options;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use crate::verbs::combine::{Chooser, Combination, Sources};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use std::ops::Range;
use std::sync::Arc;

/// Which of the files opened are which input, and how they are combined.
pub struct Plan {
    /// How.
    pub how: Combination,
    /// The files of each input.
    pub ranges: Vec<Range<usize>>,
    /// The schema of each input, where they differ.
    pub schemas: Vec<Schema>,
}

/// The rows of a chunk, at most, and its bytes, about.
const ROWS: usize = 1 << 16;
const NBYTES: usize = 4 << 20;
/// Blocks that a chunk is taken of, at most.
const PARTS: usize = 256;

/// The schema of the stream.
///
/// # Errors
/// Two inputs have a field of the same name, or the list of [`Combination::Listed`] has no integers.
pub fn schema_of(plan: &Plan, name: impl Fn(usize) -> Arc<str>, unified: Schema) -> Result<Schema> {
    let Combination::Zipped { names, .. } = &plan.how else { return Ok(unified) };
    if let Some(names) = names {
        let field = |(name, schema): (&String, &Schema)| Field::new(name.clone(), Type::structure(schema.plain().fields, Vec::new()));
        return Ok(Schema::new(names.iter().zip(&plan.schemas).map(field).collect()));
    }
    let mut fields: Vec<Field> = Vec::new();
    for (input, schema) in plan.schemas.iter().enumerate() {
        for field in &schema.fields {
            if fields.iter().any(|known| known.name == field.name) {
                let first = plan.schemas.iter().position(|s| s.index_of(&field.name).is_some()).unwrap_or(0);
                return Err(Error::usage(format!("{} and {} both have this field", name(first), name(input)))
                    .in_field(crate::path::quoted(&field.name))
                    .help("put each input into a structure: zip --as a,b")
                    .help("or leave the field out of one first: tatter drop FIELD"));
            }
        }
        fields.extend(schema.plain().fields);
    }
    Ok(Schema::new(fields))
}

/// The field of the list.
///
/// # Errors
/// There is no such field, or it is no integer.
pub fn check_list(schema: &Schema, field: &str, name: Arc<str>) -> Result<()> {
    let Some(position) = schema.index_of(field) else {
        let names: Vec<String> = schema.fields.iter().map(|f| crate::path::quoted(&f.name).to_string()).collect();
        let error = Error::usage(format!("there is no field {}", crate::path::quoted(field))).in_input(name);
        return Err(error.help(format!("the fields are: {}", names.join(", "))));
    };
    let ty = &schema.fields[position].ty;
    if ty.dims.is_empty() && ty.dtype().is_some_and(DType::is_integer) {
        return Ok(());
    }
    Err(Error::usage(format!("{} is {ty}; expected the number of an input, an integer", crate::path::quoted(field))).in_input(name))
}

/// The stream of all inputs.
pub fn source<'a>(opened: &'a mut [Opened], plan: &'a mut Plan, schema: Arc<Schema>, request: Request) -> Source<'a, Work> {
    let options = request.options.clone();
    let mut streams = Vec::new();
    let mut rest = opened;
    for (number, range) in plan.ranges.iter().enumerate() {
        let (files, others) = std::mem::take(&mut rest).split_at_mut_checked(range.len()).unwrap_or_default();
        rest = others;
        let own = plan.schemas.get(number).cloned().map_or_else(|| schema.clone(), Arc::new);
        let mut request = request.clone();
        match &plan.how {
            Combination::Listed(_, field) if number == 0 => {
                (request.wanted, request.records) = (Wanted::Matching(vec![field.clone()]), None);
                request.declared = Arc::default();
            }
            Combination::Zipped { names: Some(_), .. } => request.wanted = Wanted::All,
            _ => {}
        }
        streams.push(Stream::new(files, own, request, options.clone()));
    }
    match &mut plan.how {
        Combination::Zipped { names, shortest } => {
            let zip = Zip { streams, is_nested: names.is_some(), shortest: *shortest, nrows: 0, over: false };
            zip.source()
        }
        Combination::Chosen(chooser) => Chosen::new(streams, None, chooser.as_mut(), options).source(),
        Combination::Listed(chooser, field) => {
            let list = streams.remove(0);
            let position = list.schema.index_of(field).unwrap_or(0);
            Chosen::new(streams, Some(List { stream: list, position, numbers: None, row: 0 }), chooser.as_mut(), options).source()
        }
    }
}

/// The records of one input, block by block.
struct Stream<'a> {
    files: &'a mut [Opened],
    /// The file that is read next.
    next: usize,
    tasks: Option<Tasks<Decoded>>,
    schema: Arc<Schema>,
    /// Of the records that come out.
    plain: Schema,
    request: Request,
    options: Arc<Options>,
    /// What stopped the reading after the last chunk.
    error: Option<Error>,
}

impl<'a> Stream<'a> {
    fn new(files: &'a mut [Opened], schema: Arc<Schema>, request: Request, options: Arc<Options>) -> Stream<'a> {
        let plain = schema.plain();
        Stream { files, next: 0, tasks: None, schema, plain, request, options, error: None }
    }

    fn name(&self) -> Arc<str> {
        self.files.first().map_or_else(|| Arc::from(""), |opened| opened.input.name().clone())
    }

    /// The next chunk with records; faults and counts go to `work`.
    fn next_chunk(&mut self, work: &mut Work) -> Result<Option<Chunk>> {
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if let Some(task) = self.tasks.as_mut().and_then(Iterator::next) {
                let mut one = Work::default();
                let chunk = accepted(task?()?, self.options.on_error.skips(), &self.plain, &mut one)?;
                work.count(&one);
                work.faults.append(&mut one.faults);
                self.error = one.error;
                if chunk.nrows > 0 {
                    return Ok(Some(chunk));
                }
                continue;
            }
            let Some(opened) = self.files.get_mut(self.next) else { return Ok(None) };
            self.next += 1;
            self.tasks = Some(opened.reader.read(&self.schema, &self.request)?);
        }
    }

    fn restart(&mut self) -> Result<()> {
        for opened in self.files.iter_mut() {
            opened.reopen(&self.options)?;
        }
        (self.next, self.tasks) = (0, None);
        Ok(())
    }
}

/// The numbers that a field of an input gives.
struct List<'a> {
    stream: Stream<'a>,
    position: usize,
    numbers: Option<(Chunk, arrow_array::Int64Array)>,
    row: usize,
}

impl List<'_> {
    fn next(&mut self, work: &mut Work) -> Result<Option<i64>> {
        loop {
            if let Some((chunk, numbers)) = &self.numbers
                && self.row < numbers.len()
            {
                self.row += 1;
                if numbers.is_null(self.row - 1) {
                    let name = crate::path::quoted(&self.stream.schema.fields[self.position].name).to_string();
                    let error = Error::data("null is not the number of an input").in_field(name).at_row(self.row - 1);
                    return Err(chunk.origin.resolve(error, chunk.nrows));
                }
                return Ok(Some(numbers.value(self.row - 1)));
            }
            let mut read = Work::default();
            let Some(chunk) = self.stream.next_chunk(&mut read)? else { return Ok(None) };
            work.faults.append(&mut read.faults);
            let column = chunk.columns.get(self.position).ok_or_else(|| Error::internal("a list without its field"))?;
            let wide = arrow_cast::cast(column.as_leaf()?, &arrow_schema::DataType::Int64);
            let wide = wide.map_err(|e| Error::data(e.to_string()).in_input(self.stream.name()))?;
            self.numbers = Some((chunk, wide.as_primitive::<Int64Type>().clone()));
            self.row = 0;
        }
    }

    /// Names the record of the number given last.
    fn locate(&self, error: Error) -> Error {
        match &self.numbers {
            Some((chunk, _)) => chunk.origin.resolve(error.at_row(self.row.saturating_sub(1)), chunk.nrows),
            None => error,
        }
    }
}

/// One record after the other, each of the input that is chosen.
struct Chosen<'a> {
    chooser: &'a mut dyn Chooser,
    list: Option<List<'a>>,
    reading: Reading<'a>,
    rows_per_chunk: usize,
    over: bool,
}

/// The inputs while they are read.
struct Reading<'a> {
    streams: Vec<Stream<'a>>,
    /// Of each input, the rows of its chunk, and the next of them.
    rows: Vec<Range<usize>>,
    /// Whether it is read again, so that its records are repeated.
    is_again: Vec<bool>,
    repeated: u64,
    weave: Weave,
    /// Faults and counts of what was read.
    work: Work,
}

impl<'a> Chosen<'a> {
    fn new(streams: Vec<Stream<'a>>, list: Option<List<'a>>, chooser: &'a mut dyn Chooser, options: Arc<Options>) -> Chosen<'a> {
        let n = streams.len();
        let reading =
            Reading { streams, rows: vec![0..0; n], is_again: vec![false; n], repeated: 0, weave: Weave::new(n), work: Work::default() };
        Chosen { chooser, list, reading, rows_per_chunk: options.chunk_rows.unwrap_or(ROWS).clamp(1, ROWS), over: false }
    }

    fn source(mut self) -> Source<'a, Work> {
        Box::new(move || (!self.over).then(|| self.next_work()).flatten())
    }

    fn next_work(&mut self) -> Option<Work> {
        let weave = |reading: &Reading| (reading.weave.nrows(), reading.weave.nbytes(), reading.weave.nparts());
        while let (nrows, nbytes, nparts) = weave(&self.reading)
            && nrows < self.rows_per_chunk
            && nbytes < NBYTES
            && nparts < PARTS
        {
            match self.next_record() {
                Ok(true) => {}
                Ok(false) => {
                    self.over = true;
                    break;
                }
                Err(error) => {
                    self.over = true;
                    self.reading.work.error = Some(error);
                    break;
                }
            }
        }
        let mut work = std::mem::take(&mut self.reading.work);
        if self.over
            && let Some(options) = self.reading.streams.first().map(|stream| &stream.options)
        {
            options.repeated.add(self.reading.repeated);
        }
        if let Some(chunk) = self.reading.weave.take() {
            work.load = Load::Deferred(Box::new(chunk));
        }
        (!work.is_empty()).then_some(work)
    }

    fn next_record(&mut self) -> Result<bool> {
        let mut sources = Listed { reading: &mut self.reading, list: self.list.as_mut(), is_choice: false };
        let chosen = self.chooser.next(&mut sources);
        let is_choice = sources.is_choice;
        let source = match (chosen, &self.list) {
            (Ok(source), _) => source,
            (Err(error), Some(list)) if is_choice && error.location().input.is_none() => return Err(list.locate(error)),
            (Err(error), _) => return Err(error),
        };
        let Some(source) = source else { return Ok(false) };
        let reading = &mut self.reading;
        let row = reading.rows.get_mut(source).and_then(Iterator::next);
        let row = row.ok_or_else(|| Error::internal("an input without records was chosen"))?;
        reading.repeated += u64::from(reading.is_again[source]);
        reading.weave.record(source, row)?;
        Ok(true)
    }
}

/// The inputs and the list, as a chooser sees them.
struct Listed<'b, 'a> {
    reading: &'b mut Reading<'a>,
    list: Option<&'b mut List<'a>>,
    is_choice: bool,
}

impl Sources for Listed<'_, '_> {
    fn count(&self) -> usize {
        self.reading.streams.len()
    }

    fn has_more(&mut self, source: usize) -> Result<bool> {
        let reading = &mut *self.reading;
        if reading.rows.get(source).is_some_and(|rows| !rows.is_empty()) {
            return Ok(true);
        }
        let stream = reading.streams.get_mut(source).ok_or_else(|| Error::internal("no input of that number"))?;
        let chunk = stream.next_chunk(&mut reading.work)?;
        reading.rows[source] = 0..chunk.as_ref().map_or(0, |chunk| chunk.nrows);
        reading.weave.set(source, chunk);
        Ok(!reading.rows[source].is_empty())
    }

    fn restart(&mut self, source: usize) -> Result<()> {
        self.reading.is_again[source] = true;
        self.reading.streams[source].restart()
    }

    fn listed(&mut self) -> Result<Option<i64>> {
        self.is_choice = true;
        let list = self.list.as_mut().ok_or_else(|| Error::internal("no list of inputs"))?;
        list.next(&mut self.reading.work)
    }
}

/// The records of the same number side by side.
struct Zip<'a> {
    streams: Vec<Stream<'a>>,
    is_nested: bool,
    shortest: bool,
    /// Records so far.
    nrows: u64,
    over: bool,
}

impl<'a> Zip<'a> {
    fn source(mut self) -> Source<'a, Work> {
        let mut current: Vec<Option<Chunk>> = self.streams.iter().map(|_| None).collect();
        Box::new(move || {
            if self.over {
                return None;
            }
            let mut work = Work::default();
            match self.next_chunk(&mut current, &mut work) {
                Ok(Some(chunk)) => work.load = Load::Chunk(chunk),
                Ok(None) => self.over = true,
                Err(error) => {
                    self.over = true;
                    work.error = Some(error);
                }
            }
            (!work.is_empty()).then_some(work)
        })
    }

    fn next_chunk(&mut self, current: &mut [Option<Chunk>], work: &mut Work) -> Result<Option<Chunk>> {
        for (stream, chunk) in self.streams.iter_mut().zip(current.iter_mut()).filter(|(_, chunk)| chunk.is_none()) {
            *chunk = stream.next_chunk(work)?;
        }
        let nrows = current.iter().map(|chunk| chunk.as_ref().map_or(0, |chunk| chunk.nrows)).min().unwrap_or(0);
        if nrows == 0 {
            return self.end(current).map(|()| None);
        }
        let mut columns = Vec::new();
        for slot in current.iter_mut() {
            let Some(chunk) = slot.take() else { continue };
            let part = chunk.slice(0, nrows);
            if nrows < chunk.nrows {
                *slot = Some(chunk.slice(nrows, chunk.nrows - nrows));
            }
            if self.is_nested {
                columns.push(Tensor::structure(nrows, part.columns, None)?);
            } else {
                columns.extend(part.columns);
            }
        }
        let origin = Origin { input: None, rows: Rows::From(self.nrows + 1) };
        self.nrows += nrows as u64;
        Chunk::try_new(nrows, columns, origin).map(Some)
    }

    /// An input has ended: so must the others.
    fn end(&self, current: &[Option<Chunk>]) -> Result<()> {
        let name = |wanted: bool| self.streams.iter().zip(current).find(|(_, chunk)| chunk.is_some() == wanted).map(|(s, _)| s.name());
        match (name(true), name(false)) {
            (Some(longer), Some(ended)) if !self.shortest => {
                let records = if self.nrows == 1 { "record" } else { "records" };
                let error = Error::data(format!("has more records than {ended}, which has {} {records}", self.nrows)).in_input(longer);
                Err(error.help("to end with the shortest input: zip --shortest"))
            }
            _ => Ok(()),
        }
    }
}
