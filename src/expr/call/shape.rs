//! Shapes as tensors.

use super::coerce::as_node;
use super::fold::computed;
use crate::error::Result;
use crate::expr::error::ExprResult;
use crate::expr::eval::{Args, Node};
use crate::expr::kernels::cast::{cast, i64s};
use crate::expr::operand::Operand;
use crate::expr::span::Span;
use crate::schema::{DType, Dim, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

/// The sizes of a shape as a vector, with null for ragged axes.
///
/// # Errors
/// A size that is not an integer.
pub fn shape_vector(sizes: &[Operand], span: &Span) -> ExprResult<Node> {
    let nodes =
        sizes.iter().map(|size| if size.is_none() { Ok(None) } else { as_node(size, None).map(Some) }).collect::<ExprResult<Vec<_>>>()?;
    let given: Vec<bool> = nodes.iter().map(Option::is_some).collect();
    let ty = Type { with_nulls: given.contains(&false), ..Type::tensor(DType::Int64, vec![Dim::known(sizes.len() as u64)]) };
    let kernel = move |args: &Args| {
        let columns = (0..args.values().len()).map(|i| cast(args.tensor(i)?.as_leaf()?, &DType::Int64)).collect::<Result<Vec<_>>>()?;
        let columns = columns.iter().map(i64s).collect::<Result<Vec<_>>>()?;
        let mut out = Vec::with_capacity(args.nrows * given.len());
        for row in 0..args.nrows {
            let mut column = columns.iter();
            out.extend(given.iter().map(|given| if *given { column.next().and_then(|c| c.get(row)).copied() } else { None }));
        }
        let values: ArrayRef = Arc::new(Int64Array::from(out));
        Tensor::list(RowPartition::uniform(given.len(), args.nrows)?, Tensor::Leaf(values), None)
    };
    let args = nodes.into_iter().flatten().collect();
    computed(args, ty, span.clone(), "".into(), kernel)
}
