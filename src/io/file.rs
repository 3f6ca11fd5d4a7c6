//! An output file: buffered, and compressed in blocks that do not depend on the write calls.

use super::codec::{Codec, Encoder};
use super::deflate::Threads;
use super::disk::{Disk, Facts};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes written or compressed at a time.
const BLOCK_BYTES: usize = 128 << 10;

/// The state of the files of an output: the number of open files, and the first error.
#[derive(Default)]
pub struct Ledger {
    open: AtomicUsize,
    failed: Mutex<Option<Error>>,
    complete: Mutex<BTreeMap<u64, Facts>>,
}

impl Ledger {
    /// Checks that all files are complete.
    ///
    /// # Errors
    /// The first error of a file, or a file that is still open.
    pub fn settle(&self) -> Result<()> {
        if let Some(error) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(error);
        }
        match self.open.load(Ordering::Acquire) {
            0 => Ok(()),
            n => Err(Error::internal(format!("{n} output files are not finished"))),
        }
    }

    /// The complete files, by number.
    pub fn complete(&self) -> BTreeMap<u64, Facts> {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record(&self, error: &Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
    }
}

/// An output file. Dropping it completes it.
pub struct FileWriter {
    inner: Option<Inner>,
    block: Vec<u8>,
    name: Arc<str>,
    number: u64,
    ledger: Arc<Ledger>,
}

enum Inner {
    Plain(Disk),
    Encoded(Box<Encoder>),
}

impl FileWriter {
    /// Creates file `number` of an output, compressed or not.
    ///
    /// # Errors
    /// The encoder cannot be created.
    pub fn new(file: Disk, codec: Option<(Codec, Threads)>, name: Arc<str>, number: u64, ledger: Arc<Ledger>) -> Result<FileWriter> {
        let inner = match codec {
            None => Inner::Plain(file),
            Some((codec, threads)) => {
                Inner::Encoded(Box::new(codec.encoder(file, threads).map_err(|e| Error::io(&name, "cannot write", &e))?))
            }
        };
        ledger.open.fetch_add(1, Ordering::AcqRel);
        Ok(FileWriter { inner: Some(inner), block: Vec::new(), name, number, ledger })
    }

    fn failed(&self, source: &io::Error) -> io::Error {
        let error = Error::io(&self.name, "cannot write", source);
        self.ledger.record(&error);
        error.into()
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        let result = match &mut self.inner {
            Some(Inner::Plain(file)) => file.write_all(bytes),
            Some(Inner::Encoded(encoder)) => encoder.write_all(bytes),
            None => Ok(()),
        };
        result.map_err(|e| self.failed(&e))
    }

    fn pass_block(&mut self) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.block);
        let result = self.pass(&block);
        block.clear();
        self.block = block;
        result
    }
}

impl Write for FileWriter {
    /// Only whole blocks are passed on, and compressed blocks all have the same size, so the file does not depend on
    /// how a format divides its writes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        if matches!(self.inner, Some(Inner::Plain(_))) && bytes.len() >= BLOCK_BYTES {
            self.pass_block()?;
            self.pass(bytes)?;
            return Ok(bytes.len());
        }
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            rest = later;
            if self.block.len() == BLOCK_BYTES {
                self.pass_block()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.inner {
            Some(Inner::Plain(_)) => self.pass_block(),
            _ => Ok(()),
        }
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // Errors are recorded in the ledger.
        if self.pass_block().is_ok() {
            let disk = match self.inner.take() {
                Some(Inner::Encoded(encoder)) => encoder.finish().map_err(|e| self.failed(&e)).ok(),
                Some(Inner::Plain(disk)) => Some(disk),
                None => None,
            };
            if let Some(disk) = disk {
                self.ledger.complete.lock().unwrap_or_else(PoisonError::into_inner).insert(self.number, disk.facts());
            }
        }
        self.ledger.open.fetch_sub(1, Ordering::AcqRel);
    }
}
