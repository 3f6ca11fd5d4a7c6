//! Advice for bad records that a verb rejects: to leave them out with --on-error, or, in a run with that option, why it does
//! not apply.

use crate::error::{Error, Kind, Reason};
use crate::hint::SKIP;
use crate::printable::shell_word;

/// For a verb to which --on-error applies, in a run without it.
pub fn by_record(error: Error) -> Error {
    let is_of_record = error.kind() == Kind::Data && error.location().records.is_some_and(|(first, last)| first == last);
    let drops = error.helps().iter().any(|hint| hint.as_str().starts_with("to drop such records"));
    // A result that is too large does not make the record bad.
    let is_bad = !matches!(error.reason(), Some(Reason::Cardinality | Reason::TooLarge));
    if is_of_record && !drops && is_bad { error.help(SKIP) } else { error }
}

/// For a verb that works on several records, or on their order.
pub fn by_verb(error: Error, verb: &str) -> Error {
    let is_of_record = error.kind() == Kind::Data && (error.location().row.is_some() || error.location().records.is_some());
    match error.reason() {
        Some(Reason::Cardinality) => error,
        _ if !is_of_record => error,
        Some(Reason::Expression(text)) => {
            let map = shell_word(&format!("key = {text}"));
            error.help(format!("--on-error does not apply to `{verb}`; use `map` before it: map {map}"))
        }
        _ => error.help(format!("--on-error does not apply to `{verb}`: drop such records with a `filter` before it")),
    }
}

/// For a verb that works on single records, after another has combined them.
pub fn by_combined(error: Error, verb: &str) -> Error {
    if error.kind() != Kind::Data {
        return error;
    }
    error.help(format!("--on-error does not apply to records that a verb has combined: write them to a file first, then {verb} ..."))
}
