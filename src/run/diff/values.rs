//! The values that differ.

use crate::json::value_text;
use crate::path::quoted;
use crate::printable::{counted, in_json, one_line};
use crate::schema::{Field, Type};
use crate::tensor::equal::Tolerance;
use crate::tensor::{RowPartition, Tensor};
use std::borrow::Cow;

/// Maximum length of a printed value, in characters.
const VALUE_CHARS: usize = 120;

/// A field inside the record, given its path.
struct At<'a> {
    path: String,
    ty: &'a Type,
}

/// The innermost values that differ, as text.
pub struct ValueDifference {
    path: String,
    values: [String; 2],
}

impl ValueDifference {
    /// The path, and a line for each value.
    pub fn text(&self, names: &[Cow<str>; 2]) -> String {
        let [a, b] = &self.values;
        format!("{}\n  {}: {a}\n  {}: {b}", one_line(&self.path), names[0], names[1])
    }
}

/// The innermost values that differ in two rows of a field.
pub fn described(field: &Field, a: Row, b: Row, tolerance: Option<Tolerance>) -> ValueDifference {
    descend(At { path: quoted(&field.name), ty: &field.ty }, a, b, tolerance)
}

/// One row of a tensor.
pub type Row<'a> = (&'a Tensor, usize);

/// Descends from two rows that differ to the innermost values that differ.
fn descend(at: At, a: Row, b: Row, tolerance: Option<Tolerance>) -> ValueDifference {
    let valid = |(tensor, row): Row| tensor.validity().is_none_or(|v| v.is_valid(row));
    if valid(a) && valid(b) {
        match (a.0, b.0) {
            (Tensor::List(x), Tensor::List(y)) if x.partition().row_length(a.1) == y.partition().row_length(b.1) => {
                let values = |p: &RowPartition, row| p.range(row);
                let pairs = values(x.partition(), a.1).zip(values(y.partition(), b.1));
                if let Some((index, (i, j))) = pairs.enumerate().find(|(_, (i, j))| !x.values().rows_near(*i, y.values(), *j, tolerance)) {
                    let path = format!("{}[{index}]", at.path);
                    return descend(At { path, ty: at.ty }, (x.values(), i), (y.values(), j), tolerance);
                }
            }
            (Tensor::Struct(x), Tensor::Struct(y)) => {
                let fields: &[Field] = at.ty.fields().unwrap_or(&[]);
                let mut members = fields.iter().zip(x.fields().iter().zip(y.fields()));
                if let Some((field, (f, g))) = members.find(|(_, (f, g))| !f.rows_near(a.1, g, b.1, tolerance)) {
                    let path = format!("{}.{}", at.path, quoted(&field.name));
                    return descend(At { path, ty: &field.ty }, (f, a.1), (g, b.1), tolerance);
                }
            }
            _ => {}
        }
    }
    let [x, y] = [a, b].map(|(tensor, row)| in_json(&value_text(tensor, at.ty, row)).into_owned());
    let same = x.chars().zip(y.chars()).take_while(|(x, y)| x == y).count();
    // A difference that the start does not show is shown with some of the text before it.
    let from = if same < VALUE_CHARS { 0 } else { same - VALUE_CHARS / 3 };
    ValueDifference { values: [text(a, &x, from), text(b, &y, from)], path: at.path }
}

/// The text of a value from a character on, shortened.
pub fn text((tensor, row): Row, whole: &str, from: usize) -> String {
    if from == 0 && whole.chars().count() <= VALUE_CHARS {
        return whole.to_owned();
    }
    let shown: String = whole.chars().skip(from).take(VALUE_CHARS).collect();
    let start = if from > 0 { format!("...{shown}") } else { shown };
    if from + VALUE_CHARS >= whole.chars().count() {
        return start;
    }
    match tensor {
        Tensor::List(list) => format!("{start}... ({})", counted(list.partition().row_length(row) as u64, "value")),
        _ => format!("{start}..."),
    }
}
