//! Bound programs: the assignments of `map`, the condition of `filter`, the keys of `sort` and `bucket`.

use super::bind::{Binder, Scope};
use super::call::{NULLS, Written, as_node, field_of_value, shape_vector, subscript};
use super::constants;
use super::error::{ExprError, ExprResult};
use super::eval::{CallNode, Frame, Node, NodeKind, Value, slots_of};
use super::fields::{FieldIndex, put_field, unknown_in, with_field};
use super::frames::without_frames;
use super::functions;
use super::kernels::random::keys;
use super::names::in_backquotes;
use super::nulls::UNNAMED;
use super::operand::{LAMBDA, Operand, OperandKind};
use super::parts::{below_limit, most_nbytes, names_growing};
use super::span::name_text;
use super::syntax::{Assignment, ExprKind, Target, parse_statements};
use super::types::outermost_uniform;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::facts::Storage;
use crate::schema::{Element, Field, Literal, Schema, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::UInt64Array;
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Assignments bound to a schema.
pub struct Program {
    instructions: Vec<Instruction>,
    /// The slots that are not used after each of the instructions.
    last_used: Vec<Vec<usize>>,
    /// The columns of the result: the source slot of each.
    columns: Vec<usize>,
    schema: Arc<Schema>,
    nslots: usize,
    /// The seed of the record keys, if random numbers are drawn.
    seed: Option<u64>,
    grows: bool,
}

enum Instruction {
    /// Computes a value into a slot.
    Set { node: Node, slot: usize },
    /// Computes all results of a call.
    Unpack { call: Arc<CallNode>, slots: Vec<usize> },
    /// Writes a value (or nothing) at a path inside a structure, into a new slot.
    Update { outer: usize, path: Vec<FieldIndex>, value: Option<usize>, slot: usize },
}

impl Program {
    /// Binds the assignments in `text`.
    ///
    /// # Errors
    /// Any error that can be found before the first record, with the span underlined.
    pub fn bind(text: &str, schema: &Schema, options: &Options) -> Result<Program> {
        Program::bound(text, schema, options).map_err(|e| in_backquotes(e, text, schema))
    }

    fn bound(text: &str, schema: &Schema, options: &Options) -> Result<Program> {
        let constants = constants::constants(options)?;
        let statements = parse_statements(text).map_err(|error| {
            let meant = without_frames(text).filter(|meant| parse_statements(meant).is_ok());
            match meant {
                Some(meant) => error.instead(format!("fields are written by name alone: {meant}")),
                None => error,
            }
            .into_error(text)
        })?;
        let mut binding = Binding {
            scope: Scope::of_fields(&schema.fields, constants),
            nslots: schema.fields.len(),
            instructions: Vec::new(),
            unstored: Vec::new(),
            statement: 0,
            text: text.into(),
        };
        for (number, statement) in statements.iter().enumerate() {
            binding.statement = number;
            binding.statement(statement).map_err(|e| e.or_at(statement.span.clone()).into_error(text))?;
        }
        let is_all = binding.unstored.len() == statements.len();
        // A function or a type that is not used is harmless, but data must not get lost.
        let lost = binding.unstored.into_iter().find(|unstored| {
            is_all || (unstored.is_data && !statements[unstored.statement + 1..].iter().any(|s| s.value.mentions(&unstored.name)))
        });
        if let Some(lost) = lost {
            return Err(lost.error.into_error(text));
        }
        let (fields, columns) = binding.scope.columns.unzip();
        let random = binding.instructions.iter().any(|instruction| match instruction {
            Instruction::Set { node, .. } => node.is_random(),
            Instruction::Unpack { call, .. } => call.is_random(),
            Instruction::Update { .. } => false,
        });
        let seed = random.then_some(options.seed);
        let broadcasts = binding.instructions.iter().any(|instruction| match instruction {
            Instruction::Set { node, .. } => node.broadcasts(),
            Instruction::Unpack { call, .. } => call.args.iter().any(Node::broadcasts),
            Instruction::Update { .. } => false,
        });
        let grows = broadcasts || statements.iter().any(|statement| names_growing(&statement.value));
        let schema = Arc::new(Schema::new(fields));
        let last_used = last_used(&binding.instructions, &columns, binding.nslots);
        Ok(Program { instructions: binding.instructions, last_used, columns, schema, nslots: binding.nslots, seed, grows })
    }

    /// Whether results may take many times the memory of the chunk.
    pub fn grows(&self) -> bool {
        self.grows
    }

    /// The memory of the columns after the assignments, or of the largest result on the way to them; `None` if they
    /// cannot be computed.
    pub fn most_nbytes(&self, chunk: &Chunk) -> Option<usize> {
        most_nbytes(|most| self.evaluated(chunk.clone(), Some(most)).map(|result| result.nbytes()))
    }

    /// The schema after the assignments.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Computes the columns after the assignments.
    ///
    /// # Errors
    /// Invalid data; the error names the row if a single row caused it.
    pub fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        if !self.grows {
            return self.evaluated(chunk, None);
        }
        below_limit(&chunk, &|part| self.evaluated(part.clone(), None), |a, b| Chunk::concat(&[a, b]))
    }

    fn evaluated(&self, chunk: Chunk, most_nbytes: Option<Rc<Cell<usize>>>) -> Result<Chunk> {
        let keys = self.seed.map(|seed| record_keys(&chunk, seed)).transpose()?;
        let Chunk { nrows, columns, origin } = chunk;
        let mut slots: Vec<Option<Value>> = columns.into_iter().map(|c| Some(Value::column(c))).collect();
        slots.resize(self.nslots, None);
        let mut frame = Frame { nrows, slots, keys, params: Vec::new(), most_nbytes };
        for (instruction, last_used) in self.instructions.iter().zip(&self.last_used) {
            match instruction {
                Instruction::Set { node, slot } => frame.slots[*slot] = Some(node.eval(&frame)?),
                Instruction::Unpack { call, slots } => {
                    for (slot, value) in slots.iter().zip(call.eval(&frame)?) {
                        frame.slots[*slot] = Some(value);
                    }
                }
                Instruction::Update { outer, path, value, slot } => {
                    let missing = || Error::internal("a name without a value");
                    let value = value.map(|slot| frame.slots[slot].as_ref().ok_or_else(missing)?.full(nrows)).transpose()?;
                    let value = value.map(Cow::into_owned);
                    // A structure that is not used later is changed in place: copying its fields for each of many updates
                    // would take quadratic time and memory.
                    let structure = if last_used.contains(outer) { frame.slots[*outer].take() } else { frame.slots[*outer].clone() };
                    let structure = structure.ok_or_else(missing)?;
                    let tensor = if structure.constant { structure.full(nrows)?.into_owned() } else { structure.tensor };
                    frame.slots[*slot] = Some(Value::column(with_field(tensor, path, value.as_ref())?));
                }
            }
            last_used.iter().for_each(|slot| frame.slots[*slot] = None);
        }
        let columns = self
            .columns
            .iter()
            .zip(&self.schema.fields)
            .map(|(slot, field)| {
                let value = frame.slots[*slot].as_ref().ok_or_else(|| Error::internal("a column without a value"))?;
                conform(value.full(nrows)?.into_owned(), &field.ty)
            })
            .collect::<Result<_>>()?;
        Chunk::try_new(nrows, columns, origin)
    }
}

