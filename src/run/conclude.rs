//! The end of a successful run: outputs get their names, notices and the summary are written.

use super::progress::Progress;
use super::sink::Counts;
use crate::error::{Error, Result};
use crate::io::Outputs;
use crate::message;
use crate::options::Options;
use crate::printable::printable;
use crate::verbs::Verdict;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Gives the outputs their names, shows notices, writes the summary.
///
/// # Errors
/// Writing fails.
pub fn conclude(
    outputs: &Outputs,
    options: &Options,
    (verdict, counts, first_faults): (Verdict, Counts, Vec<Error>),
    progress: &Progress,
    started: Instant,
) -> Result<Verdict> {
    outputs.commit()?;
    show_notices(options, progress);
    if let Some(path) = &options.summary {
        write_summary(path, counts, progress, started)?;
    }
    if options.verbose || progress.was_shown() {
        let Counts { records_in, records_out, skipped, .. } = counts;
        progress.info(&format!("{records_in} records in, {records_out} out, {skipped} skipped; {}", progress.summary()));
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
    // The reason of exit code 1 is shown with `--quiet` too.
    if !progress.is_quiet() {
        progress.put(&format!("{} {}", progress.label(), printable(&text)), object);
    } else if !is_allowed {
        progress.put(&printable(&text), object);
    }
    Ok(if is_allowed { verdict } else { Verdict::Bad })
}

/// What was left out, and where the first of it is.
fn bad_input(counts: Counts, first_faults: &[Error]) -> String {
    let (records, values) = (counts.skipped, counts.nulled);
    let mut parts = Vec::new();
    if records > 0 {
        let were = if records == 1 { "record was" } else { "records were" };
        parts.push(format!("{records} bad {were} skipped ({} bytes)", counts.bytes_lost));
    }
    if values > 0 {
        let were = if values == 1 { "value is" } else { "values are" };
        parts.push(format!("{values} bad {were} null"));
    }
    let places: Vec<String> = first_faults
        .iter()
        .map(|fault| {
            let field = fault.field().map_or_else(String::new, |field| format!(" {field}"));
            format!("{}{field}", fault.location())
        })
        .collect();
    let more = if records + values > places.len() as u64 { ", ..." } else { "" };
    format!("{}: {}{more}", parts.join(", "), places.join(", "))
}

/// Shows the notices that have come up so far.
pub fn show_notices(options: &Options, progress: &Progress) {
    options.notices.take().iter().for_each(|notice| progress.notice(notice));
}

/// `--summary FILE`; `-` is standard error, as standard output may hold records.
fn write_summary(path: &Path, counts: Counts, progress: &Progress, started: Instant) -> Result<()> {
    let summary = json!({
        "records_in": counts.records_in,
        "records_out": counts.records_out,
        "skipped": counts.skipped,
        "bytes_lost": counts.bytes_lost,
        "nulled": counts.nulled,
        "seconds": started.elapsed().as_secs_f64(),
    });
    if path == Path::new("-") {
        progress.put(&summary.to_string(), || {
            let mut tagged = json!({"kind": "summary"});
            if let (Value::Object(tagged), Value::Object(summary)) = (&mut tagged, &summary) {
                tagged.extend(summary.clone());
            }
            tagged
        });
        return Ok(());
    }
    std::fs::write(path, format!("{summary}\n")).map_err(|e| Error::io(&path.to_string_lossy(), "writing the summary failed", &e))
}
