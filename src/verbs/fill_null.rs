//! `fill-null x=0,..`: replaces nulls with a value, or `fill-null --forward x,..`: with an earlier one.

mod forward;

use super::shared::args::split_commas;
use super::shared::edit::{Edits, Scope};
use super::shared::fields::{Patterns, copied_first, split_assignment};
use super::shared::keys::Keys;
use super::verb::{ArgumentUnless, Bound, Example, Operator, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::expr;
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::schema::notation::parse_literal_for;
use crate::schema::{DType, Dim, Element, Literal, Schema, Size, Type};
use crate::tensor::Tensor;
use crate::tensor::literal::literal_array;
use crate::tensor::nulls::{Filling, all_known, fill_sparse, fill_values};
use crate::tensor::text::from_text;
use arrow_array::{ArrayRef, LargeStringArray};
use arrow_schema::DataType;
use std::collections::HashMap;
use std::sync::Arc;

/// Replaces nulls with a value.
#[derive(clap::Args, Clone, Debug)]
pub struct FillNull {
    /// Fields and values, such as x=0,name="",tags=[]; a field may be given twice
    #[arg(value_name = "FIELD=VALUE,..", value_parser = parse)]
    pairs: Pairs,
    /// Instead of VALUE, replace nulls in these fields with the last value of the field in an earlier record
    #[arg(long, value_name = "FIELDS", value_parser = Patterns::parse)]
    forward: Option<Patterns>,
    /// With --forward, take values only from records with the same values of these fields
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
}

#[derive(Clone, Debug)]
struct Pairs(Vec<(FieldPath, String)>);

fn parse(text: &str) -> Result<Pairs, Error> {
    if text.is_empty() {
        return Ok(Pairs(Vec::new()));
    }
    let pair = |part: &str| {
        let (name, value) = split_assignment(part, "FIELD=VALUE, such as x=0")?;
        Ok((FieldPath::parse(name)?, value.to_owned()))
    };
    Ok(Pairs(split_commas(text).into_iter().map(pair).collect::<Result<_>>()?))
}

impl Verb for FillNull {
    const NAME: &'static str = "fill-null";
    const SUMMARY: &'static str = "Replace nulls with a value";
    const ABOUT: &'static str = "\
A scalar (x=0, name=\"\", name=unknown, ok=False) replaces null values: a null field, or null items at any depth of its lists. Null lists \
stay null; x=[] replaces them with empty lists, at every depth. A nonempty list (x=[0, 0]) replaces the field where the whole field is \
null. Both can be given: x=[],x=0. In a sparse tensor x=0 replaces null values among its entries, and x=[] replaces a null tensor \
with one that has no entries. x=0 also replaces a null row of known size, such as float32[4]. s={} replaces a null structure with \
one whose fields are null; then fill these fields: s={},s.a=0.

A value is a literal: a number, True, \"text\", b\"bytes\"; a string does not need quotes, nor does a time (t=1970-01-01). It must fit the field's dtype; a field that is \
always null takes the type of the value.

With --forward, a field that is null as a whole takes the value of the most recent earlier record in which it is not null (with --by, the most \
recent with the same key), whatever its type. Nulls before the first value stay, and so do nulls inside lists and structures. The last value of \
each key is kept in memory (see --max-memory).";
    const ARGUMENT_UNLESS: Option<ArgumentUnless> = Some(|given| given("--forward"));
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "missing prices become 0, missing lists empty",
            args: "fill-null 'price=0,tags=[]'",
            input: "{\"price\": 2.5, \"tags\": [\"a\"]}\n{\"price\": null, \"tags\": null}\n{}\n",
            output: "{\"price\":2.5,\"tags\":[\"a\"]}\n{\"price\":0.0,\"tags\":[]}\n{\"price\":0.0,\"tags\":[]}\n",
        },
        Example {
            about: "inside lists and structures",
            args: "fill-null docs.title=untitled,m=-1",
            input: "{\"docs\": [{\"title\": \"a\"}, {\"title\": null}], \"m\": [[1, null], [null]]}\n",
            output: "{\"docs\":[{\"title\":\"a\"},{\"title\":\"untitled\"}],\"m\":[[1,-1],[-1]]}\n",
        },
        Example {
            about: "the last reading of the same sensor; 0 before the first",
            args: "fill-null --forward t --by sensor then fill-null t=0",
            input: "{\"sensor\": 1, \"t\": 20}\n{\"sensor\": 2, \"t\": null}\n{\"sensor\": 1, \"t\": null}\n",
            output: "{\"sensor\":1,\"t\":20}\n{\"sensor\":2,\"t\":0}\n{\"sensor\":1,\"t\":20}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        if let Some(fields) = &self.forward {
            return self.bind_forward(fields, schema, options);
        }
        if self.by.is_some() {
            return Err(Error::usage("--by requires --forward FIELDS"));
        }
        if self.pairs.0.is_empty() {
            return Err(Error::usage("expected FIELD=VALUE, such as x=0, or --forward FIELDS"));
        }
        let mut edits = Edits::new(schema);
        let mut values_of: HashMap<&FieldPath, Vec<&str>> = HashMap::new();
        self.pairs.0.iter().for_each(|(field, text)| values_of.entry(field).or_default().push(text));
        for (field, _) in &self.pairs.0 {
            // All values of a field belong together.
            let Some(values) = values_of.remove(field) else { continue };
            edits.change(field, |ty| {
                let filling = Fills::of(ty, &values, field)?;
                let filled = filling.ty.clone();
                Ok((filled, move |tensor: &Tensor, _: &Scope| filling.apply(tensor)))
            })?;
            values.iter().try_for_each(|text| edits.add_value(field, text.trim()))?;
        }
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = after.and_fields(self.pairs.0.iter().filter_map(|(field, _)| field.names().first().cloned()));
        after.and_fields(self.forward.iter().flat_map(Patterns::wanted).chain(self.by.iter().flat_map(Keys::names)))
    }
}

