//! Describes what a run is going to do: `--dry-run` and `--verbose`.

use super::chain::Chain;
use super::inputs::Inputs;
use super::progress::Progress;
use super::targets::Targets;
use crate::error::{Error, Result};
use crate::io::Outputs;
use crate::options::Options;
use crate::printable::{counted, one_line, plural};
use crate::schema::{Schema, notation};
use crate::screen;
use crate::verbs::Parsed;
use indicatif::BinaryBytes;
use std::io::Write;
use std::path::Path;

const INDENT: &str = "    ";

/// Prints the inputs, the schema between all verbs and the output.
///
/// # Errors
/// Writing fails.
pub fn explain(inputs: &Inputs, verbs: &[Box<dyn Parsed>], chain: &Chain, targets: &Targets) -> Result<()> {
    let columns = screen::columns().unwrap_or(screen::DEFAULT) - INDENT.len();
    let mut text = String::new();
    let chains = inputs.chains();
    for (number, opened) in inputs.iter().enumerate() {
        text += &format!("input   {} ({})\n", one_line(opened.input.name()), opened.format.name());
        if let Some(chain) = chains.iter().find(|chain| chain.end == number + 1) {
            text += &format!("{INDENT}{}\n", chain.text);
            for line in notation::fitted(&chain.schema, columns - INDENT.len()).lines() {
                text += &format!("{INDENT}{INDENT}{line}\n");
            }
        }
    }
    let mut stage = |title: &str, schema: &Schema| {
        text += &format!("{title}\n");
        for line in notation::fitted(schema, columns).lines() {
            text += &format!("{INDENT}{line}\n");
        }
    };
    stage("schema in", &chain.schemas[0]);
    for (verb, schema) in verbs.iter().zip(chain.schemas.iter().skip(1)) {
        stage(&format!("after {}", verb.name()), schema);
    }
    for output in &targets.outputs {
        text += &format!("output  {} ({})\n", one_line(output.name()), targets.format.map_or("a report", |f| f.name()));
        text += &files_written(output);
    }
    let out = Outputs::plan(&Options::default())?;
    let mut stdout = out.create_report()?;
    stdout.write_all(text.as_bytes()).map_err(|e| Error::io("standard output", "cannot write", &e))?;
    drop(stdout);
    out.commit()
}

/// The shards, and the files that would be replaced.
fn files_written(outputs: &Outputs) -> String {
    let files = outputs.files();
    let mut text = String::new();
    let name = |path: &Path| path.file_name().map_or_else(String::new, |name| one_line(&name.display().to_string()).into_owned());
    if let [first, .., last] = files.as_slice() {
        text += &format!("{INDENT}{} to {}\n", name(first), name(last));
    }
    let replaced: Vec<String> = files.iter().filter(|path| path.exists()).map(|path| name(path)).collect();
    match replaced.as_slice() {
        [] => {}
        [one] => text += &format!("{INDENT}replaces {one}\n"),
        [first, .., last] => text += &format!("{INDENT}replaces {} files, {first} to {last}\n", replaced.len()),
    }
    text
}

/// Maximum number of inputs named by `--verbose`.
const NAMED_INPUTS: usize = 8;

/// Prints the detected formats, the threads and the memory limit.
pub fn describe(inputs: &Inputs, targets: &Targets, options: &Options, progress: &Progress) {
    for opened in inputs.iter().take(NAMED_INPUTS) {
        progress.info(&format!("input: {} ({})", opened.input.name(), opened.format.name()));
    }
    if let Some(more) = inputs.iter().count().checked_sub(NAMED_INPUTS).filter(|more| *more > 0) {
        progress.info(&format!("and {more} more {}", plural(more as u64, "input")));
    }
    for output in &targets.outputs {
        progress.info(&format!("output: {} ({})", output.name(), targets.format.map_or("a report", |f| f.name())));
    }
    let (threads, memory) = (counted(options.threads as u64, "thread"), BinaryBytes(options.max_memory));
    progress.info(&format!("{threads}, {memory} of memory for verbs that buffer records"));
}
