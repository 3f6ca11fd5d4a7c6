//! The error for a token that does not belong where it is, with advice for what other languages write there.

use super::{Parser, comparison, parsed_expression, parsed_statements};
use crate::error::mismatch;
use crate::expr::error::{CAST, ExprError, SEARCH_LIST, SEARCH_REGEX, SEARCH_TEXT};
use crate::expr::span::Span;
use crate::expr::syntax::lexer::{Token, TokenKind};
use crate::expr::template::Arguments;
use crate::numerals::fraction;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::notation;

impl Parser<'_> {
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
            if let Some(meant) = self.with_words() {
                let error = error.meant("write", meant);
                return if *op == "&" || self.joins_strings() { error } else { error.help("`+` joins strings") };
            }
            return error.help(if *op == "&" { "`and` joins conditions" } else { "`or` joins conditions; `+` joins strings" });
        }
        if let (TokenKind::Op(close @ (")" | "]" | "}")), "the end of the expression" | "`;` or the end") = (self.peek(), expected) {
            let open = ["(", "[", "{"][")]}".find(close).unwrap_or(0)];
            return ExprError::at(self.span(), format!("`{close}` has no matching `{open}`"));
        }
        let error = ExprError::at(self.span(), mismatch(expected, found));
        if let Some((lead, meant)) = self.rewritten(expected) {
            return error.meant(lead, meant);
        }
        self.advised(error)
    }

    /// The error with advice for the current token.
    fn advised(&self, error: ExprError) -> ExprError {
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
            TokenKind::Op("~") => error.help(self.operands().filled(SEARCH_REGEX)),
            TokenKind::Op("<" | "<=" | ">" | ">=" | "==" | "!=") if self.at == 0 => {
                error.help("the field is missing; if the shell replaced a `$name`, write the name without `$`, in single quotes")
            }
            TokenKind::Op(">") if self.before_is("=") => error.help("write lambda x: ..."),
            TokenKind::Name(word) if ["like", "ilike", "rlike", "matches"].iter().any(|like| word.eq_ignore_ascii_case(like)) => error.help(self.operands().filled(SEARCH_REGEX)),
            TokenKind::Name(word) if matches!(word.as_str(), "AND" | "OR" | "NOT" | "IS") => match word.as_str() {
                "IS" => error.help("to test for null: is_null(x), not is_null(x)"),
                word => error.help(format!("write it in lowercase: {}", word.to_lowercase())),
            },
            TokenKind::Name(_) if self.before_is_name("NOT") => error.help("write it in lowercase: not"),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("mod") => error.help("for the remainder: x % y"),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("div") => error.help("for the quotient rounded down: x // y"),
            TokenKind::Name(word) if word == "contains" => error.help(self.operands().filled(SEARCH_TEXT)).help(self.operands().filled(SEARCH_LIST)),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("between") => error.help("comparisons can be chained: 1 <= x <= 5"),
            TokenKind::Op("=" | "!") if matches!(self.peek_after(1), TokenKind::Op("~")) => error.help(self.operands().filled(SEARCH_REGEX)),
            TokenKind::Op(">") if self.before_is("<") => error.help("write x != y"),
            TokenKind::Op(".") => error.help("omit the dot before a field name"),
            TokenKind::Str(_) if self.before_is_name("f") => error.help("f-strings are not supported: join strings with +"),
            TokenKind::Name(word) if order(word).is_some() => error.help_if(self.sorted(word)),
            TokenKind::Op(":") if matches!(self.peek_after(1), TokenKind::Name(word) if order(word).is_some()) => match self.peek_after(1) {
                TokenKind::Name(word) => error.help_if(self.sorted(word)),
                _ => error,
            },
            TokenKind::Name(word) if word == "for" => error.help("expressions have no loops: an operation applies to all values at once"),
            TokenKind::Op(":") if matches!(self.peek_after(1), TokenKind::Op(":")) => error.help(CAST),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("as") => error.help(CAST),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("in") => error
                .help("expressions have no `in`: write reduce_any(x == [1, 2]) or, if the list is a field, reduce_any(list == x)")
                .help(self.operands().filled(SEARCH_TEXT)),
            TokenKind::Name(word) if word == "not" => {
                let lists =
                    "expressions have no `not in`: write not reduce_any(x == [1, 2]) or, if the list is a field, not reduce_any(list == x)";
                error.help(lists).help(self.operands().filled(SEARCH_TEXT))
            }
            TokenKind::Op("<<") => error.help("write bitwise.left_shift(x, y)"),
            TokenKind::Op(">>") => error.help("write bitwise.right_shift(x, y)"),
            TokenKind::Op(":=") => error.help("`=` assigns: y = x + 1"),
            TokenKind::Op("=") if self.before_is("==") => error.help("`==` compares"),
            TokenKind::Name(word) if word.eq_ignore_ascii_case("xor") => error.help("write logical_xor(x, y)"),
            TokenKind::End if matches!(self.before(1), Some(TokenKind::Op(op)) if comparison(op).is_some()) => error
                .help("the value is missing; if the shell replaced a `$name`, write the name without `$` and pass its value with --arg name=VALUE"),
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

    /// The text as it was meant at the current token, and what to say before it.
    fn rewritten(&self, expected: &str) -> Option<(&'static str, String)> {
        let (here, is_whole) = (self.span(), expected == "the end of the expression");
        let before = |n: usize| Some((self.before(n)?, self.tokens.get(self.at - n)?.span.clone()));
        // The words between two operands.
        let (last, last_span) = before(1)?;
        let (lead, meant) = match (last, self.peek()) {
            (TokenKind::Op("==" | "!="), TokenKind::Op("=")) => ("write", self.replaced(here, "")),
            (TokenKind::Op("%"), _) if matches!(before(2), Some((TokenKind::Int(_) | TokenKind::Float(_), _))) => {
                let span = before(2)?.1.start..last_span.end;
                ("write the fraction:", self.replaced(span.clone(), &fraction(self.text.get(span)?)?))
            }
            (TokenKind::Name(word), _) if self.at == 1 && word.eq_ignore_ascii_case("where") => {
                ("omit `where`:", self.replaced(0..here.start, ""))
            }
            (TokenKind::Separator, _) if is_whole => ("join conditions with `and`:", self.with_words()),
            (TokenKind::Int(_) | TokenKind::Float(_), TokenKind::Name(_)) => {
                ("numbers have no units:", self.replaced(last_span.end..here.end, ""))
            }
            (_, TokenKind::Op(":")) if is_whole && !matches!(self.peek_after(1), TokenKind::Name(word) if order(word).is_some()) => {
                ("to compare:", self.replaced(here, "=="))
            }
            _ => return None,
        };
        Some((lead, meant?))
    }

    /// The text with something else at a span, if it can be parsed.
    pub(super) fn replaced(&self, span: Span, with: &str) -> Option<String> {
        self.parses(format!("{}{with}{}", self.text.get(..span.start)?, self.text.get(span.end..)?))
    }

    /// The text if it can be parsed.
    pub(super) fn parses(&self, text: String) -> Option<String> {
        let is_right = || parsed_expression(&text, false).is_ok() || parsed_statements(&text, false).is_ok();
        (self.suggests && is_right()).then_some(text)
    }

    /// Whether a string is an operand of `||`, which joins strings in SQL.
    fn joins_strings(&self) -> bool {
        let is_bar = |token: Option<&Token>| token.is_some_and(|token| token.kind == TokenKind::Op("|"));
        let kinds = self.tokens.iter().enumerate().filter(|(_, token)| matches!(token.kind, TokenKind::Str(_)));
        kinds.into_iter().any(|(at, _)| is_bar(self.tokens.get(at + 1)) || is_bar(at.checked_sub(1).and_then(|at| self.tokens.get(at))))
    }

    /// The text with `and` for `&&` and `;`, and `or` for `||` (between strings, `+`), if it can be parsed.
    fn with_words(&self) -> Option<String> {
        let (mut out, mut at, mut copied) = (String::new(), 0, 0);
        while let Some(token) = self.tokens.get(at) {
            let next = self.tokens.get(at + 1).filter(|next| next.kind == token.kind && next.span.start == token.span.end);
            let (word, end) = match (&token.kind, next) {
                (TokenKind::Op("&"), Some(next)) => ("and", next.span.end),
                (TokenKind::Op("|"), Some(next)) => (if self.joins_strings() { "+" } else { "or" }, next.span.end),
                (TokenKind::Separator, _) => ("and", token.span.end),
                _ => {
                    at += 1;
                    continue;
                }
            };
            out.push_str(self.text.get(copied..token.span.start)?.trim_end());
            out.push_str(&format!(" {word} "));
            copied = self.text.len() - self.text.get(end..)?.trim_start().len();
            at += if end > token.span.end { 2 } else { 1 };
        }
        out.push_str(self.text.get(copied..)?);
        self.parses(out)
    }

    /// Advice for a key of `sort` that is followed by `asc` or `desc`.
    fn sorted(&self, word: &str) -> Option<String> {
        let key = self.text.get(..self.span().start)?.trim();
        let is_path = self
            .tokens
            .get(..self.at)?
            .iter()
            .all(|token| matches!(token.kind, TokenKind::Name(_) | TokenKind::Quoted(_) | TokenKind::Op(".")));
        Some(match order(word)? {
            "asc" => format!("`sort` sorts in ascending order: sort --by {}", shell_word(key)),
            _ if is_path => format!("to sort in descending order: sort --by {}", shell_word(&format!("-{key}"))),
            _ => format!("to sort in descending order: sort --by {} --descending", shell_word(key)),
        })
    }

    /// The operands of the operator of another language that starts at the current token: a field before it and a string
    /// after it.
    fn operands(&self) -> Arguments<'_> {
        let is_part = |token: &&Token| matches!(token.kind, TokenKind::Name(_) | TokenKind::Op("."));
        let left = self.tokens.get(..self.at).unwrap_or_default().iter().rev().take_while(is_part).last();
        let right = self.tokens.get(self.at..).unwrap_or_default().iter().take(3).find(|token| matches!(token.kind, TokenKind::Str(_)));
        let left = left.and_then(|left| self.text.get(left.span.start..self.span().start)).map_or("x", str::trim);
        let right = right.and_then(|right| self.text.get(right.span.clone()));
        // In the pattern of `like`, other characters have a meaning.
        let is_like = matches!(self.peek(), TokenKind::Name(word) if word.to_ascii_lowercase().ends_with("like") && !word.eq_ignore_ascii_case("rlike"));
        let right = right.filter(|_| !is_like);
        Arguments { texts: [left].into_iter().chain(right).collect(), of_list: None }
    }

    /// The token `n` places before the current one.
    fn before(&self, n: usize) -> Option<&TokenKind> {
        Some(&self.tokens.get(self.at.checked_sub(n)?)?.kind)
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

/// The order that a word of SQL names: `asc` or `desc`.
fn order(word: &str) -> Option<&'static str> {
    ["asc", "desc"].into_iter().find(|order| word.eq_ignore_ascii_case(order))
}
