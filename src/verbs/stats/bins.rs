//! Histogram counts in bins as fine as the range of values allows, so that any range fits in bounded memory.

/// Maximum number of bins, both signs together. The coarsest bins, one per power of two, are fewer than this.
const MOST: usize = 4096;
/// The finest bins: 2^FINEST between consecutive powers of two.
const FINEST: u32 = 52;

/// Counts of finite numbers. The bin width depends only on the range of all numbers, so the same numbers give the same
/// bins in any order and in any partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    /// There are 2^bits bins between consecutive powers of two.
    bits: u32,
    zeros: u64,
    positive: Window,
    negative: Window,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { bits: FINEST, zeros: 0, positive: Window::default(), negative: Window::default() }
    }
}

/// A contiguous range of bins, by bin number.
#[derive(Clone, Debug, Default, PartialEq)]
struct Window {
    first: usize,
    counts: BinCounts,
}

/// 32-bit counts, used while no count is greater.
#[derive(Clone, Debug, PartialEq)]
enum BinCounts {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for BinCounts {
    fn default() -> BinCounts {
        BinCounts::Narrow(Vec::new())
    }
}

impl BinCounts {
    fn len(&self) -> usize {
        match self {
            BinCounts::Narrow(counts) => counts.len(),
            BinCounts::Wide(counts) => counts.len(),
        }
    }

    fn get(&self, index: usize) -> u64 {
        match self {
            BinCounts::Narrow(counts) => u64::from(counts[index]),
            BinCounts::Wide(counts) => counts[index],
        }
    }

    /// Adds to a count; `false` if there is no bin with that number.
    #[inline]
    fn add(&mut self, index: usize, count: u64) -> bool {
        if let BinCounts::Narrow(counts) = self {
            let Some(own) = counts.get_mut(index) else { return false };
            if let Ok(sum) = u32::try_from(u64::from(*own) + count) {
                *own = sum;
                return true;
            }
            *self = BinCounts::Wide(counts.iter().map(|count| u64::from(*count)).collect());
        }
        match self {
            BinCounts::Wide(counts) if index < counts.len() => {
                counts[index] += count;
                true
            }
            _ => false,
        }
    }

