//! The grammar of a line: `[label[,label]...] [qid:N] index:value ... [# comment]`.

use crate::decimal::{WHOLE, float, float32, integer, is_rounded, is_too_wide, whole};
use crate::error::{Message, mismatch};
use crate::formats::matrix::value::MatrixValue;
use crate::schema::DType;

/// An error in a line, and its byte offset.
#[derive(Debug)]
pub struct ParseError {
    pub at: usize,
    pub message: Message,
}

type Parse<T> = Result<T, ParseError>;

/// A number in the text, in its dtype.
pub trait Number: MatrixValue {
    /// The number at the start of `bytes` and its length, or what is expected there.
    fn parse(bytes: &[u8]) -> Result<(Self, usize), &'static str>;
}

impl Number for f64 {
    #[inline(always)]
    fn parse(bytes: &[u8]) -> Result<(f64, usize), &'static str> {
        let (value, length) = number(bytes)?;
        match is_rounded(&bytes[..length], value) {
            true => Err("a number that float64 can represent exactly (sparse<int64> can hold larger integers)"),
            false => Ok((value, length)),
        }
    }
}

impl Number for f32 {
    #[inline(always)]
    fn parse(bytes: &[u8]) -> Result<(f32, usize), &'static str> {
        let (wide, length) = number(bytes)?;
        let value = float32(wide, &bytes[..length]);
        if value.is_infinite() && wide.is_finite() {
            return Err("a number in the range of float32 (sparse<float64> has a larger range)");
        }
        // Up to this magnitude, float32 represents all whole numbers.
        if value.abs() >= WHOLE && is_too_wide(&bytes[..length]) {
            return Err("a number that float32 can represent exactly (sparse<float64> can hold larger integers)");
        }
        Ok((value, length))
    }
}

/// The number of digits of [`WHOLE`].
const WHOLE_DIGITS: usize = 8;

impl Number for i64 {
    #[inline(always)]
    fn parse(bytes: &[u8]) -> Result<(i64, usize), &'static str> {
        integer(bytes).filter(|(_, length)| bytes.get(*length).is_none_or(|b| is_end(*b))).ok_or("an integer")
    }
}

#[inline(always)]
fn number(bytes: &[u8]) -> Result<(f64, usize), &'static str> {
    float(bytes, is_end).ok_or("a number")
}

fn is_end(byte: u8) -> bool {
    byte <= b' ' || byte == b'#'
}

/// A label in the text.
pub struct Label<'a> {
    /// The nearest float64.
    pub value: f64,
    text: &'a [u8],
}

impl Label<'_> {
    /// Whether it is a whole number that the float dtype does not represent.
    #[inline(always)]
    pub fn is_rounded(&self, dtype: &DType) -> bool {
        // The smallest float dtype represents all up to 2^11.
        self.value.abs() > 2048.0 && whole(self.text).map_or(is_rounded(self.text, self.value), |whole| !dtype.holds_integer(whole))
    }

    /// The label as an integer; `1.0` and `1e3` are integers, too.
    ///
    /// # Errors
    /// The expected form.
    pub fn integer<T: TryFrom<i128>>(&self) -> Result<T, &'static str> {
        let is_whole = || self.value.fract() == 0.0 && self.value.abs() < (1u64 << 53) as f64;
        let whole = whole(self.text).or_else(|| is_whole().then_some(self.value as i128)).ok_or("an integer label")?;
        T::try_from(whole).map_err(|_| "a label in the range of its type")
    }
}

