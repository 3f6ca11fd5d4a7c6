//! Verbs that select, rename and fill fields.

use super::*;
use crate::random::cases;
use serde_json::Map;

/// A value with that many axes and nulls in every position.
fn holes(rank: usize) -> BoxedStrategy<Value> {
    let there = match rank {
        0 => (-9i64..10).prop_map(Value::from).boxed(),
        rank => prop::collection::vec(holes(rank - 1), 0..4).prop_map(Value::from).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 3 => there].boxed()
}

/// The value with nulls replaced: scalars by `value`, lists by empty lists if `lists` is set.
fn filled(x: &Value, rank: usize, value: Option<i64>, lists: bool) -> Value {
    match x {
        Value::Null if rank == 0 => value.map_or(Value::Null, Value::from),
        Value::Null if lists => json!([]),
        Value::Array(items) => items.iter().map(|item| filled(item, rank - 1, value, lists)).collect(),
        other => other.clone(),
    }
}

const NAMES: [&str; 4] = ["a", "b c", "d", "e.f"];

fn quoted(name: &str) -> String {
    if name.contains([' ', '.']) { format!("`{name}`") } else { name.to_owned() }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn nulls_are_filled_wherever_they_stand((rank, xs) in (0usize..4).prop_flat_map(|rank| (Just(rank), prop::collection::vec(holes(rank), 0..7))), value in prop::option::of(-9i64..10), lists in any::<bool>()) {
        let lists = lists && rank > 0;
        let data: Vec<Value> = xs.iter().map(|x| json!({ "x": x })).collect();
        let dims: Vec<&str> = (0..rank).map(|axis| if axis == 0 { "?" } else { "(?)" }).collect();
        let schema = if rank == 0 { "x: optional int64".to_owned() } else { format!("x: optional int64[{}] with nulls", dims.join(", ")) };
        let pairs = value.map(|n| format!("x={n}")).into_iter().chain(lists.then(|| "x=[]".to_owned())).collect::<Vec<_>>().join(",");
        if pairs.is_empty() {
            return Ok(());
        }
        let out = on_records(&["fill-null", &pairs, "--chunk-rows", "2"], &schema, &data).records();
        prop_assert_eq!(out, map_x(&data, |x| filled(x, rank, value, lists)), "{}", pairs);
    }

    #[test]
    fn fields_are_chosen_and_named(values in prop::collection::vec(prop::collection::vec(-9i64..10, 4), 0..5), chosen in prop::sample::subsequence(NAMES.to_vec(), 1..4), reverse in any::<bool>(), swap in any::<bool>()) {
        let data: Vec<Value> = values.iter().map(|row| Value::Object(NAMES.iter().zip(row).map(|(name, n)| ((*name).to_owned(), json!(n))).collect())).collect();
        let schema = NAMES.map(|name| format!("{}: int64", quoted(name))).join("; ");
        let mut chosen = chosen;
        if reverse { chosen.reverse(); }
        let list = chosen.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
        let of = |record: &Value, names: &[&str]| Value::Object(names.iter().map(|name| ((*name).to_owned(), record[*name].clone())).collect());
        // Compared as text, because the order of fields matters.
        let text = |records: Vec<Value>| records.iter().map(|r| format!("{r}\n")).collect::<String>();
        let selected = on_records(&["select", &list], &schema, &data);
        prop_assert_eq!(selected.text(), text(data.iter().map(|r| of(r, &chosen)).collect()));
        let rest: Vec<&str> = NAMES.into_iter().filter(|name| !chosen.contains(name)).collect();
        let dropped = on_records(&["drop", &list], &schema, &data);
        prop_assert_eq!(dropped.text(), text(data.iter().map(|r| of(r, &rest)).collect()));
        // All names change at once, so two fields can swap names.
        let (pairs, new): (&str, [&str; 4]) = if swap { ("a=d,d=a", ["d", "b c", "a", "e.f"]) } else { ("`b c`=z", ["a", "z", "d", "e.f"]) };
        let renamed = on_records(&["rename", pairs], &schema, &data);
        let want = data.iter().map(|r| Value::Object(NAMES.iter().zip(new).map(|(old, new)| (new.to_owned(), r[*old].clone())).collect::<Map<_, _>>()));
        prop_assert_eq!(renamed.text(), text(want.collect()));
    }
}
