//! Progress on standard error: bytes, records, rate and remaining time. The only user of indicatif.
//!
//! There is no separate thread: the thread that delivers a chunk redraws, at most ten times a second.

use crate::message;
use crate::options::{Options, When, in_color};
use crate::printable::{one_line, plural};
use crate::screen;
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN_DRAWS: Duration = Duration::from_millis(100);
/// Interval between lines if there is no terminal on which to redraw.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

const KNOWN_END: &str = "{wide_bar} {msg}";
const OPEN_END: &str = "{spinner} {msg}";
/// The minimum width of the bar.
const BAR: usize = 8;

/// The run whose progress is shown on a terminal, for the message after Ctrl-C.
static SHOWN: OnceLock<(ProgressBar, Arc<ProgressCounts>)> = OnceLock::new();

/// The progress of a run. Cheap to update for every chunk.
pub struct Progress {
    display: Display,
    label: &'static str,
    quiet: bool,
    /// Whether output lines are JSON.
    json: bool,
    total: Option<u64>,
    started: Instant,
    counts: Arc<ProgressCounts>,
    /// Bytes consumed from the inputs, as stored on disk.
    consumed: Vec<Arc<AtomicU64>>,
    /// When it was last shown.
    shown: Mutex<Instant>,
}

#[derive(Default)]
struct ProgressCounts {
    nbytes: AtomicU64,
    nrecords: AtomicU64,
    nwritten: AtomicU64,
}

/// An output whose bytes are counted.
struct Counted {
    out: Box<dyn Write + Send>,
    counts: Arc<ProgressCounts>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.counts.nwritten.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

enum Display {
    Nothing,
    Bar { patience: Duration, bar: OnceLock<ProgressBar> },
    Lines,
}

impl Progress {
    /// Starts now. `total_bytes` is the size on disk, if known.
    pub fn start(total_bytes: Option<u64>, options: &Options) -> Progress {
        let (mode, quiet, json) = (options.progress, options.quiet, options.json_messages);
        let label = if in_color(options.color) { "\u{1b}[1;36mnote:\u{1b}[0m" } else { "note:" };
        let bar = |patience| Display::Bar { patience, bar: OnceLock::new() };
        let display = match (mode, std::io::stderr().is_terminal()) {
            (When::Always, true) if !json => bar(Duration::ZERO),
            (When::Always, _) => Display::Lines,
            (When::Auto, true) if !quiet && !json => bar(PATIENCE),
            _ => Display::Nothing,
        };
        let started = Instant::now();
        let shown = Mutex::new(started);
        Progress { display, label, quiet, json, total: total_bytes, started, counts: Arc::default(), consumed: Vec::new(), shown }
    }

    /// Counts bytes read from disk instead of the bytes of the records. Inputs without a byte count (files read at
    /// random positions) still count by record.
    #[must_use]
    pub fn counting(mut self, consumed: Vec<Arc<AtomicU64>>) -> Progress {
        self.consumed = consumed;
        self
    }

    /// Counts the bytes written to an output.
    pub fn counted(&self, out: Box<dyn Write + Send>) -> Box<dyn Write + Send> {
        Box::new(Counted { out, counts: self.counts.clone() })
    }

    /// Adds bytes and records.
    pub fn add(&self, nbytes: u64, nrecords: u64) {
        self.counts.nbytes.fetch_add(nbytes, Ordering::Relaxed);
        self.counts.nrecords.fetch_add(nrecords, Ordering::Relaxed);
        let between = match &self.display {
            Display::Nothing => return,
            Display::Bar { patience, .. } if self.started.elapsed() < *patience => return,
            Display::Bar { .. } => BETWEEN_DRAWS,
            Display::Lines => BETWEEN_LINES,
        };
        // Locked: another thread is redrawing.
        if let Ok(mut shown) = self.shown.try_lock()
            && shown.elapsed() >= between
        {
            *shown = Instant::now();
            self.show();
        }
    }

    /// Prints a notice, unless `--quiet` is given.
    pub fn notice(&self, text: &str) {
        if !self.quiet {
            self.put(&format!("{} {}", self.label, one_line(text)), || message::of_text("notice", text));
        }
    }

    /// Prints a line for `--verbose`.
    pub fn info(&self, text: &str) {
        self.put(&format!("info: {}", one_line(text)), || message::of_text("info", text));
    }

    /// Prints a line of text or, with `--messages json`, an object. The text is printed unchanged.
    pub fn put(&self, text: &str, object: impl FnOnce() -> serde_json::Value) {
        if self.json { self.print(&message::line(&object())) } else { self.print(&screen::fitted_message(text)) }
    }

    /// The label of notices, colored if messages are colored.
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// Whether notices are hidden.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a line on standard error, above the bar.
    fn print(&self, text: &str) {
        match self.bar() {
            Some(bar) => bar.suspend(|| print(text)),
            None => print(text),
        }
    }

    /// Finishes and removes the bar.
    pub fn finish(&self) {
        match &self.display {
            Display::Lines => self.put_progress(),
            _ => {
                if let Some(bar) = self.bar() {
                    bar.finish_and_clear();
                }
            }
        }
    }

    /// Whether progress was shown on a terminal because the run took long.
    pub fn was_shown(&self) -> bool {
        self.bar().is_some()
    }

    fn bar(&self) -> Option<&ProgressBar> {
        match &self.display {
            Display::Bar { bar, .. } => bar.get(),
            _ => None,
        }
    }

