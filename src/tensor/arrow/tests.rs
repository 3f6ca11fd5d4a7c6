use super::encoded::Encodings;
use super::extension::TensorTypes;
use super::*;
use crate::schema::{Field, Literal, Schema, Type, notation};
use crate::tensor::Tensor;
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int32Array, ListArray, ListViewArray, RecordBatch, StringArray, StringViewArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use std::collections::HashMap;
use std::sync::Arc;

const FORMS: [ArrowForm; 4] = [
    ArrowForm { wide: false, tensor_types: None, encodings: Encodings::None },
    ArrowForm { wide: true, tensor_types: None, encodings: Encodings::None },
    ArrowForm { wide: false, tensor_types: Some(TensorTypes::Variable), encodings: Encodings::None },
    ArrowForm { wide: true, tensor_types: Some(TensorTypes::Variable), encodings: Encodings::None },
];

fn schema(text: &str) -> Schema {
    notation::parse(text).unwrap()
}

/// A record of each type: the type in notation, and one value as a literal.
const TYPES: [(&str, &str); 22] = [
    ("bool", "True"),
    ("optional int64", "3"),
    ("uint64", "18446744073709551615"),
    ("float16[?]", "[1.5]"),
    ("string[?] with nulls", "[\"a\", None]"),
    ("bytes", "b\"\\x00\\xff\""),
    ("json", "\"[1, {}]\""),
    ("json[?]", "[\"1\", \"[]\"]"),
    ("null[?]", "[]"),
    ("optional null", "None"),
    ("int64[3]", "[1, 2, 3]"),
    ("int64[0]", "[]"),
    ("optional float32[4, 2]", "[[1, 2], [3, 4], [5, 6], [7, 8]]"),
    ("int32[?, (?)]", "[[1, 2], [], [3]]"),
    ("int32[?, ?]", "[[1, 2], [3, 4]]"),
    ("int32[?, 2]", "[[1, 2], [3, 4]]"),
    ("int32[2, (?)]", "[[1, 2], []]"),
    ("int64[sentences, (words)]", "[[1], [2, 3]]"),
    ("optional string[?, (?), 2] with nulls", "[[[\"a\", None]], []]"),
    ("float64[?, 3, (?)]", "[[[1], [], [2, 3]]]"),
    ("uint8[2, ?]", "[[1, 2, 3], [4, 5, 6]]"),
    ("string[?, ?, ?]", "[]"),
];

#[test]
fn every_type_comes_back_from_its_field() {
    let structures = [
        "{a: int64, b: {c: string[?], d: json}[?, (?)]}[docs]",
        "{}[?]",
        "sparse<float32>[?, 1000]",
        "optional sparse<string>[3] with nulls",
    ];
    let structures = structures.iter().chain(&["{s: sparse<int64>[?, ?], t: optional int32[?, ?]}"]).copied();
    for text in TYPES.iter().map(|(ty, _)| *ty).chain(structures) {
        let field = &schema(&format!("x: {text}")).fields[0];
        for form in FORMS {
            let arrow = to_arrow_field(field, form).unwrap();
            let back = from_arrow_field(&arrow).unwrap();
            assert_eq!(&back, field, "{text} as {arrow}");
        }
    }
}

/// Two rows of the literal around a null row, if the type is nullable.
fn sample(ty: &Type, text: &str) -> Tensor {
    let literal = crate::schema::literal::parse_literal(text).unwrap();
    let row = Tensor::of_literal(ty, &literal).unwrap();
    let null = if ty.optional { Tensor::nulls(ty, 1).unwrap() } else { row.clone() };
    Tensor::concat(&[&row, &null, &row]).unwrap()
}

#[test]
fn every_tensor_comes_back_from_its_array() {
    for (text, literal) in TYPES {
        let field = &schema(&format!("x: {text}")).fields[0];
        let tensor = sample(&field.ty, literal);
        for form in FORMS {
            let arrow = to_arrow_field(field, form).unwrap();
            for part in [tensor.clone(), tensor.slice(1, 2), tensor.slice(2, 0)] {
                let array = to_arrow(&part, &arrow).unwrap();
                let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(vec![arrow.clone()])), vec![array.clone()]);
                assert!(batch.is_ok(), "{text}: {batch:?}");
                let back = from_arrow(&array, &arrow).unwrap();
                back.check(&field.ty).unwrap();
                assert_eq!(back.first_difference(&part), None, "{text} as {arrow}");
            }
        }
    }
}

