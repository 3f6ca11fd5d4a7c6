//! What files declare in addition to types: metadata, extension types, nullability, exact storage types.
//!
//! These facts are carried with every field and schema that verbs leave unchanged, and written by formats that can
//! store them. They are ignored in comparisons: two fields with the same name and type are equal.

use super::nested::{list_item, replaced, with_fields};
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field as ArrowField, Metadata};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The metadata keys for the name and the parameters of an extension type.
pub const EXTENSION: [&str; 2] = ["ARROW:extension:name", "ARROW:extension:metadata"];
/// The key for the id of a Parquet field.
const FIELD_ID: &str = "PARQUET:field_id";
/// pandas' key, <https://pandas.pydata.org/docs/development/developer.html>.
const PANDAS: &str = "pandas";
/// Written by `datasets`: the features, such as the names of classes, of some or all columns.
const HUGGINGFACE: &str = "huggingface";
/// The key of Spark's schema.
pub const SPARK_ROW: &str = "org.apache.spark.sql.parquet.row.metadata";
/// Keys of schema metadata that describe the columns, and are valid only while the columns are unchanged. Some readers take
/// the columns from them, such as Spark and the Avro reader of Parquet.
const DESCRIPTIONS: [&str; 7] =
    [PANDAS, HUGGINGFACE, SPARK_ROW, "parquet.avro.schema", "avro.schema", "iceberg.schema", "parquet.proto.descriptor"];
/// The prefix of the key under which Polars lists the values of an Enum: the length in bytes of each, `;` and the
/// value.
const POLARS_ENUM: &str = "_PL_ENUM_VALUES";
/// Why the metadata of several inputs is dropped.
const DIFFERS: &str = "differs between the inputs";
const OF_ONE_INPUT: &str = "describes the type in one of the inputs";
/// GeoParquet's key, which describes only some columns: <https://geoparquet.org/releases/v1.1.0/>.
const GEO: &str = "geo";

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
    /// The entries of maps, if the field has that rank; see [`super::maps`].
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

/// The metadata of `datasets` with only the features of the columns that have a new name, under that name, and the names of
/// the others. `None` if no feature is left.
fn with_features(text: &str, new_name: &dyn Fn(&str) -> Option<String>) -> Option<(String, Vec<String>)> {
    let mut described: serde_json::Value = serde_json::from_str(text).ok()?;
    let features = described.get_mut("info")?.get_mut("features")?.as_object_mut()?;
    let mut others = Vec::new();
    for (name, feature) in std::mem::take(features) {
        match new_name(&name) {
            Some(new) => {
                features.insert(new, feature);
            }
            None => others.push(name),
        }
    }
    if features.is_empty() {
        return None;
    }
    Some((described.to_string(), others))
}

/// The description by pandas, with other names of columns.
fn with_pandas_names(text: &str, new_name: &dyn Fn(&str) -> String) -> Option<String> {
    let mut described: serde_json::Value = serde_json::from_str(text).ok()?;
    for index in described.get_mut("index_columns")?.as_array_mut()? {
        if let Some(name) = index.as_str() {
            *index = new_name(name).into();
        }
    }
    for column in described.get_mut("columns")?.as_array_mut()? {
        // The name of a column in the file; `name` can be any value in pandas.
        let Some(old) = column.get("field_name").or_else(|| column.get("name")).and_then(|name| name.as_str()) else { continue };
        let new = new_name(old);
        if new != old {
            let column = column.as_object_mut()?;
            for key in ["name", "field_name"] {
                if let Some(name) = column.get_mut(key) {
                    *name = new.as_str().into();
                }
            }
        }
    }
    Some(described.to_string())
}

/// Whether the metadata of GeoParquet describes that column.
fn describes_geometry(text: &str, name: &str) -> bool {
    let geo: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    geo.get("columns").is_some_and(|columns| columns.get(name).is_some())
}

/// What files declare about all records: the metadata of the schema.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Keys and values, which are carried unchanged.
    pub metadata: Metadata,
    /// Keys that are no longer valid, and why.
    pub dropped: Vec<(String, &'static str)>,
    /// The columns that descriptions among the metadata refer to.
    described: Arc<[Column]>,
}

/// A column, as far as metadata can describe it.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, in the notation.
    pub ty: String,
    /// Whether its values are those of a file. Those that a verb computes can have another meaning.
    pub is_stored: bool,
}

