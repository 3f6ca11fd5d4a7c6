//! The mapping from the features of a tf.Example to the fields of a schema: built once per run, before the first
//! record.
//!
//! | field | features |
//! |---|---|
//! | `x: T`, `x: T[3, 4]`, `x: T[?, 2]` | `x`: the values |
//! | `x: T[?, (?), ...]` | `x`, and `x/row_lengths_1` ...: one for each axis after axis 0 without a known size, outermost first |
//! | `x: T[..] from v split by E(p), ...` | `v`, and one feature for each partition: tf.io.RaggedFeature |
//! | `x: sparse<T>[?]` | `x`: the values, at 0, 1, 2, ...: tf.io.VarLenFeature |
//! | `x: sparse<T>[..]` | `x/values`, and `x/indices_0` ...: one for each axis |
//! | `x: sparse<T>[..] from v at i, ...` | `v`, `i`, ..., sorted by index: tf.io.SparseFeature |
//! | `x: {a: T}[?]` | those of `x.a: T[?]` |

use super::packing::Packing;
use super::wire::FeatureKind;
use crate::error::{Error, Result};
use crate::formats::format::Request;
use crate::path::{FieldPath, quoted};
use crate::printable::{counted, counted_axes, shell_word};
use crate::schema::{DType, Dim, Element, Field, Literal, PartitionEncoding, Schema, Size, Source, SplitBy, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of values that a default can create in one record.
const DEFAULT_VALUES: u64 = 1 << 24;

/// How the required fields of a schema are read.
#[derive(Debug, Default)]
pub struct Mapping {
    /// One for each required field of the record, in schema order.
    pub fields: Vec<Node>,
    /// The names of the features to read.
    pub features: Vec<String>,
    index: HashMap<String, usize>,
    sequences: bool,
}

/// How a field is read.
#[derive(Debug)]
pub enum Node {
    Leaf(Box<Leaf>),
    /// Fields that share the outermost `levels` axes.
    Struct {
        path: String,
        levels: usize,
        optional: bool,
        fields: Vec<Node>,
    },
}

/// How the values of a field are read.
#[derive(Debug)]
pub struct Leaf {
    pub path: String,
    /// The feature with the values.
    pub values: usize,
    pub dtype: DType,
    /// All axes, including those of enclosing structures.
    pub dims: Vec<Dim>,
    pub shape: Shape,
    pub absent: Absent,
    /// Whether the type is nullable.
    pub optional: bool,
    /// How a step is read, if the field can be a feature list.
    pub step: Option<Box<Leaf>>,
    /// Whether it can be a feature of the context.
    pub context: bool,
    /// Whether the type is inferred, so that a value that a wider type would hold is not a fault of its record.
    pub inferred: bool,
    /// How values of the feature are converted to values of the field.
    pub stored: Stored,
}

/// The conversion from values of a feature to values of a field.
#[derive(Clone, Debug, Default)]
pub enum Stored {
    /// No conversion.
    #[default]
    Values,
    /// int64s are the bits of uint64s.
    Bits,
    /// Each value is a whole tensor, as bytes.
    Packed(Arc<Packing>),
    /// int64s are indices into a list of names.
    Named(Arc<[String]>),
}

/// How the values of a record are arranged.
#[derive(Debug)]
pub enum Shape {
    Scalar,
    /// How axes 1, 2, ... are split, outermost first.
    Dense(Vec<AxisRows>),
    /// The features with the indices, one for each axis. If there are none, indices are 0, 1, 2, ...
    Sparse {
        indices: Vec<usize>,
        sorted: bool,
    },
}

/// How the values along an axis are split into rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisRows {
    /// Rows of this length.
    Every(usize),
    /// As many rows as the values fill, because no other axis has an unknown size.
    Rest,
    /// By a partition stored in a feature.
    Stored(PartitionEncoding, usize),
}

/// The value of a record without the feature.
#[derive(Debug)]
pub enum Absent {
    Null,
    Empty,
    Default(DefaultValues),
    Error,
}

/// DefaultValues of one of the kinds.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValues {
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Bytes(Vec<Vec<u8>>),
}

