//! The header of an array: dtype, order and shape, as a Python literal.
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use super::element::{Element, ElementKind, Record, RecordField, Step};
use super::python::{self, Python};
use crate::error::{Error, Reason, Result};
use crate::schema::{DType, MAX_FIELDS};
use arrow_schema::{DataType, TimeUnit};
use std::io::{self, Read};

/// The first bytes of every array.
pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Values start at a multiple of this offset.
const ALIGNMENT: usize = 64;
/// Maximum size of a record.
const MAX_RECORD_NBYTES: usize = 1 << 28;
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
            .ok_or_else(|| Error::data(format!("the shape {} does not fit in 63 bits", shown_shape(&self.shape))))
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
        let shape = sizes.iter().map(size).collect::<Option<Vec<_>>>().ok_or_else(|| damaged("has a shape with an invalid size"))?;
        let element = match entry("descr")? {
            Python::Str(descr) => parse_descr(descr)?,
            Python::List(fields) => Element { kind: ElementKind::Record(record(fields)?), big_endian: false },
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

/// A shape in messages: `(3, 4)`, or `of 20000 axes` if there are more than NumPy itself supports.
pub fn shown_shape(shape: &[u64]) -> String {
    const SHOWN: usize = 64;
    if shape.len() > SHOWN { format!("of {} axes", shape.len()) } else { shape_text(shape) }
}

/// `(3, 4)` as Python writes it.
fn shape_text(shape: &[u64]) -> String {
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
        (1, _) | (_, ElementKind::ByteString(_)) => '|',
        _ if element.big_endian => '>',
        _ => '<',
    };
    match &element.kind {
        ElementKind::Number(dtype) => format!("{order}{}", NUMBERS.iter().find(|(_, d)| d == dtype).map_or("V1", |(code, _)| code)),
        ElementKind::BFloat16 => "<V2".to_owned(),
        ElementKind::Unicode(width) => format!("{order}U{width}"),
        ElementKind::ByteString(width) => format!("|S{width}"),
        ElementKind::Time { dtype, .. } => format!("{order}{}", time_code(dtype)),
        ElementKind::Record(record) => format!("|V{}", record.nbytes),
    }
}

/// A dtype without its byte order.
fn code_of(descr: &str) -> &str {
    descr.strip_prefix(['<', '>', '|', '=']).unwrap_or(descr)
}

fn parse_descr(descr: &str) -> Result<Element> {
    let code = code_of(descr);
    let big_endian = descr.starts_with('>') || (descr.starts_with('=') && cfg!(target_endian = "big"));
    let width = |letter: char| code.strip_prefix(letter).and_then(|n| n.parse::<u32>().ok()).map(|n| n as usize);
    let kind = match (NUMBERS.iter().find(|(c, _)| *c == code), width('U'), width('S').or_else(|| width('a'))) {
        (Some((_, dtype)), ..) => ElementKind::Number(dtype.clone()),
        (_, Some(width), _) => ElementKind::Unicode(width),
        (_, _, Some(width)) => ElementKind::ByteString(width),
        _ if code == "?" => ElementKind::Number(DType::Bool),
        _ => time(code).ok_or_else(|| refused(descr).because(Reason::ForeignDType))?,
    };
    Ok(Element { kind, big_endian })
}

/// `M8[us]`, `m8[us]` and `M8[25us]`; `None` for units that no Arrow type holds, such as months between times.
/// Source: <https://numpy.org/doc/stable/reference/arrays.datetime.html#datetime-units>.
fn time(code: &str) -> Option<ElementKind> {
    let (is_duration, unit) = match code.strip_suffix(']')?.split_once('[')? {
        ("M8", unit) => (false, unit),
        ("m8", unit) => (true, unit),
        _ => return None,
    };
    let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &unit[..unit.len() - letters.len()];
    let multiple: i64 = if digits.is_empty() { 1 } else { digits.parse().ok().filter(|n| *n > 0)? };
    let date = |step| Some(ElementKind::Time { dtype: DType::Arrow(Box::new(DataType::Date32)), step });
    let (unit, each) = match letters {
        "Y" if !is_duration => return date(Step::Months(multiple.checked_mul(12)?)),
        "M" if !is_duration => return date(Step::Months(multiple)),
        "W" if !is_duration => return date(Step::Units(multiple.checked_mul(7)?)),
        "D" if !is_duration => return date(Step::Units(multiple)),
        "W" => (TimeUnit::Second, 604_800),
        "D" => (TimeUnit::Second, 86_400),
        "h" => (TimeUnit::Second, 3600),
        "m" => (TimeUnit::Second, 60),
        "s" => (TimeUnit::Second, 1),
        "ms" => (TimeUnit::Millisecond, 1),
        "us" => (TimeUnit::Microsecond, 1),
        "ns" => (TimeUnit::Nanosecond, 1),
        _ => return None,
    };
    let ty = if is_duration { DataType::Duration(unit) } else { DataType::Timestamp(unit, None) };
    Some(ElementKind::Time { dtype: DType::Arrow(Box::new(ty)), step: Step::Units(multiple.checked_mul(each)?) })
}

