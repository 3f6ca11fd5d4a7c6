//! Finds the fields that reach the verb at the cursor.

use crate::cli::line::Line;
use crate::cli::parse::outlined;
use crate::path;
use crate::schema::Field;
use std::ffi::OsString;
use std::path::Path;

/// Maximum number of fields; longer lists are not useful.
const MOST: usize = 2000;

/// The notation of the names.
#[derive(Clone, Copy, PartialEq)]
pub enum Names {
    /// As a field path on the command line.
    Path,
    /// As a name in an expression.
    Expression,
    /// As a name of a field of the table of `lookup`.
    OfTable,
}

/// Options that affect how a file is read.
const READING: [&str; 4] = ["--from", "--schema", "--scalar", "--mixed"];
/// Options whose value is not an input.
const WRITTEN: [&str; 4] = ["-o", "--output", "--summary", "--with"];

/// Paths and types of the fields. Empty if no file is named or the fields are not found in time.
pub fn fields(line: &Line, names: Names) -> Vec<(String, String)> {
    let Some(words) = question(line) else { return Vec::new() };
    let Some(schema) = outlined(words) else { return Vec::new() };
    let mut found = Vec::new();
    add(&schema.fields, "", names, &mut found);
    found.truncate(MOST);
    found
}

/// Names and types of the fields of a file that is not an input.
pub fn of_file(file: &str) -> Vec<(String, String)> {
    let words = ["schema", "--", file].map(OsString::from).to_vec();
    let Some(schema) = Some(words).filter(|_| Path::new(file).is_file()).and_then(outlined) else { return Vec::new() };
    schema.fields.iter().take(MOST).map(|field| (path::quoted(&field.name), field.ty.to_string())).collect()
}

fn add(fields: &[Field], parent: &str, names: Names, found: &mut Vec<(String, String)>) {
    for field in fields {
        let own = match names {
            Names::Path | Names::OfTable => path::quoted(&field.name),
            Names::Expression => path::in_expression(&field.name),
        };
        let path = format!("{parent}{own}");
        found.push((path.clone(), field.ty.to_string()));
        add(field.ty.fields().unwrap_or(&[]), &format!("{path}."), names, found);
    }
}

/// The verbs before the cursor, followed by `schema`, with the files on the line.
fn question(line: &Line) -> Option<Vec<OsString>> {
    let verbs = match line.before.iter().rposition(|word| word == "then") {
        Some(then) => &line.before[..=then],
        None => &[],
    };
    let leading = verbs.iter().position(|word| crate::verbs::find(word).is_some()).unwrap_or(0);
    let mut options = Vec::new();
    let mut files = Vec::new();
    let mut words = line.before.iter().chain(&line.after).peekable();
    while let Some(word) = words.next() {
        if READING.contains(&word.as_str()) {
            options.extend([Some(word), words.next()].into_iter().flatten().map(OsString::from));
        } else if READING.iter().any(|option| word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))) {
            options.push(word.into());
        } else if WRITTEN.contains(&word.as_str()) {
            words.next();
        } else if Path::new(word).is_file() {
            files.push(OsString::from(word));
        }
    }
    files.first()?;
    let verbs = verbs[leading..].iter().map(OsString::from);
    Some(verbs.chain(["schema".into()]).chain(options).chain(["--".into()]).chain(files).collect())
}
