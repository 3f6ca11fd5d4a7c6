//! A slow, plain reference of each verb of shape, over nested JSON values, and the laws between verbs.

use crate::tatter::{Outcome, tatter};
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Runs verbs, one argument each, over records under a schema.
fn run(verbs: &[&str], schema: &str, records: &[Value]) -> Outcome {
    let input: Vec<u8> = records.iter().flat_map(|r| format!("{r}\n").into_bytes()).collect();
    let options = ["--from", "jsonl", "--schema", schema];
    tatter(&[verbs, &options].concat(), &input)
}

/// The records that a run which must succeed prints.
fn records(outcome: &Outcome) -> Vec<Value> {
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Any ragged value of that many axes, with empty rows in every place.
fn ragged(rank: usize) -> BoxedStrategy<Value> {
    if rank == 0 {
        return (-9i64..10).prop_map(Value::from).boxed();
    }
    prop::collection::vec(ragged(rank - 1), 0..4).prop_map(Value::from).boxed()
}

/// An axis of a random field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Axis {
    /// `(?)`, or `?` as axis 0.
    Ragged,
    /// `?`: one size in each record.
    Uniform,
    /// `2`
    Known(usize),
}

/// The values of one field in some records, and its axes.
#[derive(Clone, Debug)]
struct Column {
    axes: Vec<Axis>,
    records: Vec<Value>,
}

impl Column {
    fn rank(&self) -> usize {
        self.axes.len()
    }

    /// `int64[?, (?), 2]`
    fn ty(&self) -> String {
        let size = |(number, axis): (usize, &Axis)| match axis {
            Axis::Ragged if number > 0 => "(?)".to_owned(),
            Axis::Known(n) => n.to_string(),
            _ => "?".to_owned(),
        };
        let sizes: Vec<String> = self.axes.iter().enumerate().map(size).collect();
        if sizes.is_empty() { "int64".to_owned() } else { format!("int64[{}]", sizes.join(", ")) }
    }

    /// The field `x` alone.
    fn schema(&self) -> String {
        format!("x: {}", self.ty())
    }

    /// Batches of the records.
    fn batched(&self) -> Column {
        let inner = self.axes.iter().map(|axis| if *axis == Axis::Uniform { Axis::Ragged } else { *axis });
        Column { axes: std::iter::once(Axis::Ragged).chain(inner).collect(), records: Vec::new() }
    }

    /// The size of each axis of a value: the known one, else that of the longest row.
    fn bounds(&self, value: &Value) -> Vec<usize> {
        let found = bounds(value, self.rank());
        self.axes.iter().zip(found).map(|(axis, found)| if let Axis::Known(n) = axis { *n } else { found }).collect()
    }
}

/// A value of these axes; `sizes` are those of the uniform ones.
fn value(axes: &[Axis], sizes: &[usize]) -> BoxedStrategy<Value> {
    let Some((axis, inner)) = axes.split_first() else { return (-9i64..10).prop_map(Value::from).boxed() };
    let items = value(inner, &sizes[1..]);
    let items = match axis {
        Axis::Ragged => prop::collection::vec(items, 0..4),
        Axis::Uniform => prop::collection::vec(items, sizes[0]),
        Axis::Known(n) => prop::collection::vec(items, *n),
    };
    items.prop_map(Value::from).boxed()
}

