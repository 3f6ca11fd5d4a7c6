//! Records of thousands of fields through every verb and every format, and hundreds of small inputs of every format.
//!
//! The values of a field depend only on the last digit of its number, so that the records of [`NARROW`] fields say what
//! becomes of each of the [`WIDE`] fields: every job is run on both.

use crate::tatter::{Outcome, parallel, shell};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tatter::formats::FORMATS;
use tatter::verbs::VERBS;

const WIDE: usize = 2000;
const NARROW: usize = 10;

/// The value of field `k` in record `r`, by the name of a file.
const FILES: &[(&str, fn(usize, usize) -> Value)] = &[
    ("int", |k, r| json!(3 * k + r)),
    ("vector", |k, r| json!(vec![k; 1 + (k + r) % 3])),
    ("pair", |k, r| json!([k, r])),
    ("ragged", |k, r| json!([vec![k; (k + r) % 3], [1]])),
    ("dense", |k, r| json!([[k + 1, r], [0, 0]])),
    ("text", |k, _| json!(format!("v{k}"))),
    ("null", |k, r| if r == 0 { json!(k) } else { Value::Null }),
    ("sparse", |k, r| json!({"indices": [[0], [2]], "values": [k, r], "dense_shape": [3]})),
    ("docs", |k, r| json!([{"a": [k], "b": r}])),
];

/// Shell commands for each verb. A word with `@` is repeated for every field, with the field's name in place of `@`; the
/// repetitions are joined by what follows the last `|` (`_` is a space), or are words of their own.
const VERB_JOBS: &[(&str, &[&str])] = &[
    ("convert", &["ragged.jsonl", "sparse.jsonl"]),
    ("count", &["int.jsonl"]),
    ("schema", &["ragged.jsonl", "--as json docs.jsonl"]),
    ("show", &["ragged.jsonl"]),
    ("stats", &["ragged.jsonl", "--as json ragged.jsonl"]),
    ("validate", &["ragged.jsonl"]),
    ("head", &["1 int.jsonl"]),
    ("tail", &["1 int.jsonl"]),
    ("skip", &["1 int.jsonl"]),
    ("get", &["1 int.jsonl"]),
    ("take-while", &["@>=0|_and_ int.jsonl"]),
    ("skip-while", &["@<0|_and_ int.jsonl"]),
    ("shard", &["1/2 int.jsonl"]),
    ("sample", &["1 int.jsonl"]),
    ("shuffle", &["int.jsonl"]),
    ("sort", &["--by @|, --descending int.jsonl", "--by=-@| int.jsonl"]),
    ("filter", &["@>=0|_and_ int.jsonl"]),
    ("split", &["'k == 0' int.jsonl -o yes.jsonl --else no.jsonl && cat yes.jsonl no.jsonl"]),
    ("rejection-resample", &["--by k --target 0=0.5,1=0.5 int.jsonl"]),
    ("unique", &["--by @|, int.jsonl"]),
    ("repeat", &["2 int.jsonl"]),
    ("assert", &["@>=0|_and_ int.jsonl"]),
    ("assert-cardinality", &["2 int.jsonl"]),
    ("concatenate", &["int.jsonl null.jsonl"]),
    ("mix", &["int.jsonl=0.5 int.jsonl=0.5"]),
    ("interleave", &["int.jsonl null.jsonl"]),
    ("choose", &["--by from from.jsonl int.jsonl null.jsonl"]),
    ("zip", &["--as l,r int.jsonl vector.jsonl"]),
    ("select", &["@|, int.jsonl"]),
    ("drop", &["@|, int.jsonl"]),
    ("rename", &["@=@y|, int.jsonl"]),
    ("cast", &["@=float32|, int.jsonl"]),
    ("fill-null", &["@=0|, null.jsonl"]),
    ("map", &["@=@*2|; int.jsonl", "@y=@+1|; int.jsonl", "@=None|; int.jsonl"]),
    ("enumerate", &["int.jsonl"]),
    ("lookup", &["k in int.jsonl --key k --take @|, keys.jsonl"]),
    ("cumsum", &["k --as total int.jsonl"]),
    ("batch", &["2 ragged.jsonl", "all --max-values=@=100| vector.jsonl"]),
    ("window", &["--size 2 int.jsonl"]),
    ("unbatch", &["pair.jsonl"]),
    ("explode", &["one vector.jsonl"]),
    ("implode", &["--by k ragged.jsonl", "--by @|, int.jsonl"]),
    ("padded-batch", &["2 --default=@=-1| --shape=@=[5]| vector.jsonl"]),
    ("bucket", &["--by k --batch-sizes 1 vector.jsonl"]),
    ("pack", &["-f @|, --length 4 pair.jsonl"]),
    ("to-dense", &["--mask --lengths --default=@=-1| ragged.jsonl"]),
    ("to-sparse", &["vector.jsonl"]),
    ("from-dense", &["--padding 0 dense.jsonl"]),
    ("from-sparse", &["to-sparse then from-sparse vector.jsonl"]),
    ("merge-dims", &["one 0 1 ragged.jsonl"]),
    ("partition", &["one --uniform 1 vector.jsonl"]),
    ("promote", &["one.a --as z docs.jsonl"]),
    ("decompose", &["one --encoding row_splits ragged.jsonl"]),
    ("compose", &["decompose one --encoding row_splits then compose one --encoding row_splits ragged.jsonl"]),
    ("windows", &["one --size 2 vector.jsonl"]),
];

