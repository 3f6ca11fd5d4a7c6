//! gzip and zlib streams: any number of concatenated members.

use flate2::bufread::{GzDecoder, ZlibDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// The members of a gzip or zlib file as one stream. The standard allows several gzip members, and zero bytes after the
/// last are padding. Other trailing data is an error: it may be a damaged member.
pub struct Members<R: Read> {
    state: State<R>,
    /// Compressed bytes of completed members.
    nbytes: u64,
}

enum State<R: Read> {
    Gzip(GzDecoder<Metered<R>>),
    Zlib(ZlibDecoder<Metered<R>>),
    Ended,
}

impl<R: Read> Members<R> {
    pub fn gzip(raw: BufReader<R>) -> Members<R> {
        Members { state: State::Gzip(GzDecoder::new(Metered { raw, nbytes: 0 })), nbytes: 0 }
    }

    pub fn zlib(raw: BufReader<R>) -> Members<R> {
        Members { state: State::Zlib(ZlibDecoder::new(Metered { raw, nbytes: 0 })), nbytes: 0 }
    }

    /// Determines what follows the finished member: another member, padding, the end, or other data.
    fn next_member(&mut self) -> io::Result<()> {
        let (mut rest, is_gzip) = match std::mem::replace(&mut self.state, State::Ended) {
            State::Gzip(decoder) => (decoder.into_inner(), true),
            State::Zlib(decoder) => (decoder.into_inner(), false),
            State::Ended => return Ok(()),
        };
        self.nbytes = rest.nbytes;
        match rest.fill_buf()?.first() {
            Some(0x1f) if is_gzip => {
                self.state = State::Gzip(GzDecoder::new(rest));
                return Ok(());
            }
            // As written by all common writers: a window of 32 KiB.
            Some(0x78) if !is_gzip => {
                self.state = State::Zlib(ZlibDecoder::new(rest));
                return Ok(());
            }
            _ => {}
        }
        loop {
            let buffer = rest.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            if buffer.iter().any(|b| *b != 0) {
                let (nbytes, codec) = (self.nbytes, if is_gzip { "gzip" } else { "zlib" });
                return Err(io::Error::other(format!("the data after its first {nbytes} bytes is not {codec}")));
            }
            let nbytes = buffer.len();
            rest.consume(nbytes);
        }
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let nbytes = match &mut self.state {
                State::Gzip(decoder) => decoder.read(into)?,
                State::Zlib(decoder) => decoder.read(into)?,
                State::Ended => return Ok(0),
            };
            if nbytes > 0 {
                return Ok(nbytes);
            }
            self.next_member()?;
        }
    }
}

/// A buffered reader that counts consumed bytes.
struct Metered<R> {
    raw: BufReader<R>,
    nbytes: u64,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let nbytes = self.raw.read(into)?;
        self.nbytes += nbytes as u64;
        Ok(nbytes)
    }
}

impl<R: Read> BufRead for Metered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.raw.fill_buf()
    }

    fn consume(&mut self, nbytes: usize) {
        self.nbytes += nbytes as u64;
        self.raw.consume(nbytes);
    }
}
