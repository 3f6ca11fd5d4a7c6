//! `choose`: records of several inputs in a given order.

use super::combine::{Chooser, Combination, Combined, Sources, Stop, check_inputs};
use super::verb::{Example, Verb};
use crate::error::{Error, Result};
use crate::options::Options;
use std::ffi::OsString;
use std::sync::Arc;

/// Records of several inputs in a given order.
#[derive(clap::Args, Clone, Debug)]
pub struct Choose {
    /// Field of the first input that contains the number of the input to read next, counted from 0
    #[arg(long, value_name = "FIELD")]
    by: String,
    /// What to do when the chosen input has no records left
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Stop::First)]
    stop: Stop,
}

impl Verb for Choose {
    const NAME: &'static str = "choose";
    const SUMMARY: &'static str = "Take each record from the input that a field selects";
    const ABOUT: &'static str = "\
`choose --by FIELD CHOICES A B C` reads an integer from each record of CHOICES, the first FILE: 0 takes the next record from A, 1 from B, and so on. \
The fields of CHOICES are not written. \
The stream ends when CHOICES ends or, with --stop first (the default), as soon as the chosen input has no records left; with --stop all, \
such choices are skipped. `choose` is the first verb of a chain, and its inputs follow it. The schemas of A, B, C are unified \
as for several FILEs.";
    const MEANING: &'static str = "tf.data.Dataset.choose_from_datasets";
    const COMBINES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "two records of b.jsonl, then one of a.jsonl",
            args: "choose --by from choices.jsonl a.jsonl b.jsonl",
            input: "==> choices.jsonl <==\n{\"from\": 1}\n{\"from\": 1}\n{\"from\": 0}\n==> a.jsonl <==\n{\"x\": \"a\"}\n==> b.jsonl <==\n{\"x\": \"b\"}\n{\"x\": \"c\"}\n{\"x\": \"d\"}\n",
            output: "{\"x\":\"b\"}\n{\"x\":\"c\"}\n{\"x\":\"a\"}\n",
        },
        Example {
            about: "choices of an input that has ended are skipped",
            args: "choose --by from --stop all choices.jsonl a.jsonl b.jsonl",
            input: "==> choices.jsonl <==\n{\"from\": 0}\n{\"from\": 0}\n{\"from\": 1}\n==> a.jsonl <==\n{\"x\": \"a\"}\n==> b.jsonl <==\n{\"x\": \"b\"}\n",
            output: "{\"x\":\"a\"}\n{\"x\":\"b\"}\n",
        },
    ];

    fn combine(&self, inputs: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        check_inputs(Self::NAME, &inputs, 2, options)?;
        let (stop, skip) = (self.stop, options.on_error.skips());
        let how = Combination::Listed(Arc::new(move || Box::new(Choices { stop, skip })), self.by.clone());
        Ok(Some(Combined { inputs, each_file: false, how }))
    }
}

struct Choices {
    stop: Stop,
    /// Whether the run skips bad records.
    skip: bool,
}

impl Chooser for Choices {
    fn next(&mut self, sources: &mut dyn Sources) -> Result<Option<usize>> {
        while let Some(number) = sources.listed()? {
            let source = usize::try_from(number).ok().filter(|source| *source < sources.count()).ok_or_else(|| {
                let expected = match sources.count().saturating_sub(1) {
                    0 => "0".to_owned(),
                    1 => "0 or 1".to_owned(),
                    last => format!("0 to {last}"),
                };
                let error = Error::data(format!("invalid input number {number}: expected {expected}"));
                match self.skip {
                    true => error.help("--on-error does not apply to `choose`: drop such records in brackets: [ filter CONDITION FILE ]"),
                    false => error,
                }
            })?;
            if sources.has_more(source)? {
                return Ok(Some(source));
            }
            if self.stop == Stop::First {
                return Ok(None);
            }
        }
        Ok(None)
    }
}
