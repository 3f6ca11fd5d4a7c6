//! Parses features.json: the tree of feature connectors.
//!
//! Reads three generations of the file: `{"pythonClassName": ..., "tensor": {...}}`, the same with the content as JSON
//! text in `jsonFeature`, and the oldest, `{"type": ..., "content": {...}}`. A connector is identified by the last part
//! of its class name.
//!
//! Source: `FeatureConnector.from_json` and the `from_json_content` of each connector in `core/features`.

use super::json::{either, integer, string};
use crate::error::{Error, Message, Result};
use crate::formats::examples::packing::Element;
use crate::path::FieldPath;
use crate::schema::DType;
use serde_json::{Map, Value, json};

/// Maximum nesting depth; no dataset is deeper.
const MAX_DEPTH: usize = 64;

/// The storage of a feature.
#[derive(Debug)]
pub enum Feature {
    /// Features by name.
    Dict(Vec<(String, Feature)>),
    /// A list of one feature; `None` means any length.
    Sequence(Box<Feature>, Option<u64>),
    /// A tensor.
    Tensor(Tensor),
    /// An unsupported feature, with a description.
    Unknown(String),
}

/// The storage of a tensor.
#[derive(Debug)]
pub struct Tensor {
    /// The dtype of its values.
    pub element: Element,
    /// The size of each axis; `None` if it varies.
    pub shape: Vec<Option<u64>>,
    /// How it is stored.
    pub encoding: Encoding,
    /// Whether it can be missing in a record.
    pub optional: bool,
    /// Whether its values are class labels, whose names can be in a file.
    pub is_label: bool,
    /// The connector, as written by the newest generation of the file.
    pub connector: Value,
}

/// The encoding of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    /// As feature values.
    None,
    /// As raw bytes.
    Bytes,
    /// As compressed bytes.
    Zlib,
}

/// The features of the record.
///
/// # Errors
/// The file is damaged; the message has the path of the feature.
pub fn parse(value: &Value) -> Result<Vec<(String, Feature)>> {
    match feature(value, None, 0)? {
        Feature::Dict(fields) => Ok(fields),
        Feature::Unknown(what) => Err(Error::data(format!("the features of the record are {what}, not a FeaturesDict"))),
        _ => Err(Error::data("the features of the record are not a FeaturesDict")),
    }
}

/// One feature.
///
/// # Errors
/// See [`parse`].
pub fn parse_one(value: &Value) -> Result<Feature> {
    feature(value, None, 0)
}

fn damaged(path: Option<&FieldPath>, what: impl Into<Message>) -> Error {
    let error = Error::data(what);
    path.map_or(error.clone(), |path| error.in_field(path))
}

fn feature(value: &Value, path: Option<&FieldPath>, depth: usize) -> Result<Feature> {
    if depth > MAX_DEPTH {
        return Err(damaged(path, format!("features are nested more than {MAX_DEPTH} levels deep")));
    }
    let class = match either(value, ["pythonClassName", "python_class_name"]).or_else(|| value.get("type")) {
        Some(Value::String(class)) => class,
        _ => return Err(damaged(path, "a feature has no class name")),
    };
    let content = content(value, path)?;
    let (class, content) = (class.as_str(), &content);
    let name = class.rsplit('.').next().unwrap_or(class);
    let tensor = |tensor: Option<Tensor>| {
        tensor.map_or_else(|| Feature::Unknown(format!("{name} of dtype {:?}", dtype_of(content))), Feature::Tensor)
    };
    Ok(match name {
        "FeaturesDict" => {
            let fields = match content.get("features") {
                // The oldest generation has the features themselves here.
                Some(Value::Object(fields)) if fields.get("type").is_none_or(|ty| !ty.is_string()) => Some(fields),
                _ => content.as_object(),
            };
            let fields = fields.cloned().unwrap_or_else(Map::new);
            let field = |(key, value): (String, Value)| {
                let inner = path.map_or_else(|| FieldPath::name(&key), |path| path.join(&key));
                Ok((key, feature(&value, Some(&inner), depth + 1)?))
            };
            Feature::Dict(fields.into_iter().map(field).collect::<Result<_>>()?)
        }
        "Sequence" | "Dataset" => {
            let Some(inner) = content.get("feature") else {
                return Err(damaged(path, format!("{name} without the feature of its elements")));
            };
            Feature::Sequence(Box::new(feature(inner, path, depth + 1)?), length(content.get("length"), path)?)
        }
        "Tensor" | "Scalar" => tensor(plain(content, name, path)?),
        "Audio" if either(content, ["lazyDecode", "lazy_decode"]).is_some_and(|lazy| lazy == &json!(true)) => {
            bytes(value_of(name, "audio", content))
        }
        "Audio" => tensor(plain(content, name, path)?.map(|tensor| Tensor { connector: value_of(name, "audio", content), ..tensor })),
        "BBoxFeature" => Feature::Tensor(Tensor {
            element: Element::Of(DType::Float32),
            shape: vec![Some(4)],
            ..own(value_of(name, "boundingBox", content))
        }),
        "ClassLabel" => {
            Feature::Tensor(Tensor { element: Element::Of(DType::Int64), is_label: true, ..own(value_of(name, "classLabel", content)) })
        }
        "Text" if content.get("use_encoder").is_none() => Feature::Tensor(text()),
        "Image" | "LabeledImage" => bytes(value_of(name, "image", content)),
        "Video" => {
            let shape = shape(content.get("shape"), path)?;
            let image = json!({
                "shape": {"dimensions": dimensions(shape.get(1..).unwrap_or_default())},
                "dtype": match dtype_of(content) { "" => "uint8", dtype => dtype },
                "encodingFormat": match string(content, ["encodingFormat", "encoding_format"]) { "" => "png", format => format },
            });
            Feature::Sequence(Box::new(bytes(value_of("Image", "image", &image))), shape.first().copied().flatten())
        }
        "Translation" | "TranslationVariableLanguages" => {
            let languages = content.get("languages").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            if name == "Translation" {
                Feature::Dict(languages.map(|language| (language.to_owned(), Feature::Tensor(text()))).collect())
            } else {
                let fields = ["language", "translation"].map(|key| (key.to_owned(), Feature::Tensor(text())));
                Feature::Sequence(Box::new(Feature::Dict(fields.into())), None)
            }
        }
        _ => Feature::Unknown(class.to_owned()),
    })
}

