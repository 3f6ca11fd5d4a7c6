//! Representations of values for which JSON has no syntax: non-finite numbers, bytes, and sparse tensors.

use super::cursor::Cursor;
use super::error::{Cause, Fix, Parse, ParseError};
use super::number::Number;
use crate::error::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The keys of a sparse tensor.
pub const SPARSE_KEYS: [&str; 3] = ["indices", "values", "dense_shape"];

/// Maximum rank of a recognized sparse tensor.
const MAX_SPARSE_RANK: usize = 64;

/// Reads the elements of a nonempty list, up to and including its closing bracket.
#[inline(always)]
pub fn elements(cursor: &mut Cursor, mut one: impl FnMut(&mut Cursor) -> Parse<()>) -> Parse<()> {
    loop {
        one(cursor)?;
        if !cursor.more(b']')? {
            return Ok(());
        }
    }
}

/// Consumes the opening bracket of a list and following whitespace.
pub fn open_list(cursor: &mut Cursor) -> Parse<()> {
    if !cursor.take(b'[') {
        return Err(cursor.unexpected("a list"));
    }
    cursor.space();
    Ok(())
}

/// Appends the integers of a list.
pub fn read_integers(cursor: &mut Cursor, out: &mut Vec<i64>) -> Parse<()> {
    open_list(cursor)?;
    if cursor.take(b']') {
        return Ok(());
    }
    elements(cursor, |cursor| match cursor.short_integer() {
        Some(value) => {
            out.push(value);
            Ok(())
        }
        None => Err(cursor.unexpected("an integer")),
    })
}

/// The error for a number beyond the largest float.
#[cold]
pub fn overflow(start: usize, number: &Number, name: &str) -> Box<ParseError> {
    let text: String = number.text().chars().take(40).collect();
    ParseError::new(start, Cause::Invalid, format!("the number {text} is out of range for {name}"), Fix::Json)
        .help("write infinity as the string \"Infinity\"")
}

/// `NaN`, `Infinity` or `-Infinity`, as a string or as the bare token.
pub fn non_finite(cursor: &mut Cursor) -> Parse<Option<f64>> {
    if !matches!(cursor.peek(), b'"' | b'N' | b'I' | b'-') {
        return Ok(None);
    }
    let start = cursor.pos();
    let quoted = cursor.take(b'"');
    for (word, value) in [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)] {
        if cursor.take_word(word) {
            if !quoted || cursor.take(b'"') {
                return Ok(Some(value));
            }
            break;
        }
    }
    cursor.set_pos(start);
    Ok(None)
}

/// Appends the text of a value. The bare tokens `NaN`, `Infinity` and `-Infinity`, which are not JSON, become strings.
pub fn quote_non_finite(text: &[u8], out: &mut Vec<u8>) {
    if memchr::memchr2(b'N', b'I', text).is_none() {
        return out.extend_from_slice(text);
    }
    let (mut cursor, mut copied) = (Cursor::new(text, 0, false), 0);
    while cursor.pos() < text.len() {
        let start = cursor.pos();
        match cursor.peek() {
            b'"' if cursor.skip_string().is_err() => break,
            b'"' => {}
            b'N' | b'I' | b'-' if ["NaN", "Infinity", "-Infinity"].iter().any(|word| cursor.take_word(word)) => {
                out.extend_from_slice(&text[copied..start]);
                out.push(b'"');
                out.extend_from_slice(cursor.since(start));
                out.push(b'"');
                copied = cursor.pos();
            }
            _ => cursor.advance(1),
        }
    }
    out.extend_from_slice(&text[copied..]);
}

/// Whether `{"b64": "..."}` comes next; its bytes are appended to `out`. Otherwise the cursor position is unspecified.
pub fn base64_object(cursor: &mut Cursor, out: &mut Vec<u8>) -> Parse<bool> {
    if !cursor.take(b'{') {
        return Ok(false);
    }
    cursor.space();
    if !cursor.take_bytes(b"\"b64\"") {
        return Ok(false);
    }
    cursor.colon()?;
    if cursor.peek() != b'"' {
        return Ok(false);
    }
    let mut text = Vec::new();
    cursor.string(&mut text)?;
    cursor.space();
    Ok(cursor.take(b'}') && STANDARD.decode_vec(&text, out).is_ok())
}

/// Consumes the next key of a sparse tensor and returns its index in [`SPARSE_KEYS`].
pub fn sparse_key(cursor: &mut Cursor) -> Option<usize> {
    SPARSE_KEYS.iter().position(|key| cursor.take_bytes(format!("\"{key}\"").as_bytes()))
}

/// The rank of the sparse tensor at the cursor; `None` if the object has another form. Indices outside the shape are an
/// error of the tensor.
pub fn sparse_rank(cursor: &mut Cursor) -> Option<usize> {
    let (mut rank, mut nindices, mut nvalues, mut shape) = (None, 0, 0, None);
    let mut seen = 0;
    cursor.advance(1);
    cursor.space();
    loop {
        let key = sparse_key(cursor)?;
        seen |= 1 << key;
        cursor.colon().ok()?;
        if key == 2 {
            let mut sizes = Vec::new();
            read_integers(cursor, &mut sizes).ok()?;
            shape = Some(sizes.len());
        } else {
            open_list(cursor).ok()?;
            match key {
                _ if cursor.take(b']') => {}
                0 => elements(cursor, |cursor| {
                    let mut index = Vec::new();
                    read_integers(cursor, &mut index)?;
                    if *rank.get_or_insert(index.len()) != index.len() {
                        return Err(cursor.unexpected("indices of one length"));
                    }
                    nindices += 1;
                    Ok(())
                })
                .ok()?,
                _ => elements(cursor, |cursor| {
                    nvalues += 1;
                    if matches!(cursor.peek(), b'[' | b'{') {
                        return Err(cursor.unexpected("a single value"));
                    }
                    cursor.skip_value()
                })
                .ok()?,
            }
        }
        if !cursor.more(b'}').ok()? {
            break;
        }
    }
    let shape = shape.filter(|n| (1..=MAX_SPARSE_RANK).contains(n))?;
    (seen == 7 && nindices == nvalues && rank.unwrap_or(shape) == shape).then_some(shape)
}

/// Checks that an object, which is written for `what`, does not read back as bytes: its only key is `b64`, with text in base64.
///
/// # Errors
/// It does; the advice is `help`.
pub fn check_no_bytes(object: &[u8], what: &str, help: &str) -> Result<()> {
    let text = object.strip_prefix(b"{\"b64\":\"").and_then(|rest| rest.strip_suffix(b"\"}"));
    match text.is_some_and(|text| STANDARD.decode(text).is_ok()) {
        true => Err(Error::data(format!("{what} {{\"b64\": ...}} would read back as bytes")).help(help)),
        false => Ok(()),
    }
}

/// The advice for values that cannot be renamed.
pub const AS_ARROW: &str = "write another format, such as Arrow: --to arrow-file";