#[test]
fn notes_that_do_not_fit_are_ignored() {
    let of = |ty: DataType, note: &str| {
        let metadata = [(note::KEY.to_owned(), note.to_owned())];
        let field = ArrowField::new("x", ty, true).with_metadata(std::collections::HashMap::from(metadata));
        from_arrow_field(&field).unwrap().ty.to_string()
    };
    let list = |ty: DataType| DataType::new_list(ty, false);
    assert_eq!(of(list(DataType::Int64), "int64[words]"), "optional int64[words]");
    assert_eq!(of(list(DataType::Int32), "int64[words]"), "optional int32[?]");
    assert_eq!(of(DataType::Int64, "int64[words]"), "optional int64");
    assert_eq!(of(list(list(DataType::Int64)), "int64[?, ?]"), "optional int64[?, ?]");
    assert_eq!(of(list(list(DataType::Int64)), "int64[?, 3]"), "optional int64[?, (?)]");
    assert_eq!(of(DataType::Utf8, "json"), "optional json");
    assert_eq!(of(DataType::Int64, "json"), "optional int64");
    assert_eq!(of(DataType::Int64, "no ] type"), "optional int64");
    assert_eq!(of(DataType::Int64, "int64; y: int64"), "optional int64");
    assert_eq!(of(DataType::Int64, "sparse<int64>[?]"), "optional int64");
}

fn read(array: ArrayRef) -> (Field, Tensor) {
    let arrow = ArrowField::new("x", array.data_type().clone(), true);
    let field = from_arrow_field(&arrow).unwrap();
    let tensor = from_arrow(&array, &arrow).unwrap();
    tensor.check(&field.ty).unwrap();
    (field, tensor)
}

fn rows_of(ty: &Type, rows: &[&str]) -> Tensor {
    let rows: Vec<Tensor> = rows
        .iter()
        .map(|text| match crate::schema::literal::parse_literal(text).unwrap() {
            Literal::None => Tensor::nulls(ty, 1).unwrap(),
            literal => Tensor::of_literal(ty, &literal).unwrap(),
        })
        .collect();
    Tensor::concat(&rows.iter().collect::<Vec<_>>()).unwrap()
}

/// Layouts that are not used in memory: the type they are read as, and their rows.
#[test]
fn every_layout_reads_as_its_rows() {
    let item = |nullable| Arc::new(ArrowField::new("item", DataType::Int32, nullable));
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10));
    let mut sliced = ListBuilder::new(Int32Builder::new());
    sliced.append_value([Some(9)]);
    sliced.append_value([Some(1), None]);
    sliced.append_null();
    let cases: Vec<(ArrayRef, &str, Vec<&str>)> = vec![
        (
            // The null row is not empty.
            Arc::new(ListArray::new(
                item(false),
                OffsetBuffer::new(vec![1, 3, 6, 7].into()),
                numbers.clone(),
                Some(NullBuffer::from(vec![true, false, true])),
            )),
            "optional int32[?]",
            vec!["[1, 2]", "None", "[6]"],
        ),
        (Arc::new(sliced.finish().slice(1, 2)), "optional int32[?] with nulls", vec!["[1, None]", "None"]),
        (
            // Out of order, overlapping, and a null row that is out of bounds.
            Arc::new(ListViewArray::new(
                item(false),
                vec![4, 0, 0, 4].into(),
                vec![2, 3, 0, 1].into(),
                numbers.clone(),
                Some(NullBuffer::from(vec![true, true, false, true])),
            )),
            "optional int32[?]",
            vec!["[4, 5]", "[0, 1, 2]", "None", "[4]"],
        ),
        (
            Arc::new(FixedSizeListArray::new(item(false), 2, numbers.slice(0, 6), Some(NullBuffer::from(vec![true, false, true])))),
            "optional int32[2]",
            vec!["[0, 1]", "None", "[4, 5]"],
        ),
        (
            Arc::new(StringViewArray::from(vec![Some("a"), None, Some("a string longer than the view")])),
            "optional string",
            vec!["\"a\"", "None", "\"a string longer than the view\""],
        ),
        (
            Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("a"), None, Some("a")])),
            "optional string",
            vec!["\"a\"", "None", "\"a\""],
        ),
        (
            Arc::new(DictionaryArray::new(Int32Array::from(vec![1, 0, 1]), Arc::new(Int32Array::from(vec![7, 8])))),
            "optional int32",
            vec!["8", "7", "8"],
        ),
    ];
    for (array, ty, rows) in cases {
        let shown = array.data_type().to_string();
        let (field, tensor) = read(array);
        assert_eq!(field.ty.to_string(), ty, "{shown}");
        assert_eq!(tensor.first_difference(&rows_of(&field.ty, &rows)), None, "{shown}: {tensor:?}");
    }
}

