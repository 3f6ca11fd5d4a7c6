//! From an invocation to a run: opens the inputs, finds the schema, binds the verbs from left to right,
//! fuses the steps and hands them to the engine; starts again with a wider schema where that is allowed.

use crate::chunk::Decoded;
use crate::demand::Demand;
use crate::engine::{self, Source};
use crate::error::{Error, Kind, Result};
use crate::formats::{self, Format, Inference, Observed, Reader, Request, Task, Tasks};
use crate::inference::observe;
use crate::io::{self, Input, Layout, Outputs};
use crate::options::{Options, named};
use crate::pipeline::{Encoder, FoldNode, Last, Load, PerRecord, Router, Work, new_writer};
use crate::progress::Progress;
use crate::schema::{Schema, Type, notation, unify};
use crate::segments::Segments;
use crate::sink::{Counts, End, FaultPolicy, Sink};
use crate::tensor::Tensor;
use crate::verbs::{Operator, Parsed, Report, Verdict};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// What was typed, taken apart.
pub struct Invocation {
    pub verbs: Vec<Box<dyn Parsed>>,
    pub files: Vec<String>,
    pub options: Options,
}

/// How much of a regular input an optimistic run looks at before it starts.
const SAMPLE_BYTES: u64 = 4 << 20;

/// Runs a chain of verbs over its inputs.
///
/// # Errors
/// Whatever goes wrong, said once.
pub fn run(invocation: Invocation) -> Result<Verdict> {
    let started = Instant::now();
    prepare(invocation)?.start(started)
}

/// A run that is ready to start.
fn prepare(invocation: Invocation) -> Result<Run> {
    let Invocation { verbs, files, mut options } = invocation;
    options.max_memory.get_or_insert_with(memory_limit);
    if options.on_error == "fail" && verbs.last().is_some_and(|v| v.takes_faults()) {
        options.on_error = "skip".to_owned();
    }
    options.arrays = Arc::new(constant_arrays(&options)?);
    let options = Arc::new(options);
    let threads = match options.threads {
        Some(0) => return Err(Error::usage("--threads 0: expected at least 1")),
        Some(threads) => threads.min(1024),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    FaultPolicy::parse(&options.on_error)?;
    let declared = Arc::new(declared_schema(options.schema.as_deref())?);
    let outputs = Arc::new(Outputs::plan(&options)?);
    let inputs = if options.from.as_deref() == Some("none") { none_input(&files, &options)? } else { io::inputs(&files, &options)? };
    let mut run = Run { verbs, declared, outputs, readers: Vec::new(), options, threads, inputs };
    run.readers = run.inputs.iter().map(|input| run.open(input)).collect::<Result<_>>()?;
    Ok(run)
}

/// The records of some inputs as one stream, for a command that is no chain of verbs.
pub struct Records {
    run: Run,
}

impl Records {
    /// # Errors
    /// As [`run`], before the first record.
    pub fn open(file: &str, options: &Options) -> Result<Records> {
        let run = prepare(Invocation { verbs: Vec::new(), files: vec![file.to_owned()], options: options.clone() })?;
        Ok(Records { run })
    }

    /// The schema of all records; of a pipe, of those that `--infer-bytes` lets it look at.
    ///
    /// # Errors
    /// As inference says it.
    pub fn schema(&mut self) -> Result<Schema> {
        let pipe = !self.run.inputs.iter().all(|i| i.is_regular());
        let sample = pipe.then_some(self.run.options.infer_bytes);
        self.run.inputs.iter().for_each(|i| i.remember(sample.unwrap_or(0)));
        let schema = self.run.infer(&Demand::everything(), sample);
        self.run.inputs.iter().for_each(|i| i.remember(0));
        schema
    }

    /// The records under that schema, some at a time.
    pub fn read(self, schema: Arc<Schema>) -> impl Iterator<Item = Result<Decoded>> {
        let request = self.run.request(Demand::everything(), None);
        self.run.readers.into_iter().flat_map(move |mut opened| -> Box<dyn Iterator<Item = Result<Decoded>>> {
            match opened.reader.read(&schema, &request) {
                Ok(tasks) => Box::new(tasks.map(|task| task.and_then(|task| task()))),
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        })
    }
}

/// The arrays of `--with NAME=FILE`.
fn constant_arrays(options: &Options) -> Result<BTreeMap<String, (Type, Tensor)>> {
    let read = |text: &String| {
        let (name, file) = named(text, "--with", "FILE")?;
        let array = formats::constant(file).map_err(|e| if e.kind() == Kind::Data { e.with_kind(Kind::Usage) } else { e });
        Ok((name.to_owned(), array.map_err(|e| e.help("as --with asks"))?))
    };
    options.with.iter().map(read).collect()
}

/// `--from none` reads nothing: the one record it gives comes from no file.
fn none_input(files: &[String], options: &Options) -> Result<Vec<Arc<Input>>> {
    if let Some(file) = files.first() {
        return Err(Error::usage(format!("--from none reads no file, but {file} is given")));
    }
    let _ = options;
    Ok(vec![Arc::new(Input::none())])
}

/// What `--schema TEXT|@FILE` says.
fn declared_schema(text: Option<&str>) -> Result<Schema> {
    let Some(text) = text else { return Ok(Schema::default()) };
    let Some(file) = text.strip_prefix('@') else {
        return notation::parse(text).map_err(|e| e.in_input("--schema"));
    };
    let text = std::fs::read_to_string(file).map_err(|e| Error::io(file, "reading the schema failed", &e))?;
    notation::parse(&text).map_err(|e| e.in_input(file))
}

/// 75% of what this process may use: the machine's memory, or its control group's.
fn memory_limit() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let total = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|path| read(path)?.trim().parse::<u64>().ok())
        .min();
    let limit = total.into_iter().chain(group).min().unwrap_or(4 << 30);
    limit / 4 * 3
}

