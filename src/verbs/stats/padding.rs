//! `--padding N`: what filling costs, if records are padded as they come, in buckets, or packed into rows.

use crate::error::Result;
use crate::path::quoted;
use crate::schema::{Schema, Size};
use crate::tensor::{RowPartition, Tensor};
use crate::verbs::shared::packing::{Row, Rows, Strategy};

/// So many records are seen before the length of packed rows is chosen.
const LOOK_AHEAD: usize = 1 << 16;
/// Rows that `pack` keeps open where nothing else is said.
const WINDOW: usize = crate::verbs::shared::packing::WINDOW;
/// The least boundary of buckets has so many bits: shorter records cost next to nothing.
const LEAST_BITS: u32 = 3;

/// Values beside the places that they take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub values: u128,
    pub places: u128,
}

impl Cost {
    /// The share of places that hold filling.
    pub fn waste(self) -> f64 {
        if self.places == 0 { 0.0 } else { 1.0 - self.values as f64 / self.places as f64 }
    }
}

/// A batch that is not full yet.
#[derive(Clone, Debug, Default)]
struct Open {
    records: usize,
    values: u64,
    longest: Vec<u64>,
}

impl Open {
    fn add(&mut self, sizes: &[u64], values: u64) {
        self.records += 1;
        self.values += values;
        self.longest.resize(sizes.len(), 0);
        self.longest.iter_mut().zip(sizes).for_each(|(longest, size)| *longest = (*longest).max(*size));
    }

    fn close(&mut self, cost: &mut Cost) {
        let batch = std::mem::take(self);
        cost.values += u128::from(batch.values);
        cost.places += batch.longest.iter().map(|n| u128::from(*n)).product::<u128>() * batch.records as u128;
    }
}

/// A field whose records differ in size.
#[derive(Debug)]
pub struct Padded {
    pub name: String,
    position: usize,
    rank: usize,
    batch: usize,
    as_they_come: (Open, Cost),
    /// One for each number of bits that a length has.
    buckets: Vec<Open>,
    in_buckets: Cost,
    range: Option<(u64, u64)>,
    packing: Option<Packing>,
}

/// What comes out.
pub struct Report<'a> {
    pub name: &'a str,
    pub as_they_come: Cost,
    pub in_buckets: Cost,
    pub boundaries: Vec<u64>,
    /// The length of the rows, and what they cost; `None` where a field cannot be packed.
    pub packed: Option<(u64, Cost)>,
}

/// The sizes of the records of a chunk, for each of some fields: those of its axes, then how many values.
pub type Lengths = Vec<Vec<u64>>;

/// The fields of the record whose axes are not all known, where padding costs anything.
pub fn padded_fields(schema: &Schema, batch: usize, is_wanted: &dyn Fn(&str) -> bool) -> Vec<Padded> {
    let fields = schema.fields.iter().enumerate();
    let fields = fields.filter(|(_, f)| {
        let is_tensor = f.ty.dtype().is_some_and(|d| d.is_tensor()) && !f.ty.is_sparse();
        is_tensor && f.ty.dims.iter().any(|d| !matches!(d.size, Size::Known(_))) && is_wanted(&f.name)
    });
    let padded = fields.map(|(position, f)| {
        let is_sequence = f.ty.dims[1..].iter().all(|d| matches!(d.size, Size::Known(_)));
        Padded {
            name: f.name.clone(),
            position,
            rank: f.ty.rank(),
            batch,
            as_they_come: Default::default(),
            buckets: vec![Open::default(); 65],
            in_buckets: Cost::default(),
            range: None,
            packing: is_sequence.then(Packing::default),
        }
    });
    padded.collect()
}

impl Padded {
    /// Where the field stands, and how many axes it has: what [`lengths`] needs.
    pub fn place(&self) -> (usize, usize) {
        (self.position, self.rank)
    }

    /// Adds the sizes of records, in their order.
    pub fn add(&mut self, lengths: &[u64]) {
        for record in lengths.chunks_exact(self.rank + 1) {
            let (sizes, values) = (&record[..self.rank], record[self.rank]);
            let (open, cost) = &mut self.as_they_come;
            open.add(sizes, values);
            if open.records == self.batch {
                open.close(cost);
            }
            let length = sizes[0];
            let bucket = &mut self.buckets[(u64::BITS - length.leading_zeros()).max(LEAST_BITS) as usize];
            bucket.add(sizes, values);
            if bucket.records == self.batch {
                bucket.close(&mut self.in_buckets);
            }
            let (least, most) = self.range.get_or_insert((length, length));
            *least = (*least).min(length);
            *most = (*most).max(length);
            if let Some(packing) = &mut self.packing {
                packing.add(length);
            }
        }
    }

    /// Closes what is open.
    pub fn finish(&mut self) -> Report<'_> {
        let (open, cost) = &mut self.as_they_come;
        open.close(cost);
        self.buckets.iter_mut().for_each(|bucket| bucket.close(&mut self.in_buckets));
        let (least, most) = self.range.unwrap_or((0, 0));
        let boundaries = (LEAST_BITS..63).map(|bits| 1u64 << bits).filter(|b| *b > least && *b <= most).collect();
        Report {
            name: &self.name,
            as_they_come: *cost,
            in_buckets: self.in_buckets,
            boundaries,
            packed: self.packing.as_mut().map(Packing::finish),
        }
    }
}

