//! Writes records as members: a file for each field, all with the same key. Output is reproducible: no times, no
//! owners.

use super::names::{KEY, MemberKind, is_about_archive, is_integer, is_json, of_extension, split};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::appending::{Append, appending};
use crate::formats::format::{Encode, Encoded, Writer};
use crate::formats::json_members::JsonTexts;
use crate::options::Options;
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::{DType, Element, Field, Schema};
use crate::tensor::Tensor;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use std::io::Write;
use std::sync::Arc;
use tar::{EntryType, Header};

const BLOCK: usize = 512;
/// GNU tar's name for the member that holds a long name.
const LONG_NAME: &str = "././@LongLink";

struct MemberEncoder {
    schema: Arc<Schema>,
    key: usize,
    /// Whether null fields of structures are omitted.
    omit_null: bool,
}

/// Encoded members of some records.
struct EncodedMembers {
    bytes: Vec<u8>,
    first_key: String,
    last_key: String,
}

/// Appends members to an archive.
struct Archive {
    last_key: Option<String>,
}

/// # Errors
/// There is no key, or a member cannot represent a field.
pub fn writer(schema: &Arc<Schema>, options: &Options) -> Result<Box<dyn Writer>> {
    let Some(key) = schema.index_of(KEY) else {
        return Err(Error::usage(format!("webdataset needs a field named {KEY}, which holds the common name of a record's members"))
            .help(format!("rename a field (rename id={KEY}), or number the records: enumerate then map '{KEY} = as_string(index)'")));
    };
    let is_text = |field: &Field| field.ty.dims.is_empty() && matches!(field.ty.element, Element::Value(DType::String));
    for (at, field) in schema.fields.iter().enumerate() {
        let name = quoted(&field.name);
        if at == key {
            if !is_text(field) {
                return Err(Error::usage(format!("{KEY} must be a string in each record, but it is {}", field.ty))
                    .help(format!("make one: map '{KEY} = as_string({KEY})'")));
            }
            continue;
        }
        if field.name.contains('/') || field.name != field.name.to_lowercase() || field.name.contains('\0') {
            let other = field.name.to_lowercase().replace(['/', '\0'], ".");
            return Err(Error::usage(format!("a member's extension cannot contain capital letters or slashes, but the field {name} does"))
                .in_field(&name)
                .help(format!("choose another name: rename {}", shell_word(&format!("{name}={}", quoted(&other))))));
        }
        let dtype = field.ty.dtype().filter(|_| field.ty.dims.is_empty());
        let is_text = matches!(dtype, Some(DType::String));
        let is_bytes = matches!(dtype, Some(DType::Bytes));
        let (expected, fits) = match of_extension(&field.name) {
            // Nothing is written.
            _ if matches!(dtype, Some(DType::Null)) => continue,
            MemberKind::Json if is_integer(&field.name) => ("an integer", is_bytes || dtype.is_some_and(DType::is_integer)),
            MemberKind::Json => continue,
            MemberKind::Bytes | MemberKind::Text => ("bytes or text", is_bytes || is_text),
        };
        if !fits {
            let (form, extension) = if is_text { ("text", "txt") } else { ("JSON", "json") };
            let renamed = format!("{name}={}", quoted(&format!("{}.{extension}", field.name)));
            return Err(Error::usage(format!("a member .{} must be {expected}, but it is {}", field.name, field.ty))
                .in_field(&name)
                .help(format!("write it as {form}: rename {}", shell_word(&renamed))));
        }
    }
    let encoder = Arc::new(MemberEncoder { schema: schema.clone(), key, omit_null: options.omit_null });
    Ok(appending(encoder, Archive { last_key: None }))
}