    /// Extends the range with zeros at both ends.
    fn grow(&mut self, before: usize, after: usize) {
        fn grown<T: Copy + Default>(counts: &mut Vec<T>, before: usize, after: usize) {
            let mut grown = Vec::with_capacity(before + counts.len() + after);
            grown.resize(before, T::default());
            grown.extend_from_slice(counts);
            grown.resize(before + counts.len() + after, T::default());
            *counts = grown;
        }
        match self {
            BinCounts::Narrow(counts) => grown(counts, before, after),
            BinCounts::Wide(counts) => grown(counts, before, after),
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl Window {
    /// The numbers of the first and last bin; `None` if there are no bins.
    fn ends(&self) -> Option<(usize, usize)> {
        (self.counts.len() > 0).then(|| (self.first, self.first + self.counts.len() - 1))
    }

    #[inline]
    fn add(&mut self, bin: usize, count: u64) {
        if bin.checked_sub(self.first).is_some_and(|index| self.counts.add(index, count)) {
            return;
        }
        self.include(bin, bin);
        self.counts.add(bin - self.first, count);
    }

    /// Extends the range to all bins from `first` to `last`.
    fn include(&mut self, first: usize, last: usize) {
        let (own_first, own_last) = self.ends().unwrap_or((first, first.wrapping_sub(1)));
        let before = own_first.saturating_sub(first);
        let after = last.wrapping_add(1).saturating_sub(own_last.wrapping_add(1));
        if before + after > 0 {
            self.counts.grow(before, after);
        }
        self.first = own_first - before;
    }

    /// Merges 2^bits adjacent bins into one.
    fn coarsen(&mut self, bits: u32) {
        let Some((first, last)) = self.ends().filter(|_| bits > 0) else { return };
        let mut coarse = Window { first: first >> bits, counts: BinCounts::default() };
        coarse.include(first >> bits, last >> bits);
        (first..=last).zip(self.counts.iter()).for_each(|(bin, count)| coarse.add(bin >> bits, count));
        *self = coarse;
    }
}

impl Bins {
    /// Adds a finite number `count` times.
    #[inline]
    pub fn add(&mut self, value: f64, count: u64) {
        if value == 0.0 {
            self.zeros += count;
            return;
        }
        let magnitude = value.abs().to_bits();
        let bin = (magnitude >> (52 - self.bits)) as usize;
        let (own, other) = if value > 0.0 { (&mut self.positive, &self.negative) } else { (&mut self.negative, &self.positive) };
        if bin.checked_sub(own.first).is_some_and(|index| own.counts.add(index, count)) {
            return;
        }
        let bits = fitting(self.bits, [union(own.ends(), Some((bin, bin))), other.ends()]);
        self.coarsen(bits);
        let own = if value > 0.0 { &mut self.positive } else { &mut self.negative };
        own.add((magnitude >> (52 - bits)) as usize, count);
    }

    /// Merges bins until there are 2^bits between consecutive powers of two.
    fn coarsen(&mut self, bits: u32) {
        self.positive.coarsen(self.bits - bits);
        self.negative.coarsen(self.bits - bits);
        self.bits = bits;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, mut other: Bins) {
        let bits = self.bits.min(other.bits);
        self.coarsen(bits);
        other.coarsen(bits);
        let both = |own: &Window, their: &Window| union(own.ends(), their.ends());
        let bits = fitting(bits, [both(&self.positive, &other.positive), both(&self.negative, &other.negative)]);
        self.coarsen(bits);
        other.coarsen(bits);
        self.zeros += other.zeros;
        for (own, their) in [(&mut self.positive, other.positive), (&mut self.negative, other.negative)] {
            if let Some((first, last)) = their.ends() {
                own.include(first, last);
            }
            (their.first..).zip(their.counts.iter()).for_each(|(bin, count)| own.add(bin, count));
        }
    }

    /// Number of zeros.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// The counts of two histograms in their common bins, in ascending order.
    pub fn common(&self, other: &Bins) -> Vec<(u64, u64)> {
        let (mut own, mut their, mut both) = (self.clone(), other.clone(), self.clone());
        both.merge(other.clone());
        own.coarsen(both.bits);
        their.coarsen(both.bits);
        let counts = |bins: &Bins| bins.iter().map(|(low, _, count)| (low, count)).collect::<Vec<_>>();
        paired(&counts(&own), &counts(&their))
    }

    /// The bins in ascending order: lower end, upper end, count. The end farther from 0 is exclusive.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        let start = |bin: usize| f64::from_bits((bin as u64) << (52 - self.bits));
        let below = (self.negative.first..)
            .zip(self.negative.counts.iter())
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .map(move |(bin, n)| (-start(bin + 1), -start(bin), n));
        let above = (self.positive.first..).zip(self.positive.counts.iter()).map(move |(bin, n)| (start(bin), start(bin + 1), n));
        below.chain([(0.0, 0.0, self.zeros)]).chain(above).filter(|(.., n)| *n > 0)
    }
}

/// Pairs the counts at the same positions; the positions of each input ascend.
fn paired(a: &[(f64, u64)], b: &[(f64, u64)]) -> Vec<(u64, u64)> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let next = || {
        let at = match (a.peek(), b.peek()) {
            (None, None) => return None,
            (Some((x, _)), Some((y, _))) => x.min(*y),
            (Some((x, _)), None) | (None, Some((x, _))) => *x,
        };
        Some([&mut a, &mut b].map(|counts| counts.next_if(|(x, _)| *x == at).map_or(0, |(_, count)| *count)).into())
    };
    std::iter::from_fn(next).collect()
}

/// The first and last bin of two ranges combined.
fn union(a: Option<(usize, usize)>, b: Option<(usize, usize)>) -> Option<(usize, usize)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// The finest width, not finer than `bits`, at which the bins of both ranges fit the maximum.
fn fitting(bits: u32, runs: [Option<(usize, usize)>; 2]) -> u32 {
    let len = |shift: u32| runs.iter().flatten().map(|(first, last)| (last >> shift) - (first >> shift) + 1).sum::<usize>();
    (0..=bits).find(|shift| len(*shift) <= MOST).map_or(0, |shift| bits - shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Bins {
        let mut bins = Bins::default();
        numbers.iter().for_each(|x| bins.add(*x, 1));
        bins
    }

    #[test]
    fn bins_hold_their_numbers_whatever_the_parts() {
        let wide: Vec<f64> = (-70..400).map(f64::from).chain([1e-300, -2.5e300, 0.1, 1e9]).collect();
        let times: Vec<f64> = (0..500).map(|i| 1.7e12 + 1e7 * f64::from(i * i % 499)).collect();
        let alone = vec![5.0; 3];
        for numbers in [wide, times, alone, vec![0.0], Vec::new()] {
            let whole = of(&numbers);
            for size in [1, 7, 100] {
                let mut parts = Bins::default();
                numbers.rchunks(size).for_each(|chunk| parts.merge(of(chunk)));
                assert_eq!(parts, whole);
            }
            assert_eq!(whole.iter().map(|(.., n)| n).sum::<u64>(), numbers.len() as u64);
            assert!(whole.positive.counts.len() + whole.negative.counts.len() <= MOST);
            for (low, high, n) in whole.iter() {
                let held = numbers.iter().filter(|x| match **x {
                    x if low < 0.0 => low < x && x <= high,
                    x if low == high => x == low,
                    x => low <= x && x < high,
                });
                assert_eq!(held.count() as u64, n, "{low} to {high}");
            }
        }
    }

    #[test]
    fn counts_of_any_size_are_kept() {
        let mut bins = Bins::default();
        for count in [1, u64::from(u32::MAX) - 1, 1, 5 << 40] {
            bins.add(3.0, count);
            bins.add(-9.5, 1);
        }
        let mut other = Bins::default();
        other.add(2.0, 2);
        other.merge(bins);
        let found: Vec<(f64, u64)> = other.iter().map(|(low, _, n)| (low.trunc(), n)).collect();
        assert_eq!(found, [(-9.0, 4), (2.0, 2), (3.0, (1 << 32) + (5 << 40))]);
    }

    #[test]
    fn small_ranges_have_fine_bins() {
        let small = of(&(1..500).map(f64::from).collect::<Vec<_>>());
        assert!(small.iter().map(|(low, ..)| low).eq((1..500).map(f64::from)));
        let times = of(&(0..1000).map(|i| 1.7e12 + 1e7 * f64::from(i)).collect::<Vec<_>>());
        assert!(times.iter().count() > 250, "{}", times.iter().count());
    }
}
