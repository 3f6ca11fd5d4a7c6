//! Framing: the encapsulated messages of a stream, and the blocks of a file. Contents are not decoded here.
//!
//! Source: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>.

use crate::error::{Error, Result, mismatch};
use crate::formats::columnar::facts::not_text;
use crate::formats::columnar::source::Source;
use crate::formats::format::MAX_EMPTY_RECORDS;
use arrow_buffer::Buffer;
use arrow_ipc::{CompressionType, Message, MessageHeader, root_as_message};
use std::collections::HashSet;
use std::io::{self, Read};

/// The first and the last bytes of a file.
pub const MAGIC: &[u8] = b"ARROW1";
/// Bytes that the first magic takes with its padding.
pub const MAGIC_NBYTES: u64 = 8;
/// The first bytes of a Feather version 1 file, which is a different format.
pub const FEATHER_1: &[u8] = b"FEA1";
/// Marks a message of format version 0.15 and later.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Before the format defined compression, Arrow 0.17 named the codec under this key in the metadata of a message.
const EXPERIMENTAL_COMPRESSION: &str = "ARROW:experimental_compression";
/// Maximum length of metadata; real metadata takes some kilobytes.
const MAX_METADATA: u64 = 256 << 20;
/// Memory is allocated in steps of this size, so that a declared length alone never allocates more.
const STEP: u64 = 16 << 20;

/// The memory that messages may take.
#[derive(Clone, Copy)]
pub struct Memory(pub u64);

/// Messages up to this size in total are not counted.
const SMALL: u64 = 32 << 20;

impl Memory {
    /// Checks that `nbytes` fit in memory in addition to `others`.
    ///
    /// # Errors
    /// They do not fit.
    pub fn check(self, what: &str, nbytes: u64, others: u64) -> Result<()> {
        if nbytes.saturating_add(others) <= self.0.max(SMALL) {
            return Ok(());
        }
        let beside = if others > 0 { format!(", in addition to {others} bytes in use") } else { String::new() };
        let error = Error::data(format!("{what} takes {nbytes} bytes in memory{beside}, but --max-memory is {}", self.0));
        Err(error.help("drop columns, raise the limit with --max-memory, or write the data in smaller record batches, as in pyarrow: writer.write_table(table, max_chunksize=100_000)"))
    }
}

/// One message: its verified metadata, and the location of its body.
#[derive(Clone)]
pub struct Framed {
    metadata: Vec<u8>,
    pub body: Body,
}

/// The buffers of a message.
#[derive(Clone)]
pub enum Body {
    Here(Buffer),
    /// In a file, still to be read.
    At {
        source: Source,
        start: u64,
        length: usize,
    },
}

impl Framed {
    fn try_new(metadata: Vec<u8>, body: Body) -> Result<Framed> {
        let framed = Framed { metadata, body };
        framed.message()?;
        Ok(framed)
    }

