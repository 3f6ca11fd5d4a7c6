//! Skips lists of numbers 64 bytes at a time: bitmaps give the class of each byte, and the grammar is a few operations
//! on these words.

use super::cursor::Cursor;
use wide::u8x64;

/// Bytes processed together.
const BLOCK_BYTES: usize = 64;

/// The bytes of each class. The first byte is the lowest bit.
struct Classes {
    digits: u64,
    zeros: u64,
    commas: u64,
    points: u64,
    minuses: u64,
    spaces: u64,
}

impl Classes {
    #[inline(always)]
    fn of(block: &[u8; BLOCK_BYTES]) -> Classes {
        let bytes = u8x64::new(*block);
        let are = |byte| bytes.simd_eq(u8x64::splat(byte)).to_bitmask();
        let digits = bytes - u8x64::splat(b'0');
        Classes {
            digits: digits.min(u8x64::splat(9)).simd_eq(digits).to_bitmask(),
            zeros: are(b'0'),
            commas: are(b','),
            points: are(b'.'),
            minuses: are(b'-'),
            spaces: are(b' '),
        }
    }
}

/// The class of the byte before a block, in the lowest bit.
#[derive(Default)]
struct Before {
    digit: u64,
    comma: u64,
    /// A number can start after it: a comma, or a space after one.
    start: u64,
    minus: u64,
    point: u64,
    leading_zero: u64,
    /// A digit of a fraction.
    fraction: u64,
}

impl Cursor<'_> {
    /// After a number in a list, skips the numbers that follow, up to the end of the list or the comma before anything
    /// else. Numbers with exponents, whitespace other than one space after a comma, and the last bytes of the text are
    /// left to the caller.
    #[inline]
    pub fn skip_number_blocks(&mut self) {
        let mut before = Before { digit: 1, ..Before::default() };
        let (mut at, mut last_comma) = (self.pos(), self.pos());
        while let Some(block) = self.block(at) {
            let Classes { digits, zeros, commas, points, minuses, spaces } = Classes::of(block);
            let starts = commas | spaces;
            let after = |bytes: u64, carried: u64| bytes << 1 | carried;
            let leading_zeros = zeros & after(starts | minuses, before.start | before.minus);
            // Adding a one after each decimal point carries through the digits to the byte after them.
            let (fractions, fraction) = digits.overflowing_add(after(points, before.point) | before.fraction);
            let wrong = (commas | points) & !after(digits, before.digit)
                | spaces & !after(commas, before.comma)
                | minuses & !after(starts, before.start)
                | digits & after(leading_zeros, before.leading_zero)
                | points & fractions;
            let others = !(digits | commas | points | minuses | spaces);
            let sound = (wrong | others).trailing_zeros();
            let good = commas & 1u64.checked_shl(sound).map_or(u64::MAX, |bit| bit - 1);
            if good != 0 {
                last_comma = at + (63 - good.leading_zeros()) as usize;
            }
            if sound < 64 {
                let is_end = block[sound as usize] == b']' && after(digits, before.digit) >> sound & 1 == 1;
                self.set_pos(if is_end { at + sound as usize } else { last_comma });
                return;
            }
            before = Before {
                digit: digits >> 63,
                comma: commas >> 63,
                start: starts >> 63,
                minus: minuses >> 63,
                point: points >> 63,
                leading_zero: leading_zeros >> 63,
                fraction: u64::from(fraction),
            };
            at += BLOCK_BYTES;
        }
        self.set_pos(last_comma);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists of numbers with some bytes replaced: exactly what serde_json accepts is skipped.
    #[test]
    fn lists_are_passed_over_as_the_grammar_has_it() {
        let mut state = 7u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut good, mut bad) = (0, 0);
        for _ in 0..60_000 {
            let mut text = String::from("[");
            let separator = if random(3) == 0 { ", " } else { "," };
            for i in 0..1 + random(40) {
                text += if i > 0 { separator } else { "" };
                text += if random(4) == 0 { "-" } else { "" };
                let ndigits = 1 + random(9) as u32;
                text += &random(10u64.pow(ndigits)).to_string();
                if random(3) == 0 {
                    text += &format!(".{:0width$}", random(1000), width = 1 + random(20) as usize);
                }
            }
            text.push(']');
            let mut bytes = text.into_bytes();
            for _ in 0..random(3) {
                let at = 1 + random(bytes.len() as u64 - 1) as usize;
                bytes[at] = b"0123456789,,..-- ]a:"[random(20) as usize];
            }
            let padding = if random(2) == 0 { 0 } else { 100 };
            let expected = serde_json::Deserializer::from_slice(&bytes).into_iter::<Vec<f64>>().next().is_some_and(|v| v.is_ok());
            let end = bytes.iter().position(|b| *b == b']').map_or(0, |end| end + 1);
            bytes.resize(bytes.len() + padding, b'\n');
            let mut cursor = Cursor::new(&bytes, 0, true);
            let found = cursor.skip_value().is_ok();
            let text = String::from_utf8_lossy(&bytes);
            assert_eq!(found, expected, "{text}");
            assert!(!found || cursor.pos() == end, "{text}");
            good += usize::from(found);
            bad += usize::from(!found);
        }
        assert!(good > 10_000 && bad > 10_000, "{good} {bad}");
    }

    #[test]
    fn whole_lists_are_passed_over_at_once() {
        for list in ["1,2.5,-3]", "0,0.25,-0]", "1, 2, -3]", &format!("1{}]", ",123.75,-0,98".repeat(50))] {
            let text = format!("{list}{}", " ".repeat(64));
            let mut cursor = Cursor::new(text.as_bytes(), 1, true);
            cursor.skip_number_blocks();
            assert_eq!(cursor.pos(), list.len() - 1, "{list}");
        }
        let text = format!("1,2,3e5,4]{}", " ".repeat(64));
        let mut cursor = Cursor::new(text.as_bytes(), 1, true);
        cursor.skip_number_blocks();
        assert_eq!(cursor.pos(), 3, "at the comma before it");
    }
}