impl Mapping {
    /// How the required fields of `schema` are read. `sequences`: from tf.SequenceExamples.
    ///
    /// # Errors
    /// A usage error: a type that no feature can hold, or a source or default that does not fit it.
    pub fn new(schema: &Schema, request: &Request, sequences: bool) -> Result<Mapping> {
        let mut mapping = Mapping { sequences, ..Mapping::default() };
        for field in schema.fields.iter().filter(|f| request.wanted.includes(&f.name)) {
            let declared = request.declared.index_of(&field.name).map(|at| &request.declared.fields[at]);
            let mut field = field.clone();
            if let Some(declared) = declared {
                if field.source.is_empty() {
                    field.source = declared.source.clone();
                }
                field.default = field.default.or_else(|| declared.default.clone());
            }
            let node = mapping.node(&field, &FieldPath::name(&field.name), &field.name, &[], field.ty.optional, declared.is_none())?;
            mapping.fields.push(node);
        }
        Ok(mapping)
    }

    /// The index of the feature with that name.
    pub fn slot(&mut self, name: String) -> usize {
        let next = self.features.len();
        *self.index.entry(name.clone()).or_insert_with(|| {
            self.features.push(name);
            next
        })
    }

    fn node(&mut self, field: &Field, path: &FieldPath, name: &str, outer: &[Dim], optional: bool, inferred: bool) -> Result<Node> {
        let mut dims = outer.to_vec();
        dims.extend_from_slice(&field.ty.dims);
        // Axis 0 of a field is uniform within its structure, not within the record.
        if let Some(first) = dims.get_mut(outer.len()).filter(|d| !outer.is_empty() && d.size == Size::Uniform) {
            *first = Dim::RAGGED;
        }
        let Element::Struct(inner) = &field.ty.element else {
            let leaf = if self.sequences {
                self.sequence(field, name, dims, optional, inferred)
            } else {
                self.leaf(field, name, dims, optional, inferred)
            };
            let mut leaf = leaf.map_err(|e| e.in_field(path))?;
            leaf.path = path.to_string();
            if let Some(step) = &mut leaf.step {
                step.path = path.to_string();
            }
            return Ok(Node::Leaf(Box::new(leaf)));
        };
        if inner.is_empty() {
            return Err(Error::usage("a structure without fields cannot be read from features").in_field(path));
        }
        let fields = inner
            .iter()
            .map(|f| {
                let name = format!("{name}.{}", f.name);
                // Below an axis, features cannot represent a single null element.
                self.node(f, &path.join(&f.name), &name, &dims, optional || (dims.is_empty() && f.ty.optional), inferred)
            })
            .collect::<Result<_>>()?;
        Ok(Node::Struct { path: path.to_string(), levels: field.ty.dims.len(), optional: field.ty.optional, fields })
    }

    fn leaf(&mut self, field: &Field, name: &str, dims: Vec<Dim>, optional: bool, inferred: bool) -> Result<Leaf> {
        let (ty, source) = (&field.ty, &field.source);
        let Some(dtype) = ty.dtype() else {
            return Err(Error::usage("a structure cannot be part of a leaf"));
        };
        if let DType::Arrow(_) = dtype {
            let error = Error::usage(format!("a feature of a tf.Example cannot store {dtype}"));
            if dtype.time().is_none() {
                return Err(error.help("it stores integers, floats, strings or bytes"));
            }
            let ty = dtype.to_string();
            let to = ty.strip_prefix("arrow<").and_then(|ty| ty.strip_suffix('>')).unwrap_or(&ty);
            let cast = shell_word(&format!("{}={to}", quoted(name)));
            return Err(error.help(format!("declare it as it is stored, string or int64, and convert it: cast {cast}")));
        }
        let named = source.values.clone();
        let (values, shape) = if ty.is_sparse() {
            self.sparse(field, name, dims.len() - ty.dims.len())?
        } else if dims.is_empty() {
            (named.unwrap_or_else(|| name.to_owned()), Shape::Scalar)
        } else {
            let axes = if source.split_by.is_empty() { self.by_name(&dims, name)? } else { self.split_by(&dims, &source.split_by)? };
            (named.unwrap_or_else(|| name.to_owned()), Shape::Dense(axes))
        };
        let absent = match &field.default {
            Some(Literal::None) => Absent::Null,
            Some(default) => Absent::Default(default_values(default, dtype, &dims)?),
            None if optional => Absent::Null,
            None if inferred => Absent::Error,
            None if ty.is_sparse() || dims.first().is_some_and(|d| !matches!(d.size, Size::Known(_))) => Absent::Empty,
            None => Absent::Error,
        };
        let values = self.slot(values);
        Ok(Leaf {
            path: name.to_owned(),
            values,
            dtype: dtype.clone(),
            dims,
            shape,
            absent,
            optional: ty.optional,
            step: None,
            context: true,
            inferred,
            stored: Stored::Values,
        })
    }

