//! Operands, the results of binding an expression: a tensor to be computed, or an item that only functions and
//! subscripts understand (a literal, a list, a dtype, a slice).

use super::error::{ExprError, ExprResult};
use super::eval::{CallNode, Node, NodeKind};
use super::span::Span;
use super::syntax::{Expr, ExprKind};
use crate::schema::{DType, Literal, Type};
use crate::tensor::Tensor;
use std::collections::HashSet;
use std::sync::Arc;

/// An item and its span in the text.
#[derive(Clone, Debug)]
pub struct Operand {
    pub kind: OperandKind,
    pub span: Span,
}

/// The kinds of items.
#[derive(Clone, Debug)]
pub enum OperandKind {
    /// A tensor in each record.
    Tensor(Node),
    /// A number, a string, bytes, a bool or None.
    Literal(Literal),
    List(Vec<Operand>),
    Tuple(Vec<Operand>),
    /// The entries; and the structure of the field that they are stored in, if they are.
    Dict(Vec<(Operand, Operand)>, Option<Box<Node>>),
    DType(DType),
    Ellipsis,
    Slice(Box<[Option<Operand>; 3]>),
    /// Several tensors returned by one function.
    Results(Arc<CallNode>),
    /// A RowPartition, represented as a ragged tensor of value indices.
    Partition(Node),
    /// The shape of a tensor: a size for each axis, None for a ragged one.
    Shape(Vec<Operand>),
    /// A lambda or the name of a function.
    Function(FunctionValue),
    /// A TensorSpec or a RaggedTensorSpec.
    Spec(Spec),
}

/// How messages refer to a function without a name.
pub const LAMBDA: &str = "lambda";

/// A function as a value.
#[derive(Clone)]
pub struct FunctionValue {
    /// The name in messages.
    pub name: String,
    /// Binds a call of the function, like any expression.
    pub apply: Arc<Apply>,
}

/// Maps positional and keyword arguments to the result.
pub type Apply = dyn Fn(Vec<Operand>, Vec<(String, Span, Operand)>) -> ExprResult<Operand> + Send + Sync;

impl std::fmt::Debug for FunctionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("FunctionValue").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The contents of a TensorSpec.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub ragged: bool,
    pub dtype: DType,
    /// Sizes, with `None` for unknown ones; `None` for any shape.
    pub shape: Option<Vec<Option<i64>>>,
}

impl Operand {
    /// Describes the item in messages.
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
            OperandKind::Dict(..) => "a dictionary".to_owned(),
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

    /// Whether it consists only of literals.
    pub fn is_literal(&self) -> bool {
        match &self.kind {
            OperandKind::Literal(_) => true,
            OperandKind::List(items) | OperandKind::Tuple(items) | OperandKind::Shape(items) => items.iter().all(Operand::is_literal),
            _ => false,
        }
    }

    /// The literal that it represents, including lists.
    pub fn literal(&self) -> Option<Literal> {
        match &self.kind {
            OperandKind::Literal(literal) => Some(literal.clone()),
            OperandKind::List(items) | OperandKind::Tuple(items) | OperandKind::Shape(items) => {
                items.iter().map(Operand::literal).collect::<Option<Vec<_>>>().map(Literal::List)
            }
            _ => None,
        }
    }

    /// Whether it contains bytes that may not be valid UTF-8. The values of a dict are tensors of their own.
    pub fn holds_bytes(&self) -> bool {
        let is_bytes = |ty: &Type| ty.dtype() == Some(&DType::Bytes);
        match &self.kind {
            OperandKind::Tensor(node) => is_bytes(&node.ty),
            OperandKind::Literal(Literal::Bytes(bytes)) => std::str::from_utf8(bytes).is_err(),
            OperandKind::List(items) | OperandKind::Tuple(items) => items.iter().any(Operand::holds_bytes),
            OperandKind::Results(call) => call.outputs.iter().any(is_bytes),
            _ => false,
        }
    }

    /// Whether it contains times.
    pub fn holds_times(&self) -> bool {
        let is_time = |ty: &Type| ty.dtype().is_some_and(|dtype| dtype.time().is_some());
        match &self.kind {
            OperandKind::Tensor(node) => is_time(&node.ty),
            OperandKind::List(items) | OperandKind::Tuple(items) => items.iter().any(Operand::holds_times),
            OperandKind::Results(call) => call.outputs.iter().any(is_time),
            _ => false,
        }
    }

    /// Whether it contains a function.
    pub fn holds_function(&self) -> bool {
        match &self.kind {
            OperandKind::Function(_) => true,
            OperandKind::List(items) | OperandKind::Tuple(items) => items.iter().any(Operand::holds_function),
            OperandKind::Dict(entries, _) => entries.iter().any(|(_, value)| value.holds_function()),
            _ => false,
        }
    }

    /// The tensor, if it is one.
    pub fn node(&self) -> Option<&Node> {
        match &self.kind {
            OperandKind::Tensor(node) => Some(node),
            OperandKind::Dict(_, stored) => stored.as_deref(),
            _ => None,
        }
    }

    /// The value of a dict for a key, if both are there.
    pub fn entry(&self, key: &Literal) -> Option<&Operand> {
        if let OperandKind::Dict(entries, _) = &self.kind { entry(entries, key) } else { None }
    }
}

/// The value for a key among the entries of a dict.
pub fn entry<'a>(entries: &'a [(Operand, Operand)], key: &Literal) -> Option<&'a Operand> {
    let is_key = |own: &Operand| match &own.kind {
        OperandKind::Literal(literal) => literal == key,
        _ => own.literal().as_ref() == Some(key),
    };
    entries.iter().find(|(own, _)| is_key(own)).map(|(_, value)| value)
}

/// The entries of a dict as written. Python would take the last value of a repeated key without a word.
///
/// # Errors
/// A key is repeated.
fn dict(entries: Vec<(Operand, Operand)>) -> ExprResult<OperandKind> {
    let mut seen = HashSet::new();
    for (key, _) in &entries {
        if let Some(name) = key.literal().map(|literal| literal.to_string())
            && let Some(name) = seen.replace(name)
        {
            return Err(ExprError::at(key.span.clone(), format!("the key {name} occurs twice in the dictionary")));
        }
    }
    Ok(OperandKind::Dict(entries, None))
}

/// Converts the syntax of a literal; `inner` converts the items of a list, tuple or dict. `None` if it is not a
/// literal.
///
/// # Errors
/// Errors of `inner`.
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
        ExprKind::Dict(items) => dict(items.iter().map(|(k, v)| Ok((inner(k)?, inner(v)?))).collect::<ExprResult<_>>()?)?,
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

/// Describes a type in messages: `int64[?, (?)]`, `a structure`.
pub fn describe(ty: &Type) -> String {
    if ty.fields().is_some() {
        match ty.rank() {
            0 => "a structure".to_owned(),
            1 => "a list of structures".to_owned(),
            rank => format!("structures with {rank} axes"),
        }
    } else {
        ty.to_string()
    }
}
