//! The schema at the end of a chain, inferred from the first bytes of the inputs, or nothing. For completions and
//! advice, which must not keep a shell waiting.

use super::chain::Chain;
use super::combine::open_chain;
use super::inference::infer;
use super::setup::setup;
use super::start::Invocation;
use crate::demand::Demand;
use crate::error::Result;
use crate::schema::Schema;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Maximum time to keep a shell or an error message waiting.
const PATIENCE: Duration = Duration::from_millis(150);
/// Number of bytes read from each input.
const SAMPLE_BYTES: u64 = 64 << 10;

/// The schema that reaches the last verb, if it is found in time. The thread that computes it ends with the program.
pub fn outline(invocation: Invocation) -> Option<Schema> {
    let (found, result) = mpsc::sync_channel(1);
    thread::Builder::new().spawn(move || found.send(reaching(invocation))).ok()?;
    result.recv_timeout(PATIENCE).ok()?.ok()
}

fn reaching(invocation: Invocation) -> Result<Schema> {
    let Invocation { mut verbs, files, branches, options } = invocation;
    verbs.pop();
    let options = setup(options)?;
    let mut inputs = open_chain(&verbs, &files, &branches, options.clone())?;
    let schema = infer(&mut inputs, &Demand::everything(), Some(SAMPLE_BYTES), 1)?.schema;
    let mut chain = Chain::bind(&verbs, &schema, &options)?;
    Ok(chain.schemas.pop().map(|schema| schema.as_ref().clone()).unwrap_or_default())
}
