//! `validate`: reads all input and reports errors.

use super::shared::edit::visit;
use super::verb::{Bound, Example, Flow, Operator, Report, Verb, Verdict};
use crate::chunk::{Chunk, Fault, Origin};
use crate::error::{Error, Result};
use crate::message;
use crate::notice::Notices;
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::{counted, one_line, size_left_out};
use crate::schema::{Element, Field, Schema, Type};
use crate::tensor::{Tensor, row_of};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

/// Maximum number of errors printed.
const SHOWN: usize = 100;

/// Checks all input and reports errors.
#[derive(clap::Args, Clone, Debug)]
pub struct Validate {
    /// Also report fields that --schema does not name, at any depth
    #[arg(long)]
    closed: bool,
}

impl Verb for Validate {
    const NAME: &'static str = "validate";
    const REPORTS: bool = true;
    const TAKES_FAULTS: bool = true;
    const SUMMARY: &'static str = "Check all input and report errors";
    const ABOUT: &'static str = "\
Reads every record and every field, and reports the first error of each record: damaged framing and wrong checksums of TFRecords, records that do \
not parse or do not match the schema (declared with --schema or inferred), partitions that do not match their values, sparse indices out \
of bounds. Sparse tensors whose indices are unsorted or repeated are reported too: they are valid, but some verbs reject them. Conditions \
that cause only a notice in other verbs are also reported: an Arrow stream without its end marker, bytes after compressed data, columns with the \
same name.

With --closed, every field that --schema does not name is an error too, also inside structures. It is reported once, with the first record that has a value there.

Prints the errors and the number of records, with --messages json as one JSON object. The exit code is 1 if there are errors or, with --max-errors N, if there are more than N.";
    const EXAMPLES: &'static [Example] = &[
        Example { about: "a valid file", args: "validate", input: "{\"id\": 1}\n{\"id\": 2}\n", output: "2 records, no problems found\n" },
        Example {
            about: "a record that does not match the schema, and one that is not valid JSON",
            args: "validate --from jsonl --schema 'id: int64'",
            input: "{\"id\": 1}\n{\"id\": \"two\"}\n{\"id\": 3\n{\"id\": 4}\n",
            output: "standard input: record 2 (line 2, column 8): id: expected an integer, found the string \"two\"\nstandard input: record 3 (line 3, column 9): expected a comma or `}`, found the end of the line\n2 valid records, 2 bad records (23 bytes)\n",
        },
        Example {
            about: "a misspelt key",
            args: "validate --closed --schema 'id: int64; meta: {lang: optional string}'",
            input: "{\"id\": 1, \"meta\": {\"lang\": \"en\"}}\n{\"id\": 2, \"meta\": {\"lagn\": \"fr\"}}\n",
            output: "standard input: record 2: meta.lagn is not in --schema\n2 records, 1 field not in --schema\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let mut unnamed = Vec::new();
        if self.closed {
            if options.schema.is_none() {
                return Err(Error::usage("--closed requires --schema"));
            }
            add_unnamed(&schema.fields, &options.declared.fields, (None, &[]), &mut unnamed);
            // Those of --source are not in the files.
            let added = options.source_columns.0.iter().map(|(name, _)| name).chain(options.hive_fields.iter().map(|field| &field.name));
            let added: HashSet<&String> = added.collect();
            unnamed.retain(|field| field.positions.len() > 1 || !added.contains(&schema.fields[field.positions[0]].name));
        }
        let (allowed, notices) = (options.max_errors.unwrap_or(0), options.notices.clone());
        let findings =
            Findings { schema: schema.clone(), allowed, notices, is_json: options.json_messages, unnamed, ..Findings::default() };
        Ok(Bound { schema: Arc::new(Schema::default()), operator: Operator::Report(Box::new(findings)) })
    }
}

/// A field that `--schema` does not name.
struct Unnamed {
    path: FieldPath,
    /// Its position in each structure on the way.
    positions: Vec<usize>,
    /// Whether a record with a value there has been reported.
    is_noted: bool,
}

