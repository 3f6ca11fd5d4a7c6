//! Values from the command line: `--arg NAME=VALUE`, and arrays from `--with NAME=FILE`.

use super::error::ExprError;
use super::operand::{Operand, OperandKind, constant, literal_of};
use super::python;
use super::syntax::{Expr, ExprKind, Unary, parse_expression};
use crate::error::Result;
use crate::options::{Options, named};
use crate::schema::Literal;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All named values of a run.
///
/// # Errors
/// A `NAME=` is missing.
pub fn constants(options: &Options) -> Result<Arc<BTreeMap<String, Operand>>> {
    let mut out = BTreeMap::new();
    for text in &options.args {
        let (name, value) = named(text, "--arg", "VALUE")?;
        out.insert(name.to_owned(), argument(value));
    }
    for (name, (ty, tensor)) in options.arrays.iter() {
        out.insert(name.clone(), Operand { kind: OperandKind::Tensor(constant(tensor.clone(), ty.clone(), 0..0)), span: 0..0 });
    }
    Ok(Arc::new(out))
}

/// Parses a literal of the expression language; any other text is a string.
fn argument(text: &str) -> Operand {
    let literal = parse_expression(text).ok().and_then(|expr| literal(&expr));
    Operand { kind: literal.unwrap_or_else(|| OperandKind::Literal(Literal::String(text.to_owned()))), span: 0..0 }
}

fn literal(expr: &Expr) -> Option<OperandKind> {
    if let ExprKind::Unary(Unary::Minus, inner) = &expr.kind {
        return match literal(inner)? {
            OperandKind::Literal(number) => python::unary(Unary::Minus, &number).map(OperandKind::Literal),
            _ => None,
        };
    }
    let inner = |e: &Expr| literal(e).map(|kind| Operand { kind, span: 0..0 }).ok_or_else(|| ExprError::new("no literal"));
    literal_of(expr, &inner).ok().flatten()
}
