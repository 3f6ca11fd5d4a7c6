//! Reads streams, one after the other.

use super::batches;
use super::known::{Dictionaries, Known};
use super::message::{self, Framed, Memory, Next};
use crate::chunk::Decoded;
use crate::error::{Error, Kind, Result};
use crate::formats::columnar::contain::contain;
use crate::formats::format::{Inference, Reader, Request, Tasks};
use crate::io::Input;
use crate::notice::Notices;
use crate::schema::Schema;
use crate::tensor::arrow::encoded;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

/// Reads a stream.
pub struct StreamReader {
    input: Arc<Input>,
    memory: Memory,
    /// A pipe can be read only once, so reading continues where inference stopped.
    opened: Option<OpenedStream>,
}

struct OpenedStream {
    known: Known,
    stream: Box<dyn Read + Send>,
    /// The messages after the schema that have already been read.
    read: VecDeque<Result<Next>>,
}

impl StreamReader {
    pub fn new(input: Arc<Input>, memory: Memory) -> StreamReader {
        StreamReader { input, memory, opened: None }
    }

    fn open(&self) -> Result<OpenedStream> {
        let name = self.input.name().clone();
        let mut stream = self.input.open()?;
        let known = contain("the Arrow schema", || {
            let Next::Message(first) = message::read(&mut stream, self.memory)? else {
                return Err(Error::data("the Arrow stream is empty"));
            };
            let schema = first.message()?.header_as_schema().ok_or_else(|| Error::data("the Arrow stream does not start with a schema"))?;
            Known::new(name.clone(), schema)
        });
        let mut known = known.map_err(|e| e.in_input(name))?;
        let mut read = VecDeque::new();
        if known.schema.fields().iter().any(|f| !encoded::dictionaries(f).is_empty()) {
            let mut dictionaries = Dictionaries::default();
            loop {
                let next = message::read(&mut stream, self.memory);
                // Damage is reported when the data is read.
                let is_dictionary =
                    matches!(&next, Ok(Next::Message(framed)) if dictionaries.decode(framed, &known.schema, self.memory).is_ok());
                read.push_back(next);
                if !is_dictionary {
                    break;
                }
            }
            known.learn(&dictionaries.by_id);
        }
        Ok(OpenedStream { known, stream, read })
    }
}

impl Reader for StreamReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => self.open()?,
        };
        self.opened.insert(opened).known.inference(request)
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let OpenedStream { known, stream, read } = match self.opened.take() {
            Some(opened) => opened,
            None => self.open()?,
        };
        let strict = request.options.strict || !self.input.is_regular();
        let (memory, notices) = (self.memory, request.options.notices.clone());
        let mut streams = Streams { known: known.clone(), stream, read, memory, notices, strict, ended: false };
        let messages = std::iter::from_fn(move || streams.next().transpose());
        batches::tasks(&known, Box::new(messages), Arc::default(), schema, request)
    }
}

/// The messages of concatenated streams: `cat a.arrows b.arrows`.
struct Streams {
    known: Known,
    stream: Box<dyn Read + Send>,
    /// Messages read ahead.
    read: VecDeque<Result<Next>>,
    memory: Memory,
    notices: Notices,
    strict: bool,
    /// Whether the end-of-stream marker of the last stream has been read.
    ended: bool,
}

impl Streams {
    fn next(&mut self) -> Result<Option<Framed>> {
        loop {
            let next = self.read.pop_front().unwrap_or_else(|| message::read(&mut self.stream, self.memory));
            let framed = match next {
                Ok(Next::Message(framed)) => framed,
                Ok(Next::EndMarker) => {
                    self.ended = true;
                    continue;
                }
                Ok(Next::End) if self.ended => return Ok(None),
                Ok(Next::End) => return self.unmarked().map(|()| None),
                Err(error) if self.ended && error.kind() == Kind::Data => return Err(not_a_stream()),
                Err(error) => return Err(error),
            };
            let Some(schema) = framed.message()?.header_as_schema() else {
                return if self.ended { Err(not_a_stream()) } else { Ok(Some(framed)) };
            };
            if !self.ended {
                self.unmarked()?;
            }
            self.ended = false;
            let next = contain("the Arrow schema", || Known::new(self.known.name.clone(), schema))?;
            if next.schema.fields() != self.known.schema.fields() {
                return Err(Error::data("another Arrow stream with different columns follows the first")
                    .help("read them as two inputs: columns missing from one of them become null, and types are unified"));
            }
            if next.schema.metadata() != self.known.schema.metadata() {
                let text = "the metadata of the first Arrow stream is kept; that of another stream after it differs";
                self.notices.add_about(&self.known.name, text, self.strict)?;
            }
            return Ok(Some(framed));
        }
    }

    /// The stream ends without its marker, so its writer may have been interrupted.
    fn unmarked(&self) -> Result<()> {
        let text = "the Arrow stream has no end marker: it may be truncated";
        match self.strict {
            true => Err(Error::data(text).help("write the stream again in full, or read it from a file, for which this is only a notice")),
            false => self.notices.add_about(&self.known.name, text, false),
        }
    }
}

fn not_a_stream() -> Error {
    Error::data("the data after the end of the Arrow stream is not another stream")
}
