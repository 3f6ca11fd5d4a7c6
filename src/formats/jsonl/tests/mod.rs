//! JSON from the user's perspective: one table for each guarantee.

mod laws;

use crate::decimal::Number;
use crate::demand::Wanted;
use crate::error::{Kind, Result};
use crate::formats::format::{Observed, Request};
use crate::formats::jsonl::block::Piece;
use crate::formats::jsonl::observe::Observation;
use crate::formats::jsonl::reader::cuts;
use crate::formats::jsonl::{First, decode, first_value};
use crate::io::Input;
use crate::json::cursor::Cursor;
use crate::json::seen::FirstSeen;
use crate::json::{text, write};
use crate::options::Options;
use crate::schema::{Schema, notation};
use std::sync::Arc;

pub fn request(declared: &str, change: impl FnOnce(&mut Options)) -> Request {
    let mut options = Options { max_record_bytes: 1 << 20, ..Options::default() };
    change(&mut options);
    let declared = if declared.is_empty() { Schema::default() } else { notation::parse(declared).unwrap() };
    Request::everything(Arc::new(declared), Arc::new(options))
}

fn pieces(text: &[u8], is_lines: bool, request: &Request) -> Vec<Result<Piece>> {
    let cuts = match cuts(&Input::memory("x", text.to_vec()), is_lines, request) {
        Ok(cuts) => cuts,
        Err(error) => return vec![Err(error)],
    };
    cuts.flat_map(|cut| cut.and_then(|cut| cut.pieces()).map_or_else(|e| vec![Err(e)], |pieces| pieces.into_iter().map(Ok).collect()))
        .collect()
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

/// Reads with a schema and writes again. Also returns the messages of the bad records.
pub fn rewrite(text: &[u8], is_lines: bool, schema: &Schema, request: &Request) -> Result<(String, Vec<String>)> {
    write::check(schema, false)?;
    let (mut out, mut bad) = (Vec::new(), Vec::new());
    for piece in pieces(text, is_lines, request) {
        let decoded = decode::decode(piece?, schema, request)?;
        decoded.chunk.check(&schema.plain())?;
        write::write_rows(&decoded.chunk.columns, decoded.chunk.nrows, schema, request.options.omit_null, b"\n", &mut out)?;
        bad.extend(decoded.faults.iter().map(|f| f.error.to_string()));
    }
    Ok((String::from_utf8(out).unwrap(), bad))
}

/// The schema and the rewritten records, or the error.
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

/// Common cases for Python and TensorFlow users: kept exactly, or rejected with a message.
#[test]
fn clashes_are_all_listed_and_end_in_a_schema_that_reads_them() {
    let text =
        "{\"a\":1,\"b\":[1],\"c\":{\"d\":[true]}}\n{\"a\":\"x\",\"b\":[[2]],\"c\":{\"d\":[1]}}\n{\"a\":2,\"b\":null,\"c\":{\"d\":[]}}";
    let error = through(text, "", |_| ());
    for part in [
        "3 fields contain values of mixed types",
        "a contains numbers (line 1) and strings (line 2)",
        "b contains numbers (line 1) and lists (line 2)",
        "c.d contains booleans (line 1) and numbers (line 2)",
        "--schema 'a: json; b: optional json[?]; c: {d: json[?]}'",
        "--mixed json",
    ] {
        assert!(error.contains(part), "{part} is not in\n{error}");
    }
    let kept =
        "{\"a\":1,\"b\":[1],\"c\":{\"d\":[true]}}\n{\"a\":\"x\",\"b\":[[2]],\"c\":{\"d\":[1]}}\n{\"a\":2,\"b\":null,\"c\":{\"d\":[]}}\n";
    for read in [through(text, "a: json; b: optional json[?]; c: {d: json[?]}", |_| ()), through(text, "", |o| o.mixed = true)] {
        assert_eq!(read, format!("a: json; b: optional json[?]; c: {{d: json[?]}}\n{kept}"));
    }
    let first = through(text, "", |o| o.on_error = crate::options::OnError::Skip);
    assert!(
        first.starts_with("a: int64; b: optional int64[?]; c: {d: bool[?]}\n{\"a\":1,\"b\":[1],\"c\":{\"d\":[true]}}\n{\"a\":2,"),
        "{first}"
    );
    assert!(first.contains("record 2 (line 2, column 6"), "{first}");
}

#[test]
fn numbers_that_would_change_are_refused() {
    for (text, expected) in [
        ("{\"a\":-1}\n{\"a\":18446744073709551615}", "negative integers (line 1) and integers above the largest int64 (line 2)"),
        ("{\"a\":123456789012345678901234567890}", "integers beyond 64 bits (line 1)"),
        ("{\"a\":9007199254740993}\n{\"a\":0.5}", "integers beyond 2^53"),
        ("{\"a\":1e999}", "out of range for float64"),
        ("{\"a\":-1e999}", "out of range for float64"),
    ] {
        let found = through(text, "", |_| ());
        assert!(found.contains(expected) && (found.contains("json") || found.contains("Infinity")), "{text}: {found}");
    }
    assert_eq!(through("{\"a\":9007199254740993}", "", |_| ()), "a: int64\n{\"a\":9007199254740993}\n");
    assert_eq!(through("{\"a\":-9223372036854775808}", "", |_| ()), "a: int64\n{\"a\":-9223372036854775808}\n");
}

#[test]
fn declared_types_are_checked() {
    for (text, declared, expected) in [
        ("{\"a\":200}", "a: uint8", "a: uint8\n{\"a\":200}\n"),
        ("{\"a\":300}", "a: uint8", "expected an integer of uint8 (0 to 255), found the number 300"),
        ("{\"a\":-1}", "a: uint64", "expected an integer of uint64, found the number -1"),
        ("{\"a\":1}", "a: string", "expected a string, found the number 1"),
        ("{\"a\":1.0}", "a: int64", "expected an integer, found the number 1.0"),
        ("{\"a\":0.1}", "a: float32", "a: float32\n{\"a\":0.1}\n"),
        ("{\"a\":1e39}", "a: float32", "in the range of float32"),
        ("{\"a\":0.1}", "a: float16", "a: float16\n{\"a\":0.1}\n"),
        ("{}\n{\"a\":null}\n{\"a\":7}", "a: int64 = -1", "a: int64 = -1\n{\"a\":-1}\n{\"a\":-1}\n{\"a\":7}\n"),
        ("{}", "a: int64[?] = [1, 2]", "a: int64[?] = [1, 2]\n{\"a\":[1,2]}\n"),
        ("{}", "a: int64", "expected an integer, but the field is absent"),
        ("{\"a\":null}", "a: int64", "expected an integer, found null"),
        ("{\"a\":[[1,2],[3,4]]}", "a: int64[2, 2]", "a: int64[2, 2]\n{\"a\":[[1,2],[3,4]]}\n"),
        ("{\"a\":[[1,2],[3]]}", "a: int64[2, 2]", "expected a list of 2 items, found 1"),
        ("{\"a\":[[1,2],[3,4]]}\n{\"a\":[[1]]}", "a: int64[?, ?]", "a: int64[?, ?]\n{\"a\":[[1,2],[3,4]]}\n{\"a\":[[1]]}\n"),
        ("{\"a\":[[1,2],[3]]}", "a: int64[?, ?]", "expected a list of 2 items, found 1"),
        ("{\"a\":null}", "a: optional int64[2]", "a: optional int64[2]\n{\"a\":null}\n"),
        ("{\"a\" : [1 , {\"b\": 1e2}]}", "a: json", "a: json\n{\"a\":[1 , {\"b\": 1e2}]}\n"),
        ("{\"v\":1}", "a: int64 from v", "a: int64 from v\n{\"a\":1}\n"),
        ("{\"a\":{\"x\":1,\"y\":2}}", "a: {y: float32}", "a: {x: int64, y: float32}\n{\"a\":{\"x\":1,\"y\":2.0}}\n"),
        ("{\"a\":{\"b64\":\"eA==\"}}", "a: {b64: string}", "would read back as bytes"),
        (
            "{\"s\":{\"dense_shape\":[2,2],\"indices\":[[1,1],[0,0],[0,0]],\"values\":[1,2,3]}}",
            "s: sparse<float32>[2, 2]",
            "s: sparse<float32>[2, 2]\n{\"s\":{\"indices\":[[1,1],[0,0],[0,0]],\"values\":[1.0,2.0,3.0],\"dense_shape\":[2,2]}}\n",
        ),
        ("{\"s\":{\"indices\":[[2]],\"values\":[1],\"dense_shape\":[2]}}", "", "the index [2] is outside the dense_shape [2]"),
        (
            "{\"s\":{\"indices\":[[0]],\"values\":[1],\"dense_shape\":[3]}}",
            "s: sparse<int64>[2]",
            "expected 2 as size 0 of dense_shape, found 3",
        ),
        ("{\"t\":\"2024-01-31T00:00:00\"}", "t: arrow<timestamp[us]>", "t: arrow<timestamp[us]>\n{\"t\":\"2024-01-31T00:00:00\"}\n"),
        ("{\"t\":\"2024-01-31T00:00:00.123456789\"}", "t: arrow<timestamp[us]>", "arrow<timestamp[us]> cannot represent"),
        ("{\"t\":\"1.555\"}", "t: arrow<decimal128(5, 2)>", "cannot represent 1.555 exactly"),
        ("{\"t\":1.55}", "t: arrow<decimal128(5, 2)>", "{\"t\":\"1.55\"}\n"),
        ("{\"t\":\"2024-01-31T12:00:00\"}", "t: arrow<date32>", "arrow<date32> cannot represent"),
        (
            "{\"t\":9007199254740993}",
            "t: float64",
            "expected a number that float64 can represent exactly, found the number 9007199254740993",
        ),
        ("{\"t\":9007199254740994}", "t: float64", "t: float64\n{\"t\":9007199254740994.0}\n"),
        ("{\"t\":100000000000000000000}", "t: float64", "t: float64\n{\"t\":1e+20}\n"),
        ("{\"t\":[16777217]}", "t: float32[?]", "expected a number that float32 can represent exactly, found the number 16777217"),
        ("{\"t\":[16777218, -0, 0.1]}", "t: float32[?]", "t: float32[?]\n{\"t\":[16777218.0,-0.0,0.1]}\n"),
        ("{\"t\":2049}", "t: float16", "expected a number that float16 can represent exactly"),
        ("{\"t\":\"PT1.5S\"}", "t: arrow<duration[ms]>", "t: arrow<duration[ms]>\n{\"t\":\"PT1.5S\"}\n"),
        (
            "{\"t\":\"2024-07-01T00:00:00Z\"}",
            "t: arrow<timestamp[us, Europe/Berlin]>",
            "t: arrow<timestamp[us, Europe/Berlin]>\n{\"t\":\"2024-07-01T00:00:00Z\"}\n",
        ),
        ("{\"t\":{\"x\":[NaN,\"NaN\",-Infinity]}}", "t: json", "{\"t\":{\"x\":[\"NaN\",\"NaN\",\"-Infinity\"]}}\n"),
        ("{\"t\":[65504,0.5]}", "t: float16[?]", "{\"t\":[65504.0,0.5]}\n"),
        ("{\"t\":[1099511627776,1e30,16777216]}", "t: float32[?]", "1000000015047466219876688855040.0,16777216.0]}\n"),
        ("{\"t\":\"2024-13-31\"}", "t: arrow<date32>", "found the string \"2024-13-31\""),
    ] {
        let found = through(text, declared, |_| ());
        assert!(found.contains(expected), "{declared}: {text}:\n{found}");
    }
}

#[test]
fn null_and_the_empty_list_stay_apart() {
    let text = "{\"a\":[[1],null,[]],\"b\":[{\"c\":[null]},null,{\"c\":null}]}\n{\"a\":null,\"b\":[]}\n{\"a\":[],\"b\":null}\n";
    assert_eq!(
        through(text, "", |_| ()),
        format!("a: optional int64[?, (?)] with nulls; b: optional {{c: optional null[?] with nulls}}[?] with nulls\n{text}")
    );
    let left_out = through("{\"a\":1,\"b\":null}\n{\"b\":{\"c\":null,\"d\":1}}\n", "", |o| o.omit_null = true);
    assert!(left_out.ends_with("{\"a\":1}\n{\"b\":{\"d\":1}}\n"), "{left_out}");
}

/// In the style of the public conformance suite: valid and invalid inputs, always with the location of the error.
#[test]
fn the_grammar_is_kept() {
    for value in [
        "[]",
        "[ ]",
        "[[]   ]",
        "[\"\"]",
        "[null]",
        "[1\t]",
        " [1]",
        "[1,null,null,null,2]",
        "[123.456e78]",
        "[0e+1]",
        "[0e1]",
        "[1E22]",
        "[1E-2]",
        "[-0]",
        "[-1]",
        "[-0.0]",
        "[20e1]",
        "[1.5,2.0]",
        "{\"a\":[]}",
        "{\"\":0}",
        "{ \"min\" : -1.0e+28, \"max\": 1.0e+28 }",
        "\"\\u0060\\u012a\\u12AB\"",
        "\"\\uD801\\udc37\"",
        "\"\\ud83d\\ude39\\ud83d\\udc8d\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\\\u0000\"",
        "\"a/*b*/c\"",
        "\"\\uDBFF\\uDFFF\"",
        "\"\u{10ffff}\u{2028}\u{7f}\"",
        "\"€𝄞\"",
        "true",
        "false",
        "null",
        "12345678",
        "123456789",
        "-1234567890123456789",
        "0.1234567890123456789",
        "1e-7",
        "100000000000000000000e-20",
        "2.2250738585072011e-308",
    ] {
        let text = format!("{{\"v\":{value}}}\n");
        let found = through(&text, "", |_| ());
        let last = found.lines().last().unwrap();
        let read: serde_json::Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{value}: {found}"));
        assert_eq!(normal(&read), normal(&serde_json::from_str(&text).unwrap()), "{value}: {found}");
    }
    for value in [
        "[1 true]",
        "[a]",
        "[\"\": 1]",
        "[\"\"],",
        "[,1]",
        "[1,,2]",
        "[\"x\"]]",
        "[1,]",
        "[\"x\"",
        "[x",
        "[3[4]]",
        "[,]",
        "[-]",
        "[   , \"\"]",
        "[\"a",
        "[**]",
        "[1,",
        "[1",
        "[nul",
        "[tru]",
        "[fals]",
        "++1",
        "+1",
        "+Inf",
        "-01",
        "-1.0.",
        "-2.",
        ".1",
        ".2e-3",
        "0.1.2",
        "0.3e+",
        "0.3e",
        "0.e1",
        "0e+",
        "0e",
        "1.0e+",
        "1.0e-",
        "1.0e",
        "1 000",
        "1eE2",
        "2.e+3",
        "2.e3",
        "9.e+",
        "Inf",
        "nan",
        "1+2",
        "0x1",
        "0x42",
        "- 1",
        "-012",
        "-foo",
        "-1x",
        "1ea",
        "1e",
        "012",
        "1a",
        "2.",
        "\u{ff11}",
        "[1",
        "{\"x\"",
        "{[: \"x\"}",
        "{\"x\", null}",
        "{\"x\"::\"b\"}",
        "{key: 1}",
        "{\"a\":\"a\" 123}",
        "{'a':1}",
        "{\"id\":0,}",
        "{\"id\":0,,,}",
        "{1:1}",
        "{null:null}",
        "{\"a\":\"b\",,\"c\":\"d\"}",
        "{\"a\":true} \"x\"",
        "{\"a\":1,\"a\":2}",
        "\"\\uD800\\u\"",
        "\"\\uD800\\u1x\"",
        "\"\\x00\"",
        "\"\\\\\\\"",
        "\"\u{9}\"",
        "\"\\\u{1f300}\"",
        "\"\\\"",
        "\"\\u00A\"",
        "\"\\uD834\\uDd\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\a\"",
        "\"\\uqqqq\"",
        "\"new\nline\"",
        "'x'",
        "<null>",
        "[<null>]",
        "*",
        "{\"asd\":\"asd\"",
        "",
        "#{}",
        "[1]x",
        "nulll",
        "[\u{c}]",
        "\u{feff}1",
    ] {
        let text = format!("{{\"u\":1}}\n{{\"v\":{value}}}\n");
        let found = through(&text, "", |_| ());
        assert!(found.starts_with("x: record 2 (line 2, column "), "{value}: {found}");
        // A declared field, a field that is not required, and a field kept as text follow the same grammar.
        let declared = through(&text, "u: optional int64; v: optional json", |_| ());
        assert!(declared.starts_with("x: record 2 (line 2, column ") || value == "{\"a\":1,\"a\":2}", "{value}: {declared}");
    }
}

/// Numbers as their exact values. Absent and null are equivalent.
fn normal(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(n) => n.as_f64().map_or(Value::Null, |f| Value::String(f.abs().to_bits().to_string())),
        Value::Array(items) => Value::Array(items.iter().map(normal).collect()),
        Value::Object(fields) => Value::Object(fields.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), normal(v))).collect()),
        other => other.clone(),
    }
}

