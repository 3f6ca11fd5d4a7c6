//! The schema of a dataset: named fields with their types and axes. All records share it.
//!
//! - [`notation`]: the text form, parsed and printed by the same rules.
//! - [`unify`]: the type that holds the values of two types.
//!
//! Axes are numbered within the record; the stream of records is not an axis.
//!
//! ```
//! use tatter::schema::notation;
//! let schema = notation::parse("id: int64; tokens: string[?]; grid: float32[?, (?), 3]")?;
//! assert_eq!(schema.fields[2].ty.rank(), 3);
//! assert!(schema.fields[2].ty.is_ragged());
//! assert_eq!(schema.fields[1].ty.to_string(), "string[?]");
//! # Ok::<(), tatter::error::Error>(())
//! ```

pub mod arrays;
mod cursor;
mod encoding;
pub mod facts;
pub mod filling;
mod find;
pub mod iso8601;
pub mod leaves;
pub mod literal;
pub mod maps;
mod names;
pub mod nested;
pub mod notation;
mod otherwise;
pub mod replaced;
pub mod search;
pub mod time;
pub mod unify;
pub mod uuid;

pub use encoding::PartitionEncoding;

use crate::error::Error;
use crate::path::FieldPath;
use arrow_schema::DataType;
use facts::{Facts, Storage};
use std::sync::Arc;

/// Maximum number of fields of a structure, and of the records of an input. More fields are usually keys that are data.
pub const MAX_FIELDS: usize = 10_000;

/// The error for records with more than [`MAX_FIELDS`] fields.
pub fn too_many_fields() -> Error {
    Error::data("the records have more than 10,000 different fields")
}

/// The type of a single value in a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// No value has been seen: always empty or null. Passed through, but rejected by tensor verbs.
    Null,
    /// `True`, `False`.
    Bool,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 8 bits.
    UInt8,
    /// Unsigned, 16 bits.
    UInt16,
    /// Unsigned, 32 bits.
    UInt32,
    /// Unsigned, 64 bits.
    UInt64,
    /// IEEE half precision.
    Float16,
    /// IEEE single precision.
    Float32,
    /// IEEE double precision.
    Float64,
    /// UTF-8 text.
    String,
    /// Any bytes.
    Bytes,
    /// Any JSON value, kept as its text.
    Json,
    /// Any other Arrow type: passed through unchanged, but rejected by tensor verbs.
    Arrow(Box<DataType>),
}

impl DType {
    /// The dtypes of tensors, with their names.
    pub const NAMED: [(&'static str, DType); 16] = [
        ("null", DType::Null),
        ("bool", DType::Bool),
        ("int8", DType::Int8),
        ("int16", DType::Int16),
        ("int32", DType::Int32),
        ("int64", DType::Int64),
        ("uint8", DType::UInt8),
        ("uint16", DType::UInt16),
        ("uint32", DType::UInt32),
        ("uint64", DType::UInt64),
        ("float16", DType::Float16),
        ("float32", DType::Float32),
        ("float64", DType::Float64),
        ("string", DType::String),
        ("bytes", DType::Bytes),
        ("json", DType::Json),
    ];

    /// Finds a dtype by name.
    pub fn from_name(name: &str) -> Option<DType> {
        Self::NAMED.iter().find(|(n, _)| *n == name).map(|(_, d)| d.clone())
    }

    /// The name of a dtype that Rust and other languages name `i32` or `f64`.
    pub fn name_of_short(short: &str) -> Option<&'static str> {
        let (kind, bits) = short.split_at_checked(1)?;
        let kind = [("i", "int"), ("u", "uint"), ("f", "float")].into_iter().find(|(letter, _)| *letter == kind)?.1;
        Self::NAMED.iter().map(|(name, _)| *name).find(|name| name.strip_prefix(kind) == Some(bits))
    }

    /// Whether tensor verbs and expressions support it.
    pub fn is_tensor(&self) -> bool {
        !matches!(self, DType::Null | DType::Json | DType::Arrow(_))
    }

    /// Whether it is a signed or unsigned integer.
    pub fn is_integer(&self) -> bool {
        use DType::*;
        matches!(self, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
    }

    /// Whether it is a float of any width.
    pub fn is_float(&self) -> bool {
        matches!(self, DType::Float16 | DType::Float32 | DType::Float64)
    }

    /// Whether it is an integer or a float.
    pub fn is_number(&self) -> bool {
        self.is_integer() || self.is_float()
    }

    /// The Arrow type of arrays with such values in memory. Strings and bytes have 64-bit offsets, so that arrays
    /// cannot be too long.
    pub fn arrow(&self) -> DataType {
        match self {
            DType::Null => DataType::Null,
            DType::Bool => DataType::Boolean,
            DType::Int8 => DataType::Int8,
            DType::Int16 => DataType::Int16,
            DType::Int32 => DataType::Int32,
            DType::Int64 => DataType::Int64,
            DType::UInt8 => DataType::UInt8,
            DType::UInt16 => DataType::UInt16,
            DType::UInt32 => DataType::UInt32,
            DType::UInt64 => DataType::UInt64,
            DType::Float16 => DataType::Float16,
            DType::Float32 => DataType::Float32,
            DType::Float64 => DataType::Float64,
            DType::String | DType::Json => DataType::LargeUtf8,
            DType::Bytes => DataType::LargeBinary,
            DType::Arrow(foreign) => foreign.as_ref().clone(),
        }
    }
}

/// The size of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// The same size in all records: `4`.
    Known(u64),
    /// Uniform within each record, but different between records: `?`. An axis 0 of unknown size is always uniform.
    Uniform,
    /// Rows of different lengths within one record: `(?)`.
    Ragged,
}

