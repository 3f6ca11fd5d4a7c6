//! Parquet logical types that Arrow has no equivalent for: enums, BSON, intervals, shapes, variants, and UTC times of
//! day. Values are read in their stored type, and the logical type is kept in the metadata of the field.

use parquet::basic::{ConvertedType, EdgeInterpolationAlgorithm, LogicalType, Type as PhysicalType};
use parquet::schema::types::Type as Node;
use serde_json::{Value, json};

/// The metadata key. The value is the name of the logical type, and its parameters as JSON.
pub const KEY: &str = "PARQUET:logical_type";

const ALGORITHMS: [(&str, EdgeInterpolationAlgorithm); 5] = [
    ("SPHERICAL", EdgeInterpolationAlgorithm::SPHERICAL),
    ("VINCENTY", EdgeInterpolationAlgorithm::VINCENTY),
    ("THOMAS", EdgeInterpolationAlgorithm::THOMAS),
    ("ANDOYER", EdgeInterpolationAlgorithm::ANDOYER),
    ("KARNEY", EdgeInterpolationAlgorithm::KARNEY),
];

/// The annotation of a column or group for the metadata; `None` if the Arrow type implies it.
pub fn of(node: &Node) -> Option<String> {
    let info = node.get_basic_info();
    Some(match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Enum), _) | (None, ConvertedType::ENUM) => "ENUM".to_owned(),
        (Some(LogicalType::Bson), _) | (None, ConvertedType::BSON) => "BSON".to_owned(),
        (None, ConvertedType::INTERVAL) => "INTERVAL".to_owned(),
        (Some(LogicalType::Time(time)), _) if time.is_adjusted_to_u_t_c => "TIME {\"utc\":true}".to_owned(),
        (None, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => "TIME {\"utc\":true}".to_owned(),
        (Some(LogicalType::Variant(variant)), _) => format!("VARIANT {}", json!({ "version": variant.specification_version })),
        (Some(LogicalType::Geometry(shape)), _) => format!("GEOMETRY {}", json!({ "crs": shape.crs })),
        (Some(LogicalType::Geography(shape)), _) => {
            let algorithm = ALGORITHMS.iter().find(|(_, a)| Some(*a) == shape.algorithm).map(|(name, _)| *name);
            format!("GEOGRAPHY {}", json!({ "crs": shape.crs, "algorithm": algorithm }))
        }
        _ => return None,
    })
}

/// The logical and converted type that the metadata gives a column or group; `None` if they do not fit it.
pub fn parse(text: &str, node: &Node) -> Option<(Option<LogicalType>, ConvertedType)> {
    let (name, parameters) = text.split_once(' ').unwrap_or((text, "{}"));
    let parameters: Value = serde_json::from_str(parameters).ok()?;
    let string = |key: &str| parameters.get(key).and_then(Value::as_str);
    let physical = if node.is_primitive() { Some(node.get_physical_type()) } else { None };
    let (logical, converted) = match (name, physical) {
        ("ENUM", Some(PhysicalType::BYTE_ARRAY)) => (LogicalType::Enum, ConvertedType::ENUM),
        ("BSON", Some(PhysicalType::BYTE_ARRAY)) => (LogicalType::Bson, ConvertedType::BSON),
        ("INTERVAL", Some(PhysicalType::FIXED_LEN_BYTE_ARRAY)) if matches!(node, Node::PrimitiveType { type_length: 12, .. }) => {
            return Some((None, ConvertedType::INTERVAL));
        }
        ("TIME", Some(_)) => match node.get_basic_info().logical_type_ref() {
            Some(LogicalType::Time(time)) => (LogicalType::time(true, time.unit), ConvertedType::NONE),
            _ => return None,
        },
        ("GEOMETRY", Some(PhysicalType::BYTE_ARRAY)) => (LogicalType::geometry(string("crs").map(str::to_owned)), ConvertedType::NONE),
        ("GEOGRAPHY", Some(PhysicalType::BYTE_ARRAY)) => {
            let algorithm = string("algorithm").and_then(|name| ALGORITHMS.iter().find(|(n, _)| *n == name)).map(|(_, a)| *a);
            (LogicalType::geography(string("crs").map(str::to_owned), algorithm), ConvertedType::NONE)
        }
        ("VARIANT", None) => {
            let version = parameters.get("version").and_then(Value::as_i64).and_then(|version| i8::try_from(version).ok());
            (LogicalType::variant(version), ConvertedType::NONE)
        }
        _ => return None,
    };
    Some((Some(logical), converted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::schema::types::Type;

    #[test]
    fn what_is_read_is_written() {
        let column = |physical, logical: Option<LogicalType>, converted| {
            let length = if physical == PhysicalType::FIXED_LEN_BYTE_ARRAY { 12 } else { -1 };
            let builder = Type::primitive_type_builder("x", physical).with_length(length).with_logical_type(logical);
            builder.with_converted_type(converted).build().unwrap()
        };
        let bytes = |logical| column(PhysicalType::BYTE_ARRAY, logical, ConvertedType::NONE);
        let crs = || Some("EPSG:4326".to_owned());
        let nodes = [
            bytes(Some(LogicalType::Enum)),
            bytes(Some(LogicalType::Bson)),
            bytes(Some(LogicalType::geometry(None))),
            bytes(Some(LogicalType::geometry(crs()))),
            bytes(Some(LogicalType::geography(crs(), Some(EdgeInterpolationAlgorithm::KARNEY)))),
            column(PhysicalType::FIXED_LEN_BYTE_ARRAY, None, ConvertedType::INTERVAL),
            column(PhysicalType::INT32, Some(LogicalType::time(true, parquet::basic::TimeUnit::MILLIS)), ConvertedType::NONE),
            Type::group_type_builder("v").with_logical_type(Some(LogicalType::variant(Some(1)))).build().unwrap(),
        ];
        for node in nodes {
            let text = of(&node).unwrap();
            let (logical, converted) = parse(&text, &node).unwrap();
            assert_eq!(logical.as_ref(), node.get_basic_info().logical_type_ref(), "{text}");
            assert!(logical.is_some() || converted == node.get_basic_info().converted_type(), "{text}");
        }
        assert_eq!(of(&bytes(Some(LogicalType::String))), None);
        assert_eq!(parse("INTERVAL", &bytes(None)), None);
        assert_eq!(parse("ENUM", &column(PhysicalType::INT32, None, ConvertedType::NONE)), None);
    }
}
