//! The pages are correct: the commands in README.md, every page in docs/ and the list of conventions run, and print what
//! the page shows.
//!
//! The commands of all ```` ```sh ```` blocks run in sequence in one directory that contains `fixtures`. A following
//! block of another kind shows their output; ```` ```text error ```` shows the message of a failing command. Commands
//! that build or test the package are skipped: `cargo run --release --` is the program under test. `TATTER_BLESS=1
//! cargo test --test it pages` rewrites outputs and the README's table of verbs.

use crate::tatter::{files, parallel, root, shell};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use tatter::cli::{MARKS, verb_table};

#[test]
fn the_pages_are_true() {
    let mut pages = files(&root().join("docs"), "md");
    pages.extend([root().join("README.md"), root().join("fixtures/conventions.md")]);
    let bless = std::env::var_os("TATTER_BLESS").is_some();
    let failures: Vec<String> = parallel(&pages, |page| check(page, bless)).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Replays a page and returns the first difference.
fn check(page: &Path, bless: bool) -> Option<String> {
    let name = page.strip_prefix(root()).unwrap_or(page).display();
    let expected = fs::read_to_string(page).unwrap();
    let found = match replay(&expected) {
        Ok(found) => with_table(found),
        Err(message) => return Some(format!("{name}, {message}")),
    };
    if bless {
        fs::write(page, found).unwrap();
        return None;
    }
    let differs = expected.lines().zip(found.lines()).enumerate().find(|(_, (a, b))| a != b);
    match differs {
        Some((at, (a, b))) => Some(format!("{name}, line {}:\n  - {a}\n  + {b}", at + 1)),
        None if expected != found => Some(format!("{name}: the end differs")),
        None => None,
    }
}

/// The page with the current output of its commands, and commands that unexpectedly fail or succeed.
fn replay(page: &str) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("fixtures"), directory.path().join("fixtures")).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let is_fence = |at: usize, sh: bool| lines.get(at).is_some_and(|l| l.starts_with("```") && *l != "```" && (*l == "```sh") == sh);
    // The line that closes the block that starts at `at`.
    let close = |at: usize| at + lines[at..].iter().position(|l| *l == "```").unwrap();
    let mut text = String::new();
    let mut at = 0;
    while at < lines.len() {
        if !is_fence(at, true) {
            let _ = writeln!(text, "{}", lines[at]);
            at += 1;
            continue;
        }
        let end = close(at);
        let shown = (lines.get(end + 1) == Some(&"") && is_fence(end + 2, false)).then_some(end + 2);
        let fails = shown.is_some_and(|at| lines[at].ends_with(" error"));
        let commands: String = lines[at + 1..end].iter().map(|line| format!("{}\n", runnable(line))).collect();
        let outcome = shell(&format!("set -e\n{commands}"), directory.path(), b"");
        if (outcome.status != 0) != fails {
            return Err(format!("line {}: exit code {}\n{commands}{}", at + 1, outcome.status, outcome.stderr));
        }
        let _ = writeln!(text, "{}", lines[at..=end].join("\n"));
        at = end + 1;
        if let Some(shown) = shown {
            let printed = if fails { outcome.stderr } else { outcome.text() };
            let _ = write!(text, "\n{}\n{printed}```\n", lines[shown]);
            at = close(shown) + 1;
        }
    }
    Ok(text)
}

/// The command, using the program that has already been built.
fn runnable(line: &str) -> String {
    let line = line.replace("cargo run --release --quiet --", "tatter").replace("cargo run --release --", "tatter");
    let builds = ["git clone", "cd tatter", "cargo build", "cargo install", "cargo test", "pip install"];
    if builds.iter().any(|word| line.trim_start().starts_with(word)) { ":".to_owned() } else { line }
}

/// The page with the current table of verbs, if it has one.
fn with_table(page: String) -> String {
    match (page.find(MARKS.0), page.find(MARKS.1)) {
        (Some(start), Some(end)) => format!("{}{}{}", &page[..start + MARKS.0.len()], verb_table(), &page[end..]),
        _ => page,
    }
}
