//! The origin of the rows of a chunk.

use super::Chunk;
use crate::error::{Error, Kind, Location};
use crate::random::mixed;
use std::ops::Range;
use std::sync::Arc;

/// The records of the input from which the rows of a chunk come, for messages and random numbers.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The name of the input, or of a shard of it; `None` if the records come from several inputs or none.
    pub input: Option<Arc<str>>,
    /// The records of that file.
    pub rows: Rows,
    /// The offset from the record number in the file to that in the input; nonzero only for shards.
    pub shift: i64,
    /// What distinguishes rows that come from the same record, such as the number of an item; `None` if all are 0.
    items: Option<Arc<[u64]>>,
    /// The number of the first item that is made from the first row.
    first_item: u64,
}

/// [`Origin::input`] and [`Origin::shift`] of rows.
pub type Shifted = (Option<Arc<str>>, i64);

/// The record number of each row, from 1 within the file.
#[derive(Clone, Debug, Default)]
pub enum Rows {
    /// Unknown: the rows come from no input, or from many.
    #[default]
    Unknown,
    /// Row i is record `first + i`.
    From(u64),
    /// The record of each row.
    Listed(Arc<[u64]>),
    /// Row i may come from any record in this range, after a verb that combines records.
    Ranges(Arc<[(u64, u64)]>),
    /// The source of each row, for rows from several files. Unknown to [`Origin::records`].
    Named(Arc<[Shifted]>, Arc<[RowSource]>),
}

/// The file from which a row comes, by its index among the files, and the first and last record there. The last is 0 if
/// the row is made from records of several files, of which this is the first; both are 0 if they are unknown.
pub type RowSource = (u32, u64, u64);

/// Marks the rows of another round over the same records.
const AGAIN: u64 = u64::MAX;

/// What distinguishes item `n` of a row, where `item` is what distinguishes that row.
fn nested(item: u64, n: u64) -> u64 {
    if item == 0 { n } else { mixed(item ^ mixed(n)) }
}

impl Origin {
    /// Rows that are consecutive records of an input, the first with number `first`, counted from 1.
    pub fn consecutive(input: Arc<str>, first_record: u64) -> Origin {
        Origin::new(input, Rows::From(first_record))
    }

    /// Rows from one input.
    pub fn new(input: Arc<str>, rows: Rows) -> Origin {
        Origin { input: Some(input), rows, ..Origin::default() }
    }

    /// Rows that are consecutive records of no file, the first with number `first`, counted from 1.
    pub fn of_stream(first: u64) -> Origin {
        Origin { rows: Rows::From(first), ..Origin::default() }
    }

    /// The record number in the input of a row, from 1; `None` if it does not come from a single record.
    pub fn number(&self, row: usize) -> Option<u64> {
        let (record, shift) = match &self.rows {
            Rows::Named(files, rows) => {
                let (file, record, last) = rows.get(row)?;
                ((*record > 0 && record == last).then_some(*record)?, files.get(*file as usize)?.1)
            }
            _ => (self.records(row..row + 1).filter(|(first, last)| first == last)?.0, self.shift),
        };
        record.checked_add_signed(shift)
    }

    /// The files from which the rows come.
    pub fn files(&self) -> Vec<Shifted> {
        match &self.rows {
            Rows::Named(files, _) => files.to_vec(),
            _ => vec![(self.input.clone(), self.shift)],
        }
    }

    /// The source of a row; the file is one of [`Origin::files`].
    pub fn source(&self, row: usize) -> RowSource {
        match &self.rows {
            Rows::Named(_, rows) => rows.get(row).copied().unwrap_or_default(),
            _ => self.records(row..row + 1).map_or((0, 0, 0), |(first, last)| (0, first, last)),
        }
    }

    /// What distinguishes a row from others that come from the same record.
    pub fn item(&self, row: usize) -> u64 {
        self.items.as_ref().and_then(|items| items.get(row).copied()).unwrap_or_default()
    }

