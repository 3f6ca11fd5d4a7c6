//! The syntax of expressions: Python's, as a tree that keeps the span of each node.
//!
//! - [`lexer`]: text to tokens.
//! - [`parser`]: tokens to a [`tree`], without knowledge of fields, functions or types.

mod lexer;
mod parser;
mod tree;

pub use parser::{parse_expression, parse_formula, parse_statements};
pub use tree::{Argument, Assignment, Binary, Compare, Expr, ExprKind, MAX_DEPTH, Target, Unary};
