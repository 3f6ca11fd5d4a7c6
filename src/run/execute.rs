//! One pass over the inputs with an assumed schema: turns a bound chain into nodes of the engine.

use super::chain::Chain;
use super::encode::{Encoder, Last, PerRecord, new_writer};
use super::engine;
use super::inputs::Inputs;
use super::progress::Progress;
use super::router::{Parting, Router};
use super::sink::{Counts, End, FaultPolicy, Sink};
use super::stages::Stages;
use super::times::Times;
use super::values::Values;
use crate::demand::Demand;
use crate::error::{Error, Reason, Result};
use crate::formats::Format;
use crate::io::{self, Distribution, Outputs, ReadFile};
use crate::options::{OnError, Options};
use crate::schema::{DType, Field, Schema, Type};
use crate::verbs::{Operator, Report, Route, Verdict};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// The parts of a run that stay the same if the inputs are read again under a wider schema.
pub struct Execution<'a> {
    /// The output files; empty for a baseline report.
    pub outputs: &'a [Arc<Outputs>],
    /// The options of the run.
    pub options: &'a Arc<Options>,
    /// The fields and records that the chain needs.
    pub demand: &'a Demand,
    /// `None` if the last verb is a report.
    pub format: Option<&'static dyn Format>,
    /// The progress bar.
    pub progress: &'a Progress,
    /// Whether there is an output for each value of a key.
    pub of_values: bool,
    /// The files that are read, which must not be replaced.
    pub read: &'a [ReadFile],
}

/// The result of a pass.
pub struct Done {
    /// The verdict of the report.
    pub verdict: Verdict,
    /// The finished report.
    pub report: Option<Box<dyn Report>>,
    /// Counts of records and bytes.
    pub counts: Counts,
    /// The errors of the first bad records.
    pub first_faults: Vec<Error>,
    /// The per-value outputs, if any.
    pub outputs: Option<Vec<Arc<Outputs>>>,
    /// Record counts by file number; empty if each record is a separate file.
    pub records: BTreeMap<u64, u64>,
    /// Time spent in each stage.
    pub times: Times,
}

/// A chain as stages, with what its last verb does.
struct Staged {
    stages: Stages,
    /// The report and its verb.
    report: Option<(&'static str, Box<dyn Report>)>,
    /// How the records are distributed over the outputs.
    parting: Option<Parting>,
}

fn staged(chain: Chain) -> Staged {
    let mut stages = Stages::new(chain.schemas[0].clone());
    let (mut report, mut parting) = (None, None);
    for ((operator, verb), schema) in chain.operators.into_iter().zip(chain.names).zip(chain.schemas.iter().skip(1)) {
        match operator {
            Operator::Map(map) => stages.map(verb, map, schema.clone()),
            Operator::Fold(fold) => stages.fold(verb, fold, schema.clone()),
            Operator::Report(r) => report = Some((verb, r)),
            Operator::Split(Route::Numbered(part)) => parting = Some(Parting::Numbered(part)),
            Operator::Split(Route::Values { names, key }) => {
                stages.map(verb, names, Arc::new(with_part(schema, DType::String)));
                parting = Some(Parting::Values(key));
            }
            Operator::Split(Route::Mapped(map)) => {
                stages.map(verb, map, Arc::new(with_part(schema, DType::Int64)));
                parting = Some(Parting::LastColumn);
            }
            Operator::Split(Route::Folded(fold)) => {
                let schema = Arc::new(with_part(schema, DType::Int64));
                stages.fold(verb, fold, schema);
                parting = Some(Parting::LastColumn);
            }
        }
    }
    Staged { stages, report, parting }
}

impl Execution<'_> {
    /// Reads, processes and writes everything.
    ///
    /// # Errors
    /// The first error in record order, or `Kind::Widened` if a record does not fit the schema.
    pub fn run(&self, inputs: &mut Inputs, schema: Schema, chain: Chain) -> Result<Done> {
        let skip = self.options.on_error.skips();
        let quarantine = match &self.options.on_error {
            OnError::Quarantine(file) => Some((file.display().to_string(), io::create_file(file)?)),
            _ => None,
        };
        let output_schema = chain.schemas.last().cloned().unwrap_or_default();

        let Staged { mut stages, report, parting } = staged(chain);
        let mut unwritable = None;
        let takes_faults = report.as_ref().is_some_and(|(_, report)| report.takes_faults());
        let end = match (report, self.format) {
            (Some((verb, report)), _) => self.report_end(verb, report, &mut stages)?,
            (None, Some(format)) => match self.writers_end(format, &output_schema, &mut stages, skip, parting) {
                // All records may be bad: they are written to the quarantine file first.
                Err(error) if error.reason() == Some(&Reason::NoFields) && quarantine.is_some() => {
                    unwritable = Some(error);
                    End::Writers(Vec::new())
                }
                end => end?,
            },
            (None, None) => return Err(Error::internal("there is neither a report nor a format to write")),
        };
        let values = self.format.filter(|_| self.of_values).map(|format| Values {
            format,
            schema: output_schema,
            options: self.options,
            read: self.read,
            progress: self.progress,
            outputs: Vec::new(),
        });
        let mut sink = Sink {
            end,
            values,
            policy: FaultPolicy {
                skip: skip || takes_faults,
                max_errors: self.options.max_errors,
                bad_before: self.options.bad_before,
                quarantine,
            },
            counts: Counts::default(),
            records: BTreeMap::new(),
            first_faults: Vec::new(),
            progress: self.progress,
            error: None,
        };
        let skip = sink.policy.skip;
        let origin = inputs.origin(Arc::new(schema), self.demand.clone())?;
        let outline = stages.outline();
        let nodes = stages.into_nodes_to(skip, &mut sink);
        let measured = engine::run(engine::Line { origin, nodes }, self.options.threads)?;
        if let Some(error) = sink.error.or(unwritable) {
            return Err(error);
        }
        let (verdict, report) = match sink.end {
            End::Report { verdict, report, .. } => (verdict, Some(report)),
            End::Writers(_) => (Verdict::Good, None),
        };
        let read = inputs.format_name().map_or_else(|| "read".to_owned(), |name| format!("read {name}"));
        let write = self.format.map_or_else(|| "report".to_owned(), |format| format!("write {}", format.name()));
        let times = Times::new(read, outline, write, &measured);
        let outputs = sink.values.map(|values| values.outputs);
        let is_per_record = self.outputs.iter().any(|output| output.distribution() == Distribution::PerRecord);
        if outputs.as_ref().is_some_and(Vec::is_empty) || (is_per_record && sink.counts.records_out == 0) {
            self.options.notices.add("there are no records, so no file is written".to_owned(), false)?;
        }
        Ok(Done { verdict, report, outputs, counts: sink.counts, first_faults: sink.first_faults, records: sink.records, times })
    }

