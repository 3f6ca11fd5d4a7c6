//! The operations that differ between npz, npy and safetensors files.

use super::contents::Contents;
use super::embedded::EmbeddedSchema;
use super::finished::Finished;
use super::spool::Spool;
use super::stored::StoredSchema;
use crate::error::Result;
use crate::io::Input;
use crate::schema::Schema;
use std::io::Write;

/// A file format that holds whole arrays.
pub trait Container: Copy + Send + Sync + 'static {
    /// The name for `--from` and `--to`, and the file extension.
    const NAME: &'static str;
    /// A one-line description for the help.
    const SUMMARY: &'static str;
    /// Whether it needs a CRC-32 of the values.
    const CHECKSUMS: bool;
    /// The key of the embedded schema, for a container that stores metadata.
    const SCHEMA_KEY: Option<&'static str> = None;

    /// Whether these are the first bytes of a file of this kind.
    fn sniff(head: &[u8]) -> bool;

    /// The contents of the file.
    ///
    /// # Errors
    /// The file cannot be read, or is inconsistent.
    fn open(input: &Input) -> Result<Contents>;

    /// Checks the number of fields before individual fields.
    ///
    /// # Errors
    /// The format cannot hold this many fields.
    fn check_fields(&self, schema: &Schema) -> Result<()> {
        let _ = schema;
        Ok(())
    }

    /// Checks the contents of a file to be written.
    ///
    /// # Errors
    /// The format cannot hold them.
    fn check(&self, layout: &StoredSchema) -> Result<()>;

    /// Writes all arrays, which `spool` holds in the same order.
    ///
    /// # Errors
    /// Writing fails, or a size exceeds the limits of the format.
    fn write(&self, arrays: &[Finished], about: &EmbeddedSchema, spool: &mut Spool, out: &mut dyn Write) -> Result<()>;
}
