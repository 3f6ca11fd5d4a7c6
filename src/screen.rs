//! Text on a terminal: terminal width, text width, and wrapping, truncation and alignment of text.

use console::Term;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The default width.
pub const DEFAULT: usize = 80;
/// Minimum width assumed for a terminal.
pub const LEAST: usize = 40;
/// Minimum width of a second column.
const ROOM: usize = 24;

/// The width of standard output: that of the terminal, else `COLUMNS`, else unknown.
pub fn columns() -> Option<usize> {
    size()
        .map(|(columns, _)| columns)
        .or_else(|| std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0))
        .map(|columns| columns.max(LEAST))
}

/// Columns and rows of the terminal on standard output; 80 and 24 if it does not report them.
pub fn size() -> Option<(usize, usize)> {
    let term = Term::stdout();
    term.is_term().then(|| known(&term).unwrap_or((80, 24)))
}

/// The width of the terminal on standard error.
pub fn message_columns() -> Option<usize> {
    known(&Term::stderr()).map(|(columns, _)| columns.max(LEAST))
}

fn known(term: &Term) -> Option<(usize, usize)> {
    let (rows, columns) = term.size_checked().filter(|_| term.is_term())?;
    Some((columns.into(), rows.into())).filter(|(columns, rows)| *columns > 0 && *rows > 0)
}

/// The display width of text: two columns for wide characters, none for combining ones.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text padded with spaces to `columns`, after or before it.
pub fn padded(text: &str, columns: usize, to_the_right: bool) -> String {
    let spaces = " ".repeat(columns.saturating_sub(width(text)));
    if to_the_right { spaces + text } else { text.to_owned() + &spaces }
}

/// The text, truncated with `…` at its end if it does not fit.
///
/// ```
/// assert_eq!(tatter::screen::cut("東京都", 5), "東京…");
/// assert_eq!(tatter::screen::cut("tokens", 6), "tokens");
/// ```
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut left = columns.saturating_sub(1);
    let fits = |(_, c): &(usize, char)| {
        let wide = c.width().unwrap_or(0);
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    let end = text.char_indices().take_while(fits).last().map_or(0, |(at, c)| at + c.len_utf8());
    Cow::Owned(format!("{}…", &text[..end]))
}

/// The text, truncated with `…` at its start if it does not fit.
///
/// ```
/// assert_eq!(tatter::screen::cut_start("feature_17", 5), "…e_17");
/// ```
pub fn cut_start(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let fits = |start: &usize| width(&text[*start..]) < columns;
    let start = text.char_indices().map(|(at, _)| at).find(fits).unwrap_or(text.len());
    Cow::Owned(format!("…{}", &text[start..]))
}

/// Wraps lines at spaces to fit `columns`. Continuation lines are indented like the line, or to the last column of
/// lines such as `  name   what it is`. Words longer than a line are not broken.
pub fn wrapped(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| wrapped_line(line, columns)).collect();
    let end = if text.ends_with('\n') { "\n" } else { "" };
    lines.join("\n") + end
}

fn wrapped_line(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    joined(line.split(' '), columns, hanging(line, columns), "")
}

/// Wraps words at `columns`, if possible. Continuation lines are indented; `end` is appended at each break.
fn joined<'a>(words: impl Iterator<Item = &'a str>, columns: usize, indent: usize, end: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (i, word) in words.enumerate() {
        let wide = width(word);
        let starts = out.trim_end().is_empty() || column <= indent;
        if i > 0 && !word.is_empty() && column + 1 + wide + end.len() > columns && !starts {
            out.truncate(out.trim_end().len());
            out.push_str(end);
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += wide;
    }
    out
}

/// The indentation of continuation lines.
fn hanging(line: &str, columns: usize) -> usize {
    let indent = line.len() - line.trim_start().len();
    let body = &line[indent..];
    let starts = body.match_indices("  ").map(|(gap, _)| {
        let after = &body[gap..];
        indent + width(&body[..gap]) + after.len() - after.trim_start().len()
    });
    starts.filter(|start| indent > 0 && start + ROOM <= columns).last().unwrap_or(indent)
}

