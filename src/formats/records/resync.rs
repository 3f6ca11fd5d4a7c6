//! Finds the next record after damage: the first offset at which the checksums of a length and of its payload match,
//! followed by a valid header or the end of the input.
//!
//! Checksums of payloads are derived from running checksums, so that malicious input full of headers that claim long
//! payloads costs only one step per header.

use super::framing::{FOOTER, HEADER, header, mask};
use std::sync::LazyLock;

/// Number of bytes between running checksums.
const STRIDE: usize = 1024;

/// A search over a window of bytes that slides forward.
pub struct Search {
    /// Offsets below this have been searched. The first byte is that of the damaged record itself.
    next: usize,
    running: Running,
}

/// The state of a search after a step.
pub enum Progress {
    /// A record starts here, or the input ends here.
    Found(usize),
    /// The first `useless` bytes of the window have no record. The window should grow to `want` bytes, counted after
    /// dropping them.
    More { useless: usize, want: usize },
}

/// The effect on a CRC-32C of appending zero bytes, a linear map over GF(2): for each power of two of zero bytes, the
/// images of the 32 bits.
struct Zeros([[u32; 32]; 64]);

static ZEROS: LazyLock<Zeros> = LazyLock::new(Zeros::new);

impl Zeros {
    fn new() -> Zeros {
        // One zero bit: the reflected polynomial for the bit shifted out, a shift for the others.
        let mut map: [u32; 32] = std::array::from_fn(|bit| if bit == 0 { 0x82f6_3b78 } else { 1 << (bit - 1) });
        let mut twice = || {
            map = map.map(|image| Zeros::image(&map, image));
            map
        };
        // Doubled twice, from one bit to two and four; the next doubling gives a byte.
        for _ in 0..2 {
            twice();
        }
        Zeros(std::array::from_fn(|_| twice()))
    }

    fn image(map: &[u32; 32], crc: u32) -> u32 {
        map.iter().enumerate().fold(0, |sum, (bit, image)| sum ^ (image & 0u32.wrapping_sub(crc >> bit & 1)))
    }

    /// The CRC-32C of a message followed by `n` zero bytes, given the CRC-32C of the message, except for the constants
    /// at both ends.
    fn followed(&self, crc: u32, n: usize) -> u32 {
        (0..64).filter(|k| (n as u64) >> k & 1 == 1).fold(crc, |crc, k| Zeros::image(&self.0[k], crc))
    }
}

/// The CRC-32C of the bytes before each multiple of [`STRIDE`].
struct Running {
    crcs: Vec<u32>,
}

impl Running {
    fn new() -> Running {
        Running { crcs: vec![0] }
    }

    fn restart(&mut self) {
        self.crcs.truncate(1);
    }

    /// The CRC-32C of `bytes[..end]`.
    fn before(&mut self, bytes: &[u8], end: usize) -> u32 {
        let stride = end / STRIDE;
        while self.crcs.len() <= stride {
            let start = (self.crcs.len() - 1) * STRIDE;
            let last = self.crcs.last().copied().unwrap_or(0);
            self.crcs.push(crc32c::crc32c_append(last, &bytes[start..start + STRIDE]));
        }
        crc32c::crc32c_append(self.crcs[stride], &bytes[stride * STRIDE..end])
    }

    /// The CRC-32C of `bytes[start..end]`.
    fn between(&mut self, bytes: &[u8], start: usize, end: usize) -> u32 {
        let before = self.before(bytes, start);
        ZEROS.followed(before, end - start) ^ self.before(bytes, end)
    }
}

impl Search {
    pub fn new() -> Search {
        Search { next: 1, running: Running::new() }
    }

    /// Adjusts to a window whose first `n` bytes have been dropped.
    pub fn dropped(&mut self, n: usize) {
        if n > 0 {
            self.next -= n.min(self.next);
            self.running.restart();
        }
    }

    /// Continues the search. Since the last step, the start of the window must have changed only by
    /// [`Search::dropped`].
    pub fn step(&mut self, window: &[u8], at_end: bool, max_record_bytes: u64) -> Progress {
        while let Some(found) = window.get(self.next..).and_then(header) {
            let at = self.next;
            if found.holds && found.length <= max_record_bytes {
                let end = usize::try_from(found.length).ok().and_then(|n| n.checked_add(HEADER)?.checked_add(at));
                let after = end.and_then(|end| end.checked_add(FOOTER));
                if let (Some(end), Some(after)) = (end, after) {
                    if after.saturating_add(HEADER) > window.len() && !at_end {
                        return Progress::More { useless: at, want: (after - at).saturating_add(HEADER) };
                    }
                    if self.is_record(window, at + HEADER, end) && (after == window.len() || follows(window, after)) {
                        return Progress::Found(at);
                    }
                }
            }
            self.next += 1;
        }
        if at_end {
            return Progress::Found(window.len());
        }
        Progress::More { useless: self.next.min(window.len()), want: HEADER }
    }

    fn is_record(&mut self, window: &[u8], start: usize, end: usize) -> bool {
        match window.get(end..).and_then(|rest| rest.first_chunk::<FOOTER>()) {
            Some(stored) => mask(self.running.between(window, start, end)) == u32::from_le_bytes(*stored),
            None => false,
        }
    }
}

fn follows(window: &[u8], at: usize) -> bool {
    window.get(at..).and_then(header).is_some_and(|h| h.holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_checksums_are_those_of_the_bytes() {
        let bytes: Vec<u8> = (0..20_000u32).map(|i| (i * 7 + i / 251) as u8).collect();
        let mut running = Running::new();
        for (start, end) in [(0, 0), (0, 20_000), (1, 1), (4095, 4097), (12_000, 13_000), (3, 19_999), (8192, 16_384)] {
            assert_eq!(running.between(&bytes, start, end), crc32c::crc32c(&bytes[start..end]), "{start}..{end}");
        }
    }
}
