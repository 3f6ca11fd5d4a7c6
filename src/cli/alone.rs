//! Commands that are no verbs of a chain: one row each.

use super::{completions, help, man};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::run::diff;
use crate::verbs::{Example, Verdict};
use clap::{Arg, ArgMatches, Command};
use std::io::Write;

/// A command that stands alone.
pub struct Alone {
    pub name: &'static str,
    pub summary: &'static str,
    pub about: &'static str,
    pub examples: &'static [Example],
    /// Adds its own arguments.
    pub augment: fn(Command) -> Command,
    pub run: fn(&ArgMatches, &Options, &mut dyn Write) -> Result<Verdict>,
}

impl Alone {
    /// Its clap command, without the global options.
    pub fn command(&self) -> Command {
        (self.augment)(Command::new(self.name).about(self.summary))
    }
}

/// All of them, in the order of the help.
pub static ALONE: &[Alone] = &[
    Alone {
        name: "diff",
        summary: "print the first difference of two datasets",
        about: "Compares record by record, of whatever formats the two are: prints the record, the path to the value and both \
                values of the first difference. Exit code 1 if there is one. Both are read under one schema that holds the \
                records of both, so that 1 and 1.0, int32 and int64, an absent key and null are equal; field order does not matter.\n\
                Numbers in a path count from 0: docs[1].tokens[2]. Options as --from and --schema hold for both.",
        examples: &[],
        augment: |command| {
            let file =
                |name: &'static str, help: &'static str| Arg::new(name).required(true).value_hint(clap::ValueHint::FilePath).help(help);
            command.arg(file("A", "One dataset: a file, a quoted glob, shards")).arg(file("B", "The other; - is standard input"))
        },
        run: |matches, options, out| {
            let name = |which| matches.get_one::<String>(which).map_or("", String::as_str);
            diff::run(name("A"), name("B"), options, out)
        },
    },
    Alone {
        name: "completions",
        summary: "print shell completions: bash, zsh or fish",
        about: "Prints a script that completes verbs, options and files.\n\
                bash: tatter completions bash > ~/.local/share/bash-completion/completions/tatter\n\
                zsh:  tatter completions zsh > ~/.zfunc/_tatter (a directory of $fpath)\n\
                fish: tatter completions fish > ~/.config/fish/completions/tatter.fish",
        examples: &[],
        augment: |command| command.arg(Arg::new("SHELL").required(true).value_parser(["bash", "zsh", "fish"]).help("Which shell")),
        run: |matches, _, out| completions::write(matches.get_one::<String>("SHELL").map_or("", String::as_str), out),
    },
    Alone {
        name: "man",
        summary: "print the man page, or write all pages to a directory",
        about: "Without DIR: the page of tatter itself, for `tatter man | man -l -`.\n\
                With DIR: tatter.1 and a page for each verb, tatter-VERB.1.",
        examples: &[],
        augment: |command| command.arg(Arg::new("DIR").value_hint(clap::ValueHint::DirPath).help("Where the pages go")),
        run: |matches, _, out| man::write(matches.get_one::<String>("DIR").map(std::path::Path::new), out),
    },
    Alone {
        name: "help",
        summary: "explain a verb, a function of expressions, or everything",
        about: "The same as `tatter VERB --help`; without a verb as `tatter --help`.\n\
                `tatter help functions` lists the functions of expressions, `tatter help concat` explains one.",
        examples: &[],
        augment: |command| command.arg(Arg::new("VERB").help("A verb, a function or one of these commands")),
        run: |matches, _, out| {
            let text = match matches.get_one::<String>("VERB") {
                Some(word) => help::of_word(word)?,
                None => help::long(),
            };
            out.write_all(text.as_bytes()).map_err(|e| Error::io("standard output", "writing", &e))?;
            Ok(Verdict::Good)
        },
    },
];

/// The command of that name.
pub fn find(name: &str) -> Option<&'static Alone> {
    ALONE.iter().find(|a| a.name == name)
}