/// The record keys of a chunk, from which random numbers are drawn.
pub(super) fn record_keys(chunk: &Chunk, seed: u64) -> Result<Value> {
    let keys = UInt64Array::from(keys(&chunk.origin, chunk.nrows, seed)?);
    Ok(Value::column(Tensor::Leaf(Arc::new(keys))))
}

/// A name for a value that no field can store.
struct Unstored {
    name: String,
    statement: usize,
    /// Whether it is a dictionary, not a function or a type.
    is_data: bool,
    /// Why it cannot be stored.
    error: ExprError,
}

struct Binding {
    scope: Scope,
    nslots: usize,
    instructions: Vec<Instruction>,
    /// One for each assignment of a value that no field can store.
    unstored: Vec<Unstored>,
    /// The number of statements before this one.
    statement: usize,
    text: Arc<str>,
}

impl Binding {
    fn new_slot(&mut self) -> usize {
        self.nslots += 1;
        self.nslots - 1
    }

    fn statement(&mut self, statement: &Assignment) -> ExprResult<()> {
        let binder = Binder { scope: &self.scope, text: self.text.clone() };
        let item = binder.bind(&statement.value)?;
        if let ([target], false) = (statement.targets.as_slice(), statement.unpacks) {
            if statement.value.kind == ExprKind::None {
                return self.delete(target);
            }
            if item.is_none() {
                let error = ExprError::at(statement.value.span.clone(), "a field cannot be None");
                return Err(if matches!(statement.value.kind, ExprKind::Name { .. }) { error.help(NULLS) } else { error });
            }
            if let [name] = target.path.as_slice()
                && self.held(name, target, &item)?
            {
                return Ok(());
            }
            if let OperandKind::Results(call) = &item.kind {
                return Err(ExprError::at(
                    statement.value.span.clone(),
                    match call.outputs.len() {
                        1 => "this returns a list of one tensor".to_owned(),
                        n => format!("this returns {n} tensors for one name"),
                    },
                )
                .help(several_names(&target.path, call.outputs.len(), self.text.get(statement.value.span.clone()))));
            }
            if self.is_itself(target, &item) {
                return Ok(());
            }
            let slot = self.value(&item)?;
            return self.assign(target, slot);
        }
        let n = statement.targets.len();
        if let OperandKind::Results(call) = &item.kind {
            if call.outputs.len() != n {
                return Err(ExprError::at(
                    statement.value.span.clone(),
                    format!("this returns {} tensors for {n} names", call.outputs.len()),
                ));
            }
            let slots: Vec<usize> = (0..n).map(|_| self.new_slot()).collect();
            let types = call.outputs.clone();
            self.instructions.push(Instruction::Unpack { call: call.clone(), slots: slots.clone() });
            for ((target, slot), ty) in statement.targets.iter().zip(slots).zip(types) {
                self.assign(target, (slot, ty))?;
            }
            return Ok(());
        }
        let items = match item.elements() {
            Some(items) => items,
            None => self.unstacked(&item, n)?,
        };
        if items.len() != n {
            return Err(ExprError::at(statement.value.span.clone(), format!("{} values for {n} names", items.len())));
        }
        // All values are bound first, as in Python: `a, b = b, a` swaps.
        let values =
            items.iter().map(|item| if item.is_none() { Ok(None) } else { self.value(item).map(Some) }).collect::<ExprResult<Vec<_>>>()?;
        for (target, value) in statement.targets.iter().zip(values) {
            match value {
                Some(value) => self.assign(target, value)?,
                None => self.delete(target)?,
            }
        }
        Ok(())
    }

