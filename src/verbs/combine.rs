//! The contract of a verb that combines several inputs: it says what its inputs are and which of them gives the next
//! record. The run reads them.

use crate::error::{Error, Result};
use crate::options::Options;
use std::ffi::{OsStr, OsString};

/// Several inputs, and how their records become one stream.
pub struct Combined {
    /// A file, a directory, a glob or shards each: one input, or with `each_file` as many as there are files.
    pub inputs: Vec<OsString>,
    /// Whether each file is an input of its own.
    pub each_file: bool,
    /// How the records become one stream.
    pub how: Combination,
}

/// How the records of several inputs become one stream.
pub enum Combination {
    /// One record after the other, each of the input that is chosen. The inputs have one schema.
    Chosen(Box<dyn Chooser>),
    /// As [`Combination::Chosen`], by the integers in a field of the first input, whose records are not passed on.
    Listed(Box<dyn Chooser>, String),
    /// The records of the same number in one: side by side, or each in a structure of that name.
    Zipped {
        /// A name for each input.
        names: Option<Vec<String>>,
        /// Whether the stream ends with the first input that ends; else all must have the same number of records.
        shortest: bool,
    },
}

/// Chooses the input that gives the next record.
pub trait Chooser: Send {
    /// The number of the input, which has a record; `None` at the end of the stream.
    ///
    /// # Errors
    /// Those of the inputs, or a choice that cannot be.
    fn next(&mut self, sources: &mut dyn Sources) -> Result<Option<usize>>;

    /// Whether inputs are read more than once.
    fn restarts(&self) -> bool {
        false
    }
}

/// The inputs, as a [`Chooser`] sees them.
pub trait Sources {
    /// How many there are.
    fn count(&self) -> usize;

    /// Whether the input has another record; it is read as far as is needed to know.
    ///
    /// # Errors
    /// It cannot be read.
    fn has_more(&mut self, source: usize) -> Result<bool>;

    /// Reads the input from its start.
    ///
    /// # Errors
    /// It cannot be opened again.
    fn restart(&mut self, source: usize) -> Result<()>;

    /// The next number of [`Combination::Listed`]; `None` at their end.
    ///
    /// # Errors
    /// The list cannot be read, or holds a null.
    fn listed(&mut self) -> Result<Option<i64>>;
}

/// The first of the inputs that has nothing left, where a stream ends with it or goes on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Stop {
    /// The stream ends at the first record that is missing
    First,
    /// The others go on until all are at their end: every record once
    All,
}

/// Checks that there are inputs to combine.
///
/// # Errors
/// Fewer than `least`, standard input twice, names that `verb` does not take otherwise.
pub fn check_inputs(verb: &str, inputs: &[OsString], least: usize, options: &Options) -> Result<()> {
    if options.files_from.is_some() {
        return Err(Error::usage(format!("{verb} takes no --files-from")).help(format!("name its inputs after the verb: {verb} A B")));
    }
    if inputs.len() < least {
        let found = if inputs.is_empty() { "none is given".to_owned() } else { format!("found {}", inputs.len()) };
        return Err(
            Error::usage(format!("{verb} takes at least {least} inputs; {found}")).help(format!("name them after the verb: {verb} A B"))
        );
    }
    if inputs.iter().filter(|input| *input == OsStr::new("-")).count() > 1 {
        let error = Error::usage("standard input is given twice");
        return Err(error.help("another pipe can be a file in bash and zsh: <(tatter head 10 data.jsonl)"));
    }
    Ok(())
}
