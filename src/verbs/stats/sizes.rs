//! The sizes of rows: counted exactly up to a bound, and in bins above it.

use super::bins::Bins;
use crate::tensor::RowPartition;

/// Sizes below this are counted individually.
const EXACT: usize = 1 << 16;

/// The distribution of row sizes. It does not depend on the order of rows or on how they are partitioned.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Number of rows of each small size.
    counts: Vec<u64>,
    large: Bins,
    /// Number of rows.
    pub rows: u64,
    total: u128,
    range: Option<(u64, u64)>,
}

impl Sizes {
    /// Adds a row of that size.
    #[inline]
    pub fn add(&mut self, size: usize) {
        self.add_rows(size, 1);
    }

    /// Adds `rows` rows of that size.
    fn add_rows(&mut self, size: usize, rows: u64) {
        if rows == 0 {
            return;
        }
        if size < EXACT {
            if size >= self.counts.len() {
                self.counts.resize(size + 1, 0);
            }
            self.counts[size] += rows;
        } else {
            self.large.add(size as f64, rows);
        }
        self.rows += rows;
        self.total += size as u128 * u128::from(rows);
        let (least, most) = self.range.get_or_insert((size as u64, size as u64));
        *least = (*least).min(size as u64);
        *most = (*most).max(size as u64);
    }

    /// Adds all rows of a partition.
    pub fn add_partition(&mut self, partition: &RowPartition) {
        match partition.uniform_row_length() {
            Some(size) => self.add_rows(size, partition.nrows() as u64),
            None => partition.row_lengths().for_each(|size| self.add(size)),
        }
    }

    /// Adds the rows of another distribution.
    pub fn merge(&mut self, other: Sizes) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, their)| *own += their);
        self.large.merge(other.large);
        self.rows += other.rows;
        self.total += other.total;
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (own, their) => own.or(their),
        };
    }

    /// The smallest and largest size; `None` without rows.
    pub fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// Rows of size 0.
    pub fn empty(&self) -> u64 {
        self.counts.first().copied().unwrap_or(0)
    }

    /// The sum of all sizes.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// The mean; 0 without rows.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.rows.max(1) as f64
    }

    /// The smallest size that at least this fraction of the rows do not exceed.
    pub fn quantile(&self, share: f64) -> u64 {
        let Some((least, most)) = self.range else { return 0 };
        let wanted = ((share * self.rows as f64).ceil() as u64).clamp(1, self.rows);
        let mut seen = 0;
        for (low, _, rows) in self.iter() {
            seen += rows;
            if seen >= wanted {
                return (low as u64).clamp(least, most);
            }
        }
        most
    }

    /// Pairs the counts of equal sizes in two distributions, in ascending order.
    pub fn common(&self, other: &Sizes) -> Vec<(u64, u64)> {
        let longest = self.counts.len().max(other.counts.len());
        let count = |counts: &[u64], size: usize| counts.get(size).copied().unwrap_or(0);
        let exact = (0..longest).map(|size| (count(&self.counts, size), count(&other.counts, size)));
        let exact = exact.filter(|(a, b)| a + b > 0);
        exact.chain(self.large.common(&other.large)).collect()
    }

    /// Ranges of sizes in ascending order: lower end, upper end, number of rows.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        let exact = self.counts.iter().enumerate().map(|(size, rows)| (size as f64, size as f64, *rows));
        exact.chain(self.large.iter()).filter(|(.., rows)| *rows > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_sizes_that_occur() {
        let mut sizes = Sizes::default();
        sizes.add_partition(&RowPartition::from_row_lengths([5, 0, 1, 9]).unwrap());
        let mut more = Sizes::default();
        more.add_partition(&RowPartition::uniform(5, 6).unwrap());
        sizes.merge(more);
        assert_eq!((sizes.rows, sizes.empty(), sizes.range(), sizes.total()), (10, 1, Some((0, 9)), 45));
        assert_eq!([0.0, 0.1, 0.11, 0.5, 0.9, 0.91, 1.0].map(|q| sizes.quantile(q)), [0, 0, 1, 5, 5, 9, 9]);
        assert_eq!(Sizes::default().quantile(0.5), 0);
    }

    #[test]
    fn large_sizes_are_within_a_percent() {
        let mut sizes = Sizes::default();
        (1..=100u64).for_each(|i| sizes.add(i as usize * 100_000));
        let median = sizes.quantile(0.5) as f64;
        assert!((median / 5e6 - 1.0).abs() < 0.01, "{median}");
        assert_eq!((sizes.quantile(1.0), sizes.range()), (sizes.quantile(1.0), Some((100_000, 10_000_000))));
    }
}
