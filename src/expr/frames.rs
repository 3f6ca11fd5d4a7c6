//! Rewrites expressions in the syntax of pandas, Polars and Spark, where fields belong to a data frame.

use super::span::name_text;
use crate::quotes::{Piece, QUOTES};

/// Names that data frames have in examples.
pub const FRAMES: [&str; 6] = ["df", "data", "row", "rec", "record", "r"];

/// Names of the modules whose `col` is a field, and `lit` a literal.
pub const COLUMN_MODULES: [&str; 4] = ["pl", "F", "polars", "functions"];

/// The statement or condition with fields by their names alone, as in `x` for `df.x`, `df["x"]` and `pl.col("x")`; `None` if
/// there are no such fields.
pub fn without_frames(text: &str) -> Option<String> {
    without(text, &FRAMES)
}

/// The same for records of other names.
pub fn without(text: &str, frames: &[&str]) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let (mut out, mut rest, mut found) = (String::new(), text, false);
    while let Some(piece) = Piece::first(rest, QUOTES) {
        let after_name = out.ends_with(is_part);
        if let Some((field, after)) = Some(rest).filter(|_| !after_name).and_then(|rest| field_at(rest, frames)) {
            out.push_str(&field);
            rest = after;
            found = true;
            continue;
        }
        // A string is kept.
        let (kept, after) = rest.split_at(piece.nbytes());
        out.push_str(kept);
        rest = after;
    }
    // Rows are chosen in brackets: `df[df.x > 2]`.
    let chosen = || frames.iter().find_map(|frame| out.trim().strip_prefix(*frame)?.strip_prefix('[')?.strip_suffix(']'));
    let meant = aliased(&out).or_else(|| chosen().map(str::to_owned));
    found.then(|| meant.unwrap_or(out))
}

/// The field at the start of a text, and the text after it.
fn field_at<'a>(text: &'a str, frames: &[&str]) -> Option<(String, &'a str)> {
    for frame in frames {
        let Some(after) = text.strip_prefix(*frame) else { continue };
        if let Some((name, after)) = after.strip_prefix('[').and_then(string_at) {
            return Some((name_text(name), after.trim_start().strip_prefix(']')?));
        }
        if let Some(after) = after.strip_prefix('.').filter(|after| after.starts_with(|c: char| c.is_alphabetic() || c == '_')) {
            return Some((String::new(), after));
        }
    }
    let of_module = COLUMN_MODULES.iter().find_map(|module| text.strip_prefix(module)?.strip_prefix('.'));
    let call = of_module.unwrap_or(text);
    if let Some((name, after)) = call.strip_prefix("col(").and_then(string_at) {
        return Some((name_text(name), after.trim_start().strip_prefix(')')?));
    }
    let literal = call.strip_prefix("lit(").filter(|_| of_module.is_some())?;
    let (inner, after) = literal.split_once(')').filter(|(inner, _)| !inner.contains('('))?;
    Some((inner.to_owned(), after))
}

/// The contents of the string at the start of a text, and the text after it.
fn string_at(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    text[1..].split_once(quote)
}

/// `y = EXPR` for `EXPR.alias("y")`.
fn aliased(text: &str) -> Option<String> {
    let (expr, name) = text.trim().strip_suffix(')')?.rsplit_once(".alias(")?;
    let (name, "") = string_at(name)? else { return None };
    (!expr.contains(['=', ';'])).then(|| format!("{} = {expr}", name_text(name)))
}

#[cfg(test)]
mod tests {
    use super::without_frames;

    #[test]
    fn fields_are_named_alone() {
        for (text, expected) in [
            ("y = df.x * 2", Some("y = x * 2")),
            ("df[\"y\"] = df['a b'] + row.x", Some("y = `a b` + x")),
            ("pl.col(\"x\") > pl.lit(2)", Some("x > 2")),
            ("pl.col(\"x\").alias(\"y\")", Some("y = x")),
            ("col('x') == 'df.x'", Some("x == 'df.x'")),
            ("df[df.x > 2]", Some("x > 2")),
            ("x.df.y + \"df.z\"", None),
            ("y = x", None),
        ] {
            assert_eq!(without_frames(text).as_deref(), expected, "{text}");
        }
    }
}
