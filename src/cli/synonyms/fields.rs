//! Placeholders that are filled from the fields of the records, where the command line of another tool names none.

use crate::cli::split::is_option;
use crate::path::{in_expression, quoted};
use crate::printable::{listed, shell_word};
use crate::schema::{DType, Element, Field, Schema};

/// A command that names more fields is too long to read.
const MOST: usize = 8;

/// A search of all strings, as `grep` reads whole lines, or of one column.
pub fn searched(schema: Option<&Schema>, column: Option<&str>, regex: &str, is_inverted: bool) -> String {
    let is_string = |field: &&Field| field.ty.dims.is_empty() && matches!(field.ty.element, Element::Value(DType::String));
    let value = |field: &Field| {
        let name = in_expression(&field.name);
        if field.ty.optional { format!("fill_null({name}, \"\")") } else { name }
    };
    let found: Vec<String> = schema
        .map_or(&[][..], |schema| &schema.fields)
        .iter()
        .filter(|field| is_string(field) && column.is_none_or(|column| field.name == column))
        .map(value)
        .collect();
    let values = match column {
        _ if (1..=MOST).contains(&found.len()) => found,
        Some(column) => vec![in_expression(column)],
        None => vec!["FIELD".to_owned()],
    };
    let tests: Vec<String> = values.iter().map(|value| format!("strings.regex_full_match({value}, \"{regex}\")")).collect();
    match (is_inverted, tests.len()) {
        (false, _) => tests.join(" or "),
        (true, 1) => format!("not {}", tests[0]),
        (true, _) => format!("not ({})", tests.join(" or ")),
    }
}

/// The names of all fields, for a key of whole records.
pub fn all(schema: &Schema) -> Option<String> {
    let names: Vec<String> = schema.fields.iter().map(|field| quoted(&field.name)).collect();
    (!names.is_empty() && names.len() <= MOST).then(|| shell_word(&names.join(",")))
}

/// The only field that both have.
pub fn common(one: &Schema, other: &Schema) -> Option<String> {
    let mut names = one.fields.iter().map(|field| &field.name).filter(|name| other.index_of(name).is_some());
    names.next().filter(|_| names.next().is_none()).map(|name| shell_word(&quoted(name)))
}

/// All fields but one.
pub fn others(schema: &Schema, but: &str) -> Option<String> {
    let names: Vec<String> = schema.fields.iter().filter(|field| field.name != but).map(|field| quoted(&field.name)).collect();
    (!names.is_empty() && names.len() <= MOST).then(|| shell_word(&names.join(",")))
}

/// Whether the field is a string in each record.
pub fn is_string(schema: &Schema, name: &str) -> bool {
    schema.fields.iter().any(|field| field.name == name && field.ty.dims.is_empty() && field.ty.dtype() == Some(&DType::String))
}

/// A condition that no field is null.
pub fn without_nulls(schema: &Schema) -> Option<String> {
    let nullable = schema.fields.iter().filter(|field| field.ty.optional);
    let tests: Vec<String> = nullable.map(|field| format!("not is_null({}, level=0)", in_expression(&field.name))).collect();
    (!tests.is_empty() && tests.len() <= MOST).then(|| tests.join(" and "))
}

/// `--shape` for all lists of scalars, with this size.
pub fn shapes(schema: &Schema, size: &str) -> Option<String> {
    let is_list = |field: &&Field| field.ty.dims.len() == 1 && matches!(field.ty.element, Element::Value(_));
    let lists: Vec<String> = schema.fields.iter().filter(is_list).map(|field| quoted(&field.name)).collect();
    let shape = |name: &String| format!(" --shape {}", shell_word(&format!("{name}=[{size}]")));
    (!lists.is_empty() && lists.len() <= MOST)
        .then(|| format!("-f {}{}", shell_word(&lists.join(",")), lists.iter().map(shape).collect::<String>()))
}

/// The fields at the positions of `cut -f 1,3-4`, which counts from 1.
pub fn numbered(schema: &Schema, own: &[String]) -> Option<String> {
    let after = |at: usize| match own[at].as_str() {
        "-f" | "-c" => own.get(at + 1).cloned(),
        word => word.strip_prefix("-f").or_else(|| word.strip_prefix("-c")).map(str::to_owned),
    };
    let list = (0..own.len()).filter(|at| is_option(&own[*at])).find_map(after)?;
    let mut names = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let last = if last.is_empty() { schema.fields.len() } else { last.parse().ok()? };
        let first = first.parse::<usize>().ok()?.checked_sub(1)?;
        names.extend(schema.fields.get(first..last)?.iter().map(|field| quoted(&field.name)));
    }
    (!names.is_empty()).then(|| shell_word(&names.join(",")))
}

/// The only string of each record.
pub fn only_string(schema: &Schema) -> Option<&str> {
    let mut strings = schema.fields.iter().filter(|field| is_string(schema, &field.name));
    strings.next().filter(|_| strings.next().is_none()).map(|field| field.name.as_str())
}

/// `FIELD=VALUE` for all fields with nulls that can hold the value.
pub fn filled(schema: &Schema, value: &str) -> Option<String> {
    let is_number = value.parse::<f64>().is_ok();
    let can_hold = |field: &&Field| match field.ty.dtype() {
        Some(DType::String) => !is_number,
        Some(dtype) if is_number => dtype.is_float() || (dtype.is_integer() && value.parse::<i64>().is_ok()),
        _ => false,
    };
    let fields = schema.fields.iter().filter(|field| field.ty.optional && field.ty.dims.is_empty()).filter(can_hold);
    let pairs: Vec<String> = fields.map(|field| format!("{}={value}", quoted(&field.name))).collect();
    (!pairs.is_empty() && pairs.len() <= MOST).then(|| shell_word(&pairs.join(",")))
}

/// The names for a choice of one, such as `FIELD is one of a, b`.
pub fn choices(schema: &Schema, are_strings: bool) -> Option<String> {
    let fields = schema.fields.iter().filter(|field| !are_strings || is_string(schema, &field.name));
    let names: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
    (names.len() > 1).then(|| format!("FIELD is one of {}", listed(names.into_iter(), MOST)))
}

/// Whether all fields are values, as in CSV.
pub fn are_values(schema: &Schema) -> bool {
    schema.fields.iter().all(|field| field.ty.dims.is_empty() && matches!(field.ty.element, Element::Value(_)))
}
