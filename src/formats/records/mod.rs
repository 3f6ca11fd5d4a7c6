//! Serialized records, whatever they contain: the frames of TFRecord, and blocks of payloads from any container.
//!
//! ```text
//! bytes -> cutter   blocks of whole records, using the lengths in their frames (framing); resync finds the next record after damage
//!          ranges   the same for regular files, by byte ranges on any thread
//!          only     the same for the records that a run requires, using an index of the file if there is one
//! ```

pub mod block;
pub mod cutter;
pub mod framing;
pub mod index;
pub mod only;
pub mod ranges;
mod resync;
