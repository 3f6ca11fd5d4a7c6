//! Evaluation of a bound tree over the rows of a chunk.
//!
//! Every value is either a tensor with one row per record or a constant, with one row for all records. Calls get whole
//! columns; nothing is dispatched per record.

use super::error::text_at;
use super::nulls::{NullPlace, UNNAMED, first_null_list, null_error};
use super::span::{Span, underlined};
use crate::error::{Error, Result};
use crate::schema::facts::Storage;
use crate::schema::{DType, Type};
use crate::tensor::limits::check_nbytes;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{BooleanArray, UInt64Array};
use arrow_buffer::NullBuffer;
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// A value for all records of the chunk.
#[derive(Clone, Debug)]
pub struct Value {
    /// One row per record, or a single row if it is a constant.
    pub tensor: Tensor,
    /// Whether the value is the same for all records.
    pub constant: bool,
}

/// The values of names while the statements run: the columns of the record, then the assigned values.
#[derive(Clone, Debug)]
pub struct Frame {
    pub nrows: usize,
    pub slots: Vec<Option<Value>>,
    /// The record keys from which random numbers are drawn, if needed.
    pub keys: Option<Value>,
    /// The parameters of functions that are applied to the items of a tensor.
    pub params: Vec<(Param, Value)>,
    /// The most bytes that the results of a call took, if they are measured.
    pub most_nbytes: Option<Rc<Cell<usize>>>,
}

impl Frame {
    /// A frame of some rows, each as often as it is listed, with only these slots.
    pub(super) fn gathered(&self, rows: &[usize], used: &[usize], keys: Option<Value>) -> Result<Frame> {
        let mut slots = vec![None; self.slots.len()];
        for slot in used {
            slots[*slot] = self.slots.get(*slot).and_then(Option::as_ref).map(|v| v.gather(rows)).transpose()?;
        }
        let params = self.params.iter().map(|(p, v)| Ok((p.clone(), v.gather(rows)?))).collect::<Result<_>>()?;
        Ok(Frame { nrows: rows.len(), slots, keys, params, most_nbytes: self.most_nbytes.clone() })
    }
}

/// A parameter of a function applied to the items of a tensor. Parameters are compared by identity.
#[derive(Clone, Debug)]
pub struct Param(Arc<String>);

impl Param {
    /// A new parameter, distinct from all others.
    pub fn new(name: &str) -> Param {
        Param(Arc::new(name.to_owned()))
    }

    fn is(&self, other: &Param) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A bound expression.
#[derive(Clone, Debug)]
pub struct Node {
    pub ty: Type,
    pub span: Span,
    pub kind: NodeKind,
}

/// The operation of a bound expression.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A whole column or an assigned value.
    Slot { slot: usize, name: Arc<str>, storage: Storage },
    /// A field inside the structures of a node, below `levels` axes of the node, whose type lists no fields.
    Field { of: Box<Node>, levels: usize, position: usize, name: Arc<str>, storage: Storage, is_map: bool },
    /// One row, the same for all records.
    Constant(Tensor),
    /// One of the results of a call.
    Call(Arc<CallNode>, usize),
    /// `left and right` or `left or right` on scalars. The right side is evaluated only for records that the left side
    /// does not decide.
    Logic { and: bool, left: Box<Node>, right: Box<Node> },
    /// The key of each record, from which random numbers are drawn.
    Keys,
    /// A parameter of an [`Each`].
    Param(Param),
    /// One of the results of a function applied to the items of a tensor.
    Each(Arc<Each>, usize),
    /// One of the results of a function applied to the items of a tensor one after the other.
    Steps(Arc<dyn Recurrence>, usize),
    /// Rejects nulls other than those allowed.
    NotNull { of: Box<Node>, name: Arc<str>, allowed: AllowedNulls },
}

/// The nulls that an operation accepts in an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedNulls {
    /// None: it computes with the values.
    None,
    /// Nulls inside the rows, of which it uses only the number or the order.
    InRows,
    /// Nulls among the rows, and below this many axes: it selects or moves these as a whole.
    Moved(usize),
}

