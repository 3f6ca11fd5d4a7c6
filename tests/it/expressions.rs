//! Expressions compared with a slow, simple reference over nested lists, and laws that hold for every expression.

use crate::nested::Nested::{self, List, Number};
use crate::nested::{list, ragged, records, run};
use crate::random::cases;
use proptest::prelude::*;
use tatter::expr::Program;
use tatter::options::Options;
use tatter::schema::{DType, Dim, Field, Schema, Type};

/// Ragged broadcasting of one record, as described in the guide: a ragged axis is never repeated.
fn add(x: &Nested, y: &Nested, x_uniform: &[bool], y_uniform: &[bool]) -> Option<Nested> {
    match (x, y) {
        (Number(a), Number(b)) => Some(Number(a.wrapping_add(*b))),
        (List(a), List(b)) => {
            let (u, v) = (x_uniform[0], y_uniform[0]);
            let n = if a.len() == b.len() {
                a.len()
            } else if u && a.len() == 1 {
                b.len()
            } else if v && b.len() == 1 {
                a.len()
            } else {
                return None;
            };
            let pick = |items: &[Nested], i: usize| items[if items.len() == 1 { 0 } else { i }].clone();
            (0..n).map(|i| add(&pick(a, i), &pick(b, i), &x_uniform[1..], &y_uniform[1..])).collect::<Option<Vec<_>>>().map(List)
        }
        _ => None,
    }
}

