//! Changes of fields at any depth.
//!
//! A verb supplies the new type of a field and a kernel for its values. This module finds the enclosing structure,
//! keeps everything else unchanged, and maps the row in a kernel's error to the record. A kernel sees only rows that
//! exist: what a column holds below a null list or structure is left out before and filled in after it.

use super::divided::{PART_NBYTES, by_trial};
use super::memory::Budget;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::time::TimeType;
use crate::schema::{DType, Element, Field, Schema, Type, filling};
use crate::tensor::{RowPartition, Tensor, row_of};
use crate::verbs::verb::{Bound, ChunkParts, Map, Operator};
use arrow_array::Array;
use arrow_schema::DataType;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// The records and structures that contain the rows of a field.
pub struct Scope {
    /// The partition of the rows by record.
    pub records: RowPartition,
    /// The arguments of a `fill-null` that replaces all nulls the verb rejects, if they are known.
    pub filling: Option<Arc<str>>,
}

impl Scope {
    /// Rejects nulls.
    ///
    /// # Errors
    /// Names the first such row, and a `fill-null` that replaces the nulls.
    pub fn refuse_nulls(&self, tensor: &Tensor, path: &FieldPath) -> Result<()> {
        let Some(row) = tensor.first_null_row() else { return Ok(()) };
        let error = Error::data("contains a null, which a tensor cannot represent").at_row(row).in_field(path);
        let left_out = self.left_out(tensor, path, row);
        let Some(value) = filling(tensor) else {
            let filter = left_out.unwrap_or_else(|| "drop such records with filter".to_owned());
            return Err(error.help(filter).help(format!("or drop the field: drop {}", shell_word(&path.to_string()))));
        };
        let own = format!("{path}={value}");
        let pairs = match &self.filling {
            Some(all) if all.split(',').any(|pair| pair.starts_with(&format!("{path}="))) => all.to_string(),
            Some(others) => format!("{own},{others}"),
            None => own,
        };
        let error = error.help(format!("fill it first: fill-null {}", shell_word(&pairs)));
        Err(left_out.into_iter().fold(error, |error, filter| error.help(format!("or {filter}"))))
    }

    /// Advice to drop the records in which the whole field is null, if that is the null in that row.
    fn left_out(&self, tensor: &Tensor, path: &FieldPath, row: usize) -> Option<String> {
        let is_whole = path.parent().is_none() && !matches!(tensor, Tensor::Sparse(_)) && tensor.validity().is_some_and(|v| v.is_null(row));
        let level = if matches!(tensor, Tensor::List(_)) { ", level=0" } else { "" };
        is_whole.then(|| format!("drop such records: filter {}", shell_word(&format!("not is_null({}{level})", path.in_expression()))))
    }
}

/// An example value to fill nulls with, for a message; `None` if the dtype has no literals.
fn filling(tensor: &Tensor) -> Option<&'static str> {
    match tensor {
        Tensor::List(list) if list.values().first_null_row().is_none() => Some("[]"),
        Tensor::List(list) => filling(list.values()),
        Tensor::Sparse(sparse) if sparse.validity().is_some() => Some("[]"),
        Tensor::Sparse(sparse) => value_of(sparse.values().data_type()),
        Tensor::Leaf(array) => value_of(array.data_type()),
        Tensor::Struct(_) => Some("{}"),
    }
}

fn value_of(dtype: &DataType) -> Option<&'static str> {
    match dtype {
        DataType::LargeUtf8 | DataType::LargeBinary => Some("\"\""),
        DataType::Boolean => Some("False"),
        DataType::FixedSizeBinary(_) => None,
        _ => Some(TimeType::of(dtype).as_ref().map_or("0", TimeType::zero_literal)),
    }
}

/// Computes new fields from the fields of a structure.
pub type Kernel = Box<dyn Fn(Vec<Tensor>, &Scope) -> Result<Vec<Tensor>> + Send + Sync>;

/// A sequence of changes to fields; each sees the schema that the previous ones produced.
pub struct Edits {
    schema: Schema,
    groups: Vec<Group>,
    /// The schema before any change, with the dtypes of [`Edits::fill_as`].
    original: Schema,
    /// See [`Edits::accept_nulls`].
    accepting: HashSet<FieldPath>,
    /// See [`Scope::filling`]; computed on first use.
    filling: OnceLock<Option<Arc<str>>>,
    /// See [`Edits::growing`].
    grows: bool,
    /// Approximate output bytes for one part of a chunk.
    part_nbytes: usize,
    /// The names of the fields of a structure, or of the record, to which [`Edits::expand`] has added fields.
    taken: HashMap<Option<FieldPath>, HashSet<String>>,
}

