//! Name and type resolution: turns the syntax tree into a tree that can be evaluated.

use super::advice::{instead_of_call, parse_first, unknown_function, with_function};
use super::call::{Function, Meaning, Written, as_node, dtype_named, map_lookup, named_fields, strict, subscript};
use super::columns::Columns;
use super::error::{CAST, ExprError, ExprResult, text_at};
use super::eval::{Node, NodeKind};
use super::fields::{Place, field_of, unknown_in};
use super::frames::without_frames;
use super::functions;
use super::operand::{FunctionValue, LAMBDA, Operand, OperandKind, literal_of, result};
use super::python;
use super::span::{Span, name_text};
use super::syntax::{Argument, Expr, ExprKind, parse_formula};
use super::template::Arguments;
use crate::error::nearest;
use crate::schema::facts::Storage;
use crate::schema::notation::parse_time;
use crate::schema::{DType, Element, Field, Literal, Type};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The meaning of the names in an expression.
#[derive(Clone)]
pub struct Scope {
    /// Fields of the record and assigned values.
    pub columns: Columns,
    /// Parameters of functions, and assigned values that are not tensors. Searched before the fields, last one first.
    pub values: Vec<(String, OperandKind)>,
    /// How the values in slots are stored, if they are those of a field.
    pub storages: BTreeMap<usize, Storage>,
    /// Values of `--arg` and `--with`.
    pub constants: Arc<BTreeMap<String, Operand>>,
}

impl Scope {
    /// A scope with the fields of a record in slots 0, 1, ...
    pub fn of_fields(fields: &[Field], constants: Arc<BTreeMap<String, Operand>>) -> Scope {
        let storages = fields.iter().enumerate().map(|(i, f)| (i, f.storage.clone())).collect();
        Scope { columns: Columns::of_fields(fields), values: Vec::new(), storages, constants }
    }

    /// How the values in a slot are stored.
    pub fn storage(&self, slot: usize) -> Storage {
        self.storages.get(&slot).cloned().unwrap_or_default()
    }

    fn find(&self, name: &str) -> Option<(&Type, usize)> {
        self.columns.find(name).map(|(field, slot)| (&field.ty, slot))
    }

    fn value(&self, name: &str) -> Option<&OperandKind> {
        self.values.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// Whether the name refers to a field or to an assigned value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some() || self.value(name).is_some()
    }
}

/// Binds the expressions of one text.
pub struct Binder<'a> {
    pub scope: &'a Scope,
    pub text: Arc<str>,
}

/// The namespaces of TensorFlow, NumPy and Paddle.
const NAMESPACES: [&str; 25] = [
    "math",
    // Python's, for advice.
    "re",
    "pd",
    "pandas",
    "ragged",
    "RaggedTensor",
    "strings",
    "sparse",
    "nn",
    "bitwise",
    "linalg",
    "StructuredTensor",
    "SparseTensor",
    "RowPartition",
    "DynamicRaggedShape",
    "experimental",
    "dtypes",
    "random",
    "io",
    "np",
    "debugging",
    "image",
    "compat",
    "fluid",
    "paddle",
];

