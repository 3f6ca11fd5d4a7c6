//! Determines the formats of inputs and outputs.

use crate::error::{Error, Result, nearest};
use crate::formats::{self, FORMATS, Format};
use crate::io::{Codec, Input, Outputs, extensions};
use crate::options::{Compression, OnError, Options, Scalars};
use crate::path::quoted;
use crate::printable::{all_of, shell_word};
use std::path::Path;

/// Extensions of compressed formats that cannot be written, and the programs that write them.
const COMPRESSORS: &[(&str, &str)] = &[("bz2", "bzip2"), ("xz", "xz"), ("lzma", "lzma"), ("lz4", "lz4"), ("br", "brotli"), ("zip", "zip")];

/// The format of an input: given by `--from`, else by the first bytes, else by the extension.
///
/// # Errors
/// The format cannot be determined, or `--from` contradicts the first bytes.
pub fn of_input(input: &Input, options: &Options) -> Result<&'static dyn Format> {
    if let Some(name) = &options.from {
        let given = named(name, "--from")?;
        let Some(found) = other_than(given, input) else { return Ok(given) };
        let error = Error::data(format!("this looks like {found}, not {name}")).in_input(input.name().clone());
        return Err(match found {
            "text" => error.help("to read it as lines of text: --from text"),
            _ => error.help("omit --from: the format of each file is detected"),
        });
    }
    if let Some(format) = FORMATS.iter().find(|f| f.recognises(input)) {
        return Ok(*format);
    }
    match input.extension().and_then(by_extension) {
        // No records, in any format.
        None if input.is_empty() => named("jsonl", "--from"),
        Some(format) => Ok(format),
        None => Err(input.unrecognised(&names(|f| f.name() != "none"))),
    }
}

/// The name of the format that an input evidently has instead of the given one; `text` for any text.
pub fn other_than(given: &dyn Format, input: &Input) -> Option<&'static str> {
    instead_of(given, input).or_else(|| is_just_text(given, input).then_some("text"))
}

/// The name of the format that an input evidently has instead of the given one. Any input can be read as lines of text, or left
/// unread.
fn instead_of(given: &dyn Format, input: &Input) -> Option<&'static str> {
    if matches!(given.name(), "text" | "none") || given.recognises(input) {
        return None;
    }
    let found = FORMATS.iter().find(|format| format.is_evident(input)).filter(|format| format.family() != given.family());
    found.map(|format| format.name())
}

/// Whether an input is text, and the given format is not.
fn is_just_text(given: &dyn Format, input: &Input) -> bool {
    let is_binary = !given.is_text() && given.name() != "none" && given.directory().is_none();
    is_binary && !given.recognises(input) && input.text().is_some()
}

/// Adds a notice for each option that only formats other than these use. A report has no output; it may use the options
/// of outputs itself.
///
/// # Errors
/// There is such an option, under `--strict`.
pub fn note_unused<'a>(inputs: impl Iterator<Item = &'a dyn Format>, output: Option<&'a dyn Format>, options: &Options) -> Result<()> {
    let output: Vec<&dyn Format> = output.into_iter().collect();
    let inputs: Vec<&dyn Format> = inputs.collect();
    if let Some(columns) = &options.csv.columns
        && !inputs.iter().any(|format| format.options().contains(&"--columns"))
    {
        let fields: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let error = Error::usage("--columns names the columns of csv and tsv input without a header, and there is no such input");
        return Err(error.help(format!("to choose fields, use the verb select: select {}", shell_word(&fields.join(",")))));
    }
    let both: Vec<&dyn Format> = inputs.into_iter().chain(output.iter().copied()).collect();
    let (csv, megatron) = (&options.csv, &options.megatron);
    let given = [
        (csv.delimiter.is_some(), "--delimiter"),
        (csv.quote.is_some(), "--quote"),
        (csv.list_separator.is_some(), "--list-separator"),
        (csv.nulls.is_some(), "--nulls"),
        (megatron.vocab_size.is_some(), "--vocab-size"),
        (megatron.append_eod.is_some(), "--append-eod"),
        (megatron.smallest_dtype, "--smallest-dtype"),
        (megatron.documents, "--documents"),
        (options.index_base.is_some(), "--index-base"),
        (options.sum_duplicates, "--sum-duplicates"),
        (options.raw_records, "--raw-records"),
        (options.scalar != Scalars::None, "--scalar"),
        (options.no_verify, "--no-verify"),
        (options.class_names, "--class-names"),
        (options.dataset_name.is_some(), "--name"),
        (options.raw_members, "--raw-members"),
    ];
    let given_for_output = [
        (options.row_group_rows.is_some(), "--row-group-rows", " output"),
        (options.tensor_types.is_some(), "--tensor-types", " output"),
        (options.omit_null, "--omit-null", " output"),
    ];
    let of_both = given.into_iter().map(|(is_given, option)| ((is_given, option, ""), &both));
    let of_output = given_for_output.into_iter().filter(|_| !output.is_empty()).map(|given| (given, &output));
    for ((_, option, more), used) in of_both.chain(of_output).filter(|((is_given, ..), _)| *is_given) {
        if !used.iter().any(|format| format.options().contains(&option)) {
            let of: Vec<&str> = FORMATS.iter().filter(|format| format.options().contains(&option)).map(|format| format.name()).collect();
            let of = all_of(&of);
            options.notices.add(format!("{option} has no effect: it applies only to {of}{more}"), options.strict)?;
        }
    }
    Ok(())
}

