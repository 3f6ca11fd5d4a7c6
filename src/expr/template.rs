//! Lines of advice with places for what the user wrote.

/// The arguments of a call, or the operands of an operator, in the syntax of another language; as far as they are known.
#[derive(Default)]
pub struct Arguments<'a> {
    /// The text of each.
    pub texts: Vec<&'a str>,
    /// Whether the first one is a list.
    pub of_list: Option<bool>,
}

impl Arguments<'_> {
    /// The line with the arguments in their places: `{0:x}` is the first one, `{0#FIELD}` the first one if it is a field, and
    /// `{1~TEXT}` the contents of the second one, a string, as a part of a regular expression in a string, and `{1^REGEX}`
    /// the same for a string that is a regular expression. The word after the sign takes the place of an argument that is
    /// missing or something else.
    pub fn filled(&self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(start) = rest.find('{') {
            let (before, place) = rest.split_at(start);
            let (place, after) = place.split_at(place.find('}').map_or(place.len(), |end| end + 1));
            out.push_str(before);
            // An operator binds more tightly than one in the argument.
            let is_apart = before.ends_with(['(', '[']) || before.ends_with(", ");
            out.push_str(&self.argument(place, is_apart).unwrap_or_else(|| place.to_owned()));
            rest = after;
        }
        out + rest
    }

    /// The argument for a place; `None` if the text is no place.
    fn argument(&self, place: &str, is_apart: bool) -> Option<String> {
        let place = place.strip_prefix('{')?.strip_suffix('}')?;
        let (at, sign, word) = (place.get(..1)?.parse::<usize>().ok()?, place.get(1..2)?, place.get(2..)?);
        let given = self.texts.get(at).copied();
        let is_field = |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.".contains(c));
        let is_one = |text: &&str| {
            let is_closed = text.ends_with([')', ']']) && (text.starts_with('[') || !text.contains(' '));
            is_apart || is_field(text) || string_of(text).is_some() || is_closed
        };
        Some(match sign {
            ":" => given.map_or(word.to_owned(), |text| if is_one(&text) { text.to_owned() } else { format!("({text})") }),
            "#" => given.filter(is_field).unwrap_or(word).to_owned(),
            "~" => given.and_then(string_of).map_or(word.to_owned(), |text| text.chars().map(escaped).collect()),
            "^" => match given.and_then(string_of) {
                Some(regex) if regex.contains('|') => format!("(?:{regex})"),
                regex => regex.unwrap_or(word).to_owned(),
            },
            _ => return None,
        })
    }
}

/// The contents of the text of a string.
pub fn string_of(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote))
}

/// A character as a part of a regular expression, in a string with double quotes.
pub fn escaped(c: char) -> String {
    match c {
        '"' => "\\\"".to_owned(),
        c if "\\.+*?()|[]{}^$".contains(c) => format!("\\\\{c}"),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_put_in_their_places() {
        for (line, texts, expected) in [
            ("write f({0:x}, 1)", vec![], "write f(x, 1)"),
            ("write f({0:x}, 1)", vec!["a + b"], "write f(a + b, 1)"),
            ("write {0:x}[1:]", vec!["a + b"], "write (a + b)[1:]"),
            ("write {0:x} // {1:y}", vec!["a[0]", "b - 1"], "write a[0] // (b - 1)"),
            ("\"{1~PATTERN}.*\"", vec!["a", "'1.5 (\"x\")'"], "\"1\\\\.5 \\\\(\\\"x\\\"\\\\).*\""),
            ("\"{1~PATTERN}.*\"", vec!["a", "b"], "\"PATTERN.*\""),
            ("\"(?s).*{1^PATTERN}.*\"", vec!["a", "'b.*|c'"], "\"(?s).*(?:b.*|c).*\""),
            ("\"(?s).*{1^PATTERN}.*\"", vec!["a"], "\"(?s).*PATTERN.*\""),
            ("count --by {0#FIELD}", vec!["a.b"], "count --by a.b"),
            ("count --by {0#FIELD}", vec!["len(a)"], "count --by FIELD"),
            ("cast 'x={user: {id: int64}}'", vec!["a"], "cast 'x={user: {id: int64}}'"),
        ] {
            assert_eq!(Arguments { texts, ..Arguments::default() }.filled(line), expected, "{line}");
        }
    }
}
