//! The outputs of a run: one, one for each part of a split, or one for each input.

use super::format;
use super::inputs::Inputs;
use crate::error::{Error, Result};
use crate::formats::Format;
use crate::io::{self, Distribution, Outputs};
use crate::options::{Compression, OnError, Options};
use crate::verbs::{OutputPart, Parsed};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

/// The outputs of a chain, and their format unless it ends in a report.
pub struct Targets {
    /// One, or one for each part of a split.
    pub outputs: Vec<Arc<Outputs>>,
    /// The format of all of them.
    pub format: Option<&'static dyn Format>,
    /// Whether the outputs are per value of a key, created by [`Targets::of_value`]; their names contain `{}`.
    pub of_values: bool,
}

impl Targets {
    /// Determines the outputs from `-o` and the last verb.
    ///
    /// # Errors
    /// A name that cannot be written, or parts with different formats.
    pub fn plan(last: Option<&dyn Parsed>, options: &Options) -> Result<Targets> {
        if last.map(Parsed::parts).transpose()?.flatten().is_some_and(|parts| parts.contains(&OutputPart::EachValue)) {
            return Targets::plan_of_values(options);
        }
        let mut outputs = Vec::new();
        let mut format: Option<&'static dyn Format> = None;
        for name in names(last, options)? {
            let is_report = last.is_some_and(|verb| verb.is_report());
            if let (Some(own), false) = (format::directory_of(options), is_report) {
                outputs.push(Arc::new(directory(own, name.as_deref(), options)?));
                format = Some(own);
                continue;
            }
            let mut output = Outputs::plan(&Options { output: name, ..options.clone() })?;
            if let (true, Some(verb)) = (is_report && output.distribution() != Distribution::Single, last) {
                let error = Error::usage(format!("{} writes its report to one file, not to several", verb.name()));
                return Err(error.in_input(output.name().clone()));
            }
            if !is_report {
                let own = format::of_output(&output, options)?;
                if let Some(first) = format.filter(|first| first.name() != own.name()) {
                    let message = format!("the outputs of a split must have the same format: found {} and {}", first.name(), own.name());
                    return Err(Error::usage(message).help("choose one for both with --to"));
                }
                format = Some(own);
                finish(&mut output, own, options)?;
            }
            if outputs.iter().any(|other: &Arc<Outputs>| other.overlaps(&output)) {
                return Err(Error::usage("two outputs have the same name").in_input(output.name().clone()));
            }
            outputs.push(Arc::new(output));
        }
        Ok(Targets { outputs, format, of_values: false })
    }

    fn plan_of_values(options: &Options) -> Result<Targets> {
        let example = "to name each file after its value: -o 'out/{}.jsonl'";
        let Some(output) = options.output.as_deref().filter(|output| *output != OsStr::new("-")) else {
            return Err(Error::usage("the files of --by need names: use -o").help(example));
        };
        if is_directory(output) {
            return Err(parts_in(output, options));
        }
        if !output.to_string_lossy().contains(VALUE) && Path::new(output).metadata().is_ok_and(|found| !found.is_file()) {
            let error = Error::usage("this is not a regular file").in_input(output.to_string_lossy().as_ref());
            return Err(error.help(example));
        }
        let name = io::part_name(output, VALUE)?;
        if Path::new(&name).parent().is_some_and(|directory| directory.to_string_lossy().contains(VALUE)) {
            let error =
                Error::usage("`{}` is replaced by a value, which cannot be a directory").in_input(output.to_string_lossy().as_ref());
            return Err(error.help(example));
        }
        if let Some(own) = format::directory_of(options) {
            let error = Error::usage(format!("{} writes a directory, but split --by writes a file for each value", own.name()));
            return Err(error.help("divide the records into parts with --into, or choose another format with --to"));
        }
        let mut output = Outputs::plan(&Options { output: Some(name), ..options.clone() })?;
        if output.distribution() != Distribution::Single {
            let error = Error::usage("split --by writes one file for each value, not shards").in_input(output.name().clone());
            return Err(error.help(example));
        }
        let format = format::of_output(&output, options)?;
        finish(&mut output, format, options)?;
        Ok(Targets { outputs: vec![Arc::new(output)], format: Some(format), of_values: true })
    }

    /// The output for the value with this name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn of_value(name: &str, format: &'static dyn Format, options: &Options) -> Result<Outputs> {
        let Some(output) = options.output.as_deref() else { return Err(Error::internal("a value without an output")) };
        let output = Some(io::part_name(output, name)?);
        // A set of threads for each of many files would be too many.
        let own = Options { output, is_output_literal: true, threads: 1, ..options.clone() };
        let mut output = Outputs::plan(&own)?;
        finish(&mut output, format, &own)?;
        Ok(output)
    }
}

/// The placeholder for the value in the name of an output.
const VALUE: &str = "{}";

/// The compression of an output, and its companion file.
fn finish(output: &mut Outputs, format: &'static dyn Format, options: &Options) -> Result<()> {
    format::note_extension(format, output, options)?;
    output.compress(format::compression_of_output(format, output, options)?);
    format.pair().map_or(Ok(()), |extensions| output.pair(extensions, options))
}

/// An output that is a directory.
fn directory(format: &'static dyn Format, name: Option<&OsStr>, options: &Options) -> Result<Outputs> {
    let (Some(directory), Some(name)) = (format.directory(), name.filter(|name| *name != OsStr::new("-"))) else {
        let error = Error::usage(format!("{} writes a directory, which cannot go to standard output", format.name()));
        return Err(error.help(format!("specify it: --to {} -o DIR", format.name())));
    };
    let path = Path::new(name);
    Outputs::directory(path, &directory.shards(path, options)?, options)
}

