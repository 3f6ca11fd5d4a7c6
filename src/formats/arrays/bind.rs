//! Maps the arrays of a file to fields.
//!
//! Types come from the schema embedded in the file, from `--schema`, or are guessed from names and shapes. In each case
//! the arrays of a type ([`crate::schema::arrays`]) are then looked up and checked against it.

use super::contents::{Contents, StoredArray};
use super::element::{Element, ElementKind};
use super::stored::StoredLeaf;
use crate::demand::Wanted;
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::schema::arrays::{ArrayForm, Stacking, dense_shape_name, dense_shapes_name, indices_name, row_splits_name, stored, values_name};
use crate::schema::leaves::leaves;
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{DType, Dim, Element as Items, Field, Schema, Size, Type};
use crate::tensor::batch::batched_type;
use std::collections::{HashMap, HashSet};

/// A field, and the arrays of its leaves in order.
#[derive(Clone, Debug)]
pub struct BoundField {
    pub field: Field,
    pub leaves: Vec<BoundLeaf>,
}

/// The arrays of a leaf.
#[derive(Clone, Debug)]
pub struct BoundLeaf {
    pub name: String,
    pub dtype: DType,
    /// The axes of the leaf in a record, including those of enclosing structures.
    pub dims: Vec<Dim>,
    pub parts: ArrayIndices,
}

/// Indices of arrays in the file.
#[derive(Clone, Debug)]
pub enum ArrayIndices {
    /// `tail`: the sizes of the inner axes of an item of the values.
    Ragged {
        splits: Vec<usize>,
        values: usize,
        tail: Vec<u64>,
        text: bool,
    },
    Sparse {
        indices: usize,
        values: usize,
        shape: usize,
        shapes: Option<usize>,
        ndims: usize,
    },
}

/// The interpretation of a file.
#[derive(Clone, Debug)]
pub struct Bound {
    pub stacking: Stacking,
    pub fields: Vec<BoundField>,
}

impl Bound {
    /// The fields of a file.
    ///
    /// # Errors
    /// `--schema` gives the ranks of whole arrays for some fields and of records for others, or an array has no rows.
    pub fn of(contents: &Contents, declared: &Schema, wanted: &Wanted) -> Result<Bound> {
        let names = contents.by_name();
        let complete: Vec<&Field> = declared.fields.iter().filter(|f| is_complete(&f.ty)).collect();
        if let Some(embedded) = &contents.embedded {
            let fields: Option<Vec<BoundField>> = embedded
                .schema
                .fields
                .iter()
                .map(|field| {
                    let said = complete.iter().find(|f| f.name == field.name);
                    let said = said.and_then(|said| bind(said, embedded.stacking, contents, &names));
                    said.or_else(|| bind(field, embedded.stacking, contents, &names))
                })
                .collect();
            // A program that changed the arrays may have left the embedded schema unchanged.
            if let Some(fields) = fields.filter(|fields| covers(fields, contents)) {
                return Ok(Bound { stacking: embedded.stacking, fields });
            }
        }
        let stacking = stacking(contents, &complete, &names)?;
        let mut taken = HashSet::new();
        let mut fields = Vec::new();
        for field in &complete {
            let name = field.source_name().to_owned();
            let source = Field { storage: field.storage.clone(), ..Field::new(name, field.ty.clone()) };
            if let Some(bound) = bind(&source, stacking, contents, &names).filter(|b| !b.numbers().iter().any(|n| taken.contains(n))) {
                taken.extend(bound.numbers());
                fields.push(bound);
            }
        }
        for number in 0..contents.arrays.len() {
            let found = &contents.arrays[number];
            // A scalar that was not requested is ignored.
            let passed = stacking == Stacking::Records && found.shape.is_empty() && !wanted.includes(&found.name);
            if !taken.contains(&number) && !passed {
                let bound = guess(number, stacking, contents, &names)?;
                taken.extend(bound.numbers());
                fields.push(bound);
            }
        }
        // In file order.
        fields.sort_by_key(|f| f.numbers().into_iter().min());
        Ok(Bound { stacking, fields })
    }

