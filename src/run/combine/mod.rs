//! Combines several inputs into one stream: either records of the input that a verb chooses, or records of all inputs
//! side by side.
//!
//! In other runs, inputs are read one after another; here they are read side by side. Each input is a line of the
//! engine: its blocks are decoded and passed through its chain on any thread. A merge pulls the chunks of all inputs
//! out of their lines.
//!
//! ```text
//! open      the inputs that a chain reads
//! combined  several inputs as one
//! member    one of the inputs: files, perhaps with a chain
//! feed      its chunks in sequence, as a merge sees them
//! chosen    one record after the other, each of the input that is chosen
//! zip       the records of the same number side by side
//! ```

mod adapt;
mod chosen;
mod combined;
mod feed;
mod member;
mod open;
mod zip;

pub use open::open_chain;
