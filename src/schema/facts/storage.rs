//! How a field is stored in a file, in addition to its type: exact storage type, extension type, nullability, metadata.

use crate::schema::nested::{list_item, replaced, with_fields};
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field as ArrowField, Metadata};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The metadata keys for the name and the parameters of an extension type.
pub const EXTENSION: [&str; 2] = ["ARROW:extension:name", "ARROW:extension:metadata"];
/// The key for the id of a Parquet field.
const FIELD_ID: &str = "PARQUET:field_id";
/// The prefix of the key under which Polars lists the values of an Enum: the length in bytes of each, `;` and the
/// value.
const POLARS_ENUM: &str = "_PL_ENUM_VALUES";
/// Why the metadata of several inputs is dropped.
const DIFFERS: &str = "differs between the inputs";
const OF_ONE_INPUT: &str = "describes the type in one of the inputs";

/// The prefixes of metadata that describes the type of a field.
const OF_THE_TYPE: [&str; 3] = ["ARROW:extension:", "PARQUET:logical_type", NOTED_TYPE];
/// The key of a type in the notation, if the type in the file does not express it.
pub const NOTED_TYPE: &str = "tatter:type";

/// Whether the metadata with this key describes the type of the field.
pub fn is_of_the_type(key: &str) -> bool {
    OF_THE_TYPE.iter().any(|prefix| key.starts_with(prefix))
}

