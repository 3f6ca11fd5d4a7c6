//! Dictionaries as structures, and lists of dictionaries as a structured tensor.
//!
//! Semantics: `tf.experimental.StructuredTensor.from_pyval`, whose values are here tensors of each record.

use super::fold::computed;
use super::storage::field_of_value;
use crate::error::{Result, mismatch};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node};
use crate::expr::kernels::structure::with_fields;
use crate::expr::operand::{Operand, OperandKind, entry};
use crate::expr::span::Span;
use crate::expr::types::below_axes;
use crate::schema::{Dim, Field, Literal, Type};

/// Converts an item to a tensor. A dictionary can contain anything that is converted, including dictionaries.
pub type ToNode = fn(&Operand) -> ExprResult<Node>;

/// A structure with the entries as fields.
///
/// # Errors
/// A key that is not a name, or a value that is not a tensor.
pub fn structure(entries: &[(Operand, Operand)], to_node: ToNode) -> ExprResult<Node> {
    let span = entries.first().map_or(0..0, |(key, _)| key.span.clone());
    let fields = entries.iter().map(|(key, value)| Ok((key_name(key)?, to_node(value)?))).collect::<ExprResult<_>>()?;
    of_fields(fields, 0, span)
}

/// A vector of structures.
///
/// # Errors
/// Items that are not dictionaries with the same keys, or values of one key without a common type.
pub fn structures(items: &[Operand], span: &Span, to_node: ToNode) -> ExprResult<Node> {
    let dicts = items
        .iter()
        .map(|item| match &item.kind {
            OperandKind::Dict(entries, _) => Ok(entries.as_slice()),
            _ => Err(ExprError::at(item.span.clone(), "a list cannot mix dictionaries with other values")),
        })
        .collect::<ExprResult<Vec<_>>>()?;
    let names = dicts.first().map_or(Ok(Vec::new()), |dict| dict.iter().map(|(key, _)| key_name(key)).collect())?;
    same_keys(&names, dicts.iter().copied().zip(items.iter().map(|item| &item.span)))?;
    let column = |name: &String| {
        let key = Literal::String(name.clone());
        let values = dicts.iter().filter_map(|dict| entry(dict, &key).cloned()).collect();
        Ok((name.clone(), to_node(&Operand { kind: OperandKind::List(values), span: span.clone() })?))
    };
    if names.is_empty() {
        return Err(ExprError::at(span.clone(), "the dictionaries have no keys"));
    }
    of_fields(names.iter().map(column).collect::<ExprResult<_>>()?, 1, span.clone())
}

/// Checks that all dictionaries have these keys.
///
/// # Errors
/// A dictionary has different keys.
pub fn same_keys<'a>(names: &[String], mut dicts: impl Iterator<Item = (&'a [(Operand, Operand)], &'a Span)>) -> ExprResult<()> {
    let has = |dict: &[(Operand, Operand)], name: &String| entry(dict, &Literal::String(name.clone())).is_some();
    match dicts.find(|(dict, _)| dict.len() != names.len() || !names.iter().all(|name| has(dict, name))) {
        None => Ok(()),
        Some((_, span)) => {
            let keys = if names.is_empty() { "the first has none".to_owned() } else { names.join(", ") };
            Err(ExprError::at(span.clone(), format!("all dictionaries in a list must have the same keys: {keys}")))
        }
    }
}

/// A field name.
///
/// # Errors
/// The name is not an identifier.
pub fn key_name(key: &Operand) -> ExprResult<String> {
    let name = key_text(key)?;
    check_name(name).map_err(|e| e.or_at(key.span.clone()))?;
    Ok(name.to_owned())
}

/// Checks the name of a new field of a structure.
///
/// # Errors
/// The name is not an identifier.
pub fn check_name(name: &str) -> ExprResult<()> {
    let mut letters = name.chars();
    if letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(ExprError::new(format!("{name:?} is not a valid field name: use letters, digits and _, starting with a letter")))
}

/// A field name that can be any text.
///
/// # Errors
/// The key is not a string.
pub fn key_text(key: &Operand) -> ExprResult<&str> {
    match &key.kind {
        OperandKind::Literal(Literal::String(name)) => Ok(name),
        _ => Err(ExprError::at(key.span.clone(), mismatch("a name", key.describe()))),
    }
}

/// Structures whose fields have the first `rank` axes of these tensors in common.
fn of_fields(fields: Vec<(String, Node)>, rank: usize, span: Span) -> ExprResult<Node> {
    let dims: Vec<Dim> = fields.first().map_or(Vec::new(), |(_, node)| node.ty.dims[..rank].to_vec());
    let (names, nodes): (Vec<String>, Vec<Node>) = fields.into_iter().unzip();
    let field = |(name, node): (String, &Node)| {
        let storage = field_of_value(node).storage_below(rank);
        Field { storage, ..Field::new(name, below_axes(&node.ty, rank)) }
    };
    let fields = names.into_iter().zip(&nodes).map(field).collect();
    let ty = Type::structure(fields, dims.clone());
    let kernel = move |args: &Args| {
        let tensors = (0..args.values().len()).map(|i| args.tensor(i)).collect::<Result<Vec<_>>>()?;
        with_fields(&tensors.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &dims, args.nrows)
    };
    computed(nodes, ty, span, "".into(), kernel)
}
