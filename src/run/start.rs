//! Runs a parsed command line: opens the inputs, infers the schema, binds the verbs and executes the chain; repeats
//! this with a wider schema where allowed.

use super::baseline::with_baseline;
use super::beside::{self, Beside};
use super::branch::Branches;
use super::chain::{Chain, read_less, reads_less};
use super::combine::open_chain;
use super::conclude::{Ended, conclude, refuse_counts, show_notices};
use super::drawn;
use super::encode::new_writer;
use super::execute::{Done, Execution};
use super::explain::{describe, explain};
use super::format;
use super::inference::{infer, of_a_pipe};
use super::inputs::Inputs;
use super::manifest::Manifest;
use super::progress::Progress;
use super::setup::setup;
use super::several::Inferred;
use super::tables::with_tables;
use super::targets::{self, Targets};
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Kind, Reason, Result};
use crate::io::{self, Outputs, ReadFile};
use crate::options::{OnError, Options};
use crate::printable::shell_word;
use crate::schema::Schema;
use crate::verbs::{Operator, OutputPart, Parsed, Verdict};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A parsed command line.
pub struct Invocation {
    /// The verbs, in order.
    pub verbs: Vec<Box<dyn Parsed>>,
    /// The input files.
    pub files: Vec<OsString>,
    /// Inputs of the first verb that have their own chains, keyed by the words that represent them among the files.
    pub branches: Branches,
    /// The options.
    pub options: Options,
}

impl Invocation {
    /// Whether no input is named, so that standard input is read.
    pub fn reads_standard_input(&self) -> bool {
        self.files.is_empty() && self.options.files_from.is_none() && self.options.from.as_deref() != Some("none")
    }
}

/// Number of bytes of a regular input that an optimistic run reads for its schema before it starts.
const SAMPLE_BYTES: u64 = 4 << 20;
/// Of fewer records, the small parts of a split are often empty by chance.
const MANY_RECORDS: u64 = 100;

/// Runs a chain of verbs over its inputs.
///
/// # Errors
/// Any error of the run.
pub fn run(invocation: Invocation) -> Result<Verdict> {
    let Options { output, to, .. } = &invocation.options;
    let named = output.as_ref().filter(|_| to.is_none()).and_then(|name| name.to_str()).map(str::to_owned);
    executed(invocation).map_err(|error| match named {
        Some(name) => error.for_output(&name),
        None => error,
    })
}

fn executed(invocation: Invocation) -> Result<Verdict> {
    let started = Instant::now();
    let Invocation { verbs, files, branches, mut options } = invocation;
    io::buffers::keep_memory(options.threads);
    if matches!(options.on_error, OnError::Fail | OnError::Null) && verbs.last().is_some_and(|v| v.takes_faults()) {
        options.on_error = OnError::Skip;
    }
    if options.max_errors.is_some() && options.on_error == OnError::Fail {
        let text = "--max-errors has no effect without --on-error skip, null or quarantine";
        options.notices.add(text.to_owned(), options.strict)?;
    }
    format::note_quarantine(&options)?;
    beside::refuse_standard_input_twice(&verbs, &files, &branches, &options)?;
    let options = with_baseline(&verbs, with_tables(&verbs, setup(options)?)?)?;
    let options = match verbs.first().map(|verb| verb.numbers()).transpose()?.flatten() {
        Some(only) => Arc::new(Options { only: Some(Arc::new(only)), ..options.as_ref().clone() }),
        None => options,
    };
    let last = verbs.last().map(AsRef::as_ref);
    let mut ended = Ended::new(Manifest::plan(&options)?, Beside::plan(&options)?);
    let Some(directory) = &options.output_dir else {
        let targets = Targets::plan(last, &options)?;
        let inputs = open_chain(&verbs, &files, &branches, options.clone())?;
        return match Run::new(&verbs, inputs, targets, &options, &ended)?.start(&mut ended)? {
            Some(verdict) => Ok(verdict),
            None => conclude(ended, &options, started),
        };
    };
    targets::check_each(last, &options)?;
    if let Some(verb) = verbs.first().filter(|verb| verb.combines()) {
        let error = Error::usage(format!("{} combines its inputs into one output, but --output-dir writes one for each", verb.name()));
        return Err(error.help("specify the output: -o OUT"));
    }
    let mut early = None;
    for found in io::expand(&files, &options, &format::is_dataset(&options))? {
        let own = Options { files_from: None, is_output_literal: true, ..options.as_ref().clone() };
        let inputs = Inputs::open(&[found.path.map_or_else(|| "-".into(), Into::into)], Arc::new(own.clone()))?;
        let output = Some(targets::name_in(directory, &inputs, &own)?);
        // Without --to, the format is that of the input.
        let to = own.to.clone().or_else(|| inputs.format_name().map(str::to_owned));
        let own = Options { output, to, bad_before: ended.nbad(), ..own };
        let targets = Targets::plan(last, &own)?;
        early = Run::new(&verbs, inputs, targets, &own, &ended)?.start(&mut ended)?;
    }
    early.map_or_else(|| conclude(ended, &options, started), Ok)
}

