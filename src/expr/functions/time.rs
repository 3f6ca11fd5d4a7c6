//! Times: conversion from text and numbers, components, and comparison.
//!
//! Semantics: the temporal functions of `pyarrow.compute`.

use super::apply::{pointwise, unary};
use crate::error::Error;
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult, text_at};
use crate::expr::eval::Node;
use crate::expr::kernels::compare::{compare, compare_wide};
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::time::{TimeComponent, exact_time_of_text, has_date, part, time_of, zone};
use crate::expr::operand::{Operand, OperandKind, constant};
use crate::expr::syntax::Compare;
use crate::schema::time::{TimeKind, TimeType};
use crate::schema::{DType, Literal, Type};
use crate::tensor::Tensor;
use crate::tensor::time::{converts, in_nanoseconds, ticks_in};
use arrow_array::ArrayRef;
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

/// A table row for a component.
macro_rules! part {
    ($name:literal, $summary:literal, $result:literal, $part:expr) => {
        function!([$name], "x", $summary, [(concat!($name, "(timestamp(\"2024-05-01T12:30:45.006007008\", unit=\"ns\"))"), $result)], |c| {
            part_of(c, $part)
        })
    };
}

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["timestamp"],
        "x, unit=\"us\", tz=None",
        "Timestamps from text (2024-05-01 or 2024-05-01T12:30:00, optionally with fractional seconds and a UTC offset; with an offset, the time is converted to UTC), counts of the unit since 1970, dates, or other timestamps (rounded down).",
        [("year(timestamp([\"2024-05-01\", \"1969-12-31T23:59:59\"]))", "[2024, 1969]"), ("day(timestamp(86400, unit=\"s\"))", "2")],
        timestamp
    ),
    part!("year", "The year.", "2024", TimeComponent::Year),
    part!("quarter", "The quarter, from 1 to 4.", "2", TimeComponent::Quarter),
    part!("month", "The month, from 1 to 12.", "5", TimeComponent::Month),
    part!("day", "The day of the month, from 1, in the timestamp's zone (UTC if it has none).", "1", TimeComponent::Day),
    part!("day_of_week", "The day of the week; Monday is 0.", "2", TimeComponent::DayOfWeek),
    part!("day_of_year", "The day of the year, from 1.", "122", TimeComponent::DayOfYear),
    part!("iso_week", "The ISO 8601 week of the year.", "18", TimeComponent::IsoWeek),
    part!("hour", "The hour, from 0 to 23, in the timestamp's zone (UTC if it has none).", "12", TimeComponent::Hour),
    part!("minute", "The minute, from 0 to 59.", "30", TimeComponent::Minute),
    part!("second", "The second, from 0 to 59.", "45", TimeComponent::Second),
    part!("millisecond", "The milliseconds within the second.", "6", TimeComponent::Millisecond),
    part!("microsecond", "The microseconds within the millisecond.", "7", TimeComponent::Microsecond),
    part!("nanosecond", "The nanoseconds within the microsecond.", "8", TimeComponent::Nanosecond),
];

fn time_type(arg: &Arg) -> Option<TimeType> {
    arg.ty.dtype().filter(|_| !arg.ty.is_sparse()).and_then(DType::time)
}

fn part_of(call: &mut Call, wanted: TimeComponent) -> ExprResult<OperandKind> {
    let x = call.sized(0)?;
    let Some(time) = time_type(&x) else {
        let error = ExprError::at(x.span.clone(), format!("{} expects times, found {}", call.name, x.ty));
        return Err(error.help("convert text or numbers to times first: timestamp(x)"));
    };
    if time.kind == TimeKind::Duration || (wanted.is_of_dates() && !has_date(time.kind)) {
        return Err(ExprError::at(x.span.clone(), format!("{} of {} is undefined", call.name, x.ty)));
    }
    zone(&time).map_err(|e| ExprError::at(x.span.clone(), e.message()))?;
    unary(call, x, DType::Int64, move |array| part(array, wanted))
}

