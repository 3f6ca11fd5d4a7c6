//! Column properties in a footer that are not in the types determined by the parquet crate: field ids, time zones whose
//! unit differs from the stored one, and, from statistics, which columns have nulls.

use super::{annotation, logical};
use crate::schema::nested::{fields_of, list_item};
use crate::tensor::arrow::extension;
use arrow_schema::{DataType, Field, FieldRef, Schema as ArrowSchema, TimeUnit};
use base64::Engine;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, PARQUET_FIELD_ID_META_KEY};
use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::Type as Node;
use std::collections::HashMap;
use std::sync::Arc;

/// The Arrow schema embedded in the footer by the writer, if it can be read.
pub fn written_schema(metadata: &ParquetMetaData) -> Option<ArrowSchema> {
    let pairs = metadata.file_metadata().key_value_metadata()?;
    let text = pairs.iter().find(|pair| pair.key == ARROW_SCHEMA_META_KEY)?.value.as_ref()?;
    arrow_ipc::convert::try_schema_from_flatbuffer_bytes(&stored_message(text)?).ok()
}

/// The message of a stored Arrow schema.
pub fn stored_message(text: &str) -> Option<Vec<u8>> {
    let mut bytes = base64::prelude::BASE64_STANDARD.decode(text).ok()?;
    if bytes.starts_with(&[0xff; 4]) {
        bytes.drain(..bytes.len().min(8));
    }
    Some(bytes)
}

/// Walks the columns of a file together with their Arrow fields.
pub struct Columns<'a> {
    metadata: &'a ParquetMetaData,
    /// The index of the next leaf.
    leaf: usize,
    /// The types of INT96 timestamps, by leaf.
    int96: &'a HashMap<usize, DataType>,
    /// Adds properties from the footer to the fields.
    complete: bool,
    /// Makes nullable fields required if statistics prove that there are no nulls.
    narrow: bool,
}

impl<'a> Columns<'a> {
    /// The fields, with the properties from the footer.
    pub fn completed(
        metadata: &'a ParquetMetaData,
        fields: &[FieldRef],
        written: Option<&ArrowSchema>,
        int96: &'a HashMap<usize, DataType>,
    ) -> Vec<FieldRef> {
        Columns { metadata, leaf: 0, int96, complete: true, narrow: false }.roots(fields, written)
    }

    /// The fields, made required where statistics prove that no value is null.
    pub fn narrowed(metadata: &'a ParquetMetaData, fields: &[FieldRef], none: &'a HashMap<usize, DataType>) -> Vec<FieldRef> {
        Columns { metadata, leaf: 0, int96: none, complete: false, narrow: metadata.num_row_groups() > 0 }.roots(fields, None)
    }

    fn roots(&mut self, fields: &[FieldRef], written: Option<&ArrowSchema>) -> Vec<FieldRef> {
        let root = self.metadata.file_metadata().schema_descr().root_schema_ptr();
        let nodes = root.get_fields();
        if nodes.len() != fields.len() {
            return fields.to_vec();
        }
        // Both have the same order in files of all known writers.
        let hint = |at: usize, name: &str| {
            let schema = written?;
            let here = schema.fields().get(at).map(AsRef::as_ref).filter(|field| field.name() == name);
            here.or_else(|| schema.field_with_name(name).ok())
        };
        let of_nodes = fields.iter().zip(nodes).enumerate();
        of_nodes.map(|(at, (field, node))| self.field(field, node, hint(at, field.name()), 0, false)).collect()
    }

    /// `level`: the definition level around the node. `item`: the node repeats, and its repetition is already included.
    fn field(&mut self, field: &FieldRef, node: &Node, hint: Option<&Field>, level: i16, item: bool) -> FieldRef {
        let first = self.leaf;
        let optional = !item && node.get_basic_info().has_repetition() && node.get_basic_info().repetition() == Repetition::OPTIONAL;
        let (narrow, nulls) = (self.narrow, optional && self.narrow && self.has_nulls(first, level));
        // Nulls below a null structure are not counted by any level.
        self.narrow &= !(nulls && matches!(field.data_type(), DataType::Struct(_)));
        let ty = self.data_type(field, node, hint, level + i16::from(optional));
        self.narrow = narrow;
        let mut done = field.as_ref().clone().with_data_type(ty);
        let info = node.get_basic_info();
        if self.complete {
            let mut metadata = done.metadata().clone();
            if info.has_id() && !metadata.contains_key(PARQUET_FIELD_ID_META_KEY) {
                metadata.insert(PARQUET_FIELD_ID_META_KEY, info.id().to_string());
            }
            if let Some(name) = logical::extension_of(node).filter(|_| !metadata.contains_key(extension::NAME)) {
                metadata.insert(extension::NAME, name);
            }
            if let Some(text) = annotation::of(node).filter(|_| !metadata.contains_key(annotation::KEY)) {
                metadata.insert(annotation::KEY, text);
            }
            done = done.with_metadata(metadata);
        }
        if narrow && optional && !nulls {
            done = done.with_nullable(false);
        }
        Arc::new(done)
    }

