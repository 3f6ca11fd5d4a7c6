//! Parses text into a schema.

use super::arrow::{ARROW_VALUES, arrow_type};
use super::name::name;
use crate::error::{Result, nearest};
use crate::path::FieldPath;
use crate::schema::cursor::{Cursor, MAX_DEPTH};
use crate::schema::facts::Storage;
use crate::schema::literal::literal;
use crate::schema::maps::{ENTRY, entries};
use crate::schema::{DType, Dim, Element, Field, MAX_FIELDS, PartitionEncoding, Schema, Size, Source, SplitBy, Type, uuid};
use std::collections::HashSet;

/// Names of dtypes in other systems.
const OTHER_NAMES: [(&str, &str); 21] = [
    ("int", "int64"),
    ("long", "int64"),
    ("float", "float64"),
    ("double", "float64"),
    ("half", "float16"),
    ("str", "string"),
    ("text", "string"),
    ("utf8", "string"),
    ("binary", "bytes"),
    ("boolean", "bool"),
    ("object", "{...}"),
    ("integer", "int64"),
    ("bigint", "int64"),
    ("number", "float64"),
    ("real", "float32"),
    ("varchar", "string"),
    ("blob", "bytes"),
    ("date", "date32"),
    ("time", "time64[us]"),
    ("datetime", "timestamp[us]"),
    ("decimal", "decimal128(9, 2)"),
];

/// Parses the fields of a record, separated by newlines or `;`.
///
/// # Errors
/// A usage error with line and column, the line with the error underlined, and the nearest known word.
pub fn parse(text: &str) -> Result<Schema> {
    let mut cursor = Cursor::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let (mut fields, mut names) = (Vec::new(), HashSet::new());
    loop {
        while cursor.eat(';') || cursor.eat('\n') {}
        if cursor.at_end() {
            return Ok(Schema::new(fields));
        }
        fields.push(field(&mut cursor, &mut names, false)?);
        if !matches!(cursor.peek(), None | Some(';' | '\n')) {
            let (next, word) = (cursor.peek(), cursor.peek_word());
            let error = cursor.unexpected("`;` or a new line after the field");
            return Err(match next {
                Some(',') => error.help("fields of a record are separated by `;`, fields of a structure by `,`"),
                Some('?' | '|') => error.help(OPTIONAL),
                _ if ["or", "null", "nullable", "optional"].contains(&word) => error.help(OPTIONAL),
                _ => error,
            });
        }
    }
}

/// Parses a type: `int64[?, (?)]`.
///
/// # Errors
/// See [`parse`].
pub fn parse_type(text: &str) -> Result<Type> {
    let mut cursor = Cursor::new(text);
    let typed = typed(&mut cursor, String::new(), false)?;
    if !cursor.at_end() {
        return Err(cursor.unexpected("nothing after the type"));
    }
    Ok(typed.ty)
}

/// Parses what follows the name of a field: `int64 = -1`.
///
/// # Errors
/// See [`parse`].
pub fn parse_typed(text: &str) -> Result<Field> {
    let mut cursor = Cursor::new(text);
    let mut field = typed(&mut cursor, String::new(), false)?;
    clauses(&mut cursor, &mut field)?;
    if !cursor.at_end() {
        return Err(cursor.unexpected("nothing after the type"));
    }
    Ok(field)
}

/// Parses a dtype of times, `timestamp[us, UTC]` or `arrow<date32>`; `None` for other texts.
pub fn parse_time(text: &str) -> Option<DType> {
    let inner = text.strip_prefix("arrow<").and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    let ty = parse_type(&format!("arrow<{inner}>")).ok()?;
    ty.dtype().filter(|dtype| ty.rank() == 0 && dtype.time().is_some()).cloned()
}

/// `name: type = default from v ...`. `inside`: whether it is inside a structure with axes, at any level.
fn field(cursor: &mut Cursor, names: &mut HashSet<String>, inside: bool) -> Result<Field> {
    let start = cursor.pos();
    let name = name(cursor, "a field name")?;
    let end = cursor.end();
    if cursor.peek() == Some('.') {
        let error = cursor.unexpected("`:` after the field name");
        return Err(
            error.help(format!("write a field of a structure as {name}: {{field: type}}, and a name that contains a dot in backquotes"))
        );
    }
    if !cursor.eat(':') {
        return Err(cursor.unexpected("`:` after the field name").help("write a field as `name: type`, such as tokens: int64[?]"));
    }
    if names.len() >= MAX_FIELDS {
        return Err(cursor
            .fail(start, end, "more than 10,000 fields in one structure")
            .help("if its keys are data, read the whole structure as `json`"));
    }
    if !names.insert(name.clone()) {
        return Err(cursor.fail(start, end, format!("the field `{name}` appears twice")));
    }
    let mut field = typed(cursor, name, inside)?;
    clauses(cursor, &mut field)?;
    Ok(field)
}