#[test]
fn what_no_tensor_holds_is_carried() {
    let stamps: ArrayRef = Arc::new(arrow_array::TimestampMicrosecondArray::from(vec![Some(1), None]));
    // Lists of tensors, of which the first row is a null and a matrix.
    let kind = [(extension::NAME, "arrow.fixed_shape_tensor"), ("ARROW:extension:metadata", r#"{"shape":[1,2]}"#)];
    let values = Arc::new(ArrowField::new("item", DataType::Int32, true));
    let matrix = ArrowField::new("item", DataType::FixedSizeList(values.clone(), 2), true)
        .with_metadata(kind.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect::<HashMap<_, _>>());
    let matrices = FixedSizeListArray::new(values, 2, Arc::new(Int32Array::from_iter_values(0..6)), Some(vec![false, true, true].into()));
    let lists: ArrayRef = Arc::new(ListArray::new(Arc::new(matrix), OffsetBuffer::new(vec![0, 2, 2, 3].into()), Arc::new(matrices), None));
    for (array, ty) in [(stamps, "optional arrow<timestamp[us]>"), (lists, "optional int32[?, 1, 2] with nulls")] {
        let (field, tensor) = read(array.clone());
        assert_eq!(field.ty.to_string(), ty);
        let back = to_arrow(&tensor, &to_arrow_field(&field, ArrowForm::default()).unwrap()).unwrap();
        assert_eq!(&back, &array);
    }
}

#[test]
fn below_null_structures_nothing_is_null_that_may_not_be() {
    let inner = Arc::new(ArrowField::new("a", DataType::Utf8, false));
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
    let array: ArrayRef = Arc::new(StructArray::new(vec![inner].into(), vec![values], Some(NullBuffer::from(vec![true, false]))));
    let (field, tensor) = read(array);
    assert_eq!(field.ty.to_string(), "optional {a: string}");
    assert_eq!(tensor.as_struct().unwrap().fields()[0].as_leaf().unwrap().null_count(), 0);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let item = Arc::new(ArrowField::new("item", DataType::Int32, true));
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..4));
    let list: ArrayRef =
        Arc::new(ListArray::new(item, OffsetBuffer::new(vec![0, 2, 4].into()), numbers, Some(NullBuffer::from(vec![true, false]))));
    let required = ArrowField::new("x", list.data_type().clone(), false);
    assert_eq!(from_arrow(&list, &required).unwrap_err().location().row, Some(1));

    let shapes = |sizes: Vec<i32>| {
        let field = &schema("x: int32[?, ?]").fields[0];
        let arrow = to_arrow_field(field, ArrowForm { wide: false, tensor_types: Some(TensorTypes::Variable), encodings: Encodings::None })
            .unwrap();
        let good = to_arrow(
            &Tensor::of_literal(&field.ty, &Literal::List(vec![Literal::List(vec![Literal::Int(1), Literal::Int(2)])])).unwrap(),
            &arrow,
        )
        .unwrap();
        let DataType::Struct(fields) = arrow.data_type() else { panic!() };
        let DataType::FixedSizeList(size, _) = fields[1].data_type() else { panic!() };
        let shape: ArrayRef = Arc::new(FixedSizeListArray::new(size.clone(), 2, Arc::new(Int32Array::from(sizes)), None));
        let array: ArrayRef = Arc::new(StructArray::new(fields.clone(), vec![good.as_struct().column(0).clone(), shape], None));
        from_arrow(&array, &arrow)
    };
    assert!(shapes(vec![2, 1]).is_ok());
    for wrong in [vec![2, 2], vec![-1, -2], vec![i32::MAX, i32::MAX], vec![i32::MAX, 0]] {
        assert!(shapes(wrong.clone()).is_err(), "{wrong:?}");
    }
}

