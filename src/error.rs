//! Errors: what went wrong, where, and what to do about it. Every failure of the program is an [`Error`], and the
//! message for the user is built only here.
//!
//! ```text
//! error: train.jsonl: record 1041 (line 1041, column 37): items.price: expected a number, found the string "n/a"
//!   a field must have the same type in all records; to keep it as JSON, use --schema 'items: {price: json}[?]'
//! ```
//!
//! Context is added on the way up: a field decoder knows the row, the path and what it found; a block decoder knows the
//! byte offset; the engine knows the file and the record number.

mod message;

use crate::hint::Hint;
use crate::printable::one_line;
use std::fmt;
use std::sync::Arc;

pub use message::{Message, mismatch};

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of failure, which determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Invalid data: exit code 1.
    Data,
    /// Invalid usage known before the first record (options, unknown fields, types): exit code 2.
    Usage,
    /// Reading or writing failed: exit code 3.
    Io,
    /// A record does not fit the inferred schema, but a wider one would hold it. The engine restarts if the output
    /// allows it; otherwise it is a data error.
    Widened,
    /// The reader of the output closed the pipe: ends quietly with exit code 0.
    Closed,
    /// A bug in tatter: exit code 70 (`EX_SOFTWARE` of sysexits.h). Never treated as bad data: `--on-error` does not
    /// apply.
    Internal,
}

/// The subject of an error, for an outer layer that can give better advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no field with this path.
    UnknownField(String),
    /// The input is empty.
    Empty,
    /// These fields are lists, where a value in each record is expected.
    NotScalar(Vec<String>),
    /// The records have no fields at all.
    NoFields,
    /// An array has a dtype that tensors cannot store.
    ForeignDType,
    /// The only entry of a sparse tensor is a null, which in a batch would be a null tensor.
    SingleNull,
    /// A required option is missing, such as `--by`.
    MissingOption(String),
    /// The number of records is wrong, not a record.
    Cardinality,
    /// An expression of a verb, with this text, fails for a record.
    Expression(String),
    /// The result of an expression would be too large; for fewer records at a time, it may not be.
    TooLarge,
    /// A word is neither an option nor an argument.
    UnexpectedArgument(String),
    /// An option of the command, with this name, stands among those of a verb before `then`.
    GlobalOption(String),
}

/// A location in the input. All parts are optional: each layer adds what it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The name of the input, as the user gave it.
    pub input: Option<Arc<str>>,
    /// The first and last record concerned, counted from 1 within the input.
    pub records: Option<(u64, u64)>,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The column in bytes, counted from 1.
    pub column: Option<u64>,
    /// Offset in bytes in the decompressed input, counted from 0.
    pub byte: Option<u64>,
    /// The row of the current chunk, from 0; the engine converts it to `records`.
    pub row: Option<usize>,
}

/// A failure: kind, location, field path, axis, message and hints.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: Kind,
    at: Location,
    field: Option<String>,
    axis: Option<usize>,
    message: Message,
    excerpts: Vec<String>,
    help: Vec<Hint>,
    reason: Option<Reason>,
}

/// Advice for a record beyond `--max-record-bytes`.
pub const RAISE_LIMIT: &str = "raise the limit with --max-record-bytes";

impl Error {
    /// A failure of the given kind. The message starts in lower case and has no final period.
    pub fn new(kind: Kind, message: impl Into<Message>) -> Error {
        Error(Box::new(Inner {
            kind,
            at: Location::default(),
            field: None,
            axis: None,
            message: message.into(),
            excerpts: Vec::new(),
            help: Vec::new(),
            reason: None,
        }))
    }

    /// Invalid data.
    pub fn data(message: impl Into<Message>) -> Error {
        Error::new(Kind::Data, message)
    }

    /// Invalid usage, known before the first record.
    pub fn usage(message: impl Into<Message>) -> Error {
        Error::new(Kind::Usage, message)
    }

    /// A broken invariant: a bug in tatter, regardless of the input.
    pub fn internal(message: impl Into<Message>) -> Error {
        Error::new(Kind::Internal, message)
    }

