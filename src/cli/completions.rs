//! Shell completions, from the same definitions as the parser.

use super::alone::ALONE;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::verbs::{VERBS, Verdict};
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use std::io::Write;

/// Writes the script for the shell.
///
/// # Errors
/// Writing fails.
pub fn write(shell: &str, out: &mut dyn Write) -> Result<Verdict> {
    let shell: Shell = shell.parse().map_err(Error::usage)?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole(), "tatter", &mut script);
    out.write_all(&script).map_err(|e| Error::io("standard output", "writing", &e))?;
    Ok(Verdict::Good)
}

/// All of the command line as one clap command: every verb a subcommand with the global options.
fn whole() -> Command {
    let file = || Arg::new("FILE").num_args(0..).value_hint(ValueHint::FilePath).help("Input files");
    let hinted = |command: Command| command.mut_arg("output", |a| a.value_hint(ValueHint::FilePath));
    let verbs = VERBS.iter().map(|verb| hinted(Options::augment_args(verb.command().arg(file()))));
    let alone = ALONE.iter().map(super::Alone::command);
    hinted(Options::augment_args(Command::new("tatter")))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Ragged, sparse and structured tensors from the command line")
        .disable_help_subcommand(true)
        .subcommands(verbs)
        .subcommands(alone)
}