/// A kernel maps whole columns to whole columns. Its errors name the row.
pub enum Kernel {
    One(Box<dyn Fn(&Args) -> Result<Tensor> + Send + Sync>),
    Several(Box<dyn Fn(&Args) -> Result<Vec<Tensor>> + Send + Sync>),
}

impl Kernel {
    fn run(&self, args: &Args) -> Result<Vec<Tensor>> {
        match self {
            Kernel::One(kernel) => Ok(vec![kernel(args)?]),
            Kernel::Several(kernel) => kernel(args),
        }
    }
}

/// A bound call.
pub struct CallNode {
    /// The function or operator as written; empty if the call is not written.
    pub name: String,
    pub span: Span,
    /// The text of the expression, for messages.
    pub text: Arc<str>,
    pub args: Vec<Node>,
    pub outputs: Vec<Type>,
    /// The names of the results, if they are named.
    pub names: Vec<&'static str>,
    /// Whether the result holds maps.
    pub maps: bool,
    /// The arguments whose null rows make the row of the result null; the kernel does not see such rows.
    pub carried: Vec<usize>,
    pub kernel: Kernel,
}

/// A function applied to the items of axis 0 one after the other; see `steps`.
pub trait Recurrence: std::fmt::Debug + Send + Sync {
    /// Whether the results are the same in all records.
    fn is_constant(&self) -> bool;
    /// The parameters of the function.
    fn params(&self) -> &[Param];
    /// All that is evaluated.
    fn nodes(&self) -> Vec<&Node>;
    /// Value `which` of the last step or of all steps, for every record.
    ///
    /// # Errors
    /// Those of the function; a record without items, if there are no initial values.
    fn eval(&self, frame: &Frame, which: usize) -> Result<Value>;
}

/// A function applied to the items of axis 0. The body is evaluated once, with the items of all records as its records.
#[derive(Debug)]
pub struct Each {
    over: Vec<Node>,
    params: Vec<Param>,
    results: Vec<Node>,
    /// The slots that the results use.
    slots: Vec<usize>,
    constant: bool,
}

impl std::fmt::Debug for CallNode {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("CallNode")
            .field("name", &self.name)
            .field("args", &self.args)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}

/// The arguments of a kernel.
pub struct Args {
    /// Number of rows of every full argument and every result.
    pub nrows: usize,
    values: Vec<Value>,
}

impl Value {
    /// A row per record.
    pub fn column(tensor: Tensor) -> Value {
        Value { tensor, constant: false }
    }

    /// The same value for all records: `tensor` has one row.
    pub fn constant(tensor: Tensor) -> Value {
        Value { tensor, constant: true }
    }

    /// The tensor with one row per record; a constant is repeated.
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn full(&self, nrows: usize) -> Result<Cow<'_, Tensor>> {
        if self.constant && nrows != 1 { self.tensor.gather(&vec![0; nrows]).map(Cow::Owned) } else { Ok(Cow::Borrowed(&self.tensor)) }
    }

    fn gather(&self, rows: &[usize]) -> Result<Value> {
        if self.constant {
            return Ok(self.clone());
        }
        let row_nbytes = self.tensor.nbytes() / self.tensor.nrows().max(1);
        check_nbytes(row_nbytes.checked_mul(rows.len()), rows.first().copied().unwrap_or(0))?;
        Ok(Value::column(self.tensor.gather(rows)?))
    }
}

impl Args {
    /// Arguments for `nrows` records. A call with only constants is evaluated for one record.
    pub fn new(nrows: usize, values: Vec<Value>) -> Args {
        Args { nrows, values }
    }

    /// Argument `i` with one row per record.
    ///
    /// # Errors
    /// Only if memory runs out.
    pub fn tensor(&self, i: usize) -> Result<Cow<'_, Tensor>> {
        self.value(i)?.full(self.nrows)
    }

    /// Argument `i` unchanged: a constant has a single row.
    ///
    /// # Errors
    /// There is no such argument.
    pub fn value(&self, i: usize) -> Result<&Value> {
        self.values.get(i).ok_or_else(|| Error::internal("a kernel asks for an argument that it did not bind"))
    }

    /// All arguments.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

