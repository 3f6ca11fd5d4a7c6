//! Subscripts: ints, slices, `...`, None and field names.
//!
//! ```text
//! x            [[1 2 3] [] [4 5]]
//! x[0]         [1 2 3]
//! x[:, :1]     [[1] [] [4]]
//! x[:, 0]      rejected: some row might be empty
//! ```
//!
//! Semantics: `tf.RaggedTensor.__getitem__`, `StructuredTensor.__getitem__`. An int can index an axis only
//! if it is uniform at that point; the outermost remaining axis always is.

use super::binding::Call;
use super::coerce::{moved_node, strict_node};
use super::integer::{Integer, Integers};
use super::known::{positive_axis, static_int};
use crate::error::{Error, Result, mismatch};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::{Args, Node};
use crate::expr::fields::{field_of, unknown_in};
use crate::expr::kernels::level::{expand, merged, record_of};
use crate::expr::kernels::slice::{self, Slice};
use crate::expr::operand::{Operand, OperandKind};
use crate::expr::span::Span;
use crate::expr::types::below_structure;
use crate::printable::{counted, counted_axes};
use crate::schema::{DType, Dim, Element, Literal, Size, Type};
use crate::tensor::{List, RowPartition, Tensor};
use std::sync::Arc;

/// The effect of a key at its level; `item` is the type of the items that an index takes.
#[derive(Clone, Debug)]
enum Key {
    Index { level: usize, index: Integer, item: Type },
    Slice { level: usize, bounds: Bounds },
    NewAxis { level: usize },
    Field { level: usize, position: usize },
}

/// Resolves the names of fields among the first keys: `u["a"]` is `u.a`. Returns what remains to be indexed, and the rest
/// of the keys.
pub fn named_fields(mut of: Operand, keys: &[Operand]) -> (Operand, &[Operand]) {
    let mut rest = keys;
    while let Some((key, after)) = rest.split_first()
        && let Some(name) = field_name(key)
        && let Some(node) = of.node()
        && (node.ty.rank() == 0 || rest.iter().all(|key| field_name(key).is_some()))
        && let Some(field) = field_of(node, &name)
    {
        of.kind = OperandKind::Tensor(field);
        rest = after;
    }
    (of, rest)
}

/// Binds `of[keys]`.
///
/// # Errors
/// Keys that do not fit the type, or an index into a ragged axis.
pub fn subscript(of: &Operand, keys: &[Operand], text: &Arc<str>, span: &Span) -> ExprResult<OperandKind> {
    if let (OperandKind::Results(_) | OperandKind::List(_) | OperandKind::Tuple(_) | OperandKind::Shape(_), Some(items)) =
        (&of.kind, of.elements())
        && (!of.is_literal()
            || items.is_empty()
            || matches!(of.kind, OperandKind::Shape(_))
            || (matches!(of.kind, OperandKind::Tuple(_)) && keys.len() == 1)
            || matches!(keys, [key] if is_known(key)))
    {
        return element(of, &items, keys);
    }
    // A key that names a field takes values out of the structures.
    let node = if keys.iter().any(|key| field_name(key).is_some()) { strict_node(of)? } else { moved_node(of)? };
    if node.ty.is_sparse() {
        return Err(
            ExprError::at(span.clone(), "a sparse tensor cannot be indexed").help("sparse.slice(x, start, size), sparse.to_dense(x)[...]")
        );
    }
    let mut call = Call::operator("a subscript", span.clone(), text.clone());
    let mut keys: Vec<Operand> = keys.to_vec();
    expand_ellipsis(&mut keys, &node.ty);
    let mut axes = Axes::of(Type { optional: false, ..node.ty.clone() });
    let x = call.carry(node);
    // Slices and items of null lists are null.
    call.moves_below(&x, 0);
    if keys.first().is_some_and(|key| !key.is_none() && !matches!(key.kind, OperandKind::Slice(_)) && field_name(key).is_none()) {
        call.takes_items();
    }
    for (i, key) in keys.iter().enumerate() {
        if key.is_none() {
            axes.insert();
        } else if let Some(name) = field_name(key) {
            if i == 0 && keys.iter().all(|key| field_name(key).is_some()) {
                axes.keep_all();
            }
            axes.enter(key, &name)?;
        } else if i == 0 && axes.is_single_structure() && is_full_slice(key) {
            // TensorFlow treats `st[:]` of a single structure as the structure itself.
        } else {
            let dim = axes.take(key)?;
            match &key.kind {
                OperandKind::Slice(parts) => axes.slice(dim, key, parts, &mut call)?,
                _ => axes.index(dim, key, &mut call)?,
            }
        }
    }
    let (result, bound) = axes.finish();
    call.one(result, move |args| bound.iter().try_fold(x.of(args)?.into_owned(), |tensor, key| key.apply(tensor, args)))
}

