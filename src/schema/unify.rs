//! The schema that holds the records of two schemas.
//!
//! Widening rules: integers to the next width that holds both, an integer and a float to float64, string and bytes to
//! bytes, null or empty to anything, absent to optional, known sizes to `?`. Values that no type can hold are a
//! conflict.

use super::facts::{Storage, Stored};
use super::notation::{declaration, schema_option};
use super::time::finer;
use super::{DType, Dim, Element, Field, Literal, Schema, Size, Type};
use crate::error::{Error, Result};
use crate::path::FieldPath;
use arrow_schema::DataType;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A field whose values no single type can hold.
struct Clash {
    path: FieldPath,
    types: [Type; 2],
}

/// The schema that holds the records of both. Fields keep the order of `a`; new fields follow.
///
/// ```
/// use tatter::schema::{notation::parse, unify::unify};
/// let both = unify(&parse("x: int32; y: string")?, &parse("x: float32[?]; z: bool")?);
/// assert!(both.is_err(), "a value and a vector");
/// let both = unify(&parse("x: int8[2]")?, &parse("x: uint8[3]")?)?;
/// assert_eq!(both.fields[0].ty.to_string(), "int16[?]");
/// # Ok::<(), tatter::error::Error>(())
/// ```
///
/// # Errors
/// All conflicts, each with its path and both types.
pub fn unify(a: &Schema, b: &Schema) -> Result<Schema> {
    unify_named(a, b, ["one input", "another"])
}

/// Why a field can be a list in one input and a scalar in another.
const LISTS_ONLY: &str =
    "if one is a TFRecord, which stores only lists: --scalar auto reads fields with one value in every record as scalars";

/// Like [`unify`]; conflicts name the inputs.
///
/// # Errors
/// See [`unify`].
pub fn unify_named(a: &Schema, b: &Schema, [in_a, in_b]: [&str; 2]) -> Result<Schema> {
    let mut clashes = Vec::new();
    let fields = unify_fields(&a.fields, &b.fields, None, &mut clashes);
    let Some((first, others)) = clashes.split_first() else {
        return Ok(Schema::with_facts(fields, a.facts.join(&b.facts)));
    };
    let [x, y] = &first.types;
    let mut error = Error::data(format!("is {x} in {in_a} and {y} in {in_b}: no type fits both")).in_field(&first.path);
    // A scalar and a list of it.
    let are_alike = x.element == y.element || matches!((x.dtype(), y.dtype()), (Some(a), Some(b)) if unify_dtypes(a, b).is_some());
    if matches!((x.rank(), y.rank()), (0, 1) | (1, 0)) && are_alike && [x, y].iter().all(|ty| !ty.is_ragged()) {
        error = error.help(LISTS_ONLY);
    }
    if [x, y].iter().all(|ty| ty.dtype().is_some_and(DType::is_integer)) && x.dims == y.dims && !x.is_sparse() {
        let (optional, with_nulls) = (x.optional || y.optional, x.with_nulls || y.with_nulls);
        let ty = Type { element: Element::Value(DType::Int64), dims: x.dims.clone(), optional, with_nulls };
        error = error.help(format!("if int64 holds all values: {}", schema_option(&declaration(&first.path, ty))));
    }
    for Clash { path, types: [x, y] } in others.iter().take(10) {
        error = error.help(format!("{path} is {x} in one input and {y} in another"));
    }
    if others.len() > 10 {
        error = error.help(format!("and {} more", others.len() - 10));
    }
    Err(error)
}

/// Applies `declared` to inferred fields, at every level of structures. Field order is that of the data; fields that
/// are only declared come last. A declared type applies as a whole: dims, nulls, default and source.
pub fn overlay(declared: &Schema, inferred: &Schema) -> Schema {
    Schema::with_facts(overlay_fields(&declared.fields, &inferred.fields), inferred.facts.clone())
}

