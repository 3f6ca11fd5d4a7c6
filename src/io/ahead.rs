//! Reads a stream ahead on a separate thread, so that decompression overlaps with processing.

use crate::error::Error;
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes read without a thread, because small inputs need none.
const FIRST_BYTES: usize = 512 << 10;
/// Bytes handed over at a time, and the number of such blocks.
const BLOCK_BYTES: usize = 256 << 10;
const NBLOCKS: usize = 4;

/// Number of streams currently being read ahead.
static NSTREAMS: AtomicUsize = AtomicUsize::new(0);

/// A stream that is read ahead once it turns out to be long.
pub struct Ahead {
    state: AheadState,
    /// Maximum number of streams read ahead at once. At most one: this stream is not read ahead.
    nthreads: usize,
    nbytes: usize,
}

enum AheadState {
    Here(Box<dyn Read + Send>),
    Thread(Blocks),
    Ended,
}

/// A block and its number of filled bytes; empty at the end of the stream.
type Filled = (Vec<u8>, usize);

/// The blocks of a reading thread.
struct Blocks {
    filled: Receiver<io::Result<Filled>>,
    emptied: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    /// The rest of the current block.
    start: usize,
    end: usize,
    /// The end or an error, reported after the preceding bytes have been read.
    last: Option<io::Result<Filled>>,
    _slot: Slot,
}

/// A permit for one stream to be read ahead.
struct Slot;

impl Slot {
    fn take(most: usize) -> Option<Slot> {
        let another = |n: usize| (n < most).then_some(n + 1);
        NSTREAMS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, another).ok().map(|_| Slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        NSTREAMS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Ahead {
    /// Reads ahead if the run has several threads.
    pub fn new(stream: Box<dyn Read + Send>, nthreads: usize) -> Ahead {
        Ahead { state: AheadState::Here(stream), nthreads, nbytes: 0 }
    }

    fn start_thread(&mut self) {
        let Some(slot) = Slot::take(self.nthreads) else { return };
        let (give, take) = sync_channel::<Box<dyn Read + Send>>(1);
        let (full, filled) = sync_channel(NBLOCKS);
        let (emptied, empty) = sync_channel(NBLOCKS);
        let read = move || {
            if let Ok(stream) = take.recv() {
                read_all(stream, &full, &empty);
            }
        };
        if std::thread::Builder::new().name("decompress".to_owned()).spawn(read).is_err() {
            // No further thread can be started, so reading continues as before.
            self.nthreads = 0;
            return;
        }
        for _ in 0..NBLOCKS {
            let _ = emptied.send(vec![0; BLOCK_BYTES]);
        }
        if let AheadState::Here(stream) = std::mem::replace(&mut self.state, AheadState::Ended) {
            let _ = give.send(stream);
            self.state =
                AheadState::Thread(Blocks { filled, emptied, block: vec![0; BLOCK_BYTES], start: 0, end: 0, last: None, _slot: slot });
        }
    }
}

/// Fills blocks until the stream ends or its reader is dropped.
fn read_all(mut stream: Box<dyn Read + Send>, full: &SyncSender<io::Result<Filled>>, empty: &Receiver<Vec<u8>>) {
    while let Ok(mut block) = empty.recv() {
        let read = stream.read(&mut block);
        let is_last = matches!(read, Ok(0) | Err(_));
        if full.send(read.map(|nbytes| (block, nbytes))).is_err() || is_last {
            return;
        }
    }
}

impl Blocks {
    /// Copies the available bytes; waits only for the first byte. Returns 0 at the end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut copied = 0;
        loop {
            let n = (into.len() - copied).min(self.end - self.start);
            into[copied..copied + n].copy_from_slice(&self.block[self.start..self.start + n]);
            self.start += n;
            copied += n;
            if copied == into.len() {
                return Ok(copied);
            }
            let next = if copied == 0 { self.next() } else { self.filled.try_recv().ok() };
            match next {
                Some(Ok((block, nbytes))) if nbytes > 0 => {
                    // Fails only if the thread has ended.
                    let _ = self.emptied.try_send(std::mem::replace(&mut self.block, block));
                    (self.start, self.end) = (0, nbytes);
                }
                Some(end) if copied == 0 => return end.map(|_| 0),
                end => {
                    self.last = end;
                    return Ok(copied);
                }
            }
        }
    }

    fn next(&mut self) -> Option<io::Result<Filled>> {
        let ended = || Err(Error::internal("the thread that decompresses has ended").into());
        self.last.take().or_else(|| Some(self.filled.recv().unwrap_or_else(|_| ended())))
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.nbytes >= FIRST_BYTES && self.nthreads > 1 && matches!(self.state, AheadState::Here(_)) {
            self.start_thread();
        }
        let read = match &mut self.state {
            AheadState::Here(stream) => stream.read(into),
            AheadState::Thread(blocks) => blocks.read(into),
            AheadState::Ended => Ok(0),
        };
        match &read {
            Ok(0) => self.state = AheadState::Ended,
            Ok(nbytes) => self.nbytes += nbytes,
            Err(_) => {}
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    /// Yields `nbytes` bytes in pieces of uneven length, followed by an error or the end.
    struct Uneven {
        given: usize,
        nbytes: usize,
        fails: bool,
    }

    impl Read for Uneven {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = into.len().min(self.nbytes - self.given).min(1 + self.given % 100_003);
            if n == 0 && self.fails {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            into[..n].iter_mut().enumerate().for_each(|(i, byte)| *byte = ((self.given + i) % 251) as u8);
            self.given += n;
            Ok(n)
        }
    }

    #[test]
    fn every_byte_comes_in_order_and_then_the_end_or_the_error() {
        for (nthreads, step, fails) in [(1, 70_000, false), (8, 1, false), (8, 70_000, true), (8, 3 << 20, true), (8, 5 << 20, false)] {
            let nbytes = if step == 1 { FIRST_BYTES + 300_000 } else { 4 << 20 };
            let mut ahead = Ahead::new(Box::new(Uneven { given: 0, nbytes, fails }), nthreads);
            let (mut at, mut part) = (0, vec![0; step]);
            let end = loop {
                match ahead.read(&mut part) {
                    Ok(n) if n > 0 => {
                        assert!(part[..n].iter().enumerate().all(|(i, byte)| *byte == ((at + i) % 251) as u8), "{at}");
                        at += n;
                    }
                    end => break end,
                }
            };
            assert_eq!((at, end.map_err(|e| e.kind())), (nbytes, if fails { Err(ErrorKind::UnexpectedEof) } else { Ok(0) }));
        }
    }

    #[test]
    fn a_stream_that_is_left_early_stops_its_thread() {
        let mut ahead = Ahead::new(Box::new(Uneven { given: 0, nbytes: usize::MAX / 2, fails: false }), 8);
        let mut part = vec![0; 2 << 20];
        ahead.read_exact(&mut part).unwrap();
        assert!(matches!(ahead.state, AheadState::Thread(_)));
    }
}