/// An axis: its size and, for `?` and `(?)`, a label that is printed instead if present.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// The size.
    pub size: Size,
    /// The label; `None` for a plain `?` or `(?)`.
    pub label: Option<Arc<str>>,
}

impl Dim {
    /// `?`: uniform within a record; can differ between records.
    pub const UNIFORM: Dim = Dim { size: Size::Uniform, label: None };
    /// `(?)`: can differ between the rows of a record.
    pub const RAGGED: Dim = Dim { size: Size::Ragged, label: None };

    /// An axis of known size.
    pub fn known(size: u64) -> Dim {
        Dim { size: Size::Known(size), label: None }
    }

    /// An axis of that size, without a label.
    pub fn of(size: Size) -> Dim {
        Dim { size, label: None }
    }
}

/// The type of the items of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A single value.
    Value(DType),
    /// A structure of named fields, stored by field.
    Struct(Vec<Field>),
    /// A sparse tensor. The dims of the type are those of its dense shape.
    Sparse(DType),
}

/// The type of a field: the type of its items, its own axes, and where nulls can occur.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// The type of an item.
    pub element: Element,
    /// The axes of the field itself, outermost first, excluding those of enclosing structures.
    pub dims: Vec<Dim>,
    /// Whether the whole field can be null.
    pub optional: bool,
    /// Whether nulls are allowed below the top level: rows, items, values.
    pub with_nulls: bool,
}

impl Type {
    /// A scalar that is null in all records.
    pub const NULL: Type = Type { element: Element::Value(DType::Null), dims: Vec::new(), optional: true, with_nulls: false };

    /// A scalar or, with dims, a tensor of that dtype, without nulls.
    pub fn tensor(dtype: DType, dims: Vec<Dim>) -> Type {
        Type { element: Element::Value(dtype), dims, optional: false, with_nulls: false }
    }

    /// A structure or, with dims, a structured tensor, without nulls.
    pub fn structure(fields: Vec<Field>, dims: Vec<Dim>) -> Type {
        Type { element: Element::Struct(fields), dims, optional: false, with_nulls: false }
    }

    /// A sparse tensor without nulls.
    pub fn sparse(dtype: DType, dims: Vec<Dim>) -> Type {
        Type { element: Element::Sparse(dtype), dims, optional: false, with_nulls: false }
    }

    /// The same type, optional or not.
    pub fn with_optional(mut self, optional: bool) -> Type {
        self.optional = optional;
        self
    }

    /// The number of its own axes.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The dtype, if items are single values or sparse entries.
    pub fn dtype(&self) -> Option<&DType> {
        match &self.element {
            Element::Value(dtype) | Element::Sparse(dtype) => Some(dtype),
            Element::Struct(_) => None,
        }
    }

    /// Whether values can be JSON text.
    pub fn may_hold_json(&self) -> bool {
        matches!(self.element, Element::Value(DType::String | DType::Bytes | DType::Json))
    }

    /// The fields, if items are structures.
    pub fn fields(&self) -> Option<&[Field]> {
        match &self.element {
            Element::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// Whether it is a sparse tensor.
    pub fn is_sparse(&self) -> bool {
        matches!(self.element, Element::Sparse(_))
    }

    /// The dims that are list levels in memory: none for a sparse tensor, otherwise all.
    pub fn list_dims(&self) -> &[Dim] {
        if self.is_sparse() { &[] } else { &self.dims }
    }

    /// The type of one item along axis 0 (a row of a list level), without the outermost list dim. `with_nulls` then
    /// means that the item itself can be null, too.
    pub fn item(&self) -> Type {
        Type { element: self.element.clone(), dims: self.dims[1..].to_vec(), optional: self.with_nulls, with_nulls: self.with_nulls }
    }

    /// Whether a size differs between rows within a record: whether any of its own axes is `(?)`.
    pub fn is_ragged(&self) -> bool {
        self.dims.iter().any(|d| d.size == Size::Ragged)
    }
}

/// How a field is read from features or columns: `from v split by row_lengths(l)`, `from v at i0, i1`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Source {
    /// The feature or column with the values, if its name differs from that of the field.
    pub values: Option<String>,
    /// As in tf.io.RaggedFeature: one partition per level, outermost first.
    pub split_by: Vec<SplitBy>,
    /// As in tf.io.SparseFeature: one index feature per dimension.
    pub at: Vec<String>,
}

impl Source {
    /// Whether nothing is specified.
    pub fn is_empty(&self) -> bool {
        *self == Source::default()
    }
}

/// A partition of a tf.io.RaggedFeature.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitBy {
    /// The encoding, and the feature with the partition.
    Feature(PartitionEncoding, String),
    /// Rows of one known length.
    UniformRowLength(u64),
}

