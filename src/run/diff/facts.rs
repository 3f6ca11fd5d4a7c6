//! Finds the first difference between the declared columns of two files: types, nullability, metadata.
//!
//! Only Parquet and Arrow files declare these. Types inferred from JSON Lines or a TFRecord are not compared.

use crate::path::quoted;
use crate::printable::one_line;
use crate::schema::facts::Facts;
use crate::schema::nested::list_item;
use crate::schema::{DType, Schema};
use arrow_schema::{DataType, Field, Metadata};

/// The difference, one line per dataset; `None` if there is none.
pub fn difference(a: &Schema, b: &Schema, names: [&str; 2]) -> Option<String> {
    let stated = |schema: &Schema| !schema.fields.is_empty() && schema.fields.iter().all(|f| f.storage.arrow().is_some());
    if !stated(a) || !stated(b) {
        return None;
    }
    let found = schemas(a, b)?;
    let [left, right] = &found.said;
    Some(format!("{}\n  {}: {}\n  {}: {}\n", one_line(&found.what), names[0], one_line(left), names[1], one_line(right)))
}

struct FactDifference {
    what: String,
    said: [String; 2],
}

fn schemas(a: &Schema, b: &Schema) -> Option<FactDifference> {
    for (schema, other, turned) in [(a, b, false), (b, a, true)] {
        if let Some(field) = schema.fields.iter().find(|f| other.index_of(&f.name).is_none()) {
            let mut said = [field.ty.to_string(), "no such column".to_owned()];
            if turned {
                said.reverse();
            }
            return Some(FactDifference { what: format!("types: {}", quoted(&field.name)), said });
        }
    }
    let pairs = a.fields.iter().filter_map(|f| Some((f, b.fields.get(b.index_of(&f.name)?)?)));
    let mut stored = pairs.filter_map(|(f, g)| Some((quoted(&f.name), f.storage.arrow()?, g.storage.arrow()?)));
    stored.find_map(|(path, f, g)| fields(f, g, &path)).or_else(|| of_schema(&a.facts, &b.facts))
}

fn of_schema(a: &Facts, b: &Facts) -> Option<FactDifference> {
    metadata(&a.metadata, &b.metadata, "metadata of the schema".to_owned())
}

fn fields(a: &Field, b: &Field, path: &str) -> Option<FactDifference> {
    let (x, y) = (a.data_type(), b.data_type());
    let inner: Vec<(&Field, &Field, String)> = match (children(x), children(y)) {
        (Some(f), Some(g)) if shell(x) == shell(y) && f.len() == g.len() => {
            let named = matches!(x, DataType::Struct(_) | DataType::Union(..));
            if let Some((f, g)) = f.iter().zip(&g).find(|(f, g)| named && f.name() != g.name()) {
                return Some(FactDifference {
                    what: format!("fields: {path}"),
                    said: [quoted(f.name()).to_string(), quoted(g.name()).to_string()],
                });
            }
            let below = |f: &Field| if named { format!("{path}.{}", quoted(f.name())) } else { format!("{path}[]") };
            f.into_iter().zip(g).map(|(f, g)| (f, g, below(f))).collect()
        }
        _ if x == y => Vec::new(),
        _ => return Some(FactDifference { what: format!("types: {path}"), said: [text(x), text(y)] }),
    };
    if a.is_nullable() != b.is_nullable() {
        let nulls = |f: &Field| if f.is_nullable() { "nullable" } else { "not null" }.to_owned();
        return Some(FactDifference { what: format!("nullability: {path}"), said: [nulls(a), nulls(b)] });
    }
    if a.dict_is_ordered() != b.dict_is_ordered() {
        let order = |f: &Field| if f.dict_is_ordered() == Some(true) { "ordered" } else { "not ordered" }.to_owned();
        return Some(FactDifference { what: format!("order of the dictionary: {path}"), said: [order(a), order(b)] });
    }
    metadata(a.metadata(), b.metadata(), format!("metadata: {path}")).or_else(|| inner.iter().find_map(|(f, g, path)| fields(f, g, path)))
}

fn metadata(a: &Metadata, b: &Metadata, what: String) -> Option<FactDifference> {
    let mut keys: Vec<&str> = a.iter().chain(b.iter()).map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    let key = keys.into_iter().find(|key| a.get(key) != b.get(key))?;
    let said = [a, b]
        .map(|m| m.get(key).map_or_else(|| "nothing".to_owned(), |value| format!("{:?}", value.chars().take(120).collect::<String>())));
    Some(FactDifference { what: format!("{what}: {key:?}"), said })
}

fn text(ty: &DataType) -> String {
    DType::Arrow(Box::new(ty.clone())).to_string()
}

/// The fields inside a nested type. The names of list items and map entries are not compared.
fn children(ty: &DataType) -> Option<Vec<&Field>> {
    Some(match ty {
        DataType::Map(f, _) => return children(f.data_type()),
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, f)| f.as_ref()).collect(),
        _ => vec![list_item(ty)?.as_ref()],
    })
}

/// The properties of a nested type apart from its fields.
fn shell(ty: &DataType) -> String {
    match ty {
        DataType::FixedSizeList(_, size) => format!("fixed {size}"),
        DataType::Map(_, sorted) => format!("map {sorted}"),
        DataType::Union(fields, mode) => format!("{mode:?} {:?}", fields.iter().map(|(id, _)| id).collect::<Vec<_>>()),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::List(_) => "list".to_owned(),
        DataType::LargeList(_) => "large list".to_owned(),
        DataType::ListView(_) => "list view".to_owned(),
        _ => "large list view".to_owned(),
    }
}
