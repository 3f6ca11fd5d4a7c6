//! The schema at the end of a chain, inferred from the first bytes of the inputs, or nothing. For completions and
//! advice, which must not keep a shell waiting.

use super::chain::Chain;
use super::combine::open_chain;
use super::inference::infer;
use super::setup::setup;
use super::start::Invocation;
use super::tables::with_tables;
use crate::demand::Demand;
use crate::error::{Kind, Result};
use crate::schema::Schema;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Maximum time to keep a shell or an error message waiting.
const PATIENCE: Duration = Duration::from_millis(150);
/// Number of bytes read from each input.
const SAMPLE_BYTES: u64 = 64 << 10;

/// The schema that reaches the last verb, if it is found in time.
pub fn outline(mut invocation: Invocation) -> Option<Schema> {
    invocation.verbs.pop();
    in_time(invocation)?.ok()
}

/// Whether the chain is known not to fit its inputs: a field is unknown, or has the wrong type.
pub fn is_refused(invocation: Invocation) -> bool {
    matches!(in_time(invocation), Some(Err(error)) if error.kind() == Kind::Usage)
}

/// The schema after the last verb, if it is found in time. The thread that computes it ends with the program.
fn in_time(invocation: Invocation) -> Option<Result<Schema>> {
    // A pipe can be read only once.
    if invocation.verbs.iter().flat_map(|verb| verb.tables()).any(|(file, _)| !Path::new(&file).is_file()) {
        return None;
    }
    let (found, result) = mpsc::sync_channel(1);
    thread::Builder::new().spawn(move || found.send(resulting(invocation))).ok()?;
    result.recv_timeout(PATIENCE).ok()
}

fn resulting(invocation: Invocation) -> Result<Schema> {
    let Invocation { verbs, files, branches, options } = invocation;
    let options = with_tables(&verbs, setup(options)?)?;
    let mut inputs = open_chain(&verbs, &files, &branches, options.clone())?;
    let schema = infer(&mut inputs, &Demand::everything(), Some(SAMPLE_BYTES), 1)?.schema;
    let mut chain = Chain::bind(&verbs, &schema, &options)?;
    Ok(chain.schemas.pop().map(|schema| schema.as_ref().clone()).unwrap_or_default())
}
