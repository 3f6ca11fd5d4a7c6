//! How often values occur, in bins as fine as their range allows, so that any range fits in bounded memory.

/// Maximum number of bins of both signs together. The coarsest bins are one per power of two, which are fewer than this.
const MOST: usize = 4096;
/// The finest bins are 2^FINEST between a power of two and the next.
const FINEST: u32 = 20;

/// Counts of finite numbers. The width of the bins depends only on the range of all numbers: adding the same numbers in any
/// order, in any parts, gives the same bins.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    /// 2^bits bins between a power of two and the next.
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

/// A contiguous run of bins, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
struct Window {
    first: usize,
    counts: Vec<u64>,
}

impl Window {
    /// The number of its first and last bin; `None` if it has none.
    fn ends(&self) -> Option<(usize, usize)> {
        (!self.counts.is_empty()).then(|| (self.first, self.first + self.counts.len() - 1))
    }

    #[inline]
    fn add(&mut self, bin: usize, count: u64) {
        if let Some(own) = bin.checked_sub(self.first).and_then(|index| self.counts.get_mut(index)) {
            *own += count;
            return;
        }
        self.grow(bin);
        self.counts[bin - self.first] += count;
    }

    fn grow(&mut self, bin: usize) {
        if self.counts.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - bin));
            self.first = bin;
        }
        if bin - self.first >= self.counts.len() {
            self.counts.resize(bin - self.first + 1, 0);
        }
    }

    /// Merges 2^bits adjacent bins into one.
    fn coarsen(&mut self, bits: u32) {
        let Some((first, last)) = self.ends().filter(|_| bits > 0) else { return };
        let coarse = first >> bits;
        for (index, bin) in (first..=last).enumerate() {
            let count = std::mem::take(&mut self.counts[index]);
            self.counts[(bin >> bits) - coarse] += count;
        }
        self.counts.truncate((last >> bits) - coarse + 1);
        self.first = coarse;
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
        if let Some(counted) = bin.checked_sub(own.first).and_then(|index| own.counts.get_mut(index)) {
            *counted += count;
            return;
        }
        let bits = fitting(self.bits, [union(own.ends(), Some((bin, bin))), other.ends()]);
        self.coarsen(bits);
        let own = if value > 0.0 { &mut self.positive } else { &mut self.negative };
        own.add((magnitude >> (52 - bits)) as usize, count);
    }

    /// Merges bins until there are 2^bits between a power of two and the next.
    fn coarsen(&mut self, bits: u32) {
        self.positive.coarsen(self.bits - bits);
        self.negative.coarsen(self.bits - bits);
        self.bits = bits;
    }

    /// Adds the counts of another.
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
            (their.first..).zip(their.counts).for_each(|(bin, count)| own.add(bin, count));
        }
    }

    /// Number of zeros.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// The counts of two in the bins of both together, in ascending order.
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
            .zip(self.negative.counts.iter().copied())
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .map(move |(bin, n)| (-start(bin + 1), -start(bin), n));
        let above = (self.positive.first..).zip(&self.positive.counts).map(move |(bin, n)| (start(bin), start(bin + 1), *n));
        below.chain([(0.0, 0.0, self.zeros)]).chain(above).filter(|(.., n)| *n > 0)
    }
}

/// Counts of the same places together; the places of each ascend.
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

/// The first and last bin of two runs together.
fn union(a: Option<(usize, usize)>, b: Option<(usize, usize)>) -> Option<(usize, usize)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// The finest width, not finer than `bits`, at which bins from the first to the last of both runs are few enough.
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
    fn small_ranges_have_fine_bins() {
        let small = of(&(1..500).map(f64::from).collect::<Vec<_>>());
        assert!(small.iter().map(|(low, ..)| low).eq((1..500).map(f64::from)));
        let times = of(&(0..1000).map(|i| 1.7e12 + 1e7 * f64::from(i)).collect::<Vec<_>>());
        assert!(times.iter().count() > 250, "{}", times.iter().count());
    }
}
