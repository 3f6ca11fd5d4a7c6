//! The names of Arrow types inside `arrow<...>`. Every type is printed and parsed exactly.
//!
//! Source of the names: `pyarrow`. A nested field is written `name: type`, followed by `not null` if it is not nullable
//! and `metadata {"key": "value"}` if it has metadata.

use super::name::{name, name_text};
use crate::error::{Error, Result, nearest};
use crate::schema::cursor::Cursor;
use crate::schema::literal::{quote, text};
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use std::collections::HashMap;
use std::sync::Arc;

/// Types with a single-word name.
const PLAIN: [(&str, DataType); 24] = [
    ("null", DataType::Null),
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float16", DataType::Float16),
    ("float32", DataType::Float32),
    ("float64", DataType::Float64),
    ("date32", DataType::Date32),
    ("date64", DataType::Date64),
    ("string", DataType::Utf8),
    ("large_string", DataType::LargeUtf8),
    ("string_view", DataType::Utf8View),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("binary_view", DataType::BinaryView),
    ("interval[year_month]", DataType::Interval(IntervalUnit::YearMonth)),
    ("interval[day_time]", DataType::Interval(IntervalUnit::DayTime)),
    ("interval[month_day_nano]", DataType::Interval(IntervalUnit::MonthDayNano)),
];

const COMPOUND: [&str; 21] = [
    "timestamp",
    "time32",
    "time64",
    "duration",
    "interval",
    "decimal32",
    "decimal64",
    "decimal128",
    "decimal256",
    "fixed_size_binary",
    "list",
    "large_list",
    "list_view",
    "large_list_view",
    "fixed_size_list",
    "struct",
    "map",
    "dictionary",
    "run_end_encoded",
    "sparse_union",
    "dense_union",
];

/// Scalar types that can be written without `arrow<...>` too.
pub const ARROW_VALUES: [&str; 11] =
    ["timestamp", "date32", "date64", "time32", "time64", "duration", "interval", "decimal32", "decimal64", "decimal128", "decimal256"];

const UNITS: [(&str, TimeUnit); 4] =
    [("s", TimeUnit::Second), ("ms", TimeUnit::Millisecond), ("us", TimeUnit::Microsecond), ("ns", TimeUnit::Nanosecond)];

fn unit_text(unit: &TimeUnit) -> &'static str {
    UNITS.iter().find(|(_, u)| u == unit).map_or("", |(name, _)| name)
}