    /// `failure` says what failed, such as `cannot read`. An [`Error`] wrapped by an input or output is returned unchanged.
    pub fn io(name: &str, failure: &str, source: &std::io::Error) -> Error {
        if let Some(own) = Error::carried_by(source) {
            return own;
        }
        if source.kind() == std::io::ErrorKind::BrokenPipe {
            return Error::new(Kind::Closed, format!("{name}: the reader closed the pipe"));
        }
        Error::new(Kind::Io, format!("{failure}: {}", plain(source))).in_input(name)
    }

    /// The output cannot be written.
    pub fn output(source: std::io::Error) -> Error {
        Error::io("the output", "cannot write", &source)
    }

    /// `what` takes more than `--max-record-bytes`, such as `the record has 70000`.
    pub fn too_large(what: impl std::fmt::Display, limit: u64) -> Error {
        let error = Error::data(format!("{what} bytes, more than the --max-record-bytes limit of {limit}"));
        error.help(RAISE_LIMIT)
    }

    /// The [`Error`] wrapped by another library's error: an [`std::io::Error`] of an input or output, or a library's
    /// error around it.
    pub fn carried_by(source: &(dyn std::error::Error + 'static)) -> Option<Error> {
        let mut next = Some(source);
        while let Some(error) = next {
            if let Some(own) = error.downcast_ref::<Error>() {
                return Some(own.clone());
            }
            // `source` of an I/O error skips the error that it wraps.
            next = match error.downcast_ref::<std::io::Error>().and_then(|e| e.get_ref()) {
                Some(inner) => Some(inner),
                None => error.source(),
            };
        }
        None
    }

    /// Adds a one-line hint, unless an inner layer has added one. Can be called several times.
    pub fn help(mut self, hint: impl Into<Hint>) -> Error {
        let hint = hint.into();
        if !self.0.help.iter().any(|said| said.as_str().contains(hint.as_str())) {
            self.0.help.push(hint);
        }
        self
    }

    /// Adds a hint before the others.
    pub fn help_first(mut self, hint: impl Into<Hint>) -> Error {
        self.0.help.insert(0, hint.into());
        self
    }

    /// Adds lines that are printed as they are, such as the text in question. They precede the hints.
    pub fn excerpt(mut self, lines: String) -> Error {
        self.0.excerpts.push(lines);
        self
    }

    /// Removes the hints to give the format of the input, for an outer layer that knows that it cannot be given.
    pub fn without_format_options(mut self) -> Error {
        self.0.help.retain(|hint| hint.format_options().is_none());
        self
    }

    /// Adapts the hints to an output of that name.
    pub fn for_output(mut self, name: &str) -> Error {
        self.0.help = self.0.help.into_iter().map(|hint| hint.for_output(name)).collect();
        self
    }

    /// Replaces the advice to skip bad records, for an input to which --on-error does not apply. `input` is its name,
    /// quoted for the shell, with the options that describe it.
    pub fn whole_input(self, input: &str) -> Error {
        self.instead_of_skipping(&format!("skip bad records first: tatter convert --on-error skip {input} -o OUT"))
    }

    /// Replaces the advice to skip bad records, if it was given.
    pub fn instead_of_skipping(mut self, advice: &str) -> Error {
        if !self.0.help.iter().any(Hint::advises_skipping) {
            return self;
        }
        self.0.help = self.0.help.into_iter().filter_map(Hint::without_skipping).collect();
        self.help(advice)
    }

    /// Names the option that contains the mistake, before the message.
    pub fn prefixed(mut self, option: impl fmt::Display) -> Error {
        self.0.message = self.0.message.prefixed(option);
        self
    }

    /// Sets the subject.
    pub fn because(mut self, reason: Reason) -> Error {
        self.0.reason = Some(reason);
        self
    }

    /// Sets the field, unless an inner layer has set it.
    pub fn in_field(mut self, path: impl fmt::Display) -> Error {
        if self.0.field.is_none() {
            self.0.field = Some(path.to_string());
        }
        self
    }

    /// Adds the name of an outer field to the path.
    pub fn within(mut self, outer: impl fmt::Display) -> Error {
        self.0.field = Some(match self.0.field.take() {
            Some(inner) => format!("{outer}.{inner}"),
            None => outer.to_string(),
        });
        self
    }

    /// Sets the axis within the record, unless an inner layer has set it.
    pub fn on_axis(mut self, axis: usize) -> Error {
        self.0.axis.get_or_insert(axis);
        self
    }

    /// Sets the input, unless an inner layer has set it.
    pub fn in_input(mut self, name: impl Into<Arc<str>>) -> Error {
        if self.0.at.input.is_none() {
            self.0.at.input = Some(name.into());
        }
        self
    }

    /// Sets the row of the current chunk, unless an inner layer has set it.
    pub fn at_row(mut self, row: usize) -> Error {
        if self.0.at.records.is_none() {
            self.0.at.row.get_or_insert(row);
        }
        self
    }

    /// Changes the location, for layers that know it.
    pub fn locate(mut self, change: impl FnOnce(&mut Location)) -> Error {
        change(&mut self.0.at);
        self
    }

    /// The same failure with another kind. A bug stays a bug.
    pub fn with_kind(mut self, kind: Kind) -> Error {
        if self.0.kind != Kind::Internal {
            self.0.kind = kind;
        }
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The location.
    pub fn location(&self) -> &Location {
        &self.0.at
    }

    /// The field path, if one is concerned.
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// The axis, if one is concerned.
    pub fn axis(&self) -> Option<usize> {
        self.0.axis
    }

    /// Lines that precede the hints.
    pub fn excerpts(&self) -> &[String] {
        &self.0.excerpts
    }

    /// The hints, in the order they were added.
    pub fn helps(&self) -> &[Hint] {
        &self.0.help
    }

    /// The message without its location.
    pub fn message(&self) -> &str {
        self.0.message.as_str()
    }

    /// What was expected and what was found, if the message says that.
    pub fn mismatch(&self) -> Option<(&str, &str)> {
        self.0.message.mismatch()
    }

    /// The message for another error.
    pub fn into_message(self) -> Message {
        self.0.message
    }

    /// The subject, for outer layers.
    pub fn reason(&self) -> Option<&Reason> {
        self.0.reason.as_ref()
    }

    /// The exit code for this failure.
    pub fn exit_code(&self) -> u8 {
        match self.0.kind {
            Kind::Data | Kind::Widened => 1,
            Kind::Usage => 2,
            Kind::Io => 3,
            Kind::Closed => 0,
            Kind::Internal => 70,
        }
    }
}

/// The system's message, without the error number that Rust appends.
fn plain(source: &std::io::Error) -> String {
    let text = source.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut parts = Vec::new();
        match self.records {
            Some((a, b)) if a == b => parts.push(format!("record {a}")),
            Some((a, b)) => parts.push(format!("records {a} to {b}")),
            None => {}
        }
        let mut within = Vec::new();
        if let Some(line) = self.line {
            within.push(format!("line {line}"));
        }
        if let Some(column) = self.column {
            within.push(format!("column {column}"));
        }
        // If there is a line number, it is more useful than the offset.
        if let (Some(byte), None) = (self.byte, self.line) {
            within.push(format!("byte {byte}"));
        }
        let within = within.join(", ");
        let place = match (parts.pop(), within.is_empty()) {
            (Some(records), true) => records,
            (Some(records), false) => format!("{records} ({within})"),
            (None, _) => within,
        };
        match (&self.input, place.is_empty()) {
            (Some(input), true) => f.write_str(&one_line(input)),
            (Some(input), false) => write!(f, "{}: {place}", one_line(input)),
            (None, _) => write!(f, "{place}"),
        }
    }
}

/// Names and values from files cannot start a line of their own.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let at = self.0.at.to_string();
        if !at.is_empty() {
            write!(f, "{at}: ")?;
        }
        match (&self.0.field, self.0.axis) {
            (Some(field), Some(axis)) => write!(f, "{}, axis {axis}", one_line(field))?,
            (Some(field), None) => write!(f, "{}", one_line(field))?,
            (None, Some(axis)) => write!(f, "axis {axis}")?,
            (None, None) => {}
        }
        let has_subject = self.0.field.is_some() || self.0.axis.is_some();
        match has_subject {
            true if self.0.kind == Kind::Internal => write!(f, ": ")?,
            true => write!(f, "{}", between(self.message()))?,
            false => {}
        }
        if self.0.kind == Kind::Internal {
            write!(f, "internal: ")?;
        }
        f.write_str(&one_line(self.message()))?;
        if self.0.kind == Kind::Internal {
            write!(f, "\n  this is a bug in tatter; please report it, with the input that caused it")?;
        }
        for part in self.0.excerpts.iter().flat_map(|excerpt| excerpt.lines()) {
            write!(f, "\n  {part}")?;
        }
        for hint in &self.0.help {
            write!(f, "\n  {}", one_line(hint.as_str()))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Lets inputs and outputs pass details through `Read` and `Write`; [`Error::io`] unwraps them.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        let kind = match error.kind() {
            Kind::Closed => std::io::ErrorKind::BrokenPipe,
            Kind::Io => std::io::ErrorKind::Other,
            _ => std::io::ErrorKind::InvalidData,
        };
        std::io::Error::new(kind, error)
    }
}

