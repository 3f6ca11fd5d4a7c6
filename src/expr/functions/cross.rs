//! Combinations of the values of several tensors.
//!
//! Source of the meaning: `tf.ragged.cross`, `tf.ragged.cross_hashed`.

use crate::error::Result;
use crate::expr::call::{Call, Function, strict_node};
use crate::expr::item::ItemKind;
use crate::expr::kernels::cast::{cast, i64s};
use crate::expr::kernels::elementwise;
use crate::expr::kernels::level::{check_count, check_same, from_lengths, wrap};
use crate::expr::problem::{Bind, Problem};
use crate::schema::{DType, Dim, Size, Type};
use crate::tensor::Tensor;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

pub static FUNCTIONS: &[Function] = &[function!(
    ["ragged.cross"],
    "inputs",
    "Every combination of the values of the inputs' rows, joined with _X_.",
    [("ragged.cross([[[\"a\"]], [[\"b\", \"c\"]]])", "[[\"a_X_b\", \"a_X_c\"]]")],
    cross
)];

fn cross(call: &mut Call) -> Bind<ItemKind> {
    let items = call.list(0)?;
    if items.is_empty() {
        return Err(call.problem("ragged.cross needs one input at least"));
    }
    let mut args = Vec::with_capacity(items.len());
    for item in &items {
        let node = strict_node(item)?;
        let arg = call.push(node);
        call.plain(&arg)?;
        call.check_dtype(&arg, "integers and strings", |d| d.is_integer() || matches!(d, DType::String | DType::Bytes))?;
        if arg.rank() != 2 {
            return Err(Problem::at(arg.span.clone(), format!("ragged.cross works on tensors of two axes; this is {}", arg.ty)));
        }
        args.push(arg);
    }
    let bytes = args.iter().any(|a| a.ty.dtype() == Some(&DType::Bytes));
    let dtype = if bytes { DType::Bytes } else { DType::String };
    let rows = args.iter().find_map(|a| if let Size::Known(n) = a.ty.dims[0].size { Some(n) } else { None });
    let dims = vec![rows.map_or(Dim::UNIFORM, Dim::known), Dim::RAGGED];
    call.one(Type::tensor(dtype.clone(), dims), move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        for other in &tensors[1..] {
            check_same(&tensors[0], other, 1, "the inputs")?;
        }
        let columns = tensors
            .iter()
            .map(|t| {
                let (partitions, below) = t.levels(2)?;
                Ok((partitions[1], texts(below.as_leaf()?)?))
            })
            .collect::<Result<Vec<_>>>()?;
        let outer = tensors[0].levels(1)?.0[0].clone();
        let (mut values, mut offsets, mut lengths) = (Vec::new(), vec![0i64], Vec::new());
        for row in 0..outer.nvals() {
            let counts: Vec<usize> = columns.iter().map(|(p, _)| p.row_length(row)).collect();
            let total = counts.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
            let total = check_count(total.and_then(|t| t.checked_add(offsets.len())), 0)? - offsets.len();
            for i in 0..total {
                let mut rest = i;
                let mut chosen = vec![0; counts.len()];
                for (k, n) in counts.iter().enumerate().rev() {
                    chosen[k] = rest % n;
                    rest /= n;
                }
                for (k, (partition, texts)) in columns.iter().enumerate() {
                    if k > 0 {
                        values.extend_from_slice(b"_X_");
                    }
                    values.extend_from_slice(&texts[partition.start(row) + chosen[k]]);
                }
                offsets.push(values.len() as i64);
            }
            lengths.push(total);
        }
        let flat = Tensor::Leaf(elementwise::text_array(&dtype, offsets, values)?);
        wrap([outer, from_lengths(lengths)?].into_iter(), flat)
    })
}

/// Every value as text: integers in decimal.
fn texts(array: &ArrayRef) -> Result<Vec<Vec<u8>>> {
    if let Some(strings) = array.as_string_opt::<i64>() {
        return Ok((0..strings.len()).map(|i| strings.value(i).as_bytes().to_vec()).collect());
    }
    if let Some(bytes) = array.as_binary_opt::<i64>() {
        return Ok((0..bytes.len()).map(|i| bytes.value(i).to_vec()).collect());
    }
    Ok(i64s(&cast(array, &DType::Int64)?)?.iter().map(|n| n.to_string().into_bytes()).collect())
}
