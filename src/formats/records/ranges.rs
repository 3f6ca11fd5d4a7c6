//! Cuts a regular file into blocks of whole records by byte ranges, each on any thread.
//!
//! A record belongs to the range in which its frame starts. Where the first frame of a range starts follows from the
//! ranges before, but waiting for them would make reading sequential. So a range first guesses: at the first bytes that
//! are a valid header, checksum of the length included. What it found from there counts only if the range before passes
//! on the same start; otherwise, as for a record that contains a TFRecord, it is found again from the right one.
//!
//! Used only if reading ends at the first damage: the search for the next record after it is sequential.

use super::block::{Block, Piece};
use super::framing::{Damage, FOOTER, Frames, HEADER, Stop, WholeFrames, header};
use crate::chunk::Fault;
use crate::error::Result;
use crate::formats::format::Request;
use crate::io::Input;
use crate::io::buffers::Filling;
use crate::io::ranges::{self, Ranges};

/// Maximum bytes searched for the first header of a range.
const PROBE_NBYTES: u64 = 64 << 10;
/// Bytes read beyond a range, at least those of a header, for the rest of its last record.
const BEYOND_NBYTES: u64 = 16 << 10;

/// What a range passes on.
#[derive(Clone, Copy, Default)]
struct Next {
    /// Where the next frame starts; [`NOWHERE`] after damage.
    byte: u64,
    /// Number of records before it.
    records: u64,
}

const NOWHERE: u64 = u64::MAX;

type Range = ranges::Range<Next>;

/// The pieces of an input. `None` if they must be cut in sequence: it is not a regular file or is compressed, bad
/// records are skipped, or the options limit the records of a block or of the input.
///
/// # Errors
/// The input cannot be opened.
pub fn pieces(input: &Input, request: &Request) -> Result<Option<impl Iterator<Item = Result<Piece>> + Send + use<>>> {
    let options = &request.options;
    if options.chunk_rows.is_some() || request.records.is_some() || options.on_error.skips() {
        return Ok(None);
    }
    let Some(ranges) = Ranges::open(input)? else { return Ok(None) };
    Ok(Some(pieces_of(ranges, Frames::of(options))))
}

fn pieces_of(ranges: Ranges<Next>, frames: Frames) -> impl Iterator<Item = Result<Piece>> + Send {
    ranges.map(move |range| Ok(Piece::Packed(Box::new(move || read(&range, frames)))))
}

/// Reads the records that start in the range. Must be called in range order, on any thread.
fn read(range: &Range, frames: Frames) -> Result<Block> {
    let file = &*range.file;
    let mut bytes = file.filling();
    let guess = match range.known() {
        None => guess(range, frames, &mut bytes)?,
        Some(_) => None,
    };
    let before = range.before()?;
    if before.byte >= range.end {
        range.hand_on(before);
        return Ok(Block::default());
    }
    let first = before.byte;
    let WholeFrames { mut payloads, end, mut stop } = match guess {
        Some((guessed, walk)) if guessed == first => walk,
        _ => {
            bytes.truncate(0);
            file.append(&mut bytes, first, range.end + BEYOND_NBYTES)?;
            frames.walk(&bytes, until(range, first), usize::MAX)
        }
    };
    let mut next = first + end as u64;
    if let Stop::Short(need) = stop {
        // The last record continues beyond the bytes read, or beyond the end of the file.
        stop = match next.checked_add(need as u64) {
            Some(after) if after <= file.nbytes() => {
                next = after;
                payloads.push(end + HEADER..end + need - FOOTER);
                Stop::Full
            }
            _ => Stop::Damage(Damage::Truncated { need, left: ranges::index(file.nbytes() - next) }),
        };
    }
    let (record, nrecords) = (before.records + 1, payloads.len() as u64);
    let damage = match stop {
        Stop::Damage(damage) => {
            Some(Fault { error: frames.error(damage, file.name(), record + nrecords, next), length: 0, raw: Some(Vec::new()), kept: false })
        }
        _ => None,
    };
    // Before the rest of the last record is read, so that the next ranges need not wait for it.
    range.hand_on(Next { byte: if damage.is_some() { NOWHERE } else { next }, records: before.records + nrecords });
    let held = first + bytes.len() as u64;
    file.append(&mut bytes, held, next)?;
    bytes.truncate(ranges::index(next - first));
    file.consume(next - first);
    Ok(Block { bytes: bytes.into_buffer(), first_record: record, offset: first, payloads, damage, ..Block::default() })
}

