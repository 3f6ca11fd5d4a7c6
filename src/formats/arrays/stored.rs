//! The arrays that represent a schema: their names, dtypes and contents.

use super::element::{Element, ElementKind, Step};
use crate::error::{Error, Reason, Result};
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::arrays::{
    ArrayForm, Contents, Stacking, Stored, dense_shape_name, dense_shapes_name, indices_name, row_splits_name, stored, values_name,
};
use crate::schema::leaves::leaves;
use crate::schema::{DType, Element as Items, Field, Schema, Size};
use std::collections::HashMap;

/// The arrays that represent records of a schema.
#[derive(Debug)]
pub struct StoredSchema {
    pub stacking: Stacking,
    /// The leaves of the schema, in order.
    pub leaves: Vec<StoredLeaf>,
    /// Their arrays, in order.
    pub arrays: Vec<ArraySpec>,
}

/// A leaf and its representation.
#[derive(Debug)]
pub struct StoredLeaf {
    pub path: FieldPath,
    pub name: String,
    pub dtype: DType,
    pub stored: Stored,
}

/// An array to be written.
#[derive(Debug)]
pub struct ArraySpec {
    pub name: String,
    pub element: Element,
    /// The shape of the array for zero records.
    pub empty: Vec<u64>,
    /// The contents of the array for zero records.
    pub initial: Vec<i64>,
}

impl StoredSchema {
    /// # Errors
    /// A field that arrays cannot represent, two fields with the same array name, or no fields.
    pub fn of(schema: &Schema, stacking: Stacking) -> Result<StoredSchema> {
        let mut layout = StoredSchema { stacking, leaves: Vec::new(), arrays: Vec::new() };
        if schema.fields.is_empty() {
            let error = Error::usage("records without fields cannot be stored as arrays").because(Reason::NoFields);
            return Err(error.help("write them in another format: --to jsonl"));
        }
        refuse_empty_structures(&schema.fields, None)?;
        let mut seen: HashMap<String, FieldPath> = HashMap::new();
        for leaf in leaves(schema) {
            let stored = stored(&leaf, stacking)?;
            let dtype = leaf.field.ty.dtype().cloned().unwrap_or(DType::Null);
            let leaf = StoredLeaf { path: leaf.path, name: leaf.name, dtype, stored };
            for spec in leaf.specs() {
                if let Some(other) = seen.insert(spec.name.clone(), leaf.path.clone()) {
                    return Err(Error::usage(format!("this and {other} would become the same array, `{}`", spec.name))
                        .in_field(&leaf.path)
                        .help("choose another name for one of them: rename old=new"));
                }
                layout.arrays.push(spec);
            }
            layout.leaves.push(leaf);
        }
        Ok(layout)
    }
}

fn refuse_empty_structures(fields: &[Field], parent: Option<&FieldPath>) -> Result<()> {
    for field in fields {
        let path = parent.map_or_else(|| FieldPath::name(&field.name), |p| p.join(&field.name));
        match &field.ty.element {
            Items::Struct(inner) if inner.is_empty() => {
                let error = Error::usage("a structure without fields cannot be stored as arrays").in_field(&path);
                return Err(error.help(format!("leave it out: drop {}", shell_word(&path.to_string()))));
            }
            Items::Struct(inner) => refuse_empty_structures(inner, Some(&path))?,
            _ => {}
        }
    }
    Ok(())
}

impl StoredLeaf {
    /// The element type of the values array.
    pub fn element(&self) -> Element {
        match self.stored.contents {
            Contents::Numbers => Element::number(self.dtype.clone()),
            Contents::Times => Element { kind: ElementKind::Time { dtype: self.dtype.clone(), step: Step::Units(1) }, big_endian: false },
            Contents::Text | Contents::Bytes => Element::number(DType::UInt8),
        }
    }

    /// Its arrays, in order.
    pub fn specs(&self) -> Vec<ArraySpec> {
        let (name, axes) = (&self.name, &self.stored.axes);
        let integers =
            |name, empty: &[u64], initial| ArraySpec { name, element: Element::number(DType::Int64), empty: empty.to_vec(), initial };
        let sizes = |from: usize| -> Vec<u64> { axes.iter().skip(from).map(|d| if let Size::Known(n) = d.size { n } else { 0 }).collect() };
        let values = |name, empty| ArraySpec { name, element: self.element(), empty, initial: Vec::new() };
        match &self.stored.form {
            ArrayForm::Dense => vec![values(name.clone(), sizes(0))],
            ArrayForm::Ragged { levels } => {
                let empty = if self.stored.contents.is_text() { vec![0] } else { sizes(*levels) };
                let values = values(values_name(name), empty);
                std::iter::once(values).chain((0..*levels).map(|k| integers(row_splits_name(name, k), &[1], vec![0]))).collect()
            }
            ArrayForm::Sparse { shapes } => {
                let ndims = axes.len() as u64;
                let smallest = sizes(0).iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
                let mut specs = vec![
                    integers(indices_name(name), &[0, ndims], Vec::new()),
                    values(values_name(name), vec![0]),
                    integers(dense_shape_name(name), &[ndims], smallest),
                ];
                if *shapes {
                    specs.push(integers(dense_shapes_name(name), &[0, ndims.saturating_sub(1)], Vec::new()));
                }
                specs
            }
        }
    }
}
