//! The random numbers of `shuffle` and `sample`. They are part of the interface: a seed always gives the same records.
//!
//! ChaCha with 8 rounds; the key is `--seed` as 8 bytes, little endian, and 24 zeros. A number below
//! n is a 64-bit word modulo n; words of the last, incomplete run of n are rejected.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Random(ChaCha8Rng::from_seed(key))
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        let n = n.max(1);
        let rest = (u64::MAX % n + 1) % n;
        loop {
            let word = self.0.next_u64();
            if word <= u64::MAX - rest {
                return word % n;
            }
        }
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        // 53 bits, the precision of a float64 in [0, 1).
        ((self.0.next_u64() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// The numbers `0 .. n` in random order (Fisher-Yates): from the last position to the second, each is swapped with a
    /// random position up to it.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_is_promised() {
        let mut random = Random::new(0);
        // The first words of ChaCha8 under the zero key, as the eSTREAM vectors have them.
        assert_eq!(random.0.next_u64().to_le_bytes(), [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
        assert_ne!(Random::new(1).permutation(20), Random::new(2).permutation(20));
        let mut sorted = Random::new(7).permutation(100);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