    /// Treats all arrays as one record, regardless of their first axis.
    ///
    /// # Errors
    /// None.
    pub fn whole(contents: &Contents) -> Result<Bound> {
        let (names, stacking) = (contents.by_name(), Stacking::One);
        let said = contents.embedded.as_ref().and_then(|embedded| {
            let batch = |ty: &Type| if embedded.stacking == Stacking::One { ty.clone() } else { batched_type(ty, Size::Uniform) };
            let fields = embedded.schema.fields.iter().map(|f| bind(&Field::new(f.name.clone(), batch(&f.ty)), stacking, contents, &names));
            fields.collect::<Option<Vec<_>>>().filter(|fields| covers(fields, contents))
        });
        let (mut fields, mut taken): (Vec<BoundField>, HashSet<usize>) = (Vec::new(), HashSet::new());
        for number in 0..contents.arrays.len() {
            if taken.contains(&number) {
                continue;
            }
            // The sizes of a single array are known.
            let ours = said.iter().flatten().find(|f| f.numbers().contains(&number)).filter(|f| f.numbers().len() > 1);
            let bound = ours.cloned().map_or_else(|| guess(number, stacking, contents, &names), Ok)?;
            taken.extend(bound.numbers());
            fields.push(bound);
        }
        Ok(Bound { stacking, fields })
    }

    /// The schema of all fields.
    pub fn schema(&self) -> Schema {
        Schema::new(self.fields.iter().map(|f| f.field.clone()).collect())
    }

    /// The number of records in the arrays of these fields.
    ///
    /// # Errors
    /// The arrays have different numbers of rows.
    pub fn nrecords(&self, fields: &[usize], contents: &Contents) -> Result<u64> {
        if self.stacking == Stacking::One {
            return Ok(1);
        }
        let rows = |number: usize| self.fields[number].nrows(contents);
        let (Some(first), rest) = (fields.first(), fields.get(1..).unwrap_or_default()) else {
            return Ok(0);
        };
        match rest.iter().find(|other| rows(**other) != rows(*first)) {
            None => Ok(rows(*first)),
            Some(other) => {
                let named = |number: usize| format!("{} has {}", quoted(&self.fields[number].field.name), rows(number));
                let alike: Vec<String> = fields
                    .iter()
                    .filter(|number| rows(**number) == rows(*first))
                    .map(|number| quoted(&self.fields[*number].field.name))
                    .collect();
                let first = &self.fields[*first];
                let whole = first.leaves.first().map_or_else(String::new, |leaf| leaf.whole_type());
                Err(Error::data(format!("the arrays have different numbers of rows: {}, {}", named(fields[0]), named(*other)))
                    .help(format!("read only arrays with the same number of rows: select {}", alike.join(",")))
                    .help(format!(
                        "or read the whole file as one record, by declaring all axes of an array: {}",
                        schema_option(&format!("{}: {whole}", name_text(&first.field.name)))
                    )))
            }
        }
    }
}

impl BoundField {
    /// The arrays it is made of.
    pub fn numbers(&self) -> Vec<usize> {
        self.leaves.iter().flat_map(BoundLeaf::numbers).collect()
    }

    fn nrows(&self, contents: &Contents) -> u64 {
        self.leaves.first().map_or(0, |leaf| leaf.nrows(contents))
    }
}

impl BoundLeaf {
    fn numbers(&self) -> Vec<usize> {
        match &self.parts {
            ArrayIndices::Ragged { splits, values, .. } => splits.iter().copied().chain([*values]).collect(),
            ArrayIndices::Sparse { indices, values, shape, shapes, .. } => [*indices, *values, *shape].into_iter().chain(*shapes).collect(),
        }
    }

