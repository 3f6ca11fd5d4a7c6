//! Times: conversion from text and numbers, components, text, and comparison.
//!
//! Semantics: the temporal functions of `pyarrow.compute`.

use super::apply::{pointwise, unary};
use crate::error::{Error, nearest};
use crate::expr::call::{Arg, Call, Function};
use crate::expr::error::{ExprError, ExprResult, conversion, text_at};
use crate::expr::eval::Node;
use crate::expr::kernels::compare::{compare, compare_wide};
use crate::expr::kernels::datum::Datum;
use crate::expr::kernels::local_clock::zone;
use crate::expr::kernels::strftime::{TimeFormat, has_parts, written};
use crate::expr::kernels::time::{Reading, TimeComponent, exact_times_of_text, has_date, parsed, part, time_of};
use crate::expr::kernels::truncate::{TimeUnits, truncated};
use crate::expr::literal;
use crate::expr::operand::{Operand, OperandKind, constant};
use crate::expr::syntax::Compare;
use crate::schema::time::{TimeKind, TimeType};
use crate::schema::{DType, Element, Literal, Type};
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
        "x, unit=\"us\", tz=None, format=None",
        "Timestamps from text (2024-05-01 or 2024-05-01T12:30:00, optionally with fractional seconds and a UTC offset, or in a `format` of strptime; with an offset, the time is converted to UTC), counts of the unit since 1970, dates, or other timestamps (rounded down).",
        [
            ("year(timestamp([\"2024-05-01\", \"1969-12-31T23:59:59\"]))", "[2024, 1969]"),
            ("day(timestamp(86400, unit=\"s\"))", "2"),
            ("hour(timestamp(\"02/Jan/2024:10:00:00 +0100\", format=\"%d/%b/%Y:%H:%M:%S %z\"))", "9")
        ],
        |c| timestamp(c, [1, 2, 3])
    ),
    function!(
        ["strptime"],
        "x, format, unit=\"us\", tz=None",
        "Timestamps from text in a format; timestamp(x, format=...). %Y year, %m month, %b its name, %d day, %H hour, %I hour from 1 to 12, %p AM or PM, %M minute, %S second, %f fraction of a second, %z UTC offset, %s seconds since 1970; %F is %Y-%m-%d and %T is %H:%M:%S.",
        [("month(strptime([\"02.01.2024\", \"31.12.1999\"], \"%d.%m.%Y\"))", "[1, 12]")],
        |c| timestamp(c, [2, 3, 1])
    ),
    function!(
        ["strftime"],
        "x, format=\"%Y-%m-%dT%H:%M:%S\"",
        "Times as text in a format, in the timestamp's zone; the directives are those of strptime.",
        [("strftime(timestamp(\"2024-05-01T12:30:00\"), \"%d %b %Y\")", "\"01 May 2024\"")],
        strftime
    ),
    function!(
        ["date_trunc"],
        "x, unit",
        "Times rounded down to a second, minute, hour, day, week (from Monday), month, quarter or year, in the timestamp's zone.",
        [("strftime(date_trunc(timestamp(\"2024-05-17T12:30:00\"), \"month\"), \"%F\")", "\"2024-05-01\"")],
        date_trunc
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

/// The time type of an argument that is not sparse.
pub fn time_type(arg: &Arg) -> Option<TimeType> {
    arg.ty.dtype().filter(|_| !arg.ty.is_sparse()).and_then(DType::time)
}

/// Argument `i`, which must hold times of a known zone.
fn times(call: &mut Call, i: usize) -> ExprResult<(Arg, TimeType)> {
    let x = call.sized(i)?;
    let Some(time) = time_type(&x) else {
        let error = ExprError::at(x.span.clone(), format!("{} expects times, found {}", call.name, x.ty));
        return Err(error.help("convert text or numbers to times first: timestamp(x)"));
    };
    zone(&time).map_err(|e| ExprError::at(x.span.clone(), e.message()))?;
    Ok((x, time))
}

fn part_of(call: &mut Call, wanted: TimeComponent) -> ExprResult<OperandKind> {
    let (x, time) = times(call, 0)?;
    if time.kind == TimeKind::Duration || (wanted.is_of_dates() && !has_date(time.kind)) {
        return Err(ExprError::at(x.span.clone(), format!("{} of {} is undefined", call.name, x.ty)));
    }
    unary(call, x, DType::Int64, move |array| part(array, wanted))
}

/// `unit`, `tz` and `format` are the positions of these arguments.
fn timestamp(call: &mut Call, [unit, tz, format]: [usize; 3]) -> ExprResult<OperandKind> {
    let unit = match call.string(unit)?.as_deref().unwrap_or("us") {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        other => return Err(call.error(format!("{}: unit must be \"s\", \"ms\", \"us\" or \"ns\", not {other:?}", call.name))),
    };
    let tz = if call.given(tz).is_some_and(|tz| !tz.is_none()) { call.string(tz)? } else { None };
    let to = DataType::Timestamp(unit, tz.map(Arc::from));
    let x = call.sized(0)?;
    let target = TimeType::of(&to);
    if let Some(target) = &target {
        zone(target).map_err(|e| call.error(e.message()))?;
    }
    let format = call.string(format)?.map(|text| time_format(call, format, &text)).transpose()?;
    if x.ty.dtype() == Some(&DType::String) && !x.ty.is_sparse() {
        let name = match unit {
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
        };
        let reading = Arc::new(Reading { x: text_at(call.text(), &x.span).to_owned(), unit: name, format });
        return unary(call, x, DType::Arrow(Box::new(to.clone())), move |array| parsed(array, &to, &reading));
    }
    if format.is_some() {
        let error = ExprError::at(x.span.clone(), format!("{} reads text in a format, found {}", call.name, x.ty));
        let is_integer = x.ty.dtype().is_some_and(DType::is_integer);
        return Err(
            error.help_if(is_integer.then(|| format!("to convert it to text: strings.as_string({})", text_at(call.text(), &x.span))))
        );
    }
    let known = match (x.ty.dtype().filter(|_| !x.ty.is_sparse()), time_type(&x), &target) {
        (_, Some(from), Some(target)) => converts(&from, target),
        (Some(dtype), ..) => dtype.is_integer(),
        _ => false,
    };
    if !known {
        let to = DType::Arrow(Box::new(to));
        let error = ExprError::at(x.span.clone(), format!("{} cannot be converted to {to}", x.ty));
        let is_float = x.ty.dtype().is_some_and(DType::is_float) && !x.ty.is_sparse();
        let from = x.ty.dtype().filter(|_| !x.ty.is_sparse());
        let error = error.help_if(from.and_then(|from| conversion(call.text(), &x.span, from, &to)));
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

/// The format of texts, argument `i`.
fn time_format(call: &Call, i: usize, text: &str) -> ExprResult<TimeFormat> {
    let span = call.operand(i)?.span.clone();
    let format = TimeFormat::parse(text).map_err(|e| ExprError::from(e).or_at(span.clone()))?;
    if format.is_complete() {
        return Ok(format);
    }
    let error = ExprError::at(span, format!("the format {text:?} does not determine a date and a time"));
    Err(error.help(match (text.contains("%Y"), text.contains("%I") || text.contains("%l")) {
        (true, true) => "an hour from 1 to 12 needs %p, AM or PM; %H is the hour from 0 to 23".to_owned(),
        (false, _) if text.contains("%d") || text.contains("%e") => {
            let x = call.given(0).map_or("x", |x| text_at(call.text(), &x.span));
            format!("it has no year; to add one to the text: timestamp(\"2024 \" + {x}, format=\"%Y {text}\")")
        }
        _ => "such as %Y-%m-%d %H:%M:%S; or %s, for seconds since 1970".to_owned(),
    }))
}

fn strftime(call: &mut Call) -> ExprResult<OperandKind> {
    let text = call.string(1)?.unwrap_or_else(|| "%Y-%m-%dT%H:%M:%S".to_owned());
    let span = call.given(1).map_or(call.span.clone(), |item| item.span.clone());
    let format = TimeFormat::parse(&text).map_err(|e| ExprError::from(e).or_at(span.clone()))?;
    let (x, time) = times(call, 0)?;
    if time.kind == TimeKind::Duration {
        return Err(
            ExprError::at(x.span.clone(), format!("{} of {} is undefined", call.name, x.ty)).help("for ISO 8601 text: cast(x, string)")
        );
    }
    if format.has_offset() && time.zone.is_none() {
        let error = ExprError::at(span, format!("{} has no time zone, so it has no UTC offset, %z", named(x.dtype()?)));
        return Err(error.help(format!("to set the zone: timestamp({}, tz=\"UTC\")", text_at(call.text(), &x.span))));
    }
    if !has_parts(time.kind, &format) {
        return Err(ExprError::at(span, format!("{} has no date", named(x.dtype()?))));
    }
    unary(call, x, DType::String, move |array| written(array, &format))
}

fn date_trunc(call: &mut Call) -> ExprResult<OperandKind> {
    // DuckDB, PostgreSQL and Spark write the unit first.
    let unit_first = call.operand(0)?.literal().is_some_and(|first| matches!(first, Literal::String(_)));
    let (of, unit) = if unit_first { (1, 0) } else { (0, 1) };
    let wanted = call.string(unit)?.unwrap_or_default();
    let found = TimeUnits::NAMED.iter().find(|(name, _)| *name == wanted).map(|(_, unit)| *unit);
    let (x, time) = times(call, of)?;
    let Some(to) = found else {
        let names: Vec<&str> = TimeUnits::NAMED.iter().map(|(name, _)| *name).collect();
        let error = ExprError::at(call.operand(unit)?.span.clone(), format!("{}: unknown unit {wanted:?}", call.name));
        return Err(match nearest(&wanted, names.iter().copied()) {
            Some(near) => error.help(format!("did you mean {near:?}?")),
            None => error.help(format!("the units are: {}", names.join(", "))),
        });
    };
    if time.kind == TimeKind::Duration || (time.kind == TimeKind::TimeOfDay && !to.is_within_days()) {
        return Err(ExprError::at(x.span.clone(), format!("{} of {} to {wanted:?} is undefined", call.name, named(x.dtype()?))));
    }
    let dtype = x.dtype()?.clone();
    unary(call, x, dtype, move |array| truncated(array, to))
}

/// Whether the times of both can be compared and subtracted.
pub fn alike(a: &TimeType, b: &TimeType) -> bool {
    a.kind == b.kind && a.zone.is_some() == b.zone.is_some() || has_date(a.kind) && has_date(b.kind) && converts(a, b)
}

/// The name of a dtype of times as users write it: `timestamp[us]`.
pub fn named(dtype: &DType) -> String {
    let name = dtype.to_string();
    name.strip_prefix("arrow<").and_then(|name| name.strip_suffix('>')).unwrap_or(&name).to_owned()
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
            if !alike(&a, &b) {
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
    let Some(literal) = item.literal().filter(|literal| texts_of(literal).is_some()) else {
        let error = ExprError::at(item.span.clone(), format!("{dtype} and {} cannot be compared", item.describe()));
        return Err(error.help("compare with text, such as \"2024-05-01T12:30:00\", or with timestamp(x)"));
    };
    exact_literal(call, &item, &literal, &dtype.arrow())
}

/// The texts of a literal: of a string, or of a list of strings at any depth. `None` if it holds none, or others.
pub fn texts_of(literal: &Literal) -> Option<Vec<&str>> {
    match literal {
        Literal::String(text) => Some(vec![text]),
        Literal::List(items) if !items.is_empty() => {
            let texts = items.iter().map(texts_of).collect::<Option<Vec<_>>>()?;
            Some(texts.concat())
        }
        _ => None,
    }
}

/// The text of a literal, or its texts, as times of type `to`, or of a smaller unit if they are more precise.
///
/// # Errors
/// Text that is not a time.
pub fn exact_literal(call: &mut Call, item: &Operand, literal: &Literal, to: &DataType) -> ExprResult<Arg> {
    let times = times_of_literal(literal, item, "", &|texts| exact_times_of_text(texts, to))?;
    Ok(call.push(times))
}

/// The times that a literal denotes, from its texts.
///
/// # Errors
/// Text that is not a time; the message starts with `prefix`.
pub fn times_of_literal(
    literal: &Literal,
    item: &Operand,
    prefix: &str,
    times: &dyn Fn(&ArrayRef) -> Result<ArrayRef, Error>,
) -> ExprResult<Node> {
    let (ty, texts) = literal::plain(literal, Some(&DType::String)).map_err(|e| e.or_at(item.span.clone()))?;
    let mut to = DataType::Null;
    let times = texts.map_below(ty.rank(), &mut |texts| {
        let times = times(texts.as_leaf()?)?;
        to = times.data_type().clone();
        Ok(Tensor::Leaf(times))
    });
    let times = times.map_err(|e| unusable(item, prefix, &e))?;
    Ok(constant(times, Type { element: Element::Value(DType::Arrow(Box::new(to))), ..ty }, item.span.clone()))
}

/// The error of a literal that is not usable as a time, with its help.
fn unusable(literal: &Operand, prefix: &str, e: &Error) -> ExprError {
    let error = ExprError::at(literal.span.clone(), format!("{prefix}{}", e.message()));
    e.helps().iter().fold(error, |error, hint| error.help(hint.as_str()))
}
