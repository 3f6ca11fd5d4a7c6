//! Reads lines by byte ranges.
//!
//! A line belongs to the range in which it starts. A range is read from its first line start, which follows a newline,
//! to the end of its last line, which can be beyond the end of the range. Only bytes of lines that cross a boundary are
//! read twice. Each range counts its own lines; only the line and record numbers are passed on.

use super::buffers::{Buffer, Filling};
use super::input::Input;
use super::lines::{BLOCK_BYTES, FIRST_BLOCK_BYTES, Lines, LongLine};
use super::ranges::{Positioned, Range, Ranges, index, reserve};
use crate::error::Result;
use crate::options::Options;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes read at a time to find the first line start of a range.
const PROBE_BYTES: usize = 4 << 10;
/// Minimum number of bytes read beyond a range for the rest of its last line.
const BEYOND_BYTES: u64 = 16 << 10;

/// The ranges of a file of lines, in order.
pub struct LineRanges {
    ranges: Ranges<Counts>,
    shared: Arc<Shared>,
}

/// What the ranges of a file share.
struct Shared {
    max_line_bytes: usize,
    /// Bytes known to contain no newline, so that ranges inside a long line are not read.
    inside_line: Mutex<(u64, u64)>,
}

/// Counts of lines and records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines, including blank ones.
    pub lines: u64,
    /// Lines with records.
    pub records: u64,
}

impl Counts {
    /// The counts of bytes that start with a line, where each line is a record.
    pub fn of_lines(bytes: &[u8]) -> Counts {
        let last = u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64 + last;
        Counts { lines, records: lines }
    }
}

/// A byte range whose lines are still to be read.
pub struct LineRange {
    range: Range<Counts>,
    shared: Arc<Shared>,
}

/// The result of reading a range.
#[derive(Debug)]
pub struct RangeLines {
    /// The lines, possibly none.
    pub lines: Lines,
    /// Number of records in all previous ranges.
    pub records_before: u64,
    /// Number of records in the lines.
    pub nrecords: u64,
    /// The line after these, if it was too long and skipped.
    pub long: Option<LongLine>,
}

impl LineRanges {
    /// The ranges of an input. `None` if its lines must be read in order, because it is not a regular file, is
    /// compressed, or the options set the number of lines in a block.
    ///
    /// # Errors
    /// See [`Input::open`].
    pub fn open(input: &Input, options: &Options) -> Result<Option<LineRanges>> {
        if options.chunk_rows.is_some() {
            return Ok(None);
        }
        let Some(ranges) = Ranges::open(input)? else { return Ok(None) };
        // A line shorter than a block is always kept; the decoder enforces the limit.
        let max_line_bytes = usize::try_from(options.max_record_bytes).unwrap_or(usize::MAX).max(BLOCK_BYTES);
        Ok(Some(LineRanges { ranges, shared: Arc::new(Shared { max_line_bytes, inside_line: Mutex::default() }) }))
    }
}

impl Iterator for LineRanges {
    type Item = LineRange;

    fn next(&mut self) -> Option<LineRange> {
        Some(LineRange { range: self.ranges.next()?, shared: self.shared.clone() })
    }
}

impl LineRange {
    /// Reads the lines that start in the range; `count` counts them. Must be called in range order, on any thread.
    ///
    /// # Errors
    /// Reading fails or has failed in an earlier range, or the file has been truncated.
    pub fn read(self, count: impl FnOnce(&mut Buffer, u64) -> Counts) -> Result<RangeLines> {
        let Range { start, end, ref file, .. } = self.range;
        let mut filling = file.filling();
        let found = self.shared.lines_of(file, start, end, &mut filling)?;
        let mut bytes = filling.into_buffer();
        let first = found.map_or(start, |found| found.first);
        let own = count(&mut bytes, first);
        let before = self.range.before()?;
        let long = found.and_then(|found| found.long);
        let long = long.map(|(byte, length)| LongLine { line: before.lines + own.lines + 1, byte, length });
        let passed = u64::from(long.is_some());
        self.range.hand_on(Counts { lines: before.lines + own.lines + passed, records: before.records + own.records + passed });
        file.consume(bytes.len() as u64 + long.as_ref().map_or(0, |long| long.length));
        let nlines = usize::try_from(own.lines).unwrap_or(usize::MAX);
        let lines = Lines { bytes, first_line: before.lines + 1, byte: first, nlines };
        Ok(RangeLines { lines, records_before: before.records, nrecords: own.records, long })
    }
}

