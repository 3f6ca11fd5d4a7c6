//! `--as tf-spec`: the specs of the tensors of one record, as `tf.data.Dataset.element_spec` shows them. A structure is
//! a dict of the results of `field_value`.

use crate::schema::leaves::below;
use crate::schema::literal::quote;
use crate::schema::{DType, Dim, Element, Field, Schema, Size};

/// The code.
pub fn code(schema: &Schema) -> String {
    let mut text = "import tensorflow as tf\n\nspec = {\n".to_owned();
    fields(&schema.fields, &[], 1, &mut text);
    text + "}\n"
}

fn fields(all: &[Field], outer: &[Dim], depth: usize, text: &mut String) {
    let indent = "    ".repeat(depth);
    for field in all {
        let (key, ty) = (quote(&field.name), &field.ty);
        let dims = below(outer, &ty.dims);
        let note = if ty.optional || ty.with_nulls { "  # may contain nulls; see fill-null" } else { "" };
        let line = match &ty.element {
            Element::Struct(inner) => {
                text.push_str(&format!("{indent}{key}: {{{note}\n"));
                fields(inner, &dims, depth + 1, text);
                text.push_str(&format!("{indent}}},\n"));
                continue;
            }
            Element::Value(dtype) => match name(dtype) {
                Some(dtype) => match dims.iter().rposition(|d| d.size == Size::Ragged) {
                    Some(rank) => format!("{key}: tf.RaggedTensorSpec({}, {dtype}, ragged_rank={rank})", shape(&dims)),
                    None => format!("{key}: tf.TensorSpec({}, {dtype})", shape(&dims)),
                },
                None => format!("# {key}: {dtype} is not a tensor type"),
            },
            Element::Sparse(dtype) => match name(dtype) {
                Some(dtype) => format!("{key}: tf.SparseTensorSpec({}, {dtype})", shape(&dims)),
                None => format!("# {key}: {dtype} is not a tensor type"),
            },
        };
        let end = if line.starts_with('#') { String::new() } else { format!(",{note}") };
        text.push_str(&format!("{indent}{line}{end}\n"));
    }
}

fn name(dtype: &DType) -> Option<String> {
    match dtype {
        DType::Null | DType::Arrow(_) => None,
        DType::String | DType::Bytes | DType::Json => Some("tf.string".to_owned()),
        other => Some(format!("tf.{other}")),
    }
}

fn shape(dims: &[Dim]) -> String {
    let sizes = dims.iter().map(|d| if let Size::Known(n) = d.size { n.to_string() } else { "None".to_owned() });
    format!("[{}]", sizes.collect::<Vec<_>>().join(", "))
}
