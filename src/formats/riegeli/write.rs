//! Writes an ArrayRecord file sequentially.

use super::block::{padding_nbytes, write_chunk};
use super::footer::{entry, metadata, postscript};
use super::header::{self, Header};
use super::simple::{Codec, Packer, Sizes};
use crate::error::{Error, Result};
use std::io::Write;
use std::ops::Range;

/// An encoded chunk that still has to be placed.
pub struct Packed {
    header: Header,
    data: Vec<u8>,
}

impl Packed {
    /// Encodes chunks of `group` records each from consecutive records in `bytes`.
    ///
    /// # Errors
    /// A record that the codec does not support.
    pub fn chunks(bytes: &[u8], records: &[Range<usize>], group: usize, codec: Codec) -> Result<Vec<Packed>> {
        let mut packer = Packer::new(codec)?;
        let pack = |records: &[Range<usize>]| {
            let mut sizes = Sizes::default();
            records.iter().for_each(|record| sizes.push(record.len()));
            let span = records.first().map_or(0, |first| first.start)..records.last().map_or(0, |last| last.end);
            Packed::new(&mut packer, &sizes, bytes.get(span).unwrap_or_default())
        };
        records.chunks(group.max(1)).map(pack).collect()
    }

    fn new(packer: &mut Packer, sizes: &Sizes, values: &[u8]) -> Result<Packed> {
        let data = packer.pack(&sizes.bytes, values)?;
        let header = Header::new(header::SIMPLE, &data, sizes.nrecords, values.len() as u64);
        Ok(Packed { header, data })
    }
}

/// A file that is being written.
pub struct RecordFile {
    out: Box<dyn Write + Send>,
    at: u64,
    codec: Codec,
    /// The writer options, in ArrayRecord's syntax.
    options: String,
    /// The entries of the footer.
    sizes: Sizes,
    entries: Vec<u8>,
    nrecords: u64,
}

impl RecordFile {
    /// # Errors
    /// Writing fails.
    pub fn begin(out: Box<dyn Write + Send>, group: usize, codec: Codec) -> Result<RecordFile> {
        let options = format!("group_size:{group},transpose:false,pad_to_block_boundary:false,{},max_parallelism:1", codec.option());
        let mut file = RecordFile { out, at: 0, codec, options, sizes: Sizes::default(), entries: Vec::new(), nrecords: 0 };
        file.chunk(&Header::new(header::SIGNATURE, b"", 0, 0), b"")?;
        Ok(file)
    }

    /// Appends a chunk of records.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write(&mut self, chunk: &Packed) -> Result<()> {
        let entry = entry(self.at, chunk.header.decoded_size, chunk.header.nrecords);
        self.sizes.push(entry.len());
        self.entries.extend_from_slice(&entry);
        self.nrecords += chunk.header.nrecords;
        self.chunk(&chunk.header, &chunk.data)
    }

    /// Writes the footer and the postscript, each padded to the end of a block.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> Result<()> {
        let first = metadata(self.sizes.nrecords, self.nrecords, &self.options);
        let mut sizes = Sizes::default();
        sizes.push(first.len());
        sizes.bytes.append(&mut self.sizes.bytes);
        sizes.nrecords += self.sizes.nrecords;
        let mut values = first;
        values.append(&mut self.entries);
        let footer = Packed::new(&mut Packer::new(self.codec)?, &sizes, &values)?;
        let postscript = postscript(self.at);
        self.chunk(&footer.header, &footer.data)?;
        self.pad()?;
        let (mut sizes, values) = (Sizes::default(), postscript.repeat(3));
        (0..3).for_each(|_| sizes.push(postscript.len()));
        let last = Packed::new(&mut Packer::new(Codec::None)?, &sizes, &values)?;
        self.chunk(&last.header, &last.data)?;
        self.pad()?;
        self.out.flush().map_err(Error::output)
    }

    fn chunk(&mut self, header: &Header, data: &[u8]) -> Result<()> {
        self.at = write_chunk(&mut self.out, self.at, [&header.to_bytes(), data], header.nrecords).map_err(Error::output)?;
        Ok(())
    }

    fn pad(&mut self) -> Result<()> {
        let Some(nbytes) = padding_nbytes(self.at, header::NBYTES) else { return Ok(()) };
        let zeros = vec![0; nbytes as usize];
        self.chunk(&Header::new(header::PADDING, &zeros, 0, 0), &zeros)
    }
}
