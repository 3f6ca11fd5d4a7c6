//! Sums of products of dense tensors over shared axes, as products of matrices.
//!
//! Semantics: `tf.tensordot`, `tf.einsum`.

use crate::expr::call::{Call, Function, positive_axis, static_int, static_ints};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::operand::Operand;
use crate::schema::{Size, Type};
use std::collections::{BTreeMap, BTreeSet};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["tensordot", "linalg.tensordot"],
        "a, b, axes",
        "Sums of products over axes of a and b: the last axes of a and the first of b, or two lists of axes.",
        [
            ("tensordot([[1, 2], [3, 4]], [[5], [6]], 1)", "[[17], [39]]"),
            ("tensordot([[1, 2], [3, 4]], [[1, 2], [3, 4]], [[0, 1], [0, 1]])", "30")
        ],
        alike: [0, 1],
        tensordot
    ),
    formula!(
        ["einsum", "linalg.einsum"],
        "equation, *inputs",
        "Einstein summation. Each letter labels an axis: axes whose label is not in the result are summed over, a repeated label takes the diagonal, and `...` matches all other axes.",
        [
            ("einsum(\"ij,jk->ik\", [[1, 2], [3, 4]], [[5], [6]])", "[[17], [39]]"),
            ("einsum(\"ij->j\", [[1, 2], [3, 4]])", "[4, 6]"),
            ("einsum(\"...ii->...\", [[[1, 2], [3, 4]]])", "[5]")
        ],
        alike: [1],
        einsum
    ),
];

