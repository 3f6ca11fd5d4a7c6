//! Leaves out of the inference the records that `--on-error skip` will skip because a value has another type than in an earlier
//! record. Such a record must not determine the types of its other fields, nor add fields.
//!
//! Parts of an input are observed in parallel, without the records before them. Nearly always they clash with nothing, and are
//! merged as a whole. Otherwise their records are observed again, in order and one by one, after those before them.

use super::block::Block;
use super::cursor::Cursor;
use super::decode::{BlockRecords, LineCount};
use super::observe::Observation;
use super::seen::{FirstSeen, SeenMembers, SeenNode};
use super::settle::kinds;
use crate::formats::format::Request;

/// Observed records, kept until the records before them have been observed.
pub struct Parts {
    pub list: Vec<Part>,
    pub request: Request,
    /// Whether a record clashes with another one, in these parts or before them.
    pub has_clashes: bool,
}

impl Parts {
    /// Adds the parts that follow.
    pub fn append(&mut self, mut more: Parts) {
        self.list.append(&mut more.list);
        self.has_clashes |= more.has_clashes;
    }
}

/// The records of a block.
pub struct Part {
    pub block: Block,
    /// Those that cannot be read, by index in the block, in ascending order.
    pub unreadable: Vec<usize>,
}

impl Part {
    /// Observes each record that does not clash with those observed before.
    pub fn add_to(&self, seen: &mut Observation, request: &Request) {
        let input = seen.number(&self.block.input);
        // Cleared instead of made anew for each record, because most records have the same fields.
        let mut alone = Observation::default();
        let mut records = BlockRecords::new(&self.block);
        let mut line = LineCount::new(&self.block);
        while let Some((index, start)) = records.next_start() {
            if self.unreadable.binary_search(&index).is_ok() {
                records.advance(self.block.record_end(start, index));
                continue;
            }
            let here = line.first_seen(input, index, start);
            alone.record.clear();
            let see = |seen: &mut Observation| records.read(start, index, |cursor: &mut Cursor| seen.see(cursor, request, here));
            let end = match see(&mut alone) {
                Ok(end) if clashes(&seen.record, &alone.record) => end,
                // It has been read before.
                _ => see(seen).unwrap_or_else(|_| self.block.record_end(start, index)),
            };
            records.advance(end);
        }
    }
}

/// Whether records clash with each other.
pub fn is_mixed(records: &SeenMembers) -> bool {
    clashes(&SeenMembers::default(), records)
}

/// Whether a value of `later` has another type than the values of `earlier` at its position.
pub fn clashes(earlier: &SeenMembers, later: &SeenMembers) -> bool {
    later.list.iter().filter(|theirs| theirs.count > 0).any(|theirs| clash(earlier.find(&theirs.name), &theirs.node))
}

fn clash(earlier: Option<&SeenNode>, later: &SeenNode) -> bool {
    let first = |mark: fn(&SeenNode) -> FirstSeen| earlier.map_or(FirstSeen::NEVER, mark).min(mark(later));
    let kinds = kinds(first);
    let is_set = |mark| first(mark).is_set();
    let no_type_holds_all = if kinds.float.is_set() {
        is_set(|n| n.beyond_float)
    } else {
        is_set(|n| n.beyond_64_bits) || (is_set(|n| n.beyond_int64) && is_set(|n| n.negative))
    };
    if no_type_holds_all || kinds.found().nth(1).is_some() {
        return true;
    }
    if let Some(element) = later.element.as_deref().filter(|_| later.list.is_set())
        && clash(earlier.and_then(|earlier| earlier.element.as_deref()), element)
    {
        return true;
    }
    match later.members.as_deref().filter(|_| later.object.is_set()) {
        None => false,
        Some(members) => match earlier.and_then(|earlier| earlier.members.as_deref()) {
            Some(earlier) => clashes(earlier, members),
            None => is_mixed(members),
        },
    }
}
