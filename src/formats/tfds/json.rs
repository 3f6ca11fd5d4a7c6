//! The JSON files of a dataset, and protobuf values in them.

use crate::error::{Error, Result};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The file of the feature connectors.
pub const FEATURES: &str = "features.json";
/// The file of the splits and their shards.
pub const INFO: &str = "dataset_info.json";

/// Maximum size of a description.
const MAX_NBYTES: u64 = 256 << 20;

/// The text of a small file.
///
/// # Errors
/// The file is missing, too large, or not valid UTF-8.
pub fn text(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_NBYTES + 1).read_to_end(&mut bytes));
    read.map_err(|e| Error::io(&name, "cannot read", &e))?;
    if bytes.len() as u64 > MAX_NBYTES {
        return Err(Error::data(format!("the file has more than {MAX_NBYTES} bytes")).in_input(name));
    }
    String::from_utf8(bytes).map_err(|_| Error::data("the file is not valid UTF-8").in_input(name))
}

/// The object in a file.
///
/// # Errors
/// See [`text`]; also an error if it is not a JSON object.
pub fn object(path: &Path) -> Result<Value> {
    let name = path.display().to_string();
    let value: Value =
        serde_json::from_str(&text(path)?).map_err(|e| Error::data(format!("expected JSON: {e}")).in_input(name.as_str()))?;
    if value.is_object() { Ok(value) } else { Err(Error::data("expected a JSON object").in_input(name)) }
}

/// An integer; protobuf writes 64-bit integers as strings.
pub fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// The value of the first of these keys that exists: protobuf writes `lowerCamelCase`, older files `snake_case`.
pub fn either<'a>(object: &'a Value, keys: [&str; 2]) -> Option<&'a Value> {
    keys.iter().find_map(|key| object.get(*key)).filter(|value| !value.is_null())
}

/// A string by either key; empty if there is none.
pub fn string<'a>(object: &'a Value, keys: [&str; 2]) -> &'a str {
    either(object, keys).and_then(Value::as_str).unwrap_or_default()
}
