//! Metadata that a writer must drop because a verb invalidated it.

use crate::error::{Error, Result};
use crate::notice::Notices;
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::schema::nested::with_fields;
use crate::schema::{DType, Field, Schema};
use crate::tensor::arrow::encoded;
use crate::tensor::arrow::{ArrowForm, stored};
use arrow_schema::{Field as ArrowField, FieldRef, Metadata};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use std::collections::HashSet;
use std::sync::Arc;

/// The metadata to write, with notices for what is dropped.
///
/// # Errors
/// The notices, under `--strict`.
pub fn metadata(schema: &Schema, options: &Options) -> Result<Metadata> {
    let note = |text: String| options.notices.add(text, options.strict);
    for (key, why) in &schema.facts.dropped {
        note(format!("the metadata `{key}` was dropped: it {why}"))?;
    }
    for field in &schema.fields {
        lost(field, &FieldPath::name(&field.name), &note)?;
    }
    Ok(schema.facts.metadata.clone())
}

/// Removes the field ids that another field has before it. Returns the paths of these fields.
pub fn distinct_ids(fields: &mut [ArrowField]) -> Vec<FieldPath> {
    let (mut seen, mut repeated) = (HashSet::new(), Vec::new());
    for field in fields {
        *field = distinct_id(field, &FieldPath::name(field.name()), &mut seen, &mut repeated);
    }
    repeated
}

fn distinct_id(field: &ArrowField, path: &FieldPath, seen: &mut HashSet<String>, repeated: &mut Vec<FieldPath>) -> ArrowField {
    let mut own = field.clone();
    if field.metadata().get(PARQUET_FIELD_ID_META_KEY).is_some_and(|id| !seen.insert(id.clone())) {
        repeated.push(path.clone());
        let kept = field.metadata().iter().filter(|(key, _)| *key != PARQUET_FIELD_ID_META_KEY);
        own = own.with_metadata(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Metadata>());
    }
    let inner = |f: &FieldRef| Arc::new(distinct_id(f, &path.join(f.name()), seen, repeated));
    own.with_data_type(with_fields(field.data_type(), inner))
}

/// Notices for the field ids that are removed.
///
/// # Errors
/// The notices, under `--strict`.
pub fn announce_ids(repeated: &[FieldPath], options: &Options) -> Result<()> {
    repeated.iter().try_for_each(|path| {
        let text = format!("{path}: the metadata `{PARQUET_FIELD_ID_META_KEY}` was dropped: it belongs to another field");
        options.notices.add(text, options.strict)
    })
}

/// The error for metadata in bytes, which the formats do not allow but some writers write.
pub fn not_text(what: &str) -> Error {
    Error::data(format!("{what} contains metadata that is not valid UTF-8"))
        .help("write the file again without it; in PyArrow: table.cast(pa.schema([f.remove_metadata() for f in table.schema]))")
}

/// The field in its written form, with notices for encodings that are dropped. `are_listed`: whether the output lists the
/// values of dictionaries in the order of those that the source declares.
///
/// # Errors
/// The notices, under `--strict`.
pub fn encoded(field: &Field, arrow: ArrowField, form: ArrowForm, are_listed: bool, options: &Options) -> Result<ArrowField> {
    let path = FieldPath::name(&field.name);
    if let Some(ty) = stored::lost_encoding(field, form) {
        let ty = DType::Arrow(Box::new(ty));
        options.notices.add(format!("{path}: {ty} is written as plain values"), options.strict)?;
    }
    let is_ordered = encoded::dictionaries(&arrow).iter().any(|f| f.dict_is_ordered() == Some(true));
    // An order refers to the values in the dictionary, but those of two files are listed as they occur.
    if is_ordered && (!are_listed || stored::dictionaries(field, &arrow, form).iter().any(Option::is_none)) {
        options.notices.add(format!("{path}: the order of the dictionary is not kept: it is written as unordered"), options.strict)?;
        return Ok(encoded::unordered(&arrow));
    }
    Ok(arrow)
}

/// The notice for an ordered dictionary of a column to which values were added.
///
/// # Errors
/// The notice, if `strict`.
pub fn announce_growth(column: &str, notices: &Notices, strict: bool) -> Result<()> {
    notices.add(format!("{}: values were appended to an ordered dictionary", quoted(column)), strict)
}

fn lost(field: &Field, path: &FieldPath, note: &dyn Fn(String) -> Result<()>) -> Result<()> {
    field.storage.dropped().iter().try_for_each(|(key, why)| note(format!("{path}: the metadata `{key}` was dropped: it {why}")))?;
    if let Some(extension) = stored::lost(field) {
        note(format!("{path}: the extension type {extension} was dropped, because the type is now {}", field.ty))?;
    }
    field.ty.fields().unwrap_or_default().iter().try_for_each(|inner| lost(inner, &path.join(&inner.name), note))
}
