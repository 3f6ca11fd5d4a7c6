//! Splits the command line at `then`, without knowledge of the verbs.

use super::brackets::{Chains, bracketed, typed_word};
use super::habits;
use super::typed::Typed;
use crate::error::{Error, Result, nearest};
use crate::verbs::VERBS;
use clap::{Arg, Args, Command};
use std::ffi::OsString;

/// The words of a command line, after splitting.
#[derive(Debug, Default, PartialEq)]
pub struct Words {
    /// Global options before the first verb, with their values, including `-h`, `--help`, `-V` and `--version`.
    pub before: Vec<OsString>,
    /// The words of each verb. There is at least one verb, possibly without words.
    pub verbs: Vec<Vec<OsString>>,
    /// In a suggestion for a verb that is not the last one: the words of the verbs after it.
    pub after: Vec<Vec<OsString>>,
    /// The words after `--`.
    pub files: Vec<OsString>,
    /// The chains in brackets, each with the word that replaces it: `[ head 1 x.jsonl ]` as one word.
    pub chains: Chains,
}

/// Splits at every bare `then` up to `--`, and separates the global options at the front. Words between `[` and `]` are
/// first joined into one word.
///
/// # Errors
/// An unknown option before the first verb, an option with a missing value, or an unmatched bracket.
pub fn split(words: Vec<OsString>) -> Result<Words> {
    let (mut words, chains) = bracketed(words)?;
    let files = match words.iter().position(|w| w == "--") {
        Some(dashes) => words.drain(dashes..).skip(1).collect(),
        None => Vec::new(),
    };
    let mut by_verb: Vec<Vec<OsString>> = words.split(|w| w == "then").map(<[OsString]>::to_vec).collect();
    let first = std::mem::take(&mut by_verb[0]);
    let length = leading_options(&first)?;
    by_verb[0] = first[length..].to_vec();
    Ok(Words { before: first[..length].to_vec(), verbs: by_verb, after: Vec::new(), files, chains })
}

/// The number of words before the first verb that are global options and their values.
fn leading_options(words: &[OsString]) -> Result<usize> {
    let globals = Typed::augment_args(Command::new("tatter"));
    let mut at = 0;
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy()) {
        let word = word.as_ref();
        if !word.starts_with('-') || word == "-" {
            break;
        }
        let wants_value = match word.strip_prefix("--") {
            Some("help" | "version") => None,
            Some(long) => {
                let (name, inline) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
                let arg =
                    globals.get_arguments().find(|a| a.get_long() == Some(name)).ok_or_else(|| unknown(word, &words[at..], &globals))?;
                (!inline && arg.get_action().takes_values()).then_some(arg)
            }
            None => short_cluster(word, &words[at..], &globals)?,
        };
        at += 1;
        if let Some(arg) = wants_value {
            if at == words.len() {
                let value = arg.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str());
                return Err(Error::usage(format!("{word} needs a value: {word} {value}")));
            }
            at += 1;
        }
    }
    Ok(at)
}

/// The option at the end of a group such as `-qo` that takes the next word as its value, if any.
fn short_cluster<'a>(word: &str, words: &[OsString], globals: &'a Command) -> Result<Option<&'a Arg>> {
    let mut letters = word.chars().skip(1).peekable();
    while let Some(letter) = letters.next() {
        if letter == 'h' || letter == 'V' {
            continue;
        }
        let arg = globals.get_arguments().find(|a| a.get_short() == Some(letter)).ok_or_else(|| unknown(word, words, globals))?;
        if arg.get_action().takes_values() {
            return Ok(letters.peek().is_none().then_some(arg));
        }
    }
    Ok(None)
}

