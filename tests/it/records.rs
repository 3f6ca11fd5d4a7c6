//! A slow, simple reference for the verbs that split, combine, fill and retype records, over nested JSON values.

use crate::random::{Dataset, cases, dataset};
use crate::tatter::on_records;
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};

/// The record with the value of a name replaced.
fn with(record: &Value, name: &str, value: Value) -> Value {
    let mut record = record.clone();
    record[name] = value;
    record
}

fn exploded(records: &[Value], keep_empty: bool) -> Vec<Value> {
    let mut out = Vec::new();
    for record in records {
        match record["a"].as_array().filter(|items| !items.is_empty()) {
            Some(items) => out.extend(items.iter().map(|item| with(record, "a", item.clone()))),
            None if keep_empty => out.push(with(record, "a", Value::Null)),
            None => {}
        }
    }
    out
}

fn imploded(records: &[Value], key: &str) -> Vec<Value> {
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for record in records {
        match groups.last_mut().filter(|group| group[0][key] == record[key]) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    let names = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    groups
        .iter()
        .map(|group| {
            let column = |name: &String| if name == key { group[0][name].clone() } else { group.iter().map(|r| r[name].clone()).collect() };
            Value::Object(names(group[0]).iter().map(|name| (name.clone(), column(name))).collect())
        })
        .collect()
}

/// The type of the first field, `a`.
fn type_of_a(data: &Dataset) -> &str {
    let first = data.schema.split("; ").next().unwrap();
    first.strip_prefix("a: ").unwrap()
}

/// Integers in lists with that many axes, with nulls at every depth.
fn nullable(rank: usize) -> BoxedStrategy<Value> {
    let value = if rank == 0 {
        (-9i64..10).prop_map(Value::from).boxed()
    } else {
        prop::collection::vec(nullable(rank - 1), 0..4).prop_map(Value::from).boxed()
    };
    prop_oneof![1 => Just(Value::Null), 3 => value].boxed()
}

fn filled(value: &Value, rank: usize, list: bool, number: Option<i64>) -> Value {
    match value {
        Value::Null if rank > 0 && list => json!([]),
        Value::Null if rank == 0 => number.map_or(Value::Null, Value::from),
        Value::Array(items) => items.iter().map(|item| filled(item, rank - 1, list, number)).collect(),
        other => other.clone(),
    }
}

const RAGGED: [&str; 4] =
    ["optional int64", "optional int64[?] with nulls", "optional int64[?, (?)] with nulls", "optional int64[?, (?), (?)] with nulls"];

/// The result of `tf.cast` for an integer.
fn cast(n: i64, dtype: &str) -> Value {
    match dtype {
        "int8" => json!(n as i8),
        "int16" => json!(n as i16),
        "int32" => json!(n as i32),
        "uint8" => json!(n as u8),
        "uint16" => json!(n as u16),
        "uint32" => json!(n as u32),
        "uint64" => json!(n as u64),
        "float64" => json!(n as f64),
        _ => json!(n != 0),
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn explode_makes_a_record_of_each_item(data in dataset(true), keep_empty in any::<bool>()) {
        let verbs: &[&str] = if keep_empty { &["explode", "a", "--keep-empty"] } else { &["explode", "a"] };
        let outcome = on_records(verbs, &data.schema, &data.records);
        if type_of_a(&data).ends_with(']') {
            prop_assert_eq!(outcome.records(), exploded(&data.records, keep_empty), "{}", data.schema);
        } else {
            prop_assert_eq!(outcome.status, 2, "{}", data.schema);
        }
    }

    #[test]
    fn implode_puts_neighbours_together(data in dataset(true), repeats in prop::collection::vec(1usize..4, 9)) {
        let repeated = data.records.iter().zip(repeats).flat_map(|(r, n)| vec![r.clone(); n]).collect::<Vec<_>>();
        let outcome = on_records(&["implode", "--by", "a", "--chunk-rows", "2"], &data.schema, &repeated);
        prop_assert_eq!(outcome.records(), imploded(&repeated, "a"), "{}", data.schema);
    }

    #[test]
    fn implode_takes_explode_back(data in dataset(true)) {
        let records = data.records.iter().filter(|r| r["a"].as_array().is_some_and(|items| !items.is_empty()));
        let records: Vec<Value> = records.enumerate().map(|(id, r)| json!({ "id": id, "a": r["a"] })).collect();
        if type_of_a(&data).ends_with(']') {
            let schema = format!("id: int64; a: {}", type_of_a(&data));
            let outcome = on_records(&["explode", "a", "then", "implode", "--by", "id"], &schema, &records);
            prop_assert_eq!(outcome.records(), records, "{}", schema);
        }
    }

    #[test]
    fn fill_null_fills_what_it_says(
        (rank, records) in (0usize..4).prop_flat_map(|rank| (Just(rank), prop::collection::vec(nullable(rank).prop_map(|x| json!({ "x": x })), 0..6))),
        (list, number) in prop::sample::select(vec![(true, None), (false, Some(7)), (true, Some(7))]),
    ) {
        let list = list && rank > 0;
        let values: Vec<String> = list.then(|| "x=[]".to_owned()).into_iter().chain(number.map(|n| format!("x={n}"))).collect();
        if !values.is_empty() {
            let schema = format!("x: {}", RAGGED[rank]);
            let outcome = on_records(&["fill-null", &values.join(",")], &schema, &records);
            let want: Vec<Value> = records.iter().map(|r| json!({ "x": filled(&r["x"], rank, list, number) })).collect();
            prop_assert_eq!(outcome.records(), want);
            if (list || rank == 0) && number.is_some() {
                let schema = on_records(&["fill-null", &values.join(","), "then", "schema"], &schema, &records);
                prop_assert!(!schema.text().contains("null") && !schema.text().contains("optional"), "{}", schema.text());
            }
        }
    }

    #[test]
    fn cast_wraps(
        values in prop::collection::vec(prop::collection::vec(any::<i64>(), 0..4), 0..4),
        dtype in prop::sample::select(vec!["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float64", "bool"]),
    ) {
        let outcome = on_records(&["cast", &format!("x={dtype}")], "x: int64[?, (?)]", &[json!({ "x": values })]);
        let want: Vec<Value> = values.iter().map(|row| row.iter().map(|n| cast(*n, dtype)).collect()).collect();
        prop_assert_eq!(outcome.records(), vec![json!({ "x": want })]);
    }
}
