//! `interleave`: alternates between inputs, a block of records at a time.

use super::combine::{Chooser, Combination, Combined, Sources, check_inputs};
use super::shared::args::positive;
use super::verb::{Example, Verb};
use crate::error::Result;
use crate::options::Options;
use std::ffi::OsString;
use std::sync::Arc;

/// Some records of each input in turn.
#[derive(clap::Args, Clone, Debug)]
pub struct Interleave {
    /// Inputs read at the same time [default: all]
    #[arg(long, value_name = "C", value_parser = positive)]
    cycle: Option<usize>,
    /// Consecutive records taken from an input
    #[arg(long, value_name = "B", default_value = "1", value_parser = positive)]
    block: usize,
}

impl Verb for Interleave {
    const NAME: &'static str = "interleave";
    const SUMMARY: &'static str = "Interleave the records of several inputs";
    const ABOUT: &'static str = "\
Takes B consecutive records from each of C inputs in turn. An input that ends is replaced by the next one when its turn comes. Every \
record is written exactly once. Every file of a glob, NAME@N or directory is a separate input: interleave --cycle 4 'train@128.tfrecord'. \
`interleave` is the first verb of a chain, and its inputs follow it: interleave A B then batch 32. The schemas of the inputs are unified \
as for several FILEs.";
    const MEANING: &'static str = "tf.data.Dataset.interleave";
    const COMBINES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "one record from each file in turn",
            args: "interleave a.jsonl b.jsonl",
            input: "==> a.jsonl <==\n{\"a\": 1}\n{\"a\": 2}\n==> b.jsonl <==\n{\"a\": 3}\n{\"a\": 4}\n{\"a\": 5}\n",
            output: "{\"a\":1}\n{\"a\":3}\n{\"a\":2}\n{\"a\":4}\n{\"a\":5}\n",
        },
        Example {
            about: "two records at a time, from two files at a time",
            args: "interleave --cycle 2 --block 2 a.jsonl b.jsonl c.jsonl",
            input: "==> a.jsonl <==\n{\"a\": 1}\n{\"a\": 1}\n{\"a\": 1}\n==> b.jsonl <==\n{\"a\": 2}\n{\"a\": 2}\n==> c.jsonl <==\n{\"a\": 3}\n",
            output: "{\"a\":1}\n{\"a\":1}\n{\"a\":2}\n{\"a\":2}\n{\"a\":1}\n{\"a\":3}\n",
        },
    ];

    fn combine(&self, inputs: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        check_inputs(Self::NAME, &inputs, 1, options)?;
        let (cycle, block) = (self.cycle, self.block);
        let turns = move || -> Box<dyn Chooser> { Box::new(Turns { cycle, block, slots: Vec::new(), slot: 0, taken: 0, next: 0 }) };
        Ok(Some(Combined { inputs, each_file: true, how: Combination::Chosen(Arc::new(turns)) }))
    }
}

struct Turns {
    cycle: Option<usize>,
    block: usize,
    /// The inputs currently being read, in turn. An empty slot takes the next input; without one, it is removed.
    slots: Vec<Option<usize>>,
    /// The position of the current input.
    slot: usize,
    /// Records taken from it in this turn.
    taken: usize,
    /// The next input to open.
    next: usize,
}

impl Turns {
    fn pass(&mut self) {
        self.slot = (self.slot + 1) % self.slots.len();
        self.taken = 0;
    }
}

impl Chooser for Turns {
    fn next(&mut self, sources: &mut dyn Sources) -> Result<Option<usize>> {
        let ninputs = sources.count();
        if self.slots.is_empty() {
            self.slots = vec![None; self.cycle.unwrap_or(ninputs).min(ninputs).max(1)];
        }
        loop {
            match self.slots[self.slot] {
                Some(source) if sources.has_more(source)? => {
                    self.taken += 1;
                    if self.taken == self.block {
                        self.pass();
                    }
                    return Ok(Some(source));
                }
                Some(_) => {
                    self.slots[self.slot] = None;
                    self.pass();
                }
                None if self.next < ninputs => {
                    self.slots[self.slot] = Some(self.next);
                    self.next += 1;
                }
                None => {
                    self.slots.remove(self.slot);
                    if self.slots.is_empty() {
                        return Ok(None);
                    }
                    self.slot %= self.slots.len();
                }
            }
        }
    }
}
