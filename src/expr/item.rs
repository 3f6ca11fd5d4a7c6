//! What an expression is before the first record: a tensor to be computed, or something that only
//! functions and subscripts understand (a literal, a list, a dtype, a slice).

use super::eval::{CallNode, Node, NodeKind};
use super::problem::Bind;
use super::syntax::{Expr, ExprKind, Span};
use crate::schema::{DType, Literal, Type};
use crate::tensor::Tensor;
use std::sync::Arc;

/// An item and its place.
#[derive(Clone, Debug)]
pub struct Item {
    pub kind: ItemKind,
    pub span: Span,
}

/// What an item is.
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// A tensor in each record.
    Tensor(Node),
    /// A number, a string, bytes, a bool or None.
    Literal(Literal),
    List(Vec<Item>),
    Tuple(Vec<Item>),
    Dict(Vec<(Item, Item)>),
    DType(DType),
    Ellipsis,
    Slice(Box<[Option<Item>; 3]>),
    /// Several tensors that one function gives.
    Results(Arc<CallNode>),
    /// A RowPartition, as a ragged tensor of the numbers of its values.
    Partition(Node),
}

impl Item {
    /// What it is, in the words of messages.
    pub fn describe(&self) -> String {
        match &self.kind {
            ItemKind::Tensor(node) => describe(&node.ty),
            ItemKind::Literal(literal) => match literal {
                Literal::None => "None".to_owned(),
                Literal::Bool(true) => "True".to_owned(),
                Literal::Bool(false) => "False".to_owned(),
                Literal::Int(n) => format!("the number {n}"),
                Literal::Float(n) => format!("the number {n}"),
                Literal::String(s) => format!("the string {:?}", s.chars().take(40).collect::<String>()),
                Literal::Bytes(_) => "bytes".to_owned(),
                Literal::List(_) => "a list".to_owned(),
            },
            ItemKind::List(_) => "a list".to_owned(),
            ItemKind::Tuple(_) => "a tuple".to_owned(),
            ItemKind::Dict(_) => "a dict".to_owned(),
            ItemKind::DType(dtype) => format!("the dtype {dtype}"),
            ItemKind::Ellipsis => "`...`".to_owned(),
            ItemKind::Slice(_) => "a slice".to_owned(),
            ItemKind::Results(call) => format!("a list of {} tensors", call.outputs.len()),
            ItemKind::Partition(_) => "a row partition".to_owned(),
        }
    }

    /// Whether it is None.
    pub fn is_none(&self) -> bool {
        matches!(self.kind, ItemKind::Literal(Literal::None))
    }

    /// The items of a list, a tuple or several results.
    pub fn elements(&self) -> Option<Vec<Item>> {
        match &self.kind {
            ItemKind::List(items) | ItemKind::Tuple(items) => Some(items.clone()),
            ItemKind::Results(call) => Some((0..call.outputs.len()).map(|i| result(call, i, self.span.clone())).collect()),
            _ => None,
        }
    }

    /// Whether it is made of literals alone.
    pub fn is_literal(&self) -> bool {
        match &self.kind {
            ItemKind::Literal(_) => true,
            ItemKind::List(items) | ItemKind::Tuple(items) => items.iter().all(Item::is_literal),
            _ => false,
        }
    }

    /// The literal that it is made of, lists included.
    pub fn literal(&self) -> Option<Literal> {
        match &self.kind {
            ItemKind::Literal(literal) => Some(literal.clone()),
            ItemKind::List(items) | ItemKind::Tuple(items) => {
                items.iter().map(Item::literal).collect::<Option<Vec<_>>>().map(Literal::List)
            }
            _ => None,
        }
    }

    /// The tensor, if it is one.
    pub fn node(&self) -> Option<&Node> {
        match &self.kind {
            ItemKind::Tensor(node) => Some(node),
            _ => None,
        }
    }
}

/// What the syntax of a literal stands for; `inner` says it of the items of a list, a tuple or a dict. `None`: it is no literal.
///
/// # Errors
/// As `inner`.
pub fn literal_of(expr: &Expr, inner: &dyn Fn(&Expr) -> Bind<Item>) -> Bind<Option<ItemKind>> {
    let all = |items: &[Expr]| items.iter().map(inner).collect::<Bind<Vec<_>>>();
    Ok(Some(match &expr.kind {
        ExprKind::None => ItemKind::Literal(Literal::None),
        ExprKind::Bool(b) => ItemKind::Literal(Literal::Bool(*b)),
        ExprKind::Int(n) => ItemKind::Literal(Literal::Int(*n)),
        ExprKind::Float(x) => ItemKind::Literal(Literal::Float(*x)),
        ExprKind::Str(s) => ItemKind::Literal(Literal::String(s.clone())),
        ExprKind::Bytes(b) => ItemKind::Literal(Literal::Bytes(b.clone())),
        ExprKind::List(items) => ItemKind::List(all(items)?),
        ExprKind::Tuple(items) => ItemKind::Tuple(all(items)?),
        ExprKind::Dict(items) => ItemKind::Dict(items.iter().map(|(k, v)| Ok((inner(k)?, inner(v)?))).collect::<Bind<_>>()?),
        _ => return Ok(None),
    }))
}

/// The number with the other sign, where it is a literal.
pub fn negated(item: &ItemKind) -> Option<ItemKind> {
    match item {
        ItemKind::Literal(Literal::Int(n)) => Some(ItemKind::Literal(Literal::Int(-n))),
        ItemKind::Literal(Literal::Float(x)) => Some(ItemKind::Literal(Literal::Float(-x))),
        _ => None,
    }
}

/// One of the results of a call, as a tensor.
pub fn result(call: &Arc<CallNode>, which: usize, span: Span) -> Item {
    let node = Node { ty: call.outputs[which].clone(), span: span.clone(), kind: NodeKind::Call(call.clone(), which) };
    Item { kind: ItemKind::Tensor(node), span }
}

/// A constant.
pub fn constant(tensor: Tensor, ty: Type, span: Span) -> Node {
    Node { ty, span, kind: NodeKind::Constant(tensor) }
}

/// A type in the words of messages: `int64[?, (?)]`, `a structure`.
pub fn describe(ty: &Type) -> String {
    if ty.fields().is_some() {
        format!("a structure{}", if ty.rank() > 0 { format!(" of rank {}", ty.rank()) } else { String::new() })
    } else {
        ty.to_string()
    }
}
