use super::block::Piece;
use super::limits::Limits;
use super::{decode, lines, values, write};
use crate::demand::Wanted;
use crate::error::{Kind, Result};
use crate::formats::{Observed, Request};
use crate::options::Options;
use crate::schema::{Schema, notation};
use std::sync::Arc;

pub fn request(declared: &str, change: impl FnOnce(&mut Options)) -> Request {
    let mut options = Options { on_error: "fail".into(), max_record_bytes: 1 << 20, ..Options::default() };
    change(&mut options);
    let declared = if declared.is_empty() { Schema::default() } else { notation::parse(declared).unwrap() };
    Request { wanted: Wanted::All, records: None, sample_bytes: None, declared: Arc::new(declared), options: Arc::new(options) }
}

fn pieces(text: &[u8], is_lines: bool, request: &Request) -> Vec<Result<Piece>> {
    let source: Box<dyn std::io::Read + Send> = Box::new(std::io::Cursor::new(text.to_vec()));
    let limits = Limits::of(request);
    if is_lines {
        lines::Lines::new(source, "x".into(), limits).collect()
    } else {
        values::Values::new(source, "x".into(), limits).collect()
    }
}

/// The inferred schema.
pub fn infer(text: &[u8], is_lines: bool, request: &Request) -> Result<Schema> {
    let mut all: Option<Box<dyn Observed>> = None;
    for piece in pieces(text, is_lines, request) {
        let seen: Box<dyn Observed> = Box::new(decode::observe(piece?, request)?);
        match &mut all {
            Some(all) => all.merge(seen),
            None => all = Some(seen),
        }
    }
    all.map_or_else(|| Ok(Schema::default()), |all| all.schema(request))
}

/// Reads with a schema and writes again; the messages of the bad records.
pub fn rewrite(text: &[u8], is_lines: bool, schema: &Schema, request: &Request) -> Result<(String, Vec<String>)> {
    write::check(schema)?;
    let (mut out, mut bad) = (Vec::new(), Vec::new());
    for piece in pieces(text, is_lines, request) {
        let decoded = decode::decode(piece?, schema, request)?;
        decoded.chunk.check(&schema.plain())?;
        write::write_chunk(&decoded.chunk, schema, request.options.omit_null, b"\n", &mut out)?;
        bad.extend(decoded.faults.iter().map(|f| f.error.to_string()));
    }
    Ok((String::from_utf8(out).unwrap(), bad))
}

/// The schema and the records as they come out again, or the error.
fn through(text: &str, declared: &str, change: impl FnOnce(&mut Options)) -> String {
    let request = request(declared, change);
    let result = infer(text.as_bytes(), true, &request).and_then(|schema| {
        let (out, bad) = rewrite(text.as_bytes(), true, &schema, &request)?;
        Ok(format!("{}\n{out}{}", schema.to_string().trim(), bad.join("\n")))
    });
    result.unwrap_or_else(|e| e.to_string())
}

#[test]
fn types_are_those_that_hold_all_records() {
    for (text, expected) in [
        ("{\"a\":1}\n{\"a\":2}", "a: int64\n{\"a\":1}\n{\"a\":2}\n"),
        ("{\"a\":1}\n{\"a\":1.5}", "a: float64\n{\"a\":1.0}\n{\"a\":1.5}\n"),
        ("{\"a\":[]}\n{\"a\":[1,2]}\n{\"a\":null}\n{}", "a: optional int64[?]\n{\"a\":[]}\n{\"a\":[1,2]}\n{\"a\":null}\n{\"a\":null}\n"),
        ("{\"a\":[[1],[]]}", "a: int64[?, (?)]\n{\"a\":[[1],[]]}\n"),
        ("{\"a\":18446744073709551615}", "a: uint64\n{\"a\":18446744073709551615}\n"),
        ("{\"a\":{\"x\":1,\"y\":\"s\"}}", "a: {x: int64, y: string}\n{\"a\":{\"x\":1,\"y\":\"s\"}}\n"),
        ("{\"a\":[{\"x\":1},{}]}", "a: {x: optional int64}[?]\n{\"a\":[{\"x\":1},{\"x\":null}]}\n"),
        ("{\"a\":{}}", "a: {}\n{\"a\":{}}\n"),
        ("{\"a\":[1,null]}", "a: int64[?] with nulls\n{\"a\":[1,null]}\n"),
        ("{\"a\":NaN}\n{\"a\":-Infinity}\n{\"a\":\"NaN\"}", "a: float64\n{\"a\":\"NaN\"}\n{\"a\":\"-Infinity\"}\n{\"a\":\"NaN\"}\n"),
        ("{\"a\":\"x\"}\n{\"a\":{\"b64\":\"/w==\"}}", "a: bytes\n{\"a\":\"x\"}\n{\"a\":{\"b64\":\"/w==\"}}\n"),
        (
            "{\"s\":{\"indices\":[[0,1]],\"values\":[1.5],\"dense_shape\":[1,3]}}",
            "s: sparse<float64>[?, ?]\n{\"s\":{\"indices\":[[0,1]],\"values\":[1.5],\"dense_shape\":[1,3]}}\n",
        ),
        ("\u{feff}{\"a\":true}\r\n\r\n {\"a\":false} ", "a: bool\n{\"a\":true}\n{\"a\":false}\n"),
        ("{\"a\":\"\\u00e9\\ud83d\\ude00\\n\\u0000\"}", "a: string\n{\"a\":\"é😀\\n\\u0000\"}\n"),
        (
            "{\"a\":0.1}\n{\"a\":1e300}\n{\"a\":5e-324}\n{\"a\":123456789.123456789}",
            "a: float64\n{\"a\":0.1}\n{\"a\":1e+300}\n{\"a\":5e-324}\n{\"a\":123456789.12345679}\n",
        ),
    ] {
        assert_eq!(through(text, "", |_| ()), expected, "{text}");
    }
}

#[test]
fn widening_is_asked_for() {
    let request = request("", |_| ());
    for (first, later) in
        [("{\"a\":1}", "{\"a\":1.5}"), ("{\"a\":1}", "{\"a\":null}"), ("{\"a\":1}", "{\"a\":1,\"b\":2}"), ("{\"a\":[]}", "{\"a\":[1]}")]
    {
        let schema = infer(first.as_bytes(), true, &request).unwrap();
        let error = rewrite(later.as_bytes(), true, &schema, &request).unwrap_err();
        assert_eq!(error.kind(), Kind::Widened, "{later}: {error}");
        assert!(error.to_string().contains("--schema '"), "{error}");
    }
}