/// Successive changes of the fields of one structure, which is taken apart once for all of them.
struct Group {
    /// The positions of the enclosing structures, outermost first.
    parents: Vec<usize>,
    edits: Vec<Edit>,
    /// The type of the outermost enclosing structure after the changes; `None` if it is the final one.
    outermost: Option<Type>,
}

struct Edit {
    path: FieldPath,
    kernel: Kernel,
}

impl Edits {
    /// Starts without changes.
    pub fn new(schema: &Schema) -> Edits {
        Edits {
            schema: schema.clone(),
            groups: Vec::new(),
            original: schema.clone(),
            accepting: HashSet::new(),
            filling: OnceLock::new(),
            grows: false,
            part_nbytes: PART_NBYTES,
            taken: HashMap::new(),
        }
    }

    /// The schema after the changes so far.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The advice replaces nulls of this field by values of `dtype`, whose text it holds.
    ///
    /// # Errors
    /// The field does not exist.
    pub fn fill_as(&mut self, path: &FieldPath, dtype: &DType) -> Result<()> {
        let (mut parents, _) = self.original.find(path)?;
        let position = parents.pop().unwrap_or(0);
        change_fields(&mut self.original.fields, &parents, |fields| {
            fields[position].ty.element = Element::Value(dtype.clone());
            Ok(())
        })
    }

    /// The kernel for this field does not reject nulls, so the advice does not replace them.
    pub fn accept_nulls(&mut self, path: &FieldPath) {
        self.accepting.insert(path.clone());
    }

    /// Changes the fields of the structure that contains `path`. `plan` gets these fields and the position of `path`;
    /// it changes the types and returns a kernel that makes the same changes to the values.
    ///
    /// # Errors
    /// The field does not exist, `plan` fails, or two fields would have the same name.
    pub fn beside(&mut self, path: &FieldPath, plan: impl FnOnce(&mut Vec<Field>, usize) -> Result<Kernel>) -> Result<()> {
        self.taken.remove(&path.parent());
        self.edit(path, |fields, position| {
            let (before, own) = (fields.len(), fields.get(position).map(|field| field.name.clone()));
            let kernel = plan(fields, position)?;
            if fields.len() == before && fields.get(position).map(|field| &field.name) == own.as_ref() {
                return Ok(kernel);
            }
            let mut names = HashSet::new();
            match fields.iter().find(|field| !names.insert(&field.name)) {
                Some(twice) => Err(already_exists(path, &twice.name)),
                None => Ok(kernel),
            }
        })
    }

    /// Changes the field `path` and adds fields after it. `plan` gets the field and its position; it changes the field and
    /// returns the new fields, and a kernel that makes the same changes to the values.
    ///
    /// # Errors
    /// The field does not exist, `plan` fails, or two fields would have the same name.
    pub fn expand(&mut self, path: &FieldPath, plan: impl FnOnce(&mut Field, usize) -> Result<(Vec<Field>, Kernel)>) -> Result<()> {
        // Looking at all names again for each of many fields would take quadratic time.
        let parent = path.parent();
        let mut taken = self.taken.remove(&parent).unwrap_or_default();
        self.edit(path, |fields, position| {
            let (added, kernel) = plan(&mut fields[position], position)?;
            if taken.is_empty() && !added.is_empty() {
                taken = fields.iter().map(|field| field.name.clone()).collect();
            }
            if let Some(twice) = added.iter().find(|field| !taken.insert(field.name.clone())) {
                return Err(already_exists(path, &twice.name));
            }
            fields.splice(position + 1..position + 1, added);
            Ok(kernel)
        })?;
        self.taken.insert(parent, taken);
        Ok(())
    }

    fn edit(&mut self, path: &FieldPath, plan: impl FnOnce(&mut Vec<Field>, usize) -> Result<Kernel>) -> Result<()> {
        let (mut parents, _) = self.schema.find(path)?;
        let position = parents.pop().unwrap_or(0);
        if self.groups.last().is_none_or(|group| group.parents != parents) {
            if let Some(group) = self.groups.last_mut() {
                group.outermost = group.parents.first().map(|first| self.schema.fields[*first].ty.clone());
            }
            self.groups.push(Group { parents: parents.clone(), edits: Vec::new(), outermost: None });
        }
        let kernel = change_fields(&mut self.schema.fields, &parents, |fields| plan(fields, position));
        let kernel = kernel.map_err(|e| e.in_field(path))?;
        if let Some(group) = self.groups.last_mut() {
            group.edits.push(Edit { path: path.clone(), kernel });
        }
        Ok(())
    }

