//! Text in the syntax of another language, taken apart outside of its strings.

/// The characters that quote strings in SQL and Python, and names in SQL.
pub const QUOTES: &[char] = &['"', '\'', '`'];

/// What a text starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A string, with its quotes.
    Quoted(&'a str),
    /// All of the text: a string that is not closed.
    Unclosed(&'a str),
    /// A character outside of strings.
    Other(char),
}

impl<'a> Piece<'a> {
    /// The first piece of the text, unless it is empty.
    pub fn first(text: &'a str, quotes: &[char]) -> Option<Piece<'a>> {
        let first = text.chars().next()?;
        if !quotes.contains(&first) {
            return Some(Piece::Other(first));
        }
        let inner = first.len_utf8();
        let end = text.get(inner..)?.find(first).map(|end| inner + end + first.len_utf8());
        Some(end.and_then(|end| text.get(..end)).map_or(Piece::Unclosed(text), Piece::Quoted))
    }

    /// Length in bytes.
    pub fn nbytes(self) -> usize {
        match self {
            Piece::Quoted(text) | Piece::Unclosed(text) => text.len(),
            Piece::Other(c) => c.len_utf8(),
        }
    }
}

/// The pieces of a text, with their offsets.
fn pieces<'a>(text: &'a str, quotes: &'a [char]) -> impl Iterator<Item = (usize, Piece<'a>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let piece = Piece::first(text.get(at..)?, quotes)?;
        at += piece.nbytes();
        Some((at - piece.nbytes(), piece))
    })
}

/// The words between whitespace outside of strings.
pub fn words<'a>(text: &'a str, quotes: &[char]) -> Vec<&'a str> {
    cut(text, quotes, |c, _| c.is_whitespace()).into_iter().filter(|word| !word.is_empty()).collect()
}

/// The parts between separators outside of strings and brackets, trimmed.
pub fn split<'a>(text: &'a str, quotes: &[char], separator: char) -> Vec<&'a str> {
    cut(text, quotes, |c, depth| c == separator && depth == 0).into_iter().map(str::trim).collect()
}

/// The parts between the characters outside of strings that are cuts, given the depth of their brackets.
fn cut<'a>(text: &'a str, quotes: &[char], is_cut: impl Fn(char, i32) -> bool) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, piece) in pieces(text, quotes) {
        let Piece::Other(c) = piece else { continue };
        match c {
            c if is_cut(c, depth) => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
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
    fn a_text_starts_with_a_string_or_a_character() {
        for (text, expected) in [
            ("", None),
            ("é'", Some(Piece::Other('é'))),
            ("'a\" b' c", Some(Piece::Quoted("'a\" b'"))),
            ("''", Some(Piece::Quoted("''"))),
            ("'a b", Some(Piece::Unclosed("'a b"))),
        ] {
            assert_eq!(Piece::first(text, QUOTES), expected, "{text}");
        }
    }

    #[test]
    fn strings_and_brackets_are_kept_whole() {
        assert_eq!(words("a  'b  c'd\t\"e f", QUOTES), ["a", "'b  c'd", "\"e f"]);
        assert_eq!(split("a | f(b | c) | \"d | e\"", &['"'], '|'), ["a", "f(b | c)", "\"d | e\""]);
        assert_eq!(split("a,,", QUOTES, ','), ["a", "", ""]);
    }
}
