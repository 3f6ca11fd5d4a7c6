//! The expressions of `filter`, `sort --by` and others: a scalar for each record.

use super::bind::{Binder, Scope};
use super::constants;
use super::error::{ExprError, ExprResult, compare};
use super::eval::{Frame, Node, NodeKind, Value, slots_of};
use super::frames::without;
use super::names::{in_backquotes, names_used, quoted_field};
use super::parts::{after, below_limit, is_too_large, most_nbytes, names_growing};
use super::program::record_keys;
use super::span::name_text;
use super::sql::condition;
use super::syntax::{Expr, ExprKind, parse_expression};
use crate::chunk::Chunk;
use crate::error::{Error, Reason, Result, mismatch};
use crate::io::is_redirected;
use crate::numerals::without_thousands;
use crate::options::Options;
use crate::path::in_expression;
use crate::printable::shell_word;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::BooleanArray;
use arrow_array::cast::AsArray;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// A scalar for each record.
pub struct ScalarExpr {
    text: Arc<str>,
    node: Node,
    nslots: usize,
    /// The slots that it reads.
    slots: Vec<usize>,
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
    bind_scalars([text], schema, options)?.pop().ok_or_else(|| Error::internal("an expression that was not bound"))
}

/// Binds several expressions; see [`bind_scalar`].
///
/// # Errors
/// See [`bind_scalar`].
pub fn bind_scalars<'a>(texts: impl IntoIterator<Item = &'a str>, schema: &Schema, options: &Options) -> Result<Vec<ScalarExpr>> {
    let scope = Scope::of_fields(&schema.fields, constants::constants(options)?);
    let bind = |text| bound_scalar(text, &scope, schema, options).map_err(|e| in_backquotes(e, text, schema));
    texts.into_iter().map(bind).collect()
}

/// Binds the expression. Advice for a condition in the syntax of another language, or with another mistake whose remedy is
/// known, shows it rewritten.
fn bound(text: &str, scope: &Scope) -> ExprResult<(Expr, Node)> {
    let of = |text: &str| {
        let expr = parse_expression(text)?;
        let binder = Binder { scope, text: text.into() };
        match &expr.kind {
            ExprKind::Tuple(items) => Err(several(&binder, &expr, items)),
            ExprKind::Lambda { params, body } => Err(lambda(text, &expr, params, body)),
            _ => binder.tensor(&expr).map(|node| (expr, node)),
        }
    };
    let error = match of(text) {
        Ok(bound) => return Ok(bound),
        Err(error) => error,
    };
    let rewritten = |text: &str| condition(text).filter(|meant| meant != text && parse_expression(meant).is_ok());
    let of_sql = if parse_expression(text).is_err() { rewritten(text) } else { None };
    let Some(mut meant) = error.meaning().map(str::to_owned).or(of_sql) else { return Err(error) };
    // What was meant may contain another mistake.
    for _ in 0..4 {
        let Err(next) = of(&meant) else { break };
        match next.guess() {
            Some(next) => meant = next.to_owned(),
            None => break,
        }
    }
    Err(error.meant_instead(meant))
}

fn bound_scalar(text: &str, scope: &Scope, schema: &Schema, options: &Options) -> Result<ScalarExpr> {
    let (expr, node) = bound(text, scope).map_err(|e| e.into_error(text))?;
    if let Some((field, _)) = scope.columns.find(text.trim())
        && expr.dotted().is_none()
    {
        let name = in_expression(&field.name);
        let note = format!(
            "{text} is evaluated as an expression; to refer to the field of this name, write it in backquotes: {}",
            shell_word(&name)
        );
        options.notices.add(note, options.strict)?;
    }
    if node.ty.rank() > 0 || node.ty.dtype().is_none() || node.ty.is_sparse() {
        let message = mismatch("a scalar in each record", super::operand::describe(&node.ty));
        let read = names_used(text, false).map(|used| used.read.into_iter().collect()).unwrap_or_default();
        return Err(ExprError::at(expr.span, message)
            .because(Reason::NotScalar(read))
            .help(match (node.ty.dtype(), node.ty.fields()) {
                (Some(DType::Bool), _)
                    if node.ty.optional
                        && let Some(x) = first_argument(text, "is_null(") =>
                {
                    format!("to test the whole field: is_null({x}, level=0)")
                }
                (Some(DType::Bool), _) => format!(
                    "to get a single bool, use reduce_any({text}) or reduce_all({text}){}",
                    match first_argument(text, "is_null(") {
                        Some(x) => format!("; to test the whole field: is_null({x}, level=0)"),
                        None => String::new(),
                    }
                ),
                (_, Some(fields)) if node.ty.rank() == 0 => members(text, fields),
                (_, Some(_)) => "to get a single value, use len(x)".to_owned(),
                _ => "to get a single value, use len(x), reduce_max(x) or x[0]".to_owned(),
            })
            .into_error(text));
    }
    let seed = node.is_random().then_some(options.seed);
    if node.is_constant()
        && let Some(name) = quoted_field(&expr, &schema.fields)
    {
        let field = in_expression(&name);
        let text = format!("{text} is the same for all records, because {name:?} is a string; the field is {field}");
        options.notices.add(text, options.strict)?;
    }
    let grows = node.broadcasts() || names_growing(&expr);
    let slots = slots_of(std::slice::from_ref(&node));
    Ok(ScalarExpr { text: text.into(), node, nslots: slots.last().map_or(0, |last| last + 1), slots, seed, grows })
}

