//! The header of an array: dtype, order and shape, as a Python literal.
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use super::element::{Element, Kind};
use super::python::{self, Python};
use crate::error::{Error, Reason, Result};
use crate::schema::DType;
use std::io::{self, Read};

/// The first bytes of every array.
pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Values start at a multiple of this offset.
const ALIGNMENT: usize = 64;
/// Maximum length of a header.
const MAX_HEADER_NBYTES: usize = 1 << 20;

/// The contents of the header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub element: Element,
    /// Fortran order: axis 0 varies fastest.
    pub fortran: bool,
    pub shape: Vec<u64>,
}

impl Header {
    /// Total bytes of the values.
    ///
    /// # Errors
    /// The size exceeds 63 bits.
    pub fn nbytes(&self) -> Result<u64> {
        let each = self.element.nbytes() as u64;
        let total = self.shape.iter().try_fold(each, |all, size| all.checked_mul(*size)).filter(|n| i64::try_from(*n).is_ok());
        // A zero would hide an overflow.
        let sizes = self.shape.iter().filter(|n| **n > 0).try_fold(each.max(1), |all, size| all.checked_mul(*size));
        total
            .filter(|_| sizes.is_some_and(|n| i64::try_from(n).is_ok()))
            .ok_or_else(|| Error::data(format!("the shape {} does not fit in 63 bits", shape_text(&self.shape))))
    }

    /// The header, in the oldest version that can hold it.
    pub fn bytes(&self) -> Vec<u8> {
        let text = format!(
            "{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}",
            descr(&self.element),
            if self.fortran { "True" } else { "False" },
            shape_text(&self.shape)
        );
        let padded = |fixed: usize| (fixed + text.len() + 1).next_multiple_of(ALIGNMENT) - fixed;
        let mut out = MAGIC.to_vec();
        let length = match u16::try_from(padded(10)) {
            Ok(length) => {
                out.extend([1, 0]);
                out.extend(length.to_le_bytes());
                usize::from(length)
            }
            Err(_) => {
                let length = padded(12);
                out.extend([2, 0]);
                out.extend((length as u32).to_le_bytes());
                length
            }
        };
        let end = out.len() + length;
        out.extend(text.as_bytes());
        out.resize(end - 1, b' ');
        out.push(b'\n');
        out
    }

    /// Reads a header. Returns it with its length in bytes.
    ///
    /// # Errors
    /// Not a header, a truncated header, or an unsupported dtype, with advice.
    pub fn read(from: &mut dyn Read) -> Result<(Header, u64)> {
        let mut fixed = [0; 8];
        exact(from, &mut fixed)?;
        if !fixed.starts_with(MAGIC) {
            return Err(Error::data("not a NumPy array: it does not start with \\x93NUMPY"));
        }
        let (length, before) = match fixed[6] {
            1 => {
                let mut length = [0; 2];
                exact(from, &mut length)?;
                (usize::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                exact(from, &mut length)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            version => return Err(Error::data(format!("version {version}.{} of the NPY format is not supported", fixed[7]))),
        };
        if length > MAX_HEADER_NBYTES {
            return Err(Error::data(format!("a header of {length} bytes is too long for an array")));
        }
        let mut bytes = vec![0; length];
        exact(from, &mut bytes)?;
        // Versions before 3 use Latin-1.
        let text = match fixed[6] {
            3 => String::from_utf8(bytes).map_err(|_| Error::data("the header is not valid UTF-8"))?,
            _ => bytes.iter().map(|b| char::from(*b)).collect(),
        };
        Ok((Header::parse(&text)?, (before + length) as u64))
    }

    fn parse(text: &str) -> Result<Header> {
        let Python::Dict(entries) = python::parse(text).ok_or_else(|| damaged("is not a Python literal"))? else {
            return Err(damaged("is not a dict"));
        };
        let entry = |name: &str| {
            entries
                .iter()
                .find(|(key, _)| *key == Python::Str(name.to_owned()))
                .map(|(_, value)| value)
                .ok_or_else(|| damaged(&format!("lacks {name}")))
        };
        let Python::Bool(fortran) = *entry("fortran_order")? else {
            return Err(damaged("has a fortran_order that is neither True nor False"));
        };
        let Python::Tuple(sizes) = entry("shape")? else {
            return Err(damaged("has a shape that is not a tuple"));
        };
        let size =
            |size: &Python| if let Python::Int(n) = size { u64::try_from(*n).ok().filter(|n| i64::try_from(*n).is_ok()) } else { None };
        let shape =
            sizes.iter().map(size).collect::<Option<Vec<_>>>().ok_or_else(|| damaged("has a shape that does not consist of sizes"))?;
        let element = match entry("descr")? {
            Python::Str(descr) => parse_descr(descr)?,
            Python::List(fields) => return Err(of_records(fields).because(Reason::ForeignDType)),
            _ => return Err(damaged("has a descr that is not a dtype")),
        };
        Ok(Header { element, fortran, shape })
    }
}

fn damaged(what: &str) -> Error {
    Error::data(format!("the header of the array {what}"))
}

fn exact(from: &mut dyn Read, into: &mut [u8]) -> Result<()> {
    from.read_exact(into).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => Error::data("the header of the array is truncated"),
        _ => Error::io("the array", "cannot read", &e),
    })
}