/// Wraps a command at spaces outside of quotes, so that it still works when pasted.
pub fn wrapped_command(command: &str, columns: usize, indent: usize) -> String {
    let mut words: Vec<String> = Vec::new();
    let (mut is_new, mut quote) = (true, None);
    for c in command.chars() {
        match quote {
            None if c == ' ' => {
                if std::mem::replace(&mut is_new, true) {
                    words.push(String::new());
                }
                continue;
            }
            Some(q) if c == q => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        match words.last_mut() {
            Some(word) if !is_new => word.push(c),
            // `then` stays with its verb.
            Some(word) if word == "then" => word.extend([' ', c]),
            _ => words.push(c.into()),
        }
        is_new = false;
    }
    joined(words.iter().map(String::as_str), columns, indent, " \\")
}

/// Wraps a message for a terminal of that width: prose is wrapped at spaces; commands and text in backquotes or quotes
/// are not.
pub fn wrapped_message(text: &str, columns: usize) -> String {
    /// Hides spaces inside a token from [`wrapped`].
    const HELD: &str = "\u{e000}";
    let hold = |line: &str| {
        let (prose, command) =
            match line.find(": tatter ").map(|at| at + 2).or_else(|| line.trim_start().starts_with("tatter ").then_some(0)) {
                Some(at) => line.split_at(at),
                None => (line, ""),
            };
        let mut out = String::new();
        for (i, part) in prose.split('`').enumerate() {
            if i > 0 {
                out.push('`');
            }
            out.push_str(&if i % 2 == 1 { part.replace(' ', HELD) } else { part.to_owned() });
        }
        let indent = command.len() - command.trim_start().len();
        out + &command[..indent] + &command[indent..].replace(' ', HELD)
    };
    let lines: Vec<String> = text.lines().map(|line| wrapped(&hold(line), columns).replace(HELD, " ")).collect();
    lines.join("\n")
}

/// Wraps a message to fit standard error, if it is a terminal.
pub fn fitted_message(text: &str) -> String {
    message_columns().map_or_else(|| text.to_owned(), |columns| wrapped_message(text, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_that_of_a_terminal() {
        assert_eq!(["a", "東", "e\u{301}", ""].map(width), [1, 2, 1, 0]);
        assert_eq!(padded("東", 4, false), "東  ");
        assert_eq!(padded("東", 4, true), "  東");
        assert_eq!(
            ["abcdef", "東京都", "", "e\u{301}e\u{301}e\u{301}"].map(|text| cut(text, 3).into_owned()),
            ["ab…", "東…", "", "e\u{301}e\u{301}e\u{301}"]
        );
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrapped("one two three", 8), "one two\nthree");
        assert_eq!(wrapped("  -o OUT  where it goes\n", 14), "  -o OUT\n  where it\n  goes\n");
        assert_eq!(wrapped("  -o  where all of the output goes", 30), "  -o  where all of the output\n      goes");
        assert_eq!(
            wrapped("  a:  int64  a scalar in each of the records", 40),
            "  a:  int64  a scalar in each of the\n             records"
        );
        assert_eq!(wrapped("unbreakable", 4), "unbreakable");
        assert_eq!(wrapped("a\n\nb", 4), "a\n\nb");
    }

    #[test]
    fn commands_can_be_pasted() {
        assert_eq!(wrapped_command("tatter filter 'a > b' then count", 20, 2), "tatter filter \\\n  'a > b' \\\n  then count");
        let message = "id: wrong\n  to read such records as text: tatter convert --schema 'id: json' x.jsonl";
        assert_eq!(
            wrapped_message(message, 24),
            "id: wrong\n  to read such records\n  as text:\n  tatter convert --schema 'id: json' x.jsonl"
        );
    }
}
