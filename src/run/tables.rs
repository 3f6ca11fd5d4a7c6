//! Lookup tables of verbs, which are read into memory before the run.

use super::inference::infer;
use super::inputs::Inputs;
use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Reason, Result};
use crate::hint::{Hint, READ_LINES};
use crate::io::{in_command, is_pipe, shown};
use crate::options::{OnError, Options, SourceColumns, Table};
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::{Field, Schema, Type};
use crate::tensor::Tensor;
use crate::verbs::Parsed;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// The options, with the tables that the verbs request.
///
/// # Errors
/// A table cannot be read, lacks the fields, or takes more than `--max-memory`.
pub fn with_tables(verbs: &[Box<dyn Parsed>], options: Arc<Options>) -> Result<Arc<Options>> {
    let wanted: Vec<_> = verbs.iter().flat_map(|verb| verb.tables()).collect();
    if wanted.is_empty() {
        return Ok(options);
    }
    let own = Options { from: None, schema: None, files_from: None, input_name: None, on_error: OnError::Fail, ..options.as_ref().clone() };
    let own = Options { source_columns: SourceColumns::default(), ..own };
    // A pipe is read through a temporary copy, as the table is read for its types first.
    let own = Arc::new(Options { infer_bytes: u64::MAX, splits_beside: true, ..own });
    let (mut tables, mut splits_beside) = (Vec::new(), options.splits_beside);
    for (file, fields) in wanted {
        let inputs = Inputs::open(std::slice::from_ref(&file), own.clone()).map_err(|e| unopened(e, &file))?;
        splits_beside |= inputs.have_splits();
        tables.push(((file.clone(), fields.clone()), read(&file, &fields, inputs, &own)?));
    }
    Ok(Arc::new(Options { tables: Arc::new(tables.into_iter().collect()), splits_beside, ..options.as_ref().clone() }))
}

fn read(file: &OsString, fields: &[String], mut inputs: Inputs, options: &Arc<Options>) -> Result<Table> {
    let name = shown(file);
    let demand = Demand { fields: Wanted::matching(fields.iter().cloned()), records: None };
    let schema = infer(&mut inputs, &demand, None, options.threads).map_err(|e| unreadable(e, &name))?.schema.plain();
    if let Some(missing) = fields.iter().find(|field| *field != "*" && schema.index_of(field).is_none()) {
        let all = infer(&mut inputs, &Demand::everything(), None, options.threads)?.schema;
        if all.fields.is_empty() && inputs.iter().all(|opened| opened.input.is_empty()) {
            // The program that writes a pipe may have filtered out everything.
            let named = fields.iter().filter(|field| *field != "*").map(|field| Field::new(field.clone(), Type::NULL)).collect();
            return empty(Schema::new(named));
        }
        let inside = FieldPath::parse(missing).ok().filter(|path| all.find(path).is_ok());
        return Err(match (all.find(&FieldPath::name(missing)), inside) {
            (Err(_), Some(path)) => {
                let error = Error::usage("is inside a structure; --key and --take refer to fields of the record").in_input(name.as_str());
                let promote = format!("tatter promote {} {}", shell_word(&path.to_string()), in_command(&name));
                error.in_field(&path).help(format!("move it out first: {promote} -o OUT"))
            }
            (Err(error), None) => match missing.split_once('=').filter(|(_, key)| all.index_of(key).is_some()) {
                // `lookup user=id in TABLE`
                Some((_, key)) => Error::usage(format!("unknown field `{missing}`"))
                    .in_input(name.as_str())
                    .help(format!("omit `={key}`, and specify the key of the table with --key {}", shell_word(key))),
                None if matches!(&all.fields[..], [only] if only.name == "text") => {
                    let number = format!("tatter enumerate {} -o ids.jsonl --no-clobber", in_command(&name));
                    let error = error.in_input(name).help(format!("number the lines first: {number}"));
                    error.help("in that table, `text` is the key and `index` the line number")
                }
                None => error.in_input(name).help("--key and --take refer to fields of the table"),
            },
            (Ok(_), _) => Error::internal("a field of a table was not read"),
        });
    }
    inputs.reopen()?;
    let (mut chunks, mut nbytes) = (Vec::new(), 0);
    for decoded in inputs.into_decoded(Arc::new(schema.clone()), demand) {
        let decoded = decoded.map_err(|e| unreadable(e, &name))?;
        if let Some(fault) = decoded.faults.into_iter().next() {
            return Err(unreadable(fault.error, &name));
        }
        nbytes += decoded.chunk.nbytes() as u64;
        if nbytes > options.max_memory {
            let error = Error::data("this table needs more memory than --max-memory allows").in_input(name.clone());
            let both = format!("duckdb -c \"SELECT * FROM 'data.parquet' LEFT JOIN {} USING (KEY)\"", in_command(&name));
            return Err(error
                .help("take fewer fields, or raise the limit with --max-memory")
                .help(format!("to join two large files: {both}")));
        }
        chunks.push(decoded.chunk);
    }
    if chunks.is_empty() {
        return empty(schema);
    }
    let rows = Chunk::concat(&chunks)?;
    Ok(Table { schema, nrows: rows.nrows, columns: rows.columns })
}

/// A table without records.
fn empty(schema: Schema) -> Result<Table> {
    let columns = schema.fields.iter().map(|field| Tensor::empty(&field.ty)).collect::<Result<_>>()?;
    Ok(Table { schema, nrows: 0, columns })
}

/// The error for a table that cannot be opened. --from describes the records of the run, not those of the table.
fn unopened(error: Error, file: &OsStr) -> Error {
    if error.reason() == Some(&Reason::Empty) {
        return error
            .without_format_options()
            .help("a table without records needs a format that stores its types: write it as Parquet or Arrow");
    }
    let Some(options) = error.helps().iter().filter(|hint| **hint != READ_LINES).find_map(Hint::format_options) else { return error };
    let name = shown(file);
    let help = match is_pipe(&name) {
        true => format!("convert it in the pipe: COMMAND | tatter convert {options}"),
        false => format!("convert it first: tatter convert {options} {} -o OUT", in_command(&name)),
    };
    error.without_format_options().help(help)
}

/// The error for a bad record of a table, to which --on-error does not apply.
fn unreadable(error: Error, table: &str) -> Error {
    error.whole_input(&in_command(table))
}
