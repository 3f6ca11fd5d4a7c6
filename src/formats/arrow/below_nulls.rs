//! Decodes values that nulls hide.
//!
//! Arrow does not specify the values of nulls, nor any values below a null structure or list: an index there may point
//! outside its dictionary, and bytes may be no text. The Arrow library checks them all the same. Here, a batch that it
//! refuses is decoded as indices and bytes, and only what the nulls leave visible is checked.

use super::known::unexpected;
use super::learned::id;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::nested::replaced;
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array, ArrayRef, LargeStringArray, PrimitiveArray, StringArray, StringViewArray, downcast_integer_array, make_array, new_empty_array,
    new_null_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The schema with indices for dictionaries and bytes for strings, which have the same buffers.
pub fn unchecked(schema: &Schema) -> SchemaRef {
    let field = |field: &FieldRef| {
        let ty = replaced(field.data_type(), &|ty| match ty {
            DataType::Dictionary(key, _) => Some(key.as_ref().clone()),
            DataType::Utf8 => Some(DataType::Binary),
            DataType::LargeUtf8 => Some(DataType::LargeBinary),
            DataType::Utf8View => Some(DataType::BinaryView),
            _ => None,
        });
        Arc::new(field.as_ref().clone().with_data_type(ty))
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Decoded arrays with the dictionaries and strings of their fields.
pub struct Checked<'a> {
    pub dictionaries: &'a HashMap<i64, ArrayRef>,
}

impl Checked<'_> {
    /// The array of a field for one that was decoded with the [`unchecked`] schema. Values that nulls hide become arbitrary
    /// valid ones. `mask`: which rows are null because an enclosing row is. O(values).
    ///
    /// # Errors
    /// A visible index outside its dictionary, or visible text that is not UTF-8.
    pub fn array(&self, array: &ArrayRef, field: &Field, mask: Option<&NullBuffer>) -> Result<ArrayRef> {
        let nulls = NullBuffer::union(array.nulls(), mask);
        let children = match field.data_type() {
            DataType::Dictionary(_, values) => return self.dictionary(array, field, values, nulls.as_ref()),
            DataType::Utf8 => return Ok(Arc::new(texts::<StringArray>(array.as_binary::<i32>().iter(), mask)?)),
            DataType::LargeUtf8 => return Ok(Arc::new(texts::<LargeStringArray>(array.as_binary::<i64>().iter(), mask)?)),
            DataType::Utf8View => return Ok(Arc::new(texts::<StringViewArray>(array.as_binary_view().iter(), mask)?)),
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns().iter().zip(fields);
                let column = |(column, f): (_, &FieldRef)| self.array(column, f, nulls.as_ref()).map_err(|e| e.within(quoted(f.name())));
                columns.map(column).collect::<Result<Vec<_>>>()?
            }
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                vec![self.items(list.values(), item, &between(list.value_offsets()), nulls.as_ref())?]
            }
            DataType::LargeList(item) => {
                let list = array.as_list::<i64>();
                vec![self.items(list.values(), item, &between(list.value_offsets()), nulls.as_ref())?]
            }
            DataType::Map(entries, _) => {
                let (map, values): (_, ArrayRef) = (array.as_map(), Arc::new(array.as_map().entries().clone()));
                vec![self.items(&values, entries, &between(map.value_offsets()), nulls.as_ref())?]
            }
            DataType::ListView(item) => {
                let list = array.as_list_view::<i32>();
                vec![self.items(list.values(), item, &viewed(list.offsets(), list.sizes()), nulls.as_ref())?]
            }
            DataType::LargeListView(item) => {
                let list = array.as_list_view::<i64>();
                vec![self.items(list.values(), item, &viewed(list.offsets(), list.sizes()), nulls.as_ref())?]
            }
            DataType::FixedSizeList(item, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                let rows: Vec<_> = (0..array.len()).map(|row| row * size..(row + 1) * size).collect();
                vec![self.items(array.as_fixed_size_list().values(), item, &rows, nulls.as_ref())?]
            }
            _ => return Ok(array.clone()),
        };
        let children = children.iter().map(ArrayRef::to_data).collect();
        let data = array.to_data().into_builder().data_type(field.data_type().clone()).child_data(children);
        data.build().map(make_array).map_err(unexpected)
    }

    /// The items of lists at `rows`. Those that no valid row has are not visible.
    fn items(&self, values: &ArrayRef, item: &Field, rows: &[Range<usize>], nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
        let valid = |row: &usize| nulls.is_none_or(|nulls| nulls.is_valid(*row));
        // At each item, how many lists begin and end there: views may overlap, each with all items.
        let mut edges = vec![0i64; values.len() + 1];
        for row in (0..rows.len()).filter(valid) {
            edges[rows[row].start.min(values.len())] += 1;
            edges[rows[row].end.min(values.len())] -= 1;
        }
        let mut nlists = 0;
        let visible: BooleanBuffer = edges[..values.len()]
            .iter()
            .map(|edge| {
                nlists += edge;
                nlists > 0
            })
            .collect();
        let row_of = |place: usize| (0..rows.len()).filter(valid).find(|row| rows[*row].contains(&place)).unwrap_or(0);
        let located = |e: Error| e.locate(|at| at.row = at.row.map(row_of));
        self.array(values, item, Some(&NullBuffer::new(visible))).map_err(located)
    }

    fn dictionary(&self, indices: &ArrayRef, field: &Field, values: &DataType, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
        let known = id(field).and_then(|id| self.dictionaries.get(&id).cloned());
        let known = known.unwrap_or_else(|| new_empty_array(values));
        let indices = downcast_integer_array! {
            indices => within(indices, known.len(), nulls)?,
            other => return Err(Error::data(format!("a dictionary has indices of type {other}"))),
        };
        // Hidden indices point to the first value.
        let known = if known.is_empty() { new_null_array(values, 1) } else { known };
        let data = indices.to_data().into_builder().data_type(field.data_type().clone()).add_child_data(known.to_data());
        data.build().map(make_array).map_err(unexpected)
    }
}

