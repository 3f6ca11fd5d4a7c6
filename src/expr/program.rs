//! Bound programs: the assignments of `map`, the condition of `filter`, the keys of `sort` and `bucket`.

use super::bind::{Binder, Scope};
use super::call::{Written, as_node, is_map, shape_vector, subscript};
use super::constants;
use super::error::{ExprError, ExprResult, compare};
use super::eval::{CallNode, Frame, Node, NodeKind, UNNAMED, Value};
use super::fields::{FieldIndex, type_with_field, unknown_in, with_field};
use super::functions;
use super::kernels::random::keys;
use super::operand::{LAMBDA, Operand, OperandKind};
use super::span::name_text;
use super::syntax::{Assignment, Expr, ExprKind, Target, parse_expression, parse_statements};
use super::types::outermost_uniform;
use crate::chunk::Chunk;
use crate::error::{Error, Reason, Result};
use crate::options::Options;
use crate::path::in_expression;
use crate::schema::facts::Storage;
use crate::schema::{DType, Element, Field, Literal, Schema, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, UInt64Array};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// Assignments bound to a schema.
pub struct Program {
    instructions: Vec<Instruction>,
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
    /// Any error that can be found before the first record, with the place underlined.
    pub fn bind(text: &str, schema: &Schema, options: &Options) -> Result<Program> {
        Program::bound(text, schema, options).map_err(|e| in_backquotes(e, text, schema))
    }

    fn bound(text: &str, schema: &Schema, options: &Options) -> Result<Program> {
        let constants = constants::constants(options)?;
        let statements = parse_statements(text).map_err(|e| e.into_error(text))?;
        let mut binding = Binding {
            scope: Scope::of_fields(&schema.fields, constants),
            fields: schema.fields.iter().enumerate().map(|(i, f)| (f.clone(), i)).collect(),
            nslots: schema.fields.len(),
            instructions: Vec::new(),
            text: text.into(),
        };
        for statement in &statements {
            binding.statement(statement).map_err(|e| e.or_at(statement.span.clone()).into_error(text))?;
        }
        let (fields, columns) = binding.fields.into_iter().unzip();
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
        Ok(Program { instructions: binding.instructions, columns, schema, nslots: binding.nslots, seed, grows })
    }

    /// Whether results may take many times the memory of the chunk.
    pub fn grows(&self) -> bool {
        self.grows
    }

    /// The memory of the columns after the assignments, or of the largest result on the way to them; `None` if they
    /// cannot be computed.
    pub fn most_nbytes(&self, chunk: &Chunk) -> Option<usize> {
        let most = Rc::new(Cell::new(0));
        match self.evaluated(chunk.clone(), Some(most.clone())) {
            Ok(result) => Some(most.get().max(result.nbytes())),
            Err(error) => is_too_large(&error).then_some(usize::MAX),
        }
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
        if !self.grows || chunk.nrows <= 1 {
            return self.evaluated(chunk, None);
        }
        match self.evaluated(chunk.clone(), None) {
            // What is too large for a record must not depend on the records beside it.
            Err(error) if is_too_large(&error) => {
                let middle = chunk.nrows / 2;
                let first = self.apply(chunk.slice(0, middle))?;
                Chunk::concat(&[first, self.apply(chunk.slice(middle, chunk.nrows - middle)).map_err(|e| after(middle, e))?])
            }
            result => result,
        }
    }

