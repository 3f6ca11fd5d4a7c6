//! The subset of Python literals used in headers: dicts, tuples, lists, strings, integers, True, False and None.
//! Nothing is evaluated.

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Python {
    None,
    Bool(bool),
    Int(i128),
    Str(String),
    Tuple(Vec<Python>),
    List(Vec<Python>),
    Dict(Vec<(Python, Python)>),
}

/// Maximum nesting depth of a literal.
const MAX_DEPTH: usize = 32;

/// Parses a literal that spans the whole text; `None` for anything else.
pub fn parse(text: &str) -> Option<Python> {
    let mut parser = Parser { rest: text };
    let value = parser.value(0)?;
    parser.blank();
    parser.rest.trim_matches('\0').is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, sign: char) -> bool {
        self.blank();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Python> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.blank();
        let first = self.rest.chars().next()?;
        match first {
            '{' => {
                self.eat('{');
                let mut entries = Vec::new();
                while !self.eat('}') {
                    let key = self.value(depth + 1)?;
                    if !self.eat(':') {
                        return None;
                    }
                    entries.push((key, self.value(depth + 1)?));
                    self.separator('}')?;
                }
                Some(Python::Dict(entries))
            }
            '(' => {
                self.eat('(');
                let (items, commas) = self.items(')', depth)?;
                // Parentheses around one value do not make a tuple.
                if items.len() == 1 && !commas { items.into_iter().next() } else { Some(Python::Tuple(items)) }
            }
            '[' => {
                self.eat('[');
                Some(Python::List(self.items(']', depth)?.0))
            }
            '\'' | '"' => self.string(first),
            '-' | '0'..='9' => self.int(),
            _ => {
                let words = [("True", Python::Bool(true)), ("False", Python::Bool(false)), ("None", Python::None)];
                let (word, value) = words.into_iter().find(|(word, _)| self.rest.starts_with(word))?;
                self.rest = &self.rest[word.len()..];
                Some(value)
            }
        }
    }

    /// The items between brackets, and whether there was a comma.
    fn items(&mut self, end: char, depth: usize) -> Option<(Vec<Python>, bool)> {
        let (mut items, mut commas) = (Vec::new(), false);
        while !self.eat(end) {
            items.push(self.value(depth + 1)?);
            commas |= self.separator(end)?;
        }
        Some((items, commas))
    }

    /// Consumes a comma or the closing bracket; returns whether it was a comma.
    fn separator(&mut self, end: char) -> Option<bool> {
        let comma = self.eat(',');
        self.blank();
        (comma || self.rest.starts_with(end)).then_some(comma)
    }

    fn string(&mut self, quote: char) -> Option<Python> {
        let inner = &self.rest[1..];
        let end = inner.find([quote, '\\', '\n'])?;
        // Names of dtypes need no escapes.
        if !inner[end..].starts_with(quote) {
            return None;
        }
        self.rest = &inner[end + 1..];
        Some(Python::Str(inner[..end].to_owned()))
    }

    fn int(&mut self) -> Option<Python> {
        let sign = usize::from(self.rest.starts_with('-'));
        let digits = self.rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest[..sign + digits].parse().ok()?;
        self.rest = &self.rest[sign + digits..];
        // Python 2 wrote long integers with an L suffix.
        self.rest = self.rest.strip_prefix('L').unwrap_or(self.rest);
        Some(Python::Int(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read() {
        use Python::*;
        for (text, expected) in [
            (
                " {'a': (1,), \"b\": [True, None, -2L], } \n",
                Some(Dict(vec![(Str("a".to_owned()), Tuple(vec![Int(1)])), (Str("b".to_owned()), List(vec![Bool(true), None, Int(-2)]))])),
            ),
            ("()", Some(Tuple(vec![]))),
            ("(3)", Some(Int(3))),
            ("{}", Some(Dict(vec![]))),
            ("(1 2)", Option::None),
            ("{'a' 1}", Option::None),
            ("'a", Option::None),
            ("'a\\n'", Option::None),
            ("1.5", Option::None),
            ("{} x", Option::None),
            ("", Option::None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