/// `(3, 4)` as Python writes it.
pub fn shape_text(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The numeric dtypes, by letter and size.
const NUMBERS: [(&str, DType); 12] = [
    ("b1", DType::Bool),
    ("i1", DType::Int8),
    ("i2", DType::Int16),
    ("i4", DType::Int32),
    ("i8", DType::Int64),
    ("u1", DType::UInt8),
    ("u2", DType::UInt16),
    ("u4", DType::UInt32),
    ("u8", DType::UInt64),
    ("f2", DType::Float16),
    ("f4", DType::Float32),
    ("f8", DType::Float64),
];

fn descr(element: &Element) -> String {
    let order = match (element.nbytes(), &element.kind) {
        (1, _) | (_, Kind::ByteString(_)) => '|',
        _ if element.big_endian => '>',
        _ => '<',
    };
    match &element.kind {
        Kind::Number(dtype) => format!("{order}{}", NUMBERS.iter().find(|(_, d)| d == dtype).map_or("V1", |(code, _)| code)),
        Kind::BFloat16 => "<V2".to_owned(),
        Kind::Unicode(width) => format!("{order}U{width}"),
        Kind::ByteString(width) => format!("|S{width}"),
    }
}

fn parse_descr(descr: &str) -> Result<Element> {
    let (order, code) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &descr[1..]),
        _ => ('|', descr),
    };
    let big_endian = order == '>' || (order == '=' && cfg!(target_endian = "big"));
    let width = |letter: char| code.strip_prefix(letter).and_then(|n| n.parse::<u32>().ok()).map(|n| n as usize);
    let kind = match (NUMBERS.iter().find(|(c, _)| *c == code), width('U'), width('S').or_else(|| width('a'))) {
        (Some((_, dtype)), ..) => Kind::Number(dtype.clone()),
        (_, Some(width), _) => Kind::Unicode(width),
        (_, _, Some(width)) => Kind::ByteString(width),
        _ if code == "?" => Kind::Number(DType::Bool),
        _ => return Err(refused(descr, code).because(Reason::ForeignDType)),
    };
    Ok(Element { kind, big_endian })
}

/// Why an array of this dtype cannot be read, and how to convert it in Python.
fn refused(descr: &str, code: &str) -> Error {
    let (what, help) = match code.chars().next() {
        Some('O') => {
            return Error::data("its values are Python objects: a pickle, which may contain code and is never loaded").help(
                "save numbers or strings: lists of different lengths as JSON Lines, or as x/values and x/row_splits_0 in numpy.savez",
            );
        }
        Some('c') => ("complex numbers", "save the parts as two arrays: a.real, a.imag"),
        Some('M') => ("times", "save them as integers: a.astype(\"int64\")"),
        Some('m') => ("time differences", "save them as integers: a.astype(\"int64\")"),
        Some('f') => ("floats of another width", "save them as float64: a.astype(\"float64\")"),
        // The form of float8 and bfloat16 from other packages.
        Some('V') => ("raw bytes", "save float8 and bfloat16 as float32: a.astype(\"float32\"); others as bytes: a.view(\"uint8\")"),
        _ => ("of another dtype", "save it with a dtype of numbers, bools or strings"),
    };
    Error::data(format!("its values are {what} ({descr}), which tensors cannot store")).help(help)
}

