//! JSON: one object in each line (`jsonl`), or any JSON values, or one array of them (`json`).
//!
//! ```text
//! reading   lines, values   cut the input into blocks of whole records
//!           decode          a block into columns: column, object, leaf, sparse over cursor, keys
//!           observe, settle what has been seen of types; the one type that holds it, or the clashes
//! writing   write
//! ```
//!
//! Text goes straight into columns: the type of each value is known, so that there is no tree of
//! values in between. Source of the meaning: RFC 8259; the proto3 JSON mapping for numbers that are
//! not finite.

mod block;
mod column;
pub(super) mod cursor;
mod decode;
mod keys;
mod leaf;
mod limits;
mod lines;
mod object;
mod observe;
mod settle;
mod sparse;
mod trouble;
mod values;
mod write;

pub use self::write::value_text;

use self::block::Piece;
use self::cursor::Cursor;
use self::limits::Limits;
use crate::chunk::{Chunk, Decoded};
use crate::error::{Error, Result};
use crate::formats::format::{Encode, Encoded, Format, Inference, Observed, Reader, Request, Task, Tasks, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::io::Write;
use std::sync::Arc;

pub struct Jsonl;
pub struct Json;

impl Format for Jsonl {
    fn name(&self) -> &'static str {
        "jsonl"
    }
    fn summary(&self) -> &'static str {
        "JSON lines: one object in each line"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["jsonl", "ndjson"]
    }
    fn sniff(&self, head: &[u8]) -> bool {
        first_value(head) == Some(First::Line)
    }
    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(JsonReader { input, lines: true })))
    }
    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(JsonWriter::boxed(schema, options, false))
    }
    fn is_text(&self) -> bool {
        true
    }
}

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }
    fn summary(&self) -> &'static str {
        "JSON values with white space between them, or one array of objects; written as an array"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["json"]
    }
    fn sniff(&self, head: &[u8]) -> bool {
        first_value(head) == Some(First::Values)
    }
    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(JsonReader { input, lines: false })))
    }
    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(JsonWriter::boxed(schema, options, true))
    }
    fn is_text(&self) -> bool {
        true
    }
}

/// What the first value of an input says of its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// An object that does not go on in a second line.
    Line,
    /// An object that does, or an array.
    Values,
}

/// A head that long may end before its first value does.
const CUT_OFF_BYTES: usize = 4096;

fn first_value(head: &[u8]) -> Option<First> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    match head {
        [b'{', ..] => {}
        [b'[', rest @ ..] => return matches!(rest.trim_ascii_start().first(), None | Some(b'{' | b']')).then_some(First::Values),
        _ => return None,
    }
    // An object that is broken off at the end of its first line, but goes on well in those behind it.
    let line = Cursor::new(head, 0, true).skip_value().is_ok();
    let mut values = Cursor::new(head, 0, false);
    let cut_off = head.len() >= CUT_OFF_BYTES;
    let goes_on = head.contains(&b'\n') && (values.skip_value().is_ok() || (cut_off && values.at_end()));
    Some(if !line && goes_on { First::Values } else { First::Line })
}

type Pieces = Box<dyn Iterator<Item = Result<Piece>> + Send>;

fn pieces(input: &Input, lines: bool, request: &Request) -> Result<Pieces> {
    let limits = Limits::of(request);
    Ok(if lines {
        Box::new(lines::Lines::open(input, limits, &request.options)?)
    } else {
        Box::new(values::Values::new(input.open()?, input.name().clone(), limits))
    })
}

struct JsonReader {
    input: Arc<Input>,
    lines: bool,
}

impl Reader for JsonReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let pieces = pieces(&self.input, self.lines, request)?;
        let request = Arc::new(request.clone());
        let (mut nbytes, limit) = (0u64, request.sample_bytes.unwrap_or(u64::MAX));
        let wanted = pieces.take_while(move |piece| {
            let more = nbytes < limit;
            if let Ok(Piece::Block(block)) = piece {
                nbytes += block.bytes.len() as u64;
            }
            more
        });
        Ok(Inference::Scan(Box::new(wanted.map(move |piece| {
            let (piece, request) = (piece?, request.clone());
            let task: Task<Box<dyn Observed>> = Box::new(move || Ok(Box::new(decode::observe(piece, &request)?)));
            Ok(task)
        }))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let pieces = pieces(&self.input, self.lines, request)?;
        let (schema, request) = (schema.clone(), Arc::new(request.clone()));
        Ok(Box::new(pieces.map(move |piece| {
            let (piece, schema, request) = (piece?, schema.clone(), request.clone());
            let task: Task<Decoded> = Box::new(move || decode::decode(piece, &schema, &request));
            Ok(task)
        })))
    }
}

struct JsonWriter {
    encoder: Arc<JsonEncoder>,
    out: Option<Box<dyn Write + Send>>,
    array: bool,
    written: bool,
}

struct JsonEncoder {
    schema: Arc<Schema>,
    omit_null: bool,
    array: bool,
}

impl JsonWriter {
    fn boxed(schema: &Arc<Schema>, options: &Options, array: bool) -> Result<Box<dyn Writer>> {
        write::check(schema)?;
        let encoder = Arc::new(JsonEncoder { schema: schema.clone(), omit_null: options.omit_null, array });
        Ok(Box::new(JsonWriter { encoder, out: None, array, written: false }))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.out {
            Some(out) => out.write_all(bytes).map_err(|e| Error::io("output", "writing failed", &e)),
            None => Ok(()),
        }
    }
}

impl Encode for JsonEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let mut out = Vec::with_capacity(chunk.nbytes());
        let separator: &[u8] = if self.array { b",\n" } else { b"\n" };
        write::write_chunk(&chunk, &self.schema, self.omit_null, separator, &mut out).map_err(|e| chunk.origin.resolve(e, chunk.nrows))?;
        if self.array {
            out.truncate(out.len().saturating_sub(separator.len()));
        }
        Ok(Box::new(out))
    }
}

impl Writer for JsonWriter {
    fn encoder(&self) -> Arc<dyn Encode> {
        self.encoder.clone()
    }

    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        self.out = Some(out);
        if self.array { self.put(b"[") } else { Ok(()) }
    }

    fn write(&mut self, encoded: Encoded) -> Result<()> {
        let Ok(text) = encoded.downcast::<Vec<u8>>() else {
            return Err(Error::internal("no text to write"));
        };
        if self.array && !text.is_empty() {
            self.put(if self.written { b",\n" } else { b"\n" })?;
            self.written = true;
        }
        self.put(&text)
    }

    fn finish(&mut self) -> Result<()> {
        if self.array {
            self.put(if self.written { b"\n]\n" } else { b"]\n" })?;
        }
        match &mut self.out {
            Some(out) => out.flush().map_err(|e| Error::io("output", "writing failed", &e)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