    /// The metadata.
    ///
    /// # Errors
    /// The metadata is damaged.
    pub fn message(&self) -> Result<Message<'_>> {
        verified(&self.metadata)
    }

    /// Number of rows in a record batch, whose schema has `ncolumns` columns.
    ///
    /// # Errors
    /// The message is not a record batch, or its header contradicts itself.
    pub fn nrows(&self, ncolumns: usize) -> Result<u64> {
        let message = self.message()?;
        let batch = message.header_as_record_batch().ok_or_else(|| {
            Error::data(mismatch("a record batch", format_args!("a message {}: the file is damaged", kind(message.header_type()))))
        })?;
        let nrows = u64::try_from(batch.length()).map_err(|_| Error::data(format!("a record batch claims {} rows", batch.length())))?;
        // No compression makes values so small, and nulls without values would only take time.
        if nrows > MAX_EMPTY_RECORDS && nrows >> 20 > self.nbytes() {
            return Err(Error::data(format!("a record batch of {} bytes claims {nrows} rows", self.nbytes())));
        }
        // The first node is that of the first column; the others are compared when they are decoded.
        match batch.nodes().and_then(|nodes| nodes.iter().next()) {
            Some(first) if u64::try_from(first.length()).ok() != Some(nrows) => {
                Err(Error::data(format!("a record batch of {} rows claims {nrows}", first.length())))
            }
            None if ncolumns > 0 => Err(Error::data(format!("a record batch of {nrows} rows has no columns; expected {ncolumns}"))),
            _ => Ok(nrows),
        }
    }

    /// Size of the body in bytes.
    pub fn nbytes(&self) -> u64 {
        match &self.body {
            Body::Here(buffer) => buffer.len() as u64,
            Body::At { length, .. } => *length as u64,
        }
    }

    /// The body in memory.
    ///
    /// # Errors
    /// Reading fails, a column claims an impossible number of nulls, or a compressed buffer declares an implausible uncompressed size.
    pub fn load(&self) -> Result<Buffer> {
        let body = match &self.body {
            Body::Here(buffer) => buffer.clone(),
            Body::At { source, start, length } => Buffer::from_vec(source.bytes(*start, *length).map_err(|e| lifted(&e))?),
        };
        self.check_claims(&body)?;
        Ok(body)
    }

    fn check_claims(&self, body: &Buffer) -> Result<()> {
        let message = self.message()?;
        if message.custom_metadata().iter().flatten().any(|pair| pair.key() == Some(EXPERIMENTAL_COMPRESSION)) {
            return Err(Error::data("the buffers are compressed in the experimental format of Arrow 0.17, which is not supported").help(
                "rewrite the file with PyArrow, which reads it: pyarrow.feather.write_feather(pyarrow.feather.read_table(FILE), OUT)",
            ));
        }
        let batch = contents(&message);
        // The decoder reads an unknown number of nulls as none.
        let claims = |node: &&arrow_ipc::FieldNode| node.null_count() < 0 || node.null_count() > node.length();
        if let Some(node) = batch.and_then(|b| b.nodes()?.iter().find(claims)) {
            let error = Error::data(format!("a column of {} values in an Arrow batch claims {} nulls", node.length(), node.null_count()));
            return Err(if node.null_count() == -1 {
                error.help("-1 means unknown: rewrite the file with PyArrow, which counts the nulls")
            } else {
                error
            });
        }
        let Some((batch, compression)) = batch.and_then(|b| Some((b, b.compression()?))) else { return Ok(()) };
        // The maximum expansion of each byte: 255 for LZ4; for zstd, a block of 128 KiB in four bytes.
        let ratio = if compression.codec() == CompressionType::ZSTD { 1 << 15 } else { 255 };
        for buffer in batch.buffers().iter().flatten() {
            let start = usize::try_from(buffer.offset()).ok();
            let prefix = start.and_then(|start| body.get(start..start.checked_add(8)?)).and_then(|b| <[u8; 8]>::try_from(b).ok());
            let Some(inflated) = prefix.map(i64::from_le_bytes).filter(|_| buffer.length() > 0) else { continue };
            if inflated > buffer.length().saturating_mul(ratio) {
                return Err(Error::data(format!("a compressed buffer of {} bytes claims to decompress to {inflated}", buffer.length())));
            }
        }
        Ok(())
    }

    /// Whether buffers are compressed.
    pub fn is_compressed(&self) -> bool {
        self.message().is_ok_and(|m| contents(&m).is_some_and(|b| b.compression().is_some()))
    }

    /// The bytes of all buffers in memory, which `body` contains.
    ///
    /// # Errors
    /// The metadata is damaged.
    pub fn decompressed(&self, body: &Buffer) -> Result<u64> {
        let message = self.message()?;
        let Some(batch) = contents(&message).filter(|batch| batch.compression().is_some()) else { return Ok(self.nbytes()) };
        Ok(batch.buffers().iter().flatten().fold(0, |sum: u64, place| sum.saturating_add(decompressed(place, body))))
    }
}

/// The record batch of a message, or that of a dictionary.
fn contents<'a>(message: &Message<'a>) -> Option<arrow_ipc::RecordBatch<'a>> {
    match message.header_type() {
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|d| d.data()),
        _ => message.header_as_record_batch(),
    }
}

