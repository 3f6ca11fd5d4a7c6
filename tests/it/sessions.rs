//! The user's view of a terminal: widths, colors, progress, Ctrl-C.

use crate::tatter::root;
use crate::terminal::{Session, is_installed, on_terminal, plain};
use std::fmt::Write as _;
use std::fs;
use tatter::screen::width;

const WIDTHS: [u16; 3] = [40, 80, 200];

/// Lines that do not fit but could be wrapped: more than a name and its type, and not a command to paste.
fn too_wide(shown: &str, columns: u16) -> Vec<String> {
    let shown = plain(shown);
    let is_wide = |line: &&str| width(line) > usize::from(columns);
    let can_be_broken = |line: &&str| line.split_whitespace().count() > 2 && !line.contains("tatter ") && !line.contains(['\'', '{']);
    shown.lines().filter(is_wide).filter(can_be_broken).map(str::to_owned).collect()
}

#[test]
fn everything_fits_the_terminal() {
    if !is_installed("script") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut nested = String::from(
        "{\"表の名前\":{\"first_of_the_fields\":1,\"second_of_the_fields\":[1.5],\"third\":{\"a\":\"x\",\"b\":[[1],[]]}},\"e\u{301}tat\":\"東京\"",
    );
    for i in 0..30 {
        let _ = write!(nested, ",\"feature_number_{i}\":[{i},{i}]");
    }
    nested.push_str("}\n");
    fs::write(directory.path().join("nested.jsonl"), &nested).unwrap();
    let commands = [
        ("tatter -h", 0),
        ("tatter --help", 0),
        ("tatter help pack", 0),
        ("tatter help reduce_sum", 0),
        ("tatter help functions", 0),
        ("tatter schema nested.jsonl", 0),
        ("tatter stats nested.jsonl", 0),
        ("tatter nested.jsonl", 0),
        ("tatter convert --dry-run nested.jsonl", 0),
        ("tatter select feature_number_99 nested.jsonl", 2),
        ("tatter convert nested.jsonl -o x.unknown", 2),
    ];
    for columns in WIDTHS {
        for (command, expected) in commands {
            let (shown, status) = on_terminal(command, directory.path(), columns);
            assert_eq!(status, expected, "{command}\n{shown}");
            let wide = too_wide(&shown, columns);
            assert!(wide.is_empty(), "{command} on {columns} columns:\n{}", wide.join("\n"));
        }
    }
}

#[test]
fn a_file_without_a_verb_is_shown() {
    if !is_installed("script") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (shown, status) = on_terminal("tatter \"$FIXTURES/inputs/docs.jsonl\"", directory.path(), 60);
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("\u{1b}[1mid\u{1b}[0m:") && shown.contains("\u{1b}[34m\"docs\"\u{1b}[0m:"), "{shown}");
    let lines: Vec<String> = plain(&shown).lines().map(str::to_owned).collect();
    assert!(lines[0].contains("docs.jsonl (jsonl, ") || lines[0].ends_with('…'), "{lines:?}");
    assert_eq!(lines[1..4], ["id:   int64", "docs: {title: string, tokens: string[?]}[?]", ""], "{lines:?}");
    assert_eq!(lines.len(), 9, "five records\n{lines:?}");
    assert!(lines[4].ends_with('…') && width(&lines[4]) == 60, "{lines:?}");
    for settings in ["NO_COLOR=1", "TERM=dumb"] {
        let (shown, _) = on_terminal(&format!("{settings} tatter \"$FIXTURES/inputs/docs.jsonl\""), directory.path(), 60);
        assert!(!shown.contains('\u{1b}'), "{settings}: {shown}");
    }
    // There is no terminal to show it on.
    let (shown, status) =
        on_terminal("tatter \"$FIXTURES/inputs/docs.jsonl\" | cat; tatter \"$FIXTURES/inputs/docs.jsonl\" > out", directory.path(), 60);
    assert_eq!(status, 2);
    assert!(plain(&shown).contains("to see its fields:"), "{shown}");
}

/// A command that takes a few seconds, because its input arrives slowly.
fn slow(directory: &std::path::Path, command: &str) -> Session {
    let mut lines = String::new();
    for i in 0..40_000 {
        let _ = writeln!(lines, "{{\"id\":{i},\"text\":\"some words that take some bytes, so that a block of records is soon full\"}}");
    }
    fs::write(directory.join("part.jsonl"), lines).unwrap();
    let command = format!("for i in 1 2 3 4 5 6 7 8; do cat part.jsonl; sleep 0.4; done | {command}");
    Session::start(&command, directory, (80, 24))
}

