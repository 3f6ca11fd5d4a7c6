//! `--as json`: one object for programs.
//!
//! ```text
//! {"fields": [
//!   {"name": "out", "type": "int64[3, (?), 2]", "kind": "tensor", "dtype": "int64", "shape": [3, null, 2], "ragged": [false, true, false]},
//!   {"name": "s", "type": "sparse<float32>[?, 1000]", "kind": "sparse", "dtype": "float32", "shape": [null, 1000]},
//!   {"name": "p", "type": "{...}[?]", "kind": "struct", "shape": [null], "ragged": [false], "fields": [...]}
//! ]}
//! ```
//!
//! One entry for each axis: a number where the size is the same everywhere, null for `?` and `(?)`, which
//! `ragged` distinguishes. `type` is the same in the notation, which `--schema @FILE` reads. `optional`, `with_nulls` and `labels` appear only if they apply.

use crate::schema::notation::typed;
use crate::schema::{Dim, Element, Field, Schema, Size};
use serde_json::{Map, Value};

/// The object, with one field of the record per line.
pub fn object(schema: &Schema) -> String {
    let lines: Vec<String> = schema.fields.iter().map(|f| format!("\n  {}", entry(f, true))).collect();
    format!("{{\"fields\": [{}{}]}}\n", lines.join(","), if lines.is_empty() { "" } else { "\n" })
}

fn entry(field: &Field, is_outermost: bool) -> Value {
    let ty = &field.ty;
    let mut entry = Map::new();
    let mut add = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    add("name", field.name.as_str().into());
    if is_outermost {
        add("type", typed(field).into());
    }
    let (kind, dtype) = match &ty.element {
        Element::Value(dtype) => ("tensor", Some(dtype)),
        Element::Sparse(dtype) => ("sparse", Some(dtype)),
        Element::Struct(_) => ("struct", None),
    };
    add("kind", kind.into());
    if let Some(dtype) = dtype {
        add("dtype", dtype.to_string().into());
    }
    let each = |value: fn(&Dim) -> Value| Value::Array(ty.dims.iter().map(value).collect());
    add("shape", each(|d| if let Size::Known(n) = d.size { n.into() } else { Value::Null }));
    if !ty.is_sparse() {
        add("ragged", each(|d| (d.size == Size::Ragged).into()));
    }
    if ty.dims.iter().any(|d| d.label.is_some()) {
        add("labels", each(|d| d.label.as_deref().map_or(Value::Null, Value::from)));
    }
    if ty.optional {
        add("optional", true.into());
    }
    if ty.with_nulls {
        add("with_nulls", true.into());
    }
    if let Element::Struct(fields) = &ty.element {
        add("fields", Value::Array(fields.iter().map(|f| self::entry(f, false)).collect()));
    }
    Value::Object(entry)
}