/// `M8[us]` for a dtype that NumPy has.
fn time_code(dtype: &DType) -> String {
    let unit = |unit: TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match dtype.arrow() {
        DataType::Timestamp(of, _) => format!("M8[{}]", unit(of)),
        DataType::Duration(of) => format!("m8[{}]", unit(of)),
        _ => "M8[D]".to_owned(),
    }
}

/// Why an array of this dtype cannot be read, and how to convert it in Python.
pub fn refused(descr: &str) -> Error {
    let code = code_of(descr);
    let (what, help) = match code.chars().next() {
        Some('O') => {
            return Error::data("its values are pickled Python objects, which may contain code, so tatter does not load them").help(
                "save numbers or strings instead, and lists of different lengths as JSON Lines, or as x/values and x/row_splits_0 with numpy.savez",
            );
        }
        Some('c') => ("complex numbers", "save the parts as two arrays: a.real, a.imag"),
        Some('M') => ("times in a unit that Arrow lacks", "save them in another: a.astype(\"datetime64[ns]\")"),
        // NumPy converts years and months to no other unit.
        Some('m') if !code.ends_with("s]") => ("durations in a unit that Arrow lacks", "save them as integers: a.astype(\"int64\")"),
        Some('m') => ("durations in a unit that Arrow lacks", "save them in another: a.astype(\"timedelta64[ns]\")"),
        Some('f') => ("floats of an unsupported width", "save them as float64: a.astype(\"float64\")"),
        // The form of float8 and bfloat16 from other packages.
        Some('V') => ("raw bytes", "save float8 and bfloat16 as float32: a.astype(\"float32\"); others as bytes: a.view(\"uint8\")"),
        _ => ("of an unsupported dtype", "save it with a dtype of numbers, bools or strings"),
    };
    Error::data(format!("its values are {what} ({descr}), which tensors cannot store")).help(help)
}

/// The layout of the records of a structured array.
fn record(fields: &[Python]) -> Result<Record> {
    let mut record = Record::default();
    add_fields(fields, "", &mut record)?;
    Ok(record)
}

fn add_fields(fields: &[Python], prefix: &str, record: &mut Record) -> Result<()> {
    let wrong = || damaged("has a descr that is not a dtype");
    for field in fields {
        let Python::Tuple(parts) = field else { return Err(wrong()) };
        let (name, ty, sizes) = match parts.as_slice() {
            [name, ty] => (name, ty, &[][..]),
            [name, ty, Python::Tuple(sizes)] => (name, ty, sizes.as_slice()),
            [name, ty, size @ Python::Int(_)] => (name, ty, std::slice::from_ref(size)),
            _ => return Err(wrong()),
        };
        let name = match name {
            Python::Str(name) => name,
            // With a title.
            Python::Tuple(names) => match names.as_slice() {
                [_, Python::Str(name)] => name,
                _ => return Err(wrong()),
            },
            _ => return Err(wrong()),
        };
        let size = |size: &Python| if let Python::Int(n) = size { u64::try_from(*n).ok() } else { None };
        let shape = sizes.iter().map(size).collect::<Option<Vec<u64>>>().ok_or_else(wrong)?;
        let descr = match ty {
            Python::Str(descr) => descr,
            Python::List(inner) if shape.is_empty() => {
                add_fields(inner, &format!("{prefix}{name}."), record)?;
                continue;
            }
            Python::List(_) => {
                let error = Error::data(format!("the field {prefix}{name} of its records is an array of records, which is not supported"));
                return Err(error.help("save its fields as separate arrays").because(Reason::ForeignDType));
            }
            _ => return Err(wrong()),
        };
        let element = match parse_descr(descr) {
            // The bytes are those of a pickle.
            Err(error) if code_of(descr).starts_with('O') => return Err(error),
            parsed => parsed.ok(),
        };
        let each = element.as_ref().map(Element::nbytes).or_else(|| nbytes_of(code_of(descr))).ok_or_else(wrong)?;
        let nbytes = shape.iter().try_fold(each as u64, |all, size| all.checked_mul(*size));
        let end = nbytes.and_then(|n| usize::try_from(n).ok()).and_then(|n| record.nbytes.checked_add(n));
        let end = end.filter(|end| *end <= MAX_RECORD_NBYTES).ok_or_else(|| {
            Error::data(format!("its records take more than {MAX_RECORD_NBYTES} bytes each")).because(Reason::ForeignDType)
        })?;
        // Padding has no name.
        if !name.is_empty() {
            let (name, descr) = (format!("{prefix}{name}"), descr.clone());
            record.fields.push(RecordField { name, start: record.nbytes, descr, element, shape });
        }
        record.nbytes = end;
    }
    if record.fields.len() > MAX_FIELDS {
        return Err(Error::data("its records have more than 10,000 fields").because(Reason::ForeignDType));
    }
    Ok(())
}

