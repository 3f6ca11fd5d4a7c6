//! The report as JSON, for programs.

use super::chart::Bar;
use super::drift::{Comparison, DriftRow};
use super::padding::{PaddingCosts, commands};
use super::report::{Group, Shown};
use super::sizes::Sizes;
use super::summary::{Axis, AxisName, Summary};
use super::table::{QUANTILES, Spread, frequent, mean_and_std, size_bars, time_of, value_histogram};
use super::top::Label;
use super::values::{Range, SHOWN, ValueSummary};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Number of most frequent values per field.
const FREQUENT: usize = 10;

/// The whole report.
pub fn text(shown: &Shown) -> String {
    let mut whole = Map::new();
    whole.insert("records".to_owned(), json!(shown.records));
    let fields = |group: &Group| -> Value { group.fields.iter().map(|s| field(s)).collect() };
    match (&shown.by, shown.groups.first()) {
        (Some(_), _) => {
            let one =
                |group: &Group| json!({ "by": group.key.as_ref().map(|(_, key)| key), "records": group.records, "fields": fields(group) });
            whole.insert("groups".to_owned(), shown.groups.iter().map(one).collect());
        }
        (None, group) => {
            whole.insert("fields".to_owned(), group.map_or_else(|| json!([]), fields));
        }
    }
    if let Some((batch, reports)) = shown.padding {
        let fields: Vec<Value> = reports.iter().map(|r| cost(r, batch)).collect();
        whole.insert("padding".to_owned(), json!({ "batch": batch, "fields": fields }));
    }
    if let Some(drift) = shown.drift {
        let rows: Vec<Value> = drift.rows.iter().map(comparison).collect();
        let most = drift.rows.iter().map(DriftRow::distance).fold(0.0, f64::max);
        let mut object = json!({ "input": drift.name, "records": drift.records, "drift": most, "fields": rows });
        if let (Some(max), Value::Object(object)) = (drift.max, &mut object) {
            object.insert("max_drift".to_owned(), json!(max));
            object.insert("above".to_owned(), json!(drift.above().count()));
        }
        whole.insert("against".to_owned(), object);
    }
    // A value of strings and numbers always serializes.
    format!("{:#}\n", Value::Object(whole))
}

fn comparison(row: &DriftRow) -> Value {
    let mut object = json!({ "field": row.field, "of": row.of });
    let Value::Object(map) = &mut object else { return object };
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    match &row.found {
        Comparison::New => put("is", json!("new")),
        Comparison::Vanished => put("is", json!("vanished")),
        Comparison::Retyped(old, new) => put("types", json!([old, new])),
        Comparison::Distance { js, linf, means, new, vanished } => {
            put("js", json!(js));
            put("linf", json!(linf));
            if let Some((old, new)) = means {
                put("means", json!([float(*old), float(*new)]));
            }
            for (what, (named, n)) in [("new", new), ("vanished", vanished)] {
                if *n > 0 {
                    put(what, json!({ "count": n, "first": named }));
                }
            }
            None
        }
    };
    object
}

fn frequent_values(summary: &Summary) -> Vec<Value> {
    let value = |label: &Label| match label {
        Label::Int(n) if summary.values.are_times() => json!(time_of(summary, i128::from(*n))),
        Label::Int(n) => json!(n),
        Label::Unsigned(n) => json!(n),
        Label::Text(bytes, _) => text_of(bytes),
    };
    let one = |(label, count): (Label, u64)| {
        let mut object = json!({ "value": value(&label), "count": count });
        if let (Label::Text(_, true), Value::Object(map)) = (&label, &mut object) {
            map.insert("is_cut".to_owned(), json!(true));
        }
        object
    };
    frequent(summary, FREQUENT).into_iter().map(one).collect()
}

fn integer(n: i128) -> Value {
    i64::try_from(n).map_or_else(|_| json!(u64::try_from(n).unwrap_or(u64::MAX)), |n| json!(n))
}

/// Text, or bytes that are not valid UTF-8 as in JSON Lines.
fn text_of(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        // A multibyte character may be cut off.
        Err(cut) if cut.valid_up_to() > 0 && cut.error_len().is_none() => json!(String::from_utf8_lossy(&bytes[..cut.valid_up_to()])),
        Err(_) => json!({ "b64": STANDARD.encode(bytes) }),
    }
}

