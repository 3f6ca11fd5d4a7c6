//! Hashes of rows. Rows that are equal according to [`Tensor::keys_equal`] have equal hashes.

use super::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use half::f16;
use std::hash::Hasher;

/// The hash of a null.
const NULL: u64 = 0x9ae1_6a3b_2f90_404f;

/// The hash function for keys that are already hashes: the identity.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A hash for each of `nrows` rows over all of these columns. Not for storage: hashes can change between versions.
/// O(values).
pub fn row_hashes(columns: &[Tensor], nrows: usize) -> Vec<u64> {
    let mut hashes = vec![0; nrows];
    for column in columns {
        for (hash, value) in hashes.iter_mut().zip(hashes_of(column)) {
            *hash = combined(*hash, value);
        }
    }
    hashes
}

/// For rows that are single numbers of at most 64 bits: a word for each row, which is the same only for rows that are equal
/// according to [`Tensor::keys_equal`].
#[derive(Debug)]
pub struct Words {
    /// A word for each row; undefined where the row is null.
    pub words: Vec<u64>,
    validity: Option<NullBuffer>,
}

impl Words {
    /// The words of rows, if these are single numbers. O(values).
    pub fn of(columns: &[Tensor]) -> Option<Words> {
        let [Tensor::Leaf(array)] = columns else { return None };
        fn floats<T: ArrowPrimitiveType>(array: &ArrayRef, bits: impl Fn(T::Native) -> u64) -> Vec<u64> {
            array.as_primitive::<T>().values().iter().map(|value| scattered(bits(*value))).collect()
        }
        fn fixed<const N: usize>(bytes: &[u8], from: usize, nrows: usize, word: impl Fn([u8; N]) -> u64) -> Vec<u64> {
            bytes.as_chunks::<N>().0[from..][..nrows].iter().map(|bytes| scattered(word(*bytes))).collect()
        }
        let words = match array.data_type() {
            DataType::Float16 => floats::<Float16Type>(array, f16_bits),
            DataType::Float32 => floats::<Float32Type>(array, f32_bits),
            DataType::Float64 => floats::<Float64Type>(array, f64_bits),
            ty => {
                let width = ty.primitive_width()?;
                let data = array.to_data();
                let (bytes, from, nrows) = (data.buffers()[0].as_slice(), data.offset(), array.len());
                match width {
                    1 => fixed(bytes, from, nrows, |b| u64::from(u8::from_le_bytes(b))),
                    2 => fixed(bytes, from, nrows, |b| u64::from(u16::from_le_bytes(b))),
                    4 => fixed(bytes, from, nrows, |b| u64::from(u32::from_le_bytes(b))),
                    8 => fixed(bytes, from, nrows, u64::from_le_bytes),
                    _ => return None,
                }
            }
        };
        Some(Words { words, validity: array.logical_nulls() })
    }

    /// The word of a row, unless it is null.
    pub fn get(&self, row: usize) -> Option<u64> {
        self.validity.as_ref().is_none_or(|validity| validity.is_valid(row)).then(|| self.words[row])
    }

    /// The rows that are null.
    pub fn nulls(&self) -> impl Iterator<Item = usize> {
        self.validity.iter().filter(|validity| validity.null_count() > 0).flat_map(|validity| {
            let invalid = !validity.inner();
            invalid.set_indices().collect::<Vec<_>>()
        })
    }
}

/// Distributes values over all bits, each to another word: the finalizer of MurmurHash3.
fn scattered(value: u64) -> u64 {
    let mixed = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

// The bits of a float, the same for both zeros (the sum of -0.0 and 0.0 is 0.0) and for all NaNs.
fn f16_bits(x: f16) -> u64 {
    if x.is_nan() { u64::MAX } else { u64::from((x + f16::ZERO).to_bits()) }
}

fn f32_bits(x: f32) -> u64 {
    if x.is_nan() { u64::MAX } else { u64::from((x + 0.0).to_bits()) }
}

fn f64_bits(x: f64) -> u64 {
    if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() }
}

