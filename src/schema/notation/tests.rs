use super::*;
use crate::schema::facts::Storage;
use crate::schema::{DType, Dim, Element, Field, Literal, PartitionEncoding, Schema, Size, Source, SplitBy, Type};
use arrow_schema::{DataType, Field as ArrowField, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Inputs, and their printed form if it differs.
const PAGE: &[(&str, Option<&str>)] = &[
    ("id: int64", None),
    ("tokens: int64[?]", None),
    ("embed: float32[4, 32]", None),
    ("batch: int64[?, (?)]", None),
    ("vecs: float32[?, 32]", None),
    ("docs: {title: string, tokens: string[?]}[?]", None),
    ("feats: sparse<float32>[?, 1000]", None),
    ("when: arrow<timestamp[us]>", None),
    ("at: timestamp[ms, UTC][?]; on: optional date32", Some("at: arrow<timestamp[ms, UTC]>[?]; on: optional arrow<date32>")),
    ("price: decimal128(9, 2); took: sparse<duration[s]>[?]", Some("price: arrow<decimal128(9, 2)>; took: sparse<arrow<duration[s]>>[?]")),
    ("note: optional string", None),
    ("tags: string[?] with nulls", None),
    ("age: int64 = -1", None),
    ("x: int64[?] from v", None),
    ("r: int64[?, (?)] from v split by row_lengths(l)", None),
    ("s: sparse<float32>[100, 20] from v at i0, i1", None),
    ("raw: json", None),
    ("words: int64[sentences, (words)]", None),
    ("u: int64[2, (?)]; v: int64[?, (?), 2]; w: int64[?, 3, (?)]", None),
    ("r: string[?, (?), 2] from v split by row_splits(`a b`), uniform_row_length(2)", None),
    ("n: null; m: null[?]", None),
    ("e: {}; f: {}[2]", None),
    ("`a.b`: int64; ``: int64; `x``y`: int64; \"new\\nline\": int64; `1`: int64", None),
    ("image/encoded: bytes; user-id: int64; 日本: string", None),
    ("m: float32[2, 2] = [[1.5, 2.0], [3.0, Infinity]]; t: string = \"a\\\"\\n\"; b: bytes = b\"\\xff\"; d: int64[2] = 7", None),
    ("o: optional {a: optional int32[?] with nulls}[?, (?)] with nulls", None),
    ("m: map<string, int64>; n: optional map<int32, optional {a: string[?]}>[?] with nulls", None),
    ("o: {m: map<string, map<string, float32[?, (?)] with nulls>>}[?]", None),
    // Other accepted inputs, and their printed form.
    (" id :int64 ;; t:string[ ? ] \n\n", Some("id: int64; t: string[?]")),
    ("a: int64 # the first\n# nothing\nb: bool\r\n", Some("a: int64; b: bool")),
    ("d: struct {\n  a: int32,  # inside\n  t: int64[(?)],\n}[?]", Some("d: {a: int32, t: int64[?]}[?]")),
    ("d: {o: {t: int64[(words), (?)]}}[3]", Some("d: {o: {t: int64[words, (?)]}}[3]")),
    ("d: {s: sparse<int8>[9] from v at i, e: int32, r: int8[?, (?)] split by row_lengths(l), row_lengths: int8}", None),
    ("", None),
];

#[test]
fn the_notation_reads_and_prints() {
    for (text, printed) in PAGE {
        let schema = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(schema.to_string(), printed.unwrap_or(text));
        assert_eq!(parse(&lines(&schema)).unwrap(), schema, "{text}");
    }
}

#[test]
fn a_schema_is_what_it_says() {
    let schema = parse("r: optional int64[2, (w)] with nulls from v split by row_lengths(l)").unwrap();
    let ty = Type {
        element: Element::Value(DType::Int64),
        dims: vec![Dim::known(2), Dim { size: Size::Ragged, label: Some("w".into()) }],
        optional: true,
        with_nulls: true,
    };
    let source =
        Source { values: Some("v".into()), split_by: vec![SplitBy::Feature(PartitionEncoding::RowLengths, "l".into())], at: vec![] };
    assert_eq!(schema.fields, vec![Field { name: "r".into(), ty, default: None, source, storage: Storage::Declared }]);
}

#[test]
fn types_stand_in_one_column() {
    let schema = parse("id: int64; tokens: string[?]; a-name-that-is-longer-than-the-column: bool").unwrap();
    assert_eq!(lines(&schema), "id:     int64\ntokens: string[?]\na-name-that-is-longer-than-the-column: bool\n");
}

#[test]
fn what_is_wrong_is_shown_at_its_place() {
    let cases = [
        ("x: itn64", "line 1, column 4: unknown dtype `itn64`\n  x: itn64\n     ^^^^^\n  did you mean int64?"),
        ("a: int64\nx: str[?]", "line 2, column 4: unknown dtype `str`\n  x: str[?]\n     ^^^\n  did you mean string?"),
        (
            "x: int64[(?)]",
            "line 1, column 10: axis 0 cannot be ragged\n  x: int64[(?)]\n           ^^^\n  \
             axis 0 has a single size in each record: write it as `?`\n  \
             only inner axes can be ragged: int64[?, (?)]",
        ),
        (
            "x: {a: {t: int64[(?)]}}",
            "line 1, column 4: axis 0 of `a.t` cannot be ragged, because the structure that contains it has no axes\n  x: {a: {t: int64[(?)]}}\n     ^^^^^^^^^^^^^^^^^^^^\n  \
             axis 0 has a single size in each record: write it as `?`",
        ),
        (
            "x: int64, y: int64",
            "line 1, column 9: expected `;` or a new line after the field, found `,`\n  x: int64, y: int64\n          ^\n  \
             fields of a record are separated by `;`, fields of a structure by `,`",
        ),
        (
            "docs.tokens: int64[?]",
            "line 1, column 5: expected `:` after the field name, found `.`\n  docs.tokens: int64[?]\n      ^\n  \
             write a field of a structure as docs: {field: type}, and a name that contains a dot in backquotes",
        ),
        (
            "tokens",
            "line 1, column 7: expected `:` after the field name, found the end\n  tokens\n        ^\n  \
             write a field as `name: type`, such as tokens: int64[?]",
        ),
        ("a: int8; a: int8", "line 1, column 10: the field `a` appears twice\n  a: int8; a: int8\n           ^"),
        (
            "s: sparse<float32>",
            "line 1, column 4: a sparse tensor needs the sizes of its dense shape\n  s: sparse<float32>\n     ^^^^^^^^^^^^^^^\n  as in sparse<float32>[?, 1000]",
        ),
        (
            "age: int8 = 300",
            "line 1, column 13: this default does not fit: 300 is out of range for int8: -128 to 127\n  age: int8 = 300\n              ^^^",
        ),
        (
            "r: int64[?] from v split by row_length(l)",
            "line 1, column 29: unknown partition `row_length`\n  r: int64[?] from v split by row_length(l)\n                              ^^^^^^^^^^\n  did you mean row_lengths?",
        ),
        (
            "w: arrow<timestamp[um]>",
            "line 1, column 20: expected a unit: s, ms, us, ns, found `um`\n  w: arrow<timestamp[um]>\n                     ^^",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
    }
    let messages = [
        ("x: int64[?, (?)", "expected `,` or `]`, found the end"),
        ("x: int64[]", "expected a size: a number, `?`, `(?)` or a label, found `]`"),
        ("x: int64[-1]", "expected a size: a number, `?`, `(?)` or a label, found `-`"),
        ("x: int64[9223372036854775808]", "the size 9223372036854775808 is too large"),
        ("x: sparse<int64>[?, (?)]", "a sparse tensor has no ragged axes"),
        ("x: int64[?] split by row_lengths(l)", "1 partitions do not fit a field of type int64[?]"),
        ("x: int64[?] at i", "1 index features do not fit a field of type int64[?]"),
        ("x: string = 3", "this default does not fit: 3 is an integer, but the field is string"),
        ("x: string with", "expected `nulls` after `with`, found the end"),
        ("`x: string", "this backquote is not closed"),
        ("x: struct int64", "expected `{` after `struct`, found `int64`"),
        (": int64", "expected a field name, found `:`"),
        ("x: int64 y: int64", "expected `;` or a new line after the field, found `y`"),
        ("x:\nint64", "expected a type, found the end of the line"),
    ];
    for (text, message) in messages {
        assert_eq!(parse(text).unwrap_err().message(), message, "{text}");
    }
}

#[test]
fn limits_are_kept() {
    let nested = |n: usize| format!("{}x: int8{}", "x: {".repeat(n), "}".repeat(n));
    assert!(parse(&nested(128)).is_ok());
    assert_eq!(parse(&nested(100_000)).unwrap_err().message(), "more than 128 levels of nesting");
    let wide = |n: usize| (0..n).map(|i| format!("f{i}: int8")).collect::<Vec<_>>().join("; ");
    assert_eq!(parse(&wide(10_000)).unwrap().fields.len(), 10_000);
    assert_eq!(parse(&wide(10_001)).unwrap_err().message(), "more than 10,000 fields in one structure");
    assert_eq!(parse(&format!("x: int8[{}]", vec!["?"; 129].join(","))).unwrap_err().message(), "more than 128 axes");
}

#[test]
fn every_arrow_type_is_read_as_it_is_printed() {
    let item = |ty: DataType, nullable| Arc::new(ArrowField::new("item", ty, nullable));
    let pair = DataType::Struct(vec![ArrowField::new("k", DataType::Utf8, false), ArrowField::new("v", DataType::Int8, true)].into());
    let marked =
        ArrowField::new("a b", DataType::Int8, true).with_metadata(HashMap::from([("k\"".into(), "v".into()), ("a".into(), "".into())]));
    let cases = [
        (DataType::Timestamp(TimeUnit::Microsecond, None), "timestamp[us]"),
        (DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())), "timestamp[s, Europe/Berlin]"),
        (DataType::Timestamp(TimeUnit::Second, Some("+02:00".into())), "timestamp[s, +02:00]"),
        (DataType::Timestamp(TimeUnit::Second, Some("odd, zone]".into())), "timestamp[s, \"odd, zone]\"]"),
        (DataType::Date32, "date32"),
        (DataType::Time32(TimeUnit::Millisecond), "time32[ms]"),
        (DataType::Time64(TimeUnit::Nanosecond), "time64[ns]"),
        (DataType::Duration(TimeUnit::Second), "duration[s]"),
        (DataType::Interval(IntervalUnit::MonthDayNano), "interval[month_day_nano]"),
        (DataType::Decimal128(10, 2), "decimal128(10, 2)"),
        (DataType::Decimal256(76, -3), "decimal256(76, -3)"),
        (DataType::FixedSizeBinary(16), "fixed_size_binary[16]"),
        (DataType::Utf8View, "string_view"),
        (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), "dictionary<int32, string>"),
        (DataType::List(item(DataType::Int8, true)), "list<item: int8>"),
        (DataType::LargeListView(item(DataType::Int8, false)), "large_list_view<item: int8 not null>"),
        (DataType::FixedSizeList(item(DataType::Int8, true), 3), "fixed_size_list<item: int8>[3]"),
        (DataType::Struct(vec![marked].into()), "struct<`a b`: int8 metadata {\"a\": \"\", \"k\\\"\": \"v\"}>"),
        (DataType::Struct(arrow_schema::Fields::empty()), "struct<>"),
        (
            DataType::Map(Arc::new(ArrowField::new("entries", pair, false)), true),
            "map<entries: struct<k: string not null, v: int8> not null> sorted",
        ),
        (
            DataType::RunEndEncoded(Arc::new(ArrowField::new("run_ends", DataType::Int32, false)), item(DataType::Utf8, true)),
            "run_end_encoded<run_ends: int32 not null, item: string>",
        ),
        (
            DataType::Union(
                UnionFields::try_new([0, 5], [ArrowField::new("a", DataType::Int8, true), ArrowField::new("b", DataType::Utf8, true)])
                    .unwrap(),
                UnionMode::Dense,
            ),
            "dense_union<0=a: int8, 5=b: string>",
        ),
    ];
    for (ty, text) in cases {
        assert_eq!(arrow_type_text(&ty), text);
        let field = Type::tensor(DType::Arrow(Box::new(ty)), vec![]);
        assert_eq!(parse_type(&field.to_string()).unwrap(), field, "{text}");
    }
    assert_eq!(
        parse_type("arrow<map<string, int32>>").unwrap().to_string(),
        "arrow<map<entries: struct<keys: string not null, values: int32> not null>>"
    );
}

