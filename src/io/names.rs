//! What standard input and output are called in messages.

pub const STANDARD_INPUT: &str = "standard input";
pub const STANDARD_OUTPUT: &str = "standard output";