/// The indices, with 0 for those that nulls hide.
fn within<K: ArrowPrimitiveType>(indices: &PrimitiveArray<K>, nvalues: usize, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let index = |(row, index): (usize, &K::Native)| match index.to_usize() {
        _ if nulls.is_some_and(|nulls| nulls.is_null(row)) => Ok(K::Native::default()),
        Some(place) if place < nvalues => Ok(*index),
        _ => Err(Error::data(format!("found the index {index:?} into a dictionary of {nvalues} values")).at_row(row)),
    };
    let checked: Vec<K::Native> = indices.values().iter().enumerate().map(index).collect::<Result<_>>()?;
    Ok(Arc::new(PrimitiveArray::<K>::new(checked.into(), indices.nulls().cloned())))
}

/// The texts, empty where the mask hides them.
fn texts<'a, A: FromIterator<Option<&'a str>>>(values: impl Iterator<Item = Option<&'a [u8]>>, mask: Option<&NullBuffer>) -> Result<A> {
    let text = |(row, value): (usize, Option<&'a [u8]>)| match value {
        Some(_) if mask.is_some_and(|mask| mask.is_null(row)) => Ok(Some("")),
        Some(bytes) => std::str::from_utf8(bytes).map(Some).map_err(|_| Error::data("found text that is not UTF-8").at_row(row)),
        None => Ok(None),
    };
    values.enumerate().map(text).collect()
}

/// The items of each list.
fn between<O: ArrowNativeType>(offsets: &[O]) -> Vec<Range<usize>> {
    offsets.windows(2).map(|w| w[0].as_usize()..w[1].as_usize()).collect()
}

/// The items of each list view.
fn viewed<O: ArrowNativeType>(offsets: &[O], sizes: &[O]) -> Vec<Range<usize>> {
    offsets.iter().zip(sizes).map(|(start, size)| start.as_usize()..start.as_usize().saturating_add(size.as_usize())).collect()
}
