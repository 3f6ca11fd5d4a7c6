//! The canonical extension types `arrow.fixed_shape_tensor` and `arrow.variable_shape_tensor`.
//!
//! Source: <https://arrow.apache.org/docs/format/CanonicalExtensions.html>. If the metadata permutes the dimensions,
//! the values are transposed to the logical order when they are read, and written in that order.

use crate::schema::facts::EXTENSION;
use crate::schema::nested::with_fields;
use crate::schema::{Dim, Element, Size, Type};
use crate::tensor::transpose::is_permutation;
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use std::sync::Arc;

/// The metadata key for the name of an extension type.
pub const NAME: &str = EXTENSION[0];
const METADATA: &str = EXTENSION[1];
const FIXED: &str = "arrow.fixed_shape_tensor";
const VARIABLE: &str = "arrow.variable_shape_tensor";

/// Which dense fields are written as tensor extension types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorTypes {
    /// Fields whose sizes are all known: `arrow.fixed_shape_tensor`.
    Fixed,
    /// All dense fields; those with unknown sizes as `arrow.variable_shape_tensor`.
    Variable,
}

/// The layout of the values of a tensor extension type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorLayout {
    /// `fixed_size_list<T, product of the sizes>`; all sizes are known.
    Fixed,
    /// `struct<data: list<T>, shape: fixed_size_list<int32, rank>>`. Sizes shared by all rows are known.
    Variable,
}

/// The tensor extension type of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorType {
    /// How the values are stored.
    pub layout: TensorLayout,
    /// The known sizes of the axes as stored.
    pub sizes: Vec<Option<u64>>,
    /// The stored axes in their logical order, if it differs.
    pub permutation: Option<Vec<usize>>,
}

impl TensorType {
    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The axes in logical order.
    pub fn dims(&self) -> Vec<Dim> {
        let dim = |size: Option<u64>| size.map_or(Dim::UNIFORM, Dim::known);
        match &self.permutation {
            Some(permutation) => permutation.iter().map(|axis| dim(self.sizes[*axis])).collect(),
            None => self.sizes.iter().copied().map(dim).collect(),
        }
    }
}

/// The parameters of a field's extension type, unless they are not valid JSON.
fn parameters(field: &Field) -> Option<Value> {
    match field.metadata().get(METADATA).map(String::as_str) {
        None | Some("") => Some(json!({})),
        Some(text) => serde_json::from_str(text).ok(),
    }
}

/// The tensor extension type of a field, if it has one and its storage matches.
pub fn of(field: &Field) -> Option<TensorType> {
    let name = field.metadata().get(NAME)?;
    if name != FIXED && name != VARIABLE {
        return None;
    }
    let parameters = parameters(field)?;
    let numbers = |key: &str| parameters.get(key).and_then(Value::as_array);
    let (layout, sizes) = layout_of(field, numbers)?;
    let permutation = match numbers("permutation") {
        None => None,
        Some(axes) => {
            let axes: Vec<usize> =
                axes.iter().map(|axis| axis.as_u64().and_then(|axis| usize::try_from(axis).ok())).collect::<Option<_>>()?;
            if axes.len() != sizes.len() || !is_permutation(&axes) {
                return None;
            }
            (!axes.is_sorted()).then_some(axes)
        }
    };
    Some(TensorType { layout, sizes, permutation })
}

