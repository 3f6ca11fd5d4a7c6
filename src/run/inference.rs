//! Infers the common schema of all inputs from `--schema` and from the types observed in parts of each input, which are
//! decoded in parallel and merged in order.

use super::engine::{self, Line, Node, Origin, Serial, Source, WorkPiece};
use super::inputs::Inputs;
use super::opened::Opened;
use super::several::Inferred;
use crate::demand::Demand;
use crate::error::{Error, Kind, Result};
use crate::formats::{Inference, Observed, Request, Task, Tasks};
use crate::schema::{Schema, Type, unify};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The schema of the required fields, from all of the inputs or their first `sample_bytes`.
///
/// # Errors
/// An input cannot be read, or the types of two inputs disagree.
pub fn infer(inputs: &mut Inputs, demand: &Demand, sample_bytes: Option<u64>, threads: usize) -> Result<Inferred> {
    let least = if inputs.options().unbuffered { 1 } else { 64 << 10 };
    let share = sample_bytes.map(|n| n / inputs.iter().count().max(1) as u64).map(|n| n.max(least));
    // An output without records has the fields of the first.
    let demand = &Demand { records: demand.records.map(|n| n.max(1)), ..demand.clone() };
    let request = inputs.request_types(demand.clone(), share);
    let inferred = match inputs.several() {
        Some(several) => several.infer(demand, share, threads),
        None => infer_files(inputs.iter_mut(), &request, true, threads),
    }?;
    inputs.settle(inferred.is_settled);
    Ok(inferred)
}

/// Adds a hint to the error for a record of a pipe: how to infer the types from all records.
pub fn of_a_pipe(error: Error) -> Error {
    match error.kind() {
        Kind::Widened => error.help("or infer the types from all records, which needs a temporary copy: --infer-bytes all"),
        _ => error,
    }
}

/// The schema of the required fields of files. `in_turn`: a file is read only after all records of those before it.
///
/// # Errors
/// See [`infer`].
pub fn infer_files<'a>(opened: impl Iterator<Item = &'a mut Opened>, request: &Request, in_turn: bool, threads: usize) -> Result<Inferred> {
    let share = request.sample_bytes;
    let mut scans: Vec<Scan> = Vec::new();
    let mut found = Unified::default();
    let mut scanned = Vec::new();
    let clash = |e: Error| e.help("drop the field first, or rename or cast it in one of the inputs");
    let mut opened: Vec<&mut Opened> = opened.collect();
    // Records that are still needed, if not all are: inputs that will not be read have no say. Numbers of records count in
    // each input.
    let mut needed = request.records.filter(|_| in_turn && request.only.is_none());
    for (number, opened) in opened.iter_mut().enumerate() {
        if needed == Some(0) {
            break;
        }
        match opened.reader()?.infer(&Request { records: needed.or(request.records), ..request.clone() })? {
            Inference::Known(mut schema) => {
                schema.fields.retain(|field| request.wanted.includes(&field.name));
                forget_dropped(&mut schema, request);
                found.add(opened.input.name(), schema).map_err(clash)?;
            }
            Inference::Scan(mut tasks) => {
                if let Some(needed) = &mut needed {
                    let located = |e: Error| if e.kind() == Kind::Data { e.in_input(opened.input.name().clone()) } else { e };
                    let observed = observe(tasks, threads).map_err(located)?;
                    let nrecords = observed.as_ref().map_or(Some(0), |observed| observed.nrecords());
                    opened.nrecords = nrecords.filter(|_| share.is_none_or(|share| is_read_whole(opened, share)));
                    *needed = needed.saturating_sub(nrecords.unwrap_or(0));
                    tasks = Box::new(observed.into_iter().map(|observed| Ok(Box::new(|| Ok(observed)) as Task<_>)));
                }
                scanned.push(number);
                match scans.iter_mut().find(|scan| scan.format == opened.format.name()) {
                    Some(scan) => {
                        scan.tasks.push(tasks);
                        (scan.name, scan.only) = (format!("the {} inputs", scan.format), None);
                    }
                    None => {
                        let name = opened.input.name();
                        let (format, tasks) = (opened.format.name(), vec![tasks]);
                        scans.push(Scan { format, name: name.to_string(), only: Some(name.clone()), tasks });
                    }
                }
            }
        }
    }
    for Scan { name, only, tasks, .. } in scans {
        let located = |e: Error| match &only {
            Some(input) if e.kind() == Kind::Data => e.in_input(input.clone()),
            _ => e,
        };
        if let Some(observed) = observe(Box::new(tasks.into_iter().flatten()), threads).map_err(located)? {
            let mut schema = observed.schema(request).map_err(located)?;
            forget_dropped(&mut schema, request);
            found.add(&name, schema).map_err(clash)?;
        }
    }
    let is_settled = share.is_none_or(|share| scanned.iter().all(|number| is_read_whole(opened[*number], share)));
    let mut found = found.schema();
    if found.fields.is_empty()
        && request.only.is_some()
        && let Some(first) = opened.into_iter().find(|opened| opened.input.is_regular())
    {
        // None of the records with these numbers exist, but the output has their fields.
        let request = Request { only: None, sample_bytes: Some(1), ..request.clone() };
        if let Inference::Scan(tasks) = first.reader()?.infer(&request)?
            && let Some(observed) = observe(tasks, threads)?
        {
            found = observed.schema(&request)?;
        }
    }
    let mut schema = unify::overlay(&request.declared, &found);
    schema.fields.retain(|f| request.wanted.includes(&f.name));
    Ok(Inferred { schema, is_settled, is_stated: scanned.is_empty() })
}

