//! Types of results: dtype promotion, broadcasting of axes, and types without nulls.

use super::error::{ExprError, ExprResult};
use crate::schema::time::finer;
use crate::schema::{DType, Dim, Element, Size, Type};

/// NumPy's promotion of two dtypes, the finer one of times; `None` for strings mixed with numbers.
pub fn promote(a: &DType, b: &DType) -> Option<DType> {
    use DType::*;
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (Bool, other) | (other, Bool) if other.is_number() => return Some(other.clone()),
        (String, Bytes) | (Bytes, String) => return Some(Bytes),
        (Arrow(a), Arrow(b)) => return finer(a, b).map(|ty| Arrow(Box::new(ty))),
        _ => {}
    }
    let float = |bits| match bits {
        16 => Float16,
        32 => Float32,
        _ => Float64,
    };
    match (float_bits(a), float_bits(b), integer(a), integer(b)) {
        (Some(x), Some(y), ..) => Some(float(x.max(y))),
        (Some(f), _, _, Some((_, bits))) | (_, Some(f), Some((_, bits)), _) => Some(float(match bits {
            8 => f,
            16 => f.max(32),
            _ => 64,
        })),
        (_, _, Some((a_signed, a_bits)), Some((b_signed, b_bits))) if a_signed == b_signed => {
            Some(if a_bits >= b_bits { a.clone() } else { b.clone() })
        }
        (_, _, Some((a_signed, a_bits)), Some((_, b_bits))) => {
            let (signed, unsigned) = if a_signed { (a_bits, b_bits) } else { (b_bits, a_bits) };
            Some(match if unsigned >= signed { unsigned * 2 } else { signed } {
                16 => Int16,
                32 => Int32,
                64 => Int64,
                _ => Float64,
            })
        }
        _ => None,
    }
}

fn float_bits(d: &DType) -> Option<u32> {
    match d {
        DType::Float16 => Some(16),
        DType::Float32 => Some(32),
        DType::Float64 => Some(64),
        _ => None,
    }
}

/// Whether an integer dtype is signed, and its width in bits.
pub fn integer(d: &DType) -> Option<(bool, u32)> {
    Some(match d {
        DType::Int8 => (true, 8),
        DType::Int16 => (true, 16),
        DType::Int32 => (true, 32),
        DType::Int64 => (true, 64),
        DType::UInt8 => (false, 8),
        DType::UInt16 => (false, 16),
        DType::UInt32 => (false, 32),
        DType::UInt64 => (false, 64),
        _ => return None,
    })
}

/// The axes of tensors broadcast against each other.
///
/// # Errors
/// Incompatible known sizes, or a uniform row combined with ragged rows below an axis along which it is repeated.
pub fn broadcast(operands: &[&[Dim]]) -> ExprResult<Vec<Dim>> {
    let rank = operands.iter().map(|d| d.len()).max().unwrap_or(0);
    let mut out = Vec::with_capacity(rank);
    for axis in 0..rank {
        let sizes: Vec<Size> = operands.iter().map(|dims| at(dims, rank, axis)).collect();
        let known = sizes.iter().filter_map(|s| if let Size::Known(n) = s { Some(*n) } else { None });
        let mut size = None;
        for n in known.filter(|n| *n != 1) {
            if *size.get_or_insert(n) != n {
                return Err(ExprError::new(format!(
                    "the shapes {} do not broadcast: axis {axis} has {} and {n} items",
                    shapes(operands),
                    size.unwrap_or(n)
                )));
            }
        }
        out.push(Dim::of(if sizes.contains(&Size::Ragged) {
            Size::Ragged
        } else if let Some(n) = size {
            Size::Known(n)
        } else if sizes.contains(&Size::Uniform) {
            Size::Uniform
        } else {
            Size::Known(1)
        }));
        if sizes.contains(&Size::Ragged) {
            for (operand, found) in operands.iter().zip(&sizes) {
                if let Size::Known(n) = found
                    && *n != 1
                    && is_repeated(operand, operands, rank, axis)
                {
                    return Err(ExprError::new(format!(
                        "the shapes {} do not broadcast: axis {axis} combines {n} items with ragged rows",
                        shapes(operands)
                    ))
                    .help("a ragged axis accepts rows of the same lengths, or one value per row"));
                }
            }
        }
    }
    Ok(out)
}