    /// Changes one field. `plan` gets its type and returns the new type and the kernel for its values.
    ///
    /// # Errors
    /// The field does not exist, or `plan` fails.
    pub fn change<K>(&mut self, path: &FieldPath, plan: impl FnOnce(&Type) -> Result<(Type, K)>) -> Result<()>
    where
        K: Fn(&Tensor, &Scope) -> Result<Tensor> + Send + Sync + 'static,
    {
        self.edit(path, |fields, position| {
            let (ty, kernel) = plan(&fields[position].ty)?;
            fields[position].ty = ty;
            Ok(Box::new(move |mut tensors, scope| {
                tensors[position] = kernel(&tensors[position], scope)?;
                Ok(tensors)
            }))
        })
    }

    /// Notes that a field gets this value, which it may not have had before.
    ///
    /// # Errors
    /// The field does not exist.
    pub fn add_value(&mut self, path: &FieldPath, value: &str) -> Result<()> {
        let (mut parents, _) = self.schema.find(path)?;
        let position = parents.pop().unwrap_or(0);
        change_fields(&mut self.schema.fields, &parents, |fields| {
            fields[position].storage.add_value(value);
            Ok(())
        })
    }

    /// The changes as a bound verb.
    pub fn bound(self) -> Bound {
        Bound { schema: Arc::new(self.schema.clone()), operator: Operator::Map(Arc::new(self)) }
    }

    /// The fields may take many times the memory after the changes.
    pub fn growing(self, options: &Options) -> Edits {
        let share = usize::try_from(Budget::limit(options) / 4).unwrap_or(usize::MAX);
        Edits { grows: true, part_nbytes: share.min(PART_NBYTES), ..self }
    }
}

impl Map for Edits {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let Chunk { nrows, mut columns, origin } = chunk;
        let filling = self.filling.get_or_init(|| {
            let paths = self.groups.iter().flat_map(|group| &group.edits).map(|edit| &edit.path);
            filling::filling(&self.original, paths.filter(|path| !self.accepting.contains(*path)))
        });
        for group in &self.groups {
            let scope = Scope { records: RowPartition::uniform(1, nrows)?, filling: filling.clone() };
            columns = match group.parents.split_first() {
                Some((first, rest)) => {
                    let ty = group.outermost.as_ref().unwrap_or(&self.schema.fields[*first].ty);
                    let structure = std::mem::replace(&mut columns[*first], Tensor::structure(0, Vec::new(), None)?);
                    columns[*first] = below(structure, ty, ty.list_dims().len(), scope, rest, &group.edits)?;
                    columns
                }
                None => edited(columns, &scope, &group.edits)?,
            };
        }
        Chunk::try_new(nrows, columns, origin)
    }

    fn grows(&self) -> bool {
        self.grows
    }

    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        Ok(Box::new(by_trial(chunk, self.part_nbytes, &|part| self.apply(part.clone()).ok().map(|result| result.nbytes())).map(Ok)))
    }
}

/// The error for a new field beside `path` whose name is taken.
fn already_exists(path: &FieldPath, name: &str) -> Error {
    let name = path.parent().map_or_else(|| FieldPath::name(name), |parent| parent.join(name));
    let error = Error::usage(format!("field {name} already exists"));
    error.help(format!("drop or rename it first: drop {}", shell_word(&name.to_string())))
}

/// Changes the fields of the structure at `parents`.
fn change_fields<R>(fields: &mut Vec<Field>, parents: &[usize], change: impl FnOnce(&mut Vec<Field>) -> Result<R>) -> Result<R> {
    let Some((first, rest)) = parents.split_first() else { return change(fields) };
    match fields.get_mut(*first).map(|f| &mut f.ty.element) {
        Some(Element::Struct(inner)) => change_fields(inner, rest, change),
        _ => Err(Error::usage("is not a structure")),
    }
}

/// Applies edits to the fields of a structure.
fn edited(tensors: Vec<Tensor>, scope: &Scope, edits: &[Edit]) -> Result<Vec<Tensor>> {
    let record = |row| if row < scope.records.nvals() { row_of(&scope.records, row) } else { row };
    edits.iter().try_fold(tensors, |tensors, edit| {
        (edit.kernel)(tensors, scope).map_err(|e| e.locate(|at| at.row = at.row.map(record)).in_field(&edit.path))
    })
}

