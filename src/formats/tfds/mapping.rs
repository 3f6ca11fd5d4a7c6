//! The schema of a dataset, and the tf.Example features from which its fields are read.
//!
//! | feature | stored under |
//! |---|---|
//! | `x` inside `a` | `a/x` |
//! | a tensor with one unknown size, inside at most one sequence | `x`: its values |
//! | a tensor inside two or more sequences | `x/ragged_flat_values`, and for each sequence except the outermost `x/ragged_row_lengths_0` ... |
//! | a tensor with encoding `bytes` or `zlib` | a scalar with its bytes |
//! | such a tensor with several unknown sizes | `x/value`, and the sizes in `x/shape` |
//! | a structure inside sequences | each of its fields, inside the same sequences |
//!
//! Source: `core/example_serializer.py`, `core/example_parser.py`, `get_serialized_info` of each connector.

use super::features::{Encoding, Feature, Tensor};
use super::labels::Labels;
use super::names::{flat_values_name, row_lengths_name, shape_name, tensor_name};
use crate::error::{Error, Result};
use crate::formats::examples::mapping::{Absent, AxisRows, Leaf, Mapping, Node, Shape, Stored, kind_of};
use crate::formats::examples::packing::{Element, Packing};
use crate::path::FieldPath;
use crate::schema::facts::Storage;
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{DType, Dim, Field, PartitionEncoding, Size, Type};
use crate::tensor::arrow::{ArrowForm, to_arrow_field};
use std::sync::Arc;

/// The metadata key for a field's connector, in features.json syntax.
pub const CONNECTOR: &str = "tfds:feature";
/// The metadata key for a field's class names, as JSON.
pub const CLASS_NAMES: &str = "tfds:class_names";

/// Converts features to fields.
pub struct Mapper<'a> {
    /// The class names.
    pub labels: &'a Labels,
    /// Maximum size in bytes of a tensor of unknown size.
    pub max_nbytes: u64,
    /// The source features.
    pub mapping: Mapping,
}

/// The location of a feature.
struct Scope<'a> {
    name: &'a str,
    path: FieldPath,
    /// The names on its path, joined by slashes.
    key: String,
    /// The axes of the enclosing structures.
    outer: Vec<Dim>,
    /// The enclosing sequences within the innermost structure.
    own: Vec<Dim>,
    /// The declared fields (`--schema`).
    declared: Option<&'a Field>,
}

