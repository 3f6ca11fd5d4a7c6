//! Rewrites conditions in the syntax of SQL as expressions.

use super::template::{escaped, string_of};
use crate::quotes::{Piece, QUOTES};

/// The expression for a condition with SQL's `=`, `<>`, `LIKE`, `IN`, `BETWEEN`, `IS NULL` or keywords in uppercase; `None`
/// for anything else.
pub fn condition(text: &str) -> Option<String> {
    let tokens = tokens(text)?;
    let mut out = Rewritten::default();
    let mut rest = tokens.as_slice();
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        let word = token.text.to_ascii_lowercase();
        let (negates, keyword, after) = match (word.as_str(), after.split_first()) {
            ("not", Some((next, after))) => (true, next.text.to_ascii_lowercase(), after),
            _ => (false, word.clone(), after),
        };
        match keyword.as_str() {
            "is" => {
                let (negates, after) = match after.split_first() {
                    Some((not, after)) if not.is("not") => (true, after),
                    _ => (false, after),
                };
                let (null, after) = after.split_first()?;
                if !null.is("null") {
                    return None;
                }
                out.test(negates, |operand| format!("is_null({operand})"))?;
                rest = after;
            }
            "like" | "ilike" => {
                let (pattern, after) = after.split_first()?;
                let pattern = regex_of(string_of(&pattern.text)?, keyword == "ilike");
                out.test(negates, |operand| format!("strings.regex_full_match({operand}, \"{pattern}\")"))?;
                rest = after;
            }
            "in" => {
                let (list, after) = list_of(after)?;
                out.test(negates, |operand| match operand.starts_with(['"', '\'']) {
                    true => format!("reduce_any({list} == {operand})"),
                    false => format!("reduce_any({operand} == {list})"),
                })?;
                rest = after;
            }
            "between" => {
                let and = after.iter().position(|token| token.is("and"))?;
                let end = after.iter().skip(and + 1).position(|token| token.is("and") || token.is("or") || token.is(")"));
                let end = end.map_or(after.len(), |end| and + 1 + end);
                let (low, high) = (joined(after.get(..and)?), joined(after.get(and + 1..end)?));
                out.test(negates, |operand| format!("{low} <= {operand} <= {high}"))?;
                rest = after.get(end..)?;
            }
            // `=~` searches text.
            "~" => return None,
            _ => match word.as_str() {
                "=" => out.boundary(token, "=="),
                "<>" => out.boundary(token, "!="),
                "and" | "or" | "not" => out.boundary(token, &word),
                "true" => out.value(token, "True"),
                "false" => out.value(token, "False"),
                "==" | "!=" | "<" | "<=" | ">" | ">=" | "," => out.boundary(token, &token.text),
                "(" => out.open(token),
                ")" => out.close(token)?,
                _ if token.text.starts_with('\'') => out.value(token, &quoted(string_of(&token.text)?)),
                _ => out.value(token, &token.text),
            },
        }
    }
    Some(out.parts.concat())
}

/// A word, a string, a number or an operator, and the whitespace before it.
struct Token<'a> {
    space: &'a str,
    text: String,
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }
}

/// The tokens; `None` if a quote is not closed.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let space = rest.get(..rest.len() - trimmed.len())?;
        let Some(first) = Piece::first(trimmed, QUOTES) else { return Some(tokens) };
        let is_word = |c: char| c.is_alphanumeric() || "_.".contains(c);
        let length = match first {
            Piece::Quoted(string) => string.len(),
            Piece::Unclosed(_) => return None,
            Piece::Other(first) if is_word(first) => trimmed.find(|c| !is_word(c)).unwrap_or(trimmed.len()),
            Piece::Other(first) => {
                let two = ["<>", "<=", ">=", "==", "!=", "**", "//"].into_iter().find(|op| trimmed.starts_with(op));
                two.map_or(first.len_utf8(), str::len)
            }
        };
        let (token, after) = trimmed.split_at(length);
        tokens.push(Token { space, text: token.to_owned() });
        rest = after;
    }
}

fn joined(tokens: &[Token]) -> String {
    let text: String = tokens.iter().flat_map(|token| [token.space, &token.text]).collect();
    text.trim().to_owned()
}

/// A string literal. Backslashes keep their meaning.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

