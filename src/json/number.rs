//! Numbers, parsed eight digits at a time and without copying. The text of a number is parsed again only if its value
//! needs more than one exact operation.

use super::cursor::{Cursor, ONES};
use super::error::{Parse, ParseError};

const HIGHS: u64 = ONES * 0x80;

/// The text of a number that matches the grammar.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    bytes: &'a [u8],
    /// Whether it has neither fraction nor exponent.
    pub integer: bool,
}

impl<'a> Number<'a> {
    /// The text, which is ASCII because the grammar has been checked.
    pub fn text(&self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or("0")
    }

    /// The integer, if it fits in 64 bits, signed or unsigned.
    pub fn as_integer(&self) -> Option<i128> {
        if !self.integer {
            return None;
        }
        let value: i128 = self.text().parse().ok()?;
        (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
    }

    /// The nearest float; `None` beyond the largest float.
    pub fn as_f64(&self) -> Option<f64> {
        self.text().parse().ok().filter(|v: &f64| v.is_finite())
    }
}

/// Powers of ten that a float64 holds exactly.
const TENS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];
const INT_TENS: [u64; 16] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 0, 0, 0, 0, 0, 0, 0];

/// The high bit of each byte that is not a digit; exact in all bytes.
#[inline(always)]
fn not_digits(word: u64) -> u64 {
    let x = word ^ (ONES * b'0' as u64);
    (((x & !HIGHS) + ONES * 0x76) | x) & HIGHS
}

/// The number formed by eight digits, the first in the lowest byte. Bytes may be 0 as leading zeros.
#[inline(always)]
fn eight_digits(word: u64) -> u64 {
    let x = (word & (ONES * 0x0F)).wrapping_mul(2561) >> 8;
    let x = (x & 0x00FF_00FF_00FF_00FF).wrapping_mul(6_553_601) >> 16;
    (x & 0x0000_FFFF_0000_FFFF).wrapping_mul(42_949_672_960_001) >> 32
}

impl<'a> Cursor<'a> {
    /// Appends digits to `value`. Returns the new value, wrapped beyond 64 bits, and their number.
    #[inline(always)]
    fn digits(&mut self, mut value: u64) -> (u64, usize) {
        let start = self.pos();
        loop {
            let word = self.word();
            let n = (not_digits(word).trailing_zeros() / 8) as usize;
            if n == 0 {
                break;
            }
            let part = eight_digits((word ^ (ONES * b'0' as u64)) << (64 - 8 * n));
            value = value.wrapping_mul(INT_TENS[n & 15]).wrapping_add(part);
            self.advance(n);
            if n < 8 {
                break;
            }
        }
        (value, self.pos() - start)
    }

    /// Like [`Cursor::digits`], for about seven to nine digits. Whether they end within the first word is
    /// unpredictable, so two words are always processed.
    #[inline(always)]
    fn fraction(&mut self, value: u64) -> (u64, usize) {
        let Some((first, second)) = self.two_words() else { return self.digits(value) };
        let length = |word: u64| (not_digits(word).trailing_zeros() / 8) as usize;
        let n = length(first);
        let more = length(second) & (n >> 3).wrapping_neg();
        if n == 0 || more == 8 {
            return self.digits(value);
        }
        // The shift can be a whole word.
        let half = 32 - 4 * more as u32;
        let head = eight_digits((first ^ (ONES * b'0' as u64)) << (64 - 8 * n));
        let tail = eight_digits(((second ^ (ONES * b'0' as u64)) << half) << half);
        let value = value.wrapping_mul(INT_TENS[n & 15]).wrapping_add(head);
        self.advance(n + more);
        (value.wrapping_mul(INT_TENS[more & 15]).wrapping_add(tail), n + more)
    }

    /// Fast path for an integer of at most 18 digits; otherwise the cursor does not move.
    #[inline(always)]
    pub fn short_integer(&mut self) -> Option<i64> {
        let start = self.pos();
        let negative = self.take(b'-');
        let first = self.peek();
        let (value, ndigits) = self.digits(0);
        let usual = ndigits.wrapping_sub(1) < 18 && (first != b'0' || ndigits == 1) && !matches!(self.peek(), b'.' | b'e' | b'E');
        if usual {
            return Some(if negative { -(value as i64) } else { value as i64 });
        }
        self.set_pos(start);
        None
    }

    /// Fast path for a number whose value takes one exact division or product; otherwise the cursor does not move.
    #[inline(always)]
    pub fn short_float(&mut self) -> Option<f64> {
        let start = self.pos();
        let found = self.try_short_float();
        if found.is_none() {
            self.set_pos(start);
        }
        found
    }

    #[inline(always)]
    fn try_short_float(&mut self) -> Option<f64> {
        let negative = self.take(b'-');
        let first = self.peek();
        let (mut value, ndigits) = self.digits(0);
        if ndigits == 0 || (first == b'0' && ndigits > 1) {
            return None;
        }
        let mut fraction = 0;
        if self.take(b'.') {
            (value, fraction) = self.fraction(value);
            if fraction == 0 {
                return None;
            }
        }
        if ndigits + fraction > 19 || value > 1 << 53 {
            return None;
        }
        let mut exponent = -(fraction as i64);
        if self.peek() | 0x20 == b'e' {
            self.advance(1);
            let minus = self.take(b'-');
            if !minus {
                self.take(b'+');
            }
            let (size, n) = self.digits(0);
            if n == 0 || n > 4 {
                return None;
            }
            exponent += if minus { -(size as i64) } else { size as i64 };
        }
        let magnitude = match exponent {
            0 => value as f64,
            -22..=-1 => value as f64 / TENS[exponent.unsigned_abs() as usize],
            1..=22 => value as f64 * TENS[exponent as usize],
            _ => return None,
        };
        Some(if negative { -magnitude } else { magnitude })
    }

    /// The length of a run of digits whose value is not needed.
    #[inline(always)]
    fn digit_run(&mut self) -> usize {
        let start = self.pos();
        loop {
            let n = (not_digits(self.word()).trailing_zeros() / 8) as usize;
            self.advance(n);
            if n < 8 {
                return self.pos() - start;
            }
        }
    }

    /// Fast path that skips a number without an exponent; otherwise the cursor does not move.
    #[inline(always)]
    pub fn skip_short_number(&mut self) -> bool {
        let start = self.pos();
        self.take(b'-');
        let first = self.peek();
        let whole = self.digit_run();
        let mut usual = whole > 0 && (first != b'0' || whole == 1);
        if self.take(b'.') {
            usual &= self.digit_run() > 0;
        }
        usual &= self.peek() | 0x20 != b'e';
        if !usual {
            self.set_pos(start);
        }
        usual
    }

    /// Parses any number, as text.
    pub fn number(&mut self) -> Parse<Number<'a>> {
        let start = self.pos();
        self.take(b'-');
        let first = self.peek();
        let whole = self.digit_run();
        if whole == 0 {
            self.set_pos(start);
            return Err(self.unexpected("a value"));
        }
        if first == b'0' && whole > 1 {
            return Err(ParseError::syntax(start, "a number cannot start with 0 followed by other digits"));
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            if self.digit_run() == 0 {
                return Err(self.unexpected("a digit after the decimal point"));
            }
        }
        if matches!(self.peek(), b'e' | b'E') {
            integer = false;
            self.advance(1);
            if !self.take(b'-') {
                self.take(b'+');
            }
            if self.digit_run() == 0 {
                return Err(self.unexpected("a digit of the exponent"));
            }
        }
        Ok(Number { bytes: self.since(start), integer })
    }
}