/// How the values of a column are written.
enum Contents<'a> {
    Bytes(&'a arrow_array::LargeBinaryArray),
    Text(&'a arrow_array::LargeStringArray),
    Json(JsonTexts<'a>),
}

impl<'a> Contents<'a> {
    fn of(field: &Field, column: &'a Tensor, omit_null: bool) -> Result<Contents<'a>> {
        Ok(match (&field.ty.element, column) {
            (Element::Value(DType::Bytes), Tensor::Leaf(array)) => Contents::Bytes(array.as_binary()),
            // The text of JSON values is written unchanged; a string as a JSON value is quoted.
            (Element::Value(DType::Json), Tensor::Leaf(array)) => Contents::Text(array.as_string()),
            (Element::Value(DType::String), Tensor::Leaf(array)) if !is_json(&field.name) => Contents::Text(array.as_string()),
            _ => Contents::Json(JsonTexts::of(column, field, omit_null)?),
        })
    }

    fn put(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Contents::Bytes(array) => out.extend_from_slice(array.value(row)),
            Contents::Text(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Contents::Json(texts) => texts.put(row, out)?,
        }
        Ok(())
    }
}

impl Encode for MemberEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let column = |at: usize| chunk.columns.get(at).ok_or_else(|| Error::internal("a column is missing"));
        let keys = column(self.key)?.as_leaf()?.as_string::<i64>();
        let mut columns = Vec::new();
        for (at, field) in self.schema.fields.iter().enumerate().filter(|(at, _)| *at != self.key) {
            let tensor = column(at)?;
            columns.push((field, tensor.validity(), Contents::of(field, tensor, self.omit_null)?));
        }
        let mut bytes = Vec::with_capacity(chunk.nbytes() + chunk.nrows * BLOCK * (1 + columns.len()));
        let (mut contents, mut last): (Vec<u8>, Option<&str>) = (Vec::new(), None);
        for row in 0..chunk.nrows {
            let key = if keys.is_valid(row) { keys.value(row) } else { "" };
            check_key(key, last).map_err(|e| e.in_field(KEY).at_row(row))?;
            let before = bytes.len();
            for (field, validity, values) in &columns {
                if validity.as_ref().is_some_and(|validity| validity.is_null(row)) {
                    continue;
                }
                contents.clear();
                values.put(row, &mut contents).map_err(|e| e.in_field(quoted(&field.name)).at_row(row))?;
                let name = format!("{key}.{}", field.name);
                if is_about_archive(&name) {
                    return Err(describes_archive(&name).in_field(quoted(&field.name)).at_row(row));
                }
                put_member(&name, &contents, &mut bytes).map_err(|e| e.at_row(row))?;
            }
            if bytes.len() == before {
                return Err(Error::data("a record without members cannot be written").at_row(row).help("drop such records with filter"));
            }
            last = Some(key);
        }
        let key = |row: usize| if row < keys.len() { keys.value(row).to_owned() } else { String::new() };
        Ok(Box::new(EncodedMembers { bytes, first_key: key(0), last_key: key(chunk.nrows.saturating_sub(1)) }))
    }
}

/// The error for a member that would not be read back.
fn describes_archive(name: &str) -> Error {
    Error::data(format!("the member {name:?} would not be read back: names such as __meta__ and __meta__/x describe the archive"))
}

/// Whether a record with that key reads back as one.
fn check_key(key: &str, last: Option<&str>) -> Result<()> {
    if split(&format!("{key}.x")).is_none_or(|(read, _)| read != key) || key.contains('\0') {
        if key.is_empty() || key.ends_with('/') {
            let error = Error::data(format!("{key:?} is not a key: a key must end in a name"));
            return Err(error.help(format!("number the records: enumerate then map '{KEY} = as_string(index)' then drop index")));
        }
        let error = Error::data(format!("{key:?} would not be read back as a key: a key must end in a name without a dot"));
        return Err(error.help(format!("replace the dots: map '{KEY} = strings.regex_replace({KEY}, \"[.]\", \"_\")'")));
    }
    if last == Some(key) {
        return Err(same_key(key));
    }
    Ok(())
}

fn same_key(key: &str) -> Error {
    Error::data(format!("two consecutive records have the key {key:?} and would be read back as one record"))
}

fn put_member(name: &str, contents: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut header = header(EntryType::Regular, contents.len());
    if header.set_path(name).is_err() || header.path_bytes() != name.as_bytes() {
        // The name does not fit in the header, or would be changed by it.
        let mut long = self::header(EntryType::GNULongName, name.len() + 1);
        put_name(&mut long, LONG_NAME);
        put_block(long, &[name.as_bytes(), &[0]].concat(), out);
        header = self::header(EntryType::Regular, contents.len());
        put_name(&mut header, name);
    }
    put_block(header, contents, out);
    Ok(())
}

fn header(kind: EntryType, nbytes: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(nbytes as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// As much of a name as fits, unchanged.
fn put_name(header: &mut Header, name: &str) {
    let field = &mut header.as_old_mut().name;
    field.fill(0);
    let n = name.len().min(field.len());
    field[..n].copy_from_slice(&name.as_bytes()[..n]);
}

fn put_block(mut header: Header, contents: &[u8], out: &mut Vec<u8>) {
    header.set_cksum();
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(contents);
    out.resize(out.len().next_multiple_of(BLOCK), 0);
}

impl Append for Archive {
    type Piece = EncodedMembers;

    fn append(&mut self, members: EncodedMembers, out: &mut dyn Write) -> Result<()> {
        if members.bytes.is_empty() {
            return Ok(());
        }
        if self.last_key.as_deref() == Some(members.first_key.as_str()) {
            return Err(same_key(&members.first_key).in_field(KEY));
        }
        self.last_key = Some(members.last_key);
        out.write_all(&members.bytes).map_err(Error::output)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&[0; 2 * BLOCK]).map_err(Error::output)
    }
}
