//! Functions of sparse tensors, compared with a slow, simple reference that looks up every cell of the dense tensor.

use crate::random::cases;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use tatter::chunk::{Chunk, Origin};
use tatter::expr::Program;
use tatter::options::Options;
use tatter::schema::{DType, Dim, Field, Schema, Type};
use tatter::tensor::{RowPartition, Sparse, Tensor};

/// A sparse tensor with entries in any order, possibly with repeated indices.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    shape: Vec<i64>,
    entries: Vec<(Vec<i64>, i64)>,
}

impl Plain {
    /// The values of the entries at an index, in order.
    fn at(&self, index: &[i64]) -> Vec<i64> {
        self.entries.iter().filter(|(i, _)| i == index).map(|(_, v)| *v).collect()
    }

    fn sorted(mut self) -> Plain {
        self.entries.sort_by(|a, b| a.0.cmp(&b.0));
        self
    }

    fn json(&self) -> Value {
        let indices: Vec<&Vec<i64>> = self.entries.iter().map(|(i, _)| i).collect();
        let values: Vec<i64> = self.entries.iter().map(|(_, v)| *v).collect();
        json!({"indices": indices, "values": values, "dense_shape": self.shape})
    }
}

/// The nested list with a shape, given the value of each cell.
fn nested(shape: &[i64], cell: &dyn Fn(&[i64]) -> Value) -> Value {
    fn below(shape: &[i64], index: &mut Vec<i64>, cell: &dyn Fn(&[i64]) -> Value) -> Value {
        if index.len() == shape.len() {
            return cell(index);
        }
        let items = (0..shape[index.len()]).map(|i| {
            index.push(i);
            let item = below(shape, index, cell);
            index.pop();
            item
        });
        Value::Array(items.collect())
    }
    below(shape, &mut Vec::new(), cell)
}

fn cells(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![Vec::new()], |all, n| {
        all.iter().flat_map(|index| (0..*n).map(move |i| index.iter().copied().chain([i]).collect())).collect()
    })
}

/// Records of one rank, with arbitrary sizes and entries.
fn records(rank: usize) -> impl Strategy<Value = Vec<Plain>> {
    let one = prop::collection::vec(0i64..4, rank).prop_flat_map(|shape| {
        let most = if shape.contains(&0) { 0 } else { 7 };
        let index: Vec<_> = shape.iter().map(|n| 0..(*n).max(1)).collect();
        prop::collection::vec((index, -9i64..9), 0..=most).prop_map(move |entries| Plain { shape: shape.clone(), entries })
    });
    prop::collection::vec(one, 0..5)
}

fn column(records: &[Plain], rank: usize) -> Tensor {
    let lengths = records.iter().map(|r| r.entries.len() as i64);
    let indices: Vec<i64> = records.iter().flat_map(|r| r.entries.iter().flat_map(|(i, _)| i.clone())).collect();
    let values: Vec<i64> = records.iter().flat_map(|r| r.entries.iter().map(|(_, v)| *v)).collect();
    let shapes: Vec<i64> = records.iter().flat_map(|r| r.shape.clone()).collect();
    let entries = RowPartition::from_row_lengths(lengths).unwrap();
    Tensor::Sparse(
        Sparse::try_new(rank, entries, indices.into(), Arc::new(arrow_array::Int64Array::from(values)), shapes.into(), None).unwrap(),
    )
}

fn row(tensor: &Tensor, at: usize) -> Value {
    let number = |array: &arrow_array::ArrayRef, i: usize| match array.data_type() {
        arrow_schema::DataType::Boolean => json!(arrow_array::cast::AsArray::as_boolean(array).value(i)),
        _ => json!(arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(array).value(i)),
    };
    match tensor {
        Tensor::List(list) => Value::Array(list.partition().range(at).map(|i| row(list.values(), i)).collect()),
        Tensor::Leaf(array) => number(array, at),
        Tensor::Sparse(s) => {
            let range = s.entries().range(at);
            let indices: Vec<&[i64]> = range.clone().map(|entry| s.index_of(entry)).collect();
            let values: Vec<Value> = range.map(|entry| number(s.values(), entry)).collect();
            json!({"indices": indices, "values": values, "dense_shape": s.shape_of(at)})
        }
        Tensor::Struct(_) => panic!("no tensor"),
    }
}