/// A run whose inputs are open.
struct Run<'a> {
    verbs: &'a [Box<dyn Parsed>],
    inputs: Inputs,
    targets: Targets,
    /// All files that are read: inputs, tables, constants, ....
    read: Vec<ReadFile>,
    options: Arc<Options>,
    /// Maximum number of records from which types are inferred; `None` for all that are read or sampled.
    types_of: Option<u64>,
    /// Whether no field was found. If bad records are skipped, they may be the reason.
    found_no_fields: bool,
}

impl<'a> Run<'a> {
    /// `ended`: earlier runs of the same command.
    fn new(verbs: &'a [Box<dyn Parsed>], inputs: Inputs, targets: Targets, options: &Options, ended: &Ended) -> Result<Run<'a>> {
        ended.refuse(&targets.outputs)?;
        if options.in_place && targets.outputs.iter().all(|output| output.is_stdout()) {
            let error = Error::usage("--in-place lets the output replace an input, but no -o is given");
            let mut files = inputs.iter().map(|opened| opened.input.path());
            let file = files
                .next()
                .flatten()
                .filter(|_| files.next().is_none())
                .map_or("FILE".to_owned(), |file| shell_word(&file.display().to_string()));
            return Err(error.help(format!("specify the input again: -o {file}")));
        }
        // Standard input may be a regular file.
        let paths = inputs.iter().map(|opened| opened.input.path().unwrap_or(Path::new("/dev/stdin")).to_owned());
        let read: Vec<ReadFile> = paths.chain(beside::read(verbs, options)).map(ReadFile::from).collect();
        read.iter().try_for_each(|file| ended.refuse_read(file.path()))?;
        if !options.in_place {
            targets.outputs.iter().chain(ended.manifest_output()).try_for_each(|output| output.refuse_inputs(&read))?;
        }
        // Other files are read with the same options.
        if verbs.iter().all(|verb| verb.tables().is_empty() && verb.baseline().is_none()) {
            format::note_unused(inputs.iter().map(|opened| opened.format), targets.format, options)?;
            if let Some(output) = targets.format {
                format::note_family(inputs.iter().map(|opened| opened.format), output, options)?;
            }
            if options.input_name.is_some() && inputs.iter().all(|opened| opened.input.path().is_some()) {
                options.notices.add("--input-name has no effect: standard input is not read".to_owned(), options.strict)?;
            }
        }
        let options = Arc::new(Options { source: inputs.format_name(), declared: inputs.declared().clone(), ..options.clone() });
        Ok(Run { verbs, inputs, targets, read, options, types_of: None, found_no_fields: false })
    }

    /// Runs the chain. Returns a verdict if the command ends with it.
    fn start(mut self, ended: &mut Ended) -> Result<Option<Verdict>> {
        let Some(first) = self.inputs.iter().next().map(|first| first.input.name().clone()) else { return self.execute(ended) };
        let is_empty = self.inputs.are_empty();
        self.execute(ended).map_err(|error| match error.reason() {
            Some(Reason::UnknownField(_) | Reason::NoFields) if is_empty => {
                error.help(format!("{first} is empty: declare its fields with --schema 'NAME: TYPE; ...'"))
            }
            Some(Reason::UnknownField(_) | Reason::NoFields) if self.found_no_fields && self.options.on_error != OnError::Fail => {
                Error::data("no field was found: the records are bad or have no fields")
                    .in_input(first)
                    .help("`tatter validate` lists bad records; --schema 'NAME: TYPE; ...' declares fields")
            }
            Some(Reason::UnknownField(path)) => {
                let advice = self.inputs.field_in_directories(path);
                advice.into_iter().fold(error, Error::help)
            }
            _ => error,
        })
    }

    fn execute(&mut self, ended: &mut Ended) -> Result<Option<Verdict>> {
        let began = Instant::now();
        let last_is_report = self.verbs.last().is_some_and(|v| v.is_report());
        self.check_order()?;
        // Bad records are found and counted only where records are decoded.
        let needs_records = self.options.on_error != OnError::Fail || self.verbs.last().is_none_or(|v| v.needs_records());
        let mut demand = self.verbs.iter().rev().fold(Demand::everything(), |after, verb| verb.demand(after));
        self.types_of = self
            .verbs
            .iter()
            .rev()
            .fold(Demand::everything(), |after, verb| match verb.computes() {
                true => Demand { records: None, ..verb.demand(after) },
                false => verb.demand(after),
            })
            .records;
        // Records of which no field is needed are not parsed, so bad ones would not be found.
        if self.options.on_error != OnError::Fail && demand.fields.is_none() {
            demand.fields = Wanted::All;
        }
        let regular = self.inputs.are_regular();
        let retractable = self.targets.outputs.iter().all(|output| output.is_retractable()) && needs_records;
        let sample = match (regular, needs_records) {
            (_, false) => None,
            (true, true) if retractable || self.declared_covers(&demand) => Some(SAMPLE_BYTES),
            (true, true) => None,
            (false, true) => Some(self.options.infer_bytes),
        };
        if needs_records || self.types_of.is_some() {
            // The bytes sampled from a pipe are read again; the sample ends at a block boundary, slightly later.
            self.inputs.remember(u64::MAX);
        }
        let (Inferred { mut schema, mut is_settled, is_stated }, mut chain) = self.infer_and_bind(&demand, sample)?;
        if self.options.dry_run {
            return self.explain(&chain).map(Some);
        }
        if last_is_report && !needs_records {
            refuse_counts(&self.options)?;
            return self.report_on_schema(chain).map(Some);
        }
        if let Some(drawn) = drawn::plan(self.verbs, &self.options, is_stated, self.inputs.nbytes(), || self.inputs.numbered())? {
            if !is_settled {
                schema = self.infer(&demand, None)?.schema;
                chain = self.bind(&schema)?;
                is_settled = true;
            }
            self.inputs.draw(drawn);
            chain.leave_out_first();
        }
        self.inputs.remember(0);
        let may_restart = retractable && regular;
        if may_restart && !is_settled {
            self.targets.outputs.iter().for_each(|output| output.hold_for_restart());
        }
        self.read_and_write(ended, began, &demand, schema, chain, may_restart)?;
        Ok(None)
    }

    /// Reads and writes the records, and again under a wider schema if the first one does not fit all. `may_restart`: whether
    /// the inputs can be read again and the outputs be taken back.
    fn read_and_write(
        &mut self,
        ended: &mut Ended,
        began: Instant,
        demand: &Demand,
        mut schema: Schema,
        mut chain: Chain,
        mut may_restart: bool,
    ) -> Result<()> {
        let format = self.targets.format;
        let progress = Progress::start(self.inputs.nbytes(), &self.options)
            .counting(self.inputs.iter().map(|opened| opened.input.consumed().clone()).collect());
        if self.options.verbose {
            describe(&self.inputs, &self.targets, &self.options, &progress);
        }
        let outputs = self.targets.outputs.clone();
        let mut before = vec![("infer types", began.elapsed())];
        loop {
            let written = chain.schemas.last().cloned();
            let mut reading = demand.clone();
            if let Some(first) = self.verbs.first() {
                read_less(first.as_ref(), &mut chain, &mut schema, &mut reading);
            }
            let execution = Execution {
                outputs: &outputs,
                options: &self.options.clone(),
                demand: &reading,
                format,
                progress: &progress,
                of_values: self.targets.of_values,
                read: &self.read,
            };
            match execution.run(&mut self.inputs, schema, chain) {
                Err(error) if error.kind() == Kind::Widened && may_restart => {
                    may_restart = false;
                    let spent = |before: &[(_, Duration)]| began.elapsed().saturating_sub(before.iter().map(|(_, spent)| *spent).sum());
                    before.push(("run until a value needed a wider type", spent(&before)));
                    outputs.iter().try_for_each(|output| output.restart())?;
                    self.inputs.reopen()?;
                    self.options.repeated.take();
                    schema = self.infer(demand, None)?.schema;
                    chain = self.bind(&schema)?;
                    before.push(("infer types of all records", spent(&before)));
                }
                result => {
                    progress.finish();
                    let mut done = result.map_err(|error| if self.inputs.are_regular() { error } else { of_a_pipe(error) })?;
                    let outputs = done.outputs.take().unwrap_or(outputs);
                    if let (Some(format), Some(schema)) = (format, written) {
                        super::describe::describe(format, &schema, &outputs, &done.records, &self.options)?;
                    }
                    self.note_empty_parts(&outputs, &done)?;
                    before.iter().rev().for_each(|(does, spent)| done.times.before(does, *spent));
                    ended.add(done, outputs.clone(), format.map_or("", |f| f.name()), progress)?;
                    return Ok(());
                }
            }
        }
    }

    /// Checks that only the last verb is a report or names outputs.
    fn check_order(&self) -> Result<()> {
        for verb in &self.verbs[..self.verbs.len().saturating_sub(1)] {
            let does = if verb.is_report() { "prints a report" } else { "names its outputs" };
            if verb.is_report() || verb.parts()?.is_some() {
                let error = Error::usage(format!("`{}` {does}, so it must be the last verb of a chain", verb.name()));
                let others = self.verbs.iter().map(|verb| verb.name()).filter(|name| *name != verb.name());
                let order: Vec<&str> = others.chain([verb.name()]).collect();
                return Err(error.help(format!("put it last: {}", order.join(" ... then "))));
            }
        }
        Ok(())
    }

    fn infer(&mut self, demand: &Demand, sample_bytes: Option<u64>) -> Result<Inferred> {
        let demand = Demand { records: self.types_of, ..demand.clone() };
        infer(&mut self.inputs, &demand, sample_bytes, self.options.threads)
    }

    /// Infers the types and binds the chain to them. The types of fields that are dropped first do not matter, except to
    /// show them.
    fn infer_and_bind(&mut self, demand: &Demand, sample_bytes: Option<u64>) -> Result<(Inferred, Chain)> {
        let dropping = self.verbs.first().filter(|first| demand.fields == Wanted::All && !first.drops().is_empty());
        let Some(first) = dropping else { return self.infer_and_bind_all(demand, sample_bytes) };
        let read_again = |run: &mut Self| if run.inputs.are_regular() { run.inputs.reopen() } else { Ok(()) };
        if self.options.dry_run {
            match self.infer_and_bind_all(demand, sample_bytes) {
                Err(error) if error.kind() == Kind::Data => read_again(self)?,
                result => return result,
            }
        }
        self.inputs.ignore_types(Wanted::matching(first.drops()));
        let (inferred, chain) = self.infer_and_bind_all(demand, sample_bytes)?;
        if reads_less(first.as_ref(), &chain, demand) {
            return Ok((inferred, chain));
        }
        self.inputs.ignore_types(Wanted::none());
        read_again(self)?;
        self.infer_and_bind_all(demand, sample_bytes)
    }

    fn infer_and_bind_all(&mut self, demand: &Demand, sample_bytes: Option<u64>) -> Result<(Inferred, Chain)> {
        let inferred = self.infer(demand, sample_bytes)?;
        self.found_no_fields = demand.fields == Wanted::All && inferred.schema.fields.is_empty();
        match self.bind(&inferred.schema) {
            // A field may appear, or get its type, after the sample or the records that are needed.
            Err(error) if matches!(error.kind(), Kind::Usage | Kind::Data) && self.learns_more(&inferred) => {
                let regular = self.inputs.are_regular();
                self.types_of = None;
                self.inputs.infer_from_all();
                if regular {
                    self.inputs.reopen()?;
                    return self.infer_and_bind_all(demand, None);
                }
                match self.infer_and_bind_all(demand, sample_bytes) {
                    // The start of the pipe is gone.
                    Err(again) if again.kind() == Kind::Io => Err(error),
                    result => result,
                }
            }
            Err(error) if error.kind() == Kind::Usage => Err(self.better_message(error, demand)),
            chain => Ok((inferred, chain?)),
        }
    }

    /// Whether types can be inferred from more records.
    fn learns_more(&self, inferred: &Inferred) -> bool {
        let of_few = self.types_of.is_some() || (self.options.only.is_some() && !self.inputs.infers_from_all());
        of_few || (!inferred.is_settled && self.inputs.are_regular())
    }

    fn bind(&self, schema: &Schema) -> Result<Chain> {
        Chain::of_inputs(&self.inputs, self.verbs, schema, &self.options)
    }

    /// Whether `--schema` gives the types of all required fields, so that nothing is inferred.
    fn declared_covers(&self, demand: &Demand) -> bool {
        match &demand.fields {
            Wanted::All => false,
            Wanted::Matching(names) => {
                names.plain().is_some_and(|names| names.iter().all(|name| self.inputs.declared().index_of(name).is_some()))
            }
        }
    }

    /// If a verb does not find its field, it is bound again to all fields, which "did you mean" needs.
    fn better_message(&mut self, error: Error, demand: &Demand) -> Error {
        // The sample of a pipe is read again.
        if demand.fields == Wanted::All || (self.inputs.are_regular() && self.inputs.reopen().is_err()) {
            return error;
        }
        let everything = Demand { fields: Wanted::All, records: demand.records };
        let Ok(inferred) = self.infer(&everything, Some(SAMPLE_BYTES)) else { return error };
        self.found_no_fields = inferred.schema.fields.is_empty();
        self.bind(&inferred.schema).err().unwrap_or(error)
    }

    fn explain(&self, chain: &Chain) -> Result<Verdict> {
        if let (Some(format), Some(schema)) = (self.targets.format, chain.schemas.last()) {
            for output in &self.targets.outputs {
                // Notices about what the format cannot hold, or holds differently.
                new_writer(format, schema, &self.options, output.distribution())?;
            }
        }
        explain(&self.inputs, self.verbs, chain, &self.targets)?;
        show_notices(&self.options, &Progress::start(None, &self.options));
        Ok(Verdict::Good)
    }

    /// Adds a notice if a part of a split has no records although there are many.
    ///
    /// # Errors
    /// The notice itself, under `--strict`.
    fn note_empty_parts(&self, outputs: &[Arc<Outputs>], done: &Done) -> Result<()> {
        let parts = self.verbs.last().map(|verb| verb.parts()).transpose()?.flatten().unwrap_or_default();
        if !matches!(parts.as_slice(), [OutputPart::Named(_), ..]) || done.counts.records_out < MANY_RECORDS {
            return Ok(());
        }
        let mut first = 0;
        for output in outputs {
            let next = first + output.nfiles();
            if done.records.range(first..next).all(|(_, records)| *records == 0) {
                let why = "if the input is a part of an earlier split by the same key, divide it with a different --seed";
                self.options.notices.add(format!("{}: no record belongs to this part; {why}", output.name()), self.options.strict)?;
            }
            first = next;
        }
        Ok(())
    }

    /// A report that needs only the schema.
    fn report_on_schema(&self, mut chain: Chain) -> Result<Verdict> {
        let Some(Operator::Report(mut report)) = chain.operators.pop() else {
            return Err(Error::internal("a chain that reports ends without a report"));
        };
        let Some(output) = self.targets.outputs.first() else { return Err(Error::internal("a report without an output")) };
        let mut out = output.create_report()?;
        let verdict = report.finish(out.as_mut())?;
        out.flush().map_err(Error::output)?;
        drop(out);
        output.commit()?;
        show_notices(&self.options, &Progress::start(None, &self.options));
        Ok(verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Chunk;
    use crate::verbs::{Bound, Example, Map, Verb, boxed};

    /// A faulty verb that fails or panics at the first record.
    #[derive(clap::Args)]
    struct Broken {
        #[arg(long)]
        panics: bool,
    }

    struct BrokenMap {
        panics: bool,
    }

    impl Map for BrokenMap {
        fn apply(&self, chunk: Chunk) -> Result<Chunk> {
            if chunk.nrows > 0 && self.panics {
                panic!("broken");
            }
            if chunk.nrows > 0 { Err(Error::internal("broken").at_row(0)) } else { Ok(chunk) }
        }
    }

    impl Verb for Broken {
        const NAME: &'static str = "broken";
        const SUMMARY: &'static str = "";
        const ABOUT: &'static str = "";
        const EXAMPLES: &'static [Example] = &[];

        fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
            Ok(Bound { schema: schema.clone(), operator: Operator::Map(Arc::new(BrokenMap { panics: self.panics })) })
        }
        fn demand(&self, after: Demand) -> Demand {
            after
        }
    }

    #[test]
    fn a_bug_is_never_skipped_as_bad_data() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).into_os_string();
        std::fs::write(at("in.jsonl"), "{\"x\": 1}\n{\"x\": 2}\n{\"x\": 3}\n").unwrap();
        for (panics, threads) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
            let options = Options { on_error: OnError::Skip, output: Some(at("out.jsonl")), threads, ..Options::default() };
            let verbs: Vec<Box<dyn Parsed>> = vec![boxed(Broken { panics })];
            let error = run(Invocation { verbs, files: vec![at("in.jsonl")], branches: Branches::new(), options }).unwrap_err();
            assert_eq!((error.kind(), error.exit_code()), (Kind::Internal, 70), "{error}");
            assert!(error.to_string().contains("internal: broken"), "{error}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
        }
    }
}
