//! Converts types to Arrow fields.

use super::field::{ArrowForm, from_arrow_field};
use super::{extension, note, stored};
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::nested::list_item;
use crate::schema::{DType, Element, Field, Size, Type};
use arrow_schema::{DataType, Field as ArrowField, FieldRef};
use std::sync::Arc;

/// The name of list items, as in the Parquet specification.
const ITEM: &str = "element";
/// The name of map entries, as in Arrow.
const ENTRIES: &str = "entries";

/// The Arrow field as which a field is written.
///
/// # Errors
/// A known size that exceeds 31 bits.
pub fn to_arrow_field(field: &Field, form: ArrowForm) -> Result<ArrowField> {
    if let Some(stored) = stored::field(field, form) {
        return Ok(stored);
    }
    let ty = &field.ty;
    // A verb has changed the type. Nulls are still possible wherever the file allows them, even though the data has
    // none.
    let stored = field.storage.arrow();
    let nullable = field.storage.is_open() || stored.is_some_and(ArrowField::is_nullable);
    let inside = field.storage.is_open() || stored.is_some_and(|f| allows_nulls(f.data_type()));
    let arrow = match form.tensor_types {
        Some(kinds) => extension::write(&field.name, ty, Arc::new(ArrowField::new(ITEM, value_type(ty, form), ty.with_nulls)), kinds),
        None => None,
    };
    let arrow = match arrow {
        Some(arrow) => arrow,
        None => {
            let arrow = data_type(ty, form, inside, field.is_map()).map_err(|e| e.in_field(quoted(&field.name)))?;
            ArrowField::new(&field.name, arrow, nullable || is_nullable(ty))
        }
    };
    let mut metadata = stored::metadata(field);
    metadata.extend(arrow.metadata().iter().map(|(key, value)| (key.clone(), value.clone())));
    if !from_arrow_field(&arrow).is_ok_and(|read| same_own(&read.ty, ty)) {
        metadata.insert(note::KEY.to_owned(), note::write(ty));
    }
    Ok(arrow.with_metadata(metadata))
}

/// Whether items of lists can be null.
fn allows_nulls(ty: &DataType) -> bool {
    let item = match ty {
        DataType::RunEndEncoded(_, values) => Some(values),
        DataType::Dictionary(_, values) => return allows_nulls(values),
        _ => list_item(ty),
    };
    item.is_some_and(|f| f.is_nullable() || allows_nulls(f.data_type()))
}

fn same_own(a: &Type, b: &Type) -> bool {
    let element = match (&a.element, &b.element) {
        (Element::Struct(_), Element::Struct(_)) => true,
        (a, b) => a == b,
    };
    let nulls = !is_null(a) || (a.optional, a.with_nulls) == (b.optional, b.with_nulls);
    element && nulls && a.dims == b.dims
}

fn is_null(ty: &Type) -> bool {
    ty.element == Element::Value(DType::Null)
}

fn is_nullable(ty: &Type) -> bool {
    ty.optional || is_null(ty) && ty.dims.is_empty()
}

/// The Arrow type for a type. `nullable`: items can be null regardless of the type. `map`: the innermost axis is that
/// of maps.
fn data_type(ty: &Type, form: ArrowForm, nullable: bool, map: bool) -> Result<DataType> {
    if let Element::Sparse(dtype) = &ty.element {
        return sparse_type(dtype, ty, form);
    }
    let Some(dim) = ty.dims.first() else {
        return match &ty.element {
            Element::Struct(fields) => {
                let fields: Vec<ArrowField> = fields.iter().map(|f| to_arrow_field(f, form)).collect::<Result<_>>()?;
                Ok(DataType::Struct(fields.into()))
            }
            _ => Ok(value_type(ty, form)),
        };
    };
    let item = ty.item();
    if map && ty.dims.len() == 1 {
        return Ok(DataType::Map(Arc::new(ArrowField::new(ENTRIES, entries(&item, form)?, false)), false));
    }
    let item = Arc::new(ArrowField::new(ITEM, data_type(&item, form, nullable, map)?, nullable || is_nullable(&item)));
    Ok(match dim.size {
        Size::Known(size) => DataType::FixedSizeList(item, fixed(size)?),
        _ => list(item, form),
    })
}

/// The structure for an entry, whose key is never null.
fn entries(item: &Type, form: ArrowForm) -> Result<DataType> {
    let fields = item.fields().unwrap_or_default().iter().enumerate().map(|(position, field)| {
        let field = to_arrow_field(field, form)?;
        Ok(if position == 0 { field.with_nullable(false) } else { field })
    });
    Ok(DataType::Struct(fields.collect::<Result<Vec<_>>>()?.into()))
}

fn list(item: FieldRef, form: ArrowForm) -> DataType {
    if form.wide { DataType::LargeList(item) } else { DataType::List(item) }
}

fn fixed(size: u64) -> Result<i32> {
    i32::try_from(size).map_err(|_| Error::usage(format!("an axis has the size {size}; Arrow allows at most {}", i32::MAX)))
}

/// The Arrow type of scalars.
fn value_type(ty: &Type, form: ArrowForm) -> DataType {
    match ty.dtype() {
        Some(DType::String | DType::Json) if !form.wide => DataType::Utf8,
        Some(DType::Bytes) if !form.wide => DataType::Binary,
        Some(dtype) => dtype.arrow(),
        None => DataType::Null,
    }
}

fn sparse_type(dtype: &DType, ty: &Type, form: ArrowForm) -> Result<DataType> {
    let index = Arc::new(ArrowField::new(ITEM, DataType::Int64, false));
    let indices = DataType::FixedSizeList(index, fixed(ty.rank() as u64)?);
    let value = ArrowField::new(ITEM, value_type(&Type::tensor(dtype.clone(), Vec::new()), form), ty.with_nulls);
    let fields = vec![
        ArrowField::new("indices", list(Arc::new(ArrowField::new(ITEM, indices.clone(), false)), form), false),
        ArrowField::new("values", list(Arc::new(value), form), false),
        ArrowField::new("dense_shape", indices, false),
    ];
    Ok(DataType::Struct(fields.into()))
}
