//! Panics become errors of [`Kind::Internal`](crate::error::Kind::Internal), here and nowhere else.
//!
//! The hook stays silent and keeps the message with its place in the source; whoever catches the panic, on the same
//! thread, makes an error of it, which is reported like any other.

use crate::error::Error;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The last panic of this thread that has not become an error.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics from printing. To be called once, by the program.
pub fn silence() {
    std::panic::set_hook(Box::new(|info| {
        let at = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let message = format!("{}{at}", text(info.payload()));
        LAST.with(|last| *last.borrow_mut() = Some(message));
    }));
}

/// What the function returns, or its panic as an error.
///
/// # Errors
/// A panic: a bug, whatever the input.
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
