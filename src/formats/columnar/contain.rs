//! Panics of the Parquet and Arrow crates, contained.
//!
//! Both check most of what they read, but hostile bytes still reach an `unwrap` or a slice index in them
//! now and then. A damaged file has to end in a message that names it, so that decoding runs in here: a
//! panic becomes an error of the data. What it leaves is dropped with the task.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// What `decode` gives; an error if it panics. Nothing is printed.
///
/// # Errors
/// Those of `decode`, and `what` is damaged if it panics.
pub fn contain<T>(what: &str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !CONTAINED.get() {
                usual(panic);
            }
        }));
    });
    let before = CONTAINED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    CONTAINED.set(before);
    result.unwrap_or_else(|_| Err(Error::data(format!("{what} is damaged: its parts are inconsistent"))))
}