/// One reader with the format it is of.
struct Opened {
    format: &'static dyn Format,
    reader: Box<dyn Reader>,
}

/// A run before it has a schema.
struct Run {
    verbs: Vec<Box<dyn Parsed>>,
    declared: Arc<Schema>,
    outputs: Arc<Outputs>,
    inputs: Vec<Arc<Input>>,
    readers: Vec<Opened>,
    options: Arc<Options>,
    threads: usize,
}

/// The verbs bound to a schema: map steps between folds, and a report at the end.
struct Chain {
    /// In front of each verb, and behind the last.
    schemas: Vec<Arc<Schema>>,
    steps: Vec<Operator>,
}

impl Run {
    fn open(&self, input: &Arc<Input>) -> Result<Opened> {
        let format = input_format(input, &self.options)?;
        let reader = format
            .reader(input.clone(), &self.options)
            .unwrap_or_else(|| Err(Error::usage(format!("{} is only written, not read", format.name())).in_input(input.name().clone())))?;
        Ok(Opened { format, reader })
    }

    fn request(&self, demand: Demand, sample_bytes: Option<u64>) -> Request {
        Request {
            wanted: demand.fields,
            records: demand.records,
            sample_bytes,
            declared: self.declared.clone(),
            options: self.options.clone(),
        }
    }

