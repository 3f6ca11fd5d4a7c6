//! The canonical extension types `arrow.fixed_shape_tensor` and `arrow.variable_shape_tensor`.
//!
//! Source: <https://arrow.apache.org/docs/format/CanonicalExtensions.html>. A tensor whose metadata permutes its
//! dimensions is read as its plain storage type.

use crate::schema::facts::EXTENSION;
use crate::schema::{Dim, Element, Size, Type};
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

/// The tensor extension type of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorType {
    /// Storage: `fixed_size_list<T, product of the sizes>`.
    Fixed {
        /// The sizes of all axes.
        sizes: Vec<u64>,
    },
    /// Storage: `struct<data: list<T>, shape: fixed_size_list<int32, rank>>`. Sizes shared by all rows are known.
    Variable {
        /// The known sizes of the axes.
        sizes: Vec<Option<u64>>,
    },
}

/// The tensor extension type of a field, if it has one and its storage matches.
pub fn of(field: &Field) -> Option<TensorType> {
    let name = field.metadata().get(NAME)?;
    let parameters: Value = match field.metadata().get(METADATA).map(String::as_str) {
        None | Some("") => json!({}),
        Some(text) => serde_json::from_str(text).ok()?,
    };
    let numbers = |key: &str| parameters.get(key).and_then(Value::as_array);
    if let Some(order) = numbers("permutation")
        && order.iter().enumerate().any(|(i, p)| p.as_u64() != Some(i as u64))
    {
        return None;
    }
    match (name.as_str(), field.data_type()) {
        (FIXED, DataType::FixedSizeList(item, size)) if is_value(item) => {
            let sizes: Vec<u64> = numbers("shape")?.iter().map(Value::as_u64).collect::<Option<_>>()?;
            let product = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?;
            (product == u64::try_from(*size).ok()? && !sizes.is_empty()).then_some(TensorType::Fixed { sizes })
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
            (sizes.len() == rank).then_some(TensorType::Variable { sizes })
        }
        _ => None,
    }
}

fn is_value(item: &Field) -> bool {
    !item.data_type().is_nested()
}

/// The axes of such a tensor.
pub fn dims(tensor: &TensorType) -> Vec<Dim> {
    match tensor {
        TensorType::Fixed { sizes } => sizes.iter().map(|size| Dim::known(*size)).collect(),
        TensorType::Variable { sizes } => sizes.iter().map(|size| size.map_or(Dim::UNIFORM, Dim::known)).collect(),
    }
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
