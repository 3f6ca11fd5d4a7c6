//! Scalars as JSON text.

use super::string::specials;
use crate::decimal::{self, Number};
use crate::schema::Literal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The text of a NaN or an infinity.
pub fn special(value: f64) -> &'static [u8] {
    match value {
        f64::INFINITY => b"\"Infinity\"",
        f64::NEG_INFINITY => b"\"-Infinity\"",
        _ => b"\"NaN\"",
    }
}

/// A JSON string.
pub fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    loop {
        let plain = plain_prefix(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some((byte, after)) = rest[plain..].split_first() else { break };
        let short = match byte {
            b'"' | b'\\' => Some(*byte),
            b'\n' => Some(b'n'),
            b'\r' => Some(b'r'),
            b'\t' => Some(b't'),
            8 => Some(b'b'),
            12 => Some(b'f'),
            _ => None,
        };
        match short {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = after;
    }
    out.push(b'"');
}

/// The number of leading bytes that need no escape.
#[inline(always)]
fn plain_prefix(text: &[u8]) -> usize {
    let mut plain = 0;
    let mut chunks = text.chunks_exact(8);
    for chunk in chunks.by_ref() {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        let found = specials(word);
        if found != 0 {
            return plain + (found.trailing_zeros() / 8) as usize;
        }
        plain += 8;
    }
    let rest = chunks.remainder();
    plain + rest.iter().position(|b| *b < b' ' || *b == b'"' || *b == b'\\').unwrap_or(rest.len())
}

/// Bytes: a string if they are UTF-8, otherwise `{"b64": ...}`.
pub fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        return write_string(bytes, out);
    }
    out.extend_from_slice(b"{\"b64\":\"");
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.extend_from_slice(b"\"}");
}

/// A list of integers.
pub fn write_integers(values: &[i64], out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        decimal::put_integer(*value, out);
    }
    out.push(b']');
}

/// A literal as JSON.
pub fn literal_text(literal: &Literal) -> Vec<u8> {
    let mut out = Vec::new();
    write_literal(literal, &mut out);
    out
}

fn write_literal(literal: &Literal, out: &mut Vec<u8>) {
    match literal {
        Literal::None => out.extend_from_slice(b"null"),
        Literal::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Literal::Int(value) => decimal::put_integer(*value, out),
        Literal::Float(value) => value.put(special, out),
        Literal::String(text) => write_string(text.as_bytes(), out),
        Literal::Bytes(bytes) => write_bytes(bytes, out),
        Literal::List(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_literal(item, out);
            }
            out.push(b']');
        }
    }
}
