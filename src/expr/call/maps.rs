//! Maps: structured tensors of `{key, value}` that the schema marks as maps.
//!
//! ```text
//! m            {"a": 1, "b": 2}   {}     null     map<string, int64>
//! m["a"]       1                  null   null
//! keys(m)      ["a", "b"]         []     null
//! values(m)    [1, 2]             []     null
//! ```

use super::binding::Call;
use crate::error::Result;
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Node, NodeKind};
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::span::Span;
use crate::expr::types::below_structure;
use crate::schema::maps::ENTRY;
use crate::schema::{DType, Element, Field, Literal, Type};
use crate::tensor::{List, Tensor};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use std::sync::Arc;

/// Whether the node is a field that holds maps.
pub fn is_map(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Call(call, _) => call.maps,
        NodeKind::Slot { storage, .. } => Field { storage: storage.clone(), ..Field::new("", node.ty.clone()) }.is_map(),
        NodeKind::Field { is_map, .. } => *is_map,
        _ => false,
    }
}

/// The keys (0) or values (1) of maps; `None` for other operands. With `entries`, structured tensors shaped like map
/// entries also count as maps.
pub fn map_part(operand: &Operand, part: usize, entries: bool) -> Option<Node> {
    let node = operand.node()?;
    let form = || node.ty.rank() > 0 && node.ty.fields().is_some_and(|f| f.iter().map(|f| f.name.as_str()).eq(ENTRY));
    if is_map(node) || entries && form() { crate::expr::fields::field_of(node, ENTRY[part]) } else { None }
}

/// `m["a"]`, `m["a"]["b"]`: the value of a key, or null if the map does not have it. `None` if `of` is not a map, or if
/// the key names a field of its entries below an axis.
///
/// # Errors
/// The keys are not strings.
pub fn map_lookup(of: &Operand, keys: &[Operand], text: &Arc<str>, span: &Span) -> ExprResult<Option<OperandKind>> {
    let (Some(node), [key]) = (of.node().filter(|node| is_map(node)), keys) else { return Ok(None) };
    let OperandKind::Literal(Literal::String(name)) = &key.kind else { return Ok(None) };
    let Element::Struct(fields) = &node.ty.element else { return Ok(None) };
    let [key_field, value] = fields.as_slice() else { return Ok(None) };
    if key_field.ty.element != Element::Value(DType::String) || !key_field.ty.dims.is_empty() {
        return Err(ExprError::at(key.span.clone(), format!("the keys of this map are {}", key_field.ty))
            .help("keys(m) and values(m) return its keys and values"));
    }
    let outer = node.ty.rank() - 1;
    let mut dims = node.ty.dims[..outer].to_vec();
    dims.extend(below_structure(&value.ty.dims, outer > 0));
    let (optional, with_nulls) = if outer == 0 { (true, value.ty.with_nulls) } else { (node.ty.optional, true) };
    let ty = Type { element: value.ty.element.clone(), dims, optional, with_nulls };
    let absent = value.ty.clone().with_optional(true);
    let name = name.clone();
    let mut call = Call::operator("a subscript", span.clone(), text.clone());
    let maps = call.push(node.clone());
    let kernel = move |args: &crate::expr::eval::Args| {
        maps.of(args)?.map_below(outer, &mut |tensor| found(tensor.as_list()?, &name, &Tensor::nulls(&absent, 1)?))
    };
    let found = call.one(ty, kernel)?;
    Ok(Some(if value.is_map() { as_maps(found) } else { found }))
}

/// The result of a call, which consists of maps.
pub fn as_maps(mut result: OperandKind) -> OperandKind {
    if let OperandKind::Tensor(Node { kind: NodeKind::Call(call, _), .. }) = &mut result {
        Arc::get_mut(call).into_iter().for_each(|call| call.maps = true);
    }
    result
}

/// The value of a key in each map: the last one if the key is repeated, as in Python. `absent` is a one-row tensor for
/// maps without the key.
fn found(maps: &List, name: &str, absent: &Tensor) -> Result<Tensor> {
    let [keys, values] = maps.values().as_struct()?.fields() else {
        return Err(crate::error::Error::internal("the entries of a map are keys and values"));
    };
    let keys = keys.as_leaf()?.as_string::<i64>();
    let none = keys.len();
    let rows: Vec<usize> = (0..maps.partition().nrows())
        .map(|row| maps.partition().range(row).rev().find(|entry| keys.value(*entry) == name).unwrap_or(none))
        .collect();
    Tensor::concat(&[values, absent])?.gather(&rows)
}
