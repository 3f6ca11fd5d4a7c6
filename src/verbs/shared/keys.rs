//! Keys: the fields that determine which records are equal.

use super::fields::{Patterns, copied_first};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::expr::names_used;
use crate::path::{self, FieldPath};
use crate::printable::shell_word;
use crate::schema::{DType, Field, Schema};
use crate::tensor::Tensor;
use std::collections::HashSet;

/// The fields given to `--by`.
#[derive(Clone, Debug)]
pub struct Keys(Vec<FieldPath>);

impl Keys {
    /// Parses `a,b`.
    ///
    /// # Errors
    /// Invalid field names.
    pub fn parse(text: &str) -> Result<Keys, Error> {
        FieldPath::parse_list(text).map(Keys)
    }

    /// The fields of the key, without repeats, in the order given.
    ///
    /// # Errors
    /// A field that does not exist or has several values in a record; the advice names `verb`.
    pub fn fields(&self, schema: &Schema, verb: &str) -> Result<Vec<KeyField>> {
        let (mut keys, mut seen) = (Vec::new(), HashSet::new());
        for path in &self.0 {
            schema.find(path).map_err(|error| unknown(path, schema, verb, error))?;
            let key = KeyField::find(path, schema, &format!("{verb} --by"))?;
            if seen.insert(key.positions.clone()) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// The positions of the keys in the schema, without repeats, in the order given.
    ///
    /// # Errors
    /// See [`Keys::fields`]; or a field that is inside a structure.
    pub fn positions(&self, schema: &Schema, verb: &str) -> Result<Vec<usize>> {
        let position =
            |key: KeyField| match key.positions.as_slice() {
                [position] => Ok(*position),
                _ => Err(Error::usage("is inside a structure; a key must be a field of the record")
                    .in_field(&key.path)
                    .help(copied_first(&key.path, &format!("{verb} --by"), schema))),
            };
        self.fields(schema, verb)?.into_iter().map(position).collect()
    }

    /// The fields, as given.
    pub fn paths(&self) -> &[FieldPath] {
        &self.0
    }

    /// The names of the fields to read.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|path| path.names().first().cloned())
    }
}

/// Adds advice to the error for a key that is not a field.
fn unknown(path: &FieldPath, schema: &Schema, verb: &str, error: Error) -> Error {
    let text = path.to_string();
    if let Some(names) = matching(path.names(), schema) {
        return Error::usage(format!("--by takes names of fields without wildcards, found {}", text.trim_matches('`')))
            .help(format!("specify the fields: {verb} --by {}", shell_word(&names)));
    }
    if !text.contains(['(', '*', '%', '<', '>', '+']) && ![" / ", " // ", " - "].iter().any(|op| text.contains(op)) {
        return error;
    }
    let map = shell_word(&format!("key = {}", text.trim_matches('`')));
    error.help(format!("a key must be a field; compute it first: map {map} then {verb} --by key"))
}

/// A field of a key, which can be inside structures that each record has once.
#[derive(Clone, Debug)]
pub struct KeyField {
    /// Its path.
    pub path: FieldPath,
    /// Its position in each structure on the way.
    positions: Vec<usize>,
    /// Its name and type; null structures make it null.
    pub field: Field,
}

impl KeyField {
    /// Finds a field of the record, or of structures that each record has once. The advice names `command`, which takes the name of a
    /// field, such as `unique --by`.
    ///
    /// # Errors
    /// A field that does not exist or has several values in a record.
    pub fn find(path: &FieldPath, schema: &Schema, command: &str) -> Result<KeyField> {
        KeyField::outside_lists(path, schema)?.ok_or_else(|| {
            let name = shell_word(&path::quoted(path.last()));
            let path_text = shell_word(&path.to_string());
            let error = Error::usage("is inside a list, so it has several values in a record").in_field(path);
            error.help(format!("make a record of each value first: promote {path_text} then explode {name} then {command} {name}"))
        })
    }

    /// Finds a field of the record, or of structures that each record has once; `None` if it is inside a list.
    ///
    /// # Errors
    /// A field that does not exist.
    pub fn outside_lists(path: &FieldPath, schema: &Schema) -> Result<Option<KeyField>> {
        let (positions, field) = schema.find(path)?;
        let (mut fields, mut optional) = (schema.fields.as_slice(), field.ty.optional);
        for outer in &positions[..positions.len() - 1] {
            let ty = &fields[*outer].ty;
            if !ty.dims.is_empty() {
                return Ok(None);
            }
            optional |= ty.optional;
            fields = ty.fields().unwrap_or_default();
        }
        let mut field = field.clone();
        field.ty.optional = optional;
        Ok(Some(KeyField { path: path.clone(), positions, field }))
    }

    /// The values in the records.
    ///
    /// # Errors
    /// The chunk has another schema.
    pub fn of(&self, chunk: &Chunk) -> Result<Tensor> {
        let Some((first, inner)) = self.positions.split_first() else { return Err(Error::internal("an empty field path")) };
        inner.iter().try_fold(chunk.columns[*first].clone(), |tensor, position| tensor.as_struct()?.visible_field(*position))
    }
}

/// The keys of the records, as columns.
///
/// # Errors
/// The chunk has another schema.
pub fn key_columns(keys: &[KeyField], chunk: &Chunk) -> Result<Chunk> {
    chunk.with_columns(keys.iter().map(|key| key.of(chunk)).collect::<Result<_>>()?)
}

/// Checks the text of a key, as given to `option`: no value of the dtype has another text.
///
/// # Errors
/// No value of the dtype has this text.
pub fn check_key_text(option: &str, by: &str, text: &str, dtype: &DType) -> Result<()> {
    let written = match dtype {
        DType::Bool if ["true", "false"].contains(&text) => return Ok(()),
        DType::Bool => Some(text.to_ascii_lowercase()).filter(|text| ["true", "false"].contains(&text.as_str())),
        _ if dtype.is_integer() => {
            let number = text.trim_start_matches('+').parse().ok().filter(|n| dtype.holds_integer(*n)).map(|n: i128| n.to_string());
            if number.as_deref() == Some(text) {
                return Ok(());
            }
            number
        }
        _ => return Ok(()),
    };
    let error = Error::usage(format!("{option}: {by} is {dtype}, so it is never `{text}`"));
    Err(match written {
        Some(written) => error.help(format!("write {written}")),
        None => error,
    })
}

/// The fields whose names match a text with wildcards that is not an expression, separated by commas.
fn matching(names: &[String], schema: &Schema) -> Option<String> {
    let [text] = names else { return None };
    if !text.contains('*') || names_used(text, false).is_some() {
        return None;
    }
    let fields = Patterns::parse(text).ok()?.resolve(schema).ok()?;
    Some(fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
}
