//! Parses, runs, and turns what went wrong into one message and an exit code.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tatter::cli::{self, Request};
use tatter::error::{Error, Kind, Result};
use tatter::options::in_color;
use tatter::printable::printable;
use tatter::verbs::Verdict;
use tatter::{io, message, panic};

fn main() -> ExitCode {
    panic::silence();
    let status = match panic::caught(run).and_then(|result| result) {
        Ok(Verdict::Good) => 0,
        Ok(Verdict::Bad) => 1,
        Err(error) => {
            if error.kind() != Kind::Closed {
                show(&error);
            }
            error.exit_code()
        }
    };
    ExitCode::from(status)
}

/// Prints an error. If standard error is closed, the message is lost.
fn show(error: &Error) {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut stderr = std::io::stderr().lock();
    let _ = if cli::typed_json_messages(&words) {
        writeln!(stderr, "{}", message::of_error(error))
    } else {
        let label = if in_color(cli::typed_color(&words)) { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" };
        writeln!(stderr, "{label} {}", printable(&error.to_string()))
    };
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
        Request::Chain(chain) if chain.reads_standard_input() && std::io::stdin().is_terminal() => {
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
