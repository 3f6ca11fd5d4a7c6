//! The header: one JSON object with the dtype, the shape and the byte range of each tensor.
//! Source: <https://huggingface.co/docs/safetensors/index#format>.
//!
//! The crate `safetensors` is not used because it takes the whole file as one slice in memory. Entries are parsed one
//! at a time, so that a header of nothing but brackets takes no more memory than its length.

use crate::error::{Error, Result};
use crate::formats::arrays::element::{Element, ElementKind};
use crate::formats::arrays::npy_header::shown_shape;
use crate::printable::counted;
use crate::schema::DType;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::fmt;

/// Maximum length of a header, as in other implementations.
pub const MAX_NBYTES: u64 = 100_000_000;
/// The key that is not a tensor.
pub const METADATA: &str = "__metadata__";

/// A tensor, with its byte range relative to the end of the header.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub name: String,
    pub element: Element,
    pub shape: Vec<u64>,
    pub start: u64,
    pub end: u64,
}

const DTYPES: [(&str, ElementKind); 13] = [
    ("BOOL", ElementKind::Number(DType::Bool)),
    ("I8", ElementKind::Number(DType::Int8)),
    ("I16", ElementKind::Number(DType::Int16)),
    ("I32", ElementKind::Number(DType::Int32)),
    ("I64", ElementKind::Number(DType::Int64)),
    ("U8", ElementKind::Number(DType::UInt8)),
    ("U16", ElementKind::Number(DType::UInt16)),
    ("U32", ElementKind::Number(DType::UInt32)),
    ("U64", ElementKind::Number(DType::UInt64)),
    ("F16", ElementKind::Number(DType::Float16)),
    ("BF16", ElementKind::BFloat16),
    ("F32", ElementKind::Number(DType::Float32)),
    ("F64", ElementKind::Number(DType::Float64)),
];

/// Maximum length of a tensor entry.
const MAX_ENTRY_NBYTES: usize = 64 << 10;

/// The length of the header, given the first eight bytes of a file of `nbytes`.
///
/// # Errors
/// The length exceeds the file or the limit.
pub fn length(first: [u8; 8], nbytes: u64) -> Result<u64> {
    let length = u64::from_le_bytes(first);
    if length > MAX_NBYTES {
        return Err(Error::data(format!("the header has {length} bytes, more than the {MAX_NBYTES} allowed")));
    }
    if length.saturating_add(8) > nbytes {
        return Err(Error::data(format!("the header claims {length} bytes, but the file has only {nbytes}: it is truncated")));
    }
    Ok(length)
}

/// The contents of a header.
#[derive(Default)]
pub struct Header {
    /// The tensors, in order.
    pub entries: Vec<Entry>,
    /// Tensors of dtypes that are not supported, with the error.
    pub unusable: Vec<(String, Error)>,
    /// The texts in `__metadata__`.
    pub metadata: Vec<(String, String)>,
}

/// Parses a header, which `nbytes` follow.
///
/// # Errors
/// Not such a header, or tensors that overlap, have gaps or do not end with the file.
pub fn parse(text: &[u8], nbytes: u64) -> Result<Header> {
    let no_header = || Error::data("the header is not the JSON object of a safetensors file");
    let end = text.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    let Members(members) = serde_json::from_slice(&text[..end]).map_err(|_| no_header())?;
    let (mut header, mut extents, mut seen) = (Header::default(), Vec::new(), HashSet::new());
    for (name, value) in members {
        if !seen.insert(name.clone()) {
            return Err(Error::data(format!("the header has the name {name} twice")));
        }
        if name == METADATA {
            header.metadata = texts(value.get());
            continue;
        }
        let in_field = |e: Error| e.in_field(crate::path::quoted(&name));
        let described = Described::parse(value.get()).map_err(in_field)?;
        extents.push((described.start, described.end, name.clone()));
        match described.element() {
            Ok(element) => header.entries.push(described.entry(&name, element).map_err(in_field)?),
            Err(error) => header.unusable.push((name.clone(), in_field(error))),
        }
    }
    check_extents(extents, nbytes)?;
    Ok(header)
}

