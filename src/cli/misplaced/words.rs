//! Words of a command line, moved or left out in a suggestion.

use crate::cli::brackets::typed_word;
use crate::cli::split::Words;
use crate::formats::FORMATS;
use std::ffi::{OsStr, OsString};

/// Whether the name has the extension of a format.
pub fn is_file_of_a_format(name: &str) -> bool {
    let extension = name.trim_end_matches(".gz").trim_end_matches(".zst").rsplit_once('.').map_or("", |(_, extension)| extension);
    FORMATS.iter().any(|format| format.extensions().contains(&extension))
}

/// Whether a word looks more like a field name than a file name.
pub fn is_field(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !word.contains(['.', '/', '-', ' ', '<', '>', '=', '('])
}

/// The command line with a word of the last verb replaced by `instead`, inserted at position `at` of the verb's words.
pub fn moved(words: &Words, word: &str, at: usize, instead: &[&str]) -> String {
    let mut meant = without_word(words, word);
    if let Some(own) = meant.verbs.last_mut() {
        let at = at.min(own.len());
        own.splice(at..at, instead.iter().map(OsString::from));
    }
    line(&meant)
}

/// The words without the first of this text among those of the last verb, or else after `--`.
pub fn without_word(words: &Words, word: &str) -> Words {
    let mut rest = copy(words);
    let own = rest.verbs.iter_mut().last().filter(|own| own.iter().any(|own| own == word));
    let from = own.unwrap_or(&mut rest.files);
    if let Some(at) = from.iter().position(|own| own == word) {
        from.remove(at);
    }
    rest
}

/// The words without the chains in brackets, which are words too.
pub fn copy(words: &Words) -> Words {
    Words {
        before: words.before.clone(),
        verbs: words.verbs.clone(),
        after: words.after.clone(),
        files: words.files.clone(),
        chains: Vec::new(),
    }
}

/// The command line, as it is typed.
pub fn line(words: &Words) -> String {
    let texts = |words: &[OsString]| words.iter().map(|word| typed_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    let verbs: Vec<String> = words.verbs.iter().chain(&words.after).map(|verb| texts(verb)).collect();
    // A program that reads the messages has typed only the chain.
    if words.before.iter().any(|word| word.to_string_lossy().starts_with("--messages")) {
        return verbs.join(" then ");
    }
    let files = if words.files.is_empty() { String::new() } else { format!("-- {}", texts(&words.files)) };
    ["tatter".to_owned(), texts(&words.before), verbs.join(" then "), files]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether a word asks for descending order, as in SQL; `None` if it names no order.
pub fn descends(word: &OsStr) -> Option<bool> {
    match word.to_str()?.to_ascii_lowercase().as_str() {
        "desc" | "descending" => Some(true),
        "asc" | "ascending" => Some(false),
        _ => None,
    }
}
