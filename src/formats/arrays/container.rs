//! What an npz, an npy and a safetensors file do each in its own way.

use super::contents::Contents;
use super::embedded::EmbeddedSchema;
use super::finished::Finished;
use super::spool::Spool;
use super::stored::StoredSchema;
use crate::error::Result;
use crate::io::Input;
use crate::schema::Schema;
use std::io::Write;

/// How a file holds whole arrays.
pub trait Container: Copy + Send + Sync + 'static {
    /// As typed after `--from` and `--to`, and the extension of its files.
    const NAME: &'static str;
    /// One line for the help.
    const SUMMARY: &'static str;
    /// Whether it wants a CRC-32 of the values.
    const CHECKSUMS: bool;

    /// Whether these are the first bytes of a file of this kind.
    fn sniff(head: &[u8]) -> bool;

    /// What the file holds.
    ///
    /// # Errors
    /// It can't be read, or contradicts itself.
    fn open(input: &Input) -> Result<Contents>;

    /// Checks the fields, before anything is said of a single one.
    ///
    /// # Errors
    /// The format cannot hold this many.
    fn check_fields(&self, schema: &Schema) -> Result<()> {
        let _ = schema;
        Ok(())
    }

    /// Checks what a file is to hold.
    ///
    /// # Errors
    /// The format cannot hold it.
    fn check(&self, layout: &StoredSchema) -> Result<()>;

    /// Writes all arrays, which `spool` holds in the same order.
    ///
    /// # Errors
    /// Writing fails; a size beyond what the format can say.
    fn write(&self, arrays: &[Finished], about: &EmbeddedSchema, spool: &mut Spool, out: &mut dyn Write) -> Result<()>;
}