/// The error for an option before the first verb that is not a global option; `words` start with it.
fn unknown(word: &str, words: &[OsString], globals: &Command) -> Error {
    let name = word.split('=').next().unwrap_or(word);
    let error = Error::usage(format!("unknown option `{name}`"));
    let owners: Vec<&str> = VERBS.iter().filter(|v| has_option(&v.command(), name)).map(|v| v.name).collect();
    if let Some(owner) = owners.first() {
        // `-n 2 head FILE`: an option of the verb precedes the verb.
        let typed = words.iter().enumerate().skip(1).find_map(|(at, word)| Some((at, VERBS.iter().find(|v| *word == *v.name)?)));
        let meant = match typed.filter(|(_, verb)| has_option(&verb.command(), name)) {
            Some((at, verb)) => {
                let texts = words[..at].iter().chain(&words[at + 1..]).map(|word| typed_word(&word.to_string_lossy()));
                format!("{} {}", verb.name, texts.collect::<Vec<_>>().join(" "))
            }
            None => format!("{owner} {name} ..."),
        };
        return Error::usage(format!("`{name}` is an option of `{}`, not a global option", owners.join("`, `")))
            .help(format!("options of a verb follow its name: tatter {meant}"));
    }
    if let Some(verb) = name.strip_prefix("--").and_then(crate::verbs::find) {
        let inline = word.split_once('=').map(|(_, value)| value.to_owned());
        let rest = words.iter().skip(1).map(|word| typed_word(&word.to_string_lossy()));
        let line: Vec<_> = inline.into_iter().map(|value| typed_word(&value)).chain(rest).collect();
        return error.help(format!("`{0}` is a verb: tatter {0} {1}", verb.name, line.join(" ")));
    }
    if let Some(advice) = habits::of_global_option(name) {
        return error.help(advice);
    }
    let longs: Vec<String> = globals.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
    match nearest(name, longs.iter().map(String::as_str).chain(["--help", "--version"])) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`tatter --help` lists the global options"),
    }
}

/// Whether a word is written like an option; `-` is standard input.
pub fn is_option(word: &str) -> bool {
    word.starts_with('-') && word != "-"
}

/// Whether the command has that option.
pub fn has_option(command: &Command, name: &str) -> bool {
    find_option(command, name).is_some()
}

/// Finds an option by name, such as `--by` or `-f`.
pub fn find_option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    match name.strip_prefix("--") {
        Some(long) => command.get_arguments().find(|a| a.get_long() == Some(long)),
        None => {
            let mut letters = name.strip_prefix('-')?.chars();
            let letter = letters.next().filter(|_| letters.next().is_none())?;
            command.get_arguments().find(|a| a.get_short() == Some(letter))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn words_are_split_at_then() {
        let table: [(&str, &str, &[&str], &str); 10] = [
            ("head 3", "", &["head 3"], ""),
            ("head 3 then count x.jsonl", "", &["head 3", "count x.jsonl"], ""),
            ("--from jsonl -q head 3", "--from jsonl -q", &["head 3"], ""),
            ("--from=jsonl -oout head 3", "--from=jsonl -oout", &["head 3"], ""),
            ("-qo out head 3", "-qo out", &["head 3"], ""),
            ("head 3 -- then --from", "", &["head 3"], "then --from"),
            ("to-dense --default=then then count", "", &["to-dense --default=then", "count"], ""),
            ("then count", "", &["", "count"], ""),
            ("head 3 then", "", &["head 3", ""], ""),
            ("- x", "", &["- x"], ""),
        ];
        for (line, before, verbs, files) in table {
            let expected = Words {
                before: words(before),
                verbs: verbs.iter().map(|s| words(s)).collect(),
                after: Vec::new(),
                files: words(files),
                chains: Vec::new(),
            };
            assert_eq!(split(words(line)).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn chains_in_brackets_are_words() {
        let split_line = |line| split(words(line)).unwrap();
        let found = split_line("mix a=0.7 [ head 3 then [ x ]=2 b ]=0.3 then head 1 [ ] -- [");
        assert_eq!(found.verbs[0], ["mix", "a=0.7", "[ head 3 then [ x ]=2 b ]=0.3"]);
        assert_eq!((found.verbs[1].clone(), found.files), (words("head 1").into_iter().chain(["[ ]".into()]).collect(), words("[")));
        let names: Vec<_> = found.chains.iter().map(|(name, words)| (name.to_str().unwrap(), words.len())).collect();
        assert_eq!(names, [("[ head 3 then [ x ]=2 b ]", 7), ("[ ]", 0)]);
        let spaces = split(Vec::from(["mix", "[", "filter", "x > 0", "]", "[", "filter", "x", ">", "0", "]"].map(OsString::from))).unwrap();
        assert_eq!(spaces.chains.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), ["[ filter 'x > 0' ]", "[ filter x '>' 0 ]"]);
        for (line, message) in
            [("mix [ a", "unclosed `[`: [ a"), ("mix a ]=2", "`]=2` has no matching `[`"), ("zip [ [ a ]", "unclosed `[`: [ [ a ]")]
        {
            assert_eq!(split(words(line)).unwrap_err().message(), message, "{line}");
        }
    }
}
