//! Converts Arrow arrays of any layout to tensors.
//!
//! Arrow does not specify the contents under nulls; tensors do: null list rows become empty, and values below a null
//! structure are kept but are never nulls of a type without nulls. Values are shared if the rows are contiguous.

use super::extension::{TensorLayout, TensorType};
use super::field::{Reading, Role, reading};
use super::leaf::{leaf_type, unexpected};
use crate::error::{Error, Result};
use crate::tensor::gather::{take, take_or_null};
use crate::tensor::transpose::transposed_places;
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, RunArray, make_array};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// Maximum number of values to which list views or dictionaries can expand in one array. Views can share values, so a
/// few bytes can refer to any number of them.
const MAX_SPREAD: usize = 1 << 28;

/// The tensor for an Arrow array whose field is read as [`super::from_arrow_field`] describes. O(rows), and O(values)
/// for layouts other than lists.
///
/// # Errors
/// Nulls in a field declared without nulls, inconsistent sparse components, or inconsistent tensor shapes.
pub fn from_arrow(array: &ArrayRef, field: &Field) -> Result<Tensor> {
    import(array, field, Role::Field, None)
}

/// `mask`: which rows are null because an enclosing row is.
fn import(array: &ArrayRef, field: &Field, role: Role, mask: Option<&NullBuffer>) -> Result<Tensor> {
    if array.data_type() != field.data_type() {
        return Err(Error::internal(format!("an array of {} in a field of {}", array.data_type(), field.data_type())));
    }
    match reading(field, role) {
        Reading::Plain => plain(array, field, mask),
        Reading::Sparse { ndims } => sparse(array, field, ndims, mask),
        Reading::Tensor(tensor) if tensor.layout == TensorLayout::Fixed => split_known(plain(array, field, mask)?, &tensor),
        Reading::Tensor(tensor) => variable_shape(array, field, &tensor, mask),
    }
}

fn plain(array: &ArrayRef, field: &Field, mask: Option<&NullBuffer>) -> Result<Tensor> {
    match field.data_type() {
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            rows(ListRows::offsets(list.value_offsets()), list.values(), item, array, field, mask)
        }
        DataType::LargeList(item) => {
            let list = array.as_list::<i64>();
            rows(ListRows::offsets(list.value_offsets()), list.values(), item, array, field, mask)
        }
        DataType::ListView(item) => {
            let list = array.as_list_view::<i32>();
            rows(ListRows::views(list.offsets(), list.sizes()), list.values(), item, array, field, mask)
        }
        DataType::LargeListView(item) => {
            let list = array.as_list_view::<i64>();
            rows(ListRows::views(list.offsets(), list.sizes()), list.values(), item, array, field, mask)
        }
        DataType::Map(entries, _) => {
            let map = array.as_map();
            let values: ArrayRef = Arc::new(map.entries().clone());
            rows(ListRows::offsets(map.value_offsets()), &values, &never_null(entries), array, field, mask)
        }
        DataType::FixedSizeList(item, size) => {
            let size = usize::try_from(*size).map_err(|_| Error::data(format!("a fixed-size list has the negative size {size}")))?;
            let partition = RowPartition::uniform(size, array.len())?;
            let nulls = NullBuffer::union(array.nulls(), mask).map(|nulls| nulls.expand(size));
            let values = import(array.as_fixed_size_list().values(), item, Role::Item, nulls.as_ref())?;
            Tensor::list(partition, values, validity(array, field, mask)?)
        }
        DataType::Struct(fields) => {
            let nulls = NullBuffer::union(array.nulls(), mask);
            let columns = array
                .as_struct()
                .columns()
                .iter()
                .zip(fields)
                .map(|(column, f)| import(column, f, Role::Field, nulls.as_ref()).map_err(|e| e.in_field(f.name())))
                .collect::<Result<_>>()?;
            Tensor::structure(array.len(), columns, validity(array, field, mask)?)
        }
        DataType::Dictionary(_, values) if values.is_nested() => {
            plain(&spread_out(array)?, &field.clone().with_data_type(values.as_ref().clone()), mask)
        }
        DataType::RunEndEncoded(_, values) if values.data_type().is_nested() => {
            plain(&spread_out(array)?, &field.clone().with_data_type(values.data_type().clone()), mask)
        }
        _ => leaf(array, field, mask),
    }
}

