//! Inputs (files, pipes, compressed, sharded) and outputs (written beside, then renamed; sharded; one file per record).
//!
//! ```text
//! FILE arguments -> expand -> Input -> stream (counted, codec) -> bytes for a Reader
//!                                `-> recognise: what can't be meant is refused
//! Writer -> sink (codec) -> staging (hidden, beside) -> commit: renamed
//!       `-> stdout (the first 64 KiB held back)
//! ```

mod codec;
mod expand;
mod input;
pub mod lines;
mod members;
mod output;
mod pipe;
mod recognise;
pub mod signals;
mod sink;
mod staging;
mod stdout;
mod stream;
mod target;

pub use codec::{Codec, is_tfrecord, masked_crc32c};
pub use input::{Input, STANDARD_INPUT, inputs};
pub use output::{Layout, Outputs, STANDARD_OUTPUT, create_file, scratch};
