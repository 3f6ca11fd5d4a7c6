//! How often values occur: in bins as fine as their range allows, so that any range fits in bounded memory.

/// Bins of both signs together, at most. At their coarsest there is one between a power of two and the next,
/// which are fewer than this.
const MOST: usize = 4096;
/// At their finest, there are 2^FINEST bins between a power of two and the next.
const FINEST: u32 = 20;

/// Counts of finite numbers. How fine the bins are is decided by the range of all numbers alone: adding the same
/// numbers in any order, in any parts, gives the same bins.
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

/// A run of bins by their numbers: those in between are there.
#[derive(Clone, Debug, Default, PartialEq)]
struct Window {
    first: usize,
    counts: Vec<u64>,
}

impl Window {
    /// How many bins it would have with this one.
    #[inline]
    fn len_with(&self, bin: usize) -> usize {
        if self.counts.is_empty() {
            return 1;
        }
        let end = self.first + self.counts.len();
        end.max(bin + 1) - self.first.min(bin)
    }

    #[inline]
    fn add(&mut self, bin: usize, count: u64) {
        if let Some(own) = bin.checked_sub(self.first).and_then(|place| self.counts.get_mut(place)) {
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

    /// Two neighbours become one, so many times.
    fn coarsen(&mut self, bits: u32) {
        let mut coarse = Window::default();
        for (bin, count) in (self.first..).zip(&self.counts) {
            coarse.add(bin >> bits, *count);
        }
        *self = coarse;
    }
}

impl Bins {
    /// Adds a finite number, so many times.
    #[inline]
    pub fn add(&mut self, value: f64, count: u64) {
        if value == 0.0 {
            self.zeros += count;
            return;
        }
        let magnitude = value.abs().to_bits();
        loop {
            let bin = (magnitude >> (52 - self.bits)) as usize;
            let (own, other) = if value > 0.0 { (&mut self.positive, &self.negative) } else { (&mut self.negative, &self.positive) };
            if own.len_with(bin) + other.counts.len() <= MOST || self.bits == 0 {
                own.add(bin, count);
                return;
            }
            self.coarsen(self.bits - 1);
        }
    }

    fn coarsen(&mut self, bits: u32) {
        self.positive.coarsen(self.bits - bits);
        self.negative.coarsen(self.bits - bits);
        self.bits = bits;
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, mut other: Bins) {
        let bits = self.bits.min(other.bits);
        self.coarsen(bits);
        other.coarsen(bits);
        loop {
            let len = |own: &Window, their: &Window| match (own.counts.len(), their.counts.len()) {
                (n, 0) | (0, n) => n,
                (n, m) => (own.first + n).max(their.first + m) - own.first.min(their.first),
            };
            if len(&self.positive, &other.positive) + len(&self.negative, &other.negative) <= MOST || self.bits == 0 {
                break;
            }
            self.coarsen(self.bits - 1);
            other.coarsen(other.bits - 1);
        }
        self.zeros += other.zeros;
        for (own, their) in [(&mut self.positive, other.positive), (&mut self.negative, other.negative)] {
            (their.first..).zip(their.counts).for_each(|(bin, count)| own.add(bin, count));
        }
    }

    /// The bins from the lowest numbers up: where each starts and ends, and how many numbers are in it. The end that is
    /// farther from 0 does not belong to it.
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