/// The entries of a map. Neither entries nor keys are null, whatever the file declares.
fn never_null(entries: &Field) -> Field {
    entries.clone().with_nullable(false)
}

/// Expands a dictionary or run-end encoding to one value per row.
fn spread_out(array: &ArrayRef) -> Result<ArrayRef> {
    fn runs<R: RunEndIndexType>(array: &ArrayRef) -> Result<ArrayRef> {
        let runs = array.as_any().downcast_ref::<RunArray<R>>().ok_or_else(|| Error::internal("run ends of another width"))?;
        let rows: Vec<u64> = (0..array.len() as u64).collect();
        take(runs.values(), &runs.get_physical_indices(&rows).map_err(unexpected)?)
    }
    check_spread(array)?;
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let keys = if dictionary.values().is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
            take_or_null(dictionary.values(), &keys, dictionary.keys().nulls())
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array),
            DataType::Int32 => runs::<Int32Type>(array),
            _ => runs::<Int64Type>(array),
        },
        _ => Ok(array.clone()),
    }
}

/// The validity of a level; none if the field declares that there are no nulls, which is checked.
fn validity(array: &ArrayRef, field: &Field, mask: Option<&NullBuffer>) -> Result<Option<NullBuffer>> {
    let Some(nulls) = array.logical_nulls().filter(|n| n.null_count() > 0) else { return Ok(None) };
    if field.is_nullable() {
        return Ok(Some(nulls));
    }
    let seen = |row: &usize| nulls.is_null(*row) && mask.is_none_or(|m| m.is_valid(*row));
    match (0..nulls.len()).find(seen) {
        Some(row) => Err(Error::data("found a null in a column that the schema declares without nulls").at_row(row)),
        None => Ok(None),
    }
}

/// The location of each row's items.
enum ListRows {
    /// Consecutive rows: `[nrows + 1]`.
    Offsets(Vec<i64>),
    /// The start and length of each row.
    Views(Vec<(usize, usize)>),
}

impl ListRows {
    fn offsets<O: ArrowNativeType>(offsets: &[O]) -> ListRows {
        ListRows::Offsets(offsets.iter().map(|o| o.as_usize() as i64).collect())
    }

    fn views<O: ArrowNativeType>(offsets: &[O], sizes: &[O]) -> ListRows {
        ListRows::Views(offsets.iter().zip(sizes).map(|(o, s)| (o.as_usize(), s.as_usize())).collect())
    }
}

/// A list level. Rows that are null, directly or because an enclosing row is, become empty.
fn rows(lists: ListRows, values: &ArrayRef, item: &Field, array: &ArrayRef, field: &Field, mask: Option<&NullBuffer>) -> Result<Tensor> {
    let nulls = NullBuffer::union(array.nulls(), mask).filter(|n| n.null_count() > 0);
    let is_null = |row: usize| nulls.as_ref().is_some_and(|n| n.is_null(row));
    let (partition, values) = match lists {
        ListRows::Offsets(offsets) if !(nulls.is_some() && offsets.windows(2).enumerate().any(|(row, w)| w[0] != w[1] && is_null(row))) => {
            let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
            if first < 0 || last < first || last as usize > values.len() {
                return Err(Error::data("list offsets point outside the values"));
            }
            let values = values.slice(first as usize, (last - first) as usize);
            let splits: ScalarBuffer<i64> = if first == 0 { offsets.into() } else { offsets.iter().map(|o| o - first).collect() };
            (RowPartition::from_row_splits(if splits.is_empty() { vec![0].into() } else { splits })?, values)
        }
        ListRows::Offsets(offsets) => {
            let views: Vec<_> = offsets.windows(2).map(|w| (w[0] as usize, w[1].saturating_sub(w[0]) as usize)).collect();
            spread(&views, is_null, values)?
        }
        ListRows::Views(views) => spread(&views, is_null, values)?,
    };
    Tensor::list(partition, import(&values, item, Role::Item, None)?, validity(array, field, mask)?)
}