/// The lines found in a range.
#[derive(Clone, Copy)]
struct FoundLines {
    /// The start of its first line.
    first: u64,
    /// The start and length of the line that is too long.
    long: Option<(u64, u64)>,
}

impl Shared {
    /// Reads the lines that start between two positions into the empty buffer `bytes`; `None` if there are none.
    fn lines_of(&self, file: &Positioned, start: u64, end: u64, bytes: &mut Filling) -> Result<Option<FoundLines>> {
        reserve(bytes, index(end - start + BEYOND_BYTES));
        let Some(first) = self.first_line_start(file, start, end, bytes)? else { return Ok(None) };
        file.append(bytes, first, end.saturating_add(BEYOND_BYTES))?;
        let mut searched = index(end - 1 - first);
        let mut last_line = None;
        loop {
            let rest = bytes.get(searched..).unwrap_or_default();
            if let Some(newline) = memchr::memchr(b'\n', rest) {
                bytes.truncate(searched + newline + 1);
                return Ok(Some(FoundLines { first, long: None }));
            }
            // The last line continues.
            let at = first + bytes.len() as u64;
            let line =
                *last_line.get_or_insert_with(|| memchr::memrchr(b'\n', bytes.get(..searched).unwrap_or_default()).map_or(0, |n| n + 1));
            if at >= file.nbytes() {
                return Ok(Some(FoundLines { first, long: None }));
            }
            self.holds_no_newline(end - 1, at);
            let held = bytes.len() - line;
            if held > self.max_line_bytes {
                bytes.truncate(line);
                let byte = first + line as u64;
                let length = self.pass_over(file, end - 1, at)? - byte;
                return Ok(Some(FoundLines { first, long: Some((byte, length)) }));
            }
            searched = bytes.len();
            // Doubles the size, up to the limit.
            let most = self.max_line_bytes.saturating_add(BLOCK_BYTES) - held;
            file.append(bytes, at, at.saturating_add((held.min(most) as u64).max(BEYOND_BYTES)))?;
        }
    }

    /// The start of the first line between two positions: the start of the file, or after a newline. `probe` is a
    /// buffer for searching.
    fn first_line_start(&self, file: &Positioned, start: u64, end: u64, probe: &mut Filling) -> Result<Option<u64>> {
        let Some(mut at) = start.checked_sub(1) else { return Ok(Some(0)) };
        let (from, to) = *self.inside_line.lock().unwrap_or_else(PoisonError::into_inner);
        if from <= at && end <= to {
            return Ok(None);
        }
        let mut nbytes = PROBE_BYTES;
        while at < end - 1 {
            file.append(probe, at, (end - 1).min(at + nbytes as u64))?;
            let (newline, probed) = (memchr::memchr(b'\n', probe), probe.len());
            probe.truncate(0);
            if let Some(newline) = newline {
                return Ok(Some(at + newline as u64 + 1));
            }
            at += probed as u64;
            nbytes = (nbytes * 4).min(FIRST_BLOCK_BYTES);
        }
        Ok(None)
    }

    /// The end of the line that contains `at`.
    fn pass_over(&self, file: &Positioned, from: u64, mut at: u64) -> Result<u64> {
        let mut block = Filling::default();
        while at < file.nbytes() {
            block.truncate(0);
            file.append(&mut block, at, at.saturating_add(BLOCK_BYTES as u64))?;
            if let Some(newline) = memchr::memchr(b'\n', &block) {
                return Ok(at + newline as u64 + 1);
            }
            at += block.len() as u64;
            self.holds_no_newline(from, at);
        }
        Ok(at)
    }

