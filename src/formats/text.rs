//! Text: each line is a record with a single field, `text`.
//!
//! Lines end with LF or CR LF, which is not part of the record; a byte order mark is skipped. Lines are UTF-8, or
//! arbitrary bytes with `--schema 'text: bytes'`.

use crate::chunk::{Chunk, Decoded, Fault, Origin, Rows};
use crate::error::{Error, Result};
use crate::formats::format::{Encode, Encoded, Format, Inference, Reader, Request, Task, Tasks, Writer};
use crate::formats::lines;
use crate::hint::{Hint, SKIP};
use crate::io::Input;
use crate::io::line_ranges::{Counts, LineRange, LineRanges, RangeLines};
use crate::io::lines::{Blocks, LineBlock, Lines, LongLine};
use crate::options::Options;
use crate::path::{in_expression, quoted};
use crate::printable::BYTE_ORDER_MARK;
use crate::schema::filling::null_refused;
use crate::schema::{DType, Element, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeBinaryArray, LargeStringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

/// The name of the field, and the only valid `from` source.
const FIELD: &str = "text";

/// `text`.
pub struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn summary(&self) -> &'static str {
        "plain text: each line is a record {text: string}"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["txt", "text"]
    }

    fn reader(&self, input: Arc<Input>, options: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(LineReader { input, options: options.clone() })))
    }

    fn writer(&self, schema: &Arc<Schema>, _: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(check_writable(schema).map(|field| lines::writer(Arc::new(LineEncoder { field }), Vec::new())))
    }

    fn has_offsets(&self) -> bool {
        true
    }

    fn may_be_empty(&self) -> bool {
        true
    }

    fn is_text(&self) -> bool {
        true
    }
}

struct LineReader {
    input: Arc<Input>,
    options: Options,
}

impl Reader for LineReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let default = || Field::new(FIELD, Type::tensor(DType::String, Vec::new()));
        let fields = &request.declared.fields;
        for field in fields {
            let source = field.source_name();
            let is_scalar = matches!(field.ty.element, Element::Value(DType::String | DType::Bytes)) && field.ty.dims.is_empty();
            if source != FIELD || !is_scalar || fields.len() > 1 {
                return Err(Error::usage(format!("--schema says {}: {}, but text has one field, text: string", field.name, field.ty))
                    .help("text: bytes reads lines that are not valid UTF-8; map and cast turn it into other fields"));
            }
        }
        Ok(Inference::Known(Schema::new(vec![fields.first().cloned().unwrap_or_else(default)])))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let decoder = Arc::new(Decoder {
            name: self.input.name().clone(),
            field: schema.fields.first().map(|f| (f.name.clone(), f.ty.dtype() == Some(&DType::Bytes))),
            max_line_bytes: self.options.max_record_bytes,
            stops: !self.options.on_error.skips(),
        });
        if request.records.is_none()
            && let Some(ranges) = LineRanges::open(&self.input, &self.options)?
        {
            return Ok(Box::new(ranges.map(move |range| {
                let decoder = decoder.clone();
                let task: Task<Decoded> = Box::new(move || decoder.range(range));
                Ok(task)
            })));
        }
        let mut remaining = request.records.unwrap_or(u64::MAX);
        let max_lines = usize::try_from(remaining).unwrap_or(usize::MAX);
        let blocks = Blocks::open(&self.input, &self.options)?.with_max_lines(max_lines);
        let tasks = blocks.map_while(move |cut| {
            if remaining == 0 {
                return None;
            }
            let decoder = decoder.clone();
            Some(cut.map(|cut| -> Task<Decoded> {
                match cut {
                    LineBlock::Lines(lines) => {
                        let nlines = lines.nlines.min(usize::try_from(remaining).unwrap_or(usize::MAX));
                        remaining -= nlines as u64;
                        Box::new(move || decoder.decode(&lines, nlines))
                    }
                    LineBlock::TooLong(long) => Box::new(move || decoder.refuse(&long)),
                }
            }))
        });
        Ok(Box::new(tasks))
    }
}