#[test]
fn bad_records_are_left_out_without_a_trace() {
    let text = "{\"a\":[1,2],\"b\":\"x\"}\n{\"a\":[3,\n{\"a\":[4],\"b\":\"\\ud800\"}\n\n[1]\n{\"b\":\"y\",\"a\":[5]}\n{\"a\":[6],\"b\":\"z\"} x\n{\"a\":[],\"b\":\"w\"}";
    let found = through(text, "", |o| o.on_error = crate::options::OnError::Skip);
    let (records, messages) = found.split_once("x: record").unwrap();
    assert_eq!(records, "a: int64[?]; b: string\n{\"a\":[1,2],\"b\":\"x\"}\n{\"a\":[5],\"b\":\"y\"}\n{\"a\":[],\"b\":\"w\"}\n");
    for place in [" 2 (line 2, column 9", " 3 (line 3, column 15", " 4 (line 5, column 1", " 6 (line 7, column 19"] {
        assert!(format!("x: record{messages}").contains(place), "{place}: {messages}");
    }
    let dated = through("{\"t\":\"2024-01-01\"}\n{\"t\":\"x\"}\n{\"t\":\"2024-01-03\"}", "t: arrow<date32>", |o| {
        o.on_error = crate::options::OnError::Skip
    });
    assert!(
        dated.starts_with("t: arrow<date32>\n{\"t\":\"2024-01-01\"}\n{\"t\":\"2024-01-03\"}\n") && dated.contains("record 2 (line 2"),
        "{dated}"
    );
}

