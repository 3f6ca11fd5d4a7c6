//! Advice for bad records that a run with --on-error cannot leave out, because of the verb that rejects them.

use crate::error::{Error, Kind, Reason};
use crate::printable::shell_word;

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
