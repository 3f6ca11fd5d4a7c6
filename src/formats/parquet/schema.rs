//! The Arrow fields as which columns are read and written.
//!
//! In memory, lists, strings and bytes have 64-bit offsets. Columns are decoded to that form and encoded from it, so no
//! conversion is needed in between. The embedded schema (`ARROW:schema`) has the standard types, which all readers
//! support.

use super::encode::kinds;
use super::failure::lifted;
use super::{categories, logical};
use crate::error::{Error, Reason, Result};
use crate::formats::columnar::facts;
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;
use crate::schema::nested::replaced;
use crate::schema::{DType, Element, Field, Schema};
use crate::tensor::arrow::encoded::Encodings;
use crate::tensor::arrow::{ArrowForm, to_arrow_field};
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Schema as ArrowSchema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowSchemaConverter;
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType};
use std::sync::Arc;

/// The schema of an output, in several forms.
pub struct OutputSchema {
    /// As in memory.
    pub memory: Vec<ArrowField>,
    /// As encoded: the same as in memory, except for time types that Parquet does not have.
    pub wide: SchemaRef,
    /// As stored in the file.
    pub standard: SchemaRef,
    pub parquet: SchemaDescriptor,
    /// The values that the dictionary of each leaf of each column starts with, if its source declares them.
    pub categories: Vec<Vec<Option<ArrayRef>>>,
}

impl OutputSchema {
    /// # Errors
    /// A usage error that names the field that Parquet cannot hold.
    pub fn of(schema: &Schema, options: &Options) -> Result<OutputSchema> {
        let tensor_types = options.tensor_types;
        let metadata = facts::metadata(schema, options)?;
        if schema.fields.is_empty() {
            return Err(Error::usage("Parquet needs a column, but the records have no fields").because(Reason::NoFields));
        }
        let form = ArrowForm { wide: true, tensor_types, encodings: Encodings::None };
        let memory = |field: &Field| check(field, &FieldPath::name(&field.name)).and_then(|()| to_arrow_field(field, form));
        let mut memories = schema.fields.iter().map(memory).collect::<Result<Vec<_>>>()?;
        facts::announce_ids(&facts::distinct_ids(&mut memories), options)?;
        let (mut wide, mut standard, mut categories) = (Vec::new(), Vec::new(), Vec::new());
        for (field, memory) in schema.fields.iter().zip(&memories) {
            let arrow = stored(memory);
            let alone = ArrowSchema::new(vec![arrow.clone()]);
            let parquet = converter().convert(&alone).map_err(|e| {
                Error::usage(format!("Parquet has no type for {}: {}", field.ty, lifted(e).message()))
                    .in_field(quoted(&field.name))
                    .help("leave it out with drop, or write Arrow with --to arrow-file")
            })?;
            let form = ArrowForm { wide: false, tensor_types, encodings: Encodings::Dictionaries };
            let own = to_arrow_field(field, form)?;
            let is_own = kinds(&arrow, &logical::annotated(parquet, alone.fields())?).is_some();
            let (known, is_complete) = categories::of(field, &own, &arrow, form, is_own);
            let own = facts::encoded(field, own, form, is_complete, options)?;
            let in_file = stored(&own);
            if arrow.data_type() != memory.data_type() {
                options.notices.add(
                    format!("{}: Parquet cannot store times in seconds: they are written in milliseconds", quoted(&field.name)),
                    options.strict,
                )?;
            }
            if !is_complete {
                // It is not known yet whether there are such values, so this is no error under --strict.
                let text = format!("{}: values of the dictionary that do not occur, if any, are not kept", quoted(&field.name));
                options.notices.add(text, false)?;
            }
            categories.push(known);
            wide.push(arrow);
            standard.push(in_file);
        }
        facts::distinct_ids(&mut standard);
        let wide = Arc::new(ArrowSchema::new(wide));
        let parquet = logical::annotated(converter().schema_root("schema").convert(&wide).map_err(lifted)?, wide.fields())?;
        let levels = depth(parquet.root_schema());
        if levels > READ_DEPTH {
            let text = format!("the Parquet schema has {levels} levels; PyArrow reads at most {READ_DEPTH}");
            options.notices.add(text, options.strict)?;
        }
        let standard = Arc::new(ArrowSchema::new_with_metadata(standard, metadata));
        Ok(OutputSchema { memory: memories, wide, standard, parquet, categories })
    }
}

