//! Observes the types of features in records; `settle` infers the schema from them.

mod part;
mod settle;

pub use part::Part;
pub use settle::declared_features;

use super::values::float64_holds;
use super::wire::{self, FeatureKind, Message};
use crate::demand::Wanted;
use crate::error::Result;
use crate::formats::first_wins::{self, Kept};
use crate::formats::format::{Observed, Request};
use crate::formats::records::block::Block;
use crate::schema::{MAX_FIELDS, Schema};
use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Observations of the features of some records.
#[derive(Default)]
pub struct Observation {
    /// The number of parts of the input, in order, that have been observed.
    parts: u64,
    records: u64,
    features: BTreeMap<Vec<u8>, Feature>,
    /// Observations of the feature lists of tf.SequenceExample.
    lists: BTreeMap<Vec<u8>, Feature>,
    /// The first record of the expected message type, and the first of the other type, with that type.
    proper: Option<FirstSeen>,
    foreign: Option<(FirstSeen, Message)>,
    /// The first record of neither type, with the error.
    unreadable: Option<(FirstSeen, String)>,
    /// The first record with data but without features, and the number of such records.
    featureless: Option<FirstSeen>,
    nfeatureless: u64,
    /// The observed records, if those that clash with earlier ones are left out.
    kept: Option<Kept<Part>>,
}

/// Observations of one feature.
struct Feature {
    /// The part, the record of its input, and the position in it, where it was first seen; determines the schema order.
    first: (u64, u64, usize),
    /// The record seen last.
    last: u64,
    /// The first record with each kind: bytes, float, int64.
    kinds: [Option<FirstSeen>; 3],
    /// The first record with an integer that float64 would change. Only observed if bad records are left out.
    beyond: Option<FirstSeen>,
    /// The kind in the first record that has one.
    first_kind: Option<FeatureKind>,
    /// Number of records in which it has a kind.
    present: u64,
    /// The smallest number of values in a record in which it has a kind.
    shortest: usize,
    longest: usize,
    utf8: bool,
    /// See [`Scan::reads`].
    is_read: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FirstSeen {
    part: u64,
    record: u64,
    input: Arc<str>,
}

/// What to scan: the values of some features, and the kinds of the others.
pub struct Scan {
    pub wanted: Wanted,
    /// Features that `--schema` reads need no inference.
    pub declared: HashSet<String>,
    pub verify: bool,
    /// Whether the records are tf.SequenceExamples.
    pub sequences: bool,
    /// Whether their type was inferred, because `--from` was not given.
    pub recognised: bool,
    /// Whether records that clash with earlier ones are left out.
    pub leaves_out: bool,
    pub input: Arc<str>,
}

impl Scan {
    /// Whether the type of the feature is inferred.
    fn reads(&self, name: &str) -> bool {
        self.wanted.includes(name) && !self.declared.contains(name)
    }
}

impl Observation {
    /// Observes the records of a block. Unreadable records are skipped here; reading reports them.
    pub fn in_block(block: &Block, scan: &Scan, misfits: &HashSet<u64>) -> Observation {
        Observation::of_rows(block, 0..block.payloads.len(), scan, misfits)
    }

