//! Random choices, determined by a seed (SplitMix64).

/// Values at which sizes, offsets and counts tend to break.
const EDGES: [u64; 14] =
    [0, 1, 7, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, i32::MAX as u64, 1 << 31, u32::MAX as u64, i64::MAX as u64, u64::MAX];

/// A source of random numbers.
pub struct Random(u64);

impl Random {
    /// The source of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `n`; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.number() % (n as u64).max(1)).unwrap_or(0)
    }

    /// Whether something that happens once in `n` times does.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the items.
    pub fn choice<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// A number near `old`, at an edge, or any.
    pub fn near(&mut self, old: u64) -> u64 {
        match self.below(6) {
            0 => old.wrapping_add(1),
            1 => old.wrapping_sub(1),
            2 => old ^ (1 << self.below(64)),
            3 => self.number() >> self.below(64),
            _ => EDGES[self.below(EDGES.len())].wrapping_add(if self.one_in(3) { u64::MAX } else { 0 }),
        }
    }

    /// Changes bytes that have no structure, or one that is not known.
    pub fn scramble(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let len = (1 << self.below(6)).min(bytes.len() - at);
        match self.below(6) {
            0 if len > 0 => bytes[at] ^= 1 << self.below(8),
            1 => {
                let width = (1 << self.below(4)).min(bytes.len() - at);
                let number = self.near(0).to_le_bytes();
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            2 => drop(bytes.drain(at..at + len)),
            3 => {
                let again = bytes[at..at + len].to_vec();
                bytes.splice(at..at, again);
            }
            4 => bytes.truncate(at),
            _ => bytes.insert(at, self.number().to_le_bytes()[0]),
        }
    }

    /// Drops, repeats or moves an item of a list.
    pub fn rearrange<T: Clone>(&mut self, items: &mut Vec<T>) {
        if items.is_empty() {
            return;
        }
        let (at, other) = (self.below(items.len()), self.below(items.len()));
        match self.below(4) {
            0 => drop(items.remove(at)),
            1 => items.swap(at, other),
            2 => items[at] = items[other].clone(),
            _ => items.insert(other, items[at].clone()),
        }
    }
}