    fn start(mut self, started: Instant) -> Result<Verdict> {
        let last_is_report = self.verbs.last().is_some_and(|v| v.is_report());
        if let Some(verb) = self.verbs[..self.verbs.len().saturating_sub(1)].iter().find(|v| v.is_report()) {
            return Err(Error::usage(format!("{} reports; it can only be the last verb of a chain", verb.name())));
        }
        let needs_records = self.verbs.last().is_none_or(|v| v.needs_records());
        let demand = self.verbs.iter().rev().fold(Demand::everything(), |after, verb| verb.demand(after));
        let regular = self.inputs.iter().all(|i| i.is_regular());
        let retractable = self.outputs.is_retractable() && needs_records;
        let settled = self.declared_covers(&demand);
        let sample = match (regular, needs_records) {
            (_, false) => None,
            (true, true) if retractable || settled => Some(SAMPLE_BYTES),
            (true, true) => None,
            (false, true) => Some(self.options.infer_bytes),
        };
        let output_format = self.output_format(last_is_report)?;
        if needs_records {
            // What the sample takes of a pipe is given again; it ends at a block border, a little later.
            self.inputs.iter().for_each(|i| i.remember(u64::MAX));
        }
        let mut schema = self.infer(&demand, sample)?;
        let mut chain = match self.bind(&schema) {
            Err(error) if error.kind() == Kind::Usage && regular => return Err(self.better_message(error, &demand)),
            bound => bound?,
        };
        if self.options.dry_run {
            return self.print_plan(&chain);
        }
        if last_is_report && !needs_records {
            return self.report_on_schema(chain);
        }
        self.inputs.iter().for_each(|i| i.remember(0));
        let total = self.inputs.iter().map(|i| i.nbytes()).sum::<Option<u64>>();
        let progress = Progress::start(total, &self.options.progress, self.options.quiet)
            .counting(self.inputs.iter().map(|input| input.consumed().clone()).collect());
        let mut widened = false;
        loop {
            match self.execute(&schema, chain, &demand, output_format, &progress) {
                Err(error) if error.kind() == Kind::Widened && retractable && regular && !widened => {
                    widened = true;
                    self.outputs.restart()?;
                    self.readers = self.inputs.iter().map(|input| self.open(input)).collect::<Result<_>>()?;
                    schema = self.infer(&demand, None)?;
                    chain = self.bind(&schema)?;
                }
                result => {
                    progress.finish();
                    let (verdict, counts) = result?;
                    return self.conclude(verdict, counts, &progress, started);
                }
            }
        }
    }

    /// Whether `--schema` names everything that is wanted, so that nothing is inferred.
    fn declared_covers(&self, demand: &Demand) -> bool {
        match &demand.fields {
            crate::demand::Wanted::All => false,
            crate::demand::Wanted::Matching(patterns) => patterns.iter().all(|p| !p.contains('*') && self.declared.index_of(p).is_some()),
        }
    }