impl Column {
    fn has_type_of(&self, other: &Column) -> bool {
        (&self.name, &self.ty) == (&other.name, &other.ty)
    }
}

impl Facts {
    /// The metadata of a file with these columns.
    pub fn of_file(metadata: Metadata, columns: impl Iterator<Item = Column>) -> Facts {
        let has_descriptions = DESCRIPTIONS.iter().chain([&GEO]).any(|key| metadata.get(key).is_some());
        let described = if has_descriptions { columns.collect() } else { Arc::default() };
        Facts { metadata, dropped: Vec::new(), described }
    }

    /// Whether some of the metadata describes columns.
    pub fn describes_columns(&self) -> bool {
        !self.described.is_empty()
    }

    /// The facts after columns are renamed, all at once: old and new names.
    #[must_use]
    pub fn renamed(&self, names: &[(&str, &str)]) -> Facts {
        let is_described = |name: &str| self.described.iter().any(|column| column.name == name);
        let names: Vec<(&str, &str)> = names.iter().filter(|(old, _)| is_described(old)).copied().collect();
        if names.is_empty() {
            return self.clone();
        }
        let new = |name: &str| names.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new).to_owned();
        // A name that another column can get is that of a column that was dropped.
        let is_gone = |name: &str| names.iter().any(|(_, new)| *new == name) && names.iter().all(|(old, _)| *old != name);
        let mut facts = self.clone();
        let left = self.described.iter().filter(|column| !is_gone(&column.name));
        facts.described = left.map(|column| Column { name: new(&column.name), ..column.clone() }).collect();
        let has_gone = self.described.iter().any(|column| is_gone(&column.name));
        for key in DESCRIPTIONS.into_iter().chain([GEO]) {
            let Some(text) = self.metadata.get(key) else { continue };
            let kept = match key {
                HUGGINGFACE => with_features(text, &|name| (!is_gone(name)).then(|| new(name))).map(|(kept, _)| kept),
                PANDAS if !has_gone => with_pandas_names(text, &new),
                GEO if !names.iter().any(|(old, new)| describes_geometry(text, old) || describes_geometry(text, new)) => Some(text.clone()),
                _ => None,
            };
            match kept {
                Some(kept) => {
                    facts.metadata.insert(key.to_owned(), kept);
                }
                None => facts.drop_key(key, "describes other columns"),
            }
        }
        facts
    }

    /// The facts that are valid for these columns.
    pub fn valid_for(&self, columns: impl Iterator<Item = Column>) -> Facts {
        let mut facts = self.clone();
        let columns: Vec<Column> = columns.collect();
        let now = |own: &Column| columns.iter().find(|column| column.has_type_of(own));
        let before = |name: &str| self.described.iter().find(|own| own.name == name);
        let is_unchanged = |name: &str| before(name).is_some_and(|own| now(own).is_some());
        let has_values_of = |own: &Column| now(own).is_some_and(|column| column.is_stored == own.is_stored);
        let same = columns.len() == self.described.len() && columns.iter().zip(&*self.described).all(|(a, b)| a.has_type_of(b));
        let same_values = same && self.described.iter().all(has_values_of);
        for key in DESCRIPTIONS.iter().filter(|key| self.metadata.get(key).is_some()) {
            if if *key == HUGGINGFACE { same_values } else { same } {
                continue;
            }
            let described = self.metadata.get(key).filter(|_| *key == HUGGINGFACE);
            let kept_name = |name: &str| before(name).is_some_and(has_values_of).then(|| name.to_owned());
            let Some((kept, changed)) = described.and_then(|text| with_features(text, &kept_name)) else {
                facts.drop_key(key, "describes other columns");
                continue;
            };
            facts.metadata.insert((*key).to_owned(), kept);
            // A new column may be one of these under another name.
            let has_new = columns.iter().any(|column| before(&column.name).is_none());
            let changed = changed.into_iter().filter(|name| has_new || columns.iter().any(|column| column.name == *name));
            // The notice puts backquotes around all of it.
            facts.dropped.extend(changed.map(|name| (format!("{key}` of `{name}"), "no longer describes the field")));
        }
        if let Some(text) = self.metadata.get(GEO) {
            let geo: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
            if geo.get("columns").and_then(|columns| columns.as_object()).is_none_or(|own| own.keys().any(|name| !is_unchanged(name))) {
                facts.drop_key(GEO, "describes other columns");
            }
        }
        facts
    }

    /// The facts that two inputs agree on.
    pub fn join(&self, other: &Facts) -> Facts {
        let (mut joined, other) =
            (self.without_index("numbers the records of one input"), other.without_index("numbers the records of one input"));
        if joined.described.is_empty() {
            joined.described = other.described.clone();
        }
        joined.dropped.extend(other.dropped.iter().cloned());
        for (key, value) in other.metadata.iter() {
            match joined.metadata.get(key.as_str()) {
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

    /// The facts that are still valid if records were dropped, added or put in another order.
    pub fn of_other_records(&self) -> Facts {
        self.without_index("describes the records before the verbs")
    }

    /// The facts without a pandas index that is a range.
    fn without_index(&self, why: &'static str) -> Facts {
        let mut facts = self.clone();
        if let Some((text, is_default)) = self.metadata.get(PANDAS).and_then(|text| without_range(text)) {
            facts.metadata.insert(PANDAS.to_owned(), text);
            if !is_default {
                facts.dropped.push(("pandas.index_columns".to_owned(), why));
            }
        }
        facts
    }
}

/// The description by pandas without indices that are ranges, which describe the number and order of the records, and
/// whether each is the one that pandas assigns to a table without an index. `None` if it has none.
fn without_range(text: &str) -> Option<(String, bool)> {
    let mut described: serde_json::Value = serde_json::from_str(text).ok()?;
    let indices = described.get_mut("index_columns")?.as_array_mut()?;
    let is_range = |index: &serde_json::Value| index.get("kind").is_some_and(|kind| kind == "range");
    let is_default = |index: &serde_json::Value| index.get("start") == Some(&0.into()) && index.get("step") == Some(&1.into());
    let all_default = indices
        .iter()
        .filter(|index| is_range(index))
        .all(|index| is_default(index) && index.get("name").is_none_or(|name| name.is_null()));
    let before = indices.len();
    indices.retain(|index| !is_range(index));
    (indices.len() < before).then(|| (described.to_string(), all_default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_datasets_hold_for_the_columns_that_stay() {
        let text = "{\"info\":{\"features\":{\"a\":1,\"b\":2}}}";
        let column = |name: &str, ty: &str| Column { name: name.to_owned(), ty: ty.to_owned(), is_stored: true };
        let (a, b) = (column("a", "int64"), column("b", "int64"));
        let facts = Facts::of_file([(HUGGINGFACE.to_owned(), text.to_owned())].into_iter().collect(), [a.clone(), b.clone()].into_iter());
        for (columns, kept, dropped) in [
            (vec![a.clone(), b.clone()], Some(text), vec![]),
            (vec![b.clone()], Some("{\"info\":{\"features\":{\"b\":2}}}"), vec![]),
            (
                vec![Column { is_stored: false, ..a.clone() }, b.clone()],
                Some("{\"info\":{\"features\":{\"b\":2}}}"),
                vec!["huggingface` of `a"],
            ),
            (vec![column("c", "int64"), b.clone()], Some("{\"info\":{\"features\":{\"b\":2}}}"), vec!["huggingface` of `a"]),
            (vec![column("c", "int64")], None, vec![HUGGINGFACE]),
        ] {
            let valid = facts.valid_for(columns.into_iter());
            assert_eq!(valid.metadata.get(HUGGINGFACE).map(String::as_str), kept);
            assert_eq!(valid.dropped.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), dropped);
        }
    }

    #[test]
    fn descriptions_of_columns_hold_while_the_columns_stay() {
        let spark = DESCRIPTIONS[2];
        let geo = "{\"columns\": {\"a\": {}}}";
        let pairs = [("pandas", "{\"index_columns\": []}"), (spark, "{}"), ("geo", geo), ("owner", "me")];
        let metadata: Metadata = pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let column = |name: &str, ty: &str| Column { name: name.to_owned(), ty: ty.to_owned(), is_stored: true };
        let (a, b) = (column("a", "int64"), column("b", "int64"));
        let facts = Facts::of_file(metadata, [a.clone(), b.clone()].into_iter());
        for (columns, dropped) in [
            (vec![a.clone(), b.clone()], vec![]),
            (vec![a.clone(), column("b", "int8")], vec!["pandas", spark]),
            (vec![a.clone()], vec!["pandas", spark]),
            (vec![b.clone(), a.clone()], vec!["pandas", spark]),
            (vec![b, column("c", "int64")], vec!["pandas", spark, "geo"]),
        ] {
            let valid = facts.valid_for(columns.into_iter());
            assert_eq!(valid.dropped.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), dropped);
            assert_eq!(valid.metadata.len() + dropped.len(), 4);
        }
        let other = Facts { metadata: [("owner".to_owned(), "you".to_owned())].into_iter().collect(), ..Facts::default() };
        assert_eq!(facts.join(&other).dropped, [("owner".to_owned(), "differs between the inputs")]);
    }

    #[test]
    fn renamed_columns_keep_their_features() {
        let column = |name: &str| Column { name: name.to_owned(), ty: "int64".to_owned(), is_stored: true };
        let metadata = |features: &str, pandas: &str| {
            let pairs = [(HUGGINGFACE, features), (PANDAS, pandas), (GEO, r#"{"columns":{"g":{}}}"#), (SPARK_ROW, "{}")];
            pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect::<Metadata>()
        };
        let pandas = r#"{"index_columns":["a"],"columns":[{"name":"a","field_name":"a"},{"name":"b","field_name":"b"}]}"#;
        let facts = Facts::of_file(metadata(r#"{"info":{"features":{"a":1,"b":2}}}"#, pandas), ["a", "b", "g"].into_iter().map(column));
        for (names, features, pandas, columns) in [
            (
                vec![("a", "x")],
                r#"{"info":{"features":{"x":1,"b":2}}}"#,
                r#"{"index_columns":["x"],"columns":[{"name":"x","field_name":"x"},{"name":"b","field_name":"b"}]}"#,
                ["x", "b", "g"],
            ),
            (
                vec![("a", "b"), ("b", "a")],
                r#"{"info":{"features":{"b":1,"a":2}}}"#,
                r#"{"index_columns":["b"],"columns":[{"name":"b","field_name":"b"},{"name":"a","field_name":"a"}]}"#,
                ["b", "a", "g"],
            ),
        ] {
            let valid = facts.renamed(&names).valid_for(columns.into_iter().map(column));
            assert_eq!(valid.metadata.get(HUGGINGFACE).map(String::as_str), Some(features));
            assert_eq!(valid.metadata.get(PANDAS).map(String::as_str), Some(pandas));
            assert_eq!(valid.dropped.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), [SPARK_ROW]);
        }
        // `drop a then rename b=a`
        let valid = facts.renamed(&[("b", "a")]).valid_for(["a", "g"].into_iter().map(column));
        assert_eq!(valid.metadata.get(HUGGINGFACE).map(String::as_str), Some(r#"{"info":{"features":{"a":2}}}"#));
        assert!(valid.metadata.get(PANDAS).is_none());
        let valid = facts.renamed(&[("g", "h")]).valid_for(["a", "b", "h"].into_iter().map(column));
        assert!(valid.metadata.get(GEO).is_none());
    }

    #[test]
    fn an_index_of_pandas_that_is_a_range_is_dropped() {
        let of = |range: &str| {
            let text = format!("{{\"index_columns\":[{range}],\"columns\":[{{\"name\":\"a\",\"numpy_type\":\"Int64\"}}]}}");
            Facts::of_file([(PANDAS.to_owned(), text)].into_iter().collect(), std::iter::empty())
        };
        let range =
            |start: i64, stop: i64| of(&format!("{{\"kind\":\"range\",\"name\":null,\"start\":{start},\"stop\":{stop},\"step\":1}}"));
        let dropped = |facts: Facts| facts.dropped.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        for (facts, want) in [(range(0, 2), vec![]), (range(5, 9), vec!["pandas.index_columns"]), (of("\"name\""), vec![])] {
            let after = facts.of_other_records();
            assert!(after.metadata.get(PANDAS).is_some_and(|text| text.contains("Int64") && !text.contains("range")));
            assert_eq!(dropped(after), want);
        }
        let index = "pandas.index_columns".to_owned();
        for (a, b, want) in
            [(range(0, 2), range(0, 3), vec![]), (range(0, 2), range(0, 2), vec![]), (range(0, 2), range(2, 4), vec![index.clone()])]
        {
            let joined = a.join(&b);
            assert_eq!((joined.metadata.get(PANDAS), dropped(joined.clone())), (of("").metadata.get(PANDAS), want));
        }
        assert_eq!(dropped(range(0, 2).join(&of("\"name\""))), ["pandas"]);
    }
}
