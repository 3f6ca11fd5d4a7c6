//! `docs/formats.md` has a row for every format, with the registered extensions and directions.

use crate::tatter::root;
use std::fs;
use std::sync::Arc;
use tatter::formats::FORMATS;
use tatter::io::Input;
use tatter::options::Options;
use tatter::schema::{Schema, notation};

/// Output of a format.
const WRITABLE: [&str; 6] = [
    "__key__: string; txt: string",
    "tokens: int64[?]",
    "text: string",
    "value: int64",
    "features: sparse<float32>[3]",
    "label: float32; features: sparse<float32>[3]",
];

#[test]
fn the_table_of_formats_is_that_of_the_program() {
    let page = fs::read_to_string(root().join("docs/formats.md")).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().filter(|l| l.starts_with("| `")).map(|l| l.split('|').map(str::trim).collect()).collect();
    let options = Options::default();
    let listed: Vec<String> = rows.iter().map(|row| row[1..5].join(" | ")).collect();
    let registered: Vec<String> = FORMATS
        .iter()
        .map(|format| {
            let extensions: Vec<String> = format.extensions().iter().map(|e| format!(".{e}")).collect();
            let extensions = if extensions.is_empty() { "none".to_owned() } else { extensions.join(" ") };
            let is_read = format.reader(Arc::new(Input::memory("x", Vec::new())), &options).is_some();
            let schemas = WRITABLE.iter().map(|text| Arc::new(notation::parse(text).unwrap())).chain([Arc::new(Schema::default())]);
            let is_written = schemas.into_iter().any(|schema| format.writer(&schema, &options).is_some_and(|writer| writer.is_ok()));
            let yes = |is: bool| if is { "yes" } else { "no" };
            format!("`{}` | {extensions} | {} | {}", format.name(), yes(is_read), yes(is_written))
        })
        .collect();
    assert_eq!(listed, registered);
    assert!(rows.iter().all(|row| row.len() == 8), "a row has six cells");
}