/// Concatenates the rows' items.
fn spread(views: &[(usize, usize)], is_null: impl Fn(usize) -> bool, values: &ArrayRef) -> Result<(RowPartition, ArrayRef)> {
    let length = |row: usize| if is_null(row) { 0 } else { views[row].1 };
    let partition = RowPartition::from_row_lengths((0..views.len()).map(|row| length(row) as i64))?;
    let outside = |(row, (start, _)): (usize, &(usize, usize))| length(row) > 0 && start.saturating_add(length(row)) > values.len();
    if let Some(row) = views.iter().enumerate().position(outside) {
        return Err(Error::data("a list view points outside the values").at_row(row));
    }
    if partition.nvals() > MAX_SPREAD.max(values.len()) {
        return Err(Error::data(format!(
            "list views of {} values have {} items in total, too many to expand",
            values.len(),
            partition.nvals()
        )));
    }
    let filled = || (0..views.len()).filter(|row| length(*row) > 0);
    let mut end = filled().next().map_or(0, |row| views[row].0);
    let first = end;
    let contiguous = filled().all(|row| std::mem::replace(&mut end, views[row].0 + length(row)) == views[row].0);
    let values = if contiguous {
        values.slice(first, partition.nvals())
    } else {
        take(values, &filled().flat_map(|row| views[row].0..views[row].0 + length(row)).collect::<Vec<_>>())?
    };
    Ok((partition, values))
}

/// Scalars. Strings and bytes get 64-bit offsets; dictionaries and runs are expanded.
fn leaf(array: &ArrayRef, field: &Field, mask: Option<&NullBuffer>) -> Result<Tensor> {
    let target = leaf_type(field.data_type());
    let array = if *array.data_type() == target {
        array.clone()
    } else {
        let array = match array.as_any_dictionary_opt() {
            // The values of a large dictionary are not converted for a few rows.
            Some(dictionary) if !is_large(array) => dictionary.with_values(cast(dictionary.values(), &target)?),
            _ => array.clone(),
        };
        cast(&spread_out(&array)?, &target)?
    };
    if array.null_count() == 0 || field.is_nullable() {
        return Ok(Tensor::Leaf(array));
    }
    validity(&array, field, mask)?;
    let values = array.to_data().into_builder().nulls(None).build().map_err(unexpected)?;
    Ok(Tensor::Leaf(make_array(values)))
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(array, to).map_err(unexpected)
}

/// Whether it is a dictionary of more values than the array has rows.
fn is_large(array: &ArrayRef) -> bool {
    array.as_any_dictionary_opt().is_some_and(|dictionary| dictionary.values().len() > array.len())
}

/// The bytes of the strings that the rows of a dictionary expand to.
fn spread_nbytes(array: &ArrayRef) -> usize {
    fn total<O: ArrowNativeType>(offsets: &[O], keys: &[usize]) -> usize {
        let length = |key: &usize| Some(offsets.get(key + 1)?.as_usize() - offsets.get(*key)?.as_usize());
        keys.iter().filter_map(length).fold(0, usize::saturating_add)
    }
    let dictionary = array.as_any_dictionary();
    let (values, keys) = (dictionary.values(), dictionary.normalized_keys());
    match values.data_type() {
        DataType::Utf8 => total(values.as_string::<i32>().value_offsets(), &keys),
        DataType::Binary => total(values.as_binary::<i32>().value_offsets(), &keys),
        DataType::LargeUtf8 => total(values.as_string::<i64>().value_offsets(), &keys),
        DataType::LargeBinary => total(values.as_binary::<i64>().value_offsets(), &keys),
        _ => array.len().saturating_mul(longest(values)),
    }
}

