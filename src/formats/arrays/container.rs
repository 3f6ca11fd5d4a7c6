//! What an npz, an npy and a safetensors file do each in its own way, and the format that is made of it.

use super::about::About;
use super::found::Contents;
use super::layout::Layout;
use super::read::ArraysReader;
use super::spool::Spool;
use super::write::{ArraysWriter, Finished};
use crate::error::Result;
use crate::formats::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use crate::schema::arrays::Stacking;
use std::io::Write;
use std::sync::Arc;

/// How a file holds whole arrays.
pub trait Container: Copy + Send + Sync + 'static {
    /// As typed after `--from` and `--to`, and the extension of its files.
    const NAME: &'static str;
    /// One line for the help.
    const SUMMARY: &'static str;
    /// Whether it wants a CRC-32 of the values.
    const CHECKSUMS: bool;

    /// Whether these first bytes are such a file's.
    fn sniff(head: &[u8]) -> bool;

    /// What the file holds.
    ///
    /// # Errors
    /// It can't be read, or contradicts itself.
    fn open(input: &Input) -> Result<Contents>;

    /// Checks the fields, before anything is said of a single one.
    ///
    /// # Errors
    /// The format has no place for so many.
    fn check_fields(&self, schema: &Schema) -> Result<()> {
        let _ = schema;
        Ok(())
    }

    /// Checks what a file is to hold.
    ///
    /// # Errors
    /// The format has no place for it.
    fn check(&self, layout: &Layout) -> Result<()>;

    /// Writes all arrays, which `spool` holds in the same order.
    ///
    /// # Errors
    /// Writing fails; a size beyond what the format can say.
    fn write(&self, arrays: &[Finished], about: &About, spool: &mut Spool, out: &mut dyn Write) -> Result<()>;
}

/// The format of such files.
pub struct Arrays<C>(pub C);

impl<C: Container> Arrays<C> {
    fn stacked(&self, schema: &Arc<Schema>, stacking: Stacking, options: &Options) -> Result<Box<dyn Writer>> {
        self.0.check_fields(schema)?;
        Ok(Box::new(ArraysWriter::try_new(self.0, schema, stacking, options)?))
    }
}

impl<C: Container> Format for Arrays<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn summary(&self) -> &'static str {
        C::SUMMARY
    }

    fn extensions(&self) -> &'static [&'static str] {
        const { &[C::NAME] }
    }

    fn sniff(&self, head: &[u8]) -> bool {
        C::sniff(head)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(ArraysReader::new(input, C::open))))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(self.stacked(schema, Stacking::Records, options))
    }

    fn record_writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(self.stacked(schema, Stacking::One, options))
    }

    /// They are only put together at the end.
    fn needs_file(&self) -> bool {
        true
    }
}