    fn data_type(&mut self, field: &Field, node: &Node, hint: Option<&Field>, level: i16) -> DataType {
        let ty = field.data_type();
        if node.is_primitive() && list_item(ty).is_none() {
            let leaf = self.leaf;
            self.leaf += 1;
            return match (ty, hint.map(Field::data_type)) {
                // A stored schema determines the unit.
                (DataType::Timestamp(unit, zone), _) if let Some(DataType::Timestamp(found, instant)) = self.int96.get(&leaf) => {
                    let unit = if *unit == TimeUnit::Nanosecond { found } else { unit };
                    DataType::Timestamp(*unit, zone.clone().or_else(|| instant.clone()))
                }
                // Stored in a unit other than the one it was written in; the zone is the writer's.
                (DataType::Timestamp(unit, Some(_)), Some(DataType::Timestamp(_, Some(zone)))) => {
                    DataType::Timestamp(*unit, Some(zone.clone()))
                }
                _ => ty.clone(),
            };
        }
        let inside = |hint: Option<&Field>, name: &str, position: usize| -> Option<FieldRef> {
            match hint.map(Field::data_type) {
                Some(DataType::Struct(fields)) => fields.iter().find(|f| f.name() == name).or_else(|| fields.get(position)).cloned(),
                Some(ty) => fields_of(ty).first().map(|f| FieldRef::clone(f)),
                None => None,
            }
        };
        match ty {
            DataType::Struct(fields) if node.is_group() && node.get_fields().len() == fields.len() => {
                let nodes = node.get_fields().iter().zip(fields).enumerate();
                let all = nodes.map(|(i, (node, f))| self.field(f, node, inside(hint, f.name(), i).as_deref(), level, false));
                DataType::Struct(all.collect())
            }
            DataType::List(f)
            | DataType::LargeList(f)
            | DataType::ListView(f)
            | DataType::LargeListView(f)
            | DataType::FixedSizeList(f, _) => {
                let hint = inside(hint, f.name(), 0);
                let done = match element(node, f) {
                    Some((element, repeats)) => self.field(f, element, hint.as_deref(), level + 1, repeats),
                    None => return self.skipped(ty, node),
                };
                match ty {
                    DataType::List(_) => DataType::List(done),
                    DataType::LargeList(_) => DataType::LargeList(done),
                    DataType::ListView(_) => DataType::ListView(done),
                    DataType::LargeListView(_) => DataType::LargeListView(done),
                    DataType::FixedSizeList(_, size) => DataType::FixedSizeList(done, *size),
                    other => other.clone(),
                }
            }
            DataType::Map(entries, sorted) => match (entries.data_type(), repeated_group(node)) {
                (DataType::Struct(fields), Some(group)) if group.get_fields().len() == fields.len() => {
                    let hint = inside(hint, entries.name(), 0);
                    let hint = |field: &Field, i: usize| match hint.as_ref().map(|f| f.data_type()) {
                        Some(DataType::Struct(fields)) => {
                            fields.iter().find(|f| f.name() == field.name()).or_else(|| fields.get(i)).cloned()
                        }
                        _ => None,
                    };
                    let nodes = group.get_fields().iter().zip(fields).enumerate();
                    let all = nodes.map(|(i, (node, f))| self.field(f, node, hint(f, i).as_deref(), level + 1, false));
                    let entry = entries.as_ref().clone().with_data_type(DataType::Struct(all.collect()));
                    DataType::Map(Arc::new(entry), *sorted)
                }
                _ => self.skipped(ty, node),
            },
            other => self.skipped(other, node),
        }
    }

    fn skipped(&mut self, ty: &DataType, node: &Node) -> DataType {
        fn leaves(node: &Node) -> usize {
            if node.is_primitive() { 1 } else { node.get_fields().iter().map(|f| leaves(f)).sum() }
        }
        self.leaf += leaves(node);
        ty.clone()
    }

    /// Whether a value whose definition level ends at `level` can be null.
    fn has_nulls(&self, leaf: usize, level: i16) -> bool {
        self.metadata.row_groups().iter().any(|group| {
            let Some(column) = group.columns().get(leaf) else { return true };
            let counted = usize::try_from(level).ok().and_then(|level| column.definition_level_histogram()?.get(level));
            let nulls = || column.statistics().and_then(|s| s.null_count_opt()).and_then(|n| i64::try_from(n).ok());
            counted.or_else(nulls) != Some(0)
        })
    }
}

/// The node of a list's items, and whether it is the repeated node; `None` if older writers leave it ambiguous.
fn element<'a>(node: &'a Node, item: &Field) -> Option<(&'a Node, bool)> {
    let repeats = |node: &Node| node.get_basic_info().has_repetition() && node.get_basic_info().repetition() == Repetition::REPEATED;
    if repeats(node) {
        return Some((node, true));
    }
    let [repeated] = (if node.is_group() { node.get_fields() } else { return None }) else { return None };
    if !repeats(repeated) {
        return None;
    }
    if repeated.is_primitive() {
        return Some((repeated, true));
    }
    match (repeated.get_fields(), item.data_type()) {
        ([only], _) if repeated.name() == "list" || only.name() == item.name() => Some((only, false)),
        ([_, _, ..], DataType::Struct(_)) => Some((repeated, true)),
        _ => None,
    }
}

/// The entries of a map.
fn repeated_group(node: &Node) -> Option<&Node> {
    match if node.is_group() { node.get_fields() } else { return None } {
        [group] if group.is_group() && group.get_basic_info().repetition() == Repetition::REPEATED => Some(group),
        _ => None,
    }
}

/// The leaves with INT96 timestamps.
pub fn int96_leaves(metadata: &ParquetMetaData) -> Vec<usize> {
    let columns = metadata.file_metadata().schema_descr().columns();
    (0..columns.len()).filter(|leaf| columns[*leaf].physical_type() == PhysicalType::INT96).collect()
}
