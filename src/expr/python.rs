//! Arithmetic on number literals, as Python computes it before TensorFlow sees the numbers: integers do not wrap
//! around, `/` gives a float, and the result is a literal that takes the dtype of the tensor it is combined with.
//!
//! ```text
//! 2 ** 31        2147483648
//! x + 1 / 3      of the dtype of x
//! ```

use super::syntax::{Binary, Unary};
use crate::schema::Literal;

/// The result of a binary operator on two numbers. `None` leaves the operation to the tensor functions: for operands
/// that are not numbers, results beyond 128 bits, and operations for which Python raises an error.
pub fn binary(op: Binary, a: &Literal, b: &Literal) -> Option<Literal> {
    match (a, b) {
        (Literal::Int(a), Literal::Int(b)) => integers(op, *a, *b),
        (Literal::Int(_) | Literal::Float(_), Literal::Int(_) | Literal::Float(_)) => floats(op, float(a)?, float(b)?),
        _ => None,
    }
}

/// The result of a unary operator on a number.
pub fn unary(op: Unary, x: &Literal) -> Option<Literal> {
    match (op, x) {
        (Unary::Plus, Literal::Int(_) | Literal::Float(_)) => Some(x.clone()),
        (Unary::Minus, Literal::Int(n)) => n.checked_neg().map(Literal::Int),
        (Unary::Minus, Literal::Float(x)) => Some(Literal::Float(-x)),
        (Unary::Invert, Literal::Int(n)) => Some(Literal::Int(!n)),
        (Unary::Not, Literal::Bool(b)) => Some(Literal::Bool(!b)),
        _ => None,
    }
}

/// `float(x)` of a number or string.
pub fn float(x: &Literal) -> Option<f64> {
    match x {
        Literal::Int(n) => Some(*n as f64),
        Literal::Float(x) => Some(*x),
        Literal::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// `int(x)` of a number or string.
pub fn int(x: &Literal) -> Option<i128> {
    match x {
        Literal::Int(n) => Some(*n),
        Literal::Float(x) if x.is_finite() && x.abs() < 1e38 => Some(*x as i128),
        Literal::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn integers(op: Binary, a: i128, b: i128) -> Option<Literal> {
    let bits = || u32::try_from(b).ok();
    let floor = |a: i128, b: i128| {
        let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
        Some(if rest != 0 && (rest < 0) != (b < 0) { (quotient - 1, rest + b) } else { (quotient, rest) })
    };
    let value = match op {
        Binary::Add => a.checked_add(b)?,
        Binary::Subtract => a.checked_sub(b)?,
        Binary::Multiply => a.checked_mul(b)?,
        Binary::FloorDivide => floor(a, b)?.0,
        Binary::Modulo => floor(a, b)?.1,
        Binary::Power if b >= 0 => a.checked_pow(bits()?)?,
        Binary::ShiftLeft => a.checked_mul(1i128.checked_shl(bits()?).filter(|n| *n > 0)?)?,
        Binary::ShiftRight => a >> bits()?.min(127),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Divide | Binary::Power => return floats(op, a as f64, b as f64),
        Binary::MatMul => return None,
    };
    Some(Literal::Int(value))
}

fn floats(op: Binary, a: f64, b: f64) -> Option<Literal> {
    if b == 0.0 && matches!(op, Binary::Divide | Binary::FloorDivide | Binary::Modulo) {
        return None;
    }
    let rest = || {
        let rest = a % b;
        if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
    };
    let value = match op {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::FloorDivide => ((a - rest()) / b).round(),
        Binary::Modulo => rest(),
        Binary::Power => Some(a.powf(b)).filter(|power| !power.is_nan() || a.is_nan() || b.is_nan())?,
        Binary::And | Binary::Or | Binary::Xor | Binary::MatMul | Binary::ShiftLeft | Binary::ShiftRight => return None,
    };
    Some(Literal::Float(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_in_python() {
        let int = |op, a, b| binary(op, &Literal::Int(a), &Literal::Int(b));
        assert_eq!(int(Binary::Power, 2, 64), Some(Literal::Int(1 << 64)));
        assert_eq!(int(Binary::Power, 2, -1), Some(Literal::Float(0.5)));
        assert_eq!(int(Binary::Power, 2, 127), None);
        assert_eq!((int(Binary::FloorDivide, -7, 2), int(Binary::Modulo, -7, 2)), (Some(Literal::Int(-4)), Some(Literal::Int(1))));
        assert_eq!((int(Binary::FloorDivide, 7, -2), int(Binary::Modulo, 7, -2)), (Some(Literal::Int(-4)), Some(Literal::Int(-1))));
        assert_eq!((int(Binary::Divide, 7, 2), int(Binary::Divide, 7, 0)), (Some(Literal::Float(3.5)), None));
        assert_eq!((int(Binary::ShiftLeft, 1, 20), int(Binary::ShiftLeft, 1, 127)), (Some(Literal::Int(1 << 20)), None));
        assert_eq!((int(Binary::ShiftRight, -5, 1), int(Binary::ShiftRight, 5, 500)), (Some(Literal::Int(-3)), Some(Literal::Int(0))));
        let float = |op, a, b| binary(op, &Literal::Float(a), &Literal::Float(b));
        assert_eq!(
            (float(Binary::FloorDivide, -7.5, 2.0), float(Binary::Modulo, -7.5, 2.0)),
            (Some(Literal::Float(-4.0)), Some(Literal::Float(0.5)))
        );
        assert_eq!(float(Binary::Power, -8.0, 0.5), None);
        assert_eq!(unary(Unary::Invert, &Literal::Int(5)), Some(Literal::Int(-6)));
    }
}