    /// The number of rows along the first axis.
    pub fn nrows(&self, contents: &Contents) -> u64 {
        let size = |number: usize| contents.arrays[number].shape.first().copied();
        match &self.parts {
            ArrayIndices::Ragged { splits, values, .. } => match splits.first() {
                Some(splits) => size(*splits).unwrap_or(0).saturating_sub(1),
                None => size(*values).unwrap_or(1),
            },
            ArrayIndices::Sparse { shape, .. } => contents.dense_shape(*shape).first().and_then(|n| u64::try_from(*n).ok()).unwrap_or(0),
        }
    }

    /// The type if the file is read as one record, for messages.
    fn whole_type(&self) -> String {
        let dims = std::iter::once("?".to_owned())
            .chain(self.dims.iter().map(|d| if let Size::Known(n) = d.size { n.to_string() } else { "(?)".to_owned() }));
        format!("{}[{}]", self.dtype, dims.collect::<Vec<_>>().join(", "))
    }
}

/// Whether a type is complete in dtypes, axes and fields.
fn is_complete(ty: &Type) -> bool {
    match &ty.element {
        Items::Value(dtype) | Items::Sparse(dtype) => dtype.is_tensor() || *dtype == DType::Json,
        Items::Struct(fields) => !fields.is_empty() && fields.iter().all(|f| is_complete(&f.ty)),
    }
}

/// Whether the fields cover all arrays.
fn covers(fields: &[BoundField], contents: &Contents) -> bool {
    let taken: HashSet<usize> = fields.iter().flat_map(BoundField::numbers).collect();
    taken.len() == contents.arrays.len()
}

/// The arrays of a field; `None` if they are missing or have other dtypes or shapes.
fn bind(field: &Field, stacking: Stacking, contents: &Contents, names: &HashMap<&str, usize>) -> Option<BoundField> {
    let schema = Schema::new(vec![field.clone()]);
    let bound = leaves(&schema).into_iter().map(|leaf| {
        let stored = stored(&leaf, stacking).ok()?;
        let dtype = leaf.field.ty.dtype()?.clone();
        let dims = leaf.dims;
        let stored = StoredLeaf { path: leaf.path, name: leaf.name, dtype, stored };
        bind_leaf(stored, dims, contents, names)
    });
    let leaves: Vec<BoundLeaf> = bound.collect::<Option<_>>()?;
    // The storage distinguishes maps from lists of entries.
    let field = Field { storage: field.storage.clone(), ..Field::new(field.name.clone(), field.ty.clone()) };
    (!leaves.is_empty()).then_some(BoundField { field, leaves })
}

