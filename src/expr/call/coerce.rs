//! Items as tensors: literals become constants, dtypes are unified, nulls are rejected, and constants are evaluated.

use super::dicts::{structure, structures};
use super::fold::computed;
use super::pack::pack;
use crate::error::{Result, mismatch};
use crate::expr::error::{ExprError, ExprResult, conversion, text_at};
use crate::expr::eval::{AllowedNulls, Node, NodeKind};
use crate::expr::kernels::{cast, entries};
use crate::expr::literal;
use crate::expr::nulls::UNNAMED;
use crate::expr::operand::{self, Operand, OperandKind};
use crate::expr::span::Span;
use crate::expr::types::{self, may_hold_nulls, promote, without_nulls};
use crate::path::FieldPath;
use crate::schema::literal::quote;
use crate::schema::notation::{declaration, schema_option};
use crate::schema::time::TimeKind;
use crate::schema::{DType, Element, Field, Literal, Type};
use crate::tensor::Tensor;
use arrow_array::ArrayRef;
use std::sync::Arc;

/// Converts an item to a tensor. Literals become constants, of `dtype` if it holds them.
///
/// # Errors
/// The item is not a tensor but None, a dict, a dtype, ...
pub fn as_node(item: &Operand, dtype: Option<&DType>) -> ExprResult<Node> {
    node_of(item, dtype).map_err(|e| e.or_at(item.span.clone()))
}

/// Like [`as_node`], but the tensor must be usable in computations; see [`strict`].
///
/// # Errors
/// The item is not a tensor, or has a foreign dtype.
pub fn strict_node(item: &Operand) -> ExprResult<Node> {
    strict(as_node(item, None)?)
}

fn node_of(item: &Operand, dtype: Option<&DType>) -> ExprResult<Node> {
    // A row partition becomes the rows of its value indices.
    if let OperandKind::Partition(node) = &item.kind {
        return Ok(node.clone());
    }
    if let Some(node) = item.node() {
        return Ok(node.clone());
    }
    if let Some(literal) = item.literal().filter(|l| *l != Literal::None) {
        let dtype = dtype.filter(|d| literal::holds(d, &literal));
        let (ty, tensor) = literal::plain(&literal, dtype)?;
        return Ok(operand::constant(tensor, ty, item.span.clone()));
    }
    match &item.kind {
        OperandKind::Dict(entries, None) => structure(entries, |item| as_node(item, None)),
        OperandKind::List(items) | OperandKind::Tuple(items)
            if items.iter().any(is_dict) && items.iter().all(is_structure) && !items.iter().all(is_dict) =>
        {
            pack(alike(items, "a list", &Arc::from(""))?, item.span.clone())
        }
        OperandKind::List(items) | OperandKind::Tuple(items) if items.iter().any(is_dict) => {
            structures(items, &item.span, |item| as_node(item, None))
        }
        OperandKind::List(items) | OperandKind::Tuple(items) if items.iter().any(Operand::is_none) => {
            Err(ExprError::new("a list of tensors cannot contain None").help(NULLS))
        }
        OperandKind::List(items) | OperandKind::Tuple(items) | OperandKind::Shape(items) if !items.is_empty() => {
            pack(alike(items, "stack", &Arc::from(""))?, item.span.clone())
        }
        OperandKind::Results(call) if !call.names.is_empty() => {
            let message = mismatch("a tensor", format_args!("{} results: {}", call.names.len(), call.names.join(", ")));
            Err(ExprError::new(message).help(format!("select one: .{}", call.names.join(", ."))))
        }
        OperandKind::Function(function) => {
            let error = ExprError::new(mismatch("a tensor", item.describe()));
            Err(if function.name == operand::LAMBDA { error } else { error.help(format!("write {}(...)", function.name)) })
        }
        OperandKind::Results(_) => match item.elements() {
            Some(items) if !items.is_empty() => pack(alike(&items, "stack", &Arc::from(""))?, item.span.clone()),
            _ => Err(ExprError::new(mismatch("a tensor", "an empty list"))),
        },
        _ => {
            let error = ExprError::new(mismatch("a tensor", item.describe()));
            Err(if item.is_none() { error.help(NULLS) } else { error })
        }
    }
}