/// Parses what follows the type of a field.
fn clauses(cursor: &mut Cursor, field: &mut Field) -> Result<()> {
    if cursor.eat('=') {
        let start = cursor.pos();
        let default = literal(cursor)?.with_names_of_floats(field.ty.dtype());
        if let Some(misfit) = default.misfit(&field.ty) {
            return Err(cursor.fail(start, cursor.end(), format!("this default does not fit: {misfit}")));
        }
        field.default = Some(default);
    }
    let mut source = Source::default();
    if cursor.eat_word("from") {
        source.values = Some(name(cursor, "the name of a feature or column")?);
    }
    let start = cursor.pos();
    if cursor.eat_word("split") {
        if !cursor.eat_word("by") {
            return Err(cursor.unexpected("`by` after `split`"));
        }
        source.split_by = listed(cursor, split)?;
        if field.ty.is_sparse() || source.split_by.len() >= field.ty.rank() {
            let message = format!("{} partitions do not fit a field of type {}", source.split_by.len(), field.ty);
            return Err(cursor
                .fail(start, cursor.end(), message)
                .help("each partition splits one axis in two: x: int64[?, (?)] from v split by row_lengths(l)"));
        }
    } else if cursor.eat_word("at") {
        source.at = listed(cursor, |c| name(c, "the name of an index feature"))?;
        if !field.ty.is_sparse() || source.at.len() != field.ty.rank() {
            let message = format!("{} index features do not fit a field of type {}", source.at.len(), field.ty);
            return Err(cursor
                .fail(start, cursor.end(), message)
                .help("each axis needs one index feature: s: sparse<float32>[100, 20] from v at i0, i1"));
        }
    }
    field.source = source;
    Ok(())
}

/// Items separated by commas. A comma before the next field of a structure ends the list.
fn listed<T>(cursor: &mut Cursor, item: impl Fn(&mut Cursor) -> Result<T>) -> Result<Vec<T>> {
    let mut items = vec![item(cursor)?];
    loop {
        let comma = cursor.pos();
        if !cursor.eat(',') {
            return Ok(items);
        }
        if starts_field(cursor) {
            cursor.reset(comma);
            return Ok(items);
        }
        items.push(item(cursor)?);
    }
}

/// Whether `name:` or the end of a structure comes next.
fn starts_field(cursor: &mut Cursor) -> bool {
    let start = cursor.pos();
    let field = cursor.peek() == Some('}') || (name(cursor, "").is_ok() && cursor.peek() == Some(':'));
    cursor.reset(start);
    field
}

/// `row_lengths(l)`.
fn split(cursor: &mut Cursor) -> Result<SplitBy> {
    let (start, word) = (cursor.pos(), cursor.peek_word());
    let names = PartitionEncoding::OF_FEATURES.map(PartitionEncoding::name);
    let Some(encoding) = PartitionEncoding::OF_FEATURES.into_iter().find(|e| e.name() == word) else {
        let near = nearest(word, names).map(|near| format!("did you mean {near}?"));
        return Err(cursor
            .fail(start, start + word.len(), format!("unknown partition `{word}`"))
            .help(near.unwrap_or_else(|| format!("the partitions are: {}", names.join(", ")))));
    };
    cursor.advance(word.len());
    if !cursor.open('(')? {
        return Err(cursor.unexpected("`(`"));
    }
    let split = match encoding {
        PartitionEncoding::UniformRowLength => SplitBy::UniformRowLength(size(cursor)?),
        _ => SplitBy::Feature(encoding, name(cursor, "the name of a feature")?),
    };
    cursor.expect_close(')', "`)`")?;
    Ok(split)
}

/// A field with that name: `optional {...}[..] with nulls`.
fn typed(cursor: &mut Cursor, name: String, inside: bool) -> Result<Field> {
    let optional = cursor.eat_word("optional");
    let start = cursor.pos();
    if cursor.peek_word() == "map" {
        return map(cursor, name, optional, inside);
    }
    let is_uuid = is_uuid(cursor.rest());
    let mut element = element(cursor)?;
    let end = cursor.end();
    let is_sparse = matches!(element, Element::Sparse(_));
    let dims = dims(cursor, inside, is_sparse)?;
    if is_sparse && dims.is_empty() {
        return Err(cursor.fail(start, end, "a sparse tensor needs the sizes of its dense shape").help("as in sparse<float32>[?, 1000]"));
    }
    match &mut element {
        Element::Struct(fields) if !dims.is_empty() => first_axes_uniform(fields),
        Element::Struct(fields) if !inside => {
            if let Some(path) = ragged_first_axis(fields) {
                let error = cursor.fail(
                    start,
                    end,
                    format!("axis 0 of `{path}` cannot be ragged, because the structure that contains it has no axes"),
                );
                return Err(error.help(SINGLE_SLICE));
            }
        }
        _ => {}
    }
    let with_nulls = with_nulls(cursor)?;
    let ty = Type { element, dims, optional, with_nulls };
    let storage = if is_uuid { uuid::storage(&ty) } else { Storage::Declared };
    Ok(Field { storage, ..Field::new(name, ty) })
}

