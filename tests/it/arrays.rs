//! npz, npy, safetensors: round trips are lossless, and damaged bytes cause a message.

use crate::random::{cases, dataset};
use crate::tatter::{Outcome, parallel, shell, tatter};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::Path;
use tatter::options::Options;
use tatter::run::Records;

fn done(outcome: Outcome) -> String {
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.text()
}

proptest! {
    #![proptest_config(cases(24))]

    /// JSON lines -> arrays -> JSON lines is the identity: records and schema.
    #[test]
    fn records_and_schema_survive_arrays(data in dataset(false)) {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        fs::write(here.join("0.jsonl"), data.jsonl()).unwrap();
        fs::write(here.join("schema.txt"), &data.schema).unwrap();
        let run = |line: &str| done(shell(line, here, b""));
        let from = "0.jsonl --from jsonl --schema @schema.txt";
        let (expected, schema) = (run(&format!("tatter convert {from}")), run(&format!("tatter schema {from}")));
        for to in ["1.npz", "2.safetensors"] {
            run(&format!("tatter convert {from} -o {to}"));
            prop_assert_eq!(&run(&format!("tatter convert {to}")), &expected, "{}", to);
            prop_assert_eq!(&run(&format!("tatter convert {to} --chunk-rows 1")), &expected, "{}", to);
            prop_assert_eq!(&run(&format!("tatter schema {to}")), &schema, "{}", to);
            prop_assert_eq!(run(&format!("tatter count {to}")), format!("{}\n", data.records.len()), "{}", to);
            let head: String = expected.lines().take(2).map(|line| format!("{line}\n")).collect();
            prop_assert_eq!(&run(&format!("tatter head 2 {to}")), &head, "{}", to);
            let bytes = fs::read(here.join(to)).unwrap();
            for options in ["--threads 8 --chunk-rows 1", "--threads 1 --chunk-rows 2"] {
                run(&format!("tatter convert {from} {options} -o again-{to}"));
                prop_assert!(bytes == fs::read(here.join(format!("again-{to}"))).unwrap(), "{} {}", to, options);
            }
        }
        if !data.records.is_empty() {
            for to in ["npz", "safetensors"] {
                run(&format!("tatter convert {from} -o 'one-#.{to}'"));
                prop_assert_eq!(&run(&format!("tatter convert 'one-*.{to}'")), &expected, "{}", to);
                prop_assert_eq!(&run(&format!("tatter schema 'one-*.{to}'")), &schema, "{}", to);
            }
        }
    }
}

/// More data than is held in memory goes through a temporary file, and none remains.
#[test]
fn large_arrays_are_spooled() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..3_000_000).map(|i| format!("{i}\n")).collect();
    fs::write(folder.path().join("in.txt"), &lines).unwrap();
    let run = |line: &str| shell(line, folder.path(), b"");
    for to in ["out.npz", "out.safetensors"] {
        done(run(&format!("tatter convert in.txt -o {to}")));
        let back = run(&format!("tatter convert {to} --to text"));
        assert!(back.stdout == lines.as_bytes(), "{to}: {}", back.stderr);
    }
    done(run("tatter convert in.txt --threads 1 --chunk-rows 77777 -o other.npz"));
    assert!(fs::read(folder.path().join("other.npz")).unwrap() == fs::read(folder.path().join("out.npz")).unwrap());
    assert_eq!(done(run("ls -A")), "in.txt\nother.npz\nout.npz\nout.safetensors\n");
}

/// An array as NumPy saves it.
fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), values].concat()
}

/// A zip archive with stored or deflated members.
fn zip(members: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let (mut out, mut central) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut packed = bytes.clone();
        if deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(bytes).unwrap();
            packed = encoder.finish().unwrap();
        }
        let offset = out.len() as u32;
        let mut common = Vec::new();
        for number in [20u16, 0, if deflated { 8 } else { 0 }, 0, 0x21] {
            common.extend(number.to_le_bytes());
        }
        for number in [crc32fast::hash(bytes), packed.len() as u32, bytes.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(packed);
        central.extend(b"PK\x01\x02\x14\x00");
        central.extend(&common);
        central.extend([0; 10]);
        central.extend(offset.to_le_bytes());
        central.extend(name.as_bytes());
    }
    let start = out.len() as u32;
    out.extend(&central);
    out.extend(b"PK\x05\x06\0\0\0\0");
    for number in [members.len() as u16, members.len() as u16] {
        out.extend(number.to_le_bytes());
    }
    for number in [central.len() as u32, start] {
        out.extend(number.to_le_bytes());
    }
    out.extend([0, 0]);
    out
}

