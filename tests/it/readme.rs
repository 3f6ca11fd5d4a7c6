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
    let mut text = String::new();
    let mut lines = readme.lines().peekable();
    while let Some(line) = lines.next() {
        let _ = writeln!(text, "{line}");
        if line != "```sh" {
            continue;
        }
        let mut commands = String::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            let _ = writeln!(text, "{line}");
            let _ = writeln!(commands, "{}", runnable(line));
        }
        text.push_str("```\n");
        let outcome = shell(&format!("set -e\n{commands}"), directory.path(), b"");
        assert_eq!(outcome.status, 0, "{commands}{}", outcome.stderr);
        // Straight behind it, the output.
        if let Some(fence) = lines.next_if(|l| l.starts_with("```") && *l != "```sh") {
            let _ = write!(text, "{fence}\n{}```\n", outcome.text());
            for line in lines.by_ref() {
                if line == "```" {
                    break;
                }
            }
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