/// Tensors whose metadata permutes their axes: the values in logical order, and the field that holds them.
#[test]
fn permuted_tensors_are_read_in_logical_order() {
    let tensor = |name: &str, ty: DataType, parameters: &str| {
        let metadata = [(extension::NAME, name), ("ARROW:extension:metadata", parameters)];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        ArrowField::new("x", ty, true).with_metadata(metadata.into_iter().collect::<HashMap<_, _>>())
    };
    let item = Arc::new(ArrowField::new("item", DataType::Int32, true));

    // Stored as [2, 3]: the second row is null.
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..18));
    let nulls = Some(vec![true, false, true].into());
    let matrices: ArrayRef = Arc::new(FixedSizeListArray::new(item.clone(), 6, values.clone(), nulls));
    let without_nulls: ArrayRef = Arc::new(FixedSizeListArray::new(item.clone(), 6, values, None));
    let matrix =
        tensor("arrow.fixed_shape_tensor", matrices.data_type().clone(), r#"{"shape":[2,3],"permutation":[1,0],"dim_names":["h","w"]}"#);

    // Stored as [2, 1, 3] and [1, 2, 2]; in logical order the last axis is first.
    let data = Arc::new(ArrowField::new("data", DataType::List(item.clone()), false));
    let size = Arc::new(ArrowField::new("item", DataType::Int32, false));
    let shape = Arc::new(ArrowField::new("shape", DataType::FixedSizeList(size.clone(), 3), false));
    let flat = ListArray::new(item.clone(), OffsetBuffer::new(vec![0, 6, 10].into()), Arc::new(Int32Array::from_iter_values(0..10)), None);
    let shapes = FixedSizeListArray::new(size, 3, Arc::new(Int32Array::from(vec![2, 1, 3, 1, 2, 2])), None);
    let volumes: ArrayRef = Arc::new(StructArray::new(vec![data, shape].into(), vec![Arc::new(flat), Arc::new(shapes)], None));
    let volume = tensor("arrow.variable_shape_tensor", volumes.data_type().clone(), r#"{"permutation":[2,0,1]}"#);

    // Tensors inside structures and lists.
    let lists: ArrayRef = Arc::new(ListArray::new(Arc::new(matrix.clone()), OffsetBuffer::new(vec![0, 2, 3].into()), without_nulls, None));
    let structures: ArrayRef = Arc::new(StructArray::new(vec![matrix.clone()].into(), vec![matrices.clone()], None));

    let (first, last) = ("[[0, 3], [1, 4], [2, 5]]", "[[12, 15], [13, 16], [14, 17]]");
    let second = "[[6, 9], [7, 10], [8, 11]]";
    let cases = [
        (matrix.clone(), matrices.clone(), "optional int32[3, 2] with nulls", vec![first.to_owned(), "None".to_owned(), last.to_owned()]),
        (
            volume,
            volumes,
            "optional int32[?, ?, ?] with nulls",
            vec!["[[[0], [3]], [[1], [4]], [[2], [5]]]".to_owned(), "[[[6, 8]], [[7, 9]]]".to_owned()],
        ),
        (
            ArrowField::new("x", lists.data_type().clone(), true),
            lists,
            "optional int32[?, 3, 2] with nulls",
            vec![format!("[{first}, {second}]"), format!("[{last}]")],
        ),
    ];
    for (stored, array, ty, rows) in cases {
        let field = from_arrow_field(&stored).unwrap();
        assert_eq!(field.ty.to_string(), ty);
        let tensor = from_arrow(&array, &stored).unwrap();
        tensor.check(&field.ty).unwrap();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        assert_eq!(tensor.first_difference(&rows_of(&field.ty, &rows)), None, "{ty}: {tensor:?}");
        // Written in logical order, and read back unchanged.
        let written = to_arrow_field(&field, ArrowForm::default()).unwrap();
        let back = from_arrow(&to_arrow(&tensor, &written).unwrap(), &written).unwrap();
        assert_eq!(back.first_difference(&tensor), None, "{written}");
        assert!(!format!("{written:?}").contains("permutation"), "{written:?}");
    }
    let stored = ArrowField::new("x", structures.data_type().clone(), false);
    let tensor = from_arrow(&structures, &stored).unwrap();
    assert_eq!(tensor.as_struct().unwrap().fields()[0].first_difference(&from_arrow(&matrices, &matrix).unwrap()), None);
    let field = from_arrow_field(&matrix).unwrap();
    let parameters = field.storage.arrow().unwrap().metadata().get("ARROW:extension:metadata").unwrap();
    let parameters: serde_json::Value = serde_json::from_str(parameters).unwrap();
    assert_eq!(parameters, serde_json::json!({"shape": [3, 2], "dim_names": ["w", "h"]}));
}
