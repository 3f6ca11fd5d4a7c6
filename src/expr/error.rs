//! Errors in an expression, found before the first record, with the offending part underlined.

use super::span::{Span, underlined};
use crate::error::{Error, Kind, Message, Reason};
use crate::printable::shell_word;
use crate::schema::DType;
use crate::schema::time::{TimeKind, TimeType, unit_within};
use arrow_schema::TimeUnit;

/// Advice for casts in the syntax of other languages.
pub const CAST: &str = "to convert a number: cast(x, float64); to parse text: strings.to_number(x, float64)";

/// Advice for functions of other languages that parse JSON.
pub const PARSE_JSON: &str = "JSON text is parsed by the verb cast: cast 'x={user: {id: optional json}}' then map 'y = x.user.id'";

/// Advice for operators and functions of other languages that search text. `(?s)` lets the dot match line ends too.
pub const SEARCH_TEXT: &str = "to search text: strings.regex_full_match({0:x}, \"(?s).*{1~PATTERN}.*\")";

/// As [`SEARCH_TEXT`], for those whose pattern is a regular expression.
pub const SEARCH_REGEX: &str = "to search text: strings.regex_full_match({0:x}, \"(?s).*{1^PATTERN}.*\")";

/// Advice for those that search lists.
pub const SEARCH_LIST: &str = "to search a list: reduce_any({0:list} == {1:x})";

/// The text at `span`, for advice.
pub fn text_at<'a>(text: &'a str, span: &Span) -> &'a str {
    text.get(span.clone()).map(str::trim).filter(|written| !written.is_empty()).unwrap_or("x")
}

/// Advice to convert what is written at `span` from a dtype to another, if a function does so.
pub fn conversion(text: &str, span: &Span, from: &DType, to: &DType) -> Option<String> {
    let x = text_at(text, span);
    let is_value = |dtype: &DType| dtype.is_number() || *dtype == DType::Bool;
    match (from, to) {
        (from, to) if is_value(from) && is_value(to) => Some(format!("to convert it: cast({x}, {to})")),
        (DType::String, DType::Float32) => Some(format!("to parse it as a number: strings.to_number({x})")),
        (DType::String, DType::Int32 | DType::Int64 | DType::UInt32 | DType::UInt64 | DType::Float64) => {
            Some(format!("to parse it as a number: strings.to_number({x}, {to})"))
        }
        (DType::String, to) if to.is_number() => Some(format!("to parse it as a number: strings.to_number({x})")),
        (from, DType::String) if from.is_number() => Some(format!("to convert it to a string: strings.as_string({x})")),
        (DType::String, to) if to.time().is_some() => Some(format!("to parse it as a time: timestamp({x})")),
        (from, to) if from.is_integer() && to.time().is_some() => {
            Some(format!("to convert it from a number of seconds: timestamp({x}, unit=\"s\")"))
        }
        (from, to) => clocks(x, from, to),
    }
}

/// Advice to convert times to or from those of a zone, whose clocks are meant in one of two ways.
pub fn clocks(x: &str, from: &DType, to: &DType) -> Option<String> {
    let (from, to) = (from.time()?, to.time()?);
    let is_date = |time: &TimeType| matches!(time.kind, TimeKind::Timestamp | TimeKind::Date);
    if !is_date(&from) || !is_date(&to) {
        return None;
    }
    let unit = match unit_within(from.nanos.min(to.nanos)) {
        TimeUnit::Second => ", \"s\"",
        TimeUnit::Millisecond => ", \"ms\"",
        TimeUnit::Microsecond => "",
        TimeUnit::Nanosecond => ", \"ns\"",
    };
    match (&from.zone, &to.zone) {
        (None, Some(zone)) => Some(format!(
            "if it is the local time in {zone}: timestamp(cast({x}, string){unit}, tz=\"{zone}\"); if it is UTC: timestamp(timestamp({x}{unit}, tz=\"UTC\"){unit}, tz=\"{zone}\")"
        )),
        (Some(_), None) if to.kind == TimeKind::Date => Some(format!(
            "for the local date: cast(strftime({x}, \"%F\"), \"date32\"); for that in UTC: cast(timestamp({x}{unit}, tz=\"UTC\"), \"date32\")"
        )),
        (Some(_), None) => Some(format!(
            "for the local time: timestamp(strftime({x}, \"%FT%T%.f\"){unit}); for UTC: timestamp(timestamp({x}{unit}, tz=\"UTC\"){unit})"
        )),
        _ => None,
    }
}

/// The float dtype to convert values to that are no floats, without losing digits.
pub fn float_of(dtype: &DType) -> DType {
    match dtype {
        DType::Int32 | DType::UInt32 | DType::Int64 | DType::UInt64 | DType::String | DType::Bytes => DType::Float64,
        _ => DType::Float32,
    }
}

/// Advice to compare what is written at `span`, where a bool is expected, with an empty value of its dtype.
pub fn compare(text: &str, span: &Span, op: &str, dtype: Option<&DType>) -> String {
    let written = text_at(text, span);
    let inner = written.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    if let Some(inner) = inner.filter(|inner| inner.contains(['<', '>', '='])) {
        return format!("this is a string; omit the quotes: {inner}");
    }
    let empty = if matches!(dtype, Some(DType::String | DType::Bytes)) { "\"\"" } else { "0" };
    format!("compare: {written} {op} {empty}")
}

