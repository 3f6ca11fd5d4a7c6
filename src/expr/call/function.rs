//! A function: one row of a family's table.

use super::binding::Call;
use super::signature::Signature;
use crate::expr::error::ExprResult;
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::span::Span;
use std::sync::Arc;

/// A function: one row of a family's table.
pub struct Function {
    /// The name that is shown, then its aliases.
    pub names: &'static [&'static str],
    /// Parameters with their defaults as TensorFlow has them: `params, indices, axis=None`. `a|b` are two names of one.
    pub signature: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Expressions without fields and what they give: shown in the manual, run by a test.
    pub examples: &'static [(&'static str, &'static str)],
    /// Checks the arguments, and gives the type of the result with the kernel that computes it.
    pub bind: fn(&mut Call) -> ExprResult<OperandKind>,
}

impl Function {
    /// `name(params, indices, axis=None)`, as it is shown.
    pub fn usage(&self) -> String {
        Signature::parse(self.signature).usage(self.names[0])
    }

    /// What a call of the function gives; `name` is how it was written.
    ///
    /// # Errors
    /// Arguments that do not match the parameters; as `bind`.
    pub fn call(
        &self,
        name: &str,
        span: Span,
        text: Arc<str>,
        positional: Vec<Operand>,
        keywords: Vec<(String, Span, Operand)>,
    ) -> ExprResult<OperandKind> {
        let mut call = Call::new(Signature::parse(self.signature), name, span, text, positional, keywords)?;
        (self.bind)(&mut call)
    }
}
