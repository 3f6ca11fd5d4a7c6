//! `--source hive`: fields in the names of directories, such as `year=2024/month=01/part-0.parquet`. As in Spark, Polars and
//! DuckDB, a field whose values are all integers holds int64, names and values are decoded like URLs, and
//! `__HIVE_DEFAULT_PARTITION__` is null.

use crate::io::Input;
use crate::schema::{DType, Field, Type};
use std::path::Path;
use std::sync::Arc;

/// What Hive writes for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The value of a field for all records of an input.
#[derive(Clone, Debug)]
pub enum Constant {
    Integer(Option<i64>),
    Text(Option<String>),
}

/// What the directories of all inputs say of a field.
struct Seen {
    name: String,
    /// The number of inputs with a value.
    count: usize,
    are_integers: bool,
}

/// The fields in the directories of a file, outermost first; of a name that comes twice, the innermost.
fn fields(path: &Path) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    for directory in path.parent().into_iter().flat_map(Path::iter) {
        let Some((name, value)) = directory.to_str().and_then(|directory| directory.split_once('=')) else { continue };
        let (name, value) = (decoded(name), Some(decoded(value)).filter(|value| value != NULL));
        if !name.is_empty() {
            found.retain(|(other, _)| *other != name);
            found.push((name, value));
        }
    }
    found
}

/// The fields in the directories of all inputs.
pub fn all_fields(inputs: &[Arc<Input>]) -> Vec<Field> {
    let mut all: Vec<Seen> = Vec::new();
    for (name, value) in inputs.iter().filter_map(|input| input.path()).flat_map(fields) {
        let at = all.iter().position(|seen| seen.name == name).unwrap_or_else(|| {
            all.push(Seen { name, count: 0, are_integers: true });
            all.len() - 1
        });
        if let Some(value) = value {
            all[at].count += 1;
            all[at].are_integers &= integer(&value).is_some();
        }
    }
    let field = |seen: Seen| {
        let dtype = if seen.are_integers { DType::Int64 } else { DType::String };
        Field::new(seen.name, Type::tensor(dtype, Vec::new()).with_optional(seen.count < inputs.len()))
    };
    all.into_iter().map(field).collect()
}

/// The values of these fields for an input; null if its directories do not name the field.
pub fn constants(all: &[Field], input: &Input) -> Vec<(Field, Constant)> {
    let own = input.path().map(fields).unwrap_or_default();
    let value = |field: &Field| {
        let text = own.iter().find(|(name, _)| *name == field.name).and_then(|(_, value)| value.clone());
        match field.ty.dtype() {
            Some(DType::Int64) => Constant::Integer(text.and_then(|text| integer(&text))),
            _ => Constant::Text(text),
        }
    };
    all.iter().map(|field| (field.clone(), value(field))).collect()
}

/// An integer, which may begin with zeros, such as a month.
fn integer(text: &str) -> Option<i64> {
    let is_plain = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// A text with its `%20` decoded. What is no code, or would be no UTF-8, stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.filter(|code| !code.starts_with('+')).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_paths() {
        for (path, expected) in [
            ("d/year=2024/month=01/x.parquet", vec![("year", Some("2024")), ("month", Some("01"))]),
            ("d/a=1/a=2/b=__HIVE_DEFAULT_PARTITION__/x", vec![("a", Some("2")), ("b", None)]),
            ("c=a%20b%2Fc=%zz/x=1", vec![("c", Some("a b/c=%zz"))]),
            ("=1/e=/x", vec![("e", Some(""))]),
            ("a=%FF/x", vec![("a", Some("%FF"))]),
            ("a=1", vec![]),
        ] {
            let found = fields(Path::new(path));
            let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn integers_of_texts() {
        for (text, expected) in [("01", Some(1)), ("-5", Some(-5)), ("+5", None), ("", None), ("1e3", None), ("9223372036854775808", None)]
        {
            assert_eq!(integer(text), expected, "{text}");
        }
    }
}
