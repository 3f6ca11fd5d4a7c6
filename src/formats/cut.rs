//! Cuts an input into pieces until it ends or fails.

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
