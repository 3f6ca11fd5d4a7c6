//! The report for programs.

use super::chart::Bar;
use super::padding::{PaddingCosts, commands};
use super::sizes::Sizes;
use super::summary::{Axis, AxisName, Summary};
use super::table::{QUANTILES, size_bars, value_histogram};
use super::values::{Range, ValueSummary};
use serde_json::{Map, Value, json};

/// The whole report.
pub fn text(records: u64, fields: &[&Summary], padding: Option<(usize, &[PaddingCosts])>) -> String {
    let mut whole = Map::new();
    whole.insert("records".to_owned(), json!(records));
    whole.insert("fields".to_owned(), fields.iter().map(|s| field(s)).collect());
    if let Some((batch, reports)) = padding {
        let fields: Vec<Value> = reports.iter().map(|r| cost(r, batch)).collect();
        whole.insert("padding".to_owned(), json!({ "batch": batch, "fields": fields }));
    }
    // A value of strings and numbers can always be written.
    format!("{:#}\n", Value::Object(whole))
}

fn field(summary: &Summary) -> Value {
    let values = &summary.values;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("field", json!(summary.path.to_string()));
    put("type", json!(summary.ty.to_string()));
    put("count", json!(values.count));
    put("null", json!(values.nulls));
    if let Some((least, greatest)) = range(values) {
        put("min", least);
        put("max", greatest);
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
    if let Some(histogram) = value_histogram(summary) {
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

/// A number in JSON: integers without a point, NaN and infinities as strings.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 9e15 { json!(x as i64) } else { float(x) }
}

fn float(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string().replace("inf", "Infinity")) }
}

fn range(values: &ValueSummary) -> Option<(Value, Value)> {
    let integer = |n: i128| i64::try_from(n).map_or_else(|_| json!(u64::try_from(n).unwrap_or(u64::MAX)), |n| json!(n));
    let text = |bytes: &[u8]| json!(String::from_utf8_lossy(bytes));
    Some(match values.range.as_ref()? {
        Range::Bool(a, b) => (json!(a), json!(b)),
        Range::Int(a, b) => (integer(*a), integer(*b)),
        Range::Float(a, b) => (float(*a), float(*b)),
        Range::Bytes(a, b) => (text(a), text(b)),
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
        let way = json!({ "values": count(cost.values), "places": count(cost.elements), "filling": cost.waste(), "command": command });
        object.insert(name.to_owned(), way);
    }
    Value::Object(object)
}
