//! Which format an input or output has.

use crate::error::{Error, Result};
use crate::formats::{self, FORMATS, Format};
use crate::io::{Input, Outputs};
use crate::options::Options;

/// The format of an input: `--from`, else the first bytes, else the extension.
///
/// # Errors
/// Nothing names a format.
pub fn of_input(input: &Input, options: &Options) -> Result<&'static dyn Format> {
    if let Some(name) = &options.from {
        return named(name, "--from");
    }
    if let Some(format) = FORMATS.iter().find(|f| f.sniff(input.head())) {
        return Ok(*format);
    }
    match input.extension().and_then(by_extension) {
        Some(format) => Ok(format),
        None => Err(input.unrecognised(&names(|f| f.name() != "none"))),
    }
}

/// The format of the output: `--to`, else the extension, else JSON lines.
///
/// # Errors
/// There is no such format.
pub fn of_output(outputs: &Outputs, options: &Options) -> Result<&'static dyn Format> {
    if let Some(name) = &options.to {
        return named(name, "--to");
    }
    let Some(extension) = outputs.extension() else { return named("jsonl", "--to") };
    by_extension(extension).ok_or_else(|| {
        Error::usage(format!("the output's extension .{extension} is not that of a format"))
            .help(format!("give one with --to: {}", names(|f| f.name() != "none")))
    })
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