/// How a field is written to a columnar file, in addition to its type.
#[derive(Clone, Debug, Default)]
pub enum Storage {
    /// The type was inferred from data or computed by a verb. Other data may have nulls, so the field is written as
    /// nullable.
    #[default]
    Inferred,
    /// `--schema` gives the type, including its nullability.
    Declared,
    /// The entries of maps, if the field has that rank; see [`crate::schema::maps`].
    Map {
        /// Declared, as in [`Storage::Declared`]; otherwise as in [`Storage::Inferred`].
        declared: bool,
        /// The number of axes, including that of the entries.
        rank: usize,
    },
    /// Declared, as in [`Storage::Declared`]: a sparse vector of unknown size whose values are all that a file stores, at the
    /// indices 0, 1, 2, ... (tf.io.VarLenFeature).
    ValuesOnly,
    /// As in [`Storage::Inferred`], but files declare metadata for the field that is not kept: the keys, and why.
    WithoutMetadata(Arc<[(String, &'static str)]>),
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
    /// Keys of metadata that are no longer valid, and why.
    pub dropped: Arc<[(String, &'static str)]>,
}

impl Stored {
    /// A list of such fields. Metadata of the field, such as its unit, is that of the list; metadata of its type remains
    /// that of the items.
    fn list(&self, size: Option<i32>) -> Stored {
        let (of_items, of_list): (Vec<_>, Vec<_>) = pairs(&self.field).partition(|(key, _)| is_of_the_type(key));
        let of_items = of_items.into_iter().filter(|(key, _)| key != NOTED_TYPE).collect::<Metadata>();
        let item = Arc::new(self.field.as_ref().clone().with_name("element").with_metadata(of_items));
        let list = size.map_or(DataType::List(item.clone()), |size| DataType::FixedSizeList(item, size));
        let list =
            ArrowField::new(self.field.name(), list, self.field.is_nullable()).with_metadata(of_list.into_iter().collect::<Metadata>());
        Stored { field: Arc::new(list), ..self.clone() }
    }

    /// The items of such a field, if it is a list, with the metadata of both except for that of the type of the list.
    /// `with_nulls`: lists among them have nulls, which the lists around them may have had.
    fn item(&self, with_nulls: bool) -> Option<Stored> {
        let item = list_item(self.field.data_type())?;
        let mut dropped = self.dropped.to_vec();
        dropped.extend(self.field.metadata().get(EXTENSION[0]).map(|name| (name.clone(), "describes the lists")));
        let own = pairs(&self.field).filter(|(key, _)| !is_of_the_type(key));
        let ty = if with_nulls { with_nullable_items(item.data_type()) } else { item.data_type().clone() };
        let metadata = own.chain(pairs(item)).collect::<Metadata>();
        let item = item.as_ref().clone().with_name(self.field.name()).with_data_type(ty).with_metadata(metadata);
        Some(Stored { field: Arc::new(item), dropped: dropped.into(), ..self.clone() })
    }
}

/// The type with nullable items in its lists.
fn with_nullable_items(ty: &DataType) -> DataType {
    let opened = |field: &ArrowField| field.clone().with_data_type(with_nullable_items(field.data_type()));
    match ty {
        DataType::Dictionary(key, values) => DataType::Dictionary(key.clone(), Box::new(with_nullable_items(values))),
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(ends.clone(), Arc::new(opened(values))),
        _ if list_item(ty).is_some() => with_fields(ty, |item| Arc::new(opened(item).with_nullable(true))),
        _ => ty.clone(),
    }
}

fn pairs(field: &ArrowField) -> impl Iterator<Item = (String, String)> + '_ {
    field.metadata().iter().map(|(key, value)| (key.clone(), value.clone()))
}

/// Whether this value is among those that Polars lists, each after its length in bytes: `3;cat3;dog`.
fn polars_lists(listed: &str, value: &str) -> bool {
    let mut rest = listed;
    while let Some((nbytes, after)) = rest.split_once(';') {
        let Some((own, others)) = nbytes.parse().ok().and_then(|nbytes| after.split_at_checked(nbytes)) else { return false };
        if own == value {
            return true;
        }
        rest = others;
    }
    false
}

impl Storage {
    /// The storage of a list of such fields; `size` is that of all lists, if it is the same.
    pub fn list(&self, size: Option<i32>) -> Storage {
        match self {
            Storage::Arrow(stored) => Storage::Arrow(stored.list(size)),
            Storage::WithoutMetadata(_) => self.clone(),
            _ => Storage::default(),
        }
    }

    /// The storage of the items of such a field, which is a list; `with_nulls`: lists among them have nulls.
    pub fn item(&self, with_nulls: bool) -> Storage {
        match self {
            Storage::Arrow(stored) => stored.item(with_nulls).map_or_else(|| self.replaced(), Storage::Arrow),
            Storage::WithoutMetadata(_) => self.clone(),
            _ => Storage::default(),
        }
    }

    /// The storage of a copy of such a field, which has no id of its own.
    pub fn copied(&self) -> Storage {
        match self {
            Storage::Arrow(stored) => Storage::Arrow(Stored { field: Arc::new(without_ids(&stored.field)), ..stored.clone() }),
            other => other.clone(),
        }
    }

    /// The storage of a field that a verb computes in place of this one.
    pub fn replaced(&self) -> Storage {
        let keys = match self {
            Storage::Arrow(stored) => pairs(&stored.field)
                .filter_map(|(key, value)| if key == EXTENSION[0] { Some(value) } else { Some(key).filter(|key| !is_of_the_type(key)) })
                .map(|lost| (lost, "describes the field before the verbs"))
                .chain(stored.dropped.iter().cloned())
                .collect(),
            Storage::WithoutMetadata(keys) => keys.iter().cloned().collect(),
            _ => BTreeMap::new(),
        };
        Storage::without(keys)
    }

    /// The storage of a field for which files declare metadata that is not kept: the keys, and why.
    fn without(keys: BTreeMap<String, &'static str>) -> Storage {
        if keys.is_empty() { Storage::Inferred } else { Storage::WithoutMetadata(keys.into_iter().collect()) }
    }

    /// The given field, without known dictionaries.
    pub fn of(field: ArrowField) -> Storage {
        Storage::Arrow(Stored { field: Arc::new(field), dictionaries: Arc::default(), dropped: Arc::default() })
    }

    /// Whether nulls are possible wherever Arrow allows them, because other data may have them.
    pub fn is_open(&self) -> bool {
        matches!(self, Storage::Inferred | Storage::WithoutMetadata(_) | Storage::Map { declared: false, .. })
    }

    /// Whether a field of that rank holds maps.
    pub fn is_map(&self, rank: usize) -> bool {
        match self {
            Storage::Map { rank: stored, .. } => *stored == rank,
            Storage::Arrow(stored) => is_map_below(stored.field.data_type(), rank),
            Storage::Inferred | Storage::Declared | Storage::ValuesOnly | Storage::WithoutMetadata(_) => false,
        }
    }

    /// The common storage of a field of that rank in two inputs.
    pub fn join(&self, other: &Storage, rank: usize) -> Storage {
        match (self, other) {
            (Storage::Map { declared: true, .. }, _) | (_, Storage::Map { declared: true, .. }) => Storage::Map { declared: true, rank },
            (Storage::ValuesOnly, Storage::ValuesOnly) => Storage::ValuesOnly,
            (Storage::Declared | Storage::ValuesOnly, _) | (_, Storage::Declared | Storage::ValuesOnly) => Storage::Declared,
            (Storage::Arrow(first), Storage::Arrow(second)) if first.field.data_type() == second.field.data_type() => {
                let (a, b) = (&first.field, &second.field);
                let mut joined = a.as_ref().clone().with_nullable(a.is_nullable() || b.is_nullable());
                let mut dropped: Vec<(String, &str)> = first.dropped.iter().chain(&*second.dropped).cloned().collect();
                if a.metadata() != b.metadata() {
                    let differs = |(key, value): &(&String, &String)| b.metadata().get(key.as_str()).is_some_and(|other| other != *value);
                    dropped.extend(a.metadata().iter().filter(differs).map(|(key, _)| (key.clone(), DIFFERS)));
                    // Values of the storage type are not values of the extension type.
                    let extensions = [a, b].map(|field| field.metadata().get(EXTENSION[0]));
                    let is_of_one = matches!(extensions, [Some(_), None] | [None, Some(_)]);
                    dropped.extend(extensions.into_iter().flatten().filter(|_| is_of_one).map(|name| (name.clone(), OF_ONE_INPUT)));
                    // The values of one input are not all values.
                    let of_one = |a: &Metadata, b: &Metadata| -> Vec<String> {
                        a.keys().filter(|key| key.starts_with(POLARS_ENUM) && !b.contains_key(key.as_str())).cloned().collect()
                    };
                    let listed = [of_one(a.metadata(), b.metadata()), of_one(b.metadata(), a.metadata())].concat();
                    dropped.extend(listed.into_iter().map(|key| (key, OF_ONE_INPUT)));
                    let is_lost =
                        |key: &String| dropped.iter().any(|(gone, _)| gone == key) || (is_of_one && EXTENSION.contains(&key.as_str()));
                    let all = a.metadata().iter().chain(b.metadata().iter());
                    let kept = all.filter(|(key, _)| !is_lost(key));
                    joined = joined.with_metadata(kept.map(|(k, v)| (k.clone(), v.clone())).collect::<Metadata>());
                }
                let same = !first.dictionaries.is_empty() && first.dictionaries.iter().eq(second.dictionaries.iter());
                let dictionaries = if same { first.dictionaries.clone() } else { Arc::default() };
                if !same {
                    // Together, the dictionaries can have more values than their keys can index.
                    joined = joined.with_data_type(with_wide_keys(a.data_type()));
                }
                dropped.sort_unstable();
                dropped.dedup();
                Storage::Arrow(Stored { field: Arc::new(joined), dictionaries, dropped: dropped.into() })
            }
            _ if self.is_map(rank) && other.is_map(rank) => Storage::Map { declared: false, rank },
            _ => Storage::without(self.keys().chain(other.keys()).collect()),
        }
    }

    /// All keys of metadata, and why they are not kept if the type is another one.
    fn keys(&self) -> Box<dyn Iterator<Item = (String, &'static str)> + '_> {
        match self {
            Storage::Arrow(stored) => {
                let own = stored.field.metadata().iter().map(|(key, _)| (key.clone(), OF_ONE_INPUT));
                Box::new(own.chain(stored.dropped.iter().cloned()))
            }
            Storage::WithoutMetadata(keys) => Box::new(keys.iter().cloned()),
            Storage::Inferred | Storage::Declared | Storage::ValuesOnly | Storage::Map { .. } => Box::new(std::iter::empty()),
        }
    }

    /// Keys of metadata that are no longer valid, and why.
    pub fn dropped(&self) -> &[(String, &'static str)] {
        match self {
            Storage::Arrow(stored) => &stored.dropped,
            Storage::WithoutMetadata(keys) => keys,
            Storage::Inferred | Storage::Declared | Storage::ValuesOnly | Storage::Map { .. } => &[],
        }
    }

    /// The storage of a field whose values are all null in another input.
    pub fn or_null(&self) -> Storage {
        match self {
            Storage::Arrow(stored) => {
                let field = Arc::new(stored.field.as_ref().clone().with_nullable(true));
                Storage::Arrow(Stored { field, ..stored.clone() })
            }
            other => other.clone(),
        }
    }

    /// A verb adds this value to the field: a dictionary can have more values than its keys can index, and metadata
    /// that lists its possible values without it is no longer valid.
    pub fn add_value(&mut self, value: &str) {
        let Storage::Arrow(stored) = self else { return };
        let wide = with_wide_keys(stored.field.data_type());
        if wide != *stored.field.data_type() {
            stored.field = Arc::new(stored.field.as_ref().clone().with_data_type(wide));
        }
        let lists_others = |(key, listed): &(&String, &String)| key.starts_with(POLARS_ENUM) && !polars_lists(listed, value);
        let keys: Vec<String> = stored.field.metadata().iter().filter(lists_others).map(|(key, _)| key.clone()).collect();
        if keys.is_empty() {
            return;
        }
        let kept = stored.field.metadata().iter().filter(|(key, _)| !keys.contains(key));
        let metadata = kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Metadata>();
        stored.field = Arc::new(stored.field.as_ref().clone().with_metadata(metadata));
        stored.dropped =
            stored.dropped.iter().cloned().chain(keys.into_iter().map(|key| (key, "does not list a value that was added"))).collect();
    }

    /// The field as stored in a file, if it comes from one.
    pub fn arrow(&self) -> Option<&ArrowField> {
        match self {
            Storage::Arrow(stored) => Some(&stored.field),
            _ => None,
        }
    }

    /// The name of the extension type of the field in its file.
    pub fn extension(&self) -> Option<&str> {
        self.arrow()?.metadata().get(EXTENSION[0]).map(String::as_str)
    }

    /// The dictionaries of the field in its file, depth first; empty if they are not known.
    pub fn dictionaries(&self) -> &[ArrayRef] {
        match self {
            Storage::Arrow(stored) => &stored.dictionaries,
            _ => &[],
        }
    }
}

/// The field without the ids of Parquet fields, which identify a column of a file.
fn without_ids(field: &ArrowField) -> ArrowField {
    let kept = pairs(field).filter(|(key, _)| key != FIELD_ID).collect::<Metadata>();
    let ty = with_fields(field.data_type(), |inner| Arc::new(without_ids(inner)));
    field.clone().with_metadata(kept).with_data_type(ty)
}

/// The type with dictionary keys of at least 32 bits.
fn with_wide_keys(ty: &DataType) -> DataType {
    replaced(ty, &|ty| match ty {
        DataType::Dictionary(key, values) if key.primitive_width().is_some_and(|nbytes| nbytes < 4) => {
            Some(DataType::Dictionary(Box::new(DataType::Int32), values.clone()))
        }
        _ => None,
    })
}

/// Whether there is a map below `rank - 1` levels of lists.
fn is_map_below(ty: &DataType, rank: usize) -> bool {
    match ty {
        DataType::Map(..) => rank == 1,
        DataType::Dictionary(_, values) => is_map_below(values, rank),
        DataType::RunEndEncoded(_, values) => is_map_below(values.data_type(), rank),
        _ => list_item(ty).is_some_and(|item| rank > 1 && is_map_below(item.data_type(), rank - 1)),
    }
}
