//! Arbitrary bytes in any format, read under any schema: `FORMAT NEWLINE SCHEMA NUL BYTES`. Chunks must have the schema
//! determined by the reader.

use super::{FORMATS, infer, read, request};
use std::sync::Arc;
use tatter::formats::Request;
use tatter::schema::notation;

pub fn run(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|b| *b == 0) else { return };
    let Ok(head) = std::str::from_utf8(&bytes[..end]) else { return };
    let Some((name, schema)) = head.split_once('\n') else { return };
    let Some(name) = FORMATS.iter().find(|known| **known == name) else { return };
    let Ok(declared) = notation::parse(schema) else { return };
    for skip in [false, true] {
        let request = Request { declared: Arc::new(declared.clone()), ..request(skip, false) };
        let Ok(schema) = infer(name, &bytes[end + 1..], &request) else { continue };
        let _ = read(name, &bytes[end + 1..], &schema, &request);
    }
}