fn bind_leaf(leaf: StoredLeaf, dims: Vec<Dim>, contents: &Contents, names: &HashMap<&str, usize>) -> Option<BoundLeaf> {
    let array = |name: String| names.get(name.as_str()).map(|number| (*number, &contents.arrays[*number]));
    let (name, axes) = (&leaf.name, &leaf.stored.axes);
    let fits = |sizes: &[u64], axes: &[Dim]| {
        sizes.len() == axes.len() && sizes.iter().zip(axes).all(|(size, dim)| !matches!(dim.size, Size::Known(n) if n != *size))
    };
    let text = leaf.stored.contents.is_text();
    let parts = match &leaf.stored.form {
        ArrayForm::Dense => {
            let (number, found) = array(name.clone())?;
            let is_it = found.element.dtype() == leaf.dtype && fits(&found.shape, axes);
            is_it.then(|| ArrayIndices::Ragged {
                splits: Vec::new(),
                values: number,
                tail: found.shape.get(1..).unwrap_or_default().to_vec(),
                text: false,
            })?
        }
        ArrayForm::Ragged { levels } => {
            // Strings of one width are stored in a single array, as in NumPy.
            if let Some((number, found)) = array(name.clone()).filter(|(_, found)| text && found.element.dtype() == leaf.dtype) {
                let axes = if dims.is_empty() && leaf.stored.axes.len() == 1 && found.shape.is_empty() { &[] } else { axes.as_slice() };
                let open: Vec<Dim> = axes.iter().map(|d| if d.size == Size::Ragged { Dim::UNIFORM } else { d.clone() }).collect();
                return fits(&found.shape, &open).then(|| {
                    let tail = found.shape.get(1..).unwrap_or_default().to_vec();
                    BoundLeaf {
                        name: name.clone(),
                        dtype: leaf.dtype.clone(),
                        dims,
                        parts: ArrayIndices::Ragged { splits: Vec::new(), values: number, tail, text: false },
                    }
                });
            }
            let (values, found) = array(values_name(name))?;
            let splits = (0..*levels).map(|level| {
                let (number, found) = array(row_splits_name(name, level))?;
                (found.element.dtype().is_integer() && found.shape.len() == 1).then_some(number)
            });
            let splits: Vec<usize> = splits.collect::<Option<_>>()?;
            let tail = found.shape.get(1..)?;
            let is_it = match text {
                true => found.element == Element::number(DType::UInt8) && tail.is_empty(),
                false => found.element.dtype() == leaf.dtype && fits(tail, axes.get(levels + 1..)?),
            };
            let uncounted = array(row_splits_name(name, *levels)).is_none();
            (is_it && uncounted).then(|| ArrayIndices::Ragged { splits, values, tail: tail.to_vec(), text })?
        }
        ArrayForm::Sparse { .. } => {
            let (indices, of_indices) = array(indices_name(name))?;
            let (values, of_values) = array(values_name(name))?;
            let (shape, of_shape) = array(dense_shape_name(name))?;
            let ndims = axes.len() as u64;
            let shapes = array(dense_shapes_name(name))
                .filter(|(_, found)| found.element.dtype().is_integer() && found.shape.get(1..) == Some(&[dims.len() as u64]))
                .map(|(number, _)| number);
            let integers = of_indices.element.dtype().is_integer() && of_shape.element.dtype().is_integer();
            let is_it = integers
                && !dims.is_empty()
                && of_values.element.dtype() == leaf.dtype
                && of_values.shape.len() == 1
                && of_indices.shape == [of_values.shape[0], ndims]
                && of_shape.shape == [ndims];
            is_it.then_some(ArrayIndices::Sparse { indices, values, shape, shapes, ndims: dims.len() })?
        }
    };
    Some(BoundLeaf { name: leaf.name, dtype: leaf.dtype, dims, parts })
}

/// The meaning of the first axis in a file that does not declare it, derived from the rank of a field in `--schema`.
fn stacking(contents: &Contents, declared: &[&Field], names: &HashMap<&str, usize>) -> Result<Stacking> {
    let fits = |field: &Field, stacking| {
        let source = Field::new(field.source_name(), Type { optional: false, ..field.ty.clone() });
        let rank = |array: &StoredArray| array.shape.len() == field.ty.rank() + usize::from(stacking == Stacking::Records);
        names.get(source.name.as_str()).map_or_else(|| bind(&source, stacking, contents, names).is_some(), |at| rank(&contents.arrays[*at]))
    };
    // Text fits both interpretations and decides nothing.
    let only = |stacking, other| declared.iter().find(|f| fits(f, stacking) && !fits(f, other));
    match (only(Stacking::One, Stacking::Records), only(Stacking::Records, Stacking::One)) {
        (Some(one), Some(records)) => {
            let error = Error::usage(format!(
                "--schema declares all axes of the array {}, but omits the record axis of {}",
                quoted(&one.name),
                quoted(&records.name)
            ));
            Err(error.help("the arrays of a file either form one record or have one row per record"))
        }
        (Some(_), None) => Ok(Stacking::One),
        _ => Ok(Stacking::Records),
    }
}

