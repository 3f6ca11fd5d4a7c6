//! Parsers of arguments that several verbs take.

use crate::error::{Error, mismatch};
use crate::printable::alternatives;
use crate::schema::PartitionEncoding;

/// Parses a positive integer.
///
/// # Errors
/// Any other text.
pub fn positive(text: &str) -> Result<usize, Error> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
        let is_whole = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text.bytes().any(|b| b != b'0');
        Error::usage(match is_whole {
            true => format!("the number {text} is out of range").into(),
            false => mismatch("a positive integer", format_args!("`{text}`")),
        })
    })
}

/// Parses the name of an encoding of row partitions.
///
/// # Errors
/// Not the name of an encoding.
pub fn parse_encoding(text: &str) -> Result<PartitionEncoding, Error> {
    PartitionEncoding::VECTORS.into_iter().find(|e| e.name() == text).ok_or_else(|| {
        let names = PartitionEncoding::VECTORS.map(PartitionEncoding::name);
        Error::usage(mismatch(alternatives(&names), format_args!("`{text}`")))
    })
}

/// Splits at commas outside names, strings and brackets.
pub fn split_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote, mut escaped) = (Vec::new(), 0, 0usize, None, false);
    for (i, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"' | '\''), '\\') => escaped = true,
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            // An apostrophe inside a bare word is literal; a quote opens a string only at the start of a value.
            (None, '"' | '\'') if text[..i].trim_end().ends_with(['=', '[', '(', ',']) || text[..i].ends_with("=b") => quote = Some(c),
            (None, '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_brackets_and_strings_do_not_split() {
        for (text, want) in [
            ("a,b", vec!["a", "b"]),
            ("len(a), f(b, [1, 2])", vec!["len(a)", " f(b, [1, 2])"]),
            ("x=\"a,b\",y=[1,2]", vec!["x=\"a,b\"", "y=[1,2]"]),
            ("`a,b`", vec!["`a,b`"]),
            ("x=0,y=[1, 2],z=a", vec!["x=0", "y=[1, 2]", "z=a"]),
            ("x=\"a,b\",`y,z`=1", vec!["x=\"a,b\"", "`y,z`=1"]),
            ("x=\"\\\",\",y=it's,z=b'\\',',w={}", vec!["x=\"\\\",\"", "y=it's", "z=b'\\','", "w={}"]),
        ] {
            assert_eq!(split_commas(text), want, "{text}");
        }
    }
}