/// What separates a field from a message about it: a space if the message starts with a verb, as in `age is null`.
pub(crate) fn between(message: &str) -> &'static str {
    let verbs = ["is ", "has ", "contains ", "cannot be ", "does not ", "already exists"];
    if verbs.iter().any(|verb| message.starts_with(verb)) { " " } else { ": " }
}

/// Advice that accompanies a command that passes whole records through jq.
pub const OLD_JQ: &str = "this needs jq 1.7 or later: earlier versions round integers beyond 2^53";

/// The nearest of `names` to a mistyped `name`, for "did you mean".
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A single letter is not near any other.
    let length = name.chars().count();
    let limit = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
    let name = name.to_lowercase();
    names
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= limit)
        .map(|candidate| (strsim::osa_distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::SKIP;

    #[test]
    fn the_sentence_holds_everything_that_is_known() {
        let error = Error::data("expected a number, found the string \"n/a\"")
            .in_field("items.price")
            .in_input("train.jsonl")
            .locate(|at| {
                at.records = Some((1041, 1041));
                at.line = Some(1041);
                at.column = Some(37);
            })
            .help(SKIP);
        assert_eq!(
            error.to_string(),
            "train.jsonl: record 1041 (line 1041, column 37): items.price: expected a number, found the string \"n/a\"\n  \
             skip such records with --on-error skip"
        );
    }

    #[test]
    fn a_field_is_the_subject_of_a_verb() {
        let error = Error::data("is null").in_field("age").in_input("a.jsonl");
        assert_eq!(error.to_string(), "a.jsonl: age is null");
        assert_eq!(error.on_axis(1).to_string(), "a.jsonl: age, axis 1 is null");
        assert_eq!(Error::data("expected a number").in_field("age").to_string(), "age: expected a number");
        assert_eq!(Error::data("has two headers").in_input("a.csv").to_string(), "a.csv: has two headers");
    }

    #[test]
    fn advice_to_skip_records_is_replaced_and_other_advice_is_kept() {
        let of = |hint: Hint| Error::data("bad").help(hint).whole_input("t.jsonl").helps().to_vec();
        let first = || Hint::from("skip bad records first: tatter convert --on-error skip t.jsonl -o OUT");
        assert_eq!(of(SKIP), [first()]);
        let both = Hint::to_skip_or("or --mixed json; to skip the others, use --on-error skip", "or --mixed json");
        assert_eq!(of(both), ["or --mixed json".into(), first()]);
        assert_eq!(of("rename its field".into()), ["rename its field".into()]);
    }

    #[test]
    fn an_error_of_ours_survives_the_way_through_foreign_ones() {
        let own = Error::data("the gzip data ends in the middle").in_input("x.gz");
        let foreign = parquet::errors::ParquetError::from(std::io::Error::from(own.clone()));
        assert_eq!(Error::carried_by(&foreign).map(|e| e.to_string()), Some(own.to_string()));
        assert_eq!(Error::io("y", "cannot read", &own.clone().into()).to_string(), own.to_string());
        assert!(Error::carried_by(&std::io::Error::other("foreign")).is_none());
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("baych", ["batch", "bucket"]), Some("batch"));
        assert_eq!(nearest("tokesn", ["tokens", "id"]), Some("tokens"));
        assert_eq!(nearest("price", ["tokens", "id"]), None);
        assert_eq!(nearest("q", ["a", "Q"]), Some("Q"));
        assert_eq!(nearest("r", ["a", "q"]), None);
    }
}
