//! Notices of a run: one line each on standard error about what is not an error, such as an inexact conversion. They
//! are errors under `--strict`.

use crate::error::{Error, Message, Result};
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
    pub fn add(&self, text: impl Into<Message>, strict: bool) -> Result<()> {
        if strict {
            return Err(Error::data(text).help("without --strict, this is only a notice"));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(text.into().to_string());
        Ok(())
    }

    /// Adds a notice about the input with that name.
    ///
    /// # Errors
    /// See [`Notices::add`].
    pub fn add_about(&self, input: &str, text: impl std::fmt::Display, strict: bool) -> Result<()> {
        let text = if strict { text.to_string() } else { format!("{input}: {text}") };
        self.add(text, strict).map_err(|error| error.in_input(input))
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

/// Notices to show, in the same order: those that say the same of many fields or files (`FIELD: TEXT`) become one.
pub fn grouped(notices: Vec<String>) -> Vec<String> {
    let parts = |notice: &str| notice.split_once(": ").map(|(field, text)| (field.to_owned(), text.to_owned()));
    let mut fields: HashMap<String, Vec<String>> = HashMap::new();
    for (field, text) in notices.iter().filter_map(|notice| parts(notice)) {
        fields.entry(text).or_default().push(field);
    }
    fields.retain(|_, fields| fields.len() >= MANY);
    let line = |notice: String| match parts(&notice) {
        Some((first, text)) if fields.get(&text).is_some_and(|fields| fields[0] == first) => {
            Some(format!("{}: {text}", listed(fields[&text].iter(), NAMED)))
        }
        Some((_, text)) if fields.contains_key(&text) => None,
        _ => Some(notice),
    };
    notices.into_iter().filter_map(line).collect()
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
        many.insert(1, "aa: is new".to_owned());
        many.push("3 files are read".to_owned());
        assert_eq!(grouped(many), ["a, b, c, and 2 more: is cut", "aa: is new", "3 files are read"]);
    }
}
