//! Converts arrays from Fortran order, where axis 0 varies fastest, to C order: tile by tile, through a temporary file.

use crate::error::{Error, Result};
use crate::formats::columnar::source::Source;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Size of a tile in bytes.
const TILE_NBYTES: u64 = 64 << 20;

/// The bytes of an array of `nbytes` in C order: `[rows, inner]` items of `width` bytes. `source` is the file and the
/// offset of the array if it is stored uncompressed in a file; otherwise `bytes` provides it.
///
/// # Errors
/// Reading fails, or the temporary file cannot be written.
pub fn in_c_order(
    mut bytes: Box<dyn Read + Send>,
    source: Option<(Source, u64)>,
    shape: &[u64],
    width: usize,
    nbytes: u64,
) -> Result<Box<dyn Read + Send>> {
    if nbytes == 0 || width == 0 {
        return Ok(bytes);
    }
    let (source, start) = match source {
        Some(place) => place,
        None => {
            let mut copy = tempfile::tempfile().map_err(|e| failed("cannot create a temporary file", &e))?;
            let copied = io::copy(&mut bytes.by_ref().take(nbytes), &mut copy).map_err(|e| Error::io("the array", "cannot read", &e))?;
            // The bytes that follow are not part of the array but may include its checksum.
            io::copy(&mut bytes, &mut io::sink()).map_err(|e| Error::io("the array", "cannot read", &e))?;
            if copied != nbytes {
                return Err(Error::data("the values are truncated"));
            }
            (Source::new(copy).map_err(|e| failed("cannot read", &e))?, 0)
        }
    };
    let mut out = tempfile::tempfile().map_err(|e| failed("cannot create a temporary file", &e))?;
    tiles(&source, start, shape, width, &mut out)?;
    out.rewind().map_err(|e| failed("cannot read", &e))?;
    Ok(Box::new(io::BufReader::with_capacity(1 << 20, out)))
}

fn failed(doing: &str, error: &io::Error) -> Error {
    Error::io(&std::env::temp_dir().display().to_string(), doing, error).help("set TMPDIR to a directory with more space")
}

fn tiles(source: &Source, start: u64, shape: &[u64], width: usize, out: &mut File) -> Result<()> {
    let (rows, inner) = (shape[0], shape[1..].iter().product::<u64>());
    let items = (TILE_NBYTES / width as u64).max(1);
    // As square as the array allows.
    let high = rows.min((items as f64).sqrt() as u64).max(items / inner.max(1)).clamp(1, rows);
    let wide = (items / high).clamp(1, inner);
    let mut tile = vec![0u8; (high * wide) as usize * width];
    let mut run = vec![0u8; high as usize * width];
    for first_row in (0..rows).step_by(high as usize) {
        let own_rows = high.min(rows - first_row) as usize;
        for first in (0..inner).step_by(wide as usize) {
            let own = wide.min(inner - first) as usize;
            for column in 0..own {
                let at = start + (fortran_place(first + column as u64, &shape[1..]) * rows + first_row) * width as u64;
                let run = &mut run[..own_rows * width];
                read_exact_at(source, run, at)?;
                for (row, item) in run.chunks_exact(width).enumerate() {
                    let place = (row * own + column) * width;
                    tile[place..place + width].copy_from_slice(item);
                }
            }
            // Whole rows are contiguous.
            let length = if own as u64 == inner { own_rows * own * width } else { own * width };
            for (row, items) in tile[..own_rows * own * width].chunks_exact(length).enumerate() {
                let place = ((first_row + row as u64) * inner + first) * width as u64;
                out.seek(SeekFrom::Start(place)).and_then(|_| out.write_all(items)).map_err(|e| failed("cannot write", &e))?;
            }
        }
    }
    Ok(())
}

/// The position in Fortran order of the item at `place` in C order.
fn fortran_place(mut place: u64, sizes: &[u64]) -> u64 {
    let mut stride: u64 = sizes.iter().product();
    let mut found = 0;
    for size in sizes.iter().rev() {
        stride /= size;
        found += place % size * stride;
        place /= size;
    }
    found
}

fn read_exact_at(source: &Source, mut into: &mut [u8], mut at: u64) -> Result<()> {
    while !into.is_empty() {
        match source.read_at(into, at) {
            Ok(0) => return Err(Error::data("the values are truncated")),
            Ok(nbytes) => {
                into = &mut into[nbytes..];
                at += nbytes as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("the array", "cannot read", &e)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_becomes_c_order() {
        for shape in [vec![2u64, 3], vec![3, 2, 4], vec![1, 5, 2], vec![4, 1, 3, 2]] {
            let count: u64 = shape.iter().product();
            // The value of an item is its position in C order.
            let mut fortran = vec![0u8; count as usize * 2];
            for place in 0..count {
                let at = fortran_place(place, &shape) as usize;
                fortran[2 * at..2 * at + 2].copy_from_slice(&(place as u16).to_le_bytes());
            }
            let expected: Vec<u8> = (0..count as u16).flat_map(u16::to_le_bytes).collect();
            let bytes: Box<dyn Read + Send> = Box::new(io::Cursor::new(fortran));
            let mut found = Vec::new();
            in_c_order(bytes, None, &shape, 2, count * 2).unwrap().read_to_end(&mut found).unwrap();
            assert_eq!(found, expected, "{shape:?}");
        }
    }
}
