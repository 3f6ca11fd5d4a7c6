//! What is lost with fields that a verb replaces.

use super::facts::Storage;
use super::{Element, Field, Schema};
use std::collections::HashMap;
use std::sync::Arc;

/// Records which metadata is lost in fields that a verb computes in place of others: those of `after` that are in
/// `before`, but not stored as in a file.
pub fn note_replaced(before: &[Field], after: &mut Arc<Schema>) {
    let has_facts = |field: &&Field| !matches!(field.storage.replaced(), Storage::Inferred) || field.ty.fields().is_some();
    let before: HashMap<&str, &Field> = before.iter().filter(has_facts).map(|field| (field.name.as_str(), field)).collect();
    if !before.is_empty() {
        note_replaced_in(&before, &mut Arc::make_mut(after).fields);
    }
}

fn note_replaced_in(before: &HashMap<&str, &Field>, after: &mut [Field]) {
    for field in after {
        let Some(old) = before.get(field.name.as_str()) else { continue };
        if matches!(field.storage, Storage::Inferred) {
            field.storage = old.storage.replaced();
        }
        if let (Some(old), Element::Struct(inner)) = (old.ty.fields(), &mut field.ty.element) {
            note_replaced_in(&old.iter().map(|field| (field.name.as_str(), field)).collect(), inner);
        }
    }
}
