//! The command line: parsing into a chain of verbs, and help texts.
//!
//! ```text
//! tatter [GLOBAL OPTIONS] VERB [OPTIONS] [ARGS] [then VERB ...]... [FILE]... [GLOBAL OPTIONS] [-- FILE...]
//! ```
//! `split` finds the words of each verb without knowledge of the verbs. The clap command of each verb then parses its
//! words; the words of the last verb include the global options and the FILEs. Only the commands of the verbs in use
//! are built.

mod advised;
mod arguments;
mod brackets;
mod branches;
mod commands;
mod completion;
mod habits;
mod help;
mod jq;
mod line;
mod man;
mod matches;
mod misplaced;
mod parse;
mod patterns;
mod records;
mod reword;
mod scripts;
mod split;
mod sql;
mod standalone;
mod synonyms;
mod topics;
mod typed;
mod version;

pub use commands::COMMANDS;
pub use completion::complete;
pub use help::{MARKS, short_usage, verb_table};
pub use man::pages;
pub use parse::{Request, parse};
pub use standalone::Standalone;
pub use typed::{typed_color, typed_json_messages};
