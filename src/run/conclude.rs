//! Ends a successful run: renames outputs to their final names, shows notices and writes the summary.

use super::beside::{Beside, replaced};
use super::execute::Done;
use super::manifest::{Listed, Manifest};
use super::progress::{Progress, summary};
use super::sink::{Counts, FIRST_FAULTS};
use super::times::Times;
use crate::error::{Error, Result, between};
use crate::io::{self, Outputs};
use crate::message;
use crate::notice::grouped;
use crate::options::Options;
use crate::printable::{counted, one_line, size_left_out};
use crate::verbs::Verdict;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The finished runs of a command: one, or one for each input. No output has its final name yet.
pub struct Ended {
    manifest: Option<Manifest>,
    /// The files that are written besides the outputs.
    pub beside: Beside,
    listed: Vec<Listed>,
    /// The names of the outputs, if each is a single file: of thousands of outputs, not all pairs are compared.
    singles: Option<HashSet<OsString>>,
    verdict: Verdict,
    counts: Counts,
    first_faults: Vec<Error>,
    nread: u64,
    nwritten: u64,
    /// Whether progress was shown.
    was_shown: bool,
    times: Times,
    /// The progress of the last run.
    progress: Option<Progress>,
}

impl Ended {
    /// Bad records and values so far.
    pub fn nbad(&self) -> u64 {
        self.counts.skipped + self.counts.nulled
    }

    /// Starts without runs.
    pub fn new(manifest: Option<Manifest>, beside: Beside) -> Ended {
        let (listed, first_faults) = (Vec::new(), Vec::new());
        Ended {
            manifest,
            beside,
            listed,
            singles: Some(HashSet::new()),
            verdict: Verdict::Good,
            counts: Counts::default(),
            first_faults,
            nread: 0,
            nwritten: 0,
            was_shown: false,
            times: Times::default(),
            progress: None,
        }
    }

    /// The output of `--manifest`.
    pub fn manifest_output(&self) -> Option<&Arc<Outputs>> {
        self.manifest.as_ref().map(|manifest| &manifest.output)
    }

    fn outputs(&self) -> impl Iterator<Item = &Arc<Outputs>> {
        self.listed.iter().flat_map(|run| &run.outputs)
    }

    /// Rejects outputs that another run has already written, or that the manifest cannot list.
    ///
    /// # Errors
    /// A usage error that names the output.
    pub fn refuse(&self, outputs: &[Arc<Outputs>]) -> Result<()> {
        let is_new = |output: &Outputs| matches!((&self.singles, output.single()), (Some(names), Some(name)) if !names.contains(name));
        if let Some(twice) = outputs.iter().find(|output| !is_new(output) && self.outputs().any(|other| other.overlaps(output))) {
            let error = Error::usage("two inputs would be written to this file").in_input(twice.name().clone());
            return Err(error.help("convert inputs with the same name in separate runs, to different directories"));
        }
        outputs.iter().chain(self.manifest_output()).try_for_each(|output| self.beside.refuse_output(output))?;
        self.manifest.as_ref().map_or(Ok(()), |manifest| manifest.refuse(outputs))
    }

    /// Rejects files besides the outputs that would replace this file, which is read.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub fn refuse_read(&self, read: &Path) -> Result<()> {
        match self.manifest_output().filter(|output| output.replaces(read)) {
            Some(_) => Err(replaced("the manifest", read)),
            None => self.beside.refuse_read(read),
        }
    }

    /// Adds a run that has ended successfully.
    ///
    /// # Errors
    /// See [`Ended::refuse`]: the names of some outputs depend on the records.
    pub fn add(&mut self, done: Done, outputs: Vec<Arc<Outputs>>, format: &'static str, progress: Progress) -> Result<()> {
        self.refuse(&outputs)?;
        if done.verdict == Verdict::Bad {
            self.verdict = Verdict::Bad;
        }
        self.counts.add(done.counts);
        self.first_faults.extend(done.first_faults);
        self.first_faults.truncate(FIRST_FAULTS);
        let names: Option<Vec<&OsString>> = outputs.iter().map(|output| output.single()).collect();
        match (&mut self.singles, names) {
            (Some(singles), Some(names)) => singles.extend(names.into_iter().cloned()),
            (singles, _) => *singles = None,
        }
        self.listed.push(Listed { outputs, format, records: done.records });
        self.nread += progress.position();
        self.nwritten += progress.nwritten();
        self.was_shown |= progress.was_shown();
        self.times.add(done.times);
        self.progress = Some(progress);
        Ok(())
    }

    /// Renames the outputs to their final names, the manifest last.
    fn commit(&self) -> Result<()> {
        let mut outputs: Vec<Arc<Outputs>> = self.outputs().cloned().collect();
        if let Some(manifest) = &self.manifest {
            manifest.write(&self.listed, &self.counts)?;
            outputs.push(manifest.output.clone());
        }
        io::commit(&outputs)
    }
}