/// How to write nulls.
pub const NULLS: &str = "for null where a condition is true: where(condition, None, x)";

fn is_dict(item: &Operand) -> bool {
    matches!(item.kind, OperandKind::Dict(..))
}

fn is_structure(item: &Operand) -> bool {
    is_dict(item) || item.node().is_some_and(|node| node.ty.fields().is_some())
}

/// Whether an item is structures: a tensor of them, a dictionary, or a list with either.
pub fn is_of_structures(item: &Operand) -> bool {
    is_structure(item) || item.elements().is_some_and(|items| items.iter().any(is_structure))
}

/// Tensors to be joined, which may hold nulls: of one dtype, or structures of one type.
///
/// # Errors
/// Strings mixed with numbers, structures with different fields, or items that are not tensors.
pub fn alike(list: &[Operand], name: &str, text: &Arc<str>) -> ExprResult<Vec<Node>> {
    if !list.iter().all(is_of_structures) {
        return common_of(list, name, text, moved_node);
    }
    let fields = list.iter().filter(|item| !is_dict(item)).find_map(|item| item.node()?.ty.fields());
    let moved = |item: &Operand| match fields {
        Some(fields) => moved_node(&adapted(item, fields)?),
        None => moved_node(item),
    };
    let nodes = list.iter().map(moved).collect::<ExprResult<Vec<_>>>()?;
    let Some(first) = nodes.first() else { return Ok(nodes) };
    let mut element = first.ty.element.clone();
    for (item, node) in list.iter().zip(&nodes) {
        element = common_element(&element, &node.ty.element, node.ty.rank() > 0).ok_or_else(|| {
            let why = difference(&element, &node.ty.element).unwrap_or_else(|| "these differ".to_owned());
            ExprError::at(item.span.clone(), format!("{name} expects structures of the same type; {why}"))
        })?;
    }
    nodes.into_iter().map(|node| with_element(node, &element, text)).collect()
}

/// A dictionary, or a list of dictionaries, written beside structures with these fields: with the fields in this order, and
/// literals in the dtypes of the fields that hold them. Unchanged if it has other keys.
fn adapted(item: &Operand, fields: &[Field]) -> ExprResult<Operand> {
    let entry_of = |entries: &[(Operand, Operand)], field: &Field| {
        let name = Literal::String(field.name.clone());
        entries.iter().find(|(key, _)| key.literal().as_ref() == Some(&name)).cloned()
    };
    let kind = match &item.kind {
        OperandKind::Dict(entries, None) if entries.len() == fields.len() => {
            let own: Option<Vec<_>> = fields.iter().map(|field| entry_of(entries, field)).collect();
            let Some(own) = own else { return Ok(item.clone()) };
            let adapt = |((key, value), field): ((Operand, Operand), &Field)| Ok((key, adapted_value(&value, &field.ty)?));
            OperandKind::Dict(own.into_iter().zip(fields).map(adapt).collect::<ExprResult<_>>()?, None)
        }
        OperandKind::List(items) | OperandKind::Tuple(items) => {
            OperandKind::List(items.iter().map(|item| adapted(item, fields)).collect::<ExprResult<_>>()?)
        }
        _ => return Ok(item.clone()),
    };
    Ok(Operand { kind, span: item.span.clone() })
}

fn adapted_value(value: &Operand, ty: &Type) -> ExprResult<Operand> {
    match (&ty.element, value.literal()) {
        (Element::Value(dtype), Some(literal)) if literal != Literal::None && literal::holds(dtype, &literal) => {
            let node = constant_of(&literal, dtype, &value.span)?;
            Ok(Operand { kind: OperandKind::Tensor(node), span: value.span.clone() })
        }
        (Element::Struct(fields), _) => adapted(value, fields),
        _ => Ok(value.clone()),
    }
}

