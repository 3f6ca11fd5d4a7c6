//! `tatter index`: writes the offsets of the records of TFRecord files, for random access.

use super::conclude::refuse_counts;
use crate::error::{Error, Result};
use crate::formats::{self, IndexForm, write_index};
use crate::io::{Input, Outputs, expand};
use crate::options::Options;
use crate::printable::{counted, one_line};
use crate::verbs::Verdict;
use std::ffi::OsString;
use std::io::Write;

/// Writes the index of each file next to it, or to the output given by `-o`.
///
/// # Errors
/// A file is not a complete TFRecord or is a pipe, or an index cannot be written.
pub fn run(files: &[OsString], form: IndexForm, options: &Options, out: &mut dyn Write) -> Result<Verdict> {
    refuse_counts(options)?;
    let found = expand(files, options, &|_| false)?;
    if options.output.is_some() && found.len() > 1 {
        return Err(Error::usage(format!("-o specifies one index, but there are {} files", found.len()))
            .help("omit -o: each index is written next to its file"));
    }
    for file in found {
        let Some(path) = file.path else {
            return Err(Error::usage("cannot index standard input: expected a file").help("specify a file: tatter index FILE"));
        };
        let input = Input::regular(&path)?;
        let tfrecord = formats::find("tfrecord").ok_or_else(|| Error::internal("there is no format tfrecord"))?;
        if let Some(found) = super::format::other_than(tfrecord, &input) {
            let error = Error::data(format!("this looks like {found}, not tfrecord")).in_input(path.display().to_string());
            return Err(error.help("only TFRecord files can be indexed"));
        }
        let name = options.output.clone().unwrap_or_else(|| form.path(&path).into_os_string());
        let output = Outputs::plan(&Options { output: Some(name), is_output_literal: true, shards: None, ..options.clone() })?;
        if output.replaces(&path) {
            let error = Error::usage("the index would replace its file").in_input(path.display().to_string());
            return Err(error.help("omit -o: the index is written next to the file"));
        }
        if options.dry_run {
            let line = format!("output  {} (an index)\n", one_line(output.name()));
            out.write_all(line.as_bytes()).map_err(|e| Error::io("standard output", "cannot write", &e))?;
            continue;
        }
        let mut index = output.create(0)?;
        let records = write_index(&input, form, &mut index)?;
        index.flush().map_err(|e| Error::io(output.name(), "cannot write", &e))?;
        drop(index);
        output.commit()?;
        if !options.quiet {
            let line = format!("{}: {}\n", one_line(output.name()), counted(records, "record"));
            out.write_all(line.as_bytes()).map_err(|e| Error::io("standard output", "cannot write", &e))?;
        }
    }
    Ok(Verdict::Good)
}