    /// The schema of all inputs together.
    fn infer(&mut self, demand: &Demand, sample_bytes: Option<u64>) -> Result<Schema> {
        let share = sample_bytes.map(|n| n / self.readers.len().max(1) as u64).map(|n| n.max(64 << 10));
        let request = self.request(demand.clone(), share);
        let mut scans: Vec<(&'static str, Tasks<Box<dyn Observed>>)> = Vec::new();
        let mut found: Option<Schema> = None;
        for (opened, input) in self.readers.iter_mut().zip(&self.inputs) {
            match opened.reader.infer(&request)? {
                Inference::Known(schema) => found = Some(unified(found, schema).map_err(|e| e.in_input(input.name().clone()))?),
                Inference::Scan(tasks) => match scans.iter_mut().find(|(name, _)| *name == opened.format.name()) {
                    Some((_, all)) => {
                        let before = std::mem::replace(all, Box::new(std::iter::empty()));
                        *all = Box::new(before.chain(tasks));
                    }
                    None => scans.push((opened.format.name(), tasks)),
                },
            }
        }
        for (_, tasks) in scans {
            if let Some(observed) = observe(tasks, self.threads)? {
                found = Some(unified(found, observed.schema(&request)?)?);
            }
        }
        let schema = unify::overlay(&self.declared, &found.unwrap_or_default());
        Ok(Schema::new(schema.fields.into_iter().filter(|f| demand.fields.includes(&f.name)).collect()))
    }

    fn bind(&self, schema: &Schema) -> Result<Chain> {
        let mut chain = Chain { schemas: vec![Arc::new(schema.plain())], steps: Vec::new() };
        for verb in &self.verbs {
            let before = chain.schemas.last().cloned().unwrap_or_default();
            let bound = verb.bind(&before, &self.options).map_err(|e| name_verb(e, verb.name(), self.verbs.len()))?;
            if matches!(bound.operator, Operator::Report(_)) != verb.is_report() {
                return Err(Error::internal(format!("{} does not say whether it reports", verb.name())));
            }
            chain.schemas.push(bound.schema);
            chain.steps.push(bound.operator);
        }
        Ok(chain)
    }

    /// A verb that does not find its field is asked again with all fields at hand: "did you mean" needs them.
    fn better_message(&mut self, error: Error, demand: &Demand) -> Error {
        if demand.fields == crate::demand::Wanted::All {
            return error;
        }
        let Ok(readers) = self.inputs.iter().map(|input| self.open(input)).collect::<Result<_>>() else { return error };
        self.readers = readers;
        let everything = Demand { fields: crate::demand::Wanted::All, records: demand.records };
        match self.infer(&everything, Some(SAMPLE_BYTES)).and_then(|schema| self.bind(&schema)) {
            Err(better) => better,
            Ok(_) => error,
        }
    }

    fn output_format(&self, report: bool) -> Result<Option<&'static dyn Format>> {
        if report {
            return Ok(None);
        }
        if let Some(name) = &self.options.to {
            return named_format(name, "--to").map(Some);
        }
        let Some(extension) = self.outputs.extension() else {
            return named_format("jsonl", "--to").map(Some);
        };
        match formats::FORMATS.iter().find(|f| f.extensions().contains(&extension)) {
            Some(format) => Ok(Some(*format)),
            None => Err(Error::usage(format!("the output's extension .{extension} names no format"))
                .help(format!("give one with --to: {}", format_names(|f| f.name() != "none")))),
        }
    }

    /// One whole run with a schema that is hoped to hold.
    fn execute(
        &mut self,
        schema: &Schema,
        chain: Chain,
        demand: &Demand,
        format: Option<&'static dyn Format>,
        progress: &Progress,
    ) -> Result<(Verdict, Counts)> {
        let (skip, quarantine) = FaultPolicy::parse(&self.options.on_error)?;
        let quarantine = quarantine.map(io::create_file).transpose()?;
        let full = Arc::new(schema.clone());
        let request = self.request(demand.clone(), None);
        let input_schema = chain.schemas[0].clone();
        let output_schema = chain.schemas.last().cloned().unwrap_or_default();

        let mut segments = Segments::new(input_schema);
        let mut report = None;
        for (step, schema) in chain.steps.into_iter().zip(chain.schemas.iter().skip(1)) {
            match step {
                Operator::Map(map) => segments.map(map, schema.clone()),
                Operator::Fold(fold) => segments.fold(FoldNode::new(fold, schema.clone()), schema.clone()),
                Operator::Report(r) => report = Some(r),
            }
        }
        let takes_faults = report.as_ref().is_some_and(|r| r.takes_faults());
        let end = match (report, format) {
            (Some(report), _) => {
                if let Some(digest) = report.digest() {
                    segments.last(Last::Digest(digest));
                }
                self.report_end(report)?
            }
            (None, Some(format)) => self.writers_end(format, &output_schema, &mut segments, skip)?,
            (None, None) => return Err(Error::usage("there is nothing to write")),
        };
        let mut sink = Sink {
            end,
            policy: FaultPolicy { skip: skip || takes_faults, max_errors: self.options.max_errors, quarantine },
            counts: Counts::default(),
            progress,
            error: None,
        };
        let skip = sink.policy.skip;
        let source = source(&mut self.readers, full, request);
        let nodes = segments.into_nodes(skip, &mut sink);
        engine::run(source, nodes, self.threads).map_err(|panic| Error::internal(format!("{panic}")))?;
        if let Some(error) = sink.error {
            return Err(error);
        }
        let verdict = match sink.end {
            End::Report { verdict, .. } => verdict,
            End::Writers(_) => Verdict::Good,
        };
        Ok((verdict, sink.counts))
    }