/// Builds columns of lines.
struct Decoder {
    name: Arc<str>,
    /// The field name, and whether it is bytes; `None` if no field is required.
    field: Option<(String, bool)>,
    max_line_bytes: u64,
    /// Whether the first bad line ends the run.
    stops: bool,
}

impl Decoder {
    /// The lines of a range.
    fn range(&self, range: LineRange) -> Result<Decoded> {
        let RangeLines { lines, long, .. } = range.read(|bytes, _| Counts::of_lines(bytes))?;
        let mut decoded = self.decode(&lines, lines.nlines)?;
        if let Some(long) = long {
            decoded.append_bad(self.refuse(&long)?);
        }
        Ok(decoded)
    }

    /// The first `nlines` of a block.
    fn decode(&self, lines: &Lines, nlines: usize) -> Result<Decoded> {
        let nbytes = lines.bytes.len() as u64;
        let Some((field, is_bytes)) = &self.field else {
            let origin = Origin::consecutive(self.name.clone(), lines.first_line);
            let ends = memchr::memchr_iter(b'\n', &lines.bytes).map(|end| lines.byte + end as u64 + 1);
            let offsets = std::iter::once(lines.byte).chain(ends).take(nlines).collect();
            return Ok(Decoded { chunk: Chunk::try_new(nlines, Vec::new(), origin)?, faults: Vec::new(), nbytes, offsets });
        };
        let bytes = match lines.bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if lines.byte == 0 => rest,
            _ => lines.bytes.as_slice(),
        };
        let is_valid = *is_bytes || simdutf8::basic::from_utf8(bytes).is_ok();
        let (mut values, mut offsets) = (Vec::with_capacity(bytes.len()), Vec::with_capacity(nlines + 1));
        offsets.push(0i64);
        let (mut records, mut faults, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        let mut byte = lines.byte + (lines.bytes.len() - bytes.len()) as u64;
        for (number, line) in (lines.first_line..).zip(bytes.split_inclusive(|b| *b == b'\n')).take(nlines) {
            let text = without_end(line);
            if let Some(error) = self.fault(text, is_valid) {
                let error = self.locate(error, number, byte).in_field(field);
                faults.push(Fault { error, length: line.len() as u64, raw: Some(text.to_vec()), kept: false });
                if self.stops {
                    break;
                }
            } else {
                values.extend_from_slice(text);
                offsets.push(i64::try_from(values.len()).map_err(|_| Error::data("the block is too large for this machine"))?);
                records.push(number);
                starts.push(byte);
            }
            byte += line.len() as u64;
        }
        let nrows = records.len();
        let rows = if faults.is_empty() { Rows::From(lines.first_line) } else { Rows::Listed(records.into()) };
        let column = column(values, offsets, *is_bytes)?;
        let origin = Origin::new(self.name.clone(), rows);
        Ok(Decoded { chunk: Chunk::try_new(nrows, vec![Tensor::Leaf(column)], origin)?, faults, nbytes, offsets: starts })
    }

    /// The error in a line.
    fn fault(&self, line: &[u8], is_valid: bool) -> Option<Error> {
        if line.len() as u64 > self.max_line_bytes {
            return Some(self.too_long(line.len() as u64));
        }
        if is_valid {
            return None;
        }
        let invalid = std::str::from_utf8(line).err()?;
        let column = invalid.valid_up_to() as u64 + 1;
        let error = Error::data("these bytes are not valid UTF-8").help("to read them unchanged: --schema 'text: bytes'").help(SKIP);
        Some(error.locate(|at| at.column = Some(column)))
    }

    fn too_long(&self, length: u64) -> Error {
        Error::too_large(format_args!("the line has {length}"), self.max_line_bytes).help(SKIP)
    }

    fn locate(&self, error: Error, line: u64, byte: u64) -> Error {
        error.in_input(self.name.clone()).locate(|at| {
            at.records = Some((line, line));
            at.line = Some(line);
            at.byte = Some(byte);
        })
    }

