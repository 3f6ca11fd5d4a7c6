//! Metadata that a writer must drop because a verb invalidated it.

use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{DType, Field, Schema};
use crate::tensor::arrow::encoded::{self, Encodings};
use crate::tensor::arrow::{Form, stored};
use arrow_schema::{Field as ArrowField, Metadata};

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

/// The error for metadata in bytes, which the formats do not allow but some writers write.
pub fn not_text(what: &str) -> Error {
    Error::data(format!("{what} contains metadata that is not valid UTF-8"))
        .help("write the file again without it; in PyArrow: table.replace_schema_metadata(None)")
}

/// The field in its written form, with notices for encodings that are dropped.
///
/// # Errors
/// The notices, under `--strict`.
pub fn encoded(field: &Field, arrow: ArrowField, form: Form, options: &Options) -> Result<ArrowField> {
    let path = FieldPath::name(&field.name);
    if let Some(ty) = stored::lost_encoding(field, form) {
        let ty = DType::Arrow(Box::new(ty));
        options.notices.add(format!("{path}: {ty} is written as plain values"), options.strict)?;
    }
    let is_ordered = encoded::dictionaries(&arrow).iter().any(|f| f.dict_is_ordered() == Some(true));
    // An order refers to the values in the dictionary, but dictionaries of Parquet or of two files list values as they
    // occur.
    if is_ordered && (form.encodings != Encodings::All || stored::dictionaries(field, &arrow, form).iter().any(Option::is_none)) {
        options.notices.add(format!("{path}: the order of the dictionary is not kept: it is written as unordered"), options.strict)?;
        return Ok(encoded::unordered(&arrow));
    }
    Ok(arrow)
}

fn lost(field: &Field, path: &FieldPath, note: &dyn Fn(String) -> Result<()>) -> Result<()> {
    field.storage.dropped().iter().try_for_each(|(key, why)| note(format!("{path}: the metadata `{key}` was dropped: it {why}")))?;
    if let Some(extension) = stored::lost(field) {
        note(format!("{path}: the extension type {extension} was dropped: the type is {} now", field.ty))?;
    }
    field.ty.fields().unwrap_or_default().iter().try_for_each(|inner| lost(inner, &path.join(&inner.name), note))
}
