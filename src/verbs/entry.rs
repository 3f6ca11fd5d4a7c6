//! The registry: verbs of any type as rows of one table ([`super::VERBS`]).

use super::combine::Combined;
use super::verb::{ArgumentUnless, Bound, Example, OutputPart, Verb};
use crate::demand::{Demand, RecordNumbers};
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use crate::schema::facts::Facts;
use std::ffi::OsString;
use std::sync::Arc;

/// Groups of verbs in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Convert and inspect files.
    Inspect,
    /// Select and order records.
    Records,
    /// Combine several inputs.
    Inputs,
    /// Select, compute and retype fields.
    Fields,
    /// Group and ungroup records.
    Batches,
    /// Change the form of tensors.
    Tensors,
}

impl Group {
    /// All groups, in help order.
    pub const ALL: [Group; 6] = [Group::Inspect, Group::Records, Group::Inputs, Group::Fields, Group::Batches, Group::Tensors];

    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Inspect => "Convert and inspect",
            Group::Records => "Records",
            Group::Inputs => "Several inputs",
            Group::Fields => "Fields",
            Group::Batches => "Batches",
            Group::Tensors => "Tensors",
        }
    }
}

/// A type-erased verb: a row of the registry.
pub struct Entry {
    /// The group it is listed in.
    pub group: Group,
    /// See [`Verb::NAME`].
    pub name: &'static str,
    /// See [`Verb::SUMMARY`].
    pub summary: &'static str,
    /// See [`Verb::ABOUT`].
    pub about: &'static str,
    /// See [`Verb::MEANING`].
    pub meaning: &'static str,
    /// See [`Verb::EXAMPLES`].
    pub examples: &'static [Example],
    /// See [`Verb::OPTIONAL_ARGUMENT`].
    pub optional_argument: bool,
    /// See [`Verb::ARGUMENT_UNLESS`].
    pub argument_unless: Option<ArgumentUnless>,
    /// See [`Verb::COMBINES`].
    pub combines: bool,
    augment: fn(clap::Command) -> clap::Command,
    parse: fn(&clap::ArgMatches) -> Result<Box<dyn Parsed>, clap::Error>,
}

/// A verb with parsed arguments, not yet bound to a schema: the methods of [`Verb`], whatever its type.
pub trait Parsed: Send + Sync {
    /// See [`Verb::NAME`].
    fn name(&self) -> &'static str;
    /// See [`Verb::reports`].
    fn is_report(&self) -> bool;
    /// See [`Verb::TAKES_FAULTS`].
    fn takes_faults(&self) -> bool;
    /// See [`Verb::NEEDS_RECORDS`].
    fn needs_records(&self) -> bool;
    /// See [`Verb::drops`].
    fn drops(&self) -> Vec<String>;
    /// See [`Verb::bind`].
    ///
    /// # Errors
    /// See [`Verb::bind`].
    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound>;
    /// See [`Verb::COMBINES`].
    fn combines(&self) -> bool;
    /// See [`Verb::COMPUTES`].
    fn computes(&self) -> bool;
    /// See [`Verb::combine`].
    ///
    /// # Errors
    /// See [`Verb::combine`].
    fn combine(&self, files: Vec<OsString>, options: &Options) -> Result<Option<Combined>>;
    /// See [`Verb::facts`].
    fn facts(&self, facts: Facts) -> Facts;
    /// See [`Verb::tables`].
    fn tables(&self) -> Vec<(OsString, Vec<String>)>;
    /// See [`Verb::baseline`].
    fn baseline(&self) -> Option<OsString>;
    /// See [`Verb::numbers`].
    ///
    /// # Errors
    /// See [`Verb::numbers`].
    fn numbers(&self) -> Result<Option<RecordNumbers>>;
    /// See [`Verb::draw`].
    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>>;
    /// See [`Verb::parts`].
    ///
    /// # Errors
    /// See [`Verb::parts`].
    fn parts(&self) -> Result<Option<Vec<OutputPart>>>;
    /// See [`Verb::demand`].
    fn demand(&self, after: Demand) -> Demand;
}

struct Typed<V>(V);

impl<V: Verb> Parsed for Typed<V> {
    fn name(&self) -> &'static str {
        V::NAME
    }
    fn is_report(&self) -> bool {
        self.0.reports()
    }
    fn takes_faults(&self) -> bool {
        V::TAKES_FAULTS
    }
    fn needs_records(&self) -> bool {
        V::NEEDS_RECORDS
    }
    fn drops(&self) -> Vec<String> {
        self.0.drops()
    }
    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        self.0.bind(schema, options)
    }
    fn combines(&self) -> bool {
        V::COMBINES
    }
    fn computes(&self) -> bool {
        V::COMPUTES
    }
    fn combine(&self, files: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        self.0.combine(files, options)
    }
    fn facts(&self, facts: Facts) -> Facts {
        self.0.facts(facts)
    }
    fn tables(&self) -> Vec<(OsString, Vec<String>)> {
        self.0.tables()
    }
    fn baseline(&self) -> Option<OsString> {
        self.0.baseline()
    }
    fn numbers(&self) -> Result<Option<RecordNumbers>> {
        self.0.numbers()
    }
    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>> {
        self.0.draw(nrecords, options)
    }
    fn parts(&self) -> Result<Option<Vec<OutputPart>>> {
        self.0.parts()
    }
    fn demand(&self, after: Demand) -> Demand {
        self.0.demand(after)
    }
}

/// A verb with these arguments.
pub fn boxed<V: Verb>(verb: V) -> Box<dyn Parsed> {
    Box::new(Typed(verb))
}

/// The registry row of a verb.
pub const fn entry<V: Verb>(group: Group) -> Entry {
    Entry {
        group,
        name: V::NAME,
        summary: V::SUMMARY,
        about: V::ABOUT,
        meaning: V::MEANING,
        examples: V::EXAMPLES,
        optional_argument: V::OPTIONAL_ARGUMENT,
        argument_unless: V::ARGUMENT_UNLESS,
        combines: V::COMBINES,
        augment: V::augment_args,
        parse: |matches| V::from_arg_matches(matches).map(boxed),
    }
}

impl Entry {
    /// The clap command of the verb, with its options and positional arguments.
    pub fn command(&self) -> clap::Command {
        (self.augment)(clap::Command::new(self.name).about(self.summary))
    }

    /// Builds the verb from the parsed arguments.
    ///
    /// # Errors
    /// Errors of clap.
    pub fn parse(&self, matches: &clap::ArgMatches) -> Result<Box<dyn Parsed>, clap::Error> {
        (self.parse)(matches)
    }
}