    fn evaluated(&self, chunk: Chunk, most_nbytes: Option<Rc<Cell<usize>>>) -> Result<Chunk> {
        let nrows = chunk.nrows;
        let mut slots: Vec<Option<Value>> = chunk.columns.iter().cloned().map(|c| Some(Value::column(c))).collect();
        slots.resize(self.nslots, None);
        let keys = self.seed.map(|seed| record_keys(&chunk, seed)).transpose()?;
        let mut frame = Frame { nrows, slots, keys, params: Vec::new(), most_nbytes };
        for instruction in &self.instructions {
            match instruction {
                Instruction::Set { node, slot } => frame.slots[*slot] = Some(node.eval(&frame)?),
                Instruction::Unpack { call, slots } => {
                    for (slot, value) in slots.iter().zip(call.eval(&frame)?) {
                        frame.slots[*slot] = Some(value);
                    }
                }
                Instruction::Update { outer, path, value, slot } => {
                    let find =
                        |slot: usize| frame.slots.get(slot).cloned().flatten().ok_or_else(|| Error::internal("a name without a value"));
                    let structure = find(*outer)?;
                    let value = value.map(&find).transpose()?;
                    let tensor = structure.full(nrows)?;
                    let value = value.map(|v| v.full(nrows).map(std::borrow::Cow::into_owned)).transpose()?;
                    frame.slots[*slot] = Some(Value::column(with_field(&tensor, path, value.as_ref())?));
                }
            }
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
        Chunk::try_new(nrows, columns, chunk.origin)
    }
}

/// The record keys of a chunk, from which random numbers are drawn.
fn record_keys(chunk: &Chunk, seed: u64) -> Result<Value> {
    let keys = UInt64Array::from(keys(&chunk.origin, chunk.nrows, seed)?);
    Ok(Value::column(Tensor::Leaf(Arc::new(keys))))
}

struct Binding {
    scope: Scope,
    /// The current fields of the record, and their slots.
    fields: Vec<(Field, usize)>,
    nslots: usize,
    instructions: Vec<Instruction>,
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
                return Err(ExprError::at(statement.value.span.clone(), "a field cannot be None"));
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
                        1 => "this gives a list of one tensor".to_owned(),
                        n => format!("this gives {n} tensors for one name"),
                    },
                )
                .help(several_names(&target.path, call.outputs.len(), self.text.get(statement.value.span.clone()))));
            }
            let slot = self.value(&item)?;
            return self.assign(target, slot);
        }
        let n = statement.targets.len();
        if let OperandKind::Results(call) = &item.kind {
            if call.outputs.len() != n {
                return Err(ExprError::at(
                    statement.value.span.clone(),
                    format!("this gives {} tensors for {n} names", call.outputs.len()),
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

    /// Binds a name to a value that is not a tensor: a dictionary, a list of dictionaries, a RowPartition, a dtype, a
    /// shape or a function. The field with that name holds what can be stored in a file; a function has no field.
    fn held(&mut self, name: &str, target: &Target, item: &Operand) -> ExprResult<bool> {
        let item = self.settled(item)?;
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
                    self.call("StructuredTensor.from_fields", &Operand { kind: OperandKind::Dict(fields), span: item.span.clone() })?;
                let value = self.value(&structure)?;
                self.assign(target, value)?;
                return Ok(true);
            }
            OperandKind::Dict(entries) => {
                // Dictionaries whose keys cannot be field names are still bound.
                let named = entries.iter().all(|(key, _)| matches!(key.kind, OperandKind::Literal(Literal::String(_))));
                let constant = entries.iter().all(|(_, value)| is_python_value(value));
                let tensors = entries.iter().all(|(_, value)| as_node(value, None).is_ok());
                let maker = if constant { "StructuredTensor.from_pyval" } else { "StructuredTensor.from_fields" };
                if named && (constant || tensors) { self.call(maker, &item).ok() } else { None }
            }
            OperandKind::List(items) if !items.is_empty() && items.iter().any(holds_dict) => {
                Some(self.call("StructuredTensor.from_pyval", &item)?)
            }
            _ => return Ok(false),
        };
        match column {
            Some(column) => {
                let value = self.value(&column)?;
                self.assign(target, value)?;
            }
            None => {
                // A name has only one meaning, so a field with that name is removed.
                self.fields.retain(|(f, _)| f.name != name);
                self.scope.names.retain(|(n, ..)| n != name);
                self.scope.values.retain(|(n, _)| n != name);
            }
        }
        self.scope.values.push((name.to_owned(), item.kind));
        Ok(true)
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
        let OperandKind::Dict(entries) = &item.kind else {
            return Ok(item.clone());
        };
        let mut out = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let settled = match value.node() {
                Some(node) if !matches!(node.kind, NodeKind::Slot { .. } | NodeKind::Constant(_)) => {
                    let (slot, ty) = self.value(value)?;
                    let node = Node { ty, span: value.span.clone(), kind: NodeKind::Slot { slot, name: UNNAMED.into(), map: false } };
                    Operand { kind: OperandKind::Tensor(node), span: value.span.clone() }
                }
                _ => self.settled(value)?,
            };
            out.push((key.clone(), settled));
        }
        Ok(Operand { kind: OperandKind::Dict(out), span: item.span.clone() })
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
        let whole = Node { ty, span: span.clone(), kind: NodeKind::Slot { slot, name: UNNAMED.into(), map: false } };
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
        if is_map(&node) {
            self.scope.maps.push(slot);
        }
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
        let mut field = Field::new(name, ty.clone());
        if self.scope.maps.contains(&slot) {
            field.storage = Storage::Map { declared: false, rank: ty.rank() };
        }
        match self.fields.iter_mut().find(|(f, _)| f.name == name) {
            Some(found) => *found = (field, slot),
            None => self.fields.push((field, slot)),
        }
        match self.scope.names.iter_mut().find(|(n, ..)| n == name) {
            Some(found) => *found = (name.to_owned(), ty, slot),
            None => self.scope.names.push((name.to_owned(), ty, slot)),
        }
    }

    fn delete(&mut self, target: &Target) -> ExprResult<()> {
        let [outer, inner @ ..] = target.path.as_slice() else {
            return Err(ExprError::at(target.span.clone(), "an assignment needs a name"));
        };
        if !inner.is_empty() {
            return self.update(target, outer, inner, None);
        }
        let fields: Vec<Field> = self.fields.iter().map(|(f, _)| f.clone()).collect();
        if !fields.iter().any(|f| f.name == *outer) {
            return Err(unknown_in(&fields, outer, "").or_at(target.span.clone()).help("= None deletes a field"));
        }
        self.fields.retain(|(f, _)| f.name != *outer);
        self.scope.values.retain(|(n, _)| n != outer);
        self.scope.names.retain(|(n, ..)| n != outer);
        Ok(())
    }

    fn update(&mut self, target: &Target, outer: &str, inner: &[String], value: Option<(usize, Type)>) -> ExprResult<()> {
        let fields: Vec<Field> = self.fields.iter().map(|(f, _)| f.clone()).collect();
        let Some(at) = fields.iter().position(|f| f.name == outer) else {
            return Err(unknown_in(&fields, outer, "").or_at(target.span.clone()));
        };
        let outer_slot = self.fields[at].1;
        let mut path = Vec::new();
        let ty = type_with_field(&fields[at].ty, &[], outer, inner, value.as_ref().map(|(_, ty)| ty), &mut path)
            .map_err(|e| e.or_at(target.span.clone()))?;
        let slot = self.new_slot();
        self.instructions.push(Instruction::Update { outer: outer_slot, path, value: value.map(|(slot, _)| slot), slot });
        self.put(outer, slot, ty);
        Ok(())
    }
}

