//! Adapts the columns of a file to the schema of the run: selects, renames, casts and fills them.
//!
//! Parquet, Arrow and files of arrays declare their types, but several files are read under one schema, and `--schema`
//! can request other types.

use crate::chunk::{Chunk, Origin};
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::{Field, Schema, Type, unify};
use crate::tensor::Tensor;
use crate::tensor::arrow::from_arrow;
use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

/// The schema of a file, overridden by `--schema`. A column that another field is read `from` is not a separate field,
/// unless it is named too.
pub fn declared_over(declared: &Schema, mut found: Schema) -> Schema {
    let is_source = |name: &String| declared.fields.iter().any(|f| f.source.values.as_ref() == Some(name));
    found.fields.retain(|f| !is_source(&f.name) || declared.index_of(&f.name).is_some());
    unify::overlay(declared, &found)
}

/// How the chunks of one file are built.
pub struct Columns {
    columns: Vec<Column>,
    roots: Vec<usize>,
}

struct Column {
    /// The position among the columns read, and its type; `None` if the file does not have the column.
    source: Option<(usize, Type)>,
    target: Field,
}

impl Columns {
    /// Selects the required fields of `schema` from the fields of a file.
    ///
    /// # Errors
    /// A source that only TFRecord features have (`split by`, `at`), or a missing field that must not be null.
    pub fn plan(found: &[Field], schema: &Schema, wanted: &Wanted) -> Result<Columns> {
        let (mut columns, mut roots, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for target in schema.fields.iter().filter(|f| wanted.includes(&f.name)) {
            if !target.source.split_by.is_empty() || !target.source.at.is_empty() {
                return Err(Error::usage("`split by` and `at` combine features of TFRecords; a column contains whole values")
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
                missing.push(target);
            }
            columns.push(Column { source, target: target.clone() });
        }
        if let Some(first) = missing.first() {
            let name = first.source.values.as_ref().unwrap_or(&first.name);
            let declared = |target: &&Field| match &target.source.values {
                Some(source) => format!("{}: optional {} from {}", quoted(&target.name), target.ty, quoted(source)),
                None => format!("{}: optional {}", quoted(&target.name), target.ty),
            };
            let all: Vec<String> = missing.iter().map(declared).collect();
            let it = if missing.len() == 1 { "it" } else { "them" };
            return Err(Error::data(format!("there is no column {}", quoted(name)))
                .in_field(quoted(&first.name))
                .help(format!("--schema '{}' reads {it} as null", all.join("; "))));
        }
        // Columns are read in file order.
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

    /// The columns read from the file, in file order.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The chunk of the columns returned by `read`, given their index in [`Columns::roots`].
    ///
    /// # Errors
    /// The data does not match its schema or the requested types.
    pub fn chunk(&self, nrows: usize, origin: Origin, read: impl Fn(usize) -> Result<Tensor>) -> Result<Chunk> {
        let columns = self
            .columns
            .iter()
            .map(|column| column.read(&read, nrows).map_err(|e| origin.resolve(e.in_field(quoted(&column.target.name)), nrows)));
        let columns = columns.collect::<Result<_>>()?;
        Chunk::try_new(nrows, columns, origin)
    }

    /// The chunk of `arrays`, which correspond to [`Columns::roots`]; `fields` are all fields of the file.
    ///
    /// # Errors
    /// See [`Columns::chunk`].
    pub fn chunk_of_arrays(&self, arrays: &[ArrayRef], fields: &[FieldRef], nrows: usize, origin: Origin) -> Result<Chunk> {
        self.chunk(nrows, origin, |place| match (arrays.get(place), self.roots.get(place).and_then(|root| fields.get(*root))) {
            (Some(array), Some(field)) => from_arrow(array, field),
            _ => Err(Error::data("a column is missing")),
        })
    }

    /// An empty chunk.
    ///
    /// # Errors
    /// None for in-memory tensor types.
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

    /// Replaces null rows with the default of the field.
    fn filled(&self, tensor: Tensor) -> Result<Tensor> {
        match &self.target.default {
            None => Ok(tensor),
            Some(default) => tensor.fill_null_rows(&self.target.ty, default),
        }
    }
}
