//! Expressions whose results may take many times the memory of the records: which they are, what their results take, and
//! their evaluation for fewer records at a time.

use super::functions;
use super::syntax::{Expr, ExprKind};
use crate::chunk::Chunk;
use crate::error::{Error, Reason, Result};
use std::cell::Cell;
use std::rc::Rc;

/// Whether an expression uses a function whose result may take many times the memory of its arguments.
pub fn names_growing(expr: &Expr) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Name { name, .. } | ExprKind::Attribute { name, .. } => functions::grows(name),
        _ => false,
    };
    expr.children(&mut |child| found |= names_growing(child));
    found
}

/// The memory of a result, or of the largest result of a call on the way to it, which `evaluate` leaves in the cell. `None`
/// if there is no result; more than any memory if it would be too large.
pub fn most_nbytes(evaluate: impl FnOnce(Rc<Cell<usize>>) -> Result<usize>) -> Option<usize> {
    let most = Rc::new(Cell::new(0));
    match evaluate(most.clone()) {
        Ok(nbytes) => Some(most.get().max(nbytes)),
        Err(error) => is_too_large(&error).then_some(usize::MAX),
    }
}

/// The results for all records of a chunk; for fewer at a time if they would be too large together, because what is too
/// large for a record must not depend on the neighboring records.
///
/// # Errors
/// Errors of `evaluate`, with rows of the whole chunk, and of `join`.
pub fn below_limit<T>(chunk: &Chunk, evaluate: &dyn Fn(&Chunk) -> Result<T>, join: fn(T, T) -> Result<T>) -> Result<T> {
    match evaluate(chunk) {
        Err(error) if is_too_large(&error) && chunk.nrows > 1 => {
            let middle = chunk.nrows / 2;
            let first = below_limit(&chunk.slice(0, middle), evaluate, join)?;
            let second = below_limit(&chunk.slice(middle, chunk.nrows - middle), evaluate, join);
            join(first, second.map_err(|e| after(middle, e))?)
        }
        Err(error) if is_too_large(&error) => Err(error.locate(|at| at.row = at.row.or(Some(0)))),
        result => result,
    }
}

/// The error of a part of a chunk that begins at this row.
pub fn after(start: usize, error: Error) -> Error {
    error.locate(|at| at.row = at.row.map(|row| row + start))
}

/// Whether the result for fewer records may be small enough.
pub fn is_too_large(error: &Error) -> bool {
    matches!(error.reason(), Some(Reason::TooLarge))
}