/// Whether a dictionary is among the items.
fn holds_dict(item: &Operand) -> bool {
    match &item.kind {
        OperandKind::Dict(_) => true,
        OperandKind::List(items) => items.iter().any(holds_dict),
        _ => false,
    }
}

/// Whether it consists only of literals, lists and dictionaries.
fn is_python_value(item: &Operand) -> bool {
    match &item.kind {
        OperandKind::Dict(entries) => entries.iter().all(|(_, value)| is_python_value(value)),
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

/// The tensor with uniform partitions for axes whose size the type knows.
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
    level(tensor, ty, 0)
}

/// A scalar for each record.
pub struct ScalarExpr {
    text: Arc<str>,
    node: Node,
    nslots: usize,
    /// The seed of the record keys, if random numbers are drawn.
    seed: Option<u64>,
    /// Whether results on the way to the scalar may take many times the memory of the chunk.
    grows: bool,
}

/// Binds an expression that gives a scalar for each record. Nulls are allowed only if the expression is a field.
///
/// # Errors
/// Any error that can be found before the first record.
pub fn bind_scalar(text: &str, schema: &Schema, options: &Options) -> Result<ScalarExpr> {
    bound_scalar(text, schema, options).map_err(|e| in_backquotes(e, text, schema))
}

fn bound_scalar(text: &str, schema: &Schema, options: &Options) -> Result<ScalarExpr> {
    let constants = constants::constants(options)?;
    let scope = Scope::of_fields(&schema.fields, constants);
    let expr = parse_expression(text).map_err(|e| e.into_error(text))?;
    let binder = Binder { scope: &scope, text: text.into() };
    if let ExprKind::Tuple(items) = &expr.kind {
        let error = ExprError::at(expr.span.clone(), format!("expected one value in each record, found {}", items.len()));
        return Err(combined(&binder, items).into_iter().fold(error, ExprError::help).into_error(text));
    }
    let node = binder.tensor(&expr).map_err(|e| e.into_error(text))?;
    if node.ty.rank() > 0 || node.ty.dtype().is_none() || node.ty.is_sparse() {
        let message = format!("expected a scalar in each record, found {}", super::operand::describe(&node.ty));
        return Err(ExprError::at(expr.span, message)
            .help(match (node.ty.dtype(), node.ty.fields()) {
                (Some(DType::Bool), _) => {
                    "reduce_any(x) and reduce_all(x) give one bool; is_null(x, level=0) tests the whole field".to_owned()
                }
                (_, Some(fields)) if node.ty.rank() == 0 => members(text, fields),
                (_, Some(_)) => "len(x) is the size of axis 0".to_owned(),
                _ => "len(x) is the size of axis 0; reduce_max(x), x[0] give single values".to_owned(),
            })
            .into_error(text));
    }
    let seed = node.is_random().then_some(options.seed);
    if node.is_constant()
        && let Some(name) = quoted_field(&expr, &schema.fields)
    {
        let field = in_expression(&name);
        let text = format!("{text}: the same for all records, because {name:?} is a string; the field is {field}");
        options.notices.add(text, options.strict)?;
    }
    let grows = node.broadcasts() || names_growing(&expr);
    Ok(ScalarExpr { text: text.into(), node, nslots: schema.fields.len(), seed, grows })
}

/// Names the fields of the structure written as `text`.
fn members(text: &str, fields: &[Field]) -> String {
    let names: Vec<String> = fields.iter().take(5).map(|field| format!("{text}.{}", name_text(&field.name))).collect();
    format!("name one of its fields: {}", names.join(", "))
}

/// Advice for several scalars in place of one: conditions are joined with `and`, other values as text.
fn combined(binder: &Binder, items: &[Expr]) -> Option<String> {
    let written = |item: &Expr| binder.text.get(item.span.clone()).map(str::to_owned);
    let mut texts = Vec::new();
    let mut conditions = Vec::new();
    for item in items {
        let ty = binder.tensor(item).ok()?.ty;
        let dtype = ty.dtype().filter(|_| ty.rank() == 0 && !ty.is_sparse())?;
        conditions.extend(written(item).filter(|_| *dtype == DType::Bool));
        texts.push(if *dtype == DType::String { written(item)? } else { format!("strings.as_string({})", written(item)?) });
    }
    Some(match conditions.len() == items.len() {
        true => format!("join conditions with `and`: {}", conditions.join(" and ")),
        false => format!("combine them in one string: {}", texts.join(" + \"/\" + ")),
    })
}

impl ScalarExpr {
    /// The type of the scalar.
    pub fn ty(&self) -> &Type {
        &self.node.ty
    }

    /// Evaluates the scalar for every record: a leaf with `chunk.nrows` values.
    ///
    /// # Errors
    /// Invalid data; the error names the row if a single row caused it.
    pub fn eval(&self, chunk: &Chunk) -> Result<Tensor> {
        const LIMIT: usize = 8 << 20;
        if !self.grows || chunk.nrows <= 1 {
            return self.evaluated(chunk, None);
        }
        let rows = chunk.rows_that_fit(LIMIT, |part| {
            let most = Rc::new(Cell::new(0));
            match self.evaluated(part, Some(most.clone())) {
                Ok(_) => Some(most.get()),
                Err(error) => is_too_large(&error).then_some(usize::MAX),
            }
        });
        if rows == chunk.nrows {
            return self.evaluated_below_limit(chunk);
        }
        let parts = (0..chunk.nrows).step_by(rows).map(|start| {
            let part = chunk.slice(start, rows.min(chunk.nrows - start));
            self.evaluated_below_limit(&part).map_err(|e| after(start, e))
        });
        Tensor::concat(&parts.collect::<Result<Vec<_>>>()?.iter().collect::<Vec<_>>())
    }

    /// The scalars of a chunk, of fewer records at a time if they would be too large.
    fn evaluated_below_limit(&self, chunk: &Chunk) -> Result<Tensor> {
        match self.evaluated(chunk, None) {
            Err(error) if is_too_large(&error) && chunk.nrows > 1 => {
                let middle = chunk.nrows / 2;
                let first = self.evaluated_below_limit(&chunk.slice(0, middle))?;
                let second = self.evaluated_below_limit(&chunk.slice(middle, chunk.nrows - middle)).map_err(|e| after(middle, e))?;
                Tensor::concat(&[&first, &second])
            }
            result => result,
        }
    }

    fn evaluated(&self, chunk: &Chunk, most_nbytes: Option<Rc<Cell<usize>>>) -> Result<Tensor> {
        let mut slots: Vec<Option<Value>> = chunk.columns.iter().cloned().map(|c| Some(Value::column(c))).collect();
        slots.resize(self.nslots, None);
        let keys = self.seed.map(|seed| record_keys(chunk, seed)).transpose()?;
        let value = self.node.eval(&Frame { nrows: chunk.nrows, slots, keys, params: Vec::new(), most_nbytes });
        let value = value.map_err(|error| match is_too_large(&error) && chunk.nrows > 1 {
            true => error,
            false => error.because(Reason::Expression(self.text.to_string())),
        })?;
        Ok(value.full(chunk.nrows)?.into_owned())
    }

    /// For a bool, the rows where it is true.
    ///
    /// # Errors
    /// See [`ScalarExpr::eval`]; also if the scalar is not a bool.
    pub fn rows_where_true(&self, chunk: &Chunk) -> Result<Vec<usize>> {
        let tensor = self.eval(chunk)?;
        let bits: &BooleanArray = tensor.as_leaf()?.as_boolean_opt().ok_or_else(|| Error::internal("a condition that is not a bool"))?;
        Ok((0..chunk.nrows).filter(|row| bits.value(*row)).collect())
    }

    /// Rejects anything other than a bool without nulls.
    ///
    /// # Errors
    /// A usage error with the actual type.
    pub fn into_condition(self, text: &str) -> Result<ScalarExpr> {
        let span = 0..text.len();
        if self.node.ty.dtype() != Some(&DType::Bool) {
            let advice = compare(text, &span, "!=", self.node.ty.dtype());
            return Err(ExprError::at(span, format!("expected a bool in each record, found {}", self.node.ty))
                .help(advice)
                .into_error(text));
        }
        let node = super::call::strict(self.node).map_err(|e| e.into_error(text))?;
        Ok(ScalarExpr { node, ..self })
    }
}

/// The fields that a text reads and those that it assigns, for demand pushdown; `None` if the text cannot be parsed
/// (binding will report the error).
pub fn names_used(text: &str, statements: bool) -> Option<Used> {
    let mut used = Used::default();
    if statements {
        for statement in parse_statements(text).ok()? {
            collect(&statement.value, &mut used.read);
            for target in &statement.targets {
                let Some(first) = target.path.first() else { continue };
                if target.path.len() > 1 || statement.value.kind == ExprKind::None {
                    // The rest of the field is kept, or its absence is an error, so the field is read.
                    if !used.written.contains(first) {
                        used.read.insert(first.clone());
                    }
                } else if !used.read.contains(first) {
                    used.written.insert(first.clone());
                }
            }
        }
    } else {
        collect(&parse_expression(text).ok()?, &mut used.read);
    }
    Some(used)
}

/// Field names in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Fields that may be read.
    pub read: BTreeSet<String>,
    /// Names that are assigned before they can be read.
    pub written: BTreeSet<String>,
}

