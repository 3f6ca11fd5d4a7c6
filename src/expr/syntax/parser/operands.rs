//! The operands of expressions: names, literals, brackets and lambdas, with what follows them: attributes, arguments and
//! subscripts.

use super::{Parser, node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::span::Span;
use crate::expr::syntax::lexer::TokenKind;
use crate::expr::syntax::tree::{Argument, Expr, ExprKind};

impl Parser<'_> {
    /// An operand, with all attributes, calls and subscripts after it.
    pub(super) fn postfix(&mut self) -> ExprResult<Expr> {
        let mut expr = self.atom()?;
        loop {
            let start = expr.span.start;
            let opened = self.span();
            if self.take_op(".") {
                let name = match self.peek() {
                    TokenKind::Name(name) | TokenKind::Quoted(name) => name.clone(),
                    _ => return Err(self.unexpected("a name after `.`")),
                };
                self.at += 1;
                expr = node(ExprKind::Attribute { of: Box::new(expr), name }, start..self.end_of_last())?;
            } else if self.take_op("(") {
                let args = self.arguments(&opened)?;
                expr = node(ExprKind::Call { callee: Box::new(expr), args }, start..self.end_of_last())?;
            } else if self.take_op("[") {
                let keys = self.keys(&opened)?;
                expr = node(ExprKind::Subscript { of: Box::new(expr), keys }, start..self.end_of_last())?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn arguments(&mut self, opened: &Span) -> ExprResult<Vec<Argument>> {
        let mut args: Vec<Argument> = Vec::new();
        while !self.take_op(")") {
            if matches!(self.peek(), TokenKind::Op("*" | "**")) {
                return Err(self.unexpected("an argument").help("* and ** are not supported; write out each argument"));
            }
            let keyword = match (self.peek(), self.peek_after(1)) {
                (TokenKind::Name(name), TokenKind::Op("=")) => Some((name.clone(), self.span())),
                _ => None,
            };
            if keyword.is_some() {
                self.at += 2;
            } else if args.iter().any(|a| a.keyword.is_some()) {
                return Err(ExprError::at(self.span(), "a positional argument follows a keyword argument"));
            }
            args.push(Argument { keyword, value: self.expression(0)? });
            if !self.take_op(",") {
                self.expect(")", opened)?;
                break;
            }
        }
        Ok(args)
    }

    fn keys(&mut self, opened: &Span) -> ExprResult<Vec<Expr>> {
        let mut keys = Vec::new();
        while !self.take_op("]") {
            keys.push(self.key()?);
            if !self.take_op(",") {
                self.expect("]", opened)?;
                break;
            }
        }
        if keys.is_empty() {
            return Err(ExprError::at(opened.start..self.end_of_last(), "empty subscript")
                .help("write x[0], x[1:], x[:, -1:]; to get a field of all structures, omit [], as in docs.title"));
        }
        Ok(keys)
    }

    fn key(&mut self) -> ExprResult<Expr> {
        let start = self.span().start;
        let part = |parser: &mut Parser| -> ExprResult<Option<Box<Expr>>> {
            Ok(match parser.peek() {
                TokenKind::Op(":" | "," | "]") => None,
                _ => Some(Box::new(parser.expression(0)?)),
            })
        };
        let first = part(self)?;
        if !self.take_op(":") {
            return match first {
                Some(key) => Ok(*key),
                None => Err(self.unexpected("a subscript")),
            };
        }
        let stop = part(self)?;
        let step = if self.take_op(":") { part(self)? } else { None };
        node(ExprKind::Slice { start: first, stop, step }, start..self.end_of_last())
    }

    fn atom(&mut self) -> ExprResult<Expr> {
        let span = self.span();
        let kind = match self.peek().clone() {
            TokenKind::Int(n) => ExprKind::Int(n),
            TokenKind::Float(n) => ExprKind::Float(n),
            // Adjacent strings are one.
            TokenKind::Str(mut s) => {
                while let TokenKind::Str(next) = self.peek_after(1) {
                    s.push_str(next);
                    self.at += 1;
                }
                ExprKind::Str(s)
            }
            TokenKind::Bytes(mut b) => {
                while let TokenKind::Bytes(next) = self.peek_after(1) {
                    b.extend_from_slice(next);
                    self.at += 1;
                }
                ExprKind::Bytes(b)
            }
            TokenKind::Quoted(name) => ExprKind::Name { name, quoted: true },
            TokenKind::Op("...") => ExprKind::Ellipsis,
            TokenKind::Name(name) => match name.as_str() {
                "None" => ExprKind::None,
                "True" => ExprKind::Bool(true),
                "False" => ExprKind::Bool(false),
                "lambda" => return self.lambda(),
                "if" | "for" | "in" | "is" | "and" | "or" | "else" | "import" | "def" | "return" | "while" | "yield" | "await" => {
                    return Err(self.unexpected("an expression"));
                }
                "field" if matches!((self.peek_after(1), self.peek_after(3)), (TokenKind::Op("("), TokenKind::Op(")"))) => {
                    if let TokenKind::Str(name) = self.peek_after(2).clone() {
                        self.at += 4;
                        return Ok(Expr::leaf(ExprKind::Name { name, quoted: true }, span.start..self.end_of_last()));
                    }
                    ExprKind::Name { name, quoted: false }
                }
                _ => ExprKind::Name { name, quoted: false },
            },
            TokenKind::Op("(") => return self.parenthesised(),
            TokenKind::Op("[") => {
                self.at += 1;
                let items = self.items("]", &span)?;
                return node(ExprKind::List(items), span.start..self.end_of_last());
            }
            TokenKind::Op("{") => return self.dict(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.at += 1;
        Ok(Expr::leaf(kind, span.start..self.end_of_last()))
    }

    fn items(&mut self, close: &'static str, opened: &Span) -> ExprResult<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.take_op(close) {
            items.push(self.expression(0)?);
            if !self.take_op(",") {
                self.expect(close, opened)?;
                break;
            }
        }
        Ok(items)
    }

    fn parenthesised(&mut self) -> ExprResult<Expr> {
        let opened = self.span();
        self.at += 1;
        if self.take_op(")") {
            return Ok(Expr::leaf(ExprKind::Tuple(Vec::new()), opened.start..self.end_of_last()));
        }
        let mut first = self.expression(0)?;
        if self.take_op(")") {
            first.span = opened.start..self.end_of_last();
            return Ok(first);
        }
        if !self.take_op(",") {
            self.expect(")", &opened)?;
        }
        let mut items = vec![first];
        items.extend(self.items(")", &opened)?);
        node(ExprKind::Tuple(items), opened.start..self.end_of_last())
    }

    fn dict(&mut self) -> ExprResult<Expr> {
        let opened = self.span();
        self.at += 1;
        let mut items = Vec::new();
        while !self.take_op("}") {
            let key = self.expression(0)?;
            if !self.take_op(":") {
                return Err(self.unexpected("`:` after the key"));
            }
            items.push((key, self.expression(0)?));
            if !self.take_op(",") {
                self.expect("}", &opened)?;
                break;
            }
        }
        node(ExprKind::Dict(items), opened.start..self.end_of_last())
    }

    /// `lambda x, y: body`.
    fn lambda(&mut self) -> ExprResult<Expr> {
        let start = self.span().start;
        self.at += 1;
        let mut params = Vec::new();
        while !self.take_op(":") {
            let TokenKind::Name(name) = self.peek().clone() else {
                return Err(self.unexpected("the name of a parameter, or `:`"));
            };
            if params.contains(&name) {
                return Err(ExprError::at(self.span(), format!("duplicate parameter {name}")));
            }
            self.at += 1;
            params.push(name);
            if !self.is_op(":") && !self.take_op(",") {
                return Err(self.unexpected("`,` or `:`"));
            }
        }
        let body = self.expression(0)?;
        let end = body.span.end;
        node(ExprKind::Lambda { params, body: Box::new(body) }, start..end)
    }
}