/// The field that an array belongs to, judging by names and shapes.
fn guess(number: usize, stacking: Stacking, contents: &Contents, names: &HashMap<&str, usize>) -> Result<BoundField> {
    let found = &contents.arrays[number];
    let stem = ["/values", "/indices", "/dense_shape", "/dense_shapes"].iter().find_map(|end| found.name.strip_suffix(end));
    let stem = stem.or_else(|| {
        let (stem, level) = found.name.rsplit_once("/row_splits_")?;
        level.parse::<usize>().is_ok().then_some(stem)
    });
    // They would become two fields with the same name.
    let stem = stem.filter(|stem| !names.contains_key(stem) && names.contains_key(values_name(stem).as_str()));
    if let Some(stem) = stem
        && let Some(bound) = compound(stem, stacking, contents, names).filter(|bound| bound.numbers().contains(&number))
    {
        return Ok(bound);
    }
    let outer = usize::from(stacking == Stacking::Records);
    let name = &found.name;
    let Some(own) = found.shape.get(outer..) else {
        let others: Vec<String> = contents.arrays.iter().filter(|a| !a.shape.is_empty()).map(|a| quoted(&a.name)).collect();
        let error = Error::data("is a single value, not one per record").in_field(quoted(name));
        let (error, or) = match others.is_empty() {
            true => (error, ""),
            false => (error.help(format!("read the others: select {}", others.join(","))), "or "),
        };
        if matches!(found.element.kind, ElementKind::Time { .. }) {
            return Err(error.help(format!("{or}save it as a row in Python: a.reshape(1)")));
        }
        return Err(error.help(format!(
            "{or}read the whole file as one record: {}",
            schema_option(&format!("{}: {}", name_text(name), found.element.dtype()))
        )));
    };
    let dims = own.iter().map(|size| Dim::known(*size)).collect::<Vec<_>>();
    let field = Field::new(name.clone(), found.element.ty(dims.clone()));
    let tail = found.shape.get(1..).unwrap_or_default().to_vec();
    let parts = ArrayIndices::Ragged { splits: Vec::new(), values: number, tail, text: false };
    Ok(BoundField { field, leaves: vec![BoundLeaf { name: name.clone(), dtype: found.element.dtype(), dims, parts }] })
}

/// A ragged or sparse field recognized in several arrays.
fn compound(stem: &str, stacking: Stacking, contents: &Contents, names: &HashMap<&str, usize>) -> Option<BoundField> {
    let array = |name: String| names.get(name.as_str()).map(|number| &contents.arrays[*number]);
    let values = array(values_name(stem))?;
    let outer = usize::from(stacking == Stacking::Records);
    if let Some(number) = names.get(dense_shape_name(stem).as_str()) {
        let own = contents.dense_shape(*number).get(outer..).filter(|own| !own.is_empty())?;
        let known = !names.contains_key(dense_shapes_name(stem).as_str());
        let dims = own.iter().map(|n| u64::try_from(*n).ok().filter(|_| known).map_or(Dim::UNIFORM, Dim::known)).collect();
        return bind(&Field::new(stem, Type::sparse(values.element.dtype(), dims)), stacking, contents, names);
    }
    let levels = (0..64).take_while(|level| names.contains_key(row_splits_name(stem, *level).as_str())).count();
    if levels == 0 {
        return None;
    }
    let tail = values.shape.get(1..)?.iter().map(|size| Dim::known(*size));
    // Rows of single bytes are strings, as tatter writes them.
    let is_text = values.element.kind == ElementKind::Number(DType::UInt8) && values.shape.len() == 1;
    let open = levels - usize::from(is_text);
    let ragged = (0..open + 1 - outer).map(|axis| if axis == 0 { Dim::UNIFORM } else { Dim::RAGGED });
    let dims = ragged.chain(tail).collect();
    let ty = if is_text { Type::tensor(DType::Bytes, dims) } else { values.element.ty(dims) };
    bind(&Field::new(stem, ty), stacking, contents, names)
}
