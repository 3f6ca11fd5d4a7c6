//! Decodes a block of lines into columns.

use super::cut::{Block, Piece, records};
use super::labels::Labels;
use super::line::{Line, Number, ParseError};
use super::names::{FEATURES, INDEX_BASE, LABEL, QID, declares};
use crate::chunk::{Decoded, Fault, Origin, Rows};
use crate::error::{Error, Kind, Message, Result, mismatch};
use crate::formats::columnar::adapt::{Columns, DecodedRows};
use crate::formats::format::Request;
use crate::formats::matrix::rows::SparseRows;
use crate::hint::{Hint, SKIP};
use crate::schema::{DType, Dim, Field, Schema, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{Float64Array, Int64Array};
use arrow_buffer::NullBuffer;
use std::sync::Arc;

/// Why a line is refused.
struct Refusal {
    /// [`Kind::Widened`] if inference has not seen such a line.
    kind: Kind,
    error: ParseError,
    help: Hint,
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Refusal {
        Refusal { kind: Kind::Data, error, help: SKIP }
    }
}

impl Refusal {
    /// The whole line is refused.
    fn of_line(kind: Kind, message: Message, help: impl Into<Hint>) -> Refusal {
        Refusal { kind, error: ParseError { at: 0, message }, help: help.into() }
    }
}

/// How lines become records of a schema.
pub struct Decoder {
    columns: Columns,
    fields: Vec<Field>,
    base: i64,
    /// The number of features; `None` if it differs by record.
    n: Option<i64>,
    /// Whether `--schema` declares the number of features.
    has_declared_features: bool,
    /// Whether `--schema` declares the labels.
    has_declared_label: bool,
    /// Whether `--index-base` gives the index of the first feature.
    has_given_base: bool,
    dtype: DType,
    /// The dtype of labels.
    label: DType,
    /// Whether a record has a list of labels instead of a single one.
    has_label_lists: bool,
    /// Whether `qid:N` would be lost without notice: it is wanted, but the schema has no field for it.
    misses_qid: bool,
    sums: bool,
    skips: bool,
    max_record_bytes: u64,
}

impl Decoder {
    /// # Errors
    /// `--schema` requests something that these lines do not contain.
    pub fn try_new(schema: &Schema, request: &Request) -> Result<Decoder> {
        let named = |name: &str| schema.fields.iter().find(|f| f.source_name() == name);
        let features = named(FEATURES).map_or_else(|| Type::sparse(DType::Float32, vec![Dim::UNIFORM]), |f| f.ty.clone());
        let base = request.options.index_base.or_else(|| schema.facts.metadata.get(INDEX_BASE)?.parse().ok()).unwrap_or(1);
        let dtype = match features.dtype() {
            Some(DType::Float64) => DType::Float64,
            Some(dtype) if dtype.is_integer() => DType::Int64,
            _ => DType::Float32,
        };
        let n = match features.dims.first().map(|dim| dim.size) {
            Some(Size::Known(n)) => Some(i64::try_from(n).map_err(|_| Error::usage(format!("a sparse vector cannot have {n} features")))?),
            _ => None,
        };
        let has_label_lists = named(LABEL).is_some_and(|f| !f.ty.dims.is_empty());
        let labels = if has_label_lists { vec![Dim::UNIFORM] } else { Vec::new() };
        let label = named(LABEL).and_then(|f| f.ty.dtype()).cloned().filter(DType::is_number).unwrap_or(DType::Float64);
        let natural = vec![
            Field::new(LABEL, Type::tensor(Labels::natural(&label), labels)),
            Field::new(QID, Type::tensor(DType::Int64, Vec::new()).with_optional(named(QID).is_none_or(|f| f.ty.optional))),
            Field::new(FEATURES, Type::sparse(dtype.clone(), vec![n.map_or(Dim::UNIFORM, |n| Dim::known(n as u64))])),
        ];
        Ok(Decoder {
            columns: Columns::plan(&natural, schema, request)?,
            fields: natural,
            base,
            n,
            has_declared_features: declares(&request.declared, FEATURES),
            has_declared_label: declares(&request.declared, LABEL),
            has_given_base: request.options.index_base.is_some(),
            dtype,
            label,
            has_label_lists,
            misses_qid: named(QID).is_none() && request.wanted.includes(QID) && !request.dropped.includes(QID),
            sums: request.options.sum_duplicates,
            skips: request.options.on_error.skips(),
            max_record_bytes: request.options.max_record_bytes,
        })
    }

    /// # Errors
    /// An index exceeds those observed during inference.
    pub fn decode(&self, piece: Piece) -> Result<Decoded> {
        match piece {
            Piece::Block(block) => match self.dtype {
                DType::Float64 => self.block::<f64>(&block),
                DType::Int64 => self.block::<i64>(&block),
                _ => self.block::<f32>(&block),
            },
            Piece::TooLong(error, nbytes) => {
                let error = if self.skips { error } else { error.help(SKIP) };
                let faults = vec![Fault { error, length: nbytes, raw: None, kept: false }];
                Ok(Decoded { chunk: self.columns.empty(Origin::default())?, faults, nbytes, offsets: Vec::new() })
            }
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.columns.roots().iter().any(|root| self.fields.get(*root).is_some_and(|f| f.name == name))
    }

    fn block<V: Number>(&self, block: &Block) -> Result<Decoded> {
        let mut lines = Columnar::<V>::new(self);
        let (mut faults, mut rows, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        let limit = usize::try_from(block.limit).unwrap_or(usize::MAX);
        for (index, (number, start, line)) in records(&block.lines.bytes).take(limit).enumerate() {
            let record = block.first_record + index as u64;
            let Err(Refusal { kind, error: found, help }) = lines.push(line) else {
                rows.push(record);
                offsets.push(block.lines.byte + start as u64);
                continue;
            };
            lines.undo();
            let error = Error::new(kind, found.message)
                .in_input(block.input.clone())
                .locate(|at| {
                    at.records = Some((record, record));
                    at.line = Some(block.lines.first_line + number as u64);
                    at.column = Some(found.at as u64 + 1);
                    at.byte = Some(block.lines.byte + start as u64);
                })
                .help(help);
            if kind == Kind::Widened {
                return Err(error);
            }
            faults.push(Fault { error, length: line.len() as u64 + 1, raw: Some(line.to_vec()), kept: false });
            if !self.skips {
                break;
            }
        }
        let nrows = rows.len();
        let rows = if faults.is_empty() { Rows::From(block.first_record) } else { Rows::Listed(rows.into()) };
        let origin = Origin::new(block.input.clone(), rows);
        let tensors = lines.finish(self.n)?;
        let roots = self.columns.roots().to_vec();
        let read = |place: usize| {
            let number = roots.get(place).copied().unwrap_or_default();
            tensors.get(number).cloned().ok_or_else(|| Error::internal("a column is missing"))
        };
        self.columns.decoded(DecodedRows { nrows, origin, nbytes: block.lines.bytes.len() as u64, offsets, faults }, read)
    }

    /// Refuses an index that is out of range.
    #[cold]
    fn outside(&self, index: i64, at: usize) -> Refusal {
        let base = self.base;
        let (message, is_certain) = if index < base {
            let message = format!("index {index} comes before the first feature, {base}: see --index-base");
            (message, self.has_given_base || base == 0)
        } else {
            let last = (self.n.unwrap_or(i64::MAX) - 1).saturating_add(base);
            (format!("index {index} is beyond the last feature, {last}"), self.has_declared_features)
        };
        let (kind, help) = match is_certain {
            true => (Kind::Data, SKIP),
            false => (Kind::Widened, "declare the number of features: --schema 'features: sparse<float32>[N]'".into()),
        };
        Refusal { kind, error: ParseError { at, message: message.into() }, help }
    }
}

/// The columns of some lines under construction.
struct Columnar<'a, V> {
    decoder: &'a Decoder,
    labels: Labels,
    label_splits: Vec<i64>,
    qids: Vec<i64>,
    has_qid: Vec<bool>,
    /// Whether features are read; their values may not fit the dtype otherwise.
    wants_features: bool,
    features: SparseRows<V>,
}

impl<'a, V: Number> Columnar<'a, V> {
    fn new(decoder: &'a Decoder) -> Columnar<'a, V> {
        Columnar {
            decoder,
            labels: Labels::new(&decoder.label, decoder.wants(LABEL)),
            label_splits: vec![0],
            qids: Vec::new(),
            has_qid: Vec::new(),
            wants_features: decoder.wants(FEATURES),
            features: SparseRows::new(decoder.sums),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let decoder = self.decoder;
        if bytes.len() as u64 > decoder.max_record_bytes {
            let message =
                format!("the line has {} bytes, more than the --max-record-bytes limit of {}", bytes.len(), decoder.max_record_bytes);
            return Err(ParseError { at: 0, message: message.into() }.into());
        }
        let mut line = Line::new(bytes);
        let labels = &mut self.labels;
        line.labels(|label| labels.push(&label))?;
        let qid = line.qid()?;
        let last = decoder.n.map_or(i64::MAX - 1, |n| n - 1);
        loop {
            let at = line.position();
            let Some(index) = line.index()? else { break };
            if !self.wants_features {
                line.skip_value();
                continue;
            }
            let value = line.value::<V>()?;
            let own = index.wrapping_sub(decoder.base);
            if own < 0 || own > last {
                // Inference has not seen a line that is invalid further on.
                while line.index()?.is_some() {
                    line.value::<V>()?;
                }
                return Err(decoder.outside(index, at));
            }
            self.features.push(own, value);
        }
        // Inference has not seen a line that is invalid further on.
        if qid.is_some() && decoder.misses_qid {
            let message = "this line has qid:N, but the schema has no field named `qid`".into();
            return Err(Refusal::of_line(Kind::Widened, message, "add the field: --schema 'qid: optional int64; ...'"));
        }
        let nlabels = self.labels.len() - self.label_splits.last().map_or(0, |end| *end as usize);
        // Only if labels are read.
        if !decoder.has_label_lists && nlabels != 1 && decoder.wants(LABEL) {
            let message = mismatch("one label", nlabels);
            return Err(match decoder.has_declared_label {
                true => ParseError { at: 0, message }.into(),
                false => Refusal::of_line(Kind::Widened, message, "declare lists of labels: --schema 'label: float64[?]'"),
            });
        }
        if qid.is_none() && decoder.fields.iter().any(|f| f.name == QID && !f.ty.optional) && decoder.wants(QID) {
            return Err(ParseError { at: 0, message: "expected qid:N, as in other lines".into() }.into());
        }
        self.features.end_row().map_err(|e| ParseError { at: 0, message: e.into_message() })?;
        self.label_splits.push(self.labels.len() as i64);
        self.qids.push(qid.unwrap_or(0));
        self.has_qid.push(qid.is_some());
        Ok(())
    }

    /// Discards a partially parsed line.
    fn undo(&mut self) {
        self.labels.truncate(self.label_splits.last().map_or(0, |end| *end as usize));
        self.features.drop_row();
    }

    /// Labels, query numbers, features.
    fn finish(self, n: Option<i64>) -> Result<Vec<Tensor>> {
        let nrows = self.features.nrows();
        let wants_label = self.decoder.wants(LABEL);
        let labels = match (self.decoder.has_label_lists, wants_label) {
            (true, _) => {
                let values = Tensor::Leaf(self.labels.finish());
                Tensor::list(RowPartition::from_row_splits(self.label_splits)?, values, None)?
            }
            (false, true) => Tensor::Leaf(self.labels.finish()),
            (false, false) => Tensor::Leaf(Arc::new(Float64Array::from(vec![0.0; nrows]))),
        };
        let validity = self.has_qid.iter().any(|has| !has).then(|| NullBuffer::from(self.has_qid));
        let qids = Tensor::Leaf(Arc::new(Int64Array::new(self.qids.into(), validity)));
        Ok(vec![labels, qids, self.features.finish(n)?])
    }
}
