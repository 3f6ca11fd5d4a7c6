//! The dataset that a report compares with, which is read before the run through the same report.

use super::chain::Chain;
use super::execute::Execution;
use super::inference::{infer, of_a_pipe};
use super::inputs::Inputs;
use super::progress::Progress;
use crate::demand::Demand;
use crate::error::{Error, Kind, Result};
use crate::options::{OnError, Options};
use crate::verbs::Parsed;
use std::ffi::OsString;
use std::sync::Arc;

/// Number of bytes of a regular file first read for its schema.
const SAMPLE_BYTES: u64 = 4 << 20;

/// The options with the result for the baseline of the last verb.
///
/// # Errors
/// The baseline cannot be read.
pub fn with_baseline(verbs: &[Box<dyn Parsed>], options: Arc<Options>) -> Result<Arc<Options>> {
    let Some((file, verb)) = verbs.last().and_then(|verb| Some((verb.baseline()?, verb))) else { return Ok(options) };
    if options.dry_run {
        return Ok(options);
    }
    let own = Options { from: None, files_from: None, input_name: None, on_error: OnError::Fail, ..options.as_ref().clone() };
    let own = Arc::new(Options { splits_beside: true, ..own });
    let mut inputs = Inputs::open(std::slice::from_ref(&file), own.clone())?;
    let has_splits = inputs.have_splits();
    let demand = verb.demand(Demand::everything());
    let report = read(&file, std::slice::from_ref(verb), &mut inputs, &demand, &own)?;
    let splits_beside = options.splits_beside || has_splits;
    Ok(Arc::new(Options { baseline: Some(report), splits_beside, ..options.as_ref().clone() }))
}

type Baseline = Arc<dyn std::any::Any + Send + Sync>;

fn read(file: &OsString, verb: &[Box<dyn Parsed>], inputs: &mut Inputs, demand: &Demand, options: &Arc<Options>) -> Result<Baseline> {
    let is_regular = inputs.are_regular();
    inputs.remember(u64::MAX);
    let sample = if is_regular { SAMPLE_BYTES } else { options.infer_bytes };
    let mut schema = infer(inputs, demand, Some(sample), options.threads)?.schema;
    inputs.remember(0);
    let progress = Progress::start(inputs.nbytes(), options);
    let execution = Execution { outputs: &[], options, demand, format: None, progress: &progress, of_values: false, read: &[] };
    let mut may_restart = is_regular;
    loop {
        let chain = Chain::bind(verb, &schema, options).map_err(|e| match e.location().input {
            None => e.in_input(file.display().to_string()),
            Some(_) => e,
        })?;
        match execution.run(inputs, schema, chain) {
            Err(error) if error.kind() == Kind::Widened && may_restart => {
                may_restart = false;
                inputs.reopen()?;
                schema = infer(inputs, demand, None, options.threads)?.schema;
            }
            result => {
                progress.finish();
                let done = result.map_err(|error| if is_regular { error } else { of_a_pipe(error) })?;
                if done.counts.records_in == 0 {
                    options.notices.add(format!("{}: this input has no records to compare with", file.display()), options.strict)?;
                }
                let baseline = done.report.map(|report| report.into_baseline()).transpose()?.flatten();
                return baseline.ok_or_else(|| Error::internal("a report that cannot be compared with"));
            }
        }
    }
}
