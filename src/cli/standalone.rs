//! What a command is that is not a verb of a chain.

use crate::error::Result;
use crate::options::Options;
use crate::verbs::{Example, Verdict};
use clap::{ArgMatches, Command};
use std::io::Write;

/// A standalone command.
pub struct Standalone {
    pub name: &'static str,
    pub summary: &'static str,
    pub about: &'static str,
    pub examples: &'static [Example],
    /// Adds its own arguments.
    pub augment: fn(Command) -> Command,
    pub run: fn(&ArgMatches, &Options, &mut dyn Write) -> Result<Verdict>,
}

impl Standalone {
    /// Its clap command, without the global options.
    pub fn command(&self) -> Command {
        (self.augment)(Command::new(self.name).about(self.summary))
    }
}
