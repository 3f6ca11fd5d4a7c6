//! The values of one field in many rows, as a tree that mirrors the type.
//!
//! ```text
//! type     {title: string, tokens: int64[?]}[?]          in a chunk of 2 records
//!
//! List     [0 2 3]                        the partition of structures by record
//!   Struct 3 rows
//!     Leaf "a" "b" "c"                    title
//!     List [0 2 2 5]                      the partition of tokens by structure
//!       Leaf 1 2 3 4 5                    tokens
//! ```
//!
//! Each level of the tree is an axis: a [`List`] divides the rows of the level below with a [`RowPartition`]. In a
//! dense tensor all partitions are uniform; in a ragged tensor some are not. All fields of a structure are below the
//! same partition, so partitions are shared by construction and never need to be compared. Flat values are Arrow
//! arrays.
//!
//! There are no separate types for dense, ragged and structured tensors, because any level can have nulls, structures
//! can be nested in structures, and every verb would have to match on all pairs of kinds. In a tree, each level has its
//! own validity, and a verb is a short traversal.
//!
//! Invariants, checked by [`Tensor::check`] and maintained by the constructors:
//! - a list's `partition.nvals()` equals the number of rows of `values`;
//! - a validity has one bit per row, and a null row of a non-uniform list is empty;
//! - all fields of a structure have the structure's number of rows;
//! - a leaf's array has the type of [`DType::arrow`].
//!
//! ```
//! use tatter::tensor::{RowPartition, Tensor};
//! use arrow_array::Int64Array;
//! # use std::sync::Arc;
//! // Two rows of tokens: [7, 8] and [9].
//! let tokens = Tensor::Leaf(Arc::new(Int64Array::from(vec![7, 8, 9])));
//! let rows = Tensor::list(RowPartition::from_row_lengths([2, 1])?, tokens, None)?;
//! assert_eq!(rows.nrows(), 2);
//! assert_eq!(rows.slice(1, 1).as_list()?.values().nrows(), 1);
//! # Ok::<(), tatter::error::Error>(())
//! ```

pub mod arrow;
pub mod batch;
pub mod builder;
pub mod concat;
pub mod empty;
pub mod encoding;
pub mod equal;
pub mod fill;
pub mod gather;
pub mod hash;
pub mod interner;
pub mod ints;
pub mod item_sizes;
pub mod limits;
pub mod literal;
pub mod merge;
pub mod nulls;
pub mod order;
pub mod pad;
pub mod partition;
pub mod runs;
mod shared;
pub mod short;
pub mod sortable;
pub mod sparse;
pub mod sparsify;
pub mod take;
pub mod text;
pub mod text_order;
pub mod time;
pub mod transpose;
pub mod trim;
pub mod widen;

pub use partition::RowPartition;
pub use sparse::Sparse;

