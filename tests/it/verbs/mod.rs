//! A slow, simple reference for each verb, over nested JSON values, and laws that relate verbs.

mod fields;
mod shape;
mod statistics;
mod stream;

use crate::tatter::on_records;
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// An arbitrary ragged value with that many axes, with empty rows in every position.
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
    /// `?`: uniform within each record.
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

    /// Only the field `x`.
    fn schema(&self) -> String {
        format!("x: {}", self.ty())
    }

    /// Batches of the records.
    fn batched(&self) -> Column {
        let inner = self.axes.iter().map(|axis| if *axis == Axis::Uniform { Axis::Ragged } else { *axis });
        Column { axes: std::iter::once(Axis::Ragged).chain(inner).collect(), records: Vec::new() }
    }

    /// The size of each axis of a value: the known size, or else that of the longest row.
    fn bounds(&self, value: &Value) -> Vec<usize> {
        let found = bounds(value, self.rank());
        self.axes.iter().zip(found).map(|(axis, found)| if let Axis::Known(n) = axis { *n } else { found }).collect()
    }
}

/// A value with these axes; `sizes` has those of the uniform axes.
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

/// Records with one field `x` of random rank, whose axes are ragged, uniform or of known size.
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

/// Flattens rows of `axis + 1` levels: merges `outer ..= inner`.
fn merged(value: &Value, outer: usize, inner: usize) -> Value {
    if outer > 0 {
        return list(value).iter().map(|item| merged(item, outer - 1, inner - 1)).collect();
    }
    if inner == 0 {
        return value.clone();
    }
    list(value).iter().flat_map(|item| list(&merged(item, 0, inner - 1)).clone()).collect()
}
