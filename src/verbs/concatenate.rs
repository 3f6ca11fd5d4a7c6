//! `concatenate`: several inputs one after the other.

use super::combine::{Chooser, Combination, Combined, Sources, check_inputs};
use super::verb::{Example, Verb};
use crate::error::Result;
use crate::options::Options;
use std::ffi::OsString;
use std::sync::Arc;

/// Several inputs one after the other.
#[derive(clap::Args, Clone, Debug)]
pub struct Concatenate {}

impl Verb for Concatenate {
    const NAME: &'static str = "concatenate";
    const SUMMARY: &'static str = "Concatenate several inputs";
    const ABOUT: &'static str = "\
Writes all records of the first input, then all of the second, and so on. To join plain files, no verb is needed: `tatter convert a.jsonl b.jsonl`. \
`concatenate` is for inputs with their own chains or options. It is the first verb of a chain, and its inputs follow \
it: concatenate A B then batch 32. The schemas of the inputs are unified as for several FILEs.";
    const MEANING: &'static str = "tf.data.Dataset.concatenate";
    const COMBINES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the old file uses a different name for the field",
            args: "concatenate [ rename t=text old.jsonl ] new.jsonl",
            input: "==> old.jsonl <==\n{\"t\": \"a\"}\n==> new.jsonl <==\n{\"text\": \"b\"}\n",
            output: "{\"text\":\"a\"}\n{\"text\":\"b\"}\n",
        },
        Example {
            about: "two records from each of two files, with the name of the file",
            args: "concatenate [ head 2 a.jsonl --source file ] [ head 2 b.jsonl --source file ]",
            input: "==> a.jsonl <==\n{\"x\": 1}\n{\"x\": 2}\n{\"x\": 3}\n==> b.jsonl <==\n{\"x\": 4}\n",
            output: "{\"x\":1,\"file\":\"a.jsonl\"}\n{\"x\":2,\"file\":\"a.jsonl\"}\n{\"x\":4,\"file\":\"b.jsonl\"}\n",
        },
    ];

    fn combine(&self, inputs: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        check_inputs(Self::NAME, &inputs, 1, options)?;
        let in_order = || -> Box<dyn Chooser> { Box::new(InOrder { source: 0 }) };
        Ok(Some(Combined { inputs, each_file: false, how: Combination::Chosen(Arc::new(in_order)) }))
    }
}

struct InOrder {
    /// The input that is read now.
    source: usize,
}

impl Chooser for InOrder {
    fn next(&mut self, sources: &mut dyn Sources) -> Result<Option<usize>> {
        while self.source < sources.count() {
            if sources.has_more(self.source)? {
                return Ok(Some(self.source));
            }
            self.source += 1;
        }
        Ok(None)
    }
}
