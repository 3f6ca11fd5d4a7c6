//! Encodes a chunk as features: the inverse of [`super::mapping`].
//!
//! The features of a field are determined once by its type; a chunk only fills them.

use super::mapping::{indices_name, kind_of, row_lengths_name, values_name};
use super::wire::FeatureKind;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::printable::{counted, shell_quoted, shell_word};
use crate::schema::facts::Storage;
use crate::schema::filling::{fill_all_or_drop, fill_itself_or_drop};
use crate::schema::notation::{declaration, schema_option};
use crate::schema::{DType, Dim, Element, Field, Schema, Size, Type};
use crate::tensor::{RowPartition, Sparse, Tensor, row_of};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use std::collections::HashSet;

/// One feature of a chunk.
pub struct Feature {
    pub name: String,
    pub values: FeatureValues,
    /// The steps of each record, if it is a feature list of a tf.SequenceExample.
    pub steps: Option<RowPartition>,
    /// The partition of values by record or step; `None` if there is one value each.
    pub rows: Option<RowPartition>,
    /// Which records have it; `None` for all.
    pub valid: Option<NullBuffer>,
}

/// The values of a feature in all records.
pub enum FeatureValues {
    Int64(ScalarBuffer<i64>),
    Float(ScalarBuffer<f32>),
    Bytes(ScalarBuffer<i64>, Buffer),
    /// A feature without a kind, which preserves a field without a dtype.
    Nothing,
}

/// Checks that a tf.Example can represent records of this schema so that they read back unchanged.
///
/// # Errors
/// A field that cannot be represented, with advice; notices under `--strict`.
pub fn check(schema: &Schema, options: &Options, sequences: bool) -> Result<()> {
    let mut check = Check { options, sequences, names: Vec::new() };
    for field in &schema.fields {
        check.field(field, &FieldPath::name(&field.name), &field.name, &[])?;
    }
    let names = check.names;
    let mut seen = HashSet::new();
    if let Some((name, path)) = names.iter().find(|(name, _)| !seen.insert(name.as_str())) {
        return Err(Error::usage(format!("two fields would become the feature `{name}`"))
            .in_field(path)
            .help(format!("choose another name for one of them: {}", new_name(path, &names))));
    }
    for (name, path) in &names {
        let other = name
            .strip_suffix("/row_lengths_1")
            .or_else(|| name.strip_suffix("/values").filter(|x| seen.contains(indices_name(x, 0).as_str())));
        let own = other.is_some_and(|x| path.names().join(".") == x);
        if let Some(other) = other.filter(|x| !own && (seen.contains(x) || name.ends_with("/values"))) {
            return Err(Error::usage(format!("a feature of this name would read back as a part of `{other}`"))
                .in_field(path)
                .help("choose another name for the field: rename old=new"));
        }
    }
    Ok(())
}

struct Check<'a> {
    options: &'a Options,
    sequences: bool,
    /// The names of all features, with the source field of each.
    names: Vec<(String, FieldPath)>,
}

