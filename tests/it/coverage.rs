//! `docs/coverage.md`: every documented item of TensorFlow's and Paddle's ragged, sparse and structured tensors, with
//! tatter's result for the documented line.
//!
//! A section can start with a block of Python assignments, which precede each of its lines. A row is `| item | line |
//! result | note |`, with the result as JSON in backquotes or the first line of an error. `TATTER_BLESS=1 cargo test
//! --test it coverage` rewrites the results: review the diff.

use crate::tatter::{parallel, root, tatter};
use serde_json::Value;
use std::fs;

/// A row of the page, with its line number.
struct Row {
    at: usize,
    statements: String,
    cells: [String; 4],
}

/// The cells of a table row; `\|` is a bar inside a cell.
fn cells(line: &str) -> Option<[String; 4]> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?.replace("\\|", "\0");
    let cells: Vec<String> = inner.split(" | ").map(|cell| cell.replace('\0', "|")).collect();
    cells.try_into().ok()
}

fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

fn rows(page: &str) -> Vec<Row> {
    let (mut rows, mut prelude, mut inside) = (Vec::new(), String::new(), false);
    for (at, line) in page.lines().enumerate() {
        match line {
            "```python" => inside = true,
            "```" => inside = false,
            _ if inside => {
                prelude.push_str(line);
                prelude.push('\n');
            }
            _ if line.starts_with('#') => prelude.clear(),
            _ => {
                if let Some(cells) = cells(line).filter(|cells| code(&cells[1]).is_some()) {
                    let statements = format!("{prelude}out = {}", code(&cells[1]).unwrap());
                    rows.push(Row { at, statements, cells });
                }
            }
        }
    }
    rows
}

/// The expected result cell, and whether it matches.
fn result(row: &Row) -> (String, bool) {
    let outcome = tatter(&["map", &row.statements, "then", "select", "out", "--from", "none"], b"");
    if outcome.status == 2 || outcome.status == 1 {
        let found = outcome.stderr.lines().next().unwrap_or_default().to_owned();
        let same = found == row.cells[2];
        return (found, same);
    }
    let text = outcome.text();
    let found: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}: {text} {}", row.statements, outcome.stderr));
    let same = code(&row.cells[2]).and_then(|json| serde_json::from_str::<Value>(json).ok()).is_some_and(|wanted| wanted == found["out"]);
    (format!("`{}`", found["out"]), same)
}

#[test]
fn documented_items_give_what_the_page_says() {
    let path = root().join("docs/coverage.md");
    let page = fs::read_to_string(&path).unwrap();
    let rows = rows(&page);
    assert!(rows.len() > 200, "{} rows", rows.len());
    let results = parallel(&rows, result);
    let wrong: Vec<(&Row, &String)> =
        rows.iter().zip(&results).filter(|(_, (_, same))| !same).map(|(row, (found, _))| (row, found)).collect();
    if std::env::var_os("TATTER_BLESS").is_some() {
        let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
        for (row, found) in wrong {
            let [item, line, _, note] = &row.cells;
            let cells = [item, line, found, note].map(|cell| cell.replace('|', "\\|"));
            lines[row.at] = format!("| {} |", cells.join(" | "));
        }
        fs::write(path, lines.join("\n") + "\n").unwrap();
        return;
    }
    let wrong: Vec<String> = wrong
        .into_iter()
        .map(|(row, found)| format!("line {}: {}\n  says {}\n  is   {found}", row.at + 1, row.cells[1], row.cells[2]))
        .collect();
    assert!(wrong.is_empty(), "docs/coverage.md:\n{}", wrong.join("\n"));
}

#[test]
fn every_row_says_how_it_compares() {
    let page = fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    for row in rows(&page) {
        let [_, line, result, note] = &row.cells;
        let refused = result.starts_with("error: ");
        assert!(refused || note != "refused by TensorFlow, too", "{line}: gives a result");
        assert!(!refused || (note != "same" && note != "as Paddle" && note.len() > 5), "{line}: an error needs its reason");
        assert!(!note.is_empty(), "{line}: no note");
    }
}
