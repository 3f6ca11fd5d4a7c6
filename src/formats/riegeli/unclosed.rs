//! Finds the chunks of a file without a usable footer: the writer never closed it, it was truncated, or the footer is
//! damaged.

use super::file::{ArrayFile, PLACE_NBYTES};
use super::footer::{Place, parse_metadata};
use super::header;
use super::simple::Unpacker;
use crate::error::{Error, Result};
use crate::options::Options;

impl ArrayFile {
    /// Finds chunks sequentially by their headers, up to the first damaged one. The rest of the file is lost, for the
    /// reason `why`.
    ///
    /// # Errors
    /// Reading fails, or the chunk list exceeds `--max-memory`.
    pub fn find_chunks(&mut self, why: Error, options: &Options) -> Result<()> {
        let (mut places, mut first_record, mut at, nbytes) = (Vec::new(), 1u64, 0, self.nbytes());
        while at < nbytes {
            let Ok(chunk) = self.chunk(at, nbytes)? else { break };
            let next = first_record.checked_add(chunk.header.nrecords);
            if matches!(chunk.header.kind, header::SIMPLE | header::TRANSPOSED) && chunk.header.nrecords > 0 {
                if self.is_footer(at, places.len() as u64, first_record - 1)? {
                    break;
                }
                let Some(next) = next else { break };
                places.push(Place { offset: at, first_record });
                if places.len() as u64 > options.max_memory / PLACE_NBYTES {
                    return Err(Error::data(format!("the list of more than {} chunks exceeds --max-memory", places.len())));
                }
                first_record = next;
            }
            at = chunk.span.end;
        }
        (self.places, self.nrecords, self.footer, self.rest) = (places.into(), first_record - 1, at, Some(why));
        Ok(())
    }

    /// Whether the chunk at `at` is the footer for the preceding chunks and records.
    fn is_footer(&mut self, at: u64, nchunks: u64, nrecords: u64) -> Result<bool> {
        let Ok(chunk) = self.chunk(at, self.nbytes())? else { return Ok(false) };
        if chunk.header.nrecords != nchunks + 1 {
            return Ok(false);
        }
        let (mut data, mut values) = (Vec::new(), Vec::new());
        let is_read = self.data(&chunk, &mut data)?.is_ok();
        let ranges = if is_read { Unpacker::default().unpack(&chunk.header, &data, &mut values) } else { Ok(Vec::new()) };
        let first = ranges.ok().and_then(|ranges| values.get(ranges.first()?.clone()));
        // A damaged chunk with as many records as the footer has entries is mistaken for the footer.
        Ok(first.is_none_or(|first| parse_metadata(first) == Ok((nchunks, nrecords))))
    }
}
