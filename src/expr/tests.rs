//! Every example of every function, and the guides' values, computed from constants.

use super::functions::FAMILIES;
use super::program::Program;
use crate::chunk::{Chunk, Origin};
use crate::options::Options;
use crate::schema::Schema;
use crate::tensor::Tensor;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// The value of an expression without fields, as JSON.
fn compute(text: &str) -> Result<String, String> {
    let program = Program::bind(&format!("out = {text}"), &Schema::default(), &Options::default()).map_err(|e| e.to_string())?;
    let chunk = Chunk::try_new(1, Vec::new(), Origin::default()).map_err(|e| e.to_string())?;
    let out = program.apply(chunk).map_err(|e| e.to_string())?;
    out.check(program.schema()).map_err(|e| e.to_string())?;
    Ok(shown(&out.columns[0], 0))
}

fn shown(tensor: &Tensor, row: usize) -> String {
    match tensor {
        Tensor::Leaf(array) => value(array, row),
        Tensor::List(list) => {
            let items: Vec<String> = list.partition().range(row).map(|i| shown(list.values(), i)).collect();
            format!("[{}]", items.join(", "))
        }
        Tensor::Struct(s) => {
            let fields: Vec<String> = s.fields().iter().map(|f| shown(f, row)).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Tensor::Sparse(s) => {
            let entries: Vec<String> = s.entries().range(row).map(|e| format!("{:?}: {}", s.index_of(e), value(s.values(), e))).collect();
            format!("{{{}}} of {:?}", entries.join(", "), s.shape_of(row))
        }
    }
}

fn value(array: &ArrayRef, i: usize) -> String {
    if array.is_null(i) {
        return "null".to_owned();
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(i).to_string(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(i).to_string(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(i).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(i).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(i).to_string(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(i).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(i).to_string(),
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(i)),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(i)),
        DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(i)),
        DataType::LargeBinary => format!("{:?}", array.as_binary::<i64>().value(i)),
        other => format!("{other} of {}", array.len()),
    }
}

#[test]
fn the_examples_of_functions_give_what_they_say() {
    let mut wrong = Vec::new();
    for family in FAMILIES {
        for function in family.functions {
            for (expression, expected) in function.examples {
                let found = compute(expression).unwrap_or_else(|e| e);
                if found != *expected {
                    wrong.push(format!("{expression}\n  gives {found}\n  not   {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_of_functions_are_unique() {
    let mut names: Vec<&str> = FAMILIES.iter().flat_map(|f| f.functions).flat_map(|f| f.names.iter().copied()).collect();
    let n = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(n, names.len());
}

#[test]
fn conditions_are_joined_in_any_number() {
    let list = |n: usize, word: &str, op: &str| (0..n).map(|i| format!("1 {op} {}", n - i)).collect::<Vec<_>>().join(&format!(" {word} "));
    for n in [1, 2, 3, 127, 2000] {
        assert_eq!(compute(&list(n, "or", "==")).as_deref(), Ok("true"), "{n}");
        assert_eq!(compute(&list(n, "and", "!=")).as_deref(), Ok("false"), "{n}");
    }
    assert!(compute(&list(200, "+", "*")).unwrap_err().contains("nested more than 128 levels deep"));
}