/// Names: plain words, keywords of the notation, and arbitrary strings.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,4}",
        Just("optional".to_owned()),
        Just("from".to_owned()),
        Just("struct".to_owned()),
        any::<String>(),
        "[ `.,;:{}?#\n\"'0-9]{0,4}",
    ]
}

fn dims(lead: bool) -> impl Strategy<Value = Vec<Dim>> {
    let label = || proptest::option::of(names());
    let size = prop_oneof![
        (0u64..=i64::MAX as u64).prop_map(Dim::known),
        label().prop_map(|l| Dim { size: Size::Uniform, label: l.map(Into::into) }),
        label().prop_map(|l| Dim { size: Size::Ragged, label: l.map(Into::into) }),
    ];
    proptest::collection::vec(size, 0..4).prop_map(move |mut dims| {
        if let Some(first) = dims.first_mut().filter(|d| lead && d.size == Size::Ragged) {
            first.size = Size::Uniform;
        }
        dims
    })
}

fn dtypes() -> impl Strategy<Value = DType> {
    let named = (0..DType::NAMED.len()).prop_map(|i| DType::NAMED[i].1.clone());
    let foreign = prop_oneof![
        Just(DataType::Date32),
        proptest::option::of(any::<String>()).prop_map(|z| DataType::Timestamp(TimeUnit::Nanosecond, z.map(Into::into))),
        (names(), any::<bool>()).prop_map(|(n, null)| DataType::List(Arc::new(ArrowField::new(n, DataType::Utf8, null)))),
    ];
    prop_oneof![4 => named, 1 => foreign.prop_map(|t| DType::Arrow(Box::new(t)))]
}

