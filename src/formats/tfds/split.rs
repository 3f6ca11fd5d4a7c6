//! `--split`: selects records of splits, like the `split` argument of tfds.load.
//!
//! Source: `ReadInstruction` in `core/splits.py`, with its default of rounding percentages to the nearest record.

use super::info::Split;
use crate::error::{Error, Result};

/// Consecutive records of a split, counted from 0.
#[derive(Debug, PartialEq)]
pub struct Slice {
    /// The index of the split.
    pub split: usize,
    /// The first record.
    pub from: u64,
    /// The end; `None` for the end of the split, wherever that is.
    pub to: Option<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Records,
    Percent,
    Shards,
}

/// The records selected by `--split`; by default, those of the only split.
///
/// # Errors
/// There is no such split, there are several and none is named, or a slice exceeds its split.
pub fn slices(wanted: Option<&str>, splits: &[Split]) -> Result<Vec<Slice>> {
    let whole = |split| Slice { split, from: 0, to: None };
    let Some(wanted) = wanted else {
        return match splits {
            [] => Err(Error::data("the dataset has no splits")),
            [_] => Ok(vec![whole(0)]),
            _ => {
                let first = &splits[0].name;
                let error = Error::usage(format!("the dataset has the splits {}", listed(splits)));
                Err(error.help(format!("choose one with --split {first}, or read all of them with --split all")))
            }
        };
    };
    if let Some(split) = splits.iter().position(|split| split.name == wanted) {
        return Ok(vec![whole(split)]);
    }
    let mut all = Vec::new();
    for part in wanted.split('+').map(str::trim) {
        if part == "all" {
            all.extend((0..splits.len()).map(whole));
        } else {
            all.push(slice(part, splits)?);
        }
    }
    Ok(all)
}

