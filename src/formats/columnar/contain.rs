//! Contains panics of the Parquet and Arrow crates.
//!
//! Both validate most of their input, but malicious bytes occasionally reach an `unwrap` or a slice index. A damaged
//! file must cause an error that names it, so decoding runs in here, and a panic becomes a data error. Any state left
//! behind is dropped with the task.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `decode`, and returns an error if it panics. Nothing is printed.
///
/// # Errors
/// Those of `decode`; if it panics, an error that `what` is damaged.
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
