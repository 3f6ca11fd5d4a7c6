//! `cast x=float32,..`: changes the dtype of fields; and parses fields that contain JSON ([`json`]).

mod json;
mod target;

use self::json::Json;
use self::target::{Pairs, Target, parse};
use super::shared::edit::{Edits, Scope};
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::expr;
use crate::options::Options;
use crate::path::{self, FieldPath};
use crate::printable::shell_word;
use crate::schema::notation::{declaration, schema_option};
use crate::schema::{DType, Element, Schema, Type};
use crate::tensor::{Sparse, Tensor, text};
use arrow_array::{ArrayRef, make_array, new_null_array};
use arrow_schema::DataType;
use std::collections::HashSet;
use std::sync::Arc;

/// Changes the dtype of fields.
#[derive(clap::Args, Clone, Debug)]
pub struct Cast {
    /// Fields and new types, such as x=float32,docs.score=int8 or payload='{id: int64}'; `*` matches any characters in a name
    #[arg(value_name = "FIELD=TYPE,..", value_parser = parse)]
    pairs: Pairs,
}

impl Verb for Cast {
    const NAME: &'static str = "cast";
    const SUMMARY: &'static str = "Change the dtype of fields, or parse JSON text";
    const ABOUT: &'static str = "\
Axes and sizes are unchanged; the values of ragged, sparse and structured fields are cast in place. As in TensorFlow, casting floats to \
integers truncates toward zero, integers out of range wrap around, and NaN and every nonzero value cast to true. Nulls are an error.

string and bytes can be cast to each other (bytes that are not valid UTF-8 are an error); casting json to string returns its text. Strings and \
numbers cannot be cast to each other: use strings.to_number and strings.as_string in `map`.

Times (timestamp[us], timestamp[ms, UTC], date32, time64[ns], duration[s]) can be cast to other units and zones (rounding down) and to int64 \
(as a count of units). Strings are parsed as times: 2024-05-01, 12:30:00, 2024-05-01T12:30:00 (optionally with fractional seconds and a UTC offset, \
such as Z or +02:00; text with an offset is converted to UTC, so its date may change), durations as PT1H30M; text that is \
more precise than the unit is an error. Times cast to strings are written the same way.

Decimals can be cast to floats and to strings.

With a type in the notation of --schema, a string, bytes or json field is parsed as JSON text, as are the strings in a list: \
payload='{user: {id: int64}, tags: string[?]}'. Keys that the type does not name are skipped. As with --schema, a value that may be absent \
or null is `optional` or has a default (id: int64 = -1); any other text is an error, which --on-error skip leaves out. To find the type: \
tatter cast payload=json FILE | tatter schema -. A json field can also be cast to a dtype, which all its values must have.

x=json writes a field of any type as JSON text, a list or a structure as a whole, nulls included; a string must be JSON text already. \
cast x=json then cast x=string gives a string; x='optional string' keeps nulls.";
    const MEANING: &'static str = "tf.cast";
    const COMPUTES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "scores as integers, at any depth",
            args: "cast id=float64,docs.score=int32",
            input: "{\"id\": 7, \"docs\": [{\"score\": 1.9}, {\"score\": -1.9}]}\n",
            output: "{\"id\":7.0,\"docs\":[{\"score\":1},{\"score\":-1}]}\n",
        },
        Example {
            about: "values out of range wrap around, as in TensorFlow",
            args: "cast x=int8,y=bool",
            input: "{\"x\": [127, 128, 300], \"y\": [[0.0, 0.5], [\"NaN\"]]}\n",
            output: "{\"x\":[127,-128,44],\"y\":[[false,true],[true]]}\n",
        },
        Example {
            about: "parse strings that contain JSON",
            args: "cast 'payload={user: {id: int64}, tags: optional string[?]}' then map 'id = payload.user.id'",
            input: "{\"payload\": \"{\\\"user\\\": {\\\"id\\\": 7, \\\"name\\\": \\\"Ann\\\"}}\"}\n",
            output: "{\"payload\":{\"user\":{\"id\":7},\"tags\":null},\"id\":7}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let mut edits = Edits::new(schema);
        let mut seen = HashSet::new();
        for (patterns, to) in &self.pairs.0 {
            for field in patterns.resolve(schema)? {
                if !seen.insert(field.clone()) {
                    return Err(Error::usage(format!("{field} appears twice")));
                }
                let path = field.clone();
                let from = &schema.find(&field)?.1.ty;
                if let Some(json) = Json::of(from, to).map_err(|e| e.in_field(&field))? {
                    json.edit(&mut edits, &field)?;
                    continue;
                }
                let Target::DType(to) = to else { return Err(Error::internal("a type that is not parsed")) };
                if from.dtype() == Some(&DType::String) && to.time().is_some() {
                    edits.fill_as(&field, to)?;
                }
                edits.change(&field, |ty| {
                    let (new, levels, to) = (cast_type(&path, ty, to)?, ty.list_dims().len(), to.clone());
                    let retyped = declared(&path, ty, &new, options.source);
                    Ok((new, move |tensor: &Tensor, scope: &Scope| {
                        scope.refuse_nulls(tensor, &path).map_err(|e| retyped.iter().fold(e, Error::help_first))?;
                        tensor.map_below(levels, &mut |below| cast_below(below, &to))
                    }))
                })?;
            }
        }
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        after.and_fields(self.pairs.0.iter().flat_map(|(patterns, _)| patterns.wanted()))
    }
}

