//! What an error says: a sentence, or what was expected and what was found.

use std::borrow::Cow;
use std::fmt;

/// A message. It starts in lower case and has no final period.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    text: String,
    parts: Option<Parts>,
}

/// Where the parts of `expected ..., found ...` start. The first ends before `, found `, the second with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Parts {
    expected: usize,
    found: usize,
}

const EXPECTED: &str = "expected ";
const FOUND: &str = ", found ";

/// The message `expected ..., found ...`.
pub fn mismatch(expected: impl fmt::Display, found: impl fmt::Display) -> Message {
    let before = format!("{EXPECTED}{expected}{FOUND}");
    let parts = Parts { expected: EXPECTED.len(), found: before.len() };
    Message { text: format!("{before}{found}"), parts: Some(parts) }
}

impl Message {
    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What was expected and what was found, if the message says that.
    pub fn mismatch(&self) -> Option<(&str, &str)> {
        let Parts { expected, found } = self.parts?;
        Some((&self.text[expected..found - FOUND.len()], &self.text[found..]))
    }

    /// The message with what it is about before it, such as an option.
    pub fn prefixed(self, subject: impl fmt::Display) -> Message {
        let text = format!("{subject}: {}", self.text);
        let added = text.len() - self.text.len();
        let parts = self.parts.map(|parts| Parts { expected: parts.expected + added, found: parts.found + added });
        Message { text, parts }
    }

    /// The message with more text after it, which belongs to what was found.
    pub fn followed_by(mut self, more: &str) -> Message {
        self.text.push_str(more);
        self
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message { text, parts: None }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        text.to_owned().into()
    }
}

impl From<Cow<'_, str>> for Message {
    fn from(text: Cow<str>) -> Message {
        text.into_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_may_contain_the_same_words() {
        let message = mismatch("a number", "\"lost, found later\"").prefixed("--by").followed_by(" (column 3)");
        assert_eq!(message.as_str(), "--by: expected a number, found \"lost, found later\" (column 3)");
        assert_eq!(message.mismatch(), Some(("a number", "\"lost, found later\" (column 3)")));
        assert_eq!(Message::from("expected a verb, found none").mismatch(), None);
    }
}