/// The members of `__metadata__` that are texts, as the format requires.
fn texts(text: &str) -> Vec<(String, String)> {
    let Ok(Members(members)) = serde_json::from_str(text) else { return Vec::new() };
    members.into_iter().filter_map(|(name, value)| Some((name, serde_json::from_str(value.get()).ok()?))).collect()
}

/// The members of a JSON object in order, including repeated names; values are not parsed.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Object)
    }
}

/// A tensor as described.
struct Described {
    dtype: String,
    shape: Vec<u64>,
    start: u64,
    end: u64,
}

impl Described {
    fn parse(value: &str) -> Result<Described> {
        let wrong = |what: &str| Error::data(format!("the header lacks {what}"));
        let value: Value = if value.len() > MAX_ENTRY_NBYTES { Value::Null } else { serde_json::from_str(value).unwrap_or_default() };
        let dtype = value.get("dtype").and_then(Value::as_str).ok_or_else(|| wrong("the dtype"))?.to_owned();
        let numbers = |key: &str| value.get(key).and_then(Value::as_array)?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let shape = numbers("shape").ok_or_else(|| wrong("the shape"))?;
        let offsets = numbers("data_offsets").ok_or_else(|| wrong("the data_offsets"))?;
        let [start, end] = offsets[..] else { return Err(wrong("the data_offsets")) };
        Ok(Described { dtype, shape, start, end })
    }

    fn element(&self) -> Result<Element> {
        let Described { dtype, .. } = self;
        match DTYPES.iter().find(|(known, _)| known == dtype) {
            Some((_, kind)) => Ok(Element { kind: kind.clone(), big_endian: false }),
            None => Err(Error::data(format!("its dtype is {dtype:?}, which is not supported")).help(match dtype.starts_with('C') {
                true => "save its parts as two tensors: t.real.contiguous(), t.imag.contiguous()",
                false => "save it as float32: t.to(torch.float32)",
            })),
        }
    }

    fn entry(self, name: &str, element: Element) -> Result<Entry> {
        let Described { dtype, shape, start, end } = self;
        let each = element.nbytes() as u64;
        let sizes = shape.iter().filter(|n| **n > 0).try_fold(each, |all, size| all.checked_mul(*size));
        let nbytes = if shape.contains(&0) { sizes.map(|_| 0) } else { sizes };
        if nbytes.is_none() || end.checked_sub(start) != nbytes {
            return Err(Error::data(format!("the shape {} of {dtype} does not match bytes {start} to {end}", shown_shape(&shape))));
        }
        Ok(Entry { name: name.to_owned(), element, shape, start, end })
    }
}

fn check_extents(mut extents: Vec<(u64, u64, String)>, nbytes: u64) -> Result<()> {
    extents.sort_unstable();
    let mut at = 0;
    for (start, end, name) in extents {
        let name = crate::path::quoted(&name);
        if start != at {
            let what = if start < at { "overlaps another tensor" } else { "leaves a gap before it" };
            return Err(
                Error::data(format!("it starts at byte {start} of {nbytes} and {what}: expected it to start at byte {at}")).in_field(name)
            );
        }
        if end > nbytes {
            return Err(Error::data(format!(
                "it ends at byte {end}, but the header is followed by only {}: the file is truncated",
                counted(nbytes, "byte")
            ))
            .in_field(name));
        }
        at = end;
    }
    if at != nbytes {
        return Err(Error::data(format!("its tensors end at byte {at}, but the header is followed by {}", counted(nbytes, "byte"))));
    }
    Ok(())
}