/// The bytes to which a compressed buffer claims to decompress.
pub fn decompressed(place: &arrow_ipc::Buffer, body: &Buffer) -> u64 {
    let length = u64::try_from(place.length()).unwrap_or(0);
    let start = usize::try_from(place.offset()).ok().filter(|_| length > 0);
    let prefix = start.and_then(|start| body.get(start..start.checked_add(8)?)).and_then(|b| <[u8; 8]>::try_from(b).ok());
    // -1 marks a buffer that is not compressed.
    prefix.map(i64::from_le_bytes).map_or(0, |claimed| u64::try_from(claimed).unwrap_or(length))
}

/// The kind of a message, for error messages.
pub fn kind(header: MessageHeader) -> String {
    header.variant_name().map_or_else(|| format!("of type {}", header.0), |name| format!("of type {name}"))
}

fn verified(metadata: &[u8]) -> Result<Message<'_>> {
    root_as_message(metadata).map_err(|e| invalid("the metadata of an Arrow message", &e))
}

/// Whether these bytes start a stream: a message that contains a schema.
pub fn starts_stream(head: &[u8]) -> bool {
    // Before version 0.15, lengths had no continuation marker.
    let (rest, marked) = head.strip_prefix(&CONTINUATION).map_or((head, false), |rest| (rest, true));
    let Some((length, rest)) = rest.split_first_chunk::<4>() else { return false };
    let Ok(length) = usize::try_from(i32::from_le_bytes(*length)) else { return false };
    match rest.get(..length) {
        Some(metadata) => length > 0 && verified(metadata).is_ok_and(|m| m.header_type() == MessageHeader::Schema),
        // For a schema longer than the head, only the marker and a plausible length can be checked.
        None => marked && length > head.len() && (length as u64) < MAX_METADATA,
    }
}

/// The next element of a stream.
pub enum Next {
    Message(Framed),
    /// The end-of-stream marker, which another stream can follow.
    EndMarker,
    /// The end of the input.
    End,
}

/// The next message of a stream, or its end. A body may take as many bytes as `memory`.
///
/// # Errors
/// The stream is truncated inside a message, or damaged; a body is larger.
pub fn read(stream: &mut dyn Read, memory: Memory) -> Result<Next> {
    let mut word = [0u8; 4];
    let n = fill(stream, &mut word)?;
    if n == 0 {
        return Ok(Next::End);
    }
    if n == 4 && word == CONTINUATION && fill(stream, &mut word)? < 4 || n < 4 {
        return Err(cut_off());
    }
    let length = i32::from_le_bytes(word);
    let Some(length) = u64::try_from(length).ok().filter(|n| *n <= MAX_METADATA) else {
        return Err(Error::data(format!("an Arrow message claims {length} bytes of metadata")));
    };
    if length == 0 {
        return Ok(Next::EndMarker);
    }
    let metadata = take(stream, length)?;
    let nbytes = verified(&metadata)?.bodyLength();
    let nbytes = u64::try_from(nbytes).map_err(|_| Error::data(format!("an Arrow message claims a body of {nbytes} bytes")))?;
    memory.check("a message", nbytes, 0)?;
    let body = take(stream, nbytes)?;
    Framed::try_new(metadata, Body::Here(Buffer::from_vec(body))).map(Next::Message)
}

