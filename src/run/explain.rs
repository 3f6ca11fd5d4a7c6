//! `--dry-run`: the plan as text.

use super::chain::Chain;
use super::inputs::Inputs;
use crate::error::{Error, Result};
use crate::io::Outputs;
use crate::options::Options;
use crate::schema::{Schema, notation};
use crate::verbs::Parsed;
use std::io::Write;

/// Prints the inputs, the schema between all verbs and the output.
///
/// # Errors
/// Writing fails.
pub fn explain(inputs: &Inputs, verbs: &[Box<dyn Parsed>], chain: &Chain, output: &str, output_format: &str) -> Result<()> {
    let mut text = String::new();
    for opened in inputs.iter() {
        text += &format!("input   {} ({})\n", opened.input.name(), opened.format.name());
    }
    let mut stage = |title: &str, schema: &Schema| {
        text += &format!("{title}\n");
        for line in notation::lines(schema).lines() {
            text += &format!("    {line}\n");
        }
    };
    stage("schema in", &chain.schemas[0]);
    for (verb, schema) in verbs.iter().zip(chain.schemas.iter().skip(1)) {
        stage(&format!("after {}", verb.name()), schema);
    }
    text += &format!("output  {output} ({output_format})\n");
    let out = Outputs::plan(&Options::default())?;
    let mut stdout = out.create(0)?;
    stdout.write_all(text.as_bytes()).map_err(|e| Error::io("standard output", "writing failed", &e))?;
    drop(stdout);
    out.commit()
}
