//! The end of a successful run: outputs get their names, notices and the summary are written.

use super::progress::Progress;
use super::sink::Counts;
use crate::error::{Error, Result};
use crate::io::Outputs;
use crate::options::Options;
use crate::verbs::Verdict;
use std::time::Instant;

/// Puts the outputs under their names, shows notices, writes the summary.
///
/// # Errors
/// Writing fails.
pub fn conclude(
    outputs: &Outputs,
    options: &Options,
    verdict: Verdict,
    counts: Counts,
    progress: &Progress,
    started: Instant,
) -> Result<Verdict> {
    outputs.commit()?;
    show_notices(options, progress);
    if let Some(path) = &options.summary {
        let summary = serde_json::json!({
            "records_in": counts.records_in,
            "records_out": counts.records_out,
            "skipped": counts.skipped,
            "bytes_lost": counts.bytes_lost,
            "seconds": started.elapsed().as_secs_f64(),
        });
        std::fs::write(path, format!("{summary}\n")).map_err(|e| Error::io(&path.to_string_lossy(), "writing the summary failed", &e))?;
    }
    if counts.skipped == 0 {
        return Ok(verdict);
    }
    let (records, lost) = (counts.skipped, counts.bytes_lost);
    let plural = if records == 1 { "record was" } else { "records were" };
    progress.notice(&format!("note: {records} bad {plural} left out ({lost} bytes)"));
    Ok(if options.max_errors.is_some() { verdict } else { Verdict::Bad })
}

/// Shows the notices that have come up so far.
pub fn show_notices(options: &Options, progress: &Progress) {
    for notice in options.notices.take() {
        progress.notice(&format!("note: {notice}"));
    }
}