    fn report_end(&self, report: Box<dyn Report>) -> Result<End> {
        Ok(End::Report { report, out: self.outputs.create(0)?, verdict: Verdict::Good })
    }

    /// `skip`: map steps may leave records out.
    fn writers_end(&self, format: &'static dyn Format, schema: &Arc<Schema>, segments: &mut Segments, skip: bool) -> Result<End> {
        if format.needs_file() && self.outputs.is_stdout() {
            let name = format.name();
            return Err(Error::usage(format!("{name} is not written to standard output: its arrays are only put together at the end"))
                .help(format!("name a file: -o out.{name}")));
        }
        if !format.is_text() {
            self.outputs.refuse_terminal(format.name())?;
        }
        let layout = self.outputs.layout();
        let mut writers = vec![new_writer(format, schema, &self.options, layout)?];
        if let Some(router) = Router::new(layout, writers[0].grouping()) {
            segments.router(router, layout == Layout::PerRecord && !skip);
        }
        let per_record = (layout == Layout::PerRecord).then(|| PerRecord {
            format,
            schema: schema.clone(),
            options: self.options.clone(),
            outputs: self.outputs.clone(),
        });
        segments.last(Last::Encode(Encoder { encode: writers[0].encoder(), per_record }));
        match layout {
            Layout::PerRecord => writers.clear(),
            Layout::Single => {}
            Layout::Shards(n) => {
                while writers.len() < n {
                    writers.push(new_writer(format, schema, &self.options, layout)?);
                }
            }
        }
        for (index, writer) in writers.iter_mut().enumerate() {
            writer.begin(self.outputs.create(index as u64)?)?;
        }
        Ok(End::Writers(writers))
    }

    /// A report that looks at the schema alone.
    fn report_on_schema(&self, mut chain: Chain) -> Result<Verdict> {
        let Some(Operator::Report(mut report)) = chain.steps.pop() else {
            return Err(Error::usage("there is nothing to report on"));
        };
        let mut out = self.outputs.create(0)?;
        let verdict = report.finish(out.as_mut())?;
        out.flush().map_err(|e| Error::io("the output", "writing failed", &e))?;
        drop(out);
        self.outputs.commit()?;
        self.show_notices(&Progress::start(None, "never", self.options.quiet));
        Ok(verdict)
    }

    fn show_notices(&self, progress: &Progress) {
        for notice in self.options.notices.take() {
            progress.notice(&format!("note: {notice}"));
        }
    }

    /// `--dry-run`.
    fn print_plan(&self, chain: &Chain) -> Result<Verdict> {
        let mut text = String::new();
        for (input, opened) in self.inputs.iter().zip(&self.readers) {
            text += &format!("input   {} ({})\n", input.name(), opened.format.name());
        }
        let mut stage = |title: &str, schema: &Schema| {
            text += &format!("{title}\n");
            for line in notation::lines(schema).lines() {
                text += &format!("    {line}\n");
            }
        };
        stage("schema in", &chain.schemas[0]);
        for (verb, schema) in self.verbs.iter().zip(chain.schemas.iter().skip(1)) {
            stage(&format!("after {}", verb.name()), schema);
        }
        let report = self.verbs.last().is_some_and(|v| v.is_report());
        let format = self.output_format(report)?.map_or("a report", |f| f.name());
        text += &format!("output  {} ({format})\n", self.options.output.as_deref().unwrap_or("standard output"));
        let out = Outputs::plan(&Options::default())?;
        let mut stdout = out.create(0)?;
        stdout.write_all(text.as_bytes()).map_err(|e| Error::io("standard output", "writing failed", &e))?;
        drop(stdout);
        out.commit()?;
        Ok(Verdict::Good)
    }