/// Evaluates an expression over sparse fields `x` and `y`: the value for each record, or the message.
fn run(text: &str, rank: usize, fields: &[(&str, &[Plain])]) -> Result<Vec<Value>, String> {
    let nrows = fields[0].1.len();
    let ty = Type::sparse(DType::Int64, vec![Dim::UNIFORM; rank]);
    let schema = Schema::new(fields.iter().map(|(name, _)| Field::new(*name, ty.clone())).collect());
    let columns = fields.iter().map(|(_, records)| column(records, rank)).collect();
    let program = Program::bind(&format!("out = {text}"), &schema, &Options::default()).map_err(|e| e.to_string())?;
    let chunk = Chunk::try_new(nrows, columns, Origin::default()).unwrap();
    let out = program.apply(chunk).map_err(|e| e.to_string())?;
    out.check(program.schema()).unwrap();
    let tensor = out.columns.last().unwrap();
    Ok((0..nrows).map(|i| row(tensor, i)).collect())
}

fn each(x: &[Plain], f: impl Fn(&Plain) -> Value) -> Result<Vec<Value>, String> {
    Ok(x.iter().map(f).collect())
}

/// One rank and records of it.
fn any() -> impl Strategy<Value = (usize, Vec<Plain>)> {
    (1usize..5).prop_flat_map(|rank| records(rank).prop_map(move |x| (rank, x)))
}