impl Binder<'_> {
    /// Binds an expression to an operand.
    ///
    /// # Errors
    /// Any error that can be found before the first record.
    pub fn bind(&self, expr: &Expr) -> ExprResult<Operand> {
        let kind = self.kind(expr).map_err(|e| e.or_at(expr.span.clone()))?;
        Ok(match kind {
            // A result is identified by the span of the whole expression.
            OperandKind::Tensor(node) => {
                Operand { kind: OperandKind::Tensor(Node { span: expr.span.clone(), ..node }), span: expr.span.clone() }
            }
            kind => Operand { kind, span: expr.span.clone() },
        })
    }

    /// Binds an expression to a tensor; a literal becomes a constant.
    ///
    /// # Errors
    /// See [`Binder::bind`].
    pub fn tensor(&self, expr: &Expr) -> ExprResult<Node> {
        let item = self.bind(expr)?;
        as_node(&item, None)
    }

    fn kind(&self, expr: &Expr) -> ExprResult<OperandKind> {
        if let Some(literal) = literal_of(expr, &|e| self.bind(e))? {
            return Ok(literal);
        }
        Ok(match &expr.kind {
            ExprKind::Ellipsis => OperandKind::Ellipsis,
            ExprKind::Slice { start, stop, step } => {
                let part = |e: &Option<Box<Expr>>| e.as_ref().map(|e| self.bind(e)).transpose();
                OperandKind::Slice(Box::new([part(start)?, part(stop)?, part(step)?]))
            }
            ExprKind::Name { name, quoted } => self.name(name, *quoted, &expr.span)?,
            ExprKind::Attribute { of, name } => self.attribute(expr, of, name)?,
            ExprKind::Call { callee, args } => self.call(expr, callee, args)?,
            ExprKind::Subscript { of, keys } => {
                let (text_of, of) = (of, self.bind(of)?);
                let mut keys = self.all(keys)?;
                // As in Python, x[(0, 1)] is x[0, 1].
                if let [Operand { kind: OperandKind::Tuple(items), .. }] = keys.as_mut_slice() {
                    keys = std::mem::take(items);
                }
                if let ([mask], Some(masked)) = (keys.as_slice(), functions::find("boolean_mask"))
                    && is_mask(&of, mask)
                {
                    return self.apply(masked, "boolean_mask", expr.span.clone(), vec![of, keys.remove(0)], Vec::new());
                }
                if let ([key], OperandKind::Dict(entries, _)) = (keys.as_slice(), &of.kind)
                    && let Some(literal) = key.literal()
                {
                    return of.entry(&literal).map(|value| value.kind.clone()).ok_or_else(|| no_entry(entries, key));
                }
                if let Some(found) = map_lookup(&of, &keys, &self.text, &expr.span)? {
                    return Ok(found);
                }
                if let [Operand { kind: OperandKind::Literal(Literal::String(key)), span }] = keys.as_slice()
                    && of.node().is_some_and(|node| node.ty.may_hold_json())
                {
                    let error = ExprError::at(span.clone(), format!("{} has no fields", of.describe()));
                    if of.node().is_some_and(|node| node.ty.rank() > 0) {
                        let (list, value) = (text_at(&self.text, &of.span), text_at(&self.text, span));
                        return Err(error.help(format!("to test whether it contains a value: reduce_any({list} == {value})")));
                    }
                    return Err(parse_first(error, text_of, &self.names_from(key, &expr.span)));
                }
                let (of, keys) = named_fields(of, &keys);
                if keys.is_empty() { of.kind } else { subscript(&of, keys, &self.text, &expr.span)? }
            }
            ExprKind::Unary(op, operand) => self.unary(expr, *op, operand)?,
            ExprKind::Binary(op, left, right) => self.binary(expr, *op, left, right)?,
            ExprKind::Compare(first, rest) => self.compare(expr, first, rest)?,
            ExprKind::And(left, right) => self.logic(expr, true, left, right)?,
            ExprKind::Or(left, right) => self.logic(expr, false, left, right)?,
            ExprKind::Lambda { params, body } => self.lambda(params, body),
            _ => return Err(ExprError::internal("a literal that is none")),
        })
    }

    /// The name, and those of the fields inside that are written after the span.
    fn names_from<'n>(&'n self, name: &'n str, span: &Span) -> Vec<&'n str> {
        let mut names = vec![name];
        let mut rest = self.text.get(span.end..).unwrap_or_default();
        while let Some((name, after)) = leading_name(rest) {
            names.push(name);
            rest = after;
        }
        names
    }

    fn all(&self, exprs: &[Expr]) -> ExprResult<Vec<Operand>> {
        exprs.iter().map(|e| self.bind(e)).collect()
    }

    /// A lambda as a value. The body is bound again for the arguments of each call.
    fn lambda(&self, params: &[String], body: &Expr) -> OperandKind {
        let (scope, text) = (self.scope.clone(), self.text.clone());
        let (params, body) = (params.to_vec(), body.clone());
        let apply = move |positional: Vec<Operand>, keywords: Vec<(String, Span, Operand)>| {
            let wrong = |given: usize| {
                let n = params.len();
                ExprError::at(body.span.clone(), format!("the lambda takes {n} argument{}, not {given}", if n == 1 { "" } else { "s" }))
            };
            let given = positional.len() + keywords.len();
            if given != params.len() {
                return Err(wrong(given));
            }
            let mut scope = scope.clone();
            let named = params.iter().cloned().zip(positional).chain(keywords.into_iter().map(|(name, _, operand)| (name, operand)));
            for (name, operand) in named {
                if !params.contains(&name) {
                    return Err(ExprError::at(body.span.clone(), format!("the lambda has no parameter {name}")));
                }
                // A function applied to itself would never terminate.
                if operand.holds_function() {
                    return Err(ExprError::at(operand.span, "a function cannot be passed to a lambda"));
                }
                scope.values.push((name, operand.kind));
            }
            Binder { scope: &scope, text: text.clone() }.bind(&body)
        };
        OperandKind::Function(FunctionValue { name: LAMBDA.to_owned(), apply: Arc::new(apply) })
    }

    /// The name of a function, used as a value.
    fn function_value(&self, function: &'static Function, name: &str, span: &Span) -> OperandKind {
        let (text, span, own) = (self.text.clone(), span.clone(), name.to_owned());
        let apply = move |positional: Vec<Operand>, keywords: Vec<(String, Span, Operand)>| {
            let written = Written { name: &own, span: span.clone(), text: text.clone(), positional, keywords };
            let kind = called(function, written)?;
            Ok(Operand { kind, span: span.clone() })
        };
        OperandKind::Function(FunctionValue { name: name.to_owned(), apply: Arc::new(apply) })
    }

    fn name(&self, name: &str, quoted: bool, span: &Span) -> ExprResult<OperandKind> {
        if !quoted && let Some(value) = self.scope.value(name) {
            return Ok(value.clone());
        }
        if let Some((ty, slot)) = self.scope.find(name) {
            let kind = NodeKind::Slot { slot, name: name_text(name).into(), storage: self.scope.storage(slot) };
            return Ok(OperandKind::Tensor(Node { ty: ty.clone(), span: span.clone(), kind }));
        }
        if quoted {
            return Err(self.unknown(name, span));
        }
        if let Some(constant) = self.scope.constants.get(name) {
            return Ok(constant.kind.clone());
        }
        if let Some(dtype) = dtype_named(name).or_else(|| parse_time(name)) {
            return Ok(OperandKind::DType(dtype));
        }
        match name {
            "newaxis" => Ok(OperandKind::Literal(Literal::None)),
            _ => match functions::find(name) {
                Some(function) => Ok(self.function_value(function, name, span)),
                None => Err(self.unknown(name, span)),
            },
        }
    }

    /// The field `a.b.c`, or `a`, if there is one and its first name does not refer to another value.
    fn place(&self, expr: &Expr) -> Option<Place<'_>> {
        match &expr.kind {
            ExprKind::Name { name, quoted } => {
                let (ty, slot) = self.scope.find(name).filter(|_| *quoted || self.scope.value(name).is_none())?;
                let kind = NodeKind::Slot { slot, name: name_text(name).into(), storage: self.scope.storage(slot) };
                Some(Place::new(ty, expr.span.clone(), kind))
            }
            ExprKind::Attribute { of, name } => self.place(of)?.field(name, expr.span.clone()),
            _ => None,
        }
    }

    /// `a.b`: a field of a structure or else an attribute, that is, a function of one argument.
    fn attribute(&self, expr: &Expr, of: &Expr, name: &str) -> ExprResult<OperandKind> {
        if let Some((names, quoted)) = expr.dotted()
            && !quoted
            && !self.scope.has(names[0])
            && !self.scope.constants.contains_key(names[0])
        {
            let names = without_prefix(&names);
            match names {
                [name] if expr.dotted().is_some_and(|(all, _)| all.len() > 1) => {
                    return match functions::find(name) {
                        Some(function) if dtype_named(name).is_none() => Ok(self.function_value(function, name, &expr.span)),
                        _ => self.name(name, false, &expr.span),
                    };
                }
                ["math" | "np", "inf"] => return Ok(OperandKind::Literal(Literal::Float(f64::INFINITY))),
                ["math" | "np", "nan"] => return Ok(OperandKind::Literal(Literal::Float(f64::NAN))),
                ["math" | "np", "pi"] => return Ok(OperandKind::Literal(Literal::Float(std::f64::consts::PI))),
                ["math" | "np", "e"] => return Ok(OperandKind::Literal(Literal::Float(std::f64::consts::E))),
                ["dtypes" | "np", dtype] if dtype_named(dtype).is_some() => {
                    return dtype_named(dtype).map(OperandKind::DType).ok_or_else(|| ExprError::new("no dtype"));
                }
                [first, ..] if NAMESPACES.contains(first) => {
                    let dotted = names.join(".");
                    return match functions::find(&dotted) {
                        Some(function) => Ok(self.function_value(function, &dotted, &expr.span)),
                        None => Err(unknown_function(&dotted, expr.span.clone(), &Arguments::default())),
                    };
                }
                _ => {}
            }
        }
        if let Some(place) = self.place(expr) {
            return Ok(OperandKind::Tensor(place.into_node()));
        }
        let item = self.bind(of)?;
        if let Some(value) = item.entry(&Literal::String(name.to_owned())) {
            return Ok(value.kind.clone());
        }
        if let Some(node) = item.node() {
            if node.ty.dtype() == Some(&DType::Json) {
                strict(node.clone()).map_err(|error| parse_first(error, of, &self.names_from(name, &expr.span)))?;
            }
            if let Some(found) = field_of(node, name) {
                return Ok(OperandKind::Tensor(Node { span: expr.span.clone(), ..found }));
            }
            if let Element::Struct(fields) = &node.ty.element
                && functions::attribute(name).is_none()
            {
                return Err(unknown_in(fields, name, &written_path(of)));
            }
        }
        if let Some(found) = attribute_of(&item, name) {
            return found;
        }
        let Some(function) = functions::attribute(name) else {
            let error = ExprError::new(format!("{} has no field or attribute `{name}`", item.describe()));
            return Err(match nearest(name, functions::ATTRIBUTES.iter().copied()) {
                Some(near) => error.help(format!("did you mean .{near}?")),
                None if functions::find(name).is_some() => error.help(format!("write {name}({})", text_at(&self.text, &of.span))),
                None if item.node().is_some_and(|node| node.ty.may_hold_json())
                    && instead_of_call(name, &Arguments::default(), false).is_empty() =>
                {
                    parse_first(error, of, &self.names_from(name, &expr.span))
                }
                None => with_function(error, name, &self.arguments([of]), false),
            });
        };
        self.apply(function, name, expr.span.clone(), vec![item], Vec::new())
    }

    fn call(&self, expr: &Expr, callee: &Expr, args: &[Argument]) -> ExprResult<OperandKind> {
        let bound_args = |first: Option<Operand>| -> ExprResult<(Vec<Operand>, Vec<(String, Span, Operand)>)> {
            let (mut positional, mut keywords) = (first.into_iter().collect::<Vec<_>>(), Vec::new());
            for arg in args {
                let item = self.bind(&arg.value)?;
                match &arg.keyword {
                    None => positional.push(item),
                    Some((name, at)) => keywords.push((name.clone(), at.clone(), item)),
                }
            }
            Ok((positional, keywords))
        };
        if let Some((names, quoted)) = callee.dotted()
            && !quoted
        {
            let known_field = self.scope.has(names[0]);
            if let ([name], Some(OperandKind::Function(function))) = (names.as_slice(), self.scope.value(names[0])) {
                let (positional, keywords) = bound_args(None)?;
                let result = (function.apply)(positional, keywords).map_err(|e| e.or_at(callee.span.clone()))?;
                return if matches!(result.kind, OperandKind::Function(_)) {
                    Err(ExprError::at(callee.span.clone(), format!("{name} returns a function")))
                } else {
                    Ok(result.kind)
                };
            }
            let plain = if known_field { names.as_slice() } else { without_prefix(&names) };
            let dotted = plain.join(".");
            // If TensorFlow and another source use a name for different functions, the table has TensorFlow's with
            // `tf.`.
            if let Some(function) = functions::find(&names.join(".")).or_else(|| functions::find(&dotted))
                && (plain.len() == 1 || !known_field)
            {
                let (positional, keywords) = bound_args(None)?;
                return self.apply(function, &dotted, expr.span.clone(), positional, keywords);
            }
            if let ("float" | "int", [argument]) = (dotted.as_str(), args)
                && let OperandKind::Literal(literal) = self.bind(&argument.value)?.kind
                && let Some(number) =
                    if dotted == "int" { python::int(&literal).map(Literal::Int) } else { python::float(&literal).map(Literal::Float) }
            {
                return Ok(OperandKind::Literal(number));
            }
            if dtype_named(&dotted).is_some() && plain.len() == 1 && args.len() == 1 {
                return Err(ExprError::at(callee.span.clone(), format!("{dotted} is a dtype, not a function")).help(
                    match dotted.as_str() {
                        "str" | "string" => {
                            "to convert a number: strings.as_string(x); to convert bytes or a time: cast(x, string)".to_owned()
                        }
                        // In Python, these have 64 bits.
                        "float" => CAST.to_owned(),
                        _ => {
                            let dtype = dtype_named(&dotted).unwrap_or(DType::Int64);
                            format!("to convert a number: cast(x, {dtype}); to parse text: strings.to_number(x, {dtype})")
                        }
                    },
                ));
            }
            if let Some(meant) = Some(()).filter(|()| dotted == "col").and_then(|()| without_frames(&self.text)) {
                let error = ExprError::at(callee.span.clone(), "unknown function `col`");
                return Err(error.help(format!("fields are written by name alone: {meant}")));
            }
            if plain.len() == 1 || (!known_field && (NAMESPACES.contains(&plain[0]) || plain.len() < names.len())) {
                return Err(unknown_function(&dotted, callee.span.clone(), &self.arguments(args.iter().map(|arg| &arg.value))));
            }
        }
        let ExprKind::Attribute { of, name } = &callee.kind else {
            return Err(ExprError::at(callee.span.clone(), "only functions can be called"));
        };
        if let Some(error) = self.accessor(of, name, callee) {
            return Err(error);
        }
        let receiver = self.bind(of)?;
        let Some(function) = functions::find(name) else {
            let span = callee.span.start.max(callee.span.end.saturating_sub(name.len()))..callee.span.end;
            let written = [of.as_ref()].into_iter().chain(args.iter().map(|arg| &arg.value));
            return Err(unknown_function(name, span, &self.arguments(written)));
        };
        let (positional, keywords) = bound_args(Some(receiver))?;
        self.apply(function, name, expr.span.clone(), positional, keywords)
    }

    pub(super) fn apply(
        &self,
        function: &Function,
        name: &str,
        span: Span,
        positional: Vec<Operand>,
        keywords: Vec<(String, Span, Operand)>,
    ) -> ExprResult<OperandKind> {
        called(function, Written { name, span, text: self.text.clone(), positional, keywords })
    }
}

