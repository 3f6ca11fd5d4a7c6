//! Items as tensors: literals become constants, dtypes are brought together, nulls refused, constants computed.

use crate::expr::constant;
use crate::expr::eval::{CallNode, Frame, Node, NodeKind};
use crate::expr::functions;
use crate::expr::item::{self, Item, ItemKind};
use crate::expr::kernels::{cast, entries};
use crate::expr::problem::{Bind, Problem};
use crate::expr::syntax::Span;
use crate::expr::types::{may_hold_nulls, promote, without_nulls};
use crate::schema::{DType, Dim, Element, Literal, Size, Type};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The tensor that an item is: literals become constants, of `dtype` if it holds them.
///
/// # Errors
/// No tensor: None, a dict, a dtype ...
pub fn as_node(item: &Item, dtype: Option<&DType>) -> Bind<Node> {
    node_of(item, dtype).map_err(|e| e.or_at(item.span.clone()))
}

/// The tensor that an item is, as [`as_node`], if it can be computed with; see [`strict`].
///
/// # Errors
/// No tensor, or a foreign dtype.
pub fn strict_node(item: &Item) -> Bind<Node> {
    strict(as_node(item, None)?)
}

fn node_of(item: &Item, dtype: Option<&DType>) -> Bind<Node> {
    // A partition is the rows of the numbers of its values.
    if let ItemKind::Tensor(node) | ItemKind::Partition(node) = &item.kind {
        return Ok(node.clone());
    }
    if let Some(literal) = item.literal().filter(|l| *l != Literal::None) {
        let dtype = dtype.filter(|d| constant::holds(d, &literal));
        let (ty, tensor) = constant::plain(&literal, dtype)?;
        return Ok(item::constant(tensor, ty, item.span.clone()));
    }
    match &item.kind {
        ItemKind::List(items) | ItemKind::Tuple(items) if !items.is_empty() => functions::pack(item, items),
        ItemKind::Results(_) => match item.elements() {
            Some(items) if !items.is_empty() => functions::pack(item, &items),
            _ => Err(Problem::new("expected a tensor, found an empty list")),
        },
        _ => Err(Problem::new(format!("expected a tensor, found {}", item.describe()))),
    }
}

/// Items as tensors of one dtype; see [`Call::promoted`].
///
/// # Errors
/// Strings beside numbers, structures, no tensors.
pub fn common(items: &[Item], name: &str, text: &Arc<str>) -> Bind<Vec<Node>> {
    let mut dtype: Option<DType> = None;
    let mut nodes: Vec<Option<Node>> = Vec::with_capacity(items.len());
    let clash = |span: &Span, a: &DType, b: &DType| {
        Problem::at(span.clone(), format!("{name} can't work on {a} and {b} together")).help("cast(x, dtype) converts numbers")
    };
    // Tensors decide first, then the literals that they do not hold.
    for item in items {
        if item.is_literal() {
            nodes.push(None);
            continue;
        }
        let node = strict_node(item)?;
        let found = node.ty.dtype().cloned().filter(|_| !node.ty.is_sparse());
        let Some(found) = found else {
            return Err(Problem::at(item.span.clone(), format!("{name} works on tensors; this is {}", item.describe())));
        };
        dtype = Some(match dtype {
            None => found,
            Some(before) => promote(&before, &found).ok_or_else(|| clash(&item.span, &before, &found))?,
        });
        nodes.push(Some(node));
    }
    for item in items.iter().filter(|item| item.is_literal()) {
        let Some(literal) = item.literal().filter(|l| *l != Literal::None) else {
            return Err(Problem::at(item.span.clone(), "None is no tensor"));
        };
        if let Some(before) = &dtype
            && constant::holds(before, &literal)
        {
            continue;
        }
        let own = constant::plain(&literal, None).map_err(|e| e.or_at(item.span.clone()))?.0.dtype().cloned().unwrap_or(DType::Float32);
        dtype = Some(match dtype {
            None => own,
            Some(before) => {
                let wide = promote(&before, &own).ok_or_else(|| clash(&item.span, &before, &own))?;
                // A fraction beyond the range of the narrow float that was chosen.
                if wide.is_float() && !constant::holds(&wide, &literal) { DType::Float64 } else { wide }
            }
        });
    }
    let dtype = dtype.unwrap_or(DType::Float32);
    items
        .iter()
        .zip(nodes)
        .map(|(item, node)| match node {
            Some(node) => cast_node(node, &dtype, text),
            None => {
                let literal = item.literal().unwrap_or(Literal::None);
                let (ty, tensor) = constant::plain(&literal, Some(&dtype)).map_err(|e| e.or_at(item.span.clone()))?;
                Ok(item::constant(tensor, ty, item.span.clone()))
            }
        })
        .collect()
}

