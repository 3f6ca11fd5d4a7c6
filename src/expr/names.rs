//! The names in the text of an expression: those it reads and assigns, and those that it does not write as names.

use super::syntax::{Expr, ExprKind, Unary, parse_expression, parse_statements};
use crate::error::Error;
use crate::path::in_expression;
use crate::schema::{Field, Schema};
use std::collections::BTreeSet;

/// The fields that a text reads and those that it assigns, for demand pushdown; `None` if the text cannot be parsed
/// (binding will report the error).
pub fn names_used(text: &str, statements: bool) -> Option<Used> {
    let mut used = Used::default();
    if statements {
        for statement in parse_statements(text).ok()? {
            collect(&statement.value, &mut used.read);
            for target in &statement.targets {
                let Some(first) = target.path.first() else { continue };
                if target.path.len() > 1 || statement.value.kind == ExprKind::None {
                    // The rest of the field is kept, or its absence is an error, so the field is read.
                    if !used.written.contains(first) {
                        used.read.insert(first.clone());
                    }
                } else if !used.read.contains(first) {
                    used.written.insert(first.clone());
                }
            }
        }
    } else {
        collect(&parse_expression(text).ok()?, &mut used.read);
    }
    Some(used)
}

/// The operand of a text that is a minus sign and its operand, such as `-len(x)`, but not `-a + b`; also if it cannot be
/// parsed (binding will report the error).
pub fn negated(text: &str) -> Option<&str> {
    let is_negation = || parse_expression(text).map_or(true, |whole| matches!(whole.kind, ExprKind::Unary(Unary::Minus, _)));
    text.strip_prefix('-').filter(|_| is_negation()).map(str::trim_start)
}

/// Field names in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Fields that may be read.
    pub read: BTreeSet<String>,
    /// Names that are assigned before they can be read.
    pub written: BTreeSet<String>,
}

fn collect(expr: &Expr, names: &mut BTreeSet<String>) {
    if let ExprKind::Name { name, .. } = &expr.kind {
        names.insert(name.clone());
    }
    expr.children(&mut |child| collect(child, names));
}

/// The error, with advice if the text has the name of a field that is not an identifier, such as `First Name` or `2nd`.
pub fn in_backquotes(error: Error, text: &str, schema: &Schema) -> Error {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '`' | '"' | '\'');
    let is_alone = |at: usize, name: &str| !text[..at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word);
    let occurs = |name: &str| name.len() > 1 && text.match_indices(name).any(|(at, _)| is_alone(at, name));
    let names = schema.fields.iter().map(|field| field.name.as_str());
    let longest = names.filter(|name| in_expression(name) != **name && occurs(name)).max_by_key(|name| name.len());
    match longest {
        Some(name) if error.helps().iter().any(|help| help.as_str().contains(&in_expression(name))) => error,
        Some(name) => error.help(format!("put the field name {name} in backquotes: {}", in_expression(name))),
        None => error,
    }
}

/// A string in the expression that is the name of a field.
pub fn quoted_field(expr: &Expr, fields: &[Field]) -> Option<String> {
    if let ExprKind::Str(text) = &expr.kind {
        return fields.iter().any(|field| field.name == *text).then(|| text.clone());
    }
    let mut found = None;
    expr.children(&mut |child| found = found.take().or_else(|| quoted_field(child, fields)));
    found
}