/// Advice to read a field in its new type, which keeps nulls, if the format can. `source`: the format of the input.
fn declared(path: &FieldPath, old: &Type, new: &Type, source: Option<&str>) -> Option<String> {
    let is_value = |ty: &Type| ty.dtype().is_some_and(|d| d.is_number() || *d == DType::Bool);
    let converts = match source? {
        "parquet" | "arrow" | "arrow-file" => is_value(old) && is_value(new),
        "jsonl" | "json" | "csv" | "tsv" => is_value(old) && is_value(new) || new.dtype().is_some_and(|d| d.time().is_some()),
        _ => false,
    };
    let option = || schema_option(&declaration(path, new));
    (converts && path.parent().is_none())
        .then(|| format!("if it comes from the input unchanged, read it in this type, which keeps nulls: {}", option()))
}

fn is_text(dtype: &DType) -> bool {
    matches!(dtype, DType::String | DType::Bytes)
}

fn cast_type(path: &FieldPath, ty: &Type, to: &DType) -> Result<Type> {
    let from = match &ty.element {
        Element::Struct(fields) => {
            let names: Vec<String> = fields.iter().take(5).map(|f| path::quoted(&f.name)).collect();
            let error = Error::usage("is a structure; cast its fields").help(format!("its fields are: {}", names.join(", ")));
            return Err(match is_text(to) {
                true => error.help(format!("or write it as JSON text: cast {}", shell_word(&format!("{path}=json")))),
                false => error,
            });
        }
        Element::Value(dtype) | Element::Sparse(dtype) => dtype,
    };
    let known = match from {
        DType::Null => true,
        DType::Json => *to == DType::String,
        DType::Arrow(ty) if *to == DType::Bytes => matches!(**ty, DataType::FixedSizeBinary(_)),
        DType::Arrow(ty) if *to == DType::String => text::has_text(ty) && !matches!(**ty, DataType::FixedSizeBinary(_)),
        DType::Arrow(ty) if ty.is_decimal() => to.is_float(),
        from => (from.is_tensor() || from.time().is_some()) && expr::can_cast(from, to),
    };
    if !known {
        let error = Error::usage(format!("is {from}, which cannot be cast to {to}"));
        return Err(match from {
            DType::Bytes if to.time().is_some() => {
                let (field, to) = (path.to_string(), to.to_string());
                let to = to.strip_prefix("arrow<").and_then(|to| to.strip_suffix('>')).unwrap_or(&to);
                let (text, time) = (shell_word(&format!("{field}=string")), shell_word(&format!("{field}={to}")));
                error.help(format!("times are parsed from strings: cast {text} then cast {time}"))
            }
            d if d.time().is_some() || to.time().is_some() => {
                let error = match expr::clocks(&path.in_expression(), from, to) {
                    Some(advice) => error.help(format!("in map, {advice}")),
                    None => error,
                };
                error.help("times can be cast to other units, to and from strings, and to and from int64, as a count of their units")
            }
            d if is_text(d) && to.is_tensor() && !is_text(to) => {
                let name = path.in_expression();
                let number = |to: &str| format!("strings.to_number({name}, {to})");
                let (what, value) = match to {
                    DType::Bool => ("compare to a string", format!("{name} == \"true\"")),
                    DType::Float16 => ("parse numbers from strings", format!("cast({}, {to})", number("float32"))),
                    DType::Int8 | DType::Int16 | DType::UInt8 | DType::UInt16 => {
                        ("parse numbers from strings", format!("cast({}, {to})", number("int32")))
                    }
                    _ => ("parse numbers from strings", number(&to.to_string())),
                };
                error.help(format!("{what} with map {}", shell_word(&format!("{name} = {value}"))))
            }
            d if d.is_tensor() && is_text(to) => {
                let name = path.in_expression();
                let map = shell_word(&format!("{name} = strings.as_string({name})"));
                error.help(format!("format numbers as strings with map {map}"))
            }
            DType::Json => error.help(format!("its text as bytes: cast {0}=string then cast {0}=bytes", shell_word(&path.to_string()))),
            _ => error,
        });
    }
    let element = if ty.is_sparse() { Element::Sparse(to.clone()) } else { Element::Value(to.clone()) };
    Ok(Type { element, ..ty.clone() })
}

