//! Names of members: the record key, the extension as field name, and how the contents are read.

use crate::demand::Wanted;
use crate::printable::BYTE_ORDER_MARK;
use crate::schema::{DType, Element, Field, Schema};
use std::borrow::Cow;
use std::sync::Arc;

/// The field with the keys.
pub const KEY: &str = "__key__";

/// Key and extension in lower case; `None` for names without an extension and for hidden files.
pub fn split(path: &str) -> Option<(&str, String)> {
    let base = path.rfind('/').map_or(0, |slash| slash + 1);
    let dot = base + path[base..].find('.').filter(|dot| *dot > 0)?;
    Some((&path[..dot], path[dot + 1..].to_lowercase()))
}

/// Whether a member describes the archive instead of being part of a record: `__x__`, or inside a directory with such a
/// name.
pub fn is_about_archive(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or(path);
    first.len() > 4 && first.starts_with("__") && first.ends_with("__")
}

/// Extensions of files of many records, which no program stores as the value of one record.
const DATA_FILES: [&str; 13] =
    ["jsonl", "ndjson", "csv", "tsv", "tab", "parquet", "arrow", "arrows", "feather", "tfrecord", "tfrecords", "array_record", "libsvm"];
/// Extensions of files that accompany them.
const DOCUMENTS: [&str; 10] = ["md", "rst", "txt", "json", "yaml", "yml", "html", "pdf", "bib", "cff"];
/// Extensions of compressed files.
const COMPRESSIONS: [&str; 5] = [".gz", ".zst", ".zstd", ".bz2", ".xz"];

/// Whether a member with this extension is a data file of its own, compressed or not.
pub fn is_data_file(extension: &str) -> bool {
    DATA_FILES.contains(&last_part(uncompressed(extension)))
}

/// Whether it may accompany such files.
pub fn is_document(extension: &str) -> bool {
    DOCUMENTS.contains(&last_part(uncompressed(extension)))
}

fn uncompressed(extension: &str) -> &str {
    COMPRESSIONS.iter().find_map(|ending| extension.strip_suffix(ending)).unwrap_or(extension)
}

/// The option that reads such a file from a pipe, where its name is not known.
pub fn from_option(extension: &str) -> &'static str {
    match last_part(uncompressed(extension)) {
        "csv" => "--from csv ",
        "tsv" | "tab" => "--from tsv ",
        "libsvm" => "--from libsvm ",
        _ => "",
    }
}

/// How the contents of a member are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    Bytes,
    Text,
    /// One JSON value, see [`json_text`].
    Json,
}

/// The default of webdataset's decoders, based on the last part of the extension.
pub fn of_extension(extension: &str) -> MemberKind {
    match last_part(extension) {
        "txt" | "text" | "transcript" => MemberKind::Text,
        "json" | "jsn" => MemberKind::Json,
        _ if is_integer(extension) => MemberKind::Json,
        _ => MemberKind::Bytes,
    }
}

/// Whether webdataset decodes members with this extension with Python's `int`.
pub fn is_integer(extension: &str) -> bool {
    matches!(last_part(extension), "cls" | "cls2" | "index" | "inx" | "id")
}

/// Whether the members with this extension are JSON values.
pub fn is_json(extension: &str) -> bool {
    of_extension(extension) == MemberKind::Json && !is_integer(extension)
}

fn last_part(extension: &str) -> &str {
    extension.rsplit('.').next().unwrap_or(extension)
}

/// The JSON text of a member: without a byte order mark, which `json.loads` skips, and normalized if it is an integer
/// in a form that Python's `int` accepts. Anything else is unchanged.
pub fn json_text<'a>(extension: &str, contents: &'a [u8]) -> Cow<'a, [u8]> {
    if is_integer(extension) {
        return python_integer(contents).map_or(Cow::Borrowed(contents), |text| Cow::Owned(text.into_bytes()));
    }
    Cow::Borrowed(contents.strip_prefix(BYTE_ORDER_MARK).unwrap_or(contents))
}

/// `" +0_07\n"` as `7`.
fn python_integer(contents: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(contents).ok()?.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let digits = digits.replace('_', "");
    let digits = digits.trim_start_matches('0');
    Some(if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") })
}

/// How the members of each extension are read.
#[derive(Debug)]
pub struct Kinds {
    /// The types given by a schema.
    said: Vec<(String, MemberKind)>,
    wanted: Wanted,
    raw: bool,
}

impl Kinds {
    /// The declared fields (`--schema`); others are decoded according to their extension.
    pub fn of_declared(declared: &Schema, raw: bool) -> Arc<Kinds> {
        Kinds::of(declared.fields.iter(), Wanted::All, raw)
    }

    /// The schema of a run.
    pub fn of_schema(schema: &Schema, wanted: &Wanted, raw: bool) -> Arc<Kinds> {
        Kinds::of(schema.fields.iter().filter(|field| wanted.includes(&field.name)), wanted.clone(), raw)
    }

    fn of<'a>(fields: impl Iterator<Item = &'a Field>, wanted: Wanted, raw: bool) -> Arc<Kinds> {
        let kind = |field: &Field| match &field.ty.element {
            Element::Value(DType::Bytes) if field.ty.dims.is_empty() => MemberKind::Bytes,
            // A JSON value can be a string.
            Element::Value(DType::String) if field.ty.dims.is_empty() && !is_json(field.source_name()) => MemberKind::Text,
            _ => MemberKind::Json,
        };
        Arc::new(Kinds { said: fields.map(|field| (field.source_name().to_owned(), kind(field))).collect(), wanted, raw })
    }

    /// How members with an extension are read; `None` if they are skipped.
    pub fn of_member(&self, extension: &str) -> Option<MemberKind> {
        match self.said.iter().find(|(name, _)| name == extension) {
            Some((_, kind)) => Some(*kind),
            None if !self.wanted.includes(extension) => None,
            None if self.raw => Some(MemberKind::Bytes),
            None => Some(of_extension(extension)),
        }
    }

    /// Whether the schema has a field for an extension.
    pub fn is_known(&self, extension: &str) -> bool {
        self.said.iter().any(|(name, _)| name == extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_as_webdataset_does() {
        for (path, expected) in [
            ("a.jpg", Some(("a", "jpg"))),
            ("d.e/a.seg.PNG", Some(("d.e/a", "seg.png"))),
            ("./a.txt", Some(("./a", "txt"))),
            ("../../a.txt", Some(("../../a", "txt"))),
            ("a.", Some(("a", ""))),
            ("a", None),
            ("d.e/a", None),
            (".hidden.txt", None),
            ("", None),
        ] {
            assert_eq!(split(path), expected.map(|(key, extension)| (key, extension.to_owned())), "{path}");
        }
        assert!(is_about_archive("__meta__") && is_about_archive("__x__/a.txt") && !is_about_archive("__a.txt"));
    }

    #[test]
    fn integers_are_read_as_python_reads_them() {
        for (text, expected) in [
            ("7\n", "7"),
            (" 007 ", "7"),
            ("+7", "7"),
            ("-1_000", "-1000"),
            ("-00", "0"),
            ("1__0", "1__0"),
            ("_1", "_1"),
            ("+", "+"),
            ("- 1", "- 1"),
            ("", ""),
            ("cat", "cat"),
            ("1.5", "1.5"),
        ] {
            assert_eq!(*json_text("seg.cls", text.as_bytes()), *expected.as_bytes(), "{text}");
        }
        assert_eq!(*json_text("json", b"\xef\xbb\xbf{}"), *b"{}");
        assert_eq!(*json_text("json", b"007"), *b"007");
    }
}
