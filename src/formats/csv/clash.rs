//! Columns whose values have no common type, and what to do about them.

use super::cell::may_mean_null;
use crate::error::Error;
use crate::hint::Hint;
use crate::numerals::Comma;
use crate::options::Options;
use crate::path::{in_expression, quoted};
use crate::printable::{shell_quoted, shell_word};
use crate::schema::DType;
use crate::schema::notation::{name_text, schema_option};

/// Maximum number of columns listed in a message.
pub const LISTED: usize = 10;

/// Why a column has no type.
pub struct Clash {
    pub message: String,
    /// A string among other values, which may be a word for null, and `NA`, which would be null without it.
    pub words: Vec<String>,
    /// The line of that string.
    pub word_line: u64,
    /// The type of the other values.
    pub others: Option<DType>,
    /// If the string is a number with commas, such as `1,234`: what they can be, and the type of the numbers then.
    pub commas: Vec<(Comma, DType)>,
}

impl Clash {
    pub fn new(message: String) -> Clash {
        Clash { message, words: Vec::new(), word_line: 0, others: None, commas: Vec::new() }
    }
}

/// A column without a type.
pub struct ClashingColumn {
    pub name: String,
    pub clash: Clash,
    /// The type in which its text can be read.
    pub text: String,
    /// The type in which the values other than the words can be read.
    pub others: Option<String>,
}

/// The error for these columns, of which there is at least one. `missing`: the words that are read as null unless
/// `--nulls` is given.
pub fn error(columns: &[ClashingColumn], missing: Vec<String>, options: &Options) -> Error {
    let [first, others @ ..] = columns else { return Error::internal("no column without a type") };
    let mut error = Error::data(first.clash.message.clone()).in_field(quoted(&first.name));
    for other in others.iter().take(LISTED) {
        error = error.help(format!("{} {}", quoted(&other.name), other.clash.message));
    }
    let as_text = schema(columns.iter().take(LISTED).map(|column| (column.name.as_str(), column.text.as_str())));
    let as_text = format!("a column must have the same type in all records; to read it as text: {as_text}");
    if options.csv.columns.is_some() && columns.iter().any(|column| column.clash.word_line == 1) {
        let header = "--columns is for files without a header: omit it if line 1 is one, and use `rename` for other names";
        return error.help(header).help(as_text);
    }
    let other_types: Option<Vec<_>> =
        columns.iter().map(|column| column.others.as_deref().map(|others| (column.name.as_str(), others))).collect();
    if let (Some(line), None) = (header_line(columns), &options.csv.columns) {
        let error = error.help(format!("line {line} repeats the header: pass the joined files separately, as in convert A.csv B.csv"));
        return error.help(match other_types {
            Some(types) => Hint::to_skip_with(&schema(types.into_iter()), "to skip it"),
            None => as_text.into(),
        });
    }
    error = error.help(as_text);
    if let (Some(types), []) = (other_types, others) {
        error = error.help(Hint::to_skip_with(&schema(types.into_iter()), "to skip the records with other values"));
    }
    if let [column] = columns
        && !column.clash.commas.is_empty()
    {
        let name = in_expression(&column.name);
        let text = schema([(column.name.as_str(), "string")].into_iter());
        return column.clash.commas.iter().fold(error, |error, (comma, dtype)| {
            let map = shell_word(&format!("{name} = strings.to_number({}, {dtype})", comma.replaced(&name)));
            error.help(format!("{}: map {map} {text}", comma.remedy()))
        });
    }
    match as_nulls(columns, missing, options) {
        Some(help) => error.help(help),
        None => error,
    }
}

/// The option that gives these columns these types.
fn schema<'a>(types: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let fields: Vec<String> = types.map(|(name, ty)| format!("{}: {ty}", name_text(name))).collect();
    schema_option(&fields.join("; "))
}

/// The line of the words, if each is the name of its column.
fn header_line(columns: &[ClashingColumn]) -> Option<u64> {
    let line = columns.first()?.clash.word_line;
    let is_name = |column: &ClashingColumn| column.clash.words == [column.name.as_str()] && column.clash.word_line == line;
    columns.iter().all(is_name).then_some(line)
}

/// How to read the words as null, if there are any.
fn as_nulls(columns: &[ClashingColumn], missing: Vec<String>, options: &Options) -> Option<String> {
    let mut words = options.csv.nulls.clone().unwrap_or_default();
    let given = words.len();
    let add = |words: &mut Vec<String>, word: String| {
        if !words.contains(&word) {
            words.push(word);
        }
    };
    // If the first string of a column is a value, so may be the others.
    let null_words = |column: &ClashingColumn| match column.clash.words.first() {
        Some(word) if may_mean_null(word) => column.clash.words.clone(),
        _ => Vec::new(),
    };
    columns.iter().flat_map(null_words).for_each(|word| add(&mut words, word));
    let [word, ..] = &words[given..] else { return None };
    let is_one = words.len() == given + 1;
    let strings = if is_one { format!("{word:?}") } else { "such strings".to_owned() };
    let meaning = if options.csv.nulls.is_none() {
        // Words given with --nulls replace those that are null by default.
        missing.into_iter().for_each(|word| add(&mut words, word));
        words.push(String::new());
        format!("{strings} and the empty field mean")
    } else {
        format!("{strings} {}", if is_one { "means" } else { "mean" })
    };
    let words = words.join(",");
    // A word such as `-` would look like an option.
    let equals = if words.starts_with('-') { '=' } else { ' ' };
    // The quotes keep a final comma from being read as punctuation.
    let option = format!("--nulls{equals}{}", shell_quoted(&words));
    // A null among the other values makes these columns optional.
    let others = columns.iter().filter(|column| null_words(column).is_empty()).take(LISTED);
    let others: Vec<(&str, &str)> = others
        .map(|column| (column.name.as_str(), if column.text == "string" { "optional string" } else { column.text.as_str() }))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!(" {}", schema(others.into_iter())) };
    Some(format!("if {meaning} null: {option}{others}"))
}