/// The result of any step between the text and the first record.
pub type ExprResult<T> = Result<T, ExprError>;

/// A message, its span in the text, and hints.
#[derive(Clone, Debug, PartialEq)]
pub struct ExprError(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    kind: Kind,
    message: Message,
    span: Option<Span>,
    help: Vec<String>,
    /// The whole text as it was meant, and what to say before it.
    meant: Option<(&'static str, String)>,
    /// The whole text as it may have been meant.
    guess: Option<String>,
    reason: Option<Reason>,
}

impl ExprError {
    /// An error without a span; the caller adds it.
    pub fn new(message: impl Into<Message>) -> ExprError {
        ExprError::of_kind(Kind::Usage, message)
    }

    /// A broken invariant: a bug in tatter, regardless of the expression.
    pub fn internal(message: impl Into<Message>) -> ExprError {
        ExprError::of_kind(Kind::Internal, message)
    }

    fn of_kind(kind: Kind, message: impl Into<Message>) -> ExprError {
        ExprError(Box::new(Inner { kind, message: message.into(), span: None, help: Vec::new(), meant: None, guess: None, reason: None }))
    }

    /// An error at a span.
    pub fn at(span: Span, message: impl Into<Message>) -> ExprError {
        ExprError::new(message).or_at(span)
    }

    /// Sets the span, unless an inner call has already set it.
    pub fn or_at(mut self, span: Span) -> ExprError {
        self.0.span.get_or_insert(span);
        self
    }

    /// Adds a hint, if there is one.
    pub fn help_if(self, line: Option<impl Into<String>>) -> ExprError {
        match line {
            Some(line) => self.help(line),
            None => self,
        }
    }

    /// Adds a hint.
    pub fn help(mut self, line: impl Into<String>) -> ExprError {
        self.0.help.push(line.into());
        self
    }

    /// Replaces the hints with one that says all.
    pub fn instead(mut self, line: impl Into<String>) -> ExprError {
        self.0.help = vec![line.into()];
        self
    }

    /// Sets the whole text as it was meant, which replaces the hints. `lead` precedes it.
    pub fn meant(mut self, lead: &'static str, text: impl Into<String>) -> ExprError {
        self.0.help.clear();
        self.0.meant = Some((lead, text.into()));
        self
    }

    /// Adds the whole text as it may have been meant to the hints. It is shown as it is typed in a shell.
    pub fn also_meant(mut self, lead: &'static str, text: String) -> ExprError {
        self.0.help.push(format!("{lead} {}", shell_word(&text)));
        self.may_mean(text)
    }

    /// Sets the whole text as it may have been meant, without showing it.
    pub fn may_mean(mut self, text: String) -> ExprError {
        self.0.guess = Some(text);
        self
    }

    /// The whole text as it was meant, if that is known.
    pub fn meaning(&self) -> Option<&str> {
        self.0.meant.as_ref().map(|(_, text)| text.as_str())
    }

    /// The whole text as it was or may have been meant.
    pub fn guess(&self) -> Option<&str> {
        self.meaning().or(self.0.guess.as_deref())
    }

    /// The same error for another text that is meant; the words before it stay.
    pub fn meant_instead(self, text: impl Into<String>) -> ExprError {
        let lead = self.0.meant.as_ref().map_or("write", |(lead, _)| lead);
        self.meant(lead, text)
    }

    /// Sets the subject of the error.
    pub fn because(mut self, reason: Reason) -> ExprError {
        self.0.reason = Some(reason);
        self
    }

    /// Names the function whose formula rejects its arguments. Everything in a formula is placed at the call, which the
    /// advice must not quote as the argument.
    pub fn within(mut self, function: &str, call: &str) -> ExprError {
        for help in &mut self.0.help {
            *help = help.replace(&format!("({call}"), "(x");
        }
        if !self.message().starts_with(function) {
            self.0.message = self.0.message.prefixed(function);
        }
        self
    }

    pub fn message(&self) -> &str {
        self.0.message.as_str()
    }

    /// The final error: the message, the line of text with the span underlined, and the hints.
    pub fn into_error(self, text: &str) -> Error {
        let Inner { kind, message, span, help, meant, guess: _, reason } = *self.0;
        let error = Error::new(kind, message);
        let error = match reason {
            Some(reason) => error.because(reason),
            None => error,
        };
        let error = match span {
            Some(span) if !text.trim().is_empty() => error.excerpt(underlined(text, &span)),
            _ => error,
        };
        let error = match meant {
            // What was written without quotes has to be written with them.
            Some((lead, meant)) if shell_word(text) == text => error.help(format!("{lead} {}", shell_word(&meant))),
            Some((lead, meant)) => error.help(format!("{lead} {meant}")),
            None => error,
        };
        help.into_iter().fold(error, Error::help)
    }
}

impl From<Error> for ExprError {
    fn from(error: Error) -> ExprError {
        // Any error before the first record is a usage error, unless it is a bug.
        let kind = if error.kind() == Kind::Internal { Kind::Internal } else { Kind::Usage };
        let (reason, help) = (error.reason().cloned(), error.helps().to_vec());
        let mut own = ExprError::of_kind(kind, error.into_message());
        own.0.reason = reason;
        help.iter().fold(own, |error, hint| error.help(hint.as_str()))
    }
}
