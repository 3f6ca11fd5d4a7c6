//! The end of a run: writes records or passes them to a report; handles counts, bad records and the first error.

use super::engine::Serial;
use super::progress::Progress;
use super::values::Values;
use super::work::{Load, Work};
use crate::chunk::Fault;
use crate::error::{Error, Result};
use crate::formats::Writer;
use crate::printable::counted;
use crate::verbs::{Flow, Report, Verdict};
use std::collections::BTreeMap;
use std::io::Write;

/// Maximum number of bad records and values named at the end of a run.
pub const FIRST_FAULTS: usize = 3;

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Records read.
    pub records_in: u64,
    /// Records written.
    pub records_out: u64,
    /// Number of bad records skipped.
    pub skipped: u64,
    /// Bytes of input in bad records.
    pub bytes_lost: u64,
    /// Number of unreadable values set to null.
    pub nulled: u64,
}

impl Counts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Counts) {
        self.records_in += other.records_in;
        self.records_out += other.records_out;
        self.skipped += other.skipped;
        self.bytes_lost += other.bytes_lost;
        self.nulled += other.nulled;
    }
}

/// The handling of bad records: `--on-error` and `--max-errors`.
pub struct FaultPolicy {
    /// Whether invalid records are skipped.
    pub skip: bool,
    /// Maximum number of invalid records; one more fails the run.
    pub max_errors: Option<u64>,
    /// Those before this run.
    pub bad_before: u64,
    /// The file that invalid records are written to, and its name.
    pub quarantine: Option<(String, Box<dyn Write + Send>)>,
}

/// The last node of every run.
pub struct Sink<'a> {
    /// The writers or the report.
    pub end: End,
    /// Opens the per-value outputs, if any.
    pub values: Option<Values<'a>>,
    /// What happens to invalid records.
    pub policy: FaultPolicy,
    /// What has been counted.
    pub counts: Counts,
    /// Record counts by file number; empty if each record is a separate file.
    pub records: BTreeMap<u64, u64>,
    /// The errors of the first bad records.
    pub first_faults: Vec<Error>,
    /// The progress bar.
    pub progress: &'a Progress,
    /// The first error; nothing is processed after it.
    pub error: Option<Error>,
}

/// The destination of the records.
pub enum End {
    /// One writer for each output; empty if outputs have one record each.
    Writers(Vec<Box<dyn Writer>>),
    /// A report.
    Report {
        /// The report.
        report: Box<dyn Report>,
        /// Its output.
        out: Box<dyn Write + Send>,
        /// Its verdict.
        verdict: Verdict,
    },
}

impl Sink<'_> {
    fn fault(&mut self, fault: &Fault) -> Result<()> {
        if let End::Report { report, .. } = &mut self.end
            && report.takes_faults()
        {
            report.fault(fault);
            return Ok(());
        }
        if fault.kept {
            self.counts.nulled += 1;
        } else {
            self.counts.skipped += 1;
            self.counts.bytes_lost += fault.length;
        }
        if self.first_faults.len() < FIRST_FAULTS {
            self.first_faults.push(fault.error.clone());
        }
        if let Some((name, file)) = &mut self.policy.quarantine {
            let mut line = quarantine_line(fault).to_string();
            line.push('\n');
            file.write_all(line.as_bytes()).map_err(|e| Error::io(name, "cannot write", &e))?;
        }
        let total = self.policy.bad_before + self.counts.skipped + self.counts.nulled;
        match self.policy.max_errors {
            Some(most) if total > most => {
                let found = match (self.policy.bad_before + self.counts.skipped, self.counts.nulled) {
                    (records, 0) => counted(records, "bad record"),
                    (0, values) => counted(values, "bad value"),
                    _ => format!("{total} bad values and records"),
                };
                let is = if total == 1 { "is" } else { "are" };
                Err(fault.error.clone().help(format!("there {is} {found}, more than --max-errors {most} allows")))
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, load: Load) -> Result<Flow> {
        match (&mut self.end, load) {
            (End::Writers(writers), Load::Output(name)) => match &mut self.values {
                Some(values) => {
                    writers.push(values.open(&name)?);
                    Ok(Flow::More)
                }
                None => Err(Error::internal("a value without an output")),
            },
            (End::Writers(writers), Load::Encoded { parts, nrows }) => {
                for (target, encoded) in parts {
                    *self.records.entry(target).or_default() += nrows;
                    if let Some(writer) = writers.get_mut(target as usize) {
                        writer.write(encoded)?;
                    }
                }
                self.counts.records_out += nrows;
                Ok(Flow::More)
            }
            (End::Report { report, out, .. }, Load::Chunk(chunk)) => {
                self.counts.records_out += chunk.nrows as u64;
                report.push(&chunk, out.as_mut()).map_err(|e| chunk.origin.resolve(e, chunk.nrows))
            }
            (End::Report { report, .. }, Load::Digest { digest, nrows }) => {
                self.counts.records_out += nrows;
                report.push_digest(digest)
            }
            _ => Ok(Flow::More),
        }
    }

    fn close(&mut self) -> Result<()> {
        match &mut self.end {
            End::Writers(writers) => writers.iter_mut().try_for_each(|w| w.finish())?,
            End::Report { report, out, verdict } => {
                *verdict = report.finish(out.as_mut())?;
                out.flush().map_err(|e| Error::io("standard output", "cannot write", &e))?;
            }
        }
        if let Some((name, file)) = &mut self.policy.quarantine {
            file.flush().map_err(|e| Error::io(name, "cannot write", &e))?;
        }
        Ok(())
    }
}

impl Serial<Work> for Sink<'_> {
    fn push(&mut self, mut work: Work, _: &mut Vec<Work>) -> bool {
        self.counts.records_in += work.records_in;
        self.progress.add(work.nbytes_in, work.records_in);
        let load = work.take_ready();
        if let (Ok(Load::Chunk(chunk)), End::Report { report, .. }) = (&load, &self.end)
            && let Some(wanted) = report.wants().and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= chunk.nrows)
        {
            work.forget_later(&chunk.origin, wanted);
            work.error = None;
        }
        // Bad records may be counted before the good records around them: only their relative order matters.
        let faulted = work.faults.iter().try_for_each(|fault| self.fault(fault));
        let taken = match faulted {
            Ok(()) => load.and_then(|load| self.take(load)),
            Err(error) => Err(error),
        };
        match (taken, work.error) {
            (Err(error), _) | (Ok(_), Some(error)) => {
                self.error = Some(error);
                false
            }
            (Ok(flow), None) => flow == Flow::More,
        }
    }

    fn finish(&mut self, _: &mut Vec<Work>) -> bool {
        if self.error.is_none()
            && let Err(error) = self.close()
        {
            self.error = Some(error);
        }
        false
    }
}

/// `{input, record, byte, length, error, raw}`. raw is text, or `{"b64": ...}` if it is not valid UTF-8.
fn quarantine_line(fault: &Fault) -> serde_json::Value {
    let at = fault.error.location();
    let raw = fault.raw.as_ref().map(|raw| match std::str::from_utf8(raw) {
        Ok(text) => serde_json::Value::from(text),
        Err(_) => serde_json::json!({ "b64": base64(raw) }),
    });
    serde_json::json!({
        "input": at.input.as_deref(),
        "record": at.records.map(|(first, _)| first),
        "byte": at.byte,
        "length": fault.length,
        "error": fault.error.to_string(),
        "raw": raw,
    })
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
