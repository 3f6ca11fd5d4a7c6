//! `diff A B`: prints the first difference between two datasets of any formats.
//!
//! Both are read under a schema that fits the records of both, so that equal values are equal in memory. Records are
//! compared one at a time; one block of each dataset is held.

mod facts;

use super::conclude::{refuse_counts, show_notices};
use super::inputs::check_split;
use super::progress::Progress;
use super::records::Records;
use crate::chunk::{Decoded, Rest};
use crate::error::{Error, Kind, Result};
use crate::io::{Distribution, Outputs, ReadFile, STANDARD_INPUT};
use crate::json::value_text;
use crate::options::{OnError, Options};
use crate::path::quoted;
use crate::printable::{counted, in_json, one_line, shell_word};
use crate::schema::{Field, Schema, Type, unify};
use crate::tensor::equal::Tolerance;
use crate::tensor::{RowPartition, Tensor};
use crate::verbs::Verdict;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum length of a printed value, in characters.
const VALUE_CHARS: usize = 120;

/// What counts as a difference.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// Ignores everything that the files declare besides values.
    pub values_only: bool,
    /// How far floats may be apart.
    pub tolerance: Option<Tolerance>,
}

/// Compares two datasets and writes the first difference to `-o`, or to `out`.
///
/// # Errors
/// One of them cannot be read; writing fails.
pub fn run(a: &OsStr, b: &OsStr, comparison: Comparison, options: &Options, out: &mut dyn Write) -> Result<Verdict> {
    if a == "-" && b == "-" {
        return Err(Error::usage("only one of the two can be standard input"));
    }
    refuse_counts(options)?;
    let output = options.output.as_ref().map(|_| Outputs::plan(options)).transpose()?.filter(|output| !output.is_stdout());
    if let Some(output) = &output {
        output.refuse_inputs(&[a, b].map(|file| ReadFile::from(PathBuf::from(file))))?;
        if output.distribution() != Distribution::Single {
            return Err(Error::usage("diff writes its report to one file, not to several").in_input(output.name().clone()));
        }
    }
    // A record left out would shift all later ones.
    let whole = Options { on_error: OnError::Fail, splits_beside: true, ..options.clone() };
    let (mut left, mut right) = (Records::open(a, &whole)?, Records::open(b, &whole)?);
    check_split(left.has_splits() || right.has_splits(), options)?;
    let schemas = (left.schema().map_err(|e| unreadable(e, a, options))?, right.schema().map_err(|e| unreadable(e, b, options))?);
    let names = [a, b].map(|name| name.display().to_string());
    let difference = match unify::unify_named(&schemas.0, &schemas.1, [&shown(&names[0]), &shown(&names[1])]) {
        Ok(schema) => {
            let schema = Arc::new(schema);
            let (mut left, mut right) = (Side::new(left, a, &schema, options), Side::new(right, b, &schema, options));
            match first_difference(&mut left, &mut right, &schema, comparison.tolerance)? {
                None if !comparison.values_only => facts::difference(&schemas.0, &schemas.1, [&left.shown(), &right.shown()]),
                found => found,
            }
        }
        Err(clash) => Some(format!("the types differ: {clash}\n")),
    };
    show_notices(options, &Progress::start(None, options));
    let text = difference.as_deref().unwrap_or_default();
    match output {
        Some(output) => {
            let mut file = output.create_report()?;
            file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(Error::output)?;
            drop(file);
            output.commit()?;
        }
        None => out.write_all(text.as_bytes()).map_err(Error::output)?,
    }
    Ok(if difference.is_none() { Verdict::Good } else { Verdict::Bad })
}

/// The error for a bad record of one of the two.
fn unreadable(error: Error, name: &OsStr, options: &Options) -> Error {
    let mut words = shell_word(&name.display().to_string());
    if let Some(format) = &options.from {
        words.push_str(&format!(" --from {format}"));
    }
    if let Some(schema) = &options.schema {
        words.push_str(&format!(" --schema {}", shell_word(&schema.display().to_string())));
    }
    error.whole_input(&words)
}

/// One of the two streams, with the records read but not compared yet.
struct Side<'a> {
    name: String,
    options: &'a Options,
    records: Box<dyn Iterator<Item = Result<Decoded>>>,
    chunk: Option<Rest>,
}

impl Side<'_> {
    fn new<'a>(records: Records, name: &OsStr, schema: &Arc<Schema>, options: &'a Options) -> Side<'a> {
        Side { name: name.display().to_string(), options, records: Box::new(records.read(schema.clone())), chunk: None }
    }

    /// The name in the report.
    fn shown(&self) -> Cow<'_, str> {
        shown(&self.name)
    }

    /// Whether there are records to compare.
    fn fill(&mut self) -> Result<bool> {
        while self.chunk.as_ref().is_none_or(|rest| rest.nrows() == 0) {
            let Some(decoded) = self.records.next() else { return Ok(false) };
            // Records that do not fit a common inferred schema: bad data.
            let decoded = decoded.map_err(|e| if e.kind() == Kind::Widened { e.with_kind(Kind::Data) } else { e });
            let decoded = decoded.map_err(|e| unreadable(e, self.name.as_ref(), self.options))?;
            if let Some(fault) = decoded.faults.into_iter().next() {
                return Err(unreadable(fault.error, self.name.as_ref(), self.options));
            }
            self.chunk = Some(Rest::of(decoded.chunk));
        }
        Ok(true)
    }
}