fn overlay_fields(declared: &[Field], inferred: &[Field]) -> Vec<Field> {
    let by_name: HashMap<&str, &Field> = declared.iter().rev().map(|field| (field.name.as_str(), field)).collect();
    let inferred_names: HashSet<&str> = inferred.iter().map(|field| field.name.as_str()).collect();
    let found = inferred.iter().map(|field| match by_name.get(field.name.as_str()) {
        Some(said) => {
            let mut said = (*said).clone();
            // The keys of an object declared as a map are values, not fields.
            let fields = !said.is_map() || field.is_map();
            if let (Element::Struct(said), Element::Struct(found), true) = (&mut said.ty.element, &field.ty.element, fields) {
                *said = overlay_fields(said, found);
            }
            let maps = said.is_map() == field.is_map();
            let same = said.ty.clone().with_optional(field.ty.optional) == field.ty && maps;
            if same && said.source.is_empty() {
                said.source = field.source.clone();
            }
            if same && matches!(field.storage, Storage::ValuesOnly) {
                said.storage = Storage::ValuesOnly;
            }
            // If the declared type differs, only what does not describe the type is kept.
            if let (Storage::Arrow(stored), true) = (&field.storage, maps && said.source.values.is_none()) {
                let nullable = if same { said.ty.optional } else { stored.field.is_nullable() };
                let field = Arc::new(stored.field.as_ref().clone().with_nullable(nullable));
                said.storage = Storage::Arrow(Stored { field, ..stored.clone() });
                match &said.default {
                    Some(Literal::String(text)) => said.storage.add_value(text),
                    Some(value) => said.storage.add_value(&value.to_string()),
                    None => {}
                }
            }
            said
        }
        None => field.clone(),
    });
    found.chain(declared.iter().filter(|said| !inferred_names.contains(said.name.as_str())).cloned()).collect()
}

fn unify_fields(a: &[Field], b: &[Field], outer: Option<&FieldPath>, clashes: &mut Vec<Clash>) -> Vec<Field> {
    let others: HashMap<&str, &Field> = b.iter().map(|f| (f.name.as_str(), f)).collect();
    let names: HashSet<&str> = a.iter().map(|f| f.name.as_str()).collect();
    let mut fields = Vec::with_capacity(a.len().max(b.len()));
    for field in a {
        let Some(other) = others.get(field.name.as_str()) else {
            fields.push(absent_elsewhere(field));
            continue;
        };
        let path = outer.map_or_else(|| FieldPath::name(&field.name), |p| p.join(&field.name));
        let mut unified = field.clone();
        unified.ty = unify_types(&field.ty, &other.ty, &path, clashes);
        let rank = unified.ty.rank();
        let is_unknown = |field: &Field| field.ty.element == Element::Value(DType::Null);
        unified.storage = match (is_unknown(field), is_unknown(other)) {
            // Fields without values say nothing about those of the other input.
            (true, false) if other.storage.is_map(rank) => Storage::Map { declared: false, rank },
            (false, true) if field.storage.is_map(rank) => Storage::Map { declared: false, rank },
            (true, false) if field.storage.arrow().is_some() => other.storage.or_null(),
            (false, true) if other.storage.arrow().is_some() => field.storage.or_null(),
            _ => field.storage.join(&other.storage, rank),
        };
        unified.default = unified.default.or_else(|| other.default.clone());
        if unified.source.is_empty() {
            unified.source = other.source.clone();
        }
        fields.push(unified);
    }
    fields.extend(b.iter().filter(|f| !names.contains(f.name.as_str())).map(absent_elsewhere));
    fields
}

/// A field that some records lack is optional, unless it has a default.
fn absent_elsewhere(field: &Field) -> Field {
    let mut field = field.clone();
    field.ty.optional |= field.default.is_none();
    field
}

