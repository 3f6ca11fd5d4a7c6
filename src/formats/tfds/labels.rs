//! The names of the classes of labels: a file `FIELD.labels.txt` for each, a name a line.
//!
//! Source: `ClassLabel.load_metadata`, `convert_feature_name_to_filename` of `core/features/feature.py`.

use super::json;
use crate::path::FieldPath;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

/// The names of the classes of a data set.
pub struct Labels {
    directory: PathBuf,
    are_read: bool,
    any: Cell<bool>,
}

impl Labels {
    /// Those in a directory. `are_read`: labels are read as their names.
    pub fn new(directory: PathBuf, are_read: bool) -> Labels {
        Labels { directory, are_read, any: Cell::new(false) }
    }

    /// Whether labels are read as their names.
    pub fn are_read(&self) -> bool {
        self.are_read
    }

    /// Whether any field has had names.
    pub fn any(&self) -> bool {
        self.any.get()
    }

    /// The names of the classes of a field; `None`: they have none.
    pub fn names(&self, path: &FieldPath) -> Option<Arc<[String]>> {
        let file = self.directory.join(file_name(path));
        let text = if file.is_file() { json::text(&file).ok()? } else { return None };
        let names: Vec<String> = text.split('\n').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        self.any.set(true);
        Some(names.into())
    }
}

/// The name of the file of a field. Sequences have no name.
pub fn file_name(path: &FieldPath) -> String {
    let joined = path.names().iter().fold(None::<String>, |parent, name| {
        let name = name.replace('/', ".");
        Some(parent.map_or_else(|| name.clone(), |parent| format!("{}-{name}", parent.replace('/', "-"))))
    });
    format!("{}.labels.txt", joined.unwrap_or_default())
}