/// Adds the fields that are not declared. `at`: the path and the positions of the structure that contains them.
fn add_unnamed(fields: &[Field], declared: &[Field], at: (Option<&FieldPath>, &[usize]), found: &mut Vec<Unnamed>) {
    let types: HashMap<&str, &Type> = declared.iter().map(|field| (field.name.as_str(), &field.ty)).collect();
    for (position, field) in fields.iter().enumerate() {
        let path = at.0.map_or_else(|| FieldPath::name(&field.name), |parent| parent.join(&field.name));
        let positions = [at.1, &[position]].concat();
        match types.get(field.name.as_str()) {
            None => found.push(Unnamed { path, positions, is_noted: false }),
            Some(ty) => {
                if let (Some(inner), Some(declared)) = (field.ty.fields(), ty.fields()) {
                    add_unnamed(inner, declared, (Some(&path), &positions), found);
                }
            }
        }
    }
}

#[derive(Default)]
struct Findings {
    schema: Arc<Schema>,
    records: u64,
    bad: u64,
    bytes_lost: u64,
    unordered: u64,
    /// With --closed.
    unnamed: Vec<Unnamed>,
    /// The first errors.
    errors: Vec<Error>,
    /// Errors in the records up to the current chunk that are not yet among them, with their input and record, to sort by.
    pending: Vec<((usize, u64), Error)>,
    /// The inputs of errors, in order.
    inputs: Vec<Option<Arc<str>>>,
    allowed: u64,
    /// Whether the report is JSON.
    is_json: bool,
    /// Problems that other verbs report as notices.
    notices: Notices,
}

impl Findings {
    fn note(&mut self, error: &Error) {
        if self.errors.len() >= SHOWN {
            return;
        }
        let (at, before) = (error.location(), self.pending.last().map_or((0, 0), |(key, _)| *key));
        let key = at.records.map_or(before, |(record, _)| (place_in(&mut self.inputs, at.input.as_ref()), record));
        self.pending.push((key, error.clone()));
        if self.pending.len() > 8 * SHOWN {
            self.pending.sort_by_key(|(key, _)| *key);
            self.pending.truncate(SHOWN);
        }
    }

    /// Lists the errors of a chunk in the order of the records, in which neither its bad records nor its fields are noted.
    fn list_pending(&mut self) {
        self.pending.sort_by_key(|(key, _)| *key);
        let left = SHOWN - self.errors.len();
        self.errors.extend(self.pending.drain(..).take(left).map(|(_, error)| error));
    }

    /// Notes the fields that `--schema` does not name, at the first record with a value there.
    fn note_unnamed(&mut self, chunk: &Chunk) -> Result<()> {
        let mut unnamed = std::mem::take(&mut self.unnamed);
        for field in unnamed.iter_mut().filter(|field| !field.is_noted) {
            let mut first = None;
            visit(chunk, &field.positions, &mut |tensor, scope| {
                let validity = tensor.validity();
                let value = (0..tensor.nrows()).find(|row| validity.as_ref().is_none_or(|validity| validity.is_valid(*row)));
                first = value.map(|value| row_of(&scope.records, value));
                Ok(())
            })?;
            if let Some(row) = first {
                field.is_noted = true;
                self.note(&chunk.origin.resolve(not_in_schema(&field.path).at_row(row), usize::MAX));
            }
        }
        self.unnamed = unnamed;
        Ok(())
    }

    /// Sparse tensors anywhere in a column with unsorted or repeated indices.
    fn order(&mut self, field: &Field, tensor: &Tensor, path: &FieldPath, record: &mut dyn FnMut(usize) -> usize, origin: &Origin) {
        match tensor {
            Tensor::Leaf(_) => {}
            Tensor::List(list) => {
                let mut outer = |item: usize| record(row_of(list.partition(), item));
                self.order(field, list.values(), path, &mut outer, origin);
            }
            Tensor::Struct(s) => {
                let Element::Struct(fields) = &field.ty.element else { return };
                for (inner, tensor) in fields.iter().zip(s.fields()) {
                    self.order(inner, tensor, &path.join(&inner.name), record, origin);
                }
            }
            Tensor::Sparse(sparse) => {
                for row in 0..sparse.nrows() {
                    let range = sparse.entries().range(row);
                    let Some(entry) = range.skip(1).find(|e| sparse.index_of(e - 1) >= sparse.index_of(*e)) else { continue };
                    self.unordered += 1;
                    let (before, after) = (sparse.index_of(entry - 1), sparse.index_of(entry));
                    let what = if before == after { "comes twice" } else { "is out of order" };
                    let error = Error::data(format!("the index {after:?} {what}")).in_field(path).at_row(record(row));
                    self.note(&origin.resolve(error, usize::MAX));
                }
            }
        }
    }
}