/// Whether `arrow<uuid>` follows.
fn is_uuid(rest: &str) -> bool {
    let inside = rest.strip_prefix("arrow").and_then(|rest| rest.trim_start().strip_prefix('<'));
    inside.and_then(|rest| rest.trim_start().strip_prefix("uuid")).is_some_and(|rest| rest.trim_start().starts_with('>'))
}

fn with_nulls(cursor: &mut Cursor) -> Result<bool> {
    let with_nulls = cursor.eat_word("with");
    if with_nulls && !cursor.eat_word("nulls") {
        return Err(cursor.unexpected("`nulls` after `with`"));
    }
    Ok(with_nulls)
}

/// `map<string, optional int64>[..]`.
fn map(cursor: &mut Cursor, name: String, optional: bool, inside: bool) -> Result<Field> {
    cursor.advance("map".len());
    angle(cursor, "map")?;
    let start = cursor.pos();
    let key = typed(cursor, ENTRY[0].to_owned(), true)?;
    if key.ty.optional {
        return Err(cursor.fail(start, cursor.end(), "the keys of a map cannot be null"));
    }
    if !cursor.eat(',') {
        return Err(cursor.unexpected("`,` and the type of the values, as in map<string, int64>"));
    }
    let value = typed(cursor, ENTRY[1].to_owned(), true)?;
    cursor.expect_close('>', "`>`")?;
    let dims = dims(cursor, inside, false)?;
    let start = cursor.pos();
    let with_nulls = with_nulls(cursor)?;
    if with_nulls && dims.is_empty() {
        return Err(cursor
            .fail(start, cursor.end(), "the entries of a map cannot be null")
            .help("map<string, optional int64> has values that may be null"));
    }
    let mut ty = entries(key, value, dims);
    if let Element::Struct(fields) = &mut ty.element {
        first_axes_uniform(fields);
    }
    let storage = Storage::Map { declared: true, rank: ty.rank() };
    Ok(Field { storage, ..Field::new(name, Type { optional, with_nulls, ..ty }) })
}

/// In a structure without axes, axis 0 of a field has one slice in each record. Returns the field for which it is
/// declared ragged.
fn ragged_first_axis(fields: &[Field]) -> Option<FieldPath> {
    fields.iter().find_map(|field| match (field.ty.dims.first(), &field.ty.element) {
        (Some(first), _) => (first.size == Size::Ragged).then(|| FieldPath::name(&field.name)),
        (None, Element::Struct(inner)) => {
            let below = ragged_first_axis(inner)?;
            FieldPath::try_new(std::iter::once(&field.name).chain(below.names()).cloned().collect()).ok()
        }
        _ => None,
    })
}

/// In a structure with axes, a leading `(?)` means the same as `?`.
fn first_axes_uniform(fields: &mut [Field]) {
    for field in fields {
        if let Some(first) = field.ty.dims.first_mut().filter(|d| d.size == Size::Ragged) {
            first.size = Size::Uniform;
        }
        if let (Element::Struct(inner), []) = (&mut field.ty.element, field.ty.dims.as_slice()) {
            first_axes_uniform(inner);
        }
    }
}

/// Advice for other spellings of a type with nulls.
const OPTIONAL: &str = "`optional` comes before the type of a field that may be null, as in note: optional string";

const SINGLE_SLICE: &str = "axis 0 has a single size in each record: write it as `?`";

fn element(cursor: &mut Cursor) -> Result<Element> {
    let word_first = cursor.eat_word("struct");
    if cursor.open('{')? {
        let (mut fields, mut names) = (Vec::new(), HashSet::new());
        while !cursor.close('}') {
            fields.push(field(cursor, &mut names, true)?);
            if !cursor.eat(',') {
                cursor.expect_close('}', "`,` or `}`")?;
                break;
            }
        }
        return Ok(Element::Struct(fields));
    }
    if word_first {
        return Err(cursor.unexpected("`{` after `struct`").help("the fields of a structure are in braces, as in {title: string}"));
    }
    let (start, word) = (cursor.pos(), cursor.peek_word());
    match word {
        "sparse" => {
            cursor.advance(word.len());
            angle(cursor, "sparse")?;
            let dtype = dtype(cursor)?;
            cursor.expect_close('>', "`>`")?;
            Ok(Element::Sparse(dtype))
        }
        "optional" => Err(cursor.fail(start, start + word.len(), "`optional` appears twice")),
        _ => dtype(cursor).map(Element::Value),
    }
}

