//! A queue of chunks: in memory or, if that does not suffice, in temporary files.

use super::memory::{Budget, Held};
use super::spill::SpillFile;
use crate::chunk::Chunk;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::collections::VecDeque;
use std::sync::Arc;

/// At this size a new file is started, so that files can be deleted once they have been read.
const FILE_NBYTES: u64 = 256 << 20;

/// A queue of records, the last of which are in memory.
pub struct Queue {
    verb: &'static str,
    schema: Arc<Schema>,
    options: Options,
    files: VecDeque<Written>,
    /// Records in the files.
    written_rows: usize,
    /// The records after those in the files.
    held: Held,
}

struct Written {
    file: SpillFile,
    /// The number of the chunk to read next.
    next: usize,
}

impl Queue {
    /// An empty queue.
    pub fn new(verb: &'static str, schema: &Arc<Schema>, options: &Options) -> Queue {
        let held = Held::unlimited(options);
        Queue { verb, schema: schema.clone(), options: options.clone(), files: VecDeque::new(), written_rows: 0, held }
    }

    /// Number of records.
    pub fn nrows(&self) -> usize {
        self.written_rows + self.held.nrows()
    }

    /// Appends a chunk.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn push_back(&mut self, chunk: Chunk) -> Result<()> {
        if self.held.nrows() > 0 && self.held.nbytes() + self.held.counted(&chunk) > Budget::room(&self.options) {
            self.write()?;
        }
        self.held.push_back(chunk)
    }

    fn write(&mut self) -> Result<()> {
        if self.files.back().is_none_or(|last| last.file.nbytes() > FILE_NBYTES) {
            self.files.push_back(Written { file: SpillFile::new(&self.schema.fields, &self.options)?, next: 0 });
        }
        if let Some(last) = self.files.back_mut() {
            self.written_rows += self.held.nrows();
            self.held.take_parts().iter().try_for_each(|part| last.file.append_all(part))?;
            last.file.remark(self.verb, &self.options)?;
        }
        Ok(())
    }

    /// Removes the first chunk.
    ///
    /// # Errors
    /// A temporary file cannot be read.
    pub fn pop_front(&mut self) -> Result<Option<Chunk>> {
        while let Some(first) = self.files.front_mut() {
            if first.next < first.file.len() {
                let chunk = first.file.read(first.next)?;
                first.next += 1;
                self.written_rows -= chunk.nrows;
                return Ok(Some(chunk));
            }
            self.files.pop_front();
        }
        Ok(self.held.pop_front())
    }

    /// Removes whole chunks from the front while at least `nrows` records are left.
    pub fn keep_last(&mut self, nrows: usize) {
        while let Some(surplus) = self.nrows().checked_sub(nrows) {
            match self.files.front_mut() {
                Some(first) if first.next == first.file.len() => drop(self.files.pop_front()),
                Some(first) if first.file.nrows(first.next) <= surplus => {
                    self.written_rows -= first.file.nrows(first.next);
                    first.next += 1;
                }
                None if self.held.first_nrows().is_some_and(|first| first <= surplus) => drop(self.held.pop_front()),
                _ => return,
            }
        }
    }
}
