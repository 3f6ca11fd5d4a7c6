//! Writes a directory that `tfds.builder_from_directory` reads.
//!
//! `plan` chooses connectors based on the schema, `flatten` builds the features of a chunk, and shards are framed as
//! TFRecords. The directory is that of the version: its name is the version if it looks like one, and its parent's name
//! is that of the dataset. An existing dataset gets an additional split, or a new version of the split.

mod flatten;
mod plan;

use self::plan::Plan;
use super::json::{self, FEATURES, INFO};
use super::labels::{Labels, file_name};
use crate::error::{Error, Kind, Result};
use crate::formats::examples::serialize::Serializer;
use crate::formats::examples::write::writer_of;
use crate::formats::format::{Directory, Shard, Writer};
use crate::options::{Compression, Options};
use crate::schema::Schema;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// Bytes of framing for a record.
const FRAME: u64 = 16;

/// A writer of one shard.
///
/// # Errors
/// Data that TFDS cannot represent, or an existing dataset with different features.
pub fn writer(schema: &Arc<Schema>, options: &Options) -> Result<Box<dyn Writer>> {
    if options.compression.is_some_and(|compression| compression != Compression::None) {
        return Err(Error::usage("--compression: the shards of TFDS are not compressed"));
    }
    let (plan, schema) = (Plan::new(schema)?, schema.clone());
    for path in &plan.resized {
        let text = format!("{path}: TFDS does not store the size of an axis that is a sequence; --schema restores it");
        options.notices.add(text, options.strict)?;
    }
    if let Some(output) = &options.output {
        check_existing(Path::new(output), &plan)?;
    }
    Ok(writer_of(Serializer::Features(Box::new(move |chunk| flatten::flatten(&plan, &schema, chunk)))))
}

/// The files of a dataset.
pub struct Dataset;

impl Directory for Dataset {
    fn shards(&self, directory: &Path, options: &Options) -> Result<String> {
        let Identity { name, .. } = identity(directory, options)?;
        let is_empty = std::fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
        if !is_empty && !directory.join(INFO).is_file() {
            let error = Error::new(Kind::Io, format!("the directory contains files, but no dataset: there is no {INFO}"));
            return Err(error.in_input(directory.display().to_string()).help("specify a new or empty directory"));
        }
        Ok(format!("{name}-{}.tfrecord@{}", split_name(options)?, options.shards.unwrap_or(1)))
    }

    fn describe(&self, schema: &Schema, directory: &Path, shards: &[Shard], options: &Options) -> Result<Vec<(String, Vec<u8>)>> {
        let plan = Plan::new(schema)?;
        check_existing(directory, &plan)?;
        let lines = |names: Vec<String>| names.into_iter().map(|name| name + "\n").collect::<String>().into_bytes();
        let mut files: Vec<(String, Vec<u8>)> = plan.labels.into_iter().map(|(file, names)| (file, lines(names))).collect();
        files.push((FEATURES.to_owned(), text(&plan.features)));
        files.push((INFO.to_owned(), text(&info(directory, shards, options)?)));
        Ok(files)
    }
}

