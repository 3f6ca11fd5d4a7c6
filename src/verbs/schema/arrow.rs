//! `--as arrow`: the pyarrow schema of the records in Arrow or Parquet.

use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use crate::schema::literal::quote;
use crate::tensor::arrow::encoded::Encodings;
use crate::tensor::arrow::{ArrowForm, to_arrow_field};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit, UnionMode};

/// The code.
///
/// # Errors
/// A known size that Arrow cannot hold.
pub fn code(schema: &Schema, options: &Options) -> Result<String> {
    let form = ArrowForm { wide: false, tensor_types: options.tensor_types, encodings: Encodings::All };
    let mut text = "import pyarrow as pa\n\nschema = pa.schema([\n".to_owned();
    for field in &schema.fields {
        let field = to_arrow_field(field, form)?;
        text.push_str(&match field_code(&field) {
            Ok(code) => format!("    {code},\n"),
            Err(reason) => format!("    # {}: {reason}\n", quote(field.name())),
        });
    }
    Ok(text + "])\n")
}

/// `pa.field(...)`, or the reason why pyarrow has no equivalent.
fn field_code(field: &Field) -> Result<String, String> {
    let ty = match field.data_type() {
        DataType::Dictionary(key, value) if field.dict_is_ordered() == Some(true) => {
            format!("pa.dictionary({}, {}, ordered=True)", type_code(key)?, type_code(value)?)
        }
        ty => type_code(ty)?,
    };
    let mut code = format!("pa.field({}, {ty}", quote(field.name()));
    if !field.is_nullable() {
        code.push_str(", nullable=False");
    }
    if !field.metadata().is_empty() {
        let mut pairs: Vec<String> = field.metadata().iter().map(|(k, v)| format!("{}: {}", quote(k), quote(v))).collect();
        pairs.sort();
        code.push_str(&format!(", metadata={{{}}}", pairs.join(", ")));
    }
    Ok(code + ")")
}

fn type_code(ty: &DataType) -> Result<String, String> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "\"s\"",
        TimeUnit::Millisecond => "\"ms\"",
        TimeUnit::Microsecond => "\"us\"",
        TimeUnit::Nanosecond => "\"ns\"",
    };
    let fields = |fields: &mut dyn Iterator<Item = &Field>| fields.map(field_code).collect::<Result<Vec<_>, _>>().map(|all| all.join(", "));
    let plain = match ty {
        DataType::Null => "null",
        DataType::Boolean => "bool_",
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::UInt8 => "uint8",
        DataType::UInt16 => "uint16",
        DataType::UInt32 => "uint32",
        DataType::UInt64 => "uint64",
        DataType::Float16 => "float16",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Utf8 => "string",
        DataType::LargeUtf8 => "large_string",
        DataType::Utf8View => "string_view",
        DataType::Binary => "binary",
        DataType::LargeBinary => "large_binary",
        DataType::BinaryView => "binary_view",
        DataType::Date32 => "date32",
        DataType::Date64 => "date64",
        DataType::Interval(IntervalUnit::MonthDayNano) => "month_day_nano_interval",
        DataType::Interval(_) => return Err("pyarrow has no such interval".to_owned()),
        _ => "",
    };
    if !plain.is_empty() {
        return Ok(format!("pa.{plain}()"));
    }
    Ok(match ty {
        DataType::Timestamp(u, None) => format!("pa.timestamp({})", unit(u)),
        DataType::Timestamp(u, Some(zone)) => format!("pa.timestamp({}, tz={})", unit(u), quote(zone)),
        DataType::Time32(u) => format!("pa.time32({})", unit(u)),
        DataType::Time64(u) => format!("pa.time64({})", unit(u)),
        DataType::Duration(u) => format!("pa.duration({})", unit(u)),
        DataType::Decimal32(p, s) => format!("pa.decimal32({p}, {s})"),
        DataType::Decimal64(p, s) => format!("pa.decimal64({p}, {s})"),
        DataType::Decimal128(p, s) => format!("pa.decimal128({p}, {s})"),
        DataType::Decimal256(p, s) => format!("pa.decimal256({p}, {s})"),
        DataType::FixedSizeBinary(width) => format!("pa.binary({width})"),
        DataType::List(item) => format!("pa.list_({})", field_code(item)?),
        DataType::LargeList(item) => format!("pa.large_list({})", field_code(item)?),
        DataType::ListView(item) => format!("pa.list_view({})", field_code(item)?),
        DataType::LargeListView(item) => format!("pa.large_list_view({})", field_code(item)?),
        DataType::FixedSizeList(item, size) => format!("pa.list_({}, {size})", field_code(item)?),
        DataType::Struct(inner) => format!("pa.struct([{}])", fields(&mut inner.iter().map(AsRef::as_ref))?),
        DataType::Dictionary(key, value) => format!("pa.dictionary({}, {})", type_code(key)?, type_code(value)?),
        DataType::RunEndEncoded(ends, values) => {
            format!("pa.run_end_encoded({}, {})", type_code(ends.data_type())?, type_code(values.data_type())?)
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(pair) = entries.data_type() else { return Err("a map without entries".to_owned()) };
            let sorted = if *sorted { ", keys_sorted=True" } else { "" };
            format!("pa.map_({}{sorted})", fields(&mut pair.iter().map(AsRef::as_ref))?)
        }
        DataType::Union(members, mode) => {
            let ids: Vec<String> = members.iter().map(|(id, _)| id.to_string()).collect();
            let name = if *mode == UnionMode::Dense { "dense_union" } else { "sparse_union" };
            format!("pa.{name}([{}], type_codes=[{}])", fields(&mut members.iter().map(|(_, f)| f.as_ref()))?, ids.join(", "))
        }
        other => return Err(format!("pyarrow has no {other}")),
    })
}