    /// A leaf of a tf.SequenceExample. A field with axes can be a feature list or a feature of the context; if it is
    /// ragged, its partitions are too. Sparse matrices are feature lists.
    fn sequence(&mut self, field: &Field, name: &str, dims: Vec<Dim>, optional: bool, inferred: bool) -> Result<Leaf> {
        let open = |d: &Dim| !matches!(d.size, Size::Known(_));
        let is_list = match field.ty.is_sparse() {
            true => field.ty.rank() == 2 && dims.len() == 2 && dims.iter().all(open) && field.source.at.is_empty(),
            false => dims.first().is_some_and(open),
        };
        // The same number of partitions as for a context feature, because the steps of a list are not stored.
        let in_context = !field.source.split_by.is_empty() && field.source.split_by.len() + 1 == dims.len();
        if !is_list || in_context {
            return self.leaf(field, name, dims, optional, inferred);
        }
        let mut below = field.clone();
        if field.ty.is_sparse() {
            below.ty.dims.remove(0);
        }
        below.default = None;
        let mut step = self.leaf(&below, name, dims[1..].to_vec(), false, inferred)?;
        step.absent = if dims.get(1).is_some_and(open) { Absent::Empty } else { Absent::Error };
        let mut leaf = if field.ty.is_sparse() || !field.source.split_by.is_empty() {
            let flat = Field { ty: Type::tensor(step.dtype.clone(), vec![Dim::UNIFORM]).with_optional(field.ty.optional), ..below };
            let flat = Field { source: Source { values: flat.source.values, ..Source::default() }, ..flat };
            Leaf { context: false, ..self.leaf(&flat, name, vec![Dim::UNIFORM], optional, inferred)? }
        } else {
            self.leaf(field, name, dims.clone(), optional, inferred)?
        };
        leaf.dims = dims;
        leaf.step = Some(Box::new(step));
        Ok(leaf)
    }

    fn sparse(&mut self, field: &Field, name: &str, outer: usize) -> Result<(String, Shape)> {
        let (ndims, source) = (field.ty.rank(), &field.source);
        if outer > 0 {
            return Err(Error::usage("a sparse tensor in a list of structures cannot be read from features"));
        }
        if !source.at.is_empty() {
            if source.at.len() != ndims {
                return Err(Error::usage(format!(
                    "found {} for the {} of {}",
                    counted(source.at.len() as u64, "index feature"),
                    counted_axes(ndims),
                    field.ty
                )));
            }
            let indices = source.at.iter().map(|i| self.slot(i.clone())).collect();
            return Ok((source.values.clone().unwrap_or_else(|| name.to_owned()), Shape::Sparse { indices, sorted: true }));
        }
        if ndims == 1 && field.ty.dims.iter().all(|d| !matches!(d.size, Size::Known(_))) {
            return Ok((source.values.clone().unwrap_or_else(|| name.to_owned()), Shape::Sparse { indices: Vec::new(), sorted: false }));
        }
        let indices = (0..ndims).map(|i| self.slot(indices_name(name, i))).collect();
        Ok((source.values.clone().unwrap_or_else(|| values_name(name)), Shape::Sparse { indices, sorted: false }))
    }

    /// The partitions stored with the values, under names derived from the field name.
    fn by_name(&mut self, dims: &[Dim], name: &str) -> Result<Vec<AxisRows>> {
        let mut level = 0;
        dims.iter()
            .skip(1)
            .map(|dim| match dim.size {
                Size::Known(n) => every(n),
                _ => {
                    level += 1;
                    Ok(AxisRows::Stored(PartitionEncoding::RowLengths, self.slot(row_lengths_name(name, level))))
                }
            })
            .collect()
    }

    /// The partitions of a tf.io.RaggedFeature. Known sizes that are not mentioned split the values first.
    fn split_by(&mut self, dims: &[Dim], split_by: &[SplitBy]) -> Result<Vec<AxisRows>> {
        let mut given = split_by.iter().peekable();
        let mut axes = Vec::new();
        for dim in dims.iter().skip(1) {
            match (dim.size, given.peek()) {
                (Size::Known(n), Some(SplitBy::UniformRowLength(k))) if n == *k => {
                    given.next();
                    axes.push(every(n)?);
                }
                (Size::Known(n), _) => axes.push(every(n)?),
                (_, Some(SplitBy::UniformRowLength(k))) => {
                    return Err(Error::usage(format!("an axis split by uniform_row_length({k}) must have the size {k}")));
                }
                (_, Some(SplitBy::Feature(encoding, feature))) => {
                    given.next();
                    axes.push(AxisRows::Stored(*encoding, self.slot(feature.clone())));
                }
                (_, None) => return Err(Error::usage("write one partition for each axis after axis 0")),
            }
        }
        if given.next().is_some() {
            return Err(Error::usage(format!(
                "found {}, which need{} a type with {} axes",
                counted(split_by.len() as u64, "partition"),
                if split_by.len() == 1 { "s" } else { "" },
                split_by.len() + 1
            ))
            .help("write one partition for each axis after axis 0, outermost first"));
        }
        Ok(axes)
    }
}

