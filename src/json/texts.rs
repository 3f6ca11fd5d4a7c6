//! Fields that contain JSON: each row is the text of one value of a declared type. And back: the values of a field as text.
//!
//! The texts of a column are decoded by the columns that JSON Lines is decoded by, made once per chunk. So defaults, nulls,
//! forms and messages are those of a field that `--schema` declares. One thing differs: the type is final, because a verb
//! states it before the first text is read, so keys that it does not name are skipped rather than inferred.

use super::builder::{BuildOptions, Builder};
use super::column::Column;
use super::cursor::Cursor;
use super::error::{Cause, Fix, Parse, ParseError};
use super::object::{column_of, read_value};
use super::suggest::{fixed, fixed_whole};
use super::write::{Encoder, check_field};
use crate::error::{Error, Result, mismatch, nearest};
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrayRef, GenericByteArray, LargeStringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;

const OPTIONS: BuildOptions = BuildOptions { declared: &[], first_wins: false, nulls: false, is_final: true };

/// A longer command, in bytes, is not shown.
const LONGEST: usize = 400;

/// The texts of a field, and how to parse them.
pub struct JsonTexts {
    /// The declared type, with its default. The name is that of the field that contains the texts.
    declared: Field,
    path: FieldPath,
    /// Given a type, the command that declares it, for advice.
    command: fn(&FieldPath, &Field) -> String,
}

/// A bad text.
struct BadText<'a> {
    /// `None` if there is no text: a null.
    text: Option<&'a [u8]>,
    error: Box<ParseError>,
}

impl JsonTexts {
    /// For the texts in the field `path`. `command`: given a type, the command that declares it, for advice.
    ///
    /// # Errors
    /// The type cannot be read from JSON, or its default does not fit it.
    pub fn new(path: &FieldPath, declared: Field, command: fn(&FieldPath, &Field) -> String) -> Result<JsonTexts> {
        let texts = JsonTexts { declared: Field { name: path.last().to_owned(), ..declared }, path: path.clone(), command };
        texts.values()?;
        Ok(texts)
    }

    fn values(&self) -> Result<Values> {
        let (column, default) = column_of(&self.declared, Some(&self.declared), OPTIONS)?;
        Ok(Values { column, default })
    }

    /// Parses strings or bytes.
    ///
    /// # Errors
    /// A text that is no value of the type.
    pub fn parse(&self, texts: &ArrayRef) -> Result<Tensor> {
        let mut values = self.values()?;
        values.column.reserve(texts.len());
        let read = match texts.data_type() {
            DataType::LargeUtf8 => values.read_all(texts.as_string::<i64>(), true),
            DataType::LargeBinary => values.read_all(texts.as_binary::<i64>(), false),
            DataType::Null => (0..texts.len()).try_for_each(|_| values.read(None)),
            other => return Err(Error::internal(format!("JSON texts in an array of {other}"))),
        };
        read.map_err(|bad| self.located(bad))?;
        let mut late = Vec::new();
        let tensor = values.column.finish(&mut late)?;
        match late.iter().min() {
            None => Ok(tensor),
            Some(bad) => Err(Error::data(bad.message.clone()).in_field(self.place(bad.names.iter().rev().map(String::as_str)))),
        }
    }

