//! Messages as JSON, one object per line: `--messages json`.

use crate::error::Error;
use crate::hint::Hint;
use crate::printable::in_json;
use serde_json::{Map, Value, json};

/// An error with its parts; unknown parts are omitted.
pub fn of_error(error: &Error) -> Value {
    let mut object = Map::new();
    object.insert("kind".to_owned(), "error".into());
    object.insert("exit".to_owned(), error.exit_code().into());
    object.extend(parts(error));
    let help: Vec<&str> = error.excerpts().iter().map(String::as_str).chain(error.helps().iter().map(Hint::as_str)).collect();
    if !help.is_empty() {
        object.insert("help".to_owned(), help.into());
    }
    object.insert("text".to_owned(), error.to_string().into());
    Value::Object(object)
}

/// The location of an error, and its message.
pub fn parts(error: &Error) -> Map<String, Value> {
    let at = error.location();
    let (first, last) = at.records.unzip();
    let (expected, found) = error.mismatch().unzip();
    let parts = [
        ("file", at.input.as_deref().map(Value::from)),
        ("record", first.map(Value::from)),
        ("last_record", last.filter(|last| Some(*last) != first).map(Value::from)),
        ("line", at.line.map(Value::from)),
        ("column", at.column.map(Value::from)),
        ("byte", at.byte.map(Value::from)),
        ("field", error.field().map(Value::from)),
        ("axis", error.axis().map(Value::from)),
        ("expected", expected.map(Value::from)),
        ("found", found.map(Value::from)),
        ("message", Some(Value::from(error.message()))),
    ];
    parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The line of a message. Characters that a terminal would interpret are escaped.
pub fn line(message: &Value) -> String {
    in_json(&message.to_string()).into_owned()
}

/// A text of some kind: a notice or information.
pub fn of_text(kind: &str, text: &str) -> Value {
    json!({"kind": kind, "message": text})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::mismatch;

    #[test]
    fn an_error_is_taken_apart() {
        let error = Error::data(mismatch("a number", "the string \"n/a\"")).in_field("items.price").in_input("a.jsonl").help("do this");
        let error = error.locate(|at| (at.records, at.line, at.column) = (Some((3, 3)), Some(4), Some(37)));
        let expected = json!({
            "kind": "error", "exit": 1, "file": "a.jsonl", "record": 3, "line": 4, "column": 37, "field": "items.price",
            "expected": "a number", "found": "the string \"n/a\"", "message": "expected a number, found the string \"n/a\"",
            "help": ["do this"],
            "text": "a.jsonl: record 3 (line 4, column 37): items.price: expected a number, found the string \"n/a\"\n  do this",
        });
        assert_eq!(of_error(&error), expected);
        let quoting = Error::data(mismatch("a number", "the string \"lost, found later\""));
        assert_eq!(of_error(&quoting)["expected"], "a number");
        assert_eq!(of_error(&quoting)["found"], "the string \"lost, found later\"");
        assert_eq!(
            of_error(&Error::usage("no verb given")),
            json!({"kind": "error", "exit": 2, "message": "no verb given", "text": "no verb given"})
        );
    }
}