/// The size of an operand's axis, numbered as in the result; missing axes have size 1.
pub fn at(dims: &[Dim], rank: usize, axis: usize) -> Size {
    (axis + dims.len()).checked_sub(rank).map_or(Size::Known(1), |i| dims[i].size)
}

/// Whether the type shows that the operand is repeated along an axis outside of `axis`.
pub fn is_repeated(operand: &[Dim], operands: &[&[Dim]], rank: usize, axis: usize) -> bool {
    (0..axis)
        .any(|outer| at(operand, rank, outer) == Size::Known(1) && operands.iter().any(|other| at(other, rank, outer) != Size::Known(1)))
}

/// `[2, (?)] and [3]`.
pub fn shapes(operands: &[&[Dim]]) -> String {
    operands.iter().map(|d| shape(d)).collect::<Vec<_>>().join(" and ")
}

/// `[2, (?)]`; `[]` for a scalar.
pub fn shape(dims: &[Dim]) -> String {
    let sizes: Vec<String> = dims
        .iter()
        .map(|d| match d.size {
            Size::Known(n) => n.to_string(),
            Size::Uniform => "?".to_owned(),
            Size::Ragged => "(?)".to_owned(),
        })
        .collect();
    format!("[{}]", sizes.join(", "))
}

/// The type of such a tensor if it contains no nulls.
pub fn without_nulls(ty: &Type) -> Type {
    let mut ty = ty.clone();
    ty.optional = false;
    ty.with_nulls = false;
    if let Element::Struct(fields) = &mut ty.element {
        for field in fields {
            field.ty = without_nulls(&field.ty);
        }
    }
    ty
}

/// Whether such a tensor can contain nulls.
pub fn may_hold_nulls(ty: &Type) -> bool {
    ty.optional || ty.with_nulls || ty.fields().is_some_and(|fields| fields.iter().any(|f| may_hold_nulls(&f.ty)))
}

/// The first axis of a tensor is never ragged, because it has one slice per record.
pub fn outermost_uniform(mut dims: Vec<Dim>) -> Vec<Dim> {
    if let Some(first) = dims.first_mut()
        && first.size == Size::Ragged
    {
        *first = Dim::UNIFORM;
    }
    dims
}

/// The type of the values of a tensor below its first `naxes` axes; of a sparse tensor, its own. A value inside is null where the
/// tensor holds nulls.
pub fn below_axes(ty: &Type, naxes: usize) -> Type {
    if ty.is_sparse() {
        return ty.clone();
    }
    let below = (0..naxes).fold(ty.clone(), |ty, _| ty.item());
    Type { dims: outermost_uniform(below.dims), ..below }
}

/// The innermost ragged axis.
pub fn last_ragged(dims: &[Dim]) -> Option<usize> {
    dims.iter().rposition(|d| d.size == Size::Ragged)
}

/// The dtype in which integers are divided.
pub fn quotient(dtype: &DType) -> DType {
    match dtype {
        DType::Int8 | DType::Int16 | DType::UInt8 | DType::UInt16 => DType::Float32,
        d if d.is_float() => d.clone(),
        _ => DType::Float64,
    }
}

/// The axes of a field below the axes of its structures. Sizes that are uniform within each structure differ between
/// structures.
pub fn below_structure(dims: &[Dim], inner: bool) -> Vec<Dim> {
    dims.iter().map(|d| if inner && d.size == Size::Uniform { Dim::RAGGED } else { d.clone() }).collect()
}

/// The axis into which several axes are merged.
pub fn merged_dim(dims: &[Dim], outermost: bool) -> Dim {
    let product = dims.iter().try_fold(1u64, |all, d| if let Size::Known(n) = d.size { all.checked_mul(n) } else { None });
    match product {
        Some(n) => Dim::known(n),
        None if outermost || dims.iter().all(|d| d.size != Size::Ragged) => Dim::UNIFORM,
        None => Dim::RAGGED,
    }
}