/// A header, with the eight bytes before it. Tensors start at a multiple of eight bytes.
///
/// # Errors
/// The header is too long to be read.
pub fn bytes(entries: &[Entry], metadata: &[(String, String)]) -> Result<Vec<u8>> {
    let mut object = Map::new();
    let texts = metadata.iter().map(|(key, text)| (key.clone(), Value::from(text.as_str())));
    object.insert(METADATA.to_owned(), Value::Object(texts.collect()));
    for entry in entries {
        let dtype = DTYPES.iter().find(|(_, kind)| *kind == entry.element.kind).map_or("", |(name, _)| name);
        object.insert(entry.name.clone(), json!({ "dtype": dtype, "shape": entry.shape, "data_offsets": [entry.start, entry.end] }));
    }
    let mut text = Value::Object(object).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    let length = text.len() as u64;
    if length > MAX_NBYTES {
        return Err(Error::data(format!("the header has {length} bytes, more than the {MAX_NBYTES} allowed"))
            .help("write fewer fields, with `select`"));
    }
    let mut out = length.to_le_bytes().to_vec();
    out.extend(text);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let element = |dtype| Element::number(dtype);
        let entries = [
            Entry { name: "a/values".to_owned(), element: element(DType::Float64), shape: vec![2, 1], start: 0, end: 16 },
            Entry { name: "\"x\"".to_owned(), element: element(DType::Bool), shape: vec![], start: 16, end: 17 },
            Entry { name: "none".to_owned(), element: element(DType::UInt16), shape: vec![0, 7], start: 17, end: 17 },
        ];
        let metadata = [("format".to_owned(), "pt".to_owned()), ("tatter".to_owned(), "two\nlines".to_owned())];
        let bytes = bytes(&entries, &metadata).unwrap();
        assert_eq!(bytes.len() % 8, 0);
        assert_eq!(length(bytes[..8].try_into().unwrap(), 1000).unwrap() as usize, bytes.len() - 8);
        let header = parse(&bytes[8..], 17).unwrap();
        assert_eq!((header.entries, header.metadata), (entries.to_vec(), metadata.to_vec()));
    }

    #[test]
    fn a_tensor_of_another_dtype_does_not_affect_others() {
        let text = r#"{"x":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]},"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
        let header = parse(text.as_bytes(), 3).unwrap();
        assert_eq!(header.entries.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["y"]);
        let [(name, error)] = &header.unusable[..] else { panic!("{}", header.unusable.len()) };
        assert_eq!((name.as_str(), error.message()), ("x", "its dtype is \"F8_E4M3\", which is not supported"));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let one = |entry: &str| format!("{{\"x\":{entry}}}");
        let deep = format!("{{\"x\":{}", "[".repeat(100_000));
        for (text, nbytes, expected) in [
            ("[]".to_owned(), 0, "the header is not the JSON object of a safetensors file"),
            ("{} x".to_owned(), 0, "the header is not the JSON object of a safetensors file"),
            (deep, 0, "the header is not the JSON object of a safetensors file"),
            (one("3"), 0, "the header lacks the dtype"),
            (one(r#"{"dtype":"F32"}"#), 0, "the header lacks the shape"),
            (one(r#"{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}"#), 4, "the header lacks the shape"),
            (one(r#"{"dtype":"F32","shape":[1],"data_offsets":[0]}"#), 4, "the header lacks the data_offsets"),
            (one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,4]}"#), 4, "the shape (2,) of F32 does not match bytes 0 to 4"),
            (one(r#"{"dtype":"F32","shape":[1],"data_offsets":[4,0]}"#), 4, "the shape (1,) of F32 does not match bytes 4 to 0"),
            (
                one(r#"{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}"#),
                0,
                "the shape (4294967296, 4294967296, 0) of F32 does not match bytes 0 to 0",
            ),
            (
                one(r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#),
                3,
                "it ends at byte 4, but the header is followed by only 3 bytes: the file is truncated",
            ),
            (
                one(r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#),
                5,
                "its tensors end at byte 4, but the header is followed by 5 bytes",
            ),
            (
                one(r#"{"dtype":"F32","shape":[1],"data_offsets":[1,5]}"#),
                5,
                "it starts at byte 1 of 5 and leaves a gap before it: expected it to start at byte 0",
            ),
            (
                r#"{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#.to_owned(),
                3,
                "it starts at byte 1 of 3 and overlaps another tensor: expected it to start at byte 2",
            ),
            (
                r#"{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#.to_owned(),
                2,
                "the header has the name x twice",
            ),
        ] {
            let error = parse(text.as_bytes(), nbytes).err().unwrap();
            assert_eq!(error.message(), expected, "{}", &text[..text.len().min(80)]);
        }
        for (first, nbytes, expected) in [
            ([0xff; 8], u64::MAX, format!("the header has {} bytes, more than the {MAX_NBYTES} allowed", u64::MAX)),
            ([9, 0, 0, 0, 0, 0, 0, 0], 10, "the header claims 9 bytes, but the file has only 10: it is truncated".to_owned()),
        ] {
            assert_eq!(length(first, nbytes).unwrap_err().message(), expected);
        }
    }
}
