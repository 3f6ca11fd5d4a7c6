//! Selected slices of a tensor, with their indices.
//!
//! Semantics: `tf.IndexedSlices`, `tf.sparse.mask`.

use crate::error::Result;
use crate::expr::call::{Arg, Call, Function, strict_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::fields::field_of;
use crate::expr::kernels::cast::i64s;
use crate::expr::kernels::level::{check_same, from_lengths};
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::{DType, Dim, Type};
use crate::tensor::Tensor;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["IndexedSlices"],
        "values, indices, dense_shape=None -> values, indices",
        "Slices of a tensor at the given indices.",
        [("IndexedSlices([[1, 2], [3, 4]], [5, 7]).indices", "[5, 7]")],
        |c| {
            let values = c.any(0)?;
            let indices = c.integers(1)?;
            one_each(&values, &indices)?;
            let types = vec![values.ty.clone(), indices.ty.clone()];
            c.several(types, move |args| {
                let (values, indices) = (values.of(args)?.into_owned(), indices.of(args)?.into_owned());
                check_same(&values, &indices, 1, "values and indices")?;
                Ok(vec![values, indices])
            })
        }
    ),
    function!(
        ["sparse.mask", "sparse_mask"],
        "a, mask_indices -> values, indices",
        "The slices whose indices are not in mask_indices.",
        [
            ("sparse.mask(IndexedSlices([1, 2, 3], [5, 7, 9]), [7]).values", "[1, 3]"),
            ("sparse.mask(IndexedSlices([1, 2, 3], [5, 7, 9]), [7]).indices", "[5, 9]")
        ],
        mask
    ),
];

/// One index for each slice.
fn one_each(values: &Arg, indices: &Arg) -> ExprResult<()> {
    if values.rank() == 0 || values.ty.is_sparse() {
        return Err(ExprError::at(values.span.clone(), "the slices must have at least one axis"));
    }
    if indices.rank() != 1 {
        return Err(ExprError::at(indices.span.clone(), format!("the indices must be a vector, not {}", indices.ty)));
    }
    Ok(())
}

fn mask(call: &mut Call) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let wrong = || {
        let error = ExprError::at(item.span.clone(), format!("sparse.mask expects IndexedSlices, not {}", item.describe()));
        error.help("sparse.mask(IndexedSlices(values, indices), mask_indices); sparse.retain takes sparse tensors")
    };
    // When assigned, the results form a structure.
    let part = |i: usize, name: &str| match (&item.kind, item.elements()) {
        (OperandKind::Results(_), Some(mut parts)) if parts.len() == 2 => Some(parts.swap_remove(i)),
        (OperandKind::Tensor(node), _) if node.ty.rank() == 0 => {
            field_of(node, name).map(|node| Operand { kind: OperandKind::Tensor(node), span: item.span.clone() })
        }
        _ => None,
    };
    let node = strict_node(&part(0, "values").ok_or_else(wrong)?)?;
    let values = call.push(node);
    let indices = call.integers_of(&part(1, "indices").ok_or_else(wrong)?)?;
    one_each(&values, &indices)?;
    let masked = call.integers(1)?;
    if masked.rank() != 1 {
        return Err(ExprError::at(masked.span.clone(), format!("mask_indices must be a vector, not {}", masked.ty)));
    }
    let mut kept = values.ty.clone();
    kept.dims[0] = Dim::UNIFORM;
    let types = vec![kept, Type::tensor(DType::Int64, vec![Dim::UNIFORM])];
    call.several(types, move |args| {
        let (values, indices, masked) = (values.of(args)?, indices.of(args)?, masked.of(args)?);
        let (all, out) = (indices.as_list()?, masked.as_list()?);
        let (numbers, gone) = (i64s(all.values().as_leaf()?)?, i64s(out.values().as_leaf()?)?);
        let (mut rows, mut lengths, mut own) = (Vec::new(), Vec::with_capacity(args.nrows), Vec::new());
        for record in 0..args.nrows {
            let before = rows.len();
            own.clear();
            own.extend_from_slice(&gone[out.partition().range(record)]);
            own.sort_unstable();
            rows.extend(all.partition().range(record).filter(|i| own.binary_search(&numbers[*i]).is_err()));
            lengths.push(rows.len() - before);
        }
        let partition = from_lengths(lengths)?;
        let parts = [values.as_list()?.values(), all.values()];
        parts.into_iter().map(|t| Tensor::list(partition.clone(), t.gather(&rows)?, None)).collect::<Result<Vec<_>>>()
    })
}