/// The error, with advice if the text has the name of a field that is not an identifier, such as `First Name` or `2nd`.
fn in_backquotes(error: Error, text: &str, schema: &Schema) -> Error {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '`' | '"' | '\'');
    let is_alone = |at: usize, name: &str| !text[..at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word);
    let occurs = |name: &str| name.len() > 1 && text.match_indices(name).any(|(at, _)| is_alone(at, name));
    let names = schema.fields.iter().map(|field| field.name.as_str());
    let longest = names.filter(|name| in_expression(name) != **name && occurs(name)).max_by_key(|name| name.len());
    match longest {
        Some(name) if error.helps().iter().any(|help| help.contains(&in_expression(name))) => error,
        Some(name) => error.help(format!("the field {name} is written in backquotes: {}", in_expression(name))),
        None => error,
    }
}

/// A string in the expression that is the name of a field.
fn quoted_field(expr: &Expr, fields: &[Field]) -> Option<String> {
    if let ExprKind::Str(text) = &expr.kind {
        return fields.iter().any(|field| field.name == *text).then(|| text.clone());
    }
    let mut found = None;
    expr.children(&mut |child| found = found.take().or_else(|| quoted_field(child, fields)));
    found
}

/// Whether an expression uses a function whose result may take many times the memory of its arguments.
fn names_growing(expr: &Expr) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Name { name, .. } | ExprKind::Attribute { name, .. } => functions::grows(name),
        _ => false,
    };
    expr.children(&mut |child| found |= names_growing(child));
    found
}

/// The error of a part of a chunk that begins at this row.
fn after(start: usize, error: Error) -> Error {
    error.locate(|at| at.row = at.row.map(|row| row + start))
}

fn is_too_large(error: &Error) -> bool {
    matches!(error.reason(), Some(Reason::TooLarge))
}

fn collect(expr: &Expr, names: &mut BTreeSet<String>) {
    if let ExprKind::Name { name, .. } = &expr.kind {
        names.insert(name.clone());
    }
    expr.children(&mut |child| collect(child, names));
}
