//! A field of one record as TensorFlow prints it.
//!
//! Formats: `EagerTensor.__repr__` and `__str__`, `RaggedTensor.__repr__`,
//! `SparseTensor.__repr__`, `StructuredTensor.__repr__` of TensorFlow 2.21. Other values (nulls,
//! tensors with nulls, other Arrow types) are printed as Python values.

use super::array::{Array, Level, shape_text};
use super::values::{FlatValues, str_repr};
use crate::error::{Error, Result};
use crate::schema::{DType, Dim, Element, Field, Size, Type};
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::{ArrayRef, Int64Array};
use std::sync::Arc;

/// One field of one row as text.
///
/// # Errors
/// The tensor does not have its type, which is a bug.
pub fn text(tensor: &Tensor, ty: &Type, row: usize) -> Result<String> {
    let is_tensor = ty.dtype().is_none_or(|d| d.is_tensor() || *d == DType::Json);
    if !is_tensor || tensor.slice(row, 1).first_null_row().is_some() {
        return python(tensor, ty.list_dims().len(), &ty.element, row);
    }
    View { outer: Vec::new(), dims: Vec::new(), row }.field(tensor, ty, Form::Repr)
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// `<tf.Tensor: ...>`.
    Repr,
    /// `tf.Tensor(...)`, as in structures.
    Str,
}

/// The axes of the structures that contain a field.
#[derive(Clone)]
struct View<'a> {
    outer: Vec<&'a RowPartition>,
    dims: Vec<Dim>,
    /// The row of the outermost partition, or of the field itself if there is none.
    row: usize,
}

impl<'a> View<'a> {
    fn field(&self, tensor: &'a Tensor, ty: &Type, form: Form) -> Result<String> {
        let mut view = self.clone();
        let (partitions, below) = tensor.levels(ty.list_dims().len())?;
        view.outer.extend(partitions);
        for (axis, dim) in ty.list_dims().iter().enumerate() {
            let ragged = axis == 0 && !self.dims.is_empty() && dim.size == Size::Uniform;
            view.dims.push(if ragged { Dim::RAGGED } else { dim.clone() });
        }
        match (below, &ty.element) {
            (Tensor::Leaf(array), Element::Value(dtype)) => Ok(view.tensor(FlatValues { array, dtype }, form)),
            (Tensor::Sparse(sparse), Element::Sparse(dtype)) if view.dims.is_empty() => Ok(sparse_text(sparse, dtype, view.row)),
            (Tensor::Sparse(_), element) => python(tensor, ty.list_dims().len(), element, view.row),
            (Tensor::Struct(s), Element::Struct(fields)) => view.structure(s.fields(), fields),
            _ => Err(Error::internal("a tensor that does not have its type")),
        }
    }

    /// Axis 0, and the levels below it.
    fn array(&self) -> Array {
        let Some((first, below)) = self.outer.split_first() else {
            return Array::dense(Vec::new(), self.row);
        };
        let levels: Vec<Level> = below
            .iter()
            .zip(&self.dims[1..])
            .map(|(partition, dim)| Level {
                partition,
                ragged: dim.size == Size::Ragged,
                size: if let Size::Known(n) = dim.size { usize::try_from(n).ok() } else { None },
            })
            .collect();
        Array::of(&levels, first.range(self.row))
    }

    fn tensor(&self, values: FlatValues, form: Form) -> String {
        let array = self.array();
        if self.dims.iter().any(|d| d.size == Size::Ragged) {
            return format!("<tf.RaggedTensor {}>", array.ragged_text(values));
        }
        dense_text(&array, values, form)
    }

    /// The size of each axis that is not ragged.
    fn sizes(&self) -> Vec<Option<usize>> {
        let mut rows = self.row..self.row + 1;
        let levels = self.outer.iter().zip(&self.dims);
        levels
            .map(|(partition, dim)| {
                let size = match dim.size {
                    Size::Ragged => None,
                    Size::Known(n) => usize::try_from(n).ok(),
                    Size::Uniform if rows.is_empty() => Some(0),
                    Size::Uniform => Some(partition.row_length(rows.start)),
                };
                rows = partition.start(rows.start)..partition.start(rows.end);
                size
            })
            .collect()
    }