/// Where the first frame of a range may start, and the records from there. `bytes` then start there.
fn guess(range: &Range, frames: Frames, bytes: &mut Filling) -> Result<Option<(u64, WholeFrames)>> {
    let file = &*range.file;
    ranges::reserve(bytes, ranges::index(range.end - range.start + BEYOND_NBYTES));
    file.append(bytes, range.start, range.end.min(range.start + PROBE_NBYTES) + HEADER as u64)?;
    let fits = |at: usize, length: u64| {
        let left = file.nbytes() - range.start - at as u64;
        length <= frames.max_record_bytes && length.checked_add((HEADER + FOOTER) as u64).is_some_and(|need| need <= left)
    };
    // Checksums are computed only of lengths that are possible.
    let is_frame = |at: usize, frame: &[u8]| {
        let length = frame.first_chunk::<8>().map_or(u64::MAX, |length| u64::from_le_bytes(*length));
        fits(at, length) && header(frame).is_some_and(|header| header.holds)
    };
    let Some(at) = bytes.windows(HEADER).enumerate().position(|(at, frame)| is_frame(at, frame)) else { return Ok(None) };
    bytes.drop_front(at);
    let first = range.start + at as u64;
    if first >= range.end {
        return Ok(None);
    }
    let held = first + bytes.len() as u64;
    file.append(bytes, held, range.end + BEYOND_NBYTES)?;
    let walk = frames.walk(bytes, until(range, first), usize::MAX);
    Ok((!matches!(walk.stop, Stop::Damage(_))).then_some((first, walk)))
}

/// The end of a range, counted from `first`.
fn until(range: &Range, first: u64) -> usize {
    ranges::index(range.end.saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::super::cutter::Cutter;
    use super::super::framing::append;
    use super::*;
    use crate::formats::cut::Cut;
    use crate::options::Options;
    use crate::schema::Schema;
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    /// The number, offset and payload of each record, and the damage after them.
    type Read = (Vec<(u64, u64, Vec<u8>)>, Option<String>);

    fn append_block(read: &mut Read, block: &Block) {
        for (row, payload) in block.payloads.iter().enumerate() {
            read.0.push((block.record(row), block.frame_offset(row), block.bytes[payload.clone()].to_vec()));
        }
        read.1 = read.1.take().or_else(|| block.damage.as_ref().map(|fault| fault.error.to_string()));
    }

    fn in_sequence(input: &Input) -> Read {
        let mut read = Read::default();
        let request = Request::everything(Arc::new(Schema::default()), Arc::new(Options::default()));
        for piece in Cutter::new(input.open().unwrap(), input.name().clone(), &request).pieces() {
            match piece.unwrap() {
                Piece::Block(block) => append_block(&mut read, &block),
                Piece::Lost(fault) => read.1 = Some(fault.error.to_string()),
                Piece::Packed(_) => unreachable!("blocks of a cutter are not packed"),
            }
        }
        read
    }

    fn by_ranges(input: &Input, nbytes: u64, nthreads: usize) -> Read {
        let frames = Frames::of(&Options::default());
        let Some(ranges) = Ranges::open(input).unwrap() else { return Read::default() };
        let pieces = Mutex::new(pieces_of(ranges.sized(nbytes), frames).enumerate());
        let blocks = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..nthreads {
                scope.spawn(|| {
                    loop {
                        let next = pieces.lock().unwrap().next();
                        let Some((number, Ok(Piece::Packed(block)))) = next else { return };
                        let block = block().unwrap();
                        blocks.lock().unwrap().push((number, block));
                    }
                });
            }
        });
        let mut blocks = blocks.into_inner().unwrap();
        blocks.sort_by_key(|(number, _)| *number);
        let mut read = Read::default();
        blocks.iter().for_each(|(_, block)| append_block(&mut read, block));
        read
    }

    fn frames_of(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        payloads.iter().for_each(|payload| append(&mut bytes, payload));
        bytes
    }

    /// Payloads; some contain TFRecords.
    fn payload() -> impl Strategy<Value = Vec<u8>> {
        let plain = prop_oneof![4 => 0..40usize, 3 => 0..3000usize, 1 => 16_000..200_000usize];
        let plain = (plain, any::<u8>()).prop_map(|(n, byte)| vec![byte; n]);
        let nested = proptest::collection::vec(plain.clone(), 0..20).prop_map(|payloads| frames_of(&payloads));
        prop_oneof![3 => plain, 1 => nested]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn ranges_give_the_records_of_a_sequential_cut(
            payloads in proptest::collection::vec(payload(), 0..30),
            nbytes in prop_oneof![1..90u64, 50..5000u64, 10_000..90_000u64],
            nthreads in 1..4usize,
            damage in proptest::option::of((any::<proptest::sample::Index>(), any::<bool>())),
        ) {
            let mut bytes = frames_of(&payloads);
            if let Some((at, is_cut)) = damage.filter(|_| !bytes.is_empty()) {
                let at = at.index(bytes.len());
                if is_cut {
                    bytes.truncate(at);
                } else {
                    bytes[at] ^= 0x55;
                }
            }
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &bytes).unwrap();
            let input = Input::regular(file.path()).unwrap();
            let nbytes = nbytes.max(bytes.len() as u64 / 500).max(1);
            let (found, expected) = (by_ranges(&input, nbytes, nthreads), in_sequence(&input));
            prop_assert_eq!(&found.1, &expected.1);
            prop_assert!(found == expected, "{} and {} records", found.0.len(), expected.0.len());
        }
    }
}
