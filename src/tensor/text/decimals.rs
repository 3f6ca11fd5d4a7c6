//! The text of decimals.

use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, DecimalType};
use arrow_array::{Array, ArrayRef, LargeStringArray, PrimitiveArray};
use arrow_schema::DataType;
use std::sync::Arc;

/// Decimals that are all written as plain digits, which is much faster than with Arrow's parser; `None` if any is not, or does not fit.
pub fn plain_decimals(texts: &LargeStringArray, ty: &DataType) -> Option<ArrayRef> {
    fn array<T: DecimalType>(texts: &LargeStringArray, precision: u8, scale: i8) -> Option<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let limit = 10i128.checked_pow(precision.into())?;
        let value = |row: usize| match texts.is_valid(row) {
            true => plain_decimal(texts.value(row).as_bytes(), scale).filter(|value| (-limit < *value) && *value < limit)?.try_into().ok(),
            false => Some(T::Native::default()),
        };
        let values: Vec<T::Native> = (0..texts.len()).map(value).collect::<Option<_>>()?;
        let array = PrimitiveArray::<T>::new(values.into(), texts.nulls().cloned());
        Some(Arc::new(array.with_precision_and_scale(precision, scale).ok()?))
    }
    match ty {
        DataType::Decimal32(precision, scale) => array::<Decimal32Type>(texts, *precision, *scale),
        DataType::Decimal64(precision, scale) => array::<Decimal64Type>(texts, *precision, *scale),
        DataType::Decimal128(precision, scale) => array::<Decimal128Type>(texts, *precision, *scale),
        _ => None,
    }
}

/// The value of digits with an optional sign and point, times 10^scale; `None` for other texts, and if it is no integer or has too many
/// digits.
fn plain_decimal(text: &[u8], scale: i8) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let point = memchr::memchr(b'.', digits).unwrap_or(digits.len());
    let (whole, fraction) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
    let scale = usize::try_from(scale).ok()?;
    let (fraction, rest) = fraction.split_at(fraction.len().min(scale));
    // 10^38 fits in 127 bits.
    if whole.is_empty() || whole.len() + scale > 38 || rest.iter().any(|digit| *digit != b'0') {
        return None;
    }
    let mut value = 0i128;
    for part in [whole, fraction] {
        // 18 digits fit in 64 bits.
        for block in part.chunks(18) {
            let mut number = 0u64;
            for digit in block {
                number = number * 10 + u64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
            }
            value = value * 10i128.pow(block.len() as u32) + i128::from(number);
        }
    }
    value *= 10i128.pow((scale - fraction.len()) as u32);
    Some(if is_negative { -value } else { value })
}

/// The number of digits needed after the decimal point; negative for trailing zeros before it that can be omitted.
pub fn decimal_places(text: &str) -> i64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.bytes().chain(fraction.bytes());
    if digits.clone().all(|byte| b"-+0".contains(&byte)) {
        return i64::MIN;
    }
    let zeros = digits.rev().take_while(|byte| *byte == b'0').count();
    fraction.len() as i64 - zeros as i64 - exponent
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_decimals_are_those_of_arrow(text in "-?[0-9]{1,24}([.][0-9]{0,14})?", scale in 0i8..16, precision in 16u8..=38) {
            let texts = LargeStringArray::from(vec![Some(text.as_str()), None]);
            let options = arrow_cast::CastOptions { safe: true, ..Default::default() };
            for ty in [DataType::Decimal128(precision, scale), DataType::Decimal64(precision.min(18), scale)] {
                let expected = arrow_cast::cast_with_options(&texts, &ty, &options).unwrap();
                if let Some(found) = plain_decimals(&texts, &ty) {
                    prop_assert_eq!(&found, &expected);
                } else {
                    prop_assert!(expected.is_null(0) || decimal_places(&text) > i64::from(scale) || text.len() + usize::from(scale as u8) > 38);
                }
            }
        }
    }
}
