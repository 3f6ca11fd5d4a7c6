//! Evaluation: a bound tree over the rows of a chunk.
//!
//! Every value is a tensor with one row per record, or a constant: one row that stands for all. A
//! call gets whole columns; nothing is dispatched per record.

use super::span::Span;
use super::span::underlined;
use crate::error::{Error, Result};
use crate::schema::Type;
use crate::tensor::Tensor;
use arrow_array::BooleanArray;
use arrow_array::cast::AsArray;
use std::borrow::Cow;
use std::sync::Arc;

/// A value of all records at hand.
#[derive(Clone, Debug)]
pub struct Value {
    /// One row per record; one row in all if it is a constant.
    pub tensor: Tensor,
    /// The same for all records.
    pub constant: bool,
}

/// What names stand for while the statements run: the record's columns, then what has been assigned.
#[derive(Clone, Debug)]
pub struct Frame {
    pub nrows: usize,
    pub slots: Vec<Option<Value>>,
    /// The keys of the records, from which random numbers are drawn, where they are needed.
    pub keys: Option<Value>,
}

/// A bound expression.
#[derive(Clone, Debug)]
pub struct Node {
    pub ty: Type,
    pub span: Span,
    pub kind: NodeKind,
}

/// What a bound expression does.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A whole column, or a value assigned before.
    Slot { slot: usize, name: Arc<str> },
    /// A field inside the structures of a node, below `levels` axes of its own.
    Field { of: Box<Node>, levels: usize, position: usize, name: Arc<str> },
    /// One row that stands for all records.
    Constant(Tensor),
    /// One of the results of a call.
    Call(Arc<CallNode>, usize),
    /// `left and right`, `left or right` on scalars: the right side is evaluated only for records where the left leaves it open.
    Logic { and: bool, left: Box<Node>, right: Box<Node> },
    /// The key of each record, from which random numbers are drawn.
    Keys,
    /// Refuses nulls.
    NotNull { of: Box<Node>, name: Arc<str> },
}

/// A kernel: whole columns to whole columns. An error names the row.
pub type Kernel = Box<dyn Fn(&Args) -> Result<Vec<Tensor>> + Send + Sync>;

/// A bound call.
pub struct CallNode {
    pub span: Span,
    /// The text of the expression, for messages.
    pub text: Arc<str>,
    pub args: Vec<Node>,
    pub outputs: Vec<Type>,
    pub kernel: Kernel,
}

impl std::fmt::Debug for CallNode {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("CallNode").field("args", &self.args).field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

/// The arguments of a kernel.
pub struct Args {
    /// Rows of every full argument and of every result.
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

    /// One row per record, a constant repeated.
    ///
    /// # Errors
    /// A failure of memory only.
    pub fn full(&self, nrows: usize) -> Result<Cow<'_, Tensor>> {
        if self.constant && nrows != 1 { self.tensor.gather(&vec![0; nrows]).map(Cow::Owned) } else { Ok(Cow::Borrowed(&self.tensor)) }
    }

    fn gather(&self, rows: &[usize]) -> Result<Value> {
        Ok(if self.constant { self.clone() } else { Value::column(self.tensor.gather(rows)?) })
    }
}

impl Args {
    /// Arguments for `nrows` records; a call of constants alone is a call for one record.
    pub fn new(nrows: usize, values: Vec<Value>) -> Args {
        Args { nrows, values }
    }