/// The name of an input in the report.
fn shown(name: &str) -> Cow<'_, str> {
    if name == "-" { Cow::Borrowed(STANDARD_INPUT) } else { one_line(name) }
}

fn first_difference(left: &mut Side, right: &mut Side, schema: &Schema, tolerance: Option<Tolerance>) -> Result<Option<String>> {
    let mut record = 1;
    loop {
        match (left.fill()?, right.fill()?) {
            (false, false) => return Ok(None),
            (true, true) => {}
            (more, _) => {
                let (longer, shorter) = if more { (left.shown(), right.shown()) } else { (right.shown(), left.shown()) };
                return Ok(Some(format!("record {record}: only in {longer}; {shorter} ends before it\n")));
            }
        }
        let (Some(a), Some(b)) = (&mut left.chunk, &mut right.chunk) else { return Ok(None) };
        let nrows = a.nrows().min(b.nrows());
        let (first, second) = (a.take(nrows), b.take(nrows));
        let differing = (0..schema.fields.len())
            .filter_map(|field| first.columns[field].first_difference_beyond(&second.columns[field], tolerance).map(|row| (row, field)))
            .min();
        if let Some((row, field)) = differing {
            let (index, field) = (field, &schema.fields[field]);
            let at = At { path: quoted(&field.name), ty: &field.ty };
            let found = descend(at, (&first.columns[index], row), (&second.columns[index], row), tolerance);
            let record = record + row as u64;
            return Ok(Some(format!(
                "record {record}: {}\n  {}: {}\n  {}: {}\n",
                one_line(&found.path),
                left.shown(),
                found.values[0],
                right.shown(),
                found.values[1]
            )));
        }
        record += nrows as u64;
    }
}

/// A field inside the record, given its path.
struct At<'a> {
    path: String,
    ty: &'a Type,
}

struct ValueDifference {
    path: String,
    values: [String; 2],
}

/// One row of a tensor.
type Row<'a> = (&'a Tensor, usize);

/// Descends from two rows that differ to the innermost values that differ.
fn descend(at: At, a: Row, b: Row, tolerance: Option<Tolerance>) -> ValueDifference {
    let valid = |(tensor, row): Row| tensor.validity().is_none_or(|v| v.is_valid(row));
    if valid(a) && valid(b) {
        match (a.0, b.0) {
            (Tensor::List(x), Tensor::List(y)) if x.partition().row_length(a.1) == y.partition().row_length(b.1) => {
                let values = |p: &RowPartition, row| p.range(row);
                let pairs = values(x.partition(), a.1).zip(values(y.partition(), b.1));
                if let Some((index, (i, j))) = pairs.enumerate().find(|(_, (i, j))| !x.values().rows_near(*i, y.values(), *j, tolerance)) {
                    let path = format!("{}[{index}]", at.path);
                    return descend(At { path, ty: at.ty }, (x.values(), i), (y.values(), j), tolerance);
                }
            }
            (Tensor::Struct(x), Tensor::Struct(y)) => {
                let fields: &[Field] = at.ty.fields().unwrap_or(&[]);
                let mut members = fields.iter().zip(x.fields().iter().zip(y.fields()));
                if let Some((field, (f, g))) = members.find(|(_, (f, g))| !f.rows_near(a.1, g, b.1, tolerance)) {
                    let path = format!("{}.{}", at.path, quoted(&field.name));
                    return descend(At { path, ty: &field.ty }, (f, a.1), (g, b.1), tolerance);
                }
            }
            _ => {}
        }
    }
    let [x, y] = [a, b].map(|(tensor, row)| in_json(&value_text(tensor, at.ty, row)).into_owned());
    let same = x.chars().zip(y.chars()).take_while(|(x, y)| x == y).count();
    // A difference that the start does not show is shown with some of the text before it.
    let from = if same < VALUE_CHARS { 0 } else { same - VALUE_CHARS / 3 };
    ValueDifference { values: [text(a, &x, from), text(b, &y, from)], path: at.path }
}

/// The text of a value from a character on, shortened.
fn text((tensor, row): Row, whole: &str, from: usize) -> String {
    if from == 0 && whole.chars().count() <= VALUE_CHARS {
        return whole.to_owned();
    }
    let shown: String = whole.chars().skip(from).take(VALUE_CHARS).collect();
    let start = if from > 0 { format!("...{shown}") } else { shown };
    if from + VALUE_CHARS >= whole.chars().count() {
        return start;
    }
    match tensor {
        Tensor::List(list) => format!("{start}... ({})", counted(list.partition().row_length(row) as u64, "value")),
        _ => format!("{start}..."),
    }
}