/// The names of the outputs; `None` is standard output.
fn names(last: Option<&dyn Parsed>, options: &Options) -> Result<Vec<Option<OsString>>> {
    let Some(parts) = last.map(Parsed::parts).transpose()?.flatten() else { return Ok(vec![options.output.clone()]) };
    let name = |part| match part {
        OutputPart::Output => Ok(options.output.clone()),
        OutputPart::File(file) => Ok(Some(file)),
        OutputPart::EachValue => Err(Error::internal("the names of values are known later")),
        OutputPart::Named(part) => match options.output.as_deref().filter(|output| *output != OsStr::new("-")) {
            Some(output) if is_directory(output) => Err(parts_in(output, options)),
            Some(output) => io::part_name(output, &part).map(Some),
            None => {
                Err(Error::usage("the output files need names: use -o OUT").help(format!("-o data.parquet writes data-{part}.parquet ...")))
            }
        },
    };
    parts.into_iter().map(name).collect()
}

/// Whether a name is that of a directory, next to which files would be unexpected.
fn is_directory(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b"/") || (!name.as_encoded_bytes().contains(&b'{') && Path::new(name).is_dir())
}

/// The error for parts of a split inside a directory, with a suggested name.
fn parts_in(directory: &OsStr, options: &Options) -> Error {
    let format = options.to.as_deref().and_then(crate::formats::find);
    let extension = match format {
        Some(format) => format.extensions().first().map(|extension| format!(".{extension}")).unwrap_or_default(),
        None => ".jsonl".to_owned(),
    };
    let shown = directory.to_string_lossy();
    let name = format!("{}/{{}}{extension}", shown.trim_end_matches('/'));
    Error::usage("this is a directory: expected a name for the parts")
        .in_input(shown.as_ref())
        .help(format!("`{{}}` is replaced by the name of the part: -o {}", crate::printable::shell_word(&name)))
}

/// The name in `--output-dir` for an open input: its own, with the extension of the output format.
///
/// # Errors
/// Standard input has no name, or the format has no extension.
pub fn name_in(directory: &OsStr, inputs: &Inputs, options: &Options) -> Result<OsString> {
    let Some(opened) = inputs.iter().next() else { return Err(Error::internal("a run without an input")) };
    let data_set = opened.input.directory().map(data_set_name).transpose()?;
    let name = data_set.as_deref().or_else(|| opened.input.path().and_then(Path::file_name));
    let Some(file) = name else {
        let error = Error::usage("standard input has no name for a file in --output-dir");
        return Err(error.help("specify the output instead: -o FILE"));
    };
    let output = match &options.to {
        Some(to) => crate::formats::find(to).unwrap_or(opened.format),
        None => opened.format,
    };
    let compression = match options.compression.filter(|_| !output.has_compression()) {
        Some(Compression::Gzip) => ".gz",
        Some(Compression::Zstd(_)) => ".zst",
        _ => "",
    };
    let is_its_own = opened.input.extension().is_some_and(|extension| output.extensions().contains(&extension));
    if is_its_own && compression.is_empty() {
        return Ok(Path::new(directory).join(file).into());
    }
    let Some(extension) = output.extensions().first() else {
        let error = Error::usage(format!("{} has no extension for the names in --output-dir", output.name()));
        return Err(match output.directory() {
            Some(_) => error.help(format!("it writes one directory: --to {} -o DIR", output.name())),
            None => error,
        });
    };
    // The extensions of a compression and of the input format.
    let mut stem = Path::new(file);
    let is_compressed = stem.extension().and_then(OsStr::to_str).is_some_and(|end| matches!(end, "gz" | "zst" | "zstd" | "zlib"));
    let nextensions = if data_set.is_some() { 0 } else { 1 + usize::from(is_compressed) };
    for _ in 0..nextensions {
        stem = stem.file_stem().map_or(stem, Path::new);
    }
    let mut name = stem.as_os_str().to_owned();
    name.push(format!(".{extension}{compression}"));
    Ok(Path::new(directory).join(name).into())
}

/// The name of a dataset directory: its own name, or that of its parent if its own name is a version such as `1.0.0`.
fn data_set_name(directory: &Path) -> Result<OsString> {
    let path = directory.canonicalize().map_err(|e| Error::io(&directory.display().to_string(), "cannot open", &e))?;
    let name = path.file_name().unwrap_or_default();
    let is_version = name.to_str().is_some_and(|name| name.split('.').all(|part| part.parse::<u32>().is_ok()));
    let above = path.parent().and_then(Path::file_name).filter(|_| is_version);
    Ok(above.unwrap_or(name).to_owned())
}

/// Rejects options that do not work with one run per input.
///
/// # Errors
/// A report, a split, or a file that all runs would write.
pub fn check_each(last: Option<&dyn Parsed>, options: &Options) -> Result<()> {
    let Some(last) = last else { return Ok(()) };
    if last.is_report() {
        return Err(Error::usage(format!("`{}` prints text, not records: it takes no --output-dir", last.name())));
    }
    if last.parts()?.is_some() {
        return Err(Error::usage(format!("`{}` names its outputs itself: it takes no --output-dir", last.name())));
    }
    if matches!(options.on_error, OnError::Quarantine(_)) {
        return Err(Error::usage("--on-error quarantine=FILE takes no --output-dir").help("skip bad records with --on-error skip"));
    }
    Ok(())
}