impl Check<'_> {
    fn field(&mut self, field: &Field, path: &FieldPath, name: &str, outer: &[Dim]) -> Result<()> {
        let ty = &field.ty;
        let drop = || format!("leave it out: drop {}", shell_word(&path.to_string()));
        let dims = [outer, &ty.dims].concat();
        match &ty.element {
            Element::Struct(fields) if fields.is_empty() => {
                Err(Error::usage("a structure without fields cannot be stored in a tf.Example").in_field(path).help(drop()))
            }
            Element::Struct(fields) => {
                fields.iter().try_for_each(|f| self.field(f, &path.join(&f.name), &format!("{name}.{}", f.name), &dims))
            }
            Element::Value(dtype) | Element::Sparse(dtype) => {
                if let DType::Arrow(_) = dtype {
                    let error = Error::usage(format!("a tf.Example cannot store {dtype}")).in_field(path);
                    if dtype.time().is_some() {
                        let cast = |to: &str| format!("cast {}", shell_word(&format!("{}={to}", path)));
                        let text = format!("to store it as text: {}; to store it as a number of units: {}", cast("string"), cast("int64"));
                        return Err(error.help(text));
                    }
                    return Err(error.help(format!("it stores integers, floats, strings and bytes; {}", drop())));
                }
                if *dtype == DType::Float64 {
                    let notice = format!("{path}: float64 becomes float32, because a tf.Example has no float64");
                    self.options.notices.add(notice, self.options.strict)?;
                }
                if ty.is_sparse() {
                    return self.sparse(field, path, name, outer.len());
                }
                self.names.push((name.to_owned(), path.clone()));
                let levels = (first_stored(self.sequences, &dims)..dims.len()).filter(|axis| is_open(&dims[*axis])).count();
                self.names.extend((1..=levels).map(|level| (row_lengths_name(name, level), path.clone())));
                Ok(())
            }
        }
    }

    fn sparse(&mut self, field: &Field, path: &FieldPath, name: &str, outer: usize) -> Result<()> {
        let ty = &field.ty;
        if outer > 0 {
            let error = Error::usage("a tf.Example cannot store sparse tensors in a list of structures").in_field(path);
            return Err(error.help(format!("make it ragged (from-sparse), or leave it out: drop {}", shell_word(&path.to_string()))));
        }
        if has_values_only(field) {
            self.names.push((name.to_owned(), path.clone()));
            return Ok(());
        }
        if self.sequences && ty.rank() > 1 && ty.dims.iter().any(is_open) {
            let error = Error::usage(format!("a tf.SequenceExample does not store the dense_shape of {ty}")).in_field(path);
            return Err(error.help(declared(path, ty.dtype(), &vec![100; ty.rank()])).help(format!("or from-sparse -f {path}")));
        }
        self.names.push((values_name(name), path.clone()));
        self.names.extend((0..ty.rank()).map(|axis| (indices_name(name, axis), path.clone())));
        Ok(())
    }
}

/// The command that gives a field a name whose features no other field has.
fn new_name(path: &FieldPath, features: &[(String, FieldPath)]) -> String {
    let own = path.names().join(".");
    let is_free = |number: &u64| {
        let feature = format!("{own}_{number}");
        features.iter().all(|(name, _)| name.strip_prefix(&feature).is_none_or(|rest| !rest.is_empty() && !rest.starts_with(['.', '/'])))
    };
    let number = (2..).find(is_free).unwrap_or_default();
    format!("rename {}", shell_word(&format!("{path}={}", quoted(&format!("{}_{number}", path.last())))))
}

/// Advice to declare the dense_shape of a sparse field.
fn declared(path: &FieldPath, dtype: Option<&DType>, shape: &[u64]) -> String {
    let ty = Type::sparse(dtype.cloned().unwrap_or(DType::Null), shape.iter().map(|n| Dim::known(*n)).collect());
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    let (name, sizes) = (path.in_expression(), sizes.join(", "));
    format!(
        "if it is a field of the input, declare its size: {}; otherwise set it: map {}",
        schema_option(&declaration(path, ty)),
        shell_word(&format!("{name} = sparse.reset_shape({name}, [{sizes}])"))
    )
}

fn is_open(dim: &Dim) -> bool {
    !matches!(dim.size, Size::Known(_))
}

/// Whether a field with these axes is a feature list of a tf.SequenceExample, with its steps along axis 0.
fn is_list(sequences: bool, dims: &[Dim]) -> bool {
    sequences && dims.len() > 1 && dims.first().is_some_and(is_open)
}

/// The first axis whose row lengths must be stored. Those of axis 0 are the numbers of values; those of axis 1 of a
/// feature list are the numbers of values in each step.
fn first_stored(sequences: bool, dims: &[Dim]) -> usize {
    if is_list(sequences, dims) { 2 } else { 1 }
}

/// Whether only the values are stored, as they were read, for tf.io.VarLenFeature.
fn has_values_only(field: &Field) -> bool {
    field.ty.rank() == 1 && field.ty.dims.iter().all(is_open) && matches!(field.storage, Storage::ValuesOnly)
}

