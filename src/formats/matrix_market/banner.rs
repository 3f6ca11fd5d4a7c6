//! The banner in the first line, and the sizes.

use crate::error::{Error, Result, mismatch};
use crate::schema::DType;

/// The start of every file.
pub const START: &[u8] = b"%%MatrixMarket";

/// The contents of the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banner {
    /// Whether entries have indices; otherwise all values are listed, column by column.
    pub is_coordinate: bool,
    pub field: Field,
    pub symmetry: Symmetry,
}

/// The type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Real,
    Integer,
    Unsigned,
    Complex,
    Pattern,
}

/// The symmetry, which determines the omitted entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

impl Field {
    pub fn dtype(self) -> DType {
        match self {
            Field::Real | Field::Complex => DType::Float64,
            Field::Integer => DType::Int64,
            Field::Unsigned => DType::UInt64,
            Field::Pattern => DType::Bool,
        }
    }
}

impl Banner {
    /// # Errors
    /// The file is not a matrix, or has unknown keywords.
    pub fn parse(line: &[u8]) -> Result<Banner> {
        let text = String::from_utf8_lossy(line).to_ascii_lowercase();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [start, "matrix", format, field, symmetry] = words.as_slice() else {
            return Err(Error::data("the first line is not `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`"));
        };
        let unknown =
            |word: &str, expected: &str| Error::data(mismatch(format_args!("{expected} in the first line"), format_args!("`{word}`")));
        if !start.as_bytes().eq_ignore_ascii_case(START) {
            return Err(unknown(start, "%%MatrixMarket"));
        }
        let banner = Banner {
            is_coordinate: match *format {
                "coordinate" => true,
                "array" => false,
                other => return Err(unknown(other, "coordinate or array")),
            },
            field: match *field {
                "real" | "double" => Field::Real,
                "integer" => Field::Integer,
                "unsigned-integer" => Field::Unsigned,
                "complex" => Field::Complex,
                "pattern" => Field::Pattern,
                other => return Err(unknown(other, "real, integer, unsigned-integer, complex or pattern")),
            },
            symmetry: match *symmetry {
                "general" => Symmetry::General,
                "symmetric" => Symmetry::Symmetric,
                "skew-symmetric" => Symmetry::Skew,
                "hermitian" => Symmetry::Hermitian,
                other => return Err(unknown(other, "general, symmetric, skew-symmetric or hermitian")),
            },
        };
        let fits = match (banner.field, banner.symmetry) {
            (Field::Pattern, _) if !banner.is_coordinate => false,
            (Field::Pattern | Field::Unsigned, Symmetry::Skew) => false,
            // SciPy writes real ones; they are symmetric.
            (field, Symmetry::Hermitian) => field != Field::Pattern,
            _ => true,
        };
        match fits {
            true => Ok(banner),
            false => Err(Error::data(format!("the first line says `{format} {field} {symmetry}`, which is not a valid combination"))),
        }
    }
}
