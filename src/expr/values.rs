//! Values from the command line: `--arg NAME=VALUE`, and arrays of `--with NAME=FILE`.

use super::constant::leaf;
use super::item::{Item, ItemKind, constant, literal_of, negated};
use super::problem::{Bind, Problem};
use super::syntax::{Expr, ExprKind, Unary, parse_expression};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::{DType, Dim, Literal, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use half::f16;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All named values of a run.
///
/// # Errors
/// No `NAME=`, a value that is no literal, a file that can't be read or is no array.
pub fn constants(options: &Options) -> Result<Arc<BTreeMap<String, Item>>> {
    let mut out = BTreeMap::new();
    for text in &options.args {
        let (name, value) = named(text, "--arg", "VALUE")?;
        out.insert(name.to_owned(), argument(value));
    }
    for text in &options.with {
        let (name, file) = named(text, "--with", "FILE")?;
        let (ty, tensor) = npy_file(file).map_err(|e| e.in_input(file))?;
        out.insert(name.to_owned(), Item { kind: ItemKind::Tensor(constant(tensor, ty, 0..0)), span: 0..0 });
    }
    Ok(Arc::new(out))
}

fn named<'a>(text: &'a str, option: &str, what: &str) -> Result<(&'a str, &'a str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(Error::usage(format!("{option} takes NAME={what}, not {text:?}"))),
    }
}

/// A literal of the expression language; anything else is a string.
fn argument(text: &str) -> Item {
    let literal = parse_expression(text).ok().and_then(|expr| literal(&expr));
    Item { kind: literal.unwrap_or_else(|| ItemKind::Literal(Literal::String(text.to_owned()))), span: 0..0 }
}

fn literal(expr: &Expr) -> Option<ItemKind> {
    if let ExprKind::Unary(Unary::Minus, inner) = &expr.kind {
        return negated(&literal(inner)?);
    }
    let inner = |e: &Expr| literal(e).map(|kind| Item { kind, span: 0..0 }).ok_or_else(|| Problem::new("no literal"));
    literal_of(expr, &inner).ok().flatten()
}

fn npy_file(path: &str) -> Result<(Type, Tensor)> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, "can't read it", &e))?;
    npy(&bytes).map_err(|e| {
        Error::new(crate::error::Kind::Usage, format!("--with takes an array of NumPy (.npy): {}", e.message()))
            .help("numpy.save(\"emb.npy\", array) writes one")
    })
}

/// An array in the format of `numpy.save`, as a constant.
///
/// # Errors
/// Another format, dtypes that are no tensor's, fewer bytes than the shape says.
pub fn npy(bytes: &[u8]) -> Bind<(Type, Tensor)> {
    // https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| Problem::new("the magic bytes are missing"))?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err(Problem::new("an unknown version of the format")),
    };
    let header = rest.get(..length).ok_or_else(|| Problem::new("the header is cut off"))?;
    let data = &rest[length..];
    let header = parse_expression(std::str::from_utf8(header).map_err(|_| Problem::new("the header is no text"))?.trim())?;
    let ExprKind::Dict(entries) = &header.kind else {
        return Err(Problem::new("the header is no dict"));
    };
    let entry = |name: &str| {
        entries
            .iter()
            .find(|(k, _)| k.kind == ExprKind::Str(name.to_owned()))
            .map(|(_, v)| &v.kind)
            .ok_or_else(|| Problem::new(format!("the header lacks {name}")))
    };
    let ExprKind::Str(descr) = entry("descr")? else {
        return Err(Problem::new("arrays of records are no tensors"));
    };
    if *entry("fortran_order")? == ExprKind::Bool(true) {
        return Err(Problem::new("the array is in Fortran order; numpy.ascontiguousarray(array) puts it in C order"));
    }
    let ExprKind::Tuple(sizes) = entry("shape")? else {
        return Err(Problem::new("the shape is no tuple"));
    };
    let shape = sizes
        .iter()
        .map(|s| if let ExprKind::Int(n) = s.kind { usize::try_from(n).ok() } else { None })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Problem::new("the shape holds something else than sizes"))?;
    let count = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n)).ok_or_else(|| Problem::new("the shape is too large"))?;
    let (dtype, values) = flat(descr, data, count)?;
    let mut tensor = Tensor::Leaf(values);
    let mut outer = count;
    for size in shape.iter().rev() {
        outer = if *size == 0 { shape_product(&shape[..shape.iter().position(|s| s == size).unwrap_or(0)]) } else { outer / size };
        tensor = Tensor::list(RowPartition::uniform(*size, outer)?, tensor, None)?;
    }
    Ok((Type::tensor(dtype, shape.iter().map(|n| Dim::known(*n as u64)).collect()), tensor))
}

