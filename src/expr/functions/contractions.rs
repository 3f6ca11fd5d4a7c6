//! Sums of products of dense tensors over shared axes, as products of matrices.
//!
//! Semantics: `tf.tensordot`, `tf.einsum`.

use crate::expr::call::{Call, Function, as_node, positive_axis, static_int, static_ints};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::operand::Operand;
use crate::schema::{Size, Type};
use std::collections::BTreeMap;

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["tensordot", "linalg.tensordot"],
        "a, b, axes",
        "Sums of products over axes of a and b: the last axes of a and the first of b, or two lists of axes.",
        [
            ("tensordot([[1, 2], [3, 4]], [[5], [6]], 1)", "[[17], [39]]"),
            ("tensordot([[1, 2], [3, 4]], [[1, 2], [3, 4]], [[0, 1], [0, 1]])", "30")
        ],
        tensordot
    ),
    formula!(
        ["einsum", "linalg.einsum"],
        "equation, *inputs",
        "Sums of products by the labels of axes: labels that are not in the result are summed over.",
        [("einsum(\"ij,jk->ik\", [[1, 2], [3, 4]], [[5], [6]])", "[[17], [39]]"), ("einsum(\"ij->j\", [[1, 2], [3, 4]])", "[4, 6]")],
        einsum
    ),
];

/// An operand as a dense tensor.
fn dense(call: &Call, item: &Operand) -> ExprResult<Type> {
    let ty = as_node(item, None)?.ty;
    if ty.is_sparse() || ty.is_ragged() || ty.fields().is_some() {
        let error = ExprError::at(item.span.clone(), format!("{} expects a dense tensor, found {ty}", call.name));
        return Err(error.help("to_tensor(x) pads its rows"));
    }
    Ok(ty)
}

/// A product of sizes, as a formula.
fn product(sizes: &[String]) -> String {
    if sizes.is_empty() { "1".to_owned() } else { sizes.join(" * ") }
}

fn tensordot(call: &Call) -> ExprResult<String> {
    let types = [dense(call, call.operand(0)?)?, dense(call, call.operand(1)?)?];
    let item = call.operand(2)?;
    let wrong =
        || ExprError::at(item.span.clone(), "tensordot: axes must be a number of axes that both tensors have, or two lists of axes");
    let given: [Vec<i64>; 2] = match (static_int(item), item.elements()) {
        (Some(n), _) if n >= 0 && types.iter().all(|ty| n <= ty.rank() as i64) => {
            let first = types[0].rank() as i64 - n;
            [(first..first + n).collect(), (0..n).collect()]
        }
        (None, Some(parts)) => {
            let parts = parts.iter().map(static_ints).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
            parts.try_into().map_err(|_| wrong())?
        }
        _ => return Err(wrong()),
    };
    if given[0].len() != given[1].len() {
        return Err(ExprError::at(item.span.clone(), "tensordot: a and b have different numbers of axes to sum over"));
    }
    let (mut matrices, mut shape) = (Vec::new(), Vec::new());
    for (i, (ty, axes)) in types.iter().zip(&given).enumerate() {
        let name = ["a", "b"][i];
        let axes = axes.iter().map(|axis| positive_axis(*axis, ty.rank())).collect::<Option<Vec<_>>>();
        let axes = axes.filter(|axes| (0..axes.len()).all(|i| !axes[..i].contains(&axes[i])));
        let axes = axes.ok_or_else(|| ExprError::at(item.span.clone(), format!("tensordot: these are not axes of {name}, {ty}")))?;
        let free: Vec<usize> = (0..ty.rank()).filter(|axis| !axes.contains(axis)).collect();
        let sizes = |axes: &[usize]| axes.iter().map(|axis| size(name, ty, *axis)).collect::<Vec<_>>();
        let (inner, outer) = (sizes(&axes), sizes(&free));
        let (perm, dims) = match i {
            0 => ([free, axes].concat(), [product(&outer), product(&inner)]),
            _ => ([axes, free].concat(), [product(&inner), product(&outer)]),
        };
        matrices.push(format!("reshape(transpose({name}, {perm:?}), [{}])", dims.join(", ")));
        shape.extend(outer);
    }
    Ok(format!("reshape({} @ {}, [{}])", matrices[0], matrices[1], shape.join(", ")))
}

/// The size of an axis of a parameter, as a formula.
fn size(name: &str, ty: &Type, axis: usize) -> String {
    match ty.dims[axis].size {
        Size::Known(n) => n.to_string(),
        _ => format!("shape(identity({name}))[{axis}]"),
    }
}

/// A tensor whose axes have labels.
struct Labelled {
    formula: String,
    labels: Vec<char>,
}

