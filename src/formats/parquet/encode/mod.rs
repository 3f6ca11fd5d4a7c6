//! Column chunks: encodes values, levels and dictionaries into pages.
//!
//! - [`levels`]: the repetition and definition levels of the leaves of a column;
//! - [`hybrid`]: the run-length and bit-packing encoding of levels and dictionary indices;
//! - [`range`]: minimum and maximum values; [`codec`]: compression;
//! - [`chunk`]: the values of a leaf in a row group, [`page`]: its pages.
//!
//! The parquet crate writes page headers and footers. Its own column writers hash every string in a hash table and copy
//! each value several times; they are used for rare types.

mod chunk;
mod codec;
mod hybrid;
mod levels;
mod page;
mod range;

pub use chunk::ChunkWriter;
pub use codec::Codec;
pub use levels::leaves_of;
pub use page::EncodedChunk;

use arrow_schema::{DataType, Field, TimeUnit};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// How the values of a leaf are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    Bool,
    /// Whether numbers take four bytes or eight.
    Signed {
        nbytes: usize,
    },
    Unsigned {
        nbytes: usize,
    },
    Float,
    Double,
    Bytes {
        utf8: bool,
    },
}

impl StorageKind {
    /// `None` for types that are left to the parquet crate.
    pub fn of(ty: &DataType, column: &ColumnDescriptor) -> Option<StorageKind> {
        use DataType::*;
        let kind = match ty {
            Boolean => StorageKind::Bool,
            Int8 | Int16 | Int32 | Date32 | Time32(TimeUnit::Millisecond) => StorageKind::Signed { nbytes: 4 },
            UInt8 | UInt16 | UInt32 => StorageKind::Unsigned { nbytes: 4 },
            Int64 | Time64(_) | Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond, _) => {
                StorageKind::Signed { nbytes: 8 }
            }
            UInt64 => StorageKind::Unsigned { nbytes: 8 },
            Float32 => StorageKind::Float,
            Float64 => StorageKind::Double,
            Utf8 | LargeUtf8 => StorageKind::Bytes { utf8: true },
            Binary | LargeBinary => StorageKind::Bytes { utf8: false },
            _ => return None,
        };
        let physical = match kind {
            StorageKind::Bool => PhysicalType::BOOLEAN,
            StorageKind::Signed { nbytes: 4 } | StorageKind::Unsigned { nbytes: 4 } => PhysicalType::INT32,
            StorageKind::Signed { .. } | StorageKind::Unsigned { .. } => PhysicalType::INT64,
            StorageKind::Float => PhysicalType::FLOAT,
            StorageKind::Double => PhysicalType::DOUBLE,
            StorageKind::Bytes { .. } => PhysicalType::BYTE_ARRAY,
        };
        let has_order = match (column.logical_type_ref(), column.converted_type()) {
            (None | Some(LogicalType::String | LogicalType::Json | LogicalType::Bson | LogicalType::Enum), _) => {
                column.converted_type() != ConvertedType::DECIMAL
            }
            (Some(LogicalType::Integer(..) | LogicalType::Date | LogicalType::Time(..) | LogicalType::Timestamp(..)), _) => true,
            _ => false,
        };
        (physical == column.physical_type() && has_order).then_some(kind)
    }

    /// Whether columns of that type can have a dictionary here.
    pub fn has_dictionary(ty: &DataType) -> bool {
        use DataType::*;
        let is_number = ty.is_integer() || matches!(ty, Float32 | Float64 | Date32 | Time32(_) | Time64(_) | Timestamp(..));
        is_number || matches!(ty, Utf8 | LargeUtf8 | Binary | LargeBinary)
    }

    /// The size of a number in bytes.
    fn width(self) -> usize {
        match self {
            StorageKind::Signed { nbytes } | StorageKind::Unsigned { nbytes } => nbytes,
            StorageKind::Float => 4,
            _ => 8,
        }
    }
}

/// The kinds of the leaves of a field, in Parquet column order; `None` if one of them is left to the parquet crate.
pub fn kinds(field: &Field, parquet: &SchemaDescriptor) -> Option<Vec<StorageKind>> {
    let mut types = Vec::new();
    leaf_types(field, &mut types);
    types.iter().zip(parquet.columns()).map(|(ty, column)| StorageKind::of(ty, column)).collect()
}

/// The types of the leaves of a field, in Parquet column order.
pub fn leaf_types<'a>(field: &'a Field, out: &mut Vec<&'a DataType>) {
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|f| leaf_types(f, out)),
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::Map(f, _) => leaf_types(f, out),
        ty => out.push(ty),
    }
}
