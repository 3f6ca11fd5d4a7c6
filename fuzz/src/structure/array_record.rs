//! ArrayRecord: blocks of 64 KiB that are mostly padding. Bytes are changed in place, where there are any, so that offsets
//! stay right; the target does not check hashes.

use super::Random;

/// Changes one to eight bytes, beginning with one that is not zero.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let at = *random.choice(&used)?;
    let width = (1 << random.below(4)).min(bytes.len() - at);
    let mut old = [0; 8];
    old[..width].copy_from_slice(&bytes[at..at + width]);
    let mut out = bytes.to_vec();
    out[at..at + width].copy_from_slice(&random.near(u64::from_le_bytes(old)).to_le_bytes()[..width]);
    Some(out)
}
