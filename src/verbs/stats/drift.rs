//! Measures how far two datasets differ, field by field: `stats A --against B`.
//!
//! Both distributions are put into the same classes. Numbers and sizes have up to 20 classes with about equal numbers
//! of values, in the common bins of both datasets. Strings, bools, and integers with few distinct values have one class
//! per value. Nulls, NaN and infinities have separate classes. Two distances between the class shares p and q are
//! reported: the Jensen-Shannon divergence in bits, `H((p + q) / 2) - (H(p) + H(q)) / 2`, and the L-infinity distance,
//! the largest `|p - q|`. Both are between 0 and 1.

use super::summary::Summary;
use super::table::{self, axes, label_text};
use super::values::{Range, ValueSummary};
use crate::schema::DType;
use std::collections::BTreeSet;

/// Maximum number of classes for numbers.
const CLASSES: f64 = 20.0;
/// Integers with at most this many distinct values are compared value by value.
const FEW: usize = 100;
/// Strings that are not all held are compared by the most frequent values of both.
const FREQUENT: usize = 1000;
/// Fields with more distinct strings than this, most of which occur once, are not compared by value.
const MANY: u64 = 100;
/// Maximum number of new and vanished values that are listed.
const NAMED: usize = 5;

/// The summaries of a dataset that another is compared with.
pub struct Baseline {
    /// The name of the file.
    pub name: String,
    /// Number of records.
    pub records: u64,
    /// All fields.
    pub fields: Vec<Summary>,
}

/// The comparison of two datasets.
pub struct Drift {
    /// The name of the other dataset.
    pub name: String,
    /// Its number of records.
    pub records: u64,
    /// A row for each field, and for each of its axes.
    pub rows: Vec<DriftRow>,
    /// The maximum distance allowed.
    pub max: Option<f64>,
}

/// One row of the comparison.
pub struct DriftRow {
    /// The field.
    pub field: String,
    /// `values`, `nulls`, `axis 0`, `bytes` or `field`.
    pub of: String,
    /// The result.
    pub found: Comparison,
}

/// The result of one comparison.
pub enum Comparison {
    /// Two distributions.
    Distance {
        /// The Jensen-Shannon divergence.
        js: f64,
        /// The L-infinity distance.
        linf: f64,
        /// The means in the other dataset and in this one.
        means: Option<(f64, f64)>,
        /// Values that occur only in this dataset: the most frequent ones, and their number.
        new: (Vec<String>, usize),
        /// Values that occur only in the other dataset.
        vanished: (Vec<String>, usize),
    },
    /// The field is not in the other dataset.
    New,
    /// The field is only in the other dataset.
    Vanished,
    /// The types in the other dataset and in this one, which cannot be compared.
    Retyped(String, String),
}

impl DriftRow {
    /// The larger distance; 1 for a field that is new, has vanished or has another type.
    pub fn distance(&self) -> f64 {
        match self.found {
            Comparison::Distance { js, linf, .. } => js.max(linf),
            _ => 1.0,
        }
    }
}

impl Drift {
    /// Compares the fields `now` with those of `before`.
    pub fn new(before: &Baseline, now: &[&Summary], max: Option<f64>) -> Drift {
        let mut old = Vec::new();
        before.fields.iter().for_each(|field| field.wanted(&mut old));
        let mut rows = Vec::new();
        for field in now {
            match old.iter().find(|other| other.path == field.path) {
                Some(other) => compare(other, field, &mut rows),
                None => rows.push(whole(field, Comparison::New)),
            }
        }
        let vanished = old.iter().filter(|field| !now.iter().any(|other| other.path == field.path));
        rows.extend(vanished.map(|field| whole(field, Comparison::Vanished)));
        Drift { name: before.name.clone(), records: before.records, rows, max }
    }

    /// The rows whose distance exceeds the maximum.
    pub fn above(&self) -> impl Iterator<Item = &DriftRow> {
        let max = self.max.unwrap_or(f64::INFINITY);
        self.rows.iter().filter(move |row| row.distance() > max)
    }
}

