//! Properties of the shape kernels, on tensors with up to five axes and empty rows in every position.

use crate::random::cases;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use proptest::prelude::*;
use std::sync::Arc;
use tatter::chunk::{Chunk, Origin};
use tatter::schema::PartitionEncoding;
use tatter::tensor::batch::{batch, unbatch};
use tatter::tensor::encoding::Extent;
use tatter::tensor::merge::{merge_axes, partition, promote};
use tatter::tensor::pad::{Padding, Side, Target, dense_of_sparse};
use tatter::tensor::sparsify::{ragged_of_sparse, sparse_of_ragged};
use tatter::tensor::trim::shorten;
use tatter::tensor::{RowPartition, Tensor};

/// `[n, (a), (b) ...]` with that many axes. Lengths are taken from `sizes` in rotation, so that few numbers give many
/// shapes. Levels can be uniform.
fn tensor(rank: usize, nrows: usize, sizes: &[u8], uniform: &[bool]) -> Tensor {
    let mut sizes = sizes.iter().copied().map(usize::from).chain(std::iter::repeat(0));
    let (mut partitions, mut rows) = (Vec::new(), nrows);
    for level in 0..rank {
        let partition = if uniform.get(level).copied().unwrap_or(false) {
            RowPartition::uniform(sizes.next().unwrap(), rows).unwrap()
        } else {
            RowPartition::from_row_lengths(sizes.by_ref().take(rows).map(|n| n as i64).collect::<Vec<_>>()).unwrap()
        };
        rows = partition.nvals();
        partitions.push(partition);
    }
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=rows as i64));
    let leaf = Tensor::Leaf(values);
    partitions.into_iter().rev().fold(leaf, |below, partition| Tensor::list(partition, below, None).unwrap())
}

fn tensors(ranks: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = (usize, Tensor)> {
    let sizes = prop::collection::vec(prop_oneof![2 => Just(0u8), 5 => 1u8..4], 0..60);
    (ranks, 0usize..6, sizes, prop::collection::vec(prop::bool::weighted(0.25), 5))
        .prop_map(|(rank, nrows, sizes, uniform)| (rank, tensor(rank, nrows, &sizes, &uniform)))
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Right), Just(Side::Left)]
}

fn padding(rank: usize, side: Side) -> Padding {
    Padding {
        targets: vec![Target::Longest; rank],
        multiple_of: None,
        side,
        filling: Arc::new(Int64Array::from(vec![0])),
        max_nbytes: 1 << 30,
    }
}