/// `train (100 records), test (20 records)`.
fn listed(splits: &[Split]) -> String {
    let one = |split: &Split| match split.nrecords() {
        Some(n) => format!("{} ({n} record{})", split.name, if n == 1 { "" } else { "s" }),
        None => split.name.clone(),
    };
    splits.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn slice(part: &str, splits: &[Split]) -> Result<Slice> {
    let unreadable = || {
        Error::usage(format!("--split: invalid split {part:?}"))
            .help("examples: train, train+test, 'train[:10%]', 'train[100:200]', 'train[-5%:]', all")
    };
    let (name, selector) = match part.split_once('[') {
        None => (part, None),
        Some((name, rest)) => (name, Some(rest.strip_suffix(']').ok_or_else(unreadable)?)),
    };
    let Some(position) = splits.iter().position(|split| split.name == name) else {
        if name.is_empty() {
            return Err(unreadable());
        }
        return Err(Error::usage(format!("--split: unknown split {name}")).help(format!("the dataset has {}", listed(splits))));
    };
    let Some(selector) = selector else { return Ok(Slice { split: position, from: 0, to: None }) };
    let split = &splits[position];
    let Some(nrecords) = split.nrecords().and_then(|n| i64::try_from(n).ok()) else {
        return Err(Error::usage(format!("--split {part}: the dataset does not say how many records its shards have"))
            .help("read the whole split, and choose records with head, skip or sample"));
    };
    let (from, to) = match selector.split_once(':') {
        Some((from, to)) if !selector.is_empty() && selector != ":" => (boundary(from), boundary(to)),
        // One shard.
        None => match boundary(selector) {
            Some(Some((shard, Some(Unit::Shards)))) => (Some(Some((shard, Some(Unit::Shards)))), Some(Some((shard + 1.0, None)))),
            _ => return Err(unreadable()),
        },
        Some(_) => return Err(unreadable()),
    };
    let (Some(from), Some(to)) = (from, to) else { return Err(unreadable()) };
    let unit = [from, to].iter().flatten().find_map(|(_, unit)| *unit).unwrap_or(Unit::Records);
    let (from, to) = (from.map(|(n, _)| n), to.map(|(n, _)| n));
    if unit != Unit::Percent && [from, to].iter().flatten().any(|n| n.fract() != 0.0) {
        return Err(unreadable());
    }
    let bound = |n: Option<f64>, default: i64, is_end: bool| match (n, unit) {
        (None, _) => default,
        (Some(n), Unit::Records) => n as i64,
        // Python's round() also rounds halves to even.
        (Some(n), Unit::Percent) => (n * nrecords as f64 / 100.0).round_ties_even() as i64,
        (Some(n), Unit::Shards) => before_shard(split, n as i64, is_end),
    };
    let beyond_percent = unit == Unit::Percent && [from, to].iter().flatten().any(|n| n.abs() > 100.0);
    let (from, to) = (bound(from, 0, false), bound(to, nrecords, true));
    if beyond_percent || from.abs() > nrecords || to.abs() > nrecords {
        return Err(Error::usage(format!("--split {part}: the slice extends beyond the {nrecords} records of {name}")));
    }
    let counted = |n: i64| if n < 0 { nrecords + n } else { n };
    let (from, to) = (counted(from), counted(to));
    let to = if to == nrecords { None } else { Some(to.max(from).unsigned_abs()) };
    Ok(Slice { split: position, from: from.unsigned_abs(), to })
}

/// A number with its unit; `None` if it is omitted. The outer `None` means it cannot be parsed.
#[allow(clippy::option_option)]
fn boundary(text: &str) -> Option<Option<(f64, Option<Unit>)>> {
    if text.is_empty() {
        return Some(None);
    }
    let (digits, unit) = match (text.strip_suffix('%'), text.strip_suffix("shard")) {
        (Some(digits), _) => (digits, Some(Unit::Percent)),
        (_, Some(digits)) => (digits, Some(Unit::Shards)),
        _ => (text, None),
    };
    let plain = digits.replace('_', "");
    let is_number = plain.strip_prefix('-').unwrap_or(&plain).bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number = plain.parse().ok().filter(|n: &f64| is_number && n.abs() < 1e15)?;
    Some(Some((number, unit)))
}

/// The number of records before that shard; negative numbers count from the end.
fn before_shard(split: &Split, shard: i64, is_end: bool) -> i64 {
    let lengths = split.lengths.as_deref().unwrap_or_default();
    let n = lengths.len() as i64;
    let shard = if shard < 0 || (is_end && shard == 0) { n + shard } else { shard };
    let before = usize::try_from(shard.clamp(0, n)).unwrap_or(0);
    i64::try_from(lengths[..before].iter().sum::<u64>()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tfds::info::Info;

    fn found(wanted: &str) -> Result<Vec<(u64, Option<u64>)>, String> {
        let path = tempfile::tempdir().unwrap();
        let path = path.path().join("i.json");
        let text =
            r#"{"name": "ds", "splits": [{"name": "train", "shardLengths": ["40", "40", "25"]}, {"name": "test", "shardLengths": ["7"]}]}"#;
        std::fs::write(&path, text).unwrap();
        let info = Info::read(&path).unwrap();
        let slices = slices(Some(wanted), &info.splits).map_err(|e| e.message().to_owned())?;
        Ok(slices.into_iter().map(|slice| (slice.from, slice.to)).collect())
    }

    #[test]
    fn slices_are_those_of_tfds() {
        // The result of `builder.info.splits[...].file_instructions` in TFDS 4.9.10 for the same lengths.
        for (wanted, expected) in [
            ("train", vec![(0, None)]),
            ("train+test", vec![(0, None), (0, None)]),
            ("all", vec![(0, None), (0, None)]),
            ("train[:10%]", vec![(0, Some(10))]),
            ("train[10%:]", vec![(10, None)]),
            ("train[:-5%]", vec![(0, Some(100))]),
            ("train[-5%:]", vec![(100, None)]),
            ("train[:50%]", vec![(0, Some(52))]),
            ("train[:33.3%]", vec![(0, Some(35))]),
            ("train[10:20]", vec![(10, Some(20))]),
            ("train[-20:-10]", vec![(85, Some(95))]),
            ("train[20:10]", vec![(20, Some(20))]),
            ("train[1shard]", vec![(40, Some(80))]),
            ("train[1shard:]", vec![(40, None)]),
            ("train[:-1shard]", vec![(0, Some(80))]),
            ("test[:1] + train[:1_0]", vec![(0, Some(1)), (0, Some(10))]),
        ] {
            assert_eq!(found(wanted).unwrap(), expected, "{wanted}");
        }
        for wanted in
            ["", "train[", "train[:]", "train[5]", "train[a:b]", "train[:106]", "train[:101%]", "val", "train[1.5:]", "[:3]", "train[:--1]"]
        {
            assert!(found(wanted).is_err(), "{wanted}");
        }
    }
}
