//! The fields and records that the rest of a chain needs, pushed down to the reader so that unused fields are never parsed.

use crate::error::{Error, Result};
use crate::path::glob_matches;
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// What is needed from the stream at some point.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The fields needed.
    pub fields: Wanted,
    /// Maximum number of records needed; `None` for all.
    pub records: Option<u64>,
}

/// Which fields of the record are needed.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// All fields.
    All,
    /// Fields whose names match one of these patterns.
    Matching(Names),
}

/// Patterns of names. Those without a `*`, of which there can be thousands, are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    plain: HashSet<String>,
    globs: Vec<String>,
}

impl Names {
    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.globs.is_empty()
    }

    /// Whether a pattern matches the name.
    pub fn includes(&self, name: &str) -> bool {
        self.plain.contains(name) || self.globs.iter().any(|pattern| glob_matches(pattern, name))
    }

    /// The patterns without a `*`; `None` if there are others.
    pub fn plain(&self) -> Option<&HashSet<String>> {
        self.globs.is_empty().then_some(&self.plain)
    }

    /// Removes a pattern.
    pub fn remove(&mut self, pattern: &str) {
        self.plain.remove(pattern);
        self.globs.retain(|other| other != pattern);
    }
}

impl Extend<String> for Names {
    fn extend<T: IntoIterator<Item = String>>(&mut self, patterns: T) {
        for pattern in patterns {
            if pattern.contains('*') {
                self.globs.push(pattern);
            } else {
                self.plain.insert(pattern);
            }
        }
    }
}

impl FromIterator<String> for Names {
    fn from_iter<T: IntoIterator<Item = String>>(patterns: T) -> Names {
        let mut names = Names::default();
        names.extend(patterns);
        names
    }
}

impl Demand {
    /// All fields of all records.
    pub fn everything() -> Demand {
        Demand { fields: Wanted::All, records: None }
    }

    /// Adds these fields.
    pub fn and_fields(mut self, names: impl IntoIterator<Item = String>) -> Demand {
        if let Wanted::Matching(patterns) = &mut self.fields {
            patterns.extend(names);
        }
        self
    }
}

/// Record numbers, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordNumbers(Vec<RangeInclusive<u64>>);

impl RecordNumbers {
    /// Parses `5,17,100-120`; `100-` means all from 100 on.
    ///
    /// # Errors
    /// Invalid text, a range that ends before it starts, or 0.
    pub fn parse(text: &str) -> Result<RecordNumbers> {
        let wrong = |word: &str, why: &str| Error::usage(format!("expected record numbers, such as 5,17,100-120, but `{word}` {why}"));
        let number = |word: &str, digits: &str| {
            digits.parse::<u64>().map_err(|_| {
                let error = wrong(word, "is not a number or a range");
                match word.split_once("..").or_else(|| word.split_once(':')) {
                    Some((first, last)) => {
                        let error =
                            error.help(format!("write a range as {first}-{last}: records are numbered from 1, and the last is included"));
                        match (first.parse::<u64>(), last.parse::<u64>()) {
                            (Ok(start), Ok(end)) if start < end && !word.contains("..") => {
                                error.help(format!("for the slice {word} of Python, write {}-{end}", start + 1))
                            }
                            _ => error,
                        }
                    }
                    None if word.starts_with('-') => error.help("for the last records, use `tail`"),
                    None if word.starts_with(char::is_alphabetic) => {
                        error.help("to select fields, use `select`; to select records by value, `filter`")
                    }
                    None => error,
                }
            })
        };
        let mut ranges = Vec::new();
        for word in text.split(',').map(str::trim) {
            let (first, last) = match word.split_once('-') {
                Some((first, "")) => (number(word, first)?, u64::MAX),
                Some((first, last)) => (number(word, first)?, number(word, last)?),
                None => (number(word, word)?, number(word, word)?),
            };
            match () {
                () if first == 0 => return Err(Error::usage("there is no record 0: records are numbered from 1")),
                () if last < first => return Err(wrong(word, "ends before it starts")),
                () => ranges.push(first..=last),
            }
        }
        ranges.sort_by_key(|range| *range.start());
        let mut merged: Vec<RangeInclusive<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => *last = *last.start()..=*last.end().max(range.end()),
                _ => merged.push(range),
            }
        }
        Ok(RecordNumbers(merged))
    }

    /// These numbers.
    pub fn range(numbers: RangeInclusive<u64>) -> RecordNumbers {
        RecordNumbers(vec![numbers])
    }

    /// The numbers inside a range, renumbered so that the range starts at `first`; `None` if there are none.
    pub fn within(&self, range: RangeInclusive<u64>, first: u64) -> Option<RecordNumbers> {
        let (start, end) = range.into_inner();
        let from = self.0.partition_point(|own| *own.end() < start);
        let inside = self.0.get(from..)?.iter().take_while(|own| *own.start() <= end);
        let counted = |number: u64| (number - start).saturating_add(first);
        let ranges: Vec<_> = inside.map(|own| counted((*own.start()).max(start))..=counted((*own.end()).min(end))).collect();
        (!ranges.is_empty()).then_some(RecordNumbers(ranges))
    }

    /// Builds a set from ascending numbers.
    pub fn ascending(numbers: impl IntoIterator<Item = u64>) -> RecordNumbers {
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some(last) if last.end().checked_add(1) == Some(number) => *last = *last.start()..=number,
                _ => ranges.push(number..=number),
            }
        }
        RecordNumbers(ranges)
    }

    /// Number of elements.
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |n: u64, range| n.saturating_add((range.end() - range.start()).saturating_add(1)))
    }

    /// The element that has exactly `n` smaller ones.
    pub fn nth(&self, mut n: u64) -> Option<u64> {
        for range in &self.0 {
            let size = range.end() - range.start();
            if n <= size {
                return Some(range.start() + n);
            }
            n -= size + 1;
        }
        None
    }

    /// All elements, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().cloned().flatten()
    }

    /// Ascending ranges that are neither adjacent nor overlapping.
    pub fn ranges(&self) -> &[RangeInclusive<u64>] {
        &self.0
    }

    /// Whether it contains the record number.
    pub fn contains(&self, number: u64) -> bool {
        self.from(number).is_some_and(|range| range.contains(&number))
    }

    /// The first range that does not end before this number.
    pub fn from(&self, number: u64) -> Option<&RangeInclusive<u64>> {
        self.0.get(self.0.partition_point(|range| *range.end() < number))
    }

    /// The largest element.
    pub fn last(&self) -> u64 {
        self.0.last().map_or(0, |range| *range.end())
    }
}

