//! Random numbers. They are part of the interface: a seed always gives the same records.
//!
//! ChaCha with 8 rounds. The key consists of two numbers of 8 bytes each, little-endian, and 16 zeros: the seed and the
//! stream. A number below n is a 64-bit word modulo n, rejecting words in the last, incomplete run of n.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

/// The verbs that draw random numbers. Each has its own stream for a seed, so that the numbers with which one verb
/// chooses records do not also determine what the next verb does with them.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// `shuffle`.
    Shuffle = 0,
    /// `sample`.
    Sample = 1,
    /// `mix`.
    Mix = 2,
    /// `rejection-resample`.
    RejectionResample = 3,
}

impl Random {
    /// The stream of a verb for a seed.
    pub fn of(stream: Stream, seed: u64) -> Random {
        Random::keyed(seed, stream as u64)
    }

    /// One of the streams for a key.
    pub fn keyed(key: u64, stream: u64) -> Random {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&key.to_le_bytes());
        bytes[8..16].copy_from_slice(&stream.to_le_bytes());
        Random(ChaCha8Rng::from_seed(bytes))
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

    /// A number in [0, 1) with `bits` random bits, at most 53.
    pub fn uniform(&mut self, bits: u32) -> f64 {
        (self.0.next_u64() >> (64 - bits)) as f64 / (1u64 << bits) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform(53) < probability
    }

    /// A standard normal number (Box-Muller transform).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform(53))).sqrt();
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform(53))
    }

    /// A standard normal number within two standard deviations.
    pub fn truncated_normal(&mut self) -> f64 {
        loop {
            let value = self.normal();
            if value.abs() <= 2.0 {
                return value;
            }
        }
    }

    /// The numbers `0 .. n` in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.permute(&mut order);
        order
    }

    /// Shuffles values (Fisher-Yates): from the last position to the second, each is swapped with a random position
    /// up to it.
    pub fn permute<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// A pseudorandom permutation of the 64-bit numbers (Steele, Lea and Flood 2014, "SplitMix").
pub fn mixed(v: u64) -> u64 {
    let v = v.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let v = (v ^ (v >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let v = (v ^ (v >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    v ^ (v >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_is_promised() {
        let mut random = Random::of(Stream::Shuffle, 0);
        // The first words of ChaCha8 with the zero key, from the eSTREAM test vectors.
        assert_eq!(random.0.next_u64().to_le_bytes(), [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
        assert_ne!(Random::of(Stream::Shuffle, 1).permutation(20), Random::of(Stream::Shuffle, 2).permutation(20));
        assert_ne!(Random::of(Stream::Shuffle, 1).permutation(20), Random::of(Stream::Sample, 1).permutation(20));
        let mut sorted = Random::of(Stream::Shuffle, 7).permutation(100);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    /// Mean and variance of 4 numbers from each of 25,000 streams.
    fn moments(draw: impl Fn(&mut Random) -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..25_000u64)
            .flat_map(|record| {
                let mut stream = Random::keyed(mixed(record), 7);
                (0..4).map(|_| draw(&mut stream)).collect::<Vec<_>>()
            })
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64)
    }

    #[test]
    fn distributions_have_their_moments() {
        for (found, mean, variance) in [
            (moments(|s| s.uniform(24)), 0.5, 1.0 / 12.0),
            (moments(Random::normal), 0.0, 1.0),
            (moments(Random::truncated_normal), 0.0, 0.774),
            (moments(|s| s.below(6) as f64), 2.5, 35.0 / 12.0),
        ] {
            assert!(
                // Five standard deviations of the mean of 100,000 numbers.
                (found.0 - mean).abs() < 5.0 * (variance / 100_000.0_f64).sqrt() && (found.1 - variance).abs() < 0.02 * variance.max(0.1),
                "{found:?} for {mean}, {variance}"
            );
        }
    }
}