/// The most levels of a schema that Arrow's C++ library reads.
const READ_DEPTH: usize = 100;

/// Number of levels of a schema, with the record and the values.
fn depth(ty: &ParquetType) -> usize {
    if ty.is_group() { 1 + ty.get_fields().iter().map(|field| depth(field)).max().unwrap_or(0) } else { 1 }
}

/// Lists and maps are named as in the specification; dates in milliseconds become dates in days.
fn converter() -> ArrowSchemaConverter<'static> {
    ArrowSchemaConverter::new().with_coerce_types(true)
}

/// The stored field. Parquet has no times in seconds; they become milliseconds.
fn stored(field: &ArrowField) -> ArrowField {
    fn in_milliseconds(ty: &DataType) -> Option<DataType> {
        match ty {
            DataType::Time32(TimeUnit::Second) => Some(DataType::Time32(TimeUnit::Millisecond)),
            DataType::Timestamp(TimeUnit::Second, zone) => Some(DataType::Timestamp(TimeUnit::Millisecond, zone.clone())),
            DataType::Dictionary(keys, values) => Some(DataType::Dictionary(keys.clone(), Box::new(in_milliseconds(values)?))),
            _ => None,
        }
    }
    field.clone().with_data_type(replaced(field.data_type(), &in_milliseconds))
}

/// Rejects types that the converter would accept or report without the full path.
fn check(field: &Field, path: &FieldPath) -> Result<()> {
    let way_out = || format!("leave it out: drop {}; or write Arrow: --to arrow-file", shell_word(&path.to_string()));
    match &field.ty.element {
        Element::Struct(fields) if fields.is_empty() => {
            Err(Error::usage("is a structure without fields, which Parquet cannot store").in_field(path).help(way_out()))
        }
        Element::Struct(fields) => fields.iter().try_for_each(|f| check(f, &path.join(&f.name))),
        Element::Value(DType::Arrow(ty))
            if matches!(ty.as_ref(), DataType::Interval(_) | DataType::Union(..) | DataType::FixedSizeBinary(0)) =>
        {
            Err(Error::usage(format!("Parquet has no type for {}", field.ty)).in_field(path).help(way_out()))
        }
        _ => Ok(()),
    }
}

/// The field with 64-bit offsets, and dictionaries replaced by their values.
pub fn widened(field: &ArrowField) -> ArrowField {
    let inner = |f: &FieldRef| Arc::new(widened(f));
    let ty = replaced(field.data_type(), &|ty| match ty {
        DataType::Utf8 | DataType::Utf8View => Some(DataType::LargeUtf8),
        DataType::Binary | DataType::BinaryView => Some(DataType::LargeBinary),
        DataType::List(f) | DataType::ListView(f) | DataType::LargeListView(f) | DataType::LargeList(f) => {
            Some(DataType::LargeList(inner(f)))
        }
        DataType::Dictionary(_, values) => Some(widened(&ArrowField::new("", values.as_ref().clone(), true)).data_type().clone()),
        // Their entries are widened later; the reader cannot read all dictionaries in them.
        DataType::Map(entries, is_sorted) => {
            let plain = replaced(entries.data_type(), &|ty| match ty {
                DataType::Dictionary(_, values) => Some(values.as_ref().clone()),
                _ => None,
            });
            Some(DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(plain)), *is_sorted))
        }
        _ => None,
    });
    field.clone().with_data_type(ty)
}