/// What differs between the fields of structures.
fn difference(a: &Element, b: &Element) -> Option<String> {
    let (Element::Struct(a), Element::Struct(b)) = (a, b) else { return None };
    let has = |fields: &[Field], name: &str| fields.iter().any(|field| field.name == name);
    if let Some(missing) = a.iter().find(|field| !has(b, &field.name)) {
        return Some(format!("this one has no field {}", missing.name));
    }
    if let Some(extra) = b.iter().find(|field| !has(a, &field.name)) {
        return Some(format!("the first has no field {}", extra.name));
    }
    a.iter().zip(b).find(|(a, b)| a.name != b.name || common_element(&a.ty.element, &b.ty.element, true).is_none()).map(|(a, b)| {
        if a.name != b.name {
            return "these have their fields in different orders".to_owned();
        }
        match difference(&a.ty.element, &b.ty.element) {
            Some(inner) => format!("in {}, {inner}", a.name),
            None => format!("{} is {} here and {} in the first", a.name, operand::describe(&b.ty), operand::describe(&a.ty)),
        }
    })
}

/// The common element type of structures to be joined: a text field is bytes if it is bytes in one of them, a field may be null
/// if it may in one of them, and an axis whose sizes differ is ragged. `has_rows`: the structures have axes. `None` if they
/// differ otherwise.
fn common_element(a: &Element, b: &Element, has_rows: bool) -> Option<Element> {
    let text = |a: &DType, b: &DType| matches!((a, b), (DType::String, DType::Bytes) | (DType::Bytes, DType::String));
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (Element::Value(a), Element::Value(b)) if text(a, b) => Some(Element::Value(DType::Bytes)),
        (Element::Sparse(a), Element::Sparse(b)) if text(a, b) => Some(Element::Sparse(DType::Bytes)),
        (Element::Struct(a), Element::Struct(b)) if a.len() == b.len() => {
            let fields = a.iter().zip(b).map(|(a, b)| {
                let element = common_element(&a.ty.element, &b.ty.element, has_rows || a.ty.rank() > 0)?;
                let (optional, with_nulls) = (a.ty.optional || b.ty.optional, a.ty.with_nulls || b.ty.with_nulls);
                let dims = if a.ty.is_sparse() { a.ty.dims.clone() } else { types::either(&a.ty.dims, &b.ty.dims, has_rows) };
                let is_alike = a.name == b.name && a.ty.rank() == b.ty.rank() && (!a.ty.is_sparse() || a.ty.dims == b.ty.dims);
                is_alike.then(|| Field { ty: Type { element, dims, optional, with_nulls }, ..a.clone() })
            });
            fields.collect::<Option<Vec<_>>>().map(Element::Struct)
        }
        _ => None,
    }
}

/// A structure converted to that element type: text fields may be bytes instead, and axes ragged.
fn with_element(node: Node, element: &Element, text: &Arc<str>) -> ExprResult<Node> {
    if node.ty.element == *element {
        return Ok(node);
    }
    let (from, to) = (node.ty.clone(), Type { element: element.clone(), ..node.ty.clone() });
    let (ty, span) = (to.clone(), node.span.clone());
    computed(vec![node], ty, span, text.clone(), move |args| args.tensor(0)?.widen(&from, &to))
}

/// Items as tensors of one dtype; see [`Call::promoted`].
///
/// # Errors
/// Strings mixed with numbers, structures, or items that are not tensors.
pub fn common(items: &[Operand], name: &str, text: &Arc<str>) -> ExprResult<Vec<Node>> {
    common_of(items, name, text, strict_node)
}

/// Like [`common`], for tensors to be moved, which may hold nulls.
///
/// # Errors
/// See [`common`].
pub fn common_moved(items: &[Operand], name: &str, text: &Arc<str>) -> ExprResult<Vec<Node>> {
    common_of(items, name, text, moved_node)
}

/// Like [`common`], for tensors to be compared, which may be times.
///
/// # Errors
/// See [`common`].
pub fn common_compared(items: &[Operand], name: &str, text: &Arc<str>) -> ExprResult<Vec<Node>> {
    common_of(items, name, text, kept_node)
}

