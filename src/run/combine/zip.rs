//! Zips inputs: combines the records with the same number.

use super::feed::Feed;
use crate::chunk::{Chunk, Origin, Rest};
use crate::error::{Error, Result};
use crate::printable::counted;
use crate::run::engine::{Lines, Merge};
use crate::run::work::{Load, Work};
use crate::tensor::Tensor;

/// Zips inputs: combines the records with the same number.
pub struct Zip {
    feeds: Vec<Feed>,
    /// For each input, the rest of its current chunk.
    current: Vec<Option<Rest>>,
    is_nested: bool,
    shortest: bool,
    /// Number of records so far.
    nrows: u64,
    over: bool,
}

impl Zip {
    /// `is_nested`: each input becomes a structure. `shortest`: the stream ends with the shortest input.
    pub fn new(feeds: Vec<Feed>, is_nested: bool, shortest: bool) -> Zip {
        Zip { current: feeds.iter().map(|_| None).collect(), feeds, is_nested, shortest, nrows: 0, over: false }
    }

    fn next_chunk(&mut self, lines: &Lines<'_, '_, Work>, work: &mut Work) -> Result<Option<Chunk>> {
        for (line, (feed, chunk)) in self.feeds.iter_mut().zip(&mut self.current).enumerate() {
            if chunk.is_none() {
                *chunk = feed.next_chunk(lines, line, work)?.map(Rest::of);
            }
        }
        let nrows = self.current.iter().map(|chunk| chunk.as_ref().map_or(0, Rest::nrows)).min().unwrap_or(0);
        if nrows == 0 {
            return self.end().map(|()| None);
        }
        let mut columns = Vec::new();
        for slot in &mut self.current {
            let Some(rest) = slot else { continue };
            let part = rest.take(nrows);
            if rest.nrows() == 0 {
                *slot = None;
            }
            if self.is_nested {
                columns.push(Tensor::structure(nrows, part.columns, None)?);
            } else {
                columns.extend(part.columns);
            }
        }
        let origin = Origin::of_stream(self.nrows + 1);
        self.nrows += nrows as u64;
        Chunk::try_new(nrows, columns, origin).map(Some)
    }

    /// One input has ended, so the others must end too.
    fn end(&self) -> Result<()> {
        let name = |has_more: bool| {
            let mut inputs = self.feeds.iter().zip(&self.current);
            inputs.find(|(_, chunk)| chunk.is_some() == has_more).map(|(feed, _)| &feed.name)
        };
        match (name(true), name(false)) {
            (Some(longer), Some(ended)) if !self.shortest => {
                let error = Error::data(format!("this input has more than the {} of {ended}", counted(self.nrows, "record")));
                Err(error.in_input(longer.clone()).help("to end with the shortest input: zip --shortest"))
            }
            _ => Ok(()),
        }
    }
}

impl<'a> Merge<'a, Work> for Zip {
    fn next(&mut self, lines: &mut Lines<'_, 'a, Work>) -> Option<Work> {
        if self.over {
            return None;
        }
        let mut work = Work::default();
        match self.next_chunk(lines, &mut work) {
            Ok(Some(chunk)) => work.load = Load::Chunk(chunk),
            Ok(None) => self.over = true,
            Err(error) => {
                self.over = true;
                work.error = Some(error);
            }
        }
        (!work.is_empty()).then_some(work)
    }
}
