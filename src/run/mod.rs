//! A run, from a parsed command line to written records.
//!
//! ```text
//! setup -> inputs -> inference -> chain (bind) -> execute -> conclude       start.rs puts them together
//!
//! execute:   source -> map -> fold -> map -> router -> encode -> sink       stages.rs makes nodes of them, engine runs them
//! ```

pub mod baseline;
mod beside;
pub mod branch;
pub mod chain;
pub mod combine;
pub mod conclude;
mod describe;
pub mod diff;
mod divide;
mod drawn;
pub mod encode;
pub mod engine;
pub mod execute;
pub mod explain;
mod first_bad;
pub mod fold;
pub mod format;
mod hive;
pub mod index;
pub mod inference;
pub mod inputs;
pub mod manifest;
pub mod map;
pub mod opened;
pub mod outline;
pub mod preview;
pub mod progress;
pub mod reading;
pub mod records;
pub mod router;
pub mod setup;
pub mod several;
pub mod sink;
pub mod source_columns;
mod stages;
pub mod start;
pub mod tables;
pub mod targets;
pub mod times;
mod uncovered;
pub mod values;
mod work;

pub use branch::{Branch, Branches};
pub use outline::{is_refused, outline};
pub use preview::preview;
pub use progress::{interrupted, print as print_message};
pub use records::Records;
pub use start::{Invocation, run};