impl Wanted {
    /// No fields.
    pub fn none() -> Wanted {
        Wanted::Matching(Names::default())
    }

    /// The fields that match one of these patterns.
    pub fn matching(patterns: impl IntoIterator<Item = String>) -> Wanted {
        Wanted::Matching(patterns.into_iter().collect())
    }

    /// Whether no field is needed.
    pub fn is_none(&self) -> bool {
        matches!(self, Wanted::Matching(names) if names.is_empty())
    }

    /// Whether the field with that name is needed.
    pub fn includes(&self, name: &str) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Matching(names) => names.includes(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_and_merged() {
        for (text, expected) in [
            ("5", Ok(vec![5..=5])),
            ("17,5,100-120", Ok(vec![5..=5, 17..=17, 100..=120])),
            ("3-5, 6,4-10,12-", Ok(vec![3..=10, 12..=u64::MAX])),
            ("0", Err("there is no record 0: records are numbered from 1")),
            ("5-3", Err("`5-3` ends before it starts")),
            ("a", Err("`a` is not a number or a range")),
            ("1,,2", Err("`` is not a number or a range")),
        ] {
            match (RecordNumbers::parse(text), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.ranges(), expected, "{text}"),
                (Err(error), Err(expected)) => assert!(error.message().ends_with(expected), "{error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        assert_eq!(RecordNumbers::ascending([1, 2, 3, 7, 9, 10]).ranges(), [1..=3, 7..=7, 9..=10]);
        let numbers = RecordNumbers::parse("3-5,9,20-").unwrap();
        for (range, first, expected) in [
            (1..=10, 1, Some(vec![3..=5, 9..=9])),
            (4..=9, 1, Some(vec![1..=2, 6..=6])),
            (4..=9, 101, Some(vec![101..=102, 106..=106])),
            (6..=8, 1, None),
            (10..=19, 1, None),
            (19..=u64::MAX, 1, Some(vec![2..=u64::MAX - 18])),
            (25..=30, 3, Some(vec![3..=8])),
        ] {
            assert_eq!(numbers.within(range.clone(), first).map(|numbers| numbers.ranges().to_vec()), expected, "{range:?}");
        }
        let numbers = RecordNumbers::parse("3-5,9").unwrap();
        assert_eq!((numbers.count(), [0, 2, 3, 4].map(|n| numbers.nth(n))), (4, [Some(3), Some(5), Some(9), None]));
        assert_eq!(RecordNumbers::parse("1-").unwrap().count(), u64::MAX);
        assert_eq!((1..=10).filter(|n| numbers.contains(*n)).collect::<Vec<_>>(), [3, 4, 5, 9]);
    }
}
