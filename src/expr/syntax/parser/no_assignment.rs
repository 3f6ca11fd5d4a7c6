//! The error for a statement of `map` that is no assignment, with what was meant.

use super::Parser;
use crate::expr::error::ExprError;
use crate::expr::span::name_text;
use crate::expr::syntax::lexer::{Token, TokenKind};
use crate::expr::syntax::tree::{Compare, ExprKind};
use crate::printable::shell_word;

impl Parser<'_> {
    /// The error for the statement at the current token.
    pub(super) fn no_assignment(&mut self) -> ExprError {
        let (start, first) = (self.span(), self.at);
        if let Some((lead, meant)) = self.misspelt_target(first) {
            return ExprError::at(start, "expected an assignment").meant(lead, meant);
        }
        let parsed = self.tuple_or_expression();
        let error = match &parsed {
            Ok(expr) => ExprError::at(expr.span.clone(), "expected an assignment"),
            Err(error) if self.at > first => return error.clone(),
            Err(_) => ExprError::at(start.clone(), "expected an assignment"),
        };
        let rest = |at: usize| self.tokens.get(at).and_then(|token| self.text.get(token.span.start..)).unwrap_or_default().trim();
        let after = &self.tokens.get(first + 1).map_or(&TokenKind::End, |token| &token.kind);
        match (&self.tokens[first].kind, after) {
            (TokenKind::Name(word), TokenKind::Name(field)) if ["del", "delete", "drop", "remove", "unset"].contains(&word.as_str()) => {
                let field = name_text(field);
                return error.help(format!("write {field} = None, or use the verb drop: drop {}", shell_word(&field)));
            }
            (TokenKind::Name(word), TokenKind::Name(_)) if word == "import" || word == "from" => {
                return error.help("modules such as math are always available; omit `import`");
            }
            (TokenKind::Op("@"), _) => {
                let file = shell_word(rest(first + 1));
                return error.help(format!("let the shell read the file: map \"$(cat {file})\""));
            }
            _ => {}
        }
        let here = self.span();
        let meant = match (parsed.as_ref().map(|expr| &expr.kind), self.peek(), self.peek_after(1), self.peek_after(2)) {
            (Ok(ExprKind::Name { .. }), TokenKind::Op(":"), ..) => self.replaced(here, " =").map(|meant| ("`=` assigns:", meant)),
            (Ok(ExprKind::Compare(name, rest)), ..) if matches!(rest.as_slice(), [(Compare::Equal, _)]) && name.dotted().is_some() => {
                let equals = self.tokens[first..].iter().find(|token| token.kind == TokenKind::Op("=="));
                equals.and_then(|equals| self.replaced(equals.span.clone(), "=")).map(|meant| ("`=` assigns:", meant))
            }
            (Ok(_), TokenKind::Name(word), TokenKind::Name(name), TokenKind::End) if word.eq_ignore_ascii_case("as") => {
                let value = self.text.get(start.start..here.start).unwrap_or_default().trim();
                self.replaced(start.start..self.text.len(), &format!("{} = {value}", name_text(name))).map(|meant| ("write", meant))
            }
            _ => None,
        };
        match meant {
            Some((lead, meant)) => error.meant(lead, meant),
            None => error.help("write `name = expression`"),
        }
    }

    /// The text with the name before `=` as it is written in expressions, and what to say before it.
    fn misspelt_target(&self, first: usize) -> Option<(&'static str, String)> {
        let tokens = self.tokens.get(first..)?;
        let equals = tokens.iter().position(|token| matches!(token.kind, TokenKind::Op("=") | TokenKind::Separator))?;
        if equals == 0 || tokens[equals].kind == TokenKind::Separator {
            return None;
        }
        let span = tokens[0].span.start..tokens[equals - 1].span.end;
        let (lead, name) = match &tokens[..equals] {
            [Token { kind: TokenKind::Name(word), .. }, Token { kind: TokenKind::Name(name), .. }]
                if ["let", "set", "var", "const", "val"].contains(&word.as_str()) =>
            {
                ("write only the name:", name.as_str())
            }
            [Token { kind: TokenKind::Str(name), .. }] => ("write the name without quotes:", name.as_str()),
            words => {
                let is_part =
                    |kind: &TokenKind| matches!(kind, TokenKind::Name(_) | TokenKind::Int(_) | TokenKind::Op("-" | "/" | "%" | "@"));
                let are_parts = words.len() > 1 && words.iter().all(|word| is_part(&word.kind));
                ("put the field name in backquotes:", self.text.get(span.clone()).filter(|_| are_parts)?)
            }
        };
        Some((lead, self.replaced(span, &name_text(name))?))
    }
}
