//! A function: one row of a family's table.

use super::binding::{Call, Written};
use super::signature::Signature;
use crate::expr::error::ExprResult;
use crate::expr::operand::OperandKind;

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
    pub meaning: Meaning,
}

/// What a call of a function is.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// Checks the arguments, and gives the type of the result with the kernel that computes it.
    Kernel(fn(&mut Call) -> ExprResult<OperandKind>),
    /// An expression of the parameters, which may depend on arguments that are known before the first record.
    Formula(fn(&Call) -> ExprResult<String>),
}

impl Function {
    /// `name(params, indices, axis=None)`, as it is shown.
    pub fn usage(&self) -> String {
        Signature::parse(self.signature).usage(self.names[0])
    }

    /// The arguments of a call in the order of the parameters.
    ///
    /// # Errors
    /// Arguments that do not match the parameters.
    pub fn matched(&self, written: Written) -> ExprResult<Call> {
        Call::new(Signature::parse(self.signature), written)
    }

    /// What a call of a function with a kernel gives.
    ///
    /// # Errors
    /// As [`Function::matched`]; whatever is wrong with the arguments.
    pub fn call(&self, written: Written) -> ExprResult<OperandKind> {
        let mut call = self.matched(written)?;
        match self.meaning {
            Meaning::Kernel(bind) => bind(&mut call),
            Meaning::Formula(_) => Err(call.internal(format!("{} has no kernel", self.names[0]))),
        }
    }
}