    /// Whether a field is assigned to itself: it is no copy and keeps all that is stored about it, such as its field id.
    fn is_itself(&self, target: &Target, item: &Operand) -> bool {
        let ([name], Some(NodeKind::Slot { slot, .. })) = (target.path.as_slice(), item.node().map(|node| &node.kind)) else {
            return false;
        };
        self.scope.columns.find(name).is_some_and(|(_, own)| own == *slot)
    }

    /// Binds a name to a value that is not a tensor: a dictionary, a list of dictionaries, a RowPartition, a dtype, a
    /// shape or a function. The field with that name holds what can be stored in a file; a function has no field.
    fn held(&mut self, name: &str, target: &Target, item: &Operand) -> ExprResult<bool> {
        let mut item = self.settled(item)?;
        let mut why = None;
        let column = match &item.kind {
            // The bare name of a function is a call with the parentheses missing.
            OperandKind::Function(function) if function.name != LAMBDA => return Ok(false),
            OperandKind::Function(_) | OperandKind::Spec(_) => None,
            OperandKind::DType(dtype) => {
                Some(Operand { kind: OperandKind::Literal(Literal::String(dtype.to_string())), span: item.span.clone() })
            }
            OperandKind::Partition(_) => Some(self.call("row_splits", &item)?),
            OperandKind::Shape(sizes) => {
                Some(Operand { kind: OperandKind::Tensor(shape_vector(sizes, &item.span)?), span: item.span.clone() })
            }
            OperandKind::Results(call) if !call.names.is_empty() => {
                let text = |name: &str| Operand { kind: OperandKind::Literal(Literal::String(name.to_owned())), span: item.span.clone() };
                let results = item.elements().unwrap_or_default();
                let fields = call.names.iter().map(|name| text(name)).zip(results).collect();
                let structure =
                    self.call("StructuredTensor.from_fields", &Operand { kind: OperandKind::Dict(fields, None), span: item.span.clone() })?;
                let value = self.value(&structure)?;
                self.assign(target, value)?;
                return Ok(true);
            }
            // Dictionaries that cannot be stored, such as those with numbers as keys, are still bound.
            OperandKind::Dict(..) => match self.structure(&item) {
                Ok(structure) => Some(structure),
                Err(error) => {
                    why = Some(error);
                    None
                }
            },
            // With fields among the values it is bound like any other list.
            OperandKind::List(items) if !items.is_empty() && items.iter().any(holds_dict) && is_python_value(&item) => {
                Some(self.call("StructuredTensor.from_pyval", &item)?)
            }
            _ => return Ok(false),
        };
        match column {
            Some(column) => {
                let (slot, ty) = self.value(&column)?;
                if let OperandKind::Dict(_, stored) = &mut item.kind {
                    let kind = NodeKind::Slot { slot, name: name_text(name).into(), storage: Storage::default() };
                    *stored = Some(Box::new(Node { ty: ty.clone(), span: item.span.clone(), kind }));
                }
                self.assign(target, (slot, ty))?;
            }
            None => {
                let is_taken = self.scope.columns.find(name).is_some();
                let error = ExprError::at(item.span.clone(), format!("{} cannot be stored in the field `{name}`", item.describe()));
                let is_data = why.is_some();
                let error = match why {
                    Some(why) => why
                        .or_at(item.span.clone())
                        .help(format!("so the dictionary cannot be stored in the field `{name}`; use it in a later assignment")),
                    None if is_taken => error.help("choose another name, and use it in a later assignment: f = lambda v: v * 2; y = f(x)"),
                    None => error.help("use it in a later assignment, as in f = lambda v: v * 2; y = f(x)"),
                };
                // A name has only one meaning.
                if is_taken {
                    return Err(error);
                }
                self.scope.values.retain(|(n, _)| n != name);
                self.unstored.push(Unstored { name: name.to_owned(), statement: self.statement, is_data, error });
            }
        }
        self.scope.values.push((name.to_owned(), item.kind));
        Ok(true)
    }

