//! Observations of lines: the largest index, whether an index is 0, the number of labels, query numbers, and whether values
//! need float64.

use super::cut::{Block, Piece, records};
use super::line::{Line, ParseError};
use super::names::{FEATURES, INDEX_BASE, LABEL, QID, declares};
use crate::error::{Error, Result};
use crate::formats::format::{Observed, Request};
use crate::options::OnError;
use crate::printable::{counted, is_or_are};
use crate::schema::{DType, Dim, Field, Schema, Type};
use std::any::Any;

/// Observations of some records.
#[derive(Debug)]
pub struct Seen {
    smallest_index: i64,
    largest_index: Option<i64>,
    fewest_labels: usize,
    most_labels: usize,
    /// The number of records, and of those with a query number.
    records: u64,
    with_qid: u64,
    /// Whether a value is a whole number that float32 does not represent.
    is_wide: bool,
    /// The number of lines that do not parse.
    unreadable: u64,
}

impl Seen {
    fn none() -> Seen {
        Seen {
            smallest_index: i64::MAX,
            largest_index: None,
            fewest_labels: usize::MAX,
            most_labels: 0,
            records: 0,
            with_qid: 0,
            is_wide: false,
            unreadable: 0,
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), ParseError> {
        let mut line = Line::new(line);
        let mut nlabels = 0;
        line.labels(|_| {
            nlabels += 1;
            Ok(())
        })?;
        let qid = line.qid()?;
        let (mut smallest, mut largest, mut is_wide) = (i64::MAX, -1, false);
        while let Some(index) = line.index()? {
            smallest = smallest.min(index);
            largest = largest.max(index);
            is_wide |= line.skip_value();
        }
        self.take(&Seen {
            smallest_index: smallest,
            largest_index: (largest >= 0).then_some(largest),
            fewest_labels: nlabels,
            most_labels: nlabels,
            records: 1,
            with_qid: u64::from(qid.is_some()),
            is_wide,
            unreadable: 0,
        });
        Ok(())
    }

    fn take(&mut self, other: &Seen) {
        self.smallest_index = self.smallest_index.min(other.smallest_index);
        self.largest_index = self.largest_index.max(other.largest_index);
        self.fewest_labels = self.fewest_labels.min(other.fewest_labels);
        self.most_labels = self.most_labels.max(other.most_labels);
        self.records += other.records;
        self.with_qid += other.with_qid;
        self.is_wide |= other.is_wide;
        self.unreadable += other.unreadable;
    }
}

/// Observes the records of a piece. Lines that do not parse are ignored here; reading them reports the errors.
pub fn observe(piece: &Piece) -> Seen {
    let mut seen = Seen::none();
    if let Piece::Block(Block { lines, limit, .. }) = piece {
        for (_, _, line) in records(&lines.bytes).take(usize::try_from(*limit).unwrap_or(usize::MAX)) {
            seen.unreadable += u64::from(seen.line(line).is_err());
        }
    }
    seen
}

fn lines_are(n: u64) -> String {
    format!("{} {}", counted(n, "line"), is_or_are(n as usize))
}

impl Observed for Seen {
    fn merge(&mut self, other: Box<dyn Observed>) {
        if let Ok(other) = other.into_any().downcast::<Seen>() {
            self.take(&other);
        }
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        if self.unreadable > 0 && request.options.on_error == OnError::Fail {
            let text = format!("libsvm: {} not valid: reading will fail; see --on-error", lines_are(self.unreadable));
            request.options.hints.add(text, request.options.strict)?;
        }
        let base = request.options.index_base.unwrap_or(i64::from(self.smallest_index > 0));
        let n = match self.largest_index {
            None => 0,
            Some(last) => {
                let n = last.checked_sub(base).and_then(|n| n.checked_add(1));
                n.ok_or_else(|| Error::data(format!("the feature index {last} is too large")))?.max(0) as u64
            }
        };
        let mut fields = Vec::new();
        if self.most_labels > 0 {
            let dims = if (self.fewest_labels, self.most_labels) == (1, 1) { Vec::new() } else { vec![Dim::UNIFORM] };
            fields.push(Field::new(LABEL, Type::tensor(DType::Float64, dims)));
        }
        if self.most_labels == 0 && self.records > 0 && request.wanted.includes(LABEL) && !declares(&request.declared, LABEL) {
            let text = "libsvm: no line has a label; weighted labels (label:weight, as in XGBoost) would be read as features";
            request.options.notices.add(text.to_owned(), request.options.strict)?;
        }
        if self.with_qid > 0 {
            fields.push(Field::new(QID, Type::tensor(DType::Int64, Vec::new()).with_optional(self.with_qid < self.records)));
        }
        let dtype = if self.is_wide { DType::Float64 } else { DType::Float32 };
        fields.push(Field::new(FEATURES, Type::sparse(dtype, vec![Dim::known(n)])));
        let mut schema = Schema::new(fields);
        schema.facts.metadata.insert(INDEX_BASE, base.to_string());
        Ok(schema)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
