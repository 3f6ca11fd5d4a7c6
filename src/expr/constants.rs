//! Values from the command line: `--arg NAME=VALUE`, and arrays from `--with NAME=FILE`.

use super::error::ExprError;
use super::operand::{Operand, OperandKind, constant, literal_of};
use super::python;
use super::syntax::{Expr, ExprKind, Unary, parse_expression};
use crate::error::{Error, Result};
use crate::options::{Options, named};
use crate::printable::shell_word;
use crate::schema::Literal;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All named values of a run.
///
/// # Errors
/// A `NAME=` is missing, a name is given twice, or an integer is too large.
pub fn constants(options: &Options) -> Result<Arc<BTreeMap<String, Operand>>> {
    let mut out = BTreeMap::new();
    for text in &options.args {
        let (name, value) = named(text, "--arg", "VALUE")?;
        if out.insert(name.to_owned(), argument(name, value)?).is_some() {
            return Err(Error::usage(format!("--arg {name} appears twice")));
        }
    }
    for (name, (ty, tensor)) in options.arrays.iter() {
        let array = Operand { kind: OperandKind::Tensor(constant(tensor.clone(), ty.clone(), 0..0)), span: 0..0 };
        if out.insert(name.clone(), array).is_some() {
            return Err(Error::usage(format!("both --arg and --with define {name}")));
        }
    }
    Ok(Arc::new(out))
}

/// Parses a literal of the expression language; any other text is a string.
fn argument(name: &str, text: &str) -> Result<Operand> {
    let digits = text.trim().trim_start_matches(['-', '+']);
    // Unlike in an expression, zeros may precede a number: `--arg month=$(date +%m)`.
    let is_padded = digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_digit());
    let unpadded = digits.get(..digits.len().saturating_sub(1)).map_or(0, |most| most.len() - most.trim_start_matches('0').len());
    let sign = if text.trim().starts_with('-') { "-" } else { "" };
    let number = is_padded.then(|| format!("{sign}{}", &digits[unpadded..]));
    let literal = parse_expression(number.as_deref().unwrap_or(text)).ok().and_then(|expr| literal(&expr));
    if literal.is_none() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let error = Error::usage(format!("--arg {name}: the integer {text} is out of range"));
        return Err(error.help(format!("for a string, quote it: --arg {}", shell_word(&format!("{name}=\"{text}\"")))));
    }
    Ok(Operand { kind: literal.unwrap_or_else(|| OperandKind::Literal(Literal::String(text.to_owned()))), span: 0..0 })
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