fn common_of(items: &[Operand], name: &str, text: &Arc<str>, of: fn(&Operand) -> ExprResult<Node>) -> ExprResult<Vec<Node>> {
    // The tensors determine the dtype first, then any literals that it does not hold.
    let mut dtype: Option<DType> = None;
    let mut nodes: Vec<Option<Node>> = Vec::with_capacity(items.len());
    for item in items {
        if item.is_literal() {
            nodes.push(None);
            continue;
        }
        let node = of(item)?;
        let found = node.ty.dtype().cloned().filter(|_| !node.ty.is_sparse());
        let Some(found) = found else {
            return Err(ExprError::at(item.span.clone(), format!("{name} expects a tensor, found {}", item.describe())));
        };
        dtype = Some(match dtype {
            None => found,
            Some(before) => promote(&before, &found).ok_or_else(|| clash(name, text, &item.span, false, &before, &found))?,
        });
        nodes.push(Some(node));
    }
    let dtype = with_literals(items, dtype, name, text)?;
    items
        .iter()
        .zip(nodes)
        .map(|(item, node)| match node {
            Some(node) => cast_node(node, &dtype, text),
            None => constant_of(&item.literal().unwrap_or(Literal::None), &dtype, &item.span),
        })
        .collect()
}

/// Whether all values of a literal are strings.
fn is_text(literal: &Literal) -> bool {
    match literal {
        Literal::List(items) => items.iter().all(is_text),
        other => matches!(other, Literal::String(_)),
    }
}

/// A literal as a tensor of that dtype.
fn constant_of(literal: &Literal, dtype: &DType, span: &Span) -> ExprResult<Node> {
    let (ty, tensor) = literal::plain(literal, Some(dtype)).map_err(|e| e.or_at(span.clone()))?;
    Ok(operand::constant(tensor, ty, span.clone()))
}

/// Turns literals into tensors of the dtype to which the tensors among the items are promoted, if it holds them.
///
/// # Errors
/// A list whose rows differ in depth.
pub fn take_dtype(items: Vec<&mut Operand>) -> ExprResult<()> {
    let dtypes = items
        .iter()
        .filter_map(|item| item.node())
        .map(|node| node.ty.dtype().filter(|dtype| dtype.is_number() || dtype.time().is_some()).cloned());
    let Some(dtype) = dtypes.reduce(|a, b| promote(&a?, &b?)).flatten() else { return Ok(()) };
    for item in items {
        if let Some(literal) = item.literal().filter(|literal| *literal != Literal::None && literal::holds(&dtype, literal)) {
            item.kind = OperandKind::Tensor(constant_of(&literal, &dtype, &item.span)?);
        }
    }
    Ok(())
}

/// The dtype of the tensors among the items, widened for the literals that it does not hold.
fn with_literals(items: &[Operand], of_tensors: Option<DType>, name: &str, text: &Arc<str>) -> ExprResult<DType> {
    let literals_only = of_tensors.is_none();
    let mut dtype = of_tensors;
    for item in items.iter().filter(|item| item.is_literal()) {
        let Some(literal) = item.literal().filter(|l| *l != Literal::None) else {
            let error = ExprError::at(item.span.clone(), "None is not a tensor");
            // A shape contains None for each size that is not known.
            return Err(if text.get(item.span.clone()) == Some("None") { error.help(NULLS) } else { error });
        };
        if dtype.as_ref().is_some_and(|before| literal::holds(before, &literal)) {
            continue;
        }
        if let Some(time) = dtype.as_ref().filter(|before| before.time().is_some() && is_text(&literal)) {
            // Not a time: the error says why.
            constant_of(&literal, time, &item.span)?;
        }
        let own = literal::plain(&literal, None).map_err(|e| e.or_at(item.span.clone()))?.0.dtype().cloned().unwrap_or(DType::Float32);
        dtype = Some(match dtype {
            None => own,
            // As in a list, 1 is a float32 next to 0.5.
            Some(_) if literals_only && own.is_float() && hold_all(&own, items) => own,
            Some(before) => {
                let wide = promote(&before, &own).ok_or_else(|| {
                    let error = clash(name, text, &item.span, true, &before, &own);
                    if let Some((lead, meant)) = requoted(name, text, &item.span, &literal, &before) {
                        let is_number = own.is_number();
                        let parsed = is_number.then_some("to parse strings as numbers: strings.to_number(x, int64)");
                        return error.meant(lead, meant).help_if(parsed);
                    }
                    match text.get(item.span.clone()).filter(|word| before == DType::String && is_name(word)) {
                        Some(arg) => error.help(format!("--arg '{arg}=\"...\"', including the inner quotes, passes a string")),
                        None => error,
                    }
                })?;
                // A fraction is outside the range of the narrow float dtype chosen; bools are within that of any.
                if wide.is_float() && own != DType::Bool && !literal::holds(&wide, &literal) { DType::Float64 } else { wide }
            }
        });
    }
    Ok(dtype.unwrap_or(DType::Float32))
}