    /// The structure with the entries of a dictionary as fields.
    fn structure(&self, item: &Operand) -> ExprResult<Operand> {
        let OperandKind::Dict(entries, _) = &item.kind else { return Ok(item.clone()) };
        if is_python_value(item) {
            return self.call("StructuredTensor.from_pyval", item);
        }
        let fields = entries.iter().map(|(key, value)| Ok((key.clone(), self.structure(value)?))).collect::<ExprResult<_>>()?;
        self.call("StructuredTensor.from_fields", &Operand { kind: OperandKind::Dict(fields, None), span: item.span.clone() })
    }

    fn call(&self, function: &str, item: &Operand) -> ExprResult<Operand> {
        let function = functions::find(function).ok_or_else(|| ExprError::internal("a function without a row"))?;
        let (positional, keywords) = (vec![item.clone()], Vec::new());
        let written = Written { name: function.names[0], span: item.span.clone(), text: self.text.clone(), positional, keywords };
        let kind = function.call(written)?;
        Ok(Operand { kind, span: item.span.clone() })
    }

    /// A dictionary whose tensors are computed only once, no matter how often they are used.
    fn settled(&mut self, item: &Operand) -> ExprResult<Operand> {
        let OperandKind::Dict(entries, _) = &item.kind else {
            return Ok(item.clone());
        };
        let mut out = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let settled = match value.node() {
                Some(node) if !matches!(node.kind, NodeKind::Slot { .. } | NodeKind::Constant(_)) => {
                    let (slot, ty) = self.value(value)?;
                    let node = Node {
                        ty,
                        span: value.span.clone(),
                        kind: NodeKind::Slot { slot, name: UNNAMED.into(), storage: Storage::default() },
                    };
                    Operand { kind: OperandKind::Tensor(node), span: value.span.clone() }
                }
                _ => self.settled(value)?,
            };
            out.push((key.clone(), settled));
        }
        Ok(Operand { kind: OperandKind::Dict(out, None), span: item.span.clone() })
    }

    /// The items of a tensor whose first axis has a known size, for `n` names.
    fn unstacked(&mut self, item: &Operand, n: usize) -> ExprResult<Vec<Operand>> {
        let span = item.span.clone();
        let first = item.node().and_then(|node| node.ty.dims.first()).map(|dim| dim.size);
        let Some(Size::Known(size)) = first.filter(|_| item.node().is_some_and(|node| !node.ty.is_sparse())) else {
            return Err(ExprError::at(span, format!("one value for {n} names")));
        };
        if size != n as u64 {
            return Err(ExprError::at(span, format!("{size} value{} for {n} names", if size == 1 { "" } else { "s" })));
        }
        // Evaluated once, regardless of the expression.
        let (slot, ty) = self.value(item)?;
        let whole = Node { ty, span: span.clone(), kind: NodeKind::Slot { slot, name: UNNAMED.into(), storage: Storage::default() } };
        let whole = Operand { kind: OperandKind::Tensor(whole), span: span.clone() };
        (0..n)
            .map(|i| {
                let key = Operand { kind: OperandKind::Literal(Literal::Int(i as i128)), span: span.clone() };
                Ok(Operand { kind: subscript(&whole, &[key], &self.text, &span)?, span: span.clone() })
            })
            .collect()
    }

    /// Assigns a value to a new slot.
    fn value(&mut self, item: &Operand) -> ExprResult<(usize, Type)> {
        let node = as_node(item, None)?;
        let slot = self.new_slot();
        let mut ty = node.ty.clone();
        if !ty.is_sparse() {
            ty.dims = outermost_uniform(ty.dims);
        }
        self.scope.storages.insert(slot, field_of_value(&node).storage);
        self.instructions.push(Instruction::Set { node, slot });
        Ok((slot, ty))
    }

    fn assign(&mut self, target: &Target, (slot, ty): (usize, Type)) -> ExprResult<()> {
        let [outer, inner @ ..] = target.path.as_slice() else {
            return Err(ExprError::at(target.span.clone(), "an assignment needs a name"));
        };
        if inner.is_empty() {
            self.put(outer, slot, ty);
            return Ok(());
        }
        self.update(target, outer, inner, Some((slot, ty)))
    }

    fn put(&mut self, name: &str, slot: usize, ty: Type) {
        self.scope.values.retain(|(n, _)| n != name);
        let field = Field { storage: self.scope.storage(slot), ..Field::new(name, ty) };
        self.scope.columns.put(field, slot);
    }

    fn delete(&mut self, target: &Target) -> ExprResult<()> {
        let [outer, inner @ ..] = target.path.as_slice() else {
            return Err(ExprError::at(target.span.clone(), "an assignment needs a name"));
        };
        if !inner.is_empty() {
            return self.update(target, outer, inner, None);
        }
        if self.scope.columns.remove(outer).is_none() {
            let error = unknown_in(&self.scope.columns.fields(), outer, "").or_at(target.span.clone());
            return Err(error.help("`name = None` deletes a field"));
        }
        self.scope.values.retain(|(n, _)| n != outer);
        Ok(())
    }

    fn update(&mut self, target: &Target, outer: &str, inner: &[String], value: Option<(usize, Type)>) -> ExprResult<()> {
        let field = value.as_ref().map(|(slot, ty)| Field { storage: self.scope.storage(*slot), ..Field::new("", ty.clone()) });
        let slot = self.new_slot();
        let Some((structure, own_slot)) = self.scope.columns.find_mut(outer) else {
            return Err(unknown_in(&self.scope.columns.fields(), outer, "").or_at(target.span.clone()));
        };
        let (mut path, outer_slot) = (Vec::new(), std::mem::replace(own_slot, slot));
        // The type is not copied, either.
        let mut ty = std::mem::replace(&mut structure.ty, Type::NULL);
        put_field(&mut ty, &[], outer, inner, field.as_ref(), &mut path).map_err(|e| e.or_at(target.span.clone()))?;
        *structure = Field::new(outer, ty);
        self.scope.values.retain(|(n, _)| n != outer);
        self.instructions.push(Instruction::Update { outer: outer_slot, path, value: value.map(|(slot, _)| slot), slot });
        Ok(())
    }
}

