//! Counts by hash in little memory: an array of counts, and an open-addressing table of their indices.

/// How often a value occurs.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The hash of the value.
    pub hash: u64,
    /// Occurrences since the value has been held.
    pub seen: u64,
    /// Maximum number of occurrences before that.
    pub missed: u64,
}

/// Counts by hash, in order of insertion.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: Vec<Count>,
    /// The index of a count plus 1, or 0 for an empty slot. The length is a power of two, of which at most 5/8 is in
    /// use.
    slots: Vec<u32>,
}

impl Tally {
    /// The counts, in order of insertion.
    pub fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// The index of the count for a hash.
    #[inline]
    pub fn find(&self, hash: u64) -> Option<usize> {
        if self.slots.is_empty() { None } else { self.slot(hash).1 }
    }

    /// Adds to the count for a hash. A new count starts with `missed`, and the result is `true`. There will be at most
    /// `most` counts.
    #[inline]
    pub fn add(&mut self, hash: u64, count: u64, missed: u64, most: usize) -> bool {
        if (self.counts.len() + 1) * 8 > self.slots.len() * 5 {
            self.fill_slots((self.slots.len() * 2).max(16));
        }
        match self.slot(hash) {
            (_, Some(number)) => {
                self.counts[number].seen += count;
                false
            }
            (slot, None) => {
                if self.counts.len() == self.counts.capacity() {
                    self.counts.reserve_exact(self.counts.len().max(8).min(most.saturating_sub(self.counts.len()).max(1)));
                }
                self.counts.push(Count { hash, seen: count, missed });
                self.slots[slot] = self.counts.len() as u32;
                true
            }
        }
    }

    /// The slot of a hash and the index of its count; if there is no count, the slot is empty.
    #[inline]
    fn slot(&self, hash: u64) -> (usize, Option<usize>) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] as usize {
                0 => return (slot, None),
                number if self.counts[number - 1].hash == hash => return (slot, Some(number - 1)),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn fill_slots(&mut self, len: usize) {
        self.slots.clear();
        self.slots.reserve_exact(len);
        self.slots.resize(len, 0);
        for (number, count) in self.counts.iter().enumerate() {
            let mut slot = count.hash as usize & (len - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (len - 1);
            }
            self.slots[slot] = number as u32 + 1;
        }
    }

    /// Keeps some of the counts; their indices change.
    pub fn retain(&mut self, keep: impl FnMut(&Count) -> bool) {
        self.counts.retain(keep);
        self.fill_slots(self.slots.len());
    }
}

#[cfg(test)]
mod tests {
    use super::super::distinct::hash_bits;
    use super::*;

    #[test]
    fn counts_are_found_after_growing_and_dropping() {
        let mut tally = Tally::default();
        assert_eq!(tally.find(1), None);
        for i in 0..1025u64 {
            assert!(tally.add(hash_bits(i), 1, 7, 1025));
            assert!(!tally.add(hash_bits(i), i, 9, 1025));
        }
        assert_eq!((tally.counts.len(), tally.counts.capacity(), tally.slots.len()), (1025, 1025, 2048));
        tally.retain(|count| count.seen % 2 == 0);
        for i in 0..1025u64 {
            let count = tally.find(hash_bits(i)).map(|number| tally.counts()[number]);
            assert_eq!(count.map(|count| (count.seen, count.missed)), (i % 2 == 1).then_some((i + 1, 7)));
        }
    }
}
