//! Lists the messages in the sources in `fixtures/messages.txt`, extracted from the sources, so that they can be
//! reviewed together.
//!
//! Each line is a string literal of an error, advice, notice or summary; `{..}` stands for a value. `TATTER_BLESS=1
//! cargo test --test it messages` rewrites the list: review the diff. The test also checks their style.

use crate::tatter::{files, root};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const LIST: &str = "fixtures/messages.txt";

#[test]
fn messages_are_plain() {
    let mut text = String::from("# Messages in the sources, by file. TATTER_BLESS=1 cargo test --test it messages writes it anew\n");
    for file in files(&root().join("src"), "rs").into_iter().filter(|file| is_read(file)) {
        let source = fs::read_to_string(&file).unwrap();
        let own = source.split("#[cfg(test)]").next().unwrap_or_default();
        let messages = messages(own);
        if !messages.is_empty() {
            let _ = writeln!(text, "\n{}", file.strip_prefix(root()).unwrap_or(&file).display());
            for message in messages {
                let _ = writeln!(text, "    {message}");
            }
        }
    }
    if std::env::var_os("TATTER_BLESS").is_some() {
        fs::write(root().join(LIST), &text).unwrap();
    }
    let odd: Vec<&str> = text.lines().filter(|line| is_odd(line.trim())).collect();
    assert!(odd.is_empty(), "messages are short, plain, in lower case and without a final period:\n{}", odd.join("\n"));
}

fn is_read(file: &Path) -> bool {
    !ARGUMENTS.iter().any(|own| file.ends_with(own)) && !file.components().any(|part| part.as_os_str() == "tests")
}

/// Phrases that do not belong in a manual.
const ODD: &[&str] = &[
    "  ",
    "nobody",
    "so many",
    "stand for",
    "stands for",
    "a fault of",
    "is no UTF-8",
    "has to tell",
    "in the place of",
    "is no number",
    "of ours",
    "way out",
    " gives ",
];

fn is_odd(message: &str) -> bool {
    let is_sentence = message.ends_with('.') && !message.ends_with("..");
    let is_shouted = message.starts_with(|c: char| c.is_ascii_uppercase())
        && message
            .split(' ')
            .next()
            .is_some_and(|word| word.len() > 1 && word.bytes().skip(1).all(|b| b.is_ascii_lowercase()) && !NAMES.contains(&word));
    is_sentence || is_shouted || ODD.iter().any(|phrase| message.contains(phrase))
}

/// Files in which `.help(` is the method of clap arguments.
const ARGUMENTS: &[&str] = &["cli/commands.rs", "cli/completions.rs"];

/// Names that can start a message.
const NAMES: &[&str] = &["Arrow", "Parquet", "Python", "None"];

/// Functions that start a message, excluding those for internal errors.
const STARTS: &[&str] = &[
    "Error::usage(",
    "Error::data(",
    "Error::new(",
    "Error::io(",
    "ExprError::at(",
    "ExprError::new(",
    ".help(",
    "Hint::to_skip(",
    "Hint::to_skip_or(",
    "Hint::to_skip_with(",
    "Hint::to_read_as(",
    "Hint::to_read_with(",
    "misplaced(",
    "notices.add(",
    "notices.add_about(",
    "notice(",
    "let message =",
    "let text =",
    "let error =",
];

/// The literals of all messages, sorted and without repeats.
fn messages(source: &str) -> Vec<String> {
    let code: String = source.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
    let mut found: Vec<(usize, String)> = Vec::new();
    for start in STARTS {
        for (at, _) in code.match_indices(start) {
            // A single word is a name or a key, not a message; `, ` joins names.
            let is_message = |text: &str| text.contains(' ') && text.bytes().filter(u8::is_ascii_alphabetic).count() > 3;
            let literals = scan(&code, at + start.len(), start.ends_with('(')).literals;
            found.extend(literals.into_iter().filter(|(_, text)| is_message(text)));
        }
    }
    for (at, start) in code.match_indices(" mismatch(").chain(code.match_indices("(mismatch(")) {
        let parts = scan(&code, at + start.len(), true);
        found.retain(|(literal, _)| !(at..parts.end).contains(literal));
        if let Some(text) = parts.mismatch(&code[..parts.end]) {
            found.push((at, text));
        }
    }
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, text)| text).collect()
}

/// The arguments of a call, or a statement.
struct Scanned {
    start: usize,
    end: usize,
    /// The commas between arguments.
    commas: Vec<usize>,
    literals: Vec<(usize, String)>,
}

impl Scanned {
    /// The message of `mismatch(expected, found)`, if it has a literal.
    fn mismatch(&self, code: &str) -> Option<String> {
        let comma = *self.commas.first()?;
        let part = |start: usize, end: usize| {
            let argument = code[start..end].trim_matches([' ', '&', ',', '\n']);
            let is_literal = argument.starts_with('"') || argument.starts_with("format_args!(\"");
            let is_name = argument.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            match self.literals.iter().find(|(at, _)| is_literal && (start..end).contains(at)) {
                Some((_, text)) => (true, text.clone()),
                None if is_name => (false, format!("{{{argument}}}")),
                None => (false, "{}".to_owned()),
            }
        };
        let [(has_expected, expected), (has_found, found)] = [part(self.start, comma), part(comma + 1, self.end)];
        (has_expected || has_found).then(|| format!("expected {expected}, found {found}"))
    }
}

/// Reads from here to the closing parenthesis, or to the end of the statement.
fn scan(code: &str, start: usize, is_call: bool) -> Scanned {
    let bytes = code.as_bytes();
    let (mut at, mut depth, mut commas, mut literals) = (start, 0, Vec::new(), Vec::new());
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let is_raw = bytes[at - 1] == b'#' || bytes[at - 1] == b'r';
                let end = literal_end(bytes, at + 1, is_raw);
                literals.push((at, unescaped(&code[at + 1..end])));
                at = end;
            }
            // A character, such as '('.
            b'\'' if bytes.get(at + 2) == Some(&b'\'') => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\\') && bytes.get(at + 3) == Some(&b'\'') => at += 3,
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' if depth == 0 => break,
            b')' | b'}' | b']' => depth -= 1,
            b',' if depth == 0 => commas.push(at),
            b';' if depth == 0 && !is_call => break,
            _ => {}
        }
        at += 1;
    }
    Scanned { start, end: at, commas, literals }
}

fn literal_end(bytes: &[u8], start: usize, is_raw: bool) -> usize {
    let mut at = start;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' && !is_raw { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// The printed form: continued lines are joined, and newlines are shown.
fn unescaped(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let mut text = lines.next().unwrap_or_default().to_owned();
    lines.for_each(|line| text.push_str(line.trim_start()));
    text.replace("\\\"", "\"").replace("\\\\", "\\").replace('\n', "\\n")
}
