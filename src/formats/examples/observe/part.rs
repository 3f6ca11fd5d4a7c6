//! Observes the records of a block in parts, for [`crate::formats::first_wins`].

use super::{Observation, Scan};
use crate::error::Result;
use crate::formats::first_wins::{Clash, Kept, Observations, Records};
use crate::formats::records::block::Block;
use std::collections::HashSet;
use std::sync::Arc;

/// The records of a block.
pub struct Part {
    pub block: Block,
    pub scan: Arc<Scan>,
    /// The numbers of those that the declared types make bad.
    pub misfits: HashSet<u64>,
}

impl Records for Part {
    type Seen = Observation;
    /// The index of the record.
    type Place<'a> = usize;

    fn start(&self) -> usize {
        0
    }

    fn observe(&self, place: &mut usize, most: usize) -> Result<(Observation, usize)> {
        let start = *place;
        *place = start.saturating_add(most).min(self.block.payloads.len());
        Ok((Observation::of_rows(&self.block, start..*place, &self.scan, &self.misfits), *place - start))
    }
}

impl Observations for Observation {
    type Records = Part;

    fn clash(&self, later: &Observation) -> Clash {
        if self.clashes(later) { Clash::Always } else { Clash::None }
    }

    fn add(&mut self, later: Observation) {
        self.append(later);
    }

    fn kept(&mut self) -> &mut Option<Kept<Part>> {
        &mut self.kept
    }
}
