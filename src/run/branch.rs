//! The chain of a single input: `[ filter 'x > 0' a.jsonl ]`.

use crate::options::Options;
use crate::verbs::Parsed;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

/// The chains in brackets, keyed by the words that replace them.
pub type Branches = BTreeMap<OsString, Branch>;

/// An input with a chain.
pub struct Branch {
    /// The verbs, in order.
    pub verbs: Arc<[Box<dyn Parsed>]>,
    /// The input files.
    pub files: Vec<OsString>,
    /// Inputs of the first verb that have their own chains.
    pub branches: Branches,
    /// The options given in the brackets.
    pub options: Options,
    /// The options that were given, by their names in the code.
    pub given: Vec<String>,
}
