//! The chain that an input has of its own, as it was typed: `[ filter 'x > 0' a.jsonl ]`.

use crate::options::Options;
use crate::verbs::Parsed;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

/// The chains in brackets, by the words that are given to the verb in their place.
pub type Branches = BTreeMap<OsString, Branch>;

/// An input with a chain.
pub struct Branch {
    /// The verbs, in order.
    pub verbs: Arc<[Box<dyn Parsed>]>,
    /// The input files.
    pub files: Vec<OsString>,
    /// Inputs of the first verb that have chains of their own.
    pub branches: Branches,
    /// The options in the brackets.
    pub options: Options,
    /// Which of them were typed, by their names in the code.
    pub given: Vec<String>,
}