fn angle(cursor: &mut Cursor, word: &str) -> Result<()> {
    if cursor.open('<')? { Ok(()) } else { Err(cursor.unexpected(&format!("`<` after `{word}`"))) }
}

fn dtype(cursor: &mut Cursor) -> Result<DType> {
    let (start, word) = (cursor.pos(), cursor.peek_word());
    if word.is_empty() {
        let is_list = cursor.peek() == Some('[');
        let error = cursor.unexpected("a type");
        return Err(if is_list { error.help("the type of the items comes first, as in int64[?]") } else { error });
    }
    if let Some(dtype) = DType::from_name(word) {
        cursor.advance(word.len());
        return Ok(dtype);
    }
    if word == "arrow" {
        cursor.advance(word.len());
        angle(cursor, word)?;
        let foreign = if cursor.eat_word("uuid") { uuid::BYTES } else { arrow_type(cursor)? };
        cursor.expect_close('>', "`>`")?;
        return Ok(DType::Arrow(Box::new(foreign)));
    }
    // Their names are unambiguous, so the brackets can be omitted.
    if ARROW_VALUES.contains(&word) {
        return Ok(DType::Arrow(Box::new(arrow_type(cursor)?)));
    }
    let error = cursor.fail(start, start + word.len(), format!("unknown dtype `{word}`"));
    match word.to_lowercase().as_str() {
        "nullable" | "optional" => return Err(error.help(OPTIONAL)),
        "list" | "array" | "vector" | "tensor" => return Err(error.help("write a list with its axes, as in int64[?]")),
        _ => {}
    }
    let names = DType::NAMED.map(|(name, _)| name);
    let lower = word.to_lowercase();
    let near = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, name)| *name);
    Err(match near.or_else(|| DType::name_of_short(word)).or_else(|| nearest(word, names)) {
        Some(near) => error.help(format!("did you mean {near}?")),
        None => {
            error.help(format!("the dtypes are: {}, timestamp[us], date32, sparse<..>, map<.., ..>, arrow<..>, {{..}}", names.join(", ")))
        }
    })
}

fn dims(cursor: &mut Cursor, inside: bool, sparse: bool) -> Result<Vec<Dim>> {
    let mut dims = Vec::new();
    if !cursor.open('[')? {
        return Ok(dims);
    }
    loop {
        let start = cursor.pos();
        let dim = dim(cursor)?;
        if dims.len() >= MAX_DEPTH {
            return Err(cursor.fail(start, cursor.end(), format!("more than {} axes", MAX_DEPTH)));
        }
        if dim.size == Size::Ragged && sparse {
            let error = cursor.fail(start, cursor.end(), "a sparse tensor has no ragged axes");
            return Err(error.help("write `?` for a size of the dense shape that differs between records"));
        }
        if dim.size == Size::Ragged && dims.is_empty() && !inside {
            let error = cursor.fail(start, cursor.end(), "axis 0 cannot be ragged");
            return Err(error.help(SINGLE_SLICE).help("only inner axes can be ragged: int64[?, (?)]"));
        }
        dims.push(dim);
        if !cursor.eat(',') {
            cursor.expect_close(']', "`,` or `]`")?;
            return Ok(dims);
        }
        if cursor.close(']') {
            return Ok(dims);
        }
    }
}

fn dim(cursor: &mut Cursor) -> Result<Dim> {
    if cursor.open('(')? {
        let label = if cursor.eat('?') { None } else { Some(name(cursor, "`?` or a label")?.into()) };
        cursor.expect_close(')', "`)`")?;
        return Ok(Dim { size: Size::Ragged, label });
    }
    if cursor.eat('?') {
        return Ok(Dim::UNIFORM);
    }
    match cursor.peek() {
        Some(c) if c.is_ascii_digit() => size(cursor).map(Dim::known),
        Some('-') => Err(cursor.unexpected("a size: a number, `?`, `(?)` or a label")),
        Some(']') => Err(cursor
            .unexpected("a size: a number, `?`, `(?)` or a label")
            .help("write a list of any length with [?], as in int64[?], and a scalar without brackets")),
        _ => Ok(Dim { size: Size::Uniform, label: Some(name(cursor, "a size: a number, `?`, `(?)` or a label")?.into()) }),
    }
}

/// A size that fits in 63 bits.
fn size(cursor: &mut Cursor) -> Result<u64> {
    let start = cursor.pos();
    let size: u64 = cursor.number("a size")?;
    if i64::try_from(size).is_err() {
        return Err(cursor.fail(start, cursor.end(), format!("the size {size} is too large")));
    }
    Ok(size)
}
