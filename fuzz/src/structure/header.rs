//! Arrays after a header in text whose length is stated: npy and safetensors.

use super::{Random, range, u16_at, u32_at, u64_at};

const NPY: &[u8] = b"\x93NUMPY";
/// Parts of headers that mean something in either format.
const WORDS: [&str; 32] = [
    "'<i8'",
    "'<f4'",
    "'>u2'",
    "'|b1'",
    "'|S3'",
    "'<U2'",
    "'|O'",
    "'<M8[us]'",
    "'<c16'",
    "'<f2'",
    "[('a', '<i4', (2,)), ('b', '|S1')]",
    "True",
    "False",
    "()",
    "(0,)",
    "(1,)",
    "(2, 2)",
    "(3, -1)",
    "(18446744073709551615,)",
    "(4294967296, 4294967296)",
    "\"I64\"",
    "\"F16\"",
    "\"BOOL\"",
    "\"U8\"",
    "\"F8_E4M3\"",
    "[0]",
    "[2,2]",
    "[0,8]",
    "[8,0]",
    "[0,18446744073709551615]",
    "{}",
    "'shape'",
];

/// Where words start and end: quoted, numbers, or in brackets.
fn words(text: &[u8]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (start, byte) in text.iter().enumerate() {
        let ends: &[u8] = match byte {
            b'\'' => b"'",
            b'"' => b"\"",
            b'(' => b")",
            b'[' => b"]",
            b'0'..=b'9' | b'T' | b'F' => b",)] }:",
            _ => continue,
        };
        if let Some(len) = text[start + 1..].iter().position(|byte| ends.contains(byte)) {
            let is_closed = !ends.contains(&b',');
            all.push((start, start + 1 + len + usize::from(is_closed)));
        }
    }
    all
}

/// Changes the header, whose length is stated anew, or the values.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let is_npy = bytes.starts_with(NPY);
    // The bytes of the length: where, and how many.
    let (at, width) = match is_npy {
        true if *bytes.get(6)? == 1 => (8, 2),
        true => (8, 4),
        false => (0, 8),
    };
    let len = match width {
        2 => u16_at(bytes, at)?,
        4 => u32_at(bytes, at)?,
        _ => u64_at(bytes, at)?,
    };
    let mut header = range(bytes, at + width, len).filter(|header| std::str::from_utf8(header).is_ok())?.to_vec();
    if !is_npy && header.first() != Some(&b'{') {
        return None;
    }
    let mut values = bytes[at + width + len..].to_vec();
    match random.below(6) {
        0 => random.scramble(&mut values),
        1 => random.scramble(&mut header),
        2 => {
            let digits: Vec<usize> = (0..header.len()).filter(|i| header[*i].is_ascii_digit()).collect();
            let at = *random.choice(&digits)?;
            let number = random.near(u64::from(header[at] - b'0')).to_string();
            header.splice(at..=at, number.into_bytes());
        }
        _ => {
            let (start, end) = *random.choice(&words(&header))?;
            header.splice(start..end, random.choice(&WORDS)?.bytes());
        }
    }
    let stated = if random.one_in(20) { random.near(header.len() as u64) } else { header.len() as u64 };
    Some([&bytes[..at], &stated.to_le_bytes()[..width], &header, &values].concat())
}