/// The text with a literal of the operator `name` at `span` with or without quotes, as values of `dtype` are written, and what
/// to say before it.
fn requoted(name: &str, text: &Arc<str>, span: &Span, literal: &Literal, dtype: &DType) -> Option<(&'static str, String)> {
    let written = text.get(span.clone())?;
    let is_quoted = written.starts_with(['"', '\'']);
    let (lead, own) = match literal {
        Literal::String(own) if dtype.is_number() && is_quoted && own.parse::<f64>().is_ok_and(f64::is_finite) => {
            ("a number has no quotes:", own.clone())
        }
        Literal::Int(_)
            if *dtype == DType::String && name.contains(['+', '=', '<', '>']) && written.bytes().all(|b| b.is_ascii_digit()) =>
        {
            ("a string needs quotes:", quote(written))
        }
        _ => return None,
    };
    Some((lead, format!("{}{own}{}", text.get(..span.start)?, text.get(span.end..)?)))
}

/// The error for the item at `span`, of dtype `b`, next to items of dtype `a`.
fn clash(name: &str, text: &Arc<str>, span: &Span, is_literal: bool, a: &DType, b: &DType) -> ExprError {
    let does = if name.contains(['=', '<', '>']) { "compare" } else { "combine" };
    let error = ExprError::at(span.clone(), format!("{name} cannot {does} {a} and {b}"));
    if let (Some(_), Some(_)) = (a.time(), b.time()) {
        return error.help("to convert a time: cast(x, \"timestamp[us]\")");
    }
    if [a, b].into_iter().any(|dtype| dtype.time().is_some()) {
        return error.help("times are written as text, such as \"2024-05-01T12:30:00\"; for a count of their units: cast(x, int64)");
    }
    let is_text = [a, b].into_iter().any(|dtype| matches!(dtype, DType::String | DType::Bytes));
    let number = [a, b].into_iter().find(|dtype| dtype.is_number());
    error.help(match number.filter(|_| is_text) {
        Some(number) => {
            let to = if number.is_float() { DType::Float64 } else { DType::Int64 };
            match if is_literal { "x" } else { text_at(text, span) } {
                "x" => format!("to convert a number to a string, use strings.as_string(x); to convert a string to a number, strings.to_number(x, {to})"),
                x if b.is_number() => {
                    format!("to convert it to a string, use strings.as_string({x}); to convert the string to a number, strings.to_number(x, {to})")
                }
                x => format!("to convert it to a number, use strings.to_number({x}, {to}); to convert the number to a string, strings.as_string(x)"),
            }
        }
        None if is_text && [a, b].contains(&&DType::Bool) => match if is_literal || *b != DType::Bool { "x" } else { text_at(text, span) } {
            "x" => "to convert bools to strings: strings.as_string(x)".to_owned(),
            x => format!("to convert it to a string: strings.as_string({x})"),
        },
        None => format!("to convert to numbers: cast(x, {})", number.unwrap_or(&DType::Int64)),
    })
}

/// Whether a dtype represents all these literals exactly.
fn hold_all(dtype: &DType, items: &[Operand]) -> bool {
    items.iter().all(|item| item.literal().is_some_and(|literal| literal::holds(dtype, &literal)))
}

