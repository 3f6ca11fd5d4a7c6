//! `--explain-time`: where a run spent its time, and what limits its speed with more threads.

use super::engine;
use crate::printable::counted;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// The stages of a run with the time spent in each, summed over the threads.
#[derive(Clone, Debug, Default)]
pub struct Times {
    stages: Vec<Stage>,
    waiting: Duration,
}

#[derive(Clone, Debug)]
struct Stage {
    does: String,
    how: How,
    spent: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// Before the other stages.
    Before,
    /// Serial: one piece of work at a time, in order.
    Serial,
    /// Parallel: as many pieces as there are threads.
    Parallel,
}

impl How {
    fn text(self) -> &'static str {
        match self {
            How::Before => "first",
            How::Serial => "one block at a time",
            How::Parallel => "in parallel",
        }
    }
}

impl Times {
    /// The times of one pass. `outline` describes the nodes between reading and writing, and whether they are serial.
    pub fn new(read: String, outline: Vec<(String, bool)>, write: String, measured: &engine::Times) -> Times {
        // Inputs that a verb combines are read and decoded on any thread; the verb takes their records in order.
        let (inputs, read) = match measured.merged {
            Some(spent) => (Some(((read, false), spent)), "combine".to_owned()),
            None => (None, read),
        };
        let (does, spent): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
        let does = does.into_iter().chain([(read, true)]).chain(outline).chain([(write, true)]);
        let spent = spent.into_iter().chain([measured.source]).chain(measured.nodes.iter().copied());
        let stages = does
            .zip(spent)
            .map(|((does, is_serial), spent)| Stage { does, how: if is_serial { How::Serial } else { How::Parallel }, spent })
            .collect();
        Times { stages, waiting: measured.waiting }
    }

    /// Adds the time before the stages began.
    pub fn before(&mut self, does: &str, spent: Duration) {
        self.stages.insert(0, Stage { does: does.to_owned(), how: How::Before, spent });
    }

    /// Adds the times of another run of the same command.
    pub fn add(&mut self, other: Times) {
        self.waiting += other.waiting;
        for stage in other.stages {
            match self.stages.iter_mut().find(|own| own.does == stage.does) {
                Some(own) => own.spent += stage.spent,
                None => self.stages.push(stage),
            }
        }
    }

    fn work(&self) -> Duration {
        self.stages.iter().filter(|stage| stage.how != How::Before).map(|stage| stage.spent).sum()
    }

    /// The maximum speedup over one thread with any number of threads: the stages take at least as long as the slowest
    /// serial stage.
    fn bound(&self) -> Option<f64> {
        let longest = self.stages.iter().filter(|stage| stage.how == How::Serial).map(|stage| stage.spent).max()?;
        (longest > Duration::ZERO).then(|| self.work().as_secs_f64() / longest.as_secs_f64())
    }

    /// As lines of text.
    pub fn text(&self, threads: usize) -> String {
        let width = self.stages.iter().map(|stage| stage.does.chars().count()).max().unwrap_or(0).max("waiting".len());
        let mut text = format!("time in each stage, {:.2} s of work on {}\n", self.work().as_secs_f64(), counted(threads as u64, "thread"));
        for Stage { does, how, spent } in &self.stages {
            let _ = writeln!(text, "  {does:width$}  {:8.3} s  {}", spent.as_secs_f64(), how.text());
        }
        let _ = write!(text, "  {:width$}  {:8.3} s", "waiting", self.waiting.as_secs_f64());
        if let Some(bound) = self.bound() {
            let bound = if bound > 100.0 { "over 100".to_owned() } else { format!("at most {bound:.1}") };
            let _ = write!(text, "\n  with more threads, the run can be {bound} times as fast as with one");
        }
        text
    }

    /// As a JSON object.
    pub fn json(&self, threads: usize) -> Value {
        let stage = |Stage { does, how, spent }: &Stage| json!({"stage": does, "runs": how.text(), "seconds": spent.as_secs_f64()});
        json!({
            "kind": "time",
            "threads": threads,
            "stages": self.stages.iter().map(stage).collect::<Vec<_>>(),
            "waiting": self.waiting.as_secs_f64(),
            "bound": self.bound(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_serial_stage_bounds_the_speed() {
        let ms = Duration::from_millis;
        let measured = engine::Times { merged: None, source: ms(100), nodes: vec![ms(3000), ms(400)], waiting: ms(20) };
        let mut times = Times::new("read jsonl".into(), vec![("decode, encode".into(), false)], "write parquet".into(), &measured);
        times.before("infer types", ms(500));
        assert_eq!(
            times.text(2),
            "time in each stage, 3.50 s of work on 2 threads
  infer types        0.500 s  first
  read jsonl         0.100 s  one block at a time
  decode, encode     3.000 s  in parallel
  write parquet      0.400 s  one block at a time
  waiting            0.020 s
  with more threads, the run can be at most 8.8 times as fast as with one"
        );
        times.add(times.clone());
        assert_eq!((times.work(), times.bound()), (ms(7000), Some(8.75)));
    }
}