    /// An origin with these sources and items: see [`Origin::source`] and [`Origin::item`].
    pub fn of_sources(files: &[Shifted], rows: &[RowSource], items: &[u64]) -> Origin {
        let Some((file, _, _)) = rows.first() else { return Origin::default() };
        let items = items.iter().any(|item| *item > 0).then(|| items.into());
        if rows.iter().any(|(other, _, last)| other != file || *last == 0) {
            return Origin { rows: Rows::Named(files.into(), rows.into()), items, ..Origin::default() };
        }
        let Some((input, shift)) = files.get(*file as usize).cloned() else { return Origin::default() };
        let rows = match rows.iter().all(|(_, first, last)| first == last) {
            true => Rows::Listed(rows.iter().map(|(_, record, _)| *record).collect()),
            false => Rows::Ranges(rows.iter().map(|(_, first, last)| (*first, *last)).collect()),
        };
        Origin { input, shift, rows, items, first_item: 0 }
    }

    /// The same records in another round, in which random numbers differ.
    pub fn again(&self, nrows: usize) -> Origin {
        Origin { items: Some((0..nrows).map(|row| nested(self.item(row), AGAIN)).collect()), ..self.clone() }
    }

    /// The origin of one row without the items before this one.
    pub fn from_item(&self, first_item: u64) -> Origin {
        Origin { first_item, ..self.clone() }
    }

    /// Whether each row comes from one record, which is known.
    pub fn is_of_single_records(&self) -> bool {
        match &self.rows {
            Rows::From(_) | Rows::Listed(_) => true,
            Rows::Unknown | Rows::Ranges(_) => false,
            Rows::Named(_, rows) => rows.iter().all(|(_, first, last)| *first > 0 && first == last),
        }
    }

    /// First and last record of these rows in their file.
    pub fn records(&self, rows: Range<usize>) -> Option<(u64, u64)> {
        if rows.is_empty() {
            return None;
        }
        match &self.rows {
            Rows::Unknown | Rows::Named(..) => None,
            Rows::From(first) => Some((first + rows.start as u64, first + rows.end as u64 - 1)),
            Rows::Listed(records) => {
                let records = records.get(rows)?;
                Some((*records.iter().min()?, *records.iter().max()?))
            }
            Rows::Ranges(ranges) => {
                let ranges = ranges.get(rows)?;
                Some((ranges.iter().map(|r| r.0).min()?, ranges.iter().map(|r| r.1).max()?))
            }
        }
    }

    /// The origin of rows `start .. start + len`.
    pub fn slice(&self, start: usize, len: usize) -> Origin {
        let rows = match &self.rows {
            Rows::From(first) => Rows::From(first + start as u64),
            Rows::Listed(records) => Rows::Listed(records[start..start + len].into()),
            Rows::Ranges(ranges) => Rows::Ranges(ranges[start..start + len].into()),
            Rows::Named(files, rows) => Rows::Named(files.clone(), rows[start..start + len].into()),
            other => other.clone(),
        };
        Origin { rows, items: self.items.as_ref().map(|items| items[start..start + len].into()), ..self.clone() }
    }

    /// The origin of the rows with these indices.
    pub fn gather(&self, rows: &[usize]) -> Origin {
        let items = self.items.as_ref().map(|items| rows.iter().map(|row| items[*row]).collect());
        let rows = match &self.rows {
            Rows::From(first) => Rows::Listed(rows.iter().map(|r| first + *r as u64).collect()),
            Rows::Listed(records) => Rows::Listed(rows.iter().map(|r| records[*r]).collect()),
            Rows::Ranges(ranges) => Rows::Ranges(rows.iter().map(|r| ranges[*r]).collect()),
            Rows::Named(files, all) => Rows::Named(files.clone(), rows.iter().map(|r| all[*r]).collect()),
            other => other.clone(),
        };
        Origin { rows, items, first_item: 0, ..self.clone() }
    }

