//! Properties that hold for all data: property tests over random schemas, nesting, sizes and nulls.

use crate::examples::run_example;
use crate::random::{Dataset, cases, dataset};
use crate::tatter::{Outcome, parallel, tatter};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use tatter::verbs::VERBS;

/// Runs a chain of verbs over the dataset, under its schema.
fn under(schema: &str, verbs: &str, options: &[&str], input: &[u8]) -> Outcome {
    let mut words: Vec<&str> = verbs.split_whitespace().collect();
    words.extend(["--from", "jsonl", "--schema", schema]);
    words.extend(options);
    tatter(&words, input)
}

fn run(data: &Dataset, verbs: &str) -> Outcome {
    under(&data.schema, verbs, &[], &data.jsonl())
}

/// Chains that can be bound to any schema, even if they reject its data.
const CHAINS: &[&str] = &[
    "convert",
    "head 2",
    "head 1 --by a",
    "tail 3",
    "tail 1 --by a",
    "skip 2",
    "select a",
    "drop a",
    "rename a=z",
    "batch 2",
    "batch 3 --drop-remainder",
    "batch all",
    "unbatch",
    "padded-batch 2",
    "to-dense",
    "merge-dims a 0 1",
    "promote a.a --as z",
    "count",
    "show",
    "schema",
    "cast a=float32",
    "fill-null a=[]",
    "fill-null a=0",
    "fill-null a={}",
    "fill-null --forward a",
    "explode a",
    "explode a --keep-empty",
    "explode a.a",
    "implode --by a",
    "shard 1/2",
    "sample 3",
    "sample 0.5",
    "sample 1 --by a",
    "sample 2 --weights a",
    "shuffle",
    "shuffle --buffer 2",
    "batch all --max-values a=3",
    "to-dense --lengths --mask --side left --multiple-of 3",
    "to-dense -f a --shape a=[max]",
    "to-sparse",
    "to-sparse then batch 2 then from-sparse",
    "from-dense --padding 0",
    "partition a --uniform 1",
    "decompose a --encoding row_splits",
    "sort --by a",
    "sort --by -a",
    "windows a --size 2 --shift 1",
    "windows a --size 2 --stride 2 --drop-remainder",
    "windows a.a --size 3 --pad 0",
    "bucket --by a --batch-sizes 2",
    "rejection-resample --by a --target 0=0.5,1=0.5",
    "bucket --by a --boundaries 0 --batch-sizes 2,1",
    "pack --length 4 --overflow split",
    "pack -f a --length 3 --window 2 --overflow drop",
    "pack -f a --length 3 --strategy concat",
    "pack -f a --length 3 --overflow split --strategy best-fit-decreasing --window 3 --positions continue --empty keep",
    "stats",
    "stats --as json --padding 2",
    "stats -f a --as html",
    "stats --by a",
];

/// Pairs of verbs, the second of which works on the output of the first.
const PAIRS: &[(&str, &str)] = &[
    ("batch 2", "unbatch"),
    ("batch 2", "batch 2"),
    ("batch 3", "merge-dims a 0 1"),
    ("batch 2", "to-dense"),
    ("batch 2", "count"),
    ("batch 2", "schema"),
    ("skip 1", "head 2"),
    ("tail 3", "batch all"),
    ("rename a=z", "select z"),
    ("promote a.a --as z", "batch 2"),
    ("to-dense", "batch 2"),
    ("explode a --keep-empty", "implode --by a"),
    ("fill-null a=[]", "unbatch"),
    ("implode --by a", "batch 2"),
    ("unbatch", "batch 2"),
    ("padded-batch 2", "unbatch"),
    ("shuffle", "batch 2"),
    ("sort --by a", "head 3"),
    ("explode a", "batch 2"),
    ("batch 2", "explode a"),
    ("shard 0/2", "tail 2"),
    ("map z=a", "select z"),
    ("batch 2", "to-sparse"),
    ("to-sparse", "batch 2"),
    ("batch 2", "decompose a --encoding value_rowids"),
    ("fill-null a=0", "batch 2"),
    ("cast a=float32", "to-dense"),
    ("windows a --size 2", "explode a"),
    ("windows a --size 2 --drop-remainder", "batch 2"),
    ("head 4", "sort --by -a"),
    ("bucket --by a --batch-sizes 2", "unbatch"),
];

/// The exit code and the schema of files.
fn schema_of(folder: &Path, files: &[(&str, &[u8])]) -> (i32, String) {
    let paths = files.iter().map(|(name, bytes)| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path.into_os_string()
    });
    let outcome = tatter(&std::iter::once("schema".into()).chain(paths).collect::<Vec<_>>(), b"");
    (outcome.status, outcome.text())
}

/// The cell of a table.
fn cell() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "1", "-2", "2.5", "1e5", "a", "NaN", "true", "0x1", "2024-01-01", "null", "9223372036854775808", "[1]"])
}

