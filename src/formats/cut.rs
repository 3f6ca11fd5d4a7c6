//! Cuts an input into pieces until it ends or fails, or until there are enough bytes.

use crate::error::Result;

/// Cuts pieces off an input.
pub trait Cut {
    /// A piece.
    type Piece;

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The rest of the input cannot be read.
    fn cut(&mut self) -> Result<Option<Self::Piece>>;

    /// All pieces. Nothing is read after the end or an error.
    fn pieces(mut self) -> impl Iterator<Item = Result<Self::Piece>>
    where
        Self: Sized,
    {
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let piece = self.cut().transpose();
            ended = !matches!(piece, Some(Ok(_)));
            piece
        })
    }
}

/// The pieces of about the first `nbytes` bytes, or all; `size` is the number of bytes of one. No piece beyond them is read: on a pipe, it may never arrive.
pub fn first_bytes<P>(
    mut pieces: impl Iterator<Item = Result<P>>,
    nbytes: Option<u64>,
    size: impl Fn(&P) -> u64,
) -> impl Iterator<Item = Result<P>> {
    let mut left = nbytes.unwrap_or(u64::MAX);
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let piece = pieces.next()?;
        left = left.saturating_sub(piece.as_ref().map_or(0, &size));
        Some(piece)
    })
}