/// Whether a subscript of a dense tensor is a dense tensor of bools, which selects the items where it is true.
fn is_mask(of: &Operand, mask: &Operand) -> bool {
    let is_dense = |item: &Operand| item.node().is_some_and(|node| !node.ty.is_sparse() && !node.ty.is_ragged());
    is_dense(of) && is_dense(mask) && mask.node().is_some_and(|node| node.ty.rank() > 0 && node.ty.dtype() == Some(&DType::Bool))
}

/// The result of a call.
fn called(function: &Function, written: Written) -> ExprResult<OperandKind> {
    let Meaning::Formula { formula, alike } = function.meaning else {
        return function.call(written);
    };
    let (name, span, text) = (written.name, written.span.clone(), written.text.clone());
    let mut call = function.matched(written)?;
    call.make_alike(alike)?;
    let formula = formula(&call)?;
    // A formula sees no names except its parameters.
    let mut scope = Scope::of_fields(&[], Arc::default());
    let mut values = Vec::new();
    for (name, given, default) in call.arguments() {
        let kind = match given {
            Some(given) => given.kind.clone(),
            None => Binder { scope: &scope, text: text.clone() }.bind(&parse_formula(default, &span)?)?.kind,
        };
        values.push((name.to_owned(), kind));
    }
    scope.values = values;
    let in_call = |error: ExprError| error.within(name, text_at(&text, &span));
    Ok(Binder { scope: &scope, text: text.clone() }.bind(&parse_formula(&formula, &span)?).map_err(in_call)?.kind)
}

