//! Pipelines of tf.data as commands: `fixtures/oracle/streams.jsonl`, drawn by `tests/readers/draw_streams.py`.

use crate::tatter::{parallel, root, shell};
use serde_json::Value;
use std::fs;

#[test]
fn streams_are_those_of_tf_data() {
    let text = fs::read_to_string(root().join("fixtures/oracle/streams.jsonl")).unwrap();
    let vectors: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failures: Vec<String> = parallel(&vectors, failure).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}\n{} of {} vectors differ", failures.join("\n"), failures.len(), vectors.len());
}

/// What differs, if anything does.
fn failure(vector: &Value) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let lines = |records: &Value| records.as_array().unwrap().iter().map(|record| format!("{record}\n")).collect::<String>();
    for (name, records) in vector["files"].as_object().unwrap() {
        fs::write(directory.path().join(name), lines(records)).unwrap();
    }
    let outcome = shell(&format!("tatter {}", vector["args"].as_str().unwrap()), directory.path(), b"");
    let found: Result<Vec<Value>, _> = outcome.text().lines().map(serde_json::from_str).collect();
    match found {
        Ok(found) if Value::Array(found.clone()) == vector["want"] => None,
        _ => Some(format!("{vector}\n--- prints\n{}{}", outcome.text(), outcome.stderr)),
    }
}
