//! Parses tokens into expressions by precedence climbing.

mod no_assignment;
mod operands;
mod unexpected;

use super::lexer::{Token, TokenKind, tokens};
use super::tree::{Assignment, Binary, Compare, Expr, ExprKind, MAX_DEPTH, Target, Unary};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::span::Span;

/// Parses a single expression, for `filter`.
///
/// # Errors
/// The expected and the found token, with the span of the latter.
pub fn parse_expression(text: &str) -> ExprResult<Expr> {
    parsed_expression(text, true)
}

/// `suggests`: whether an error says what was meant.
fn parsed_expression(text: &str, suggests: bool) -> ExprResult<Expr> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0, suggests };
    parser.skip_separators();
    if *parser.peek() == TokenKind::End {
        return Err(ExprError::at(0..text.len(), "the expression is empty"));
    }
    let expr = parser.tuple_or_expression()?;
    parser.skip_separators();
    if parser.is_op("=") && !matches!(parser.peek_after(1), TokenKind::Op("~")) {
        let error = parser.unexpected("the end of the expression");
        return Err(match parser.peek_after(1) {
            TokenKind::Op("<") => error.help("write <="),
            TokenKind::Op(">") => error.help("write >="),
            _ => error.help("`==` compares; `map` assigns"),
        });
    }
    match parser.peek() {
        TokenKind::End => Ok(expr),
        _ => Err(parser.unexpected("the end of the expression")),
    }
}

/// Parses an expression that replaces another; all of its nodes get that expression's span.
///
/// # Errors
/// See [`parse_expression`].
pub fn parse_formula(text: &str, span: &Span) -> ExprResult<Expr> {
    let mut tokens = tokens(text)?;
    for token in &mut tokens {
        token.span = span.clone();
    }
    let mut parser = Parser { text, tokens, at: 0, depth: 0, suggests: false };
    let expr = parser.tuple_or_expression()?;
    if *parser.peek() == TokenKind::End { Ok(expr) } else { Err(parser.unexpected("the end of the formula")) }
}

/// Parses assignments separated by `;` or newlines, for `map`.
///
/// # Errors
/// See [`parse_expression`].
pub fn parse_statements(text: &str) -> ExprResult<Vec<Assignment>> {
    parsed_statements(text, true)
}

fn parsed_statements(text: &str, suggests: bool) -> ExprResult<Vec<Assignment>> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0, suggests };
    let mut statements = Vec::new();
    loop {
        parser.skip_separators();
        if *parser.peek() == TokenKind::End {
            break;
        }
        statements.push(parser.assignment()?);
        if !matches!(parser.peek(), TokenKind::End | TokenKind::Separator) {
            return Err(parser.unexpected("`;` or the end"));
        }
    }
    if statements.is_empty() {
        return Err(ExprError::at(0..text.len(), "the expression is empty").help("write an assignment: y = x * 2"));
    }
    Ok(statements)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Whether an error says what was meant, which is parsed to see that it is right.
    suggests: bool,
}

/// In `x > 1 & x < 4`, which means `x > (1 & x) < 4`, two conditions were meant.
fn refuse_bits_between(operand: &Expr) -> ExprResult<()> {
    let ExprKind::Binary(operator, left, _) = &operand.kind else { return Ok(()) };
    let (symbol, word) = match operator {
        Binary::And => ("&", "write `and`, or "),
        Binary::Or => ("|", "write `or`, or "),
        Binary::Xor => ("^", ""),
        _ => return Ok(()),
    };
    if left.span.start > operand.span.start {
        // In parentheses.
        return Ok(());
    }
    let error = ExprError::at(operand.span.clone(), format!("`{symbol}` binds more tightly than comparisons"));
    Err(error.help(format!("{word}put each comparison in parentheses")))
}

/// The binding strength of an operator; higher is tighter.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const UNARY: u8 = 11;
const POWER: u8 = 12;

fn binary(op: &str) -> Option<(Binary, u8)> {
    Some(match op {
        "|" => (Binary::Or, 5),
        "^" => (Binary::Xor, 6),
        "&" => (Binary::And, 7),
        "<<" => (Binary::ShiftLeft, 8),
        ">>" => (Binary::ShiftRight, 8),
        "+" => (Binary::Add, 9),
        "-" => (Binary::Subtract, 9),
        "*" => (Binary::Multiply, 10),
        "/" => (Binary::Divide, 10),
        "//" => (Binary::FloorDivide, 10),
        "%" => (Binary::Modulo, 10),
        "@" => (Binary::MatMul, 10),
        "**" => (Binary::Power, POWER),
        _ => return None,
    })
}