    /// Puts the outputs under their names, shows notices, writes the summary.
    fn conclude(&self, verdict: Verdict, counts: Counts, progress: &Progress, started: Instant) -> Result<Verdict> {
        self.outputs.commit()?;
        self.show_notices(progress);
        if let Some(path) = &self.options.summary {
            let summary = serde_json::json!({
                "records_in": counts.records_in,
                "records_out": counts.records_out,
                "skipped": counts.skipped,
                "bytes_lost": counts.bytes_lost,
                "seconds": started.elapsed().as_secs_f64(),
            });
            std::fs::write(path, format!("{summary}\n"))
                .map_err(|e| Error::io(&path.to_string_lossy(), "writing the summary failed", &e))?;
        }
        if counts.skipped == 0 {
            return Ok(verdict);
        }
        let (records, lost) = (counts.skipped, counts.bytes_lost);
        let plural = if records == 1 { "record was" } else { "records were" };
        progress.notice(&format!("note: {records} bad {plural} left out ({lost} bytes)"));
        Ok(if self.options.max_errors.is_some() { verdict } else { Verdict::Bad })
    }
}

/// The blocks of all inputs, one after the other; each input is opened when it is its turn.
fn source<'a>(readers: &'a mut [Opened], schema: Arc<Schema>, request: Request) -> Source<'a, Work> {
    let mut readers = readers.iter_mut();
    let mut current: Option<Tasks<Decoded>> = None;
    let mut over = false;
    Box::new(move || {
        while !over {
            if let Some(tasks) = &mut current
                && let Some(task) = tasks.next()
            {
                return Some(task.map_or_else(
                    |error| {
                        over = true;
                        Work::failed(error)
                    },
                    |task: Task<Decoded>| Work { load: Load::Block(task), ..Work::default() },
                ));
            }
            let opened = readers.next()?;
            match opened.reader.read(&schema, &request) {
                Ok(tasks) => current = Some(tasks),
                Err(error) => {
                    over = true;
                    return Some(Work::failed(error));
                }
            }
        }
        None
    })
}

fn unified(found: Option<Schema>, schema: Schema) -> Result<Schema> {
    match found {
        Some(found) => unify::unify(&found, &schema)
            .map_err(|e| e.help("make the types agree first: drop, rename or cast the field in one of the inputs")),
        None => Ok(schema),
    }
}

fn named_format(name: &str, option: &str) -> Result<&'static dyn Format> {
    formats::find(name).ok_or_else(|| {
        let error = Error::usage(format!("{option} {name}: there is no such format"));
        match crate::error::nearest(name, formats::FORMATS.iter().map(|f| f.name())) {
            Some(near) => error.help(format!("did you mean {near}?")),
            None => error.help(format!("the formats are: {}", format_names(|_| true))),
        }
    })
}

fn format_names(which: impl Fn(&dyn Format) -> bool) -> String {
    formats::FORMATS.iter().filter(|f| which(**f)).map(|f| f.name()).collect::<Vec<_>>().join(", ")
}

/// `--from`, else the first bytes, else the extension.
fn input_format(input: &Input, options: &Options) -> Result<&'static dyn Format> {
    if let Some(name) = &options.from {
        return named_format(name, "--from");
    }
    if let Some(format) = formats::FORMATS.iter().find(|f| f.sniff(input.head())) {
        return Ok(*format);
    }
    let by_extension = |extension| formats::FORMATS.iter().find(|f| f.extensions().contains(&extension));
    match input.extension().and_then(by_extension) {
        Some(format) => Ok(*format),
        None => Err(input.unrecognised(&format_names(|f| f.name() != "none"))),
    }
}

fn name_verb(error: Error, verb: &str, verbs: usize) -> Error {
    if verbs > 1 && error.location().input.is_none() { error.in_input(verb) } else { error }
}