use crate::error::{Error, Result};
use crate::schema::{DType, Element, Size, Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use shared::{drop_if_full, empty_nbytes, leaf_nbytes};
use std::cmp::Ordering;
use std::sync::Arc;

/// The values of one field in `nrows` rows.
#[derive(Clone, Debug)]
pub enum Tensor {
    /// One value in each row.
    Leaf(ArrayRef),
    /// A run of items in each row.
    List(List),
    /// A structure in each row.
    Struct(Struct),
    /// A sparse tensor in each row.
    Sparse(Sparse),
}

/// One axis: rows of items.
#[derive(Clone, Debug)]
pub struct List {
    partition: RowPartition,
    validity: Option<NullBuffer>,
    values: Arc<Tensor>,
}

/// Structures, stored by field. The names are in the schema, in the same order.
#[derive(Clone, Debug)]
pub struct Struct {
    nrows: usize,
    validity: Option<NullBuffer>,
    /// Shared, so that a copy of a structure of many fields costs no more than that of one field.
    fields: Arc<Vec<Tensor>>,
}

impl List {
    /// A list level.
    ///
    /// # Errors
    /// The partition does not end at the number of values, or the validity has the wrong length.
    pub fn try_new(partition: RowPartition, values: Tensor, validity: Option<NullBuffer>) -> Result<List> {
        if partition.nvals() != values.nrows() {
            return Err(Error::data(format!("the partition ends at {}, but there are {} values", partition.nvals(), values.nrows())));
        }
        check_validity(validity.as_ref(), partition.nrows())?;
        Ok(List { partition, validity: drop_if_full(validity), values: Arc::new(values) })
    }

    /// The partition of items into rows.
    pub fn partition(&self) -> &RowPartition {
        &self.partition
    }

    /// Which rows are not null; `None` if none is null.
    pub fn validity(&self) -> Option<&NullBuffer> {
        self.validity.as_ref()
    }

    /// The level below: one row for each item.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    /// The level below: moved out if it is not shared, otherwise cloned (cheap).
    pub fn into_values(self) -> Tensor {
        Arc::try_unwrap(self.values).unwrap_or_else(|shared| shared.as_ref().clone())
    }

    /// The same rows with other values, which can have another type. O(1).
    ///
    /// # Errors
    /// The number of values differs.
    pub fn with_values(&self, values: Tensor) -> Result<List> {
        List::try_new(self.partition.clone(), values, self.validity.clone())
    }
}

impl Struct {
    /// Structures with these fields.
    ///
    /// # Errors
    /// A field or the validity has a different number of rows.
    pub fn try_new(nrows: usize, fields: Vec<Tensor>, validity: Option<NullBuffer>) -> Result<Struct> {
        if let Some(field) = fields.iter().find(|f| f.nrows() != nrows) {
            return Err(Error::data(format!("a field has {} rows in {nrows} structures", field.nrows())));
        }
        check_validity(validity.as_ref(), nrows)?;
        Ok(Struct { nrows, validity: drop_if_full(validity), fields: Arc::new(fields) })
    }

    /// Which structures are not null; `None` if none is null.
    pub fn validity(&self) -> Option<&NullBuffer> {
        self.validity.as_ref()
    }

    /// The fields, in schema order.
    pub fn fields(&self) -> &[Tensor] {
        &self.fields
    }

    /// The field at that position, null where the structure is null.
    ///
    /// # Errors
    /// There is no such field.
    pub fn visible_field(&self, position: usize) -> Result<Tensor> {
        let field = self.fields.get(position).ok_or_else(|| Error::internal("no such field"))?;
        match self.validity() {
            None => Ok(field.clone()),
            Some(outer) => field.clone().with_validity(NullBuffer::union(Some(outer), field.validity().as_ref())),
        }
    }

    /// The fields: moved out if they are not shared, otherwise cloned (cheap for each).
    pub fn into_fields(self) -> Vec<Tensor> {
        Arc::unwrap_or_clone(self.fields)
    }

    /// The structures with another tensor at that position, or with one more field at the end. O(1) if they are not shared.
    ///
    /// # Errors
    /// The field has a different number of rows, or fields are missing before it.
    pub fn with_field(mut self, position: usize, field: Tensor) -> Result<Struct> {
        if field.nrows() != self.nrows {
            return Err(Error::data(format!("a field has {} rows in {} structures", field.nrows(), self.nrows)));
        }
        let fields = Arc::make_mut(&mut self.fields);
        match position.cmp(&fields.len()) {
            Ordering::Less => fields[position] = field,
            Ordering::Equal => fields.push(field),
            Ordering::Greater => return Err(Error::internal("no such field")),
        }
        Ok(self)
    }

    /// The structures with the field at that position changed. O(1), and the field is not shared, if they are not shared.
    ///
    /// # Errors
    /// Errors of `change`; there is no such field, or it gets a different number of rows.
    pub fn map_field(mut self, position: usize, change: impl FnOnce(Tensor) -> Result<Tensor>) -> Result<Struct> {
        let fields = Arc::make_mut(&mut self.fields);
        let field = fields.get_mut(position).ok_or_else(|| Error::internal("no such field"))?;
        let own = std::mem::replace(field, Tensor::Leaf(Arc::new(arrow_array::NullArray::new(0))));
        self.with_field(position, change(own)?)
    }

    /// The structures without the field at that position.
    ///
    /// # Errors
    /// There is no such field.
    pub fn without_field(mut self, position: usize) -> Result<Struct> {
        if position >= self.fields.len() {
            return Err(Error::internal("no such field"));
        }
        Arc::make_mut(&mut self.fields).remove(position);
        Ok(self)
    }
}

impl Tensor {
    /// A list level; see [`List::try_new`].
    ///
    /// # Errors
    /// See [`List::try_new`].
    pub fn list(partition: RowPartition, values: Tensor, validity: Option<NullBuffer>) -> Result<Tensor> {
        Ok(Tensor::List(List::try_new(partition, values, validity)?))
    }

    /// Structures; see [`Struct::try_new`].
    ///
    /// # Errors
    /// See [`Struct::try_new`].
    pub fn structure(nrows: usize, fields: Vec<Tensor>, validity: Option<NullBuffer>) -> Result<Tensor> {
        Ok(Tensor::Struct(Struct::try_new(nrows, fields, validity)?))
    }

    /// Number of rows. O(1).
    pub fn nrows(&self) -> usize {
        match self {
            Tensor::Leaf(array) => array.len(),
            Tensor::List(list) => list.partition.nrows(),
            Tensor::Struct(s) => s.nrows,
            Tensor::Sparse(s) => s.nrows(),
        }
    }

    /// Which rows of this level are not null; `None` if none is null. A leaf of dtype null has only nulls.
    pub fn validity(&self) -> Option<NullBuffer> {
        match self {
            // A union itself has no nulls; only its members do.
            Tensor::Leaf(array) if matches!(array.data_type(), arrow_schema::DataType::Union(..)) => None,
            Tensor::Leaf(array) => array.logical_nulls().filter(|n| n.null_count() > 0),
            Tensor::List(list) => list.validity.clone(),
            Tensor::Struct(s) => s.validity.clone(),
            Tensor::Sparse(s) => s.validity().cloned(),
        }
    }

    /// The same rows with another validity. List rows that become null must be empty; a leaf of dtype null stays as it is.
    /// Values are shared; O(rows) to count the nulls.
    ///
    /// # Errors
    /// The validity has the wrong length.
    pub fn with_validity(self, validity: Option<NullBuffer>) -> Result<Tensor> {
        check_validity(validity.as_ref(), self.nrows())?;
        Ok(match self {
            Tensor::Leaf(array) if array.data_type() == &arrow_schema::DataType::Null => Tensor::Leaf(array),
            Tensor::Leaf(array) => {
                let data = array.to_data().into_builder().nulls(validity);
                Tensor::Leaf(arrow_array::make_array(data.build().map_err(|e| Error::data(e.to_string()))?))
            }
            Tensor::List(list) => Tensor::List(List { validity: drop_if_full(validity), ..list }),
            Tensor::Struct(s) => Tensor::Struct(Struct { validity: drop_if_full(validity), ..s }),
            Tensor::Sparse(s) => Tensor::Sparse(s.with_validity(validity)?),
        })
    }

    /// The first row that is null itself. O(rows).
    pub fn first_own_null(&self) -> Option<usize> {
        self.validity().and_then(|v| (0..v.len()).find(|i| v.is_null(*i)))
    }

    /// The first row that is null or contains a null at any level. O(rows of all levels).
    pub fn first_null_row(&self) -> Option<usize> {
        let inner = match self {
            Tensor::List(list) => list.values.first_null_row().map(|value| row_of(&list.partition, value)),
            Tensor::Struct(s) => s.fields.iter().filter_map(Tensor::first_null_row).min(),
            Tensor::Leaf(_) => None,
            Tensor::Sparse(s) => s.first_null_value().map(|value| row_of(s.entries(), value)),
        };
        self.first_own_null().into_iter().chain(inner).min()
    }

    /// The first row with a null list among the items of the first `axes` axes but the last. O(rows of these levels).
    pub fn first_null_list(&self, axes: usize) -> Option<usize> {
        let Tensor::List(list) = self else { return None };
        if axes < 2 || !matches!(*list.values, Tensor::List(_)) {
            return None;
        }
        let own = list.values.first_own_null();
        own.into_iter().chain(list.values.first_null_list(axes - 1)).min().map(|value| row_of(&list.partition, value))
    }

    /// Rows `start .. start + len`. Zero-copy for values; partitions are rebased, O(rows).
    pub fn slice(&self, start: usize, len: usize) -> Tensor {
        if start == 0 && len == self.nrows() {
            return self.clone();
        }
        match self {
            Tensor::Leaf(array) => Tensor::Leaf(array.slice(start, len)),
            Tensor::List(list) => {
                let (partition, values) = list.partition.slice(start..start + len);
                let values = list.values.slice(values.start, values.len());
                Tensor::List(List {
                    partition: partition.with_sizes_of(&values, &[list], (start..start + len).map(|row| (list, row))),
                    validity: drop_if_full(list.validity.as_ref().map(|v| v.slice(start, len))),
                    values: Arc::new(values),
                })
            }
            Tensor::Struct(s) => Tensor::Struct(Struct {
                nrows: len,
                validity: drop_if_full(s.validity.as_ref().map(|v| v.slice(start, len))),
                fields: Arc::new(s.fields.iter().map(|f| f.slice(start, len)).collect()),
            }),
            Tensor::Sparse(s) => Tensor::Sparse(s.slice(start, len)),
        }
    }

    /// The list level, or an error that names the actual kind.
    ///
    /// # Errors
    /// This is not a list.
    pub fn as_list(&self) -> Result<&List> {
        match self {
            Tensor::List(list) => Ok(list),
            _ => Err(Error::data("the tensor has no axis to operate on")),
        }
    }

    /// The flat values, one per row. O(1).
    ///
    /// # Errors
    /// This is not a leaf.
    pub fn as_leaf(&self) -> Result<&ArrayRef> {
        match self {
            Tensor::Leaf(array) => Ok(array),
            _ => Err(Error::data("expected scalars")),
        }
    }

    /// The structures, one per row. O(1).
    ///
    /// # Errors
    /// This is not a structure.
    pub fn as_struct(&self) -> Result<&Struct> {
        match self {
            Tensor::Struct(s) => Ok(s),
            _ => Err(Error::data("expected structures")),
        }
    }

    /// The partitions of the first `levels` list levels, outermost first, and the tensor below them. O(levels).
    ///
    /// # Errors
    /// There are fewer levels.
    pub fn levels(&self, levels: usize) -> Result<(Vec<&RowPartition>, &Tensor)> {
        let (mut partitions, mut below) = (Vec::with_capacity(levels), self);
        for _ in 0..levels {
            let list = below.as_list()?;
            partitions.push(&list.partition);
            below = &list.values;
        }
        Ok((partitions, below))
    }

    /// The same first `levels` list levels, with `change` applied to the tensor below them. O(levels) and the cost of
    /// `change`.
    ///
    /// # Errors
    /// There are fewer levels, `change` fails, or it returns a different number of rows.
    pub fn map_below(&self, levels: usize, change: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        if levels == 0 {
            return change(self);
        }
        let list = self.as_list()?;
        Ok(Tensor::List(list.with_values(list.values.map_below(levels - 1, change)?)?))
    }

    /// The same rows with a uniform partition, as a known size requires. O(rows).
    ///
    /// # Errors
    /// Not a list, or a row has a different length; the error names the row.
    pub fn with_row_length(self, length: usize) -> Result<Tensor> {
        let list = self.as_list()?;
        if list.partition.uniform_row_length() == Some(length) {
            return Ok(self);
        }
        if let Some(row) = (0..self.nrows()).find(|row| list.partition.row_length(*row) != length) {
            let error = format!("has {} items; expected {length}", list.partition.row_length(row));
            return Err(Error::data(error).at_row(row));
        }
        let partition = RowPartition::uniform(length, self.nrows())?;
        Tensor::list(partition, list.values.as_ref().clone(), list.validity.clone())
    }

    /// Approximate memory of the values and partitions of these rows in bytes. It is a sum over the rows that does not
    /// depend on chunks or encoding, so sizes of outputs can depend on it.
    pub fn nbytes(&self) -> usize {
        match self {
            Tensor::Leaf(array) => leaf_nbytes(array),
            Tensor::List(list) => list.values.nbytes() + size_of::<i64>() * self.nrows(),
            Tensor::Struct(s) => s.fields.iter().map(Tensor::nbytes).sum(),
            Tensor::Sparse(s) => s.nbytes(),
        }
    }

    /// The part of [`Tensor::nbytes`] that nulls take, of leaves and lists.
    pub fn null_nbytes(&self) -> usize {
        let count = |nulls: Option<&NullBuffer>| nulls.map_or(0, NullBuffer::null_count);
        match self {
            Tensor::Leaf(array) => count(array.nulls()) * empty_nbytes(array.data_type()),
            Tensor::List(list) => count(list.validity()) * size_of::<i64>() + list.values.null_nbytes(),
            Tensor::Struct(s) => s.fields.iter().map(Tensor::null_nbytes).sum(),
            Tensor::Sparse(_) => 0,
        }
    }

    /// Checks this tensor against a type: levels, sizes, dtypes, fields.
    ///
    /// # Errors
    /// A difference, which is a bug, because data is checked earlier.
    pub fn check(&self, ty: &Type) -> Result<()> {
        self.check_level(ty, ty.list_dims().len(), true)
    }

    fn check_level(&self, ty: &Type, levels: usize, outer: bool) -> Result<()> {
        let may_be_null = if outer { ty.optional } else { ty.with_nulls };
        if !may_be_null && !matches!(ty.dtype(), Some(DType::Null)) && self.validity().is_some() {
            return Err(Error::data("contains a null, which its type does not allow"));
        }
        if levels > 0 {
            let Tensor::List(list) = self else {
                return Err(Error::data(format!("lacks {levels} of its axes")));
            };
            let dims = ty.list_dims();
            if let Size::Known(size) = dims[dims.len() - levels].size
                && list.partition.uniform_row_length() != Some(size as usize)
            {
                return Err(Error::data(format!("has rows that are not partitioned as the known size {size}")));
            }
            return list.values.check_level(ty, levels - 1, false);
        }
        match (self, &ty.element) {
            (Tensor::Leaf(array), Element::Value(dtype)) if *array.data_type() == dtype.arrow() => Ok(()),
            (Tensor::Struct(s), Element::Struct(fields)) if s.fields.len() == fields.len() => {
                s.fields.iter().zip(fields).try_for_each(|(t, f)| t.check(&f.ty).map_err(|e| e.in_field(&f.name)))
            }
            (Tensor::Sparse(s), Element::Sparse(dtype)) if *s.values().data_type() == dtype.arrow() && s.ndims() == ty.rank() => Ok(()),
            (found, _) => Err(Error::data(format!("does not match its type {ty}: {}", found.kind_name()))),
        }
    }

    fn kind_name(&self) -> String {
        match self {
            Tensor::Leaf(array) => format!("values of Arrow type {}", array.data_type()),
            Tensor::List(_) => "a list".to_owned(),
            Tensor::Struct(s) => format!("a structure of {} fields", s.fields.len()),
            Tensor::Sparse(s) => format!("a sparse tensor of rank {}", s.ndims()),
        }
    }
}

/// The row that contains value `value`. O(log nrows).
pub fn row_of(partition: &RowPartition, value: usize) -> usize {
    let (mut low, mut high) = (0, partition.nrows());
    while high - low > 1 {
        let middle = low.midpoint(high);
        if partition.start(middle) <= value { low = middle } else { high = middle }
    }
    low
}

fn check_validity(validity: Option<&NullBuffer>, nrows: usize) -> Result<()> {
    match validity {
        Some(v) if v.len() != nrows => Err(Error::data(format!("a validity of {} bits for {nrows} rows", v.len()))),
        _ => Ok(()),
    }
}
