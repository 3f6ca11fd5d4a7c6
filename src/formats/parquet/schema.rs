//! The Arrow fields that columns are read as and written from.
//!
//! In memory lists, strings and bytes have 64-bit offsets: columns are decoded into that form and encoded
//! from it, so that nothing is converted on the way. What a file says of itself (`ARROW:schema`) are the
//! standard types, which every reader likes.

use super::lifted;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::{DType, Element, Field, Schema};
use crate::tensor::arrow::{Form, to_arrow_field};
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Schema as ArrowSchema, SchemaRef};
use parquet::arrow::ArrowSchemaConverter;
use parquet::schema::types::SchemaDescriptor;
use std::sync::Arc;

/// The schema of an output in its three forms.
pub struct Layout {
    /// As encoded from memory.
    pub wide: SchemaRef,
    /// As stored in the file.
    pub standard: SchemaRef,
    pub parquet: SchemaDescriptor,
}

impl Layout {
    /// # Errors
    /// A usage error that names the field that Parquet cannot hold.
    pub fn of(schema: &Schema, tensor_types: bool) -> Result<Layout> {
        if schema.fields.is_empty() {
            return Err(Error::usage("records without fields; Parquet needs one column at least"));
        }
        let (mut wide, mut standard) = (Vec::new(), Vec::new());
        for field in &schema.fields {
            check(field).map_err(|e| e.in_field(quoted(&field.name)))?;
            let arrow = to_arrow_field(field, Form { wide: true, tensor_types })?;
            let alone = ArrowSchema::new(vec![arrow.clone()]);
            ArrowSchemaConverter::new().convert(&alone).map_err(|e| {
                Error::usage(format!("Parquet has no type for {}: {}", field.ty, lifted(e).message()))
                    .in_field(quoted(&field.name))
                    .help("leave it out with drop, or write Arrow with --to arrow-file")
            })?;
            wide.push(arrow);
            standard.push(to_arrow_field(field, Form { wide: false, tensor_types })?);
        }
        let wide = Arc::new(ArrowSchema::new(wide));
        let parquet = ArrowSchemaConverter::new().schema_root("schema").convert(&wide).map_err(lifted)?;
        Ok(Layout { wide, standard: Arc::new(ArrowSchema::new(standard)), parquet })
    }
}

/// What the converter would not refuse, or only in passing.
fn check(field: &Field) -> Result<()> {
    match &field.ty.element {
        Element::Struct(fields) if fields.is_empty() => Err(Error::usage("a structure without fields; Parquet has none")
            .help("leave it out with drop, or write Arrow with --to arrow-file")),
        Element::Struct(fields) => fields.iter().try_for_each(|f| check(f).map_err(|e| e.in_field(quoted(&f.name)))),
        Element::Value(DType::Arrow(ty)) if matches!(ty.as_ref(), DataType::Interval(_) | DataType::Union(..)) => {
            Err(Error::usage(format!("Parquet has no type for {}", field.ty))
                .help("leave it out with drop, or write Arrow with --to arrow-file"))
        }
        _ => Ok(()),
    }
}

/// The same field with 64-bit offsets, dictionaries as their values.
pub fn widened(field: &ArrowField) -> ArrowField {
    field.clone().with_data_type(wide_type(field.data_type()))
}

fn wide_type(ty: &DataType) -> DataType {
    let item = |f: &FieldRef| Arc::new(widened(f));
    match ty {
        DataType::Utf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::BinaryView => DataType::LargeBinary,
        DataType::List(f) | DataType::LargeList(f) | DataType::ListView(f) | DataType::LargeListView(f) => DataType::LargeList(item(f)),
        DataType::FixedSizeList(f, size) => DataType::FixedSizeList(item(f), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(item).collect()),
        DataType::Dictionary(_, values) => wide_type(values),
        other => other.clone(),
    }
}
