//! Tensors with nulls where none are allowed: which row, and what to say.

use super::span::name_text;
use crate::error::{Error, Result};
use crate::printable::shell_quoted;
use crate::schema::time::TimeType;
use crate::schema::{DType, Size, Type};
use crate::tensor::Tensor;

/// How messages refer to a value without a name.
pub const UNNAMED: &str = "the value";

/// The first row that is not null and contains a null list among the items of the first `axes` axes but the last.
pub fn first_null_list(tensor: &Tensor, axes: usize) -> Result<Option<usize>> {
    let Some(valid) = tensor.validity().filter(|_| axes > 1) else { return Ok(tensor.first_null_list(axes)) };
    // A null row of known size has items, which may be null.
    let rows: Vec<usize> = valid.valid_indices().collect();
    Ok(tensor.gather(&rows)?.first_null_list(axes).and_then(|row| rows.get(row)).copied())
}

/// The tensor that is null or contains a null.
pub struct NullPlace<'a> {
    pub name: &'a str,
    /// If it is the result of `is_null`, what that tests.
    pub tested: Option<&'a str>,
    /// Whether it is a field of a structure, which is replaced by assignment.
    pub of_structure: bool,
    /// Whether it is a field of structures that have axes.
    pub inside: bool,
}

/// An error about a tensor that is null or contains a null, with a hint on how to replace it.
pub fn null_error(tensor: &Tensor, ty: &Type, place: &NullPlace) -> Error {
    let NullPlace { name, tested, of_structure, inside } = *place;
    let x = if name == UNNAMED { "x" } else { name };
    let named = |what: &str| if name == UNNAMED { Error::data(format!("{name} {what}")) } else { Error::data(what).in_field(name) };
    let dims = ty.list_dims();
    let Ok((partitions, below)) = tensor.levels(dims.len()) else {
        return Error::internal("a tensor with fewer axes than its type");
    };
    let filled =
        |value: &str| if of_structure { format!("map '{x} = fill_null({x}, {value})'") } else { format!("fill_null({x}, {value})") };
    let time = ty.dtype().and_then(DType::time);
    let value = match ty.dtype() {
        Some(DType::String) => "\"\"",
        Some(DType::Bytes) => "b\"\"",
        Some(DType::Bool) => "False",
        _ => time.as_ref().map_or("0", TimeType::zero_literal),
    };
    let mut level = Some(tensor);
    let dropped = |condition: String| format!("to drop such records: filter {}", shell_quoted(&condition));
    for depth in 0..partitions.len() {
        let Some(list) = level.and_then(|t| t.as_list().ok()) else { break };
        if list.validity().is_some() {
            let whole = depth == 0 && !inside;
            let error = named(if whole { "is null" } else { "contains a null list" });
            // Where a list is null, none of its items is tested.
            if let Some(tested) = tested {
                return error.help(format!("to test the lists instead of their items: is_null({tested}, level={depth})"));
            }
            let fixed = dims.iter().all(|d| matches!(d.size, Size::Known(_)));
            let error = match fixed {
                true => error.help(format!("to replace it with values: {}", filled(value))),
                false => error.help(format!("to replace it with an empty list: {}", filled("[]"))),
            };
            return if whole { error.help(dropped(format!("not is_null({x}, level=0)"))) } else { error };
        }
        level = Some(list.values());
    }
    let below_axes = inside || !partitions.is_empty();
    if below.validity().is_none()
        && let (Tensor::Struct(structure), Some(fields)) = (below, ty.fields())
        && let Some((tensor, field)) = structure.fields().iter().zip(fields).find(|(t, _)| t.first_null_row().is_some())
    {
        let name = format!("{x}.{}", name_text(&field.name));
        return null_error(tensor, &field.ty, &NullPlace { name: &name, tested: None, of_structure: true, inside: below_axes });
    }
    let error = named(if below_axes { "contains a null" } else { "is null" });
    let has_literals = ty.dtype().is_some_and(|dtype| !matches!(dtype, DType::Arrow(_)) || time.is_some());
    let error = if has_literals && !ty.is_sparse() { error.help(format!("to replace it with a value: {}", filled(value))) } else { error };
    match (below_axes, of_structure) {
        (false, _) => error.help(dropped(format!("not is_null({x})"))),
        (true, false) => error.help(format!("to drop the nulls: drop_null({x})")),
        (true, true) => error,
    }
}
