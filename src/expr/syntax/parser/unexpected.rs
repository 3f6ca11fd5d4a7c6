//! The error for a token that does not belong where it is, with advice for what other languages write there.

use super::Parser;
use crate::expr::error::{CAST, ExprError, SEARCH_LIST, SEARCH_TEXT};
use crate::expr::syntax::lexer::{Token, TokenKind};
use crate::path::FieldPath;
use crate::schema::notation;

impl Parser {
    /// The error for the current token.
    pub(super) fn unexpected(&self, expected: &str) -> ExprError {
        let found = match self.peek() {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Separator => "the end of the assignment".to_owned(),
            TokenKind::Name(name) | TokenKind::Quoted(name) => format!("`{name}`"),
            TokenKind::Int(n) => format!("the number {n}"),
            TokenKind::Float(n) => format!("the number {n}"),
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Bytes(_) => "bytes".to_owned(),
            TokenKind::Op(op) => format!("`{op}`"),
        };
        // `&&` is two operators, of which the second one is unexpected.
        if let TokenKind::Op(op @ ("&" | "|")) = self.peek()
            && self.before_is(op)
            && self.tokens[self.at - 1].span.end == self.span().start
        {
            let error = ExprError::at(self.span().start - 1..self.span().end, format!("unknown operator `{op}{op}`"));
            return error.help(if *op == "&" { "`and` joins conditions" } else { "`or` joins conditions; `+` joins strings" });
        }
        let error = ExprError::at(self.span(), format!("expected {expected}, found {found}"));
        match self.peek() {
            TokenKind::Name(word) if word == "if" => {
                error.help("expressions have no `if`; to choose for each value: where(condition, x, y)")
            }
            TokenKind::Op("&" | "|") => error.help("`and` and `or` join conditions"),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("when") => error.help("to choose for each value: where(condition, x, y)"),
            TokenKind::Op("->") => {
                let error = error.help("a field of a structure is x.name");
                self.json_path().into_iter().fold(error, ExprError::help)
            }
            TokenKind::Op("~") => error.help(SEARCH_TEXT),
            TokenKind::Op("<" | "<=" | ">" | ">=" | "==" | "!=") if self.at == 0 => {
                error.help("the field is missing; if the shell replaced a `$name`, write the name without `$`, in single quotes")
            }
            TokenKind::Op(">") if self.before_is("=") => error.help("write lambda x: ..."),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("like") || word == "matches" => error.help(SEARCH_TEXT),
            TokenKind::Name(word) if matches!(word.as_str(), "AND" | "OR" | "NOT" | "IS") => match word.as_str() {
                "IS" => error.help("to test for null: is_null(x), not is_null(x)"),
                word => error.help(format!("write it in lowercase: {}", word.to_lowercase())),
            },
            TokenKind::Name(_) if self.before_is_name("NOT") => error.help("write it in lowercase: not"),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("mod") => error.help("for the remainder: x % y"),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("div") => error.help("for the quotient rounded down: x // y"),
            TokenKind::Name(word) if word == "contains" => error.help(SEARCH_TEXT).help(SEARCH_LIST),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("between") => error.help("comparisons can be chained: 1 <= x <= 5"),
            TokenKind::Op("=" | "!") if matches!(self.peek_after(1), TokenKind::Op("~")) => error.help(SEARCH_TEXT),
            TokenKind::Op(">") if self.before_is("<") => error.help("write x != y"),
            TokenKind::Op(".") => error.help("omit the dot before a field name"),
            TokenKind::Str(_) if self.before_is_name("f") => error.help("f-strings are not supported: join strings with +"),
            TokenKind::Name(word) if word == "desc" || word == "asc" => error.help("to sort in descending order: sort --descending"),
            TokenKind::Name(word) if word == "for" => error.help("expressions have no loops: an operation applies to all values at once"),
            TokenKind::Op(":") if matches!(self.peek_after(1), TokenKind::Op(":")) => error.help(CAST),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("as") => error.help(CAST),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("in") => error
                .help("expressions have no `in`: write reduce_any(x == [1, 2]) or, if the list is a field, reduce_any(list == x)")
                .help(SEARCH_TEXT),
            TokenKind::Name(word) if word == "not" => {
                let lists =
                    "expressions have no `not in`: write not reduce_any(x == [1, 2]) or, if the list is a field, not reduce_any(list == x)";
                error.help(lists).help(SEARCH_TEXT)
            }
            TokenKind::Op("<<") => error.help("write bitwise.left_shift(x, y)"),
            TokenKind::Op(">>") => error.help("write bitwise.right_shift(x, y)"),
            TokenKind::Op(":=") => error.help("`=` assigns: y = x + 1"),
            TokenKind::Op("=") if self.before_is("==") => error.help("`==` compares"),
            TokenKind::Op(":") if expected == "the end of the expression" => error.help("to sort in descending order: sort --descending"),
            TokenKind::Op(op) if op.ends_with('=') && op.len() > 1 => error.help("write the assignment out: x = x + 1"),
            _ => error,
        }
    }

    /// Advice for the path in JSON text that starts at the current token, as in SQL's `x->'user'->>'id'` and `x->>'$.user.id'`.
    fn json_path(&self) -> Option<String> {
        let Some(Token { kind: TokenKind::Name(texts) | TokenKind::Quoted(texts), .. }) = self.tokens.get(self.at.checked_sub(1)?) else {
            return None;
        };
        let (mut keys, mut at) = (Vec::new(), 0);
        while matches!(self.peek_after(at), TokenKind::Op("->")) {
            at += 1 + usize::from(matches!(self.peek_after(at + 1), TokenKind::Op(">")));
            let TokenKind::Str(key) = self.peek_after(at) else { break };
            match key.strip_prefix("$.") {
                Some(path) => keys.extend(path.split('.').map(str::to_owned)),
                None => keys.push(key.clone()),
            }
            at += 1;
        }
        let (texts, inner) = (FieldPath::name(texts), FieldPath::try_new(keys).ok()?);
        let field = inner.names().iter().fold(texts.clone(), |outer, name| outer.join(name));
        Some(format!("a field of JSON text is {}, after the verb {}", field.in_expression(), notation::parsing(&texts, &inner)))
    }

    /// Whether the previous token is this operator.
    fn before_is(&self, op: &str) -> bool {
        matches!(self.at.checked_sub(1).and_then(|at| self.tokens.get(at)), Some(Token { kind: TokenKind::Op(found), .. }) if *found == op)
    }

    /// Whether the previous token is this name.
    fn before_is_name(&self, name: &str) -> bool {
        matches!(self.at.checked_sub(1).and_then(|at| self.tokens.get(at)), Some(Token { kind: TokenKind::Name(found), .. }) if found == name)
    }
}
