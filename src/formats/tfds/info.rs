//! Parses dataset_info.json: the name of the dataset, its splits, and the files of their shards.
//!
//! Source: `DatasetInfo` and `SplitInfo` of `core/proto/dataset_info.proto`, `ShardedFileTemplate` of `core/naming.py`.

use super::json::{either, integer, object, string};
use crate::error::{Error, Result, mismatch};
use crate::printable::counted;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// The default template for shard names.
const TEMPLATE: &str = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";
/// The file format name of ArrayRecord shards.
pub const ARRAY_RECORD: &str = "array_record";
/// Maximum number of shards.
const MAX_SHARDS: i64 = 1_000_000;

/// The contents of dataset_info.json.
#[derive(Debug)]
pub struct Info {
    name: String,
    /// The format of the shards: `tfrecord` or `array_record`.
    pub file_format: String,
    /// In file order.
    pub splits: Vec<Split>,
}

/// One split.
#[derive(Debug, PartialEq)]
pub struct Split {
    /// Its name.
    pub name: String,
    /// Number of records in each shard; `None` if the file does not give it.
    pub lengths: Option<Vec<u64>>,
    nshards: usize,
    template: String,
}

impl Split {
    /// Number of records in all shards, if known.
    pub fn nrecords(&self) -> Option<u64> {
        self.lengths.as_ref().and_then(|lengths| lengths.iter().try_fold(0u64, |sum, n| sum.checked_add(*n)))
    }

    /// Number of shards.
    pub fn nshards(&self) -> usize {
        self.nshards
    }
}

impl Info {
    /// Reads the file.
    ///
    /// # Errors
    /// The file is damaged, or its shards are neither TFRecords nor ArrayRecords.
    pub fn read(path: &Path) -> Result<Info> {
        Info::parse(&object(path)?).map_err(|e| e.in_input(path.display().to_string()))
    }

    fn parse(value: &Value) -> Result<Info> {
        let name = string(value, ["name", "name"]).to_owned();
        let file_format = match string(value, ["fileFormat", "file_format"]) {
            "" => "tfrecord",
            other => other,
        };
        if file_format != "tfrecord" && file_format != ARRAY_RECORD {
            let error = Error::usage(format!("the shards are {file_format}: only TFRecord and ArrayRecord are supported"));
            return Err(error.help("where TFDS is installed, convert them: tfds convert_format --out_file_format tfrecord"));
        }
        let splits = match value.get("splits") {
            None => Vec::new(),
            Some(Value::Array(splits)) => splits.iter().map(split).collect::<Result<_>>()?,
            Some(_) => return Err(Error::data("splits: expected a list")),
        };
        Ok(Info { name, file_format: file_format.to_owned(), splits })
    }

    /// The path of a shard, relative to the dataset.
    ///
    /// # Errors
    /// The template has an unknown placeholder, or leads outside of the dataset.
    pub fn shard(&self, split: &Split, index: usize) -> Result<PathBuf> {
        let width = split.nshards.to_string().len().max(5);
        let mut path = String::new();
        let mut rest = split.template.as_str();
        while let Some(start) = rest.find('{') {
            let Some(end) = rest[start..].find('}').map(|n| start + n) else { break };
            path.push_str(&rest[..start]);
            match &rest[start + 1..end] {
                "DATASET" => path.push_str(&self.name),
                "SPLIT" => path.push_str(&split.name),
                "FILEFORMAT" => path.push_str(&self.file_format),
                "SHARD_INDEX" => path.push_str(&format!("{index:0width$}")),
                "NUM_SHARDS" => path.push_str(&format!("{:0width$}", split.nshards)),
                "SHARD_X_OF_Y" => path.push_str(&format!("{index:0width$}-of-{:0width$}", split.nshards)),
                other => {
                    let error = Error::data(format!("splits: {}: filepathTemplate: unknown placeholder {{{other}}}", split.name));
                    let known = "{DATASET} {SPLIT} {FILEFORMAT} {SHARD_INDEX} {NUM_SHARDS} {SHARD_X_OF_Y}";
                    return Err(error.help(format!("the placeholders are {known}")));
                }
            }
            rest = &rest[end + 1..];
        }
        path.push_str(rest);
        let found = PathBuf::from(&path);
        let is_inside = found.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if path.is_empty() || path.contains('\0') || !is_inside {
            return Err(Error::data(format!("splits: {}: the shard {path:?} is not a file inside the dataset", split.name)));
        }
        Ok(found)
    }
}

