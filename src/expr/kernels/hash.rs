//! String hashes that TensorFlow guarantees to be stable.
//!
//! - [`fingerprint64`]: FarmHash's `Fingerprint64`, for `tf.strings.to_hash_bucket_fast` and the hashed crosses.
//! - [`fingerprint_cat`]: combines two fingerprints.
//! - [`legacy`]: the hash of `tf.strings.to_hash_bucket`.
//! - [`sip`]: SipHash-2-4, for `tf.strings.to_hash_bucket_strong`.
//!
//! `fixtures/hashes.txt` holds TensorFlow's results for every length up to 300.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
/// The multiplier of MurmurHash.
const MURMUR: u64 = 0xc6a4_a793_5bd1_e995;

/// Reads eight bytes, little-endian; missing bytes count as 0.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

#[inline]
fn half_word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u64::from(u32::from_le_bytes(*b)))
}

#[inline]
fn fold(v: u64) -> u64 {
    v ^ (v >> 47)
}

/// Combines two words.
#[inline]
fn pair(u: u64, v: u64, by: u64) -> u64 {
    let a = fold((u ^ v).wrapping_mul(by));
    fold((v ^ a).wrapping_mul(by)).wrapping_mul(by)
}

/// FarmHash's `Fingerprint64`, as in `tf.strings.to_hash_bucket_fast`. O(bytes).
pub fn fingerprint64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0 => K2,
        1..=3 => tiny(bytes),
        4..=7 => {
            let by = multiplier(bytes);
            pair((bytes.len() as u64).wrapping_add(half_word(bytes, 0) << 3), half_word(bytes, bytes.len() - 4), by)
        }
        8..=16 => {
            let by = multiplier(bytes);
            let (a, b) = (word(bytes, 0).wrapping_add(K2), word(bytes, bytes.len() - 8));
            let c = b.rotate_right(37).wrapping_mul(by).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(by);
            pair(c, d, by)
        }
        17..=32 => {
            let by = multiplier(bytes);
            let ends = Ends::new(bytes, K1, by);
            pair(ends.y, ends.second(), by)
        }
        33..=64 => medium(bytes),
        _ => long(bytes),
    }
}

#[inline]
fn multiplier(bytes: &[u8]) -> u64 {
    K2.wrapping_add(bytes.len() as u64 * 2)
}

fn tiny(bytes: &[u8]) -> u64 {
    let at = |i: usize| u64::from(bytes[i]);
    let n = bytes.len();
    let (y, z) = (at(0) + (at(n >> 1) << 8), n as u64 + (at(n - 1) << 2));
    fold(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
}

/// Mixes the first and last 16 bytes; shared by lengths 17 to 64.
struct Ends {
    a: u64,
    b: u64,
    c: u64,
    y: u64,
}

impl Ends {
    fn new(bytes: &[u8], first: u64, by: u64) -> Ends {
        let n = bytes.len();
        let (a, b) = (word(bytes, 0).wrapping_mul(first), word(bytes, 8));
        let (c, d) = (word(bytes, n - 8).wrapping_mul(by), word(bytes, n - 16).wrapping_mul(K2));
        let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
        Ends { a, b, c, y }
    }

    fn second(&self) -> u64 {
        self.a.wrapping_add(self.b.wrapping_add(K2).rotate_right(18)).wrapping_add(self.c)
    }
}

fn medium(bytes: &[u8]) -> u64 {
    let (n, by) = (bytes.len(), multiplier(bytes));
    let ends = Ends::new(bytes, K2, by);
    let z = pair(ends.y, ends.second(), by);
    let (e, f) = (word(bytes, 16).wrapping_mul(by), word(bytes, 24));
    let g = ends.y.wrapping_add(word(bytes, n - 32)).wrapping_mul(by);
    let h = z.wrapping_add(word(bytes, n - 24)).wrapping_mul(by);
    let u = e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h);
    let v = e.wrapping_add(f.wrapping_add(ends.a).rotate_right(18)).wrapping_add(g);
    pair(u, v, by)
}

/// 56 bytes of state for inputs of more than 64 bytes.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    /// Consumes a block of 64 bytes. The last block uses multiplier 9 in place of 1, given by `nine`.
    #[inline]
    fn block(&mut self, block: &[u8], by: u64, nine: u64) {
        let State { x, y, z, v, w } = self;
        *x = x.wrapping_add(*y).wrapping_add(v.0).wrapping_add(word(block, 8)).rotate_right(37).wrapping_mul(by);
        *y = y.wrapping_add(v.1).wrapping_add(word(block, 48)).rotate_right(42).wrapping_mul(by);
        *x ^= w.1.wrapping_mul(nine);
        *y = y.wrapping_add(v.0.wrapping_mul(nine)).wrapping_add(word(block, 40));
        *z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(by);
        *v = half(&block[..32], v.1.wrapping_mul(by), x.wrapping_add(w.0));
        *w = half(&block[32..], z.wrapping_add(w.1), y.wrapping_add(word(block, 16)));
        std::mem::swap(x, z);
    }
}

