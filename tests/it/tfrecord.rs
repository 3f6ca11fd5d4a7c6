//! TFRecords of tf.Example: compared with prost, damaged, and in round trips.

use crate::tfexample::{Example, bytes_list, float_list, frame, int64_list};
use prost::Message;
use std::sync::Arc;
use tatter::chunk::{Chunk, Fault};
use tatter::error::Error;
use tatter::formats::{Inference, Request, find};
use tatter::io::Input;
use tatter::options::{OnError, Options, Scalars};
use tatter::schema::Schema;

/// The result of reading bytes.
struct Read {
    schema: Schema,
    chunk: Option<Chunk>,
    faults: Vec<Fault>,
}

fn options() -> Options {
    Options { max_record_bytes: 1 << 20, ..Options::default() }
}

/// Reads with `--schema text`; the first error of any kind is the result.
fn read_as(bytes: &[u8], schema: &str, options: Options) -> Result<Read, Error> {
    let declared = Arc::new(tatter::schema::notation::parse(schema)?);
    let request = Request::everything(declared, Arc::new(options));
    let input = Arc::new(Input::memory("in.tfrecord", bytes.to_vec()));
    let mut reader = find("tfrecord").unwrap().reader(input, &request.options).unwrap()?;
    let schema = match reader.infer(&request)? {
        Inference::Known(schema) => schema,
        Inference::Scan(tasks) => {
            let mut seen = tasks.map(|task| task?()).collect::<Result<Vec<_>, _>>()?;
            match seen.pop() {
                None => Schema::default(),
                Some(mut all) => {
                    seen.into_iter().for_each(|s| all.merge(s));
                    all.schema(&request)?
                }
            }
        }
    };
    let schema = Arc::new(schema);
    let (mut chunks, mut faults) = (Vec::new(), Vec::new());
    for task in reader.read(&schema, &request)? {
        let decoded = task?()?;
        decoded.chunk.check(&schema)?;
        chunks.push(decoded.chunk);
        if let Some(fault) = decoded.faults.first().filter(|_| !request.options.on_error.skips()) {
            return Err(fault.error.clone());
        }
        faults.extend(decoded.faults);
    }
    let chunk = (!chunks.is_empty()).then(|| Chunk::concat(&chunks)).transpose()?;
    Ok(Read { schema: schema.as_ref().clone(), chunk, faults })
}

fn read(bytes: &[u8]) -> Result<Read, Error> {
    read_as(bytes, "", options())
}

fn write(read: &Read, schema: &Schema) -> Result<Vec<u8>, Error> {
    let schema = Arc::new(schema.plain());
    let mut writer = find("tfrecord").unwrap().writer(&schema, &options()).unwrap()?;
    let (sink, out) = shared();
    writer.begin(Box::new(sink))?;
    if let Some(chunk) = &read.chunk {
        writer.write(writer.encoder().encode(chunk.clone())?)?;
    }
    writer.finish()?;
    Ok(out.lock().unwrap().clone())
}

struct Sink(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn shared() -> (Sink, Arc<std::sync::Mutex<Vec<u8>>>) {
    let out = Arc::new(std::sync::Mutex::new(Vec::new()));
    (Sink(out.clone()), out)
}

fn framed(examples: &[Example]) -> Vec<u8> {
    examples.iter().flat_map(|e| frame(&e.encode_to_vec())).collect()
}

fn parse_all(bytes: &[u8]) -> Vec<Example> {
    let (mut at, mut examples) = (0, Vec::new());
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        examples.push(Example::decode(&bytes[at + 12..at + 12 + length]).unwrap());
        at += 16 + length;
    }
    examples
}

fn types(schema: &Schema) -> Vec<(String, String)> {
    schema.fields.iter().map(|f| (f.name.clone(), f.ty.to_string())).collect()
}

