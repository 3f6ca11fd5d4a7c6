//! Reads sequences or documents as records.

use super::index::{DocumentEnds, Index};
use super::names::{DOCUMENT, INDEX, MODE, TOKENS, VALUES};
use crate::chunk::{Decoded, Origin};
use crate::error::{Error, Kind, Result};
use crate::formats::arrays::element::Element;
use crate::formats::columnar::adapt::{Columns, DecodedRows, declared_over};
use crate::formats::columnar::source::Source;
use crate::formats::format::{Inference, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::notice::Notices;
use crate::printable::{counted, is_or_are};
use crate::schema::{DType, Dim, Field, Schema, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{Int8Array, Int64Array};
use arrow_buffer::MutableBuffer;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of records in a chunk, and approximate maximum number of bytes of their values.
const CHUNK_ROWS: u64 = 8 << 10;
const CHUNK_NBYTES: u64 = 1 << 20;

pub struct DatasetReader {
    pub input: Arc<Input>,
}

impl DatasetReader {
    fn index(&self) -> Result<Index> {
        let opened = || {
            if self.input.codec().is_some() {
                return Err(Error::data("a compressed index does not allow random access").help("decompress both files first"));
            }
            match self.input.path().filter(|_| self.input.extension() == Some(VALUES)) {
                Some(path) => {
                    let index = path.with_extension(INDEX);
                    Index::open(Input::regular(&index).map_err(|e| missing(e, "index"))?.file()?)
                        .map_err(|e| e.in_input(index.display().to_string()))
                }
                None => Index::open(self.input.file()?),
            }
        };
        opened().map_err(|e| e.in_input(self.input.name().clone()))
    }

    fn values(&self) -> Result<Source> {
        let Some(path) = self.input.path() else {
            return Err(Error::data("the index comes from a pipe, so the file with the values is unknown")
                .in_input(self.input.name().clone())
                .help("specify the file: x.idx, next to x.bin"));
        };
        let values = Input::regular(&path.with_extension(VALUES)).map_err(|e| missing(e, "values"))?;
        Source::new(values.file()?).map_err(|e| Error::io(values.name(), "cannot read", &e))
    }
}

/// The error for a missing companion file.
fn missing(error: Error, what: &str) -> Error {
    match error.kind() {
        Kind::Io => error.help(format!("a Megatron dataset consists of two files, and this one contains its {what}")),
        _ => error,
    }
}

/// The fields of a record.
fn fields(index: &Index, by_document: bool) -> Vec<Field> {
    let vector = |dtype: DType| Type::tensor(dtype, if by_document { vec![Dim::UNIFORM] } else { Vec::new() });
    let dims = if by_document { vec![Dim::UNIFORM, Dim::RAGGED] } else { vec![Dim::UNIFORM] };
    let mut fields = vec![Field::new(TOKENS, Type::tensor(index.dtype.clone(), dims))];
    if !by_document {
        fields.push(Field::new(DOCUMENT, vector(DType::Int64)));
    }
    if index.has_modes {
        fields.push(Field::new(MODE, vector(DType::Int8)));
    }
    fields
}

impl Reader for DatasetReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let fields = fields(&self.index()?, request.options.megatron.documents);
        Ok(Inference::Known(declared_over(&request.declared, Schema::new(fields))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let (index, name) = (self.index()?, self.input.name().clone());
        let options = &request.options;
        let by_document = options.megatron.documents;
        let fields = fields(&index, by_document);
        let columns = Columns::plan(&fields, schema, request)?;
        Ok(Box::new(Cutter {
            name: name.clone(),
            notices: options.notices.clone(),
            strict: options.strict,
            ends: index.document_ends(),
            empty: 0,
            end: 0,
            apart: None,
            next: 0,
            document: 0,
            records: 0,
            left: request.records.unwrap_or(u64::MAX),
            chunk_rows: options.chunk_rows.map_or(CHUNK_ROWS, |n| (n as u64).clamp(1, CHUNK_ROWS)),
            max_record_bytes: options.max_record_bytes,
            decoder: Arc::new(Decoder { values: self.values()?, element: Element::number(index.dtype.clone()), fields, columns }),
            by_document,
            index,
        }))
    }
}

/// Cuts the input into records, without reading their values.
struct Cutter {
    name: Arc<str>,
    notices: Notices,
    strict: bool,
    index: Index,
    ends: DocumentEnds,
    /// Number of documents without sequences, which give no records.
    empty: u64,
    /// The end of the previous sequence, in bytes of the values.
    end: u64,
    /// The first sequence that does not start there, its start and that end.
    apart: Option<(u64, u64, u64)>,
    /// The next sequence, document and record.
    next: u64,
    document: u64,
    records: u64,
    left: u64,
    chunk_rows: u64,
    max_record_bytes: u64,
    by_document: bool,
    decoder: Arc<Decoder>,
}

/// A block of records, without their values.
#[derive(Default)]
struct SequenceBlock {
    /// The byte range of their values.
    extents: Vec<Range<u64>>,
    nbytes: u64,
    lengths: Vec<i64>,
    /// The document of each sequence, or the number of sequences in each document.
    documents: Vec<i64>,
    modes: Vec<i8>,
}

impl Cutter {
    fn cut(&mut self) -> Result<Option<SequenceBlock>> {
        if self.left == 0 {
            return Ok(None);
        }
        let first = self.next;
        let mut piece = SequenceBlock::default();
        let piece_rows = if self.by_document { self.cut_documents(&mut piece)? } else { self.cut_sequences(&mut piece)? };
        if piece_rows == 0 {
            self.report()?;
            return Ok(None);
        }
        if self.index.has_modes {
            piece.modes = self.index.modes(first..self.next)?;
        }
        self.records += piece_rows;
        self.left -= piece_rows;
        Ok(Some(piece))
    }

    fn cut_sequences(&mut self, piece: &mut SequenceBlock) -> Result<u64> {
        let most = self.chunk_rows.min(self.left).min(self.index.nsequences - self.next);
        let range = self.next..self.next + most;
        let (lengths, pointers) = (self.index.lengths(range.clone())?, self.index.pointers(range)?);
        let mut nrows = 0;
        for (length, pointer) in lengths.into_iter().zip(pointers) {
            if nrows > 0 && piece.nbytes >= CHUNK_NBYTES {
                break;
            }
            let nbytes = self.sequence(piece, self.next, (length, pointer)).map_err(|e| self.locate(e, nrows))?;
            self.check_size(nbytes).map_err(|e| self.locate(e, nrows))?;
            self.begin_documents()?;
            piece.documents.push(self.document as i64);
            self.next += 1;
            nrows += 1;
        }
        Ok(nrows)
    }

    /// Advances to the document of the next sequence.
    fn begin_documents(&mut self) -> Result<()> {
        while self.ends.peek()?.is_some_and(|end| end <= self.next) {
            self.empty += u64::from(self.ends.advance());
            self.document += 1;
        }
        Ok(())
    }

    /// Called after the last sequence: reports what the records do not contain.
    fn report(&mut self) -> Result<()> {
        self.begin_documents()?;
        let tell = |text: String| self.notices.add_about(&self.name, text, self.strict);
        if self.empty > 0 && !self.by_document {
            let (documents, produce) = (counted(self.empty, "document"), if self.empty == 1 { "produces" } else { "produce" });
            tell(format!("{documents} without sequences {produce} no records; use --documents to keep empty documents"))?;
        }
        // Megatron writes one sequence after the other; other tools may not.
        let available = self.decoder.values.nbytes();
        if let Some((number, start, end)) = self.apart {
            let text = format!("sequence {} starts at byte {start} of the .{VALUES} file, but the one before ends at {end}", number + 1);
            tell(format!("{text}: one of the two files may be damaged"))?;
        } else if self.end < available {
            tell(format!("{} after the last sequence in the .{VALUES} file", counted(available - self.end, "byte")))?;
        }
        match self.index.nsequences - self.ends.last().min(self.index.nsequences) {
            0 => Ok(()),
            n => tell(format!("{} after the last boundary {} read as another document", counted(n, "sequence"), is_or_are(n as usize))),
        }
    }

    fn cut_documents(&mut self, piece: &mut SequenceBlock) -> Result<u64> {
        let mut nrows = 0;
        while nrows < self.chunk_rows.min(self.left) && piece.nbytes + 12 * (piece.lengths.len() as u64) < CHUNK_NBYTES {
            let end = match self.ends.peek()? {
                Some(end) => end,
                // Sequences after the last boundary also form a document.
                None if self.next < self.index.nsequences => self.index.nsequences,
                None => break,
            };
            self.ends.advance();
            let count = end - self.next;
            self.check_size(count.saturating_mul(12)).map_err(|e| self.locate(e, nrows))?;
            let mut nbytes = 0;
            let sequences = self.index.lengths(self.next..end)?.into_iter().zip(self.index.pointers(self.next..end)?);
            for (number, sequence) in (self.next..end).zip(sequences) {
                nbytes += self.sequence(piece, number, sequence).map_err(|e| self.locate(e, nrows))?;
                self.check_size(nbytes).map_err(|e| self.locate(e, nrows))?;
            }
            piece.documents.push(count as i64);
            self.next = end;
            nrows += 1;
        }
        Ok(nrows)
    }

    /// Adds the sequence of this number and returns its size in bytes.
    fn sequence(&mut self, piece: &mut SequenceBlock, number: u64, (length, pointer): (i32, i64)) -> Result<u64> {
        let (Ok(count), Ok(start)) = (u64::try_from(length), u64::try_from(pointer)) else {
            return Err(damaged(format!("the index claims a sequence of {length} values at byte {pointer}")));
        };
        let nbytes = count * self.decoder.element.nbytes() as u64;
        let available = self.decoder.values.nbytes();
        let end = start.checked_add(nbytes).filter(|end| *end <= available).ok_or_else(|| {
            damaged(format!(
                "the index claims a sequence of {length} values at byte {pointer}, but the .{VALUES} file has only {available} bytes"
            ))
        })?;
        if start != self.end {
            self.apart.get_or_insert((number, start, self.end));
        }
        self.end = end;
        match piece.extents.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ if nbytes == 0 => {}
            _ => piece.extents.push(start..end),
        }
        piece.nbytes += nbytes;
        piece.lengths.push(i64::from(length));
        Ok(nbytes)
    }

    fn check_size(&self, nbytes: u64) -> Result<()> {
        if nbytes <= self.max_record_bytes {
            return Ok(());
        }
        Err(Error::too_large(format_args!("the record has at least {nbytes}"), self.max_record_bytes))
    }

    /// `row` is the row within the piece.
    fn locate(&self, error: Error, row: u64) -> Error {
        let record = self.records + row + 1;
        error.locate(|at| at.records = Some((record, record)))
    }
}

fn damaged(message: String) -> Error {
    Error::data(message).help("one of the two files is truncated or damaged, or they do not belong together")
}

impl Iterator for Cutter {
    type Item = Result<Task<Decoded>>;

    fn next(&mut self) -> Option<Self::Item> {
        let origin = Origin::consecutive(self.name.clone(), self.records + 1);
        match self.cut() {
            Ok(piece) => {
                let (piece, decoder, by_document) = (piece?, self.decoder.clone(), self.by_document);
                Some(Ok(Box::new(move || decoder.decode(piece, by_document, origin))))
            }
            Err(error) => {
                self.left = 0;
                Some(Err(error.in_input(self.name.clone())))
            }
        }
    }
}

struct Decoder {
    values: Source,
    element: Element,
    fields: Vec<Field>,
    columns: Columns,
}

impl Decoder {
    fn decode(&self, piece: SequenceBlock, by_document: bool, origin: Origin) -> Result<Decoded> {
        let nbytes = piece.nbytes;
        let nrows = piece.documents.len();
        let documents = by_document.then(|| RowPartition::from_row_lengths(piece.documents.iter().copied())).transpose()?;
        let in_documents = |tensor: Tensor| match &documents {
            Some(documents) => Tensor::list(documents.clone(), tensor, None),
            None => Ok(tensor),
        };
        let read = |place: usize| {
            let field = self.columns.roots().get(place).and_then(|root| self.fields.get(*root));
            match field.map(|field| field.name.as_str()) {
                Some(TOKENS) => {
                    let sequences = RowPartition::from_row_lengths(piece.lengths.iter().copied())?;
                    in_documents(Tensor::list(sequences, self.tokens(&piece)?, None)?)
                }
                Some(DOCUMENT) => Ok(Tensor::Leaf(Arc::new(Int64Array::from(piece.documents.clone())))),
                Some(MODE) => in_documents(Tensor::Leaf(Arc::new(Int8Array::from(piece.modes.clone())))),
                _ => Err(Error::internal("a field that the dataset does not have")),
            }
        };
        self.columns.decoded(DecodedRows::new(nrows, origin, nbytes), read)
    }

    fn tokens(&self, piece: &SequenceBlock) -> Result<Tensor> {
        let total = usize::try_from(piece.nbytes).map_err(|_| Error::data("more bytes than this machine can address"))?;
        let mut bytes = MutableBuffer::from_len_zeroed(total);
        let mut rest = bytes.as_slice_mut();
        for extent in &piece.extents {
            let (own, after) = rest.split_at_mut((extent.end - extent.start) as usize);
            self.values.read_exact(own, extent.start).map_err(|e| Error::io("the values", "cannot read", &e))?;
            rest = after;
        }
        Ok(Tensor::Leaf(self.element.decode(bytes, total / self.element.nbytes())?))
    }
}
