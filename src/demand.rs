//! What is needed of the stream at some point: it is pushed down to the reader, so that unused fields are never parsed.

use crate::path::glob_matches;

/// What is needed of the stream at some point.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Which fields.
    pub fields: Wanted,
    /// How many records at most; `None`: all.
    pub records: Option<u64>,
}

/// Which fields of the record are needed.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// All fields.
    All,
    /// Those whose name matches one of these patterns.
    Matching(Vec<String>),
}

impl Demand {
    /// All fields of all records.
    pub fn everything() -> Demand {
        Demand { fields: Wanted::All, records: None }
    }

    /// The same fields and these as well.
    pub fn and_fields(mut self, names: impl IntoIterator<Item = String>) -> Demand {
        if let Wanted::Matching(patterns) = &mut self.fields {
            patterns.extend(names);
        }
        self
    }
}

impl Wanted {
    /// Whether the field of that name is needed.
    pub fn includes(&self, name: &str) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Matching(patterns) => patterns.iter().any(|p| glob_matches(p, name)),
        }
    }
}