/// Two items without promotion; `None` unless each is a tensor or a literal. A literal takes the dtype of the other
/// item, if that is a tensor whose dtype holds it; otherwise, a fraction is a float64, as in Python.
pub fn as_they_are(items: [&Operand; 2]) -> Option<[Node; 2]> {
    let node = |item: &Operand, other: &Operand| {
        let Some(literal) = item.literal() else { return as_node(item, None).ok() };
        let held = other.node().and_then(|node| node.ty.dtype()).filter(|dtype| literal::holds(dtype, &literal));
        let own = as_node(item, held).ok()?;
        if held.is_none() && own.ty.dtype() == Some(&DType::Float32) { as_node(item, Some(&DType::Float64)).ok() } else { Some(own) }
    };
    let [a, b] = items;
    Some([node(a, b)?, node(b, a)?])
}

/// Whether the text of a literal is the name of a value from the command line.
fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !matches!(text, "True" | "False" | "None")
}

/// Casts the tensor to another dtype.
///
/// # Errors
/// There is no such conversion.
pub fn cast_node(node: Node, dtype: &DType, text: &Arc<str>) -> ExprResult<Node> {
    converted(node, dtype, text, cast::cast)
}

/// Casts integers to int64 to be used as indices, sizes or lengths: what int64 does not hold becomes its largest value, which is
/// out of range wherever the value was.
///
/// # Errors
/// See [`cast_node`].
pub fn index_node(node: Node, text: &Arc<str>) -> ExprResult<Node> {
    converted(node, &DType::Int64, text, cast::saturated)
}

fn converted(node: Node, dtype: &DType, text: &Arc<str>, convert: fn(&ArrayRef, &DType) -> Result<ArrayRef>) -> ExprResult<Node> {
    if node.ty.dtype() == Some(dtype) {
        return Ok(node);
    }
    let from = node.ty.dtype().cloned().unwrap_or(DType::Null);
    if !cast::can_cast(&from, dtype) {
        let error = ExprError::at(node.span.clone(), format!("{from} cannot be converted to {dtype}"));
        return Err(error.help_if(conversion(text, &node.span, &from, dtype)));
    }
    let sparse = node.ty.is_sparse();
    let element = if sparse { Element::Sparse(dtype.clone()) } else { Element::Value(dtype.clone()) };
    let ty = Type { element, ..node.ty.clone() };
    let (levels, to) = (node.ty.rank(), dtype.clone());
    let span = node.span.clone();
    computed(vec![node], ty, span, text.clone(), move |args| {
        if sparse {
            let tensor = args.tensor(0)?;
            let s = entries::sparse(&tensor)?;
            return entries::with_values(s, convert(s.values(), &to)?);
        }
        args.tensor(0)?.map_below(levels, &mut |t| {
            let converted = Tensor::Leaf(convert(t.as_leaf()?, &to)?);
            if let Some(nulls) = t.validity() { converted.with_validity(Some(nulls)) } else { Ok(converted) }
        })
    })
}

/// The tensor, checked to have no nulls and a dtype that functions support.
///
/// # Errors
/// The tensor has a foreign dtype.
pub fn strict(node: Node) -> ExprResult<Node> {
    Ok(not_null(of_tensor_dtype(node)?))
}

/// The tensor, checked to have a dtype that functions support.
fn of_tensor_dtype(node: Node) -> ExprResult<Node> {
    if let Some(dtype) = node.ty.dtype()
        && !dtype.is_tensor()
    {
        let error = ExprError::at(node.span.clone(), format!("this operation does not accept {dtype}"));
        let name = match &node.kind {
            NodeKind::Slot { name, .. } | NodeKind::Field { name, .. } => Some(name.as_ref()),
            _ => None,
        };
        let own = name.and_then(|name| FieldPath::parse(name).ok());
        return Err(match own.filter(|path| *dtype == DType::Null && (path.names().len() == 1 || node.ty.dims.is_empty())) {
            Some(path) => error.help(valueless(&path, &node.ty)),
            None if dtype.time().is_some_and(|time| time.kind == TimeKind::Duration) => {
                error.help(format!("for numbers of seconds: {} / \"PT1S\"", name.unwrap_or("x")))
            }
            None if dtype.time().is_some() => {
                error.help(format!("to convert times to counts of their unit: cast({}, int64)", name.unwrap_or("x")))
            }
            None => error.help(computable(dtype, name)),
        });
    }
    Ok(node)
}