fn python_slice(items: &[Nested], start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<Nested> {
    let n = items.len() as i64;
    let bound = |v: i64, low: i64, high: i64| (if v < 0 { v + n } else { v }).clamp(low, high);
    let mut out = Vec::new();
    if step > 0 {
        let (mut i, end) = (start.map_or(0, |s| bound(s, 0, n)), stop.map_or(n, |s| bound(s, 0, n)));
        while i < end {
            out.push(items[i as usize].clone());
            i += step;
        }
    } else {
        let (mut i, end) = (start.map_or(n - 1, |s| bound(s, -1, n - 1)), stop.map_or(-1, |s| bound(s, -1, n - 1)));
        while i > end {
            out.push(items[i as usize].clone());
            i += step;
        }
    }
    out
}

/// Sums along an axis, by definition.
fn sum(x: &Nested, axis: usize) -> Nested {
    fn merge(a: Option<&Nested>, b: &Nested) -> Nested {
        match (a, b) {
            (None, b) => b.clone(),
            (Some(Number(a)), Number(b)) => Number(a.wrapping_add(*b)),
            (Some(List(a)), List(b)) => list((0..a.len().max(b.len())).map(|i| match (a.get(i), b.get(i)) {
                (Some(a), Some(b)) => merge(Some(a), b),
                (Some(one), None) | (None, Some(one)) => one.clone(),
                (None, None) => unreachable!(),
            })),
            _ => panic!("ranks differ"),
        }
    }
    fn rank(x: &Nested) -> usize {
        match x {
            Number(_) => 0,
            List(items) => 1 + items.first().map_or(0, rank),
        }
    }
    x.at_depth(axis, &|row| {
        let mut total: Option<Nested> = None;
        for item in row.items() {
            total = Some(merge(total.as_ref(), item));
        }
        let _ = rank;
        total.unwrap_or(Number(0))
    })
}

fn slice_text(start: Option<i64>, stop: Option<i64>, step: i64) -> String {
    let text = |v: Option<i64>| v.map_or(String::new(), |v| v.to_string());
    format!("{}:{}:{step}", text(start), text(stop))
}

proptest! {
    #![proptest_config(cases(128))]

    /// x + y for two ragged tensors, and for a ragged tensor and a column with one value per row.
    #[test]
    fn broadcasting_is_the_guides(x in records(2), seed in 0usize..3) {
        let rows = |r: &Nested| list(r.items().iter().enumerate().map(|(i, _)| list([Number(100 * i as i64)])));
        let y: Vec<Nested> = match seed {
            0 => x.clone(),
            1 => x.iter().map(rows).collect(),
            _ => x.iter().rev().cloned().collect(),
        };
        let uniform = if seed == 1 { [true, true] } else { [true, false] };
        let y_type = if seed == 1 { Type::tensor(DType::Int64, vec![Dim::UNIFORM, Dim::known(1)]) } else { ragged(2) };
        let y_column_is_uniform = seed == 1;
        prop_assume!(!y_column_is_uniform || !x.is_empty());
        let expected: Option<Vec<Nested>> = x.iter().zip(&y).map(|(a, b)| add(a, b, &[true, false], &uniform)).collect();
        // A column of known size needs a uniform partition, which an expression creates.
        let found = if seed == 1 {
            run("x + cast(expand_dims(100 * range(len(x)), 1), int64)", &[("x", &x, ragged(2))])
        } else {
            run("x + y", &[("x", &x, ragged(2)), ("y", &y, y_type)])
        };
        match expected {
            Some(expected) => prop_assert_eq!(found, Ok(expected)),
            None => prop_assert!(found.is_err()),
        }
    }

    /// x[:, a:b:c] and x[a:b:c] match Python's slices.
    #[test]
    fn slices_are_pythons(
        x in records(3),
        start in prop::option::of(-5i64..5),
        stop in prop::option::of(-5i64..5),
        step in prop_oneof![-3i64..0, 1i64..4],
        axis in 0usize..3,
    ) {
        let expected: Vec<Nested> = x.iter().map(|r| r.at_depth(axis, &|row| List(python_slice(row.items(), start, stop, step)))).collect();
        let text = format!("x[{}{}]", ":, ".repeat(axis), slice_text(start, stop, step));
        prop_assert_eq!(run(&text, &[("x", &x, ragged(3))]), Ok(expected));
    }

    /// Sums along every axis. A row without items gives an empty sum for its inner axes.
    #[test]
    fn sums_are_sums(x in records(2), axis in 0usize..2) {
        let expected: Vec<Nested> = x
            .iter()
            .map(|r| match (axis, r.items().is_empty()) {
                (0, true) => list([]),
                _ => sum(r, axis),
            })
            .collect();
        prop_assert_eq!(run(&format!("reduce_sum(x, axis={axis})"), &[("x", &x, ragged(2))]), Ok(expected));
    }

    /// Concatenates, repeats, reverses and flattens rows.
    #[test]
    fn rows_are_joined_and_turned(x in records(2)) {
        let of = |f: &dyn Fn(&[Nested]) -> Vec<Nested>| -> Vec<Nested> { x.iter().map(|r| r.at_depth(1, &|row| List(f(row.items())))).collect() };
        let field = [("x", x.as_slice(), ragged(2))];
        prop_assert_eq!(run("concat([x, x], axis=1)", &field), Ok(of(&|r| [r, r].concat())));
        prop_assert_eq!(run("tile(x, [1, 3])", &field), Ok(of(&|r| [r, r, r].concat())));
        prop_assert_eq!(run("reverse(x, axis=[1])", &field), Ok(of(&|r| r.iter().rev().cloned().collect())));
        prop_assert_eq!(run("ragged.boolean_mask(x, x > 0)", &field), Ok(of(&|r| r.iter().filter(|v| v.number() > 0).cloned().collect())));
        prop_assert_eq!(run("gather(x, ragged.range(row_lengths(x)), batch_dims=1)", &field), Ok(x.clone()));
        let flat: Vec<Nested> = x.iter().map(|r| list(r.items().iter().flat_map(|row| row.items().iter().cloned()))).collect();
        prop_assert_eq!(run("merge_dims(x, 0, 1)", &field), Ok(flat.clone()));
        prop_assert_eq!(run("RaggedTensor.from_row_splits(x.values, x.row_splits)", &field), Ok(x.clone()));
        prop_assert_eq!(run("RaggedTensor.from_sparse(to_sparse(x))", &field), Ok(x.clone()));
        prop_assert_eq!(run("RaggedTensor.from_tensor(to_tensor(x, 99), padding=99)", &field), Ok(x.clone()));
    }

    /// The result of an expression for a record does not depend on other records.
    #[test]
    fn records_do_not_meet(x in records(2), which in 0usize..EXPRESSIONS.len()) {
        let text = EXPRESSIONS[which];
        let whole = run(text, &[("x", &x, ragged(2))]);
        let single: Result<Vec<Nested>, String> = x
            .iter()
            .map(|r| run(text, &[("x", std::slice::from_ref(r), ragged(2))]).map(|mut v| v.remove(0)))
            .collect();
        match (whole, single) {
            (Ok(whole), Ok(single)) => prop_assert_eq!(whole, single),
            (whole, single) => prop_assert_eq!(whole.is_err(), single.is_err()),
        }
    }

    /// No text causes a panic in the parser or binder.
    #[test]
    fn no_text_panics(parts in prop::collection::vec(prop::sample::select(PARTS), 0..24)) {
        let text = parts.concat();
        let schema = Schema::new(vec![Field::new("x", ragged(2)), Field::new("n", ragged(0))]);
        if let Err(e) = Program::bind(&text, &schema, &Options::default()) {
            prop_assert!(!e.to_string().is_empty());
        }
    }

    /// Nor does any sequence of characters.
    #[test]
    fn no_characters_panic(text in ".{0,60}") {
        let _ = Program::bind(&text, &Schema::default(), &Options::default());
        let _ = Program::bind(&format!("y = {text}"), &Schema::default(), &Options::default());
    }
}

/// Expressions over a ragged `x` of rank 2, some of which fail for some records.
const EXPRESSIONS: &[&str] = &[
    "x * 2 - 1",
    "x // 3 + x % 3",
    "10 // x",
    "reduce_max(x, axis=1)",
    "reduce_min(x, axis=0)",
    "reduce_sum(x)",
    "cast(reduce_mean(x, axis=0) * 1000.0, int64)",
    "reduce_prod(x, axis=0, keepdims=True)",
    "x + reduce_sum(x, axis=1, keepdims=True)",
    "x[:, :1]",
    "x[::-1, 1:]",
    "x[0]",
    "x[len(x) - 1]",
    "x[-1, -1]",
    "to_tensor(x)",
    "to_tensor(x, default_value=7, shape=[2, None])",
    "concat([x, x[:, :1]], axis=1)",
    "concat([x, [[1, 2]]], axis=0)",
    "stack([x, x], axis=1)",
    "ragged.stack([x, x[:1]], axis=0)",
    "tile(x, [2, 1])",
    "expand_dims(x, 1)",
    "x[:, newaxis]",
    "where(x > 0, x, -x)",
    "where(x > 0)",
    "sort(x, axis=-1)",
    "math.bincount(abs(x), axis=-1)",
    "math.bincount(abs(x))",
    "ragged.range(row_lengths(x))",
    "row_splits(x)",
    "value_rowids(x)",
    "bounding_shape(x)",
    "gather(x, [0, 0])",
    "dynamic_partition(values(x), values(x) % 2, 2)[1]",
    "math.unsorted_segment_sum(x, value_rowids(expand_dims(row_splits(x)[1:], 1)), 4)",
    "reshape(x, [-1])",
    "argsort(x, axis=-1)",
    "x[:, 0:2] + 1",
    "cumsum(x, axis=-1)",
    "one_hot(x, 3, dtype=int64)",
    "sequence_pool(x, \"sum\")",
    "sequence_pool(x, \"max\", pad_value=-3)",
    "sequence_pad(x, 7)[0]",
    "sequence_unpad(to_tensor(x), row_lengths(x))",
    "sequence_mask(row_lengths(x))",
    "sequence_expand(x, x)",
    "sequence_expand_as(row_lengths(x), x)",
    "sequence_enumerate(x, 3)",
    "sequence_reshape(x, 2)",
    "sequence_slice(x, row_lengths(x) // 2, ones_like(row_lengths(x)))",
    "sequence_scatter(zeros([len(x), 9], int64), x, x)",
    "recursive_sequence_lengths(x)",
    "lod(x)",
    "sequence_erase(x, [0, 2])",
    "foldl(lambda all, row: all * 3 + reduce_sum(row), x, 0)",
    "scan(lambda all, row: all * 3 + reduce_sum(row), x, 0, reverse=True)",
];

const PARTS: &[&str] = &[
    "x",
    "n",
    "y",
    " = ",
    "=",
    "==",
    "<",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ".",
    "...",
    "None",
    "True",
    "1",
    "-1",
    "2.5",
    "1e9",
    "\"a\"",
    "b'\\x00'",
    "`",
    "+",
    "-",
    "*",
    "**",
    "/",
    "//",
    "%",
    "&",
    "|",
    "~",
    " and ",
    " or ",
    " not ",
    ";",
    "\n",
    "reduce_sum",
    "concat",
    "tile",
    "ragged.constant",
    "tf.",
    "axis=",
    "stack",
    "fill",
    "range",
    "gather",
    "reshape",
    "split",
    "to_tensor",
    "sequence_pad",
    "sequence_pool",
    "sequence_expand",
    "create_lod_tensor",
    "shape=",
    "newaxis",
    "int32",
    "cast",
    "where",
    "#",
    "\\",
    "'",
];