/// The common rank of all operands.
///
/// # Errors
/// The index of the first operand with a different rank.
pub fn one_rank(operands: &[&[Dim]]) -> Result<usize, usize> {
    let rank = operands.first().map_or(0, |dims| dims.len());
    operands.iter().position(|dims| dims.len() != rank).map_or(Ok(rank), Err)
}

/// The axes of tensors of the same rank, concatenated along `axis`. `ragged`: sizes may differ on all other axes.
///
/// # Errors
/// Sizes differ on an axis where they must be the same.
pub fn joined(operands: &[&[Dim]], axis: usize, ragged: bool) -> ExprResult<Vec<Dim>> {
    joined_below(operands, axis, ragged, axis.max(1))
}

/// Like [`joined`]. Tensors are joined as ragged ones with at least `least` ragged axes: as in TensorFlow, the axes below
/// those of all tensors are uniform and must have the same size.
fn joined_below(operands: &[&[Dim]], axis: usize, ragged: bool, least: usize) -> ExprResult<Vec<Dim>> {
    let innermost = operands.iter().filter_map(|dims| last_ragged(dims)).fold(least, usize::max);
    let rank = operands.first().map_or(0, |dims| dims.len());
    let dense = !ragged && operands.iter().all(|dims| last_ragged(dims).is_none());
    (0..rank)
        .map(|i| {
            let sizes: Vec<Size> = operands.iter().map(|dims| dims[i].size).collect();
            let known: Option<Vec<u64>> = sizes.iter().map(|s| if let Size::Known(n) = s { Some(*n) } else { None }).collect();
            if i == axis {
                return Ok(match known {
                    Some(known) => Dim::known(known.iter().sum()),
                    None if i == 0 || (dense && !sizes.contains(&Size::Ragged)) => Dim::UNIFORM,
                    None => Dim::RAGGED,
                });
            }
            if let Some(known) = &known
                && known.iter().all(|n| *n == known[0])
            {
                return Ok(Dim::known(known[0]));
            }
            if i < axis || dense || i > innermost {
                let mut some = sizes.iter().filter_map(|s| if let Size::Known(n) = s { Some(*n) } else { None });
                let first = some.next();
                if let (Some(a), Some(b)) = (first, some.find(|n| Some(*n) != first)) {
                    return Err(ExprError::new(format!("axis {i} has {a} items here and {b} there; only axis {axis} may differ")));
                }
                if let Some(n) = first {
                    return Ok(Dim::known(n));
                }
                return Ok(if sizes.contains(&Size::Ragged) && i > 0 { Dim::RAGGED } else { Dim::UNIFORM });
            }
            // Below the axis of a ragged result, rows can have any length, unless the inner axes are uniform in all
            // tensors.
            Ok(if sizes.iter().all(|s| *s == Size::Uniform) && i == 0 { Dim::UNIFORM } else { Dim::RAGGED })
        })
        .collect()
}

/// The axes of a field in rows of both: one whose size differs is ragged. The outermost axis in structures without axes becomes
/// so when they are joined.
pub fn either(a: &[Dim], b: &[Dim], has_rows: bool) -> Vec<Dim> {
    let open = |axis: usize| if axis == 0 && !has_rows { Dim::UNIFORM } else { Dim::RAGGED };
    a.iter().zip(b).enumerate().map(|(axis, (a, b))| if a == b { a.clone() } else { open(axis) }).collect()
}

/// The axes of tensors of equal rank stacked along a new axis; see [`joined`].
///
/// # Errors
/// Sizes that differ on an axis of dense tensors.
pub fn stacked(operands: &[&[Dim]], axis: usize, ragged: bool) -> ExprResult<Vec<Dim>> {
    let dense = !ragged && operands.iter().all(|dims| last_ragged(dims).is_none());
    let expanded: Vec<Vec<Dim>> = operands
        .iter()
        .map(|dims| {
            let mut dims = dims.to_vec();
            dims.insert(axis, Dim::known(1));
            // The former first axis is now an inner axis: stacked rows of different lengths are ragged.
            if axis == 0 && !dense && dims.get(1).is_some_and(|d| d.size == Size::Uniform) {
                dims[1] = Dim::RAGGED;
            }
            dims
        })
        .collect();
    joined_below(&expanded.iter().map(Vec::as_slice).collect::<Vec<_>>(), axis, ragged, (axis + 1).max(2))
}