/// Whether a directory is a single dataset of the format named by `--from`, or of any format.
pub fn is_dataset(options: &Options) -> impl Fn(&Path) -> bool {
    let from = options.from.clone();
    move |directory| match &from {
        Some(name) => formats::find(name).is_some_and(|format| format.holds(directory)),
        None => FORMATS.iter().any(|format| format.holds(directory)),
    }
}

/// The format named by `--to`, if its outputs are directories.
pub fn directory_of(options: &Options) -> Option<&'static dyn Format> {
    options.to.as_deref().and_then(formats::find).filter(|format| format.directory().is_some())
}

/// The format of the output: given by `--to`, else by the extension, else JSON Lines.
///
/// # Errors
/// The format does not exist.
pub fn of_output(outputs: &Outputs, options: &Options) -> Result<&'static dyn Format> {
    let foreign = outputs.extension().and_then(|extension| COMPRESSORS.iter().find(|(of, _)| *of == extension));
    if let Some((extension, program)) = foreign {
        let error = Error::usage(format!("the output's name ends in .{extension}, but only .gz, .zst and .zlib compress the output"));
        return Err(error
            .in_input(outputs.name().clone())
            .help(format!("write it without .{extension}, and compress the file with {program}")));
    }
    if let Some(name) = &options.to {
        return named(name, "--to");
    }
    let Some(extension) = outputs.extension() else {
        let name = outputs.name();
        if formats::find(name).is_some() {
            let error = Error::usage(format!("`{name}` is the name of a format, and a file of that name would be JSON Lines"));
            return Err(error.help(format!("choose the format with --to {name}; or specify the file: -o ./{name}")));
        }
        return named("jsonl", "--to");
    };
    by_extension(extension).ok_or_else(|| {
        let error = Error::usage(format!("unknown output extension .{extension}"));
        let known = FORMATS.iter().flat_map(|format| format.extensions().iter().copied());
        let instead = match extension.to_ascii_lowercase().as_str() {
            "pt" | "pth" | "ckpt" => Some("PyTorch reads safetensors: use the extension .safetensors".to_owned()),
            "xlsx" | "xls" | "ods" => Some("spreadsheets read CSV: use the extension .csv".to_owned()),
            other => {
                // `.parq` is short.
                let longer = known.clone().find(|known| other.len() > 2 && known.starts_with(other));
                longer.or_else(|| nearest(other, known)).map(|near| format!("did you mean .{near}?"))
            }
        };
        instead.into_iter().fold(error, Error::help).help(format!("choose one with --to: {}", names(|f| f.name() != "none")))
    })
}

/// Adds a notice if `--to` contradicts the extension of the output, by which readers would take it for another format.
///
/// # Errors
/// The notice itself, under `--strict`.
pub fn note_extension(format: &dyn Format, outputs: &Outputs, options: &Options) -> Result<()> {
    let (Some(extension), true) = (outputs.extension(), options.to.is_some()) else { return Ok(()) };
    // Formats of one family are told apart by their contents.
    let Some(other) = by_extension(extension).filter(|other| other.family() != format.family()) else { return Ok(()) };
    // Sequence examples, for instance, are kept in TFRecord files.
    if format.extensions().is_empty() {
        return Ok(());
    }
    let text = format!("{}: the output is {}, but .{extension} is an extension of {}", outputs.name(), format.name(), other.name());
    options.notices.add(text, options.strict)
}

