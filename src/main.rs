//! Parses, runs, and turns what went wrong into one message and an exit code.

use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use tatter::cli::{self, Request};
use tatter::error::{Error, Kind, Result};
use tatter::verbs::Verdict;

/// The exit code of a fault of our own: EX_SOFTWARE of sysexits.h.
const INTERNAL: u8 = 70;

/// Whether a fault of our own has been reported: it is the one message of the run.
static REPORTED: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_panic));
    let result = catch_unwind(AssertUnwindSafe(run));
    if REPORTED.load(Ordering::SeqCst) {
        return ExitCode::from(INTERNAL);
    }
    let status = match result {
        Ok(Ok(Verdict::Good)) => 0,
        Ok(Ok(Verdict::Bad)) => 1,
        Ok(Err(error)) => {
            if error.kind() != Kind::Closed {
                eprintln(&format!("{} {error}", label()));
            }
            error.exit_code()
        }
        Err(_) => INTERNAL,
    };
    ExitCode::from(status)
}

fn run() -> Result<Verdict> {
    match cli::parse(std::env::args_os().skip(1))? {
        Request::Text(text) => {
            print(&text)?;
            Ok(Verdict::Good)
        }
        Request::Alone(run) => {
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
            tatter::io::signals::install()?;
            tatter::run::run(*chain)
        }
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Error::io("standard output", "writing", &e))
}

/// One message on standard error. If that is closed there is nobody left to tell.
fn eprintln(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// `error:`, in colour where that is wanted and can be seen.
fn label() -> &'static str {
    if in_colour() { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" }
}

/// The words of the command line decide even if they could not be parsed.
fn in_colour() -> bool {
    let words: Vec<String> = std::env::args().take_while(|w| w != "--").collect();
    let value = words.iter().enumerate().rev().find_map(|(i, word)| match word.strip_prefix("--color") {
        Some("") => words.get(i + 1).map(String::as_str),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    match value {
        Some("always") => true,
        Some("never") => false,
        _ => {
            let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            std::io::stderr().is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// One line for a fault of our own, whichever thread it is on, and however many there are.
fn report_panic(info: &PanicHookInfo) {
    if REPORTED.swap(true, Ordering::SeqCst) {
        return;
    }
    let payload = info.payload();
    let what = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    eprintln(&format!("{} internal: {}{place}\n  this is a bug in tatter; please report it with the input", label(), what.unwrap_or("?")));
}
