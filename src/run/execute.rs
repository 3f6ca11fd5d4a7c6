//! One pass over the inputs with a schema that is expected to hold: a bound chain becomes nodes of the engine.

use super::chain::Chain;
use super::encode::{Encoder, Last, PerRecord, new_writer};
use super::engine;
use super::fold::FoldNode;
use super::inputs::Inputs;
use super::progress::Progress;
use super::router::Router;
use super::sink::{Counts, End, FaultPolicy, Sink};
use super::stages::Stages;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::formats::Format;
use crate::io::{self, Distribution, Outputs};
use crate::options::{OnError, Options};
use crate::schema::Schema;
use crate::verbs::{Operator, Report, Verdict};
use std::sync::Arc;

/// What stays the same if the inputs have to be read again under a wider schema.
pub struct Execution<'a> {
    /// The output files.
    pub outputs: &'a Arc<Outputs>,
    /// The options of the run.
    pub options: &'a Arc<Options>,
    /// The fields and records that the chain needs.
    pub demand: &'a Demand,
    /// `None` where the last verb reports.
    pub format: Option<&'static dyn Format>,
    /// The progress bar.
    pub progress: &'a Progress,
}

impl Execution<'_> {
    /// Reads, runs and writes everything.
    ///
    /// # Errors
    /// The first error in the order of the records; `Kind::Widened` where a record does not fit the schema.
    pub fn run(&self, inputs: &mut Inputs, schema: Schema, chain: Chain) -> Result<(Verdict, Counts, Vec<Error>)> {
        let skip = self.options.on_error.skips();
        let quarantine = match &self.options.on_error {
            OnError::Quarantine(file) => Some(io::create_file(file)?),
            _ => None,
        };
        let input_schema = chain.schemas[0].clone();
        let output_schema = chain.schemas.last().cloned().unwrap_or_default();

        let mut stages = Stages::new(input_schema);
        let mut report = None;
        for (operator, schema) in chain.operators.into_iter().zip(chain.schemas.iter().skip(1)) {
            match operator {
                Operator::Map(map) => stages.map(map, schema.clone()),
                Operator::Fold(fold) => stages.fold(FoldNode::new(fold, schema.clone()), schema.clone()),
                Operator::Report(r) => report = Some(r),
            }
        }
        let takes_faults = report.as_ref().is_some_and(|r| r.takes_faults());
        let end = match (report, self.format) {
            (Some(report), _) => self.report_end(report, &mut stages)?,
            (None, Some(format)) => self.writers_end(format, &output_schema, &mut stages, skip)?,
            (None, None) => return Err(Error::internal("there is neither a report nor a format to write")),
        };
        let mut sink = Sink {
            end,
            policy: FaultPolicy { skip: skip || takes_faults, max_errors: self.options.max_errors, quarantine },
            counts: Counts::default(),
            first_faults: Vec::new(),
            progress: self.progress,
            error: None,
        };
        let skip = sink.policy.skip;
        let source = inputs.source(Arc::new(schema), self.demand.clone());
        let nodes = stages.into_nodes(skip, &mut sink);
        engine::run(source, nodes, self.options.threads)?;
        if let Some(error) = sink.error {
            return Err(error);
        }
        let verdict = match sink.end {
            End::Report { verdict, .. } => verdict,
            End::Writers(_) => Verdict::Good,
        };
        Ok((verdict, sink.counts, sink.first_faults))
    }

    fn report_end(&self, report: Box<dyn Report>, stages: &mut Stages) -> Result<End> {
        if let Some(digest) = report.digest() {
            stages.last(Last::Digest(digest));
        }
        Ok(End::Report { report, out: self.progress.counted(self.outputs.create(0)?), verdict: Verdict::Good })
    }

    /// `skip`: map verbs may leave records out.
    fn writers_end(&self, format: &'static dyn Format, schema: &Arc<Schema>, stages: &mut Stages, skip: bool) -> Result<End> {
        if format.needs_file() && self.outputs.is_stdout() {
            let name = format.name();
            return Err(Error::usage(format!("{name} cannot be written to standard output: its arrays are assembled at the end"))
                .help(format!("name a file: -o out.{name}")));
        }
        if !format.is_text() {
            self.outputs.refuse_terminal(format.name())?;
        }
        let distribution = self.outputs.distribution();
        let mut writers = vec![new_writer(format, schema, self.options, distribution)?];
        if let Some(router) = Router::new(distribution, writers[0].grouping()) {
            stages.router(router, distribution == Distribution::PerRecord && !skip);
        }
        let per_record = (distribution == Distribution::PerRecord).then(|| PerRecord {
            format,
            schema: schema.clone(),
            options: self.options.clone(),
            outputs: self.outputs.clone(),
        });
        stages.last(Last::Encode(Encoder { encode: writers[0].encoder(), per_record }));
        match distribution {
            Distribution::PerRecord => writers.clear(),
            Distribution::Single => {}
            Distribution::Shards(n) => {
                while writers.len() < n {
                    writers.push(new_writer(format, schema, self.options, distribution)?);
                }
            }
        }
        for (index, writer) in writers.iter_mut().enumerate() {
            writer.begin(self.progress.counted(self.outputs.create(index as u64)?))?;
        }
        Ok(End::Writers(writers))
    }
}
