//! Lines of CSV as columns.
//!
//! ```text
//! lines  ["1,a" ",b"]     defaults  [0 ""]     columns  [1 0] ["a" "b"]
//! ```
//!
//! Semantics: `tf.io.decode_csv`.

use super::shared::{is_text, text};
use crate::error::{Error, Result, mismatch};
use crate::expr::call::{Call, Function, as_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::NodeKind;
use crate::expr::functions::apply::with_dtype;
use crate::expr::kernels::cast::native;
use crate::expr::kernels::datum::RowError;
use crate::expr::kernels::level::record_of;
use crate::expr::kernels::printf::{parse_float, parse_integer};
use crate::expr::kernels::text::{TextBuilder, Texts};
use crate::expr::operand::{Operand, OperandKind};
use crate::printable::counted;
use crate::schema::DType;
use crate::tensor::Tensor;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[function!(
    ["io.decode_csv", "decode_csv"],
    "records|x, record_defaults, field_delim=\",\", use_quote_delim=True, na_value=\"\", select_cols=None",
    "The columns of lines of CSV. record_defaults has a value for each column, which gives its dtype (int32, int64, float32, float64 or \
     string) and replaces fields that are empty or na_value; [] or an empty constant marks a column that must not have empty fields.",
    [
        ("io.decode_csv([\"1,a\", \",b\"], [0, \"\"])[0]", "[1, 0]"),
        ("io.decode_csv([\"1;a\", \"2;b\"], [0, \"\"], field_delim=\";\")[1]", "[\"a\", \"b\"]")
    ],
    decode_csv
)];

/// How lines are cut into fields.
struct Lines {
    delimiter: u8,
    quotes: bool,
    /// The columns to keep, in increasing order.
    selected: Option<Vec<usize>>,
}

impl Lines {
    /// Appends the fields of a line that are kept to `out`, and returns their number. The rules of quotes are TensorFlow's.
    fn fields(&self, line: &[u8], out: &mut TextBuilder) -> Result<usize> {
        let (mut at, mut column, mut kept) = (0, 0, 0);
        let wanted = |column: usize, kept: usize| self.selected.as_ref().is_none_or(|all| all.get(kept) == Some(&column));
        let all_kept = |kept: usize| self.selected.as_ref().is_some_and(|all| all.len() == kept);
        while at < line.len() {
            if matches!(line[at], b'\n' | b'\r') {
                at += 1;
                continue;
            }
            let start = out.bytes.len();
            at = match self.quotes && line[at] == b'"' {
                true => self.quoted(line, at + 1, &mut out.bytes)?,
                false => self.plain(line, at, &mut out.bytes)?,
            };
            if wanted(column, kept) {
                out.end();
                kept += 1;
            } else {
                out.bytes.truncate(start);
            }
            column += 1;
            if all_kept(kept) {
                return Ok(kept);
            }
        }
        if line.last() == Some(&self.delimiter) && wanted(column, kept) {
            out.end();
            kept += 1;
        }
        Ok(kept)
    }

    /// Appends the field without quotes that starts at `at`, and returns the start of the next one.
    fn plain(&self, line: &[u8], at: usize, out: &mut Vec<u8>) -> Result<usize> {
        let rest = &line[at..];
        let end = rest.iter().position(|b| *b == self.delimiter).unwrap_or(rest.len());
        let field = &rest[..end];
        if field.iter().any(|b| matches!(b, b'\n' | b'\r') || (self.quotes && *b == b'"')) {
            return Err(Error::data("a field without quotes contains a quote or a line break"));
        }
        out.extend_from_slice(field);
        Ok(at + end + 1)
    }

    /// Appends the field whose text starts at `at`, after a quote, and returns the start of the next one.
    fn quoted(&self, line: &[u8], mut at: usize, out: &mut Vec<u8>) -> Result<usize> {
        loop {
            match (line.get(at), line.get(at + 1)) {
                (Some(b'"'), None) => return Ok(at + 2),
                (Some(b'"'), Some(next)) if *next == self.delimiter => return Ok(at + 2),
                (Some(b'"'), Some(b'"')) => {
                    out.push(b'"');
                    at += 2;
                }
                (Some(b'"'), _) => return Err(Error::data("a quote inside a field is not doubled")),
                (Some(byte), _) => {
                    out.push(*byte);
                    at += 1;
                }
                (None, _) => return Err(Error::data("the last field has no closing quote")),
            }
        }
    }
}

/// A column: its dtype, and an array of its default, which is empty if a field is required.
struct Column {
    dtype: DType,
    default: ArrayRef,
}

impl Column {
    fn of(call: &Call, item: &Operand) -> ExprResult<Column> {
        let expected = "an int32, int64, float32, float64 or string that is known before the first record, or [] for a required field";
        let wrong = || {
            let message = format!("{}: each of record_defaults must be {expected}, not {}", call.name, item.describe());
            ExprError::at(item.span.clone(), message)
        };
        let node = as_node(item, None)?;
        let (ty, NodeKind::Constant(tensor)) = (&node.ty, &node.kind) else { return Err(wrong()) };
        let dtype = match ty.dtype() {
            Some(DType::Null) => DType::Float32,
            Some(dtype) => dtype.clone(),
            None => return Err(wrong()),
        };
        let is_known = is_text(&dtype) || matches!(dtype, DType::Int32 | DType::Int64 | DType::Float32 | DType::Float64);
        if ty.rank() > 1 || !is_known {
            return Err(wrong());
        }
        let (_, flat) = tensor.levels(ty.rank()).map_err(|_| wrong())?;
        let default = flat.as_leaf().map_err(|_| wrong())?.clone();
        if default.len() > 1 {
            return Err(wrong());
        }
        Ok(Column { dtype, default })
    }

    /// The values of fields number `column`, which `texts` holds at every `step`th place; `is_missing` tells empty fields.
    fn values(
        &self,
        texts: Texts,
        (column, step): (usize, usize),
        is_missing: &dyn Fn(&[u8]) -> bool,
        to: &DType,
    ) -> Result<ArrayRef, RowError> {
        let fields = (0..texts.len() / step).map(|row| (row, texts.get(row * step + column)));
        let required = |row: usize| (row, Error::data(format!("field {column} is empty, but it is required")));
        match self.dtype {
            DType::Int32 => {
                self.numbers::<Int32Type>(fields, is_missing, required, |t| parse_integer(t).and_then(|n| i32::try_from(n).ok()))
            }
            DType::Int64 => {
                self.numbers::<Int64Type>(fields, is_missing, required, |t| parse_integer(t).and_then(|n| i64::try_from(n).ok()))
            }
            DType::Float32 => {
                self.numbers::<Float32Type>(fields, is_missing, required, |t| parse_float(t, |s| s.parse().ok(), |x| x as f32))
            }
            DType::Float64 => self.numbers::<Float64Type>(fields, is_missing, required, |t| parse_float(t, |s| s.parse().ok(), |x| x)),
            _ => {
                let default = Texts::of(&self.default).map_err(|e| (0, e))?;
                let default = (default.len() == 1).then(|| default.get(0));
                let mut out = TextBuilder::with_capacity(texts.len() / step, 0);
                for (row, field) in fields {
                    out.push(if is_missing(field) { default.ok_or_else(|| required(row))? } else { field });
                }
                out.finish(to).map_err(|e| (0, e))
            }
        }
    }

    fn numbers<'a, T: ArrowPrimitiveType>(
        &self,
        fields: impl Iterator<Item = (usize, &'a [u8])>,
        is_missing: &dyn Fn(&[u8]) -> bool,
        required: impl Fn(usize) -> RowError,
        parse: impl Fn(&[u8]) -> Option<T::Native>,
    ) -> Result<ArrayRef, RowError> {
        let default = native::<T>(&self.default).map_err(|e| (0, e))?.first().copied();
        let number = |(row, field): (usize, &[u8])| {
            if is_missing(field) {
                return default.ok_or_else(|| required(row));
            }
            parse(field).ok_or_else(|| {
                let shown: String = String::from_utf8_lossy(field).chars().take(40).collect();
                (row, Error::data(format!("the field {shown:?} is not a valid {}", self.dtype)))
            })
        };
        let values = fields.map(number).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
    }
}

fn decode_csv(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let columns = call.list(1)?.iter().map(|item| Column::of(call, item)).collect::<ExprResult<Vec<_>>>()?;
    if columns.is_empty() {
        return Err(call.error(format!("{}: record_defaults must have a value for each column", call.name)));
    }
    let delimiter = call.string(2)?.unwrap_or_else(|| ",".to_owned());
    let &[delimiter] = delimiter.as_bytes() else {
        return Err(ExprError::at(call.operand(2)?.span.clone(), format!("{}: field_delim must be one ASCII character", call.name)));
    };
    let (quotes, missing) = (call.flag(3, true)?, call.string(4)?.unwrap_or_default());
    let selected = call.ints(5)?.map(|all| all.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>());
    let selected = match selected {
        None => None,
        Some(Ok(all)) if all.len() == columns.len() && all.windows(2).all(|w| w[0] < w[1]) => Some(all),
        Some(_) => {
            let message = format!("{}: select_cols must be increasing numbers of columns, one for each of record_defaults", call.name);
            return Err(ExprError::at(call.operand(5)?.span.clone(), message));
        }
    };
    let lines = Lines { delimiter, quotes, selected };
    let text_dtype = x.dtype()?.clone();
    let dtypes: Vec<DType> =
        columns.iter().map(|column| if is_text(&column.dtype) { text_dtype.clone() } else { column.dtype.clone() }).collect();
    let types = dtypes.iter().map(|dtype| with_dtype(&x.ty, dtype.clone())).collect();
    call.several(types, move |args| {
        let tensor = x.of(args)?;
        let (_, below) = tensor.levels(x.rank())?;
        let at_record = |(row, e): RowError| e.at_row(record_of(&tensor, x.rank(), row));
        let texts = Texts::of(below.as_leaf()?)?;
        let mut fields = TextBuilder::with_capacity(texts.len() * columns.len(), texts.nbytes());
        for (row, line) in texts.iter().enumerate() {
            let found = lines.fields(line, &mut fields).map_err(|e| at_record((row, e)))?;
            if found != columns.len() {
                let error = Error::data(mismatch(counted(columns.len() as u64, "field"), found));
                return Err(at_record((row, error)));
            }
        }
        let fields = fields.finish(&DType::Bytes)?;
        let fields = Texts::of(&fields)?;
        let is_missing = |field: &[u8]| field.is_empty() || field == missing.as_bytes();
        let values = |(i, column): (usize, &Column)| {
            let values = column.values(fields, (i, columns.len()), &is_missing, &dtypes[i]).map_err(at_record)?;
            tensor.map_below(x.rank(), &mut |_| Ok(Tensor::Leaf(values.clone())))
        };
        columns.iter().enumerate().map(values).collect::<Result<Vec<_>>>()
    })
}