fn of_records(fields: &[Python]) -> Error {
    let names: Vec<&str> = fields
        .iter()
        .filter_map(|field| match field {
            Python::Tuple(parts) => match parts.first() {
                Some(Python::Str(name)) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        })
        .take(5)
        .collect();
    Error::data(format!("its values are records (fields {}), which tensors cannot store", names.join(", ")))
        .help("save each field as an array: numpy.savez(\"x.npz\", **{name: a[name] for name in a.dtype.names})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![3], vec![0, 4], vec![1, 2, 3], vec![7; 20_000]] {
            for (_, dtype) in NUMBERS {
                let header = Header { element: Element::number(dtype), fortran: false, shape: shape.clone() };
                let bytes = header.bytes();
                assert_eq!(bytes.len() % ALIGNMENT, 0);
                assert_eq!(Header::read(&mut bytes.as_slice()).unwrap(), (header, bytes.len() as u64));
            }
        }
    }

    #[test]
    fn headers_of_others_are_read() {
        let number = |dtype, big_endian| Element { kind: Kind::Number(dtype), big_endian };
        let cases = [
            (1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }   \n", number(DType::Float32, true), true, vec![2, 3]),
            (2, "{\"shape\": (3L,), \"fortran_order\": False, \"descr\": \"|u1\"}", number(DType::UInt8, false), false, vec![3]),
            (3, "{'descr':'<U5','fortran_order':False,'shape':()}", Element { kind: Kind::Unicode(5), big_endian: false }, false, vec![]),
            (
                1,
                "{'descr': '|S0', 'fortran_order': False, 'shape': (1,)}",
                Element { kind: Kind::ByteString(0), big_endian: false },
                false,
                vec![1],
            ),
        ];
        for (version, text, element, fortran, shape) in cases {
            let (header, _) = Header::read(&mut written(version, text).as_slice()).unwrap();
            assert_eq!(header, Header { element, fortran, shape }, "{text}");
        }
    }

    #[test]
    fn wrong_headers_are_refused() {
        let header = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        for (text, expected) in [
            (header("'|O'", "(3,)"), "its values are Python objects: a pickle, which may contain code and is never loaded"),
            (header("'<c16'", "(3,)"), "its values are complex numbers (<c16), which tensors cannot store"),
            (header("'<M8[us]'", "(3,)"), "its values are times (<M8[us]), which tensors cannot store"),
            (header("[('a', '<i4'), ('b', '<f8', (2,))]", "(3,)"), "its values are records (fields a, b), which tensors cannot store"),
            (header("'<i3'", "(3,)"), "its values are of another dtype (<i3), which tensors cannot store"),
            (header("'<i4'", "(-3,)"), "the header of the array has a shape that does not consist of sizes"),
            (header("'<i4'", "(99999999999999999999,)"), "the header of the array has a shape that does not consist of sizes"),
            (header("'<i4'", "3"), "the header of the array has a shape that is not a tuple"),
            ("{'descr': '<i4'}".to_owned(), "the header of the array lacks fortran_order"),
            ("[".repeat(100_000), "the header of the array is not a Python literal"),
            ("__import__('os')".to_owned(), "the header of the array is not a Python literal"),
        ] {
            assert_eq!(Header::read(&mut written(2, &text).as_slice()).unwrap_err().message(), expected, "{}", &text[..text.len().min(60)]);
        }
        let huge = Header { element: Element::number(DType::Int64), fortran: false, shape: vec![1 << 62, 0, 1 << 40] };
        assert!(huge.nbytes().is_err());
        let bytes = written(1, &header("'<i4'", "(3,)"));
        for end in 0..bytes.len() {
            assert!(Header::read(&mut &bytes[..end]).is_err(), "cut at {end}");
        }
    }
}