    /// Observes some records of a block.
    pub fn of_rows(block: &Block, rows: std::ops::Range<usize>, scan: &Scan, misfits: &HashSet<u64>) -> Observation {
        let mut seen = Observation { parts: 1, ..Observation::default() };
        for (row, payload) in block.payloads.iter().enumerate().take(rows.end).skip(rows.start) {
            if block.lost(row).is_some() || (scan.verify && !block.holds(row)) || misfits.contains(&block.record(row)) {
                continue;
            }
            seen.records += 1;
            let record = block.record(row);
            let mut found: Vec<(&[u8], std::ops::Range<usize>)> = Vec::new();
            let mut lists: Vec<(&[u8], std::ops::Range<usize>)> = Vec::new();
            let outcome = if scan.sequences {
                wire::sequence_features(&block.bytes, payload.clone(), &mut |is_list, key, feature| {
                    if is_list {
                        lists.push((key, feature))
                    } else {
                        found.push((key, feature))
                    }
                    Ok(())
                })
            } else {
                wire::features(&block.bytes, payload.clone(), &mut |key, feature| {
                    found.push((key, feature));
                    Ok(())
                })
            };
            let here = || FirstSeen { part: 0, record, input: scan.input.clone() };
            if let Err(error) = outcome {
                if !scan.sequences && seen.foreign.is_none() && wire::message(&block.bytes, payload.clone()) == Message::SequenceExample {
                    seen.foreign = Some((here(), Message::SequenceExample));
                }
                seen.unreadable.get_or_insert_with(|| (here(), error.what.to_string()));
                continue;
            }
            if found.is_empty() && lists.is_empty() && !payload.is_empty() && !wire::has_features(&block.bytes, payload.clone()) {
                seen.featureless.get_or_insert_with(here);
                seen.nfeatureless += 1;
            }
            if scan.sequences && scan.recognised && lists.is_empty() && !found.is_empty() {
                if seen.foreign.is_none() && wire::message(&block.bytes, payload.clone()) == Message::Example {
                    seen.foreign = Some((here(), Message::Example));
                }
            } else if seen.proper.is_none() && !(found.is_empty() && lists.is_empty()) {
                seen.proper = Some(here());
            }
            // In reverse, because the last entry of a repeated key counts.
            for (position, (key, feature)) in found.iter().enumerate().rev() {
                if let Some(entry) = entry(&mut seen.features, key, (0, record, position)) {
                    entry.see(key, &block.bytes, feature.clone(), record, scan);
                }
            }
            for (position, (key, list)) in lists.iter().enumerate().rev() {
                let Some(entry) = entry(&mut seen.lists, key, (0, record, found.len() + position)) else { continue };
                entry.present += 1;
                let before = entry.present;
                // Reading reports errors in a step.
                let _ = wire::steps(&block.bytes, list.clone(), &mut |step| entry.see(key, &block.bytes, step, record, scan));
                entry.present = before;
            }
        }
        seen
    }
}

/// The entry of a feature, unless the record has already had it.
fn entry<'a>(features: &'a mut BTreeMap<Vec<u8>, Feature>, key: &[u8], first: (u64, u64, usize)) -> Option<&'a mut Feature> {
    if !features.contains_key(key) {
        // One more than the limit shows that there are too many.
        if features.len() > MAX_FIELDS {
            return None;
        }
        let new = Feature {
            first,
            last: 0,
            kinds: [None, None, None],
            beyond: None,
            first_kind: None,
            present: 0,
            shortest: usize::MAX,
            longest: 0,
            utf8: true,
            is_read: false,
        };
        features.insert(key.to_vec(), new);
    }
    let entry = features.get_mut(key).filter(|e| e.last != first.1)?;
    entry.last = first.1;
    Some(entry)
}

impl Feature {
    /// Whether no type holds the values together with `others`.
    fn clashes(&self, others: Option<&Feature>) -> bool {
        let has = |kind: FeatureKind| [Some(self), others].into_iter().flatten().any(|feature| feature.kinds[kind as usize].is_some());
        let is_beyond = self.beyond.is_some() || others.is_some_and(|others| others.beyond.is_some());
        // float64 holds the numbers of both kinds, unless it would change one.
        has(FeatureKind::Bytes) && (has(FeatureKind::Float) || has(FeatureKind::Int64)) || (is_beyond && has(FeatureKind::Float))
    }

    fn see(&mut self, key: &[u8], bytes: &[u8], feature: std::ops::Range<usize>, record: u64, scan: &Scan) {
        let Ok(Some((kind, list))) = wire::list(bytes, feature) else { return };
        let entry = self;
        entry.present += 1;
        entry.first_kind.get_or_insert(kind);
        let here = || FirstSeen { part: 0, record, input: scan.input.clone() };
        let known = &mut entry.kinds[kind as usize];
        if known.is_none() {
            *known = Some(here());
        }
        let name = std::str::from_utf8(key).unwrap_or_default();
        entry.is_read = scan.reads(name);
        if !entry.is_read {
            return;
        }
        if scan.leaves_out && kind == FeatureKind::Int64 && entry.beyond.is_none() && holds_inexact(list) {
            entry.beyond = Some(here());
        }
        let count = match kind {
            FeatureKind::Int64 => wire::count_int64s(list),
            FeatureKind::Float => wire::count_floats(list),
            FeatureKind::Bytes => {
                let mut n = 0;
                let mut utf8 = entry.utf8;
                let walked = wire::each_bytes(list, &mut |value| {
                    n += 1;
                    utf8 = utf8 && simdutf8::basic::from_utf8(value).is_ok();
                });
                entry.utf8 = utf8;
                walked.map(|()| n)
            }
        };
        let count = count.unwrap_or(0);
        entry.longest = entry.longest.max(count);
        entry.shortest = entry.shortest.min(count);
    }
}

