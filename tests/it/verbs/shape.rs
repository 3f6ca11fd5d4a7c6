//! Verbs that change axes: padding, sparse tensors, partitions.

use super::*;
use crate::random::cases;

fn sparse(value: &Value, sizes: &[usize]) -> Value {
    let rank = sizes.len();
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    fn walk(value: &Value, rank: usize, index: &mut Vec<usize>, indices: &mut Vec<Value>, values: &mut Vec<Value>) {
        if index.len() == rank {
            indices.push(json!(index));
            values.push(value.clone());
            return;
        }
        for (i, item) in list(value).iter().enumerate() {
            index.push(i);
            walk(item, rank, index, indices, values);
            index.pop();
        }
    }
    walk(value, rank, &mut Vec::new(), &mut indices, &mut values);
    json!({ "indices": indices, "values": values, "dense_shape": sizes })
}

/// The lengths of all rows along each axis after the first, in order.
fn row_lengths(value: &Value, rank: usize) -> Vec<Vec<usize>> {
    let mut rows: Vec<&Value> = list(value).iter().collect();
    let mut levels = Vec::new();
    for _ in 1..rank {
        levels.push(rows.iter().map(|row| list(row).len()).collect());
        rows = rows.iter().flat_map(|row| list(row)).collect();
    }
    levels
}

fn encoded(lengths: &[usize], encoding: &str) -> Vec<usize> {
    let mut splits = vec![0];
    lengths.iter().for_each(|n| splits.push(splits[splits.len() - 1] + n));
    match encoding {
        "row_lengths" | "lod" => lengths.to_vec(),
        "row_splits" | "lod_offsets" => splits,
        "row_starts" => splits[..lengths.len()].to_vec(),
        "row_limits" => splits[1..].to_vec(),
        _ => lengths.iter().enumerate().flat_map(|(row, n)| vec![row; *n]).collect(),
    }
}

