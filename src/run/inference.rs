//! The schema of all inputs together: what `--schema` says, and what the parts of each input show of its types,
//! decoded in parallel and merged in order.

use super::combine;
use super::engine::{self, Node, Piece, Serial, Source};
use super::inputs::Inputs;
use crate::demand::{Demand, Wanted};
use crate::error::Result;
use crate::formats::{Inference, Observed, Request, Task, Tasks};
use crate::schema::{Schema, unify};
use crate::verbs::combine::Combination;
use std::ops::Range;
use std::sync::Arc;

/// A schema, and whether all records are known to fit it.
pub struct Inferred {
    /// The fields wanted, of all inputs together.
    pub schema: Schema,
    /// Whether all records are known to fit the schema: each input states its types or was read whole.
    pub is_settled: bool,
}

/// The schema of the fields wanted, from all of the inputs or their first `sample_bytes`.
///
/// # Errors
/// An input cannot be read, or the types of two do not agree.
pub fn infer(inputs: &mut Inputs, demand: &Demand, sample_bytes: Option<u64>, threads: usize) -> Result<Inferred> {
    let share = sample_bytes.map(|n| n / inputs.iter().count().max(1) as u64).map(|n| n.max(64 << 10));
    let all = 0..inputs.iter().count();
    let Some(plan) = inputs.plan() else { return infer_files(inputs, all, inputs.request(demand.clone(), share), threads) };
    let ranges = plan.ranges.clone();
    match &plan.how {
        Combination::Chosen(_) => infer_files(inputs, all, inputs.request(demand.clone(), share), threads),
        Combination::Listed(_, field) => {
            let (field, files) = (field.clone(), ranges.first().cloned().unwrap_or_default());
            let own = |demand| Request { declared: Arc::default(), ..inputs.request(demand, share) };
            let only = Demand { fields: Wanted::Matching(vec![field.clone()]), records: None };
            let (only, everything) = (own(only), own(Demand::everything()));
            let name = inputs.iter().next().map_or_else(|| Arc::from(""), |opened| opened.input.name().clone());
            let mut list = infer_files(inputs, files.clone(), only, threads)?;
            if list.schema.index_of(&field).is_none() && inputs.are_regular() {
                // The message lists the fields.
                list = infer_files(inputs, files.clone(), everything, threads)?;
            }
            combine::check_list(&list.schema, &field, name)?;
            let found = infer_files(inputs, files.end..all.end, inputs.request(demand.clone(), share), threads)?;
            let schemas = std::iter::once(list.schema).chain(ranges.iter().skip(1).map(|_| found.schema.clone())).collect();
            let schema = inputs.combine_schemas(schemas, found.schema)?;
            Ok(Inferred { schema, is_settled: list.is_settled && found.is_settled })
        }
        Combination::Zipped { names, .. } => {
            let fields = if names.is_some() { Wanted::All } else { demand.fields.clone() };
            let (mut schemas, mut is_settled) = (Vec::new(), true);
            for range in ranges {
                let request = inputs.request(Demand { fields: fields.clone(), records: demand.records }, share);
                let found = infer_files(inputs, range, request, threads)?;
                is_settled &= found.is_settled;
                schemas.push(found.schema);
            }
            let mut schema = inputs.combine_schemas(schemas, Schema::default())?;
            if !matches!(fields, Wanted::All) {
                schema.fields.retain(|f| demand.fields.includes(&f.name));
            }
            Ok(Inferred { schema, is_settled })
        }
    }
}

/// The schema of the fields wanted, from some of the files.
fn infer_files(inputs: &mut Inputs, files: Range<usize>, request: Request, threads: usize) -> Result<Inferred> {
    let share = request.sample_bytes;
    let mut scans: Vec<(&'static str, Tasks<Box<dyn Observed>>)> = Vec::new();
    let mut found: Option<Schema> = None;
    let mut is_settled = true;
    for opened in inputs.iter_mut().skip(files.start).take(files.len()) {
        match opened.reader.infer(&request)? {
            Inference::Known(schema) => found = Some(unified(found, schema).map_err(|e| e.in_input(opened.input.name().clone()))?),
            Inference::Scan(tasks) => {
                is_settled &= share.is_none_or(|share| opened.input.codec().is_none() && opened.input.nbytes().is_some_and(|n| n <= share));
                match scans.iter_mut().find(|(name, _)| *name == opened.format.name()) {
                    Some((_, all)) => {
                        let before = std::mem::replace(all, Box::new(std::iter::empty()));
                        *all = Box::new(before.chain(tasks));
                    }
                    None => scans.push((opened.format.name(), tasks)),
                }
            }
        }
    }
    for (_, tasks) in scans {
        if let Some(observed) = observe(tasks, threads)? {
            found = Some(unified(found, observed.schema(&request)?)?);
        }
    }
    let mut schema = unify::overlay(&request.declared, &found.unwrap_or_default());
    schema.fields.retain(|f| request.wanted.includes(&f.name));
    Ok(Inferred { schema, is_settled })
}

fn unified(found: Option<Schema>, schema: Schema) -> Result<Schema> {
    match found {
        Some(found) => unify::unify(&found, &schema)
            .map_err(|e| e.help("make the types agree first: drop, rename or cast the field in one of the inputs")),
        None => Ok(schema),
    }
}

/// A part of an input: first the task that observes it, then what it observed.
enum Part {
    Task(Task<Box<dyn Observed>>),
    Done(Result<Box<dyn Observed>>),
}

impl Piece for Part {}

/// Merges what all parts show.
struct Merge<'a>(&'a mut Option<Result<Box<dyn Observed>>>);

impl Serial<Part> for Merge<'_> {
    fn push(&mut self, part: Part, _: &mut Vec<Part>) -> bool {
        let Part::Done(observed) = part else { return true };
        match (self.0.as_mut(), observed) {
            (Some(Ok(all)), Ok(more)) => all.merge(more),
            (_, observed) => *self.0 = Some(observed),
        }
        matches!(self.0, Some(Ok(_)))
    }
}

/// Observes all parts; `None` of an input without any.
fn observe(mut tasks: Tasks<Box<dyn Observed>>, threads: usize) -> Result<Option<Box<dyn Observed>>> {
    let mut all = None;
    let source: Source<Part> = Box::new(move || tasks.next().map(|task| task.map_or_else(|e| Part::Done(Err(e)), Part::Task)));
    let work = |part| match part {
        Part::Task(task) => Part::Done(task()),
        done => done,
    };
    let nodes = vec![Node::Parallel(Arc::new(work)), Node::Serial(Box::new(Merge(&mut all)))];
    engine::run(source, nodes, threads)?;
    all.transpose()
}
