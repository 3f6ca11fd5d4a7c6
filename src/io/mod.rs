//! Inputs (files, pipes, compressed, sharded) and outputs (temporary, then renamed; sharded; one file per record).
//!
//! ```text
//! FILE arguments -> expand -> Input -> stream (counted, codec) -> bytes for a Reader -> lines
//!                                `-> ranges: a regular file, read by position on any thread; line_ranges: its lines
//!                                `-> recognise: rejects inputs that cannot be intended
//! Writer -> file (codec) -> staging (a hidden directory) -> commit: renamed
//!       `-> stdout (the first 64 KiB held back)
//! ```

mod ahead;
pub mod buffers;
mod codec;
mod dataset;
mod deflate;
mod disk;
mod expand;
mod file;
mod folder;
mod input;
pub mod limits;
pub mod line_ranges;
pub mod lines;
mod list;
mod manifest;
mod members;
mod missing;
mod names;
mod output;
mod pipe;
pub mod ranges;
mod recognise;
mod scratch;
mod sharded;
pub mod signals;
mod staging;
mod stdout;
mod stream;
mod target;
mod wildcard;

pub use codec::{Codec, extensions, is_tfrecord, masked_crc32c};
pub use dataset::NamedInput;
pub use expand::{expand, is_there};
pub use folder::{Folder, IsDataset};
pub use input::{Input, inputs};
pub use manifest::manifest_head;
pub use names::{IN_PLACE, STANDARD_INPUT, in_brackets, in_command, is_pipe, is_standard_input, shown, standard_output_file};
pub use output::{Distribution, Outputs, ReadFile, Written, commit, create_file, write_file};
#[cfg(test)]
pub use recognise::format_of;
pub use recognise::{is_of_office, office_document};
pub use scratch::{scratch, scratch_directory};
pub use staging::remove_unfinished;
pub use stdout::is_redirected;
pub use target::part_name;