const ENCODINGS: [&str; 7] = ["row_lengths", "row_splits", "row_starts", "row_limits", "value_rowids", "lod", "lod_offsets"];

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn padding_fills_and_cuts(column in fields(1..5), left in any::<bool>(), given in prop::collection::vec(0usize..4, 5), open in prop::collection::vec(0..3u8, 5)) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let sizes: Vec<String> = (0..rank).map(|axis| match open[axis] {
            0 => "?".to_owned(),
            1 => format!("<={}", given[axis]),
            _ => given[axis].to_string(),
        }).collect();
        let shape = format!("x=[{}]", sizes.join(", "));
        let side = if left { "left" } else { "right" };
        let outcome = on_records(&["to-dense", "--shape", &shape, "--default", "x=77", "--side", side], &schema, data);
        let want = map_x(data, |x| {
            let found = column.bounds(x);
            let sizes: Vec<usize> = (0..rank).map(|axis| match open[axis] {
                0 => found[axis],
                1 => found[axis].min(given[axis]),
                _ => given[axis],
            }).collect();
            padded(x, &sizes, &json!(77), left)
        });
        prop_assert_eq!(outcome.records(), want, "{}", shape);
    }

    #[test]
    fn padded_batches_are_as_wide_as_their_longest(column in fields(0..4), n in 1usize..5) {
        let (schema, batched, data) = (column.schema(), column.batched(), &column.records);
        let want: Vec<Value> = data.chunks(n).map(|batch| {
            let x = stacked(batch)["x"].clone();
            json!({ "x": padded(&x, &batched.bounds(&x), &json!(0), false) })
        }).collect();
        prop_assert_eq!(on_records(&["padded-batch", &n.to_string()], &schema, data).records(), want);
    }

    #[test]
    fn lengths_take_padding_back(column in fields(1..6), left in any::<bool>()) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let side = if left { "left" } else { "right" };
        let axes: Vec<usize> = (1..rank).filter(|axis| column.axes[*axis] == Axis::Ragged).collect();
        let lengths = match axes[..] {
            [_] => "x/lengths".to_owned(),
            _ => axes.iter().map(|axis| format!("x/lengths_{axis}")).collect::<Vec<_>>().join(","),
        };
        let mut verbs = vec!["to-dense", "--lengths", "--mask", "--side", side, "then", "from-dense", "-f", "x", "--lengths", &lengths, "--side", side, "then", "select", "x"];
        if axes.is_empty() {
            // Already dense.
            verbs = vec!["to-dense", "--lengths"];
        }
        prop_assert_eq!(&on_records(&verbs, &schema, data).records(), data);
    }

    #[test]
    fn lengths_and_mask_say_what_was_there(column in fields(1..5), left in any::<bool>(), multiple in prop::option::of(2usize..4)) {
        let (rank, data) = (column.rank(), &column.records);
        let (n_text, side) = (multiple.unwrap_or(1).to_string(), if left { "left" } else { "right" });
        let mut verbs = words("to-dense -f x --lengths --mask --default x=77 --side");
        verbs.push(side);
        if multiple.is_some() { verbs.extend(["--multiple-of", &n_text]); }
        // If all axes have known sizes, nothing changes. With other axes below it, axis 0 counts rows, which are not
        // rounded.
        let is_known = |axis: usize| matches!(column.axes[axis], Axis::Known(_));
        let depth = (0..rank).rev().find(|axis| !is_known(*axis)).map_or(0, |axis| axis + 1);
        let is_rounded = |axis: usize| multiple.is_some() && !is_known(axis) && (axis > 0 || depth == 1);
        let is_told = |axis: &usize| (column.axes[*axis] == Axis::Ragged && *axis > 0) || is_rounded(*axis);
        let told: Vec<usize> = (0..rank).filter(is_told).collect();
        fn kept(x: &Value, depth: usize, leaf: &impl Fn(&Value) -> Value) -> Value {
            if depth == 0 { leaf(x) } else { list(x).iter().map(|item| kept(item, depth - 1, leaf)).collect() }
        }
        let want: Vec<Value> = data.iter().map(|r| {
            let mut sizes = column.bounds(&r["x"]);
            for (_, size) in sizes.iter_mut().enumerate().filter(|(axis, _)| is_rounded(*axis)) {
                *size = size.next_multiple_of(multiple.unwrap_or(1));
            }
            let mut record = serde_json::Map::new();
            record.insert("x".to_owned(), padded(&r["x"], &sizes, &json!(77), left));
            for axis in &told {
                let name = if told.len() == 1 { "x/lengths".to_owned() } else { format!("x/lengths_{axis}") };
                let lengths = kept(&r["x"], *axis, &|row| json!(list(row).len()));
                record.insert(name, padded(&lengths, &sizes[..*axis], &json!(0), left));
            }
            if depth > 0 {
                let mask = kept(&r["x"], depth, &|_| json!(true));
                record.insert("x/mask".to_owned(), padded(&mask, &sizes[..depth], &json!(false), left));
            }
            Value::Object(record)
        }).collect();
        prop_assert_eq!(on_records(&verbs, &column.schema(), data).records(), want, "{:?}", verbs);
    }

    #[test]
    fn padding_at_either_end_is_stripped(column in fields(1..5), left in any::<bool>(), axis in 0usize..4) {
        let (rank, data) = (column.rank(), &column.records);
        let axis = if rank == 1 { 0 } else { axis % rank };
        fn strip(x: &Value, axis: usize, left: bool) -> Value {
            if axis > 0 {
                return list(x).iter().map(|row| strip(row, axis - 1, left)).collect();
            }
            let zero = |item: &Value| { let flat = item.to_string().replace(['[', ']', ','], " "); flat.split_whitespace().all(|n| n == "0") };
            let items = list(x);
            match left {
                true => items.iter().skip_while(|item| zero(item)).cloned().collect(),
                false => items[..items.iter().rposition(|item| !zero(item)).map_or(0, |last| last + 1)].iter().cloned().collect(),
            }
        }
        let axis_text = if rank == 1 { "1".to_owned() } else { axis.to_string() };
        let side = if left { "left" } else { "right" };
        let verbs = ["from-dense", "-f", "x", "--padding", "0", "--ragged-rank", &axis_text, "--side", side];
        prop_assert_eq!(on_records(&verbs, &column.schema(), data).records(), map_x(data, |x| strip(x, axis, left)));
    }

    #[test]
    fn structures_are_regrouped_as_values_are(column in fields(2..5)) {
        fn structures(x: &Value) -> Value {
            match x {
                Value::Array(items) => items.iter().map(structures).collect(),
                leaf => json!({ "a": leaf, "b": [leaf] }),
            }
        }
        let rank = column.rank();
        let schema = column.schema().replace("int64", "{a: int64, b: int64[?]}");
        let data = map_x(&column.records, structures);
        let inner = (rank - 1).to_string();
        prop_assert_eq!(on_records(&["merge-dims", "x", "0", &inner], &schema, &data).records(), map_x(&data, |x| merged(x, 0, rank - 1)));
        let with_rows: Vec<Value> = data.iter().map(|r| json!({ "x": r["x"], "g": row_lengths(&r["x"], rank)[0] })).collect();
        let schema = format!("{schema}; g: int64[?]");
        let verbs = words("merge-dims x 0 1 then partition x --row-lengths g");
        prop_assert_eq!(&on_records(&verbs, &schema, &with_rows).records(), &data);
    }

    #[test]
    fn sparse_tensors_hold_every_value(column in fields(1..5)) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let out = on_records(&["to-sparse"], &schema, data).records();
        prop_assert_eq!(&out, &map_x(data, |x| sparse(x, &column.bounds(x))));
        if rank <= 2 {
            prop_assert_eq!(on_records(&words("to-sparse then from-sparse"), &schema, data).records(), data.clone());
        }
        let dense = map_x(data, |x| padded(x, &column.bounds(x), &json!(0), false));
        prop_assert_eq!(on_records(&words("to-sparse then to-dense"), &schema, data).records(), dense);
    }

    #[test]
    fn merged_axes_are_flattened(column in fields(2..6), a in 0usize..5, b in 0usize..5) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let (outer, inner) = ((a % rank).min(b % rank), (a % rank).max(b % rank));
        // Also counted from the last axis.
        let from_end = (inner as i64 - rank as i64).to_string();
        let outcome = on_records(&["merge-dims", "x", &outer.to_string(), &from_end], &schema, data);
        prop_assert_eq!(outcome.records(), map_x(data, |x| merged(x, outer, inner)));
    }

    #[test]
    fn a_partition_takes_merging_back(column in fields(2..5), keep in any::<bool>(), encoding in prop::sample::select(&ENCODINGS[..5])) {
        let (rank, data) = (column.rank(), &column.records);
        let with_rows: Vec<Value> = data.iter().map(|r| {
            let lengths = row_lengths(&r["x"], rank)[0].clone();
            json!({ "x": r["x"], "g": encoded(&lengths, encoding), "n": lengths.len() })
        }).collect();
        let schema = format!("x: {}; g: int64[?]; n: int64", column.ty());
        let option = format!("--{}", encoding.replace('_', "-"));
        let mut verbs = vec!["merge-dims", "x", "0", "1", "then", "partition", "x", &option, "g"];
        if encoding == "value_rowids" { verbs.extend(["--nrows", "n"]); }
        if keep { verbs.push("--keep"); }
        let kept = verbs.clone();
        let back = on_records(&kept, &schema, &with_rows).records();
        let xs: Vec<Value> = map_x(&back, Clone::clone);
        prop_assert_eq!(&xs, data);
        prop_assert!(back.iter().all(|r| r.get("g").is_some() == keep));
    }

    #[test]
    fn rows_of_one_length_are_cut_and_merged(column in fields(1..4), size in 1usize..4) {
        let (axes, data) = (&column.axes, &column.records);
        let cut = |x: &Value| list(x).chunks(size).map(<[Value]>::to_vec).collect::<Value>();
        let fits = data.iter().all(|r| list(&r["x"]).len().is_multiple_of(size));
        let verbs = ["partition", "x", "--uniform", &size.to_string()].map(str::to_owned);
        let verbs: Vec<&str> = verbs.iter().map(String::as_str).collect();
        let outcome = on_records(&verbs, &column.schema(), data);
        match axes[0] {
            Axis::Known(n) if n % size != 0 => prop_assert_eq!(outcome.status, 2, "{}", outcome.stderr),
            _ if !fits => prop_assert_eq!(outcome.status, 1, "{}", outcome.stderr),
            _ => {
                prop_assert_eq!(outcome.records(), map_x(data, cut));
                let back = [&verbs[..], &["then", "merge-dims", "x", "0", "1"]].concat();
                prop_assert_eq!(&on_records(&back, &column.schema(), data).records(), data);
            }
        }
    }

    #[test]
    fn compose_takes_decompose_back(column in fields(2..6), encoding in prop::sample::select(&ENCODINGS)) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let parts = on_records(&["decompose", "x", "--encoding", encoding], &schema, data).records();
        for (record, parts) in data.iter().zip(&parts) {
            prop_assert_eq!(&parts["x/values"], &merged(&record["x"], 0, rank - 1));
            for (level, lengths) in row_lengths(&record["x"], rank).iter().enumerate() {
                prop_assert_eq!(&parts[format!("x/{encoding}_{}", level + 1)], &json!(encoded(lengths, encoding)));
            }
        }
        let verbs = ["decompose", "x", "--encoding", encoding, "then", "compose", "x", "--encoding", encoding];
        prop_assert_eq!(&on_records(&verbs, &schema, data).records(), data);
    }

    #[test]
    fn promoted_fields_keep_their_values(docs in prop::collection::vec(prop::collection::vec((ragged(0), ragged(2)), 0..4), 0..5)) {
        let data: Vec<Value> = docs.iter().map(|docs| {
            let docs: Vec<Value> = docs.iter().map(|(id, x)| json!({ "id": id, "x": x })).collect();
            json!({ "docs": docs })
        }).collect();
        let schema = "docs: {id: int64, x: int64[?, (?)]}[?]";
        let want: Vec<Value> = docs.iter().map(|docs| {
            let ids: Vec<&Value> = docs.iter().map(|(id, _)| id).collect();
            let x: Vec<Value> = docs.iter().flat_map(|(_, x)| list(x).clone()).collect();
            json!({ "ids": ids, "x": x })
        }).collect();
        let verbs = words("promote docs.id --as ids then promote docs.x then select ids,x");
        prop_assert_eq!(on_records(&verbs, schema, &data).records(), want.clone());
        // After a batch, the record axis is also an axis of the structures.
        let batched: Vec<Value> = data.chunks(2).zip(want.chunks(2)).map(|(_, rows)| {
            let join = |name: &str| rows.iter().flat_map(|r| list(&r[name]).clone()).collect::<Vec<_>>();
            json!({ "ids": join("ids"), "x": join("x") })
        }).collect();
        let verbs = words("batch 2 then promote docs.id --as ids then promote docs.x then select ids,x");
        prop_assert_eq!(on_records(&verbs, schema, &data).records(), batched);
    }
}