impl Node {
    /// The same tensor if a function takes apart only its first `axes` axes: below them, lists may be null too.
    pub fn moved_below(mut self, axes: usize) -> Node {
        if let NodeKind::NotNull { allowed: AllowedNulls::Moved(all), .. } = &mut self.kind {
            *all = axes;
        }
        self
    }

    /// Whether the value is the same for all records.
    pub fn is_constant(&self) -> bool {
        match &self.kind {
            NodeKind::Constant(_) => true,
            NodeKind::Slot { .. } | NodeKind::Keys => false,
            NodeKind::Field { of, .. } | NodeKind::NotNull { of, .. } => of.is_constant(),
            NodeKind::Param(_) => false,
            NodeKind::Each(each, _) => each.constant,
            NodeKind::Steps(steps, _) => steps.is_constant(),
            NodeKind::Call(call, _) => call.is_constant(),
            NodeKind::Logic { left, right, .. } => left.is_constant() && right.is_constant(),
        }
    }

    /// Whether evaluation draws random numbers.
    pub fn is_random(&self) -> bool {
        let mut found = false;
        self.visit(&mut |node| found |= matches!(node.kind, NodeKind::Keys));
        found
    }

    /// Whether a call below it may give a larger result than its arguments, judging by their axes.
    pub fn broadcasts(&self) -> bool {
        let mut found = false;
        self.visit(&mut |node| found |= matches!(&node.kind, NodeKind::Call(call, _) if call.broadcasts()));
        found
    }

    /// Calls `visit` for this node and all nodes below it.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        match &self.kind {
            NodeKind::Slot { .. } | NodeKind::Constant(_) | NodeKind::Param(_) | NodeKind::Keys => {}
            NodeKind::Field { of, .. } | NodeKind::NotNull { of, .. } => of.visit(visit),
            NodeKind::Call(call, _) => call.args.iter().for_each(|arg| arg.visit(visit)),
            NodeKind::Each(each, _) => each.over.iter().chain(&each.results).for_each(|node| node.visit(visit)),
            NodeKind::Steps(steps, _) => steps.nodes().into_iter().for_each(|node| node.visit(visit)),
            NodeKind::Logic { left, right, .. } => {
                left.visit(visit);
                right.visit(visit);
            }
        }
    }

    /// The value for every record of the frame.
    ///
    /// # Errors
    /// Invalid data; the error names the row if a single row caused it.
    pub fn eval(&self, frame: &Frame) -> Result<Value> {
        match &self.kind {
            NodeKind::Slot { slot, .. } => {
                frame.slots.get(*slot).cloned().flatten().ok_or_else(|| Error::internal("a name without a value"))
            }
            NodeKind::Keys => frame.keys.clone().ok_or_else(|| Error::internal("a frame without the keys of its records")),
            NodeKind::Constant(tensor) => Ok(Value::constant(tensor.clone())),
            NodeKind::Field { of, levels, position, .. } => {
                let value = of.eval(frame)?;
                let tensor = field_below(&value.tensor, *levels, *position)?;
                Ok(Value { tensor, constant: value.constant })
            }
            NodeKind::Call(call, which) => {
                let mut results = call.eval(frame)?;
                if *which >= results.len() {
                    return Err(Error::internal("a function without that result"));
                }
                Ok(results.swap_remove(*which))
            }
            NodeKind::Param(param) => {
                let found = frame.params.iter().rev().find(|(p, _)| p.is(param));
                found.map(|(_, value)| value.clone()).ok_or_else(|| Error::internal("a parameter outside its function"))
            }
            NodeKind::Each(each, which) => each.eval(frame, *which),
            NodeKind::Steps(steps, which) => steps.eval(frame, *which),
            NodeKind::Logic { and, left, right } => logic(*and, left, right, frame),
            NodeKind::NotNull { of, name, allowed } => {
                let value = of.eval(frame)?;
                let found = match allowed {
                    AllowedNulls::None => value.tensor.first_null_row(),
                    AllowedNulls::InRows => value.tensor.first_own_null(),
                    AllowedNulls::Moved(axes) => first_null_list(&value.tensor, *axes)?,
                };
                match found {
                    None => Ok(value),
                    Some(row) => {
                        let (name, tested) = match &of.kind {
                            NodeKind::Call(call, _) if **name == *UNNAMED => (text_at(&call.text, &call.span), call.tested()),
                            _ => (&**name, None),
                        };
                        let place = NullPlace { name, tested, of_structure: false, inside: false };
                        Err(null_error(&value.tensor.slice(row, 1), &self.ty, &place).at_row(row))
                    }
                }
            }
        }
    }
}