fn shape_product(shape: &[usize]) -> usize {
    shape.iter().product()
}

fn flat(descr: &str, data: &[u8], count: usize) -> Bind<(DType, ArrayRef)> {
    fn numbers<T: ArrowPrimitiveType, const N: usize>(
        data: &[u8],
        count: usize,
        big: bool,
        read: impl Fn([u8; N]) -> T::Native,
    ) -> Bind<ArrayRef> {
        let data = sized(data, count, N)?;
        let values = data.chunks_exact(N).map(|c| {
            let mut bytes = [0; N];
            bytes.copy_from_slice(c);
            if big {
                bytes.reverse();
            }
            read(bytes)
        });
        Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(values)))
    }
    let (order, kind) = descr.split_at_checked(1).unwrap_or(("", descr));
    let big = order == ">";
    Ok(match kind {
        "b1" => (DType::Bool, Arc::new(BooleanArray::from(sized(data, count, 1)?.iter().map(|b| *b != 0).collect::<Vec<_>>()))),
        "i1" => (DType::Int8, numbers::<Int8Type, 1>(data, count, big, i8::from_le_bytes)?),
        "i2" => (DType::Int16, numbers::<Int16Type, 2>(data, count, big, i16::from_le_bytes)?),
        "i4" => (DType::Int32, numbers::<Int32Type, 4>(data, count, big, i32::from_le_bytes)?),
        "i8" => (DType::Int64, numbers::<Int64Type, 8>(data, count, big, i64::from_le_bytes)?),
        "u1" => (DType::UInt8, numbers::<UInt8Type, 1>(data, count, big, u8::from_le_bytes)?),
        "u2" => (DType::UInt16, numbers::<UInt16Type, 2>(data, count, big, u16::from_le_bytes)?),
        "u4" => (DType::UInt32, numbers::<UInt32Type, 4>(data, count, big, u32::from_le_bytes)?),
        "u8" => (DType::UInt64, numbers::<UInt64Type, 8>(data, count, big, u64::from_le_bytes)?),
        "f2" => (DType::Float16, numbers::<Float16Type, 2>(data, count, big, f16::from_le_bytes)?),
        "f4" => (DType::Float32, numbers::<Float32Type, 4>(data, count, big, f32::from_le_bytes)?),
        "f8" => (DType::Float64, numbers::<Float64Type, 8>(data, count, big, f64::from_le_bytes)?),
        _ => match (kind.chars().next(), kind.get(1..).and_then(|n| n.parse::<usize>().ok())) {
            (Some('S'), Some(width)) => {
                let texts =
                    sized(data, count, width)?.chunks(width.max(1)).map(|c| trimmed(c).to_vec()).map(Literal::Bytes).collect::<Vec<_>>();
                (DType::Bytes, leaf(&texts.iter().collect::<Vec<_>>(), &DType::Bytes)?)
            }
            (Some('U'), Some(width)) => {
                let bytes = sized(data, count, width.checked_mul(4).ok_or_else(|| Problem::new("a string width beyond this machine"))?)?;
                let mut texts = Vec::with_capacity(count);
                for chunk in bytes.chunks((4 * width).max(1)) {
                    let text: Option<String> =
                        chunk
                            .chunks_exact(4)
                            .map(|c| {
                                if big {
                                    u32::from_be_bytes([c[0], c[1], c[2], c[3]])
                                } else {
                                    u32::from_le_bytes([c[0], c[1], c[2], c[3]])
                                }
                            })
                            .map(char::from_u32)
                            .collect();
                    let text = text.ok_or_else(|| Problem::new("a string is no Unicode"))?;
                    texts.push(Literal::String(text.trim_end_matches('\0').to_owned()));
                }
                (DType::String, leaf(&texts.iter().collect::<Vec<_>>(), &DType::String)?)
            }
            _ => return Err(Problem::new(format!("its dtype {descr:?} is no tensor's"))),
        },
    })
}

fn sized(data: &[u8], count: usize, width: usize) -> Bind<&[u8]> {
    let expected = count.checked_mul(width).ok_or_else(|| Problem::new("the shape is too large"))?;
    data.get(..expected).ok_or_else(|| Problem::new(format!("{expected} bytes of values were expected, {} are there", data.len())))
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    &bytes[..end]
}
