//! Parquet and Arrow: round trips are lossless, and damaged bytes cause a message.

use crate::random::{cases, dataset};
use crate::tatter::{Outcome, parallel, shell, tatter};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// The formats through which a dataset is converted in sequence.
const WAY: &[(&str, &str)] = &[
    ("1.parquet", "--row-group-rows 3"),
    ("2.arrow", "--row-group-rows 2 --compression lz4"),
    ("3.arrows", "--tensor-types --compression zstd:3"),
    ("4.parquet", "--tensor-types --compression snappy"),
    ("5.arrows", ""),
    ("6.parquet", "--compression gzip"),
];

fn done(outcome: Outcome) -> String {
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.text()
}

proptest! {
    #![proptest_config(cases(12))]

    /// JSON lines -> Parquet -> Arrow -> ... -> JSON lines is the identity: records and schema.
    #[test]
    fn records_and_schema_survive_every_columnar_format(data in dataset(true)) {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        fs::write(here.join("0.jsonl"), data.jsonl()).unwrap();
        fs::write(here.join("schema.txt"), &data.schema).unwrap();
        let run = |line: &str| done(shell(line, here, b""));
        let expected = run("tatter convert 0.jsonl --from jsonl --schema @schema.txt");
        let schema = run("tatter schema 0.jsonl --from jsonl --schema @schema.txt");
        let mut from = "0.jsonl --from jsonl --schema @schema.txt".to_owned();
        for (to, options) in WAY {
            run(&format!("tatter convert {from} -o {to} {options}"));
            prop_assert_eq!(&run(&format!("tatter convert {to}")), &expected, "{}", to);
            // Parquet statistics may prove that there are no nulls where the schema allows them.
            let shown = |text: &str| if to.ends_with(".parquet") { text.replace("optional ", "").replace(" with nulls", "") } else { text.to_owned() };
            prop_assert_eq!(shown(&run(&format!("tatter schema {to}"))), shown(&schema), "{}", to);
            prop_assert_eq!(run(&format!("tatter count {to}")), format!("{}\n", data.records.len()), "{}", to);
            let head: String = expected.lines().take(2).map(|line| format!("{line}\n")).collect();
            prop_assert_eq!(&run(&format!("tatter head 2 {to}")), &head, "{}", to);
            from = (*to).to_owned();
        }
    }
}

/// Records with every kind of column: strings, lists of lists, structures, sparse tensors, nulls.
const RECORDS: &str = r#"{"a":1,"b":[[1.5],[]],"c":"text","d":{"e":[true],"f":null},"s":{"indices":[[1]],"values":[2],"dense_shape":[3]}}
{"a":2,"b":[],"c":"","d":null,"s":{"indices":[],"values":[],"dense_shape":[3]}}
{"a":null,"b":null,"c":"naïve","d":{"e":[],"f":"x"},"s":{"indices":[[0],[2]],"values":[3,4],"dense_shape":[3]}}
"#;

/// The program with little memory, so that using much more than the file size is noticed.
fn limited(path: &Path) -> Outcome {
    shell(&format!("ulimit -v 4000000; exec tatter convert --threads 1 {}", path.display()), Path::new("/"), b"")
}

fn check(path: &Path, what: &str) {
    let outcome = limited(path);
    let quiet = !outcome.stderr.contains("panicked")
        && !outcome.stderr.contains("overflowed its stack")
        && !outcome.stderr.contains("memory allocation");
    assert!((0..=3).contains(&outcome.status) && quiet, "{what}: {outcome:?}");
    assert!(outcome.status == 0 || outcome.stderr.starts_with("error: "), "{what}: {outcome:?}");
    let nrecords = outcome.text().lines().count();
    assert!(outcome.status != 0 || nrecords == RECORDS.lines().count(), "{what}: {nrecords} records without a message");
}

/// Flips bits and truncates throughout the file: an error or other values, never a crash, and never fewer records without
/// a message.
#[test]
fn damaged_bytes_end_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options) in [("x.parquet", ""), ("x.arrow", ""), ("x.arrows", "--compression zstd")] {
        let path = folder.path().join(name);
        let mut arguments = vec!["convert", "-o", path.to_str().unwrap()];
        arguments.extend(options.split_whitespace());
        done(tatter(&arguments, RECORDS.as_bytes()));
        let bytes = fs::read(&path).unwrap();
        parallel(&(0..bytes.len()).step_by(5).collect::<Vec<_>>(), |&at| {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let path = folder.path().join(format!("{at}-{name}"));
            fs::write(&path, &damaged).unwrap();
            check(&path, &format!("{name}, bit {} of byte {at} flipped", at % 8));
            fs::write(&path, &bytes[..at]).unwrap();
            if at % 4 == 0 {
                check(&path, &format!("{name} cut off at byte {at}"));
            }
            fs::remove_file(&path).unwrap();
        });
    }
}

