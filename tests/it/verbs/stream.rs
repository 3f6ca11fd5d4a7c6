//! Verbs that combine, split and reorder records.

use super::*;
use crate::random::cases;
use std::collections::HashMap;

/// Rows of packed sequences, in the order in which they are closed.
fn packed(data: &[Value], length: usize, window: usize, strategy: &str, separator: bool, drop: bool) -> Vec<Value> {
    type Row = Vec<(Value, Vec<Value>)>;
    let used = |row: &Row| row.iter().map(|(_, items)| items.len()).sum::<usize>();
    let (mut open, mut closed): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    let mut waiting: Row = Vec::new();
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
            if strategy == "best-fit-decreasing" {
                waiting.push((record["id"].clone(), piece));
                continue;
            }
            let fits = |row: &&Row| used(row) + piece.len() <= length;
            let found = match strategy {
                // The first of several with the same fit.
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
    for together in waiting.chunks_mut(window) {
        together.sort_by_key(|(_, piece)| std::cmp::Reverse(piece.len()));
        for (id, piece) in together {
            let room = |row: &Row| (length - used(row)).checked_sub(piece.len());
            let best = open.iter().filter_map(room).min();
            let number = open.iter().position(|row| best.is_some() && room(row) == best).unwrap_or(open.len());
            if number == open.len() {
                open.push(Vec::new());
            }
            open[number].push((id.clone(), piece.clone()));
            if used(&open[number]) == length {
                closed.push(open.remove(number));
            }
        }
        closed.append(&mut open);
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

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn batches_are_stacked_records(column in fields(0..4), n in 1usize..5, drop in any::<bool>()) {
        let (schema, data) = (column.schema(), &column.records);
        let n_text = n.to_string();
        let mut verbs = vec!["batch", &n_text];
        if drop { verbs.push("--drop-remainder"); }
        let want: Vec<Value> = data.chunks(n).filter(|c| !drop || c.len() == n).map(stacked).collect();
        prop_assert_eq!(on_records(&verbs, &schema, data).records(), want);
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
        prop_assert_eq!(on_records(&["batch", &n_text, "--max-values", &limit, "--chunk-rows", "2"], &schema, data).records(), want);
    }

    #[test]
    fn unbatch_gives_the_items(column in fields(1..5)) {
        let (schema, data) = (column.schema(), &column.records);
        let want: Vec<Value> = data.iter().flat_map(|r| list(&r["x"]).iter().map(|x| json!({ "x": x }))).collect();
        prop_assert_eq!(on_records(&["unbatch"], &schema, data).records(), want);
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
            // The axes after the first are those of the field in the structure, whose first axis has one slice.
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
        prop_assert_eq!(on_records(&verbs, &schema, &data).records(), want);
        let kept: Vec<Value> = data.iter().filter(|r| !list(&r["x"]).is_empty()).cloned().collect();
        let verbs = words("explode x then implode --by key --chunk-rows 2");
        prop_assert_eq!(on_records(&verbs, &schema, &data).records(), kept);
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
        prop_assert_eq!(on_records(&verbs, &schema, data).records(), want);
    }

    #[test]
    fn packed_rows_hold_every_sequence(
        lengths in prop::collection::vec(0usize..8, 0..12), length in 3usize..9, window in 1usize..4, separator in any::<bool>(),
        strategy in prop::sample::select(vec!["first-fit", "best-fit", "best-fit-decreasing", "concat"]), overflow in prop::sample::select(vec!["split", "drop"]),
    ) {
        let data: Vec<Value> = lengths.iter().enumerate().map(|(i, n)| json!({ "id": i, "t": vec![10 * (i + 1); *n] })).collect();
        let (length_text, window_text) = (length.to_string(), window.to_string());
        let mut verbs = words("pack -f t --default t=-1 --chunk-rows 2 --strategy");
        verbs.extend([strategy, "--length", &length_text]);
        if separator { verbs.extend(["--separator", "7"]); }
        if strategy != "concat" { verbs.extend(["--overflow", overflow, "--window", &window_text]); }
        let want = packed(&data, length, window, strategy, separator, overflow == "drop" && strategy != "concat");
        let out = on_records(&verbs, "id: int64; t: int64[?]", &data).records();
        prop_assert_eq!(&out, &want);
        // Concatenated segments equal the sequences, each with its own id.
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
    fn shuffled_and_sampled_records_are_the_same_for_all_chunks(n in 0usize..40, seed in 0u64..5, buffer in 1usize..9) {
        let data: Vec<Value> = (0..n).map(|i| json!({ "i": i, "x": vec![i; i % 3] })).collect();
        let (seed, buffer) = (seed.to_string(), buffer.to_string());
        for verbs in [vec!["shuffle"], vec!["shuffle", "--buffer", &buffer], vec!["sample", &buffer], vec!["sample", "0.5"]] {
            let with = |options: &[&str]| on_records(&[&verbs[..], &["--seed", &seed], options].concat(), "i: int64; x: int64[?]", &data).records();
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
        prop_assert_eq!(on_records(&verbs, schema, &data).records(), want);
        let number = n.to_string();
        let chosen = |verb: &str| on_records(&[verb, &number, "--chunk-rows", "2"], schema, &data).records();
        let most = n.min(data.len());
        prop_assert_eq!(chosen("head"), data[..most].to_vec());
        prop_assert_eq!(chosen("skip"), data[most..].to_vec());
        prop_assert_eq!(chosen("tail"), data[data.len() - most..].to_vec());
        let every: Vec<Value> = data.iter().skip(1).step_by(3).cloned().collect();
        prop_assert_eq!(on_records(&words("shard 1/3 --chunk-rows 2"), schema, &data).records(), every);
    }
}