fn numbers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Ragged, sparse and dense arrays from another program: three records.
fn foreign() -> Vec<(&'static str, Vec<u8>)> {
    let narrow = |values: &[i32]| values.iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<u8>>();
    vec![
        ("x/values.npy", npy("<i8", "(4,)", &numbers(&[1, 2, 3, 4]))),
        ("x/row_splits_0.npy", npy(">i4", "(4,)", &narrow(&[0, 2, 2, 4]))),
        ("t/values.npy", npy("|u1", "(3,)", b"abc")),
        ("t/row_splits_0.npy", npy("<i8", "(4,)", &numbers(&[0, 1, 1, 3]))),
        ("s/indices.npy", npy("<i8", "(2, 2)", &numbers(&[0, 1, 2, 0]))),
        ("s/values.npy", npy("<i8", "(2,)", &numbers(&[7, 8]))),
        ("s/dense_shape.npy", npy("<i8", "(2,)", &numbers(&[3, 5]))),
        ("u.npy", npy("<U1", "(3, 2)", &"abcdef".chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<u8>>())),
        ("b.npy", npy("|b1", "(3,)", &[0, 1, 2])),
    ]
}

#[test]
fn arrays_of_other_programs_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| shell(line, folder.path(), b"");
    for deflated in [false, true] {
        fs::write(folder.path().join("x.npz"), zip(&foreign(), deflated)).unwrap();
        assert_eq!(
            done(run("tatter convert x.npz")),
            "{\"x\":[1,2],\"t\":\"a\",\"s\":{\"indices\":[[1]],\"values\":[7],\"dense_shape\":[5]},\"u\":[\"a\",\"b\"],\"b\":false}\n\
             {\"x\":[],\"t\":\"\",\"s\":{\"indices\":[],\"values\":[],\"dense_shape\":[5]},\"u\":[\"c\",\"d\"],\"b\":true}\n\
             {\"x\":[3,4],\"t\":\"bc\",\"s\":{\"indices\":[[0]],\"values\":[8],\"dense_shape\":[5]},\"u\":[\"e\",\"f\"],\"b\":true}\n"
        );
        assert_eq!(done(run("tatter schema x.npz")), "x: int64[?]\nt: bytes\ns: sparse<int64>[5]\nu: string[2]\nb: bool\n");
        assert_eq!(done(run("tatter select t then schema x.npz --schema 't: string'")), "t: string\n");
        assert_eq!(done(run("tatter select t then tail 1 x.npz --schema 't: uint8[?]'")), "{\"t\":[98,99]}\n");
        assert_eq!(done(run("tatter head 2 then count x.npz")), "2\n");
        // All axes of an array: one record.
        assert_eq!(
            done(run("tatter select x,u x.npz --schema 'u: string[?, ?]'")),
            "{\"x\":[[1,2],[],[3,4]],\"u\":[[\"a\",\"b\"],[\"c\",\"d\"],[\"e\",\"f\"]]}\n"
        );
    }
}

#[test]
fn arrays_that_contradict_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let splits = |values: &[i64]| npy("<i8", &format!("({},)", values.len()), &numbers(values));
    let values = || ("x/values.npy", npy("<i8", "(3,)", &numbers(&[1, 2, 3])));
    let ragged = |own: &[i64]| vec![values(), ("x/row_splits_0.npy", splits(own))];
    let sparse = |indices: &[i64], shape: &[i64]| {
        vec![
            ("s/indices.npy", npy("<i8", &format!("({}, 2)", indices.len() / 2), &numbers(indices))),
            ("s/values.npy", npy("<i8", &format!("({},)", indices.len() / 2), &numbers(&vec![1; indices.len() / 2]))),
            ("s/dense_shape.npy", splits(shape)),
        ]
    };
    let mut wrong_crc = zip(&ragged(&[0, 3]), false);
    let at = wrong_crc.windows(8).position(|w| w == 3i64.to_le_bytes()).unwrap();
    wrong_crc[at] ^= 4;
    let renamed = |from: &[u8], to: &[u8]| {
        let mut bytes = zip(&ragged(&[0, 3]), false);
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        bytes
    };
    let bomb = zip(&[("x.npy", npy("<i8", "(1, 100000000)", &vec![0; 800_000_000]))], true);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("start", zip(&ragged(&[1, 3]), false), "x.npz: x/row_splits_0: row splits start at 1 instead of 0"),
        ("none", zip(&ragged(&[]), false), "x.npz: x/row_splits_0: row splits are empty; expected them to start at 0"),
        ("down", zip(&ragged(&[0, 2, 1, 3]), false), "x.npz: x: row splits decrease from 2 to 1"),
        ("beyond", zip(&ragged(&[0, 2, i64::MAX]), false), "x.npz: x: row splits reach value 9223372036854775807, but there are only 3"),
        ("short", zip(&ragged(&[0, 2]), false), "x.npz: x: its row splits end 1 value too early"),
        ("no records", zip(&ragged(&[0]), false), "x.npz: x: its row splits end 3 values too early"),
        ("outside", zip(&sparse(&[0, 5], &[1, 5]), false), "x.npz: record 1: s: index [5] is outside the dense_shape [5]"),
        (
            "back",
            zip(&sparse(&[1, 0, 0, 0], &[2, 5]), false),
            "x.npz: s: expected indices in the order of the records, found record 0 after record 1",
        ),
        ("more", zip(&sparse(&[0, 0, 2, 0], &[2, 5]), false), "x.npz: s: indices continue after the last record"),
        ("negative", zip(&sparse(&[], &[2, -5]), false), "x.npz: s/dense_shape: expected sizes of at least 0, found -5"),
        ("twice", zip(&[values(), values()], false), "x.npz: the zip archive has two members called x/values.npy"),
        (
            "longer",
            zip(&[("x.npy", npy("<i8", "(2,)", &numbers(&[1])))], false),
            "x.npz: x: the array (2,) takes 16 bytes, but its header is followed by 8 bytes",
        ),
        ("checksum", wrong_crc, "x.npz: x: the member x/values.npy is damaged: its checksum does not match"),
        ("name", renamed(b"x/values", b"y/values"), "x.npz: the zip archive lists a member x/values.npy whose header has another name"),
        (
            "checkpoint",
            zip(&[("archive/data.pkl", Vec::new()), ("archive/data/0", vec![0; 8])], false),
            "x.npz: this is a PyTorch checkpoint, a pickle that may contain code, so tatter does not load it",
        ),
        ("a bomb", bomb, "x.npz: x: the record has 800000000 bytes, more than the --max-record-bytes limit of 268435456"),
    ];
    for (what, bytes, expected) in cases {
        fs::write(folder.path().join("x.npz"), bytes).unwrap();
        let outcome = shell("ulimit -v 4000000; tatter convert x.npz --threads 1", folder.path(), b"");
        let first = outcome.stderr.lines().next().unwrap_or_default().trim_start_matches("error: ");
        assert_eq!((first, outcome.status), (expected, 1), "{what}: {}{}", outcome.stderr, outcome.text());
    }
}