fn unify_types(a: &Type, b: &Type, path: &FieldPath, clashes: &mut Vec<Clash>) -> Type {
    let clash = |clashes: &mut Vec<Clash>| {
        clashes.push(Clash { path: path.clone(), types: [a.clone(), b.clone()] });
        a.clone()
    };
    for (unknown, known) in [(a, b), (b, a)] {
        if unknown.element == Element::Value(DType::Null) && unknown != known && unknown.rank() <= known.rank() {
            return unify_unknown(unknown, known).unwrap_or_else(|| clash(clashes));
        }
    }
    if a.rank() != b.rank() {
        return clash(clashes);
    }
    let element = match (&a.element, &b.element) {
        (Element::Struct(x), Element::Struct(y)) => Some(Element::Struct(unify_fields(x, y, Some(path), clashes))),
        (Element::Value(x), Element::Value(y)) => unify_dtypes(x, y).map(Element::Value),
        (Element::Sparse(x), Element::Sparse(y)) => unify_dtypes(x, y).map(Element::Sparse),
        _ => None,
    };
    match element {
        Some(element) => Type {
            element,
            dims: unify_dims(&a.dims, &b.dims),
            optional: a.optional || b.optional,
            with_nulls: a.with_nulls || b.with_nulls,
        },
        None => clash(clashes),
    }
}

/// Combines rows that are always null, or lists that are empty or hold only nulls, with a known type.
fn unify_unknown(unknown: &Type, known: &Type) -> Option<Type> {
    if known.is_sparse() && unknown.rank() > 0 {
        return None;
    }
    let mut ty = known.clone();
    for (dim, seen) in ty.dims.iter_mut().zip(&unknown.dims) {
        *dim = unify_dim(dim, seen);
    }
    ty.with_nulls |= unknown.with_nulls;
    ty.optional |= unknown.optional || unknown.rank() == 0;
    Some(ty)
}

fn unify_dims(a: &[Dim], b: &[Dim]) -> Vec<Dim> {
    a.iter().zip(b).map(|(x, y)| unify_dim(x, y)).collect()
}

fn unify_dim(a: &Dim, b: &Dim) -> Dim {
    let size = match (a.size, b.size) {
        (x, y) if x == y => x,
        (Size::Ragged, _) | (_, Size::Ragged) => Size::Ragged,
        _ => Size::Uniform,
    };
    let label = match (&a.label, &b.label) {
        (Some(x), Some(y)) if x != y => None,
        (x, y) => x.clone().or_else(|| y.clone()),
    };
    Dim { size, label: label.filter(|_| !matches!(size, Size::Known(_))) }
}

/// The narrowest dtype that holds the values of both: float64 for an integer and a float. `None` if there is none.
pub fn unify_dtypes(a: &DType, b: &DType) -> Option<DType> {
    use DType::*;
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (Null, other) | (other, Null) => Some(other.clone()),
        (String, Bytes) | (Bytes, String) => Some(Bytes),
        (Arrow(x), Arrow(y)) => finer(x, y).or_else(|| wider_decimal(x, y)).map(|ty| Arrow(Box::new(ty))),
        _ if a.is_integer() && b.is_integer() => {
            let ((low, high), (least, most)) = (a.integer_range(), b.integer_range());
            let (low, high) = (low.min(least), high.max(most));
            [Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64].into_iter().find(|wide| {
                let (least, most) = wide.integer_range();
                least <= low && high <= most
            })
        }
        (Float16, Float32) | (Float32, Float16) => Some(Float32),
        // The same float type for all integers. With a narrower one for narrow integers, the order of three types would
        // matter.
        _ if a.is_number() && b.is_number() => Some(Float64),
        _ => None,
    }
}

/// The decimal type with all digits of both, before and after the point; `None` if no type has that many, or one is not a decimal.
/// PyArrow infers the precision from the values of each file.
pub fn wider_decimal(a: &DataType, b: &DataType) -> Option<DataType> {
    let digits = |ty: &DataType| match ty {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((i16::from(*precision) - i16::from(*scale), *scale)),
        _ => None,
    };
    let ((before, scale), (other_before, other_scale)) = (digits(a)?, digits(b)?);
    let scale = scale.max(other_scale);
    let precision = u8::try_from(before.max(other_before) + i16::from(scale)).ok().filter(|precision| *precision <= 76)?;
    let is_wide = |ty: &DataType| matches!(ty, DataType::Decimal256(..));
    if precision > 38 || is_wide(a) || is_wide(b) {
        return Some(DataType::Decimal256(precision, scale));
    }
    Some(DataType::Decimal128(precision, scale))
}