/// The size of a value that cannot be read, as in `c16`, `V5` and `M8[us]`.
fn nbytes_of(code: &str) -> Option<usize> {
    let digits: String = code.chars().skip(1).take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
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
        let number = |dtype, big_endian| Element { kind: ElementKind::Number(dtype), big_endian };
        let cases = [
            (1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }   \n", number(DType::Float32, true), true, vec![2, 3]),
            (2, "{\"shape\": (3L,), \"fortran_order\": False, \"descr\": \"|u1\"}", number(DType::UInt8, false), false, vec![3]),
            (
                3,
                "{'descr':'<U5','fortran_order':False,'shape':()}",
                Element { kind: ElementKind::Unicode(5), big_endian: false },
                false,
                vec![],
            ),
            (
                1,
                "{'descr': '|S0', 'fortran_order': False, 'shape': (1,)}",
                Element { kind: ElementKind::ByteString(0), big_endian: false },
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
    fn fields_of_records_are_found() {
        let descr = "[('a', '|u1'), ('', '|V3'), (('title', 'b'), '>f8', (2, 3)), ('t', '<M8[us]'), ('r', [('x', '<U2'), ('y', '|b1')])]";
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (5,)}}");
        let (header, _) = Header::read(&mut written(1, &text).as_slice()).unwrap();
        let ElementKind::Record(record) = &header.element.kind else { panic!() };
        let found: Vec<_> = record.fields.iter().map(|f| (f.name.as_str(), f.start, f.element.is_some(), f.shape.as_slice())).collect();
        let expected: [(&str, usize, bool, &[u64]); 5] =
            [("a", 0, true, &[]), ("b", 4, true, &[2, 3]), ("t", 52, true, &[]), ("r.x", 60, true, &[]), ("r.y", 68, true, &[])];
        assert_eq!((found.as_slice(), record.nbytes, header.nbytes().unwrap()), (&expected[..], 69, 345));
    }

    #[test]
    fn wrong_headers_are_refused() {
        let header = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        for (text, expected) in [
            (header("'|O'", "(3,)"), "its values are pickled Python objects, which may contain code, so tatter does not load them"),
            (header("'<c16'", "(3,)"), "its values are complex numbers (<c16), which tensors cannot store"),
            (header("'<M8[ps]'", "(3,)"), "its values are times in a unit that Arrow lacks (<M8[ps]), which tensors cannot store"),
            (header("'<m8[M]'", "(3,)"), "its values are durations in a unit that Arrow lacks (<m8[M]), which tensors cannot store"),
            (
                header("[('a', '<i4'), ('b', '|O')]", "(3,)"),
                "its values are pickled Python objects, which may contain code, so tatter does not load them",
            ),
            (
                header("[('a', '<i4'), ('b', [('c', '<f8')], (2,))]", "(3,)"),
                "the field b of its records is an array of records, which is not supported",
            ),
            (header("[('a', '<i4', (1073741824, 1073741824, 1073741824))]", "(3,)"), "its records take more than 268435456 bytes each"),
            (header("[('a', '<i4'), 'b']", "(3,)"), "the header of the array has a descr that is not a dtype"),
            (header("'<i3'", "(3,)"), "its values are of an unsupported dtype (<i3), which tensors cannot store"),
            (header("'<i4'", "(-3,)"), "the header of the array has a shape with an invalid size"),
            (header("'<i4'", "(99999999999999999999,)"), "the header of the array has a shape with an invalid size"),
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
