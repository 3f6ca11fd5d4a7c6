//! The stream of combined inputs: its schema, and its lines.

use super::chosen::Chosen;
use super::feed::{BY_POSITION, Feed};
use super::member::Member;
use super::zip::Zip;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::printable::shell_word;
use crate::run::engine::Origin;
use crate::run::inference::{Unified, infer_files};
use crate::run::opened::Opened;
use crate::run::several::{ChainOfInput, Inferred, Several};
use crate::run::work::Work;
use crate::schema::{DType, Field, Schema, Type};
use crate::verbs::combine::Combination;
use std::sync::Arc;

/// Several inputs that are combined into one stream.
pub struct Combined {
    /// How they are combined.
    pub how: Combination,
    /// The inputs.
    pub members: Vec<Member>,
}

impl Several for Combined {
    fn infer(&mut self, demand: &Demand, share: Option<u64>, threads: usize) -> Result<Inferred> {
        match &self.how {
            Combination::Chosen(_) => unified(&mut self.members, demand, share, threads),
            Combination::Listed(_, field) => {
                let Some((list, members)) = self.members.split_first_mut() else { return Err(Error::internal("a choice without a list")) };
                let only = Demand { fields: Wanted::matching([field.clone()]), records: None };
                let mut found = list.infer(&only, share, threads)?;
                if found.schema.index_of(field).is_none() && list.inputs.are_regular() {
                    // The message lists the fields.
                    found = list.infer(&Demand::everything(), share, threads)?;
                }
                check_list(&found.schema, field, list.name())?;
                let stream = unified(members, demand, share, threads)?;
                Ok(Inferred { schema: stream.schema, is_settled: found.is_settled && stream.is_settled, is_stated: false })
            }
            Combination::Zipped { names, .. } => {
                let fields = if names.is_some() { Wanted::All } else { demand.fields.clone() };
                let own = Demand { fields: fields.clone(), records: demand.records };
                let mut is_settled = true;
                for member in &mut self.members {
                    let found = member.infer(&own, share, threads).map_err(|e| e.instead_of_skipping(BY_POSITION))?;
                    is_settled &= found.is_settled;
                }
                let mut schema = self.zipped(names.as_deref())?;
                schema.fields.retain(|f| demand.fields.includes(&f.name) || fields == Wanted::All);
                Ok(Inferred { schema, is_settled, is_stated: false })
            }
        }
    }

    fn origin<'a>(&mut self) -> Result<Origin<'a, Work>> {
        let again = |member: &Member| member.closed();
        let feed = if matches!(self.how, Combination::Zipped { .. }) { Feed::by_position } else { Feed::new };
        let mut feeds: Vec<Feed> = self.members.iter().map(feed).collect();
        let lines = self.members.iter_mut().map(Member::line).collect::<Result<Vec<_>>>()?;
        let Some(options) = self.members.first().map(|member| member.inputs.options().clone()) else {
            return Err(Error::internal("nothing to combine"));
        };
        Ok(match &self.how {
            Combination::Zipped { names, shortest } => Origin::Merge(Box::new(Zip::new(feeds, names.is_some(), *shortest)), lines),
            Combination::Chosen(new) => {
                let chooser = new();
                let again = if chooser.restarts() { self.members.iter().map(again).collect() } else { Vec::new() };
                Origin::Merge(Box::new(Chosen::new(feeds, None, chooser, again, options)), lines)
            }
            Combination::Listed(new, field) => {
                let position = self.members.first().and_then(|list| list.schema().index_of(field)).unwrap_or(0);
                let list = feeds.remove(0);
                Origin::Merge(
                    Box::new(Chosen::new(
                        feeds,
                        Some((list, position, crate::path::quoted(field).to_string())),
                        new(),
                        Vec::new(),
                        options,
                    )),
                    lines,
                )
            }
        })
    }

