//! The verbs of a chain, bound to a schema from left to right.

use super::inputs::Inputs;
use super::stages::is_much_wider;
use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Reason, Result};
use crate::formats::FORMATS;
use crate::options::{Options, named};
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::leaves::leaves;
use crate::schema::replaced::note_replaced;
use crate::schema::{Element, Schema, Size, Type};
use crate::verbs::{Bound, ChunkParts, Map, Operator, Parsed, Route, Unchanged};
use std::sync::Arc;

/// A chain whose names, types and shapes have been checked.
pub struct Chain {
    /// The schema before each verb, and after the last.
    pub schemas: Vec<Arc<Schema>>,
    /// The operators, in order.
    pub operators: Vec<Operator>,
    /// The names of their verbs.
    pub names: Vec<&'static str>,
}

impl Chain {
    /// Binds the verbs to the schema of the input.
    ///
    /// # Errors
    /// The error of the first verb that does not accept its input schema.
    pub fn bind(verbs: &[Box<dyn Parsed>], schema: &Schema, options: &Options) -> Result<Chain> {
        let bind = |verb: &dyn Parsed, before: &Arc<Schema>| verb.bind(before, options).map_err(|e| as_scalars(e, schema, before, options));
        let mut has_dropped = false;
        match Chain::bind_by(verbs, schema, Some(&mut has_dropped), bind) {
            // Without the dropped fields, the error cannot suggest their names.
            Err(_) if has_dropped => Chain::bind_by(verbs, schema, None, bind),
            bound => bound,
        }
    }

    /// Binds the verbs to the schema of these inputs. If the inputs have no records and their fields are unknown, a
    /// verb that names a field has nothing to do.
    ///
    /// # Errors
    /// See [`Chain::bind`]. Also an error for a report that names a field.
    pub fn of_inputs(inputs: &Inputs, verbs: &[Box<dyn Parsed>], schema: &Schema, options: &Options) -> Result<Chain> {
        refuse_hidden_constants(schema, options)?;
        if !schema.fields.is_empty() || !inputs.declared().fields.is_empty() || !inputs.are_empty() {
            return Chain::bind(verbs, schema, options);
        }
        Chain::bind_by(verbs, &Schema::default(), None, |verb, before| match verb.bind(before, options) {
            Err(error) if matches!(error.reason(), Some(Reason::UnknownField(_))) && !verb.is_report() => {
                let operator = match verb.parts()? {
                    Some(_) => Operator::Split(Route::Numbered(Arc::new(|_| 0))),
                    None => Operator::Map(Arc::new(Unchanged)),
                };
                Ok(Bound { schema: before.clone(), operator })
            }
            bound => bound,
        })
    }

    /// `has_dropped`: if given, fields that no later verb needs are dropped as soon as possible, so that `explode` does not repeat them; it
    /// is set if there are any.
    fn bind_by(
        verbs: &[Box<dyn Parsed>],
        schema: &Schema,
        mut has_dropped: Option<&mut bool>,
        bind: impl Fn(&dyn Parsed, &Arc<Schema>) -> Result<Bound>,
    ) -> Result<Chain> {
        let mut chain = Chain { schemas: vec![Arc::new(schema.plain())], operators: Vec::new(), names: Vec::new() };
        let mut needed = vec![Demand::everything()];
        for verb in verbs.iter().skip(1).rev() {
            needed.push(verb.demand(needed.last().cloned().unwrap_or_else(Demand::everything)));
        }
        for verb in verbs {
            let before = chain.schemas.last().cloned().unwrap_or_default();
            let bound = bind(verb.as_ref(), &before).map_err(|e| name_verb(e, verb.name(), verbs.len()))?;
            if matches!(bound.operator, Operator::Report(_)) != verb.is_report() {
                return Err(Error::internal(format!("{} does not say whether it reports", verb.name())));
            }
            let (mut after, mut operator) = (bound.schema, bound.operator);
            if !Arc::ptr_eq(&before, &after) {
                note_replaced(&before.fields, &mut after);
            }
            if let (Some(Demand { fields, .. }), Some(has_dropped)) = (needed.pop(), &mut has_dropped) {
                let nfields = after.fields.len();
                (after, operator) = narrowed(&before, after, operator, &fields);
                **has_dropped |= after.fields.len() < nfields;
            }
            chain.schemas.push(after);
            chain.operators.push(operator);
            chain.names.push(verb.name());
        }
        if let [before, .., after] = chain.schemas.as_mut_slice() {
            let keeps_records = chain.operators.iter().all(|operator| matches!(operator, Operator::Map(map) if map.keeps_count()));
            let facts = verbs.iter().fold(before.facts.clone(), |facts, verb| verb.facts(facts));
            Arc::make_mut(after).facts = if keeps_records { facts } else { facts.of_other_records() };
        }
        Ok(chain)
    }

    /// The first verb has already been applied.
    pub fn leave_out_first(&mut self) {
        if let Some(first) = self.operators.first_mut() {
            *first = Operator::Map(Arc::new(Unchanged));
        }
    }
}

