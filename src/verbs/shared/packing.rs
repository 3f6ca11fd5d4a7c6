//! Places sequences in rows of one length, given only their lengths, one sequence at a time.

/// Default number of open rows.
pub const WINDOW: usize = 1000;

/// How sequences are placed in rows.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Put a sequence into the first open row with room for it
    #[default]
    FirstFit,
    /// Put it into the open row where it leaves the least room
    BestFit,
    /// Like best-fit, but on --window sequences at a time, the longest first
    BestFitDecreasing,
    /// Concatenate sequences, split where a row ends
    Concat,
}

/// A sequence, or a piece of one, placed in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<P> {
    /// The id of the sequence or piece.
    pub id: P,
    /// Number of items.
    pub len: usize,
    /// The position of its first item in the sequence.
    pub start: usize,
}

/// The contents of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedRow<P> {
    /// Its segments, in order.
    pub segments: Vec<Segment<P>>,
    /// Number of items in use.
    pub used: usize,
}

/// Open rows of one length, at most `window`.
#[derive(Debug)]
pub struct OpenRows<P> {
    strategy: Strategy,
    length: usize,
    window: usize,
    /// Oldest first; none is full or empty.
    open: Vec<PackedRow<P>>,
    /// Room left in each open row.
    rooms: Vec<usize>,
    /// Sequences without a row yet, if they are sorted first.
    waiting: Vec<Segment<P>>,
}

impl<P: Copy> OpenRows<P> {
    /// Starts without rows. Length and window are at least 1.
    pub fn new(strategy: Strategy, length: usize, window: usize) -> OpenRows<P> {
        OpenRows { strategy, length, window: window.max(1), open: Vec::new(), rooms: Vec::new(), waiting: Vec::new() }
    }

    /// Adds a sequence of `len` items. Full rows are appended to `closed`, and so is the oldest row if too many are
    /// open. A sequence longer than a row (or, with `concat`, than the room left) is split: `id` gets the length of
    /// each piece and returns its id. An empty sequence is one piece.
    pub fn push(&mut self, len: usize, id: &mut dyn FnMut(usize) -> P, closed: &mut Vec<PackedRow<P>>) {
        let mut start = 0;
        loop {
            let room = match self.strategy {
                Strategy::Concat => self.rooms.first().copied().unwrap_or(self.length),
                _ => self.length,
            };
            let piece = (len - start).min(room);
            let segment = Segment { id: id(piece), len: piece, start };
            match self.strategy {
                Strategy::BestFitDecreasing => {
                    self.waiting.push(segment);
                    if self.waiting.len() == self.window {
                        self.settle(closed);
                    }
                }
                _ => self.put(segment, closed),
            }
            start += piece;
            if start == len {
                return;
            }
        }
    }