    fn opened(&self) -> Box<dyn Iterator<Item = &Opened> + '_> {
        Box::new(self.members.iter().flat_map(|member| member.inputs.iter()))
    }

    fn reopen(&mut self) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| member.inputs.reopen())
    }

    fn closed(&self) -> Box<dyn Several> {
        Box::new(Combined { how: self.how.clone(), members: self.members.iter().map(Member::closed).collect() })
    }

    fn chains(&self) -> Vec<ChainOfInput> {
        let (mut chains, mut end) = (Vec::new(), 0);
        for member in &self.members {
            end += member.inputs.iter().count();
            if member.chain.is_some() {
                chains.push(ChainOfInput { text: member.name(), end, schema: member.own_schema().clone() });
            }
        }
        chains
    }
}

impl Combined {
    /// The schemas, side by side.
    fn zipped(&self, names: Option<&[String]>) -> Result<Schema> {
        let facts =
            self.members.iter().map(|member| member.schema().facts.clone()).reduce(|all, facts| all.join(&facts)).unwrap_or_default();
        if let Some(names) = names {
            let field =
                |(name, member): (&String, &Member)| Field::new(name.clone(), Type::structure(member.schema().plain().fields, Vec::new()));
            return Ok(Schema::with_facts(names.iter().zip(&self.members).map(field).collect(), facts));
        }
        let mut fields: Vec<Field> = Vec::new();
        for member in &self.members {
            for field in &member.schema().fields {
                if fields.iter().any(|known| known.name == field.name) {
                    let has = |other: &&Member| other.schema().index_of(&field.name).is_some();
                    let first = self.members.iter().find(has).map_or_else(|| Arc::from(""), Member::name);
                    let (input, name) = (member.name(), crate::path::quoted(&field.name));
                    return Err(Error::usage(format!("{first} and {input} both have this field"))
                        .in_field(name.clone())
                        .help("put the fields of each input into a structure: zip --as a,b")
                        .help(format!("or drop the field from one input: zip A [ drop {} B ]", shell_word(&name.to_string()))));
                }
            }
            fields.extend(member.schema().plain().fields);
        }
        Ok(Schema::with_facts(fields, facts))
    }
}

/// The common schema of several inputs. Inputs without chains are inferred together, like files read in sequence.
fn unified(members: &mut [Member], demand: &Demand, share: Option<u64>, threads: usize) -> Result<Inferred> {
    let mut plain = None;
    if let Some(first) = members.iter().find(|member| member.chain.is_none()) {
        let request = first.inputs.request(demand.clone(), share);
        let files = members.iter_mut().filter(|member| member.chain.is_none()).flat_map(|member| member.inputs.iter_mut());
        plain = Some(infer_files(files, &request, false, threads)?);
    }
    let mut is_settled = plain.as_ref().is_none_or(|plain| plain.is_settled);
    let mut all = Unified::default();
    for member in members.iter_mut() {
        let schema = match (&member.chain, &plain) {
            (None, Some(plain)) => plain.schema.clone(),
            _ => {
                let found = member.infer(demand, share, threads)?;
                is_settled &= found.is_settled;
                found.schema
            }
        };
        all.add(&member.name(), schema).map_err(|e| e.help(CHANGE_IN_BRACKETS))?;
    }
    let mut schema = all.schema();
    schema.fields.retain(|f| demand.fields.includes(&f.name));
    members.iter_mut().for_each(|member| member.give(demand, &schema));
    Ok(Inferred { schema, is_settled, is_stated: false })
}

/// What to do if no type fits a field of several inputs.
const CHANGE_IN_BRACKETS: &str = "change the field in the brackets of one input: [ cast FIELD=TYPE FILE ] for its dtype, map for its axes";

/// The field with the list of choices.
fn check_list(schema: &Schema, field: &str, name: Arc<str>) -> Result<()> {
    let Some(position) = schema.index_of(field) else {
        let names: Vec<String> = schema.fields.iter().map(|f| crate::path::quoted(&f.name).to_string()).collect();
        let error = Error::usage(format!("unknown field `{field}`")).in_input(name);
        return Err(error.help(format!("the fields are: {}", names.join(", "))));
    };
    let ty = &schema.fields[position].ty;
    if ty.dims.is_empty() && ty.dtype().is_some_and(DType::is_integer) {
        return Ok(());
    }
    Err(Error::usage(format!("{} is {ty}; expected the number of an input, an integer in each record", crate::path::quoted(field)))
        .in_input(name))
}