fn timestamp(call: &mut Call) -> ExprResult<OperandKind> {
    let unit = match call.string(1)?.as_deref().unwrap_or("us") {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        other => return Err(call.error(format!("timestamp: unit must be \"s\", \"ms\", \"us\" or \"ns\", not {other:?}"))),
    };
    let tz = if call.given(2).is_some_and(|tz| !tz.is_none()) { call.string(2)? } else { None };
    let to = DataType::Timestamp(unit, tz.map(Arc::from));
    let x = call.sized(0)?;
    let target = TimeType::of(&to);
    if let Some(target) = &target {
        zone(target).map_err(|e| call.error(e.message()))?;
    }
    let known = match (x.ty.dtype().filter(|_| !x.ty.is_sparse()), time_type(&x), &target) {
        (_, Some(from), Some(target)) => converts(&from, target),
        (Some(dtype), ..) => dtype.is_integer() || *dtype == DType::String,
        _ => false,
    };
    if !known {
        let error = ExprError::at(x.span.clone(), format!("{} cannot be converted to {}", x.ty, DType::Arrow(Box::new(to))));
        let is_float = x.ty.dtype().is_some_and(DType::is_float) && !x.ty.is_sparse();
        return Err(error.help_if(is_float.then(|| {
            let per_unit = match unit {
                TimeUnit::Second => "1000000",
                TimeUnit::Millisecond => "1000",
                TimeUnit::Microsecond | TimeUnit::Nanosecond => "1",
            };
            let x = text_at(call.text(), &x.span);
            let counted = if per_unit == "1" { x.to_owned() } else { format!("{x} * {per_unit}") };
            let unit = if unit == TimeUnit::Nanosecond { "ns" } else { "us" };
            format!("convert it to whole units: timestamp(cast({counted}, int64), \"{unit}\")")
        })));
    }
    let x = if x.ty.dtype().is_some_and(DType::is_integer) { call.tensor_of(0, &DType::Int64)? } else { x };
    unary(call, x, DType::Arrow(Box::new(to.clone())), move |array| time_of(array, &to))
}

/// `a op b` if either operand holds times: text is parsed as a time of the other's dtype. Otherwise `None`.
///
/// # Errors
/// Times of different kinds, or text that is not a time.
pub fn comparison(call: &mut Call, op: Compare) -> ExprResult<Option<OperandKind>> {
    let dtype = |i: usize| Some(call.given(i)?.node()?.ty.dtype()?.clone());
    let times = [dtype(0).and_then(|d| d.time().map(|t| (d, t))), dtype(1).and_then(|d| d.time().map(|t| (d, t)))];
    let args = match times {
        [None, None] => return Ok(None),
        [Some((_, a)), Some((_, b))] => {
            let alike =
                a.kind == b.kind && a.zone.is_some() == b.zone.is_some() || has_date(a.kind) && has_date(b.kind) && converts(&a, &b);
            if !alike {
                let (a, b) = (call.sized(0)?, call.sized(1)?);
                return Err(call
                    .error(format!("{} and {} cannot be compared", a.ty, b.ty))
                    .help("to set the time zone of a time: timestamp(x, tz=\"UTC\")"));
            }
            [call.sized(0)?, call.sized(1)?]
        }
        [Some((dtype, _)), None] => [call.sized(0)?, literal(call, 1, &dtype)?],
        [None, Some((dtype, _))] => [literal(call, 0, &dtype)?, call.sized(1)?],
    };
    let nanos = args.iter().filter_map(time_type).map(|t| t.nanos).min().unwrap_or(1);
    let found = pointwise(call, args, DType::Bool, move |[x, y]| {
        let counts = |datum: Datum| ticks_in(datum.array, nanos).map(|n| Arc::new(n) as ArrayRef);
        let (Ok(a), Ok(b)) = (counts(x), counts(y)) else {
            // The unit of one is too fine for the other's range.
            let nanoseconds = |datum: Datum| in_nanoseconds(datum.array).map_err(|e| (0, e));
            return Ok(compare_wide(op, (&nanoseconds(x)?, x.scalar), (&nanoseconds(y)?, y.scalar)));
        };
        compare(op, Datum { array: &a, scalar: x.scalar }, Datum { array: &b, scalar: y.scalar }).map_err(|e| (0, e))
    })?;
    Ok(Some(found))
}

/// A literal as a time of that dtype.
fn literal(call: &mut Call, i: usize, dtype: &DType) -> ExprResult<Arg> {
    let item = call.operand(i)?.clone();
    let Some(Literal::String(text)) = item.literal() else {
        let error = ExprError::at(item.span.clone(), format!("{dtype} and {} cannot be compared", item.describe()));
        return Err(error.help("compare with text, such as \"2024-05-01T12:30:00\", or with timestamp(x)"));
    };
    let time = exact_time_of_text(&text, &dtype.arrow()).map_err(|e| unusable(&item, "", &e))?;
    Ok(call.push(time_constant(time, &item)))
}

/// The error of a literal that is not usable as a time, with its help.
pub fn unusable(literal: &Operand, prefix: &str, e: &Error) -> ExprError {
    let error = ExprError::at(literal.span.clone(), format!("{prefix}{}", e.message()));
    e.helps().iter().fold(error, |error, hint| error.help(hint.as_str()))
}

/// A time that a literal denotes; an array of length 1.
pub fn time_constant(time: ArrayRef, literal: &Operand) -> Node {
    let ty = Type::tensor(DType::Arrow(Box::new(time.data_type().clone())), Vec::new());
    constant(Tensor::Leaf(time), ty, literal.span.clone())
}
