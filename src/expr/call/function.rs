//! A function: one row of a family's table.

use super::binding::{Call, Written};
use super::signature::Signature;
use crate::expr::error::ExprResult;
use crate::expr::operand::OperandKind;

/// A function: one row of a family's table.
pub struct Function {
    /// The displayed name, then its aliases.
    pub names: &'static [&'static str],
    /// Parameters with their defaults, as in TensorFlow: `params, indices, axis=None`. `a|b` are two names for one
    /// parameter.
    pub signature: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// Expressions without fields, and their results. Shown in the manual and run as tests.
    pub examples: &'static [(&'static str, &'static str)],
    pub meaning: Meaning,
}

/// How a call of a function is evaluated.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// Checks the arguments and returns the result type with the kernel that computes it.
    Kernel(fn(&mut Call) -> ExprResult<OperandKind>),
    /// An expression over the parameters, which may depend on arguments known before the first record.
    /// Literals at the positions `alike` take the dtype of the tensors there.
    Formula { formula: fn(&Call) -> ExprResult<String>, alike: &'static [usize] },
}

impl Function {
    /// The displayed signature, `name(params, indices, axis=None)`.
    pub fn usage(&self) -> String {
        Signature::parse(self.signature).usage(self.names[0])
    }

    /// Matches the arguments of a call to the parameters.
    ///
    /// # Errors
    /// The arguments do not match the parameters.
    pub fn matched(&self, written: Written) -> ExprResult<Call> {
        Call::new(Signature::parse(self.signature), written)
    }

    /// The result of a call of a function that has a kernel.
    ///
    /// # Errors
    /// Those of [`Function::matched`], and any other error in the arguments.
    pub fn call(&self, written: Written) -> ExprResult<OperandKind> {
        let mut call = self.matched(written)?;
        match self.meaning {
            Meaning::Kernel(bind) => bind(&mut call),
            Meaning::Formula { .. } => Err(call.internal(format!("{} has no kernel", self.names[0]))),
        }
    }
}
