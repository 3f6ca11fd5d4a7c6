//! Plans which connectors the fields of a schema become, and how their tensors are stored. Decided once, before the
//! first record.
//!
//! | field | connector |
//! |---|---|
//! | a structure; a list of structures | FeaturesDict; a Sequence of it, or Dataset if it is the record's field `steps` |
//! | numbers and bools of known sizes and at most one `?` | Tensor |
//! | ragged axes, several `?`, any `?` below a list of structures | a Sequence for each axis up to the last of them |
//! | float64 | Tensor with encoding `bytes`, because features hold float32 |
//! | string; bytes | Text; Tensor of strings |
//! | a field read from a dataset that still has the same type | the original connector |

use super::super::features::{self, Encoding, Feature, class_name, dimensions};
use super::super::labels::file_name;
use super::super::mapping::{CLASS_NAMES, CONNECTOR};
use super::super::names::{flat_values_name, row_lengths_name, shape_name, tensor_name};
use crate::error::{Error, Result};
use crate::formats::examples::packing::Element;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::{DType, Element as Content, Field, Schema, Size};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// How records are encoded as features.
pub struct Plan {
    /// One for each field of the record.
    pub nodes: Vec<PlanNode>,
    /// The contents of features.json.
    pub features: Value,
    /// Files with class names.
    pub labels: Vec<(String, Vec<String>)>,
    /// Fields with axes of known size that are stored as axes of any size.
    pub resized: Vec<FieldPath>,
}

/// How a field is encoded as features.
pub enum PlanNode {
    /// A structure inside this many nested sequences.
    Struct(usize, Vec<PlanNode>),
    /// A tensor.
    Leaf(Box<PlanLeaf>),
}

/// How a tensor is encoded as a feature.
pub struct PlanLeaf {
    /// The field.
    pub path: FieldPath,
    /// The names on its path, joined by slashes.
    pub key: String,
    /// Number of its outermost axes that are sequences.
    pub levels: usize,
    /// Its dtype.
    pub dtype: DType,
    /// Whether tensors are stored as raw bytes.
    pub encoding: Encoding,
    /// Whether the shape of a tensor is stored with it.
    pub has_sizes: bool,
    /// The size of each axis of a tensor; `None` if it varies.
    pub shape: Vec<Option<u64>>,
    /// Whether it can be missing in a record.
    pub optional: bool,
}

impl Plan {
    /// The plan for records of this schema.
    ///
    /// # Errors
    /// A field that TFDS cannot represent, with advice.
    pub fn new(schema: &Schema) -> Result<Plan> {
        let mut planner = Planner { labels: Vec::new(), resized: Vec::new(), names: HashSet::new() };
        let (nodes, features) = planner.fields(&schema.fields, None, "", 0)?;
        // A file has a name per line, and TFDS leaves out empty lines and the spaces around a name.
        let is_changed = |name: &&String| name.is_empty() || name.trim() != name.as_str() || name.contains('\n');
        for (file, names) in &planner.labels {
            if let Some(name) = names.iter().find(is_changed) {
                return Err(Error::usage(format!("{file}: TFDS cannot store the class name {name:?}")));
            }
        }
        Ok(Plan { nodes, features, labels: planner.labels, resized: planner.resized })
    }

    /// The paths of the tensors.
    pub fn paths(&self) -> impl Iterator<Item = &FieldPath> {
        fn add<'a>(nodes: &'a [PlanNode], paths: &mut Vec<&'a FieldPath>) {
            for node in nodes {
                match node {
                    PlanNode::Struct(_, inner) => add(inner, paths),
                    PlanNode::Leaf(leaf) => paths.push(&leaf.path),
                }
            }
        }
        let mut paths = Vec::new();
        add(&self.nodes, &mut paths);
        paths.into_iter()
    }
}

struct Planner {
    labels: Vec<(String, Vec<String>)>,
    resized: Vec<FieldPath>,
    /// The features so far.
    names: HashSet<String>,
}

