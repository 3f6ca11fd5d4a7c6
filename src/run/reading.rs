//! The options of an input with its own chain: those of the run, except for reading options given in its brackets.

use crate::options::Options;

type Take = fn(&mut Options, Options);

/// The options that can be given for a single input, by their names in the code.
const OPTIONS: [(&str, Take); 23] = [
    ("from", |own, said| own.from = said.from),
    ("input_name", |own, said| own.input_name = said.input_name),
    ("files_from", |own, said| own.files_from = said.files_from),
    ("null_separated", |own, said| own.null_separated = said.null_separated),
    ("schema", |own, said| own.schema = said.schema),
    ("source", |own, said| own.source_columns = said.source_columns),
    ("seed", |own, said| own.seed = said.seed),
    ("max_record_bytes", |own, said| own.max_record_bytes = said.max_record_bytes),
    ("scalar", |own, said| own.scalar = said.scalar),
    ("no_verify", |own, said| own.no_verify = said.no_verify),
    ("mixed", |own, said| own.mixed = said.mixed),
    ("infer_bytes", |own, said| own.infer_bytes = said.infer_bytes),
    ("split", |own, said| own.split = said.split),
    ("class_names", |own, said| own.class_names = said.class_names),
    ("index_base", |own, said| own.index_base = said.index_base),
    ("sum_duplicates", |own, said| own.sum_duplicates = said.sum_duplicates),
    ("delimiter", |own, said| own.csv.delimiter = said.csv.delimiter),
    ("quote", |own, said| own.csv.quote = said.csv.quote),
    ("list_separator", |own, said| own.csv.list_separator = said.csv.list_separator),
    ("nulls", |own, said| own.csv.nulls = said.csv.nulls),
    ("columns", |own, said| own.csv.columns = said.csv.columns),
    ("raw_members", |own, said| own.raw_members = said.raw_members),
    ("documents", |own, said| own.megatron.documents = said.megatron.documents),
];

/// Whether an option can be given for a single input.
pub fn is_of_an_input(option: &str) -> bool {
    OPTIONS.iter().any(|(name, _)| *name == option)
}

/// The options of the run, overridden by those given for an input.
pub fn within(run: &Options, given: &[String], said: &Options) -> Options {
    let mut own = Options { only: None, ..run.clone() };
    for (_, take) in OPTIONS.iter().filter(|(name, _)| given.iter().any(|given| given == name)) {
        take(&mut own, said.clone());
    }
    own
}
