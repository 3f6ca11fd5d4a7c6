//! `mix`: draws records from several inputs.

use super::combine::{Chooser, Combination, Combined, Sources, check_inputs};
use super::shared::seed::Seed;
use super::verb::{Example, Verb};
use crate::error::{Error, Result, mismatch};
use crate::io::in_brackets;
use crate::options::Options;
use crate::random::{Random, Stream};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Draws records from several inputs.
#[derive(clap::Args, Clone, Debug)]
pub struct Mix {
    /// When the stream ends
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Stop::All)]
    stop: Stop,
    #[command(flatten)]
    seed: Seed,
}

/// Where the stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Stop {
    /// When an input with no records left is drawn
    First,
    /// When all inputs have ended: every record is written once
    All,
    /// When every input has been read to its end; shorter ones are read again
    Repeat,
}

impl Verb for Mix {
    const NAME: &'static str = "mix";
    const SUMMARY: &'static str = "Sample records from several inputs at random";
    const ABOUT: &'static str = "\
`mix A=0.7 B=0.2 C=0.1` takes each record from an input chosen at random with these weights; without weights, all inputs are equally likely. Each \
input keeps its order. An input is a file, a quoted glob, NAME@N or a directory: 'web/*.parquet=0.7'. `mix` is the first verb of a chain, \
and its inputs follow it: mix A B then batch 32.

With --stop all (the default), when an input ends, records are drawn from the others, so that every record is written exactly once. With \
--stop first, the stream ends when a record is drawn from an input that has none left. With --stop repeat, inputs that have ended are read \
again until each has been read to its end; --summary counts the records that were repeated.

The schemas of the inputs are unified as for several FILEs. The draws depend only on --seed. For an input with a chain, the weight \
follows the closing bracket: mix a.jsonl=0.5 [ filter 'len(tokens) > 0' b.jsonl ]=0.5.";
    const MEANING: &'static str = "tf.data.Dataset.sample_from_datasets";
    const COMBINES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "every record once; the first input is drawn three times as often until one runs out",
            args: "mix a.jsonl=0.75 b.jsonl=0.25 --seed 2",
            input: "==> a.jsonl <==\n{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n==> b.jsonl <==\n{\"a\": -1}\n{\"a\": -2}\n",
            output: "{\"a\":-1}\n{\"a\":1}\n{\"a\":-2}\n{\"a\":2}\n{\"a\":3}\n",
        },
        Example {
            about: "a chain for each of two inputs",
            args: "mix [ filter 'len(t) > 0' a.jsonl ]=0.8 [ rename u=t then head 1 b.jsonl ]=0.2",
            input: "==> a.jsonl <==\n{\"t\": [1]}\n{\"t\": []}\n{\"t\": [2, 3]}\n==> b.jsonl <==\n{\"u\": [0.5]}\n{\"u\": [1.5]}\n",
            output: "{\"t\":[1.0]}\n{\"t\":[2.0,3.0]}\n{\"t\":[0.5]}\n",
        },
        Example {
            about: "the shorter input is read again",
            args: "mix a.jsonl b.jsonl --stop repeat --seed 3 then enumerate",
            input: "==> a.jsonl <==\n{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n==> b.jsonl <==\n{\"a\": -1}\n",
            output: "{\"index\":0,\"a\":1}\n{\"index\":1,\"a\":-1}\n{\"index\":2,\"a\":-1}\n{\"index\":3,\"a\":2}\n{\"index\":4,\"a\":3}\n",
        },
    ];

    fn combine(&self, words: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        let (inputs, weights): (Vec<OsString>, Vec<Option<f64>>) = words.iter().map(|word| weighted(word)).collect::<Result<_>>()?;
        check_inputs(Self::NAME, &inputs, 2, options)?;
        let is_number = |word: &&OsString| word.to_str().is_some_and(|text| text.parse::<f64>().is_ok()) && !Path::new(word).exists();
        if let Some(weight) = inputs.iter().find(is_number) {
            let error = Error::usage(mismatch("an input", format_args!("the number {}", weight.display())));
            return Err(error.help("append each weight to its input: mix a.jsonl=0.7 b.jsonl=0.3"));
        }
        if let Some(without) = weights.iter().position(Option::is_none)
            && weights.iter().any(Option::is_some)
        {
            let name = inputs[without].display();
            let error = Error::usage(format!("{name} has no weight, but another input has one"));
            return Err(error.help(format!("write {name}=WEIGHT, or omit all weights to weight the inputs equally")));
        }
        let weights: Vec<f64> = weights.into_iter().map(|weight| weight.unwrap_or(1.0)).collect();
        // Only their ratios matter, but their sum must be finite.
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let weights: Vec<f64> = if largest > MAX_WEIGHT { weights.iter().map(|weight| weight / largest).collect() } else { weights };
        let (random, stop) = (self.seed.random(Stream::Mix, options), self.stop);
        let draws = move || -> Box<dyn Chooser> {
            Box::new(Draws { weights: weights.clone(), has_ended: vec![false; weights.len()], random: random.clone(), stop })
        };
        Ok(Some(Combined { inputs, each_file: false, how: Combination::Chosen(Arc::new(draws)) }))
    }
}

/// The sum of many weights up to this one is finite.
const MAX_WEIGHT: f64 = 1e300;

/// Parses `FILE=WEIGHT` or `FILE`. An existing file with exactly that name takes precedence.
fn weighted(word: &OsStr) -> Result<(OsString, Option<f64>)> {
    let bytes = word.as_bytes();
    let (input, text) = match in_brackets(word) {
        Some((chain, weight)) => match weight.as_bytes().strip_prefix(b"=") {
            Some(text) => (chain, text),
            None => return Ok((word.to_owned(), None)),
        },
        None => match bytes.iter().rposition(|b| *b == b'=').filter(|_| !Path::new(word).exists()) {
            Some(at) => (OsStr::from_bytes(&bytes[..at]), &bytes[at + 1..]),
            None => return Ok((word.to_owned(), None)),
        },
    };
    let text = String::from_utf8_lossy(text);
    match text.parse::<f64>() {
        Ok(weight) if weight > 0.0 && weight.is_finite() => Ok((input.to_owned(), Some(weight))),
        _ => Err(Error::usage(format!("{}: {text:?} is not a weight: expected a positive number", word.display()))
            .help("weights do not have to add up to 1: mix a.jsonl=7 b.jsonl=3")),
    }
}

struct Draws {
    weights: Vec<f64>,
    /// Whether each input has reached its end at least once.
    has_ended: Vec<bool>,
    random: Random,
    stop: Stop,
}

impl Chooser for Draws {
    fn next(&mut self, sources: &mut dyn Sources) -> Result<Option<usize>> {
        loop {
            if self.stop == Stop::Repeat {
                for source in 0..self.weights.len() {
                    // Checked ahead of the next draw, so that no record is repeated needlessly.
                    self.has_ended[source] = self.has_ended[source] || !sources.has_more(source)?;
                }
                if self.has_ended.iter().all(|ended| *ended) {
                    return Ok(None);
                }
            }
            let Some(drawn) = self.draw() else { return Ok(None) };
            if sources.has_more(drawn)? {
                return Ok(Some(drawn));
            }
            match self.stop {
                Stop::First => return Ok(None),
                Stop::All => self.weights[drawn] = 0.0,
                Stop::Repeat => {
                    sources.restart(drawn)?;
                    if sources.has_more(drawn)? {
                        return Ok(Some(drawn));
                    }
                    // The input is empty.
                    self.weights[drawn] = 0.0;
                }
            }
        }
    }

    fn restarts(&self) -> bool {
        self.stop == Stop::Repeat
    }
}

impl Draws {
    /// Draws an input by weight; `None` if none is left.
    fn draw(&mut self) -> Option<usize> {
        let sum: f64 = self.weights.iter().sum();
        let mut at = self.random.uniform(53) * sum;
        let mut last = None;
        for (source, weight) in self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            if at < *weight {
                return Some(source);
            }
            at -= weight;
            last = Some(source);
        }
        // Reached only through rounding.
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test inputs, of which only the number of records matters.
    struct Counted {
        records: Vec<u64>,
        left: Vec<u64>,
    }

    impl Sources for Counted {
        fn count(&self) -> usize {
            self.records.len()
        }
        fn has_more(&mut self, source: usize) -> Result<bool> {
            Ok(self.left[source] > 0)
        }
        fn restart(&mut self, source: usize) -> Result<()> {
            self.left[source] = self.records[source];
            Ok(())
        }
        fn listed(&mut self) -> Result<Option<i64>> {
            Ok(None)
        }
    }

    /// The number of records of each input among the first `most`.
    fn drawn(records: &[u64], weights: &[f64], stop: Stop, seed: u64, most: usize) -> Vec<u64> {
        let mut sources = Counted { records: records.to_vec(), left: records.to_vec() };
        let mut draws =
            Draws { weights: weights.to_vec(), has_ended: vec![false; weights.len()], random: Random::of(Stream::Mix, seed), stop };
        let mut counts = vec![0; records.len()];
        for _ in 0..most {
            let Some(source) = draws.next(&mut sources).unwrap() else { break };
            sources.left[source] -= 1;
            counts[source] += 1;
        }
        counts
    }

    #[test]
    fn every_record_comes_out_once() {
        for records in [vec![0, 1, 1_000_000], vec![1_000_000, 0, 1], vec![0, 0, 0], vec![1, 1, 1], vec![7, 0, 3]] {
            for (seed, weights) in [(0, [1.0, 1.0, 1.0]), (1, [0.9, 0.09, 0.01]), (2, [1e-9, 1e9, 1.0])] {
                assert_eq!(drawn(&records, &weights, Stop::All, seed, usize::MAX), records, "{weights:?}");
            }
        }
    }

    #[test]
    fn repeated_inputs_are_read_to_their_ends() {
        for seed in 0..20 {
            let counts = drawn(&[3, 50, 0], &[0.5, 0.4, 0.1], Stop::Repeat, seed, usize::MAX);
            assert!(counts[0] >= 3 && counts[1] >= 50 && counts[2] == 0, "{counts:?}");
            assert!(counts[0] == 3 || counts[1] == 50, "no more than is needed: {counts:?}");
        }
        assert_eq!(drawn(&[0, 0], &[1.0, 1.0], Stop::Repeat, 0, usize::MAX), [0, 0]);
    }

    /// Within five standard deviations of the binomial distribution, for each of 100 seeds.
    #[test]
    fn shares_are_those_of_the_weights() {
        let (weights, n) = ([0.7, 0.2, 0.1], 5000);
        for seed in 0..100 {
            let counts = drawn(&[u64::MAX; 3], &weights, Stop::First, seed, n);
            for (count, weight) in counts.iter().zip(weights) {
                let mean = weight * n as f64;
                let deviation = (mean * (1.0 - weight)).sqrt();
                assert!((*count as f64 - mean).abs() < 5.0 * deviation, "{counts:?} with seed {seed}");
            }
        }
    }
}
