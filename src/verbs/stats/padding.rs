//! `--padding N`: how much of each batch is padding if records are batched in input order, in buckets, or packed into
//! rows.

use crate::error::Result;
use crate::path::{in_expression, quoted};
use crate::printable::shell_word;
use crate::schema::{Schema, Size};
use crate::tensor::{RowPartition, Tensor};
use crate::verbs::shared::packing::{OpenRows, PackedRow, Strategy, WINDOW};

/// Number of records read before the length of packed rows is chosen.
const LOOK_AHEAD: usize = 1 << 16;
/// Bits of the smallest bucket boundary: padding shorter records costs next to nothing.
const LEAST_BITS: u32 = 3;

/// The number of values, and the number of elements of the padded tensor that holds them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Number of values.
    pub values: u128,
    /// Number of elements, padding included.
    pub elements: u128,
}

impl Cost {
    /// The fraction of elements that are padding.
    pub fn waste(self) -> f64 {
        if self.elements == 0 { 0.0 } else { 1.0 - self.values as f64 / self.elements as f64 }
    }
}

/// A batch that is not full yet.
#[derive(Clone, Debug, Default)]
struct OpenBatch {
    records: usize,
    values: u64,
    longest: Vec<u64>,
}

impl OpenBatch {
    fn add(&mut self, sizes: &[u64], values: u64) {
        self.records += 1;
        self.values += values;
        self.longest.resize(sizes.len(), 0);
        self.longest.iter_mut().zip(sizes).for_each(|(longest, size)| *longest = (*longest).max(*size));
    }

    fn close(&mut self, cost: &mut Cost) {
        let batch = std::mem::take(self);
        cost.values += u128::from(batch.values);
        cost.elements += batch.longest.iter().map(|n| u128::from(*n)).product::<u128>() * batch.records as u128;
    }
}

/// A field whose records differ in size, and its batches so far.
#[derive(Debug)]
pub struct PaddedField {
    /// Its name.
    pub name: String,
    position: usize,
    rank: usize,
    batch: usize,
    as_they_come: (OpenBatch, Cost),
    /// One for each bit length of a record length.
    buckets: Vec<OpenBatch>,
    in_buckets: Cost,
    range: Option<(u64, u64)>,
    packing: Option<Packing>,
}

/// The cost of padding for one field.
pub struct PaddingCosts<'a> {
    /// The name of the field.
    pub name: &'a str,
    /// In batches of consecutive records.
    pub as_they_come: Cost,
    /// In batches of records of similar length.
    pub in_buckets: Cost,
    /// The boundaries of the buckets.
    pub boundaries: Vec<u64>,
    /// The length and cost of packed rows; `None` for fields that cannot be packed.
    pub packed: Option<(u64, Cost)>,
}

/// For each field, the sizes of the records of a chunk: the size of each axis, then the number of values.
pub type Lengths = Vec<Vec<u64>>;

/// The fields of the record that need padding: those with an axis of unknown size.
pub fn padded_fields(schema: &Schema, batch: usize, is_wanted: &dyn Fn(&str) -> bool) -> Vec<PaddedField> {
    let fields = schema.fields.iter().enumerate();
    let fields = fields.filter(|(_, f)| {
        let is_tensor = f.ty.dtype().is_some_and(|d| d.is_tensor()) && !f.ty.is_sparse();
        is_tensor && f.ty.dims.iter().any(|d| !matches!(d.size, Size::Known(_))) && is_wanted(&f.name)
    });
    let padded = fields.map(|(position, f)| {
        let is_sequence = f.ty.dims[1..].iter().all(|d| matches!(d.size, Size::Known(_)));
        PaddedField {
            name: f.name.clone(),
            position,
            rank: f.ty.rank(),
            batch,
            as_they_come: Default::default(),
            buckets: vec![OpenBatch::default(); 65],
            in_buckets: Cost::default(),
            range: None,
            packing: is_sequence.then(Packing::default),
        }
    });
    padded.collect()
}

