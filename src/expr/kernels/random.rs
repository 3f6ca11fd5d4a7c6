//! Random numbers of records: a stream for each record and call, so that neither threads nor chunks change them.
//!
//! The key of a record is made of `--seed`, the name of its input and its number there; rows that come from one record
//! are told apart by their order. A stream is ChaCha with 8 rounds under the key and the number of the call.

use crate::chunk::Origin;
use crate::error::{Error, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The keys of the rows of a chunk.
///
/// # Errors
/// It is not known which records the rows are.
pub fn keys(origin: &Origin, nrows: usize, seed: u64) -> Result<Vec<u64>> {
    let input = origin.input.as_deref().unwrap_or("").bytes().fold(seed, |all, byte| mixed(all ^ u64::from(byte)));
    let mut before = None;
    let mut order = 0u64;
    (0..nrows)
        .map(|row| {
            let (record, _) = origin.records(row..row + 1).ok_or_else(|| {
                Error::data("random numbers are drawn by the number of the record, and it is not known which record this is")
                    .at_row(row)
                    .help("draw them before the verbs that make new records")
            })?;
            order = if before == Some(record) { order + 1 } else { 0 };
            before = Some(record);
            Ok(mixed(mixed(input ^ record) ^ order))
        })
        .collect()
}

/// A permutation of the numbers of 64 bits without a pattern (Steele, Lea and Flood 2014, "SplitMix").
fn mixed(v: u64) -> u64 {
    let v = v.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let v = (v ^ (v >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let v = (v ^ (v >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    v ^ (v >> 31)
}

/// The random numbers of one call for one record.
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of a record's key and the number of a call.
    pub fn new(key: u64, call: u64) -> Stream {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&key.to_le_bytes());
        bytes[8..16].copy_from_slice(&call.to_le_bytes());
        Stream(ChaCha8Rng::from_seed(bytes))
    }

    /// A number in [0, 1) with that many random bits.
    pub fn uniform(&mut self, bits: u32) -> f64 {
        (self.0.next_u64() >> (64 - bits)) as f64 / (1u64 << bits) as f64
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

    /// A number of the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform(53))).sqrt();
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform(53))
    }

    /// A number of the standard normal distribution within two deviations.
    pub fn truncated_normal(&mut self) -> f64 {
        loop {
            let value = self.normal();
            if value.abs() <= 2.0 {
                return value;
            }
        }
    }

    /// The numbers `0 .. n` in random order (Fisher and Yates).
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

    /// Mean and variance of 4 numbers from each of 25,000 streams.
    fn moments(draw: impl Fn(&mut Stream) -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..25_000u64)
            .flat_map(|record| {
                let mut stream = Stream::new(mixed(record), 7);
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
            (moments(Stream::normal), 0.0, 1.0),
            (moments(Stream::truncated_normal), 0.0, 0.774),
            (moments(|s| s.below(6) as f64), 2.5, 35.0 / 12.0),
        ] {
            assert!(
                // Five standard deviations of the mean of 100,000 numbers.
                (found.0 - mean).abs() < 5.0 * (variance / 100_000.0_f64).sqrt() && (found.1 - variance).abs() < 0.02 * variance.max(0.1),
                "{found:?} for {mean}, {variance}"
            );
        }
    }

    #[test]
    fn keys_depend_on_seed_input_and_record_alone() {
        let origin = Origin::consecutive("a".into(), 1);
        let all = keys(&origin, 10, 3).unwrap_or_default();
        assert_eq!(all[4..], keys(&origin.slice(4, 6), 6, 3).unwrap_or_default());
        assert!(all[0] != all[1] && all != keys(&origin, 10, 4).unwrap_or_default());
        assert!(all != keys(&Origin::consecutive("b".into(), 1), 10, 3).unwrap_or_default());
        assert!(keys(&Origin::default(), 1, 3).is_err());
    }
}