fn whole(field: &Summary, found: Comparison) -> DriftRow {
    DriftRow { field: field.path.to_string(), of: "field".to_owned(), found }
}

/// The counts of the same classes in both datasets.
type Classes = Vec<(u64, u64)>;

fn compare(old: &Summary, new: &Summary, rows: &mut Vec<DriftRow>) {
    let is_text = |field: &Summary| matches!(field.values.range, Some(Range::Bytes(..)));
    let has_none = |field: &Summary| field.values.range.is_none();
    let is_comparable = old.axes.len() == new.axes.len()
        && old.ty.fields().is_some() == new.ty.fields().is_some()
        && (is_text(old) == is_text(new) || has_none(old) || has_none(new));
    if !is_comparable {
        rows.push(whole(new, Comparison::Retyped(old.type_text(), new.type_text())));
        return;
    }
    // Numbers are compared whatever their dtype, but integers that became floats may have lost digits.
    let is_of = |field: &Summary, kind: fn(&DType) -> bool| field.ty.dtype().is_some_and(kind);
    let kinds = [DType::is_integer as fn(&DType) -> bool, DType::is_float, |dtype| *dtype == DType::Bool];
    if !has_none(old) && !has_none(new) && kinds.iter().any(|kind| is_of(old, *kind) != is_of(new, *kind)) {
        rows.push(whole(new, Comparison::Retyped(old.type_text(), new.type_text())));
    }
    rows.extend(values(old, new));
    for (of, a, b) in axes(old).iter().flat_map(|a| axes(new).into_iter().filter(|b| b.of == a.of).map(move |b| (b.of.clone(), a, b))) {
        let mut classes = grouped(a.sizes.common(b.sizes));
        classes.push((a.nulls, b.nulls));
        let means = (a.sizes.rows > 0 && b.sizes.rows > 0).then(|| (a.sizes.mean(), b.sizes.mean()));
        let of = if of.starts_with(|c: char| c.is_ascii_digit()) { format!("axis {of}") } else { of };
        rows.push(distance(new, of, &classes, means, Default::default()));
    }
}

/// The values of a field; `None` if they are not compared.
fn values(old: &Summary, new: &Summary) -> Option<DriftRow> {
    let (a, b) = (&old.values, &new.values);
    let special = [(a.nulls, b.nulls), (a.nan, b.nan), (a.infinite, b.infinite)];
    let is_bool = |values: &ValueSummary| matches!(values.range, Some(Range::Bool(..)));
    let is_text = |values: &ValueSummary| matches!(values.range, Some(Range::Bytes(..)));
    if is_bool(a) || is_bool(b) {
        let mut classes = a.bins.common(&b.bins);
        classes.extend(special);
        return Some(distance(new, "values".to_owned(), &classes, None, Default::default()));
    }
    let has_bins = |values: &ValueSummary| values.moments.mean_and_std().is_some();
    let is_categorical = |values: &ValueSummary| is_text(values) || (values.top.is_exact() && values.top.len() <= FEW);
    let is_float = |values: &ValueSummary| matches!(values.range, Some(Range::Float(..)));
    let is_sketched = |values: &ValueSummary| (values.top.len() > 0 && !is_float(values)) || values.count == 0;
    if is_categorical(a) && is_categorical(b) && is_sketched(a) && is_sketched(b) && (a.count > 0 || b.count > 0) {
        let is_unique =
            |values: &ValueSummary| values.distinct().is_some_and(|(distinct, _)| distinct > MANY && distinct > values.count / 2);
        if is_unique(a) && is_unique(b) {
            return None;
        }
        let (mut classes, apart) = categories(old, new);
        classes.extend(special);
        return Some(distance(new, "values".to_owned(), &classes, means(a, b), apart));
    }
    if new.ty.fields().is_some() || (!has_bins(a) && !has_bins(b)) {
        // Structures, fields without any values, and decimals, which have no bins.
        let mut classes = vec![(a.count, b.count)];
        classes.extend(special);
        return Some(distance(new, "nulls".to_owned(), &classes, None, Default::default()));
    }
    let mut classes = grouped(a.bins.common(&b.bins));
    classes.extend(special);
    Some(distance(new, "values".to_owned(), &classes, means(a, b), Default::default()))
}