/// The axes of a tensor while keys are applied to them, from the first to the last.
struct Axes {
    /// The type of the items, without the axes in `rest`.
    item: Type,
    /// The axes without a key so far, last one first.
    rest: Vec<Dim>,
    /// Their number before the first key.
    naxes: usize,
    /// The axes of the result.
    kept: Vec<Dim>,
    bound: Vec<Key>,
    /// Whether the next axis of the tensor is its first one; new axes do not count.
    leading: bool,
}

impl Axes {
    fn of(mut ty: Type) -> Axes {
        let mut rest = std::mem::take(&mut ty.dims);
        rest.reverse();
        let naxes = rest.len();
        Axes { item: ty, rest, naxes, kept: Vec::new(), bound: Vec::new(), leading: true }
    }

    fn is_single_structure(&self) -> bool {
        self.rest.is_empty() && self.kept.is_empty() && self.item.fields().is_some()
    }

    /// Inserts an axis of size 1.
    fn insert(&mut self) {
        self.bound.push(Key::NewAxis { level: self.kept.len() });
        self.kept.push(Dim::known(1));
    }

    /// Keeps all axes.
    fn keep_all(&mut self) {
        self.leading &= self.rest.is_empty();
        while let Some(dim) = self.rest.pop() {
            self.kept.push(dim);
        }
    }

    /// Continues with the axes of a field of the structures.
    fn enter(&mut self, key: &Operand, name: &str) -> ExprResult<()> {
        let Element::Struct(fields) = &self.item.element else {
            return Err(wrong_key(key, &self.item));
        };
        if !self.rest.is_empty() {
            let axes = counted_axes(self.kept.len() + self.rest.len());
            return Err(ExprError::at(key.span.clone(), format!("a field name comes after the {axes} of the structure")));
        }
        let position = fields.iter().position(|f| f.name == name);
        let position = position.ok_or_else(|| unknown_in(fields, name, "the structure").or_at(key.span.clone()))?;
        self.bound.push(Key::Field { level: self.kept.len(), position });
        let field = fields[position].ty.clone();
        self.rest = below_structure(&field.dims, !self.kept.is_empty());
        self.rest.reverse();
        self.naxes = self.kept.len() + self.rest.len();
        self.item.element = field.element;
        Ok(())
    }

    /// The next axis.
    fn take(&mut self, key: &Operand) -> ExprResult<Dim> {
        self.rest.pop().ok_or_else(|| {
            if matches!(self.item.dtype(), Some(DType::String | DType::Bytes)) {
                let error = ExprError::at(key.span.clone(), "strings cannot be indexed");
                return error.help("for a substring of each string: strings.substr(x, pos, len)");
            }
            let found = match self.naxes {
                0 => format!("a scalar ({})", self.item),
                naxes => format!("a tensor with {}", counted_axes(naxes)),
            };
            ExprError::at(key.span.clone(), format!("too many indices for {found}"))
        })
    }

