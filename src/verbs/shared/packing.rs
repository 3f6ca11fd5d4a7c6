//! Placement of sequences in rows of one length, decided from their lengths, one sequence at a time.

/// Default number of open rows.
pub const WINDOW: usize = 1000;

/// How sequences are placed in rows.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Put a sequence into the first open row with room for it
    #[default]
    FirstFit,
    /// Put it into the open row that leaves the least room
    BestFit,
    /// Concatenate sequences, split where a row ends
    Concat,
}

/// A sequence, or a piece of one, in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<P> {
    /// The sequence or the piece.
    pub id: P,
    /// Number of items.
    pub len: usize,
}

/// The segments of one row, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedRow<P> {
    /// Its segments.
    pub segments: Vec<Segment<P>>,
    /// Number of items in use.
    pub used: usize,
}

/// Open rows of one length, at most `window`.
#[derive(Debug)]
pub struct Rows<P> {
    strategy: Strategy,
    length: usize,
    window: usize,
    /// Oldest first; none is full or empty.
    open: Vec<PackedRow<P>>,
    /// Room left in each.
    rooms: Vec<usize>,
}

impl<P: Copy> Rows<P> {
    /// No rows yet. Length and window are at least 1.
    pub fn new(strategy: Strategy, length: usize, window: usize) -> Rows<P> {
        Rows { strategy, length, window: window.max(1), open: Vec::new(), rooms: Vec::new() }
    }

    /// Adds a sequence of `len` items; rows that are full are appended to `closed`, as is the oldest one if too many are open. A
    /// sequence longer than a row, or with `concat` than the room left, is split; `id` gets the length of each piece and returns
    /// its id.
    pub fn push(&mut self, len: usize, id: &mut dyn FnMut(usize) -> P, closed: &mut Vec<PackedRow<P>>) {
        let mut rest = len;
        while rest > 0 {
            let room = match self.strategy {
                Strategy::Concat => self.rooms.first().copied().unwrap_or(self.length),
                _ => self.length,
            };
            let len = rest.min(room);
            self.put(Segment { id: id(len), len }, closed);
            rest -= len;
        }
    }

    fn put(&mut self, segment: Segment<P>, closed: &mut Vec<PackedRow<P>>) {
        let fits = |room: &&usize| **room >= segment.len;
        let found = match self.strategy {
            Strategy::BestFit => {
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

    /// The segments of open rows.
    pub fn open_segments(&mut self) -> impl Iterator<Item = &mut Segment<P>> {
        self.open.iter_mut().flat_map(|row| row.segments.iter_mut())
    }

    /// Number of segments in open rows.
    pub fn open_count(&self) -> usize {
        self.open.iter().map(|row| row.segments.len()).sum()
    }

    /// Closes all rows, oldest first.
    pub fn finish(&mut self) -> Vec<PackedRow<P>> {
        self.rooms.clear();
        std::mem::take(&mut self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequences of each row as `number:start+len`.
    fn packed(strategy: Strategy, length: usize, window: usize, lengths: &[usize]) -> Vec<String> {
        let (mut rows, mut closed) = (Rows::new(strategy, length, window), Vec::new());
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
        assert_eq!(packed(Strategy::FirstFit, 4, 2, &[9, 0, 3]), ["0:0+4", "0:4+4", "0:8+1 2:0+3"]);
    }
}
