//! Parses the command line, runs it, and converts any failure to a message and an exit code.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use tatter::cli::{self, Request};
use tatter::error::{Error, Kind, Result};
use tatter::options::{Options, in_color};
use tatter::printable::printable;
use tatter::verbs::Verdict;
use tatter::{io, message, panic, screen};

fn main() -> ExitCode {
    panic::silence();
    io::limits::allow_many_open_files();
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

/// Prints an error.
fn show(error: &Error) {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let text = if cli::typed_json_messages(&words) {
        message::line(&message::of_error(error))
    } else {
        let text = screen::fitted_message(&format!("error: {}", printable(&error.to_string())));
        if in_color(cli::typed_color(&words)) { text.replacen("error:", "\u{1b}[1;31merror:\u{1b}[0m", 1) } else { text }
    };
    tatter::run::print_message(&text);
}

fn run() -> Result<Verdict> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(answer) = cli::complete(&words) {
        print(&answer)?;
        return Ok(Verdict::Good);
    }
    match cli::parse(words)? {
        Request::Look(invocation, error) => {
            let size = screen::size().ok_or(error)?;
            let in_color = in_color(invocation.options.color);
            print(&tatter::run::preview(*invocation, size, in_color)?)?;
            Ok(Verdict::Good)
        }
        Request::Text(text) => {
            print(&text)?;
            Ok(Verdict::Good)
        }
        Request::Standalone(run) => {
            let outputs = io::Outputs::plan(&Options::default())?;
            let mut out = outputs.create_report()?;
            let verdict = run(&mut out);
            drop(out);
            // What was printed before a failure holds too.
            outputs.commit().and(verdict)
        }
        Request::Chain(chain) if chain.reads_standard_input() && std::io::stdin().is_terminal() => {
            Err(Error::usage("no FILE given, and standard input is a terminal").excerpt(cli::short_usage()))
        }
        Request::Chain(chain) => {
            io::signals::install(stopped)?;
            tatter::run::run(*chain)
        }
    }
}

/// Cleans up after a signal that ends the run.
fn stopped() {
    io::remove_unfinished();
    tatter::run::interrupted();
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Error::io("standard output", "cannot write", &e))
}
