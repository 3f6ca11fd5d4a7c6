//! Concatenation and splitting of sparse tensors.
//!
//! ```text
//! concat(1, [a, b])      a . b .          slice       the entries of a box, counted from its corner
//!                        . a . b          split       boxes along one axis
//! ```
//!
//! Semantics: `tf.sparse.concat`, `slice`, `split`.

use super::shared::{common, dim_of, one_per_axis, plain, rows_of, size_of, sparse, with_dims};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::entries::{self, Indices, taken_indices};
use crate::expr::kernels::level::from_lengths;
use crate::expr::operand::OperandKind;
use crate::schema::Dim;
use crate::tensor::concat::concat_leaves;
use crate::tensor::gather::take;
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Sparse, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sparse.concat", "sparse_concat"],
        "axis|concat_dim, sp_inputs, expand_nonconcat_dims|expand_nonconcat_dim=False",
        "Concatenate sparse tensors along an axis.",
        [(
            "sparse.concat(1, [sparse.from_dense([[1], [0]]), sparse.from_dense([[2, 0], [0, 3]])])",
            "{[0, 0]: 1, [0, 1]: 2, [1, 2]: 3} of [2, 3]"
        )],
        concat
    ),
    function!(
        ["sparse.slice", "sparse_slice"],
        "sp_input, start, size",
        "Slice a sparse tensor by start and size.",
        [("sparse.slice(sparse.from_dense([[1, 0, 2], [0, 3, 0]]), [0, 1], [2, 9])", "{[0, 1]: 2, [1, 0]: 3} of [2, 2]")],
        slice
    ),
    function!(
        ["sparse.split", "sparse_split"],
        "sp_input, num_split, axis|split_dim",
        "Split along an axis into num_split parts. If the size does not divide evenly, the first parts are one item longer.",
        [("dense_shape(sparse.split(sparse.from_dense([[1, 0, 2]]), 2, axis=1)[0])", "[1, 2]")],
        split
    ),
];

fn concat(call: &mut Call) -> ExprResult<OperandKind> {
    let items = call.list(1)?;
    let args = common(call, &items)?;
    let expand = call.flag(2, false)?;
    let axis = call.int(0)?;
    let [first, rest @ ..] = args.as_slice() else {
        return Err(call.error(format!("{} needs at least one sparse tensor", call.name)));
    };
    if rest.is_empty() {
        let first = first.clone();
        return call.one(first.ty.clone(), move |args| Ok(first.of(args)?.into_owned()));
    }
    let rank = first.rank();
    let axis = call.axis(0, axis, rank)?;
    for other in rest {
        if other.rank() != rank {
            return Err(ExprError::at(
                other.span.clone(),
                format!("{} joins tensors of the same rank; these have ranks {rank} and {}", call.name, other.rank()),
            ));
        }
    }
    let dims = joined_dims(call, &args, axis, expand)?;
    let ty = with_dims(&first.ty, dims);
    let joined = Join { rank, axis, expand };
    call.one(ty, move |a| {
        let tensors = args.iter().map(|x| x.of(a)).collect::<Result<Vec<_>>>()?;
        joined.of(&tensors.iter().map(|t| entries::sparse(t)).collect::<Result<Vec<_>>>()?, a.nrows)
    })
}

/// The sizes of the joined tensors.
fn joined_dims(call: &Call, args: &[Arg], axis: usize, expand: bool) -> ExprResult<Vec<Dim>> {
    (0..args[0].rank())
        .map(|a| {
            let sizes: Vec<Option<i64>> = args.iter().map(|x| size_of(&x.ty.dims[a])).collect();
            if a == axis {
                return Ok(dim_of(sizes.into_iter().try_fold(0i64, |all, n| all.checked_add(n?))));
            }
            if expand {
                return Ok(dim_of(sizes.into_iter().try_fold(0i64, |all, n| Some(all.max(n?)))));
            }
            let mut known = sizes.iter().flatten();
            let size = known.next().copied();
            match known.find(|n| Some(**n) != size) {
                Some(other) => Err(call
                    .error(format!("{}: axis {a} has {} and {other} items", call.name, size.unwrap_or(0)))
                    .help("to use the largest size: expand_nonconcat_dims=True")),
                None => Ok(dim_of(size)),
            }
        })
        .collect()
}