/// Adds a notice if the inputs have another format of the output's family, which no extension names: the output of
/// tf.SequenceExamples is of tf.Examples.
///
/// # Errors
/// The notice itself, under `--strict`.
pub fn note_family<'a>(inputs: impl Iterator<Item = &'a dyn Format>, output: &dyn Format, options: &Options) -> Result<()> {
    let mut inputs = inputs.filter(|format| format.extensions().is_empty() && format.family() == output.family());
    let Some(input) = inputs.find(|format| options.to.is_none() && format.name() != output.name()) else { return Ok(()) };
    let text = format!("the output is {}, unlike the input; use --to {} to write {}", output.summary(), input.name(), input.summary());
    options.notices.add(text, options.strict)
}

/// Adds a notice if the name of the quarantine file is that of another format than JSON Lines.
///
/// # Errors
/// The notice itself, under `--strict`.
pub fn note_quarantine(options: &Options) -> Result<()> {
    let OnError::Quarantine(path) = &options.on_error else { return Ok(()) };
    let (codec, extension) = extensions(&path.to_string_lossy());
    if let Some(codec) = codec {
        let text = format!("{}: the quarantine file is not compressed, but its name says {codec}", path.display());
        options.notices.add(text, options.strict)?;
    }
    let extension = extension.unwrap_or_default();
    let Some(other) = by_extension(&extension).filter(|other| other.family() != "jsonl") else { return Ok(()) };
    let text = format!("{}: the quarantine file is JSON Lines, but .{extension} is an extension of {}", path.display(), other.name());
    options.notices.add(text, options.strict)
}

/// The compression of a whole output: given by its name, or by `--compression` if that does not refer to compression
/// within the format.
///
/// # Errors
/// `--compression` contradicts the name, or is not supported for the output.
pub fn compression_of_output(format: &dyn Format, outputs: &Outputs, options: &Options) -> Result<Option<Codec>> {
    let by_name = outputs.codec();
    if let (Some(codec), true) = (by_name, format.has_compression()) {
        let (output, name) = (outputs.name(), format.name());
        let text = format!(
            "{output}: the whole file is compressed with {codec}, which most {name} readers cannot read; --compression compresses its pages or buffers instead"
        );
        options.notices.add(text, options.strict)?;
    }
    let Some(compression) = options.compression.filter(|_| !format.has_compression()) else { return Ok(by_name) };
    let name = format.name();
    let codec = match compression {
        Compression::None => None,
        Compression::Gzip => Some(Codec::Gzip),
        Compression::Zstd(Compression::ZSTD_LEVEL) => Some(Codec::Zstd),
        _ if format.needs_file() => return Err(not_compressed(name)),
        _ => {
            return Err(Error::usage(format!(
                "--compression: {name} files are compressed as a whole: gzip, zstd without a level, or none"
            )));
        }
    };
    if codec == by_name {
        return Ok(codec);
    }
    if let Some(by_name) = by_name {
        return Err(Error::usage(format!("--compression contradicts the output's name, which says {by_name}")).help("omit one of them"));
    }
    if outputs.is_stdout() {
        let error = Error::usage("--compression: standard output is not compressed");
        return Err(error.help(format!("pipe it: tatter ... | {}", if codec == Some(Codec::Gzip) { "gzip" } else { "zstd" })));
    }
    if format.needs_file() {
        return Err(not_compressed(name));
    }
    Ok(codec)
}

fn not_compressed(format: &str) -> Error {
    Error::usage(format!("--compression: {format} files are not compressed"))
}

fn by_extension(extension: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|f| f.extensions().contains(&extension))
}

fn named(name: &str, option: &str) -> Result<&'static dyn Format> {
    formats::find(name).ok_or_else(|| Error::usage(format!("{option} {name}: unknown format")))
}

fn names(which: impl Fn(&dyn Format) -> bool) -> String {
    FORMATS.iter().filter(|f| which(**f)).map(|f| f.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_suggest_the_format_of_their_extension() {
        // A pair of files is not read through a pipe.
        for format in FORMATS.iter().filter(|format| format.pair().is_none()) {
            for extension in format.extensions() {
                assert_eq!(crate::io::format_of(extension), Some(format.name()), "{extension}");
            }
        }
    }
}
