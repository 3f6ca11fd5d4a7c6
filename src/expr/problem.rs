//! What is wrong with an expression before the first record, with its place underlined.

use super::syntax::Span;
use crate::error::{Error, Kind};

/// The result of everything that can go wrong between the text and the first record.
pub type Bind<T> = Result<T, Problem>;

/// A message, the place it is about, and ways out.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    kind: Kind,
    message: String,
    span: Option<Span>,
    help: Vec<String>,
}

impl Problem {
    /// A problem whose place the caller knows.
    pub fn new(message: impl Into<String>) -> Problem {
        Problem::of_kind(Kind::Usage, message)
    }

    /// A broken invariant: a bug in tatter, whatever the expression.
    pub fn internal(message: impl Into<String>) -> Problem {
        Problem::of_kind(Kind::Internal, message)
    }

    fn of_kind(kind: Kind, message: impl Into<String>) -> Problem {
        Problem(Box::new(Inner { kind, message: message.into(), span: None, help: Vec::new() }))
    }

    /// A problem at a place.
    pub fn at(span: Span, message: impl Into<String>) -> Problem {
        Problem::new(message).or_at(span)
    }

    /// Names the place, unless an inner layer has.
    pub fn or_at(mut self, span: Span) -> Problem {
        self.0.span.get_or_insert(span);
        self
    }

    /// Adds a way out.
    pub fn help(mut self, line: impl Into<String>) -> Problem {
        self.0.help.push(line.into());
        self
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error that the user reads: the message, the line of the text with the place underlined, the ways out.
    pub fn into_error(self, text: &str) -> Error {
        let Inner { kind, message, span, help } = *self.0;
        let error = Error::new(kind, message);
        let error = match span {
            Some(span) if !text.trim().is_empty() => error.help(underlined(text, &span)),
            _ => error,
        };
        help.into_iter().fold(error, Error::help)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        // Whatever is wrong before the first record is a usage error, unless it is a bug.
        let kind = if error.kind() == Kind::Internal { Kind::Internal } else { Kind::Usage };
        error.helps().iter().fold(Problem::of_kind(kind, error.message()), |problem, help| problem.help(help))
    }
}

/// The line of the text that the place is in, with carets below it.
pub fn underlined(text: &str, span: &Span) -> String {
    let start = span.start.min(text.len());
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let end = span.end.clamp(start, line_end.max(start));
    let (mut before, inside, mut after) = (&text[line_start..start], &text[start..end], &text[end..line_end]);
    let (mut lead, mut tail) = ("", "");
    // A long line is cut to what is around the place.
    const AROUND: usize = 60;
    if before.chars().count() > AROUND {
        before = before.char_indices().rev().nth(AROUND - 1).map_or(before, |(i, _)| &before[i..]);
        lead = "...";
    }
    if after.chars().count() > AROUND {
        after = after.char_indices().nth(AROUND).map_or(after, |(i, _)| &after[..i]);
        tail = "...";
    }
    let shown: String = inside.chars().take(200).collect();
    let carets = "^".repeat(shown.chars().count().max(1));
    format!("{lead}{before}{shown}{after}{tail}\n{}{carets}", " ".repeat(lead.len() + before.chars().count()))
}
