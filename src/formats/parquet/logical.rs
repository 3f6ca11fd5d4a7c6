//! Parquet logical types of Arrow extension types, which the parquet crate does not handle: UUID and JSON. Source:
//! <https://github.com/apache/parquet-format/blob/master/LogicalTypes.md>.

use super::annotation;
use super::failure::lifted;
use crate::error::Result;
use crate::tensor::arrow::extension;
use arrow_schema::{DataType, Field, Fields};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type as Node, TypePtr};
use std::collections::HashSet;
use std::sync::Arc;

const UUID: &str = "arrow.uuid";
const JSON: &str = "arrow.json";
const UUID_NBYTES: i32 = 16;

/// The extension type for the logical type of a column.
pub fn extension_of(node: &Node) -> Option<&'static str> {
    match (node.get_basic_info().logical_type_ref(), node.get_basic_info().converted_type()) {
        (Some(LogicalType::Uuid), _) => Some(UUID),
        (Some(LogicalType::Json), _) | (None, ConvertedType::JSON) => Some(JSON),
        _ => None,
    }
}

/// The names of the outermost columns that contain JSON.
pub fn json_columns(schema: &SchemaDescriptor) -> HashSet<String> {
    let leaves = (0..schema.num_columns()).filter(|leaf| extension_of(&schema.column(*leaf).self_type_ptr()) == Some(JSON));
    leaves.map(|leaf| schema.get_column_root(leaf).name().to_owned()).collect()
}

/// Whether a later version of the format defines the logical type of a column.
pub fn is_unknown(node: &Node) -> bool {
    matches!(node.get_basic_info().logical_type_ref(), Some(LogicalType::_Unknown { .. }))
}

/// The metadata of a file, changed so that columns with unknown logical types are read as their physical types, unless
/// they are kept, intervals as their bytes, and lists of lists or maps in the form that parquet-avro writes, which the crate
/// rejects, in the standard form; `None` if there are none. The crate reads intervals as days and milliseconds, without
/// months.
///
/// # Errors
/// None for schemas read by the crate.
pub fn with_known_types(metadata: &ParquetMetaData, keeps_intervals: bool) -> Result<Option<ParquetMetaData>> {
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let Some(nodes) = known_nodes(root, keeps_intervals)? else { return Ok(None) };
    let root = Node::group_type_builder(root.name()).with_fields(nodes).build().map_err(lifted)?;
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    Ok(Some(ParquetMetaData::new(file, metadata.row_groups().to_vec())))
}

/// The nodes of a group in forms that the crate reads; `None` if nothing changes. Levels do not change.
fn known_nodes(group: &Node, keeps_intervals: bool) -> Result<Option<Vec<TypePtr>>> {
    let known = |node: &TypePtr| -> Result<Option<TypePtr>> {
        if node.is_group() {
            let inner = known_nodes(node, keeps_intervals)?;
            if is_repeated_list(group, node) {
                return items(node, inner.unwrap_or_else(|| node.get_fields().to_vec())).map(Some);
            }
            return inner.map(|nodes| rebuilt(node, nodes, None, repetition(node))).transpose();
        }
        let Node::PrimitiveType { basic_info, physical_type, type_length, .. } = node.as_ref() else { return Ok(None) };
        if !is_unknown(node) && (keeps_intervals || basic_info.converted_type() != ConvertedType::INTERVAL) {
            return Ok(None);
        }
        let builder = Node::primitive_type_builder(node.name(), *physical_type).with_repetition(basic_info.repetition());
        let builder = builder.with_length(*type_length).with_id(basic_info.has_id().then(|| basic_info.id()));
        builder.build().map(|node| Some(Arc::new(node))).map_err(lifted)
    };
    let nodes = group.get_fields().iter().map(|node| Ok((known(node)?, node))).collect::<Result<Vec<_>>>()?;
    if nodes.iter().all(|(known, _)| known.is_none()) {
        return Ok(None);
    }
    Ok(Some(nodes.into_iter().map(|(known, node)| known.unwrap_or_else(|| node.clone())).collect()))
}

/// Whether the items of a list are lists or maps without a group around each, as in `repeated group array (LIST)`.
fn is_repeated_list(list: &Node, items: &Node) -> bool {
    let kind = |node: &Node| node.get_basic_info().converted_type();
    let is_nested = matches!(kind(items), ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE);
    kind(list) == ConvertedType::LIST && is_nested && repetition(items) == Repetition::REPEATED
}

/// The items of such a list in the standard form: `repeated group list { required group array (LIST) }`.
fn items(node: &Node, inner: Vec<TypePtr>) -> Result<TypePtr> {
    let item = rebuilt(node, inner, None, Repetition::REQUIRED)?;
    let list = Node::group_type_builder("list").with_repetition(Repetition::REPEATED).with_fields(vec![item]);
    list.build().map(Arc::new).map_err(lifted)
}

/// The schema of a file, with the logical types of its extension types.
///
/// # Errors
/// None for schemas created by the crate.
pub fn annotated(schema: SchemaDescriptor, fields: &Fields) -> Result<SchemaDescriptor> {
    let root = schema.root_schema();
    match inside(root, fields)? {
        None => Ok(schema),
        Some(nodes) => {
            let root = Node::group_type_builder(root.name()).with_fields(nodes).build().map_err(lifted)?;
            Ok(SchemaDescriptor::new(Arc::new(root)))
        }
    }
}