impl Mapper<'_> {
    /// The field for a feature of the record. Adds how it is read to the mapping. `declared`: its type in `--schema`.
    ///
    /// # Errors
    /// The connector is unknown, or the storage is one that TFDS cannot read either.
    pub fn field(&mut self, name: &str, feature: &Feature, declared: Option<&Field>) -> Result<Field> {
        let scope = Scope { name, path: FieldPath::name(name), key: name.to_owned(), outer: Vec::new(), own: Vec::new(), declared };
        let (field, node) = self.node(feature, scope)?;
        self.mapping.fields.push(node);
        Ok(field)
    }

    fn node(&mut self, feature: &Feature, mut scope: Scope) -> Result<(Field, Node)> {
        match feature {
            Feature::Sequence(inner, length) => {
                let inside = if scope.own.is_empty() { Dim::UNIFORM } else { Dim::RAGGED };
                scope.own.push(length.map_or(inside, Dim::known));
                self.node(inner, scope)
            }
            Feature::Dict(features) => self.structure(features, scope),
            Feature::Tensor(tensor) => self.leaf(tensor, scope),
            Feature::Unknown(what) => {
                let Some(tensor) = scope.declared.and_then(|field| declared_tensor(field, scope.own.len())) else {
                    return Err(Error::usage(format!("unknown feature connector: {what}"))
                        .in_field(&scope.path)
                        .help(format!("declare the stored type: {}", schema_option(&example(&scope))))
                        .help("or read only the other fields, with `select`"));
                };
                self.leaf(&tensor, scope)
            }
        }
    }

    fn structure(&mut self, features: &[(String, Feature)], scope: Scope) -> Result<(Field, Node)> {
        if features.is_empty() {
            return Err(Error::usage("the FeaturesDict has no features")
                .in_field(&scope.path)
                .help("leave it out: select the others with `select`"));
        }
        let (mut fields, mut nodes) = (Vec::new(), Vec::new());
        let outer = record_dims(&scope.outer, &scope.own);
        let declared = scope.declared.and_then(|field| field.ty.fields());
        for (name, feature) in features {
            let inner = Scope {
                name,
                path: scope.path.join(name),
                key: format!("{}/{name}", scope.key),
                outer: outer.clone(),
                own: Vec::new(),
                declared: declared.and_then(|fields| fields.iter().find(|field| field.name == *name)),
            };
            let (field, node) = self.node(feature, inner)?;
            fields.push(field);
            nodes.push(node);
        }
        let levels = scope.own.len();
        let node = Node::Struct { path: scope.path.to_string(), levels, optional: false, fields: nodes };
        Ok((Field::new(scope.name, Type::structure(fields, scope.own)), node))
    }

    fn leaf(&mut self, tensor: &Tensor, scope: Scope) -> Result<(Field, Node)> {
        let nsequences = scope.outer.len() + scope.own.len();
        let is_packed = tensor.encoding != Encoding::None;
        // A tensor outside of sequences has one shape per record.
        let unknown = |axis: usize| if nsequences == 0 || (scope.own.is_empty() && axis == 0) { Dim::UNIFORM } else { Dim::RAGGED };
        let sizes: Vec<Dim> = tensor.shape.iter().enumerate().map(|(axis, size)| size.map_or_else(|| unknown(axis), Dim::known)).collect();
        let names = if tensor.is_label { self.labels.names(&scope.path)? } else { None };
        let dims = [scope.own.as_slice(), &sizes].concat();
        let stored_dims = record_dims(&scope.outer, if is_packed { &scope.own } else { &dims });
        let is_dynamic = is_packed && tensor.shape.iter().filter(|size| size.is_none()).count() > 1;
        let base = tensor_name(&scope.key, is_dynamic);
        let (values, axes) = self.slots(&base, &stored_dims, nsequences).map_err(|e| e.in_field(&scope.path))?;
        let dtype = tensor.element.dtype();
        let stored = match (&names, &tensor.element) {
            _ if is_packed => {
                let sizes = shape_name(&scope.key);
                let sizes = is_dynamic.then(|| self.mapping.slot(flat_values_name(&sizes, nsequences)));
                Stored::Packed(Arc::new(self.packing(tensor, sizes)))
            }
            (Some(names), _) if self.labels.are_read() => Stored::Named(names.clone()),
            (_, Element::Of(DType::UInt64)) => Stored::Bits,
            _ => Stored::Values,
        };
        let dtype = match (&stored, dtype) {
            (Stored::Named(_), _) => DType::String,
            // Strings that are not text.
            (_, DType::String) if scope.declared.is_some_and(|field| field.ty.dtype() == Some(&DType::Bytes)) => DType::Bytes,
            (_, dtype) => dtype,
        };
        let optional = tensor.optional && nsequences == 0;
        let absent = match stored_dims.first() {
            _ if optional => Absent::Null,
            Some(dim) if !matches!(dim.size, Size::Known(_)) => Absent::Empty,
            _ => Absent::Error,
        };
        let field = Field::new(scope.name, Type::tensor(dtype.clone(), dims).with_optional(optional));
        let field = with_metadata(field, tensor, names.as_deref())?;
        let leaf = Leaf {
            path: scope.path.to_string(),
            values,
            dtype,
            shape: if stored_dims.is_empty() { Shape::Scalar } else { Shape::Dense(axes) },
            dims: stored_dims,
            absent,
            optional,
            step: None,
            context: true,
            inferred: false,
            stored,
        };
        Ok((field, Node::Leaf(Box::new(leaf))))
    }

    /// The feature with the values, and how each axis after axis 0 is split.
    fn slots(&mut self, key: &str, dims: &[Dim], nsequences: usize) -> Result<(usize, Vec<AxisRows>)> {
        let is_ragged = nsequences > 1;
        let values = self.mapping.slot(flat_values_name(key, nsequences));
        let is_open = |dim: &Dim| !matches!(dim.size, Size::Known(_));
        let nopen = dims.iter().filter(|dim| is_open(dim)).count();
        let mut axes = Vec::new();
        for (axis, dim) in dims.iter().enumerate().skip(1) {
            axes.push(match dim.size {
                Size::Known(size) => AxisRows::Every(usize::try_from(size).map_err(|_| Error::data(format!("an axis has {size} rows")))?),
                _ if is_ragged && axis < nsequences => {
                    let lengths = self.mapping.slot(row_lengths_name(key, axis));
                    AxisRows::Stored(PartitionEncoding::RowLengths, lengths)
                }
                _ if nopen == 1 => AxisRows::Rest,
                _ => {
                    let error = Error::usage("a tensor has several unknown sizes, none of which is stored");
                    return Err(error.help("TFDS cannot read it either; leave it out: select the other fields with `select`"));
                }
            });
        }
        Ok((values, axes))
    }

    fn packing(&self, tensor: &Tensor, sizes: Option<usize>) -> Packing {
        let known = tensor.shape.iter().copied().try_fold(1u64, |n, size| n.checked_mul(size?));
        let max_nbytes = known.and_then(|n| n.checked_mul(8)).map_or(self.max_nbytes, |n| n.min(self.max_nbytes));
        Packing { element: tensor.element.clone(), dims: tensor.shape.clone(), zlib: tensor.encoding == Encoding::Zlib, sizes, max_nbytes }
    }
}