fn means(a: &ValueSummary, b: &ValueSummary) -> Option<(f64, f64)> {
    Some((table::mean_and_std(a)?.0, table::mean_and_std(b)?.0))
}

/// New and vanished values.
type Apart = [(Vec<String>, usize); 2];

/// One class per value; values that are not among the most frequent share one class.
fn categories(old: &Summary, new: &Summary) -> (Classes, Apart) {
    let (a, b) = (&old.values.top, &new.values.top);
    let is_whole = a.is_exact() && b.is_exact();
    let most = if is_whole { usize::MAX } else { FREQUENT };
    let (old_first, new_first) = (a.first(most), b.first(most));
    let hashes: BTreeSet<u64> = old_first.iter().chain(&new_first).map(|(hash, ..)| *hash).collect();
    let mut classes: Classes = hashes.iter().map(|hash| (a.get(*hash), b.get(*hash))).collect();
    let held = classes.iter().fold((0, 0), |(x, y), (a, b)| (x + a, y + b));
    classes.push((old.values.count.saturating_sub(held.0), new.values.count.saturating_sub(held.1)));
    let apart = |own: &[(u64, super::top::Label, u64)], field: &Summary, others: &super::top::Top| {
        let only = own.iter().filter(|(hash, ..)| is_whole && others.get(*hash) == 0);
        let named = only.clone().take(NAMED).map(|(_, label, _)| label_text(field, label)).collect();
        (named, only.count())
    };
    (classes, [apart(&new_first, new, a), apart(&old_first, old, b)])
}

/// Merges neighboring classes so that each holds about the same share of both datasets.
fn grouped(classes: Classes) -> Classes {
    let totals = classes.iter().fold((0, 0), |(x, y), (a, b)| (x + a, y + b));
    let share = |count: u64, total: u64| count as f64 / total.max(1) as f64;
    let mut whole: Vec<(usize, (u64, u64))> = Vec::new();
    let mut below = 0.0;
    for (a, b) in classes {
        let mass = (share(a, totals.0) + share(b, totals.1)) / 2.0;
        let number = ((below + mass / 2.0) * CLASSES) as usize;
        below += mass;
        match whole.last_mut() {
            Some((last, (x, y))) if *last == number => (*x, *y) = (*x + a, *y + b),
            _ => whole.push((number, (a, b))),
        }
    }
    whole.into_iter().map(|(_, counts)| counts).collect()
}

fn distance(field: &Summary, of: String, classes: &Classes, means: Option<(f64, f64)>, [new, vanished]: Apart) -> DriftRow {
    let totals = classes.iter().fold((0, 0), |(x, y), (a, b)| (x + a, y + b));
    let (mut js, mut linf) = (0.0, 0.0f64);
    if totals.0 > 0 && totals.1 > 0 {
        for (a, b) in classes {
            let (p, q) = (*a as f64 / totals.0 as f64, *b as f64 / totals.1 as f64);
            let middle = f64::midpoint(p, q);
            let part = |share: f64| if share > 0.0 { 0.5 * share * libm::log2(share / middle) } else { 0.0 };
            js += part(p) + part(q);
            linf = linf.max((p - q).abs());
        }
    } else if totals.0 + totals.1 > 0 {
        (js, linf) = (1.0, 1.0);
    }
    let found = Comparison::Distance { js: js.clamp(0.0, 1.0), linf, means, new, vanished };
    DriftRow { field: field.path.to_string(), of, found }
}
