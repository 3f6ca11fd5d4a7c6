//! Packs lists of tensors into one tensor, and unpacks the items of a tensor.

use super::fold::computed;
use crate::error::Result;
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node};
use crate::expr::kernels::level::check_uniform;
use crate::expr::kernels::{join, slice};
use crate::expr::span::Span;
use crate::expr::types::{self, outermost_uniform};
use crate::printable::counted_axes;
use crate::schema::{Dim, Type};
use std::sync::Arc;

/// Stacks tensors of one dtype (see [`super::alike`]), for a list of tensors used as a tensor. Null tensors become null items.
///
/// # Errors
/// Tensors of different ranks, or with different sizes on a uniform axis.
pub fn pack(nodes: Vec<Node>, span: Span) -> ExprResult<Node> {
    let all: Vec<&[Dim]> = nodes.iter().map(|n| n.ty.dims.as_slice()).collect();
    types::one_rank(&all).map_err(|i| {
        let message = format!(
            "tensors in a list must have the same rank; this one has {}, but the first has {}",
            counted_axes(all[i].len()),
            all[0].len()
        );
        ExprError::at(nodes[i].span.clone(), message)
    })?;
    let dims = types::stacked(&all, 0, false).map_err(|e| e.or_at(span.clone()))?;
    let Some(first) = nodes.first() else {
        return Err(ExprError::internal("a list of no tensors is packed"));
    };
    let with_nulls = nodes.iter().any(|node| node.ty.optional || node.ty.with_nulls);
    let ty = Type { element: first.ty.element.clone(), dims: dims.clone(), optional: false, with_nulls };
    let nodes = nodes.into_iter().map(|node| node.moved_below(0)).collect();
    let kernel = move |args: &Args| {
        let tensors = (0..args.values().len()).map(|i| args.tensor(i)).collect::<Result<Vec<_>>>()?;
        let out = join::stack(&tensors.iter().map(std::convert::AsRef::as_ref).collect::<Vec<_>>(), 0)?;
        check_uniform(&out, &dims)?;
        Ok(out)
    };
    computed(nodes, ty, span, "".into(), kernel)
}

/// Item `index` of a tensor whose first axis has a known size.
///
/// # Errors
/// The tensor is a constant that does not have this item.
pub fn nth(node: &Node, index: i64, text: &Arc<str>) -> ExprResult<Node> {
    let dims = outermost_uniform(node.ty.dims.get(1..).unwrap_or_default().to_vec());
    let ty = Type { dims, ..node.ty.clone() };
    computed(vec![node.clone()], ty, node.span.clone(), text.clone(), move |args| {
        let tensor = args.tensor(0)?;
        let list = tensor.as_list()?;
        slice::items(list.partition(), list.values(), |_| index).map_err(|(row, e)| e.at_row(row))
    })
}
