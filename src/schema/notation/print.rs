//! Prints a schema so that [`super::parse`] reads it back.

use super::arrow::arrow_type_text;
use super::name::name_text;
use crate::schema::{DType, Dim, Element, Field, PartitionEncoding, Schema, Size, Source, SplitBy, Type};
use crate::screen::{padded, width};
use std::fmt::{self, Write};

/// One field per line, with aligned types: the stored form of schemas.
pub fn lines(schema: &Schema) -> String {
    fitted(schema, usize::MAX)
}

/// Like [`lines`], but a structure wider than `columns` is printed as an indented tree: the output of `tatter schema`.
pub fn fitted(schema: &Schema, columns: usize) -> String {
    let mut text = String::new();
    tree(&mut text, &schema.fields, columns, 0);
    text
}

fn tree(text: &mut String, fields: &[Field], columns: usize, indent: usize) {
    /// A longer name shifts only its own type.
    const WIDEST: usize = 24;
    let names: Vec<String> = fields.iter().map(|f| format!("{}:", name_text(&f.name))).collect();
    let widest = names.iter().map(|n| width(n)).filter(|n| *n <= WIDEST).max().unwrap_or(0);
    let is_inside = indent > 0;
    for (i, (name, field)) in names.iter().zip(fields).enumerate() {
        let comma = if is_inside && i + 1 < fields.len() { "," } else { "" };
        let line = format!("{:indent$}{} {}{comma}", "", padded(name, widest, false), Typed(field));
        // A map stays on one line, because a tree would show the list of its entries.
        let inner = field.ty.fields().filter(|inner| !inner.is_empty() && field.map_fields().is_none() && width(&line) > columns);
        let Some(inner) = inner else {
            let _ = writeln!(text, "{line}");
            continue;
        };
        let empty = Field { ty: Type { element: Element::Struct(Vec::new()), ..field.ty.clone() }, ..field.clone() };
        let outside = Typed(&empty).to_string();
        let (start, end) = outside.split_once("{}").unwrap_or((&outside, ""));
        let _ = writeln!(text, "{:indent$}{name} {start}{{", "");
        tree(text, inner, columns, indent + 4);
        let _ = writeln!(text, "{:indent$}}}{end}{comma}", "");
    }
}

impl fmt::Display for Schema {
    /// On one line, with fields separated by `; `, ready to paste after `--schema`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        separated(f, &self.fields, "; ")
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", name_text(&self.name), Typed(self))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            DType::Arrow(foreign) => write!(f, "arrow<{}>", arrow_type_text(foreign)),
            named => f.write_str(DType::NAMED.iter().find(|(_, d)| d == named).map_or("null", |(n, _)| n)),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        around(f, self, &self.dims, |f| match &self.element {
            Element::Value(dtype) => write!(f, "{dtype}"),
            Element::Sparse(dtype) => write!(f, "sparse<{dtype}>"),
            Element::Struct(fields) => {
                f.write_str("{")?;
                separated(f, fields, ", ")?;
                f.write_str("}")
            }
        })
    }
}

/// An element with its axes and nulls.
fn around(f: &mut fmt::Formatter, ty: &Type, dims: &[Dim], element: impl FnOnce(&mut fmt::Formatter) -> fmt::Result) -> fmt::Result {
    if ty.optional {
        f.write_str("optional ")?;
    }
    element(f)?;
    if !dims.is_empty() {
        f.write_str("[")?;
        separated(f, dims, ", ")?;
        f.write_str("]")?;
    }
    if ty.with_nulls {
        f.write_str(" with nulls")?;
    }
    Ok(())
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let label = self.label.as_deref().map_or_else(|| "?".to_owned(), name_text);
        match self.size {
            Size::Known(size) => write!(f, "{size}"),
            Size::Uniform => f.write_str(&label),
            Size::Ragged => write!(f, "({label})"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(values) = &self.values {
            write!(f, " from {}", name_text(values))?;
        }
        if !self.split_by.is_empty() {
            f.write_str(" split by ")?;
            separated(f, &self.split_by, ", ")?;
        }
        if !self.at.is_empty() {
            f.write_str(" at ")?;
            separated(f, self.at.iter().map(|name| name_text(name)), ", ")?;
        }
        Ok(())
    }
}

impl fmt::Display for SplitBy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            SplitBy::Feature(encoding, feature) => write!(f, "{}({})", encoding.name(), name_text(feature)),
            SplitBy::UniformRowLength(length) => write!(f, "{}({length})", PartitionEncoding::UniformRowLength.name()),
        }
    }
}

/// The type of a field as after its name, with its default and source.
pub fn typed(field: &Field) -> String {
    Typed(field).to_string()
}

/// A field without its name.
struct Typed<'a>(&'a Field);

impl fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let field = self.0;
        match field.map_fields() {
            Some((key, value)) => {
                let maps = &field.ty.dims[..field.ty.dims.len() - 1];
                around(f, &field.ty, maps, |f| write!(f, "map<{}, {}>", Typed(key), Typed(value)))?;
            }
            None if field.is_uuid() => around(f, &field.ty, &field.ty.dims, |f| f.write_str("arrow<uuid>"))?,
            None => write!(f, "{}", field.ty)?,
        }
        if let Some(default) = &field.default {
            write!(f, " = {default}")?;
        }
        write!(f, "{}", field.source)
    }
}

fn separated<T: fmt::Display>(f: &mut fmt::Formatter, items: impl IntoIterator<Item = T>, by: &str) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            f.write_str(by)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}
