//! Files of arrays: what npz, npy and safetensors share. Which arrays a field becomes stands in
//! [`crate::schema::arrays`].
//!
//! ```text
//! chunk -> encode   any thread: pieces of arrays (layout says of which), and their checksums
//!       -> write    in order: arrays that grow side by side in a spool
//!       -> the Container, which makes the format, puts them one after the other into the file
//!
//! the Container -> found        arrays, where they are, and what the file says of itself (about)
//!       -> bind     which fields they are
//!       -> cut      in order: row splits are read, values cut off (stream, transpose)
//!       -> decode   any thread: partitions and values (element) to tensors
//! ```

pub(super) mod about;
mod bind;
pub(super) mod container;
mod cut;
mod decode;
pub(super) mod element;
mod encode;
pub(super) mod found;
pub(super) mod layout;
pub(super) mod read;
pub(super) mod spool;
pub(super) mod stream;
mod transpose;
pub(super) mod write;