/// The files that each format holds and gives back, with many fields.
const FORMAT_JOBS: &[(&str, &[&str])] = &[
    ("tfrecord", &["convert ragged.jsonl", "convert docs.jsonl"]),
    ("sequence-example", &["convert ragged.jsonl"]),
    ("array-record", &["convert text.jsonl"]),
    ("tfds", &["convert ragged.jsonl"]),
    ("parquet", &["convert ragged.jsonl", "convert docs.jsonl"]),
    ("arrow-file", &["convert docs.jsonl"]),
    ("arrow", &["convert docs.jsonl"]),
    ("npz", &["convert ragged.jsonl"]),
    ("safetensors", &["convert ragged.jsonl"]),
    ("webdataset", &["map '__key__ = strings.as_string(k); k = None' text.jsonl"]),
    ("jsonl", &["convert docs.jsonl"]),
    ("json", &["convert docs.jsonl"]),
    ("csv", &["convert text.jsonl"]),
    ("tsv", &["convert text.jsonl"]),
];

/// Formats whose records have one field, or two.
const NARROW_FORMATS: &[&str] = &["megatron", "scipy", "npy", "libsvm", "matrix-market", "text", "none"];

/// A record that each format gives back (`#`: its number), and the options to read it.
const SMALL: &[(&str, &str, &str)] = &[
    ("tfrecord", r#"{"id":[#],"v":[#,1]}"#, ""),
    ("sequence-example", r#"{"s":[[#],[1,2]]}"#, ""),
    ("array-record", r#"{"id":[#]}"#, ""),
    ("tfds", r#"{"id":#}"#, ""),
    ("megatron", r#"{"tokens":[#,1],"document":0}"#, ""),
    ("parquet", r#"{"id":#,"v":[#,1]}"#, ""),
    ("arrow-file", r#"{"id":#,"v":[[#],[]]}"#, ""),
    ("arrow", r#"{"id":#,"v":[#,1]}"#, ""),
    ("scipy", r#"{"features":{"indices":[[1]],"values":[#],"dense_shape":[3]}}"#, ""),
    ("npz", r#"{"id":#,"v":[#,1]}"#, ""),
    ("npy", r#"{"value":#}"#, "--schema 'value: int64'"),
    ("safetensors", r#"{"id":#,"v":[#,1]}"#, ""),
    ("webdataset", r##"{"__key__":"k#","txt":"#"}"##, ""),
    ("jsonl", r#"{"id":#}"#, ""),
    ("json", r#"{"id":#}"#, ""),
    ("csv", r#"{"id":#}"#, ""),
    ("tsv", r#"{"id":#}"#, ""),
    ("libsvm", r#"{"label":#.5,"features":{"indices":[[1]],"values":[0.5],"dense_shape":[2]}}"#, ""),
    ("matrix-market", r#"{"features":{"indices":[[1]],"values":[#],"dense_shape":[3]}}"#, ""),
    ("text", r##"{"text":"#"}"##, ""),
];

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("x{i:04}")).collect()
}

/// Writes [`FILES`] with `n` fields, beside a field that numbers the records and one for verbs that change a single field.
fn write_files(folder: &Path, n: usize) {
    for (file, value) in FILES {
        let record = |r: usize| {
            let k = if *file == "pair" { json!([r, r + 1]) } else { json!(r) };
            let others = names(n).into_iter().enumerate().map(|(i, name)| (name, value(i % NARROW, r)));
            let fields: Map<String, Value> = [("k".to_owned(), k), ("one".to_owned(), value(2, r))].into_iter().chain(others).collect();
            format!("{}\n", Value::Object(fields))
        };
        fs::write(folder.join(format!("{file}.jsonl")), record(0) + &record(1)).unwrap();
    }
    fs::write(folder.join("from.jsonl"), "{\"from\":1}\n{\"from\":0}\n").unwrap();
    fs::write(folder.join("keys.jsonl"), "{\"k\":1}\n{\"k\":0}\n").unwrap();
}

/// The command with its repeated words; see [`VERB_JOBS`].
fn command(job: &str, n: usize) -> String {
    let word = |word: &str| match word.rsplit_once('|').filter(|_| word.contains('@')) {
        None => word.to_owned(),
        Some((each, between)) => {
            let each: Vec<String> = names(n).iter().map(|name| each.replace('@', name)).collect();
            if between.is_empty() { each.join(" ") } else { format!("'{}'", each.join(&between.replace('_', " "))) }
        }
    };
    format!("tatter {}", job.split(' ').map(word).collect::<Vec<_>>().join(" "))
}

/// The name or text with the number of each wide field replaced by that of the narrow field with the same values.
fn narrowed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('x') {
        let (before, field) = rest.split_at(at);
        out += before;
        match field.get(1..5).and_then(|digits| digits.parse::<usize>().ok()) {
            Some(number) => {
                out += &format!("x{:04}", number % NARROW);
                rest = &field[5..];
            }
            None => {
                out.push('x');
                rest = &field[1..];
            }
        }
    }
    out + rest
}

/// Whether every field of the wide value has the value of its narrow field, and none is missing.
fn agrees(wide: &Value, narrow: &Value) -> bool {
    match (wide, narrow) {
        (Value::Object(wide), Value::Object(narrow)) => {
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            let same = wide.iter().all(|(name, value)| {
                let name = narrowed(name);
                let same = narrow.get(&name).is_some_and(|narrow| agrees(value, narrow));
                *seen.entry(name).or_default() += 1;
                same
            });
            let times = |name: &str| if name.starts_with('x') { WIDE / NARROW } else { 1 };
            same && narrow.keys().all(|name| seen.get(name) == Some(&times(name)))
        }
        (Value::Array(wide), Value::Array(narrow)) => {
            wide.len() == narrow.len() && wide.iter().zip(narrow).all(|(wide, narrow)| agrees(wide, narrow))
        }
        _ => wide == narrow,
    }
}

/// The records of an output; `None` if it is text for people.
fn records(outcome: &Outcome) -> Option<Vec<Value>> {
    outcome.text().lines().map(|line| serde_json::from_str(line).ok()).collect()
}

/// What is wrong with a job.
fn fault(job: &str, folders: [&Path; 2]) -> Option<String> {
    let [wide, narrow] = [(folders[0], WIDE), (folders[1], NARROW)].map(|(folder, n)| shell(&command(job, n), folder, b""));
    if wide.status != 0 || narrow.status != 0 {
        let stderr = [narrow.stderr, wide.stderr].map(|text| text.chars().take(300).collect::<String>());
        return Some(format!("{job}: {} and {}: {}{}", narrow.status, wide.status, stderr[0], stderr[1]));
    }
    let same = match (records(&wide), records(&narrow)) {
        (Some(wide), Some(narrow)) => wide.len() == narrow.len() && wide.iter().zip(&narrow).all(|(wide, narrow)| agrees(wide, narrow)),
        _ => {
            let lines = |text: String| text.lines().map(|line| narrowed(line.trim_end_matches(','))).collect::<BTreeSet<_>>();
            lines(wide.text()) == lines(narrow.text())
        }
    };
    let shown: String = wide.text().chars().take(200).collect();
    (!same).then(|| format!("{job}: not as with {NARROW} fields:\n{shown}\n{}", narrow.text()))
}

/// Runs the jobs on few and on many fields; each in a folder of its own, because some write files.
fn check(jobs: &[String]) {
    let inputs = [WIDE, NARROW].map(|n| {
        let folder = tempfile::tempdir().unwrap();
        write_files(folder.path(), n);
        folder
    });
    let faults: Vec<String> = parallel(jobs, |job| {
        let folders = [0, 1].map(|i| {
            let folder = tempfile::tempdir().unwrap();
            for entry in fs::read_dir(inputs[i].path()).unwrap() {
                let path = entry.unwrap().path();
                std::os::unix::fs::symlink(&path, folder.path().join(path.file_name().unwrap())).unwrap();
            }
            folder
        });
        fault(job, [folders[0].path(), folders[1].path()])
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_verb_does_with_many_fields_what_it_does_with_few() {
    assert!(VERB_JOBS.iter().map(|(verb, _)| *verb).eq(VERBS.iter().map(|verb| verb.name)), "a verb has no job, or they are out of order");
    let with_verb = |(verb, jobs): &(&str, &[&str])| {
        let verb = *verb;
        jobs.iter().map(|job| if job.contains(" then ") { (*job).to_owned() } else { format!("{verb} {job}") }).collect::<Vec<_>>()
    };
    check(&VERB_JOBS.iter().flat_map(with_verb).collect::<Vec<_>>());
}

#[test]
fn every_format_gives_many_fields_back() {
    for format in FORMATS {
        let name = format.name();
        assert!(FORMAT_JOBS.iter().any(|(format, _)| *format == name) != NARROW_FORMATS.contains(&name), "{name} needs a job");
    }
    let there_and_back = |(format, jobs): &(&str, &[&str])| {
        jobs.iter().map(move |job| format!("{job} --to {format} -o out && tatter convert --from {format} out")).collect::<Vec<_>>()
    };
    check(&FORMAT_JOBS.iter().flat_map(there_and_back).collect::<Vec<_>>());
}

#[test]
fn hundreds_of_small_inputs_are_one_stream() {
    for format in FORMATS.iter().filter(|format| format.name() != "none") {
        assert!(SMALL.iter().any(|(name, ..)| *name == format.name()), "{} needs a record", format.name());
    }
    let faults: Vec<String> = parallel(SMALL, |(format, record, options)| {
        let folder = tempfile::tempdir().unwrap();
        let wanted: Vec<Value> = (0..500).map(|i| serde_json::from_str(&record.replace('#', &i.to_string())).unwrap()).collect();
        let input: String = wanted.iter().map(|record| format!("{record}\n")).collect();
        let written = shell(&format!("tatter convert --from jsonl --to {format} -o 'part-###.bin' -q"), folder.path(), input.as_bytes());
        if written.status != 0 {
            return Some(format!("{format}: {}", written.stderr));
        }
        let read = shell(&format!("tatter convert --from {format} {options} 'part-*.bin'"), folder.path(), b"");
        (read.status != 0 || records(&read).is_none_or(|found| found != wanted)).then(|| {
            let shown: String = read.text().chars().take(200).collect();
            format!("{format}: {}{shown}", read.stderr)
        })
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