    fn slice(&mut self, dim: Dim, key: &Operand, parts: &[Option<Operand>; 3], call: &mut Call) -> ExprResult<()> {
        self.leading = false;
        let [start, stop, step] = parts.each_ref().map(|part| number(call, part.as_ref(), &self.item));
        let bounds = Bounds { start: start?, stop: stop?, step: step? };
        if bounds.step.as_ref().and_then(Integer::known) == Some(0) {
            return Err(ExprError::at(key.span.clone(), ZERO_STEP));
        }
        let fixed = bounds.fixed();
        if fixed == Some(Slice { start: None, stop: None, step: 1 }) {
            self.kept.push(dim);
            return Ok(());
        }
        let size = match (dim.size, fixed) {
            (Size::Known(n), Some(s)) => Size::Known(s.of_row(usize::try_from(n).unwrap_or(usize::MAX)).1 as u64),
            (Size::Known(_), None) => Size::Uniform,
            (other, _) => other,
        };
        self.bound.push(Key::Slice { level: self.kept.len(), bounds });
        self.kept.push(Dim { size, label: None });
        Ok(())
    }

    fn index(&mut self, dim: Dim, key: &Operand, call: &mut Call) -> ExprResult<()> {
        let index = number(call, Some(key), &self.item)?.ok_or_else(|| wrong_key(key, &self.item))?;
        if dim.size == Size::Ragged && !self.leading {
            let message = "cannot index into a ragged axis: the rows differ in length, and some may not have that item";
            return Err(ExprError::at(key.span.clone(), message)
                .help("use a slice, which allows short rows: x[:, :1] or x[:, -1:]; or pad first: x.to_tensor()[:, 0]"));
        }
        if let (Size::Known(n), Integer::Known(i)) = (dim.size, &index)
            && (*i >= n as i64 || *i < -(n as i64))
        {
            return Err(ExprError::at(key.span.clone(), format!("index {i} is out of range for {}", counted(n, "item"))));
        }
        if let Some(next) = self.rest.last_mut().filter(|next| self.leading && next.size == Size::Ragged) {
            *next = Dim::UNIFORM;
        }
        let item = Type { dims: self.rest.iter().rev().cloned().collect(), ..self.item.clone() };
        self.bound.push(Key::Index { level: self.kept.len(), index, item });
        Ok(())
    }

    /// The type of the result, and the keys.
    fn finish(mut self) -> (Type, Vec<Key>) {
        self.rest.reverse();
        self.kept.extend(self.rest);
        (Type { dims: self.kept, ..self.item }, self.bound)
    }
}

/// An item or a slice of a list.
fn element(of: &Operand, items: &[Operand], keys: &[Operand]) -> ExprResult<OperandKind> {
    let [key] = keys else {
        return Err(ExprError::at(of.span.clone(), "a list has only one axis"));
    };
    if let OperandKind::Slice(parts) = &key.kind {
        let part = |i: usize| {
            parts[i].as_ref().map(|p| static_int(p).ok_or_else(|| ExprError::at(p.span.clone(), "expected an integer"))).transpose()
        };
        let step = part(2)?.unwrap_or(1);
        if step == 0 {
            return Err(ExprError::at(key.span.clone(), ZERO_STEP));
        }
        let (first, count) = Slice { start: part(0)?, stop: part(1)?, step }.of_row(items.len());
        let chosen = (0..count).filter_map(|i| items.get((first as i64 + i as i64 * step) as usize).cloned()).collect();
        return Ok(OperandKind::List(chosen));
    }
    let index = static_int(key).ok_or_else(|| ExprError::at(key.span.clone(), mismatch("an integer", key.describe())))?;
    positive_axis(index, items.len()).and_then(|i| items.get(i)).map(|item| item.kind.clone()).ok_or_else(|| {
        ExprError::at(key.span.clone(), format!("index {index} is out of range for {}", counted(items.len() as u64, "item")))
    })
}

