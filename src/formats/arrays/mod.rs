//! Files of arrays: code shared by npz, npy and safetensors. [`crate::schema::arrays`] defines how fields map to
//! arrays.
//!
//! ```text
//! chunk -> encode   any thread: pieces of arrays (listed by stored), and their checksums
//!       -> write    in order: arrays that grow side by side in a spool
//!       -> the Container, which implements the format, writes the finished arrays to the file in sequence
//!
//! the Container -> contents     arrays, their locations, and the embedded schema
//!       -> bind     maps arrays to fields
//!       -> block    in order: row splits are decoded, values sliced (stream, transpose)
//!       -> decode   any thread: partitions and values (element) to tensors
//! ```
//!
//! `numbers` are the bytes of values. `archive`, `directory` and `zip` handle the archives of npz files. `npy_header` and `python` read and write the
//! header shared by npy files and the members of npz archives.

pub(super) mod archive;
mod bind;
mod block;
pub(super) mod container;
pub(super) mod contents;
mod decode;
mod directory;
pub(super) mod element;
pub(super) mod embedded;
mod encode;
pub(super) mod finished;
pub(super) mod format;
pub(super) mod npy_header;
pub(super) mod numbers;
mod python;
pub(super) mod read;
pub(super) mod spool;
pub(super) mod stored;
pub(super) mod stream;
mod transpose;
pub(super) mod write;
pub(super) mod zip;