#[cfg(test)]
mod tests {
    use super::super::notation::parse;
    use super::*;
    use arrow_schema::Metadata;
    use proptest::prelude::*;

    #[test]
    fn the_type_that_holds_both() {
        let cases = [
            ("x: int8", "x: int32", "x: int32"),
            ("x: arrow<decimal128(5, 2)>", "x: arrow<decimal128(9, 4)>", "x: arrow<decimal128(9, 4)>"),
            ("x: arrow<decimal128(38, 2)>", "x: arrow<decimal128(9, 4)>", "x: arrow<decimal256(40, 4)>"),
            ("x: int8", "x: uint8", "x: int16"),
            ("x: uint32", "x: int8", "x: int64"),
            ("x: int64", "x: float64", "x: float64"),
            ("x: int16", "x: float32", "x: float64"),
            ("x: float16", "x: float32", "x: float32"),
            ("x: float16", "x: float64", "x: float64"),
            ("x: string", "x: bytes", "x: bytes"),
            ("x: arrow<timestamp[ms]>", "x: arrow<timestamp[us]>", "x: arrow<timestamp[us]>"),
            ("x: null", "x: int64[?]", "x: optional int64[?]"),
            ("x: optional null", "x: {a: int8}", "x: optional {a: int8}"),
            ("x: null[?]", "x: {a: int8}[?]", "x: {a: int8}[?]"),
            ("x: null[?] with nulls", "x: int8[?, (?)]", "x: int8[?, (?)] with nulls"),
            ("x: optional null[?]", "x: int8[3]", "x: optional int8[?]"),
            ("x: null[?]", "x: null", "x: optional null[?]"),
            ("x: null", "x: sparse<int8>[3]", "x: optional sparse<int8>[3]"),
            ("a: int8", "b: bool", "a: optional int8; b: optional bool"),
            ("a: int8 = 0; b: bool", "b: bool", "a: int8 = 0; b: bool"),
            ("x: int8[2, 3]", "x: int8[2, 4]", "x: int8[2, ?]"),
            ("x: int8[2, 3]", "x: int8[?, (?)]", "x: int8[?, (?)]"),
            ("x: int8[?, ?]", "x: int8[n, (m)]", "x: int8[n, (m)]"),
            ("x: sparse<int8>[3]", "x: sparse<int16>[4]", "x: sparse<int16>[?]"),
            (
                "d: {a: int8, t: null[?]}[?]",
                "d: {t: string[?], n: optional bool}[?]",
                "d: {a: optional int8, t: string[?], n: optional bool}[?]",
            ),
            ("x: arrow<date32>", "x: arrow<date32>", "x: arrow<date32>"),
        ];
        for (a, b, both) in cases {
            let (x, y) = (parse(a).unwrap(), parse(b).unwrap());
            assert_eq!(unify(&x, &y).unwrap().to_string(), both, "{a} | {b}");
            let turned = unify(&y, &x).unwrap();
            assert_eq!(turned.fields.len(), parse(both).unwrap().fields.len());
            for field in parse(both).unwrap().fields {
                let other = turned.fields.iter().find(|f| f.name == field.name).unwrap();
                assert!(field.ty.fields().is_some() || other == &field, "{b} | {a}: {other}");
            }
        }
    }

