//! What is known of each field: its values, and the sizes of its axes.

use super::sizes::Sizes;
use super::values::Values;
use crate::error::{Error, Result};
use crate::path::FieldPath;
use crate::schema::{Element, Field, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// One field and what has been seen of it.
#[derive(Clone, Debug)]
pub struct Summary {
    pub path: FieldPath,
    pub ty: Type,
    /// Whether it is reported; the fields inside may be, all the same.
    pub is_wanted: bool,
    /// Of a structure: how many structures, and how many of them are null.
    pub values: Values,
    /// Of its own axes, or of the dense shape and the number of entries.
    pub axes: Vec<Axis>,
    pub fields: Vec<Summary>,
}

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    pub name: AxisName,
    /// Whether every row has the size that the type says.
    pub is_known: bool,
    /// Rows that are null, and have no size.
    pub nulls: u64,
    pub sizes: Sizes,
}

/// What an axis is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisName {
    /// Its number inside the record, the axes of structures around it counted.
    Number(usize),
    /// The entries of a sparse tensor.
    Entries,
}

impl Summary {
    /// Nothing yet, of a field that stands below `outer` axes.
    pub fn new(field: &Field, parent: Option<&FieldPath>, outer: usize, is_wanted: &dyn Fn(&FieldPath) -> bool) -> Summary {
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
        let fields = inner.map(|f| Summary::new(f, Some(&path), outer + ty.rank(), is_wanted)).collect();
        Summary { is_wanted: is_wanted(&path), path, ty, values: Values::default(), axes, fields }
    }

    /// The same fields, of which nothing has been seen.
    pub fn cleared(&self) -> Summary {
        Summary {
            path: self.path.clone(),
            ty: self.ty.clone(),
            is_wanted: self.is_wanted,
            values: Values::default(),
            axes: self.axes.iter().map(|a| Axis { sizes: Sizes::default(), nulls: 0, ..*a }).collect(),
            fields: self.fields.iter().map(Summary::cleared).collect(),
        }
    }

    fn is_looked_at(&self) -> bool {
        self.is_wanted || self.fields.iter().any(Summary::is_looked_at)
    }

    /// Adds the rows of a column of that type; `present`: those that are there, below structures that are not null.
    /// O(values).
    ///
    /// # Errors
    /// A tensor of another type: an error of ours.
    pub fn add(&mut self, tensor: &Tensor, present: Option<&NullBuffer>) -> Result<()> {
        if !self.is_looked_at() {
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
                    Some(dim) => {
                        usize::try_from(sparse.shape_of(row)[dim]).map_err(|_| Error::data("a size beyond this machine").at_row(row))?
                    }
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

    /// Adds what another of the same fields has seen.
    pub fn merge(&mut self, other: Summary) {
        self.values.merge(other.values);
        for (own, their) in self.axes.iter_mut().zip(other.axes) {
            own.nulls += their.nulls;
            own.sizes.merge(their.sizes);
        }
        self.fields.iter_mut().zip(other.fields).for_each(|(own, their)| own.merge(their));
    }

    /// This field and all inside it that are reported, outside in.
    pub fn wanted<'a>(&'a self, found: &mut Vec<&'a Summary>) {
        if self.is_wanted {
            found.push(self);
        }
        self.fields.iter().for_each(|f| f.wanted(found));
    }

    /// The type as it is printed; structures without their fields, which have lines of their own.
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

/// Which items belong to rows that are there.
fn items(partition: &RowPartition, rows: &NullBuffer) -> NullBuffer {
    let mut bits = BooleanBufferBuilder::new(partition.nvals());
    for row in 0..partition.nrows() {
        bits.append_n(partition.row_length(row), rows.is_valid(row));
    }
    NullBuffer::new(bits.finish())
}