/// Hashes 32 bytes and two seeds to two words.
#[inline]
fn half(bytes: &[u8], a: u64, b: u64) -> (u64, u64) {
    let last = word(bytes, 24);
    let a = a.wrapping_add(word(bytes, 0));
    let b = b.wrapping_add(a).wrapping_add(last).rotate_right(21);
    let sum = a.wrapping_add(word(bytes, 8)).wrapping_add(word(bytes, 16));
    (sum.wrapping_add(last), b.wrapping_add(sum.rotate_right(44)).wrapping_add(a))
}

fn long(bytes: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let z = fold(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let x = SEED.wrapping_mul(K2).wrapping_add(word(bytes, 0));
    let mut state = State { x, y, z, v: (0, 0), w: (0, 0) };
    // The last block is the last 64 bytes and can overlap the previous block.
    let whole = (bytes.len() - 1) / 64 * 64;
    for block in bytes[..whole].chunks_exact(64) {
        state.block(block, K1, 1);
    }
    let by = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add((bytes.len() as u64 - 1) & 63);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.block(&bytes[bytes.len() - 64..], by, 9);
    let State { x, y, z, v, w } = state;
    let first = pair(v.0, w.0, by).wrapping_add(fold(y).wrapping_mul(K0)).wrapping_add(z);
    pair(first, pair(v.1, w.1, by).wrapping_add(x), by)
}

/// Combines two fingerprints; the order matters. Source: `FingerprintCat64` in TensorFlow.
pub fn fingerprint_cat(first: u64, second: u64) -> u64 {
    let mixed = first ^ MURMUR ^ fold(second.wrapping_mul(MURMUR)).wrapping_mul(MURMUR);
    fold(fold(mixed.wrapping_mul(MURMUR)).wrapping_mul(MURMUR))
}

/// TensorFlow's legacy hash, MurmurHash64A with its own seed, as in `tf.strings.to_hash_bucket`. O(bytes).
pub fn legacy(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0x00de_cafc_affe;
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MURMUR);
    let blocks = bytes.chunks_exact(8);
    let rest = blocks.remainder();
    for block in blocks {
        let k = fold(word(block, 0).wrapping_mul(MURMUR)).wrapping_mul(MURMUR);
        hash = (hash ^ k).wrapping_mul(MURMUR);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
        hash = (hash ^ tail).wrapping_mul(MURMUR);
    }
    fold(fold(hash).wrapping_mul(MURMUR))
}

/// SipHash-2-4 with a key of two words, as in `tf.strings.to_hash_bucket_strong`. O(bytes).
pub fn sip(key: (u64, u64), bytes: &[u8]) -> u64 {
    fn round(v: &mut [u64; 4]) {
        for (a, b, turn) in [(0, 1, 13), (2, 3, 16)] {
            v[a] = v[a].wrapping_add(v[b]);
            v[b] = v[b].rotate_left(turn) ^ v[a];
        }
        v[0] = v[0].rotate_left(32);
        for (a, b, turn) in [(2, 1, 17), (0, 3, 21)] {
            v[a] = v[a].wrapping_add(v[b]);
            v[b] = v[b].rotate_left(turn) ^ v[a];
        }
        v[2] = v[2].rotate_left(32);
    }
    // "somepseudorandomlygeneratedbytes"
    const START: [u64; 4] = [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let mut v = [START[0] ^ key.0, START[1] ^ key.1, START[2] ^ key.0, START[3] ^ key.1];
    let blocks = bytes.chunks_exact(8);
    let tail = blocks.remainder().iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    let last = (bytes.len() as u64) << 56 | tail;
    for block in blocks.map(|block| word(block, 0)).chain([last]) {
        v[3] ^= block;
        round(&mut v);
        round(&mut v);
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input bytes of the fixture's hashes.
    fn bytes(n: u64) -> Vec<u8> {
        (0..n).map(|i| ((31 * i * i + 7 * i + 131 * n + 17) >> 3) as u8).collect()
    }

    #[test]
    fn strings_of_every_length_hash_as_in_tensorflow() {
        const BUCKETS: u64 = (1 << 63) - 1;
        let text = include_str!("../../../fixtures/hashes.txt");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
            let data = bytes(numbers[0]);
            assert_eq!(fingerprint64(&data), numbers[1], "fingerprint64 of {} bytes", data.len());
            assert_eq!(legacy(&data) % BUCKETS, numbers[2], "the legacy hash of {} bytes", data.len());
            assert_eq!(sip((123_456_789, 987_654_321_987), &data) % BUCKETS, numbers[3], "SipHash of {} bytes", data.len());
        }
    }
}