/// Whether the first `share` bytes of the input, which have been read, are all.
fn is_read_whole(opened: &Opened, share: u64) -> bool {
    let input = &opened.input;
    let nbytes = if input.is_regular() { input.nbytes() } else { Some(input.consumed().load(Ordering::Relaxed) + 1) };
    input.codec().is_none() && nbytes.is_some_and(|nbytes| nbytes <= share)
}

/// Replaces the types of dropped fields with one that unifies with all others.
fn forget_dropped(schema: &mut Schema, request: &Request) {
    for field in schema.fields.iter_mut().filter(|field| request.dropped.includes(&field.name)) {
        field.ty = Type::NULL;
    }
}

/// The inputs of one format whose types are observed together.
struct Scan {
    format: &'static str,
    /// The input, or what the inputs are.
    name: String,
    /// The input, if there is only one.
    only: Option<Arc<str>>,
    /// Those of each input.
    tasks: Vec<Tasks<Box<dyn Observed>>>,
}

/// The schema of several inputs together.
#[derive(Default)]
pub struct Unified {
    all: Option<Schema>,
    /// The inputs whose schema differs from that of the input before, for messages.
    named: Vec<(String, Schema)>,
}

impl Unified {
    /// Adds an input.
    ///
    /// # Errors
    /// A type that fits no type of the inputs so far; the message names both inputs.
    pub fn add(&mut self, name: &str, schema: Schema) -> Result<()> {
        self.all = Some(match &self.all {
            None => schema.clone(),
            Some(all) => unify::unify(all, &schema).map_err(|error| {
                let clash = |(other, known): &(String, Schema)| unify::unify_named(known, &schema, [other, name]).err();
                self.named.iter().find_map(clash).unwrap_or(error)
            })?,
        });
        if self.named.last().is_none_or(|(_, last)| *last != schema) {
            self.named.push((name.to_owned(), schema));
        }
        Ok(())
    }

    /// The schema of all inputs; without fields if there are none.
    pub fn schema(self) -> Schema {
        self.all.unwrap_or_default()
    }
}

/// A part of an input: first the task that observes it, later the result.
enum InputPart {
    Task(Task<Box<dyn Observed>>),
    Done(Result<Box<dyn Observed>>),
}

impl WorkPiece for InputPart {}

/// Merges the observations of all parts.
struct Merge<'a>(&'a mut Option<Result<Box<dyn Observed>>>);

impl Serial<InputPart> for Merge<'_> {
    fn push(&mut self, part: InputPart, _: &mut Vec<InputPart>) -> bool {
        let InputPart::Done(observed) = part else { return true };
        match (self.0.as_mut(), observed) {
            (Some(Ok(all)), Ok(more)) => all.merge(more),
            (_, observed) => *self.0 = Some(observed),
        }
        matches!(self.0, Some(Ok(_)))
    }
}

/// Observes all parts; `None` if an input has no parts.
fn observe(mut tasks: Tasks<Box<dyn Observed>>, threads: usize) -> Result<Option<Box<dyn Observed>>> {
    let mut all = None;
    let source: Source<InputPart> =
        Box::new(move || tasks.next().map(|task| task.map_or_else(|e| InputPart::Done(Err(e)), InputPart::Task)));
    let work = |part| match part {
        InputPart::Task(task) => InputPart::Done(task()),
        done => done,
    };
    let nodes = vec![Node::Parallel(Arc::new(work)), Node::Serial(Box::new(Merge(&mut all)))];
    engine::run(Line { origin: Origin::Source(source), nodes }, threads)?;
    all.transpose()
}
