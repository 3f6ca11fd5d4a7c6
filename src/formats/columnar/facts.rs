//! Facts that a writer cannot keep, because a verb made them untrue.

use crate::error::Result;
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{Field, Schema};
use crate::tensor::arrow::stored;
use arrow_schema::Metadata;

/// The metadata to write. Notices for what is left out.
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

fn lost(field: &Field, path: &FieldPath, note: &dyn Fn(String) -> Result<()>) -> Result<()> {
    if let Some(extension) = stored::lost(field) {
        note(format!("{path}: the extension type {extension} was dropped: the type is {} now", field.ty))?;
    }
    field.ty.fields().unwrap_or_default().iter().try_for_each(|inner| lost(inner, &path.join(&inner.name), note))
}