/// The axes of a field in the record: axis 0 of the field is uniform within its structure, not within the record.
fn record_dims(outer: &[Dim], own: &[Dim]) -> Vec<Dim> {
    let mut dims = [outer, own].concat();
    if let Some(first) = dims.get_mut(outer.len()).filter(|dim| !outer.is_empty() && dim.size == Size::Uniform) {
        *first = Dim::RAGGED;
    }
    dims
}

/// The storage of a feature with an unknown connector, given by `--schema`.
fn declared_tensor(field: &Field, nsequences: usize) -> Option<Tensor> {
    let dtype = field.ty.dtype().filter(|dtype| !field.ty.is_sparse() && kind_of(dtype).is_some())?;
    let size = |dim: &Dim| if let Size::Known(n) = dim.size { Some(n) } else { None };
    Some(Tensor {
        element: Element::Of(dtype.clone()),
        shape: field.ty.dims.get(nsequences..)?.iter().map(size).collect(),
        encoding: Encoding::None,
        optional: field.ty.optional,
        is_label: false,
        connector: serde_json::Value::Null,
    })
}

/// A type for the feature, as it can be given in `--schema`.
fn example(scope: &Scope) -> String {
    let own = if scope.own.is_empty() { String::new() } else { format!("[{}]", vec!["?"; scope.own.len()].join(", ")) };
    scope.path.names().iter().rev().enumerate().fold(String::new(), |inner, (depth, name)| {
        let name = name_text(name);
        if depth == 0 {
            format!("{name}: bytes{own}")
        } else {
            format!("{name}: {{{inner}}}{}", if scope.outer.is_empty() { "" } else { "[?]" })
        }
    })
}

/// The field, with its connector and its class names as metadata.
fn with_metadata(field: Field, tensor: &Tensor, names: Option<&[String]>) -> Result<Field> {
    if tensor.connector.is_null() {
        return Ok(field);
    }
    let arrow = to_arrow_field(&field, ArrowForm::default())?;
    let mut metadata = arrow.metadata().clone();
    metadata.insert(CONNECTOR.to_owned(), tensor.connector.to_string());
    if let Some(names) = names {
        metadata.insert(CLASS_NAMES.to_owned(), serde_json::Value::from(names.to_vec()).to_string());
    }
    Ok(Field { storage: Storage::of(arrow.with_nullable(true).with_metadata(metadata)), ..field })
}
