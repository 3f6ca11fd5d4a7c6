//! `stats`, compared with simple counting.

use super::*;
use crate::random::cases;

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn statistics_are_those_of_the_plain_values(column in fields(0..4), nulls in prop::collection::vec(any::<bool>(), 7), batch in 1usize..4) {
        let data: Vec<Value> = column.records.iter().zip(&nulls).map(|(r, null)| if *null { json!({ "x": null }) } else { r.clone() }).collect();
        let schema = format!("x: optional {}", column.ty());
        let n_text = batch.to_string();
        let mut verbs = words("stats --as json --chunk-rows 2 --threads 3");
        let is_padded = column.axes.iter().any(|axis| !matches!(axis, Axis::Known(_)));
        if is_padded { verbs.extend(["--padding", &n_text]); }
        let outcome = on_records(&verbs, &schema, &data);
        prop_assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        let report: Value = serde_json::from_str(&outcome.text()).unwrap();
        let (x, rank) = (&report["fields"][0], column.rank());
        let there: Vec<&Value> = data.iter().map(|r| &r["x"]).filter(|x| !x.is_null()).collect();
        let mut level: Vec<&Value> = there.clone();
        for axis in 0..rank {
            let mut sizes: Vec<usize> = level.iter().map(|row| list(row).len()).collect();
            sizes.sort_unstable();
            let found = &x["axes"][axis];
            prop_assert_eq!(&found["rows"], &json!(sizes.len()));
            prop_assert_eq!(&found["null"], &json!(if axis == 0 { data.len() - there.len() } else { 0 }));
            prop_assert_eq!(&found["empty"], &json!(sizes.iter().filter(|n| **n == 0).count()));
            if !sizes.is_empty() {
                let total: usize = sizes.iter().sum();
                prop_assert_eq!(&found["min"], &json!(sizes[0]));
                prop_assert_eq!(&found["max"], &json!(sizes[sizes.len() - 1]));
                prop_assert_eq!(&found["mean"], &json!(total as f64 / sizes.len() as f64));
                prop_assert_eq!(&found["quantiles"]["0.5"], &json!(sizes[sizes.len().div_ceil(2) - 1]));
                let drawn: u64 = list(&found["histogram"]).iter().map(|b| b["count"].as_u64().unwrap()).sum();
                prop_assert_eq!(drawn, sizes.len() as u64);
            }
            level = level.iter().flat_map(|row| list(row)).collect();
        }
        let mut values: Vec<i64> = level.iter().map(|x| x.as_i64().unwrap()).collect();
        values.sort_unstable();
        prop_assert_eq!(&x["count"], &json!(values.len()));
        prop_assert_eq!(&x["null"], &json!(if rank == 0 { data.len() - there.len() } else { 0 }));
        prop_assert_eq!(x.get("min").cloned(), values.first().map(|n| json!(n)));
        prop_assert_eq!(x.get("max").cloned(), values.last().map(|n| json!(n)));
        prop_assert_eq!(x.get("zero").map_or(0, |n| n.as_u64().unwrap()), values.iter().filter(|n| **n == 0).count() as u64);
        if !values.is_empty() {
            let n = values.len() as f64;
            let mean = values.iter().sum::<i64>() as f64 / n;
            let std = (values.iter().map(|x| (*x as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
            prop_assert_eq!(&x["mean"], &json!(mean));
            prop_assert!((x["std"].as_f64().unwrap() - std).abs() <= 1e-12 * std.max(1.0));
            for share in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
                let at = ((share * n).ceil() as usize).clamp(1, values.len());
                prop_assert_eq!(&x["quantiles"][share.to_string()], &json!(values[at - 1]));
            }
        }
        let mut counts: Vec<(i64, i64)> = Vec::new();
        for value in &values {
            match counts.last_mut() {
                Some((count, last)) if last == value => *count -= 1,
                _ => counts.push((-1, *value)),
            }
        }
        counts.sort_unstable();
        let top: Vec<Value> = counts.iter().take(10).map(|(count, value)| json!({ "value": value, "count": -count })).collect();
        let is_shown = counts.first().is_some_and(|(count, _)| *count < -1);
        prop_assert_eq!(x.get("top").cloned(), is_shown.then(|| Value::Array(top)));
        values.dedup();
        prop_assert_eq!(x.get("distinct").map_or(0, |n| n.as_u64().unwrap()), values.len() as u64);
        if is_padded {
            // A null does not count for the longest rows, but is a record of its batch.
            let elements: usize = data.chunks(batch).map(|batch| {
                let sizes = batch.iter().filter(|r| !r["x"].is_null()).map(|r| column.bounds(&r["x"]));
                let longest = sizes.reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect());
                longest.map_or(0, |sizes| sizes.iter().product::<usize>() * batch.len())
            }).sum();
            prop_assert_eq!(&report["padding"]["fields"][0]["as_they_come"]["elements"], &json!(elements));
        }
    }
}
