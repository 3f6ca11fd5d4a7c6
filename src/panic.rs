//! Converts panics to errors of [`Kind::Internal`](crate::error::Kind::Internal). This is the only place that does so.
//!
//! The hook is silent and keeps the message with its source location. The code that catches the panic, on the same
//! thread, converts it to an error, which is reported like any other.

use crate::error::Error;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The last panic of this thread that has not been converted to an error.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Prevents panics from printing. Called once, by the program.
pub fn silence() {
    std::panic::set_hook(Box::new(|info| {
        let at = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let message = format!("{}{at}", text(info.payload()));
        LAST.with(|last| *last.borrow_mut() = Some(message));
    }));
}

/// The result of the function, or its panic as an error.
///
/// # Errors
/// A panic, which is a bug regardless of the input.
pub fn caught<T>(function: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|payload| {
        let message = LAST.with(|last| last.borrow_mut().take());
        Error::internal(message.unwrap_or_else(|| text(payload.as_ref()).to_owned()))
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without a message",
    }
}
