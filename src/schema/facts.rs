//! What files declare in addition to types: metadata, extension types, nullability, exact storage types.
//!
//! These facts are carried with every field and schema that verbs leave unchanged, and written by formats that can
//! store them. They are ignored in comparisons: two fields with the same name and type are equal.

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field as ArrowField, Metadata};
use std::sync::Arc;

/// Keys of schema metadata that describe the columns, and are valid only while the columns are unchanged.
const DESCRIPTIONS: [&str; 2] = ["pandas", "huggingface"];

/// How a field is written to a columnar file, in addition to its type.
#[derive(Clone, Debug, Default)]
pub enum Storage {
    /// The type was inferred from data or computed by a verb. Other data may have nulls, so the field is written as
    /// nullable.
    #[default]
    Inferred,
    /// `--schema` gives the type, including its nullability.
    Declared,
    /// The entries of maps, if the field has that rank; see [`super::maps`].
    Map {
        /// Declared, as in [`Storage::Declared`]; otherwise as in [`Storage::Inferred`].
        declared: bool,
        /// The number of axes, including that of the entries.
        rank: usize,
    },
    /// A file declares the type. It is valid while it reads as the field's type.
    Arrow(Stored),
}

/// A field as stored in a file.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The field.
    pub field: Arc<ArrowField>,
    /// The dictionaries of the field and of the fields inside it, depth first; empty if the file does not declare them.
    pub dictionaries: Arc<[ArrayRef]>,
}

impl Storage {
    /// The given field, without known dictionaries.
    pub fn of(field: ArrowField) -> Storage {
        Storage::Arrow(Stored { field: Arc::new(field), dictionaries: Arc::default() })
    }

    /// Whether nulls are possible wherever Arrow allows them, because other data may have them.
    pub fn is_open(&self) -> bool {
        matches!(self, Storage::Inferred | Storage::Map { declared: false, .. })
    }

    /// Whether a field of that rank holds maps.
    pub fn is_map(&self, rank: usize) -> bool {
        match self {
            Storage::Map { rank: stored, .. } => *stored == rank,
            Storage::Arrow(stored) => is_map_below(stored.field.data_type(), rank),
            Storage::Inferred | Storage::Declared => false,
        }
    }

    /// The common storage of a field of that rank in two inputs.
    pub fn join(&self, other: &Storage, rank: usize) -> Storage {
        match (self, other) {
            (Storage::Map { declared: true, .. }, _) | (_, Storage::Map { declared: true, .. }) => Storage::Map { declared: true, rank },
            (Storage::Declared, _) | (_, Storage::Declared) => Storage::Declared,
            (Storage::Arrow(first), Storage::Arrow(second)) if first.field.data_type() == second.field.data_type() => {
                let (a, b) = (&first.field, &second.field);
                let mut joined = a.as_ref().clone().with_nullable(a.is_nullable() || b.is_nullable());
                if a.metadata() != b.metadata() {
                    let same = a.metadata().iter().filter(|(key, value)| b.metadata().get(key.as_str()) == Some(*value));
                    joined = joined.with_metadata(same.map(|(k, v)| (k.clone(), v.clone())).collect::<Metadata>());
                }
                let same = first.dictionaries.iter().eq(second.dictionaries.iter());
                let dictionaries = if same { first.dictionaries.clone() } else { Arc::default() };
                Storage::Arrow(Stored { field: Arc::new(joined), dictionaries })
            }
            _ if self.is_map(rank) && other.is_map(rank) => Storage::Map { declared: false, rank },
            _ => Storage::Inferred,
        }
    }

    /// The field as stored in a file, if it comes from one.
    pub fn arrow(&self) -> Option<&ArrowField> {
        match self {
            Storage::Arrow(stored) => Some(&stored.field),
            _ => None,
        }
    }

    /// The dictionaries of the field in its file, depth first; empty if they are not known.
    pub fn dictionaries(&self) -> &[ArrayRef] {
        match self {
            Storage::Arrow(stored) => &stored.dictionaries,
            _ => &[],
        }
    }
}

/// Whether there is a map below `rank - 1` levels of lists.
fn is_map_below(ty: &DataType, rank: usize) -> bool {
    match ty {
        DataType::Map(..) => rank == 1,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => rank > 1 && is_map_below(item.data_type(), rank - 1),
        DataType::Dictionary(_, values) => is_map_below(values, rank),
        DataType::RunEndEncoded(_, values) => is_map_below(values.data_type(), rank),
        _ => false,
    }
}

/// What files declare about all records: the metadata of the schema.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Keys and values, which are carried unchanged.
    pub metadata: Metadata,
    /// Keys that are no longer valid, and why.
    pub dropped: Vec<(String, &'static str)>,
}

impl Facts {
    /// The facts that two inputs agree on.
    pub fn join(&self, other: &Facts) -> Facts {
        let mut joined = self.clone();
        joined.dropped.extend(other.dropped.iter().cloned());
        for (key, value) in other.metadata.iter() {
            match self.metadata.get(key.as_str()) {
                Some(own) if own != value => joined.drop_key(key, "differs between the inputs"),
                Some(_) => {}
                None => {
                    joined.metadata.insert(key.clone(), value.clone());
                }
            }
        }
        joined
    }

    fn drop_key(&mut self, key: &str, why: &'static str) {
        let kept = self.metadata.iter().filter(|(k, _)| *k != key).map(|(k, v)| (k.clone(), v.clone()));
        self.metadata = kept.collect::<Metadata>();
        self.dropped.push((key.to_owned(), why));
    }

    /// The facts that are still valid after verbs. `same_columns`: whether names and types are unchanged.
    pub fn after_verbs(&self, same_columns: bool) -> Facts {
        let mut facts = self.clone();
        for key in DESCRIPTIONS {
            let Some(value) = self.metadata.get(key) else { continue };
            // A range describes the number and order of the records.
            let counts_records = key == "pandas" && value.contains("\"range\"");
            if counts_records || !same_columns {
                facts.drop_key(key, "describes the columns before the verbs");
            }
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_columns_hold_while_the_columns_stay() {
        let mut facts = Facts::default();
        for (key, value) in [("pandas", "{\"index_columns\": []}"), ("huggingface", "{}"), ("owner", "me")] {
            facts.metadata.insert(key, value);
        }
        assert_eq!(facts.after_verbs(true).metadata.len(), 3);
        let changed = facts.after_verbs(false);
        assert_eq!((changed.metadata.len(), changed.dropped.len()), (1, 2));
        let other = Facts { metadata: [("owner".to_owned(), "you".to_owned())].into_iter().collect(), ..Facts::default() };
        assert_eq!(facts.join(&other).dropped, [("owner".to_owned(), "differs between the inputs")]);
    }
}