/// Reads all of a file in this process: returns an error or values, and must not panic.
fn read(path: &Path) -> Result<usize, String> {
    let options = Options { max_record_bytes: 1 << 20, infer_bytes: 1 << 20, ..Options::default() };
    let mut records = Records::open(path.to_str().unwrap(), &options).map_err(|e| e.to_string())?;
    let schema = records.schema().map_err(|e| e.to_string())?;
    let mut nrecords = 0;
    for decoded in records.read(schema.into()) {
        nrecords += decoded.map_err(|e| e.to_string())?.chunk.nrows;
    }
    Ok(nrecords)
}

const RECORDS: &str = r#"{"a":1,"b":[[1.5],[]],"c":"text","d":{"e":[true],"f":"x"},"s":{"indices":[[1]],"values":[2],"dense_shape":[3]}}
{"a":2,"b":[],"c":"","d":{"e":[],"f":""},"s":{"indices":[],"values":[],"dense_shape":[3]}}
"#;

/// Flips every bit and truncates at every position: an error or other values, never a crash or excessive memory.
#[test]
fn damaged_bytes_end_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for (name, verbs) in [("x.npz", "convert"), ("x.safetensors", "convert"), ("x.npy", "select a")] {
        let path = file(name);
        let arguments: Vec<&str> = verbs.split(' ').chain(["-o", path.to_str().unwrap()]).collect();
        done(tatter(&arguments, RECORDS.as_bytes()));
    }
    fs::write(file("deflated.npz"), zip(&foreign(), true)).unwrap();
    let mut names = vec!["x.npz", "x.safetensors", "x.npy", "deflated.npz"];
    for name in names.drain(..) {
        let bytes = fs::read(file(name)).unwrap();
        assert!(read(&file(name)).is_ok(), "{name}");
        let damaged = |number: usize, bytes: &[u8]| {
            // A new file for each worker.
            let path = folder.path().join(format!("{number}-{name}"));
            fs::write(&path, bytes).unwrap();
            let _ = read(&path);
            fs::remove_file(&path).unwrap();
        };
        parallel(&(0..bytes.len()).collect::<Vec<_>>(), |&at| {
            let mut flipped = bytes.clone();
            for bit in 0..8 {
                flipped[at] = bytes[at] ^ (1 << bit);
                damaged(at, &flipped);
            }
            damaged(at, &bytes[..at]);
        });
        // Repeated with little memory, so that using much more than the file size is noticed.
        parallel(&(0..bytes.len()).step_by(17).collect::<Vec<_>>(), |&at| {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let path = folder.path().join(format!("{at}-{name}"));
            fs::write(&path, &flipped).unwrap();
            let outcome = shell(&format!("ulimit -v 4000000; exec tatter convert --threads 1 {}", path.display()), Path::new("/"), b"");
            let quiet = !["panicked", "memory allocation", "internal:"].iter().any(|word| outcome.stderr.contains(word));
            assert!((0..=3).contains(&outcome.status) && quiet, "{name}, bit {} of byte {at}: {outcome:?}", at % 8);
            assert!(outcome.status == 0 || outcome.stderr.starts_with("error: "), "{name}, byte {at}: {outcome:?}");
            fs::remove_file(&path).unwrap();
        });
    }
}