/// The message of a block of a file. Its body is read later.
///
/// # Errors
/// The block is outside the file, or its metadata is damaged.
pub fn at(source: &Source, block: &arrow_ipc::Block) -> Result<Framed> {
    let place = |what: &str| {
        let (header, body, start) = (block.metaDataLength(), block.bodyLength(), block.offset());
        Error::data(format!("the Arrow file is damaged: a block with {header} header and {body} body bytes at byte {start} {what}"))
    };
    let outside = || place(&format!("ends beyond the {} bytes of the file", source.nbytes()));
    let start = u64::try_from(block.offset()).map_err(|_| outside())?;
    let header = usize::try_from(block.metaDataLength()).map_err(|_| outside())?;
    let length = usize::try_from(block.bodyLength()).map_err(|_| outside())?;
    let body = start.checked_add(header as u64).filter(|b| b.checked_add(length as u64).is_some_and(|end| end <= source.nbytes()));
    let body = body.ok_or_else(outside)?;
    let mut metadata = source.bytes(start, header).map_err(|e| lifted(&e))?;
    let prefix = if metadata.starts_with(&CONTINUATION) { 8 } else { 4 };
    let found = metadata.get(prefix - 4..prefix).and_then(|word| <[u8; 4]>::try_from(word).ok()).map(i32::from_le_bytes);
    if found.and_then(|length| usize::try_from(length).ok()).is_none_or(|length| length == 0 || length > header - prefix) {
        return Err(place("does not hold a message"));
    }
    metadata.drain(..prefix);
    Framed::try_new(metadata, Body::At { source: source.clone(), start: body, length })
}

/// The end of the metadata of a message at this byte of a file; `None` if none begins there.
///
/// # Errors
/// Reading fails.
pub fn end(source: &Source, start: u64) -> Result<Option<u64>> {
    if start.checked_add(8).is_none_or(|end| end > source.nbytes()) {
        return Ok(None);
    }
    let prefix = source.bytes(start, 8).map_err(|e| lifted(&e))?;
    let length = prefix.strip_prefix(&CONTINUATION).and_then(|word| <[u8; 4]>::try_from(word).ok()).map(i32::from_le_bytes);
    Ok(length.and_then(|length| u64::try_from(length).ok()).filter(|length| *length > 0).map(|length| start + 8 + length))
}

/// The end of a message at this byte of a file that is a complete dictionary with one of these ids; `None` if there is
/// none.
///
/// # Errors
/// Reading fails.
pub fn end_of_dictionary(source: &Source, start: u64, ids: &HashSet<i64>) -> Result<Option<u64>> {
    let Some(body) = end(source, start)?.filter(|body| *body <= source.nbytes() && body - start <= MAX_METADATA) else { return Ok(None) };
    let metadata = source.bytes(start + 8, (body - start - 8) as usize).map_err(|e| lifted(&e))?;
    let Ok(message) = verified(&metadata) else { return Ok(None) };
    let is_one = complete_dictionary(&message).is_some_and(|id| ids.contains(&id));
    Ok(u64::try_from(message.bodyLength()).ok().filter(|_| is_one).and_then(|nbytes| body.checked_add(nbytes)))
}

/// The id of a message that is a dictionary, not an addition to one.
pub fn complete_dictionary(message: &Message) -> Option<i64> {
    message.header_as_dictionary_batch().filter(|dictionary| !dictionary.isDelta()).map(|dictionary| dictionary.id())
}

fn fill(stream: &mut dyn Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(lifted(&e)),
        }
    }
    Ok(filled)
}

fn take(stream: &mut dyn Read, nbytes: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < nbytes {
        let step = STEP.max(bytes.len() as u64).min(nbytes - bytes.len() as u64);
        bytes.reserve_exact(step as usize);
        if (&mut *stream).take(step).read_to_end(&mut bytes).map_err(|e| lifted(&e))? as u64 != step {
            return Err(cut_off());
        }
    }
    Ok(bytes)
}

fn cut_off() -> Error {
    Error::data("the Arrow stream is truncated in the middle of a message")
}

/// Converts a read error.
pub fn lifted(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => cut_off(),
        io::ErrorKind::InvalidData => Error::carried_by(error).unwrap_or_else(|| Error::data(error.to_string())),
        _ => Error::io("the input", "cannot read", error),
    }
}

/// The error of a flatbuffer that fails verification, without the path to the failing field.
pub fn invalid(what: &str, error: &impl std::fmt::Display) -> Error {
    let text = error.to_string();
    let reason = text.lines().next().unwrap_or_default();
    if reason.starts_with("Utf8 error") {
        return not_text(what);
    }
    Error::data(format!("{what} is damaged: {reason}"))
}