fn field_name(key: &Operand) -> Option<String> {
    match &key.kind {
        OperandKind::Literal(Literal::String(name)) => Some(name.clone()),
        _ => None,
    }
}

/// Whether a key is an integer or a slice known before the first record.
fn is_known(key: &Operand) -> bool {
    match &key.kind {
        OperandKind::Slice(parts) => parts.iter().flatten().all(|part| static_int(part).is_some()),
        _ => static_int(key).is_some(),
    }
}

fn is_full_slice(key: &Operand) -> bool {
    matches!(&key.kind, OperandKind::Slice(parts) if parts.iter().all(Option::is_none))
}

fn wrong_key(key: &Operand, ty: &Type) -> ExprError {
    let names = if ty.fields().is_some() { ", None or a field name" } else { " or None" };
    let error = ExprError::at(key.span.clone(), mismatch(format_args!("an integer, a slice, `...`{names}"), key.describe()));
    match &key.kind {
        OperandKind::Tensor(node) if node.ty.dtype() == Some(&DType::Bool) => {
            error.help("to select items with a mask: ragged.boolean_mask(x, mask)")
        }
        OperandKind::Tensor(_) | OperandKind::List(_) => error.help("to select several items: gather(x, indices)"),
        _ => error,
    }
}

/// Expands `...`: the first one to the `:` that are missing if all others stand for one `:` each, as in ragged tensors.
fn expand_ellipsis(keys: &mut Vec<Operand>, ty: &Type) {
    let is_ellipsis = |k: &Operand| matches!(k.kind, OperandKind::Ellipsis);
    // The axes that the keys between two field names apply to: those of the structures, then those of a field.
    let (mut rank, mut element, mut first) = (ty.rank(), &ty.element, 0);
    loop {
        let end = |keys: &[Operand]| keys[first..].iter().position(|k| field_name(k).is_some()).map_or(keys.len(), |i| first + i);
        let own = first..end(keys);
        if let Some(at) = own.clone().find(|i| is_ellipsis(&keys[*i])) {
            let consuming = keys[own.clone()].iter().filter(|k| !k.is_none()).count();
            for key in keys[own].iter_mut().filter(|k| is_ellipsis(k)) {
                key.kind = OperandKind::Slice(Box::new([None, None, None]));
            }
            let all = keys[at].clone();
            keys.splice(at..=at, std::iter::repeat_n(all, (rank + 1).saturating_sub(consuming)));
        }
        let i = end(keys);
        let Some((Some(name), Element::Struct(fields))) = keys.get(i).map(|key| (field_name(key), element)) else { return };
        let Some(field) = fields.iter().find(|f| f.name == name) else { return };
        // A field that is named before all axes of the structures are used up also has the remaining ones.
        let used = keys[first..i].iter().filter(|k| !k.is_none()).count();
        rank = field.ty.rank() + rank.saturating_sub(used);
        element = &field.ty.element;
        first = i + 1;
    }
}

fn number(call: &mut Call, item: Option<&Operand>, ty: &Type) -> ExprResult<Option<Integer>> {
    let Some(item) = item.filter(|item| !item.is_none()) else {
        return Ok(None);
    };
    let scalar = |node: &Node| node.ty.rank() == 0 && node.ty.dtype().is_some_and(DType::is_integer);
    if static_int(item).is_none() && !item.node().is_some_and(scalar) {
        return Err(wrong_key(item, ty));
    }
    call.integer_of(item).map(Some)
}

const ZERO_STEP: &str = "the step of a slice cannot be 0";

/// The bounds and the step of a slice.
#[derive(Clone, Debug)]
struct Bounds {
    start: Option<Integer>,
    stop: Option<Integer>,
    step: Option<Integer>,
}

