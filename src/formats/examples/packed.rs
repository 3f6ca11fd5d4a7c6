//! Tensors stored in a feature as bytes: the values in C order, little-endian, optionally compressed with zlib.
//!
//! Source: `tensorflow_datasets/core/features/tensor_feature.py`, encodings `bytes` and `zlib`.

use super::features::Span;
use super::mapping::DefaultValues;
use super::packing::{Element, Packing};
use super::values::{Append, Store, internal};
use super::wire::{self, Cursor, FeatureKind, Parse, fail};
use crate::error::{Result, mismatch};
use crate::schema::DType;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, Float32Array, PrimitiveArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use half::bf16;
use std::io::Read;
use std::sync::Arc;

/// The tensors of a column.
pub struct Packed {
    packing: Arc<Packing>,
    values: Tensors,
    /// The shapes of tensors still to come.
    sizes: Vec<i64>,
    used: usize,
}

/// Concatenated tensors.
pub struct Tensors {
    bytes: Vec<u8>,
    /// The end of each tensor.
    ends: Vec<usize>,
    /// The sizes of all axes of each tensor.
    sizes: Vec<usize>,
    /// The sizes and bytes of a placeholder tensor.
    fill: (Vec<usize>, usize),
}

impl Store for Tensors {
    fn len(&self) -> usize {
        self.ends.len()
    }
    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self.sizes.truncate(len * self.fill.0.len());
    }
    fn fill(&mut self, n: usize) {
        for _ in 0..n {
            self.bytes.resize(self.bytes.len() + self.fill.1, 0);
            self.ends.push(self.bytes.len());
            self.sizes.extend(&self.fill.0);
        }
    }
}

impl Packed {
    /// An empty column.
    pub fn new(packing: Arc<Packing>) -> Packed {
        let sizes: Vec<usize> = packing.dims.iter().map(|d| usize::try_from(d.unwrap_or(0)).unwrap_or(0)).collect();
        let nbytes = sizes.iter().product::<usize>() * packing.element.nbytes();
        let values = Tensors { bytes: Vec::new(), ends: Vec::new(), sizes: Vec::new(), fill: (sizes, nbytes) };
        Packed { packing, values, sizes: Vec::new(), used: 0 }
    }

    fn push(&mut self, value: &[u8], at: usize) -> Parse<()> {
        let start = self.values.bytes.len();
        if self.packing.zlib {
            let limit = self.packing.max_nbytes;
            let read = flate2::read::ZlibDecoder::new(value).take(limit.saturating_add(1)).read_to_end(&mut self.values.bytes);
            if let Err(error) = read {
                return fail(at, format!("the zlib data of the tensor is damaged: {error}"));
            }
        } else {
            self.values.bytes.extend_from_slice(value);
        }
        let nbytes = self.values.bytes.len() - start;
        if nbytes as u64 > self.packing.max_nbytes {
            return fail(at, format!("the tensor has more than {} bytes", self.packing.max_nbytes));
        }
        let width = self.packing.element.nbytes();
        if !nbytes.is_multiple_of(width) {
            return fail(at, format!("{nbytes} bytes cannot be divided into values of {width} bytes"));
        }
        let count = nbytes / width;
        if self.packing.sizes.is_some() {
            self.push_given(count, at)?
        } else {
            self.push_found(count, at)?
        }
        self.values.ends.push(self.values.bytes.len());
        Ok(())
    }

    /// The sizes stored in another feature.
    fn push_given(&mut self, count: usize, at: usize) -> Parse<()> {
        let dims = &self.packing.dims;
        let Some(sizes) = self.sizes.get(self.used..self.used + dims.len()) else {
            return fail(at, format!("the feature with the sizes has fewer than {} values for each tensor", dims.len()));
        };
        // No axis has more rows than there are values, except a few that are empty.
        let most = count.max(1 << 20);
        let mut product = 1usize;
        for (size, dim) in sizes.iter().zip(dims) {
            let size = usize::try_from(*size).ok().filter(|n| dim.is_none_or(|known| known == *n as u64));
            let next = size.and_then(|n| product.checked_mul(n)).filter(|n| *n <= most);
            let (Some(size), Some(next)) = (size, next) else {
                return fail(at, format!("a tensor of shape {sizes:?} has {count} values"));
            };
            product = next;
            self.values.sizes.push(size);
        }
        if product != count {
            return fail(at, format!("a tensor of shape {sizes:?} has {count} values"));
        }
        self.used += dims.len();
        Ok(())
    }

