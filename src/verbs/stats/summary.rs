//! The summary of a field: its values, and the sizes of its axes.

use super::sizes::Sizes;
use super::top::Top;
use super::values::ValueSummary;
use crate::error::{Error, Result};
use crate::path::FieldPath;
use crate::schema::{Element, Field, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// The summary of one field.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The field.
    pub path: FieldPath,
    /// Its type.
    pub ty: Type,
    /// Whether it is reported. Fields inside it may be reported even if it is not.
    pub is_wanted: bool,
    /// Its values. For structures, only the counts of values and nulls.
    pub values: ValueSummary,
    /// Its own axes. For a sparse tensor, the entries and the axes of the dense shape.
    pub axes: Vec<Axis>,
    /// The fields of a structure.
    pub fields: Vec<Summary>,
}

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Which axis.
    pub name: AxisName,
    /// Whether the type fixes the size of every row.
    pub is_known: bool,
    /// Number of null rows, which have no size.
    pub nulls: u64,
    /// The sizes of its rows.
    pub sizes: Sizes,
}

/// The name of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisName {
    /// Its number within the record, axes of enclosing structures included.
    Number(usize),
    /// The entries of a sparse tensor.
    Entries,
}

impl Summary {
    /// An empty summary of a field inside structures with `outer` axes. `top` is an empty sketch.
    pub fn new(field: &Field, parent: Option<&FieldPath>, outer: usize, top: &Top, is_wanted: &dyn Fn(&FieldPath) -> bool) -> Summary {
        let path = parent.map_or_else(|| FieldPath::name(&field.name), |p| p.join(&field.name));
        let ty = field.ty.clone();
        let axis = |(number, dim): (usize, &crate::schema::Dim)| Axis {
            name: AxisName::Number(outer + number),
            is_known: matches!(dim.size, Size::Known(_)),
            nulls: 0,
            sizes: Sizes::default(),
        };
        let entries = ty.is_sparse().then(|| Axis { name: AxisName::Entries, is_known: false, nulls: 0, sizes: Sizes::default() });
        let axes = entries.into_iter().chain(ty.dims.iter().enumerate().map(axis)).collect();
        let inner = ty.fields().unwrap_or(&[]).iter();
        let fields = inner.map(|f| Summary::new(f, Some(&path), outer + ty.rank(), top, is_wanted)).collect();
        Summary { is_wanted: is_wanted(&path), path, ty, values: ValueSummary::new(top.clone()), axes, fields }
    }

    /// An empty summary of the same field, for a part of the records that will be merged in order.
    pub fn part(&self) -> Summary {
        Summary {
            path: self.path.clone(),
            ty: self.ty.clone(),
            is_wanted: self.is_wanted,
            values: ValueSummary::new(self.values.top.part()),
            axes: self.axes.iter().map(|a| Axis { sizes: Sizes::default(), nulls: 0, ..*a }).collect(),
            fields: self.fields.iter().map(Summary::part).collect(),
        }
    }

    /// As [`ValueSummary::wait`], for the values of all fields in it.
    pub fn wait(&mut self, most: usize) {
        self.values.wait(most);
        self.fields.iter_mut().for_each(|field| field.wait(most));
    }

    /// As [`ValueSummary::end`], for the values of all fields in it.
    ///
    /// # Errors
    /// As [`Summary::add`].
    pub fn end(&mut self) -> Result<()> {
        self.values.end()?;
        self.fields.iter_mut().try_for_each(Summary::end)
    }

    fn is_examined(&self) -> bool {
        self.is_wanted || self.fields.iter().any(Summary::is_examined)
    }