/// A dictionary of long strings, or a run of any value, can expand to any number of bytes.
fn check_spread(array: &ArrayRef) -> Result<()> {
    if is_large(array) && spread_nbytes(array) <= 16 * MAX_SPREAD {
        return Ok(());
    }
    let values = match array.data_type() {
        DataType::Dictionary(..) => array.as_any_dictionary().values().clone(),
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => array.as_run::<Int16Type>().values().clone(),
            DataType::Int32 => array.as_run::<Int32Type>().values().clone(),
            _ => array.as_run::<Int64Type>().values().clone(),
        },
        _ => return Ok(()),
    };
    let longest = longest(&values);
    match array.len().checked_mul(longest) {
        Some(nbytes) if nbytes <= 16 * MAX_SPREAD => Ok(()),
        _ => Err(Error::data(format!(
            "{} dictionary- or run-end-encoded rows of up to {longest} bytes each are too many to expand",
            array.len()
        ))
        .help("write the column without this encoding")),
    }
}

/// The most bytes that one of these values takes, such as an entry of a dictionary.
pub fn longest(values: &ArrayRef) -> usize {
    let longest = match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().value_offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max(),
        DataType::Binary => values.as_binary::<i32>().value_offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max(),
        DataType::LargeUtf8 => values.as_string::<i64>().value_offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max(),
        DataType::LargeBinary => values.as_binary::<i64>().value_offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max(),
        nested if nested.is_nested() => Some(values.get_buffer_memory_size()),
        _ => Some(16),
    };
    longest.unwrap_or(0)
}

fn sparse(array: &ArrayRef, field: &Field, ndims: usize, mask: Option<&NullBuffer>) -> Result<Tensor> {
    let Tensor::Struct(parts) = plain(array, field, mask)? else { return Err(Error::internal("a sparse tensor is a structure")) };
    let validity = parts.validity().cloned();
    let [indices, values, shape] = <[Tensor; 3]>::try_from(parts.into_fields()).map_err(|_| Error::internal("three components"))?;
    let (indices, values) = (indices.as_list()?, values.as_list()?);
    if indices.partition() != values.partition() {
        let differs = |row: &usize| indices.partition().row_length(*row) != values.partition().row_length(*row);
        return Err(
            Error::data("a sparse tensor has different numbers of indices and values").at_row((0..array.len()).find(differs).unwrap_or(0))
        );
    }
    let numbers = |tensor: &Tensor| -> Result<ScalarBuffer<i64>> {
        Ok(tensor.as_list()?.values().as_leaf()?.as_primitive::<Int64Type>().values().clone())
    };
    let (index_numbers, sizes) = (numbers(indices.values())?, numbers(&shape)?);
    let sparse = Sparse::try_new(ndims, values.partition().clone(), index_numbers, values.values().as_leaf()?.clone(), sizes, validity)?;
    Ok(Tensor::Sparse(sparse))
}

/// Splits one axis into the axes of a tensor of known sizes.
fn split_known(tensor: Tensor, ty: &TensorType) -> Result<Tensor> {
    let Tensor::List(list) = tensor else { return Err(Error::internal("a tensor of known shape is a list")) };
    let (nrows, validity) = (list.partition().nrows(), list.validity().cloned());
    let too_large = || Error::data("the size is too large for this machine");
    let sizes: Option<Vec<usize>> = ty.sizes.iter().map(|size| size.and_then(|size| usize::try_from(size).ok())).collect();
    let mut sizes = sizes.ok_or_else(too_large)?;
    let values = match &ty.permutation {
        None => list.into_values(),
        Some(permutation) => {
            let stored: Vec<Vec<usize>> = sizes.iter().map(|size| vec![*size; nrows]).collect();
            sizes = permutation.iter().map(|axis| sizes[*axis]).collect();
            list.values().gather(&transposed_places(list.partition(), &stored, permutation))?
        }
    };
    let mut levels = Vec::new();
    let mut rows = nrows;
    for size in sizes {
        let partition = RowPartition::uniform(size, rows)?;
        rows = partition.nvals();
        levels.push(partition);
    }
    stack(levels, values, validity)
}