/// Names the fields of the structure written as `text`.
fn members(text: &str, fields: &[Field]) -> String {
    let names: Vec<String> = fields.iter().take(5).map(|field| format!("{text}.{}", name_text(&field.name))).collect();
    format!("select one of its fields: {}", names.join(", "))
}

/// The error for several values where one is expected.
fn several(binder: &Binder, expr: &Expr, items: &[Expr]) -> ExprError {
    let error = ExprError::at(expr.span.clone(), mismatch("one value in each record", items.len()));
    match without_thousands(&binder.text) {
        Some(meant) => error.meant("numbers have no thousands separators:", meant),
        None => error.help_if(combined(binder, items)),
    }
}

/// The error for a function where its result is expected, as in `lambda x: x.id > 1`.
fn lambda(text: &str, expr: &Expr, params: &[String], body: &Expr) -> ExprError {
    let error = ExprError::at(expr.span.clone(), mismatch("the value of an expression", "a lambda"));
    let params: Vec<&str> = params.iter().map(String::as_str).collect();
    match text.get(body.span.clone()).map(|body| without(body, &params).unwrap_or_else(|| body.to_owned())) {
        Some(body) => error.meant("write the expression itself:", body),
        None => error,
    }
}

/// Advice for several scalars where one is expected: conditions are joined with `and`, other values as text.
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
        if !self.grows {
            return self.evaluated(chunk, None);
        }
        let measured = |part: &Chunk| most_nbytes(|most| self.evaluated(part, Some(most)).map(|scalars| scalars.nbytes()));
        let rows = chunk.rows_by_trial(LIMIT, measured);
        let part = |start: usize| {
            let part = chunk.slice(start, rows.min(chunk.nrows - start));
            below_limit(&part, &|part| self.evaluated(part, None), |a, b| Tensor::concat(&[&a, &b])).map_err(|e| after(start, e))
        };
        if rows >= chunk.nrows {
            return part(0);
        }
        let parts = (0..chunk.nrows).step_by(rows).map(part).collect::<Result<Vec<_>>>()?;
        Tensor::concat(&parts.iter().collect::<Vec<_>>())
    }

    fn evaluated(&self, chunk: &Chunk, most_nbytes: Option<Rc<Cell<usize>>>) -> Result<Tensor> {
        // For one of thousands of keys, a frame of thousands of slots would cost more than the key.
        if let NodeKind::Slot { slot, .. } = &self.node.kind
            && let Some(column) = chunk.columns.get(*slot)
        {
            return Ok(column.clone());
        }
        let mut slots = vec![None; self.nslots];
        for slot in &self.slots {
            slots[*slot] = chunk.columns.get(*slot).cloned().map(Value::column);
        }
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
            let error = ExprError::at(span, mismatch("a bool in each record", self.node.ty)).help(advice);
            // `filter id > 2 FILE`
            let is_cut = is_redirected() && parse_expression(text).is_ok_and(|expr| expr.dotted().is_some());
            let redirection = "the shell takes > and < as redirections: put the condition in quotes";
            return Err(error
                .help_if(is_cut.then(|| format!("{redirection}, as in {}", shell_word(&format!("{text} > 2")))))
                .into_error(text));
        }
        let node = super::call::strict(self.node).map_err(|e| e.into_error(text))?;
        Ok(ScalarExpr { node, ..self })
    }
}

/// The text of the first argument of a call, which begins with `call`.
fn first_argument<'a>(text: &'a str, call: &str) -> Option<&'a str> {
    let inner = text.split_once(call)?.1;
    let mut depth = 0;
    let end = inner.find(|c: char| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        depth < 0 || (depth == 0 && c == ',')
    })?;
    Some(inner[..end].trim())
}