impl Observed for Observation {
    fn nrecords(&self) -> Option<u64> {
        Some(self.records)
    }

    fn merge(&mut self, other: Box<dyn Observed>) {
        let Ok(other) = other.into_any().downcast::<Observation>() else { return };
        first_wins::join(self, *other);
        // No longer needed: these records are before those that follow.
        self.kept = None;
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        self.settled(request)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Whether a list of integers has one that float64 would change.
fn holds_inexact(list: wire::Cursor) -> bool {
    if !wire::may_hold_long_varints(list) {
        return false;
    }
    let mut is_exact = true;
    // Reading reports errors in a list.
    let _ = wire::each_int64(list, &mut |value| is_exact = is_exact && float64_holds(value));
    !is_exact
}

fn earlier(a: Option<FirstSeen>, b: Option<FirstSeen>) -> Option<FirstSeen> {
    [a, b].into_iter().flatten().min()
}

/// Merges observations of the features of other records.
fn merge(all: &mut BTreeMap<Vec<u8>, Feature>, other: BTreeMap<Vec<u8>, Feature>) {
    for (key, theirs) in other {
        let Some(ours) = all.get_mut(&key) else {
            if all.len() <= MAX_FIELDS {
                all.insert(key, theirs);
            }
            continue;
        };
        ours.first = ours.first.min(theirs.first);
        for (a, b) in ours.kinds.iter_mut().zip(theirs.kinds) {
            *a = earlier(a.take(), b);
        }
        ours.beyond = earlier(ours.beyond.take(), theirs.beyond);
        ours.is_read |= theirs.is_read;
        ours.first_kind = ours.first_kind.or(theirs.first_kind);
        ours.present += theirs.present;
        ours.longest = ours.longest.max(theirs.longest);
        ours.shortest = ours.shortest.min(theirs.shortest);
        ours.utf8 &= theirs.utf8;
    }
}

impl Observation {
    /// Whether no type holds the values of a feature that is read, in these and `later` records.
    fn clashes(&self, later: &Observation) -> bool {
        let clash = |ours: &BTreeMap<Vec<u8>, Feature>, theirs: &BTreeMap<Vec<u8>, Feature>| {
            theirs.iter().any(|(key, theirs)| theirs.is_read && theirs.clashes(ours.get(key)))
        };
        clash(&self.features, &later.features) || clash(&self.lists, &later.lists)
    }

    /// Adds observations of later records.
    fn append(&mut self, mut other: Observation) {
        other.follow(self.parts);
        self.parts += other.parts;
        self.records += other.records;
        self.proper = earlier(self.proper.take(), other.proper);
        self.foreign = [self.foreign.take(), other.foreign].into_iter().flatten().min();
        self.unreadable = [self.unreadable.take(), other.unreadable].into_iter().flatten().min();
        self.featureless = earlier(self.featureless.take(), other.featureless);
        self.nfeatureless += other.nfeatureless;
        merge(&mut self.features, other.features);
        merge(&mut self.lists, other.lists);
    }

    /// Numbers its parts after that many others.
    fn follow(&mut self, parts: u64) {
        let found = [self.proper.as_mut(), self.featureless.as_mut()].into_iter().flatten();
        let found = found.chain(self.foreign.as_mut().map(|(first, _)| first)).chain(self.unreadable.as_mut().map(|(first, _)| first));
        found.for_each(|first| first.part += parts);
        for feature in self.features.values_mut().chain(self.lists.values_mut()) {
            feature.first.0 += parts;
            feature.kinds.iter_mut().chain([&mut feature.beyond]).flatten().for_each(|first| first.part += parts);
        }
    }
}
