//! The content of every output form: the summaries of all records, or of each group.

use super::chart::digits;
use super::drift::{Comparison, Drift, DriftRow};
use super::padding::PaddingCosts;
use super::summary::Summary;
use super::table::TableRow;
use serde_json::Value;

/// The content of the report.
pub struct Shown<'a> {
    /// Number of records.
    pub records: u64,
    /// The fields of `--by`, for table headers.
    pub by: Option<String>,
    /// One group with all records, or one group for each value of `--by`.
    pub groups: Vec<Group<'a>>,
    /// The batch size of `--padding`, and the padding costs.
    pub padding: Option<(usize, &'a [PaddingCosts<'a>])>,
    /// The comparison with the dataset of `--against`.
    pub drift: Option<&'a Drift>,
}

/// A group of records.
pub struct Group<'a> {
    /// The values of `--by`: as text, and for programs.
    pub key: Option<(String, Value)>,
    /// Number of records.
    pub records: u64,
    /// The summaries of the fields that are shown.
    pub fields: Vec<&'a Summary>,
}

impl Shown<'_> {
    /// The rows of a table, ordered by field and then by group. With `--by`, the second cell is the group.
    pub fn rows(&self, of: impl Fn(&Summary) -> Vec<TableRow>) -> Vec<TableRow> {
        let nfields = self.groups.first().map_or(0, |group| group.fields.len());
        let of_group = |(group, field): (&Group, usize)| {
            let mut rows = of(group.fields[field]);
            if let Some((text, _)) = &group.key {
                rows.iter_mut().for_each(|row| row.cells.insert(1, text.clone()));
                let histograms = rows.iter_mut().filter_map(|row| row.histogram.as_mut());
                histograms.for_each(|histogram| histogram.title = format!("{}, {text}", histogram.title));
            }
            rows
        };
        (0..nfields).flat_map(|field| self.groups.iter().map(move |group| (group, field))).flat_map(of_group).collect()
    }

    /// The header of a table.
    pub fn head<'b>(&'b self, names: &[&'b str]) -> Vec<&'b str> {
        let mut head = names.to_vec();
        if let Some(by) = &self.by {
            head.insert(1, by);
        }
        head
    }

    /// `4 records`
    pub fn title(&self) -> String {
        records(self.records)
    }
}

/// `4 records`
pub fn records(n: u64) -> String {
    format!("{} {}", super::chart::grouped(n), if n == 1 { "record" } else { "records" })
}

/// The cells of a comparison: field, compared quantity, both distances, remarks.
pub fn drift_cells(row: &DriftRow, max: Option<f64>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(max) = max.filter(|max| row.distance() > *max) {
        remarks.push(format!("above {max}"));
    }
    let (mut js, mut linf) = (String::new(), String::new());
    match &row.found {
        Comparison::New => remarks.push("new field".to_owned()),
        Comparison::Vanished => remarks.push("missing field".to_owned()),
        Comparison::Retyped(old, new) => remarks.push(format!("was {old}, is {new}")),
        Comparison::Distance { js: a, linf: b, means, new, vanished } => {
            (js, linf) = (digits(*a, 3), digits(*b, 3));
            if let Some((old, new)) = means.map(|(old, new)| (digits(old, 4), digits(new, 4))).filter(|(old, new)| old != new) {
                remarks.push(format!("mean {new}, was {old}"));
            }
            for (what, (named, n)) in [("new", new), ("missing", vanished)] {
                if *n > 0 {
                    let more = if *n > named.len() { format!(" and {} more", n - named.len()) } else { String::new() };
                    remarks.push(format!("{what} {}{more}", named.join(" ")));
                }
            }
        }
    }
    vec![row.field.clone(), row.of.clone(), js, linf, remarks.join("; ")]
}
