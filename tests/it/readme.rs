//! README.md is true: its commands run and print what it shows, and its table of verbs is the registry's.
//!
//! The commands of every ```` ```sh ```` block run one after another in one directory that holds `fixtures`; a block
//! of another kind right behind shows what they print. What builds or tests the package is not run again: `cargo run
//! --release --` is the program under test. `TATTER_BLESS=1 cargo test --test it readme` rewrites outputs and table.

use crate::tatter::{root, shell};
use std::fmt::Write;
use std::fs;
use tatter::cli::{MARKS, verb_table};

#[test]
fn the_readme_is_true() {
    let path = root().join("README.md");
    let expected = fs::read_to_string(&path).unwrap();
    let found = with_table(&replay(&expected));
    if std::env::var_os("TATTER_BLESS").is_some() {
        fs::write(path, found).unwrap();
        return;
    }
    for (line, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(expected, found, "README.md, line {}", line + 1);
    }
    assert_eq!(expected, found);
}

/// The README with what its commands print today.
fn replay(readme: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("fixtures"), directory.path().join("fixtures")).unwrap();
    let lines: Vec<&str> = readme.lines().collect();
    let is_fence = |at: usize, sh: bool| lines.get(at).is_some_and(|l| l.starts_with("```") && *l != "```" && (*l == "```sh") == sh);
    // The line that closes the block which starts at `at`.
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
        let commands: String = lines[at + 1..end].iter().map(|line| format!("{}\n", runnable(line))).collect();
        let outcome = shell(&format!("set -e\n{commands}"), directory.path(), b"");
        assert_eq!(outcome.status, 0, "{commands}{}", outcome.stderr);
        let _ = writeln!(text, "{}", lines[at..=end].join("\n"));
        at = end + 1;
        if lines.get(at) == Some(&"") && is_fence(at + 1, false) {
            let _ = write!(text, "\n{}\n{}```\n", lines[at + 1], outcome.text());
            at = close(at + 1) + 1;
        }
    }
    text
}

/// The command with the program that is built already.
fn runnable(line: &str) -> String {
    let line = line.replace("cargo run --release --quiet --", "tatter").replace("cargo run --release --", "tatter");
    let builds =
        ["git clone", "cd tatter", "cargo build", "cargo install", "cargo test"].iter().any(|word| line.trim_start().starts_with(word));
    if builds { ":".to_owned() } else { line }
}

fn with_table(readme: &str) -> String {
    let (Some(start), Some(end)) = (readme.find(MARKS.0), readme.find(MARKS.1)) else {
        panic!("README.md has no {} ... {}", MARKS.0.trim(), MARKS.1);
    };
    format!("{}{}{}", &readme[..start + MARKS.0.len()], verb_table(), &readme[end..])
}
