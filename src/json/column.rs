//! The column of any type: a tree of lists, objects, leaves and sparse tensors.

use super::builder::{BuildOptions, Builder, LateErrors};
use super::cursor::Cursor;
use super::error::Parse;
use super::leaf::Leaf;
use super::list::List;
use super::map::MapColumn;
use super::object::Object;
use super::rules::Rules;
use super::sparse::SparseColumn;
use super::union::UnionColumn;
use crate::error::{Error, Result};
use crate::schema::{DType, Element, Field, Type};
use crate::tensor::Tensor;
use arrow_schema::DataType;

/// A column under construction.
pub enum Column {
    /// Single values.
    Leaf(Leaf),
    /// One axis.
    List(Box<List<Column>>),
    /// Structures.
    Object(Box<Object<Column>>),
    /// Maps with string keys.
    Map(Box<MapColumn<Column>>),
    /// Sparse tensors.
    Sparse(Box<SparseColumn>),
    /// Arrow's unions.
    Union(Box<UnionColumn<Column>>),
}

/// Calls a method of the column, whatever its kind.
macro_rules! each {
    ($column:expr, $name:ident => $body:expr) => {
        match $column {
            Column::Leaf($name) => $body,
            Column::List($name) => $body,
            Column::Object($name) => $body,
            Column::Map($name) => $body,
            Column::Sparse($name) => $body,
            Column::Union($name) => $body,
        }
    };
}

/// Whether `--schema` reads objects as maps.
fn string_keys(declared: Option<&Field>, ty: &Type) -> bool {
    let key = declared.filter(|said| said.ty.rank() == ty.rank()).and_then(Field::map_fields).map(|(key, _)| &key.ty);
    key.is_some_and(|key| key.element == Element::Value(DType::String) && key.dims.is_empty())
}

impl Builder for Column {
    fn of(ty: &Type, declared: Option<&Field>, options: BuildOptions) -> Result<Column> {
        let outer = Rules { nullable: ty.optional, declared: declared.is_some(), first_wins: options.first_wins };
        let inner = Rules { nullable: ty.with_nulls, ..outer };
        let mut dims = ty.list_dims();
        let innermost = if dims.is_empty() { outer } else { inner };
        let mut column = match &ty.element {
            Element::Value(DType::Arrow(arrow)) if matches!(arrow.as_ref(), DataType::Union(..)) => {
                Column::Union(Box::new(UnionColumn::new(arrow, innermost, options)?))
            }
            Element::Value(dtype) => Column::Leaf(Leaf::new(dtype, innermost)?),
            Element::Sparse(dtype) => Column::Sparse(Box::new(SparseColumn::new(ty, dtype, outer)?)),
            Element::Struct(fields) if string_keys(declared, ty) => {
                // The innermost axis is the axis of entries.
                dims = &dims[..dims.len() - 1];
                let rules = if dims.is_empty() { outer } else { inner };
                let fields = (fields.last(), declared.and_then(|f| f.ty.fields()?.last()));
                let (Some(value), said) = fields else { return Err(Error::internal("a map without values")) };
                Column::Map(Box::new(MapColumn::new(rules, Column::of(&value.ty, said, options)?)))
            }
            Element::Struct(fields) => {
                let declared = declared.and_then(|f| f.ty.fields()).unwrap_or(&[]);
                Column::Object(Box::new(Object::new(fields, innermost, BuildOptions { declared, ..options })?))
            }
        };
        let mut uniform_below = false;
        for (axis, dim) in dims.iter().enumerate().rev() {
            let rules = if axis == 0 { outer } else { inner };
            let list = List::new(rules, axis, dim, uniform_below, column);
            uniform_below |= list.is_uniform();
            column = Column::List(Box::new(list));
        }
        Ok(column)
    }

    fn nrows(&self) -> usize {
        each!(self, column => column.nrows())
    }

    #[inline]
    fn read(&mut self, cursor: &mut Cursor) -> Parse<()> {
        each!(self, column => column.read(cursor))
    }

    fn read_elements(&mut self, cursor: &mut Cursor) -> Parse<()> {
        each!(self, column => column.read_elements(cursor))
    }

    fn leaf_dtype(&self) -> Option<&DType> {
        if let Column::Leaf(leaf) = self { Some(leaf.dtype()) } else { None }
    }

    fn nullable(&self) -> bool {
        each!(self, column => column.nullable())
    }

    fn declared(&self) -> bool {
        each!(self, column => column.declared())
    }

    fn expected(&self) -> &'static str {
        each!(self, column => column.expected())
    }

    fn push_null(&mut self) {
        each!(self, column => column.push_null())
    }

    fn push_nulls(&mut self, n: usize) {
        match self {
            Column::Leaf(leaf) => leaf.push_nulls(n),
            Column::List(list) => list.push_nulls(n),
            Column::Object(object) => object.push_nulls(n),
            Column::Map(_) | Column::Sparse(_) | Column::Union(_) => (0..n).for_each(|_| self.push_null()),
        }
    }

    fn push_blank(&mut self) {
        each!(self, column => column.push_blank())
    }

    fn truncate(&mut self, nrows: usize) {
        each!(self, column => column.truncate(nrows))
    }

    fn reserve(&mut self, nrows: usize) {
        match self {
            Column::Leaf(leaf) => leaf.reserve(nrows),
            Column::List(list) => list.reserve(nrows),
            Column::Object(object) => object.reserve(nrows),
            Column::Map(_) | Column::Sparse(_) | Column::Union(_) => {}
        }
    }

    fn reserve_as_before(&mut self, seen: usize, left: usize) {
        match self {
            Column::Leaf(leaf) => leaf.reserve_as_before(seen, left),
            Column::List(list) => list.reserve_as_before(seen, left),
            Column::Object(object) => object.reserve_as_before(seen, left),
            Column::Map(_) | Column::Sparse(_) | Column::Union(_) => {}
        }
    }

    fn forget_sizes(&mut self) {
        if let Column::List(list) = self {
            list.forget_sizes();
        }
    }

    fn finish(self, late: &mut LateErrors) -> Result<Tensor> {
        each!(self, column => column.finish(late))
    }
}