    /// The fault for a skipped line.
    fn refuse(&self, long: &LongLine) -> Result<Decoded> {
        let error = self.locate(self.too_long(long.length), long.line, long.byte);
        let columns = match &self.field {
            Some((_, is_bytes)) => vec![Tensor::Leaf(column(Vec::new(), vec![0], *is_bytes)?)],
            None => Vec::new(),
        };
        let chunk = Chunk::try_new(0, columns, Origin::consecutive(self.name.clone(), long.line))?;
        let faults = vec![Fault { error, length: long.length, raw: None, kept: false }];
        Ok(Decoded { chunk, faults, nbytes: long.length, offsets: Vec::new() })
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

fn column(values: Vec<u8>, offsets: Vec<i64>, is_bytes: bool) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let values = Buffer::from_vec(values);
    let failed = |e: arrow_schema::ArrowError| Error::data(e.to_string());
    Ok(if is_bytes {
        Arc::new(LargeBinaryArray::try_new(offsets, values, None).map_err(failed)?)
    } else {
        Arc::new(LargeStringArray::try_new(offsets, values, None).map_err(failed)?)
    })
}

/// The name of the single field to write.
fn check_writable(schema: &Schema) -> Result<Field> {
    match schema.fields.as_slice() {
        [field] if field.ty.dims.is_empty() && matches!(field.ty.element, Element::Value(DType::String | DType::Bytes | DType::Json)) => {
            Ok(field.clone())
        }
        [field] => Err(Error::usage(format!("text stores one string per record, but {} is {}", field.name, field.ty)).help(
            Hint::to_write_jsonl(format!("format numbers as strings: map '{0} = strings.as_string({0})'; or ", in_expression(&field.name))),
        )),
        fields => Err(Error::usage(format!("text stores one string per record, but the records have {} fields", fields.len()))
            .help(Hint::to_write_jsonl("select the one to write, or "))),
    }
}

struct LineEncoder {
    field: Field,
}

impl Encode for LineEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let mut lines = Vec::new();
        for column in &chunk.columns {
            let array = column.as_leaf()?;
            match array.data_type() {
                DataType::LargeUtf8 => {
                    let array = array.as_string::<i64>();
                    encode_lines(&self.field, array.len(), |i| array.is_valid(i).then(|| array.value(i).as_bytes()), &mut lines)
                }
                DataType::LargeBinary => {
                    let array = array.as_binary::<i64>();
                    encode_lines(&self.field, array.len(), |i| array.is_valid(i).then(|| array.value(i)), &mut lines)
                }
                other => Err(Error::internal(format!("{other} is not text"))),
            }
            .map_err(|e| e.in_field(quoted(&self.field.name)))?;
        }
        Ok(Box::new(lines))
    }
}

