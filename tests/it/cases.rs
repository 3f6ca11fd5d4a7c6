//! Transcripts: `fixtures/cases/TOPIC/NAME.txt` has commands and their output.
//!
//! ```text
//! # what it shows
//! $ tatter head 1 $FIXTURES/inputs/docs.jsonl
//! > a line of standard output
//! ! a line of standard error
//! ? 1
//! ```
//! `+ ` continues a command on the next line, and `? N` is a nonzero exit status. The commands of a file run in
//! sequence in a new directory. `TATTER_BLESS=1 cargo test --test it cases` rewrites the expected output: review the
//! diff. `TATTER_CASES=inputs/` runs only those whose path contains it.

use crate::advice;
use crate::tatter::{Outcome, files, parallel, root, shell};
use std::fmt::Write;
use std::fs;
use std::path::Path;

#[test]
fn transcripts_are_as_printed() {
    let mut cases = files(&root().join("fixtures/cases"), "txt");
    if let Ok(part) = std::env::var("TATTER_CASES") {
        cases.retain(|case| case.to_string_lossy().contains(&part));
    }
    let bless = std::env::var_os("TATTER_BLESS").is_some();
    let failures: Vec<String> = parallel(&cases, |case| check(case, bless)).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}\n{} of {} transcripts differ", failures.join("\n"), failures.len(), cases.len());
}

/// Runs one transcript and returns the differences.
fn check(case: &Path, bless: bool) -> Option<String> {
    let expected = fs::read_to_string(case).unwrap();
    let (found, useless) = replay(&expected);
    if bless && found != expected {
        fs::write(case, &found).unwrap();
    }
    if !useless.is_empty() {
        return Some(format!("{}:\n{}", case.strip_prefix(root()).unwrap_or(case).display(), useless.join("\n")));
    }
    if bless || found == expected {
        return None;
    }
    let mut text = format!("{}:\n", case.strip_prefix(root()).unwrap_or(case).display());
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
    let same_end = expected[same..].iter().rev().zip(found[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let command = expected[..same].iter().rposition(|l| l.starts_with("$ ")).unwrap_or(same.saturating_sub(1));
    for line in &expected[command..same] {
        let _ = writeln!(text, "    {line}");
    }
    for line in &expected[same..expected.len() - same_end] {
        let _ = writeln!(text, "  - {line}");
    }
    for line in &found[same..found.len() - same_end] {
        let _ = writeln!(text, "  + {line}");
    }
    Some(text)
}

/// The transcript with the current output of the program, and its advice that does not work.
fn replay(transcript: &str) -> (String, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let (mut text, mut useless) = (String::new(), Vec::new());
    let mut lines = transcript.lines().peekable();
    while let Some(line) = lines.next() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                let mut command = command.to_owned();
                let _ = writeln!(text, "{line}");
                while let Some(more) = lines.next_if(|l| l.starts_with("+ ") || *l == "+") {
                    let _ = writeln!(text, "{more}");
                    command.push('\n');
                    command.push_str(more.strip_prefix("+ ").unwrap_or_default());
                }
                while lines.next_if(|l| ['>', '!', '?'].iter().any(|mark| l.starts_with(*mark))).is_some() {}
                let outcome = shell(&command, directory.path(), b"");
                show(&mut text, &outcome);
                if outcome.status != 0 {
                    useless.extend(advice::failures(&command, &outcome, directory.path()));
                }
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    (text, useless)
}

fn show(text: &mut String, outcome: &Outcome) {
    for (mark, stream) in [('>', &outcome.text()), ('!', &outcome.stderr)] {
        for line in stream.lines() {
            let _ = writeln!(text, "{}", format!("{mark} {line}").trim_end_matches(' '));
        }
    }
    if outcome.status != 0 {
        let _ = writeln!(text, "? {}", outcome.status);
    }
}
