//! `zip`: the records of several inputs side by side.

use super::combine::{Combination, Combined, check_inputs};
use super::verb::{Example, Verb};
use crate::error::{Error, Result, mismatch};
use crate::options::Options;
use crate::path;
use std::ffi::OsString;

/// The records of several inputs side by side.
#[derive(clap::Args, Clone, Debug)]
pub struct Zip {
    /// Put the fields of each input into a structure of this name
    #[arg(long = "as", value_name = "NAME,..", value_parser = parse_names)]
    names: Option<Names>,
    /// Stop at the end of the shortest input; without it, inputs of different lengths are an error
    #[arg(long)]
    shortest: bool,
}

impl Verb for Zip {
    const NAME: &'static str = "zip";
    const SUMMARY: &'static str = "Join the records of several inputs by position";
    const ABOUT: &'static str = "\
Record i of the output has the fields of record i of every input, in the order of the inputs; field names must be unique. With --as a,b, \
each input becomes a structure of that name: {a: {...}, b: {...}}. Inputs of different lengths are an error; --shortest ends with the shortest. \
`zip` is the first verb of a chain, and its inputs follow it: zip A B then batch 32. Records are matched by position only, so a bad record \
in any input is an error, even with --on-error skip. To match them by key, use `lookup`, or DuckDB on Parquet files.";
    const MEANING: &'static str = "tf.data.Dataset.zip";
    const COMBINES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "texts and their labels, from two files",
            args: "zip texts.jsonl labels.jsonl",
            input: "==> texts.jsonl <==\n{\"text\": \"a b\"}\n{\"text\": \"c\"}\n==> labels.jsonl <==\n{\"label\": 1}\n{\"label\": 0}\n",
            output: "{\"text\":\"a b\",\"label\":1}\n{\"text\":\"c\",\"label\":0}\n",
        },
        Example {
            about: "fields with the same name; truncate the longer input",
            args: "zip --as x,y --shortest a.jsonl b.jsonl",
            input: "==> a.jsonl <==\n{\"id\": 1}\n{\"id\": 2}\n==> b.jsonl <==\n{\"id\": 10}\n",
            output: "{\"x\":{\"id\":1},\"y\":{\"id\":10}}\n",
        },
        Example {
            about: "one input without a field that both have, the other with its records numbered",
            args: "zip [ drop id texts.jsonl ] [ enumerate labels.jsonl ]",
            input: "==> texts.jsonl <==\n{\"id\": 7, \"text\": \"a b\"}\n{\"id\": 8, \"text\": \"c\"}\n==> labels.jsonl <==\n{\"id\": 7, \"label\": 1}\n{\"id\": 8, \"label\": 0}\n",
            output: "{\"text\":\"a b\",\"index\":0,\"id\":7,\"label\":1}\n{\"text\":\"c\",\"index\":1,\"id\":8,\"label\":0}\n",
        },
    ];

    fn combine(&self, inputs: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        check_inputs(Self::NAME, &inputs, 2, options)?;
        let names = self.names.as_ref().map(|Names(names)| names.clone());
        if let Some(names) = names.as_ref().filter(|names| names.len() != inputs.len()) {
            let error = mismatch(format_args!("a name for each of {} inputs", inputs.len()), names.len())
                .prefixed(format_args!("--as {}", names.join(",")));
            return Err(Error::usage(error));
        }
        Ok(Some(Combined { inputs, each_file: false, how: Combination::Zipped { names, shortest: self.shortest } }))
    }
}

/// A name for each input.
#[derive(Clone, Debug)]
struct Names(Vec<String>);

fn parse_names(text: &str) -> Result<Names> {
    let names: Vec<String> = path::split(text, ',')?.into_iter().map(path::new_name).collect::<Result<_>>()?;
    match names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        Some((_, twice)) => Err(Error::usage(format!("{twice} appears twice"))),
        None => Ok(Names(names)),
    }
}