impl Planner {
    fn fields(&mut self, fields: &[Field], outer: Option<&FieldPath>, key: &str, depth: usize) -> Result<(Vec<PlanNode>, Value)> {
        let (mut nodes, mut features) = (Vec::new(), Map::new());
        for field in fields {
            let path = outer.map_or_else(|| FieldPath::name(&field.name), |outer| outer.join(&field.name));
            let key = if outer.is_none() { field.name.clone() } else { format!("{key}/{}", field.name) };
            let (node, feature) = self.field(field, path, key, depth)?;
            nodes.push(node);
            features.insert(field.name.clone(), feature);
        }
        Ok((nodes, json!({"pythonClassName": class_name("FeaturesDict"), "featuresDict": {"features": features}})))
    }

    /// `depth`: the number of enclosing sequences.
    fn field(&mut self, field: &Field, path: FieldPath, key: String, depth: usize) -> Result<(PlanNode, Value)> {
        let drop = format!("leave it out: drop {}", shell_word(&path.to_string()));
        match &field.ty.element {
            Content::Struct(inner) if inner.is_empty() => {
                Err(Error::usage("TFDS cannot store a structure without fields").in_field(&path).help(drop))
            }
            Content::Struct(inner) => {
                let levels = field.ty.dims.len();
                let (nodes, feature) = self.fields(inner, Some(&path), &key, depth + levels)?;
                if field.ty.dims.iter().any(|dim| matches!(dim.size, Size::Known(_))) {
                    self.resized.push(path.clone());
                }
                let is_steps = path.names().len() == 1 && field.name == "steps" && levels == 1;
                Ok((PlanNode::Struct(levels, nodes), sequences(feature, levels, if is_steps { "Dataset" } else { "Sequence" }, None)))
            }
            Content::Sparse(_) => Err(Error::usage("TFDS cannot store sparse tensors")
                .in_field(&path)
                .help(format!("make it dense: to-dense -f {0}; or ragged: from-sparse -f {0}; or {drop}", shell_word(&path.to_string())))),
            Content::Value(dtype) => {
                let (leaf, feature) = self.leaf(field, dtype, path, key, depth)?;
                Ok((PlanNode::Leaf(Box::new(leaf)), feature))
            }
        }
    }

    fn leaf(&mut self, field: &Field, dtype: &DType, path: FieldPath, key: String, depth: usize) -> Result<(PlanLeaf, Value)> {
        if let DType::Arrow(_) | DType::Null = dtype {
            let what = if *dtype == DType::Null { "a field without a dtype".to_owned() } else { dtype.to_string() };
            let error = Error::usage(format!("TFDS cannot store {what}")).in_field(&path);
            return Err(
                error.help(format!("it stores numbers, bools, strings and bytes; leave it out: drop {}", shell_word(&path.to_string())))
            );
        }
        let sizes: Vec<Option<u64>> = field.ty.dims.iter().map(|dim| if let Size::Known(n) = dim.size { Some(n) } else { None }).collect();
        let (levels, encoding, optional, connector) = match self.own_connector(field, dtype, &sizes, depth, &path) {
            Some(own) => own,
            None => default_connector(field, dtype, &sizes, depth),
        };
        let has_sizes = encoding != Encoding::None && sizes[levels..].iter().filter(|size| size.is_none()).count() > 1;
        let bases = [Some(tensor_name(&key, has_sizes)), has_sizes.then(|| shape_name(&key))];
        for base in bases.into_iter().flatten() {
            let nsequences = depth + levels;
            let lengths = (1..nsequences).map(|level| row_lengths_name(&base, level));
            if let Some(twice) =
                [flat_values_name(&base, nsequences)].into_iter().chain(lengths).find(|name| !self.names.insert(name.clone()))
            {
                return Err(Error::usage(format!("two fields would become the feature `{twice}`"))
                    .in_field(&path)
                    .help("choose another name for one of them: rename old=new"));
            }
        }
        let length = sizes.first().copied().flatten().filter(|_| depth + levels == 1);
        if length.is_none() && sizes[..levels].iter().any(Option::is_some) {
            self.resized.push(path.clone());
        }
        let optional = optional && depth + levels == 0;
        let shape = sizes[levels..].to_vec();
        let leaf = PlanLeaf { path, key, levels, dtype: dtype.clone(), encoding, has_sizes, shape, optional };
        Ok((leaf, sequences(connector, levels, "Sequence", length)))
    }