fn encode_lines<'a>(field: &Field, nrows: usize, value: impl Fn(usize) -> Option<&'a [u8]>, lines: &mut Vec<u8>) -> Result<()> {
    for row in 0..nrows {
        let Some(text) = value(row) else {
            return Err(null_refused("text", field, row));
        };
        // A carriage return before the line break would be read as a part of it.
        if memchr::memchr(b'\n', text).is_some() || text.ends_with(b"\r") {
            return Err(Error::data("a value that contains a line break would be split into two lines")
                .at_row(row)
                .help(Hint::to_write_jsonl("")));
        }
        lines.extend_from_slice(text);
        lines.push(b'\n');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OnError;

    fn request(records: Option<u64>, declared: &str) -> Request {
        let declared = Arc::new(crate::schema::notation::parse(declared).unwrap());
        Request { records, ..Request::everything(declared, Arc::default()) }
    }

    /// The lines with their record numbers, and the errors, read in blocks of two lines.
    fn read(text: &[u8], request: &Request) -> (Vec<(String, u64)>, Vec<String>) {
        let options = Options { chunk_rows: Some(2), max_record_bytes: 20, on_error: OnError::Skip, ..Options::default() };
        let mut reader = Text.reader(Arc::new(Input::memory("x", text.to_vec())), &options).unwrap().unwrap();
        let Inference::Known(schema) = reader.infer(request).unwrap() else { panic!("inferred") };
        let (mut lines, mut errors) = (Vec::new(), Vec::new());
        for task in reader.read(&Arc::new(schema.clone()), request).unwrap() {
            let decoded = task.unwrap()().unwrap();
            decoded.chunk.check(&schema).unwrap();
            let array = decoded.chunk.columns[0].as_leaf().unwrap();
            for row in 0..decoded.chunk.nrows {
                let line = match array.data_type() {
                    DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
                    _ => format!("{:?}", array.as_binary::<i64>().value(row)),
                };
                lines.push((line, decoded.chunk.origin.records(row..row + 1).unwrap().0));
            }
            errors.extend(decoded.faults.iter().map(|f| f.error.to_string().lines().next().unwrap().to_owned()));
        }
        (lines, errors)
    }

    #[test]
    fn lines_are_records() {
        type Case = (&'static [u8], Option<u64>, &'static str, &'static [(&'static str, u64)], &'static [&'static str]);
        let cases: &[Case] = &[
            (b"", None, "", &[], &[]),
            (b"a\nb", None, "", &[("a", 1), ("b", 2)], &[]),
            (b"\xef\xbb\xbfa\r\n\nc\r\r\n", None, "", &[("a", 1), ("", 2), ("c\r", 3)], &[]),
            (b"a\nb\nc\nd\n", Some(3), "", &[("a", 1), ("b", 2), ("c", 3)], &[]),
            (b"a\nb\nc\nd\n", Some(0), "", &[], &[]),
            (b"a\nb\xff\nc\n", None, "", &[("a", 1), ("c", 3)], &["x: record 2 (line 2, column 2): text: these bytes are not valid UTF-8"]),
            (b"b\xff\n", None, "line: bytes from text", &[("[98, 255]", 1)], &[]),
            (
                b"a\n0123456789012345678901234567890\nc\n",
                None,
                "",
                &[("a", 1), ("c", 3)],
                &["x: record 2 (line 2): text: the line has 31 bytes, more than the --max-record-bytes limit of 20"],
            ),
        ];
        for (text, records, declared, expected, errors) in cases {
            let (lines, found) = read(text, &request(*records, declared));
            assert_eq!(lines, expected.iter().map(|(l, n)| ((*l).to_owned(), *n)).collect::<Vec<_>>(), "{text:?}");
            assert_eq!(found, *errors);
        }
    }

    #[test]
    fn other_fields_are_refused() {
        let mut reader = Text.reader(Arc::new(Input::none()), &Options::default()).unwrap().unwrap();
        for declared in ["x: string", "text: int64", "text: string[?]", "text: string; x: int64"] {
            assert!(reader.infer(&request(None, declared)).is_err(), "{declared}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let schema = |text: &str| Arc::new(crate::schema::notation::parse(text).unwrap());
        for text in ["a: string; b: string", "a: string[?]", "a: int64", ""] {
            assert!(Text.writer(&schema(text), &Options::default()).unwrap().is_err(), "{text}");
        }
        let encode = |values: Vec<Option<&str>>| {
            let writer = Text.writer(&schema("a: optional string"), &Options::default()).unwrap().unwrap();
            let column = Tensor::Leaf(Arc::new(LargeStringArray::from(values)));
            let chunk = Chunk::try_new(column.nrows(), vec![column], Origin::default()).unwrap();
            writer.encoder().encode(chunk).map(|e| String::from_utf8(*e.downcast::<Vec<u8>>().unwrap()).unwrap())
        };
        assert_eq!(encode(vec![Some("a"), Some(""), Some("c\rd")]).unwrap(), "a\n\nc\rd\n");
        for (values, message) in [
            (vec![Some("a\nb")], "a: a value that contains a line break would be split into two lines"),
            (vec![Some("a\r")], "a: a value that contains a line break would be split into two lines"),
            (vec![None], "a: text cannot store nulls"),
        ] {
            assert!(encode(values).unwrap_err().to_string().starts_with(message));
        }
    }
}
