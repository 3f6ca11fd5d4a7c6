//! Arithmetic on times: which operands an operator accepts, and the type of its result.
//!
//! Semantics: `pyarrow.compute.add`, `subtract`, `multiply` and `divide`.

use super::apply::pointwise;
use super::time::{alike, exact_literal, named, texts_of, time_type};
use crate::expr::call::{Arg, Call, index_node, strict_node};
use crate::expr::error::{ExprError, ExprResult, text_at};
use crate::expr::kernels::durations::{difference, floor_quotient, product, quotient, sum};
use crate::expr::kernels::elementwise::Binary;
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::iso8601::parse_duration;
use crate::schema::time::{TimeKind, TimeType, unit_within};
use crate::schema::{DType, Literal};
use arrow_schema::{DataType, TimeUnit};

/// An operand: a time, or a number.
enum Side {
    Time(TimeType),
    Integer,
}

/// `a op b` if either operand holds times; otherwise `None`. Text is parsed as a duration or, next to a time that it is
/// subtracted from, as a time.
///
/// # Errors
/// Operands for which the operation is undefined.
pub fn arithmetic(call: &mut Call, op: Binary) -> ExprResult<Option<OperandKind>> {
    let times = [time_operand(call, 0), time_operand(call, 1)];
    if let [None, None] = times {
        return Ok(None);
    }
    let sides = [side(call, op, 0, &times)?, side(call, op, 1, &times)?];
    let [Some((a, x)), Some((b, y))] = sides else { return Err(undefined(call, op)) };
    let units = [&x, &y].into_iter().filter_map(|side| match side {
        Side::Time(time) => Some(time.nanos),
        Side::Integer => None,
    });
    let finer = units.min().unwrap_or(1);
    let Some(to) = result(op, &x, &y, finer) else { return Err(undefined(call, op)) };
    // In the unit of the result, dates are whole numbers too.
    let nanos = TimeType::of(&to).map_or(finer, |time| time.nanos);
    let dtype = match &to {
        DataType::Int64 => DType::Int64,
        DataType::Float64 => DType::Float64,
        _ => DType::Arrow(Box::new(to.clone())),
    };
    let found = pointwise(call, [a, b], dtype, move |[x, y]| match op {
        Binary::Add => sum(x, y, nanos, &to),
        Binary::Subtract => difference(x, y, nanos, &to),
        Binary::Multiply => product(x, y, nanos, &to),
        Binary::Divide => quotient(x, y, nanos),
        _ => floor_quotient(x, y, nanos, &to),
    })?;
    Ok(Some(found))
}

/// The type of the result, in the finer unit of both; `None` if the operation is undefined.
fn result(op: Binary, x: &Side, y: &Side, finer: i64) -> Option<DataType> {
    use TimeKind::{Date, Duration, TimeOfDay, Timestamp};
    let unit = unit_within(finer);
    // A time that a duration is added to or subtracted from.
    let moved = |time: &TimeType| match (time.kind, unit) {
        (Timestamp, _) => DataType::Timestamp(unit, time.zone.clone()),
        (Date, _) => DataType::Timestamp(unit, None),
        (TimeOfDay, TimeUnit::Second | TimeUnit::Millisecond) => DataType::Time32(unit),
        (TimeOfDay, _) => DataType::Time64(unit),
        (Duration, _) => DataType::Duration(unit),
    };
    match (op, x, y) {
        (Binary::Add | Binary::Subtract, Side::Time(x), Side::Time(y)) if y.kind == Duration => Some(moved(x)),
        (Binary::Add, Side::Time(x), Side::Time(y)) if x.kind == Duration => Some(moved(y)),
        (Binary::Subtract, Side::Time(x), Side::Time(y)) if x.kind != Duration && alike(x, y) => Some(DataType::Duration(unit)),
        (Binary::Multiply, Side::Time(x), Side::Integer) | (Binary::Multiply, Side::Integer, Side::Time(x)) if x.kind == Duration => {
            Some(DataType::Duration(unit))
        }
        (Binary::FloorDivide, Side::Time(x), Side::Integer) if x.kind == Duration => Some(DataType::Duration(unit)),
        (Binary::FloorDivide, Side::Time(x), Side::Time(y)) if x.kind == Duration && y.kind == Duration => Some(DataType::Int64),
        (Binary::Divide, Side::Time(x), Side::Time(y)) if x.kind == Duration && y.kind == Duration => Some(DataType::Float64),
        _ => None,
    }
}

fn time_operand(call: &Call, i: usize) -> Option<TimeType> {
    let ty = &call.given(i)?.node()?.ty;
    ty.dtype().filter(|_| !ty.is_sparse())?.time()
}