impl Bounds {
    /// The slice, if it is the same for all records.
    fn fixed(&self) -> Option<Slice> {
        let known = |n: &Option<Integer>| n.as_ref().map_or(Some(None), |n| n.known().map(Some));
        Some(Slice { start: known(&self.start)?, stop: known(&self.stop)?, step: known(&self.step)?.unwrap_or(1) })
    }

    /// The slice of each record. O(records).
    fn of(&self, args: &Args) -> Result<Vec<Slice>> {
        let numbers = |n: &Option<Integer>| n.as_ref().map(|n| n.of(args)).transpose();
        let (start, stop, step) = (numbers(&self.start)?, numbers(&self.stop)?, numbers(&self.step)?);
        let at = |numbers: &Option<Integers>, record: usize| numbers.as_ref().map(|n| n.at(record));
        (0..args.nrows)
            .map(|record| match at(&step, record).unwrap_or(1) {
                0 => Err(Error::data(ZERO_STEP).at_row(record)),
                step => Ok(Slice { start: at(&start, record), stop: at(&stop, record), step }),
            })
            .collect()
    }
}

/// The record of each row of a level.
fn records_of(owners: &RowPartition) -> Vec<usize> {
    let mut records = Vec::with_capacity(owners.nvals());
    (0..owners.nrows()).for_each(|record| records.resize(owners.start(record + 1), record));
    records
}

/// The item at `of_row` in each row; null, of type `item`, where the row is. An error has the row.
fn items(list: &List, item: &Type, of_row: &dyn Fn(usize) -> i64) -> Result<Tensor, (usize, Error)> {
    let Some(valid) = list.validity() else { return slice::items(list.partition(), list.values(), of_row) };
    let rows: Vec<usize> = valid.valid_indices().collect();
    let shown = Tensor::List(list.clone()).gather(&rows).map_err(|e| (0, e))?;
    let shown = shown.as_list().map_err(|e| (0, e))?;
    let items = slice::items(shown.partition(), shown.values(), |row| of_row(rows[row])).map_err(|(row, e)| (rows[row], e))?;
    items.spread(valid, item).map_err(|e| (0, e))
}

impl Key {
    fn apply(&self, tensor: Tensor, args: &Args) -> Result<Tensor> {
        match self {
            Key::NewAxis { level } => expand(&tensor, *level),
            Key::Field { level, position } => tensor.map_below(*level, &mut |t| {
                t.as_struct()?.fields().get(*position).cloned().ok_or_else(|| Error::internal("no such field"))
            }),
            Key::Index { level, index, item } => {
                let records = if index.known().is_some() { Vec::new() } else { records_of(&merged(&tensor, 0, *level)?) };
                let index = index.of(args)?;
                let of_row = |row: usize| index.at(records.get(row).copied().unwrap_or(0));
                let out = tensor.map_below(*level, &mut |t| {
                    items(t.as_list()?, item, &of_row).map_err(|(row, e)| e.at_row(record_of(&tensor, *level, row)))
                })?;
                out.with_axis_removed(&tensor, *level)
            }
            Key::Slice { level, bounds } => {
                if let Some(slice) = bounds.fixed() {
                    let out = tensor.map_below(*level, &mut |t| {
                        slice::cut(t.as_list()?, |partition, values| slice::each_row(partition, values, slice))
                    })?;
                    return out.with_sizes_cut(&tensor, *level, &|_, size| slice.of_row(size).1);
                }
                let (slices, records) = (bounds.of(args)?, records_of(&merged(&tensor, 0, *level)?));
                let of_record = |record: usize| slices.get(record).copied().unwrap_or(Slice { start: None, stop: Some(0), step: 1 });
                let out = tensor.map_below(*level, &mut |t| {
                    let of_row = |row: usize| of_record(records.get(row).copied().unwrap_or(0));
                    slice::cut(t.as_list()?, |partition, values| slice::rows(partition, values, of_row))
                })?;
                out.with_sizes_cut(&tensor, *level, &|record, size| of_record(record).of_row(size).1)
            }
        }
    }
}
