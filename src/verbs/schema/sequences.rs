//! `--as tf` of tf.SequenceExamples: the features that `tf.io.parse_sequence_example` takes, and the call.

use super::features::{dtype, feature, line, partitions};
use crate::schema::leaves::{Leaf, leaves};
use crate::schema::literal::quote;
use crate::schema::{Schema, Size};

/// The code, ready to paste.
pub fn code(schema: &Schema) -> String {
    let (mut context, mut lists) = (String::new(), String::new());
    for leaf in leaves(schema) {
        if is_list(&leaf) {
            lists.push_str(&line(&leaf.name, feature_list(&leaf)));
        } else {
            context.push_str(&line(&leaf.name, feature(&leaf)));
        }
    }
    format!(
        "import tensorflow as tf\n\ncontext_features = {{\n{context}}}\n\nsequence_features = {{\n{lists}}}\n\n\n\
         def parse(serialized):\n    \"\"\"A batch of serialized tf.SequenceExamples: the context, the feature lists and their lengths.\"\"\"\n    \
         return tf.io.parse_sequence_example(serialized, context_features, sequence_features)\n"
    )
}

fn is_open(size: Size) -> bool {
    !matches!(size, Size::Known(_))
}

/// Whether the field is a feature list, with the steps along axis 0.
fn is_list(leaf: &Leaf) -> bool {
    let ty = &leaf.field.ty;
    let dims = &leaf.dims;
    match ty.is_sparse() {
        true => dims.len() == 2 && dims.iter().all(|d| is_open(d.size)) && leaf.field.source.at.is_empty(),
        false => dims.len() > 1 && is_open(dims[0].size),
    }
}

/// The configuration of a feature list and a remark, or the reason why there is none.
fn feature_list(leaf: &Leaf) -> Result<(String, Option<&'static str>), String> {
    let (dtype, name) = (dtype(leaf)?, &leaf.name);
    let note = leaf.optional.then_some("null: no steps");
    let step = &leaf.dims[1..];
    let sizes: Vec<u64> = step.iter().filter_map(|d| if let Size::Known(n) = d.size { Some(n) } else { None }).collect();
    Ok((
        if leaf.field.ty.is_sparse() {
            format!("tf.io.VarLenFeature({dtype})")
        } else if sizes.len() == step.len() {
            let missing = if leaf.optional { ", allow_missing=True" } else { "" };
            format!("tf.io.FixedLenSequenceFeature({sizes:?}, {dtype}{missing})")
        } else if step.len() == 1 {
            format!("tf.io.RaggedFeature({dtype})")
        } else {
            format!("tf.io.RaggedFeature({dtype}, value_key={}, partitions=[{}])", quote(name), partitions(name, &step[1..]))
        },
        note,
    ))
}