/// Wraps values in list levels, outermost first.
fn stack(levels: Vec<RowPartition>, values: Tensor, validity: Option<NullBuffer>) -> Result<Tensor> {
    let last = levels.len().saturating_sub(1);
    levels
        .into_iter()
        .enumerate()
        .rev()
        .try_fold(values, |below, (i, partition)| Tensor::list(partition, below, if i == 0 { validity.clone() } else { None }))
        .map_err(|e| e.on_axis(last))
}

/// Records with individual shapes: the axes are split according to the `shape` of each.
fn variable_shape(array: &ArrayRef, field: &Field, ty: &TensorType, mask: Option<&NullBuffer>) -> Result<Tensor> {
    let Tensor::Struct(parts) = plain(array, field, mask)? else {
        return Err(Error::internal("a tensor of variable shape is a structure"));
    };
    let validity = parts.validity().cloned();
    let nulls = NullBuffer::union(validity.as_ref(), mask);
    let [flat, shape] = <[Tensor; 2]>::try_from(parts.into_fields()).map_err(|_| Error::internal("data and shape are expected"))?;
    let flat = flat.as_list()?;
    let sizes = shape.as_list()?.values().as_leaf()?.clone();
    let (sizes, rank, nrows) = (sizes.as_primitive::<Int32Type>().values(), ty.rank(), array.len());
    let null = |row: usize| nulls.as_ref().is_some_and(|n| n.is_null(row));
    let size_of = |row: usize, axis: usize| match ty.sizes[axis] {
        Some(size) => usize::try_from(size).ok(),
        None if null(row) => Some(0),
        None => usize::try_from(sizes[row * rank + axis]).ok(),
    };
    let stored_axis = |axis: usize| ty.permutation.as_ref().map_or(axis, |permutation| permutation[axis]);
    let mut counts = vec![1usize; nrows];
    let mut levels = Vec::with_capacity(rank);
    for axis in 0..rank {
        let mut lengths = Vec::new();
        let stored = stored_axis(axis);
        for (row, count) in counts.iter_mut().enumerate() {
            let declared = sizes[row * rank + stored];
            let size =
                size_of(row, stored).ok_or_else(|| Error::data(format!("invalid size {declared} in the shape of a tensor")).at_row(row))?;
            if !null(row) && usize::try_from(declared).ok() != Some(size) {
                return Err(Error::data(format!("found the size {declared} in the shape of a tensor whose type says {size}"))
                    .at_row(row)
                    .on_axis(axis));
            }
            if lengths.len().saturating_add(*count) > MAX_SPREAD {
                return Err(Error::data("the tensor has too many empty rows").at_row(row).on_axis(axis));
            }
            lengths.resize(lengths.len() + *count, size as i64);
            *count = count.checked_mul(size).ok_or_else(|| Error::data("the tensor has too many values").at_row(row))?;
        }
        levels.push(match ty.sizes[stored] {
            Some(size) => RowPartition::uniform(size as usize, lengths.len())?,
            None => RowPartition::from_row_lengths(lengths)?,
        });
    }
    let differs = |row: &usize| counts[*row] != flat.partition().row_length(*row);
    if let Some(row) = (0..nrows).find(differs) {
        let found = flat.partition().row_length(row);
        return Err(Error::data(format!("the shape of a tensor has {} values, but its data has {found}", counts[row])).at_row(row));
    }
    let values = match &ty.permutation {
        None => flat.values().clone(),
        Some(permutation) => {
            let of_axis = |axis| (0..nrows).map(|row| size_of(row, axis).unwrap_or(0)).collect();
            let stored: Vec<Vec<usize>> = (0..rank).map(of_axis).collect();
            flat.values().gather(&transposed_places(flat.partition(), &stored, permutation))?
        }
    };
    stack(levels, values, validity)
}