/// How sparse tensors are joined.
struct Join {
    rank: usize,
    axis: usize,
    /// Whether the other axes get the largest size, rather than have the same.
    expand: bool,
}

impl Join {
    fn of(&self, parts: &[&Sparse], nrows: usize) -> Result<Tensor> {
        let Join { rank, axis, .. } = *self;
        let nvals: usize = parts.iter().map(|s| s.entries().nvals()).sum();
        let (mut indices, mut places) = (Vec::with_capacity(nvals * rank), Vec::with_capacity(nvals));
        let (mut lengths, mut shapes) = (Vec::with_capacity(nrows), Vec::with_capacity(nrows * rank));
        for record in 0..nrows {
            let mut shape = parts[0].shape_of(record).to_vec();
            shape[axis] = 0;
            let (before, mut base) = (places.len(), 0);
            for (which, s) in parts.iter().enumerate() {
                let own = s.shape_of(record);
                self.fit(&mut shape, own, which).map_err(|error| error.at_row(record))?;
                let range = s.entries().range(record);
                places.extend(range.clone().map(|entry| base + entry));
                let from = shape[axis];
                shape[axis] = from
                    .checked_add(own[axis])
                    .ok_or_else(|| Error::data(format!("axis {axis} would have more than 2^63 items")).at_row(record))?;
                let at = indices.len();
                indices.extend_from_slice(&s.indices()[range.start * rank..range.end * rank]);
                if from > 0 {
                    indices[at..].chunks_exact_mut(rank).for_each(|index| index[axis] += from);
                }
                base += s.entries().nvals();
            }
            lengths.push(places.len() - before);
            shapes.extend(shape);
        }
        let entries = from_lengths(lengths)?;
        let axes: Vec<usize> = (0..rank).collect();
        if let Some(order) = (Indices { ndims: rank, entries: &entries, indices: &indices, shapes: &shapes }).order(&axes) {
            indices = taken_indices(&indices, rank, &order);
            places = order.into_iter().map(|at| places[at]).collect();
        }
        let arrays: Vec<_> = parts.iter().map(|s| s.values()).collect();
        let values = take(&concat_leaves(&arrays)?, &places)?;
        Ok(Tensor::Sparse(Sparse::try_new(rank, entries, indices.into(), values, shapes.into(), None)?))
    }

    /// Checks or extends the sizes of the other axes, which are `own` in tensor `which`.
    fn fit(&self, shape: &mut [i64], own: &[i64], which: usize) -> Result<()> {
        for other in (0..self.rank).filter(|other| *other != self.axis) {
            if self.expand {
                shape[other] = shape[other].max(own[other]);
            } else if shape[other] != own[other] {
                let error = format!("axis {other} has {} items in the first tensor, but {} in tensor {which}", shape[other], own[other]);
                return Err(Error::data(error).help("to use the largest size: expand_nonconcat_dims=True"));
            }
        }
        Ok(())
    }
}