/// For each instruction, the slots that are used by it or before it but neither later nor for the columns of the result.
fn last_used(instructions: &[Instruction], columns: &[usize], nslots: usize) -> Vec<Vec<usize>> {
    let mut is_used = vec![false; nslots];
    columns.iter().for_each(|slot| is_used[*slot] = true);
    let last_used = instructions.iter().rev().map(|instruction| {
        let mut slots = match instruction {
            Instruction::Set { node, slot } => slots_of(std::slice::from_ref(node)).into_iter().chain([*slot]).collect(),
            Instruction::Unpack { call, slots } => slots_of(&call.args).into_iter().chain(slots.iter().copied()).collect(),
            Instruction::Update { outer, value, slot, .. } => [*outer, *slot].into_iter().chain(*value).collect::<Vec<_>>(),
        };
        slots.retain(|slot| !std::mem::replace(&mut is_used[*slot], true));
        slots
    });
    let mut last_used: Vec<Vec<usize>> = last_used.collect();
    last_used.reverse();
    last_used
}

/// Whether a dictionary is among the items.
fn holds_dict(item: &Operand) -> bool {
    match &item.kind {
        OperandKind::Dict(..) => true,
        OperandKind::List(items) => items.iter().any(holds_dict),
        _ => false,
    }
}