/// An operand; `None` if it is neither a time, nor text that can be read as one, nor an integer.
fn side(call: &mut Call, op: Binary, i: usize, times: &[Option<TimeType>; 2]) -> ExprResult<Option<(Arg, Side)>> {
    if let Some(time) = &times[i] {
        return Ok(Some((call.sized(i)?, Side::Time(time.clone()))));
    }
    let item = call.operand(i)?.clone();
    let literal = item.literal();
    if let Some((literal, texts)) = literal.as_ref().and_then(|literal| Some((literal, texts_of(literal)?))) {
        let Some(other) = &times[1 - i] else { return Ok(None) };
        let is_duration = texts.iter().all(|text| parse_duration(text).is_some());
        let is_time = op == Binary::Subtract && other.kind != TimeKind::Duration && (i == 0 || !is_duration);
        let dtype = call.given(1 - i).and_then(Operand::node).and_then(|node| node.ty.dtype()).filter(|_| is_time);
        let to = dtype.map_or(DataType::Duration(TimeUnit::Second), DType::arrow);
        let arg = exact_literal(call, &item, literal, &to)?;
        let time = time_type(&arg).ok_or_else(|| call.internal("a literal time"))?;
        return Ok(Some((arg, Side::Time(time))));
    }
    if !matches!(op, Binary::Multiply | Binary::FloorDivide) {
        return Ok(None);
    }
    let is_integer = match &literal {
        Some(literal) => is_integers(literal),
        None => item.node().and_then(|node| node.ty.dtype()).is_some_and(DType::is_integer),
    };
    if !is_integer {
        return Ok(None);
    }
    let node = strict_node(&item)?;
    // As int64, larger numbers of uint64 would be others.
    let node = if node.ty.dtype() == Some(&DType::UInt64) { node } else { index_node(node, call.text())? };
    let arg = call.push(node);
    call.plain(&arg)?;
    Ok(Some((arg, Side::Integer)))
}

/// Whether a literal is an integer, or a list of integers.
fn is_integers(literal: &Literal) -> bool {
    match literal {
        Literal::List(items) => !items.is_empty() && items.iter().all(is_integers),
        literal => matches!(literal, Literal::Int(_)),
    }
}

/// The error for operands that the operation does not accept.
fn undefined(call: &Call, op: Binary) -> ExprError {
    let operands = [call.given(0), call.given(1)];
    let described = |operand: Option<&Operand>| {
        let time = operand.and_then(Operand::node).and_then(|node| node.ty.dtype()).filter(|dtype| dtype.time().is_some());
        time.map_or_else(|| operand.map_or_else(String::new, Operand::describe), named)
    };
    let written = |i: usize| operands[i].map_or("x", |operand| text_at(call.text(), &operand.span));
    let error = call.error(format!("{} cannot combine {} and {}", call.name, described(operands[0]), described(operands[1])));
    let times = [time_operand(call, 0), time_operand(call, 1)];
    match (op, &times) {
        (Binary::Add | Binary::Subtract, [Some(x), Some(y)])
            if x.zone.is_some() != y.zone.is_some() && x.kind == y.kind && op == Binary::Subtract =>
        {
            error.help("to set the time zone of a time: timestamp(x, tz=\"UTC\")")
        }
        (Binary::Add, [Some(_), Some(_)]) => error.help(format!("the duration between two times: {} - {}", written(0), written(1))),
        (Binary::Add | Binary::Subtract, _) => {
            let (time, other) = if times[0].is_some() { (0, 1) } else { (1, 0) };
            let symbol = if op == Binary::Add { "+" } else { "-" };
            let dtype = operands[other].and_then(Operand::node).and_then(|node| node.ty.dtype()).cloned();
            let literal = operands[other].and_then(Operand::literal);
            match (literal, dtype) {
                (Some(Literal::Int(n)), _) => error.help(format!("to use seconds: {} {symbol} \"PT{n}S\"", written(time))),
                (_, Some(dtype)) if dtype.is_integer() => {
                    error.help(format!("to use seconds: {} {symbol} cast({}, \"duration[s]\")", written(time), written(other)))
                }
                (_, Some(DType::String)) => error.help(format!("to parse it as a time: timestamp({})", written(other))),
                _ => error.help("a duration can be written as text, such as \"PT1H30M\""),
            }
        }
        (Binary::Divide, [Some(x), None]) if x.kind == TimeKind::Duration => error.help(format!(
            "to round down to whole units: {} // {}; for the number of seconds: {} / \"PT1S\"",
            written(0),
            written(1),
            written(0)
        )),
        (_, [Some(x), _]) if x.kind == TimeKind::Duration => error.help(format!("for the number of seconds: {} / \"PT1S\"", written(0))),
        _ => {
            let time = usize::from(times[0].is_none());
            error.help(format!("to convert a time to a count of its units: cast({}, int64)", written(time)))
        }
    }
}