impl FillNull {
    fn bind_forward(&self, fields: &Patterns, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let mut positions = Vec::new();
        for path in fields.resolve(schema)? {
            let (found, _) = schema.find(&path)?;
            let [position] = found.as_slice() else {
                let error = Error::usage("is inside a structure; --forward fills fields of the record").in_field(&path);
                return Err(error.help(copied_first(&path, "fill-null --forward", schema)));
            };
            positions.push(*position);
        }
        let keys = self.by.as_ref().map_or(Ok(Vec::new()), |by| by.fields(schema, "fill-null --forward FIELDS"))?;
        let fold = forward::Forward::new(&positions, keys, options);
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }
}

/// The replacements for one field.
struct Fills {
    /// The resulting type.
    ty: Type,
    /// The types before and after a field of dtype null took that of a value.
    taken: Option<(Type, Type)>,
    /// Null structures become structures of nulls.
    structures: bool,
    /// Null lists become empty.
    lists: bool,
    /// The replacement for a field that is null as a whole.
    whole: Option<Literal>,
    /// The replacement for null values.
    value: Option<ArrayRef>,
}

impl Fills {
    fn of(ty: &Type, texts: &[&str], field: &FieldPath) -> Result<Fills> {
        let mut filling = Fills { ty: ty.clone(), taken: None, structures: false, lists: false, whole: None, value: None };
        let mut texts = texts.to_vec();
        if ty.dtype() == Some(&DType::Null) {
            // A list gives the field axes, and must not come after a value that has none.
            texts.sort_by_key(|text| !text.trim_start().starts_with('['));
        }
        for text in texts {
            filling.add(text, field)?;
        }
        filling.settle();
        Ok(filling)
    }

