//! Notices of a run: one line each on standard error about what is not an error, such as an inexact conversion. They
//! are errors under `--strict`.

use crate::error::{Error, Result};
use crate::printable::listed;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// The notices of a run. Clones share them. Any thread can add one; each is shown once, at the end.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<BTreeSet<String>>>);

impl Notices {
    /// Adds a notice, unless it is already present.
    ///
    /// # Errors
    /// With `strict`, the notice itself, as a data error.
    pub fn add(&self, text: impl Into<String>, strict: bool) -> Result<()> {
        if strict {
            return Err(Error::data(text).help("without --strict, this is only a notice"));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(text.into());
        Ok(())
    }

    /// Takes all notices, sorted.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}

/// At least this many notices that differ only in their field are shown as one.
const MANY: usize = 5;
/// So many of their fields are named.
const NAMED: usize = 3;

/// Notices to show: those that say the same of many fields or files (`FIELD: TEXT`) become one.
pub fn grouped(notices: Vec<String>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for notice in notices {
        let (field, text) = notice.split_once(": ").unwrap_or(("", &notice));
        let place = *places.entry(text.to_owned()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((text.to_owned(), Vec::new()));
        }
        groups[place].1.push(field.to_owned());
    }
    let line = |field: &str, text: &str| if field.is_empty() { text.to_owned() } else { format!("{field}: {text}") };
    let lines = groups.iter().flat_map(|(text, fields)| match fields.len() {
        n if n < MANY => fields.iter().map(|field| line(field, text)).collect(),
        _ => vec![line(&listed(fields.iter(), NAMED), text)],
    });
    lines.collect()
}

/// A number shared by its clones; any thread can add to it.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<u64>>);

impl Tally {
    /// Adds to the number.
    pub fn add(&self, n: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += n;
    }

    /// Takes the number and resets it.
    pub fn take(&self) -> u64 {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_about_many_fields_are_one() {
        let of = |fields: &[&str]| fields.iter().map(|field| format!("{field}: is cut")).collect::<Vec<_>>();
        assert_eq!(grouped(of(&["a", "b"])), ["a: is cut", "b: is cut"]);
        let mut many = of(&["a", "b", "c", "d", "e"]);
        many.extend(["a: is new".to_owned(), "3 files are read".to_owned()]);
        assert_eq!(grouped(many), ["a, b, c, and 2 more: is cut", "a: is new", "3 files are read"]);
    }
}
