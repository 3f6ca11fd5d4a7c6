//! Compares tatter's output with the results of TensorFlow and PaddlePaddle.
//!
//! Each row of `fixtures/oracle/TOPIC.jsonl` is one command: `{id, topic, args, stdin, kind, want}`. The comparison
//! covers the values and then the types (`... then schema --as json`), or that there is one error and no standard
//! output. Intended differences are listed in `fixtures/oracle/deviations.txt`. Their vectors are run too, and a line
//! whose vectors all pass must be removed, which `TATTER_BLESS=1 cargo test --test it oracle` does.
//!
//! `TATTER_ORACLE=PART cargo test --test it oracle -- --nocapture` shows every failure among the vectors whose id or
//! topic contains PART, whether listed or not.

use crate::oracle_compare::{shape_differs, type_differs, value_differs};
use crate::tatter::{Outcome, files, parallel, root, tatter};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// One vector as a command.
struct Vector {
    id: String,
    /// `TOPIC OPERATION`.
    operation: String,
    /// `TOPIC OPERATION.NUMBER`.
    numbered: String,
    verbs: Vec<String>,
    options: Vec<String>,
    stdin: Vec<u8>,
    kind: String,
    want: Value,
    /// Whether uniform axes are compared as well as the rank; not in pipelines.
    exact: bool,
}