fn text(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

/// dataset_info.json, including the existing splits.
fn info(directory: &Path, shards: &[Shard], options: &Options) -> Result<Value> {
    let Identity { name, version, known } = identity(directory, options)?;
    let split = split_name(options)?;
    let nbytes: u64 = shards.iter().map(|shard| shard.nbytes.saturating_sub(FRAME * shard.nrecords)).sum();
    let own = json!({
        "name": split,
        "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
        "numBytes": nbytes.to_string(),
        "shardLengths": shards.iter().map(|shard| shard.nrecords.to_string()).collect::<Vec<_>>(),
    });
    let mut info = known.unwrap_or_else(|| json!({"name": name, "version": version, "fileFormat": "tfrecord"}));
    let mut splits: Vec<Value> = info.get("splits").and_then(Value::as_array).cloned().unwrap_or_default();
    match splits.iter_mut().find(|found| found.get("name").and_then(Value::as_str) == Some(&split)) {
        Some(found) => *found = own,
        None => splits.push(own),
    }
    info["splits"] = splits.into();
    Ok(info)
}

/// The name of the split to write: that of the split read, or `train`.
fn split_name(options: &Options) -> Result<String> {
    let Some(given) = options.split.as_deref() else { return Ok("train".to_owned()) };
    let name = given.split_once('[').map_or(given, |(name, _)| name);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !is_name || given.contains('+') || name == "all" || !name.bytes().any(|b| b.is_ascii_alphanumeric()) {
        return Err(Error::usage(format!("--split {given}: expected the name of the split to write")).help(
            "to write several splits as one: tatter convert DIR --split all --to arrow | tatter convert --to tfds --split train -o OUT",
        ));
    }
    Ok(name.to_owned())
}

/// The name and version of a dataset.
struct Identity {
    name: String,
    version: String,
    /// The existing dataset_info.json.
    known: Option<Value>,
}

fn identity(directory: &Path, options: &Options) -> Result<Identity> {
    let path = directory.join(INFO);
    let known = if path.is_file() { Some(json::object(&path)?) } else { None };
    if let Some(known) = known {
        let name = json::string(&known, ["name", "name"]).to_owned();
        if options.dataset_name.as_ref().is_some_and(|given| *given != name) {
            return Err(Error::usage(format!("the existing dataset is named {name}")).in_input(path.display().to_string()));
        }
        check_name(&name).map_err(|e| e.in_input(path.display().to_string()))?;
        let format = json::string(&known, ["fileFormat", "file_format"]);
        if !["", "tfrecord"].contains(&format) {
            let error = Error::usage(format!("the existing dataset has {format} shards, to which tfrecord shards cannot be added"));
            return Err(error.in_input(path.display().to_string()).help("specify a new or empty directory"));
        }
        return Ok(Identity { version: json::string(&known, ["version", "version"]).to_owned(), name, known: Some(known) });
    }
    let last = |path: Option<&Path>| path.and_then(Path::file_name).map(OsStr::to_string_lossy).unwrap_or_default().into_owned();
    let own = last(Some(directory));
    let is_version = own.split('.').count() == 3 && own.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    let (version, by_path) = if is_version { (own, last(directory.parent())) } else { ("1.0.0".to_owned(), own) };
    let name = match &options.dataset_name {
        Some(name) => name.clone(),
        None => by_path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect(),
    };
    check_name(&name).map_err(|e| e.help("choose one with --name NAME"))?;
    Ok(Identity { name, version, known: None })
}

/// The names of the shards start with that of the dataset.
fn check_name(name: &str) -> Result<()> {
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        return Ok(());
    }
    Err(Error::usage(format!("{name:?} is not the name of a dataset: expected a letter, then letters, digits and underscores")))
}

/// Checks that an existing dataset has the same features and class names, which all its splits share.
fn check_existing(directory: &Path, plan: &Plan) -> Result<()> {
    let path = directory.join(FEATURES);
    if !path.is_file() {
        return Ok(());
    }
    if json::object(&path)? != plan.features {
        let error = Error::usage("the existing dataset has different features").in_input(path.display().to_string());
        return Err(error.help("specify a new directory, or give the records the same fields and types"));
    }
    let labels = Labels::new(directory.to_owned(), true);
    for path in plan.paths() {
        let own = plan.labels.iter().find(|(file, _)| *file == file_name(path)).map(|(_, names)| names.as_slice());
        if labels.names(path)?.as_deref() != own {
            let error =
                Error::usage("the existing dataset has different class names").in_field(path).in_input(directory.display().to_string());
            return Err(error.help("specify a new directory: the splits of a dataset share their class names"));
        }
    }
    Ok(())
}
