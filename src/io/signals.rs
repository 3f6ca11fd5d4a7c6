//! Handles Ctrl-C and kill: unfinished outputs are removed before the process ends.
//!
//! This is the only thread outside of the engine and stream codecs: files cannot be removed inside a signal handler,
//! and the threads of the engine may all be blocked on a pipe.

use crate::error::{Error, Kind, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Set by the handler itself. Ctrl-C ends all programs of a pipeline, so an apparent end of input can be the end of the
/// previous program, and must not be mistaken for a complete run.
static ENDING: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Makes SIGINT, SIGTERM, SIGQUIT and SIGHUP call `cleanup` and end the process with 128 plus the signal number: 130,
/// 143, 131, 129. With SIGXFSZ handled, a write beyond the limit on the size of files (`ulimit -f`) is an error like any
/// other. Called once, by the program.
///
/// # Errors
/// The system refuses to register the handler.
pub fn install(cleanup: fn()) -> Result<()> {
    let mut watched = vec![SIGINT, SIGTERM, SIGQUIT];
    if !is_ignored(SIGHUP) {
        watched.push(SIGHUP);
    }
    let failed = |e: std::io::Error| Error::new(Kind::Io, format!("cannot install signal handlers: {e}"));
    let mut signals = Signals::new(&watched).map_err(failed)?;
    let watch = move || {
        if let Some(signal) = signals.forever().next() {
            cleanup();
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(failed)?;
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(failed)?;
    let ending = ENDING.get_or_init(Arc::default);
    watched.into_iter().try_for_each(|signal| signal_hook::flag::register(signal, ending.clone()).map(drop)).map_err(failed)
}

/// Blocks forever if a signal that ends the process has arrived.
pub fn wait_if_ending() {
    while ENDING.get().is_some_and(|ending| ending.load(Ordering::Acquire)) {
        std::thread::park();
    }
}

/// Whether the process was started to ignore that signal, as with `nohup`.
fn is_ignored(signal: i32) -> bool {
    let ignored = std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| u64::from_str_radix(status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