impl Vector {
    fn parse(line: &str) -> Vector {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        let mut verbs: Vec<String> = row["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap().to_owned()).collect();
        let options = verbs.split_off(verbs.iter().position(|a| a == "--from").unwrap());
        let (id, topic) = (text("id"), text("topic"));
        let (operation, number) = id.split_once('.').unwrap().1.split_once('.').unwrap();
        Vector {
            exact: topic != "dataset" && topic != "examples" && operation != "lod_to_sequences",
            operation: format!("{topic} {operation}"),
            numbered: format!("{topic} {operation}.{number}"),
            verbs,
            options,
            stdin: crate::oracle_compare::bytes_of(&row["stdin"]).unwrap(),
            kind: text("kind"),
            want: row["want"].clone(),
            id: id.clone(),
        }
    }

    /// The difference, if any.
    fn failure(&self) -> Option<String> {
        let why = match self.kind.as_str() {
            "shape" => self.schema_failure(),
            "value" => self.value_failure().or_else(|| self.schema_failure()),
            _ => self.value_failure(),
        };
        why.map(|why| format!("{}: {why}\n  {}", self.id, self.command()))
    }

    /// The command, ready to paste.
    fn command(&self) -> String {
        let quoted = |word: &String| {
            let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./,=".contains(c)) && !word.is_empty();
            if plain { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
        };
        let words: Vec<String> = self.verbs.iter().chain(&self.options).map(quoted).collect();
        let feed = std::str::from_utf8(&self.stdin).map_or("... ".to_owned(), |text| format!("printf '%s' {} ", quoted(&text.to_owned())));
        format!("{feed}| tatter {}", words.join(" "))
    }

    fn value_failure(&self) -> Option<String> {
        let outcome = tatter(&self.verbs.iter().chain(&self.options).collect::<Vec<_>>(), &self.stdin);
        if let Some(trouble) = trouble(&outcome) {
            return Some(trouble);
        }
        if self.kind == "error" || (self.kind == "either" && outcome.status != 0) {
            let messages = outcome.stderr.lines().filter(|l| l.to_lowercase().trim_start_matches("tatter: ").starts_with("error")).count();
            return if !(1..=3).contains(&outcome.status) {
                Some(format!("status {} instead of an error: {}", outcome.status, outcome.text()))
            } else if outcome.stderr.trim().is_empty() || !outcome.text().trim().is_empty() {
                Some("an error writes to standard error, and there only".to_owned())
            } else if messages > 1 {
                Some("more than one error message".to_owned())
            } else {
                None
            };
        }
        if outcome.status != 0 {
            return Some(format!("status {}: {}", outcome.status, outcome.stderr.trim()));
        }
        let text = outcome.text();
        let lines: Result<Vec<Value>, _> = text.lines().filter(|l| !l.trim().is_empty()).map(serde_json::from_str).collect();
        let got = match lines {
            Ok(got) => got,
            Err(error) => return Some(format!("the output is not JSON lines: {error}")),
        };
        if self.kind == "either" {
            return got.is_empty().then(|| "neither an error nor a result".to_owned());
        }
        let want = self.want.as_array().unwrap();
        if got.len() != want.len() {
            return Some(format!("{} records instead of {}", got.len(), want.len()));
        }
        want.iter().zip(&got).enumerate().find_map(|(i, (want, got))| {
            let fields = want.as_object().unwrap();
            match got.as_object() {
                Some(found) if names(found) == names(fields) => {
                    fields.iter().find_map(|(name, t)| value_differs(t, &found[name]).map(|why| format!("record {}, {name}: {why}", i + 1)))
                }
                _ => Some(format!("record {} has other fields than {:?}: {got}", i + 1, names(fields))),
            }
        })
    }

    fn schema_failure(&self) -> Option<String> {
        let mut words = self.verbs.clone();
        if !words.is_empty() {
            words.push("then".to_owned());
        }
        words.extend(["schema", "--as", "json"].map(str::to_owned));
        words.extend_from_slice(&self.options);
        let outcome = tatter(&words, &self.stdin);
        if outcome.status != 0 {
            return trouble(&outcome).or_else(|| Some(format!("schema: status {}: {}", outcome.status, outcome.stderr.trim())));
        }
        let Ok(schema) = serde_json::from_str::<Value>(&outcome.text()) else {
            return Some(format!("the schema is not JSON: {}", outcome.text()));
        };
        let Some(entries) = schema["fields"].as_array() else {
            return Some(format!("the schema has no fields: {schema}"));
        };
        let fields: BTreeMap<&str, &Value> = entries.iter().map(|f| (f["name"].as_str().unwrap_or_default(), f)).collect();
        if self.kind == "shape" {
            return shape_differs(&self.want[1], fields.get(self.want[0].as_str().unwrap()).copied());
        }
        // An empty pipeline has no records for comparing types.
        let first = self.want.as_array().unwrap().first()?.as_object().unwrap();
        if fields.keys().copied().collect::<BTreeSet<_>>() != names(first) {
            return Some(format!("the schema has fields {:?} instead of {:?}", fields.keys(), names(first)));
        }
        first.iter().find_map(|(name, t)| type_differs(t, fields[name.as_str()], self.exact, 0).map(|why| format!("type of {name}: {why}")))
    }
}

fn names(record: &Map<String, Value>) -> BTreeSet<&str> {
    record.keys().map(String::as_str).collect()
}

fn trouble(outcome: &Outcome) -> Option<String> {
    let lower = outcome.stderr.to_lowercase();
    let bad =
        outcome.status < 0 || outcome.status == 70 || outcome.status > 128 || lower.contains("panicked") || lower.contains("backtrace");
    bad.then(|| format!("it broke (status {}): {}", outcome.status, outcome.stderr.trim()))
}

/// The lines `TOPIC OPERATION... | WHY | SINCE` of `deviations.txt`; `OPERATION.NUMBER` refers to a single vector.
fn deviations() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("fixtures/oracle/deviations.txt")).unwrap();
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let [operations, reason, since] = columns(line).unwrap_or_else(|| panic!("deviations.txt: three columns are expected in {line:?}"));
        assert!(since.len() == 10 && since.starts_with("20"), "deviations.txt: {since:?} is no date");
        let mut words = operations.split_whitespace();
        let topic = words.next().unwrap();
        for operation in words {
            let before = listed.insert(format!("{topic} {operation}"), reason.to_owned());
            assert!(before.is_none(), "deviations.txt: {topic} {operation} twice");
        }
    }
    listed
}

