//! Selection of fields at any depth, for `select` and `drop`.

use crate::chunk::Chunk;
use crate::error::Result;
use crate::path::FieldPath;
use crate::schema::{Element, Field, Schema};
use crate::tensor::Tensor;
use crate::verbs::verb::Map;
use std::collections::HashMap;

/// The selected fields of a structure, in output order.
#[derive(Clone, Debug)]
pub struct Choice(Vec<(usize, Kept)>);

#[derive(Clone, Debug)]
enum Kept {
    Whole,
    Part(Choice),
}

/// The rests of the paths by their first name.
fn inside_of<'a>(paths: &[&'a [String]]) -> HashMap<&'a str, Vec<&'a [String]>> {
    let mut inside: HashMap<&str, Vec<&[String]>> = HashMap::new();
    for (first, rest) in paths.iter().filter_map(|names| names.split_first()) {
        inside.entry(first).or_default().push(rest);
    }
    inside
}

impl Choice {
    /// Selects only the fields at these paths, in this order. A structure that is named is selected whole.
    pub fn only(fields: &[Field], paths: &[FieldPath]) -> Choice {
        let names: Vec<&[String]> = paths.iter().map(FieldPath::names).collect();
        Choice::only_names(fields, &names)
    }

    fn only_names(fields: &[Field], paths: &[&[String]]) -> Choice {
        let mut kept: Vec<(usize, Kept)> = Vec::new();
        let places: HashMap<&str, usize> = fields.iter().enumerate().map(|(index, field)| (field.name.as_str(), index)).collect();
        let mut inside_of = inside_of(paths);
        for first in paths.iter().filter_map(|names| names.first()) {
            let Some(index) = places.get(first.as_str()).copied() else { continue };
            let Some(inside) = inside_of.remove(first.as_str()) else { continue };
            let part = if inside.iter().any(|p| p.is_empty()) {
                Kept::Whole
            } else {
                Kept::Part(Choice::only_names(fields[index].ty.fields().unwrap_or(&[]), &inside))
            };
            kept.push((index, part));
        }
        Choice(kept)
    }

    /// Selects all fields except those at these paths.
    pub fn all_but(fields: &[Field], paths: &[FieldPath]) -> Choice {
        let names: Vec<&[String]> = paths.iter().map(FieldPath::names).collect();
        Choice::all_but_names(fields, &names)
    }

    fn all_but_names(fields: &[Field], paths: &[&[String]]) -> Choice {
        let inside_of = inside_of(paths);
        let keep = |(index, field): (usize, &Field)| {
            let inside: &[&[String]] = inside_of.get(field.name.as_str()).map_or(&[], Vec::as_slice);
            if inside.iter().any(|p| p.is_empty()) {
                None
            } else if inside.is_empty() {
                Some((index, Kept::Whole))
            } else {
                Some((index, Kept::Part(Choice::all_but_names(field.ty.fields().unwrap_or(&[]), inside))))
            }
        };
        Choice(fields.iter().enumerate().filter_map(keep).collect())
    }

    /// The schema of the selected fields.
    pub fn schema(&self, schema: &Schema) -> Schema {
        Schema::new(self.fields(&schema.fields))
    }

    fn fields(&self, fields: &[Field]) -> Vec<Field> {
        let keep = |(index, kept): &(usize, Kept)| {
            let mut field = fields[*index].clone();
            if let (Kept::Part(choice), Element::Struct(inner)) = (kept, &mut field.ty.element) {
                *inner = choice.fields(inner);
            }
            field
        };
        self.0.iter().map(keep).collect()
    }

    fn tensors(&self, tensors: &[Tensor]) -> Result<Vec<Tensor>> {
        let keep = |(index, kept): &(usize, Kept)| match kept {
            Kept::Whole => Ok(tensors[*index].clone()),
            Kept::Part(choice) => choice.inside(&tensors[*index]),
        };
        self.0.iter().map(keep).collect()
    }

    /// The selected fields of the structures in `tensor`.
    fn inside(&self, tensor: &Tensor) -> Result<Tensor> {
        match tensor {
            Tensor::List(list) => Ok(Tensor::List(list.with_values(self.inside(list.values())?)?)),
            Tensor::Struct(s) => Tensor::structure(tensor.nrows(), self.tensors(s.fields())?, s.validity().cloned()),
            other => Ok(other.clone()),
        }
    }
}

impl Map for Choice {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        chunk.with_columns(self.tensors(&chunk.columns)?)
    }
}