/// A literal value: the default of a field, or the value of a verb's option.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// Any 64-bit integer, signed or unsigned.
    Int(i128),
    /// A float.
    Float(f64),
    /// `"text"`.
    String(String),
    /// `b"bytes"`.
    Bytes(Vec<u8>),
    /// `[...]`.
    List(Vec<Literal>),
}

/// A named field of a record or structure. Equality ignores the storage.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// The value of a missing field.
    pub default: Option<Literal>,
    /// The source in a file.
    pub source: Source,
    /// How columnar files store it.
    pub storage: Storage,
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        (&self.name, &self.ty, &self.default, &self.source) == (&other.name, &other.ty, &other.default, &other.source)
    }
}

impl Field {
    /// A field without a default or a source.
    pub fn new(name: impl Into<String>, ty: Type) -> Field {
        Field { name: name.into(), ty, default: None, source: Source::default(), storage: Storage::default() }
    }

    /// What the field is read from: the name of a feature, column, key or array.
    pub fn source_name(&self) -> &str {
        self.source.values.as_deref().unwrap_or(&self.name)
    }
}

/// The fields of a record, in order. Equality ignores other declarations of files.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The fields.
    pub fields: Vec<Field>,
    /// What columnar files declare about all records.
    pub facts: Facts,
    /// Where the next search starts.
    last: search::LastFound,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.fields == other.fields
    }
}

/// The first of these fields that `is_meant`, which is likely the one at `guess`: fields of the same records mostly have the
/// same order, and searching all of them for each would be quadratic.
pub fn field_near(fields: &[Field], guess: usize, is_meant: impl Fn(&Field) -> bool) -> Option<&Field> {
    fields.get(guess).filter(|field| is_meant(field)).or_else(|| fields.iter().find(|field| is_meant(field)))
}

impl Schema {
    /// A schema of these fields, without metadata.
    pub fn new(fields: Vec<Field>) -> Schema {
        Schema::with_facts(fields, Facts::default())
    }

    /// A schema of these fields with this metadata.
    pub fn with_facts(fields: Vec<Field>, facts: Facts) -> Schema {
        Schema { fields, facts, last: search::LastFound::default() }
    }

    /// The position of a top-level field.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.last.position(&self.fields, |field| field.name == name)
    }

    /// The same record without sources and defaults, as output by a reader.
    pub fn plain(&self) -> Schema {
        fn plain_fields(fields: &[Field]) -> Vec<Field> {
            fields
                .iter()
                .map(|f| {
                    let mut ty = f.ty.clone();
                    if let Element::Struct(inner) = &mut ty.element {
                        *inner = plain_fields(inner);
                    }
                    Field { storage: f.storage.clone(), ..Field::new(f.name.clone(), ty) }
                })
                .collect()
        }
        Schema::with_facts(plain_fields(&self.fields), self.facts.clone())
    }
}

impl Schema {
    /// The schema to be written: without metadata that describes other columns.
    pub fn with_valid_facts(self: &Arc<Self>) -> Arc<Schema> {
        match self.facts.describes_columns() {
            true => Arc::new(Schema { facts: self.facts.valid_for(columns(&self.fields)), ..self.as_ref().clone() }),
            false => self.clone(),
        }
    }
}

/// The fields, as metadata can describe them. Whether values are nullable is left out, because it differs between files of
/// one table.
pub fn columns(fields: &[Field]) -> impl Iterator<Item = facts::Column> {
    fn without_nulls(ty: &Type) -> Type {
        let mut ty = Type { optional: false, with_nulls: false, ..ty.clone() };
        if let Element::Struct(fields) = &mut ty.element {
            fields.iter_mut().for_each(|field| field.ty = without_nulls(&field.ty));
        }
        ty
    }
    fields.iter().map(|field| facts::Column {
        name: field.name.clone(),
        ty: without_nulls(&field.ty).to_string(),
        is_stored: field.storage.arrow().is_some(),
    })
}

/// Calls `see` for every field at any depth, visiting a structure before its fields.
pub fn every_field(fields: &[Field], parent: Option<&FieldPath>, see: &mut dyn FnMut(FieldPath, &Field)) {
    for field in fields {
        let path = parent.map_or_else(|| FieldPath::name(&field.name), |p| p.join(&field.name));
        see(path.clone(), field);
        every_field(field.ty.fields().unwrap_or(&[]), Some(&path), see);
    }
}