    /// Places the waiting sequences into rows, longest first, and closes all rows.
    fn settle(&mut self, closed: &mut Vec<PackedRow<P>>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|segment| std::cmp::Reverse(segment.len));
        waiting.into_iter().for_each(|segment| self.put(segment, closed));
        self.rooms.clear();
        closed.append(&mut self.open);
    }

    fn put(&mut self, segment: Segment<P>, closed: &mut Vec<PackedRow<P>>) {
        let fits = |room: &&usize| **room >= segment.len;
        let found = match self.strategy {
            Strategy::BestFit | Strategy::BestFitDecreasing => {
                let best = self.rooms.iter().filter(fits).min();
                best.and_then(|best| self.rooms.iter().position(|room| room == best))
            }
            _ => self.rooms.iter().position(|room| *room >= segment.len),
        };
        let number = found.unwrap_or_else(|| {
            if self.open.len() == self.window {
                closed.push(self.take(0));
            }
            self.open.push(PackedRow { segments: Vec::new(), used: 0 });
            self.rooms.push(self.length);
            self.open.len() - 1
        });
        self.open[number].segments.push(segment);
        self.open[number].used += segment.len;
        self.rooms[number] -= segment.len;
        if self.rooms[number] == 0 {
            closed.push(self.take(number));
        }
    }

    fn take(&mut self, number: usize) -> PackedRow<P> {
        self.rooms.remove(number);
        self.open.remove(number)
    }

    /// The segments of open rows, followed by those without a row yet.
    pub fn open_segments(&mut self) -> impl Iterator<Item = &mut Segment<P>> {
        self.open.iter_mut().flat_map(|row| row.segments.iter_mut()).chain(self.waiting.iter_mut())
    }

    /// Number of segments in open rows or without a row yet.
    pub fn open_count(&self) -> usize {
        self.open.iter().map(|row| row.segments.len()).sum::<usize>() + self.waiting.len()
    }

    /// Closes all rows, oldest first.
    pub fn finish(&mut self) -> Vec<PackedRow<P>> {
        let mut closed = Vec::new();
        self.settle(&mut closed);
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequences of each row, formatted as `number:start+len`.
    fn packed(strategy: Strategy, length: usize, window: usize, lengths: &[usize]) -> Vec<String> {
        let (mut rows, mut closed) = (OpenRows::new(strategy, length, window), Vec::new());
        for (number, len) in lengths.iter().enumerate() {
            let mut start = 0;
            let mut id = |len| {
                start += len;
                (number, start - len)
            };
            rows.push(*len, &mut id, &mut closed);
        }
        closed.extend(rows.finish());
        let text = |s: &Segment<(usize, usize)>| format!("{}:{}+{}", s.id.0, s.id.1, s.len);
        closed.iter().map(|row| row.segments.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn each_strategy_in_its_own_way() {
        let lengths = [6, 3, 7, 3, 1, 10, 4];
        // A row is closed as soon as it is full.
        assert_eq!(packed(Strategy::FirstFit, 10, 9, &lengths), ["2:0+7 3:0+3", "0:0+6 1:0+3 4:0+1", "5:0+10", "6:0+4"]);
        assert_eq!(packed(Strategy::Concat, 10, 9, &lengths), ["0:0+6 1:0+3 2:0+1", "2:1+6 3:0+3 4:0+1", "5:0+10", "6:0+4"]);
        // 2 leaves the least room in the row of 7.
        assert_eq!(packed(Strategy::BestFit, 10, 9, &[6, 7, 2]), ["0:0+6", "1:0+7 2:0+2"]);
        assert_eq!(packed(Strategy::FirstFit, 10, 9, &[6, 7, 2]), ["0:0+6 2:0+2", "1:0+7"]);
    }

    #[test]
    fn a_window_bounds_the_open_rows_and_long_sequences_are_cut() {
        assert_eq!(packed(Strategy::FirstFit, 10, 1, &[6, 5, 4, 1]), ["0:0+6", "1:0+5 2:0+4 3:0+1"]);
        assert_eq!(packed(Strategy::FirstFit, 4, 2, &[9, 0, 3]), ["0:0+4", "0:4+4", "0:8+1 1:0+0 2:0+3"]);
    }

    #[test]
    fn the_longest_come_first() {
        // 7, 6, 4 and 3 in turn: the row of 6 and 4 fills up first.
        assert_eq!(packed(Strategy::BestFitDecreasing, 10, 4, &[6, 3, 7, 4, 1]), ["0:0+6 3:0+4", "2:0+7 1:0+3", "4:0+1"]);
    }

    /// Reimplementations of the packers of other libraries. Each row lists the lengths in it.
    mod others {
        /// seqio and T5X: the next sequence goes into the last row or a new one.
        pub fn next_fit(lengths: &[usize], length: usize) -> usize {
            let (mut rows, mut room) = (0, 0);
            for len in lengths {
                if *len > room {
                    (rows, room) = (rows + 1, length);
                }
                room -= len;
            }
            rows
        }

        /// TRL's `bfd` on 1000 sequences at a time, as `datasets.map` passes them; with `first`, first-fit decreasing.
        pub fn decreasing(lengths: &[usize], length: usize, first: bool) -> usize {
            let pack = |lengths: &[usize]| {
                let mut lengths = lengths.to_vec();
                lengths.sort_unstable_by(|a, b| b.cmp(a));
                let mut rooms: Vec<usize> = Vec::new();
                for len in lengths {
                    let fitting = (0..rooms.len()).filter(|row| rooms[*row] >= len);
                    let found = if first { fitting.min() } else { fitting.min_by_key(|row| rooms[*row]) };
                    let row = found.unwrap_or(rooms.len());
                    if row == rooms.len() {
                        rooms.push(length);
                    }
                    rooms[row] -= len;
                }
                rooms.len()
            };
            lengths.chunks(1000).map(pack).sum()
        }
    }

    /// Lengths distributed like those of documents, of numbers, and of dialogues with long and short turns.
    fn drawn(kind: usize, n: usize) -> Vec<usize> {
        let mut random = crate::random::Random::keyed(kind as u64, 0);
        let mut len = || match kind {
            0 => (5.5 + random.normal()).exp() as usize,
            1 => random.below(2048) as usize + 1,
            _ if random.chance(0.5) => random.below(100) as usize + 1,
            _ => random.below(600) as usize + 900,
        };
        (0..n).map(|_| len().clamp(1, 2048)).collect()
    }

    #[test]
    fn rows_are_as_dense_as_those_of_other_packers_and_hold_every_sequence_once() {
        for kind in 0..3 {
            let lengths = drawn(kind, 5000);
            let rows = |strategy, window| {
                let (mut rows, mut closed) = (OpenRows::new(strategy, 2048, window), Vec::new());
                for (number, len) in lengths.iter().enumerate() {
                    rows.push(*len, &mut |_| number, &mut closed);
                }
                closed.extend(rows.finish());
                let mut found: Vec<(usize, usize)> = closed.iter().flat_map(|row| &row.segments).map(|s| (s.id, s.len)).collect();
                found.sort_unstable();
                assert!(found.into_iter().eq(lengths.iter().copied().enumerate()), "every sequence once");
                assert!(closed.iter().all(|row| row.used <= 2048 && row.used == row.segments.iter().map(|s| s.len).sum::<usize>()));
                closed.len()
            };
            let (trl, seqio) = (others::decreasing(&lengths, 2048, false), others::next_fit(&lengths, 2048));
            assert!(rows(Strategy::BestFitDecreasing, WINDOW) <= trl.min(others::decreasing(&lengths, 2048, true)), "{kind}");
            assert!(rows(Strategy::BestFitDecreasing, 5000) <= trl, "{kind}");
            for strategy in [Strategy::FirstFit, Strategy::BestFit] {
                assert!(rows(strategy, WINDOW) < seqio, "{kind} {strategy:?}");
                assert!(rows(strategy, WINDOW) * 100 <= trl * 102, "within two percent: {kind} {strategy:?}");
            }
        }
    }
}