fn cast_below(tensor: &Tensor, to: &DType) -> Result<Tensor> {
    match tensor {
        Tensor::Leaf(array) => Ok(Tensor::Leaf(cast_values(array, to)?)),
        Tensor::Sparse(s) => Ok(Tensor::Sparse(Sparse::try_new(
            s.ndims(),
            s.entries().clone(),
            s.indices().clone(),
            cast_values(s.values(), to)?,
            s.dense_shape().clone(),
            s.validity().cloned(),
        )?)),
        _ => Err(Error::data("expected scalars")),
    }
}

fn cast_plain(array: &ArrayRef, to: &DType) -> Result<ArrayRef> {
    if *to == DType::String && !matches!(array.data_type(), DataType::LargeUtf8 | DataType::LargeBinary) {
        return Ok(Arc::new(text::to_text(array)?));
    }
    if let (DataType::FixedSizeBinary(_), DType::Bytes) = (array.data_type(), to) {
        return arrow_cast::cast(array, &to.arrow()).map_err(|e| Error::data(e.to_string()));
    }
    if array.data_type().is_decimal() {
        let wide = arrow_cast::cast(array, &DType::Float64.arrow()).map_err(|e| Error::data(e.to_string()))?;
        return expr::cast(&wide, to);
    }
    expr::cast(array, to)
}

/// Values inside a null structure may be null, and stay null.
fn cast_values(array: &ArrayRef, to: &DType) -> Result<ArrayRef> {
    if array.data_type() == &DataType::Null {
        return Ok(new_null_array(&to.arrow(), array.len()));
    }
    let Some(nulls) = array.logical_nulls().filter(|n| n.null_count() > 0) else {
        return cast_plain(array, to);
    };
    let plain = make_array(array.to_data().into_builder().nulls(None).build().map_err(|e| Error::data(e.to_string()))?);
    let data = cast_plain(&plain, to)?.to_data().into_builder().nulls(Some(nulls));
    Ok(make_array(data.build().map_err(|e| Error::data(e.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;

    #[test]
    fn nulls_below_a_null_structure_stay() {
        let array: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let cast = cast_values(&array, &DType::Float32).unwrap();
        assert_eq!(cast.as_primitive::<arrow_array::types::Float32Type>().iter().collect::<Vec<_>>(), [Some(1.0), None]);
        let none: ArrayRef = Arc::new(arrow_array::NullArray::new(0));
        assert_eq!(cast_values(&none, &DType::Bytes).unwrap().data_type(), &DType::Bytes.arrow());
    }
}