    #[test]
    fn a_clash_names_the_path_and_both_types() {
        let cases = [
            ("x: int64", "x: string", "x is int64 in one input and string in another: no type fits both"),
            (
                "x: int64[?]",
                "x: int64",
                "x is int64[?] in one input and int64 in another: no type fits both\n  \
                 if one is a TFRecord, which stores only lists: --scalar auto reads fields with one value in every record as scalars",
            ),
            ("x: null[?, (?)]", "x: int8[?]", "x is null[?, (?)] in one input and int8[?] in another: no type fits both"),
            (
                "x: uint64",
                "x: int64",
                "x is uint64 in one input and int64 in another: no type fits both\n  if int64 holds all values: --schema 'x: int64'",
            ),
            (
                "a: bool; d: {p: float64, q: {r: int8[?]}}[?]; z: bool",
                "a: bool; d: {p: string, q: {r: string[?]}}[?]; z: int8",
                "d.p is float64 in one input and string in another: no type fits both\n  \
                 d.q.r is int8[?] in one input and string[?] in another\n  \
                 z is bool in one input and int8 in another",
            ),
        ];
        for (a, b, message) in cases {
            assert_eq!(unify(&parse(a).unwrap(), &parse(b).unwrap()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn what_is_declared_lies_over_what_was_found() {
        let cases = [
            ("", "a: int64; b: bool", "a: int64; b: bool"),
            ("b: float32", "a: int64; b: int64", "a: int64; b: float32"),
            ("z: int8 = 0; a: json", "a: int64; b: int64", "a: json; b: int64; z: int8 = 0"),
            (
                "d: {p: json, z: optional int8}[?]",
                "d: {o: bool, p: int8}[?]; e: int8",
                "d: {o: bool, p: json, z: optional int8}[?]; e: int8",
            ),
            ("x: int64[2] from v", "x: int64[?]", "x: int64[2] from v"),
        ];
        for (declared, inferred, both) in cases {
            assert_eq!(overlay(&parse(declared).unwrap(), &parse(inferred).unwrap()).to_string(), both);
        }
    }

    #[test]
    fn a_declared_type_keeps_the_metadata_of_the_file() {
        let mut inferred = parse("s: {a: int32}; t: {a: int32}[?]").unwrap();
        for (field, ty) in inferred.fields.iter_mut().zip([DataType::Int32, DataType::Utf8]) {
            let metadata = Metadata::from(std::collections::HashMap::from([("PARQUET:field_id".to_owned(), field.name.clone())]));
            field.storage = Storage::of(arrow_schema::Field::new(&field.name, ty, true).with_metadata(metadata));
        }
        for declared in ["s: {a: optional int32}", "s: {a: int64}", "s: string", "t: optional {a: int64}[?]"] {
            let both = overlay(&parse(declared).unwrap(), &inferred);
            let ids = |schema: &Schema| -> Vec<_> {
                schema.fields.iter().map(|f| f.storage.arrow().map(|stored| stored.metadata().clone())).collect()
            };
            assert_eq!(ids(&both), ids(&inferred), "{declared}");
        }
    }

    fn types() -> impl Strategy<Value = Type> {
        let texts = [
            "null",
            "optional null",
            "null[?]",
            "null[?] with nulls",
            "int8",
            "int64",
            "uint16",
            "float32",
            "string",
            "bytes",
            "bool",
            "int8[2]",
            "int8[3]",
            "optional int16[?]",
            "float64[?, (?)]",
            "int8[?, 2]",
            "string[?] with nulls",
            "sparse<int8>[3]",
            "sparse<int8>[?]",
            "{a: int8}",
            "{a: null, b: string}[?]",
            "{a: int8[?]}[2] with nulls",
            "json",
            "arrow<date32>",
        ];
        (0..texts.len()).prop_map(move |i| super::super::notation::parse_type(texts[i]).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_order_of_records_does_not_matter(a in types(), b in types(), c in types()) {
            let schema = |ty: &Type| Schema::new(vec![Field::new("x", ty.clone())]);
            let sorted = |schema: Schema| {
                let mut fields = schema.fields;
                if let Some(Element::Struct(inner)) = fields.first_mut().map(|f| &mut f.ty.element) {
                    inner.sort_by(|x, y| x.name.cmp(&y.name));
                }
                fields
            };
            let both = |x: &Schema, y: &Schema| unify(x, y).ok();
            let (a, b, c) = (schema(&a), schema(&b), schema(&c));
            prop_assert_eq!(both(&a, &b).map(sorted), both(&b, &a).map(sorted));
            let left = both(&a, &b).and_then(|ab| both(&ab, &c));
            let right = both(&b, &c).and_then(|bc| both(&a, &bc));
            if let (Some(left), Some(right)) = (left, right) {
                prop_assert_eq!(sorted(left), sorted(right));
            }
            if let Some(same) = both(&a, &a) {
                prop_assert_eq!(same, a);
            }
        }
    }
}
