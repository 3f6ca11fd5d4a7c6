//! The completion scripts of the shells. They are short because they ask the program for completions (`completion`).

use crate::error::{Error, Result};
use crate::verbs::Verdict;
use std::io::Write;

const SCRIPTS: [(&str, &str); 4] = [
    ("bash", include_str!("tatter.bash")),
    ("zsh", include_str!("tatter.zsh")),
    ("fish", include_str!("tatter.fish")),
    ("powershell", include_str!("tatter.ps1")),
];

/// The shells for which there is a script.
pub const SHELLS: [&str; 4] = ["bash", "zsh", "fish", "powershell"];

/// Writes the script for the shell.
///
/// # Errors
/// There is no script for the shell, or writing fails.
pub fn write(shell: &str, out: &mut dyn Write) -> Result<Verdict> {
    let script = SCRIPTS.iter().find(|(name, _)| *name == shell).map(|(_, script)| *script);
    let script = script.ok_or_else(|| Error::usage(format!("no completions for {shell}; available: {}", SHELLS.join(", "))))?;
    out.write_all(script.as_bytes()).map_err(|e| Error::io("standard output", "cannot write", &e))?;
    Ok(Verdict::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_a_script_that_asks_the_program() {
        for shell in SHELLS {
            let mut script = Vec::new();
            write(shell, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains(&format!("__complete {shell} ")), "{shell}");
        }
        assert!(write("tcsh", &mut Vec::new()).is_err());
    }
}
