//! Converts failures of the parquet crate to errors.

use crate::error::Error;
use parquet::errors::ParquetError;

/// Converts an error of the parquet crate to a data error, unless reading the file failed.
pub fn lifted(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(io) => from_io(&io),
            Err(other) => Error::carried_by(other.as_ref()).unwrap_or_else(|| Error::data(other.to_string())),
        },
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) | ParquetError::ArrowError(text) => {
            Error::data(text)
        }
        other => Error::data(other.to_string()),
    }
}

/// A failed read or write.
pub fn from_io(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::carried_by(error).unwrap_or_else(|| Error::data("the file ends too early")),
        _ => Error::io("the file", "reading or writing", error),
    }
}

/// A decoding error, without the names of the layers it passed through.
pub fn damaged(text: &str) -> Error {
    let mut text = text;
    for layer in ["Parquet argument error: ", "Parquet error: ", "External error: ", "Arrow: ", "External: "] {
        text = text.strip_prefix(layer).unwrap_or(text);
    }
    Error::data(format!("a Parquet page is damaged: {text}"))
}
