//! JSON in other containers: values that are fields of records, parsed like those of JSON Lines.

use super::jsonl::{self, Block, Framing, Piece};
use crate::chunk::Decoded;
use crate::error::{Error, Result};
use crate::formats::format::{Observed, Request};
use crate::json::cursor::Cursor;
use crate::json::write::Encoder;
use crate::path::FieldPath;
use crate::schema::{Field, Schema};
use crate::tensor::Tensor;
use std::sync::{Arc, OnceLock};

/// The values of some records, as the text of JSON objects.
#[derive(Default)]
pub struct Members {
    bytes: Vec<u8>,
    ranges: Vec<(usize, usize)>,
    is_first: bool,
}

/// Whether a text is one JSON value.
pub fn is_value(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text, 0, false);
    cursor.space();
    let is_value = std::str::from_utf8(text).is_ok() && cursor.skip_value().is_ok();
    cursor.space();
    is_value && cursor.pos() == text.len()
}

impl Members {
    /// Begins a record.
    pub fn begin(&mut self) {
        self.ranges.push((self.bytes.len(), 0));
        self.bytes.push(b'{');
        self.is_first = true;
    }

    /// Adds a field to the current record, as the text of one value; see [`is_value`].
    pub fn push(&mut self, name: &str, value: &[u8]) {
        if !std::mem::take(&mut self.is_first) {
            self.bytes.push(b',');
        }
        self.bytes.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
        self.bytes.push(b':');
        self.bytes.extend_from_slice(value);
    }

    /// Ends the record.
    pub fn end(&mut self) {
        self.bytes.push(b'}');
        if let Some(last) = self.ranges.last_mut() {
            last.1 = self.bytes.len();
        }
    }

    fn into_piece(self, input: &Arc<str>, first_record: u64) -> Piece {
        Piece::Block(Block {
            input: input.clone(),
            nrecords: self.ranges.len(),
            framing: Framing::Values { ranges: self.ranges, array: false },
            bytes: self.bytes.into(),
            first_record,
            first_line: 0,
            first_column: 0,
            offset: 0,
            ends: OnceLock::new(),
        })
    }

    /// Observes their types.
    ///
    /// # Errors
    /// The same as for JSON Lines.
    pub fn observe(self, input: &Arc<str>, first_record: u64, request: &Request) -> Result<Box<dyn Observed>> {
        Ok(Box::new(jsonl::observe(self.into_piece(input, first_record), request).map_err(located)?))
    }

    /// Decodes them to columns.
    ///
    /// # Errors
    /// A wider schema is needed.
    pub fn decode(self, input: &Arc<str>, first_record: u64, schema: &Schema, request: &Request) -> Result<Decoded> {
        let mut decoded = jsonl::decode(self.into_piece(input, first_record), schema, request).map_err(located)?;
        for fault in &mut decoded.faults {
            fault.error = located(fault.error.clone());
        }
        Ok(decoded)
    }
}

/// Positions in the text are meaningless to the user, so errors keep only the record.
fn located(error: Error) -> Error {
    error.locate(|at| (at.line, at.column, at.byte) = (None, None, None))
}

/// The values of a column as JSON text.
pub struct JsonTexts<'a>(Encoder<'a>);

impl<'a> JsonTexts<'a> {
    /// # Errors
    /// JSON cannot represent the type.
    pub fn of(column: &'a Tensor, field: &Field, omit_null: bool) -> Result<JsonTexts<'a>> {
        Ok(JsonTexts(Encoder::of_field(column, field, &FieldPath::name(&field.name), omit_null)?))
    }

    /// Appends the value of a row.
    ///
    /// # Errors
    /// JSON cannot represent a value.
    pub fn put(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.write(row, out)
    }
}

#[cfg(test)]
mod tests {
    use super::is_value;

    #[test]
    fn a_text_is_one_value() {
        for (text, expected) in [
            ("1", true),
            (" {\"a\": [1,\n 2]} \n", true),
            ("NaN", true),
            ("\"x\"", true),
            ("1}, {\"b\": 2", false),
            ("1, \"b\": 2", false),
            ("1 2", false),
            ("", false),
            ("{", false),
            ("\"", false),
        ] {
            assert_eq!(is_value(text.as_bytes()), expected, "{text}");
        }
        assert!(!is_value(b"\"\xff\""));
    }
}
