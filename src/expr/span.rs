//! Spans in the text of an expression, and names as written there.

use std::ops::Range;

/// A span of the text, in bytes.
pub type Span = Range<usize>;

/// The line of text that contains the span, with carets below it.
pub fn underlined(text: &str, span: &Span) -> String {
    let start = span.start.min(text.len());
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let end = span.end.clamp(start, line_end.max(start));
    let (mut before, inside, mut after) = (&text[line_start..start], &text[start..end], &text[end..line_end]);
    let (mut lead, mut tail) = ("", "");
    // A long line is shortened to the part around the span.
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

/// A name, quoted if necessary, as written in an expression.
pub fn name_text(name: &str) -> String {
    let plain = name.chars().enumerate().all(|(i, c)| c == '_' || if i == 0 { c.is_alphabetic() } else { c.is_alphanumeric() });
    if plain && !name.is_empty() { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}
