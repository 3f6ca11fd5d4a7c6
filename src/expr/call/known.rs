//! What is known about an item before the first record: dtype names, integers, axes.

use crate::error::nearest;
use crate::expr::eval::{Node, NodeKind};
use crate::expr::kernels::cast;
use crate::expr::kernels::text::Texts;
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::{DType, Literal};

/// The dtype with that name, including `half`, `double` and other names from TensorFlow and NumPy.
pub fn dtype_named(name: &str) -> Option<DType> {
    match name {
        "half" => Some(DType::Float16),
        "float" => Some(DType::Float32),
        "double" => Some(DType::Float64),
        "int" => Some(DType::Int64),
        "str" => Some(DType::String),
        _ => DType::from_name(name).filter(DType::is_tensor),
    }
}

/// The dtype with a similar name.
pub fn dtype_near(name: &str) -> Option<&'static str> {
    nearest(name, DType::NAMED.iter().filter(|(_, dtype)| dtype.is_tensor()).map(|(name, _)| *name))
}

/// Converts `axis` to a nonnegative axis.
pub fn positive_axis(axis: i64, rank: usize) -> Option<usize> {
    let rank_i = i64::try_from(rank).ok()?;
    usize::try_from(if axis < 0 { axis.checked_add(rank_i)? } else { axis }).ok().filter(|a| *a < rank)
}

/// An integer known before the first record.
pub fn static_int(item: &Operand) -> Option<i64> {
    match &item.kind {
        OperandKind::Literal(Literal::Int(n)) => i64::try_from(*n).ok(),
        OperandKind::Tensor(node) if node.ty.rank() == 0 => static_values(node)?.first().copied(),
        _ => None,
    }
}

/// One or more integers known before the first record.
pub fn static_ints(item: &Operand) -> Option<Vec<i64>> {
    match &item.kind {
        OperandKind::List(items) | OperandKind::Tuple(items) => items.iter().map(static_int).collect(),
        OperandKind::Tensor(node) if node.ty.rank() == 1 => static_values(node),
        _ => static_int(item).map(|n| vec![n]),
    }
}

fn static_values(node: &Node) -> Option<Vec<i64>> {
    let NodeKind::Constant(tensor) = &node.kind else {
        return None;
    };
    if !node.ty.dtype()?.is_integer() {
        return None;
    }
    let (_, below) = tensor.levels(node.ty.rank()).ok()?;
    let values = cast::cast(below.as_leaf().ok()?, &DType::Int64).ok()?;
    Some(cast::i64s(&values).ok()?.to_vec())
}

/// The number of values in a constant.
pub fn constant_values(node: &Node) -> Option<usize> {
    match &node.kind {
        NodeKind::Constant(tensor) => tensor.levels(node.ty.rank()).ok().map(|(_, below)| below.nrows()),
        _ => None,
    }
}

/// The bytes of a string known before the first record.
pub fn static_text(item: &Operand) -> Option<Vec<u8>> {
    match &item.kind {
        OperandKind::Literal(Literal::String(text)) => Some(text.clone().into_bytes()),
        OperandKind::Literal(Literal::Bytes(bytes)) => Some(bytes.clone()),
        OperandKind::Tensor(Node { ty, kind: NodeKind::Constant(tensor), .. }) if ty.rank() == 0 => {
            Texts::of(tensor.as_leaf().ok()?).ok()?.iter().next().map(<[u8]>::to_vec)
        }
        _ => None,
    }
}