/// The tensor with another dtype.
///
/// # Errors
/// No conversion exists.
pub fn cast_node(node: Node, dtype: &DType, text: &Arc<str>) -> Bind<Node> {
    if node.ty.dtype() == Some(dtype) {
        return Ok(node);
    }
    let from = node.ty.dtype().cloned().unwrap_or(DType::Null);
    if !cast::can_cast(&from, dtype) {
        return Err(Problem::at(node.span.clone(), format!("{from} can't be converted to {dtype}")));
    }
    let sparse = node.ty.is_sparse();
    let element = if sparse { Element::Sparse(dtype.clone()) } else { Element::Value(dtype.clone()) };
    let ty = Type { element, ..node.ty.clone() };
    let (span, levels, to) = (node.span.clone(), node.ty.rank(), dtype.clone());
    let call = CallNode {
        span: span.clone(),
        text: text.clone(),
        args: vec![node],
        outputs: vec![ty.clone()],
        kernel: Box::new(move |args| {
            if sparse {
                let tensor = args.tensor(0)?;
                let s = entries::sparse(&tensor)?;
                return Ok(vec![entries::with_values(s, cast::cast(s.values(), &to)?)?]);
            }
            Ok(vec![args.tensor(0)?.map_below(levels, &mut |t| Ok(Tensor::Leaf(cast::cast(t.as_leaf()?, &to)?)))?])
        }),
    };
    fold(Node { ty, span, kind: NodeKind::Call(Arc::new(call), 0) })
}

/// The tensor without nulls, and of a dtype that functions work on.
///
/// # Errors
/// A foreign dtype.
pub fn strict(node: Node) -> Bind<Node> {
    if let Some(dtype) = node.ty.dtype()
        && !dtype.is_tensor()
    {
        let problem = Problem::at(node.span.clone(), format!("functions work on tensors; this is of dtype {dtype}"));
        return Err(match dtype {
            DType::Null => problem.help("no record has a value here; give its dtype with --schema, as 'x: int64[?]'"),
            DType::Json => problem.help("it is kept as text; give its type with --schema"),
            _ => problem.help("cast it on the way in, or leave it unchanged"),
        });
    }
    Ok(not_null(node))
}

/// The tensor without nulls, of whatever dtype.
pub fn not_null(node: Node) -> Node {
    if !may_hold_nulls(&node.ty) {
        return node;
    }
    let name = match &node.kind {
        NodeKind::Slot { name, .. } | NodeKind::Field { name, .. } => name.clone(),
        _ => "the value".into(),
    };
    let ty = without_nulls(&node.ty);
    let span = node.span.clone();
    Node { ty, span, kind: NodeKind::NotNull { of: Box::new(node), name } }
}

/// Computes a tensor of constants at once; open sizes become known ones.
///
/// # Errors
/// The call fails.
pub fn fold(node: Node) -> Bind<Node> {
    if !node.is_constant() || matches!(node.kind, NodeKind::Constant(_)) {
        return Ok(node);
    }
    let frame = Frame { nrows: 1, slots: Vec::new() };
    let value = node.eval(&frame).map_err(|e| Problem::from(e).or_at(node.span.clone()))?;
    let ty = known(&node.ty, &value.tensor)?;
    Ok(Node { ty, span: node.span, kind: NodeKind::Constant(value.tensor) })
}

/// The type of a constant: every axis that is uniform has a known size.
fn known(ty: &Type, tensor: &Tensor) -> Bind<Type> {
    let mut ty = ty.clone();
    if let Tensor::Sparse(s) = tensor
        && s.nrows() == 1
    {
        ty.dims.iter_mut().zip(s.shape_of(0)).for_each(|(dim, n)| *dim = u64::try_from(*n).map_or(Dim::UNIFORM, Dim::known));
    }
    if ty.is_sparse() {
        return Ok(ty);
    }
    let levels = ty.dims.len();
    let (partitions, _) = tensor.levels(levels)?;
    for (dim, partition) in ty.dims.iter_mut().zip(partitions) {
        if dim.size == Size::Uniform {
            *dim = match partition.common_row_length() {
                Some(length) => Dim::known(length as u64),
                None => Dim::known(0),
            };
        }
    }
    Ok(ty)
}