/// Parses one line, from left to right.
pub struct Line<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Line<'a> {
    pub fn new(bytes: &'a [u8]) -> Line<'a> {
        let mut line = Line { bytes, at: 0 };
        line.spaces();
        line
    }

    #[inline(always)]
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    #[inline(always)]
    fn spaces(&mut self) {
        while self.bytes.get(self.at).is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether the line holds no record because it is blank or a comment.
    pub fn is_over(&self) -> bool {
        matches!(self.bytes.get(self.at), None | Some(b'#' | b'\n'))
    }

    /// Number of bytes before the next token.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.at
    }

    fn error(&self, expected: &str) -> ParseError {
        let rest = self.rest();
        let end = rest.iter().position(|b| is_end(*b)).unwrap_or(rest.len());
        let found = match end {
            0 => "the end of the line".to_owned(),
            _ => format!("`{}`", String::from_utf8_lossy(&rest[..end.min(40)])),
        };
        ParseError { at: self.at, message: mismatch(expected, found) }
    }

    /// The labels, if the line starts with any.
    #[inline]
    pub fn labels(&mut self, mut take: impl FnMut(Label<'a>) -> Result<(), &'static str>) -> Parse<()> {
        let start = self.at;
        let mut first = true;
        loop {
            let rest = self.rest();
            let Some((label, length)) = float(rest, |b| is_end(b) || b == b',' || b == b':') else {
                // `qid:1` and `index:value` can come first.
                return if first && rest.starts_with(b"qid:") { Ok(()) } else { Err(self.error("a label")) };
            };
            let next = rest.get(length);
            if next == Some(&b':') {
                return if first { Ok(()) } else { Err(self.error("a label")) };
            }
            take(Label { value: label, text: &rest[..length] }).map_err(|expected| self.error(expected))?;
            self.at += length;
            first = false;
            match next {
                Some(b',') => self.at += 1,
                _ => break,
            }
        }
        debug_assert!(self.at > start);
        self.spaces();
        Ok(())
    }

    /// `qid:N`, if it is next.
    #[inline]
    pub fn qid(&mut self) -> Parse<Option<i64>> {
        let Some(number) = self.rest().strip_prefix(b"qid:") else { return Ok(None) };
        let Ok((qid, length)) = i64::parse(number) else {
            return Err(self.error("qid:N with an integer"));
        };
        self.at += 4 + length;
        self.spaces();
        Ok(Some(qid))
    }

    /// The index of the next entry; `None` at the end of the line.
    #[inline(always)]
    pub fn index(&mut self) -> Parse<Option<i64>> {
        if self.is_over() {
            return Ok(None);
        }
        let rest = self.rest();
        match integer(rest) {
            Some((index, length)) if index >= 0 && rest.get(length) == Some(&b':') => {
                self.at += length + 1;
                Ok(Some(index))
            }
            Some((index, _)) if index < 0 => Err(self.error("a non-negative index")),
            _ if rest.starts_with(b"qid:") => Err(self.error("index:value (qid:N comes before the first index)")),
            _ => Err(self.error("index:value")),
        }
    }

    /// The value after an index.
    #[inline(always)]
    pub fn value<V: Number>(&mut self) -> Parse<V> {
        match V::parse(self.rest()) {
            Ok((value, length)) => {
                self.at += length;
                self.spaces();
                Ok(value)
            }
            Err(expected) => Err(self.error(expected)),
        }
    }

    /// Skips a value. The result is whether it is a whole number that float32 does not represent.
    #[inline(always)]
    pub fn skip_value(&mut self) -> bool {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|b| !is_end(*b)) {
            self.at += 1;
        }
        let is_wide = self.at - start >= WHOLE_DIGITS && is_too_wide(&self.bytes[start..self.at]);
        self.spaces();
        is_wide
    }
}

/// The number of labels and values in a line; `None` if it does not parse.
pub fn counted(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut line = Line::new(bytes);
    let (mut nlabels, mut nvalues) = (0, 0);
    line.labels(|_| {
        nlabels += 1;
        Ok(())
    })
    .ok()?;
    line.qid().ok()?;
    while line.index().ok()?.is_some() {
        number(line.rest()).ok()?;
        line.skip_value();
        nvalues += 1;
    }
    Some((nlabels, nvalues))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parse<(Vec<f64>, Option<i64>, Vec<(i64, f64)>)> {
        let mut line = Line::new(text.as_bytes());
        let (mut labels, mut entries) = (Vec::new(), Vec::new());
        line.labels(|label| {
            labels.push(label.value);
            Ok(())
        })?;
        let qid = line.qid()?;
        while let Some(index) = line.index()? {
            entries.push((index, line.value()?));
        }
        Ok((labels, qid, entries))
    }

    #[test]
    fn a_line_is_labels_a_qid_and_entries() {
        for (text, labels, qid, entries) in [
            ("1 1:0.5 3:2\n", vec![1.0], None, vec![(1, 0.5), (3, 2.0)]),
            ("-1.5\tqid:7  2:1e3 # 3:4\r\n", vec![-1.5], Some(7), vec![(2, 1000.0)]),
            ("1,2,3 4:5", vec![1.0, 2.0, 3.0], None, vec![(4, 5.0)]),
            (" 4:5 6:-7", vec![], None, vec![(4, 5.0), (6, -7.0)]),
            ("qid:1 4:5", vec![], Some(1), vec![(4, 5.0)]),
            ("+1", vec![1.0], None, vec![]),
            ("0 0:nan 1:inf", vec![0.0], None, vec![(0, f64::NAN), (1, f64::INFINITY)]),
        ] {
            let found = parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
            assert_eq!(format!("{found:?}"), format!("{:?}", (labels, qid, entries)), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, at, message) in [
            ("cat 1:2", 0, "expected a label, found `cat`"),
            ("1, 1:2", 2, "expected a label, found the end of the line"),
            ("1 2", 2, "expected index:value, found `2`"),
            ("1 -2:3", 2, "expected a non-negative index, found `-2:3`"),
            ("1 2:x", 4, "expected a number, found `x`"),
            ("1 2:", 4, "expected a number, found the end of the line"),
            ("1 2:1e999", 4, "expected a number, found `1e999`"),
            ("1 2:3 qid:4", 6, "expected index:value (qid:N comes before the first index), found `qid:4`"),
            ("1 qid:x 2:3", 2, "expected qid:N with an integer, found `qid:x`"),
            ("1 99999999999999999999:3", 2, "expected index:value, found `99999999999999999999:3`"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.at, error.message.as_str()), (at, message), "{text}");
        }
    }
}
