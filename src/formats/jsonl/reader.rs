//! Reads JSON: blocks cut by [`super::lines`] or [`super::stream`], each with a task of [`super::decode`].

use super::block::Piece;
use super::decode;
use super::limits::Limits;
use super::lines::{LineCutter, pieces_of};
use super::stream::ValueCutter;
use crate::chunk::Decoded;
use crate::error::{Error, Result};
use crate::formats::cut::first_bytes;
use crate::formats::first_wins;
use crate::formats::format::{Inference, Observed, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::io::line_ranges::{LineRange, LineRanges};
use crate::schema::Schema;
use std::sync::Arc;

/// Pieces cut from an input, in order.
pub type Cuts = Box<dyn Iterator<Item = Result<Cut>> + Send>;

/// A part of an input.
pub enum Cut {
    /// Pieces that have been read.
    Piece(Piece),
    /// Lines still to be read from this input, up to this length.
    Range(LineRange, Arc<str>, u64),
}

impl Cut {
    /// Number of bytes read.
    fn nbytes(&self) -> u64 {
        match self {
            Cut::Piece(Piece::Block(block)) => block.bytes.len() as u64,
            _ => 0,
        }
    }

    /// The pieces in order; there is at least one.
    ///
    /// # Errors
    /// Reading fails.
    pub fn pieces(self) -> Result<Vec<Piece>> {
        match self {
            Cut::Piece(piece) => Ok(vec![piece]),
            Cut::Range(range, input, limit) => pieces_of(range, &input, limit),
        }
    }

    /// Applies `each` to the pieces in order, and combines the results with `add`.
    fn fold<T>(self, each: impl Fn(Piece) -> Result<T>, add: impl Fn(&mut T, T)) -> Result<T> {
        let mut pieces = self.pieces()?.into_iter();
        let mut all = each(pieces.next().ok_or_else(|| Error::internal("a part of an input without pieces"))?)?;
        for piece in pieces {
            add(&mut all, each(piece)?);
        }
        Ok(all)
    }
}

/// The parts of an input. `lines`: each line is a record. Ranges are used only if all lines are needed; otherwise the
/// records determine how much is read.
///
/// # Errors
/// The input cannot be opened.
pub fn cuts(input: &Input, lines: bool, request: &Request) -> Result<Cuts> {
    let limits = Limits::of(request);
    if !lines {
        return Ok(Box::new(ValueCutter::new(input.open()?, input.name().clone(), limits).map(|piece| piece.map(Cut::Piece))));
    }
    if limits.records.is_none()
        && !limits.sampling
        && let Some(ranges) = LineRanges::open(input, &request.options)?
    {
        let name = input.name().clone();
        return Ok(Box::new(ranges.map(move |range| Ok(Cut::Range(range, name.clone(), limits.record_bytes)))));
    }
    Ok(Box::new(LineCutter::open(input, limits, &request.options)?.map(|piece| piece.map(Cut::Piece))))
}

/// Reads one input.
pub struct JsonReader {
    /// The input.
    pub input: Arc<Input>,
    /// Whether each line is a record.
    pub lines: bool,
}

impl Reader for JsonReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let (input, lines, request) = (self.input.clone(), self.lines, Arc::new(request.clone()));
        let of_input = request.clone();
        // Opened when its turn comes, because there may be more files than a process can have open.
        let cuts =
            std::iter::once_with(move || cuts(&input, lines, &of_input).unwrap_or_else(|error| Box::new(std::iter::once(Err(error)))));
        let wanted = first_bytes(cuts.flatten(), request.sample_bytes, Cut::nbytes);
        Ok(Inference::Scan(Box::new(wanted.map(move |cut| {
            let (cut, request) = (cut?, request.clone());
            let observe = move || cut.fold(|piece| decode::observe(piece, &request), first_wins::join);
            let task: Task<Box<dyn Observed>> = Box::new(move || Ok(Box::new(observe()?)));
            Ok(task)
        }))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let cuts = cuts(&self.input, self.lines, request)?;
        let (schema, request) = (schema.clone(), Arc::new(request.clone()));
        Ok(Box::new(cuts.map(move |cut| {
            let (cut, schema, request) = (cut?, schema.clone(), request.clone());
            let task: Task<Decoded> = Box::new(move || cut.fold(|piece| decode::decode(piece, &schema, &request), Decoded::append_bad));
            Ok(task)
        })))
    }
}