fn split(value: &Value) -> Result<Split> {
    let name = string(value, ["name", "name"]).to_owned();
    let failed = |what: &str| Error::data(format!("splits: {name}: {what}"));
    if name.is_empty() {
        return Err(Error::data("splits: a split has no name"));
    }
    let lengths = match either(value, ["shardLengths", "shard_lengths"]) {
        None => None,
        Some(Value::Array(lengths)) => {
            let length = |n| integer(n).and_then(|n| u64::try_from(n).ok());
            Some(
                lengths
                    .iter()
                    .map(length)
                    .collect::<Option<Vec<u64>>>()
                    .ok_or_else(|| failed("shardLengths: expected numbers of records"))?,
            )
        }
        Some(_) => return Err(failed("shardLengths: expected a list")),
    };
    let said = either(value, ["numShards", "num_shards"]).map_or(Some(0), integer).filter(|n| (0..=MAX_SHARDS).contains(n));
    let said = said.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| failed(&format!("numShards: expected at most {MAX_SHARDS}")))?;
    let nshards = lengths.as_ref().map_or(said, Vec::len);
    if said != 0 && said != nshards {
        return Err(failed(&format!("numShards is {said}, but shardLengths has the lengths of {}", counted(nshards as u64, "shard"))));
    }
    let nbytes = either(value, ["numBytes", "num_bytes"]).and_then(integer).unwrap_or(0);
    if nshards == 0 && nbytes > 0 {
        return Err(failed(&format!("no shardLengths, although the split has {nbytes} bytes: its records would be lost")));
    }
    if nshards as u64 > MAX_SHARDS.unsigned_abs() {
        return Err(Error::data(mismatch(format_args!("at most {MAX_SHARDS} shards"), nshards).prefixed(format_args!("splits: {name}"))));
    }
    let template = match string(value, ["filepathTemplate", "filepath_template"]) {
        "" => TEMPLATE,
        other => other,
    };
    let split = Split { lengths, nshards, template: template.to_owned(), name: name.clone() };
    if split.lengths.is_some() && split.nrecords().is_none_or(|n| n > i64::MAX.unsigned_abs()) {
        return Err(failed("shardLengths: too many records"));
    }
    Ok(split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn info(template: &str, nshards: usize) -> Info {
        let lengths = vec!["1"; nshards];
        Info::parse(&json!({"name": "ds", "splits": [{"name": "train", "shardLengths": lengths, "filepathTemplate": template}]})).unwrap()
    }

    #[test]
    fn templates_give_names() {
        for (template, nshards, expected) in [
            ("", 3, "ds-train.tfrecord-00001-of-00003"),
            ("{SPLIT}/data.{FILEFORMAT}-{SHARD_INDEX}", 3, "train/data.tfrecord-00001"),
            ("{DATASET}_{SHARD_INDEX}_{NUM_SHARDS}", 3, "ds_00001_00003"),
            ("{SHARD_X_OF_Y}", 100_000, "000001-of-100000"),
        ] {
            let info = info(template, nshards);
            assert_eq!(info.shard(&info.splits[0], 1).unwrap(), Path::new(expected), "{template}");
        }
        for template in ["../{SPLIT}", "/etc/passwd", "a/../../b", "{WHAT}", "\0"] {
            let info = info(template, 1);
            assert!(info.shard(&info.splits[0], 0).is_err(), "{template}");
        }
    }

    #[test]
    fn absurd_numbers_are_refused() {
        let split = |value| Info::parse(&json!({"name": "ds", "splits": [value]})).map_err(|e| e.to_string());
        assert!(split(json!({"name": "a", "numShards": "1000000000000"})).unwrap_err().contains("numShards"));
        assert!(split(json!({"name": "a", "shardLengths": ["-1"]})).unwrap_err().contains("shardLengths"));
        assert!(split(json!({"name": "a", "shardLengths": ["9223372036854775807", "9223372036854775807"]})).is_err());
        assert!(split(json!({"name": "a", "numShards": "3", "shardLengths": ["1", "1"]})).unwrap_err().contains("numShards"));
        assert_eq!(split(json!({"name": "a", "numShards": "2"})).unwrap().splits[0].nshards(), 2);
    }
}
