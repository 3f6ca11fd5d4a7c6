//! The contract of a command that is not a verb of a chain.

use crate::error::Result;
use crate::options::Options;
use crate::verbs::{Example, Verdict};
use clap::{ArgMatches, Command};
use std::io::Write;

/// A standalone command.
pub struct Standalone {
    /// The word that calls it.
    pub name: &'static str,
    /// The summary in the list of commands, one line.
    pub summary: &'static str,
    /// The description in its help and man page.
    pub about: &'static str,
    /// Examples shown in its help.
    pub examples: &'static [Example],
    /// Whether it writes to `--output`.
    pub takes_output: bool,
    /// Adds its arguments.
    pub augment: fn(Command) -> Command,
    /// Runs it with its arguments and the global options, and writes its output.
    pub run: fn(&ArgMatches, &Options, &mut dyn Write) -> Result<Verdict>,
}

impl Standalone {
    /// The clap command, without the global options.
    pub fn command(&self) -> Command {
        (self.augment)(Command::new(self.name).about(self.summary))
    }
}
