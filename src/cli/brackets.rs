//! Chains in brackets on the command line: `mix a.jsonl [ filter 'x > 0' b.jsonl ]`.

use crate::error::{Error, Result};
use crate::io::in_brackets;
use crate::printable::shell_word;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The words in each pair of brackets, with the word that replaces them.
pub type Chains = Vec<(OsString, Vec<OsString>)>;

/// Replaces each chain in brackets by a single word. Returns the remaining words and the chains.
///
/// # Errors
/// An unmatched bracket.
pub fn bracketed(words: Vec<OsString>) -> Result<(Vec<OsString>, Chains)> {
    let (mut outside, mut chains, mut open) = (Vec::new(), Chains::new(), Vec::<Vec<OsString>>::new());
    let mut words = words.into_iter();
    for word in words.by_ref() {
        let closes = word.as_encoded_bytes().first() == Some(&b']') && word.as_encoded_bytes().get(1).is_none_or(|b| *b == b'=');
        match (open.pop(), closes) {
            (None, false) if word == "--" => {
                outside.push(word);
                break;
            }
            (None, false) if word == "[" => open.push(Vec::new()),
            (None, false) => outside.push(word),
            (None, true) if Path::new(&word).exists() => outside.push(word),
            (None, true) => {
                let error = Error::usage(format!("`{}` has no matching `[`", word.display()));
                return Err(error.help("put the chain of an input in brackets: mix A [ filter 'x > 0' B ]"));
            }
            (Some(inner), false) if word == "[" => open.extend([inner, Vec::new()]),
            (Some(mut inner), false) => {
                inner.push(word);
                open.push(inner);
            }
            (Some(inner), true) => match open.last_mut() {
                // A nested chain is parsed together with the chain that contains it.
                Some(outer) => {
                    outer.push("[".into());
                    outer.extend(inner);
                    outer.push(word);
                }
                None => {
                    let name = quoted(&inner);
                    let mut place = name.clone();
                    place.push(OsStr::from_bytes(&word.as_bytes()[1..]));
                    outside.push(place);
                    chains.push((name, inner));
                }
            },
        }
    }
    if let Some(inner) = open.into_iter().next() {
        let error = Error::usage(format!("unclosed `[`: [ {}", typed(&inner)));
        return Err(error.help("close the chain of an input with `]`, as a separate argument"));
    }
    outside.extend(words);
    Ok((outside, chains))
}

/// Splits a word back into the words as typed: a chain in brackets is several words.
pub fn typed_word(word: &str) -> String {
    if in_brackets(OsStr::new(word)).is_some() { word.to_owned() } else { shell_word(word) }
}

/// Whether a word opens or closes a chain.
fn is_bracket(word: &str) -> bool {
    word == "[" || word == "]" || word.starts_with("]=")
}

/// Joins the words into one, as typed.
fn quoted(words: &[OsString]) -> OsString {
    let mut all = OsString::from("[ ");
    for word in words {
        match word.to_str() {
            Some(text) if !is_bracket(text) => all.push(shell_word(text)),
            _ => all.push(word),
        }
        all.push(" ");
    }
    all.push("]");
    all
}

/// Words as typed.
pub fn typed(words: &[OsString]) -> String {
    let word = |word: &OsString| match word.to_string_lossy() {
        bracket if is_bracket(&bracket) => bracket.into_owned(),
        word => typed_word(&word),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}
