//! Compressed inputs: the content is changed and compressed again, in one or several members.

use super::Random;
use flate2::Compression;
use std::io::{Read, Write};

/// More is not decompressed.
const MAX_LEN: u64 = 1 << 20;

fn decompressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    match bytes {
        [0x1f, 0x8b, ..] => flate2::read::MultiGzDecoder::new(bytes).take(MAX_LEN).read_to_end(&mut content).ok()?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::Decoder::new(bytes).ok()?.take(MAX_LEN).read_to_end(&mut content).ok()?,
        _ => content.write(bytes).ok()?,
    };
    Some(content)
}

fn member(content: &[u8], which: usize) -> Option<Vec<u8>> {
    match which {
        0 => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(content).and_then(|()| encoder.finish()).ok()
        }
        1 => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(content).and_then(|()| encoder.finish()).ok()
        }
        _ => zstd::encode_all(content, 1).ok(),
    }
}

/// Changes the content, then compresses it; changes of the compressed bytes are rare.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut content = decompressed(bytes)?;
    if !random.one_in(3) {
        random.scramble(&mut content);
    }
    let which = [0, 0, 1, 2, 2][random.below(5)];
    let (front, back) = content.split_at(if random.one_in(2) { 0 } else { random.below(content.len() + 1) });
    let mut out = member(front, which)?;
    // Empty members, and members of another kind, too.
    out.extend(member(back, if random.one_in(8) { random.below(3) } else { which })?);
    match random.below(12) {
        0 => random.scramble(&mut out),
        1 => out.extend_from_slice(&[0; 9]),
        // A skippable frame.
        2 if which == 2 => out.extend_from_slice(&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]),
        _ => {}
    }
    Some(out)
}
