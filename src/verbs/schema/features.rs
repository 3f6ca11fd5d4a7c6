//! `--as tf`: the dict that `tf.io.parse_example` takes to read the records from a TFRecord written by tatter.

use crate::schema::facts::Storage;
use crate::schema::leaves::{Leaf, leaves};
use crate::schema::literal::quote;
use crate::schema::{DType, Dim, Schema, Size};

/// The code.
pub fn code(schema: &Schema) -> String {
    let mut text = "import tensorflow as tf\n\nfeature_specification = {\n".to_owned();
    leaves(schema).iter().for_each(|leaf| text.push_str(&line(&leaf.name, feature(leaf))));
    text + "}\n"
}

/// The entry of a feature in the dict.
pub fn line(name: &str, feature: Result<(String, Option<&'static str>), String>) -> String {
    let key = quote(name);
    match feature {
        Ok((feature, None)) => format!("    {key}: {feature},\n"),
        Ok((feature, Some(note))) => format!("    {key}: {feature},  # {note}\n"),
        Err(reason) => format!("    # {key}: {reason}\n"),
    }
}

/// The configuration of a feature and a remark, or the reason why there is none.
pub fn feature(leaf: &Leaf) -> Result<(String, Option<&'static str>), String> {
    let ty = &leaf.field.ty;
    let name = &leaf.name;
    let dtype = dtype(leaf)?;
    let note = if leaf.with_nulls {
        Some("a tf.Example cannot store nulls inside a list")
    } else if leaf.optional {
        Some("null is read as no values")
    } else {
        None
    };
    if ty.is_sparse() {
        if leaf.dims.len() > ty.dims.len() {
            return Err("a sparse tensor in a list of structures cannot be written".to_owned());
        }
        return Ok((sparse(leaf, dtype)?, note));
    }
    if let (Some(shape), false) = (known(&leaf.dims), leaf.optional) {
        return Ok((format!("tf.io.FixedLenFeature({shape:?}, {dtype})"), note));
    }
    if leaf.dims.len() < 2 {
        return Ok((format!("tf.io.RaggedFeature({dtype})"), note));
    }
    let partitions = partitions(name, &leaf.dims[1..]);
    Ok((format!("tf.io.RaggedFeature({dtype}, value_key={}, partitions=[{partitions}])", quote(name)), note))
}

/// The partitions of axes 1, 2, ... of a feature, outermost first, as tatter stores them.
pub fn partitions(name: &str, dims: &[Dim]) -> String {
    let mut level = 0;
    let partitions: Vec<String> = dims
        .iter()
        .map(|dim| match dim.size {
            Size::Known(n) => format!("tf.io.RaggedFeature.UniformRowLength({n})"),
            _ => {
                level += 1;
                format!("tf.io.RaggedFeature.RowLengths({})", quote(&format!("{name}/row_lengths_{level}")))
            }
        })
        .collect();
    partitions.join(", ")
}

/// The dtype of the values of a feature, or the reason why there is none.
pub fn dtype(leaf: &Leaf) -> Result<&'static str, String> {
    Ok(match leaf.field.ty.dtype() {
        Some(DType::Null) => return Err("has no values".to_owned()),
        Some(DType::Arrow(arrow)) => {
            return Err(format!("a tf.Example cannot store arrow<{}>", crate::schema::notation::arrow_type_text(arrow)));
        }
        Some(DType::String | DType::Bytes | DType::Json) => "tf.string",
        Some(dtype) if dtype.is_float() => "tf.float32",
        _ => "tf.int64",
    })
}

fn sparse(leaf: &Leaf, dtype: &str) -> Result<String, String> {
    let (name, dims) = (&leaf.name, &leaf.dims);
    let Some(size) = known(dims) else {
        if matches!(leaf.field.storage, Storage::ValuesOnly) {
            return Ok(format!("tf.io.VarLenFeature({dtype})"));
        }
        return Err("tf.io.SparseFeature needs all sizes; declare them with --schema".to_owned());
    };
    let keys: Vec<String> = (0..dims.len()).map(|axis| quote(&format!("{name}/indices_{axis}"))).collect();
    Ok(format!(
        "tf.io.SparseFeature(index_key=[{}], value_key={}, dtype={dtype}, size={size:?})",
        keys.join(", "),
        quote(&format!("{name}/values"))
    ))
}

fn known(dims: &[Dim]) -> Option<Vec<u64>> {
    dims.iter().map(|d| if let Size::Known(n) = d.size { Some(n) } else { None }).collect()
}
