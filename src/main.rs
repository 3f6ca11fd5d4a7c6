//! Parses, runs, and turns what went wrong into one message and an exit code.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tatter::cli::{self, Request};
use tatter::error::{Error, Kind, Result};
use tatter::options::in_color;
use tatter::printable::printable;
use tatter::verbs::Verdict;
use tatter::{io, panic};

fn main() -> ExitCode {
    panic::silence();
    let status = match panic::caught(run).and_then(|result| result) {
        Ok(Verdict::Good) => 0,
        Ok(Verdict::Bad) => 1,
        Err(error) => {
            if error.kind() != Kind::Closed {
                let label = if in_color(cli::typed_color(std::env::args_os().skip(1))) { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" };
                // If standard error is closed, the message is lost.
                let _ = writeln!(std::io::stderr().lock(), "{label} {}", printable(&error.to_string()));
            }
            error.exit_code()
        }
    };
    ExitCode::from(status)
}

fn run() -> Result<Verdict> {
    match cli::parse(std::env::args_os().skip(1))? {
        Request::Text(text) => {
            print(&text)?;
            Ok(Verdict::Good)
        }
        Request::Standalone(run) => {
            let mut out = std::io::stdout().lock();
            let verdict = run(&mut out)?;
            out.flush().map_err(|e| Error::io("standard output", "writing", &e))?;
            Ok(verdict)
        }
        Request::Chain(chain)
            if chain.files.is_empty() && chain.options.from.as_deref() != Some("none") && std::io::stdin().is_terminal() =>
        {
            Err(Error::usage("no FILE is given, and standard input is a terminal").help(cli::short_usage()))
        }
        Request::Chain(chain) => {
            io::signals::install(io::remove_unfinished)?;
            tatter::run::run(*chain)
        }
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Error::io("standard output", "writing", &e))
}
