//! Words that are in the wrong place, as habits of other tools put them: each gets the right command.

use super::brackets::typed_word;
use super::split::Words;
use crate::error::{Error, Kind, Result};
use crate::formats::FORMATS;
use crate::options::Options;
use crate::verbs::{self, Entry};
use std::ffi::OsString;
use std::path::Path;

/// FILEs that do not exist, but are a number, a field or an output.
///
/// # Errors
/// There is one, with the command that was meant.
pub fn in_files(files: &[OsString], verb: &Entry, options: &Options, words: &Words) -> Result<()> {
    let is_plain =
        |name: &&str| *name != "-" && !name.contains(['*', '@', '?', '[', ':']) && matches!(Path::new(name).try_exists(), Ok(false));
    let mut missing = files.iter().filter_map(|file| file.to_str()).filter(is_plain);
    let Some(name) = missing.next() else { return Ok(()) };
    let error = || Error::new(Kind::Io, "there is no such file").in_input(name);
    let others_exist = files.iter().any(|file| Path::new(file).exists());
    if verb.optional_argument && name.parse::<u64>().is_ok() {
        return Err(error().help(format!("the number follows the verb: {}", moved(words, name, 1, &[name]))));
    }
    let takes_by = verb.command().get_opts().any(|option| option.get_long() == Some("by"));
    if takes_by && others_exist && is_field(name) {
        return Err(error().help(format!("a field is given with --by: {}", moved(words, name, 1, &["--by", name]))));
    }
    let extension = name.trim_end_matches(".gz").trim_end_matches(".zst").rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_output = FORMATS.iter().any(|format| format.extensions().contains(&extension));
    let is_last = others_exist && files.last().is_some_and(|last| last == name) && missing.next().is_none();
    if is_output && is_last && options.output.is_none() {
        return Err(error().help(format!("to write it, name it with -o: {}", moved(words, name, usize::MAX, &["-o", name]))));
    }
    Ok(())
}

/// Whether a word looks like the name of a field more than like that of a file.
fn is_field(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !word.contains(['.', '/', '-'])
}

/// `sort x FILE`: an error that --by is missing, with the command that was meant.
pub fn without_by(error: Error, words: &Words) -> Error {
    let own = words.verbs.last().map_or(&[][..], Vec::as_slice);
    let field = own.get(1).and_then(|word| word.to_str());
    match field.filter(|field| error.message().ends_with("--by is missing") && is_field(field) && !Path::new(field).exists()) {
        Some(field) => error.help(format!("a field is given with --by: {}", moved(words, field, 1, &["--by", field]))),
        None => error,
    }
}

/// `FILE head 1`: the verb follows its FILE.
pub fn verb_after_file(words: &Words) -> Option<String> {
    let own = words.verbs.first()?;
    let (file, rest) = own.split_first()?;
    verbs::find(rest.first()?.to_str()?)?;
    let mut reordered = Words { before: words.before.clone(), verbs: words.verbs.clone(), files: words.files.clone(), chains: Vec::new() };
    reordered.verbs[0] = rest.to_vec();
    reordered.verbs.last_mut()?.push(file.clone());
    Some(line(&reordered))
}

/// The command line with a word of the last verb replaced by `instead`, which is put at that place of its words.
fn moved(words: &Words, word: &str, at: usize, instead: &[&str]) -> String {
    let mut verbs = words.verbs.clone();
    if let Some(own) = verbs.last_mut() {
        if let Some(old) = own.iter().position(|own| own == word) {
            own.remove(old);
        }
        let at = at.min(own.len());
        own.splice(at..at, instead.iter().map(OsString::from));
    }
    line(&Words { before: words.before.clone(), verbs, files: words.files.clone(), chains: Vec::new() })
}

fn line(words: &Words) -> String {
    let texts = |words: &[OsString]| words.iter().map(|word| typed_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    let verbs: Vec<String> = words.verbs.iter().map(|verb| texts(verb)).collect();
    let files = if words.files.is_empty() { String::new() } else { format!("-- {}", texts(&words.files)) };
    ["tatter".to_owned(), texts(&words.before), verbs.join(" then "), files]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