/// The description of a connector, in any generation of the format.
fn content(value: &Value, path: Option<&FieldPath>) -> Result<Value> {
    let parsed = |text: &str| serde_json::from_str(text).map_err(|e| damaged(path, format!("expected JSON: {e}")));
    if value.get("type").is_some() {
        return match value.get("content") {
            Some(Value::String(text)) => parsed(text),
            Some(content) => Ok(content.clone()),
            None => Ok(Value::Null),
        };
    }
    if let Some(Value::String(text)) = either(value, ["jsonFeature", "json_feature"]).and_then(|content| content.get("json")) {
        return parsed(text);
    }
    let is_content = |key: &str| !matches!(key, "pythonClassName" | "python_class_name" | "description" | "valueRange" | "value_range");
    let content = value.as_object().into_iter().flatten().find(|(key, content)| is_content(key) && content.is_object());
    Ok(content.map_or(Value::Null, |(_, content)| content.clone()))
}

fn dtype_of(content: &Value) -> &str {
    string(content, ["dtype", "dtype"])
}

/// A tensor stored as feature values; `None` if the dtype is not supported.
fn plain(content: &Value, name: &str, path: Option<&FieldPath>) -> Result<Option<Tensor>> {
    let Some(element) = element(dtype_of(content)) else { return Ok(None) };
    let encoding = match string(content, ["encoding", "encoding"]).to_lowercase().as_str() {
        "" | "none" => Encoding::None,
        "bytes" => Encoding::Bytes,
        "zlib" => Encoding::Zlib,
        other => return Err(damaged(path, format!("unknown encoding {other:?} of a tensor"))),
    };
    let optional = content.get("optional") == Some(&Value::Bool(true));
    let shape = shape(content.get("shape"), path)?;
    Ok(Some(Tensor { element, shape, encoding, optional, ..own(value_of(name, "tensor", content)) }))
}

/// A string scalar, stored unchanged.
fn own(connector: Value) -> Tensor {
    let element = Element::Of(DType::String);
    Tensor { element, shape: Vec::new(), encoding: Encoding::None, optional: false, is_label: false, connector }
}

fn text() -> Tensor {
    own(value_of("Text", "text", &json!({})))
}

/// A file, such as an image or a sound.
fn bytes(connector: Value) -> Feature {
    Feature::Tensor(Tensor { element: Element::Of(DType::Bytes), ..own(connector) })
}

/// The name of the class of a connector.
pub fn class_name(name: &str) -> String {
    let module = match name {
        "FeaturesDict" => "features_dict",
        "Sequence" => "sequence_feature",
        "Text" => "text_feature",
        "ClassLabel" => "class_label_feature",
        "Image" => "image_feature",
        "LabeledImage" => "labeled_image",
        "Audio" => "audio_feature",
        "BBoxFeature" => "bounding_boxes",
        "Scalar" => "scalar",
        "Dataset" => "dataset_feature",
        _ => "tensor_feature",
    };
    format!("tensorflow_datasets.core.features.{module}.{name}")
}