    /// The origin of the items of rows: for each item, the index of its row, in order.
    pub fn of_items(&self, rows: &[usize]) -> Origin {
        let (mut before, mut n) = (None, 0);
        let item = |row: &usize| {
            n = match before {
                Some(last) if last == *row => n + 1,
                _ if *row == 0 => self.first_item,
                _ => 0,
            };
            before = Some(*row);
            nested(self.item(*row), n)
        };
        Origin { items: Some(rows.iter().map(item).collect()), ..self.gather(rows) }
    }

    /// The origin of rows that are each made from several of these: a range of records that is never wrong.
    pub fn merged(&self, groups: impl Iterator<Item = Range<usize>> + Clone) -> Origin {
        let items = self.items.is_some().then(|| groups.clone().map(|group| self.item(group.start)).collect());
        let rows = match &self.rows {
            Rows::Named(files, rows) => Rows::Named(files.clone(), groups.map(|group| spanned(rows.get(group))).collect()),
            _ => groups.map(|group| self.records(group)).collect::<Option<_>>().map_or(Rows::Unknown, Rows::Ranges),
        };
        Origin { rows, items, ..self.clone() }
    }

    /// The origin of the concatenated rows of several chunks.
    pub fn concat(parts: &[Chunk]) -> Origin {
        let Some(first) = parts.first().map(|p| &p.origin) else {
            return Origin::default();
        };
        let positions = || parts.iter().enumerate().flat_map(|(part, chunk)| (0..chunk.nrows).map(move |row| (part, row)));
        if parts.iter().any(|p| !p.origin.is_of_file(first)) {
            return Origin::named(parts, positions());
        }
        let items = items_of(parts, positions());
        let mut next = None;
        let consecutive = parts.iter().all(|p| match p.origin.rows {
            Rows::From(record) => {
                let fits = next.is_none_or(|n| n == record);
                next = Some(record + p.nrows as u64);
                fits
            }
            _ => false,
        });
        if consecutive {
            return Origin { items, ..first.clone() };
        }
        let mut listed = Vec::new();
        for part in parts {
            match &part.origin.rows {
                Rows::From(record) => listed.extend((0..part.nrows as u64).map(|i| record + i)),
                Rows::Listed(records) => listed.extend_from_slice(records),
                Rows::Unknown | Rows::Named(..) => return Origin { rows: Rows::Unknown, items, ..first.clone() },
                Rows::Ranges(_) => {
                    let ranges = parts.iter().flat_map(|p| (0..p.nrows).map(|i| p.origin.records(i..i + 1)));
                    let rows = ranges.collect::<Option<_>>().map_or(Rows::Unknown, Rows::Ranges);
                    return Origin { rows, items, ..first.clone() };
                }
            }
        }
        Origin { rows: Rows::Listed(listed.into()), items, ..first.clone() }
    }

    /// The origin of the rows at these positions of several chunks.
    pub(super) fn interleave(parts: &[Chunk], positions: &[(usize, usize)]) -> Origin {
        let Some(first) = parts.first().map(|p| &p.origin) else { return Origin::default() };
        if parts.iter().any(|p| !p.origin.is_of_file(first)) {
            return Origin::named(parts, positions.iter().copied());
        }
        let records = || positions.iter().map(|(part, row)| parts[*part].origin.records(*row..row + 1));
        let rows = if parts.iter().any(|p| matches!(p.origin.rows, Rows::Ranges(_))) {
            records().collect::<Option<_>>().map(Rows::Ranges)
        } else {
            records().map(|record| record.map(|(first, _)| first)).collect::<Option<_>>().map(Rows::Listed)
        };
        Origin { rows: rows.unwrap_or_default(), items: items_of(parts, positions.iter().copied()), ..first.clone() }
    }

    /// Whether all rows are from the file that `other` names, with the same shift, and both or neither know their
    /// records.
    fn is_of_file(&self, other: &Origin) -> bool {
        let is_unknown = |origin: &Origin| matches!(origin.rows, Rows::Unknown);
        self.input == other.input
            && self.shift == other.shift
            && is_unknown(self) == is_unknown(other)
            && !matches!(self.rows, Rows::Named(..))
    }