    /// The path of a value in the texts.
    fn place<'a>(&self, names: impl Iterator<Item = &'a str>) -> String {
        std::iter::once(self.path.to_string()).chain(names.map(quoted)).collect::<Vec<_>>().join(".")
    }

    /// The declared fields of a structure in the texts.
    fn fields_in(&self, names: &[&str]) -> &[Field] {
        let own = self.declared.ty.fields().unwrap_or(&[]);
        names.iter().fold(own, |outer, name| {
            let inner = outer.iter().find(|field| field.source_name() == *name);
            inner.and_then(|field| field.ty.fields()).unwrap_or(&[])
        })
    }

    #[cold]
    fn located(&self, bad: BadText) -> Error {
        let BadText { text, error: found } = bad;
        let at = text.map_or_else(String::new, |text| format!(" ({} of the text)", position(text, found.pos)));
        let mut error = Error::data(found.message.clone().followed_by(&at)).in_field(self.place(found.path()));
        for hint in &found.help {
            error = error.help(hint.clone());
        }
        if let (Some(text), Fix::Absent, Some(name)) = (text, &found.fix, found.path().last()) {
            let names = found.path().collect::<Vec<_>>();
            let parents = &names[..names.len().saturating_sub(1)];
            let known = self.fields_in(parents);
            let mut keys = keys(text, found.pos);
            keys.retain(|key| !known.iter().any(|field| field.source_name() == key));
            if let Some(near) = nearest(name, keys.iter().map(String::as_str)) {
                error = error.help(format!("did you mean {}?", self.place(parents.iter().copied().chain([near]))));
            }
        }
        if text.is_some_and(<[u8]>::is_empty) {
            let optional = Field { ty: self.declared.ty.clone().with_optional(true), ..self.declared.clone() };
            let name = self.path.in_expression();
            let map = shell_word(&format!("{name} = null_if({name}, \"\")"));
            error = error.help(format!("if it means null: map {map} then {}", (self.command)(&self.path, &optional)));
        }
        let found = found.in_field(&self.declared.name);
        let Some(whole) = fixed_whole(&self.declared, &found) else { return error };
        let command = (self.command)(&self.path, &whole);
        let part = || fixed(&Schema::new(vec![self.declared.clone()]), &found).map_or_else(String::new, |part| part.to_string());
        error.help(match command.len() <= LONGEST {
            true => format!("to read such values too: {command}"),
            false => format!("to read such values too, change this part of the type: {}", part()),
        })
    }
}

/// A position in a text, in words.
fn position(text: &[u8], pos: usize) -> String {
    let before = &text[..pos.min(text.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let column = before.len() - line_start + 1;
    match memchr::memchr_iter(b'\n', before).count() {
        0 => format!("column {column}"),
        lines => format!("line {}, column {column}", lines + 1),
    }
}

/// The keys of the object at this position.
fn keys(text: &[u8], pos: usize) -> Vec<String> {
    let mut cursor = Cursor::of_text(text);
    cursor.set_pos(pos + 1);
    cursor.space();
    let (mut keys, mut key) = (Vec::new(), Vec::new());
    let mut next = |cursor: &mut Cursor| -> Parse<bool> {
        key.clear();
        cursor.string(&mut key)?;
        cursor.colon()?;
        keys.push(String::from_utf8_lossy(&key).into_owned());
        cursor.skip_value()?;
        cursor.more(b'}')
    };
    while cursor.peek() == b'"' && next(&mut cursor).unwrap_or(false) {}
    keys
}

/// The values of some texts.
struct Values {
    column: Column,
    /// The text of the default, which null reads as.
    default: Option<Vec<u8>>,
}

impl Values {
    fn read_all<'a, T>(&mut self, texts: &'a GenericByteArray<T>, is_utf8: bool) -> Result<(), BadText<'a>>
    where
        T: ByteArrayType<Offset = i64>,
    {
        let (offsets, bytes) = (texts.value_offsets(), texts.value_data());
        for row in 0..texts.len() {
            if texts.is_null(row) {
                self.read(None)?;
                continue;
            }
            // The offsets of an array are inside its values.
            let text = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            if !is_utf8 && let Err(error) = simdutf8::compat::from_utf8(text) {
                let error = ParseError::syntax(error.valid_up_to(), "the text is not valid UTF-8");
                return Err(BadText { text: Some(text), error });
            }
            self.read(Some(text))?;
        }
        Ok(())
    }

    /// Appends the value of a text, or of a null.
    #[inline]
    fn read<'a>(&mut self, text: Option<&'a [u8]>) -> Result<(), BadText<'a>> {
        let read = match text {
            Some(text) => self.read_text(text),
            None => self.read_null(),
        };
        read.map_err(|error| BadText { text, error })
    }

    #[inline]
    fn read_text(&mut self, text: &[u8]) -> Parse<()> {
        let mut cursor = Cursor::of_text(text);
        cursor.space();
        read_value(&mut cursor, &mut self.column, self.default.as_deref())?;
        cursor.space();
        if cursor.rest().is_empty() { Ok(()) } else { Err(cursor.unexpected("the end of the text after the value")) }
    }

    fn read_null(&mut self) -> Parse<()> {
        match &self.default {
            Some(default) => self.column.read(&mut Cursor::new(default, 0, false)),
            None if self.column.nullable() => {
                self.column.push_null();
                Ok(())
            }
            None => {
                let message = mismatch(self.column.expected(), "null");
                Err(ParseError::new(0, Cause::Invalid, message, Fix::Nullable))
            }
        }
    }
}