impl PaddedField {
    /// The position and the rank of the field, as [`lengths`] needs them.
    pub fn position_and_rank(&self) -> (usize, usize) {
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

    /// Closes the open batches.
    pub fn finish(&mut self) -> PaddingCosts<'_> {
        let (open, cost) = &mut self.as_they_come;
        open.close(cost);
        self.buckets.iter_mut().for_each(|bucket| bucket.close(&mut self.in_buckets));
        let (least, most) = self.range.unwrap_or((0, 0));
        let boundaries = (LEAST_BITS..63).map(|bits| 1u64 << bits).filter(|b| *b > least && *b <= most).collect();
        PaddingCosts {
            name: &self.name,
            as_they_come: *cost,
            in_buckets: self.in_buckets,
            boundaries,
            packed: self.packing.as_mut().map(Packing::finish),
        }
    }
}

/// Rows of one length, which is chosen from the first records.
#[derive(Debug, Default)]
struct Packing {
    ahead: Vec<u64>,
    rows: Option<(u64, OpenRows<()>)>,
    /// Number of items of all records.
    items: u128,
    /// Number of closed rows.
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
        let mut rows = OpenRows::new(Strategy::FirstFit, usize::try_from(length).unwrap_or(usize::MAX), WINDOW);
        self.closed += std::mem::take(&mut self.ahead).into_iter().map(|n| put(&mut rows, n)).sum::<u128>();
        self.rows = Some((length, rows));
    }

    fn finish(&mut self) -> (u64, Cost) {
        if self.rows.is_none() {
            self.start();
        }
        let Some((length, rows)) = &mut self.rows else { return (0, Cost::default()) };
        self.closed += rows.finish().len() as u128;
        let elements = u128::from(*length) * self.closed;
        (*length, Cost { values: self.items, elements })
    }
}

fn put(rows: &mut OpenRows<()>, length: u64) -> u128 {
    let mut closed: Vec<PackedRow<()>> = Vec::new();
    if length == 0 {
        return 0;
    }
    rows.push(usize::try_from(length).unwrap_or(usize::MAX), &mut |_| (), &mut closed);
    closed.len() as u128
}

/// For each record, the longest rows along the first `rank` axes, then the number of values; zeros for a null. O(rows).
///
/// # Errors
/// The tensor has fewer axes.
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

/// The command for batches in buckets, unless there is a single bucket.
pub fn shown_buckets(report: &PaddingCosts, command: String) -> String {
    if report.boundaries.is_empty() { "(all lengths fall into the same bucket)".to_owned() } else { command }
}

/// The commands for each way of padding, with shell quoting.
pub fn commands(report: &PaddingCosts, batch: usize) -> [String; 3] {
    let name = quoted(report.name);
    let len = format!("len({})", in_expression(report.name));
    let in_buckets = match &report.boundaries[..] {
        [] => format!("padded-batch {batch}"),
        boundaries => {
            let list: Vec<String> = boundaries.iter().map(u64::to_string).collect();
            let sizes = vec![batch.to_string(); boundaries.len() + 1].join(",");
            format!("bucket --by {} --boundaries {} --batch-sizes {sizes} --pad", shell_word(&len), list.join(","))
        }
    };
    let packed = report.packed.map_or(String::new(), |(length, _)| format!("pack -f {} --length {length}", shell_word(&name)));
    [format!("padded-batch {batch}"), in_buckets, packed]
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
        // Alternating lengths 1 and 9: 8 of the 18 elements of each batch are padding, but none with buckets.
        let lengths: Vec<u64> = (0..8).flat_map(|i| if i % 2 == 0 { [1, 1] } else { [9, 9] }).collect();
        fields[0].add(&lengths[..6]);
        fields[0].add(&lengths[6..]);
        let report = fields[0].finish();
        assert_eq!((report.as_they_come.values, report.as_they_come.elements), (40, 72));
        assert_eq!((report.in_buckets.values, report.in_buckets.elements), (40, 40));
        assert_eq!(report.boundaries, [8]);
        let (length, cost) = report.packed.unwrap();
        assert_eq!((length, cost.values, cost.elements), (16, 40, 64));
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
        assert_eq!((report.as_they_come.values, report.as_they_come.elements), (4, 12));
        assert!(report.packed.is_none());
    }
}
