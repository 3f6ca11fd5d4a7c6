//! Operators. They map to functions, except for numbers, lists, None and the lazy `and` and `or`.

use super::bind::Binder;
use super::call::{fold, strict_node};
use super::error::{ExprError, ExprResult, compare, text_at};
use super::eval::{Node, NodeKind};
use super::functions;
use super::operand::{Operand, OperandKind, describe};
use super::python;
use super::span::Span;
use super::syntax::{Binary, Compare, Expr, ExprKind, Unary};
use super::types::last_ragged;
use crate::numerals::{is_date, with_quoted_dates};
use crate::schema::literal::quote;
use crate::schema::{DType, Literal, Type};

/// Python modules that have values for null.
const NULL_MODULES: [&str; 2] = ["pd", "pandas"];

impl Binder<'_> {
    fn operator(&self, expr: &Expr, function: &str, items: Vec<Operand>) -> ExprResult<OperandKind> {
        let Some(function) = functions::find(function) else {
            return Err(ExprError::internal(format!("unknown function {function}")));
        };
        let name = match &expr.kind {
            ExprKind::Unary(op, _) => op.symbol(),
            ExprKind::Binary(op, ..) => op.symbol(),
            _ => function.names[0],
        };
        self.apply(function, name, expr.span.clone(), items, Vec::new())
    }

    pub(super) fn unary(&self, expr: &Expr, op: Unary, operand: &Expr) -> ExprResult<OperandKind> {
        let item = self.bind(operand)?;
        if let OperandKind::Literal(x) = &item.kind
            && let Some(value) = python::unary(op, x)
        {
            return Ok(OperandKind::Literal(value));
        }
        match (op, &item.kind) {
            (Unary::Not, OperandKind::Tensor(node)) if node.ty.dtype() != Some(&DType::Bool) => Err(ExprError::at(
                operand.span.clone(),
                format!("`not` expects bools, found {}", item.describe()),
            )
            .help(compare(&self.text, &operand.span, "==", node.ty.dtype()))),
            _ => self.operator(expr, op.function(), vec![item]),
        }
    }

    pub(super) fn binary(&self, expr: &Expr, op: Binary, left: &Expr, right: &Expr) -> ExprResult<OperandKind> {
        if op == Binary::Or {
            self.refuse_pipe(left, right)?;
        }
        let a = self.bind(left)?;
        let b = match op {
            Binary::Add => self.bind(right).map_err(|error| self.unquoted(error, right, &a))?,
            _ => self.bind(right)?,
        };
        if let (OperandKind::Literal(x), OperandKind::Literal(y)) = (&a.kind, &b.kind)
            && let Some(value) = python::binary(op, x, y)
        {
            return Ok(OperandKind::Literal(value));
        }
        let is_int = |operand: &Operand| matches!(operand.kind, OperandKind::Literal(Literal::Int(_)));
        let grows = matches!(op, Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Power | Binary::ShiftLeft);
        if is_int(&a) && is_int(&b) && grows {
            if matches!((op, &b.kind), (Binary::ShiftLeft, OperandKind::Literal(Literal::Int(n))) if *n < 0) {
                return Err(ExprError::at(right.span.clone(), "the shift is negative").help("x >> n shifts to the right"));
            }
            // Tensors would wrap around.
            return Err(ExprError::at(expr.span.clone(), "the result does not fit in 64 bits").help("write a float: 1e20"));
        }
        if let (OperandKind::Literal(Literal::String(_)), Binary::Modulo) = (&a.kind, op) {
            let error = ExprError::at(expr.span.clone(), "strings are not formatted with %");
            return Err(error.help("join strings with +; to convert a number to a string: strings.as_string(x)"));
        }
        if let Some(items) = python_list(op, &a, &b).map_err(|e| e.or_at(expr.span.clone()))? {
            return Ok(items);
        }
        // As in TensorFlow, where only the operator multiplies bools.
        let is_dense_bool = |operand: &Operand| {
            operand
                .node()
                .is_some_and(|node| node.ty.dtype() == Some(&DType::Bool) && !node.ty.is_sparse() && last_ragged(&node.ty.dims).is_none())
        };
        if op == Binary::Multiply && is_dense_bool(&a) && is_dense_bool(&b) {
            return self.operator(expr, Binary::And.function(), vec![a, b]);
        }
        // jq's `x // "none"`
        let is_text = |operand: &Operand| match &operand.kind {
            OperandKind::Literal(literal) => matches!(literal, Literal::String(_)),
            _ => operand.node().is_some_and(|node| node.ty.dtype() == Some(&DType::String)),
        };
        let replaces_null = op == Binary::FloorDivide && is_text(&a) && is_text(&b);
        self.operator(expr, op.function(), vec![a, b]).map_err(|error| match replaces_null {
            true => error.instead(format!(
                "to replace nulls: fill_null({}, {})",
                text_at(&self.text, &left.span),
                text_at(&self.text, &right.span)
            )),
            false => error,
        })
    }

    /// `a < b <= c` is `a < b and b <= c`.
    pub(super) fn compare(&self, expr: &Expr, first: &Expr, rest: &[(Compare, Expr)]) -> ExprResult<OperandKind> {
        let mut left = match rest {
            [(op, right)] => self.bind(first).map_err(|error| self.null_compared(error, first, *op, || self.bind(right)))?,
            _ => self.bind(first)?,
        };
        let mut all: Option<Operand> = None;
        for (op, right) in rest {
            let right = self.bind(right).map_err(|error| {
                let error = self.null_compared(error, right, *op, || Ok(left.clone()));
                self.unquoted(error, right, &left)
            })?;
            let span = left.span.start..right.span.end;
            if left.is_none() || right.is_none() {
                let error = ExprError::at(span, "comparisons with None are not supported");
                return Err(error.help(self.null_test(*op, if left.is_none() { &right } else { &left })));
            }
            if let (OperandKind::DType(a), OperandKind::DType(b), Compare::Equal | Compare::NotEqual) = (&left.kind, &right.kind, op) {
                return Ok(OperandKind::Literal(Literal::Bool((a == b) == (*op == Compare::Equal))));
            }
            let is_unquoted_date = [&left, &right].into_iter().any(|side| is_date(text_at(&self.text, &side.span)));
            let kind = self.operator_at(op.function(), op.symbol(), span.clone(), vec![left, right.clone()]);
            let kind = kind.map_err(|error| match with_quoted_dates(&self.text).filter(|_| is_unquoted_date) {
                Some(quoted) => error.meant("a date needs quotes:", quoted),
                None => error,
            })?;
            let one = Operand { kind, span };
            all = Some(match all {
                None => one,
                Some(before) => {
                    let kind = self.operator_at("logical_and", "and", expr.span.clone(), vec![before, one])?;
                    Operand { kind, span: expr.span.clone() }
                }
            });
            left = right;
        }
        all.map(|item| item.kind).ok_or_else(|| ExprError::internal("a comparison of nothing"))
    }

    /// An unknown name next to a string: the quotes were removed by the shell, or forgotten.
    fn unquoted(&self, error: ExprError, word: &Expr, beside: &Operand) -> ExprError {
        let is_string = match &beside.kind {
            OperandKind::Literal(literal) => matches!(literal, Literal::String(_)),
            kind => matches!(kind, OperandKind::Tensor(node) if node.ty.dtype() == Some(&DType::String)),
        };
        let is_string = is_string && error.meaning().is_none();
        let Some((names, _)) = word.dotted().filter(|(names, _)| is_string && !NULL_MODULES.contains(&names[0])) else { return error };
        let (before, after) = (self.text.get(..word.span.start), self.text.get(word.span.end..));
        let (Some(before), Some(after)) = (before, after) else { return error };
        error.also_meant("a string needs its own quotes, inside the shell quotes:", format!("{before}{}{after}", quote(&names.join("."))))
    }

    /// The error for an unknown name that is compared, if the name is that of null in another language.
    fn null_compared(&self, error: ExprError, word: &Expr, op: Compare, other: impl FnOnce() -> ExprResult<Operand>) -> ExprError {
        let is_null = match word.dotted() {
            Some((names, false)) => match names.as_slice() {
                [module, name] => NULL_MODULES.contains(module) && ["NA", "NaT"].contains(name),
                [name] => ["null", "none", "nil", "NULL", "Null", "NA"].contains(name),
                _ => false,
            },
            _ => false,
        };
        let Ok(other) = other() else { return error };
        if !is_null {
            return error;
        }
        let test = self.null_test(op, &other);
        let (start, end) = (word.span.start.min(other.span.start), word.span.end.max(other.span.end));
        let (before, after) = (self.text.get(..start).unwrap_or_default(), self.text.get(end..).unwrap_or_default());
        let whole = format!("{before}{}{after}", test.trim_start_matches("write "));
        error.instead(test).may_mean(whole)
    }

    /// Advice to test for null instead of comparing with it. Only None equals None.
    fn null_test(&self, op: Compare, other: &Operand) -> String {
        let written = text_at(&self.text, &other.span);
        let not = if op == Compare::NotEqual { "not " } else { "" };
        // A condition needs a single answer for a list.
        let whole = if other.node().is_some_and(|node| node.ty.rank() > 0) { ", level=0" } else { "" };
        format!("write {not}is_null({written}{whole})")
    }

    fn operator_at(&self, function: &str, name: &str, span: Span, items: Vec<Operand>) -> ExprResult<OperandKind> {
        let Some(function) = functions::find(function) else {
            return Err(ExprError::internal(format!("unknown function {function}")));
        };
        self.apply(function, name, span, items, Vec::new())
    }

    pub(super) fn logic(&self, expr: &Expr, and: bool, left: &Expr, right: &Expr) -> ExprResult<OperandKind> {
        let (a, b) = (self.bind(left)?, self.bind(right)?);
        let word = if and { "and" } else { "or" };
        let mut nodes = Vec::with_capacity(2);
        for item in [&a, &b] {
            let node = strict_node(item)?;
            if node.ty.dtype() != Some(&DType::Bool) || node.ty.is_sparse() {
                let error = ExprError::at(item.span.clone(), format!("`{word}` expects bools, found {}", describe(&node.ty)));
                let error = error.help(compare(&self.text, &item.span, "!=", node.ty.dtype()));
                // `x or 0`
                let may_be_null = |operand: &Operand| matches!(&operand.kind, OperandKind::Tensor(node) if node.ty.optional);
                let replaces_null = !and && may_be_null(&a) && matches!(b.kind, OperandKind::Literal(_));
                return Err(if replaces_null {
                    error.help(format!(
                        "to replace nulls: fill_null({}, {})",
                        text_at(&self.text, &left.span),
                        text_at(&self.text, &right.span)
                    ))
                } else {
                    error
                });
            }
            nodes.push(node);
        }
        if nodes.iter().any(|n| n.ty.rank() > 0) {
            return self.operator_at(if and { "logical_and" } else { "logical_or" }, word, expr.span.clone(), vec![a, b]);
        }
        let ty = Type::tensor(DType::Bool, Vec::new());
        let (Some(right), Some(left)) = (nodes.pop(), nodes.pop()) else {
            return Err(ExprError::internal("`and` of nothing"));
        };
        let kind = NodeKind::Logic { and, left: Box::new(left), right: Box::new(right) };
        Ok(OperandKind::Tensor(fold(Node { ty, span: expr.span.clone(), kind })?))
    }
}