fn types() -> impl Strategy<Value = Type> {
    let leaf = (dtypes(), dims(true), 0..4u8).prop_map(|(dtype, mut dims, kind)| {
        if kind == 0 && !dims.is_empty() {
            dims.iter_mut().filter(|d| d.size == Size::Ragged).for_each(|d| d.size = Size::Uniform);
            Type::sparse(dtype, dims)
        } else {
            Type::tensor(dtype, dims)
        }
    });
    let flagged = |ty: BoxedStrategy<Type>| {
        (ty, any::<(bool, bool)>()).prop_map(|(ty, (optional, with_nulls))| Type { optional, with_nulls, ..ty }).boxed()
    };
    flagged(leaf.boxed()).prop_recursive(4, 24, 4, move |inner| {
        let structure = (fields(inner), dims(true)).prop_map(|(fields, dims)| Type::structure(fields, dims));
        flagged(structure.boxed())
    })
}

fn literals() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<bool>().prop_map(Literal::Bool),
        any::<i64>().prop_map(|n| Literal::Int(n.into())),
        any::<u64>().prop_map(|n| Literal::Int(n.into())),
        any::<f64>().prop_filter("NaN is unequal", |x| !x.is_nan()).prop_map(Literal::Float),
        any::<String>().prop_map(Literal::String),
        any::<Vec<u8>>().prop_map(Literal::Bytes),
    ]
    .prop_recursive(3, 12, 4, |inner| proptest::collection::vec(inner, 0..4).prop_map(Literal::List))
}