    /// The connector that the field had on input, if it still has that type.
    fn own_connector(
        &mut self,
        field: &Field,
        dtype: &DType,
        sizes: &[Option<u64>],
        depth: usize,
        path: &FieldPath,
    ) -> Option<(usize, Encoding, bool, Value)> {
        let metadata = field.storage.arrow()?.metadata();
        let connector: Value = serde_json::from_str(metadata.get(CONNECTOR)?).ok()?;
        let Ok(Feature::Tensor(tensor)) = features::parse_one(&connector) else { return None };
        let levels = sizes.len().checked_sub(tensor.shape.len())?;
        let nopen = tensor.shape.iter().filter(|size| size.is_none()).count();
        // Several unknown sizes can be stored only with raw bytes, and each must be uniform within a tensor.
        let is_stored = tensor.encoding != Encoding::None || nopen == 0 || (nopen == 1 && levels + depth == 0);
        let inside_ragged = field.ty.dims[levels..].iter().skip(1).any(|dim| dim.size == Size::Ragged) && levels + depth == 0;
        // A feature holds float32, and the values may have changed.
        let is_exact = *dtype != DType::Float64 || tensor.encoding != Encoding::None;
        if !is_exact || tensor.element != Element::Of(dtype.clone()) || tensor.shape != sizes[levels..] || !is_stored || inside_ragged {
            return None;
        }
        if let Some(names) = metadata.get(CLASS_NAMES).and_then(|names| serde_json::from_str::<Vec<String>>(names).ok()) {
            self.labels.push((file_name(path), names));
        }
        Some((levels, tensor.encoding, tensor.optional, connector))
    }
}

fn default_connector(field: &Field, dtype: &DType, sizes: &[Option<u64>], depth: usize) -> (usize, Encoding, bool, Value) {
    let encoding = if *dtype == DType::Float64 { Encoding::Bytes } else { Encoding::None };
    let nopen = sizes.iter().filter(|size| size.is_none()).count();
    let is_ragged = field.ty.dims.iter().any(|dim| dim.size == Size::Ragged);
    let is_tensor = depth == 0 && !is_ragged && (nopen <= 1 || encoding != Encoding::None);
    let levels = if is_tensor { 0 } else { sizes.iter().rposition(Option::is_none).map_or(0, |last| last + 1) };
    let shape = &sizes[levels..];
    let is_bytes = matches!(dtype, DType::String | DType::Bytes | DType::Json);
    let connector = if shape.is_empty() && is_bytes && *dtype != DType::Bytes {
        json!({"pythonClassName": class_name("Text"), "text": {}})
    } else {
        let name = if is_bytes { "string".to_owned() } else { dtype.to_string() };
        let encoding = if encoding == Encoding::None { "none" } else { "bytes" };
        let tensor = json!({"shape": {"dimensions": dimensions(shape)}, "dtype": name, "encoding": encoding});
        json!({"pythonClassName": class_name("Tensor"), "tensor": tensor})
    };
    (levels, encoding, false, connector)
}

/// A feature inside sequences. Only one that is not nested states its length, because TFDS cannot read nested ones that do.
fn sequences(feature: Value, levels: usize, name: &str, length: Option<u64>) -> Value {
    let length = length.map_or("-1".to_owned(), |length| length.to_string());
    (0..levels).fold(feature, |inner, _| json!({"pythonClassName": class_name(name), "sequence": {"feature": inner, "length": length}}))
}
