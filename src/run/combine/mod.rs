//! Combines several inputs into one stream: either records of the input that a verb chooses, or records of all inputs
//! side by side.
//!
//! In other runs, inputs are read one after another; here they are read side by side. Each input is a line of the
//! engine: its blocks are decoded and passed through its chain on any thread. A merge pulls the chunks of all inputs
//! out of their lines.
//!
//! ```text
//! open      the inputs that a chain reads
//! combined  several inputs combined into one stream
//! member    one of the inputs: files, optionally with a chain
//! feed      the chunks of an input in sequence, as seen by a merge
//! chosen    one record after another, each from the chosen input
//! zip       the records with the same number, combined into one
//! ```

mod adapt;
mod chosen;
mod combined;
mod feed;
mod member;
mod open;
mod zip;

pub use open::open_chain;