fn fields(types: BoxedStrategy<Type>) -> impl Strategy<Value = Vec<Field>> {
    let field = (types, literals(), proptest::option::of(names()), proptest::collection::vec(names(), 4), 0..8u8).prop_map(
        |(ty, default, values, keys, kind)| {
            let mut field = Field::new("", ty);
            field.default = Some(default).filter(|d| d.misfit(&field.ty).is_none());
            field.source.values = values;
            if field.ty.is_sparse() && kind < 4 {
                field.source.at = keys.into_iter().cycle().take(field.ty.rank()).collect();
            } else if field.ty.rank() > 1 && kind < 4 {
                field.source.split_by = vec![match kind {
                    0 => SplitBy::Feature(PartitionEncoding::RowLengths, keys[0].clone()),
                    1 => SplitBy::Feature(PartitionEncoding::ValueRowids, keys[0].clone()),
                    2 => SplitBy::Feature(PartitionEncoding::RowLimits, keys[0].clone()),
                    _ => SplitBy::UniformRowLength(7),
                }];
            }
            field
        },
    );
    proptest::collection::btree_map(names(), field, 0..5)
        .prop_map(|named| named.into_iter().map(|(name, field)| Field { name, ..field }).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_as_the_same_schema(fields in fields(types().boxed())) {
        let schema = Schema::new(fields);
        prop_assert_eq!(&parse(&schema.to_string()).unwrap(), &schema);
        prop_assert_eq!(&parse(&lines(&schema)).unwrap(), &schema);
    }

    #[test]
    fn a_literal_reads_as_it_is_printed(literal in literals()) {
        prop_assert_eq!(parse_literal(&literal.to_string()).unwrap(), literal);
    }

    #[test]
    fn no_text_is_too_odd_to_refuse(text in any::<String>(), cut in 0usize..200, at in 0..PAGE.len(), odd in "[\\[\\]{}()<>?`\"'\\\\:;,=#\n a-z0-9é-]{0,6}") {
        let _ = parse(&text);
        let _ = parse_literal(&text);
        let page = PAGE[at].0;
        let cut = (0..=cut.min(page.len())).rev().find(|i| page.is_char_boundary(*i)).unwrap_or(0);
        let _ = parse(&format!("{}{odd}{}", &page[..cut], &page[cut..]));
        let _ = parse(&format!("{}{odd}", &page[..cut]));
    }
}