#[test]
fn payloads_that_are_not_examples_are_errors_where_none_is() {
    for payload in [&b"\xff\xff\xff"[..], b"{\"a\":1}", b"plain text", b"\x0a\x02\x12\x00"] {
        let error = read(&frame(payload)).err().unwrap_or_else(|| panic!("{payload:?} is read"));
        assert_eq!(error.location().records, Some((1, 1)), "{error}");
        let schema = read_as(&frame(payload), "", Options { on_error: OnError::Skip, ..options() }).unwrap();
        assert_eq!((schema.schema.fields.len(), schema.faults.len()), (0, 1));
    }
    let outcome = crate::tatter::tatter(&["schema", "--from", "tfrecord"], &frame(b"plain text"));
    assert_eq!((outcome.status, outcome.text().as_str()), (1, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("record 1: the payload is not a tf.Example"), "{}", outcome.stderr);
    // Without features it is still an Example.
    assert_eq!(read(&frame(b"")).unwrap().schema.fields.len(), 0);
}

#[test]
fn types_are_inferred_over_all_records() {
    let bytes = framed(&[
        Example::of([("id", int64_list([1])), ("s", bytes_list(&[b"a"])), ("b", bytes_list(&[b"a"]))]),
        Example::of([("id", int64_list([2])), ("s", bytes_list(&[])), ("b", bytes_list(&[b"\xff"])), ("f", float_list([0.5, 1.5]))]),
        Example::of([("id", int64_list([3])), ("s", bytes_list(&[b"\xc3\xa9"])), ("b", bytes_list(&[])), ("f", float_list([]))]),
    ]);
    let bytes = [bytes, frame(b"\x0a\x0a\x0a\x08\x0a\x04none\x12\x00")].concat();
    let expected = [
        ("b", "optional bytes[?]"),
        ("f", "optional float32[?]"),
        ("id", "optional int64[?]"),
        ("none", "optional null"),
        ("s", "optional string[?]"),
    ];
    let read = read(&bytes).unwrap();
    let mut found = types(&read.schema);
    found.sort();
    assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    let scalar = |names: &str| {
        types(
            &read_as(
                &bytes,
                "",
                Options {
                    scalar: if names == "auto" { Scalars::Auto } else { Scalars::Matching(names.split(',').map(str::to_owned).collect()) },
                    ..options()
                },
            )
            .unwrap()
            .schema,
        )
    };
    assert!(scalar("auto").contains(&("id".to_owned(), "optional int64".to_owned())));
    assert!(scalar("auto").contains(&("s".to_owned(), "optional string".to_owned())));
    assert!(scalar("auto").contains(&("f".to_owned(), "optional float32[?]".to_owned())));
    assert!(scalar("id").contains(&("s".to_owned(), "optional string[?]".to_owned())));
}

#[test]
fn the_conventions_for_ragged_and_sparse_fields_are_recognised() {
    let bytes = framed(&[Example::of([
        ("x", int64_list([1, 2, 3])),
        ("x/row_lengths_1", int64_list([1, 1])),
        ("x/row_lengths_2", int64_list([3, 0])),
        ("s/values", float_list([0.5, 1.5])),
        ("s/indices_0", int64_list([7, 1])),
        ("s/indices_1", int64_list([0, 2])),
    ])]);
    let read = read(&bytes).unwrap();
    let mut found = types(&read.schema);
    found.sort();
    assert_eq!(found, [("s", "sparse<float32>[?, ?]"), ("x", "int64[?, (?), (?)]")].map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn what_is_read_is_written_back_alike() {
    let bytes = framed(&[
        Example::of([
            ("id", int64_list([1, -1, i64::MAX, 127, 128, 1 << 40])),
            ("s", bytes_list(&[b"a", b"", b"bc"])),
            ("f", float_list([0.5])),
        ]),
        Example::of([("id", int64_list([])), ("s", bytes_list(&[])), ("f", float_list([]))]),
        Example::of([("id", int64_list([2]))]),
        Example::of([]),
    ]);
    let read = read(&bytes).unwrap();
    assert_eq!(parse_all(&write(&read, &read.schema).unwrap()), parse_all(&bytes));
}

/// One byte changed or the end truncated: an error or an equal result.
#[test]
fn every_flipped_byte_and_every_truncation_is_detected() {
    let bytes = framed(&[Example::of([("id", int64_list([1, 2])), ("s", bytes_list(&[b"ab"]))]), Example::of([("id", int64_list([3]))])]);
    for at in 0..bytes.len() {
        for flip in [1u8, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let error = read(&damaged).err().unwrap_or_else(|| panic!("byte {at} ^ {flip:#x} went unnoticed"));
            assert!(error.location().byte.is_some() && error.location().records.is_some(), "{error}");
        }
    }
    let first = 16 + Example::of([("id", int64_list([1, 2])), ("s", bytes_list(&[b"ab"]))]).encoded_len();
    for end in 0..bytes.len() {
        let outcome = read(&bytes[..end]);
        assert_eq!(outcome.is_ok(), end == 0 || end == first, "cut at {end}");
    }
}

#[test]
fn damage_costs_the_record_it_is_in() {
    let record = |i: i64| frame(&Example::of([("id", int64_list([i, i, i]))]).encode_to_vec());
    let bytes: Vec<u8> = (0..5).flat_map(record).collect();
    let size = record(0).len();
    let skip = || Options { on_error: OnError::Skip, ..options() };
    let ids = |bytes: &[u8]| {
        let read = read_as(bytes, "", skip()).unwrap();
        let chunk = read.chunk.unwrap();
        let list = chunk.columns[0].as_list().unwrap();
        let values = arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(list.values().as_leaf().unwrap()).clone();
        let ids: Vec<i64> = (0..chunk.nrows).map(|r| values.value(list.partition().start(r))).collect();
        let faults: Vec<(u64, u64)> = read.faults.iter().map(|f| (f.error.location().records.unwrap().0, f.length)).collect();
        (ids, faults)
    };
    // Damage in a payload, its checksum, a length, its checksum, the length of the last record, and the end.
    for (at, expected) in [
        (2 * size + 14, vec![0, 1, 3, 4]),
        (3 * size - 1, vec![0, 1, 3, 4]),
        (2 * size, vec![0, 1, 3, 4]),
        (2 * size + 9, vec![0, 1, 3, 4]),
        (4 * size, vec![0, 1, 2, 3]),
        (0, vec![1, 2, 3, 4]),
    ] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let (ids, faults) = ids(&damaged);
        assert_eq!(ids, expected, "byte {at}");
        assert_eq!(faults, [(at as u64 / size as u64 + 1, size as u64)], "byte {at}");
    }
    let (ids, faults) = ids(&bytes[..5 * size - 3]);
    assert_eq!((ids, faults), (vec![0, 1, 2, 3], vec![(5, size as u64 - 3)]));
}