fn comparison(op: &str) -> Option<Compare> {
    Some(match op {
        "==" => Compare::Equal,
        "!=" => Compare::NotEqual,
        "<" => Compare::Less,
        "<=" => Compare::LessEqual,
        ">" => Compare::Greater,
        ">=" => Compare::GreaterEqual,
        _ => return None,
    })
}

/// An inner node, given its parts.
fn node(kind: ExprKind, span: Span) -> ExprResult<Expr> {
    let mut expr = Expr { kind, span, depth: 0 };
    let mut below = 0;
    expr.children(&mut |e| below = below.max(e.depth));
    expr.depth = below + 1;
    if expr.depth > MAX_DEPTH { Err(too_deep(expr.span)) } else { Ok(expr) }
}

/// [`ExprKind::And`] or [`ExprKind::Or`].
type Junction = fn(Box<Expr>, Box<Expr>) -> ExprKind;

/// Conditions joined by `and` or by `or`, as a tree of little depth: a filter can list hundreds of values.
fn junction(mut conditions: Vec<Expr>, joined: Junction) -> ExprResult<Expr> {
    let right = conditions.split_off(conditions.len().div_ceil(2));
    if right.is_empty()
        && let Some(only) = conditions.pop()
    {
        return Ok(only);
    }
    let (left, right) = (junction(conditions, joined)?, junction(right, joined)?);
    let span = left.span.start..right.span.end;
    node(joined(Box::new(left), Box::new(right)), span)
}