/// The type of an operand, which must be dense.
fn dense(call: &Call, item: &Operand) -> ExprResult<Type> {
    call.dense(item, "to pad its rows: to_tensor(x)")
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

/// The size of an axis, if it is the same in all records.
fn known_size(ty: &Type, axis: usize) -> Option<u64> {
    if let Size::Known(n) = ty.dims[axis].size { Some(n) } else { None }
}

/// The size of an axis of a parameter, as a formula.
fn size(name: &str, ty: &Type, axis: usize) -> String {
    known_size(ty, axis).map_or_else(|| format!("shape(identity({name}))[{axis}]"), |n| n.to_string())
}

/// A tensor whose axes have labels.
struct Labelled {
    formula: String,
    labels: Vec<char>,
}

/// The size of the axes that have a label.
struct Axis {
    known: Option<u64>,
    formula: String,
}

/// The sizes of the axes with these labels, as formulas.
fn sizes_of(sizes: &BTreeMap<char, Axis>, labels: &[char]) -> Vec<String> {
    labels.iter().filter_map(|label| sizes.get(label)).map(|axis| axis.formula.clone()).collect()
}

/// The label of `...` in an equation; no letter sorts before it.
const ELLIPSIS: char = '.';

/// The label of the axis of an ellipsis that is `i` axes before its last one.
fn open_label(i: usize) -> char {
    u32::try_from(i).ok().and_then(|i| char::from_u32(0xE000 + i)).unwrap_or(ELLIPSIS)
}

/// Labels, with those of the `open` axes in place of an ellipsis.
fn expanded(labels: &[char], open: usize) -> Vec<char> {
    let all = |label: &char| if *label == ELLIPSIS { (0..open).rev().map(open_label).collect() } else { vec![*label] };
    labels.iter().flat_map(all).collect()
}

/// The types of the inputs of an equation, each with the labels of its axes, and the labels of the result.
struct Equation {
    inputs: Vec<(Type, Vec<char>)>,
    output: Vec<char>,
}

/// Matches the labels of an equation with the axes of the inputs. `wrong`: the error that says what is wrong with it.
fn equation_of(call: &Call, equation: &str, wrong: &dyn Fn(&str) -> ExprError) -> ExprResult<Equation> {
    if equation.replace("...", "").contains(ELLIPSIS) {
        return Err(wrong("has a dot that is not part of an ellipsis"));
    }
    let marked = equation.replace("...", &ELLIPSIS.to_string());
    let (inputs, output) = marked.split_once("->").map_or((marked.as_str(), None), |(inputs, output)| (inputs, Some(output)));
    let items = call.list(1)?;
    let parts: Vec<Vec<char>> = inputs.split(',').map(|labels| labels.chars().collect()).collect();
    if parts.len() != items.len() {
        return Err(wrong(&format!("is for {} tensors, not {}", parts.len(), items.len())));
    }
    let count = |label: &char| parts.iter().flatten().filter(|other| *other == label).count();
    let output: Vec<char> = match output {
        Some(output) => output.chars().collect(),
        // Each label that occurs once, in alphabetical order.
        None => parts.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().filter(|label| count(label) == 1).collect(),
    };
    let mut inputs = Vec::with_capacity(items.len());
    let mut most_open = 0;
    for (item, labels) in items.iter().zip(&parts) {
        let ty = dense(call, item)?;
        if !labels.iter().all(|label| label.is_ascii_alphabetic() || *label == ELLIPSIS) {
            return Err(wrong("has a label that is not a letter"));
        }
        let named = labels.iter().filter(|label| **label != ELLIPSIS).count();
        let open = ty.rank().checked_sub(named).filter(|open| match labels.len() - named {
            0 => *open == 0,
            n => n == 1,
        });
        let open = open.ok_or_else(|| wrong(&format!("has {named} labels for {ty}")))?;
        most_open = most_open.max(open);
        inputs.push((ty, expanded(labels, open)));
    }
    if most_open > 0 && !output.contains(&ELLIPSIS) {
        return Err(wrong("has axes for `...`, but no `...` in the result").help("einsum(\"...ij->...ji\", x)"));
    }
    Ok(Equation { inputs, output: expanded(&output, most_open) })
}

/// Whether a label is that of an axis of an ellipsis.
fn is_open(label: char) -> bool {
    !label.is_ascii_alphabetic()
}

/// Whether an axis has size 1. Of the axes of an ellipsis, these are broadcast to the others.
fn is_one(ty: &Type, axis: usize) -> bool {
    known_size(ty, axis) == Some(1)
}

/// The sizes of the axes with each label, and the labels of an axis that may have another size than 1.
fn sizes_by_label(inputs: &[(Type, Vec<char>)], wrong: &dyn Fn(&str) -> ExprError) -> ExprResult<(BTreeMap<char, Axis>, BTreeSet<char>)> {
    let places =
        inputs.iter().enumerate().flat_map(|(i, (ty, labels))| labels.iter().enumerate().map(move |(axis, label)| (i, ty, axis, *label)));
    let wide: BTreeSet<char> = places.clone().filter(|(_, ty, axis, _)| !is_one(ty, *axis)).map(|(.., label)| label).collect();
    let mut sizes: BTreeMap<char, Axis> = BTreeMap::new();
    for (i, ty, axis, label) in places.filter(|(_, ty, axis, label)| !is_open(*label) || !is_one(ty, *axis) || !wide.contains(label)) {
        let own = Axis { known: known_size(ty, axis), formula: size(&format!("inputs[{i}]"), ty, axis) };
        let all = match sizes.remove(&label) {
            None => own,
            Some(Axis { known: Some(m), .. }) if own.known.is_some_and(|n| n != m) => {
                let axis = if is_open(label) { "an axis of `...`".to_owned() } else { label.to_string() };
                return Err(wrong(&format!("gives {axis} the sizes {m} and {}", own.formula)));
            }
            Some(other) if other.known.is_some() => other,
            Some(_) if own.known.is_some() => own,
            // A matrix without rows has no columns.
            Some(other) if !is_open(label) => Axis { known: None, formula: format!("maximum({}, {})", other.formula, own.formula) },
            Some(other) => Axis { known: None, formula: format!("where({0} == 1, {1}, {0})", other.formula, own.formula) },
        };
        sizes.insert(label, all);
    }
    Ok((sizes, wide))
}

fn einsum(call: &Call) -> ExprResult<String> {
    let place = call.operand(0)?.span.clone();
    let equation: String = call.string(0)?.unwrap_or_default().split_whitespace().collect();
    let wrong = |why: &str| ExprError::at(place.clone(), format!("einsum: {equation:?} {why}"));
    let Equation { inputs, output } = equation_of(call, &equation, &wrong)?;
    let (sizes, wide) = sizes_by_label(&inputs, &wrong)?;
    let mut operands = Vec::with_capacity(inputs.len());
    for (i, (ty, labels)) in inputs.iter().enumerate() {
        let (ones, kept): (Vec<usize>, Vec<usize>) =
            (0..labels.len()).partition(|axis| is_open(labels[*axis]) && is_one(ty, *axis) && wide.contains(&labels[*axis]));
        let labels: Vec<char> = kept.iter().map(|axis| labels[*axis]).collect();
        let mut formula = format!("inputs[{i}]");
        if !ones.is_empty() {
            formula = format!("squeeze({formula}, {ones:?})");
        }
        // Whether an axis has size 1 may differ from record to record.
        if kept.iter().zip(&labels).any(|(axis, label)| is_open(*label) && known_size(ty, *axis).is_none()) {
            formula = format!("broadcast_to({formula}, [{}])", sizes_of(&sizes, &labels).join(", "));
        }
        operands.push(diagonal(Labelled { formula, labels }, &sizes));
    }
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

/// The diagonals of a tensor over the axes that have the same label.
fn diagonal(x: Labelled, sizes: &BTreeMap<char, Axis>) -> Labelled {
    let mut x = x;
    let twice = |labels: &[char]| (1..labels.len()).find_map(|q| labels[..q].iter().position(|label| *label == labels[q]).map(|p| (p, q)));
    while let Some((p, q)) = twice(&x.labels) {
        let others: Vec<usize> = (0..x.labels.len()).filter(|axis| ![p, q].contains(axis)).collect();
        let n = product(&sizes_of(sizes, &x.labels[p..=p]));
        let perm = [others.as_slice(), &[p, q]].concat();
        let labels: Vec<char> = others.iter().chain([&p]).map(|axis| x.labels[*axis]).collect();
        let outer: String = sizes_of(sizes, &labels[..others.len()]).iter().map(|size| format!("{size}, ")).collect();
        // If the axes differ in size, there are not n * n values.
        let flat = format!("reshape(transpose({}, {perm:?}), [{outer}{n} * {n}])", x.formula);
        x = Labelled { formula: format!("gather({flat}, range({n}) * ({n} + 1), axis={})", others.len()), labels };
    }
    x
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
fn joined(a: Labelled, b: Labelled, sizes: &BTreeMap<char, Axis>, is_needed: &dyn Fn(&char) -> bool) -> Labelled {
    let (own, other) = (a.labels.clone(), b.labels.clone());
    let a = summed(a, &|label| is_needed(label) || other.contains(label));
    let b = summed(b, &|label| is_needed(label) || own.contains(label));
    let common: Vec<char> = a.labels.iter().copied().filter(|label| b.labels.contains(label)).collect();
    let (batch, inner): (Vec<char>, Vec<char>) = common.iter().partition(|label| is_needed(label));
    let free = |x: &Labelled| x.labels.iter().copied().filter(|label| !common.contains(label)).collect::<Vec<_>>();
    let (left, right) = (free(&a), free(&b));
    let size_of = |labels: &[char]| product(&sizes_of(sizes, labels));
    let matrix = |x: &Labelled, groups: [&[char]; 3]| {
        let place = |label: &char| x.labels.iter().position(|own| own == label);
        let perm: Vec<usize> = groups.iter().flat_map(|labels| labels.iter()).filter_map(place).collect();
        let moved = if perm.is_empty() { x.formula.clone() } else { format!("transpose({}, {perm:?})", x.formula) };
        format!("reshape({moved}, [{}])", groups.map(size_of).join(", "))
    };
    let (x, y) = (matrix(&a, [&batch, &left, &inner]), matrix(&b, [&batch, &inner, &right]));
    let labels = [batch, left, right].concat();
    Labelled { formula: format!("reshape({x} @ {y}, [{}])", sizes_of(sizes, &labels).join(", ")), labels }
}
