//! Integers with seven bits per byte, lowest first, as in Protocol Buffers, Thrift and Parquet (LEB128), and Protocol
//! Buffers fields.

/// Maximum number of bytes of an integer.
pub const VARINT_NBYTES: usize = 10;

/// Appends an integer.
#[inline]
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The integer at the start of the bytes, and the rest; bits beyond 64 are dropped. `None` if it does not end within
/// [`VARINT_NBYTES`].
#[inline]
pub fn split_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (i, byte) in bytes.iter().take(VARINT_NBYTES).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}

/// Appends integer field `number` of a message.
pub fn number(out: &mut Vec<u8>, number: u8, value: u64) {
    varint(out, u64::from(number) << 3);
    varint(out, value);
}

/// Appends field `number` of a message: bytes, text or another message.
pub fn bytes(out: &mut Vec<u8>, number: u8, value: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// The value of a field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer.
    Varint(u64),
    /// The bits of a 4- or 8-byte number.
    Fixed(u64),
    /// Bytes, text, another message, or packed numbers.
    Bytes(&'a [u8]),
}

/// The fields of a message with their numbers, in order; `None` for bytes that are not a field, after which iteration
/// ends. Groups are not supported.
pub fn fields(message: &[u8]) -> impl Iterator<Item = Option<(u64, Value<'_>)>> {
    let mut left = message;
    std::iter::from_fn(move || {
        if left.is_empty() {
            return None;
        }
        let field = split_field(left);
        left = field.map_or(&[], |(_, rest)| rest);
        Some(field.map(|(field, _)| field))
    })
}

fn split_field(bytes: &[u8]) -> Option<((u64, Value<'_>), &[u8])> {
    let (tag, rest) = split_varint(bytes)?;
    let (value, rest) = match tag & 7 {
        0 => split_varint(rest).map(|(value, rest)| (Value::Varint(value), rest))?,
        1 => rest.split_first_chunk().map(|(bits, rest)| (Value::Fixed(u64::from_le_bytes(*bits)), rest))?,
        2 => {
            let (length, rest) = split_varint(rest)?;
            rest.split_at_checked(usize::try_from(length).ok()?).map(|(bytes, rest)| (Value::Bytes(bytes), rest))?
        }
        5 => rest.split_first_chunk().map(|(bits, rest)| (Value::Fixed(u64::from(u32::from_le_bytes(*bits))), rest))?,
        _ => return None,
    };
    Some(((tag >> 3, value), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back() {
        for value in (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, !(1 << bit)]) {
            let mut out = Vec::new();
            varint(&mut out, value);
            out.push(9);
            assert_eq!(split_varint(&out), Some((value, &[9][..])));
            assert_eq!(split_varint(&out[..out.len() - 2]), None);
        }
        assert_eq!(split_varint(&[0xff; 11]), None);
        assert_eq!(split_varint(&[0x81, 0x80, 0x00]), Some((1, &[][..])));
    }

    #[test]
    fn messages_come_back_up_to_damage() {
        let mut message = Vec::new();
        number(&mut message, 1, 300);
        bytes(&mut message, 16, b"ab");
        message.extend([0x15, 1, 0, 0, 0, 0x19, 2, 0, 0, 0, 0, 0, 0, 0]);
        let whole = [(1, Value::Varint(300)), (16, Value::Bytes(b"ab")), (2, Value::Fixed(1)), (3, Value::Fixed(2))];
        assert_eq!(fields(&message).collect::<Vec<_>>(), whole.map(Some));
        assert_eq!(fields(&message[..message.len() - 1]).last(), Some(None));
        // A group, and a length beyond the end.
        assert_eq!(fields(&[0x0b, 0x0c]).collect::<Vec<_>>(), [None]);
        assert_eq!(fields(&[0x0a, 2, 0]).collect::<Vec<_>>(), [None]);
    }
}