fn every(n: u64) -> Result<AxisRows> {
    usize::try_from(n).map(AxisRows::Every).map_err(|_| Error::usage(format!("a size of {n} is too large")))
}

/// The feature with the row lengths of ragged level `level`, counted from 1.
pub fn row_lengths_name(name: &str, level: usize) -> String {
    format!("{name}/row_lengths_{level}")
}

/// The feature with the values of a sparse field.
pub fn values_name(name: &str) -> String {
    format!("{name}/values")
}

/// The feature with the indices of a sparse field along an axis.
pub fn indices_name(name: &str, axis: usize) -> String {
    format!("{name}/indices_{axis}")
}

/// The kind of list that holds values of that dtype; `None` for fields without a dtype.
pub fn kind_of(dtype: &DType) -> Option<FeatureKind> {
    match dtype {
        DType::Null | DType::Arrow(_) => None,
        DType::String | DType::Bytes | DType::Json => Some(FeatureKind::Bytes),
        d if d.is_float() => Some(FeatureKind::Float),
        _ => Some(FeatureKind::Int64),
    }
}

/// The values of a default: a single value that fills the shape, or all values.
fn default_values(default: &Literal, dtype: &DType, dims: &[Dim]) -> Result<DefaultValues> {
    let mut flat = Vec::new();
    flatten(default, &mut flat);
    let count = dims.iter().try_fold(1u64, |n, d| match d.size {
        Size::Known(size) => n.checked_mul(size),
        _ => None,
    });
    let n = match (count, default) {
        (Some(n), _) if n > DEFAULT_VALUES => return Err(Error::usage(format!("a default of {n} values is too large"))),
        (Some(n), Literal::List(_)) if n != flat.len() as u64 => {
            return Err(Error::usage(format!("the default has {} values, but the shape has {n}", flat.len())));
        }
        (Some(n), _) => usize::try_from(n).unwrap_or(0),
        (None, Literal::List(_)) if dims.len() == 1 => flat.len(),
        (None, _) => return Err(Error::usage("only a field of known sizes, or a vector, can have a default")),
    };
    let wrong = |found: &Literal| Error::usage(format!("{found:?} is not a valid default for {dtype}"));
    let mut flat = flat.into_iter().cycle().take(if flat_is_empty(default) { 0 } else { n });
    Ok(match kind_of(dtype) {
        Some(FeatureKind::Int64) => DefaultValues::Int64(
            flat.map(|v| match v {
                Literal::Int(i) => i64::try_from(*i).map_err(|_| wrong(v)),
                Literal::Bool(b) => Ok(i64::from(*b)),
                other => Err(wrong(other)),
            })
            .collect::<Result<_>>()?,
        ),
        Some(FeatureKind::Float) => DefaultValues::Float(
            flat.map(|v| match v {
                Literal::Int(i) => Ok(*i as f32),
                Literal::Float(f) => Ok(*f as f32),
                other => Err(wrong(other)),
            })
            .collect::<Result<_>>()?,
        ),
        Some(FeatureKind::Bytes) => DefaultValues::Bytes(
            flat.map(|v| match v {
                Literal::String(s) => Ok(s.as_bytes().to_vec()),
                Literal::Bytes(b) if *dtype == DType::Bytes => Ok(b.clone()),
                other => Err(wrong(other)),
            })
            .collect::<Result<_>>()?,
        ),
        None => match flat.next() {
            Some(v) => return Err(wrong(v)),
            None => DefaultValues::Int64(Vec::new()),
        },
    })
}

fn flat_is_empty(default: &Literal) -> bool {
    matches!(default, Literal::List(items) if items.iter().all(flat_is_empty))
}

fn flatten<'a>(literal: &'a Literal, out: &mut Vec<&'a Literal>) {
    match literal {
        Literal::List(items) => items.iter().for_each(|i| flatten(i, out)),
        value => out.push(value),
    }
}

/// Whether a type is completely declared, so that nothing about the field needs to be inferred.
pub fn is_complete(ty: &Type) -> bool {
    match &ty.element {
        Element::Struct(fields) => !fields.is_empty(),
        Element::Value(dtype) | Element::Sparse(dtype) => *dtype != DType::Null,
    }
}