    /// Adds the rows of a column of that type. `present` marks rows inside structures that are not null. O(values).
    ///
    /// # Errors
    /// A tensor whose type does not match, which is a bug.
    pub fn add(&mut self, tensor: &Tensor, present: Option<&NullBuffer>) -> Result<()> {
        if !self.is_examined() {
            return Ok(());
        }
        if let Tensor::Sparse(sparse) = tensor {
            return self.add_sparse(sparse, present);
        }
        let (mut at, mut present) = (tensor, present.cloned());
        for axis in &mut self.axes {
            let list = at.as_list()?;
            let valid = NullBuffer::union(present.as_ref(), list.validity());
            match &valid {
                None => axis.sizes.add_partition(list.partition()),
                Some(valid) => {
                    let there = present.as_ref().map_or(valid.len(), |p| p.len() - p.null_count());
                    let rows = valid.valid_indices();
                    rows.for_each(|row| axis.sizes.add(list.partition().row_length(row)));
                    axis.nulls += (there - (valid.len() - valid.null_count())) as u64;
                }
            }
            present = valid.map(|valid| items(list.partition(), &valid));
            at = list.values();
        }
        match at {
            Tensor::Struct(s) => {
                let valid = NullBuffer::union(present.as_ref(), s.validity());
                let there = present.as_ref().map_or(at.nrows(), |p| p.len() - p.null_count());
                let count = valid.as_ref().map_or(at.nrows(), |v| v.len() - v.null_count());
                self.values.count += count as u64;
                self.values.nulls += (there - count) as u64;
                self.fields.iter_mut().zip(s.fields()).try_for_each(|(field, tensor)| field.add(tensor, valid.as_ref()))
            }
            other => self.add_values(other.as_leaf()?, present.as_ref()),
        }
    }

    fn add_values(&mut self, array: &ArrayRef, present: Option<&NullBuffer>) -> Result<()> {
        match present.filter(|p| p.null_count() > 0) {
            None => self.values.add(array),
            Some(present) => {
                let rows: Vec<usize> = present.valid_indices().collect();
                self.values.add(&crate::tensor::gather::take(array, &rows)?)
            }
        }
    }

    fn add_sparse(&mut self, sparse: &crate::tensor::Sparse, present: Option<&NullBuffer>) -> Result<()> {
        let valid = NullBuffer::union(present, sparse.validity());
        let mut values = Vec::new();
        for row in 0..sparse.nrows() {
            let is_there = present.is_none_or(|p| p.is_valid(row));
            let is_valid = valid.as_ref().is_none_or(|v| v.is_valid(row));
            for (number, axis) in self.axes.iter_mut().enumerate() {
                if !is_valid {
                    axis.nulls += u64::from(is_there);
                    continue;
                }
                let size = match number.checked_sub(1) {
                    None => sparse.entries().row_length(row),
                    Some(dim) => usize::try_from(sparse.shape_of(row)[dim])
                        .map_err(|_| Error::data("the size is too large for this machine").at_row(row))?,
                };
                axis.sizes.add(size);
            }
            if is_valid && valid.is_some() {
                values.extend(sparse.entries().range(row));
            }
        }
        match valid {
            None => self.values.add(sparse.values()),
            Some(_) => self.values.add(&crate::tensor::gather::take(sparse.values(), &values)?),
        }
    }

    /// Adds another summary of the same field.
    pub fn merge(&mut self, other: Summary) {
        self.values.merge(other.values);
        for (own, their) in self.axes.iter_mut().zip(other.axes) {
            own.nulls += their.nulls;
            own.sizes.merge(their.sizes);
        }
        self.fields.iter_mut().zip(other.fields).for_each(|(own, their)| own.merge(their));
    }

    /// The reported fields among this field and all fields inside it, outer fields first.
    pub fn wanted<'a>(&'a self, found: &mut Vec<&'a Summary>) {
        if self.is_wanted {
            found.push(self);
        }
        self.fields.iter().for_each(|f| f.wanted(found));
    }

    /// Number of fields, including this one.
    pub fn len(&self) -> usize {
        1 + self.fields.iter().map(Summary::len).sum::<usize>()
    }

    /// Number of leaf fields, including this one if it is not a structure.
    pub fn nleaves(&self) -> usize {
        if self.fields.is_empty() { 1 } else { self.fields.iter().map(Summary::nleaves).sum() }
    }

    /// The type as printed. Structures are printed without their fields, which have separate lines.
    pub fn type_text(&self) -> String {
        match &self.ty.element {
            Element::Struct(_) => {
                let inside = Type { element: Element::Struct(Vec::new()), ..self.ty.clone() }.to_string();
                inside.replacen("{}", "{..}", 1)
            }
            _ => self.ty.to_string(),
        }
    }
}

/// Marks the items of marked rows.
fn items(partition: &RowPartition, rows: &NullBuffer) -> NullBuffer {
    let mut bits = BooleanBufferBuilder::new(partition.nvals());
    for row in 0..partition.nrows() {
        bits.append_n(partition.row_length(row), rows.is_valid(row));
    }
    NullBuffer::new(bits.finish())
}