/// The pages that tatter writes have checksums. A flipped bit in their headers is an error too, or changes nothing.
#[test]
fn every_flipped_bit_of_a_page_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for (shift, compression) in ["none", "snappy", "zstd"].into_iter().enumerate() {
        let path = folder.path().join(format!("{compression}.parquet"));
        done(tatter(&["convert", "--compression", compression, "-o", path.to_str().unwrap()], RECORDS.as_bytes()));
        let expected = done(tatter(&["convert", path.to_str().unwrap()], b""));
        let bytes = fs::read(&path).unwrap();
        let (rest, _) = bytes.split_last_chunk::<4>().unwrap();
        let (rest, footer) = rest.split_last_chunk::<4>().unwrap();
        let pages = 4..rest.len() - u32::from_le_bytes(*footer) as usize;
        parallel(&pages.collect::<Vec<_>>(), |&at| {
            let mut damaged = bytes.clone();
            let bit = (at + shift) % 8;
            damaged[at] ^= 1 << bit;
            let path = folder.path().join(format!("{at}-{compression}.parquet"));
            fs::write(&path, &damaged).unwrap();
            let outcome = limited(&path);
            assert!(
                outcome.status == 1 || outcome.status == 0 && outcome.text() == expected,
                "{compression}, bit {bit} of byte {at} flipped: {outcome:?}"
            );
            fs::remove_file(&path).unwrap();
        });
    }
}

/// Strings so long that a page ends within a few hundred rows.
#[test]
fn pages_of_long_strings_do_not_depend_on_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: usize| format!("{{\"s\":\"{}{i}\",\"l\":[\"{}\"]}}\n", "x".repeat(i * 7919 % 3000), "y".repeat(i * 31 % 500));
    std::fs::write(folder.path().join("in.jsonl"), (0..4000).map(line).collect::<String>()).unwrap();
    for verbs in ["convert", "filter 'strings.length(s) > 5'", "sort --by s", "batch 3"] {
        for to in ["parquet", "arrow", "tfrecord", "npz"] {
            let run = |options: &str| {
                done(shell(&format!("tatter {verbs} in.jsonl -o out.{to} {options}"), folder.path(), b""));
                std::fs::read(folder.path().join(format!("out.{to}"))).unwrap()
            };
            let expected = run("--threads 1 --chunk-rows 4000");
            for options in ["--threads 1 --chunk-rows 50", "--threads 3 --chunk-rows 777"] {
                assert!(run(options) == expected, "{verbs} to {to}, {options}");
            }
        }
    }
}

/// Footers that claim more than exists.
#[test]
fn footers_that_lie_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let varint = |mut n: u64| {
        let mut bytes = Vec::new();
        while n >= 0x80 {
            bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes
    };
    // FileMetaData { 1: version = 1, 2: schema = list of structures }, then a chain of groups of one child each.
    let deep = {
        let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
        footer.extend(varint(100_000));
        for _ in 0..100_000 {
            // SchemaElement { 4: name = "a", 5: num_children = 1 }
            footer.extend([0x48, 0x01, b'a', 0x15, 0x02, 0x00]);
        }
        footer.push(0);
        footer
    };
    let long = [vec![0x15, 0x02, 0x19, 0xfc], varint(u64::from(u32::MAX))].concat();
    let structures = [vec![0x1c; 100_000], vec![0; 100_000]].concat();
    let cases =
        [("nested 100,000 deep", deep), ("a list of 4 billion", long), ("structures in structures", structures), ("no footer", Vec::new())];
    for (what, footer) in cases {
        let path = folder.path().join("x.parquet");
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        fs::write(&path, [b"PAR1".as_slice(), &footer, &length, b"PAR1"].concat()).unwrap();
        let outcome = limited(&path);
        assert_eq!(outcome.status, 1, "{what}: {outcome:?}");
        assert!(outcome.stderr.starts_with("error: ") && !outcome.stderr.contains("panicked"), "{what}: {outcome:?}");
    }
}

/// Nulls take no room in a row group, so that files of many fields, each in few records, are not divided into many groups.
#[test]
fn fields_that_are_mostly_null_do_not_divide_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let record = |row: usize| format!("{{\"id\":{row},\"k{}\":{row},\"s\":{{\"t{}\":[\"{row}\"]}}}}\n", row % 500, row % 300);
    fs::write(here.join("in.jsonl"), (0..12_000).map(record).collect::<String>()).unwrap();
    done(shell("tatter convert in.jsonl -o out.parquet --threads 4", here, b""));
    let file = parquet::file::reader::SerializedFileReader::new(fs::File::open(here.join("out.parquet")).unwrap()).unwrap();
    assert_eq!(parquet::file::reader::FileReader::metadata(&file).num_row_groups(), 1);
    assert_eq!(done(shell("tatter diff in.jsonl out.parquet", here, b"")), "");
    done(shell("tatter convert in.jsonl -o other.parquet --threads 1 --chunk-rows 77", here, b""));
    assert_eq!(fs::read(here.join("out.parquet")).unwrap(), fs::read(here.join("other.parquet")).unwrap());
}