/// The columns of a line of `deviations.txt`.
fn columns(line: &str) -> Option<[&str; 3]> {
    line.split(" | ").collect::<Vec<_>>().try_into().ok()
}

/// Rewrites `deviations.txt` without the vectors that pass, and without adding new ones. For an operation of which some
/// vectors pass, the others are listed individually.
fn strike_off(vectors: &[Vector], results: &[Option<String>]) {
    let path = root().join("fixtures/oracle/deviations.txt");
    let text = fs::read_to_string(&path).unwrap();
    let left = |topic: &str, word: &str| -> Vec<String> {
        let key = format!("{topic} {word}");
        let of: Vec<_> = vectors.iter().zip(results).filter(|(v, _)| v.operation == key || v.numbered == key).collect();
        let failing: Vec<String> = of.iter().filter(|(_, r)| r.is_some()).map(|(v, _)| v.numbered[topic.len() + 1..].to_owned()).collect();
        let whole = !failing.is_empty() && of.iter().all(|(v, r)| r.is_some() || v.kind != "value");
        if whole { vec![word.to_owned()] } else { failing }
    };
    let lines = text.lines().filter_map(|line| {
        if line.is_empty() || line.starts_with('#') {
            return Some(line.to_owned());
        }
        let [operations, reason, since] = columns(line)?;
        let (topic, words) = operations.split_once(' ')?;
        let words: Vec<String> = words.split_whitespace().flat_map(|word| left(topic, word)).collect();
        (!words.is_empty()).then(|| format!("{topic} {} | {reason} | {since}", words.join(" ")))
    });
    fs::write(path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
}

#[test]
fn vectors_come_out_as_in_tensorflow_and_paddle() {
    let part = std::env::var("TATTER_ORACLE").ok();
    let vectors: Vec<Vector> = files(&root().join("fixtures/oracle"), "jsonl")
        .iter()
        .filter(|file| !file.ends_with("streams.jsonl"))
        .flat_map(|file| fs::read_to_string(file).unwrap().lines().map(Vector::parse).collect::<Vec<_>>())
        .filter(|v| part.as_ref().is_none_or(|part| v.id.contains(part) || v.operation.contains(part)))
        .collect();
    assert!(!vectors.is_empty(), "no vectors");
    let listed = deviations();
    let results = parallel(&vectors, Vector::failure);
    if std::env::var_os("TATTER_BLESS").is_some() && part.is_none() {
        return strike_off(&vectors, &results);
    }

    let mut failures = Vec::new();
    // The number of vectors covered by each line of the table, and how many of them pass.
    let mut covered: BTreeMap<&str, (usize, usize)> = listed.keys().map(|key| (key.as_str(), (0, 0))).collect();
    let mut topics: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for (vector, failure) in vectors.iter().zip(&results) {
        let key = [&vector.operation, &vector.numbered].into_iter().find(|key| listed.contains_key(*key));
        if let Some(failure) = failure.as_ref().filter(|_| part.is_some() || key.is_none()) {
            failures.push(failure.clone());
        }
        let passed = usize::from(failure.is_none());
        let row = topics.entry(vector.operation.split(' ').next().unwrap()).or_default();
        *row = (row.0 + passed, row.1 + 1, row.2 + usize::from(key.is_some()));
        if let Some(counts) = key.and_then(|key| covered.get_mut(key.as_str())) {
            *counts = (counts.0 + passed, counts.1 + 1);
        }
    }
    for (key, (passed, all)) in covered.into_iter().filter(|_| part.is_none()) {
        if all == 0 {
            failures.push(format!("deviations.txt names {key}, of which there are no vectors"));
        } else if passed == all {
            failures.push(format!("{key} passes: remove it from deviations.txt ({})", listed[key]));
        }
    }
    for (topic, (passed, all, of_listed)) in topics {
        println!("{topic:<20} {passed:>4} of {all:>4} pass; {of_listed:>4} are listed in deviations.txt");
    }
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}