/// The field at `position` of the structures below `levels` axes. The axes are kept, and null structures make the field
/// null.
fn field_below(tensor: &Tensor, levels: usize, position: usize) -> Result<Tensor> {
    tensor.map_below(levels, &mut |t| t.as_struct()?.visible_field(position))
}

impl CallNode {
    /// If the call is `is_null(x)`, the text of x.
    fn tested(&self) -> Option<&str> {
        let [x] = self.args.as_slice() else { return None };
        let tests_items = self.outputs.iter().all(|ty| ty.rank() == x.ty.rank());
        (self.name == "is_null" && tests_items).then(|| text_at(&self.text, &x.span))
    }

    /// Whether all arguments are constants.
    pub fn is_constant(&self) -> bool {
        self.args.iter().all(Node::is_constant)
    }

    /// Whether a result is larger than every argument, as in `x[:, newaxis] * y`, judging by their axes.
    fn broadcasts(&self) -> bool {
        let mut given = self.args.iter().filter(|arg| !arg.is_constant()).map(|arg| arg.ty.dims.as_slice());
        let most = given.clone().map(<[_]>::len).max().unwrap_or(0);
        self.args.len() > 1 && self.outputs.iter().any(|ty| ty.rank() >= most.max(1) && !given.any(|dims| dims == ty.dims))
    }

    /// Whether it or any argument draws random numbers.
    pub fn is_random(&self) -> bool {
        self.args.iter().any(Node::is_random)
    }

    /// All results.
    ///
    /// # Errors
    /// See [`Node::eval`]; the error underlines the span in the text.
    pub fn eval(&self, frame: &Frame) -> Result<Vec<Value>> {
        let values = self.args.iter().map(|a| a.eval(frame)).collect::<Result<Vec<_>>>()?;
        let constant = values.iter().all(|v| v.constant);
        // What grows from step to step, such as x = concat([x, x], 0), would take all memory.
        let nbytes = values.iter().map(|value| value.tensor.nbytes()).sum();
        let nrows = if constant { 1 } else { frame.nrows };
        let results = check_nbytes(Some(nbytes), 0).map_err(|e| e.locate(|at| at.row = None)).and_then(|_| self.run(nrows, values));
        let results = results.map_err(|e| {
            // A constant fails for every record, so no row is named. During binding, the caller adds the span.
            let e = if constant { e.locate(|at| at.row = None) } else { e };
            if frame.slots.is_empty() || self.text.is_empty() { e } else { e.excerpt(underlined(&self.text, &self.span)) }
        })?;
        if let Some(most) = frame.most_nbytes.as_ref().filter(|_| !constant) {
            most.set(most.get().max(results.iter().map(Tensor::nbytes).sum()));
        }
        debug_assert!(results.iter().all(|r| r.nrows() == nrows), "{} rows of {nrows}", results[0].nrows());
        Ok(results.into_iter().map(|tensor| Value { tensor, constant }).collect())
    }