fn field(summary: &Summary) -> Value {
    let values = &summary.values;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("field", json!(summary.path.to_string()));
    put("type", json!(summary.ty.to_string()));
    put("count", json!(values.count));
    put("null", json!(values.nulls));
    if let Some((least, greatest)) = range(summary) {
        put("min", least);
        put("max", greatest);
    }
    if let Some(Range::Bytes(least, greatest)) = &values.range {
        for (key, _) in [("min_is_cut", least), ("max_is_cut", greatest)].into_iter().filter(|(_, text)| text.len() > SHOWN) {
            put(key, json!(true));
        }
    }
    let spread = Spread::of(values);
    if let Some((mean, std)) = mean_and_std(values) {
        put("sum", sum(values));
        put("mean", float(mean));
        put("std", float(std));
        put("zero", json!(values.bins.zeros()));
        if let Some(spread) = &spread {
            put("quantiles", QUANTILES.iter().map(|share| (share.to_string(), number(spread.quantile(*share)))).collect());
        }
    }
    if values.nan > 0 {
        put("nan", json!(values.nan));
    }
    if values.infinite > 0 {
        put("infinite", json!(values.infinite));
    }
    if matches!(values.range, Some(Range::Bool(..))) {
        put("true", json!(values.trues));
    }
    if let Some((distinct, is_exact)) = values.distinct() {
        put("distinct", json!(distinct));
        put("distinct_is_exact", json!(is_exact));
    }
    let top = frequent_values(summary);
    if !top.is_empty() {
        put("top", Value::Array(top));
        if !values.top.is_exact() {
            put("top_error", json!(values.top.error()));
        }
    }
    if let Some(histogram) = spread.and_then(|spread| value_histogram(summary, spread)) {
        put("histogram", bars(&histogram.bars));
    }
    put("axes", summary.axes.iter().map(axis).collect());
    if let Some(bytes) = &values.bytes {
        let mut object = Map::new();
        sizes(bytes, &mut object);
        put("bytes", Value::Object(object));
    }
    Value::Object(object)
}

/// The sum of the finite numbers: exact for integers as far as JSON holds it, otherwise the nearest float.
fn sum(values: &ValueSummary) -> Value {
    if let (Some(Range::Int(..)), Some(sum)) = (&values.range, values.moments.sum_of_integers()) {
        return match (i64::try_from(sum), u64::try_from(sum)) {
            (Ok(n), _) => json!(n),
            (_, Ok(n)) => json!(n),
            _ => float(sum as f64),
        };
    }
    values.moments.sum_of_floats().map_or(Value::Null, float)
}

fn axis(axis: &Axis) -> Value {
    let mut object = Map::new();
    let name = match axis.name {
        AxisName::Number(number) => json!(number),
        AxisName::Entries => json!("entries"),
    };
    object.insert("axis".to_owned(), name);
    object.insert("null".to_owned(), json!(axis.nulls));
    sizes(&axis.sizes, &mut object);
    Value::Object(object)
}

fn sizes(sizes: &Sizes, object: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("rows", json!(sizes.rows));
    put("empty", json!(sizes.empty()));
    let (Some((least, greatest)), Some(histogram)) = (sizes.range(), size_bars(sizes)) else { return };
    put("min", json!(least));
    put("mean", json!(sizes.mean()));
    put("quantiles", QUANTILES.iter().map(|share| (share.to_string(), json!(sizes.quantile(*share)))).collect());
    put("max", json!(greatest));
    put("total", json!(u64::try_from(sizes.total()).unwrap_or(u64::MAX)));
    put("histogram", bars(&histogram));
}

fn bars(bars: &[Bar]) -> Value {
    bars.iter().map(|b| json!({ "from": number(b.from), "to": b.to.map_or(Value::Null, number), "count": b.count })).collect()
}

/// A number in JSON: integers without a decimal point, NaN and infinities as strings.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 9e15 { json!(x as i64) } else { float(x) }
}

fn float(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string().replace("inf", "Infinity")) }
}

fn range(summary: &Summary) -> Option<(Value, Value)> {
    Some(match summary.values.range.as_ref()? {
        Range::Bool(a, b) => (json!(a), json!(b)),
        Range::Int(a, b) => (integer(*a), integer(*b)),
        Range::Time(a, b) => (json!(time_of(summary, *a)), json!(time_of(summary, *b))),
        Range::Float(a, b) => (float(*a), float(*b)),
        Range::Bytes(a, b) => (text_of(&a[..a.len().min(SHOWN)]), text_of(&b[..b.len().min(SHOWN)])),
    })
}

fn cost(report: &PaddingCosts, batch: usize) -> Value {
    let [as_they_come, in_buckets, packed] = commands(report, batch);
    let mut object = Map::new();
    object.insert("field".to_owned(), json!(report.name));
    let packing = report.packed.map(|(_, cost)| ("packed", cost, packed));
    let ways = [("as_they_come", report.as_they_come, as_they_come), ("in_buckets", report.in_buckets, in_buckets)];
    for (name, cost, command) in ways.into_iter().chain(packing) {
        let count = |n: u128| json!(u64::try_from(n).unwrap_or(u64::MAX));
        let way = json!({ "values": count(cost.values), "elements": count(cost.elements), "padding": cost.waste(), "command": command });
        object.insert(name.to_owned(), way);
    }
    Value::Object(object)
}