#[test]
fn fields_that_cannot_be_read_are_null() {
    let null = |o: &mut Options| o.on_error = crate::options::OnError::Null;
    for (text, declared, expected) in [
        ("{\"a\":1,\"b\":2}\n{\"a\":\"x\",\"b\":3}", "", "a: optional int64; b: int64\n{\"a\":1,\"b\":2}\n{\"a\":null,\"b\":3}\n"),
        ("{\"a\":1}\n{\"a\":18446744073709551616}", "", "a: optional int64\n{\"a\":1}\n{\"a\":null}\n"),
        ("{\"a\":[\"2024-01-31\",\"x\"]}\n{\"a\":[]}", "a: optional arrow<date32>[?]", "{\"a\":null}\n{\"a\":[]}\n"),
    ] {
        let found = through(text, declared, null);
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn how_the_input_is_cut_changes_nothing() {
    let text = "\u{feff}{\"a\":1}\n\n{\"a\":2,\"b\":[{\"c\":\"x\"}]}\n{\"a\":\n{\"b\":null}\r\n  \n{\"a\":3.5,\"b\":[]}\n";
    let skip = |o: &mut Options| o.on_error = crate::options::OnError::Skip;
    let whole = through(text, "", skip);
    for rows in 1..5 {
        assert_eq!(
            through(text, "", |o| {
                skip(o);
                o.chunk_rows = Some(rows)
            }),
            whole,
            "{rows} records a block"
        );
    }
}

#[test]
fn longer_lines_and_deeper_nesting_than_allowed_are_bad_records() {
    let long = format!("{{\"a\":1}}\n{{\"a\":{}1}}\n{{\"a\":2}}\n", " ".repeat(3000));
    for rows in [None, Some(1)] {
        let found = through(&long, "", |o| {
            o.max_record_bytes = 1000;
            o.on_error = crate::options::OnError::Skip;
            o.chunk_rows = rows
        });
        assert!(found.starts_with("a: int64\n{\"a\":1}\n{\"a\":2}\nx: record 2 (line 2"), "{found}");
    }
    let deep = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
    assert!(through(&deep(100), "", |_| ()).starts_with("a: null[?, (?)"));
    for n in [129, 100_000] {
        assert!(through(&deep(n), "", |_| ()).contains("nested deeper than 128 levels"), "{n}");
        assert!(through(&deep(n), "a: json", |_| ()).contains("nested deeper than 128 levels"), "{n}");
    }
    let many: String = (0..20_000).map(|i| format!("{{\"a\":{{\"k{i}\":1}}}}\n")).collect();
    let found = through(&many, "", |_| ());
    assert!(found.contains("more than 10,000 different keys") && found.contains("--schema 'a: json'"), "{found}");
    let some: String = (0..300).map(|i| format!("{{\"a\":{{\"k{i}\":1}}}}\n")).collect();
    assert!(through(&some, "", |o| o.omit_null = true).ends_with(&some));
}

#[test]
fn values_and_arrays_are_streams_of_records() {
    let request = request("", |_| ());
    for (text, expected) in [
        ("[]", Ok("")),
        ("[{\"a\":1},\n {\"a\":2}]\n", Ok("{\"a\":1}\n{\"a\":2}\n")),
        ("{\"a\":1}{\"a\":\n2}  {\"a\":3}", Ok("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n")),
        ("{\"a\":\"}\\\"{\"}", Ok("{\"a\":\"}\\\"{\"}\n")),
        ("[{\"a\":1},]", Err("column 10): expected an object, found `]`")),
        ("[{\"a\":1} {\"a\":2}]", Err("expected a comma or the end of the array")),
        ("[{\"a\":1}", Err("the input ends in the middle of the array")),
        ("[{\"a\":1},{\"a\":", Err("record 2 (line 1, column 10): the input ends in the middle of this record")),
        ("[{\"a\":1}] 2", Err("expected the end of the input after the array")),
        ("[{\"a\":1},\n{\"a\":tru}]", Err("record 2 (line 2, column 6): a: expected a value")),
        ("{\"a\":1},{\"a\":2}", Err("values separated by commas belong in an array")),
        ("1 2", Err("expected an object")),
        ("[1]", Err("expected an object")),
    ] {
        for rows in [None, Some(1)] {
            let request =
                Request { options: Arc::new(Options { chunk_rows: rows, ..request.options.as_ref().clone() }), ..request.clone() };
            let found = infer(text.as_bytes(), false, &request).and_then(|schema| rewrite(text.as_bytes(), false, &schema, &request));
            match (found, expected) {
                (Ok((out, bad)), Ok(expected)) => assert_eq!((out.as_str(), bad.len()), (expected, 0), "{text}"),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{text}: {error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}

#[test]
fn the_first_value_tells_lines_from_values() {
    for (head, expected) in [
        ("{\"a\":1}\n{\"a\":2}\n", Some(First::Line)),
        ("\u{feff}\n {\"a\":1}", Some(First::Line)),
        ("{\n  \"a\": 1\n}\n", Some(First::Values)),
        ("{\"a\":\n1}", Some(First::Values)),
        ("[{\"a\":1}]", Some(First::Values)),
        ("[\n", Some(First::Values)),
        ("{\"a\":1", Some(First::Line)),
        ("{\"a\":\n{\"a\":1}\n", Some(First::Line)),
        ("version https://git-lfs", None),
        ("[section]\n", None),
        ("", None),
    ] {
        assert_eq!(first_value(head.as_bytes()), expected, "{head}");
    }
}

#[test]
fn what_is_not_wanted_is_not_parsed() {
    let text = "{\"a\":1,\"b\":[1,\"x\"],\"c\":2}\n{\"c\":3,\"b\":{},\"a\":2,\"new\":1}\n";
    let mut request = request("", |_| ());
    request.wanted = Wanted::matching(["a".into()]);
    let schema = infer(text.as_bytes(), true, &request).unwrap();
    assert_eq!(schema.to_string().trim(), "a: int64");
    assert_eq!(rewrite(text.as_bytes(), true, &schema, &request).unwrap().0, "{\"a\":1}\n{\"a\":2}\n");
    // Nothing is known about the records, but they may contain the required fields, so no field is lost.
    for (wanted, lost) in [(Wanted::All, true), (Wanted::matching(["a".into()]), true), (Wanted::none(), false)] {
        let request = Request { wanted, ..request.clone() };
        let read = rewrite(text.as_bytes(), true, &Schema::default(), &request);
        assert_eq!(read.is_err_and(|e| e.kind() == Kind::Widened), lost);
    }
    request.records = Some(1);
    assert_eq!(rewrite(text.as_bytes(), true, &schema, &request).unwrap().0, "{\"a\":1}\n");
}

#[test]
fn shortest_float16_reads_back() {
    for bits in (0..=u16::MAX).step_by(7) {
        let value = half::f16::from_bits(bits);
        let mut out = Vec::new();
        value.put(text::special, &mut out);
        if value.is_finite() {
            let text = String::from_utf8(out).unwrap();
            assert_eq!(half::f16::from_f64(text.parse().unwrap()), value, "{text}");
        }
    }
}

#[test]
fn fields_are_in_the_order_of_their_inputs_however_many_there_are() {
    let request = request("", |_| ());
    let observed = |input: u32, text: &str| -> Box<dyn Observed> {
        let mut seen = Observation::new(input.to_string().into());
        if !text.is_empty() {
            seen.see(&mut Cursor::new(text.as_bytes(), 0, false), &request, FirstSeen::new(0, 1)).unwrap();
        }
        Box::new(seen)
    };
    let mut all = observed(0, "");
    for input in 1..=(1 << 16) + 1 {
        all.merge(observed(
            input,
            match input {
                1 => "{\"a\":1}",
                0x1_0000 => "{\"b\":1}",
                0x1_0001 => "{\"a\":\"x\"}",
                _ => "",
            },
        ));
    }
    let error = all.schema(&request).unwrap_err().to_string();
    assert!(error.contains("numbers (1 line 1) and strings (65537 line 1)"), "{error}");
    let mixed = Request { options: Arc::new(Options { mixed: true, ..request.options.as_ref().clone() }), ..request.clone() };
    let names: Vec<String> = all.schema(&mixed).unwrap().fields.into_iter().map(|field| field.name).collect();
    assert_eq!(names, ["a", "b"]);
}
