//! The order of texts.
//!
//! Rows are sorted by numbers made of a few bytes each, and rows with the same number by the following bytes. Comparing whole
//! texts instead reads both of them from memory for each comparison, which takes most of the time of a large sort.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::cmp::Ordering;

/// Bytes of a text in a number; an additional byte holds how many of them the text has, and whether it continues.
const BYTES: usize = 7;
/// The last byte of the number of a text that continues.
const GOES_ON: u64 = 8;

/// The values of an array of strings or bytes.
pub struct Texts<'a> {
    offsets: &'a [i64],
    bytes: &'a [u8],
}

impl<'a> Texts<'a> {
    /// The values; `None` for an array of another type.
    pub fn of(array: &'a ArrayRef) -> Option<Texts<'a>> {
        Some(match array.data_type() {
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Texts { offsets: array.value_offsets(), bytes: array.value_data() }
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Texts { offsets: array.value_offsets(), bytes: array.value_data() }
            }
            _ => return None,
        })
    }

    /// The bytes of a row from `depth` on.
    #[inline]
    fn rest(&self, row: usize, depth: usize) -> &'a [u8] {
        let (start, end) = (self.offsets[row] as usize + depth, self.offsets[row + 1] as usize);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Sorts the rows by their bytes, and those with equal texts by `then`. O(bytes + n log n) for n rows.
    pub fn sort(&self, rows: &mut [usize], descending: bool, then: impl Fn(usize, usize) -> Ordering) {
        let mut keyed: Vec<(u64, usize)> = rows.iter().map(|row| (0, *row)).collect();
        // Runs of rows that are equal up to a depth.
        let mut open = vec![(0..keyed.len(), 0)];
        while let Some((range, depth)) = open.pop() {
            let (start, run) = (range.start, &mut keyed[range]);
            let depth = depth + self.common(run, depth);
            for (key, row) in run.iter_mut() {
                *key = number(self.rest(*row, depth));
                if descending {
                    *key = !*key;
                }
            }
            run.sort_unstable_by_key(|(key, _)| *key);
            let mut from = start;
            for same in run.chunk_by_mut(|a, b| a.0 == b.0) {
                let to = from + same.len();
                let key = if descending { !same[0].0 } else { same[0].0 };
                match same.len() {
                    1 => {}
                    _ if key & 0xff == GOES_ON => open.push((from..to, depth + BYTES)),
                    _ => same.sort_unstable_by(|(_, a), (_, b)| then(*a, *b)),
                }
                from = to;
            }
        }
        rows.iter_mut().zip(keyed).for_each(|(row, (_, sorted))| *row = sorted);
    }

    /// The number of bytes that all rows have in common from `depth` on.
    fn common(&self, run: &[(u64, usize)], depth: usize) -> usize {
        let Some(((_, first), others)) = run.split_first() else { return 0 };
        let mut common = self.rest(*first, depth);
        for (_, row) in others {
            if common.is_empty() {
                break;
            }
            common = &common[..common_prefix(common, self.rest(*row, depth))];
        }
        common.len()
    }
}

/// The number of bytes with which both begin.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(x, y)| x == y).count();
    let differs = |(x, y): (&u8, &u8)| x != y;
    let (a, b) = (&a[8 * words..], &b[8 * words..]);
    8 * words + a.iter().zip(b).position(differs).unwrap_or(a.len().min(b.len()))
}

/// A number that compares as the first bytes do.
#[inline]
fn number(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    match text.first_chunk::<BYTES>() {
        Some(first) => {
            bytes[..BYTES].copy_from_slice(first);
            bytes[BYTES] = if text.len() > BYTES { GOES_ON as u8 } else { BYTES as u8 };
        }
        None => {
            bytes[..text.len()].copy_from_slice(text);
            bytes[BYTES] = text.len() as u8;
        }
    }
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{LargeBinaryArray, LargeStringArray};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn sorted(array: ArrayRef, descending: bool) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..array.len()).collect();
        Texts::of(&array).unwrap().sort(&mut rows, descending, |a, b| a.cmp(&b));
        rows
    }

    #[test]
    fn a_text_precedes_those_that_it_begins() {
        let words = ["https://a/b", "https://a/", "", "https://a/bc", "https://a/b\0", "https://a/b", "\0"];
        let array: ArrayRef = Arc::new(LargeStringArray::from(words.to_vec()));
        assert_eq!(sorted(array.clone(), false), [2, 6, 1, 0, 5, 4, 3]);
        assert_eq!(sorted(array, true), [3, 4, 0, 5, 1, 6, 2]);
    }

    proptest! {
        #[test]
        fn texts_are_in_the_order_of_their_bytes(
            words in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![0u8, 1, 97, 255]), 0..40), 0..60),
            prefix in "(x{0,20})?",
            descending: bool,
        ) {
            let words: Vec<Vec<u8>> = words.into_iter().map(|word| [prefix.as_bytes(), &word].concat()).collect();
            let array: ArrayRef = Arc::new(words.iter().map(|word| Some(word.as_slice())).collect::<LargeBinaryArray>());
            let mut expected: Vec<usize> = (0..words.len()).collect();
            expected.sort_by(|a, b| if descending { words[*b].cmp(&words[*a]) } else { words[*a].cmp(&words[*b]) });
            prop_assert_eq!(sorted(array, descending), expected);
        }
    }
}