    /// The results of the kernel for the rows without carried nulls, and nulls elsewhere.
    fn run(&self, nrows: usize, values: Vec<Value>) -> Result<Vec<Tensor>> {
        let valid = self.carried.iter().filter_map(|i| values.get(*i)).filter_map(|value| {
            let own = value.tensor.validity()?;
            Some(if value.constant && nrows != 1 { NullBuffer::new_null(nrows) } else { own })
        });
        let Some(valid) = valid.reduce(|a, b| NullBuffer::union(Some(&a), Some(&b)).unwrap_or(a)) else {
            return self.kernel.run(&Args::new(nrows, values));
        };
        let rows: Vec<usize> = valid.valid_indices().collect();
        if rows.is_empty() {
            return self.outputs.iter().map(|ty| Tensor::nulls(ty, nrows)).collect();
        }
        let values = values.iter().map(|value| value.gather(&rows)).collect::<Result<_>>()?;
        let results = self.kernel.run(&Args::new(rows.len(), values)).map_err(|e| {
            let row = e.location().row.and_then(|row| rows.get(row)).copied();
            e.locate(|at| at.row = row)
        })?;
        results.iter().zip(&self.outputs).map(|(result, ty)| result.spread(&valid, ty)).collect()
    }
}

impl Each {
    /// Computes `results` from `params` for each item of axis 0 of the tensors `over`.
    pub fn new(over: Vec<Node>, params: Vec<Param>, results: Vec<Node>) -> Each {
        let free = depends_on_records(&results, &params);
        let slots = slots_of(&results);
        let constant = slots.is_empty() && !free && over.iter().all(Node::is_constant);
        Each { over, params, results, slots, constant }
    }

    fn eval(&self, frame: &Frame, which: usize) -> Result<Value> {
        let nrows = if self.constant { 1 } else { frame.nrows };
        let (rows, items) = items_of(&self.over, frame, nrows)?;
        let mut params = self.params.iter().cloned().zip(items.into_iter().map(Value::column)).collect();
        let owners: Vec<usize> = (0..rows.nrows()).flat_map(|row| std::iter::repeat_n(row, rows.row_length(row))).collect();
        let keys = frame.keys.as_ref().map(|keys| keys_of_items(keys, &rows)).transpose()?;
        let mut inner = frame.gathered(&owners, &self.slots, keys)?;
        inner.params.append(&mut params);
        let result = self.results.get(which).ok_or_else(|| Error::internal("a function without that result"))?;
        let value = result.eval(&inner).map_err(|e| {
            let row = e.location().row.and_then(|row| owners.get(row)).copied();
            e.locate(|at| at.row = row)
        })?;
        let tensor = Tensor::list(rows, value.full(inner.nrows)?.into_owned(), None)?;
        Ok(Value { tensor, constant: self.constant })
    }
}

/// The items of tensors along axis 0, which must be equally many, and their partition by record.
pub(super) fn items_of(over: &[Node], frame: &Frame, nrows: usize) -> Result<(RowPartition, Vec<Tensor>)> {
    let (mut rows, mut items): (Option<RowPartition>, _) = (None, Vec::with_capacity(over.len()));
    for node in over {
        let tensor = node.eval(frame)?.full(nrows)?.into_owned();
        let list = tensor.as_list()?;
        if let Some(first) = &rows
            && let Some(row) = first.first_difference(list.partition())
        {
            let (a, b) = (first.row_length(row), list.partition().row_length(row));
            return Err(Error::data(format!("the tensors differ in length: {a} and {b} items")).at_row(row));
        }
        rows = Some(list.partition().clone());
        items.push(list.values().clone());
    }
    Ok((rows.ok_or_else(|| Error::internal("a function applied to no tensor"))?, items))
}

/// Whether the results of a function with these parameters depend on the record in other ways: by parameters of functions
/// around it, or by random numbers.
pub(super) fn depends_on_records(results: &[Node], params: &[Param]) -> bool {
    let (mut bound, mut free) = (params.to_vec(), false);
    for result in results {
        result.visit(&mut |node| match &node.kind {
            NodeKind::Each(each, _) => bound.extend(each.params.iter().cloned()),
            NodeKind::Steps(steps, _) => bound.extend(steps.params().iter().cloned()),
            _ => {}
        });
    }
    for result in results {
        result.visit(&mut |node| match &node.kind {
            NodeKind::Param(param) => free |= !bound.iter().any(|p| p.is(param)),
            NodeKind::Keys => free = true,
            _ => {}
        });
    }
    free
}

