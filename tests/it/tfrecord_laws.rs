//! TFRecords with random data: prost and tatter agree, round trips are lossless, and no bytes cause harm.

use crate::random::cases;
use crate::tatter::tatter;
use crate::tfexample::{Example, Feature, Features, Kind, bytes_list, float_list, frame, int64_list};
use proptest::prelude::*;
use prost::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn int64s() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -2i64..300, (0u32..63).prop_map(|b| 1 << b)]
}

/// Features with fixed kinds: a name has the same kind in all records.
fn example() -> impl Strategy<Value = Example> {
    let i = proptest::option::of(proptest::collection::vec(int64s(), 0..20)).prop_map(|v| v.map(int64_list));
    let f = proptest::option::of(proptest::collection::vec(any::<f32>().prop_filter("NaN is not itself", |f| !f.is_nan()), 0..9))
        .prop_map(|v| v.map(float_list));
    let s = proptest::option::of(proptest::collection::vec("\\PC{0,9}", 0..5))
        .prop_map(|v| v.map(|v| bytes_list(&v.iter().map(|s| s.as_bytes()).collect::<Vec<_>>())));
    let b = proptest::option::of(proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 0..5))
        .prop_map(|v| v.map(|v| bytes_list(&v.iter().map(Vec::as_slice).collect::<Vec<_>>())));
    (i, f, s, b).prop_map(|(i, f, s, b)| {
        let feature: BTreeMap<String, Feature> =
            [("i", i), ("f", f), ("s", s), ("b", b)].into_iter().filter_map(|(name, f)| Some((name.to_owned(), f?))).collect();
        Example { features: (!feature.is_empty()).then_some(Features { feature }) }
    })
}

fn examples() -> impl Strategy<Value = Vec<Example>> {
    proptest::collection::vec(example(), 1..12)
}

fn framed(examples: &[Example]) -> Vec<u8> {
    examples.iter().flat_map(|e| frame(&e.encode_to_vec())).collect()
}

const SCHEMA: &str = "i: optional int64[?]; f: optional float32[?]; s: optional string[?]; b: optional bytes[?]";

/// The JSON form of a feature.
fn value(feature: Option<&Feature>, bytes: bool) -> Value {
    match feature.and_then(|f| f.kind.as_ref()) {
        None => Value::Null,
        Some(Kind::Int64(list)) => json!(list.value),
        Some(Kind::Float(list)) => list
            .value
            .iter()
            .map(|f| if f.is_finite() { json!(f) } else { json!(if *f > 0.0 { "Infinity" } else { "-Infinity" }) })
            .collect(),
        Some(Kind::Bytes(list)) => list
            .value
            .iter()
            .map(|b| match String::from_utf8(b.clone()) {
                Ok(text) if !bytes => json!(text),
                _ => Value::Null,
            })
            .collect(),
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// tatter reads prost's output, and prost reads tatter's.
    #[test]
    fn prost_and_tatter_agree(examples in examples()) {
        let bytes = framed(&examples);
        let out = tatter(&["convert", "--from", "tfrecord", "--schema", SCHEMA], &bytes);
        prop_assert_eq!(out.status, 0, "{}", out.stderr);
        for (line, example) in out.text().lines().zip(&examples) {
            let record: Value = serde_json::from_str(line).unwrap();
            let features = example.features.clone().unwrap_or_default();
            for name in ["i", "s"] {
                prop_assert_eq!(&record[name], &value(features.feature.get(name), false));
            }
        }
        prop_assert_eq!(out.text().lines().count(), examples.len());
        let back = tatter(&["convert", "--from", "tfrecord", "--to", "tfrecord", "--schema", SCHEMA], &bytes);
        prop_assert_eq!(back.status, 0, "{}", back.stderr);
        let (mut at, mut found) = (0, Vec::new());
        while at < back.stdout.len() {
            let length = u64::from_le_bytes(back.stdout[at..at + 8].try_into().unwrap()) as usize;
            found.push(Example::decode(&back.stdout[at + 12..at + 12 + length]).unwrap());
            at += 16 + length;
        }
        prop_assert_eq!(found, examples);
    }

    /// The output does not depend on how the input is divided.
    #[test]
    fn chunks_and_threads_do_not_show(examples in examples(), rows in 1usize..5, threads in 1usize..4) {
        let bytes = framed(&examples);
        let whole = tatter(&["convert", "--from", "tfrecord", "--to", "tfrecord"], &bytes);
        let cut = tatter(&["convert", "--from", "tfrecord", "--to", "tfrecord", "--chunk-rows", &rows.to_string(), "--threads", &threads.to_string()], &bytes);
        prop_assert_eq!(whole.status, 0, "{}", whole.stderr);
        prop_assert_eq!(whole.stdout, cut.stdout);
    }

    /// Any bytes in valid frames: a result or an error, also with damage in between.
    #[test]
    fn no_payload_does_harm(payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..6), flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4)) {
        let mut bytes: Vec<u8> = payloads.iter().flat_map(|p| frame(p)).collect();
        for (at, flip) in flips {
            let at = at % bytes.len();
            bytes[at] ^= flip;
        }
        for format in ["tfrecord", "sequence-example"] {
            for policy in ["fail", "skip"] {
                let out = tatter(&["convert", "--from", format, "--on-error", policy], &bytes);
                prop_assert!(out.status == 0 || out.status == 1, "{} {}", out.status, out.stderr);
                prop_assert!(!out.stderr.contains("internal"), "{}", out.stderr);
            }
        }
    }

    /// Any change to a valid example.
    #[test]
    fn no_change_does_harm(example in example(), at in any::<usize>(), to in any::<u8>()) {
        let mut payload = example.encode_to_vec();
        if !payload.is_empty() {
            let at = at % payload.len();
            payload[at] = to;
        }
        let out = tatter(&["convert", "--from", "tfrecord"], &frame(&payload));
        prop_assert!(out.status == 0 || out.status == 1, "{}", out.stderr);
        prop_assert!(!out.stderr.contains("internal"), "{}", out.stderr);
    }

    /// A round trip from JSON lines to TFRecord and back under the schema gives the same lines.
    #[test]
    fn json_lines_come_back(records in proptest::collection::vec((int64s(), proptest::collection::vec(proptest::collection::vec(proptest::collection::vec(int64s(), 0..4), 0..4), 0..4), proptest::option::of("[a-z]{0,6}"), proptest::collection::vec(("[a-z]{0,3}", proptest::collection::vec(any::<bool>(), 0..3)), 0..4)), 1..8)) {
        let schema = "id: int64; deep: int64[?, (?), (?)]; name: optional string; items: {k: string, v: bool[?]}[?]";
        let lines: String = records
            .iter()
            .map(|(id, deep, name, items)| {
                let items: Vec<Value> = items.iter().map(|(k, v)| json!({"k": k, "v": v})).collect();
                format!("{}\n", json!({"id": id, "deep": deep, "name": name, "items": items}))
            })
            .collect();
        let there = tatter(&["convert", "--schema", schema, "--from", "jsonl", "--to", "tfrecord"], lines.as_bytes());
        prop_assert_eq!(there.status, 0, "{}", there.stderr);
        let back = tatter(&["convert", "--schema", schema, "--from", "tfrecord"], &there.stdout);
        prop_assert_eq!(back.status, 0, "{}", back.stderr);
        prop_assert_eq!(back.text(), lines);
    }
}
