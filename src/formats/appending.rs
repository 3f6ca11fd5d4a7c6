//! The writer of formats that append to the output, in order, what is encoded on any thread.

use super::format::{Encode, Encoded, Writer};
use crate::error::{Error, Result};
use std::io::Write;
use std::sync::Arc;

/// What a format writes for each encoded chunk, and before and after all of them.
pub trait Append: Send {
    /// What the encoder makes of a chunk.
    type Piece: 'static;

    /// Starts the output.
    ///
    /// # Errors
    /// Writing fails.
    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        let _ = out;
        Ok(())
    }

    /// Appends a chunk, in order.
    ///
    /// # Errors
    /// Writing fails, or the chunk cannot follow those before it.
    fn append(&mut self, piece: Self::Piece, out: &mut dyn Write) -> Result<()>;

    /// Ends the output.
    ///
    /// # Errors
    /// Writing fails.
    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        let _ = out;
        Ok(())
    }
}

struct Appending<A> {
    encoder: Arc<dyn Encode>,
    append: A,
    /// While it is being written.
    out: Option<Box<dyn Write + Send>>,
}

/// A writer of one output.
pub fn appending(encoder: Arc<dyn Encode>, append: impl Append + 'static) -> Box<dyn Writer> {
    Box::new(Appending { encoder, append, out: None })
}

impl<A: Append> Writer for Appending<A> {
    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.append.begin(self.out.insert(out))
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let piece = encoded.downcast::<A::Piece>().map_err(|_| Error::internal("a chunk encoded for another format"))?;
        let out = self.out.as_mut().ok_or_else(|| Error::internal("an output that has not begun"))?;
        self.append.append(*piece, out)
    }

    fn finish(&mut self) -> Result<()> {
        let Some(mut out) = self.out.take() else { return Ok(()) };
        self.encoder.finish()?;
        self.append.end(&mut out)?;
        out.flush().map_err(Error::output)
    }
}
