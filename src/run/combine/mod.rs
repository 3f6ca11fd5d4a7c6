//! Several inputs as one stream: the records of the input that a verb chooses, or those of all inputs side by side.
//!
//! Unlike the inputs of other runs, which follow each other, these are read side by side. Each is a line of the engine: its blocks are
//! decoded, and go through the chain of the input, on any thread; a merge pulls the chunks of all out of their lines.
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