/// Leaves out the fields that are not wanted, unless the verb adds many: then its chunks are divided by the number of all its fields.
fn narrowed(before: &Schema, schema: Arc<Schema>, operator: Operator, wanted: &Wanted) -> (Arc<Schema>, Operator) {
    let is_wanted = |position: &usize| wanted.includes(&schema.fields[*position].name);
    let kept: Vec<usize> = (0..schema.fields.len()).filter(is_wanted).collect();
    match operator {
        Operator::Map(map) if kept.len() < schema.fields.len() && !is_much_wider(leaves(before).len().max(1), leaves(&schema).len()) => {
            let mut narrow = schema.as_ref().clone();
            narrow.fields = kept.iter().map(|position| schema.fields[*position].clone()).collect();
            (Arc::new(narrow), Operator::Map(Arc::new(Narrowed { map, kept })))
        }
        operator => (schema, operator),
    }
}

/// A verb whose output has only some of its fields.
struct Narrowed {
    map: Arc<dyn Map>,
    /// Their positions.
    kept: Vec<usize>,
}

impl Map for Narrowed {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let mut chunk = self.map.apply(chunk)?;
        chunk.columns = self.kept.iter().map(|position| chunk.columns[*position].clone()).collect();
        Ok(chunk)
    }

    fn keeps_rows(&self) -> bool {
        self.map.keeps_rows()
    }

    fn grows(&self) -> bool {
        self.map.grows()
    }

    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        self.map.divided(chunk)
    }

    fn keeps_count(&self) -> bool {
        self.map.keeps_count()
    }
}

/// A constant with the name of a field would never be used, because the field comes first.
///
/// # Errors
/// There is one.
fn refuse_hidden_constants(schema: &Schema, options: &Options) -> Result<()> {
    for (texts, option, value) in [(&options.args, "--arg", "VALUE"), (&options.with, "--with", "FILE")] {
        for text in texts {
            let (name, _) = named(text, option, value)?;
            if schema.index_of(name).is_some() {
                let error = Error::usage(format!("{option} {name}: the records have a field of this name, which takes precedence"));
                return Err(error.help("choose another name for the constant"));
            }
        }
    }
    Ok(())
}

/// Whether [`read_less`] applies: the first verb only drops fields, and leaves some, which patterns can name.
pub fn reads_less(first: &dyn Parsed, chain: &Chain, demand: &Demand) -> bool {
    let [_, after, ..] = chain.schemas.as_slice() else { return false };
    let are_plain = !after.fields.is_empty() && after.fields.iter().all(|field| !field.name.contains('*'));
    demand.fields == Wanted::All && are_plain && !first.drops().is_empty()
}

/// Reads only the fields that remain if the first verb drops the others: which fields those are is known only after
/// inference, because the others have to exist.
pub fn read_less(first: &dyn Parsed, chain: &mut Chain, schema: &mut Schema, demand: &mut Demand) {
    if !reads_less(first, chain, demand) {
        return;
    }
    let [_, after, ..] = chain.schemas.as_slice() else { return };
    demand.fields = Wanted::matching(after.fields.iter().map(|field| field.name.clone()));
    schema.fields.retain(|field| after.index_of(&field.name).is_some());
    chain.schemas[0] = after.clone();
    chain.leave_out_first();
}

/// The error, with advice if scalars are stored as lists, as in a tf.Example. `schema`: that of the input; `before`: that before the
/// verb.
fn as_scalars(error: Error, schema: &Schema, before: &Schema, options: &Options) -> Error {
    let Some(Reason::NotScalar(names)) = error.reason() else { return error };
    let format = FORMATS.iter().find(|format| Some(format.name()) == options.source);
    if !format.is_some_and(|format| format.options().contains(&"--scalar")) {
        return error;
    }
    let is_list =
        |ty: &Type| matches!(&ty.element, Element::Value(_)) && matches!(ty.dims.as_slice(), [only] if only.size == Size::Uniform);
    let find = |schema: &Schema, name: &str| Some(schema.fields[schema.index_of(name)?].ty.clone());
    let is_unchanged = |name: &&String| find(before, name).is_some_and(|ty| is_list(&ty) && find(schema, name) == Some(ty));
    let lists: Vec<String> = names.iter().filter(is_unchanged).map(|name| quoted(name)).collect();
    match lists.as_slice() {
        [] => error,
        [_] => error.help_first(format!("if it never has more than one value, read it as a scalar: --scalar {}", shell_word(&lists[0]))),
        _ => error
            .help_first(format!("read those that never have more than one value as scalars: --scalar {}", shell_word(&lists.join(",")))),
    }
}

/// In a chain of several verbs, names the verb in the error.
fn name_verb(error: Error, verb: &str, verbs: usize) -> Error {
    if verbs > 1 && error.location().input.is_none() { error.in_input(verb) } else { error }
}
