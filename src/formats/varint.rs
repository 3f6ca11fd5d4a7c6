//! Integers in seven bits a byte, the lowest first, as Protocol Buffers, Thrift and Parquet have them (LEB128).

/// Appends an integer.
#[inline]
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
