//! Subscripts: ints, slices, `...`, None and field names.
//!
//! ```text
//! x            [[1 2 3] [] [4 5]]
//! x[0]         [1 2 3]
//! x[:, :1]     [[1] [] [4]]
//! x[:, 0]      refused: some row might be empty
//! ```
//!
//! Source of the meaning: `tf.RaggedTensor.__getitem__`, `StructuredTensor.__getitem__`. An int may
//! index an axis that is uniform at that point, which the outermost one that is left always is.

use crate::error::{Error, Result};
use crate::expr::bind::unknown_in;
use crate::expr::call::{Call, Function, Integer, Integers, positive_axis, static_int, strict_node};
use crate::expr::eval::{Args, Node};
use crate::expr::item::{Item, ItemKind};
use crate::expr::kernels::level::{merged, record_of};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::problem::{Bind, Problem};
use crate::expr::syntax::Span;
use crate::schema::{DType, Dim, Element, Literal, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use std::sync::Arc;

/// The subscript as a function, so that it is bound and evaluated as one.
static SUBSCRIPT: Function = Function {
    names: &["a subscript"],
    signature: "x",
    summary: "",
    examples: &[],
    bind: |c| Err(c.internal("a subscript is bound by its keys")),
};

/// What a key does at its level.
#[derive(Clone, Debug)]
enum Step {
    Item { level: usize, index: Integer },
    Slice { level: usize, start: Option<Integer>, stop: Option<Integer>, step: i64 },
    NewAxis { level: usize },
    Field { level: usize, position: usize },
}

/// `of[keys]`.
///
/// # Errors
/// Keys that do not fit the type; an index into a ragged axis.
pub fn subscript(of: &Item, keys: &[Item], text: &Arc<str>, span: &Span) -> Bind<ItemKind> {
    if let (ItemKind::Results(_) | ItemKind::List(_) | ItemKind::Tuple(_), Some(items)) = (&of.kind, of.elements())
        && (!of.is_literal() || items.is_empty())
    {
        return element(of, &items, keys);
    }
    let node = strict_node(of)?;
    if node.ty.is_sparse() {
        return Err(
            Problem::at(span.clone(), "a sparse tensor has no subscripts").help("sparse.slice(x, start, size), sparse.to_dense(x)[...]")
        );
    }
    let mut call = Call::new(&SUBSCRIPT, "a subscript", span.clone(), text.clone(), vec![of.clone()], Vec::new())?;
    let mut ty = node.ty.clone();
    let x = call.push(node);
    let mut keys: Vec<Item> = keys.to_vec();
    expand_ellipsis(&mut keys, &ty);
    let mut steps = Vec::new();
    let mut kept: Vec<Dim> = Vec::new();
    // Whether an axis of the tensor itself stays in front; new axes do not count.
    let mut leading = true;
    let mut rest: Vec<Dim> = std::mem::take(&mut ty.dims);
    rest.reverse();
    for (i, key) in keys.iter().enumerate() {
        let level = kept.len();
        if key.is_none() {
            steps.push(Step::NewAxis { level });
            kept.push(Dim::known(1));
            continue;
        }
        if let Some(name) = field_name(key) {
            if i == 0 && !rest.is_empty() && keys[i + 1..].iter().all(|k| field_name(k).is_some()) {
                leading &= rest.is_empty();
                while let Some(dim) = rest.pop() {
                    kept.push(dim);
                }
            }
            let Element::Struct(fields) = &ty.element else {
                return Err(wrong_key(key, &ty));
            };
            if !rest.is_empty() {
                return Err(Problem::at(
                    key.span.clone(),
                    format!("a field name comes after the {} axes of the structure", kept.len() + rest.len()),
                ));
            }
            let position = fields
                .iter()
                .position(|f| f.name == name)
                .ok_or_else(|| unknown_in(fields, &name, "the structure").or_at(key.span.clone()))?;
            steps.push(Step::Field { level: kept.len(), position });
            let field = fields[position].ty.clone();
            rest = below_structure(&field.dims, !kept.is_empty());
            rest.reverse();
            ty.element = field.element;
            continue;
        }
        let Some(dim) = rest.pop() else {
            return Err(Problem::at(key.span.clone(), "one key too many: no axis is left for it"));
        };
        match &key.kind {
            ItemKind::Slice(parts) => {
                leading = false;
                let (start, stop) = (number(&mut call, parts[0].as_ref(), &ty)?, number(&mut call, parts[1].as_ref(), &ty)?);
                let step = match number(&mut call, parts[2].as_ref(), &ty)? {
                    None => 1,
                    Some(Integer::Known(0)) => return Err(Problem::at(key.span.clone(), "the step of a slice can't be 0")),
                    Some(Integer::Known(step)) => step,
                    Some(Integer::Of(_)) => {
                        return Err(Problem::at(key.span.clone(), "the step of a slice is known before the first record"));
                    }
                };
                if start.is_none() && stop.is_none() && step == 1 {
                    kept.push(dim);
                    continue;
                }
                let size = match (dim.size, static_slice(&start, &stop, step)) {
                    (Size::Known(n), Some(s)) => Size::Known(s.of_row(usize::try_from(n).unwrap_or(usize::MAX)).1 as u64),
                    (Size::Known(_), None) => Size::Uniform,
                    (other, _) => other,
                };
                kept.push(Dim { size, label: None });
                steps.push(Step::Slice { level, start, stop, step });
            }
            _ => {
                let index = match number(&mut call, Some(key), &ty)? {
                    Some(index) => index,
                    None => return Err(wrong_key(key, &ty)),
                };
                if dim.size == Size::Ragged && !leading {
                    return Err(Problem::at(
                        key.span.clone(),
                        "an index into a ragged axis: the rows differ in length, and some may lack that item",
                    )
                    .help("a slice takes what is there: x[:, :1], x[:, -1:]; x.to_tensor()[:, 0] pads first"));
                }
                if let (Size::Known(n), Integer::Known(i)) = (dim.size, &index)
                    && (*i >= n as i64 || *i < -(n as i64))
                {
                    return Err(Problem::at(key.span.clone(), format!("index {i} is out of range of {n} items")));
                }
                if leading
                    && let Some(next) = rest.last_mut()
                    && next.size == Size::Ragged
                {
                    *next = Dim::UNIFORM;
                }
                steps.push(Step::Item { level, index });
            }
        }
    }
    rest.reverse();
    kept.extend(rest);
    let result = Type { element: ty.element, dims: kept, optional: false, with_nulls: false };
    call.one(result, move |args| steps.iter().try_fold(x.of(args)?.into_owned(), |tensor, step| step.run(tensor, args)))
}

/// The axes of a field counted below the axes of its structures: what is one size in each structure differs between them.
pub fn below_structure(dims: &[Dim], inner: bool) -> Vec<Dim> {
    dims.iter().map(|d| if inner && d.size == Size::Uniform { Dim::RAGGED } else { d.clone() }).collect()
}

/// An item of a list, or a slice of it.
fn element(of: &Item, items: &[Item], keys: &[Item]) -> Bind<ItemKind> {
    let [key] = keys else {
        return Err(Problem::at(of.span.clone(), "a list has one axis"));
    };
    if let ItemKind::Slice(parts) = &key.kind {
        let part = |i: usize| {
            parts[i].as_ref().map(|p| static_int(p).ok_or_else(|| Problem::at(p.span.clone(), "expected an integer"))).transpose()
        };
        let step = part(2)?.unwrap_or(1);
        if step == 0 {
            return Err(Problem::at(key.span.clone(), "the step of a slice can't be 0"));
        }
        let (first, count) = Slice { start: part(0)?, stop: part(1)?, step }.of_row(items.len());
        let chosen = (0..count).filter_map(|i| items.get((first as i64 + i as i64 * step) as usize).cloned()).collect();
        return Ok(ItemKind::List(chosen));
    }
    let index = static_int(key).ok_or_else(|| Problem::at(key.span.clone(), format!("expected an integer, found {}", key.describe())))?;
    positive_axis(index, items.len())
        .and_then(|i| items.get(i))
        .map(|item| item.kind.clone())
        .ok_or_else(|| Problem::at(key.span.clone(), format!("index {index} is out of range of {} items", items.len())))
}

fn field_name(key: &Item) -> Option<String> {
    match &key.kind {
        ItemKind::Literal(Literal::String(name)) => Some(name.clone()),
        _ => None,
    }
}

fn wrong_key(key: &Item, ty: &Type) -> Problem {
    let names = if ty.fields().is_some() { ", None or a field name" } else { " or None" };
    let problem = Problem::at(key.span.clone(), format!("expected an integer, a slice, `...`{names}, found {}", key.describe()));
    match &key.kind {
        ItemKind::Tensor(node) if node.ty.dtype() == Some(&DType::Bool) => {
            problem.help("ragged.boolean_mask(x, mask) keeps what a mask says")
        }
        ItemKind::Tensor(_) | ItemKind::List(_) => problem.help("gather(x, indices) takes several items"),
        _ => problem,
    }
}

/// `...` stands for as many `:` as are missing; a second one for none.
fn expand_ellipsis(keys: &mut Vec<Item>, ty: &Type) {
    let is_ellipsis = |k: &Item| matches!(k.kind, ItemKind::Ellipsis);
    let Some(at) = keys.iter().position(is_ellipsis) else {
        return;
    };
    // The axes of a field that is named by the keys count as well.
    let mut rank = ty.rank();
    let mut element = &ty.element;
    for key in keys.iter() {
        if let (Some(name), Element::Struct(fields)) = (field_name(key), element)
            && let Some(field) = fields.iter().find(|f| f.name == name)
        {
            rank += field.ty.rank();
            element = &field.ty.element;
        }
    }
    let consuming = keys.iter().filter(|k| !is_ellipsis(k) && !k.is_none() && field_name(k).is_none()).count();
    let span = keys[at].span.clone();
    let all = Item { kind: ItemKind::Slice(Box::new([None, None, None])), span };
    let missing = rank.saturating_sub(consuming);
    keys.splice(at..=at, std::iter::repeat_n(all, missing));
    keys.retain(|k| !is_ellipsis(k));
}

fn number(call: &mut Call, item: Option<&Item>, ty: &Type) -> Bind<Option<Integer>> {
    let Some(item) = item.filter(|item| !item.is_none()) else {
        return Ok(None);
    };
    let scalar = |node: &Node| node.ty.rank() == 0 && node.ty.dtype().is_some_and(DType::is_integer);
    if static_int(item).is_none() && !item.node().is_some_and(scalar) {
        return Err(wrong_key(item, ty));
    }
    call.integer_of(item).map(Some)
}

fn static_slice(start: &Option<Integer>, stop: &Option<Integer>, step: i64) -> Option<Slice> {
    let known = |n: &Option<Integer>| n.as_ref().map_or(Some(None), |n| n.known().map(Some));
    Some(Slice { start: known(start)?, stop: known(stop)?, step })
}

/// The numbers of a key at the rows of its level.
struct AtRows {
    numbers: Option<Integers>,
    /// The record of each row, where the records have numbers of their own.
    records: Vec<usize>,
}

impl AtRows {
    fn new(number: Option<&Integer>, args: &Args, owners: &RowPartition) -> Result<AtRows> {
        let mut records = Vec::new();
        if let Some(Integer::Of(_)) = number {
            records.reserve(owners.nvals());
            (0..owners.nrows()).for_each(|record| records.resize(owners.start(record + 1), record));
        }
        Ok(AtRows { numbers: number.map(|n| n.of(args)).transpose()?, records })
    }

    fn at(&self, row: usize) -> Option<i64> {
        self.numbers.as_ref().map(|n| n.at(self.records.get(row).copied().unwrap_or(0)))
    }
}

impl Step {
    fn run(&self, tensor: Tensor, args: &Args) -> Result<Tensor> {
        match self {
            Step::NewAxis { level } => {
                tensor.map_below(*level, &mut |t| Tensor::list(RowPartition::uniform(1, t.nrows())?, t.clone(), None))
            }
            Step::Field { level, position } => tensor.map_below(*level, &mut |t| {
                t.as_struct()?.fields().get(*position).cloned().ok_or_else(|| Error::internal("no such field"))
            }),
            Step::Item { level, index } => {
                let owners = merged(&tensor, 0, *level)?;
                let index = AtRows::new(Some(index), args, &owners)?;
                tensor.map_below(*level, &mut |t| {
                    let list = t.as_list()?;
                    slice::items(list.partition(), list.values(), |row| index.at(row).unwrap_or(0))
                        .map_err(|(row, e)| e.at_row(record_of(&tensor, *level, row)))
                })
            }
            Step::Slice { level, start, stop, step } => {
                if let Some(slice) = static_slice(start, stop, *step) {
                    return tensor.map_below(*level, &mut |t| {
                        let list = t.as_list()?;
                        let (partition, values) = slice::each_row(list.partition(), list.values(), slice)?;
                        Tensor::list(partition, values, None)
                    });
                }
                let owners = merged(&tensor, 0, *level)?;
                let (start, stop) = (AtRows::new(start.as_ref(), args, &owners)?, AtRows::new(stop.as_ref(), args, &owners)?);
                tensor.map_below(*level, &mut |t| {
                    let list = t.as_list()?;
                    let (partition, values) = slice::rows(list.partition(), list.values(), |row| Slice {
                        start: start.at(row),
                        stop: stop.at(row),
                        step: *step,
                    })?;
                    Tensor::list(partition, values, None)
                })
            }
        }
    }
}

/// A list of tensors where a tensor is wanted: they are stacked.
///
/// # Errors
/// As `stack`.
pub fn pack_items(whole: &Item, items: &[Item]) -> Bind<Node> {
    let Some(stack) = super::find("stack") else {
        return Err(Problem::at(whole.span.clone(), "expected a tensor, found a list of tensors"));
    };
    let list = Item { kind: ItemKind::List(items.to_vec()), span: whole.span.clone() };
    let mut call = Call::new(stack, "stack", whole.span.clone(), "".into(), vec![list], Vec::new())?;
    match (stack.bind)(&mut call)? {
        ItemKind::Tensor(node) => Ok(node),
        _ => Err(Problem::internal("stack gives a tensor").or_at(whole.span.clone())),
    }
}