/// The nodes of a group; `None` if nothing changes.
fn inside(group: &Node, fields: &Fields) -> Result<Option<Vec<TypePtr>>> {
    let nodes = group.get_fields();
    if nodes.len() != fields.len() {
        return Ok(None);
    }
    let changed = nodes.iter().zip(fields).map(|(node, f)| node_of(node, f)).collect::<Result<Vec<_>>>()?;
    if changed.iter().all(Option::is_none) {
        return Ok(None);
    }
    Ok(Some(changed.into_iter().zip(nodes).map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect()))
}

fn node_of(node: &TypePtr, field: &Field) -> Result<Option<TypePtr>> {
    if node.is_primitive() {
        return leaf(node, field);
    }
    let nodes = match field.data_type() {
        DataType::Struct(fields) => inside(node, fields)?,
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) => repeated(node, &Fields::from(vec![f.clone()]))?,
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => repeated(node, fields)?,
            _ => None,
        },
        _ => None,
    };
    let said = annotation_of(node, field).and_then(|(logical, _)| logical);
    if nodes.is_none() && said.is_none() {
        return Ok(None);
    }
    rebuilt(node, nodes.unwrap_or_else(|| node.get_fields().to_vec()), said, repetition(node)).map(Some)
}

fn annotation_of(node: &Node, field: &Field) -> Option<(Option<LogicalType>, ConvertedType)> {
    annotation::parse(field.metadata().get(annotation::KEY)?, node)
}

/// The repeated group inside a list or a map.
fn repeated(node: &Node, fields: &Fields) -> Result<Option<Vec<TypePtr>>> {
    let [group] = node.get_fields() else { return Ok(None) };
    if !group.is_group() {
        return Ok(None);
    }
    inside(group, fields)?.map(|nodes| Ok(vec![rebuilt(group, nodes, None, repetition(group))?])).transpose()
}

fn repetition(node: &Node) -> Repetition {
    node.get_basic_info().repetition()
}

/// The group with other nodes and that repetition, and with its own logical type unless `said` has one.
fn rebuilt(node: &Node, nodes: Vec<TypePtr>, said: Option<LogicalType>, repetition: Repetition) -> Result<TypePtr> {
    let info = node.get_basic_info();
    let builder = Node::group_type_builder(node.name()).with_fields(nodes).with_repetition(repetition);
    let builder = builder.with_converted_type(info.converted_type()).with_logical_type(said.or_else(|| info.logical_type_ref().cloned()));
    builder.with_id(info.has_id().then(|| info.id())).build().map(Arc::new).map_err(lifted)
}

fn leaf(node: &Node, field: &Field) -> Result<Option<TypePtr>> {
    let Node::PrimitiveType { basic_info, physical_type, type_length, .. } = node else { return Ok(None) };
    let (logical, converted) = match field.metadata().get(extension::NAME).map(String::as_str) {
        Some(UUID) if *physical_type == PhysicalType::FIXED_LEN_BYTE_ARRAY && *type_length == UUID_NBYTES => {
            (Some(LogicalType::Uuid), ConvertedType::NONE)
        }
        Some(JSON) if *physical_type == PhysicalType::BYTE_ARRAY => (Some(LogicalType::Json), ConvertedType::JSON),
        _ => match annotation_of(node, field) {
            Some(said) => said,
            None => return Ok(None),
        },
    };
    let repetition = if basic_info.has_repetition() { basic_info.repetition() } else { Repetition::REQUIRED };
    let builder = Node::primitive_type_builder(node.name(), *physical_type).with_repetition(repetition).with_length(*type_length);
    let builder = builder.with_logical_type(logical).with_converted_type(converted).with_id(basic_info.has_id().then(|| basic_info.id()));
    builder.build().map(|node| Some(Arc::new(node))).map_err(lifted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{Metadata, Schema};
    use parquet::arrow::ArrowSchemaConverter;

    #[test]
    fn extension_types_are_logical_types_at_every_level() {
        let named = |name: &str, ty: DataType, extension: &str| {
            let metadata: Metadata = [(extension::NAME.to_owned(), extension.to_owned())].into_iter().collect();
            Field::new(name, ty, true).with_metadata(metadata)
        };
        let uuid = named("u", DataType::FixedSizeBinary(16), UUID);
        let item = Arc::new(named("element", DataType::Utf8, JSON));
        let list = Field::new("l", DataType::List(item), true);
        let fields =
            Fields::from(vec![Field::new("a", DataType::Int64, true), uuid.clone(), Field::new_struct("s", vec![uuid, list], true)]);
        let plain = ArrowSchemaConverter::new().convert(&Schema::new(fields.clone())).unwrap();
        let found = annotated(plain.clone(), &fields).unwrap();
        let logical: Vec<_> = found.columns().iter().map(|c| c.logical_type_ref().cloned()).collect();
        assert_eq!(logical, [None, Some(LogicalType::Uuid), Some(LogicalType::Uuid), Some(LogicalType::Json)]);
        let paths = |schema: &SchemaDescriptor| schema.columns().iter().map(|c| c.path().string()).collect::<Vec<_>>();
        assert_eq!(paths(&found), paths(&plain));
    }
}