/// Advice on a field without a value in any record.
pub fn valueless(path: &FieldPath, ty: &Type) -> String {
    let ty = Type { element: Element::Value(DType::Int64), ..ty.clone() };
    format!("no record has a value here; declare its type, for example {}", schema_option(&declaration(path, &ty)))
}

/// Advice on converting values of a foreign dtype, in the field of that name, to a dtype that functions support.
pub fn computable(dtype: &DType, name: Option<&str>) -> String {
    let to = match dtype {
        DType::Null => return "no record has a value here; declare its dtype with --schema, such as 'x: int64[?]'".to_owned(),
        DType::Json => {
            let x = name.unwrap_or("x");
            return format!(
                "to convert it to text: strings.as_string({x}); if all its values have the same type, declare it with --schema, or parse it with the verb cast"
            );
        }
        DType::Arrow(ty) if ty.is_decimal() => Some("float64"),
        dtype => dtype.time().map(|_| "int64"),
    };
    match (to, name) {
        (Some(to), Some(name)) => format!("convert it first, with the verb `cast`: cast {name}={to} then ..."),
        (Some(to), None) => format!("convert it to {to} first, with the verb `cast`"),
        (None, _) => "values of this type can only be passed through unchanged".to_owned(),
    }
}

/// The tensor, checked to have no nulls, of any dtype.
pub fn not_null(node: Node) -> Node {
    without(node, AllowedNulls::None)
}

/// The tensor, checked not to be null itself; its contents may be.
pub fn present(node: Node) -> Node {
    without(node, AllowedNulls::InRows)
}

/// An item as a tensor of which whole values, which may be times, are selected or moved. It may hold nulls among its rows and
/// its items, but no null lists in between; see [`Node::moved_below`].
///
/// # Errors
/// The item is not a tensor, or has a foreign dtype.
pub fn moved_node(item: &Operand) -> ExprResult<Node> {
    let node = as_node(item, None)?;
    Ok(moved(if is_of_times(&node) { node } else { of_tensor_dtype(node)? }))
}

/// Whether a tensor holds times, which can be moved and compared but not computed with.
pub fn is_of_times(node: &Node) -> bool {
    node.ty.dtype().is_some_and(|dtype| dtype.time().is_some())
}

/// An item as a tensor without nulls whose values are moved or compared: they may be times.
///
/// # Errors
/// The item is not a tensor, or has another foreign dtype.
pub fn kept_node(item: &Operand) -> ExprResult<Node> {
    kept(as_node(item, None)?)
}

/// As [`kept_node`], for a tensor.
///
/// # Errors
/// It has another foreign dtype.
pub fn kept(node: Node) -> ExprResult<Node> {
    if is_of_times(&node) { Ok(not_null(node)) } else { strict(node) }
}

/// As [`moved_node`], for a tensor of any dtype.
pub fn moved(node: Node) -> Node {
    let axes = node.ty.rank();
    match () {
        () if node.ty.is_sparse() => not_null(node),
        () if node.ty.with_nulls && axes > 1 => without(node, AllowedNulls::Moved(axes)),
        () => node,
    }
}

fn without(node: Node, allowed: AllowedNulls) -> Node {
    let is_moved = matches!(allowed, AllowedNulls::Moved(_));
    if !may_hold_nulls(&node.ty) {
        return node;
    }
    let name = match &node.kind {
        NodeKind::Slot { name, .. } | NodeKind::Field { name, .. } | NodeKind::NotNull { name, .. } => name.clone(),
        _ => UNNAMED.into(),
    };
    let ty = if is_moved { node.ty.clone() } else { without_nulls(&node.ty) };
    let span = node.span.clone();
    Node { ty, span, kind: NodeKind::NotNull { of: Box::new(node), name, allowed } }
}