/// The layout and the known sizes, as stored.
fn layout_of<'a>(field: &Field, numbers: impl Fn(&str) -> Option<&'a Vec<Value>>) -> Option<(TensorLayout, Vec<Option<u64>>)> {
    match (field.metadata().get(NAME)?.as_str(), field.data_type()) {
        (FIXED, DataType::FixedSizeList(item, size)) if is_value(item) => {
            let sizes: Vec<u64> = numbers("shape")?.iter().map(Value::as_u64).collect::<Option<_>>()?;
            let product = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?;
            let fits = product == u64::try_from(*size).ok()? && !sizes.is_empty();
            fits.then(|| (TensorLayout::Fixed, sizes.into_iter().map(Some).collect()))
        }
        (VARIABLE, DataType::Struct(fields)) => {
            let [data, shape] = <&[Arc<Field>; 2]>::try_from(fields.as_ref()).ok()?;
            let (DataType::List(item) | DataType::LargeList(item)) = data.data_type() else { return None };
            let DataType::FixedSizeList(size, rank) = shape.data_type() else { return None };
            let rank = usize::try_from(*rank).ok().filter(|rank| *rank > 0)?;
            if data.name() != "data" || shape.name() != "shape" || *size.data_type() != DataType::Int32 || !is_value(item) {
                return None;
            }
            let sizes: Vec<Option<u64>> = match numbers("uniform_shape") {
                Some(sizes) => sizes.iter().map(Value::as_u64).collect(),
                None => vec![None; rank],
            };
            (sizes.len() == rank).then_some((TensorLayout::Variable, sizes))
        }
        _ => None,
    }
}

fn is_value(item: &Field) -> bool {
    !item.data_type().is_nested()
}

/// The field with its tensors, at any depth, in logical order: what holds the values once they are transposed.
pub fn in_logical_order(field: &Field) -> Field {
    let ty = with_fields(field.data_type(), |field| Arc::new(in_logical_order(field)));
    let mut logical = field.clone().with_data_type(ty);
    let Some(permutation) = of(field).and_then(|tensor| tensor.permutation) else { return logical };
    let Some(mut parameters) = parameters(field) else { return logical };
    for key in ["shape", "uniform_shape", "dim_names"] {
        if let Some(Value::Array(stored)) = parameters.get_mut(key).filter(|v| v.as_array().is_some_and(|a| a.len() == permutation.len())) {
            *stored = permutation.iter().map(|axis| stored[*axis].clone()).collect();
        }
    }
    if let Value::Object(members) = &mut parameters {
        members.remove("permutation");
    }
    let mut metadata = logical.metadata().clone();
    metadata.insert(METADATA.to_owned(), parameters.to_string());
    logical.set_metadata(metadata);
    logical
}

/// Whether a type is written as a tensor extension type: dense numbers with axes. PyArrow does not support others.
pub fn applies(ty: &Type, kinds: TensorTypes) -> bool {
    let numbers = matches!(&ty.element, Element::Value(dtype) if dtype.is_number());
    let shape = kinds == TensorTypes::Variable || ty.dims.iter().all(|dim| matches!(dim.size, Size::Known(_)));
    numbers && shape && !ty.dims.is_empty() && !ty.is_ragged()
}

/// The field of a dense type as a tensor extension type over `item`. `None` for other types: scalars, strings, ragged,
/// structured and sparse tensors, and types for which it was not requested.
pub fn write(name: &str, ty: &Type, item: Arc<Field>, kinds: TensorTypes) -> Option<Field> {
    if !applies(ty, kinds) {
        return None;
    }
    let sizes: Vec<Option<u64>> = ty.dims.iter().map(|d| if let Size::Known(n) = d.size { Some(n) } else { None }).collect();
    let known: Option<Vec<u64>> = sizes.iter().copied().collect();
    let (extension, parameters, storage) = match known {
        Some(sizes) => {
            let product = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?;
            (FIXED, json!({ "shape": sizes }), DataType::FixedSizeList(item, i32::try_from(product).ok()?))
        }
        None => {
            let size = Arc::new(Field::new("element", DataType::Int32, false));
            let fields = vec![
                Field::new("data", DataType::List(item), false),
                Field::new("shape", DataType::FixedSizeList(size, i32::try_from(ty.rank()).ok()?), false),
            ];
            (VARIABLE, json!({ "uniform_shape": sizes }), DataType::Struct(fields.into()))
        }
    };
    let metadata = [(NAME.to_owned(), extension.to_owned()), (METADATA.to_owned(), parameters.to_string())];
    Some(Field::new(name, storage, ty.optional).with_metadata(metadata.into_iter().collect::<std::collections::HashMap<_, _>>()))
}

/// Whether the field declares that its text is JSON: the canonical extension type `arrow.json`.
pub fn is_json(field: &Field) -> bool {
    field.metadata().get(NAME).is_some_and(|name| name == "arrow.json")
}
