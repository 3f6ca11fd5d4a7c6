//! Factorisations of square matrices, row by row in one slice.
//!
//! Semantics: `tf.linalg.lu` with partial pivoting, `tf.linalg.cholesky`, as in Golub and Van Loan, Matrix Computations, 3.4 and 4.2.

/// The factors of a square matrix with exchanged rows, PA = LU.
pub struct Lu {
    /// L below the diagonal, whose own diagonal is 1, and U on and above it: `[n, n]`.
    factors: Vec<f64>,
    /// The row of the matrix at each row of the factors.
    rows: Vec<usize>,
    /// Whether the number of exchanges is odd.
    is_odd: bool,
}

impl Lu {
    /// The factors of a matrix `[n, n]`, exchanging rows so that each pivot is the largest of its column. O(n^3).
    pub fn new(matrix: Vec<f64>, n: usize) -> Lu {
        let (mut factors, mut rows, mut is_odd) = (matrix, (0..n).collect::<Vec<_>>(), false);
        for k in 0..n {
            let larger = |best: usize, row: usize| if factors[row * n + k].abs() > factors[best * n + k].abs() { row } else { best };
            let pivot = (k + 1..n).fold(k, larger);
            if pivot != k {
                (0..n).for_each(|column| factors.swap(k * n + column, pivot * n + column));
                rows.swap(k, pivot);
                is_odd = !is_odd;
            }
            let largest = factors[k * n + k];
            if largest == 0.0 {
                continue;
            }
            let (above, below) = factors.split_at_mut((k + 1) * n);
            let pivot_row = &above[k * n..];
            for row in below.chunks_exact_mut(n) {
                row[k] /= largest;
                let factor = row[k];
                row[k + 1..].iter_mut().zip(&pivot_row[k + 1..]).for_each(|(v, p)| *v -= factor * *p);
            }
        }
        Lu { factors, rows, is_odd }
    }

    /// The determinant: the product of the pivots. 1 without rows. O(n).
    pub fn determinant(&self) -> f64 {
        let sign = if self.is_odd { -1.0 } else { 1.0 };
        self.pivots().fold(sign, |product, pivot| product * pivot)
    }

    /// The sign of the determinant and the logarithm of its magnitude. O(n).
    pub fn sign_and_log(&self) -> (f64, f64) {
        let sign = if self.is_odd { -1.0 } else { 1.0 };
        self.pivots().fold((sign, 0.0), |(sign, log), pivot| {
            let own = if pivot == 0.0 { 0.0 } else { pivot.signum() };
            (sign * own, log + pivot.abs().ln())
        })
    }

    /// Whether a pivot is 0, so that there is no inverse. O(n).
    pub fn is_singular(&self) -> bool {
        self.pivots().any(|pivot| pivot == 0.0)
    }

    fn pivots(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.rows.len()).map(|k| self.factors[k * self.rows.len() + k])
    }

    /// The solutions of AX = B for a matrix that is not singular: `[n, columns]`. O(n^2 x columns).
    pub fn solve(&self, right: &[f64], columns: usize) -> Vec<f64> {
        let n = self.rows.len();
        let mut out = Vec::with_capacity(n * columns);
        self.rows.iter().for_each(|row| out.extend_from_slice(&right[row * columns..(row + 1) * columns]));
        substitute(&self.factors, &mut out, columns, Triangle { lower: true, unit: true });
        substitute(&self.factors, &mut out, columns, Triangle { lower: false, unit: false });
        out
    }
}

/// Which triangle of a matrix counts. `unit`: its diagonal is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    pub lower: bool,
    pub unit: bool,
}

/// Replaces the right sides `[n, columns]` by the solutions for a triangular matrix `[n, n]`. O(n^2 x columns).
pub fn substitute(matrix: &[f64], right: &mut [f64], columns: usize, triangle: Triangle) {
    if columns == 0 {
        return;
    }
    let n = right.len() / columns;
    for step in 0..n {
        let row = if triangle.lower { step } else { n - 1 - step };
        let (before, from) = right.split_at_mut(row * columns);
        let (own, after) = from.split_at_mut(columns);
        let (others, first) = if triangle.lower { (&*before, 0) } else { (&*after, row + 1) };
        for (i, other) in others.chunks_exact(columns).enumerate() {
            let factor = matrix[row * n + first + i];
            own.iter_mut().zip(other).for_each(|(v, o)| *v -= factor * *o);
        }
        if !triangle.unit {
            let pivot = matrix[row * n + row];
            own.iter_mut().for_each(|v| *v /= pivot);
        }
    }
}

/// The lower triangle L of a positive definite matrix A = LL', of which only the lower triangle is read: `[n, n]`. `None` if it is
/// not positive definite. O(n^3).
pub fn cholesky(mut matrix: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    for row in 0..n {
        for column in 0..=row {
            let dot = (0..column).fold(matrix[row * n + column], |sum, k| sum - matrix[row * n + k] * matrix[column * n + k]);
            if row > column {
                matrix[row * n + column] = dot / matrix[column * n + column];
            } else if dot > 0.0 {
                matrix[row * n + row] = dot.sqrt();
            } else {
                return None;
            }
        }
        matrix[row * n + row + 1..(row + 1) * n].fill(0.0);
    }
    Some(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_solve_and_determinants_are_products() {
        for (matrix, n, determinant) in [
            (vec![], 0, 1.0),
            (vec![-4.0], 1, -4.0),
            (vec![0.0, 2.0, 3.0, 4.0], 2, -6.0),
            (vec![1.0, 2.0, 2.0, 4.0], 2, 0.0),
            (vec![2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0], 3, 18.0),
        ] {
            let lu = Lu::new(matrix.clone(), n);
            assert!((lu.determinant() - determinant).abs() < 1e-12, "{matrix:?}");
            let (sign, log) = lu.sign_and_log();
            assert!((sign * log.exp() - determinant).abs() < 1e-12, "{matrix:?}");
            assert_eq!(lu.is_singular(), determinant == 0.0, "{matrix:?}");
            if determinant == 0.0 {
                continue;
            }
            let right: Vec<f64> = (0..n * 2).map(|i| i as f64 + 1.0).collect();
            let found = lu.solve(&right, 2);
            for (at, expected) in right.iter().enumerate() {
                let (row, column) = (at / 2, at % 2);
                let product: f64 = (0..n).map(|k| matrix[row * n + k] * found[k * 2 + column]).sum();
                assert!((product - expected).abs() < 1e-12, "{matrix:?} {found:?}");
            }
        }
    }

    #[test]
    fn only_positive_definite_matrices_have_roots() {
        assert_eq!(cholesky(vec![4.0, 9.0, 2.0, 10.0], 2), Some(vec![2.0, 0.0, 1.0, 3.0]));
        for matrix in [vec![0.0, 0.0, 0.0, 1.0], vec![1.0, 2.0, 2.0, 1.0], vec![f64::NAN, 0.0, 0.0, 1.0]] {
            assert_eq!(cholesky(matrix, 2), None);
        }
    }
}