    fn show(&self) {
        match &self.display {
            Display::Nothing => {}
            Display::Lines => self.put_progress(),
            Display::Bar { bar, .. } => {
                let bar = bar.get_or_init(|| self.new_bar());
                let _ = SHOWN.set((bar.clone(), self.counts.clone()));
                let columns = screen::message_columns().unwrap_or(screen::DEFAULT);
                bar.set_message(self.line_of(columns - BAR - 1));
                bar.set_position(self.position());
                bar.tick();
            }
        }
    }

    fn put_progress(&self) {
        let line = self.line();
        self.put(&format!("progress: {line}"), || {
            let (bytes, records) = (self.position(), self.counts.nrecords.load(Ordering::Relaxed));
            serde_json::json!({"kind": "progress", "bytes": bytes, "total_bytes": self.total, "records": records, "message": line})
        });
    }

    fn new_bar(&self) -> ProgressBar {
        let template = if self.total.is_some() { KNOWN_END } else { OPEN_END };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr_with_hz(10))
            .with_style(style)
            .with_elapsed(self.started.elapsed())
    }

    /// Bytes so far, at most the total.
    pub fn position(&self) -> u64 {
        let consumed = self.consumed.iter().map(|c| c.load(Ordering::Relaxed)).sum::<u64>();
        let position = if consumed > 0 { consumed } else { self.counts.nbytes.load(Ordering::Relaxed) };
        position.min(self.total.unwrap_or(u64::MAX))
    }

    /// Bytes written so far.
    pub fn nwritten(&self) -> u64 {
        self.counts.nwritten.load(Ordering::Relaxed)
    }

    fn line(&self) -> String {
        self.parts().join(", ")
    }

    /// As much of the line as fits.
    fn line_of(&self, columns: usize) -> String {
        let mut parts = self.parts();
        let too_wide = |parts: &[String]| parts.iter().map(|part| part.len() + 2).sum::<usize>() > columns + 2;
        while parts.len() > 1 && too_wide(&parts) {
            // Bytes written and remaining time matter less than bytes and records.
            parts.pop();
        }
        parts.join(", ")
    }

    /// `1.20 GiB of 3.40 GiB`, `1,234,567 records`, `210.00 MiB/s`, `10 seconds left`, `3.00 MiB written`
    fn parts(&self) -> Vec<String> {
        let (position, seconds) = (self.position(), self.started.elapsed().as_secs_f64());
        let rate = if seconds > 0.0 { position as f64 / seconds } else { 0.0 };
        let of = self.total.map(|total| format!(" of {}", HumanBytes(total))).unwrap_or_default();
        let nrecords = self.counts.nrecords.load(Ordering::Relaxed);
        let records = format!("{} {}", HumanCount(nrecords), plural(nrecords, "record"));
        let mut parts = vec![format!("{}{of}", HumanBytes(position)), records, format!("{}/s", HumanBytes(rate as u64))];
        if let Some(total) = self.total.filter(|total| rate > 0.0 && *total > position) {
            let left = Duration::try_from_secs_f64((total - position) as f64 / rate).unwrap_or(Duration::MAX);
            parts.push(format!("{} left", HumanDuration(left)));
        }
        match self.counts.nwritten.load(Ordering::Relaxed) {
            0 => {}
            written => parts.push(format!("{} written", HumanBytes(written))),
        }
        parts
    }
}

/// After Ctrl-C, removes the bar from the terminal and prints the progress of the run, unless progress was never shown.
pub fn interrupted() {
    if let Some((bar, counts)) = SHOWN.get() {
        bar.finish_and_clear();
        let (nrecords, nbytes) = (counts.nrecords.load(Ordering::Relaxed), counts.nbytes.load(Ordering::Relaxed));
        let (records, read) = (plural(nrecords, "record"), HumanBytes(nbytes));
        print(&format!("interrupted after {} {records}, {read}; unfinished output files were removed", HumanCount(nrecords)));
    }
}

/// The amount of work and the rate: `1.20 GiB read, 3.00 MiB written in 2.10 s (585.14 MiB/s)`.
pub fn summary(nread: u64, nwritten: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { nread as f64 / seconds } else { 0.0 };
    format!("{} read, {} written in {seconds:.2} s ({}/s)", HumanBytes(nread), HumanBytes(nwritten), HumanBytes(rate as u64))
}

/// Prints lines on standard error, in a single write, so that those of several processes do not mix. They are lost if
/// it is closed.
pub fn print(lines: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{lines}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_bytes_records_and_rate() {
        let progress = Progress::start(Some(4096), &Options::default());
        progress.add(2048, 1_234_567);
        let line = progress.line();
        assert!(line.starts_with("2.00 KiB of 4.00 KiB, 1,234,567 records, "), "{line}");
        assert_eq!(progress.line_of(40), "2.00 KiB of 4.00 KiB, 1,234,567 records");
        progress.counted(Box::new(std::io::sink())).write_all(&[0; 1024]).unwrap();
        assert!(progress.line().ends_with("1.00 KiB written"), "{}", progress.line());
    }

    #[test]
    fn bytes_are_those_on_disk() {
        let consumed = Arc::new(AtomicU64::new(100));
        let progress = Progress::start(Some(1000), &Options::default()).counting(vec![consumed]);
        progress.add(5000, 1);
        assert_eq!(progress.position(), 100);
    }

    #[test]
    fn templates_are_good() {
        for template in [KNOWN_END, OPEN_END] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