/// The newest-generation form of a connector, given its content in any generation.
fn value_of(name: &str, key: &str, content: &Value) -> Value {
    let mut own = Map::new();
    for (key, value) in content.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let camel: String = key.split('_').enumerate().map(|(i, word)| if i == 0 { word.to_owned() } else { capitalised(word) }).collect();
        let value = match value {
            Value::Array(sizes) if key == "shape" => {
                json!({"dimensions": dimensions(&sizes.iter().map(|n| integer(n).and_then(|n| u64::try_from(n).ok())).collect::<Vec<_>>())})
            }
            other => other.clone(),
        };
        own.insert(camel, value);
    }
    json!({"pythonClassName": class_name(name), key: own})
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Sizes, as written by protobuf.
pub fn dimensions(shape: &[Option<u64>]) -> Vec<String> {
    shape.iter().map(|size| size.map_or_else(|| "-1".to_owned(), |n| n.to_string())).collect()
}

fn length(value: Option<&Value>, path: Option<&FieldPath>) -> Result<Option<u64>> {
    match value {
        // protobuf omits a 0, but TFDS writes -1 for an unknown length.
        None | Some(Value::Null) => Ok(None),
        Some(value) => match integer(value) {
            Some(-1) => Ok(None),
            Some(n) if n >= 0 && n <= i64::from(i32::MAX) => Ok(u64::try_from(n).ok()),
            _ => Err(damaged(path, format!("invalid sequence length {value}"))),
        },
    }
}

fn shape(value: Option<&Value>, path: Option<&FieldPath>) -> Result<Vec<Option<u64>>> {
    let sizes = match value {
        Some(Value::Object(shape)) => shape.get("dimensions").and_then(Value::as_array),
        Some(Value::Array(sizes)) => Some(sizes),
        _ => None,
    };
    let shape: Vec<Option<u64>> =
        sizes.into_iter().flatten().map(|size| if size.is_null() { Ok(None) } else { length(Some(size), path) }).collect::<Result<_>>()?;
    // The values of one record must fit into memory.
    let count = shape.iter().flatten().try_fold(1u64, |n, size| n.checked_mul(*size));
    if shape.len() > 32 || count.is_none_or(|n| n > 1 << 40) {
        return Err(damaged(path, format!("the shape [{}] of a tensor", dimensions(&shape).join(", "))));
    }
    Ok(shape)
}

fn element(dtype: &str) -> Option<Element> {
    match dtype {
        "string" | "object" | "str" => Some(Element::Of(DType::String)),
        "bfloat16" => Some(Element::BFloat16),
        "json" | "bytes" => None,
        other => DType::from_name(other).filter(|dtype| dtype.is_number() || *dtype == DType::Bool).map(Element::Of),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_read_alike() {
        let newest = json!({"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict", "featuresDict": {"features": {
            "x": {"pythonClassName": "a.Tensor", "tensor": {"shape": {"dimensions": ["-1", "2"]}, "dtype": "float32", "encoding": "none"}},
            "i": {"pythonClassName": "a.Image", "image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "encodingFormat": "png"}}}}});
        let json_text = json!({"pythonClassName": "a.FeaturesDict", "featuresDict": {"features": {
            "x": {"pythonClassName": "a.Tensor", "jsonFeature": {"json": "{\"shape\": [null, 2], \"dtype\": \"float32\", \"encoding\": \"none\"}"}},
            "i": {"pythonClassName": "a.Image", "jsonFeature": {"json": "{\"shape\": [null, null, 3], \"encoding_format\": \"png\"}"}}}}});
        let oldest = json!({"type": "a.FeaturesDict", "content": {
            "x": {"type": "a.Tensor", "content": {"shape": [null, 2], "dtype": "float32", "encoding": "none"}},
            "i": {"type": "a.Image", "content": {"shape": [null, null, 3], "dtype": null, "encoding_format": "png"}}}});
        let text = |value| format!("{:?}", parse(&value).unwrap());
        assert_eq!(text(json_text), text(newest.clone()));
        assert_eq!(text(oldest), text(newest));
    }

    #[test]
    fn damage_is_an_error() {
        let mut deep = json!({"pythonClassName": "a.Text", "text": {}});
        for _ in 0..=MAX_DEPTH {
            deep = json!({"pythonClassName": "a.Sequence", "sequence": {"feature": deep, "length": "-1"}});
        }
        let dict = |value| json!({"pythonClassName": "a.FeaturesDict", "featuresDict": {"features": {"x": value}}});
        for value in [
            json!({}),
            json!({"pythonClassName": "a.Text"}),
            dict(json!(3)),
            dict(deep),
            dict(json!({"pythonClassName": "a.Sequence", "sequence": {}})),
            dict(json!({"pythonClassName": "a.Sequence", "sequence": {"feature": {"pythonClassName": "a.Text"}, "length": "-7"}})),
            dict(json!({"pythonClassName": "a.Tensor", "tensor": {"dtype": "int64", "encoding": "lzma"}})),
            dict(
                json!({"pythonClassName": "a.Tensor", "tensor": {"dtype": "int64", "shape": {"dimensions": ["1000000000", "1000000000"]}}}),
            ),
        ] {
            assert!(parse(&value).is_err(), "{value}");
        }
    }
}