/// Strips the prefixes under which TensorFlow's and Paddle's guides import a name.
fn without_prefix<'a, 'b>(names: &'b [&'a str]) -> &'b [&'a str] {
    const PREFIXES: [&[&str]; 9] = [
        &["tf", "compat", "v1"],
        &["tf", "experimental"],
        &["tf"],
        &["paddle", "static", "nn"],
        &["paddle", "static"],
        &["paddle", "fluid", "layers"],
        &["paddle"],
        &["fluid", "layers"],
        &["fluid"],
    ];
    let rest = PREFIXES.iter().filter_map(|prefix| names.strip_prefix(*prefix)).find(|rest| !rest.is_empty());
    rest.unwrap_or(names)
}

/// The smallest or largest value of a dtype of numbers or bools (`tf.DType.min`, `tf.DType.max`).
fn limit(dtype: &DType, largest: bool) -> Literal {
    let integer = |min: i128, max: i128| Literal::Int(if largest { max } else { min });
    let float = |max: f64| Literal::Float(if largest { max } else { -max });
    match dtype {
        DType::Int8 => integer(i8::MIN.into(), i8::MAX.into()),
        DType::Int16 => integer(i16::MIN.into(), i16::MAX.into()),
        DType::Int32 => integer(i32::MIN.into(), i32::MAX.into()),
        DType::Int64 => integer(i64::MIN.into(), i64::MAX.into()),
        DType::UInt8 => integer(0, u8::MAX.into()),
        DType::UInt16 => integer(0, u16::MAX.into()),
        DType::UInt32 => integer(0, u32::MAX.into()),
        DType::UInt64 => integer(0, u64::MAX.into()),
        DType::Float16 => float(half::f16::MAX.to_f64()),
        DType::Float32 => float(f32::MAX.into()),
        DType::Float64 => float(f64::MAX),
        _ => Literal::Bool(largest),
    }
}