fn einsum(call: &Call) -> ExprResult<String> {
    let place = call.operand(0)?.span.clone();
    let equation: String = call.string(0)?.unwrap_or_default().split_whitespace().collect();
    let wrong = |why: &str| ExprError::at(place.clone(), format!("einsum: {equation:?} {why}"));
    let (inputs, output) = equation.split_once("->").map_or((equation.as_str(), None), |(inputs, output)| (inputs, Some(output)));
    let items = call.list(1)?;
    let parts: Vec<Vec<char>> = inputs.split(',').map(|labels| labels.chars().collect()).collect();
    if equation.contains('.') {
        return Err(wrong("has an ellipsis, which is not supported").help("name each axis"));
    }
    if parts.len() != items.len() {
        return Err(wrong(&format!("is for {} tensors, not {}", parts.len(), items.len())));
    }
    let mut sizes: BTreeMap<char, String> = BTreeMap::new();
    let mut known: BTreeMap<char, u64> = BTreeMap::new();
    let mut operands = Vec::with_capacity(items.len());
    for (i, (item, labels)) in items.iter().zip(&parts).enumerate() {
        let ty = dense(call, item)?;
        if !labels.iter().all(char::is_ascii_alphabetic) {
            return Err(wrong("has a label that is not a letter"));
        }
        if (0..labels.len()).any(|i| labels[..i].contains(&labels[i])) {
            return Err(wrong("repeats a label of one tensor, which is not supported").help("linalg.diag_part(x) takes a diagonal"));
        }
        if labels.len() != ty.rank() {
            return Err(wrong(&format!("has {} labels for {ty}", labels.len())));
        }
        let name = format!("inputs[{i}]");
        for (axis, label) in labels.iter().enumerate() {
            if let Size::Known(n) = ty.dims[axis].size {
                let before = *known.entry(*label).or_insert(n);
                if before != n {
                    return Err(wrong(&format!("gives {label} the sizes {before} and {n}")));
                }
            }
            sizes.entry(*label).or_insert_with(|| size(&name, &ty, axis));
        }
        operands.push(Labelled { formula: name, labels: labels.clone() });
    }
    let count = |label: &char| parts.iter().flatten().filter(|other| *other == label).count();
    let output: Vec<char> = match output {
        Some(output) => output.chars().collect(),
        None => sizes.keys().copied().filter(|label| count(label) == 1).collect(),
    };
    let is_output = (0..output.len()).all(|i| sizes.contains_key(&output[i]) && !output[..i].contains(&output[i]));
    if !is_output {
        return Err(wrong("has a label in the result that no tensor has, or twice"));
    }
    let mut rest = operands.into_iter();
    let Some(mut all) = rest.next() else { return Err(wrong("has no tensors")) };
    let mut rest: Vec<Labelled> = rest.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let is_needed = |label: &char| output.contains(label) || rest.iter().any(|other| other.labels.contains(label));
        all = joined(all, next, &sizes, &is_needed);
    }
    let all = summed(all, &|label| output.contains(label));
    let perm: Vec<usize> = output.iter().filter_map(|label| all.labels.iter().position(|own| own == label)).collect();
    Ok(if perm.is_empty() { format!("identity({})", all.formula) } else { format!("transpose({}, {perm:?})", all.formula) })
}

/// Sums over the labels that are no longer needed.
fn summed(x: Labelled, is_needed: &dyn Fn(&char) -> bool) -> Labelled {
    let axes: Vec<usize> = (0..x.labels.len()).filter(|axis| !is_needed(&x.labels[*axis])).collect();
    if axes.is_empty() {
        return x;
    }
    Labelled { formula: format!("reduce_sum({}, {axes:?})", x.formula), labels: x.labels.into_iter().filter(|l| is_needed(l)).collect() }
}

/// The product of two tensors, summed over their common labels that are not needed: batches of products of matrices.
fn joined(a: Labelled, b: Labelled, sizes: &BTreeMap<char, String>, is_needed: &dyn Fn(&char) -> bool) -> Labelled {
    let (own, other) = (a.labels.clone(), b.labels.clone());
    let a = summed(a, &|label| is_needed(label) || other.contains(label));
    let b = summed(b, &|label| is_needed(label) || own.contains(label));
    let common: Vec<char> = a.labels.iter().copied().filter(|label| b.labels.contains(label)).collect();
    let (batch, inner): (Vec<char>, Vec<char>) = common.iter().partition(|label| is_needed(label));
    let free = |x: &Labelled| x.labels.iter().copied().filter(|label| !common.contains(label)).collect::<Vec<_>>();
    let (left, right) = (free(&a), free(&b));
    let size_of = |labels: &[char]| product(&labels.iter().filter_map(|label| sizes.get(label).cloned()).collect::<Vec<_>>());
    let matrix = |x: &Labelled, groups: [&[char]; 3]| {
        let place = |label: &char| x.labels.iter().position(|own| own == label);
        let perm: Vec<usize> = groups.iter().flat_map(|labels| labels.iter()).filter_map(place).collect();
        let moved = if perm.is_empty() { x.formula.clone() } else { format!("transpose({}, {perm:?})", x.formula) };
        format!("reshape({moved}, [{}])", groups.map(size_of).join(", "))
    };
    let (x, y) = (matrix(&a, [&batch, &left, &inner]), matrix(&b, [&batch, &inner, &right]));
    let labels = [batch, left, right].concat();
    let shape: Vec<String> = labels.iter().filter_map(|label| sizes.get(label).cloned()).collect();
    Labelled { formula: format!("reshape({x} @ {y}, [{}])", shape.join(", ")), labels }
}