/// `+` and `*` of Python's lists and tuples, which concatenate and repeat them, and `+` of TensorFlow's shapes. Next to a
/// tensor, a list is a tensor.
///
/// # Errors
/// The list has too many items.
fn python_list(op: Binary, a: &Operand, b: &Operand) -> ExprResult<Option<OperandKind>> {
    const MOST: usize = 1 << 16;
    let items = |operand: &Operand| match &operand.kind {
        OperandKind::List(items) | OperandKind::Tuple(items) | OperandKind::Shape(items) => Some(items.clone()),
        _ => None,
    };
    let same_kind = |items: Vec<Operand>, like: &Operand| match like.kind {
        OperandKind::Shape(_) => OperandKind::Shape(items),
        OperandKind::Tuple(_) => OperandKind::Tuple(items),
        _ => OperandKind::List(items),
    };
    Ok(match (op, items(a), items(b), &a.kind, &b.kind) {
        (Binary::Add, Some(x), Some(y), ..) => {
            let shape = [b].into_iter().find(|b| matches!(b.kind, OperandKind::Shape(_)));
            Some(same_kind([x, y].concat(), shape.unwrap_or(a)))
        }
        (Binary::Multiply, Some(x), None, _, OperandKind::Literal(Literal::Int(n)))
        | (Binary::Multiply, None, Some(x), OperandKind::Literal(Literal::Int(n)), _) => {
            let times = usize::try_from((*n).max(0)).unwrap_or(usize::MAX);
            if x.len().saturating_mul(times) > MOST {
                return Err(ExprError::new(format!("the list would have more than {MOST} items"))
                    .help("as in Python, * repeats a list; to multiply its items: constant([...]) * n"));
            }
            Some(same_kind(vec![x; times].concat(), if items(a).is_some() { a } else { b }))
        }
        _ => None,
    })
}