/// The attributes of operands that are not tensors; `None` for tensors.
/// The error for a key that a dict does not have.
fn no_entry(entries: &[(Operand, Operand)], key: &Operand) -> ExprError {
    let error = ExprError::at(key.span.clone(), format!("the dictionary has no key {}", key.literal().unwrap_or(Literal::None)));
    let keys: Vec<String> = entries.iter().take(20).filter_map(|(key, _)| key.literal()).map(|key| key.to_string()).collect();
    if keys.is_empty() { error } else { error.help(format!("its keys are {}", keys.join(", "))) }
}

fn attribute_of(item: &Operand, name: &str) -> Option<ExprResult<OperandKind>> {
    let integer = |n: usize| OperandKind::Literal(Literal::Int(n as i128));
    match (&item.kind, name) {
        (OperandKind::Results(call), _) => {
            let position = call.names.iter().position(|n| *n == name);
            Some(position.map(|i| result(call, i, item.span.clone()).kind).ok_or_else(|| {
                let error = ExprError::new(if call.names.is_empty() {
                    format!("{} has no attribute `{name}`", item.describe())
                } else {
                    format!("unknown result `{name}`")
                });
                if call.names.is_empty() {
                    error.help("select one: [0]")
                } else {
                    error.help(format!("the results are {}", call.names.join(", ")))
                }
            }))
        }
        (OperandKind::Shape(sizes), "rank" | "ndims") => Some(Ok(integer(sizes.len()))),
        (OperandKind::Shape(sizes), "dims") => Some(Ok(OperandKind::List(sizes.clone()))),
        (OperandKind::DType(dtype), "name") => Some(Ok(OperandKind::Literal(Literal::String(dtype.to_string())))),
        (OperandKind::DType(_), "as_numpy_dtype" | "base_dtype") => Some(Ok(item.kind.clone())),
        (OperandKind::DType(dtype), "min" | "max") if dtype.is_number() || *dtype == DType::Bool => {
            Some(Ok(OperandKind::Literal(limit(dtype, name == "max"))))
        }
        (OperandKind::DType(dtype), "is_integer") => Some(Ok(OperandKind::Literal(Literal::Bool(dtype.is_integer())))),
        (OperandKind::DType(dtype), "is_floating") => Some(Ok(OperandKind::Literal(Literal::Bool(dtype.is_float())))),
        (OperandKind::Shape(_) | OperandKind::DType(_) | OperandKind::Dict(..) | OperandKind::Function(_) | OperandKind::Spec(_), _) => {
            Some(Err(ExprError::new(format!("{} has no attribute `{name}`", item.describe()))))
        }
        (OperandKind::List(items) | OperandKind::Tuple(items), _) if !item.is_literal() => {
            let error = ExprError::new(format!("a list of {} tensors has no attribute `{name}`", items.len()));
            Some(Err(error.help("to combine them into one tensor: stack([...]); to select one: [0]")))
        }
        _ => None,
    }
}

/// The name of a field that is written as `.name` or `["name"]` at the start of the text, and what follows.
fn leading_name(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        return (!name.is_empty() && !rest.trim_start().starts_with('(')).then_some((name, rest));
    }
    let quote = ["[\"", "['"].into_iter().find(|start| text.starts_with(start))?;
    text[2..].split_once(&format!("{}]", &quote[1..]))
}

fn written_path(expr: &Expr) -> String {
    expr.dotted().map(|(names, _)| names.iter().map(|n| name_text(n)).collect::<Vec<_>>().join(".")).unwrap_or_default()
}
