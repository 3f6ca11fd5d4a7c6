//! Compares short strings, for which a call of `memcmp` is slower than the comparison itself.

/// Whether two strings of equal length are equal.
#[inline(always)]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    let (Some(a_last), Some(b_last)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else { return a == b };
    if a.len() > 32 {
        return a == b;
    }
    let mut differ = u64::from_le_bytes(*a_last) ^ u64::from_le_bytes(*b_last);
    for (a, b) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
        differ |= u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
    }
    differ == 0
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn a_difference_at_any_byte_is_seen() {
        for length in 0..70 {
            let text: Vec<u8> = (0..length).collect();
            assert!(same(&text, &text.clone()));
            for at in 0..text.len() {
                let mut other = text.clone();
                other[at] ^= 0x40;
                assert!(!same(&text, &other), "{length} bytes, byte {at}");
            }
        }
    }
}
