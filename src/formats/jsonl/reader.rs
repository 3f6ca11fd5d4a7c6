//! Reads JSON: blocks cut by [`super::lines`] or [`super::stream`], each a task of [`super::decode`].

use super::block::Piece;
use super::decode;
use super::limits::Limits;
use super::lines::LineCutter;
use super::stream::ValueCutter;
use crate::chunk::Decoded;
use crate::error::Result;
use crate::formats::format::{Inference, Observed, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::schema::Schema;
use std::sync::Arc;

/// What is cut from an input, in order.
type Pieces = Box<dyn Iterator<Item = Result<Piece>> + Send>;

/// The pieces of an input; `lines`: each line is a record.
///
/// # Errors
/// The input cannot be opened.
pub fn pieces(input: &Input, lines: bool, request: &Request) -> Result<Pieces> {
    let limits = Limits::of(request);
    Ok(if lines {
        Box::new(LineCutter::open(input, limits, &request.options)?)
    } else {
        Box::new(ValueCutter::new(input.open()?, input.name().clone(), limits))
    })
}

/// Reads one input.
pub struct JsonReader {
    /// The input.
    pub input: Arc<Input>,
    /// Each line is a record.
    pub lines: bool,
}

impl Reader for JsonReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let pieces = pieces(&self.input, self.lines, request)?;
        let request = Arc::new(request.clone());
        let (mut nbytes, limit) = (0u64, request.sample_bytes.unwrap_or(u64::MAX));
        let wanted = pieces.take_while(move |piece| {
            let more = nbytes < limit;
            if let Ok(Piece::Block(block)) = piece {
                nbytes += block.bytes.len() as u64;
            }
            more
        });
        Ok(Inference::Scan(Box::new(wanted.map(move |piece| {
            let (piece, request) = (piece?, request.clone());
            let task: Task<Box<dyn Observed>> = Box::new(move || Ok(Box::new(decode::observe(piece, &request)?)));
            Ok(task)
        }))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let pieces = pieces(&self.input, self.lines, request)?;
        let (schema, request) = (schema.clone(), Arc::new(request.clone()));
        Ok(Box::new(pieces.map(move |piece| {
            let (piece, schema, request) = (piece?, schema.clone(), request.clone());
            let task: Task<Decoded> = Box::new(move || decode::decode(piece, &schema, &request));
            Ok(task)
        })))
    }
}