/// Whether it consists only of literals, lists and dictionaries.
fn is_python_value(item: &Operand) -> bool {
    match &item.kind {
        OperandKind::Dict(entries, _) => entries.iter().all(|(_, value)| is_python_value(value)),
        OperandKind::List(items) => items.iter().all(is_python_value),
        _ => item.is_literal(),
    }
}

/// How to assign the `n` results of a call, given its text.
fn several_names(path: &[String], n: usize, text: Option<&str>) -> String {
    let call = text.filter(|text| text.len() <= 60 && text.ends_with(')')).unwrap_or("f(x)");
    if n == 1 {
        return format!("take it: {call}[0]");
    }
    let name = path.join(".");
    let names: Vec<String> = (0..n.min(3)).map(|i| format!("{name}{i}")).collect();
    format!("write {}{} = ..., or take one of them: {call}[0]", names.join(", "), if n > 3 { ", ..." } else { "" })
}

/// The tensor with uniform partitions for axes whose size the type knows. It discards the sizes of missing items, which
/// no file stores, so that a chain of verbs produces the same records as their pipe.
pub(super) fn conform(tensor: Tensor, ty: &Type) -> Result<Tensor> {
    fn level(tensor: Tensor, ty: &Type, depth: usize) -> Result<Tensor> {
        match tensor {
            Tensor::List(list) if depth < ty.list_dims().len() => {
                let validity = list.validity().cloned();
                let partition = match ty.list_dims()[depth].size {
                    Size::Known(n) if list.partition().uniform_row_length() != Some(n as usize) => {
                        let uniform = RowPartition::uniform(n as usize, list.partition().nrows())?;
                        if uniform != *list.partition() {
                            let row = uniform.first_difference(list.partition()).unwrap_or(0);
                            let found = list.partition().row_length(row);
                            return Err(Error::internal(format!("a row of {found} values on an axis of {n}")));
                        }
                        uniform
                    }
                    _ => list.partition().clone(),
                };
                Tensor::list(partition, level(list.into_values(), ty, depth + 1)?, validity)
            }
            Tensor::Struct(structure) => {
                let Element::Struct(fields) = &ty.element else {
                    return Err(Error::internal("a structure of another type"));
                };
                let (nrows, validity) = (structure.fields().first().map(Tensor::nrows), structure.validity().cloned());
                let Some(nrows) = nrows else {
                    return Ok(Tensor::Struct(structure));
                };
                let inner = structure.into_fields().into_iter().zip(fields).map(|(t, f)| conform(t, &f.ty)).collect::<Result<_>>()?;
                Tensor::structure(nrows, inner, validity)
            }
            other => Ok(other),
        }
    }
    level(tensor.without_item_sizes(), ty, 0)
}
