//! The contract of a verb that combines several inputs: it declares its inputs and chooses which of them provides the next
//! record. The run reads the inputs.

use crate::error::{Error, Result};
use crate::io::in_brackets;
use crate::options::Options;
use crate::printable::counted;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// How an input gets a chain of its own: part of the help of `concatenate`, to which the other verbs that combine inputs refer.
const BRACKETS: &str = "\
An input can have its own chain, in brackets; each bracket must be a separate argument: A [ filter 'x > 0' then head 100 B ]. The brackets \
contain what would follow `tatter`: verbs, FILEs (standard input if there are none), and options that control how these are read, such as --from, --schema \
or --scalar. Without a verb, the files in brackets are one input: [ A B ]. Brackets may be nested.

Outside the brackets, such an option applies to the files of every input; an option inside takes precedence. The result is the same as if the \
output of the chain were written to a file and read from there.";

const SEE_BRACKETS: &str =
    "An input can have its own chain, in brackets: A [ filter 'x > 0' then head 100 B ]. For details, see `tatter concatenate --help`.";

/// The text about chains of inputs in the help of that verb.
pub fn brackets(verb: &str) -> &'static str {
    if verb == "concatenate" { BRACKETS } else { SEE_BRACKETS }
}

/// Several inputs, and how their records become one stream.
pub struct Combined {
    /// A file, directory, glob or set of shards each. Each is one input, or with `each_file` each file in it is one. A
    /// chain in brackets is one input.
    pub inputs: Vec<OsString>,
    /// Whether each file is a separate input.
    pub each_file: bool,
    /// How the records become one stream.
    pub how: Combination,
}

/// How the records of several inputs become one stream.
#[derive(Clone)]
pub enum Combination {
    /// One record after another, each from the chosen input. All inputs have the same schema.
    Chosen(NewChooser),
    /// Like [`Combination::Chosen`], but chosen by the integers in a field of the first input, whose records are not
    /// passed on.
    Listed(NewChooser, String),
    /// The records with the same number, combined into one: side by side, or each in a named structure.
    Zipped {
        /// A name for each input.
        names: Option<Vec<String>>,
        /// Whether the stream ends with the shortest input. Otherwise all inputs must have the same number of records.
        shortest: bool,
    },
}

/// Creates the chooser of a stream, at its start.
pub type NewChooser = Arc<dyn Fn() -> Box<dyn Chooser> + Send + Sync>;

/// Chooses the input that provides the next record.
pub trait Chooser: Send {
    /// The index of an input that has another record; `None` at the end of the stream.
    ///
    /// # Errors
    /// Errors of the inputs, or an invalid choice.
    fn next(&mut self, sources: &mut dyn Sources) -> Result<Option<usize>>;

    /// Whether inputs are read more than once.
    fn restarts(&self) -> bool {
        false
    }
}

/// The inputs, as a [`Chooser`] sees them.
pub trait Sources {
    /// The number of inputs.
    fn count(&self) -> usize;

    /// Whether the input has another record. Reads only as far as needed to know.
    ///
    /// # Errors
    /// The input cannot be read.
    fn has_more(&mut self, source: usize) -> Result<bool>;

    /// Restarts the input from its first record.
    ///
    /// # Errors
    /// The input cannot be opened again.
    fn restart(&mut self, source: usize) -> Result<()>;

    /// The next number of [`Combination::Listed`]; `None` at the end of the list.
    ///
    /// # Errors
    /// The list cannot be read, or holds a null.
    fn listed(&mut self) -> Result<Option<i64>>;
}

/// Whether a stream ends at the first input that has no records left, or continues without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Stop {
    /// End when the chosen input has no records left
    First,
    /// Skip choices of inputs that have ended
    All,
}

/// How the inputs of a verb are named.
fn form(verb: &str) -> String {
    let choices = if verb == "choose" { " --by FIELD CHOICES" } else { "" };
    format!("{verb}{choices} A B")
}

/// The error for --files-from with a verb that combines inputs.
pub fn no_files_from(verb: &str) -> Error {
    Error::usage(format!("{verb} takes no --files-from")).help(format!("specify its inputs after the verb: {}", form(verb)))
}

/// Checks that at least `least` inputs are given.
///
/// # Errors
/// Fewer than `least` inputs, brackets that are not separate words, or names in a form that `verb` takes differently.
pub fn check_inputs(verb: &str, inputs: &[OsString], least: usize, options: &Options) -> Result<()> {
    if options.files_from.is_some() {
        return Err(no_files_from(verb));
    }
    if inputs.len() < least {
        let found = if inputs.is_empty() { "found none".to_owned() } else { format!("found {}", inputs.len()) };
        return Err(Error::usage(format!("{verb} takes at least {}; {found}", counted(least as u64, "input")))
            .help(format!("specify them after the verb: {}", form(verb))));
    }
    if let Some((chain, after)) = inputs.iter().find_map(|input| in_brackets(input).filter(|(_, after)| !after.is_empty())) {
        let error = Error::usage(format!("{}: `]` is followed by {}", chain.display(), after.display()));
        return Err(error.help(format!("`]` must be a separate argument; only `mix` takes weights, {verb} does not")));
    }
    if let Some(input) = inputs.iter().find(|input| input.as_bytes().starts_with(b"[") && in_brackets(input).is_none() && !is_class(input))
    {
        let error = Error::usage(format!("{}: `[` begins the chain of an input, but is not a separate argument", input.display()));
        return Err(error.help(format!("put spaces around the brackets: {verb} A [ filter 'x > 0' B ]")));
    }
    Ok(())
}

/// Whether a word starting with `[` is a glob pattern such as `[ab].jsonl`.
fn is_class(word: &OsStr) -> bool {
    word.as_bytes().contains(&b']') || std::path::Path::new(word).exists()
}
