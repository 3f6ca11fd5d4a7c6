//! Class names of labels: a file `FIELD.labels.txt` for each, with one name per line.
//!
//! Source: `ClassLabel.load_metadata`, `convert_feature_name_to_filename` of `core/features/feature.py`.

use super::json;
use crate::error::Result;
use crate::path::FieldPath;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

/// The class names of a dataset.
pub struct Labels {
    directory: PathBuf,
    are_read: bool,
    any: Cell<bool>,
}

impl Labels {
    /// The class names in a directory. `are_read`: whether labels are read as names.
    pub fn new(directory: PathBuf, are_read: bool) -> Labels {
        Labels { directory, are_read, any: Cell::new(false) }
    }

    /// Whether labels are read as names.
    pub fn are_read(&self) -> bool {
        self.are_read
    }

    /// Whether any field so far had names.
    pub fn any(&self) -> bool {
        self.any.get()
    }

    /// The class names of a field; `None` if it has none.
    ///
    /// # Errors
    /// Labels are read as names, but the file of the names cannot be read.
    pub fn names(&self, path: &FieldPath) -> Result<Option<Arc<[String]>>> {
        let file = self.directory.join(file_name(path));
        if !file.is_file() {
            return Ok(None);
        }
        let text = match json::text(&file) {
            Ok(text) => text,
            Err(error) if self.are_read => return Err(error),
            Err(_) => return Ok(None),
        };
        let names: Vec<String> = text.split('\n').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        self.any.set(true);
        Ok(Some(names.into()))
    }
}

/// The file name for a field. Sequences have no name.
pub fn file_name(path: &FieldPath) -> String {
    let joined = path.names().iter().fold(None::<String>, |parent, name| {
        let name = name.replace('/', ".");
        Some(parent.map_or_else(|| name.clone(), |parent| format!("{}-{name}", parent.replace('/', "-"))))
    });
    format!("{}.labels.txt", joined.unwrap_or_default())
}