    fn add(&mut self, text: &str, field: &FieldPath) -> Result<()> {
        if let Element::Struct(fields) = &self.ty.element {
            match text.trim() {
                "{}" => self.structures = true,
                "[]" if !all_known(&self.ty.dims) => self.lists = true,
                _ => {
                    let first = fields.first().map_or("a".to_owned(), |f| quoted(&f.name));
                    let error = Error::usage(format!("is a structure and cannot be filled with {text}"));
                    return Err(error.help(format!(
                        "{field}={{}} replaces a null structure with one whose fields are null; fill those one by one: {field}.{first}=.."
                    )));
                }
            }
            return Ok(());
        }
        let Some(dtype) = self.ty.dtype().cloned() else { return Ok(()) };
        if let DType::Arrow(ty) = &dtype {
            if text.trim() == "[]" && (self.ty.is_sparse() || !all_known(&self.ty.dims)) {
                self.lists = true;
            } else {
                self.value = Some(foreign_value(text, &dtype, ty)?);
            }
            return Ok(());
        }
        let literal = if dtype == DType::Json { json_literal(text)? } else { literal_of(text, &dtype)? };
        if literal == Literal::None {
            return Err(Error::usage("expected a value other than null"));
        }
        let dtype = if dtype == DType::Null { self.take_type(&literal) } else { dtype };
        let is_sparse = self.ty.is_sparse();
        if literal == Literal::List(Vec::new()) && (is_sparse || !all_known(&self.ty.dims)) {
            self.lists = true;
            return Ok(());
        }
        let scalar = Type::tensor(dtype.clone(), Vec::new());
        let of_list = matches!(literal, Literal::List(_));
        if of_list && is_sparse {
            let error = Error::usage(format!("is sparse and cannot be filled with {literal}"));
            return Err(error.help(format!("to replace null values: {field}=0; to replace a null tensor with an empty one: {field}=[]")));
        }
        if let Some(misfit) = literal.misfit(if of_list { &self.ty } else { &scalar }) {
            return Err(Error::usage(format!("cannot be filled with {literal}: {misfit}")));
        }
        if of_list && let Some(value) = lone_value(&literal, &self.ty.dims) {
            return Err(Error::usage(format!("cannot be filled with {literal}: found {value}, expected a list")));
        }
        if of_list {
            Tensor::of_literal(&Type { optional: false, ..self.ty.clone() }, &literal)?;
            self.whole = Some(literal);
        } else {
            self.value = Some(literal_array(&literal, &dtype)?);
        }
        Ok(())
    }

    /// A field that is always null takes the dtype of the first value given, and the axes of a list that has more.
    fn take_type(&mut self, literal: &Literal) -> DType {
        let (dtype, depth) = dtype_and_depth(literal);
        let before = self.taken.take().map_or_else(|| self.ty.clone(), |(before, _)| before);
        let ty = &mut self.ty;
        if ty.is_sparse() {
            ty.element = Element::Sparse(dtype.clone());
        } else {
            ty.element = Element::Value(dtype.clone());
            while ty.dims.len() < depth {
                ty.dims.push(if ty.dims.is_empty() { Dim::UNIFORM } else { Dim::RAGGED });
            }
        }
        self.taken = Some((before, Type { optional: true, with_nulls: true, ..ty.clone() }));
        dtype
    }

    /// Sets which nulls can remain.
    fn settle(&mut self) {
        let ty = &mut self.ty;
        if ty.is_sparse() {
            ty.optional &= !self.lists;
            ty.with_nulls &= self.value.is_none();
            return;
        }
        let is_structured = matches!(ty.element, Element::Struct(_));
        let items = if is_structured { self.structures } else { self.value.is_some() };
        if self.whole.is_some() || (self.lists && !all_known(&ty.dims)) || (items && all_known(&ty.dims)) {
            ty.optional = false;
        }
        if items && (self.lists || all_known(ty.dims.get(1..).unwrap_or(&[]))) {
            ty.with_nulls = false;
        }
        if self.lists || self.whole.is_some() {
            // The inserted lists may differ in size from the others.
            ty.dims.iter_mut().skip(1).filter(|d| d.size == Size::Uniform).for_each(|d| d.size = Size::Ragged);
        }
        if let (true, Element::Struct(fields)) = (self.structures, &mut ty.element) {
            fields.iter_mut().for_each(|f| f.ty.optional = true);
        }
    }

