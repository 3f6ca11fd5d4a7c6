//! One of several inputs: files, optionally with their own chain.

use super::adapt::Adapt;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Kind, Result};
use crate::options::Options;
use crate::run::chain::Chain;
use crate::run::engine::{Line, Node};
use crate::run::inference::{infer, infer_files};
use crate::run::inputs::Inputs;
use crate::run::map::decode_and_map;
use crate::run::several::Inferred;
use crate::run::stages::Stages;
use crate::run::work::Work;
use crate::schema::Schema;
use crate::verbs::{Operator, Parsed};
use std::sync::Arc;

/// One of several inputs.
pub struct Member {
    /// Its files.
    pub inputs: Inputs,
    /// The chain applied to their records.
    pub chain: Option<OwnChain>,
    /// The demand on the files, and the schema under which they are read; set by inference.
    demand: Demand,
    read: Schema,
    /// The schema of the records, and the schema before they are adapted to the other inputs.
    given: Schema,
    own: Schema,
}

/// The chain of an input.
#[derive(Clone)]
pub struct OwnChain {
    /// The text as typed, in brackets.
    pub text: Arc<str>,
    /// Its verbs.
    pub verbs: Arc<[Box<dyn Parsed>]>,
    /// Their options.
    pub options: Arc<Options>,
}

impl Member {
    /// An input whose schema is not known yet.
    pub fn new(inputs: Inputs, chain: Option<OwnChain>) -> Member {
        Member { inputs, chain, demand: Demand::everything(), read: Schema::default(), given: Schema::default(), own: Schema::default() }
    }

    /// A copy of the input, to be opened again.
    pub fn closed(&self) -> Member {
        Member {
            inputs: self.inputs.closed(),
            chain: self.chain.clone(),
            demand: self.demand.clone(),
            read: self.read.clone(),
            given: self.given.clone(),
            own: self.own.clone(),
        }
    }

    /// The name in messages: the chain, or the first file.
    pub fn name(&self) -> Arc<str> {
        match &self.chain {
            Some(chain) => chain.text.clone(),
            None => self.inputs.iter().next().map_or_else(|| Arc::from(""), |opened| opened.input.name().clone()),
        }
    }

    /// The schema of the records.
    pub fn schema(&self) -> &Schema {
        &self.given
    }

    /// The schema of the records before they are adapted to the other inputs.
    pub fn own_schema(&self) -> &Schema {
        &self.own
    }

    /// Infers the schema of the records.
    ///
    /// # Errors
    /// The input cannot be read, or its chain cannot be bound.
    pub fn infer(&mut self, demand: &Demand, share: Option<u64>, threads: usize) -> Result<Inferred> {
        let Some(chain) = self.chain.clone() else {
            let request = self.inputs.request(demand.clone(), share);
            let found = infer_files(self.inputs.iter_mut(), &request, false, threads)?;
            (self.demand, self.read, self.given) = (demand.clone(), found.schema.clone(), found.schema.clone());
            return Ok(found);
        };
        self.demand = chain.verbs.iter().rev().fold(demand.clone(), |after, verb| verb.demand(after));
        let share = share.map(|share| share.saturating_mul(self.inputs.iter().count() as u64));
        let mut found = infer(&mut self.inputs, &self.demand, share, threads).map_err(|error| chain.located(error))?;
        let bound = match chain.bind(&self.inputs, &found.schema) {
            Err(error) if error.kind() == Kind::Usage => Err(self.better_message(&chain, error, share, threads)),
            bound => bound,
        };
        self.read = found.schema;
        self.given = bound.map_err(|error| chain.located(error))?.schemas.pop().map(|schema| schema.as_ref().clone()).unwrap_or_default();
        self.given.fields.retain(|field| demand.fields.includes(&field.name));
        self.own = self.given.clone();
        found.schema = self.given.clone();
        Ok(found)
    }

    /// If a verb does not find its field, it is bound again to all fields, which "did you mean" needs.
    fn better_message(&mut self, chain: &OwnChain, error: Error, share: Option<u64>, threads: usize) -> Error {
        if self.demand.fields == Wanted::All || (self.inputs.are_regular() && self.inputs.reopen().is_err()) {
            return error;
        }
        // Fields that the chain does not need may clash.
        let Ok(all) = infer(&mut self.inputs, &Demand::everything(), share, threads) else { return error };
        chain.bind(&self.inputs, &all.schema).err().unwrap_or(error)
    }

    /// Sets the schema to which the records are adapted. It must be able to hold them.
    pub fn give(&mut self, demand: &Demand, schema: &Schema) {
        if self.chain.is_none() {
            (self.demand, self.read) = (demand.clone(), schema.clone());
        }
        self.given = schema.clone();
    }

    /// The line of the records. Takes the open inputs.
    ///
    /// # Errors
    /// The chain cannot be bound.
    pub fn line<'a>(&mut self) -> Result<Line<'a, Work>> {
        let origin = self.inputs.origin(Arc::new(self.read.clone()), self.demand.clone())?;
        let skip = self.inputs.options().on_error.skips();
        let to = self.given.plain();
        let Some(chain) = &self.chain else {
            let decode = move |work| decode_and_map(work, &[], &to, skip);
            return Ok(Line { origin, nodes: vec![Node::Parallel(Arc::new(decode))] });
        };
        let bound = chain.bind(&self.inputs, &self.read)?;
        let (Some(first), Some(last)) = (bound.schemas.first(), bound.schemas.last()) else {
            return Err(Error::internal("a chain without a schema"));
        };
        let adapt = Adapt { from: last.plain(), to: to.clone() };
        let mut stages = Stages::new(first.clone());
        for ((operator, verb), schema) in bound.operators.into_iter().zip(bound.names).zip(bound.schemas.iter().skip(1)) {
            match operator {
                Operator::Map(map) => stages.map(verb, map, schema.clone()),
                Operator::Fold(fold) => stages.fold(verb, fold, schema.clone()),
                Operator::Report(_) | Operator::Split(_) => return Err(Error::internal("an input that gives no records")),
            }
        }
        // Placed last, so that chunks deferred by a fold are built on any thread.
        stages.map("unify", Arc::new(adapt), Arc::new(to));
        Ok(Line { origin, nodes: stages.into_nodes(skip) })
    }
}

impl OwnChain {
    fn bind(&self, inputs: &Inputs, schema: &Schema) -> Result<Chain> {
        Chain::of_inputs(inputs, &self.verbs, schema, &self.options)
    }

    /// Adds the chain to the error.
    fn located(&self, error: Error) -> Error {
        if error.kind() == Kind::Internal { error } else { error.help(format!("in {}", self.text)) }
    }
}
