//! The arguments of `cast`: fields with dtypes, or with types in the notation of schemas.

use crate::error::{Error, Result, nearest};
use crate::path;
use crate::schema::{DType, Field, notation};
use crate::verbs::shared::fields::{Patterns, split_assignment};

/// Fields and what they are cast to.
#[derive(Clone, Debug)]
pub struct Pairs(pub Vec<(Patterns, Target)>);

/// What a field is cast to.
#[derive(Clone, Debug)]
pub enum Target {
    /// A dtype.
    DType(DType),
    /// A type, with its default: what the text of a field is parsed as.
    Declared(Box<Field>),
}

/// Parses `x=float32,payload={id: int64}`.
///
/// # Errors
/// No pair of a field and a type, or an unknown type.
pub fn parse(text: &str) -> Result<Pairs, Error> {
    let pair = |part: &str| {
        let (name, ty) = split_assignment(part, "FIELD=TYPE, such as x=float32")?;
        Ok((Patterns::parse(name)?, parse_target(ty.trim())?))
    };
    Ok(Pairs(pieces(text)?.into_iter().map(pair).collect::<Result<_>>()?))
}

/// The pairs. A comma inside brackets or quotes, as in timestamp[us, UTC] or {id: int64, tags: string[?]}, does not separate pairs.
fn pieces(text: &str) -> Result<Vec<&str>> {
    let (mut pieces, mut start, mut depth, mut quote) = (Vec::new(), 0, 0i32, None);
    // Brackets and quotes in the name of a field have no meaning.
    let mut in_type = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('"' | '\''), '\\') => drop(chars.next()),
            (Some(open), c) => quote = Some(open).filter(|open| *open != c),
            (None, '`') => quote = Some(c),
            (None, '=') => in_type = true,
            (None, '"' | '\'') if in_type => quote = Some(c),
            (None, '[' | '(' | '{' | '<') if in_type => depth += 1,
            (None, ']' | ')' | '}' | '>') if in_type => depth -= 1,
            (None, ',') if depth <= 0 => {
                pieces.push(&text[start..at]);
                (start, depth, in_type) = (at + 1, 0, false);
            }
            _ => {}
        }
    }
    // Reports what is not closed, and a comma at the end.
    if quote == Some('`') || text[start..].trim().is_empty() {
        path::split(text, ',')?;
    }
    pieces.push(&text[start..]);
    Ok(pieces)
}

/// Parses a dtype, or a type to parse text as.
fn parse_target(text: &str) -> Result<Target> {
    let dtype = parse_dtype(text);
    let is_type = text.contains(['{', '[', '<', '=']) || text == "json" || text.starts_with("optional ");
    if dtype.is_ok() || !is_type || text.starts_with("decimal") {
        return dtype.map(Target::DType);
    }
    match notation::parse_typed(text) {
        Ok(declared) => Ok(Target::Declared(Box::new(declared))),
        // `timestamp[xs]`
        Err(_) if TIMES.iter().any(|(names, _)| names.iter().any(|name| text.starts_with(&format!("{name}[")))) => dtype.map(Target::DType),
        Err(error) => Err(error),
    }
}

fn parse_dtype(text: &str) -> Result<DType> {
    if let Some(dtype) = DType::from_name(text).filter(DType::is_tensor) {
        return Ok(dtype);
    }
    if let Some(dtype) = notation::parse_time(text) {
        return Ok(dtype);
    }
    let error = Error::usage(format!("unknown dtype `{text}`"));
    let without_unit = text.split(['[', '(']).next().unwrap_or(text);
    if without_unit.starts_with("decimal") {
        return Err(
            error.help("declare decimals with --schema, as in 'x: arrow<decimal128(9, 2)>'; cast only converts them to other types")
        );
    }
    if let Some((_, time)) = TIMES.iter().find(|(names, _)| names.contains(&without_unit)) {
        return Err(error.help(format!("did you mean {time}?")));
    }
    let names = DType::NAMED.iter().filter(|(_, d)| d.is_tensor()).map(|(name, _)| *name);
    // Names of these dtypes in other languages and libraries.
    let usual = match text {
        "float" => Some("float32 or float64"),
        "int" | "integer" => Some("int32 or int64"),
        "double" => Some("float64"),
        "half" => Some("float16"),
        "long" | "bigint" | "int128" => Some("int64"),
        "uint128" => Some("uint64"),
        "str" | "text" => Some("string"),
        "boolean" => Some("bool"),
        _ => DType::name_of_short(text),
    };
    Err(match usual.or_else(|| nearest(text, names.clone())) {
        Some(near) => error.help(format!("did you mean {near}?")),
        None => error.help(format!(
            "the dtypes are: {}; and times, such as {}",
            names.collect::<Vec<_>>().join(", "),
            TIMES.map(|(_, time)| time).join(", ")
        )),
    })
}

/// Names of times, in other languages too, and a dtype of each.
const TIMES: [(&[&str], &str); 4] = [
    (&["timestamp", "datetime", "datetime64"], "timestamp[us]"),
    (&["date"], "date32"),
    (&["time"], "time64[us]"),
    (&["duration", "timedelta", "interval"], "duration[us]"),
];

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn commas_in_types_do_not_separate_pairs() {
        for (text, expected) in [
            ("x=int8,y=bool", vec!["x=int8", "y=bool"]),
            ("t=timestamp[us, UTC],d=decimal128(9, 2)", vec!["t=timestamp[us, UTC]", "d=decimal128(9, 2)"]),
            ("p={a: int64, b: map<string, int64>},x=int8", vec!["p={a: int64, b: map<string, int64>}", "x=int8"]),
            ("p={a: string = \"},\\\"\", `b}`: int64},x=int8", vec!["p={a: string = \"},\\\"\", `b}`: int64}", "x=int8"]),
            ("`a,b`=int8,c(d=int8,\"e=int8", vec!["`a,b`=int8", "c(d=int8", "\"e=int8"]),
        ] {
            assert_eq!(pieces(text).unwrap(), expected, "{text}");
        }
        for text in ["x=int8,", "`x=int8,y=int8"] {
            assert!(pieces(text).is_err(), "{text}");
        }
    }
}
