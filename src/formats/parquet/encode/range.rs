//! Minimum and maximum values of a column chunk.

use super::StorageKind;
use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};

/// Maximum number of bytes of a string in a footer.
const LONGEST: usize = 64;

/// The range of the values so far.
#[derive(Default)]
pub struct ValueRange {
    numbers: Option<(u64, u64)>,
    strings: Option<(Vec<u8>, Vec<u8>)>,
}

impl ValueRange {
    /// Numbers are given as their bits.
    pub fn see_numbers(&mut self, kind: StorageKind, numbers: &[u64]) {
        /// NaN is ignored.
        fn ends<T: PartialOrd + Copy>(numbers: &[u64], outside: (T, T), value_of: impl Fn(u64) -> T) -> Option<(T, T)> {
            let (mut min, mut max) = outside;
            for bits in numbers {
                let value = value_of(*bits);
                min = if value < min { value } else { min };
                max = if value > max { value } else { max };
            }
            (min <= max).then_some((min, max))
        }
        let ends = |numbers: &[u64]| match kind {
            StorageKind::Signed { .. } => {
                ends(numbers, (i64::MAX, i64::MIN), |bits| bits as i64).map(|(min, max)| (min as u64, max as u64))
            }
            StorageKind::Float => ends(numbers, (f32::INFINITY, f32::NEG_INFINITY), |bits| f32::from_bits(bits as u32))
                .map(|(min, max)| (u64::from(min.to_bits()), u64::from(max.to_bits()))),
            StorageKind::Double => {
                ends(numbers, (f64::INFINITY, f64::NEG_INFINITY), f64::from_bits).map(|(min, max)| (min.to_bits(), max.to_bits()))
            }
            StorageKind::Bool | StorageKind::Unsigned { .. } | StorageKind::Bytes { .. } => {
                ends(numbers, (u64::MAX, u64::MIN), |bits| bits)
            }
        };
        let both: Vec<u64> = [self.numbers, ends(numbers)].into_iter().flatten().flat_map(|(min, max)| [min, max]).collect();
        self.numbers = ends(&both);
    }

    #[inline]
    pub fn see_string(&mut self, string: &[u8]) {
        match &mut self.strings {
            Some((min, max)) => {
                if string < min.as_slice() {
                    min.clear();
                    min.extend_from_slice(string);
                } else if string > max.as_slice() {
                    max.clear();
                    max.extend_from_slice(string);
                }
            }
            None => self.strings = Some((string.to_vec(), string.to_vec())),
        }
    }

    pub fn statistics(self, kind: StorageKind, nulls: u64) -> Statistics {
        let nulls = Some(nulls);
        let (min, max) = self.numbers.unzip();
        match kind {
            StorageKind::Bool => ValueStatistics::new(min.map(|b| b != 0), max.map(|b| b != 0), None, nulls, false)
                .with_backwards_compatible_min_max(true)
                .into(),
            StorageKind::Signed { nbytes: 4 } | StorageKind::Unsigned { nbytes: 4 } => {
                ValueStatistics::new(min.map(|b| b as i32), max.map(|b| b as i32), None, nulls, false)
                    .with_backwards_compatible_min_max(matches!(kind, StorageKind::Signed { .. }))
                    .into()
            }
            StorageKind::Signed { .. } | StorageKind::Unsigned { .. } => {
                ValueStatistics::new(min.map(|b| b as i64), max.map(|b| b as i64), None, nulls, false)
                    .with_backwards_compatible_min_max(matches!(kind, StorageKind::Signed { .. }))
                    .into()
            }
            // Zeros compare as equal, so the range includes both.
            StorageKind::Float => {
                let min = min.map(|b| f32::from_bits(b as u32)).map(|v| if v == 0.0 { -0.0 } else { v });
                let max = max.map(|b| f32::from_bits(b as u32)).map(|v| if v == 0.0 { 0.0 } else { v });
                ValueStatistics::new(min, max, None, nulls, false).with_backwards_compatible_min_max(true).into()
            }
            StorageKind::Double => {
                let min = min.map(f64::from_bits).map(|v| if v == 0.0 { -0.0 } else { v });
                let max = max.map(f64::from_bits).map(|v| if v == 0.0 { 0.0 } else { v });
                ValueStatistics::new(min, max, None, nulls, false).with_backwards_compatible_min_max(true).into()
            }
            StorageKind::Bytes { utf8 } => {
                let (min, max) = self.strings.unzip();
                let min = min.map(|min| below(min, utf8));
                // The whole string, if there is no shorter upper bound.
                let max = max.map(|max| above(&max, utf8).map_or((max, true), |cut| (cut, false)));
                let exact = |end: &Option<(Vec<u8>, bool)>| end.as_ref().is_none_or(|(_, exact)| *exact);
                let (min_exact, max_exact) = (exact(&min), exact(&max));
                let bytes = |end: Option<(Vec<u8>, bool)>| end.map(|(end, _)| ByteArray::from(end));
                ValueStatistics::new(bytes(min), bytes(max), None, nulls, false)
                    .with_min_is_exact(min_exact)
                    .with_max_is_exact(max_exact)
                    .into()
            }
        }
    }
}

/// The prefix of a long string, and whether it is the whole string.
fn below(mut string: Vec<u8>, utf8: bool) -> (Vec<u8>, bool) {
    if string.len() <= LONGEST {
        return (string, true);
    }
    string.truncate(boundary(&string, utf8));
    (string, false)
}

/// A short string greater than a long string and all strings with its prefix; `None` if it is not long or there is no
/// such string.
fn above(string: &[u8], utf8: bool) -> Option<Vec<u8>> {
    if string.len() <= LONGEST {
        return None;
    }
    let start = &string[..boundary(string, utf8)];
    if !utf8 {
        let last = start.iter().rposition(|byte| *byte != u8::MAX)?;
        let mut cut = start[..=last].to_vec();
        cut[last] += 1;
        return Some(cut);
    }
    let text = std::str::from_utf8(start).ok()?;
    text.char_indices().rev().find_map(|(at, last)| {
        let next = char::from_u32(last as u32 + 1).filter(|next| next.len_utf8() == last.len_utf8())?;
        Some(format!("{}{next}", &text[..at]).into_bytes())
    })
}

/// The position at which a string is truncated.
fn boundary(string: &[u8], utf8: bool) -> usize {
    let is_boundary = |at: &usize| !utf8 || string[*at] & 0xc0 != 0x80;
    (LONGEST.saturating_sub(3)..=LONGEST).rev().find(is_boundary).unwrap_or(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut() {
        let long = format!("{}é{}", "a".repeat(63), "z".repeat(63));
        assert_eq!(below(long.clone().into_bytes(), true), ("a".repeat(63).into_bytes(), false));
        let top = above(long.as_bytes(), true).unwrap();
        assert_eq!(top, format!("{}b", "a".repeat(62)).into_bytes());
        assert_eq!(above(&[255; 80], false), None);
        assert_eq!(above(b"short", true), None);
    }

    #[test]
    fn nan_is_no_end_and_zeros_are_both() {
        let mut range = ValueRange::default();
        range.see_numbers(StorageKind::Double, &[f64::NAN, 0.0, -0.0, 0.0].map(f64::to_bits));
        let Statistics::Double(found) = range.statistics(StorageKind::Double, 0) else { panic!("type") };
        assert!(found.min_opt().unwrap().is_sign_negative() && found.max_opt().unwrap().is_sign_positive());
    }
}
