//! Properties that hold for all JSON: nothing is lost, invalid JSON is rejected, nothing panics.

use super::{infer, normal, request, rewrite};
use crate::options::OnError;
use crate::tensor::text::{from_text, to_text};
use arrow_array::{Array, Int64Array, make_array};
use arrow_schema::{DataType, TimeUnit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-20i64..20).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64).prop_map(Value::from),
        (-9000i32..9000).prop_map(|n| Value::from(f64::from(n) / 100.0)),
        "\\PC{0,6}".prop_map(Value::from),
        "[\u{0}-\u{40}\\\\]{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["NaN", "Infinity", "-Infinity", "2024-01-31", "123e4567-e89b-12d3-a456-426614174000"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((prop::sample::select(vec!["a", "b", "c", "b64", "indices", "values", "dense_shape", "é\"", ""]), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

fn records() -> impl Strategy<Value = Vec<Map<String, Value>>> {
    let key = prop::sample::select(vec!["a", "b", "c", "d e", "`", "\u{1f600}"]);
    vec(vec((key, value()), 0..4).prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()), 0..6)
}

fn lines(records: &[Map<String, Value>]) -> String {
    records.iter().map(|r| format!("{}\n", Value::Object(r.clone()))).collect()
}

/// The string NaN is a number if the other values are numbers; bytes that are text are written as text.
fn equal(mine: &Value, theirs: &Value) -> bool {
    match (mine, theirs) {
        (Value::String(text), Value::Object(bytes)) => {
            let encoded = bytes.get("b64").filter(|_| bytes.len() == 1).and_then(Value::as_str);
            encoded.and_then(|encoded| STANDARD.decode(encoded).ok()).is_some_and(|bytes| bytes == text.as_bytes())
        }
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Value::Object(x), Value::Object(y)) => x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| equal(v, w))),
        (x, y) => normal(x) == normal(y),
    }
}

/// Removes nulls: absent and null are equivalent in a structure.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), without_nulls(v))).collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost(records in records()) {
        let text = lines(&records);
        let request = request("", |o| o.mixed = true);
        let schema = match infer(text.as_bytes(), true, &request) {
            Ok(schema) => schema,
            Err(error) => return Err(TestCaseError::fail(format!("{text}{error}"))),
        };
        // A structure that looks like a sparse tensor or bytes, but is not, is rejected with a message.
        let (out, bad) = match rewrite(text.as_bytes(), true, &schema, &request) {
            Err(error) if error.message().contains("would read back") || error.message().contains("outside the dense_shape") => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(format!("{text}{schema}\n{error}"))),
            Ok(result) => result,
        };
        if bad.iter().any(|b| b.contains("dense_shape")) {
            return Ok(());
        }
        prop_assert!(bad.is_empty(), "{text}{schema}\n{bad:?}");
        prop_assert_eq!(out.lines().count(), records.len());
        for (line, record) in out.lines().zip(&records) {
            let read: Value = serde_json::from_str(line).map_err(|e| TestCaseError::fail(format!("{line}: {e}")))?;
            let record = without_nulls(&Value::Object(record.clone()));
            prop_assert!(equal(&without_nulls(&read), &record), "{record}\n{line}\n{schema}");
        }
        // Written output reads back unchanged under the schema that is printed.
        let printed = super::request(&schema.to_string(), |_| ());
        let again = rewrite(out.as_bytes(), true, &printed.declared, &printed).map_err(|e| TestCaseError::fail(format!("{out}{schema}\n{e}")))?;
        prop_assert_eq!((again.0, again.1), (out, Vec::new()));
    }

    #[test]
    fn bytes_that_are_changed_are_read_or_refused(records in records(), changes in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4), lines_form in any::<bool>()) {
        let mut text = lines(&records).into_bytes();
        if text.is_empty() {
            return Ok(());
        }
        for (at, byte, how) in changes {
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => text[at] = b"{}[]\",:\\ \n0-"[usize::from(byte) % 12],
                _ => text.truncate(at + 1),
            }
        }
        for skip in [false, true] {
            let request = request("", |o| {
                if skip {
                    o.on_error = crate::options::OnError::Skip;
                }
            });
            let result = infer(&text, lines_form, &request).and_then(|schema| rewrite(&text, lines_form, &schema, &request));
            if let Err(error) = result {
                let placed = error.location().line.is_some() || error.to_string().contains("line ") || error.message().contains("would read back");
                prop_assert!(placed, "{}\n{error}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn parts_merge_to_the_whole(records in records(), rows in 1usize..4) {
        let text = lines(&records);
        let schema = |rows| infer(text.as_bytes(), true, &request("", |o| o.chunk_rows = rows)).map_or_else(|e| e.to_string(), |s| s.to_string());
        prop_assert_eq!(schema(Some(rows)), schema(None));
    }
}

/// All types whose values are integer times.
fn time_types() -> Vec<DataType> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let zones = [None, Some("+00:00"), Some("Europe/Berlin"), Some("-05:30")];
    let units = [Second, Millisecond, Microsecond, Nanosecond];
    let stamps = units.iter().flat_map(|unit| zones.iter().map(|zone| DataType::Timestamp(*unit, zone.map(Into::into))));
    let others = [DataType::Date64, DataType::Time64(Microsecond), DataType::Time64(Nanosecond)];
    stamps.chain(units.map(DataType::Duration)).chain(others).collect()
}

proptest! {
    /// Every value of every type has a text form that parses back to the value, even seconds in years that no calendar
    /// has.
    #[test]
    fn times_come_back(values in proptest::collection::vec(proptest::option::of(prop_oneof![any::<i64>(), -100_000_000i64..100_000_000, Just(i64::MIN), Just(i64::MAX)]), 0..8)) {
        for ty in time_types() {
            let plain: Int64Array = values.iter().copied().collect();
            let array = make_array(plain.into_data().into_builder().data_type(ty.clone()).build().unwrap());
            let texts = to_text(&array).unwrap();
            let mut refused = Vec::new();
            let back = from_text(&texts, &ty, &mut |_, message| refused.push(message)).unwrap();
            prop_assert!(refused.is_empty(), "{ty}: {refused:?}");
            prop_assert_eq!(&back, &array, "{}: {:?}", ty, texts);
        }
    }
}

/// A value of few kinds, so that records often clash.
fn plain_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-20i64..20).prop_map(Value::from),
        Just(Value::from(0.5)),
        Just(Value::from(u64::MAX)),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((prop::sample::select(vec!["x", "y", "b64"]), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_skipped_record_has_no_say_in_the_types(
        records in vec(vec((prop::sample::select(vec!["a", "b", "c"]), plain_value()), 0..3), 0..12),
        rows in 1usize..5,
    ) {
        let records: Vec<Map<String, Value>> =
            records.into_iter().map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()).collect();
        let strict = request("", |_| ());
        let mut kept: Vec<Map<String, Value>> = Vec::new();
        for record in &records {
            kept.push(record.clone());
            if infer(lines(&kept).as_bytes(), true, &strict).is_err() {
                kept.pop();
            }
        }
        let expected = infer(lines(&kept).as_bytes(), true, &strict).unwrap();
        for rows in [Some(rows), None] {
            let skip = request("", |o| (o.on_error, o.chunk_rows) = (OnError::Skip, rows));
            let found = infer(lines(&records).as_bytes(), true, &skip).unwrap();
            prop_assert_eq!(found.to_string(), expected.to_string(), "{}", lines(&records));
        }
    }
}