/// Records of one field `x` of a random rank, whose axes are ragged, uniform or known.
fn fields(ranks: std::ops::Range<usize>) -> impl Strategy<Value = Column> {
    let axis = prop_oneof![3 => Just(Axis::Ragged), 1 => Just(Axis::Uniform), 1 => (0usize..4).prop_map(Axis::Known)];
    let axes = ranks.prop_flat_map(move |rank| prop::collection::vec(axis.clone(), rank));
    axes.prop_flat_map(|axes| {
        let own = axes.clone();
        let sizes = prop::collection::vec(0usize..4, axes.len());
        let record = sizes.prop_flat_map(move |sizes| value(&own, &sizes)).prop_map(|x| json!({ "x": x }));
        (Just(axes), prop::collection::vec(record, 0..7)).prop_map(|(axes, records)| Column { axes, records })
    })
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn map_x(records: &[Value], change: impl Fn(&Value) -> Value) -> Vec<Value> {
    records.iter().map(|r| json!({ "x": change(&r["x"]) })).collect()
}

/// All records of a batch, field by field.
fn stacked(batch: &[Value]) -> Value {
    let names: Vec<String> = batch[0].as_object().unwrap().keys().cloned().collect();
    let column = |name: &String| (name.clone(), batch.iter().map(|r| r[name].clone()).collect());
    Value::Object(names.iter().map(column).collect())
}

/// The longest row along each axis.
fn bounds(value: &Value, rank: usize) -> Vec<usize> {
    let mut sizes = vec![0; rank];
    fn walk(value: &Value, sizes: &mut [usize]) {
        if let Some((size, inner)) = sizes.split_first_mut() {
            *size = (*size).max(list(value).len());
            list(value).iter().for_each(|item| walk(item, inner));
        }
    }
    walk(value, &mut sizes);
    sizes
}

fn zeros(sizes: &[usize], zero: &Value) -> Value {
    match sizes.split_first() {
        None => zero.clone(),
        Some((size, inner)) => vec![zeros(inner, zero); *size].into(),
    }
}

fn padded(value: &Value, sizes: &[usize], zero: &Value, left: bool) -> Value {
    let Some((size, inner)) = sizes.split_first() else { return value.clone() };
    let cut = if left { list(value).len().saturating_sub(*size) } else { 0 };
    let mut items: Vec<Value> = list(value).iter().skip(cut).take(*size).map(|item| padded(item, inner, zero, left)).collect();
    while items.len() < *size {
        let place = if left { 0 } else { items.len() };
        items.insert(place, zeros(inner, zero));
    }
    items.into()
}

/// Rows of `axis + 1` levels flattened: `outer ..= inner` merged.
fn merged(value: &Value, outer: usize, inner: usize) -> Value {
    if outer > 0 {
        return list(value).iter().map(|item| merged(item, outer - 1, inner - 1)).collect();
    }
    if inner == 0 {
        return value.clone();
    }
    list(value).iter().flat_map(|item| list(&merged(item, 0, inner - 1)).clone()).collect()
}

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

/// The lengths of all rows along each axis behind the first, in order.
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

/// Rows of packed sequences, in the order in which they close.
fn packed(data: &[Value], length: usize, window: usize, strategy: &str, separator: bool, drop: bool) -> Vec<Value> {
    type Row = Vec<(Value, Vec<Value>)>;
    let used = |row: &Row| row.iter().map(|(_, items)| items.len()).sum::<usize>();
    let (mut open, mut closed): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    for record in data {
        let mut items = list(&record["t"]).clone();
        if items.is_empty() || (drop && items.len() + usize::from(separator) > length) {
            continue;
        }
        items.extend(separator.then(|| json!(7)));
        while !items.is_empty() {
            let room = if strategy == "concat" { length - open.first().map_or(0, used) } else { length };
            let rest = items.split_off(items.len().min(room));
            let piece = std::mem::replace(&mut items, rest);
            let fits = |row: &&Row| used(row) + piece.len() <= length;
            let found = match strategy {
                // Of several that fit as well, the first.
                "best-fit" => open.iter().filter(fits).map(used).max().and_then(|most| open.iter().position(|row| used(row) == most)),
                _ => open.iter().position(|row| fits(&row)),
            };
            let number = found.unwrap_or_else(|| {
                if open.len() == window {
                    closed.push(open.remove(0));
                }
                open.push(Vec::new());
                open.len() - 1
            });
            open[number].push((record["id"].clone(), piece));
            if used(&open[number]) == length {
                closed.push(open.remove(number));
            }
        }
    }
    let filled = |mut items: Vec<Value>, filling: i64| {
        items.resize(length, json!(filling));
        items
    };
    let row = |row: Row| {
        let ids: Vec<Value> = row.iter().map(|(id, _)| id.clone()).collect();
        let numbers = row.iter().enumerate().flat_map(|(i, (_, items))| vec![json!(i + 1); items.len()]).collect();
        let positions = row.iter().flat_map(|(_, items)| (0..items.len()).map(|i| json!(i))).collect();
        let items = row.into_iter().flat_map(|(_, items)| items).collect();
        json!({ "id": ids, "t": filled(items, -1), "segment_ids": filled(numbers, 0), "positions": filled(positions, 0) })
    };
    closed.into_iter().chain(open).map(row).collect()
}

const ENCODINGS: [&str; 7] = ["row_lengths", "row_splits", "row_starts", "row_limits", "value_rowids", "lod", "lod_offsets"];

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(32);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn batches_are_stacked_records(column in fields(0..4), n in 1usize..5, drop in any::<bool>()) {
        let (schema, data) = (column.schema(), &column.records);
        let n_text = n.to_string();
        let mut verbs = vec!["batch", &n_text];
        if drop { verbs.push("--drop-remainder"); }
        let want: Vec<Value> = data.chunks(n).filter(|c| !drop || c.len() == n).map(stacked).collect();
        prop_assert_eq!(records(&run(&verbs, &schema, data)), want);
    }

    #[test]
    fn batches_by_content_lose_nothing(column in fields(1..4), most in 1usize..12, n in 1usize..5) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let (limit, n_text) = (format!("x={most}"), n.to_string());
        let nvals = |r: &Value| list(&merged(&r["x"], 0, rank - 1)).len();
        let mut batches: Vec<Vec<Value>> = Vec::new();
        for record in data {
            match batches.last_mut() {
                Some(open) if open.len() < n && open.iter().map(nvals).sum::<usize>() + nvals(record) <= most => open.push(record.clone()),
                _ => batches.push(vec![record.clone()]),
            }
        }
        let want: Vec<Value> = batches.iter().map(|b| stacked(b)).collect();
        prop_assert_eq!(records(&run(&["batch", &n_text, "--max-values", &limit, "--chunk-rows", "2"], &schema, data)), want);
    }

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
        let outcome = run(&["to-dense", "--shape", &shape, "--default", "x=77", "--side", side], &schema, data);
        let want = map_x(data, |x| {
            let found = column.bounds(x);
            let sizes: Vec<usize> = (0..rank).map(|axis| match open[axis] {
                0 => found[axis],
                1 => found[axis].min(given[axis]),
                _ => given[axis],
            }).collect();
            padded(x, &sizes, &json!(77), left)
        });
        prop_assert_eq!(records(&outcome), want, "{}", shape);
    }

    #[test]
    fn padded_batches_are_as_wide_as_their_longest(column in fields(0..4), n in 1usize..5) {
        let (schema, batched, data) = (column.schema(), column.batched(), &column.records);
        let want: Vec<Value> = data.chunks(n).map(|batch| {
            let x = stacked(batch)["x"].clone();
            json!({ "x": padded(&x, &batched.bounds(&x), &json!(0), false) })
        }).collect();
        prop_assert_eq!(records(&run(&["padded-batch", &n.to_string()], &schema, data)), want);
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
            // It is dense already.
            verbs = vec!["to-dense", "--lengths"];
        }
        prop_assert_eq!(&records(&run(&verbs, &schema, data)), data);
    }

    #[test]
    fn trailing_padding_is_stripped(column in fields(1..4)) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        fn strip(x: &Value, axis: usize) -> Value {
            if axis > 0 {
                return list(x).iter().map(|row| strip(row, axis - 1)).collect();
            }
            let zero = |item: &Value| { let flat = item.to_string().replace(['[', ']', ','], " "); flat.split_whitespace().all(|n| n == "0") };
            let kept = list(x).iter().rposition(|item| !zero(item)).map_or(0, |last| last + 1);
            list(x)[..kept].iter().cloned().collect()
        }
        let want = map_x(data, |x| strip(x, if rank == 1 { 0 } else { 1 }));
        prop_assert_eq!(records(&run(&words("from-dense --padding 0"), &schema, data)), want);
    }

    #[test]
    fn sparse_tensors_hold_every_value(column in fields(1..5)) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let out = records(&run(&["to-sparse"], &schema, data));
        prop_assert_eq!(&out, &map_x(data, |x| sparse(x, &column.bounds(x))));
        if rank <= 2 {
            prop_assert_eq!(records(&run(&words("to-sparse then from-sparse"), &schema, data)), data.clone());
        }
        let dense = map_x(data, |x| padded(x, &column.bounds(x), &json!(0), false));
        prop_assert_eq!(records(&run(&words("to-sparse then to-dense"), &schema, data)), dense);
    }

    #[test]
    fn merged_axes_are_flattened(column in fields(2..6), a in 0usize..5, b in 0usize..5) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let (outer, inner) = ((a % rank).min(b % rank), (a % rank).max(b % rank));
        // From the end, too.
        let from_end = (inner as i64 - rank as i64).to_string();
        let outcome = run(&["merge-dims", "x", &outer.to_string(), &from_end], &schema, data);
        prop_assert_eq!(records(&outcome), map_x(data, |x| merged(x, outer, inner)));
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
        let back = records(&run(&kept, &schema, &with_rows));
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
        let outcome = run(&verbs, &column.schema(), data);
        match axes[0] {
            Axis::Known(n) if n % size != 0 => prop_assert_eq!(outcome.status, 2, "{}", outcome.stderr),
            _ if !fits => prop_assert_eq!(outcome.status, 1, "{}", outcome.stderr),
            _ => {
                prop_assert_eq!(records(&outcome), map_x(data, cut));
                let back = [&verbs[..], &["then", "merge-dims", "x", "0", "1"]].concat();
                prop_assert_eq!(&records(&run(&back, &column.schema(), data)), data);
            }
        }
    }

    #[test]
    fn explode_gives_the_items_and_implode_takes_them_back(column in fields(1..5), keep in any::<bool>(), structures in any::<bool>()) {
        let keyed = |(key, r): (usize, &Value)| {
            let items = list(&r["x"]).iter().map(|item| if structures { json!({ "a": item }) } else { item.clone() });
            json!({ "key": key, "x": items.collect::<Value>() })
        };
        let data: Vec<Value> = column.records.iter().enumerate().map(keyed).collect();
        let schema = if structures && column.rank() == 1 {
            format!("key: int64; x: {{a: int64}}[{}", column.ty().trim_start_matches("int64["))
        } else if structures {
            // The axes behind the first are those of the field in the structure, whose first has one slice.
            let inner = Column { axes: column.axes[1..].to_vec(), records: Vec::new() };
            let outer = Column { axes: column.axes[..1].to_vec(), records: Vec::new() };
            format!("key: int64; x: {{a: {}}}[{}", inner.ty(), outer.ty().trim_start_matches("int64["))
        } else {
            format!("key: int64; x: {}", column.ty())
        };
        let mut want = Vec::new();
        for r in &data {
            want.extend(list(&r["x"]).iter().map(|item| json!({ "key": r["key"], "x": item })));
            if keep && list(&r["x"]).is_empty() {
                want.push(json!({ "key": r["key"], "x": null }));
            }
        }
        let mut verbs = vec!["explode", "x"];
        if keep { verbs.push("--keep-empty"); }
        prop_assert_eq!(records(&run(&verbs, &schema, &data)), want);
        let kept: Vec<Value> = data.iter().filter(|r| !list(&r["x"]).is_empty()).cloned().collect();
        let verbs = words("explode x then implode --by key --chunk-rows 2");
        prop_assert_eq!(records(&run(&verbs, &schema, &data)), kept);
    }

    #[test]
    fn compose_takes_decompose_back(column in fields(2..6), encoding in prop::sample::select(&ENCODINGS)) {
        let (schema, rank, data) = (column.schema(), column.rank(), &column.records);
        let parts = records(&run(&["decompose", "x", "--encoding", encoding], &schema, data));
        for (record, parts) in data.iter().zip(&parts) {
            prop_assert_eq!(&parts["x/values"], &merged(&record["x"], 0, rank - 1));
            for (level, lengths) in row_lengths(&record["x"], rank).iter().enumerate() {
                prop_assert_eq!(&parts[format!("x/{encoding}_{}", level + 1)], &json!(encoded(lengths, encoding)));
            }
        }
        let verbs = ["decompose", "x", "--encoding", encoding, "then", "compose", "x", "--encoding", encoding];
        prop_assert_eq!(&records(&run(&verbs, &schema, data)), data);
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
        prop_assert_eq!(records(&run(&verbs, schema, &data)), want.clone());
        // Behind a batch the axis of the records is one of the structures', too.
        let batched: Vec<Value> = data.chunks(2).zip(want.chunks(2)).map(|(_, rows)| {
            let join = |name: &str| rows.iter().flat_map(|r| list(&r[name]).clone()).collect::<Vec<_>>();
            json!({ "ids": join("ids"), "x": join("x") })
        }).collect();
        let verbs = words("batch 2 then promote docs.id --as ids then promote docs.x then select ids,x");
        prop_assert_eq!(records(&run(&verbs, schema, &data)), batched);
    }

    #[test]
    fn buckets_lose_nothing(column in fields(1..3), pad in any::<bool>(), drop in any::<bool>()) {
        let (schema, batched, data) = (column.schema(), column.batched(), &column.records);
        let (boundaries, sizes) = ([1usize, 3], [1usize, 2, 2]);
        let mut open: Vec<Vec<Value>> = vec![Vec::new(); 3];
        let mut want = Vec::new();
        for record in data {
            let number = boundaries.iter().filter(|b| **b <= list(&record["x"]).len()).count();
            open[number].push(record.clone());
            if open[number].len() == sizes[number] {
                want.push(stacked(&std::mem::take(&mut open[number])));
            }
        }
        if !drop { want.extend(open.iter().filter(|o| !o.is_empty()).map(|o| stacked(o))); }
        if pad { want = map_x(&want, |x| padded(x, &batched.bounds(x), &json!(0), false)); }
        let mut verbs = words("bucket --by len(x) --boundaries 1,3 --batch-sizes 1,2,2 --chunk-rows 2");
        if pad { verbs.push("--pad"); }
        if drop { verbs.push("--drop-remainder"); }
        prop_assert_eq!(records(&run(&verbs, &schema, data)), want);
    }

    #[test]
    fn packed_rows_hold_every_sequence(
        lengths in prop::collection::vec(0usize..8, 0..12), length in 3usize..9, window in 1usize..4, separator in any::<bool>(),
        strategy in prop::sample::select(vec!["first-fit", "best-fit", "concat"]), overflow in prop::sample::select(vec!["split", "drop"]),
    ) {
        let data: Vec<Value> = lengths.iter().enumerate().map(|(i, n)| json!({ "id": i, "t": vec![10 * (i + 1); *n] })).collect();
        let (length_text, window_text) = (length.to_string(), window.to_string());
        let mut verbs = words("pack -f t --default t=-1 --chunk-rows 2 --strategy");
        verbs.extend([strategy, "--length", &length_text, "--window", &window_text]);
        if separator { verbs.extend(["--separator", "7"]); }
        if strategy != "concat" { verbs.extend(["--overflow", overflow]); }
        let want = packed(&data, length, window, strategy, separator, overflow == "drop" && strategy != "concat");
        let out = records(&run(&verbs, "id: int64; t: int64[?]", &data));
        prop_assert_eq!(&out, &want);
        // Segments put together again are the sequences, each with its own id.
        let mut found: Vec<(Value, Vec<Value>)> = Vec::new();
        for row in &out {
            for (number, id) in list(&row["id"]).iter().enumerate() {
                let own = |(i, _): &(usize, &Value)| row["segment_ids"][*i] == json!(number + 1);
                let items: Vec<Value> = list(&row["t"]).iter().enumerate().filter(own).map(|(_, x)| x.clone()).collect();
                match found.iter_mut().find(|(other, _)| other == id) {
                    Some((_, all)) => all.extend(items),
                    None => found.push((id.clone(), items)),
                }
            }
        }
        for (id, items) in found {
            let mut whole = list(&data[id.as_u64().unwrap() as usize]["t"]).clone();
            whole.extend(separator.then(|| json!(7)));
            prop_assert_eq!(items, whole);
        }
    }

    #[test]
    fn statistics_are_those_of_the_plain_values(column in fields(0..4), nulls in prop::collection::vec(any::<bool>(), 7), batch in 1usize..4) {
        let data: Vec<Value> = column.records.iter().zip(&nulls).map(|(r, null)| if *null { json!({ "x": null }) } else { r.clone() }).collect();
        let schema = format!("x: optional {}", column.ty());
        let n_text = batch.to_string();
        let mut verbs = words("stats --as json --chunk-rows 2 --threads 3");
        let is_padded = column.axes.iter().any(|axis| !matches!(axis, Axis::Known(_)));
        if is_padded { verbs.extend(["--padding", &n_text]); }
        let outcome = run(&verbs, &schema, &data);
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
        values.dedup();
        prop_assert_eq!(x.get("distinct").map_or(0, |n| n.as_u64().unwrap()), values.len() as u64);
        if is_padded {
            // A null takes no place in the longest rows, but is a record of its batch.
            let places: usize = data.chunks(batch).map(|batch| {
                let sizes = batch.iter().filter(|r| !r["x"].is_null()).map(|r| column.bounds(&r["x"]));
                let longest = sizes.reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect());
                longest.map_or(0, |sizes| sizes.iter().product::<usize>() * batch.len())
            }).sum();
            prop_assert_eq!(&report["padding"]["fields"][0]["as_they_come"]["places"], &json!(places));
        }
    }

    #[test]
    fn shuffled_and_sampled_records_are_the_same_for_all_chunks(n in 0usize..40, seed in 0u64..5, buffer in 1usize..9) {
        let data: Vec<Value> = (0..n).map(|i| json!({ "i": i, "x": vec![i; i % 3] })).collect();
        let (seed, buffer) = (seed.to_string(), buffer.to_string());
        for verbs in [vec!["shuffle"], vec!["shuffle", "--buffer", &buffer], vec!["sample", &buffer], vec!["sample", "0.5"]] {
            let with = |options: &[&str]| records(&run(&[&verbs[..], &["--seed", &seed], options].concat(), "i: int64; x: int64[?]", &data));
            let out = with(&["--threads", "1"]);
            prop_assert_eq!(&out, &with(&["--threads", "4", "--chunk-rows", "3"]));
            let mut count: HashMap<String, i32> = HashMap::new();
            out.iter().for_each(|r| *count.entry(r.to_string()).or_default() += 1);
            prop_assert!(data.iter().all(|r| count.get(&r.to_string()).is_none_or(|c| *c == 1)));
            match verbs[..] {
                ["shuffle", ..] => prop_assert_eq!(out.len(), n),
                ["sample", "0.5"] => prop_assert!(out.len() <= n),
                _ => prop_assert_eq!(out.len(), n.min(verbs[1].parse().unwrap())),
            }
            if verbs[0] == "sample" {
                prop_assert!(out.windows(2).all(|w| w[0]["i"].as_u64() < w[1]["i"].as_u64()));
            }
        }
    }

    #[test]
    fn records_are_sorted_and_chosen(keys in prop::collection::vec(prop::option::of(-3i64..4), 0..20), descending in any::<bool>(), n in 0usize..6) {
        let data: Vec<Value> = keys.iter().enumerate().map(|(i, key)| json!({ "key": key, "i": i })).collect();
        let schema = "key: optional int64; i: int64";
        let mut want = data.clone();
        want.sort_by_key(|r| match r["key"].as_i64() {
            Some(key) => (false, if descending { -key } else { key }),
            None => (true, 0),
        });
        let mut verbs = words("sort --by key --chunk-rows 3");
        if descending { verbs.push("--descending"); }
        prop_assert_eq!(records(&run(&verbs, schema, &data)), want);
        let number = n.to_string();
        let chosen = |verb: &str| records(&run(&[verb, &number, "--chunk-rows", "2"], schema, &data));
        let most = n.min(data.len());
        prop_assert_eq!(chosen("head"), data[..most].to_vec());
        prop_assert_eq!(chosen("skip"), data[most..].to_vec());
        prop_assert_eq!(chosen("tail"), data[data.len() - most..].to_vec());
        let every: Vec<Value> = data.iter().skip(1).step_by(3).cloned().collect();
        prop_assert_eq!(records(&run(&words("shard 1/3 --chunk-rows 2"), schema, &data)), every);
    }

    #[test]
    fn unbatch_gives_the_items(column in fields(1..5)) {
        let (schema, data) = (column.schema(), &column.records);
        let want: Vec<Value> = data.iter().flat_map(|r| list(&r["x"]).iter().map(|x| json!({ "x": x }))).collect();
        prop_assert_eq!(records(&run(&["unbatch"], &schema, data)), want);
    }
}
