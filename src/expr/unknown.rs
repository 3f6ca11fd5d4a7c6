//! Errors for names that are neither fields nor functions, with advice on what was meant.

use super::advice::{instead_of_call, is_time, to_time, with_function};
use super::bind::Binder;
use super::call::{NULLS, dtype_near};
use super::error::{ExprError, ExprResult, text_at};
use super::frames::{COLUMN_MODULES, FRAMES, without_frames};
use super::functions;
use super::span::{Span, name_text};
use super::syntax::{Expr, ExprKind};
use super::template::Arguments;
use crate::error::{Reason, nearest};

impl Binder<'_> {
    pub(super) fn unknown(&self, name: &str, span: &Span) -> ExprError {
        let error = ExprError::at(span.clone(), format!("unknown field `{name}`")).because(Reason::UnknownField(name.to_owned()));
        match name {
            "null" | "none" | "NULL" | "nil" => {
                return error.help("to test for null: is_null(x); to delete a field in `map`: x = None").help(NULLS);
            }
            // The unit in `timestamp[us]`.
            "s" | "ms" | "us" | "ns" if self.text[..span.start].ends_with("timestamp[") => {
                return error.help(to_time(&format!("timestamp[{name}]"))).help("for a time of text: timestamp(x)");
            }
            _ if is_time(name) => return error.help(to_time(name)),
            "desc" | "DESC" => return error.help("a key of `sort` that starts with - is sorted in descending order"),
            "asc" | "ASC" => return error.help("`sort` sorts in ascending order"),
            "true" | "false" | "TRUE" | "FALSE" => return error.help("write True or False"),
            "json" => return with_function(error, name, &Arguments::default(), false),
            "nan" | "NaN" | "inf" | "Infinity" => return error.help("write math.nan, math.inf, -math.inf"),
            _ => {}
        }
        let is_frame = || FRAMES.contains(&name) || COLUMN_MODULES.contains(&name);
        if let Some(meant) = Some(()).filter(|()| is_frame()).and_then(|()| without_frames(&self.text)) {
            return error.help(format!("fields are written by name alone: {meant}"));
        }
        let names = self.scope.columns.names().chain(self.scope.constants.keys().map(String::as_str));
        // `a-b`
        let longer = |field: &&str| field.starts_with(name) && name_text(field).starts_with('`');
        if let Some(longer) = self.scope.columns.names().find(longer) {
            return error.help(format!(
                "did you mean {}? such a name needs backquotes, and single quotes around the expression",
                name_text(longer)
            ));
        }
        if let Some(near) = nearest(name, names).map(name_text).or_else(|| dtype_near(name).map(str::to_owned)) {
            return error.help(format!("did you mean {near}?"));
        }
        let shown: Vec<String> = self.scope.columns.names().take(20).map(name_text).collect();
        if shown.is_empty() {
            return error.help("the records have no fields; to define a constant: --arg NAME=VALUE");
        }
        let more = self.scope.columns.names().count().saturating_sub(shown.len());
        let tail = if more > 0 { format!(", and {more} more") } else { String::new() };
        error.help(format!("the fields are: {}{tail}", shown.join(", ")))
    }

    /// Rejects `x | f`, a pipe in jq and in shells, where `f` is not a field but the name of a function.
    pub(super) fn refuse_pipe(&self, left: &Expr, right: &Expr) -> ExprResult<()> {
        let Some((names, false)) = right.dotted() else { return Ok(()) };
        if self.scope.has(names[0]) || self.scope.constants.contains_key(names[0]) {
            return Ok(());
        }
        let name = names.join(".");
        let advice = match functions::find(&name) {
            // In jq, `add` is the sum of a list.
            Some(_) if name == "add" => instead_of_call("sum", &self.arguments([left]), false),
            Some(_) => vec![format!("call the function: {name}({})", &self.text[left.span.clone()])],
            None => instead_of_call(&name, &self.arguments([left]), false),
        };
        if advice.is_empty() {
            return Ok(());
        }
        let error = ExprError::at(right.span.clone(), "`|` combines bits; it does not call a function");
        Err(advice.into_iter().fold(error, ExprError::help))
    }

    /// The error for `x.str.upper()`, as in pandas and Polars: the functions of strings, lists and times take the values
    /// themselves.
    pub(super) fn accessor(&self, of: &Expr, method: &str, callee: &Expr) -> Option<ExprError> {
        let ExprKind::Attribute { of: inner, name: accessor } = &of.kind else { return None };
        if !["str", "list", "arr", "dt"].contains(&accessor.as_str()) || self.bind(of).is_ok() {
            return None;
        }
        self.bind(inner).ok()?;
        let own = match (accessor.as_str(), method) {
            ("str", "len" | "len_bytes") => Some("strings.length"),
            ("list" | "arr", "len" | "lengths") => Some("len"),
            _ => None,
        };
        let of_strings = format!("strings.{method}");
        let own = own.or_else(|| Some(of_strings.as_str()).filter(|name| accessor == "str" && functions::find(name).is_some()));
        let own = own.or_else(|| Some(method).filter(|name| accessor != "str" && functions::find(name).is_some()));
        let error = ExprError::at(of.span.end - accessor.len()..callee.span.end, format!("values have no `.{accessor}`"));
        let value = &self.text[inner.span.clone()];
        Some(match own {
            Some(function) => error.help(format!("call the function itself: {function}({value})")),
            None => with_function(error, method, &self.arguments([inner.as_ref()]), true),
        })
    }

    /// What was written as the arguments of a call, for advice.
    pub(super) fn arguments<'a>(&self, written: impl IntoIterator<Item = &'a Expr>) -> Arguments<'_> {
        let written: Vec<&Expr> = written.into_iter().collect();
        let first = written.first().and_then(|first| self.bind(first).ok());
        let of_list = first.as_ref().and_then(|first| first.node()).map(|node| node.ty.rank() > 0);
        Arguments { texts: written.iter().map(|expr| text_at(&self.text, &expr.span)).collect(), of_list }
    }
}
