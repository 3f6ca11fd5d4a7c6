//! `diff A B`: prints the first difference between two datasets of any formats.
//!
//! Both are read under a schema that fits the records of both, so that equal values are equal in memory. Records are
//! compared one at a time; one block of each dataset is held. With `--by`, they are paired by key instead of by position.

mod by_key;
mod facts;
mod side;
mod values;

use super::conclude::{refuse_counts, show_notices};
use super::inputs::check_split;
use super::progress::Progress;
use super::records::Records;
use crate::error::{Error, Result};
use crate::io::{Distribution, Outputs, ReadFile};
use crate::options::{OnError, Options};
use crate::schema::{Schema, unify};
use crate::tensor::equal::Tolerance;
use crate::verbs::{Keys, Verdict};
use side::{Side, shown, unreadable};
use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use values::described;

/// What counts as a difference.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The key by which records are paired; `None`: by position.
    pub by: Option<Keys>,
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
            let found = match &comparison.by {
                None => first_difference(&mut left, &mut right, &schema, comparison.tolerance)?,
                Some(by) => by_key::difference([&mut left, &mut right], &schema, by, comparison.tolerance)?,
            };
            match found {
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
            let found = described(&schema.fields[field], (&first.columns[field], row), (&second.columns[field], row), tolerance);
            let record = record + row as u64;
            return Ok(Some(format!("record {record}: {}\n", found.text(&[left.shown(), right.shown()]))));
        }
        record += nrows as u64;
    }
}