/// A hash for each row of a tensor.
fn hashes_of(tensor: &Tensor) -> Vec<u64> {
    let mut hashes = match tensor {
        Tensor::Leaf(array) => leaf(array),
        Tensor::List(list) => rows(list.partition(), &hashes_of(list.values())),
        Tensor::Struct(structure) => row_hashes(structure.fields(), structure.nrows),
        Tensor::Sparse(sparse) => {
            let values = leaf(sparse.values());
            let entry = |i: usize| sparse.index_of(i).iter().fold(values[i], |hash, at| combined(hash, *at as u64));
            let entries: Vec<u64> = (0..values.len()).map(entry).collect();
            let mut hashes = rows(sparse.entries(), &entries);
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash = sparse.shape_of(row).iter().fold(*hash, |hash, size| combined(hash, *size as u64));
            }
            hashes
        }
    };
    if !matches!(tensor, Tensor::Leaf(_)) {
        mark_nulls(&mut hashes, tensor.validity().as_ref());
    }
    hashes
}

fn mark_nulls(hashes: &mut [u64], validity: Option<&NullBuffer>) {
    let Some(validity) = validity else { return };
    for (row, hash) in hashes.iter_mut().enumerate() {
        if validity.is_null(row) {
            *hash = NULL;
        }
    }
}

/// The hashes of rows, computed from those of their values.
fn rows(partition: &RowPartition, values: &[u64]) -> Vec<u64> {
    (0..partition.nrows())
        .map(|row| values[partition.range(row)].iter().fold(partition.row_length(row) as u64, |hash, value| combined(hash, *value)))
        .collect()
}

fn leaf(array: &ArrayRef) -> Vec<u64> {
    let mut hashes: Vec<u64> = match array.data_type() {
        DataType::Float16 => floats::<Float16Type>(array, f16_bits),
        DataType::Float32 => floats::<Float32Type>(array, f32_bits),
        DataType::Float64 => floats::<Float64Type>(array, f64_bits),
        DataType::Boolean => array.as_boolean().values().iter().map(|bit| combined(1, u64::from(bit))).collect(),
        DataType::LargeUtf8 => array
            .as_string::<i64>()
            .offsets()
            .windows(2)
            .map(|w| bytes(&array.as_string::<i64>().value_data()[w[0] as usize..w[1] as usize]))
            .collect(),
        DataType::LargeBinary => array
            .as_binary::<i64>()
            .offsets()
            .windows(2)
            .map(|w| bytes(&array.as_binary::<i64>().value_data()[w[0] as usize..w[1] as usize]))
            .collect(),
        ty => match width(ty) {
            Some(width) => {
                let data = array.to_data();
                let values = data.buffers()[0].as_slice().chunks_exact(width);
                values.skip(data.offset()).take(array.len()).map(bytes).collect()
            }
            // Types without a cheap hash are distinguished by comparison.
            None => vec![0; array.len()],
        },
    };
    mark_nulls(&mut hashes, array.logical_nulls().as_ref());
    hashes
}

/// The bytes of each value, if the array is a buffer of values of that size.
fn width(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok().filter(|width| *width > 0),
        ty => ty.primitive_width(),
    }
}

fn floats<T: ArrowPrimitiveType>(array: &ArrayRef, bits: impl Fn(T::Native) -> u64) -> Vec<u64> {
    array.as_primitive::<T>().values().iter().map(|value| combined(2, bits(*value))).collect()
}

fn bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| combined(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    combined(hash, u64::from_le_bytes(last))
}

/// Mixes a value into a hash by combining the halves of a 128-bit product.
fn combined(hash: u64, value: u64) -> u64 {
    let product = u128::from(hash.rotate_left(23) ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{FixedSizeBinaryArray, Float64Array, Int64Array, LargeStringArray};
    use std::sync::Arc;

    #[test]
    fn equal_rows_have_equal_hashes() {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![Some(1), None, Some(1), None, Some(0)])),
            Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(0.0), Some(-f64::NAN), Some(-0.0), None])),
            Arc::new(FixedSizeBinaryArray::try_from(vec![Some(b"ab"), None, Some(b"ab"), None, Some(b"ba")]).unwrap()),
            Arc::new(LargeStringArray::from(vec![Some("12345678"), Some(""), Some("12345678"), Some(""), Some("123456789")])),
        ];
        for array in columns {
            let tensor = Tensor::Leaf(array);
            let hashes = hashes_of(&tensor);
            for a in 0..5 {
                for b in 0..5 {
                    assert_eq!(hashes[a] == hashes[b], tensor.keys_equal(a, &tensor, b), "{a} {b}");
                }
            }
        }
        let list = Tensor::list(
            RowPartition::from_row_lengths([2, 0, 1, 1]).unwrap(),
            Tensor::Leaf(Arc::new(Int64Array::from(vec![1, 2, 12, 1]))),
            None,
        );
        let hashes = hashes_of(&list.unwrap());
        assert_eq!(hashes.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    }
}