fn slice(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let rank = x.rank();
    let (start, size) = (one_per_axis(call, 1, rank)?, one_per_axis(call, 2, rank)?);
    let mut dims = Vec::with_capacity(rank);
    for axis in 0..rank {
        let all = size_of(&x.ty.dims[axis]);
        dims.push(match (start[axis].known(), size[axis].known()) {
            (Some(start), Some(size)) => {
                let fail = |message| Err(ExprError::at(call.operand(2)?.span.clone(), format!("{}: {message}", call.name)));
                let n = left(all.unwrap_or(0), start, size).or_else(fail)?;
                dim_of(all.map(|_| n))
            }
            _ => Dim::UNIFORM,
        });
    }
    call.one(with_dims(&x.ty, dims), move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        let (starts, sizes) = (rows_of(&start, args)?, rows_of(&size, args)?);
        let shapes = s
            .dense_shape()
            .iter()
            .zip(starts.iter().zip(&sizes))
            .enumerate()
            .map(|(i, (all, (start, size)))| left(*all, *start, *size).map_err(|message| Error::data(message).at_row(i / rank.max(1))))
            .collect::<Result<Vec<_>>>()?;
        Ok(Tensor::Sparse(boxes(s, &starts, &shapes)?))
    })
}

/// The size of a slice of an axis with `all` items.
///
/// # Errors
/// The size is negative, unless the slice starts beyond the end.
fn left(all: i64, start: i64, size: i64) -> Result<i64, String> {
    match (i128::from(all) - i128::from(start)).min(i128::from(size)) {
        _ if start > all => Ok(0),
        n if n < 0 => Err(format!("the size {n} is negative")),
        n => Ok(n as i64),
    }
}

/// The entries inside a box in each record: of size `shapes`, starting at `starts`. Indices become relative to its
/// corner.
fn boxes(s: &Sparse, starts: &[i64], shapes: &[i64]) -> Result<Sparse> {
    // Branch-free: whether an index is inside the box is added to the count.
    fn of_rank<const N: usize>(s: &Sparse, starts: &[i64], shapes: &[i64]) -> (Vec<usize>, Vec<i64>, Vec<usize>) {
        let nvals = s.entries().nvals();
        let (mut places, mut indices, mut lengths) = (vec![0; nvals], vec![[0i64; N]; nvals], Vec::with_capacity(s.nrows()));
        let all = s.indices().as_chunks::<N>().0;
        let mut n = 0;
        for record in 0..s.nrows() {
            let (mut from, mut size) = ([0i64; N], [0u64; N]);
            for axis in 0..N {
                from[axis] = starts[record * N + axis];
                size[axis] = shapes[record * N + axis] as u64;
            }
            let before = n;
            for entry in s.entries().range(record) {
                let mut index = all[entry];
                let mut inside = true;
                for axis in 0..N {
                    // Indices before the start wrap around to values beyond every size.
                    index[axis] = index[axis].wrapping_sub(from[axis]);
                    inside &= (index[axis] as u64) < size[axis];
                }
                places[n] = entry;
                indices[n] = index;
                n += usize::from(inside);
            }
            lengths.push(n - before);
        }
        places.truncate(n);
        indices.truncate(n);
        (places, indices.into_flattened(), lengths)
    }
    let rank = s.ndims();
    let (places, indices, lengths) = match rank {
        1 => of_rank::<1>(s, starts, shapes),
        2 => of_rank::<2>(s, starts, shapes),
        3 => of_rank::<3>(s, starts, shapes),
        _ => {
            let (mut places, mut indices, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(s.nrows()));
            for record in 0..s.nrows() {
                let own = record * rank..(record + 1) * rank;
                let before = places.len();
                for entry in s.entries().range(record) {
                    let moved = s.index_of(entry).iter().zip(&starts[own.clone()]).map(|(i, from)| i.wrapping_sub(*from));
                    if moved.clone().zip(&shapes[own.clone()]).all(|(i, n)| (i as u64) < *n as u64) {
                        places.push(entry);
                        indices.extend(moved);
                    }
                }
                lengths.push(places.len() - before);
            }
            (places, indices, lengths)
        }
    };
    let entries: RowPartition = from_lengths(lengths)?;
    Sparse::try_new(rank, entries, indices.into(), take(s.values(), &places)?, shapes.to_vec().into(), None)
}