#[test]
fn progress_is_shown_and_then_a_summary() {
    if !is_installed("script") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let session = slow(directory.path(), "tatter convert --infer-bytes 1KiB --from jsonl -o out.jsonl");
    session.wait_for("the progress", |shown| shown.contains(" records, "));
    let (shown, status) = session.end();
    let shown = plain(&shown).replace('\n', " ");
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("info: 320000 records in, 320000 out, 0 skipped; "), "{shown}");
    assert!(shown.contains(" read, ") && shown.contains(" written in "), "{shown}");
    let session = slow(directory.path(), "tatter count -q --infer-bytes 1KiB --from jsonl");
    let (shown, _) = session.end();
    assert_eq!(plain(&shown).trim(), "320000", "quiet");
}

#[test]
fn ctrl_c_says_how_far_it_got_and_leaves_nothing() {
    if !is_installed("script") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut session = slow(directory.path(), "tatter convert --infer-bytes 1KiB --from jsonl -o out.jsonl");
    session.wait_for("the progress", |shown| shown.contains(" records, "));
    session.type_keys("\u{3}");
    let (shown, status) = session.end();
    let shown = plain(&shown);
    assert_eq!(status, 130, "{shown}");
    assert!(shown.contains("interrupted after ") && shown.contains("unfinished output files were removed"), "{shown}");
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["part.jsonl"]);
}

#[test]
fn short_runs_show_no_progress() {
    if !is_installed("script") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = root().join("fixtures/inputs/docs.jsonl");
    let (shown, status) = on_terminal(&format!("tatter count {}", file.display()), directory.path(), 80);
    assert_eq!((plain(&shown).trim(), status), ("5", 0));
}

#[test]
fn a_terminal_is_neither_an_input_nor_an_output_of_bytes() {
    if !is_installed("script") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (shown, status) = on_terminal("tatter count", directory.path(), 80);
    assert_eq!(status, 2, "{shown}");
    assert!(plain(&shown).contains("no FILE given, and standard input is a terminal"), "{shown}");
    let (shown, status) = on_terminal("tatter convert --to parquet \"$FIXTURES/inputs/docs.jsonl\"", directory.path(), 80);
    assert_eq!(status, 2, "{shown}");
    assert!(plain(&shown).contains("parquet is binary: it is not written to a terminal"), "{shown}");
}

#[test]
fn reports_on_a_terminal_show_control_characters() {
    if !is_installed("script") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let title = "\u{1b}]0;title\u{7}";
    for (name, text) in [
        ("a.jsonl", r#"{"a\u001b]0;title\u0007\u009b\u202e": 1}"#),
        ("b.jsonl", r#"{"a\u001b]0;title\u0007\u009b\u202e": 2}"#),
        (&format!("x{title}.jsonl"), r#"{"a\u001b]0;title\u0007\u009b\u202e":"#),
        (&format!("y{title}.jsonl"), r#"{"a":1}"#),
    ] {
        fs::write(directory.path().join(name), format!("{text}\n")).unwrap();
    }
    for command in [
        "tatter diff a.jsonl b.jsonl",
        "tatter diff a.jsonl y*",
        "tatter validate x*",
        "tatter validate --schema 'a: string' y*",
        "tatter convert --dry-run y* -o o.jsonl",
        "tatter convert -v y*",
        "tatter schema a.jsonl",
        "tatter schema --as json a.jsonl",
        "tatter schema --as arrow a.jsonl",
        "tatter stats --histogram a.jsonl",
        "tatter stats --as json a.jsonl",
        "tatter show a.jsonl",
        "tatter select b a.jsonl",
        "tatter select b --messages json a.jsonl",
        "tatter count --messages json x*",
        "tatter convert a.jsonl",
    ] {
        let (shown, _) = on_terminal(command, directory.path(), 80);
        let hidden = ["\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"].into_iter().find(|hidden| shown.contains(hidden));
        assert_eq!(hidden, None, "{command}\n{shown:?}");
        assert!(shown.contains("title") || command.contains("count"), "{command}\n{shown:?}");
    }
}
