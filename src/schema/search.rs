//! Searches fields by name.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The position of the last field found among many. Verbs mostly look up fields in order, often several times each, so a search
/// that starts here finds each field immediately, and looking up all fields takes linear time.
#[derive(Debug, Default)]
pub struct LastFound(AtomicUsize);

impl Clone for LastFound {
    fn clone(&self) -> LastFound {
        LastFound::default()
    }
}

impl LastFound {
    /// Up to this many fields are searched from the first, so that a structure with few fields does not reset the position
    /// among the many fields around it.
    const FEW: usize = 32;

    /// The position of the field that `is_meant`, of which there is at most one.
    pub fn position<T>(&self, fields: &[T], is_meant: impl Fn(&T) -> bool) -> Option<usize> {
        if fields.len() <= LastFound::FEW {
            return fields.iter().position(is_meant);
        }
        let (before, after) = fields.split_at(self.0.load(Ordering::Relaxed).min(fields.len()));
        let in_after = after.iter().position(&is_meant).map(|position| before.len() + position);
        let found = in_after.or_else(|| before.iter().position(&is_meant))?;
        self.0.store(found, Ordering::Relaxed);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_found_from_wherever_the_last_search_ended() {
        for len in [0, 3, LastFound::FEW, LastFound::FEW + 1, 100] {
            let (next, items) = (LastFound::default(), (0..len).collect::<Vec<_>>());
            for wanted in (0..len).chain((0..len).rev()).chain([len / 2, len / 2, len, 0]) {
                assert_eq!(next.position(&items, |item| *item == wanted), (wanted < len).then_some(wanted), "{wanted} of {len}");
            }
        }
    }
}
