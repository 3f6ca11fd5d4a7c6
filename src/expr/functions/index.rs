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
use crate::expr::call::{Arg, Call, Function, positive_axis, static_int, strict, strict_node};
use crate::expr::eval::{Args, Node};
use crate::expr::item::{Item, ItemKind};
use crate::expr::kernels::cast::{cast, i64s};
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
    bind: |c| Err(c.problem("internal: a subscript is bound by its keys")),
};

/// An integer of a key: known before the first record, or one per record.
#[derive(Clone, Debug)]
enum Number {
    Known(i64),
    Of(Arg),
}

/// What a key does at its level.
#[derive(Clone, Debug)]
enum Step {
    Item { level: usize, index: Number },
    Slice { level: usize, start: Option<Number>, stop: Option<Number>, step: i64 },
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
                    Some(Number::Known(0)) => return Err(Problem::at(key.span.clone(), "the step of a slice can't be 0")),
                    Some(Number::Known(step)) => step,
                    Some(Number::Of(_)) => {
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
                if let (Size::Known(n), Number::Known(i)) = (dim.size, &index)
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

fn number(call: &mut Call, item: Option<&Item>, ty: &Type) -> Bind<Option<Number>> {
    let Some(item) = item.filter(|item| !item.is_none()) else {
        return Ok(None);
    };
    if let Some(n) = static_int(item) {
        return Ok(Some(Number::Known(n)));
    }
    let ItemKind::Tensor(node) = &item.kind else {
        return Err(wrong_key(item, ty));
    };
    if node.ty.rank() != 0 || !node.ty.dtype().is_some_and(DType::is_integer) {
        return Err(wrong_key(item, ty));
    }
    Ok(Some(Number::Of(call.push(strict(node.clone())?))))
}

fn static_slice(start: &Option<Number>, stop: &Option<Number>, step: i64) -> Option<Slice> {
    let known = |n: &Option<Number>| match n {
        None => Some(None),
        Some(Number::Known(n)) => Some(Some(*n)),
        Some(Number::Of(_)) => None,
    };
    Some(Slice { start: known(start)?, stop: known(stop)?, step })
}

/// One number for each row of level `level`.
struct Resolved {
    known: Option<i64>,
    values: Vec<i64>,
}

impl Resolved {
    fn new(number: Option<&Number>, args: &Args, owners: &RowPartition) -> Result<Resolved> {
        Ok(match number {
            None => Resolved { known: None, values: Vec::new() },
            Some(Number::Known(n)) => Resolved { known: Some(*n), values: Vec::new() },
            Some(Number::Of(arg)) => {
                let tensor = arg.of(args)?;
                let cast = cast(tensor.as_leaf()?, &DType::Int64)?;
                let per_record = i64s(&cast)?;
                let mut values = Vec::with_capacity(owners.nvals());
                for (record, value) in per_record.iter().enumerate().take(owners.nrows()) {
                    values.extend(std::iter::repeat_n(*value, owners.row_length(record)));
                }
                Resolved { known: None, values }
            }
        })
    }

    fn at(&self, row: usize) -> Option<i64> {
        self.known.or_else(|| self.values.get(row).copied())
    }
}

impl Step {
    fn run(&self, tensor: Tensor, args: &Args) -> Result<Tensor> {
        match self {
            Step::NewAxis { level } => {
                tensor.map_below(*level, &mut |t| Tensor::list(RowPartition::uniform(1, t.nrows())?, t.clone(), None))
            }
            Step::Field { level, position } => tensor.map_below(*level, &mut |t| {
                t.as_struct()?.fields().get(*position).cloned().ok_or_else(|| Error::data("internal: no such field"))
            }),
            Step::Item { level, index } => {
                let owners = merged(&tensor, 0, *level)?;
                let index = Resolved::new(Some(index), args, &owners)?;
                tensor.map_below(*level, &mut |t| {
                    let list = t.as_list()?;
                    slice::items(list.partition(), list.values(), |row| index.at(row).unwrap_or(0))
                        .map_err(|(row, e)| e.at_row(record_of(&tensor, *level, row)))
                })
            }
            Step::Slice { level, start, stop, step } => {
                let owners = merged(&tensor, 0, *level)?;
                let (start, stop) = (Resolved::new(start.as_ref(), args, &owners)?, Resolved::new(stop.as_ref(), args, &owners)?);
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
        _ => Err(Problem::at(whole.span.clone(), "internal: stack gives a tensor")),
    }
}