    /// The origin of rows from several files, at these positions of the parts.
    fn named(parts: &[Chunk], positions: impl Iterator<Item = (usize, usize)> + Clone) -> Origin {
        let items = items_of(parts, positions.clone());
        let mut files: Vec<Shifted> = Vec::new();
        let mut position = |file: Shifted| {
            let known = files.iter().position(|known| *known == file);
            u32::try_from(known.unwrap_or_else(|| {
                files.push(file);
                files.len() - 1
            }))
        };
        // For each part, the indices of its files in the result.
        let mut inputs: Vec<Vec<u32>> = Vec::new();
        for part in parts {
            let positions: Result<Vec<u32>, _> = part.origin.files().into_iter().map(&mut position).collect();
            let Ok(positions) = positions else { return Origin::default() };
            inputs.push(positions);
        }
        let row = |(part, row): (usize, usize)| {
            let (file, first, last) = parts[part].origin.source(row);
            (inputs[part][file as usize], first, last)
        };
        let rows = positions.map(row).collect();
        Origin { rows: Rows::Named(files.into(), rows), items, ..Origin::default() }
    }

    /// The input and the records of these rows, if they are from a single input.
    fn concerned(&self, rows: Range<usize>) -> (Option<Arc<str>>, Option<(u64, u64)>) {
        let Rows::Named(files, all) = &self.rows else { return (self.input.clone(), self.records(rows)) };
        match spanned(all.get(rows)) {
            (_, _, 0) => (None, None),
            (file, first, last) => (files.get(file as usize).and_then(|(name, _)| name.clone()), Some((first, last))),
        }
    }

    /// Converts the row named by an error to the record it came from.
    pub fn resolve(&self, error: Error, nrows: usize) -> Error {
        let (input, concerned) = match error.location().row {
            Some(row) if row < nrows => self.concerned(row..row + 1),
            _ => self.concerned(0..nrows),
        };
        if matches!(error.kind(), Kind::Usage | Kind::Io) {
            return error;
        }
        error.locate(|at: &mut Location| {
            if at.records.is_none() {
                at.records = concerned;
            }
            if at.input.is_none() {
                at.input = input;
            }
            at.row = None;
        })
    }
}

/// The source of a row that is made from rows with these sources.
fn spanned(rows: Option<&[RowSource]>) -> RowSource {
    let Some(rows @ [(file, first, _), ..]) = rows else { return RowSource::default() };
    if rows.iter().any(|(other, _, last)| other != file || *last == 0) {
        return (*file, *first, 0);
    }
    let ends = |(first, last): (u64, u64), row: &RowSource| (first.min(row.1), last.max(row.2));
    let (first, last) = rows.iter().fold((u64::MAX, 0), ends);
    (*file, first, last)
}

