//! The hints of an error: lines of advice, and what some of them advise, for an outer layer that knows that it does not
//! apply.

use crate::printable::shell_word;
use std::borrow::Cow;

/// A line of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    line: Cow<'static, str>,
    advice: Advice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Advice {
    /// Not known to any layer.
    Other,
    /// To skip bad records. `otherwise` is what the line advises besides, or empty.
    Skip { otherwise: &'static str },
    /// To write JSON Lines. `before` is what precedes that.
    WriteJsonl { before: Cow<'static, str> },
    /// To give the format of an input with these options.
    Format { options: Cow<'static, str> },
}

/// The hint for a bad record, unless bad records are skipped already.
pub const SKIP: Hint = Hint::to_skip("skip such records with --on-error skip");

/// The hint for text in no format.
pub const READ_LINES: Hint = Hint {
    line: Cow::Borrowed("to read it as lines of text: --from text"),
    advice: Advice::Format { options: Cow::Borrowed("--from text") },
};

impl Hint {
    /// Advises to skip bad records.
    pub const fn to_skip(line: &'static str) -> Hint {
        Hint::to_skip_or(line, "")
    }

    /// Advises to skip bad records, among others: `otherwise` is the line without that.
    pub const fn to_skip_or(line: &'static str, otherwise: &'static str) -> Hint {
        Hint { line: Cow::Borrowed(line), advice: Advice::Skip { otherwise } }
    }

    /// Advises to skip the bad records that remain with `schema`, which is the whole option.
    pub fn to_skip_with(schema: &str, purpose: &str) -> Hint {
        let line = Cow::Owned(format!("{purpose}: {schema} --on-error skip"));
        Hint { line, advice: Advice::Skip { otherwise: "" } }
    }

    /// Advises to give the format of the input with `options`, such as `--from csv --delimiter ';'`.
    pub const fn to_read_as(line: &'static str, options: &'static str) -> Hint {
        Hint { line: Cow::Borrowed(line), advice: Advice::Format { options: Cow::Borrowed(options) } }
    }

    /// The same for a line or options that depend on the input.
    pub fn to_read_with(line: String, options: impl Into<Cow<'static, str>>) -> Hint {
        Hint { line: Cow::Owned(line), advice: Advice::Format { options: options.into() } }
    }

    /// Advises to write JSON Lines instead of a format that does not store the values; `before` is other advice, such as
    /// `drop the field, or `.
    pub fn to_write_jsonl(before: impl Into<Cow<'static, str>>) -> Hint {
        let before = before.into();
        Hint { line: Cow::Owned(format!("{before}use --to jsonl")), advice: Advice::WriteJsonl { before } }
    }

    /// The same for an output whose name gives its format.
    pub fn for_output(self, name: &str) -> Hint {
        match (&self.advice, name.rsplit_once('.')) {
            (Advice::WriteJsonl { before }, Some((stem, _))) if !stem.is_empty() => {
                format!("{before}write JSON Lines: -o {}", shell_word(&format!("{stem}.jsonl"))).into()
            }
            _ => self,
        }
    }

    /// The line.
    pub fn as_str(&self) -> &str {
        &self.line
    }

    /// Whether it advises to skip bad records.
    pub fn advises_skipping(&self) -> bool {
        matches!(self.advice, Advice::Skip { .. })
    }

    /// What it advises for an input to which `--on-error` does not apply.
    pub fn without_skipping(self) -> Option<Hint> {
        match self.advice {
            Advice::Skip { otherwise: "" } => None,
            Advice::Skip { otherwise } => Some(otherwise.into()),
            _ => Some(self),
        }
    }

    /// The options that give the format of the input, if it advises that.
    pub fn format_options(&self) -> Option<&str> {
        match &self.advice {
            Advice::Format { options } => Some(options),
            _ => None,
        }
    }
}

impl From<String> for Hint {
    fn from(line: String) -> Hint {
        Hint { line: Cow::Owned(line), advice: Advice::Other }
    }
}

impl From<&str> for Hint {
    fn from(line: &str) -> Hint {
        line.to_owned().into()
    }
}

impl From<&String> for Hint {
    fn from(line: &String) -> Hint {
        line.clone().into()
    }
}
