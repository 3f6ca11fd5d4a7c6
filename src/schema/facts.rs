//! What files declare in addition to types: metadata, extension types, nullability, exact storage types.
//!
//! These facts are carried with every field and schema that verbs leave unchanged, and written by formats that can
//! store them. They are ignored in comparisons: two fields with the same name and type are equal.

mod storage;

pub use storage::{EXTENSION, NOTED_TYPE, Storage, Stored, is_of_the_type};

use arrow_schema::Metadata;
use std::sync::Arc;

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
/// GeoParquet's key, which describes only some columns: <https://geoparquet.org/releases/v1.1.0/>.
const GEO: &str = "geo";

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
