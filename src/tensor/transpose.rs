//! The order of the values of dense rows after their axes are permuted.

use super::RowPartition;

/// For each value of the transposed rows, its position among the values of the rows, as `numpy.transpose` orders them.
///
/// `rows`: the values of each row. `sizes[axis][row]`: the sizes of a row, with a product of its number of values.
/// `permutation`: the axes of the result, as axes of the rows. O(values).
pub fn transposed_places(rows: &RowPartition, sizes: &[Vec<usize>], permutation: &[usize]) -> Vec<usize> {
    let rank = permutation.len();
    let mut places = Vec::with_capacity(rows.nvals());
    let (mut shape, mut strides, mut index) = (vec![0usize; rank], vec![1usize; rank], vec![0usize; rank]);
    for row in 0..rows.nrows() {
        shape.iter_mut().zip(sizes).for_each(|(size, sizes)| *size = sizes[row]);
        for axis in (0..rank.saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1].saturating_mul(shape[axis + 1]);
        }
        index.fill(0);
        for _ in 0..rows.row_length(row) {
            places.push(rows.start(row) + permutation.iter().zip(&index).map(|(axis, i)| strides[*axis] * i).sum::<usize>());
            for axis in (0..rank).rev() {
                index[axis] += 1;
                if index[axis] < shape[permutation[axis]] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }
    places
}

/// Whether `permutation` contains each number below its length once. O(rank log rank).
pub fn is_permutation(permutation: &[usize]) -> bool {
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..permutation.len())
}
