//! Shell completions, from the same definitions as the parser.
//!
//! clap_complete knows one subcommand per command line; a chain has one after every `then`. So each
//! script is made to forget what comes before the last `then`.

use super::standalone::Standalone;
use super::typed::Typed;
use crate::error::{Error, Result};
use crate::verbs::{VERBS, Verdict};
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use std::io::Write;

/// Where each shell's script collects the words of the command line, and the lines to insert there.
const INSERTS: &[(Shell, &str, &str)] = &[
    (
        Shell::Bash,
        "    for i in \"${COMP_WORDS[@]:0:COMP_CWORD}\"\n",
        "    local -a COMP_WORDS=(\"${COMP_WORDS[@]}\")\n    local COMP_CWORD=$COMP_CWORD chain_at\n    \
         for ((chain_at = COMP_CWORD - 1; chain_at > 0; chain_at--)); do\n        \
         if [[ ${COMP_WORDS[chain_at]} == then ]]; then\n            \
         COMP_WORDS=(\"$1\" \"${COMP_WORDS[@]:chain_at + 1}\")\n            \
         ((COMP_CWORD -= chain_at))\n            \
         [[ $prev == then ]] && prev=$1\n            \
         break\n        fi\n    done\n\n",
    ),
    (
        Shell::Zsh,
        "    local context curcontext=\"$curcontext\" state line\n",
        "    local -i chain_at=${words[(I)then]}\n    \
         if (( chain_at > 1 && chain_at < CURRENT )); then\n        \
         words=(\"$words[1]\" \"${(@)words[chain_at + 1,-1]}\")\n        \
         (( CURRENT -= chain_at - 1 ))\n    fi\n\n",
    ),
    (
        Shell::Fish,
        "    set -e cmd[1]\n",
        "    while set -l chain_at (contains -i then $cmd)\n        set cmd tatter $cmd[(math $chain_at + 1)..]\n    end\n",
    ),
];

/// Writes the script for the shell.
///
/// # Errors
/// Writing fails.
pub fn write(shell: &str, commands: &[Standalone], out: &mut dyn Write) -> Result<Verdict> {
    let shell: Shell = shell.parse().map_err(Error::usage)?;
    out.write_all(script(shell, commands).as_bytes()).map_err(|e| Error::io("standard output", "writing", &e))?;
    Ok(Verdict::Good)
}

fn script(shell: Shell, commands: &[Standalone]) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole(shell, commands), "tatter", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match INSERTS.iter().find(|(of, ..)| *of == shell) {
        Some((_, before, lines)) => script.replacen(before, &format!("{lines}{before}"), 1),
        None => script,
    }
}

/// All of the command line as one clap command: every verb a subcommand with the global options.
fn whole(shell: Shell, commands: &[Standalone]) -> Command {
    let hinted = |command: Command| command.mut_arg("output", |a| a.value_hint(ValueHint::FilePath));
    let of = |command: Command, files: bool| match shell {
        // bash would offer the names of arguments as words to type; it completes files anyway.
        Shell::Bash => Command::new(command.get_name().to_owned()).args(command.get_opts().cloned()),
        _ if files => command.arg(Arg::new("FILE").num_args(0..).value_hint(ValueHint::FilePath).help("Input files")),
        _ => command,
    };
    let verbs = VERBS.iter().map(|verb| hinted(Typed::augment_args(of(verb.command(), true))));
    let commands = commands.iter().map(|c| if c.name == "completions" { c.command() } else { of(c.command(), false) });
    hinted(Typed::augment_args(Command::new("tatter")))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Ragged, sparse and structured tensors from the command line")
        .disable_help_subcommand(true)
        .subcommands(verbs)
        .subcommands(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_knows_chains_and_verbs() {
        for (shell, ..) in INSERTS {
            let script = script(*shell, super::super::COMMANDS);
            assert!(script.contains("chain_at"), "{shell}: the lines are not inserted");
            assert!(VERBS.iter().all(|verb| script.contains(verb.name)), "{shell}");
        }
    }
}