    fn holds_no_newline(&self, from: u64, to: u64) {
        *self.inside_line.lock().unwrap_or_else(PoisonError::into_inner) = (from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io;
    use std::sync::atomic::Ordering;

    /// The parts of a file in ranges of that size, read by several threads.
    fn parts(text: &[u8], nbytes: u64, max_line_bytes: usize, nthreads: usize) -> Vec<RangeLines> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, text).unwrap();
        let input = Input::regular(file.path()).unwrap();
        let Some(mut ranges) = LineRanges::open(&input, &Options::default()).unwrap() else { return Vec::new() };
        Arc::get_mut(&mut ranges.shared).unwrap().max_line_bytes = max_line_bytes;
        ranges.ranges = ranges.ranges.sized(nbytes);
        let ranges = Mutex::new(ranges.enumerate());
        let read = Mutex::new(Vec::new());
        let records = |bytes: &[u8]| bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).count() as u64;
        let count =
            |bytes: &mut Buffer, _| Counts { lines: bytes.split_inclusive(|b| *b == b'\n').count() as u64, records: records(bytes) };
        std::thread::scope(|scope| {
            for _ in 0..nthreads {
                scope.spawn(|| {
                    loop {
                        let next = ranges.lock().unwrap().next();
                        let Some((number, range)) = next else { return };
                        let part = range.read(count).unwrap();
                        read.lock().unwrap().push((number, part));
                    }
                });
            }
        });
        let mut read = read.into_inner().unwrap();
        read.sort_by_key(|(number, _)| *number);
        assert_eq!(input.consumed().load(Ordering::Relaxed), text.len() as u64);
        read.into_iter().map(|(_, part)| part).collect()
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![4 => 0..4usize, 3 => 0..90usize, 1 => 4000..4200usize, 1 => 16_000..70_000usize];
        (proptest::collection::vec(line, 0..20), any::<bool>()).prop_map(|(lines, is_ended)| {
            let mut text: Vec<u8> = lines.iter().zip(b'a'..).flat_map(|(n, letter)| [vec![letter; *n], vec![b'\n']].concat()).collect();
            if !is_ended {
                text.pop();
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn every_line_comes_once_with_its_number(text in text(), nbytes in prop_oneof![1..9u64, 50..5000u64, 10_000..90_000u64], nthreads in 1..4usize) {
            // Ranges are never that small, but there must not be too many.
            let nbytes = nbytes.max(text.len() as u64 / 500).max(1);
            let (mut all, mut lines, mut records) = (Vec::new(), 0, 0);
            for part in parts(&text, nbytes, usize::MAX, nthreads) {
                if !part.lines.bytes.is_empty() {
                    prop_assert_eq!(part.lines.byte, all.len() as u64);
                }
                prop_assert_eq!((part.lines.first_line, part.records_before), (lines + 1, records));
                prop_assert!(part.long.is_none());
                lines += part.lines.nlines as u64;
                records += part.nrecords;
                all.extend_from_slice(&part.lines.bytes);
            }
            prop_assert!(all == text, "{} of {} bytes", all.len(), text.len());
        }

        #[test]
        fn long_lines_are_passed_over(text in text(), nbytes in 100..40_000u64, limit in 3000..20_000usize, nthreads in 1..4usize) {
            let (mut byte, mut line) = (0, 1);
            for part in parts(&text, nbytes.max(text.len() as u64 / 500), limit, nthreads) {
                prop_assert!(part.lines.bytes.is_empty() || part.lines.byte == byte);
                prop_assert!(text[byte as usize..].starts_with(&part.lines.bytes));
                byte += part.lines.bytes.len() as u64;
                line += part.lines.nlines as u64;
                if let Some(long) = part.long {
                    prop_assert_eq!((long.line, long.byte), (line, byte));
                    prop_assert!(long.length > limit as u64);
                    byte += long.length;
                    line += 1;
                    prop_assert!(byte == text.len() as u64 || text[byte as usize - 1] == b'\n');
                }
            }
            prop_assert_eq!(byte, text.len() as u64);
        }
    }

    #[test]
    fn a_file_that_becomes_shorter_is_not_taken_for_complete() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789\n".repeat(100)).unwrap();
        let input = Input::regular(file.path()).unwrap();
        let mut ranges = LineRanges::open(&input, &Options::default()).unwrap().unwrap();
        ranges.ranges = ranges.ranges.sized(700);
        file.as_file().set_len(900).unwrap();
        let mut read = || ranges.next().unwrap().read(|bytes, _| Counts { lines: bytes.len() as u64 / 11, records: 0 });
        assert!(
            read().unwrap_err().to_string().ends_with("the file was truncated while it was being read: its last 200 bytes are missing")
        );
        assert!(read().is_err());
    }

    #[test]
    fn what_follows_a_range_that_was_given_up_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a\n".repeat(100)).unwrap();
        let mut ranges = LineRanges::open(&Input::regular(file.path()).unwrap(), &Options::default()).unwrap().unwrap();
        ranges.ranges = ranges.ranges.sized(10);
        drop(ranges.next());
        assert!(ranges.next().unwrap().read(|_, _| Counts::default()).is_err());
    }
}