/// Rows of one length, which the first records decide.
#[derive(Debug, Default)]
struct Packing {
    ahead: Vec<u64>,
    rows: Option<(u64, Rows<()>)>,
    /// Items of all records.
    items: u128,
    /// Rows that take nothing more.
    closed: u128,
}

impl Packing {
    fn add(&mut self, length: u64) {
        self.items += u128::from(length);
        match &mut self.rows {
            Some((_, rows)) => self.closed += put(rows, length),
            None => {
                self.ahead.push(length);
                if self.ahead.len() == LOOK_AHEAD {
                    self.start();
                }
            }
        }
    }

    fn start(&mut self) {
        let longest = self.ahead.iter().copied().max().unwrap_or(0);
        let length = longest.max(1).checked_next_power_of_two().unwrap_or(longest);
        let mut rows = Rows::new(Strategy::FirstFit, usize::try_from(length).unwrap_or(usize::MAX), WINDOW);
        self.closed += std::mem::take(&mut self.ahead).into_iter().map(|n| put(&mut rows, n)).sum::<u128>();
        self.rows = Some((length, rows));
    }

    fn finish(&mut self) -> (u64, Cost) {
        if self.rows.is_none() {
            self.start();
        }
        let Some((length, rows)) = &mut self.rows else { return (0, Cost::default()) };
        self.closed += rows.finish().len() as u128;
        let places = u128::from(*length) * self.closed;
        (*length, Cost { values: self.items, places })
    }
}

fn put(rows: &mut Rows<()>, length: u64) -> u128 {
    let mut closed: Vec<Row<()>> = Vec::new();
    rows.push(usize::try_from(length).unwrap_or(usize::MAX), &mut |_| (), &mut closed);
    closed.len() as u128
}

/// For each record the longest rows along the first `rank` axes, and the number of its values. A null has none.
/// O(rows).
///
/// # Errors
/// Fewer axes.
pub fn lengths(tensor: &Tensor, rank: usize) -> Result<Vec<u64>> {
    let (partitions, _) = tensor.levels(rank)?;
    let mut all = Vec::with_capacity(tensor.nrows() * (rank + 1));
    let valid = tensor.validity();
    let longest = |partition: &RowPartition, rows: std::ops::Range<usize>| rows.map(|row| partition.row_length(row)).max().unwrap_or(0);
    for record in 0..tensor.nrows() {
        if valid.as_ref().is_some_and(|v| v.is_null(record)) {
            all.resize(all.len() + rank + 1, 0);
            continue;
        }
        let mut rows = record..record + 1;
        for partition in &partitions {
            all.push(longest(partition, rows.clone()) as u64);
            rows = partition.start(rows.start)..partition.start(rows.end);
        }
        all.push(rows.len() as u64);
    }
    Ok(all)
}

/// The commands that pad so: a name as an expression takes it, in quotes for a shell.
pub fn commands(report: &Report, batch: usize) -> [String; 3] {
    let name = quoted(report.name);
    let is_identifier =
        report.name.chars().all(|c| c.is_alphanumeric() || c == '_') && !report.name.starts_with(|c: char| c.is_ascii_digit());
    let len = if is_identifier { format!("len({name})") } else { format!("len(`{}`)", report.name) };
    let in_buckets = match &report.boundaries[..] {
        [] => format!("padded-batch {batch}"),
        boundaries => {
            let list: Vec<String> = boundaries.iter().map(u64::to_string).collect();
            let sizes = vec![batch.to_string(); boundaries.len() + 1].join(",");
            format!("bucket --by {} --boundaries {} --batch-sizes {sizes} --pad", shell(&len), list.join(","))
        }
    };
    let packed = report.packed.map_or(String::new(), |(length, _)| format!("pack -f {} --length {length}", shell(&name)));
    [format!("padded-batch {batch}"), in_buckets, packed]
}

/// A word as a shell takes it.
fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::notation;

    #[test]
    fn what_padding_costs() {
        let schema = notation::parse("x: int64[?]; k: int64[4]; m: int64[?, (?)]").unwrap();
        let mut fields = padded_fields(&schema, 2, &|_| true);
        assert_eq!(fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["x", "m"]);
        // Lengths 1 and 9 in turn: half of each batch of two is filling, but for the ones; none in buckets.
        let lengths: Vec<u64> = (0..8).flat_map(|i| if i % 2 == 0 { [1, 1] } else { [9, 9] }).collect();
        fields[0].add(&lengths[..6]);
        fields[0].add(&lengths[6..]);
        let report = fields[0].finish();
        assert_eq!((report.as_they_come.values, report.as_they_come.places), (40, 72));
        assert_eq!((report.in_buckets.values, report.in_buckets.places), (40, 40));
        assert_eq!(report.boundaries, [8]);
        let (length, cost) = report.packed.unwrap();
        assert_eq!((length, cost.values, cost.places), (16, 40, 64));
        let commands = commands(&report, 2);
        assert_eq!(commands[1], "bucket --by 'len(x)' --boundaries 8 --batch-sizes 2,2 --pad");
        assert_eq!(commands[2], "pack -f x --length 16");
    }

    #[test]
    fn every_axis_is_padded_to_its_longest() {
        let schema = notation::parse("m: int64[?, (?)]").unwrap();
        let mut fields = padded_fields(&schema, 2, &|_| true);
        // [[1 2 3] []] and [[4]]: 2 records of 2 rows of 3.
        fields[0].add(&[2, 3, 3, 1, 1, 1]);
        let report = fields[0].finish();
        assert_eq!((report.as_they_come.values, report.as_they_come.places), (4, 12));
        assert!(report.packed.is_none());
    }
}