/// The features of a chunk, in schema order.
///
/// # Errors
/// A value that a tf.Example cannot represent; the error has the row, the field and advice.
pub fn flatten(schema: &Schema, chunk: &Chunk, sequences: bool) -> Result<Vec<Feature>> {
    let mut features = Vec::new();
    for (field, column) in schema.fields.iter().zip(&chunk.columns) {
        let mut walk = Walk { schema, nrows: chunk.nrows, sequences, features: &mut features };
        walk.field(
            field,
            column,
            &Scope { path: FieldPath::name(&field.name), name: field.name.clone(), dims: Vec::new(), above: Vec::new(), alive: None },
        )?;
    }
    Ok(features)
}

struct Walk<'a> {
    schema: &'a Schema,
    nrows: usize,
    sequences: bool,
    features: &'a mut Vec<Feature>,
}

/// The schema as far as nulls matter: a missing feature is a null at the record level, which need not be replaced.
fn without_missing(schema: &Schema) -> Schema {
    fn present(field: &Field) -> Field {
        let mut field = field.clone();
        field.ty.optional = false;
        if let (Element::Struct(inner), true) = (&mut field.ty.element, field.ty.dims.is_empty()) {
            *inner = inner.iter().map(present).collect();
        }
        field
    }
    Schema::with_facts(schema.fields.iter().map(present).collect(), schema.facts.clone())
}

/// The position of a tensor in the record.
struct Scope {
    path: FieldPath,
    name: String,
    /// The axes above it.
    dims: Vec<Dim>,
    above: Vec<RowPartition>,
    /// The records that are not null at an outer level; `None` for all.
    alive: Option<NullBuffer>,
}

impl Scope {
    fn record_of(&self, item: usize) -> usize {
        self.above.iter().rev().fold(item, |item, p| row_of(p, item))
    }

    fn is_alive(&self, record: usize) -> bool {
        self.alive.as_ref().is_none_or(|a| a.is_valid(record))
    }

    fn error(&self, value: usize, message: String) -> Error {
        self.at_record(self.record_of(value), message)
    }

    fn at_record(&self, record: usize, message: String) -> Error {
        Error::data(message).in_field(&self.path).at_row(record)
    }
}