    /// The single unknown size follows from the others.
    fn push_found(&mut self, count: usize, at: usize) -> Parse<()> {
        let (known, _) = &self.values.fill;
        let unknown = self.packing.dims.iter().position(Option::is_none);
        let product = known.iter().enumerate().filter(|(axis, _)| Some(*axis) != unknown).map(|(_, n)| *n).product::<usize>();
        let fits = match unknown {
            None => count == product,
            Some(_) => {
                if product == 0 {
                    count == 0
                } else {
                    count.is_multiple_of(product)
                }
            }
        };
        if !fits {
            let sizes: Vec<String> = self.packing.dims.iter().map(|d| d.map_or_else(|| "?".to_owned(), |n| n.to_string())).collect();
            return fail(at, format!("{count} values do not fit a tensor of shape [{}]", sizes.join(", ")));
        }
        let sizes =
            known.iter().enumerate().map(|(axis, n)| if Some(axis) == unknown { count.checked_div(product).unwrap_or(0) } else { *n });
        self.values.sizes.extend(sizes);
        Ok(())
    }
}

impl Append for Packed {
    type Store = Tensors;

    fn store(&mut self) -> &mut Tensors {
        &mut self.values
    }
    fn reserve(&mut self, _: &[u8], spans: &[Span]) {
        self.values.ends.reserve(spans.len());
        if !self.packing.zlib {
            self.values.bytes.reserve(spans.iter().map(ExactSizeIterator::len).sum());
        }
    }
    fn sizes(&mut self, list: Cursor) -> Parse<()> {
        self.sizes.clear();
        self.used = 0;
        wire::int64s(list, &mut self.sizes)
    }
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()> {
        let at = list.at();
        if kind != FeatureKind::Bytes {
            return fail(at, mismatch("tensors in a bytes_list", kind.described()));
        }
        let (mut outcome, before) = (Ok(()), self.values.len());
        wire::each_bytes(list, &mut |value| {
            if outcome.is_ok() {
                outcome = self.push(value, at);
            }
        })?;
        if outcome.is_err() {
            // The bytes and sizes may already have been added, but not the end.
            self.values.truncate(before);
        }
        outcome
    }
    fn default(&mut self, _: &DefaultValues) {}
    fn finish(self, nulls: Option<NullBuffer>) -> Result<Tensor> {
        let Packed { packing, values, .. } = self;
        let (ndims, nvalues) = (packing.dims.len(), values.ends.len());
        let is_scalar = ndims == 0;
        let mut tensor = Tensor::Leaf(array(&packing.element, values.bytes, nulls.clone().filter(|_| is_scalar))?);
        for axis in (0..ndims).rev() {
            let each = |value: usize| &values.sizes[value * ndims..(value + 1) * ndims];
            let rows = |value: usize| each(value)[..axis].iter().product::<usize>();
            let partition = match packing.dims[axis] {
                Some(size) => RowPartition::uniform(usize::try_from(size).unwrap_or(0), (0..nvalues).map(rows).sum())?,
                None => {
                    let mut splits = vec![0i64];
                    let mut end = 0i64;
                    for value in 0..nvalues {
                        let size = each(value)[axis] as i64;
                        splits.extend((0..rows(value)).map(|_| {
                            end += size;
                            end
                        }));
                    }
                    RowPartition::from_row_splits(splits)?
                }
            };
            tensor = Tensor::list(partition, tensor, nulls.clone().filter(|_| axis == 0))?;
        }
        Ok(tensor)
    }
}

/// Decodes little-endian bytes.
fn array(element: &Element, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match element {
        Element::BFloat16 => {
            let values: ScalarBuffer<f32> = bytes.as_chunks::<2>().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32()).collect();
            Arc::new(Float32Array::try_new(values, nulls).map_err(internal)?)
        }
        Element::Of(dtype) => match dtype {
            DType::Bool => Arc::new(BooleanArray::new(bytes.iter().map(|b| *b != 0).collect(), nulls)),
            DType::Int8 => numbers::<Int8Type>(bytes, nulls)?,
            DType::Int16 => numbers::<Int16Type>(bytes, nulls)?,
            DType::Int32 => numbers::<Int32Type>(bytes, nulls)?,
            DType::UInt8 => numbers::<UInt8Type>(bytes, nulls)?,
            DType::UInt16 => numbers::<UInt16Type>(bytes, nulls)?,
            DType::UInt32 => numbers::<UInt32Type>(bytes, nulls)?,
            DType::UInt64 => numbers::<UInt64Type>(bytes, nulls)?,
            DType::Float16 => numbers::<Float16Type>(bytes, nulls)?,
            DType::Float32 => numbers::<Float32Type>(bytes, nulls)?,
            DType::Float64 => numbers::<Float64Type>(bytes, nulls)?,
            _ => numbers::<Int64Type>(bytes, nulls)?,
        },
    })
}

fn numbers<T: ArrowPrimitiveType>(bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let count = bytes.len() / size_of::<T::Native>();
    // Byte vectors have no alignment guarantee beyond one byte.
    let buffer = Buffer::from_slice_ref(&bytes);
    let values = ScalarBuffer::<T::Native>::new(buffer, 0, count);
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls).map_err(internal)?))
}