fn one_each(tensor: &Tensor) -> RowPartition {
    RowPartition::uniform(1, tensor.nrows()).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<usize> {
    let mut at = tensor;
    while let Tensor::List(list) = at {
        at = list.values();
    }
    at.as_leaf().unwrap().as_primitive::<Int64Type>().values().iter().map(|n| *n as usize).collect()
}

/// Asserts equal numbers of rows, and equal rows.
fn same(a: &Tensor, b: &Tensor) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.nrows(), b.nrows());
    prop_assert_eq!(a.first_difference(b), None, "{:?} is not {:?}", a, b);
    Ok(())
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn lengths_take_padding_back((rank, tensor) in tensors(1..=5), side in side(), multiple in prop::option::of(1usize..4)) {
        let padded = Padding { multiple_of: multiple, ..padding(rank, side) }.apply(&tensor, &one_each(&tensor), true, true).unwrap();
        let mut back = padded.tensor.clone();
        // Innermost axis first, because the lengths are those of padded rows.
        for axis in (0..rank).rev() {
            let lengths = numbers(&padded.lengths[axis]);
            back = back.map_below(axis, &mut |rows| shorten(rows, &lengths, side)).unwrap();
        }
        same(&back, &tensor)?;
        // The number of the tensor's own values is that given by the mask.
        let mask = padded.mask.unwrap();
        let (_, bits) = mask.levels(rank).unwrap();
        prop_assert_eq!(bits.as_leaf().unwrap().as_boolean().true_count(), numbers(&tensor).len());
    }

    #[test]
    fn what_is_cut_stands_where_the_filling_would((_, tensor) in tensors(1..=1), size in 0usize..5, side in side()) {
        let cut = Padding { targets: vec![Target::Exact(size)], ..padding(1, side) };
        let cut = cut.apply(&tensor, &one_each(&tensor), true, false).unwrap();
        for row in 0..tensor.nrows() {
            let (own, kept) = (numbers(&tensor.slice(row, 1)), numbers(&cut.tensor.slice(row, 1)));
            let n = own.len().min(size);
            let want = match side {
                Side::Right => own[..n].iter().copied().chain(std::iter::repeat_n(0, size - n)).collect::<Vec<_>>(),
                Side::Left => std::iter::repeat_n(0, size - n).chain(own[own.len() - n..].iter().copied()).collect(),
            };
            prop_assert_eq!(kept, want);
        }
    }

    #[test]
    fn sparse_tensors_are_the_same_values((rank, tensor) in tensors(1..=5)) {
        let sparse = sparse_of_ragged(&tensor, &vec![Target::Longest; rank]).unwrap();
        prop_assert!(sparse.is_canonical());
        if rank <= 2 {
            same(&ragged_of_sparse(&sparse, 1 << 20).unwrap(), &tensor)?;
        }
        let records = one_each(&tensor);
        let dense = padding(rank, Side::Right).apply(&tensor, &records, false, false).unwrap().tensor;
        same(&dense_of_sparse(&sparse, &padding(rank, Side::Right), &records).unwrap(), &dense)?;
    }

    #[test]
    fn every_encoding_is_read_as_written((rank, tensor) in tensors(2..=5)) {
        let (partitions, _) = tensor.levels(rank).unwrap();
        let mut rows = partitions[0].clone();
        for inner in &partitions[1..] {
            for encoding in PartitionEncoding::VECTORS {
                for record in 0..tensor.nrows() {
                    let own = rows.range(record);
                    let nvals = inner.start(own.end) - inner.start(own.start);
                    let mut numbers = Vec::new();
                    inner.encode(encoding, own.clone(), &mut numbers);
                    let extent = Extent::of_values(nvals).with_nrows(Some(own.len() as i64));
                    let found = RowPartition::decode(encoding, &numbers, extent).unwrap();
                    prop_assert_eq!(&found, &inner.slice(own).0, "{:?}", encoding);
                }
            }
            rows = rows.merge(inner);
        }
    }

    #[test]
    fn a_partition_takes_merging_back((rank, tensor) in tensors(2..=5), axis in 0usize..4) {
        let axis = axis % (rank - 1);
        let merged = merge_axes(&tensor, axis, axis + 1).unwrap();
        prop_assert_eq!(numbers(&merged), numbers(&tensor));
        let back = merged.map_below(axis, &mut |rows| {
            let (_, own) = tensor.levels(axis).unwrap();
            let (partitions, _) = own.levels(2).unwrap();
            partition(rows, partitions[0], partitions[1])
        });
        same(&back.unwrap(), &tensor)?;
    }

    #[test]
    fn axes_may_be_merged_in_any_order((rank, tensor) in tensors(3..=5)) {
        let outer_first = merge_axes(&merge_axes(&tensor, 0, 1).unwrap(), 0, rank - 2).unwrap();
        let inner_first = merge_axes(&merge_axes(&tensor, 1, rank - 1).unwrap(), 0, 1).unwrap();
        same(&outer_first, &merge_axes(&tensor, 0, rank - 1).unwrap())?;
        same(&inner_first, &outer_first)?;
    }

    #[test]
    fn promoting_keeps_flat_values((rank, tensor) in tensors(1..=5), sizes in prop::collection::vec(0i64..4, 0..6)) {
        // The rows of the tensor as one field of structures, with the same number in each record.
        let (mut left, mut lengths) = (tensor.nrows() as i64, Vec::new());
        for size in sizes {
            lengths.push(size.min(left));
            left -= size.min(left);
        }
        lengths.push(left);
        let records = RowPartition::from_row_lengths(lengths).unwrap();
        let structures = Tensor::structure(tensor.nrows(), vec![tensor.clone()], None).unwrap();
        let structures = batch(&structures, &records).unwrap();
        let promoted = promote(&structures, 1, 0, true).unwrap();
        prop_assert_eq!(numbers(&promoted), numbers(&tensor));
        let (partitions, _) = promoted.levels(1).unwrap();
        prop_assert_eq!(partitions[0], &records.merge(tensor.levels(rank).unwrap().0[0]));
    }

    #[test]
    fn unbatch_takes_batch_back((rank, tensor) in tensors(1..=4), n in 1usize..4) {
        let mut lengths = vec![n as i64; tensor.nrows() / n];
        lengths.push((tensor.nrows() % n) as i64);
        let batches = RowPartition::from_row_lengths(lengths).unwrap();
        same(&unbatch(batch(&tensor, &batches).unwrap()).unwrap(), &tensor)?;
        // A sparse item has the dense shape of its batch, but the same values.
        let sparse = sparse_of_ragged(&tensor, &vec![Target::Longest; rank]).unwrap();
        let Tensor::Sparse(back) = unbatch(batch(&Tensor::Sparse(sparse.clone()), &batches).unwrap()).unwrap() else {
            return Err(TestCaseError::fail("not sparse"));
        };
        prop_assert_eq!(back.indices().to_vec(), sparse.indices().to_vec());
        prop_assert_eq!(back.entries(), sparse.entries());
    }

    #[test]
    fn rows_are_taken_wherever_they_stand((_, tensor) in tensors(0..=4), cuts in prop::collection::vec(0usize..6, 0..4), order in prop::collection::vec(0usize..6, 0..9)) {
        let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut.min(tensor.nrows())).chain([0, tensor.nrows()]).collect();
        ends.sort_unstable();
        let parts: Vec<Tensor> = ends.windows(2).map(|w| tensor.slice(w[0], w[1] - w[0])).collect();
        same(&Tensor::concat(&parts.iter().collect::<Vec<_>>()).unwrap(), &tensor)?;
        if tensor.nrows() == 0 {
            return Ok(());
        }
        let rows: Vec<usize> = order.into_iter().map(|row| row % tensor.nrows()).collect();
        let place = |row: &usize| {
            let part = ends.partition_point(|end| end <= row) - 1;
            (part, row - ends[part])
        };
        let chunks: Vec<Chunk> = parts.into_iter().map(|p| Chunk::try_new(p.nrows(), vec![p], Origin::default()).unwrap()).collect();
        let taken = Chunk::interleave(&chunks, &rows.iter().map(place).collect::<Vec<_>>()).unwrap();
        same(&taken.columns[0], &tensor.gather(&rows).unwrap())?;
    }
}
