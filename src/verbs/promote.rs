//! `promote PATH --as NAME`: moves a field out of a structure.

use super::shared::edit::Edits;
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result, mismatch};
use crate::options::Options;
use crate::path::{FieldPath, new_name, quoted};
use crate::printable::shell_word;
use crate::schema::{Element, Field, Schema};
use crate::tensor::Tensor;
use crate::tensor::merge::{promote, promoted_type};
use std::sync::Arc;

/// Moves a field out of the structure that contains it.
#[derive(clap::Args, Clone, Debug)]
pub struct Promote {
    /// Field to promote, such as docs.tokens
    #[arg(value_name = "PATH", value_parser = FieldPath::parse)]
    path: FieldPath,
    /// Name of the new field [default: the last part of PATH]
    #[arg(long = "as", value_name = "NAME", value_parser = new_name)]
    name: Option<String>,
    /// Remove the source field
    #[arg(long = "move")]
    moves: bool,
}

/// The fields that a path such as `p.a,p.b` or `p.*` names.
fn several(path: &FieldPath, schema: &Schema) -> Option<Vec<FieldPath>> {
    /// A longer command would not be read.
    const MOST: usize = 8;
    let parent = path.parent()?;
    let paths: Vec<FieldPath> = match path.last() {
        "*" => schema.find(&parent).ok()?.1.ty.fields()?.iter().map(|field| parent.join(&field.name)).collect(),
        _ => {
            let text = path.names().join(".");
            text.split(',').map(|part| FieldPath::parse(part).ok().filter(|path| path.parent().is_some())).collect::<Option<_>>()?
        }
    };
    ((2..=MOST).contains(&paths.len()) && paths.iter().all(|path| schema.find(path).is_ok())).then_some(paths)
}

impl Verb for Promote {
    const NAME: &'static str = "promote";
    const SUMMARY: &'static str = "Copy a field out of a structure";
    const ABOUT: &'static str = "\
Copies a field one level up: `docs.tokens` is copied to the record as `tokens`, and `user.docs.tokens` to `user.tokens`. The axes of `docs` \
and the first axis of `tokens` are merged, and values stay in order. A scalar in each structure becomes a vector. The source field stays unless --move is given. A null \
structure or value becomes a null; a null list adds nothing to the merged axis. An existing field is replaced only if --as \
names it.";
    const MEANING: &'static str = "tf.experimental.StructuredTensor.promote";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the tokens of all documents in one list",
            args: "promote docs.tokens --as toks --move",
            input: "{\"docs\": [{\"title\": \"a\", \"tokens\": [1, 2]}, {\"title\": \"b\", \"tokens\": []}, {\"title\": \"c\", \"tokens\": [3]}]}\n",
            output: "{\"docs\":[{\"title\":\"a\"},{\"title\":\"b\"},{\"title\":\"c\"}],\"toks\":[1,2,3]}\n",
        },
        Example {
            about: "a scalar in every document becomes a vector",
            args: "promote docs.title --as titles then select titles",
            input: "{\"docs\": [{\"title\": \"a\"}, {\"title\": \"b\"}]}\n{\"docs\": []}\n",
            output: "{\"titles\":[\"a\",\"b\"]}\n{\"titles\":[]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => self.path.last().to_owned(),
        };
        let (_, field) = schema.find(&self.path).map_err(|error| match several(&self.path, schema) {
            Some(paths) => Error::usage(mismatch("one field", self.path.names().join(".")))
                .help(format!("promote each of them: {}", schema.promotions(&paths))),
            None => error,
        })?;
        let Some(parent) = self.path.parent() else {
            let error = Error::usage("is already a field of the record").in_field(&self.path);
            return Err(match field.ty.fields().and_then(|inner| inner.first()) {
                Some(inner) => error.help(format!("to promote one of its fields: promote {}", self.path.join(&inner.name))),
                None => error,
            });
        };
        let (field_ty, source) = (field.ty.clone(), field.clone());
        let mut edits = Edits::new(schema);
        let path = self.path.clone();
        let (last, moves, is_unnamed) = (self.path.last().to_owned(), self.moves, self.name.is_none());
        edits.beside(&parent, |fields, position| {
            let structure = fields[position].ty.clone();
            let Some(number) = structure.fields().and_then(|inner| inner.iter().position(|f| f.name == last)) else {
                return Err(Error::usage("is not a structure"));
            };
            if field_ty.is_sparse() && structure.rank() > 0 {
                let error = Error::usage("is sparse; its axes cannot be merged with those of its structures").in_field(&self.path);
                return Err(error.help(format!("make it dense first: to-dense -f {}", shell_word(&self.path.to_string()))));
            }
            let ty = promoted_type(&structure, &field_ty);
            let storage = source.storage_under(&structure.dims);
            let storage = if moves { storage } else { storage.copied() };
            let storage = if ty.optional { storage.or_null() } else { storage };
            let promoted = Field { storage, ..Field::new(name.clone(), ty) };
            if let (true, Element::Struct(inner)) = (moves, &mut fields[position].ty.element) {
                inner.remove(number);
            }
            let replaced = fields.iter().position(|f| f.name == name);
            if replaced == Some(position) && moves {
                return Err(Error::usage(format!("{} would replace the structure it comes from", quoted(&name)))
                    .help("choose another name with --as"));
            }
            if replaced.is_some() && is_unnamed {
                let error = Error::usage(format!("the records already have a field named {}", quoted(&name))).in_field(&path);
                return Err(error.help(format!("choose another name with --as; to replace the field: --as {}", shell_word(&quoted(&name)))));
            }
            match replaced {
                Some(at) => fields[at] = promoted,
                None => fields.push(promoted),
            }
            let (axes, has_axis) = (structure.rank(), field_ty.rank() > 0);
            Ok(Box::new(move |mut tensors: Vec<Tensor>, _| {
                let promoted = promote(&tensors[position], axes, number, has_axis)?;
                if moves {
                    tensors[position] = without(&tensors[position], axes, number)?;
                }
                match replaced {
                    Some(at) => tensors[at] = promoted,
                    None => tensors.push(promoted),
                }
                Ok(tensors)
            }))
        })?;
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        let name = self.name.as_deref().and_then(|text| FieldPath::parse(text).ok()).map(|p| p.last().to_owned());
        after.and_fields(self.path.names().first().cloned().into_iter().chain(name))
    }
}

/// The structures without one of their fields.
fn without(structure: &Tensor, axes: usize, number: usize) -> Result<Tensor> {
    structure.map_below(axes, &mut |below| {
        let s = below.as_struct()?;
        let fields = s.fields().iter().enumerate().filter(|(i, _)| *i != number).map(|(_, f)| f.clone());
        Tensor::structure(below.nrows(), fields.collect(), s.validity().cloned())
    })
}