fn too_deep(span: Span) -> ExprError {
    ExprError::at(span.start..span.start, format!("the expression is nested more than {MAX_DEPTH} levels deep"))
        .help("split it into several assignments")
}

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        self.tokens.get(self.at).map_or(&TokenKind::End, |t| &t.kind)
    }

    fn peek_after(&self, n: usize) -> &TokenKind {
        self.tokens.get(self.at + n).map_or(&TokenKind::End, |t| &t.kind)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0..0, |t| t.span.clone())
    }

    fn end_of_last(&self) -> usize {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(0, |t| t.span.end)
    }

    fn is_op(&self, op: &str) -> bool {
        matches!(self.peek(), TokenKind::Op(found) if *found == op)
    }

    fn take_op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        if found {
            self.at += 1;
        }
        found
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Name(name) if name == word)
    }

    fn skip_separators(&mut self) {
        while *self.peek() == TokenKind::Separator {
            self.at += 1;
        }
    }

    fn expect(&mut self, op: &'static str, opened: &Span) -> ExprResult<()> {
        if self.take_op(op) {
            return Ok(());
        }
        if *self.peek() == TokenKind::End {
            return Err(ExprError::at(opened.clone(), format!("missing closing `{op}`")));
        }
        Err(self.unexpected(&format!("`,` or `{op}`")))
    }

    fn assignment(&mut self) -> ExprResult<Assignment> {
        let start = self.span().start;
        let first = self.at;
        let (mut targets, mut unpacks) = (Vec::new(), false);
        let parenthesised = self.take_op("(");
        loop {
            match self.target() {
                Some(target) => targets.push(target),
                None if targets.is_empty() => {
                    self.at = first;
                    return Err(self.no_assignment());
                }
                None => break,
            }
            if !self.take_op(",") {
                break;
            }
            unpacks = true;
        }
        if parenthesised && !self.take_op(")") || !self.is_op("=") {
            let stopped = self.at;
            self.at = first;
            if let TokenKind::Op(op) = &self.tokens[stopped.min(self.tokens.len() - 1)].kind
                && op.ends_with('=')
                && op.len() > 1
                && comparison(op).is_none()
            {
                self.at = stopped;
                return Err(self.unexpected("`=`"));
            }
            return Err(self.no_assignment());
        }
        self.at += 1;
        let value = self.tuple_or_expression()?;
        if self.is_op("=") {
            let error = self.unexpected("`;` or the end");
            // `x =~ "a"`
            let searches = self.tokens.get(self.at + 1).is_some_and(|next| next.kind == TokenKind::Op("~"));
            return Err(if searches { error } else { error.help("`==` compares; assignments are separated by `;`") });
        }
        Ok(Assignment { targets, unpacks, value, span: start..self.end_of_last() })
    }

    fn target(&mut self) -> Option<Target> {
        let span = self.span();
        if self.is_word("field") && *self.peek_after(1) == TokenKind::Op("(") {
            if let (TokenKind::Str(name), TokenKind::Op(")")) = (self.peek_after(2).clone(), self.peek_after(3)) {
                self.at += 4;
                return Some(Target { path: vec![name], span: span.start..self.end_of_last() });
            }
            return None;
        }
        let mut path = Vec::new();
        loop {
            match self.peek() {
                TokenKind::Name(name) | TokenKind::Quoted(name) => path.push(name.clone()),
                _ => return None,
            }
            self.at += 1;
            if !self.take_op(".") {
                return Some(Target { path, span: span.start..self.end_of_last() });
            }
        }
    }

    /// `a, b` without parentheses is a tuple.
    fn tuple_or_expression(&mut self) -> ExprResult<Expr> {
        let first = self.expression(0)?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let start = first.span.start;
        let mut items = vec![first];
        while self.take_op(",") {
            if matches!(self.peek(), TokenKind::End | TokenKind::Separator) {
                break;
            }
            items.push(self.expression(0)?);
        }
        node(ExprKind::Tuple(items), start..self.end_of_last())
    }

    fn expression(&mut self, least: u8) -> ExprResult<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.span()));
        }
        let result = self.climb(least);
        self.depth -= 1;
        result
    }

    fn climb(&mut self, least: u8) -> ExprResult<Expr> {
        let mut left = self.prefix()?;
        loop {
            let start = left.span.start;
            if self.is_word("is") && COMPARISON >= least {
                left = self.identity(left)?;
                continue;
            }
            if let TokenKind::Name(word) = self.peek() {
                let (binding, word, joined): (_, _, Junction) = match word.as_str() {
                    "and" => (AND, "and", ExprKind::And),
                    "or" => (OR, "or", ExprKind::Or),
                    _ => break,
                };
                if binding < least {
                    break;
                }
                let mut conditions = vec![left];
                while self.is_word(word) {
                    self.at += 1;
                    conditions.push(self.expression(binding + 1)?);
                }
                left = junction(conditions, joined)?;
                continue;
            }
            let TokenKind::Op(op) = *self.peek() else { break };
            if let Some(compare) = comparison(op) {
                if COMPARISON < least {
                    break;
                }
                let mut rest = Vec::new();
                let mut next = Some(compare);
                while let Some(compare) = next {
                    self.at += 1;
                    rest.push((compare, self.expression(COMPARISON + 1)?));
                    next = if let TokenKind::Op(op) = self.peek() { comparison(op) } else { None };
                }
                if let [middle @ .., _] = rest.as_slice() {
                    middle.iter().try_for_each(|(_, operand)| refuse_bits_between(operand))?;
                }
                let end = self.end_of_last();
                left = node(ExprKind::Compare(Box::new(left), rest), start..end)?;
                continue;
            }
            let Some((operator, binding)) = binary(op) else { break };
            if binding < least {
                break;
            }
            self.at += 1;
            // `**` is right-associative, and its right side can have a sign.
            let right = if operator == Binary::Power { self.expression(UNARY)? } else { self.expression(binding + 1)? };
            let span = start..right.span.end;
            left = node(ExprKind::Binary(operator, Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    /// `x is None` and `x is not None`, which are bound as comparisons.
    fn identity(&mut self, left: Expr) -> ExprResult<Expr> {
        let (start, word) = (left.span.start, self.span());
        self.at += 1;
        let op = if self.is_word("not") {
            self.at += 1;
            Compare::NotEqual
        } else {
            Compare::Equal
        };
        let right = self.expression(COMPARISON + 1)?;
        if right.kind != ExprKind::None {
            let (not, is_null) = (if op == Compare::NotEqual { "not " } else { "" }, Self::text_of_null(&right));
            let own = left.dotted().map_or_else(|| "x".to_owned(), |(names, _)| names.join("."));
            return Err(match is_null {
                true => ExprError::at(word, "expressions have no `is null`").help(format!("to test for null: {not}is_null({own})")),
                false => ExprError::at(word, "`is` compares only with None").help("compare with `==`"),
            });
        }
        let end = right.span.end;
        node(ExprKind::Compare(Box::new(left), vec![(op, right)]), start..end)
    }

    /// Whether an expression is the `null` of SQL and JSON.
    fn text_of_null(expr: &Expr) -> bool {
        matches!(expr.dotted().as_ref().map(|(names, _)| names.as_slice()), Some([name]) if name.eq_ignore_ascii_case("null"))
    }

    fn prefix(&mut self) -> ExprResult<Expr> {
        let start = self.span().start;
        let unary = match self.peek() {
            TokenKind::Op("-") => Some((Unary::Minus, UNARY)),
            TokenKind::Op("+") => Some((Unary::Plus, UNARY)),
            TokenKind::Op("~") => Some((Unary::Invert, UNARY)),
            TokenKind::Name(word) if word == "not" => Some((Unary::Not, NOT)),
            _ => None,
        };
        let Some((operator, binding)) = unary else {
            return self.postfix();
        };
        self.at += 1;
        let operand = self.expression(binding)?;
        let span = start..operand.span.end;
        node(ExprKind::Unary(operator, Box::new(operand)), span)
    }
}