/// Applies edits to the fields of the structure at `rest` in structures that will have the type `ty`, below the innermost
/// `levels` of its axes.
fn below(tensor: Tensor, ty: &Type, levels: usize, scope: Scope, rest: &[usize], edits: &[Edit]) -> Result<Tensor> {
    if let (Some((shown, records)), Some(validity)) = (shown(&tensor, &scope.records)?, tensor.validity()) {
        let changed = below(shown, ty, levels, Scope { records, ..scope }, rest, edits)?;
        let dims = ty.dims[ty.dims.len() - levels..].to_vec();
        return changed.spread(&validity, &Type { dims, ..ty.clone() });
    }
    let nrows = tensor.nrows();
    match tensor {
        Tensor::List(list) => {
            let partition = list.partition().clone();
            let scope = Scope { records: scope.records.merge(&partition), filling: scope.filling };
            Tensor::list(partition, below(list.into_values(), ty, levels.saturating_sub(1), scope, rest, edits)?, None)
        }
        Tensor::Struct(s) => {
            let mut tensors = s.into_fields();
            tensors = match (rest.split_first(), ty.fields()) {
                (Some((next, rest)), Some(fields)) => {
                    let (inner, own) = (std::mem::replace(&mut tensors[*next], Tensor::structure(0, Vec::new(), None)?), &fields[*next].ty);
                    tensors[*next] = below(inner, own, own.list_dims().len(), scope, rest, edits)?;
                    tensors
                }
                _ => edited(tensors, &scope, edits)?,
            };
            Tensor::structure(nrows, tensors, None)
        }
        _ => Err(Error::data("is not a structure")),
    }
}

/// The rows that are not null, and their partition by record; `None` if no row is null.
///
/// # Errors
/// None that depend on the data.
pub fn shown(tensor: &Tensor, records: &RowPartition) -> Result<Option<(Tensor, RowPartition)>> {
    let Some(validity) = tensor.validity().filter(|validity| validity.null_count() > 0) else { return Ok(None) };
    let count = |record| records.range(record).filter(|row| validity.is_valid(*row)).count() as i64;
    let records = RowPartition::from_row_lengths((0..records.nrows()).map(count))?;
    Ok(Some((tensor.gather(&validity.valid_indices().collect::<Vec<_>>())?, records)))
}

/// Calls `see` with the values of a field and their scope, without what is below null lists and structures.
///
/// # Errors
/// Errors of `see`.
pub fn visit(chunk: &Chunk, positions: &[usize], see: &mut dyn FnMut(&Tensor, &Scope) -> Result<()>) -> Result<()> {
    let Some((first, rest)) = positions.split_first() else { return Ok(()) };
    let (mut tensor, mut rest) = (chunk.columns[*first].clone(), rest);
    let mut scope = Scope { records: RowPartition::uniform(1, chunk.nrows)?, filling: None };
    while let Some((next, after)) = rest.split_first() {
        if let Tensor::Struct(s) = &tensor {
            // Only this field is of interest.
            let field = s.fields()[*next].clone();
            let alone = Tensor::structure(tensor.nrows(), vec![field.clone()], s.validity().cloned())?;
            (tensor, rest) = (field, after);
            if let Some((shown, records)) = shown(&alone, &scope.records)? {
                scope.records = records;
                tensor = shown.as_struct()?.fields()[0].clone();
            }
            continue;
        }
        if let Some(below) = shown(&tensor, &scope.records)? {
            (tensor, scope.records) = below;
        }
        let list = tensor.as_list().map_err(|_| Error::data("is not a structure"))?;
        scope.records = scope.records.merge(list.partition());
        tensor = list.values().clone();
    }
    see(&tensor, &scope).map_err(|e| e.locate(|at| at.row = at.row.map(|row| row_of(&scope.records, row))))
}

/// The number of axes of the structures that contain a field. The field's own axes are numbered from there.
pub fn outer_rank(schema: &Schema, path: &FieldPath) -> usize {
    let mut at = path.parent();
    let mut rank = 0;
    while let Some(parent) = at {
        rank += schema.find(&parent).map_or(0, |(_, field)| field.ty.rank());
        at = parent.parent();
    }
    rank
}

/// Removes the elements at these indices.
pub fn remove<T>(vec: &mut Vec<T>, indices: &[usize]) {
    let mut indices = indices.to_vec();
    indices.sort_unstable();
    indices.dedup();
    for index in indices.into_iter().rev() {
        vec.remove(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::Hint;
    use arrow_array::Int64Array;

    #[test]
    fn advice_names_the_field_and_the_others() {
        let advice = |filling: Option<&str>| {
            let scope = Scope { records: RowPartition::uniform(1, 1).unwrap(), filling: filling.map(Arc::from) };
            let tensor = Tensor::Leaf(Arc::new(Int64Array::from(vec![None])));
            scope.refuse_nulls(&tensor, &FieldPath::name("n")).unwrap_err().helps().iter().map(Hint::as_str).collect::<Vec<_>>().join("\n")
        };
        let or = "or drop such records: filter 'not is_null(n)'";
        assert_eq!(advice(None), format!("fill it first: fill-null n=0\n{or}"));
        assert_eq!(advice(Some("x=[],n=0")), format!("fill it first: fill-null 'x=[],n=0'\n{or}"));
        assert_eq!(advice(Some("x=[],x=0")), format!("fill it first: fill-null 'n=0,x=[],x=0'\n{or}"));
    }
}