/// The items of the rows at these positions of the parts.
fn items_of(parts: &[Chunk], positions: impl Iterator<Item = (usize, usize)>) -> Option<Arc<[u64]>> {
    let has_items = parts.iter().any(|part| part.origin.items.is_some());
    has_items.then(|| positions.map(|(part, row)| parts[part].origin.item(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_inputs_keep_their_names() {
        let part = |origin: Origin, nrows: usize| Chunk::try_new(nrows, Vec::new(), origin).unwrap();
        let (a, b) = (part(Origin::consecutive("a".into(), 1), 3), part(Origin::consecutive("b".into(), 7), 2));
        let woven = Chunk::interleave(&[a.clone(), b.clone()], &[(1, 0), (0, 0), (0, 2), (1, 1)]).unwrap();
        let all = Chunk::concat(&[woven.slice(1, 3), woven.gather(&[3, 0]).unwrap(), a]).unwrap();
        let at = |row: usize| all.origin.resolve(Error::data("bad").at_row(row), all.nrows).to_string();
        let found: Vec<String> = (0..all.nrows).map(at).collect();
        let want = ["a: record 1", "a: record 3", "b: record 8", "b: record 8", "b: record 7", "a: record 1", "a: record 2", "a: record 3"];
        assert_eq!(found, want.map(|place| format!("{place}: bad")));
        assert!(all.origin.records(0..1).is_none());
        let numbers: Vec<_> = (0..all.nrows).map(|row| all.origin.number(row)).collect();
        assert_eq!(numbers, [1, 3, 8, 8, 7, 1, 2, 3].map(Some));
        assert_eq!(all.origin.resolve(Error::data("bad"), all.nrows).to_string(), "bad");
    }

    #[test]
    fn rows_of_one_record_are_told_apart_by_their_items() {
        let chunk = |origin: Origin, nrows: usize| Chunk::try_new(nrows, Vec::new(), origin).unwrap();
        let items = |origin: &Origin, nrows: usize| (0..nrows).map(|row| origin.item(row)).collect::<Vec<_>>();
        let two = Origin::consecutive("a".into(), 1);
        let all = two.of_items(&[0, 0, 0, 1, 1]);
        assert_eq!(items(&all, 5), [0, 1, 2, 0, 1]);
        // The same in parts, and in another order.
        let part = two.slice(0, 1).from_item(1).of_items(&[0, 0]);
        assert_eq!(items(&part, 2), [1, 2]);
        assert_eq!(items(&all.gather(&[4, 2, 0]), 3), [1, 2, 0]);
        let parts = [chunk(all.slice(0, 2), 2), chunk(Origin::consecutive("b".into(), 1), 2), chunk(all.slice(2, 3), 3)];
        assert_eq!(items(&Origin::concat(&parts), 7), [0, 1, 0, 0, 2, 0, 1]);
        assert_eq!(items(&all.merged([1..3, 3..5].into_iter()), 2), [1, 0]);
        // Items of items and other rounds differ from all of them.
        let mut seen = items(&all.of_items(&[0, 0, 1, 1, 2, 2]), 6);
        seen.extend(items(&two.again(1), 1));
        seen.extend(items(&two.again(1).again(1), 1));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 8);
    }

    #[test]
    fn rows_from_several_files_have_a_first_record() {
        let part = |name: &str| Chunk::try_new(2, Vec::new(), Origin::consecutive(name.into(), 1)).unwrap();
        let both = Origin::concat(&[part("a"), part("b")]).merged([0..2, 1..3, 3..4].into_iter());
        assert_eq!((0..3).map(|row| both.source(row)).collect::<Vec<_>>(), [(0, 1, 2), (0, 2, 0), (1, 2, 2)]);
        assert_eq!((0..3).map(|row| both.number(row)).collect::<Vec<_>>(), [None, None, Some(2)]);
        let at = |row: usize| both.resolve(Error::data("bad").at_row(row), 3).to_string();
        assert_eq!([at(0), at(1), at(2)], ["a: records 1 to 2: bad", "bad", "b: record 2: bad"]);
    }

    #[test]
    fn records_of_shards_have_numbers_in_their_input() {
        let part = |name: &str, first: u64, shift: i64| {
            let origin = Origin { shift, ..Origin::consecutive(name.into(), first) };
            Chunk::try_new(2, Vec::new(), origin).unwrap()
        };
        // The third is the first shard again, from another slice.
        let parts = [part("a", 3, -2), part("b", 1, 2), part("a", 3, 2)];
        let all = Chunk::concat(&parts).unwrap();
        let numbers = |chunk: &Chunk| (0..chunk.nrows).map(|row| chunk.origin.number(row).unwrap()).collect::<Vec<_>>();
        assert_eq!(numbers(&all), [1, 2, 3, 4, 5, 6]);
        assert_eq!(numbers(&all.slice(1, 4).gather(&[3, 0]).unwrap()), [5, 2]);
        assert_eq!(numbers(&Chunk::concat(&[part("a", 3, -2), part("a", 7, -2)]).unwrap()), [1, 2, 5, 6]);
        assert_eq!(all.origin.resolve(Error::data("bad").at_row(2), all.nrows).to_string(), "b: record 1: bad");
        let merged = parts[0].origin.merged([0..2, 1..2].into_iter());
        assert_eq!((merged.number(0), merged.number(1)), (None, Some(2)));
    }
}