impl Walk<'_> {
    fn field(&mut self, field: &Field, tensor: &Tensor, outer: &Scope) -> Result<()> {
        let ty = &field.ty;
        let mut scope = Scope {
            path: outer.path.clone(),
            name: outer.name.clone(),
            dims: outer.dims.clone(),
            above: outer.above.clone(),
            alive: outer.alive.clone(),
        };
        let mut tensor = tensor.clone();
        for (axis, dim) in ty.list_dims().iter().enumerate() {
            let Tensor::List(list) = tensor else {
                return Err(Error::internal("a list dimension without a list"));
            };
            self.nulls(&mut scope, list.validity(), axis == 0)?;
            scope.dims.push(dim.clone());
            scope.above.push(list.partition().clone());
            tensor = list.into_values();
        }
        let outermost = ty.list_dims().is_empty();
        match (&ty.element, tensor) {
            (Element::Struct(fields), Tensor::Struct(s)) => {
                self.nulls(&mut scope, s.validity(), outermost)?;
                if ty.optional && scope.above.is_empty() {
                    self.told_from_null(fields, s.fields(), &scope)?;
                }
                for (inner, column) in fields.iter().zip(s.into_fields()) {
                    let inside = Scope {
                        path: scope.path.join(&inner.name),
                        name: format!("{}.{}", scope.name, inner.name),
                        dims: scope.dims.clone(),
                        above: scope.above.clone(),
                        alive: scope.alive.clone(),
                    };
                    self.field(inner, &column, &inside)?;
                }
                Ok(())
            }
            (Element::Value(dtype), Tensor::Leaf(array)) => {
                if *dtype == DType::Null {
                    return self.no_dtype(array.len(), scope);
                }
                self.nulls(&mut scope, array.nulls().filter(|n| n.null_count() > 0), outermost)?;
                self.leaf(dtype, &array, scope)
            }
            (Element::Sparse(dtype), Tensor::Sparse(sparse)) => {
                self.nulls(&mut scope, sparse.validity(), true)?;
                self.sparse(field, dtype, &sparse, scope)
            }
            _ => Err(Error::internal("a tensor that is not of its type").in_field(&scope.path)),
        }
    }

    /// A null at the record level is a missing feature; a null further in cannot be written.
    fn nulls(&self, scope: &mut Scope, validity: Option<&NullBuffer>, outermost: bool) -> Result<()> {
        if scope.above.is_empty() && outermost {
            scope.alive = NullBuffer::union(scope.alive.as_ref(), validity);
            return Ok(());
        }
        self.no_nulls(scope, validity)
    }

    /// Rejects a null below the record level.
    fn no_nulls(&self, scope: &Scope, validity: Option<&NullBuffer>) -> Result<()> {
        let Some(validity) = validity else { return Ok(()) };
        let mut nulls = (0..validity.len()).filter(|item| validity.is_null(*item)).map(|item| scope.record_of(item));
        match nulls.find(|record| scope.is_alive(*record)) {
            Some(record) => Err(scope
                .at_record(record, "a tf.Example cannot store a null inside a list".to_owned())
                .help(fill_all_or_drop(&without_missing(self.schema), &scope.path))),
            None => Ok(()),
        }
    }

    /// A structure that is nullable itself must not have only null fields.
    fn told_from_null(&self, fields: &[Field], columns: &[Tensor], scope: &Scope) -> Result<()> {
        if !fields.iter().all(|f| f.ty.optional) {
            return Ok(());
        }
        let validities: Vec<_> = columns.iter().map(Tensor::validity).collect();
        let empty = |row: &usize| validities.iter().all(|v| v.as_ref().is_some_and(|v| v.is_null(*row)));
        match (0..self.nrows).filter(|row| scope.is_alive(*row)).find(empty) {
            Some(row) => Err(scope
                .error(row, "in a tf.Example a structure whose fields are all null cannot be distinguished from null".to_owned())
                .help(fields.first().map_or_else(String::new, |field| fill_itself_or_drop(field, &scope.path.join(&field.name))))),
            None => Ok(()),
        }
    }

    /// Rows must have values: their number is found from these, or has to agree with them.
    fn rows_have_values(&self, scope: &Scope) -> Result<()> {
        let empty = scope.dims.iter().position(|dim| dim.size == Size::Known(0));
        // The rows of a ragged axis are counted by their lengths.
        let outer = |empty: usize| (empty > 0 && scope.dims[empty..].iter().any(is_open)).then(|| empty - 1);
        let axis = empty.and_then(|empty| scope.dims[..empty].iter().rposition(is_open).or_else(|| outer(empty)));
        let Some(axis) = axis else { return Ok(()) };
        let lost = (0..scope.above[axis].nrows()).find(|row| scope.above[axis].row_length(*row) > 0);
        let Some(row) = lost else { return Ok(()) };
        let n = counted(scope.above[axis].row_length(row) as u64, "row");
        let record = scope.above[..axis].iter().rev().fold(row, |at, partition| row_of(partition, at));
        let error = scope.at_record(record, format!("a tf.Example cannot store {n} of size 0: they would read back as none"));
        Err(error.help(format!("leave it out: drop {}", shell_word(&scope.path.to_string()))))
    }

    fn leaf(&mut self, dtype: &DType, array: &ArrayRef, scope: Scope) -> Result<()> {
        self.rows_have_values(&scope)?;
        let values = values(dtype, array, &scope)?;
        let (above, steps) = match scope.above.split_first() {
            Some((first, rest)) if is_list(self.sequences, &scope.dims) => (rest, Some(first.clone())),
            _ => (scope.above.as_slice(), None),
        };
        let valid = scope.alive.clone();
        self.features.push(Feature { name: scope.name.clone(), values, steps: steps.clone(), rows: merged(above), valid });
        let outside = scope.dims.len() - above.len();
        let stored = (first_stored(self.sequences, &scope.dims)..scope.dims.len()).filter(|axis| is_open(&scope.dims[*axis]));
        for (level, axis) in stored.enumerate() {
            let lengths: Vec<i64> = scope.above[axis].row_lengths().map(|n| n as i64).collect();
            self.features.push(Feature {
                name: row_lengths_name(&scope.name, level + 1),
                values: FeatureValues::Int64(lengths.into()),
                steps: steps.clone(),
                rows: merged(&above[..axis - outside]),
                valid: scope.alive.clone(),
            });
        }
        Ok(())
    }

    /// A field without a dtype: a feature without a kind if it is always null, or a feature list of such steps. A list
    /// of `nvalues` values without a dtype has no other form.
    fn no_dtype(&mut self, nvalues: usize, scope: Scope) -> Result<()> {
        let is_list = is_list(self.sequences, &scope.dims);
        if scope.above.is_empty() || (is_list && nvalues == 0 && scope.above.len() == 2) {
            let steps = scope.above.first().cloned();
            let valid = if is_list { scope.alive } else { None };
            self.features.push(Feature { name: scope.name, values: FeatureValues::Nothing, steps, rows: None, valid });
            return Ok(());
        }
        match (0..self.nrows).find(|row| scope.is_alive(*row)) {
            Some(row) if nvalues == 0 => Err(scope
                .at_record(row, "a tf.Example cannot store an empty list of unknown dtype".to_owned())
                .help(format!(
                    "declare its dtype: {}",
                    schema_option(&declaration(&scope.path, Type::tensor(DType::Int64, scope.dims.clone())))
                ))
                .help(format!("or leave it out: drop {}", shell_word(&scope.path.to_string())))),
            Some(row) => Err(scope.at_record(row, "a tf.Example cannot store a null inside a list".to_owned())),
            None => Ok(()),
        }
    }

    fn sparse(&mut self, field: &Field, dtype: &DType, sparse: &Sparse, mut scope: Scope) -> Result<()> {
        let (ndims, nrows, entries) = (sparse.ndims(), sparse.nrows(), sparse.entries());
        let plain = has_values_only(field);
        for row in (0..nrows).filter(|row| scope.is_alive(*row)) {
            let shape = sparse.shape_of(row);
            if plain {
                let straight = entries.range(row).enumerate().all(|(i, entry)| sparse.index_of(entry) == [i as i64]);
                if !straight || shape != [entries.row_length(row) as i64] {
                    let message = "only the values of this sparse vector are stored, as tf.io.VarLenFeature reads them, so \
                                   it must have a value at each index";
                    let path = &scope.path;
                    return Err(scope
                        .error(row, message.to_owned())
                        .help(format!("store its indices too: map {}", shell_quoted(&format!("{path} = sparse.reorder({path})")))));
                }
                continue;
            }
            for (axis, (size, dim)) in shape.iter().zip(&field.ty.dims).enumerate() {
                match dim.size {
                    Size::Known(known) if i64::try_from(known) == Ok(*size) => {}
                    Size::Known(_) => {
                        return Err(scope.error(row, format!("the dense_shape is {shape:?}, but the schema says {:?}", sizes(&field.ty))));
                    }
                    // Without a size, readers take the largest index.
                    _ => {
                        let least =
                            entries.range(row).filter_map(|entry| sparse.index_of(entry).get(axis).copied()).max().map_or(0, |i| i + 1);
                        if least != *size {
                            let message = format!(
                                "a tf.Example does not store the dense_shape {shape:?}; without it, axis {axis} would have the size {least}, \
                                 the largest index plus one"
                            );
                            let sizes: Vec<u64> = shape.iter().map(|n| n.unsigned_abs()).collect();
                            return Err(scope.error(row, message).help(declared(&scope.path, Some(dtype), &sizes)));
                        }
                    }
                }
            }
        }
        let name = scope.name.clone();
        if !plain {
            scope.name = values_name(&name);
        }
        scope.above.push(entries.clone());
        self.no_nulls(&scope, sparse.values().nulls())?;
        let values = values(dtype, sparse.values(), &scope)?;
        self.features.push(Feature {
            name: scope.name.clone(),
            values,
            steps: None,
            rows: Some(entries.clone()),
            valid: scope.alive.clone(),
        });
        for axis in (0..ndims).filter(|_| !plain) {
            let along: Vec<i64> = (0..entries.nvals()).filter_map(|entry| sparse.index_of(entry).get(axis).copied()).collect();
            self.features.push(Feature {
                name: indices_name(&name, axis),
                values: FeatureValues::Int64(along.into()),
                steps: None,
                rows: Some(entries.clone()),
                valid: scope.alive.clone(),
            });
        }
        Ok(())
    }
}

