//! What is known about the suggested commands.

use crate::cli::line::shell_words;
use crate::expr::names_used;
use crate::schema::Schema;
use std::ffi::OsString;
use std::path::Path;

/// What is known about other commands.
pub struct Known<'a> {
    /// Whether these words of a command are accepted.
    pub accepts: &'a dyn Fn(Vec<OsString>) -> bool,
    /// Whether these words of a chain are known not to fit their FILEs.
    pub refuses: &'a dyn Fn(Vec<OsString>) -> bool,
    /// The schema of the records after these verbs, followed by FILEs, if it can be found immediately.
    pub outline: &'a dyn Fn(Vec<OsString>) -> Option<Schema>,
}

/// Whether the commands of a suggestion are accepted: their words are parsed, and so are their expressions, and they fit the
/// FILEs.
pub fn is_accepted(suggestion: &str, known: &Known) -> bool {
    suggestion.split(" && ").filter(|command| command.starts_with("tatter ")).all(|command| {
        let words = shell_words(command.split(" | ").next().unwrap_or(command));
        let argument = words.first().and_then(|name| crate::verbs::find(name)).and_then(|verb| {
            let command = verb.command();
            command.get_positionals().next().map(|argument| argument.get_id().to_string())
        });
        let expression = words.get(1).filter(|word| !word.starts_with('-'));
        let is_parsed = match (argument.as_deref(), expression) {
            (Some("condition"), Some(text)) => names_used(text, false).is_some(),
            (Some("assignments"), Some(text)) => names_used(text, true).is_some(),
            _ => true,
        };
        let reads_input = words.iter().any(|word| word == "-") || !words.iter().any(|word| Path::new(word).is_file());
        let words = || words.iter().map(OsString::from).collect();
        is_parsed && (known.accepts)(words()) && (reads_input || !(known.refuses)(words()))
    })
}
