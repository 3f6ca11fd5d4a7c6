//! The columns of one file, made to fit the schema of the run: chosen, named, retyped, filled up.
//!
//! Parquet, Arrow and files of arrays know their types, but several files are read under one schema, and `--schema`
//! may ask for other types than the file has.

use crate::chunk::{Chunk, Origin};
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::{Field, Schema, Type, unify};
use crate::tensor::Tensor;
use crate::tensor::arrow::from_arrow;
use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

/// The schema of a file, overridden by `--schema`. A column that another field is read `from`
/// is not a separate field, unless it is named, too.
pub fn declared_over(declared: &Schema, mut found: Schema) -> Schema {
    let is_source = |name: &String| declared.fields.iter().any(|f| f.source.values.as_ref() == Some(name));
    found.fields.retain(|f| !is_source(&f.name) || declared.index_of(&f.name).is_some());
    unify::overlay(declared, &found)
}

/// How the chunks of one file are made.
pub struct Columns {
    columns: Vec<Column>,
    roots: Vec<usize>,
}

struct Column {
    /// The position among the columns that are read, and its type; `None`: the file does not have it.
    source: Option<(usize, Type)>,
    target: Field,
}

impl Columns {
    /// The wanted fields of `schema` out of the fields of a file.
    ///
    /// # Errors
    /// A source that only features have (`split by`, `at`); a field that the file lacks and that may not be null.
    pub fn plan(found: &[Field], schema: &Schema, wanted: &Wanted) -> Result<Columns> {
        let (mut columns, mut roots) = (Vec::new(), Vec::new());
        for target in schema.fields.iter().filter(|f| wanted.includes(&f.name)) {
            if !target.source.split_by.is_empty() || !target.source.at.is_empty() {
                return Err(Error::usage("`split by` and `at` combine features of TFRecords; a column holds whole values")
                    .in_field(quoted(&target.name))
                    .help("give only the type, and combine the columns with the verb partition or compose"));
            }
            let name = target.source.values.as_ref().unwrap_or(&target.name);
            let source = match found.iter().position(|f| f.name == *name) {
                None => None,
                Some(position) => {
                    let place = roots.iter().position(|r| *r == position).unwrap_or_else(|| {
                        roots.push(position);
                        roots.len() - 1
                    });
                    Some((place, found[position].ty.clone()))
                }
            };
            if source.is_none() && !target.ty.optional && target.default.is_none() {
                return Err(Error::data(format!("there is no column {}", quoted(name))).in_field(quoted(&target.name)).help(format!(
                    "--schema '{}: optional {}' reads it as null",
                    quoted(&target.name),
                    target.ty
                )));
            }
            columns.push(Column { source, target: target.clone() });
        }
        // Columns are read in the order of the file.
        let mut order: Vec<usize> = (0..roots.len()).collect();
        order.sort_by_key(|place| roots[*place]);
        for column in &mut columns {
            if let Some((place, _)) = &mut column.source {
                *place = order.iter().position(|p| p == place).unwrap_or(0);
            }
        }
        roots.sort_unstable();
        Ok(Columns { columns, roots })
    }

    /// The columns of the file that are read, in its order.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The chunk of the columns that `read` gives, by their place among [`Columns::roots`].
    ///
    /// # Errors
    /// The data does not match its schema, or the requested types.
    pub fn chunk(&self, nrows: usize, origin: Origin, read: impl Fn(usize) -> Result<Tensor>) -> Result<Chunk> {
        let columns = self
            .columns
            .iter()
            .map(|column| column.read(&read, nrows).map_err(|e| origin.resolve(e.in_field(quoted(&column.target.name)), nrows)));
        let columns = columns.collect::<Result<_>>()?;
        Chunk::try_new(nrows, columns, origin)
    }

    /// The chunk of `arrays`, which are those of [`Columns::roots`]; `fields` are all of the file.
    ///
    /// # Errors
    /// See [`Columns::chunk`].
    pub fn chunk_of_arrays(&self, arrays: &[ArrayRef], fields: &[FieldRef], nrows: usize, origin: Origin) -> Result<Chunk> {
        self.chunk(nrows, origin, |place| match (arrays.get(place), self.roots.get(place).and_then(|root| fields.get(*root))) {
            (Some(array), Some(field)) => from_arrow(array, field),
            _ => Err(Error::data("a column is missing")),
        })
    }

    /// A chunk of no records.
    ///
    /// # Errors
    /// None for types of tensors in memory.
    pub fn empty(&self, origin: Origin) -> Result<Chunk> {
        let columns = self.columns.iter().map(|column| Tensor::empty(&column.target.ty)).collect::<Result<_>>()?;
        Chunk::try_new(0, columns, origin)
    }
}

impl Column {
    fn read(&self, read: impl Fn(usize) -> Result<Tensor>, nrows: usize) -> Result<Tensor> {
        let ty = &self.target.ty;
        let Some((place, from)) = &self.source else {
            return self.filled(Tensor::nulls(&ty.clone().with_optional(true), nrows)?);
        };
        let read = read(*place)?;
        if self.target.default.is_some() {
            return self.filled(read.widen(from, &ty.clone().with_optional(true))?);
        }
        read.widen(from, ty)
    }

    /// Null rows take the default of the field.
    fn filled(&self, tensor: Tensor) -> Result<Tensor> {
        match &self.target.default {
            None => Ok(tensor),
            Some(default) => tensor.fill_null_rows(&self.target.ty, default),
        }
    }
}