    fn apply(&self, tensor: &Tensor) -> Result<Tensor> {
        if let Tensor::Sparse(sparse) = tensor {
            return fill_sparse(sparse, self.value.as_ref(), self.lists).map(Tensor::Sparse);
        }
        let dims = &self.ty.dims;
        let mut tensor = match &self.taken {
            Some((before, after)) => tensor.widen(before, after)?,
            None => tensor.clone(),
        };
        if let (Some(literal), true) = (&self.whole, tensor.validity().is_some()) {
            tensor = tensor.fill_null_rows(&self.ty, literal)?;
        }
        if self.lists {
            tensor = fill_values(&tensor, dims, &Filling::Lists)?;
        }
        if let Some(value) = &self.value {
            tensor = fill_values(&tensor, dims, &Filling::Value(value.clone()))?;
        }
        match &self.ty.element {
            Element::Struct(fields) if self.structures => fill_values(&tensor, dims, &Filling::Structures(fields.clone())),
            _ => Ok(tensor),
        }
    }
}

/// The first value of a literal in the place of a list of unknown size, which would be empty.
fn lone_value<'a>(literal: &'a Literal, dims: &[Dim]) -> Option<&'a Literal> {
    match literal {
        Literal::List(items) => items.iter().find_map(|item| lone_value(item, dims.get(1..).unwrap_or(&[]))),
        value => (!all_known(dims)).then_some(value),
    }
}

/// The dtype of the values of a literal, that of the first one, and the number of its axes.
fn dtype_and_depth(literal: &Literal) -> (DType, usize) {
    let dtype = match literal {
        Literal::List(items) => {
            let items = items.iter().map(dtype_and_depth);
            let (dtype, depth) = items.fold((DType::Null, 0), |(first, most), (dtype, depth)| {
                (if first == DType::Null { dtype } else { first }, most.max(depth))
            });
            return (dtype, depth + 1);
        }
        Literal::None => DType::Null,
        Literal::Bool(_) => DType::Bool,
        Literal::Int(n) if i64::try_from(*n).is_ok() => DType::Int64,
        Literal::Int(_) => DType::UInt64,
        Literal::Float(_) => DType::Float64,
        Literal::Bytes(_) => DType::Bytes,
        Literal::String(_) => DType::String,
    };
    (dtype, 0)
}

/// A time or a decimal, from its text.
fn foreign_value(text: &str, dtype: &DType, ty: &DataType) -> Result<ArrayRef> {
    let is_decimal = ty.is_decimal();
    if dtype.time().is_none() && !is_decimal {
        return Err(Error::usage(format!("is {dtype}, which has no literals")));
    }
    let wrong = || Error::usage(format!("cannot be filled with {text}: expected a value of {dtype}"));
    let Literal::String(value) = parse_literal_for(text, Some(&DType::String)).map_err(|_| wrong())? else { return Err(wrong()) };
    if is_decimal {
        let text_array = LargeStringArray::from(vec![value.trim()]);
        let mut refused = None;
        let value = from_text(&text_array, ty, &mut |_, message| refused = Some(message))?;
        return refused.map_or(Ok(value), |message| Err(Error::usage(format!("cannot be filled with {text}: {message}"))));
    }
    expr::time_of_text(&value, ty).map_err(|e| {
        let error = Error::usage(format!("cannot be filled with {text}: {}", e.message()));
        e.helps().iter().cloned().fold(error, Error::help)
    })
}

fn literal_of(text: &str, dtype: &DType) -> Result<Literal> {
    parse_literal_for(text, Some(dtype)).map_err(|e| {
        if *dtype == DType::Null {
            let error = Error::usage(format!("cannot be filled with `{text}`: {}", e.message()));
            return error.help("write a string in quotes, such as \"a\"");
        }
        let error = Error::usage(format!("cannot be filled with `{text}`: expected a value of {dtype}"));
        if text.trim() == "{}" { error.help("{} is only for structures") } else { error }
    })
}

fn json_literal(text: &str) -> Result<Literal> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => Ok(Literal::String(text.trim().to_owned())),
        Err(e) => Err(Error::usage(format!("contains JSON, and {text} is not valid JSON: {e}"))),
    }
}