/// Renames the outputs to their final names, shows notices, and writes the summary.
///
/// # Errors
/// Writing fails.
pub fn conclude(ended: Ended, options: &Options, started: Instant) -> Result<Verdict> {
    ended.commit()?;
    let Ended { verdict, counts, first_faults, nread, nwritten, was_shown, times, progress, .. } = ended;
    let progress = &progress.unwrap_or_else(|| Progress::start(None, options));
    show_notices(options, progress);
    if options.verbose {
        options.remarks.take().iter().for_each(|remark| progress.info(remark));
    }
    let repeated = options.repeated.take();
    if let Some(path) = &options.summary {
        write_summary(path, counts, repeated, progress, started)?;
    }
    if options.verbose && repeated > 0 {
        let were = if repeated == 1 { "was" } else { "were" };
        progress.info(&format!("{} {were} repeated", counted(repeated, "record")));
    }
    if options.explain_time {
        progress.put(&times.text(options.threads), || times.json(options.threads));
    }
    if options.verbose || was_shown {
        let Counts { records_in, records_out, skipped, .. } = counts;
        let done = summary(nread, nwritten, started.elapsed());
        progress.info(&format!("{} in, {records_out} out, {skipped} skipped; {done}", counted(records_in, "record")));
    }
    if counts.skipped + counts.nulled == 0 {
        return Ok(verdict);
    }
    let text = bad_input(counts, &first_faults);
    let object = || {
        let first: Vec<Value> = first_faults.iter().map(|fault| Value::Object(message::parts(fault))).collect();
        json!({"kind": "skipped", "records": counts.skipped, "bytes": counts.bytes_lost, "values": counts.nulled, "first": first, "message": text})
    };
    let is_allowed = options.max_errors.is_some();
    // The reason for exit code 1 is shown even with `--quiet`.
    if !progress.is_quiet() {
        progress.put(&format!("{} {}", progress.label(), one_line(&text)), object);
    } else if !is_allowed {
        progress.put(&one_line(&text), object);
    }
    Ok(if is_allowed { verdict } else { Verdict::Bad })
}

/// Describes what was omitted, and where it first occurred.
fn bad_input(counts: Counts, first_faults: &[Error]) -> String {
    let (records, values) = (counts.skipped, counts.nulled);
    let mut parts = Vec::new();
    if records > 0 {
        let were = if records == 1 { "record was" } else { "records were" };
        parts.push(format!("{records} bad {were} skipped{}", size_left_out(counts.bytes_lost)));
    }
    if values > 0 {
        let were = if values == 1 { "value was" } else { "values were" };
        parts.push(format!("{values} bad {were} replaced with null"));
    }
    let places: Vec<String> = first_faults
        .iter()
        .enumerate()
        .map(|(number, fault)| {
            let field = fault.field().map_or_else(String::new, |field| format!(", field {field}"));
            // The reason of the first says enough of the others.
            let reason = if number == 0 { format!("{}{}", between(fault.message()), fault.message()) } else { String::new() };
            format!("{}{field}{reason}", fault.location())
        })
        .collect();
    let more = if records + values > places.len() as u64 { "; ..." } else { "" };
    format!("{}: {}{more}", parts.join(", "), places.join("; "))
}

/// Refuses a summary and a manifest of a run that writes no records.
///
/// # Errors
/// A summary or a manifest was requested.
pub fn refuse_counts(options: &Options) -> Result<()> {
    let given = [("--summary", options.summary.is_some()), ("--manifest", options.manifest.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Error::usage(format!("{option} has no effect: this run writes no records"))),
        None => Ok(()),
    }
}

/// Shows the notices collected so far.
pub fn show_notices(options: &Options, progress: &Progress) {
    grouped(options.notices.take()).iter().for_each(|notice| progress.notice(notice));
}

/// Writes `--summary FILE`. `-` is standard error, because standard output may hold records.
fn write_summary(path: &Path, counts: Counts, repeated: u64, progress: &Progress, started: Instant) -> Result<()> {
    let mut facts = vec![
        ("records_in", json!(counts.records_in)),
        ("records_out", json!(counts.records_out)),
        ("skipped", json!(counts.skipped)),
        ("bytes_lost", json!(counts.bytes_lost)),
        ("nulled", json!(counts.nulled)),
        ("seconds", json!(started.elapsed().as_secs_f64())),
    ];
    if repeated > 0 {
        facts.push(("repeated", json!(repeated)));
    }
    let summary: Value = facts.clone().into_iter().collect();
    if path == Path::new("-") {
        progress.put(&summary.to_string(), || [("kind", json!("summary"))].into_iter().chain(facts).collect());
        return Ok(());
    }
    io::write_file(path, &format!("{summary}\n"))
}