/// `timestamp[us]`, as in `arrow<timestamp[us]>`.
pub fn arrow_type_text(ty: &DataType) -> String {
    if let Some((name, _)) = PLAIN.iter().find(|(_, plain)| plain == ty) {
        return (*name).to_owned();
    }
    match ty {
        DataType::Timestamp(unit, None) => format!("timestamp[{}]", unit_text(unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp[{}, {}]", unit_text(unit), zone_text(zone)),
        DataType::Time32(unit) => format!("time32[{}]", unit_text(unit)),
        DataType::Time64(unit) => format!("time64[{}]", unit_text(unit)),
        DataType::Duration(unit) => format!("duration[{}]", unit_text(unit)),
        DataType::Decimal32(precision, scale) => format!("decimal32({precision}, {scale})"),
        DataType::Decimal64(precision, scale) => format!("decimal64({precision}, {scale})"),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::FixedSizeBinary(width) => format!("fixed_size_binary[{width}]"),
        DataType::List(item) => format!("list<{}>", field_text(item)),
        DataType::LargeList(item) => format!("large_list<{}>", field_text(item)),
        DataType::ListView(item) => format!("list_view<{}>", field_text(item)),
        DataType::LargeListView(item) => format!("large_list_view<{}>", field_text(item)),
        DataType::FixedSizeList(item, size) => format!("fixed_size_list<{}>[{size}]", field_text(item)),
        DataType::Struct(fields) => {
            format!("struct<{}>", fields.iter().map(|f| field_text(f)).collect::<Vec<_>>().join(", "))
        }
        DataType::Map(entries, sorted) => format!("map<{}>{}", field_text(entries), if *sorted { " sorted" } else { "" }),
        DataType::Dictionary(key, value) => format!("dictionary<{}, {}>", arrow_type_text(key), arrow_type_text(value)),
        DataType::RunEndEncoded(ends, values) => format!("run_end_encoded<{}, {}>", field_text(ends), field_text(values)),
        DataType::Union(fields, mode) => {
            let fields: Vec<String> = fields.iter().map(|(id, f)| format!("{id}={}", field_text(f))).collect();
            format!("{}<{}>", if *mode == UnionMode::Dense { "dense_union" } else { "sparse_union" }, fields.join(", "))
        }
        // All other types are in the table above.
        other => other.to_string(),
    }
}

fn field_text(field: &Field) -> String {
    let mut text = format!("{}: {}", name_text(field.name()), arrow_type_text(field.data_type()));
    if !field.is_nullable() {
        text.push_str(" not null");
    }
    if !field.metadata().is_empty() {
        let mut pairs: Vec<_> = field.metadata().iter().map(|(k, v)| format!("{}: {}", quote(k), quote(v))).collect();
        pairs.sort();
        text.push_str(&format!(" metadata {{{}}}", pairs.join(", ")));
    }
    text
}

/// A time zone, quoted unless it consists of letters and the characters in `Europe/Berlin` and `+02:00`.
fn zone_text(zone: &str) -> String {
    if !zone.is_empty() && zone.chars().all(in_zone) { zone.to_owned() } else { quote(zone) }
}

fn in_zone(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/_+-:".contains(c)
}

/// Parses an Arrow type and stops after it.
pub(super) fn arrow_type(cursor: &mut Cursor) -> Result<DataType> {
    let (start, word) = (cursor.pos(), cursor.peek_word());
    if let Some((_, plain)) = PLAIN.iter().find(|(name, _)| *name == word) {
        cursor.advance(word.len());
        return Ok(plain.clone());
    }
    if !COMPOUND.contains(&word) {
        return Err(unknown_type(cursor, start, word));
    }
    cursor.advance(word.len());
    let bracket = match word {
        "timestamp" | "time32" | "time64" | "duration" | "interval" | "fixed_size_binary" => ('[', ']'),
        "decimal32" | "decimal64" | "decimal128" | "decimal256" => ('(', ')'),
        _ => ('<', '>'),
    };
    if !cursor.open(bracket.0)? {
        return Err(without_parameters(cursor, word, bracket.0));
    }
    let found = match word {
        "timestamp" => {
            let unit = unit(cursor, &["s", "ms", "us", "ns"])?;
            let zone = if cursor.eat(',') { Some(zone(cursor)?) } else { None };
            DataType::Timestamp(unit, zone)
        }
        "time32" => DataType::Time32(unit(cursor, &["s", "ms"])?),
        "time64" => DataType::Time64(unit(cursor, &["us", "ns"])?),
        "duration" => DataType::Duration(unit(cursor, &["s", "ms", "us", "ns"])?),
        "interval" => interval(cursor)?,
        "fixed_size_binary" => DataType::FixedSizeBinary(cursor.number("a width in bytes")?),
        "decimal32" | "decimal64" | "decimal128" | "decimal256" => decimal(cursor, word)?,
        "list" => DataType::List(field(cursor)?),
        "large_list" => DataType::LargeList(field(cursor)?),
        "list_view" => DataType::ListView(field(cursor)?),
        "large_list_view" => DataType::LargeListView(field(cursor)?),
        "fixed_size_list" => {
            let item = field(cursor)?;
            cursor.expect_close('>', "`>`")?;
            if !cursor.open('[')? {
                return Err(cursor.unexpected("the size in brackets"));
            }
            let size = cursor.number("a size")?;
            cursor.expect_close(']', "`]`")?;
            return Ok(DataType::FixedSizeList(item, size));
        }
        "struct" => DataType::Struct(struct_fields(cursor)?),
        "map" => map(cursor)?,
        "dictionary" => dictionary(cursor)?,
        "run_end_encoded" => {
            let ends = field(cursor)?;
            comma(cursor)?;
            DataType::RunEndEncoded(ends, field(cursor)?)
        }
        _ => DataType::Union(union_fields(cursor)?, if word == "dense_union" { UnionMode::Dense } else { UnionMode::Sparse }),
    };
    cursor.expect_close(bracket.1, &format!("`{}`", bracket.1))?;
    Ok(match found {
        DataType::Map(entries, _) => DataType::Map(entries, cursor.eat_word("sorted")),
        other => other,
    })
}

/// An error at a word that is no type.
fn unknown_type(cursor: &mut Cursor, start: usize, word: &str) -> Error {
    if word.is_empty() {
        return cursor.unexpected("an Arrow type");
    }
    let error = cursor.fail(start, start + word.len(), format!("unknown Arrow type `{word}`"));
    let names = PLAIN.iter().map(|(name, _)| *name).filter(|name| !name.contains('[')).chain(COMPOUND);
    match nearest(word, names.clone()) {
        Some(near) => error.help(format!("did you mean {near}?")),
        None => error.help(format!("the Arrow types are: {}", names.collect::<Vec<_>>().join(", "))),
    }
}

/// An error after a type whose parameters are missing.
fn without_parameters(cursor: &mut Cursor, word: &str, open: char) -> Error {
    let error = cursor.unexpected(&format!("`{open}` after `{word}`"));
    let example = match word {
        "timestamp" => "timestamp[us] or timestamp[us, UTC]",
        "time32" => "time32[ms]",
        "time64" => "time64[us]",
        "duration" => "duration[s]",
        "decimal32" | "decimal64" | "decimal128" | "decimal256" => return error.help(format!("as in {word}(9, 2)")),
        _ => return error,
    };
    error.help(format!("as in {example}"))
}

/// `a: int32, b: string`, up to `>`.
fn struct_fields(cursor: &mut Cursor) -> Result<Fields> {
    let mut fields: Vec<FieldRef> = Vec::new();
    while cursor.peek() != Some('>') {
        fields.push(field(cursor)?);
        if !cursor.eat(',') {
            break;
        }
    }
    Ok(Fields::from(fields))
}

/// `int32, string`: the types of the keys and of the values.
fn dictionary(cursor: &mut Cursor) -> Result<DataType> {
    let start = cursor.pos();
    let key = arrow_type(cursor)?;
    if !key.is_dictionary_key_type() {
        return Err(cursor.fail(start, cursor.end(), "the keys of a dictionary must be integers"));
    }
    comma(cursor)?;
    Ok(DataType::Dictionary(Box::new(key), Box::new(arrow_type(cursor)?)))
}

/// `name: type not null metadata {"k": "v"}`.
fn field(cursor: &mut Cursor) -> Result<FieldRef> {
    let name = name(cursor, "the name of a field, as in list<item: int32>")?;
    if !cursor.eat(':') {
        return Err(cursor.unexpected("`:` after the name of a field, as in list<item: int32>"));
    }
    let ty = arrow_type(cursor)?;
    let not_null = cursor.eat_word("not");
    if not_null && !cursor.eat_word("null") {
        return Err(cursor.unexpected("`null` after `not`"));
    }
    let mut field = Field::new(name, ty, !not_null);
    if cursor.eat_word("metadata") {
        let mut metadata = HashMap::new();
        if !cursor.open('{')? {
            return Err(cursor.unexpected("`{` after `metadata`"));
        }
        while !cursor.close('}') {
            let key = text(cursor)?;
            if !cursor.eat(':') {
                return Err(cursor.unexpected("`:`"));
            }
            metadata.insert(key, text(cursor)?);
            if !cursor.eat(',') {
                cursor.expect_close('}', "`,` or `}`")?;
                break;
            }
        }
        field = field.with_metadata(metadata);
    }
    Ok(Arc::new(field))
}

fn comma(cursor: &mut Cursor) -> Result<()> {
    if cursor.eat(',') { Ok(()) } else { Err(cursor.unexpected("`,`")) }
}

fn unit(cursor: &mut Cursor, allowed: &[&str]) -> Result<TimeUnit> {
    let word = cursor.peek_word();
    match UNITS.iter().find(|(name, _)| *name == word && allowed.contains(name)) {
        Some((_, unit)) => {
            cursor.advance(word.len());
            Ok(*unit)
        }
        None => Err(cursor.unexpected(&format!("a unit: {}", allowed.join(", ")))),
    }
}

fn zone(cursor: &mut Cursor) -> Result<Arc<str>> {
    let rest = cursor.rest();
    if rest.starts_with('"') {
        return Ok(text(cursor)?.into());
    }
    let length = rest.find(|c| !in_zone(c)).unwrap_or(rest.len());
    if length == 0 {
        return Err(cursor.unexpected("a time zone, as in timestamp[us, UTC]"));
    }
    cursor.advance(length);
    Ok(rest[..length].into())
}

fn interval(cursor: &mut Cursor) -> Result<DataType> {
    let word = cursor.peek_word();
    let unit = match word {
        "year_month" => IntervalUnit::YearMonth,
        "day_time" => IntervalUnit::DayTime,
        "month_day_nano" => IntervalUnit::MonthDayNano,
        _ => return Err(cursor.unexpected("year_month, day_time or month_day_nano")),
    };
    cursor.advance(word.len());
    Ok(DataType::Interval(unit))
}

fn decimal(cursor: &mut Cursor, word: &str) -> Result<DataType> {
    let start = cursor.pos();
    let precision: u8 = cursor.number("a precision")?;
    comma(cursor)?;
    let negative = cursor.eat('-');
    let digits: i8 = cursor.number("a scale")?;
    let scale = if negative { -digits } else { digits };
    let (most, ty) = match word {
        "decimal32" => (9, DataType::Decimal32(precision, scale)),
        "decimal64" => (18, DataType::Decimal64(precision, scale)),
        "decimal128" => (38, DataType::Decimal128(precision, scale)),
        _ => (76, DataType::Decimal256(precision, scale)),
    };
    if precision == 0 || precision > most || i16::from(scale) > i16::from(precision) {
        return Err(cursor.fail(
            start,
            cursor.end(),
            format!("a {word} must have 1 to {most} digits, and no more than that after the decimal point"),
        ));
    }
    Ok(ty)
}

/// `entries: struct<keys: string not null, values: int32> not null`, or the short `string, int32`.
fn map(cursor: &mut Cursor) -> Result<DataType> {
    let start = cursor.pos();
    let named = name(cursor, "").is_ok() && cursor.peek() == Some(':');
    cursor.reset(start);
    let entries = if named {
        let entries = field(cursor)?;
        if !matches!(entries.data_type(), DataType::Struct(fields) if fields.len() == 2) {
            return Err(cursor
                .fail(start, cursor.end(), "the entries of a map must be a structure of a key and a value")
                .help("as in map<string, int32>"));
        }
        entries
    } else {
        let key = Field::new("keys", arrow_type(cursor)?, false);
        comma(cursor)?;
        let value = Field::new("values", arrow_type(cursor)?, true);
        Arc::new(Field::new("entries", DataType::Struct(vec![key, value].into()), false))
    };
    Ok(DataType::Map(entries, false))
}

/// `0=a: int32, 5=b: string`.
fn union_fields(cursor: &mut Cursor) -> Result<UnionFields> {
    let (start, mut ids, mut fields) = (cursor.pos(), Vec::<i8>::new(), Vec::new());
    while cursor.peek() != Some('>') {
        ids.push(cursor.number("the type id of a union member")?);
        if !cursor.eat('=') {
            return Err(cursor.unexpected("`=`, as in dense_union<0=a: int32>"));
        }
        fields.push(field(cursor)?);
        if !cursor.eat(',') {
            break;
        }
    }
    UnionFields::try_new(ids, fields).map_err(|e| cursor.fail(start, cursor.end(), e.to_string()))
}
