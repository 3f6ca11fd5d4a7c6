//! The CSV dialect: how fields are written.

use super::cell;
use crate::error::{Error, Result};
use crate::io::in_command;
use crate::options::{CsvOptions, Quote};
use crate::printable::shell_quoted;

/// The CSV dialect: how fields are written.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// The field separator.
    pub delimiter: u8,
    /// The quote character; `None` if quotes are ordinary characters.
    pub quote: Option<u8>,
    /// The separator of list items.
    pub separator: Option<u8>,
    /// The words that mean null; the first one is written.
    pub nulls: Vec<String>,
    /// Whether `NA` and its variants are null among numbers and booleans: unless the words are given.
    pub guesses_nulls: bool,
    /// The column names, if the first line does not contain them.
    pub columns: Option<Vec<String>>,
}

impl Dialect {
    /// Appends a field, quoted if needed, and if it is empty and `quotes_empty`.
    pub fn quote(&self, cell: &[u8], quotes_empty: bool, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(cell);
        self.quote_from(start, quotes_empty, out);
    }

    /// Quotes the field that starts at `start`, if needed, and if it is empty and `quotes_empty`.
    pub fn quote_from(&self, start: usize, quotes_empty: bool, out: &mut Vec<u8>) {
        let Some(quote) = self.quote else { return };
        let cell = &out[start..];
        let is_special = |b: &u8| matches!(b, b'\n' | b'\r') || *b == self.delimiter || *b == quote;
        // Quotes keep U+FEFF at the start of the output from being dropped as a byte order mark.
        let needs_quotes = cell.iter().any(is_special) || cell.starts_with("\u{feff}".as_bytes()) || (quotes_empty && cell.is_empty());
        if !needs_quotes {
            return;
        }
        let cell = cell.to_vec();
        out.truncate(start);
        out.push(quote);
        for part in cell.split_inclusive(|b| *b == quote) {
            out.extend_from_slice(part);
            if part.last() == Some(&quote) {
                out.push(quote);
            }
        }
        out.push(quote);
    }

    /// Whether numbers, booleans and words for null never need quotes.
    pub fn is_outside_numbers(&self) -> bool {
        let is_of_numbers = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let is_plain = |word: &String| word.bytes().all(is_of_numbers);
        self.nulls.iter().all(is_plain) && !is_of_numbers(self.delimiter) && self.quote.is_none_or(|quote| !is_of_numbers(quote))
    }

    pub fn of(options: &CsvOptions, delimiter: u8) -> Dialect {
        Dialect {
            delimiter: options.delimiter.unwrap_or(delimiter),
            quote: match options.quote {
                None => Some(b'"'),
                Some(Quote::Char(quote)) => Some(quote),
                Some(Quote::None) => None,
            },
            separator: options.list_separator,
            nulls: options.nulls.clone().unwrap_or_else(|| vec![String::new()]),
            guesses_nulls: options.nulls.is_none(),
            columns: options.columns.clone(),
        }
    }

    /// The dialect of the output, in which fields are quoted as RFC 4180 specifies.
    pub fn for_output(self) -> Dialect {
        Dialect { quote: Some(b'"'), ..self }
    }

    /// # Errors
    /// Two of the characters are the same.
    pub fn checked(self) -> Result<Dialect> {
        if self.separator == Some(self.delimiter) {
            return Err(Error::usage("--list-separator must differ from --delimiter"));
        }
        if self.quote == Some(self.delimiter) || self.quote.is_some() && self.quote == self.separator {
            return Err(Error::usage("--quote must differ from --delimiter and --list-separator"));
        }
        Ok(self)
    }

    /// Whether a field is null, unless it is text written as `""`.
    #[inline]
    pub fn is_null(&self, cell: &[u8]) -> bool {
        self.nulls.iter().any(|word| word.as_bytes() == cell)
    }

    /// Whether a field that is neither a number nor a boolean, in a column of these, is null.
    pub fn is_missing(&self, cell: &[u8]) -> bool {
        self.guesses_nulls && cell::is_missing(cell)
    }

    /// How to read an input that is not UTF-8. Windows-1252 is what Excel writes and, for text, includes Latin-1.
    pub fn other_encoding(&self, input: &str) -> String {
        let (file, read) = (in_command(input), self.reading_option());
        format!("to convert text in another encoding: iconv -f cp1252 -t utf-8 {file} | tatter ... {read} -")
    }

    /// The options that read this dialect from a pipe.
    pub fn reading_option(&self) -> String {
        match self.delimiter {
            b',' => "--from csv".to_owned(),
            b'\t' => "--from tsv".to_owned(),
            other => format!("--from csv --delimiter {}", shell_quoted(&char::from(other).to_string())),
        }
    }

    /// The items of a field.
    pub fn items<'a>(&self, cell: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let separator = self.separator;
        // An empty list has no items.
        let cell = (!cell.is_empty()).then_some(cell);
        cell.into_iter().flat_map(move |cell| cell.split(move |b| Some(*b) == separator))
    }
}
