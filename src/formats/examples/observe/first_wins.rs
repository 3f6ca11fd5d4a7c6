//! Leaves out of the inference the records that `--on-error skip` will skip because a feature has another kind than in an
//! earlier record, as `jsonl::first_wins` does for JSON.

use super::{Observation, Scan};
use crate::formats::records::block::Block;
use std::collections::HashSet;
use std::sync::Arc;

/// The observed records of a block, kept until those before them have been observed.
pub struct Kept {
    block: Block,
    scan: Arc<Scan>,
    /// The records that the declared types make bad.
    misfits: HashSet<u64>,
    /// Whether a record clashes with another one of the block.
    has_clashes: bool,
}

impl Kept {
    /// Observes a block.
    pub fn observe(block: Block, scan: Arc<Scan>, misfits: HashSet<u64>) -> Observation {
        let seen = Observation::in_block(&block, &scan, &misfits);
        let kept = Kept { has_clashes: Observation::default().clashes(&seen, &scan), block, scan, misfits };
        let mut seen = if kept.has_clashes { kept.after(Observation::default()) } else { seen };
        seen.kept = Some(kept);
        seen
    }

    /// Whether the records must be observed one by one, after those that `earlier` has observed. `all`: what has been observed
    /// of them alone.
    pub fn is_needed(&self, earlier: &Observation, all: &Observation) -> bool {
        self.has_clashes || earlier.clashes(all, &self.scan)
    }

    /// Observes each record that does not clash with those before it.
    pub fn after(&self, mut earlier: Observation) -> Observation {
        for row in 0..self.block.payloads.len() {
            let one = Observation::of_rows(&self.block, row..row + 1, &self.scan, &self.misfits);
            if !earlier.clashes(&one, &self.scan) {
                earlier.add(one);
            }
        }
        earlier
    }
}
