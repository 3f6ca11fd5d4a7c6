//! What an expression is before the first record: a tensor to be computed, or something that only
//! functions and subscripts understand (a literal, a list, a dtype, a slice).

use super::error::ExprResult;
use super::eval::{CallNode, Node, NodeKind};
use super::span::Span;
use super::syntax::{Expr, ExprKind};
use crate::schema::{DType, Literal, Type};
use crate::tensor::Tensor;
use std::sync::Arc;

/// An item and its place.
#[derive(Clone, Debug)]
pub struct Operand {
    pub kind: OperandKind,
    pub span: Span,
}

/// What an item is.
#[derive(Clone, Debug)]
pub enum OperandKind {
    /// A tensor in each record.
    Tensor(Node),
    /// A number, a string, bytes, a bool or None.
    Literal(Literal),
    List(Vec<Operand>),
    Tuple(Vec<Operand>),
    Dict(Vec<(Operand, Operand)>),
    DType(DType),
    Ellipsis,
    Slice(Box<[Option<Operand>; 3]>),
    /// Several tensors that one function gives.
    Results(Arc<CallNode>),
    /// A RowPartition, as a ragged tensor of the numbers of its values.
    Partition(Node),
    /// The shape of a tensor: a size for each axis, None for a ragged one.
    Shape(Vec<Operand>),
    /// A lambda, or the name of a function.
    Function(FunctionValue),
    /// A TensorSpec or a RaggedTensorSpec.
    Spec(Spec),
}

/// What messages call a function without a name.
pub const LAMBDA: &str = "lambda";

/// A function as a value.
#[derive(Clone)]
pub struct FunctionValue {
    /// As messages call it.
    pub name: String,
    /// What a call gives, bound like any expression.
    pub apply: Arc<Apply>,
}

/// Positional and keyword arguments to the result.
pub type Apply = dyn Fn(Vec<Operand>, Vec<(String, Span, Operand)>) -> ExprResult<Operand> + Send + Sync;

impl std::fmt::Debug for FunctionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("FunctionValue").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a TensorSpec says of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub ragged: bool,
    pub dtype: DType,
    /// Sizes, `None` for those that are open; `None` for any shape.
    pub shape: Option<Vec<Option<i64>>>,
}

impl Operand {
    /// What it is, in the words of messages.
    pub fn describe(&self) -> String {
        match &self.kind {
            OperandKind::Tensor(node) => describe(&node.ty),
            OperandKind::Literal(literal) => match literal {
                Literal::None => "None".to_owned(),
                Literal::Bool(true) => "True".to_owned(),
                Literal::Bool(false) => "False".to_owned(),
                Literal::Int(n) => format!("the number {n}"),
                Literal::Float(n) => format!("the number {n}"),
                Literal::String(s) => format!("the string {:?}", s.chars().take(40).collect::<String>()),
                Literal::Bytes(_) => "bytes".to_owned(),
                Literal::List(_) => "a list".to_owned(),
            },
            OperandKind::List(_) => "a list".to_owned(),
            OperandKind::Tuple(_) => "a tuple".to_owned(),
            OperandKind::Dict(_) => "a dict".to_owned(),
            OperandKind::DType(dtype) => format!("the dtype {dtype}"),
            OperandKind::Ellipsis => "`...`".to_owned(),
            OperandKind::Slice(_) => "a slice".to_owned(),
            OperandKind::Results(call) => format!("a list of {} tensors", call.outputs.len()),
            OperandKind::Partition(_) => "a row partition".to_owned(),
            OperandKind::Shape(_) => "a shape".to_owned(),
            OperandKind::Function(function) if function.name == LAMBDA => "a lambda".to_owned(),
            OperandKind::Function(function) => format!("the function {}", function.name),
            OperandKind::Spec(_) => "a type specification".to_owned(),
        }
    }

    /// Whether it is None.
    pub fn is_none(&self) -> bool {
        matches!(self.kind, OperandKind::Literal(Literal::None))
    }

    /// The items of a list, a tuple or several results.
    pub fn elements(&self) -> Option<Vec<Operand>> {
        match &self.kind {
            OperandKind::List(items) | OperandKind::Tuple(items) | OperandKind::Shape(items) => Some(items.clone()),
            OperandKind::Results(call) => Some((0..call.outputs.len()).map(|i| result(call, i, self.span.clone())).collect()),
            _ => None,
        }
    }

    /// Whether it is made only of literals.
    pub fn is_literal(&self) -> bool {
        match &self.kind {
            OperandKind::Literal(_) => true,
            OperandKind::List(items) | OperandKind::Tuple(items) | OperandKind::Shape(items) => items.iter().all(Operand::is_literal),
            _ => false,
        }
    }

    /// The literal that it is made of, lists included.
    pub fn literal(&self) -> Option<Literal> {
        match &self.kind {
            OperandKind::Literal(literal) => Some(literal.clone()),
            OperandKind::List(items) | OperandKind::Tuple(items) | OperandKind::Shape(items) => {
                items.iter().map(Operand::literal).collect::<Option<Vec<_>>>().map(Literal::List)
            }
            _ => None,
        }
    }

    /// Whether a function is among it.
    pub fn holds_function(&self) -> bool {
        match &self.kind {
            OperandKind::Function(_) => true,
            OperandKind::List(items) | OperandKind::Tuple(items) => items.iter().any(Operand::holds_function),
            OperandKind::Dict(entries) => entries.iter().any(|(_, value)| value.holds_function()),
            _ => false,
        }
    }

    /// The tensor, if it is one.
    pub fn node(&self) -> Option<&Node> {
        match &self.kind {
            OperandKind::Tensor(node) => Some(node),
            _ => None,
        }
    }
}

/// What the syntax of a literal means; `inner` says it of the items of a list, a tuple or a dict. `None`: it is not a literal.
///
/// # Errors
/// As `inner`.
pub fn literal_of(expr: &Expr, inner: &dyn Fn(&Expr) -> ExprResult<Operand>) -> ExprResult<Option<OperandKind>> {
    let all = |items: &[Expr]| items.iter().map(inner).collect::<ExprResult<Vec<_>>>();
    Ok(Some(match &expr.kind {
        ExprKind::None => OperandKind::Literal(Literal::None),
        ExprKind::Bool(b) => OperandKind::Literal(Literal::Bool(*b)),
        ExprKind::Int(n) => OperandKind::Literal(Literal::Int(*n)),
        ExprKind::Float(x) => OperandKind::Literal(Literal::Float(*x)),
        ExprKind::Str(s) => OperandKind::Literal(Literal::String(s.clone())),
        ExprKind::Bytes(b) => OperandKind::Literal(Literal::Bytes(b.clone())),
        ExprKind::List(items) => OperandKind::List(all(items)?),
        ExprKind::Tuple(items) => OperandKind::Tuple(all(items)?),
        ExprKind::Dict(items) => OperandKind::Dict(items.iter().map(|(k, v)| Ok((inner(k)?, inner(v)?))).collect::<ExprResult<_>>()?),
        _ => return Ok(None),
    }))
}

/// One of the results of a call, as a tensor.
pub fn result(call: &Arc<CallNode>, which: usize, span: Span) -> Operand {
    let node = Node { ty: call.outputs[which].clone(), span: span.clone(), kind: NodeKind::Call(call.clone(), which) };
    Operand { kind: OperandKind::Tensor(node), span }
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