impl Report for Findings {
    fn takes_faults(&self) -> bool {
        true
    }

    fn fault(&mut self, fault: &Fault) {
        self.bad += 1;
        self.bytes_lost += fault.length;
        self.note(&fault.error);
    }

    fn push(&mut self, chunk: &Chunk, _: &mut dyn Write) -> Result<Flow> {
        self.records += chunk.nrows as u64;
        let schema = self.schema.clone();
        chunk.check(&schema)?;
        for (field, column) in schema.fields.iter().zip(&chunk.columns) {
            self.order(field, column, &FieldPath::name(&field.name), &mut |row| row, &chunk.origin);
        }
        self.note_unnamed(chunk)?;
        self.list_pending();
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict> {
        let notices = self.notices.take();
        self.list_pending();
        // Those without values.
        let others: Vec<Error> = self.unnamed.iter().filter(|field| !field.is_noted).map(|field| not_in_schema(&field.path)).collect();
        let left = SHOWN - self.errors.len();
        self.errors.extend(others.into_iter().take(left));
        let found = self.bad + self.unordered + self.unnamed.len() as u64 + notices.len() as u64;
        let text = if self.is_json { self.json(&notices) } else { self.text(&notices) };
        writeln!(out, "{text}").map_err(|e| Error::io("output", "cannot write", &e))?;
        Ok(if found > self.allowed { Verdict::Bad } else { Verdict::Good })
    }
}

impl Findings {
    /// The number of errors that are not listed.
    fn nleft_out(&self) -> u64 {
        (self.bad + self.unordered + self.unnamed.len() as u64).saturating_sub(self.errors.len() as u64)
    }

    fn json(&self, notices: &[String]) -> String {
        let errors = self.errors.iter().map(|error| Value::Object(message::parts(error)));
        let findings: Vec<Value> = errors.chain(notices.iter().map(|notice| json!({"message": notice}))).collect();
        let report = json!({
            "records": self.records, "bad_records": self.bad, "bytes_lost": self.bytes_lost, "not_in_order": self.unordered,
            "not_in_schema": self.unnamed.len(),
            "findings": findings, "left_out": self.nleft_out(), "text": self.text(notices),
        });
        message::line(&report)
    }

    fn text(&self, notices: &[String]) -> String {
        // Only the message is listed, without the hint.
        let error_line = |error: &Error| error.to_string().lines().next().unwrap_or_default().to_owned();
        let mut lines: Vec<String> = self.errors.iter().map(error_line).collect();
        lines.extend(notices.iter().map(|notice| one_line(notice).into_owned()));
        if self.nleft_out() > 0 {
            lines.push(format!("and {} more", self.nleft_out()));
        }
        let mut parts = vec![counted(self.records, if self.bad > 0 { "valid record" } else { "record" })];
        if self.bad + self.unordered == 0 && self.unnamed.is_empty() && notices.is_empty() {
            parts.push("no problems found".to_owned());
        }
        if self.bad > 0 {
            parts.push(format!("{}{}", counted(self.bad, "bad record"), size_left_out(self.bytes_lost)));
        }
        if self.unordered > 0 {
            parts.push(format!("{} not in order", counted(self.unordered, "sparse tensor")));
        }
        if !self.unnamed.is_empty() {
            parts.push(format!("{} not in --schema", counted(self.unnamed.len() as u64, "field")));
        }
        if !notices.is_empty() {
            parts.push(counted(notices.len() as u64, "other finding"));
        }
        lines.push(parts.join(", "));
        lines.join("\n")
    }
}

/// The position of an input in the list, to which it is added.
fn place_in(inputs: &mut Vec<Option<Arc<str>>>, input: Option<&Arc<str>>) -> usize {
    inputs.iter().position(|known| known.as_ref() == input).unwrap_or_else(|| {
        inputs.push(input.cloned());
        inputs.len() - 1
    })
}

fn not_in_schema(path: &FieldPath) -> Error {
    Error::data("is not in --schema").in_field(path)
}