/// The slots that expressions use, in ascending order.
pub(super) fn slots_of(nodes: &[Node]) -> Vec<usize> {
    let mut slots = Vec::new();
    for node in nodes {
        node.visit(&mut |node| {
            if let NodeKind::Slot { slot, .. } = &node.kind {
                slots.push(*slot);
            }
        });
    }
    slots.sort_unstable();
    slots.dedup();
    slots
}

/// The key of the item at `index` of a record with this key.
pub(super) fn key_of_item(key: u64, index: usize) -> u64 {
    key.wrapping_add((index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Derives a distinct key for each item of each record.
fn keys_of_items(keys: &Value, rows: &RowPartition) -> Result<Value> {
    let keys = keys.full(rows.nrows())?;
    let keys = keys.as_leaf()?.as_primitive_opt::<UInt64Type>().ok_or_else(|| Error::internal("keys of another type"))?;
    let items = (0..rows.nrows()).flat_map(|row| {
        let key = keys.value(row);
        (0..rows.row_length(row)).map(move |i| key_of_item(key, i))
    });
    Ok(Value::column(Tensor::Leaf(Arc::new(UInt64Array::from_iter_values(items)))))
}

/// Whether all results on the way to the value are single numbers, so that computing it for more records costs little.
fn of_numbers(node: &Node) -> bool {
    let mut simple = true;
    node.visit(&mut |node| {
        simple &= match &node.kind {
            NodeKind::Slot { .. } | NodeKind::Constant(_) | NodeKind::Param(_) | NodeKind::NotNull { .. } => true,
            NodeKind::Call(..) | NodeKind::Logic { .. } | NodeKind::Field { .. } => {
                node.ty.rank() == 0 && node.ty.dtype().is_some_and(|dtype| dtype.is_number() || *dtype == DType::Bool)
            }
            NodeKind::Keys | NodeKind::Each(..) | NodeKind::Steps(..) => false,
        }
    });
    simple
}

fn logic(and: bool, left: &Node, right: &Node, frame: &Frame) -> Result<Value> {
    let first = left.eval(frame)?;
    let decided = |value: bool| value != and;
    let flags = |value: &Value| -> Result<BooleanArray> {
        value.tensor.as_leaf()?.as_boolean_opt().cloned().ok_or_else(|| Error::internal("`and` of other values than bools"))
    };
    let first_flags = flags(&first)?;
    if first.constant {
        return if first_flags.is_empty() || decided(first_flags.value(0)) { Ok(first) } else { right.eval(frame) };
    }
    let nopen = if and { first_flags.true_count() } else { first_flags.false_count() };
    if nopen == 0 {
        return Ok(first);
    }
    if nopen == frame.nrows {
        return right.eval(frame);
    }
    // Taking out the undecided records costs more than computing all. If that fails, the reason may be a record that the left
    // side decides.
    if nopen >= frame.nrows / 2
        && of_numbers(right)
        && let Ok(second) = right.eval(frame)
    {
        let second = second.full(frame.nrows)?;
        let (first, second) = (first_flags.values(), flags(&Value::column(second.into_owned()))?);
        let both = if and { first & second.values() } else { first | second.values() };
        return Ok(Value::column(Tensor::Leaf(Arc::new(BooleanArray::new(both, None)))));
    }
    let open: Vec<usize> = (0..first_flags.len()).filter(|i| !decided(first_flags.value(*i))).collect();
    let keys = frame.keys.as_ref().map(|v| v.gather(&open)).transpose()?;
    let second = right.eval(&frame.gathered(&open, &slots_of(std::slice::from_ref(right)), keys)?).map_err(|e| {
        let row = e.location().row.and_then(|row| open.get(row)).copied();
        e.locate(|at| at.row = row)
    })?;
    let second = second.full(nopen)?;
    let second_flags = second.as_leaf()?.as_boolean();
    let mut out: Vec<bool> = first_flags.values().iter().collect();
    for (i, row) in open.iter().enumerate() {
        out[*row] = second_flags.value(i);
    }
    Ok(Value::column(Tensor::Leaf(Arc::new(BooleanArray::from(out)))))
}
