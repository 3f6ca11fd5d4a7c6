//! The end of a successful run: outputs get their names, notices and the summary are written.

use super::progress::Progress;
use super::sink::Counts;
use crate::error::{Error, Result};
use crate::io::Outputs;
use crate::options::Options;
use crate::verbs::Verdict;
use std::path::Path;
use std::time::Instant;

/// Gives the outputs their names, shows notices, writes the summary.
///
/// # Errors
/// Writing fails.
pub fn conclude(
    outputs: &Outputs,
    options: &Options,
    (verdict, counts): (Verdict, Counts),
    progress: &Progress,
    started: Instant,
) -> Result<Verdict> {
    outputs.commit()?;
    show_notices(options, progress);
    if let Some(path) = &options.summary {
        write_summary(path, counts, progress, started)?;
    }
    if options.verbose {
        let (bytes, rate, seconds) = progress.summary();
        progress.print(&format!(
            "info: {} records in, {} out, {} skipped; {bytes} in {seconds:.2} s ({rate}/s)",
            counts.records_in, counts.records_out, counts.skipped
        ));
    }
    if counts.skipped == 0 {
        return Ok(verdict);
    }
    let (records, lost) = (counts.skipped, counts.bytes_lost);
    let plural = if records == 1 { "record was" } else { "records were" };
    let skipped = format!("{records} bad {plural} skipped ({lost} bytes)");
    if options.max_errors.is_some() {
        progress.notice(&skipped);
        return Ok(verdict);
    }
    // The reason of exit code 1, shown with `--quiet` too.
    if options.quiet {
        progress.print(&skipped)
    } else {
        progress.notice(&skipped)
    }
    Ok(Verdict::Bad)
}

/// Shows the notices that have come up so far.
pub fn show_notices(options: &Options, progress: &Progress) {
    options.notices.take().iter().for_each(|notice| progress.notice(notice));
}

/// `--summary FILE`; `-` is standard error, as standard output may hold records.
fn write_summary(path: &Path, counts: Counts, progress: &Progress, started: Instant) -> Result<()> {
    let summary = serde_json::json!({
        "records_in": counts.records_in,
        "records_out": counts.records_out,
        "skipped": counts.skipped,
        "bytes_lost": counts.bytes_lost,
        "seconds": started.elapsed().as_secs_f64(),
    });
    if path == Path::new("-") {
        progress.print(&summary.to_string());
        return Ok(());
    }
    std::fs::write(path, format!("{summary}\n")).map_err(|e| Error::io(&path.to_string_lossy(), "writing the summary failed", &e))
}
