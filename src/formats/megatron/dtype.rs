//! The dtype codes of an index. Source: `DType` in `indexed_dataset.py`.

use crate::schema::DType;

const CODES: [(u8, DType); 8] = [
    (1, DType::UInt8),
    (2, DType::Int8),
    (3, DType::Int16),
    (4, DType::Int32),
    (5, DType::Int64),
    (6, DType::Float64),
    (7, DType::Float32),
    (8, DType::UInt16),
];

/// The dtype of a code.
pub fn of_code(code: u8) -> Option<DType> {
    CODES.iter().find(|(own, _)| *own == code).map(|(_, dtype)| dtype.clone())
}

/// The code of a dtype; `None` if an index does not support it.
pub fn code(dtype: &DType) -> Option<u8> {
    CODES.iter().find(|(_, own)| own == dtype).map(|(code, _)| *code)
}

/// All dtypes, for messages.
pub fn names() -> String {
    CODES.iter().map(|(_, dtype)| dtype.to_string()).collect::<Vec<_>>().join(", ")
}

/// The dtype that Megatron uses for a vocabulary of that size (`DType.optimal_dtype`).
pub fn of_vocabulary(size: u64) -> DType {
    if size < 65500 { DType::UInt16 } else { DType::Int32 }
}

/// The smallest integer dtype that holds these numbers.
pub fn smallest(min: i64, max: i64) -> DType {
    let is_in = |low: i64, high: i64| min >= low && max <= high;
    match () {
        () if is_in(0, i64::from(u8::MAX)) => DType::UInt8,
        () if is_in(i64::from(i8::MIN), i64::from(i8::MAX)) => DType::Int8,
        () if is_in(0, i64::from(u16::MAX)) => DType::UInt16,
        () if is_in(i64::from(i16::MIN), i64::from(i16::MAX)) => DType::Int16,
        () if is_in(i64::from(i32::MIN), i64::from(i32::MAX)) => DType::Int32,
        () => DType::Int64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_dtype_holds_both_ends() {
        for (min, max, expected) in [
            (0, 255, DType::UInt8),
            (-1, 127, DType::Int8),
            (-1, 128, DType::Int16),
            (0, 65535, DType::UInt16),
            (-1, 65535, DType::Int32),
            (0, 65536, DType::Int32),
            (i64::MIN, 0, DType::Int64),
            (0, 0, DType::UInt8),
        ] {
            assert_eq!(smallest(min, max), expected, "{min} {max}");
        }
        assert_eq!((of_vocabulary(65499), of_vocabulary(65500)), (DType::UInt16, DType::Int32));
    }
}