    fn report_end(&self, verb: &'static str, report: Box<dyn Report>, stages: &mut Stages) -> Result<End> {
        if let Some((fold, schema)) = report.collector() {
            stages.fold("collect", fold, schema);
        }
        if let Some(digest) = report.digest() {
            stages.last(verb, Last::Digest(digest));
        }
        let out: Box<dyn Write + Send> = match self.outputs {
            // Only the result is needed.
            [] => Box::new(std::io::sink()),
            [output] => self.progress.counted(output.create_report()?),
            _ => return Err(Error::internal("a report has one output")),
        };
        Ok(End::Report { report, out, verdict: Verdict::Good })
    }

    /// `skip`: map verbs may skip records.
    fn writers_end(
        &self,
        format: &'static dyn Format,
        schema: &Arc<Schema>,
        stages: &mut Stages,
        skip: bool,
        parting: Option<Parting>,
    ) -> Result<End> {
        for output in self.outputs {
            if format.needs_file() && output.is_stdout() {
                let name = format.name();
                return Err(Error::usage(format!(
                    "{name} cannot be written to standard output: {}",
                    if format.pair().is_some() { "it consists of two files" } else { "its arrays are assembled only at the end" }
                ))
                .help(match format.extensions().first() {
                    Some(extension) => format!("specify a file: -o out.{extension}"),
                    None => format!("specify a file: --to {name} -o FILE"),
                }));
            }
            if format.is_text() {
                output.escape_on_terminal();
            } else {
                output.refuse_terminal(format.name())?;
            }
        }
        let distribution = self.distribution(parting.is_some())?;
        let mut writers = vec![new_writer(format, schema, self.options, distribution)?];
        let grouping = writers[0].grouping();
        let router = match parting {
            Some(Parting::Values(key)) => Some(Router::of_values(key, grouping)),
            Some(parting) => Some(Router::of_parts(parting, self.outputs.iter().map(|output| output.nfiles()).collect(), grouping)),
            None => Router::new(distribution, grouping),
        };
        if let Some(router) = router {
            stages.router(router, distribution == Distribution::PerRecord && !skip);
        }
        let per_record = (distribution == Distribution::PerRecord).then(|| PerRecord {
            format,
            schema: schema.clone(),
            options: self.options.clone(),
            outputs: self.outputs[0].clone(),
        });
        stages.last("encode", Last::Encode(Encoder { encode: writers[0].encoder(), per_record }));
        if distribution == Distribution::PerRecord {
            return Ok(End::Writers(Vec::new()));
        }
        if self.of_values {
            // Each output is opened with its first record.
            return Ok(End::Writers(Vec::new()));
        }
        let files: Vec<(&Arc<Outputs>, u64)> =
            self.outputs.iter().flat_map(|output| (0..output.nfiles()).map(move |i| (output, i))).collect();
        while writers.len() < files.len() {
            writers.push(new_writer(format, schema, self.options, distribution)?);
        }
        for (writer, (output, index)) in writers.iter_mut().zip(files) {
            writer.begin(self.progress.counted(output.create(index)?))?;
            if let Some(second) = output.create_second(index)? {
                writer.begin_second(self.progress.counted(second))?;
            }
        }
        Ok(End::Writers(writers))
    }

    /// The distribution of the output. Multiple outputs have a single file or set of shards each.
    fn distribution(&self, is_split: bool) -> Result<Distribution> {
        match self.outputs {
            [output] if !is_split => Ok(output.distribution()),
            outputs => match outputs.iter().find(|output| output.distribution() == Distribution::PerRecord) {
                Some(output) => Err(Error::usage("split writes a file or shards for each part, not a file for each record")
                    .in_input(output.name().clone())
                    .help("write the part first, then its records: tatter convert PART -o 'part-#####.jsonl'")),
                None => Ok(Distribution::Single),
            },
        }
    }
}

/// The schema with the column that a split adds.
fn with_part(schema: &Schema, dtype: DType) -> Schema {
    let mut fields = schema.fields.clone();
    fields.push(Field::new(String::new(), Type::tensor(dtype, Vec::new())));
    Schema::new(fields)
}