proptest! {
    #![proptest_config(cases(200))]

    /// The dense tensor has the last value for each index; sorted and without repeats, there is only one value.
    #[test]
    fn dense_cells_are_the_entries((rank, x) in any()) {
        let dense = |r: &Plain| nested(&r.shape, &|index| json!(r.at(index).last().copied().unwrap_or(-1)));
        prop_assert_eq!(run("sparse.to_dense(x, -1, validate_indices=False)", rank, &[("x", &x)]), each(&x, dense));
        let plain = x.iter().all(|r| r.entries.windows(2).all(|w| w[0].0 < w[1].0));
        prop_assert_eq!(run("sparse.to_dense(x, -1)", rank, &[("x", &x)]).is_ok(), plain);
        let kept = |r: &Plain| {
            let entries = cells(&r.shape).into_iter().filter_map(|index| {
                let value = r.at(&index).last().copied().filter(|v| *v != 0)?;
                Some((index, value))
            });
            Plain { shape: r.shape.clone(), entries: entries.collect() }
        };
        // If an axis is empty, a list does not show the sizes below it.
        let full: Vec<Plain> = x.iter().filter(|r| !r.shape.contains(&0)).cloned().collect();
        prop_assert_eq!(
            run("sparse.from_dense(sparse.to_dense(x, validate_indices=False))", rank, &[("x", &full)]),
            each(&full, |r| kept(r).json())
        );
    }

    /// Sums and maxima over any axes, dense and sparse.
    #[test]
    fn reductions_are_those_of_the_cells((rank, x) in any(), mask in 0usize..16, keepdims in any_bool()) {
        let axes: Vec<usize> = (0..rank).filter(|a| mask >> a & 1 == 1).collect();
        for (name, reduce) in [("sum", (|v| v.iter().sum()) as fn(&[i64]) -> i64), ("max", |v| v.iter().copied().max().unwrap_or(0))] {
            let shape_of = |r: &Plain| -> Vec<i64> {
                let size = |axis: usize| if axes.contains(&axis) { keepdims.then_some(1) } else { Some(r.shape[axis]) };
                (0..rank).filter_map(size).collect()
            };
            let members = |r: &Plain, index: &[i64]| -> Vec<i64> {
                let own = |i: &[i64]| -> Vec<i64> {
                    (0..rank).filter_map(|axis| if axes.contains(&axis) { keepdims.then_some(0) } else { Some(i[axis]) }).collect()
                };
                r.entries.iter().filter(|(i, _)| own(i) == index).map(|(_, v)| *v).collect()
            };
            let keep = if keepdims { "True" } else { "False" };
            let text = format!("sparse.reduce_{name}(x, axis={axes:?}, keepdims={keep}");
            let dense = |r: &Plain| nested(&shape_of(r), &|index| json!(reduce(&members(r, index))));
            prop_assert_eq!(run(&format!("{text})"), rank, &[("x", &x)]), each(&x, dense));
            let sparse = |r: &Plain| {
                let shape = shape_of(r);
                let found = cells(&shape).into_iter().map(|index| (index.clone(), members(r, &index))).filter(|(_, m)| !m.is_empty());
                Plain { entries: found.map(|(index, m)| (index, reduce(&m))).collect(), shape }.json()
            };
            prop_assert_eq!(run(&format!("{text}, output_is_sparse=True)"), rank, &[("x", &x)]), each(&x, sparse));
        }
    }

    /// Other orders and shapes of the same entries.
    #[test]
    fn entries_move_to_their_new_places((rank, x) in any(), turn in 0usize..4) {
        prop_assert_eq!(run("sparse.reorder(x)", rank, &[("x", &x)]), each(&x, |r| r.clone().sorted().json()));
        let perm: Vec<usize> = (0..rank).map(|i| (i + turn) % rank).collect();
        let turned = |r: &Plain| {
            let moved = |index: &[i64]| perm.iter().map(|a| index[*a]).collect::<Vec<_>>();
            Plain { shape: moved(&r.shape), entries: r.entries.iter().map(|(i, v)| (moved(i), *v)).collect() }.sorted().json()
        };
        prop_assert_eq!(run(&format!("sparse.transpose(x, {perm:?})"), rank, &[("x", &x)]), each(&x, turned));
        let flat = |r: &Plain| {
            let place = |index: &[i64]| index.iter().zip(&r.shape).fold(0, |at, (i, n)| at * n + i);
            let entries = r.entries.iter().map(|(i, v)| (vec![place(i)], *v)).collect();
            Plain { shape: vec![r.shape.iter().product()], entries }.json()
        };
        prop_assert_eq!(run("sparse.reshape(x, [-1])", rank, &[("x", &x)]), each(&x, flat));
        let there_and_back = "sparse.reshape(sparse.expand_dims(x, 0), dense_shape(x))";
        let there_and_back = there_and_back.replace("dense_shape(x)", &format!("[{}]", (0..rank).map(|i| format!("dense_shape(x)[{i}]")).collect::<Vec<_>>().join(", ")));
        prop_assert_eq!(run(&there_and_back, rank, &[("x", &x)]), each(&x, Plain::json));
        let tight = |r: &Plain| {
            let size = |axis: usize| r.entries.iter().map(|(i, _)| i[axis] + 1).max().unwrap_or(0);
            Plain { shape: (0..rank).map(size).collect(), entries: r.entries.clone() }.json()
        };
        prop_assert_eq!(run("sparse.reset_shape(x)", rank, &[("x", &x)]), each(&x, tight));
        prop_assert_eq!(
            run("sparse.retain(x, values(x) > 0)", rank, &[("x", &x)]),
            each(&x, |r| Plain { shape: r.shape.clone(), entries: r.entries.iter().filter(|e| e.1 > 0).cloned().collect() }.json())
        );
    }

    /// Slices, and concatenation of the parts to the whole.
    #[test]
    fn boxes_and_parts((rank, x) in any(), start in prop::collection::vec(-2i64..5, 4), size in prop::collection::vec(0i64..5, 4), axis in 0usize..4) {
        let axis = axis % rank;
        let cut = |r: &Plain| {
            let left = |a: usize| if start[a] >= r.shape[a] { 0 } else { size[a].min(r.shape[a] - start[a]) };
            let shape: Vec<i64> = (0..rank).map(left).collect();
            let inside = |i: &[i64]| (0..rank).all(|a| (start[a]..start[a] + shape[a]).contains(&i[a]));
            let entries = r.entries.iter().filter(|(i, _)| inside(i));
            let entries = entries.map(|(i, v)| (i.iter().zip(&start).map(|(i, s)| i - s).collect(), *v)).collect();
            Plain { shape, entries }.json()
        };
        let text = format!("sparse.slice(x, {:?}, {:?})", &start[..rank], &size[..rank]);
        prop_assert_eq!(run(&text, rank, &[("x", &x)]), each(&x, cut));
        let twice = |r: &Plain| {
            let mut out = r.clone();
            out.shape[axis] *= 2;
            out.entries.extend(r.entries.iter().map(|(i, v)| {
                let mut i = i.clone();
                i[axis] += r.shape[axis];
                (i, *v)
            }));
            out.sorted().json()
        };
        prop_assert_eq!(run(&format!("sparse.concat({axis}, [x, x])"), rank, &[("x", &x)]), each(&x, twice));
        let long: Vec<Plain> = x.iter().filter(|r| r.shape[axis] >= 2).cloned().collect();
        let parts = format!("sparse.concat({axis}, sparse.split(x, 2, axis={axis}))");
        prop_assert_eq!(run(&parts, rank, &[("x", &long)]), each(&long, |r| r.clone().sorted().json()));
    }

    /// Sums, products and empty rows, cell by cell.
    #[test]
    fn arithmetic_is_that_of_the_cells(x in records(2), factor in -3i64..4) {
        let unique = |r: &Plain| {
            let mut r = r.clone().sorted();
            r.entries.dedup_by(|a, b| a.0 == b.0);
            r
        };
        let x: Vec<Plain> = x.iter().map(unique).collect();
        // The same shapes, with mirrored entries.
        let y: Vec<Plain> = x
            .iter()
            .map(|r| Plain { shape: r.shape.clone(), entries: r.entries.iter().map(|(i, v)| (i.iter().zip(&r.shape).map(|(i, n)| n - 1 - i).collect(), v + 1)).collect() }.sorted())
            .collect();
        let one = |r: &Plain, index: &[i64]| r.at(index).first().copied().unwrap_or(0);
        for (name, f) in [("add", (|a, b| a + b) as fn(i64, i64) -> i64), ("maximum", |a: i64, b| a.max(b)), ("minimum", |a: i64, b| a.min(b))] {
            let both: Vec<Value> = x
                .iter()
                .zip(&y)
                .map(|(a, b)| {
                    let found = cells(&a.shape).into_iter().filter(|i| !a.at(i).is_empty() || !b.at(i).is_empty());
                    Plain { shape: a.shape.clone(), entries: found.map(|i| { let v = f(one(a, &i), one(b, &i)); (i, v) }).collect() }.json()
                })
                .collect();
            prop_assert_eq!(run(&format!("sparse.{name}(x, y)"), 2, &[("x", &x), ("y", &y)]), Ok(both));
        }
        prop_assert_eq!(
            run(&format!("sparse.add(x, sparse.to_dense(y)); out = x * {factor}"), 2, &[("x", &x), ("y", &y)]),
            each(&x, |r| Plain { shape: r.shape.clone(), entries: r.entries.iter().map(|(i, v)| (i.clone(), v * factor)).collect() }.json())
        );
        let product: Vec<Value> = x
            .iter()
            .zip(&y)
            .map(|(a, b)| {
                let n = a.shape[0];
                nested(&[n, n], &|index| json!((0..a.shape[1]).map(|k| one(a, &[index[0], k]) * one(b, &[index[1], k])).sum::<i64>()))
            })
            .collect();
        let text = "sparse.sparse_dense_matmul(x, sparse.to_dense(y), adjoint_b=True)";
        let full: Vec<usize> = (0..x.len()).filter(|i| !x[*i].shape.contains(&0)).collect();
        let (p, q): (Vec<Plain>, Vec<Plain>) = full.iter().map(|i| (x[*i].clone(), y[*i].clone())).unzip();
        let product: Vec<Value> = full.iter().map(|i| product[*i].clone()).collect();
        prop_assert_eq!(run(text, 2, &[("x", &p), ("y", &q)]), Ok(product.clone()));
        prop_assert_eq!(run("transpose(sparse.sparse_dense_matmul(sparse.to_dense(y), x, adjoint_b=True))", 2, &[("x", &p), ("y", &q)]), Ok(product));
        let filled = |r: &Plain| {
            let mut r = r.clone();
            let missing: Vec<i64> = (0..r.shape[0]).filter(|row| r.entries.iter().all(|(i, _)| i[0] != *row)).collect();
            r.entries.extend(missing.iter().map(|row| (vec![*row, 0], 77)));
            r.sorted().json()
        };
        prop_assert_eq!(run("sparse.fill_empty_rows(x, 77)[0]", 2, &[("x", &p)]), each(&p, filled));
    }
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop::bool::ANY
}