fn split(call: &mut Call) -> ExprResult<OperandKind> {
    let x = sparse(call, 0)?;
    let rank = x.rank();
    let count = call.int(1)?;
    let axis = call.int(2)?;
    let axis = call.axis(2, axis, rank)?;
    let place = call.operand(1)?.span.clone();
    let refused = move |size: i64| format!("num_split is {count}; it must be from 1 to {size}, the size of axis {axis}");
    let parts = usize::try_from(count).ok().filter(|n| (1..=65536).contains(n)).ok_or_else(|| {
        ExprError::at(place.clone(), format!("{}: num_split is {count}; it must be between 1 and the size of the axis", call.name))
    })?;
    let known = size_of(&x.ty.dims[axis]);
    if let Some(size) = known.filter(|n| *n < count) {
        return Err(ExprError::at(place, format!("{}: {}", call.name, refused(size))));
    }
    let types = (0..count)
        .map(|part| {
            let mut dims: Vec<Dim> = x.ty.dims.iter().map(plain).collect();
            dims[axis] = dim_of(known.map(|size| part_of(size, count, part).1));
            with_dims(&x.ty, dims)
        })
        .collect();
    call.several(types, move |args| {
        let tensor = x.of(args)?;
        let s = entries::sparse(&tensor)?;
        for record in 0..s.nrows() {
            let size = s.shape_of(record)[axis];
            if size < count {
                return Err(Error::data(refused(size)).at_row(record));
            }
        }
        let kept = s.nrows().checked_mul(parts).and_then(|n| n.checked_mul(rank + 2));
        check_count(kept.and_then(|n| n.checked_mul(2)), 0).map_err(|_| {
            Error::data(format!("splitting {} records at once into {parts} parts needs too much memory", s.nrows()))
                .help("--chunk-rows 64 processes fewer records at a time")
        })?;
        // The part of each entry, then the entries of each part, in a single pass for all parts. Short axes use a
        // lookup table.
        const LONGEST_TABLE: i64 = 1 << 12;
        let mut table: Vec<u32> = Vec::new();
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); parts];
        let mut lengths: Vec<Vec<usize>> = vec![Vec::with_capacity(s.nrows()); parts];
        for record in 0..s.nrows() {
            let size = s.shape_of(record)[axis];
            let (short, longer) = (size / count, size % count);
            let before: Vec<usize> = places.iter().map(Vec::len).collect();
            let long = longer.saturating_mul(short + 1);
            let part_at = |i: i64| if i < long { i / (short + 1) } else { longer + (i - long) / short };
            if size <= LONGEST_TABLE && table.len() as i64 != size {
                table = (0..size).map(|i| part_at(i) as u32).collect();
            }
            for entry in s.entries().range(record) {
                let i = s.index_of(entry)[axis];
                let part = if size <= LONGEST_TABLE { table[i as usize] as usize } else { part_at(i) as usize };
                places[part].push(entry);
            }
            lengths.iter_mut().zip(&places).zip(before).for_each(|((lengths, places), before)| lengths.push(places.len() - before));
        }
        let out = (0..count).zip(places.iter().zip(lengths)).map(|(part, (places, lengths))| {
            let mut indices = taken_indices(s.indices(), rank, places);
            let entries = from_lengths(lengths)?;
            let mut shapes = s.dense_shape().to_vec();
            for record in 0..s.nrows() {
                let (start, size) = part_of(s.shape_of(record)[axis], count, part);
                let range = entries.range(record);
                let own = &mut indices[range.start * rank..range.end * rank];
                own.chunks_exact_mut(rank).for_each(|index| index[axis] -= start);
                shapes[record * rank + axis] = size;
            }
            let values = take(s.values(), places)?;
            Ok(Tensor::Sparse(Sparse::try_new(rank, entries, indices.into(), values, shapes.into(), None)?))
        });
        out.collect()
    })
}

/// The start of a part, and its size.
fn part_of(size: i64, count: i64, part: i64) -> (i64, i64) {
    let (short, longer) = (size / count, size % count);
    (part * short + part.min(longer), short + i64::from(part < longer))
}