/// Checks that JSON can represent the values of a field.
///
/// # Errors
/// See [`super::write::check`].
pub fn check(field: &Field, path: &FieldPath) -> Result<()> {
    check_field(field, path, false)
}

/// The type of the texts of such a field.
pub fn text_type(ty: &Type) -> Type {
    Type::tensor(DType::Json, Vec::new()).with_optional(ty.optional || is_null(ty))
}

/// Whether all values are null.
fn is_null(ty: &Type) -> bool {
    ty.rank() == 0 && ty.dtype() == Some(&DType::Null)
}

/// The values of a field as JSON text, one for each row. Null rows stay null.
///
/// # Errors
/// JSON cannot represent a value.
pub fn written(tensor: &Tensor, field: &Field, path: &FieldPath) -> Result<LargeStringArray> {
    let encoder = Encoder::of_field(tensor, field, path, false)?;
    let mut bytes = Vec::with_capacity(tensor.nbytes());
    let mut offsets = Vec::with_capacity(tensor.nrows() + 1);
    offsets.push(0);
    for row in 0..tensor.nrows() {
        encoder.write(row, &mut bytes).map_err(|e| e.at_row(row))?;
        offsets.push(bytes.len() as i64);
    }
    let nulls = match is_null(&field.ty) {
        true => Some(NullBuffer::new_null(tensor.nrows())),
        false => tensor.validity().filter(|nulls| nulls.null_count() > 0),
    };
    LargeStringArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls).map_err(|e| Error::internal(format!("{e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::notation;
    use arrow_array::LargeBinaryArray;
    use std::sync::Arc;

    fn parse(ty: &str, texts: Vec<Option<&str>>) -> Result<(String, Tensor)> {
        let declared = notation::parse_typed(ty).unwrap();
        let texts_of = JsonTexts::new(&FieldPath::name("p"), declared, |_, ty| notation::typed(ty)).unwrap();
        let strings: ArrayRef = Arc::new(LargeStringArray::from(texts.clone()));
        let bytes: ArrayRef = Arc::new(LargeBinaryArray::from(texts.iter().map(|text| text.map(str::as_bytes)).collect::<Vec<_>>()));
        let tensor = texts_of.parse(&strings)?;
        assert!(texts_of.parse(&bytes).is_ok());
        let field = Field { name: "p".to_owned(), ..texts_of.declared.clone() };
        let written = written(&tensor, &field, &FieldPath::name("p")).unwrap();
        Ok((written.iter().map(|text| text.unwrap_or("-")).collect::<Vec<_>>().join(" "), tensor))
    }

    #[test]
    fn texts_are_parsed_and_written() {
        for (ty, texts, expected) in [
            ("int64", vec![Some("1"), Some(" -2\n")], "1 -2"),
            ("optional int64", vec![Some("1"), None, Some("null")], "1 - -"),
            ("int64 = -1", vec![Some("1"), None, Some("null")], "1 -1 -1"),
            ("{a: int64, b: bool = True}", vec![Some("{\"c\": [{}], \"a\": 1}")], "{\"a\":1,\"b\":true}"),
            ("float32[?, (?)]", vec![Some("[[1], [], [2.5, NaN]]")], "[[1.0],[],[2.5,\"NaN\"]]"),
            ("map<string, int64>", vec![Some("{\"x\": 1}"), Some("{}")], "{\"x\":1} {}"),
            ("json", vec![Some(" {\"a\": [1]} ")], "{\"a\": [1]}"),
        ] {
            assert_eq!(parse(ty, texts).unwrap().0, expected, "{ty}");
        }
    }

    #[test]
    fn errors_name_the_place_in_the_text() {
        for (ty, text, expected) in [
            ("{a: int64}", "{\"a\": 1.5}", "p.a: expected an integer, found the number 1.5 (column 7 of the text)"),
            ("{a: int64}", "{\n \"a\": x}", "p.a: expected a value, found `x` (line 2, column 7 of the text)"),
            ("int64[?]", "[1", "p: expected a comma or `]`, found the end of the text (column 3 of the text)"),
            ("int64", "1 2", "p: expected the end of the text after the value, found the number 2 (column 3 of the text)"),
            ("date32", "\"x\"", "p: expected a date such as 2024-01-31 for arrow<date32>, found the string \"x\""),
        ] {
            let error = parse(ty, vec![Some(text)]).map(|_| ()).unwrap_err();
            assert_eq!(error.to_string().lines().next(), Some(expected), "{ty}");
        }
    }
}