/// The list after `IN`, or a field that is one, and the tokens after it.
fn list_of<'a, 'b>(tokens: &'a [Token<'b>]) -> Option<(String, &'a [Token<'b>])> {
    let first = tokens.first()?;
    let close = match first.text.as_str() {
        "(" => ")",
        "[" => "]",
        name if name.starts_with(|c: char| c.is_alphabetic() || "_`".contains(c)) => {
            let end = end_of_operand(tokens)?;
            return Some((joined(tokens.get(..end)?), tokens.get(end..)?));
        }
        _ => return None,
    };
    let end = tokens.iter().position(|token| token.text == close)?;
    let items = tokens.get(1..end)?.split(|token| token.text == ",").map(|item| match item {
        [only] if only.text.starts_with('\'') => Some(quoted(string_of(&only.text)?)),
        [] => None,
        tokens => Some(joined(tokens)).filter(|item| !item.to_ascii_lowercase().starts_with("select")),
    });
    Some((format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", ")), tokens.get(end + 1..)?))
}

/// The number of tokens of the operand that starts with a name: with the arguments or the subscripts after it.
fn end_of_operand(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(1) {
        match token.text.as_str() {
            "(" | "[" if depth > 0 || token.space.is_empty() => depth += 1,
            ")" | "]" if depth > 0 => depth -= 1,
            _ if depth == 0 => return Some(at),
            _ => {}
        }
    }
    (depth == 0).then_some(tokens.len())
}

/// The regular expression of a pattern of `LIKE`, in a string literal.
fn regex_of(pattern: &str, ignores_case: bool) -> String {
    let mut regex = String::from(if ignores_case { "(?si)" } else { "(?s)" });
    for c in pattern.chars() {
        match c {
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            c => regex.push_str(&escaped(c)),
        }
    }
    regex
}

/// The parts of the expression, and where the operand before the current token starts.
#[derive(Default)]
struct Rewritten {
    parts: Vec<String>,
    operand: usize,
    /// Where the operands before each open parenthesis start.
    outer: Vec<usize>,
}

impl Rewritten {
    fn value(&mut self, token: &Token, text: &str) {
        self.parts.push(format!("{}{text}", token.space));
    }

    fn boundary(&mut self, token: &Token, text: &str) {
        self.value(token, text);
        self.operand = self.parts.len();
    }

    fn open(&mut self, token: &Token) {
        self.outer.push(self.operand);
        self.boundary(token, "(");
    }

    fn close(&mut self, token: &Token) -> Option<()> {
        self.operand = self.outer.pop()?;
        self.value(token, ")");
        Some(())
    }

    /// Replaces the operand with a test of it.
    fn test(&mut self, negates: bool, test: impl Fn(&str) -> String) -> Option<()> {
        let operand = self.parts.split_off(self.operand).concat();
        let name = operand.trim_start();
        let space = operand.get(..operand.len() - name.len())?;
        if name.is_empty() {
            return None;
        }
        let not = if negates { "not " } else { "" };
        self.parts.push(format!("{space}{not}{}", test(name)));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::condition;
    use crate::expr::syntax::parse_expression;

    #[test]
    fn conditions_of_sql_become_expressions() {
        for (sql, expected) in [
            ("user = 'a-y'", r#"user == "a-y""#),
            ("user = 'a' AND x <> 2", r#"user == "a" and x != 2"#),
            ("s IS NULL or (t is not null)", "is_null(s) or (not is_null(t))"),
            ("user LIKE 'a%'", r#"strings.regex_full_match(user, "(?s)a.*")"#),
            ("user NOT LIKE '%.c_'", r#"not strings.regex_full_match(user, "(?s).*\\.c.")"#),
            ("x > 1 and docs.id IN (1, 2)", "x > 1 and reduce_any(docs.id == [1, 2])"),
            ("user not in ('a', 'b')", r#"not reduce_any(user == ["a", "b"])"#),
            ("'a' in tags", r#"reduce_any(tags == "a")"#),
            ("x between 1 and 2 and y = 3", "1 <= x <= 2 and y == 3"),
            ("not (x in [1])", "not (reduce_any(x == [1]))"),
            ("id in range(len(x), 3) and y = 1", "reduce_any(id == range(len(x), 3)) and y == 1"),
            ("(id in m.ids[0][1])", "(reduce_any(id == m.ids[0][1]))"),
            ("len(tags) in (1, 2)", "reduce_any(len(tags) == [1, 2])"),
            ("NOT active = TRUE", "not active == True"),
        ] {
            let found = condition(sql);
            assert_eq!(found.as_deref(), Some(expected), "{sql}");
            assert!(parse_expression(expected).is_ok(), "{expected}");
        }
        for other in ["x = 'a", "x =~ 'a'", "in (1)", "x in (select y from t)", "x like y", "x is 3", "x in f(1", "(x = 1))"] {
            assert_eq!(condition(other), None, "{other}");
        }
    }
}