    /// Argument `i` with one row per record.
    ///
    /// # Errors
    /// A failure of memory only.
    pub fn tensor(&self, i: usize) -> Result<Cow<'_, Tensor>> {
        self.value(i)?.full(self.nrows)
    }

    /// Argument `i` as it is: perhaps one row for all.
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
    /// Whether the value is the same for all records.
    pub fn is_constant(&self) -> bool {
        match &self.kind {
            NodeKind::Constant(_) => true,
            NodeKind::Slot { .. } | NodeKind::Keys => false,
            NodeKind::Field { of, .. } | NodeKind::NotNull { of, .. } => of.is_constant(),
            NodeKind::Call(call, _) => call.is_constant(),
            NodeKind::Logic { left, right, .. } => left.is_constant() && right.is_constant(),
        }
    }

    /// Whether it draws random numbers.
    pub fn is_random(&self) -> bool {
        match &self.kind {
            NodeKind::Keys => true,
            NodeKind::Constant(_) | NodeKind::Slot { .. } => false,
            NodeKind::Field { of, .. } | NodeKind::NotNull { of, .. } => of.is_random(),
            NodeKind::Call(call, _) => call.is_random(),
            NodeKind::Logic { left, right, .. } => left.is_random() || right.is_random(),
        }
    }

    /// The value in every record of the frame.
    ///
    /// # Errors
    /// The data does not allow it; the row is named where one is to blame.
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
            NodeKind::Logic { and, left, right } => logic(*and, left, right, frame),
            NodeKind::NotNull { of, name } => {
                let value = of.eval(frame)?;
                match value.tensor.first_null_row() {
                    None => Ok(value),
                    Some(row) => {
                        let fill = if self.ty.rank() > 0 { "[]" } else { "0" };
                        Err(Error::data(format!("{name} is null, or holds a null"))
                            .at_row(row)
                            .help(format!("put a value there first: tatter fill-null {name}={fill} then map ...")))
                    }
                }
            }
        }
    }
}

/// The field at `position` of the structures below `levels` axes: the axes stay, nulls of the structures are the field's.
fn field_below(tensor: &Tensor, levels: usize, position: usize) -> Result<Tensor> {
    tensor.map_below(levels, &mut |t| {
        let structure = t.as_struct()?;
        let field = structure.fields().get(position).ok_or_else(|| Error::internal("no such field"))?;
        match structure.validity() {
            None => Ok(field.clone()),
            Some(outer) => match field.validity() {
                None => field.clone().with_validity(Some(outer.clone())),
                Some(inner) => field.clone().with_validity(arrow_buffer::NullBuffer::union(Some(outer), Some(&inner))),
            },
        }
    })
}

impl CallNode {
    /// Whether all arguments are constants.
    pub fn is_constant(&self) -> bool {
        self.args.iter().all(Node::is_constant)
    }

    /// Whether it, or an argument, draws random numbers.
    pub fn is_random(&self) -> bool {
        self.args.iter().any(Node::is_random)
    }

    /// All results.
    ///
    /// # Errors
    /// As [`Node::eval`]; the place in the text is shown.
    pub fn eval(&self, frame: &Frame) -> Result<Vec<Value>> {
        let values = self.args.iter().map(|a| a.eval(frame)).collect::<Result<Vec<_>>>()?;
        let constant = values.iter().all(|v| v.constant);
        let args = Args::new(if constant { 1 } else { frame.nrows }, values);
        let results = (self.kernel)(&args).map_err(|e| {
            // A constant fails for every record, and none is to blame. While names are bound the place is known by others.
            let e = if constant { e.locate(|at| at.row = None) } else { e };
            if frame.slots.is_empty() { e } else { e.help(underlined(&self.text, &self.span)) }
        })?;
        debug_assert!(results.iter().all(|r| r.nrows() == args.nrows), "{} rows of {}", results[0].nrows(), args.nrows);
        Ok(results.into_iter().map(|tensor| Value { tensor, constant }).collect())
    }
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
    let open: Vec<usize> = (0..first_flags.len()).filter(|i| !decided(first_flags.value(*i))).collect();
    if open.is_empty() {
        return Ok(first);
    }
    if open.len() == frame.nrows {
        return right.eval(frame);
    }
    let slots = frame.slots.iter().map(|slot| slot.as_ref().map(|v| v.gather(&open)).transpose()).collect::<Result<_>>()?;
    let keys = frame.keys.as_ref().map(|v| v.gather(&open)).transpose()?;
    let second = right.eval(&Frame { nrows: open.len(), slots, keys }).map_err(|e| {
        let row = e.location().row.and_then(|row| open.get(row)).copied();
        e.locate(|at| at.row = row)
    })?;
    let second = second.full(open.len())?;
    let second_flags = second.as_leaf()?.as_boolean();
    let mut out: Vec<bool> = first_flags.values().iter().collect();
    for (i, row) in open.iter().enumerate() {
        out[*row] = second_flags.value(i);
    }
    Ok(Value::column(Tensor::Leaf(Arc::new(BooleanArray::from(out)))))
}
