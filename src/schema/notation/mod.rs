//! The text notation of schemas and types, parsed and printed by the same rules.
//!
//! ```text
//! schema  = field { (";" | new line) field }               comments run from # to the end of the line
//! field   = name ":" type [ "=" literal ] [ "from" name ] [ "split by" split {"," split} | "at" name {"," name} ]
//! type    = ["optional"] element [ "[" dim {"," dim} "]" ] ["with nulls"]
//! element = dtype | "{" [ field {"," field} ] "}" | "sparse<" dtype ">" | "arrow<" arrow type ">"
//! dim     = number | "?" | label | "(?)" | "(" label ")"
//! split   = ("row_lengths" | "row_splits" | "row_starts" | "row_limits" | "value_rowids") "(" name ")"
//!         | "uniform_row_length(" number ")"
//! name    = letters, digits and characters that have no meaning here | "`" anything, "`" doubled "`" | JSON string
//! ```
//!
//! Inside brackets, newlines are whitespace. Axis 0 of a field has a single slice in each record (or in each structure,
//! for a field inside a structure), so it is never ragged by itself and is printed as `?`. Inside a structure that has
//! axes, `(?)` is accepted there with the same meaning.

mod arrow;
mod json;
mod name;
mod option;
mod parse;
mod print;

pub use arrow::arrow_type_text;
pub use json::{is_json, parse_json};
pub use name::name_text;
pub use option::{declaration, parsing, schema_option};
pub use parse::{parse, parse_time, parse_type, parse_typed};
pub use print::{fitted, lines, typed};

pub use super::literal::{parse_literal, parse_literal_for};

#[cfg(test)]
mod tests;
