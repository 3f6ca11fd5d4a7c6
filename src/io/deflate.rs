//! gzip on several threads: blocks are deflated independently, but form a single stream.
//!
//! Each block except the last ends on a byte boundary ("sync flush"), as zlib's manual describes for concatenation.
//! Readers see one gzip member, and the bytes do not depend on the number of threads.

use super::disk::Disk;
use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes deflated at a time. Matches do not cross blocks, which makes files about 0.5% larger.
const BLOCK_BYTES: usize = 1 << 20;
/// Deflate, no flags, no time, no extra flags, unknown system (RFC 1952).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// An empty last block: fixed codes with only the end-of-block code.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// The threads that compress a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The writing thread, for one of many files.
    Writer,
    /// That many threads for this file.
    Own(usize),
}

/// A gzip file being written.
pub struct Gzip {
    file: Disk,
    block: Vec<u8>,
    checksum: Hasher,
    nbytes: u64,
    how: How,
}

enum How {
    Here(Box<Compress>),
    Pool(Pool),
}

/// The deflating threads, and their blocks in order.
struct Pool {
    jobs: Sender<Job>,
    nthreads: usize,
    deflating: VecDeque<Receiver<io::Result<Deflated>>>,
}

type Job = (Vec<u8>, FlushCompress, SyncSender<io::Result<Deflated>>);

struct Deflated {
    bytes: Vec<u8>,
    checksum: Hasher,
}

impl Gzip {
    /// # Errors
    /// Writing fails, or no thread can be started.
    pub fn new(mut file: Disk, threads: Threads) -> io::Result<Gzip> {
        file.write_all(&HEADER)?;
        let how = match threads {
            Threads::Own(n) if n > 1 => How::Pool(Pool::new(n)?),
            _ => How::Here(Box::new(compressor())),
        };
        Ok(Gzip { file, block: Vec::new(), checksum: Hasher::new(), nbytes: 0, how })
    }

    /// # Errors
    /// Writing fails.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.nbytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.end_block(FlushCompress::Sync)?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self, flush: FlushCompress) -> io::Result<()> {
        match &mut self.how {
            How::Here(compress) => {
                let deflated = deflate(compress, &self.block, flush)?;
                self.block.clear();
                self.append(&deflated)
            }
            How::Pool(pool) => {
                let (done, receiver) = sync_channel(1);
                let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK_BYTES));
                pool.jobs.send((block, flush, done)).map_err(|_| ended())?;
                pool.deflating.push_back(receiver);
                let most = 2 * pool.nthreads;
                self.settle(most)
            }
        }
    }

    /// Writes the first blocks until at most `most` are still being deflated.
    fn settle(&mut self, most: usize) -> io::Result<()> {
        while let How::Pool(pool) = &mut self.how
            && pool.deflating.len() > most
            && let Some(first) = pool.deflating.pop_front()
        {
            let deflated = first.recv().map_err(|_| ended())??;
            self.append(&deflated)?;
        }
        Ok(())
    }

    fn append(&mut self, deflated: &Deflated) -> io::Result<()> {
        self.checksum.combine(&deflated.checksum);
        self.file.write_all(&deflated.bytes)
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> io::Result<Disk> {
        if self.block.is_empty() {
            self.settle(0)?;
            self.file.write_all(&LAST_BLOCK)?;
        } else {
            self.end_block(FlushCompress::Finish)?;
            self.settle(0)?;
        }
        self.file.write_all(&self.checksum.finalize().to_le_bytes())?;
        self.file.write_all(&(self.nbytes as u32).to_le_bytes())?;
        Ok(self.file)
    }
}

impl Pool {
    fn new(nthreads: usize) -> io::Result<Pool> {
        let (jobs, todo) = channel::<Job>();
        let todo = Arc::new(Mutex::new(todo));
        for _ in 0..nthreads {
            let todo = todo.clone();
            // The threads end when the channel is closed.
            std::thread::Builder::new().name("gzip".to_owned()).spawn(move || {
                let mut compress = compressor();
                let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((block, flush, done)) = next() {
                    // After an error, the other end is gone.
                    let _ = done.send(deflate(&mut compress, &block, flush));
                }
            })?;
        }
        Ok(Pool { jobs, nthreads, deflating: VecDeque::new() })
    }
}

fn ended() -> io::Error {
    io::Error::other("a thread that compresses has ended")
}

fn compressor() -> Compress {
    Compress::new(Compression::default(), false)
}

fn deflate(compress: &mut Compress, block: &[u8], flush: FlushCompress) -> io::Result<Deflated> {
    compress.reset();
    let mut checksum = Hasher::new();
    checksum.update(block);
    let mut bytes = Vec::with_capacity(block.len() / 2 + 1024);
    loop {
        let done = compress.total_in() as usize;
        let status = compress.compress_vec(&block[done..], &mut bytes, flush).map_err(io::Error::other)?;
        let is_flushed = flush == FlushCompress::Sync && bytes.len() < bytes.capacity();
        if is_flushed || status == Status::StreamEnd {
            return Ok(Deflated { bytes, checksum });
        }
        bytes.reserve(block.len() / 4 + 1024);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn gzipped(bytes: &[u8], nthreads: usize) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        let mut gzip = Gzip::new(Disk::new(file.try_clone().unwrap(), false), Threads::Own(nthreads)).unwrap();
        bytes.chunks(100_000).for_each(|part| gzip.write_all(part).unwrap());
        gzip.finish().unwrap();
        file.rewind().unwrap();
        let mut written = Vec::new();
        file.read_to_end(&mut written).unwrap();
        written
    }

    #[test]
    fn one_member_whatever_the_threads() {
        let mut random = 1u64;
        let mut byte = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 60) as u8
        };
        for length in [0, 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 17] {
            let bytes: Vec<u8> = (0..length).map(|_| byte()).collect();
            let one = gzipped(&bytes, 1);
            assert!(one == gzipped(&bytes, 4), "{length}");
            let mut back = Vec::new();
            let mut decoder = flate2::bufread::GzDecoder::new(one.as_slice());
            decoder.read_to_end(&mut back).unwrap();
            assert!(back == bytes && decoder.into_inner().is_empty(), "{length}");
        }
    }
}