fn sizes(ty: &Type) -> Vec<u64> {
    ty.dims.iter().filter_map(|d| if let Size::Known(n) = d.size { Some(n) } else { None }).collect()
}

/// Merges all partitions into one: the partition of values by record.
pub fn merged(partitions: &[RowPartition]) -> Option<RowPartition> {
    let (first, rest) = partitions.split_first()?;
    Some(rest.iter().fold(first.clone(), |outer, inner| outer.merge(inner)))
}

fn widen<T: ArrowPrimitiveType>(array: &ArrayRef) -> FeatureValues
where
    T::Native: Into<i64>,
{
    FeatureValues::Int64(array.as_primitive::<T>().values().iter().map(|v| (*v).into()).collect())
}

/// Strings or bytes as feature values.
pub fn text(array: &ArrayRef) -> FeatureValues {
    match array.as_string_opt::<i64>() {
        Some(text) => FeatureValues::Bytes(text.offsets().inner().clone(), text.values().clone()),
        None => {
            let bytes = array.as_binary::<i64>();
            FeatureValues::Bytes(bytes.offsets().inner().clone(), bytes.values().clone())
        }
    }
}

/// The values of an array as feature values.
fn values(dtype: &DType, array: &ArrayRef, scope: &Scope) -> Result<FeatureValues> {
    Ok(match dtype {
        DType::Int64 => FeatureValues::Int64(array.as_primitive::<Int64Type>().values().clone()),
        DType::Bool => FeatureValues::Int64(array.as_boolean().values().iter().map(i64::from).collect()),
        DType::Int8 => widen::<Int8Type>(array),
        DType::Int16 => widen::<Int16Type>(array),
        DType::Int32 => widen::<Int32Type>(array),
        DType::UInt8 => widen::<UInt8Type>(array),
        DType::UInt16 => widen::<UInt16Type>(array),
        DType::UInt32 => widen::<UInt32Type>(array),
        DType::UInt64 => {
            let array = array.as_primitive::<UInt64Type>();
            let too_large = |i: usize| !array.is_null(i) && array.value(i) > i64::MAX.unsigned_abs();
            if let Some(i) = (0..array.len()).find(|i| too_large(*i) && scope.is_alive(scope.record_of(*i))) {
                let message = format!("{} does not fit in a tf.Example, whose integers are int64", array.value(i));
                return Err(scope
                    .error(i, message)
                    .help(format!("keep it as text: map '{path} = strings.as_string({path})'", path = scope.path)));
            }
            FeatureValues::Int64(array.values().iter().map(|v| v.cast_signed()).collect())
        }
        DType::Float16 => FeatureValues::Float(array.as_primitive::<Float16Type>().values().iter().map(|v| v.to_f32()).collect()),
        DType::Float32 => FeatureValues::Float(array.as_primitive::<Float32Type>().values().clone()),
        DType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            let narrow: ScalarBuffer<f32> = array.values().iter().map(|v| *v as f32).collect();
            let overflows = |i: usize| narrow[i].is_infinite() && array.value(i).is_finite() && !array.is_null(i);
            if let Some(i) = (0..array.len()).find(|i| overflows(*i) && scope.is_alive(scope.record_of(*i))) {
                return Err(scope.error(i, format!("{:e} is out of range for a tf.Example, whose floats are float32", array.value(i))));
            }
            FeatureValues::Float(narrow)
        }
        _ if kind_of(dtype) == Some(FeatureKind::Bytes) => text(array),
        other => return Err(Error::internal(format!("a feature of dtype {other}")).in_field(&scope.path)),
    })
}