    fn structure(&self, tensors: &'a [Tensor], fields: &[Field]) -> Result<String> {
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by(|a, b| fields[*a].name.cmp(&fields[*b].name));
        let mut texts = Vec::with_capacity(fields.len());
        for i in order {
            let text = self.field(&tensors[i], &fields[i].ty, Form::Str)?.replace('\n', "\n            ");
            texts.push(format!("\"{}\": {text}", fields[i].name));
        }
        let shape = shape_text(self.sizes().into_iter());
        Ok(format!("<StructuredTensor(\n    fields={{\n        {}}},\n    shape={shape})>", texts.join(",\n        ")))
    }
}

fn dense_text(array: &Array, values: FlatValues, form: Form) -> String {
    let scalar = array.shape.is_empty();
    let text = match form {
        Form::Repr if scalar => values.item(array.first()),
        Form::Repr => array.repr(values),
        Form::Str if scalar => values.str(array.first()),
        Form::Str => array.str(values),
    };
    let text = if text.contains('\n') { format!("\n{text}") } else { text };
    let shape = shape_text(array.shape.iter().map(|n| Some(*n)));
    let dtype = match values.dtype {
        DType::Bytes | DType::Json => &DType::String,
        dtype => dtype,
    };
    match form {
        Form::Repr => format!("<tf.Tensor: shape={shape}, dtype={dtype}, numpy={text}>"),
        Form::Str => format!("tf.Tensor({text}, shape={shape}, dtype={dtype})"),
    }
}

fn sparse_text(sparse: &Sparse, dtype: &DType, row: usize) -> String {
    let (ndims, entries) = (sparse.ndims(), sparse.entries().range(row));
    let numbers = |numbers: &[i64], shape: Vec<usize>| {
        let array: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        dense_text(&Array::dense(shape, 0), FlatValues { array: &array, dtype: &DType::Int64 }, Form::Str)
    };
    let indices = &sparse.indices()[entries.start * ndims..entries.end * ndims];
    let values = FlatValues { array: sparse.values(), dtype };
    format!(
        "SparseTensor(indices={}, values={}, dense_shape={})",
        numbers(indices, vec![entries.len(), ndims]),
        dense_text(&Array::dense(vec![entries.len()], entries.start), values, Form::Str),
        numbers(sparse.shape_of(row), vec![ndims])
    )
}

/// The nested Python value of a row, such as `[1, None]`.
fn python(tensor: &Tensor, levels: usize, element: &Element, row: usize) -> Result<String> {
    if tensor.slice(row, 1).validity().is_some() {
        return Ok("None".to_owned());
    }
    match (tensor, element) {
        (Tensor::List(list), _) if levels > 0 => {
            let items: Vec<String> =
                list.partition().range(row).map(|item| python(list.values(), levels - 1, element, item)).collect::<Result<_>>()?;
            Ok(format!("[{}]", items.join(", ")))
        }
        (Tensor::Struct(s), Element::Struct(fields)) => {
            let items: Vec<String> = fields
                .iter()
                .zip(s.fields())
                .map(|(field, tensor)| {
                    let value = python(tensor, field.ty.list_dims().len(), &field.ty.element, row)?;
                    Ok(format!("{}: {value}", str_repr(&field.name)))
                })
                .collect::<Result<_>>()?;
            Ok(format!("{{{}}}", items.join(", ")))
        }
        (Tensor::Leaf(array), Element::Value(dtype)) => Ok(python_value(array, dtype, row)),
        (Tensor::Sparse(sparse), Element::Sparse(dtype)) => {
            let entries = sparse.entries().range(row);
            let values: Vec<String> = entries.clone().map(|e| python_value(sparse.values(), dtype, e)).collect();
            let indices: Vec<String> = entries.map(|e| format!("{:?}", sparse.index_of(e))).collect();
            let shape = sparse.shape_of(row);
            Ok(format!("{{'indices': [{}], 'values': [{}], 'dense_shape': {shape:?}}}", indices.join(", "), values.join(", ")))
        }
        _ => Err(Error::internal("a tensor that does not have its type")),
    }
}

fn python_value(array: &ArrayRef, dtype: &DType, i: usize) -> String {
    let values = FlatValues { array, dtype };
    if values.is_null(i) { "None".to_owned() } else { values.item(i) }
}