proptest! {
    #![proptest_config(cases(48))]

    /// Records read back as written, and writing them again gives the same bytes.
    #[test]
    fn json_lines_come_out_as_they_went_in(data in dataset(true)) {
        let outcome = run(&data, "convert");
        prop_assert_eq!(&outcome.records(), &data.records, "{}", data.schema);
        let again = under(&data.schema, "convert", &[], &outcome.stdout);
        prop_assert_eq!(again.text(), outcome.text());
    }

    /// The printed schema reads the same records, and prints as itself.
    #[test]
    fn the_printed_schema_reads_its_records(data in dataset(true)) {
        let printed = run(&data, "schema");
        prop_assert_eq!(printed.status, 0, "{}: {}", data.schema, printed.stderr);
        let printed = printed.text();
        let again = under(&printed, "schema", &[], &data.jsonl());
        prop_assert_eq!(again.text(), printed.clone());
        prop_assert_eq!(&under(&printed, "convert", &[], &data.jsonl()).records(), &data.records);
    }

    /// Without `--schema` the values are the same, whatever types are inferred.
    #[test]
    fn inference_loses_nothing(data in dataset(true)) {
        let outcome = tatter(&["convert", "--from", "jsonl"], &data.jsonl());
        let found = outcome.records();
        prop_assert_eq!(found.len(), data.records.len());
        let written = under(&data.schema, "convert", &[], &outcome.stdout);
        prop_assert_eq!(&written.records(), &data.records);
    }

    /// The schema of several inputs is that of their records in one, whether the types fit or not.
    #[test]
    fn the_schema_of_two_inputs_is_that_of_all_records(one in dataset(true), other in dataset(true), at in 0usize..10) {
        let folder = tempfile::tempdir().unwrap();
        let at = at.min(one.records.len());
        let rest = Dataset { records: one.records[at..].to_vec(), ..one.clone() };
        let first = Dataset { records: one.records[..at].to_vec(), ..one };
        let as_tfrecord = |lines: &Vec<u8>| {
            let outcome = tatter(&["convert", "--from", "jsonl", "--to", "tfrecord"], lines);
            (outcome.status == 0).then_some(outcome.stdout)
        };
        for second in [rest, other] {
            let lines = [first.jsonl(), second.jsonl()];
            // Empty inputs have no format of their own.
            let records = lines.iter().map(as_tfrecord).collect::<Option<Vec<_>>>();
            for (format, inputs) in [("jsonl", Some(lines.to_vec())), ("tfrecord", records)] {
                let Some(inputs) = inputs.filter(|inputs| inputs.iter().all(|input| !input.is_empty())) else { continue };
                let [a, b, both] = ["a", "b", "both"].map(|name| format!("{name}.{format}"));
                let several = schema_of(folder.path(), &[(&a, &inputs[0]), (&b, &inputs[1])]);
                let one = schema_of(folder.path(), &[(&both, &inputs.concat())]);
                prop_assert_eq!(several, one, "{}: {}", format, String::from_utf8_lossy(&lines.concat()));
            }
        }
    }

    /// The same for CSV, which has a header in every file.
    #[test]
    fn the_schema_of_two_tables_is_that_of_all_rows(rows in prop::collection::vec((cell(), cell()), 0..7), at in 0usize..7) {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<String> = rows.iter().map(|(x, y)| format!("{x},{y}\n")).collect();
        let (first, second) = lines.split_at(at.min(lines.len()));
        let table = |lines: &[String]| format!("x,y\n{}", lines.concat());
        let several = schema_of(folder.path(), &[("a.csv", table(first).as_bytes()), ("b.csv", table(second).as_bytes())]);
        prop_assert_eq!(several, schema_of(folder.path(), &[("both.csv", table(&lines).as_bytes())]), "{}", table(&lines));
    }

    #[test]
    fn unbatch_takes_batch_back(data in dataset(true), n in 1usize..5) {
        let outcome = run(&data, &format!("batch {n} then unbatch"));
        prop_assert_eq!(&outcome.records(), &data.records, "{}", data.schema);
    }

    /// A chain gives the same result as a pipe of its verbs.
    #[test]
    fn a_chain_is_the_pipe_of_its_verbs(data in dataset(true), pair in prop::sample::select(PAIRS)) {
        let (first, second) = pair;
        let chain = run(&data, &format!("{first} then {second}"));
        let front = run(&data, first);
        if front.status != 0 {
            prop_assert_ne!(chain.status, 0, "{} fails alone: {}", first, front.stderr);
            return Ok(());
        }
        let schema = run(&data, &format!("{first} then schema"));
        prop_assert_eq!(schema.status, 0, "{}", schema.stderr);
        let back = under(&schema.text(), second, &[], &front.stdout);
        prop_assert_eq!(chain.status, back.status, "{} | {}: chain {} pipe {}", first, second, chain.stderr, back.stderr);
        if chain.status == 0 {
            prop_assert_eq!(chain.text(), back.text());
        }
    }

    /// Threads and chunk sizes do not change output bytes or messages.
    #[test]
    fn threads_and_chunks_change_nothing(data in dataset(true), verbs in prop::sample::select(CHAINS)) {
        let one = under(&data.schema, verbs, &["--threads", "1", "--chunk-rows", "1000"], &data.jsonl());
        for (threads, rows) in [("8", "1"), ("1", "1"), ("3", "2")] {
            let other = under(&data.schema, verbs, &["--threads", threads, "--chunk-rows", rows], &data.jsonl());
            prop_assert_eq!(&other.stdout, &one.stdout, "{} with {} threads, chunks of {}", verbs, threads, rows);
            prop_assert_eq!(other.status, one.status);
            prop_assert_eq!(&other.stderr, &one.stderr);
        }
    }
}

/// The same for every verb, using its examples.
#[test]
fn threads_and_chunks_change_no_example() {
    let examples: Vec<_> = VERBS.iter().flat_map(|verb| verb.examples.iter()).collect();
    let wrong: Vec<String> = parallel(&examples, |example| {
        let directory = tempfile::tempdir().unwrap();
        let run = |options: &str| run_example(example, options, directory.path()).text();
        let same = run("--threads 1 --chunk-rows 1000") == run("--threads 8 --chunk-rows 1");
        (!same).then(|| example.args.to_owned())
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
