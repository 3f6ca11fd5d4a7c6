//! Columns with the same name. Field names must be unique, so all but the first are renamed.

use crate::error::Result;
use crate::options::Options;
use crate::path::quoted;
use crate::schema::Field;
use std::collections::{HashMap, HashSet};

/// Renamed columns, with old and new names.
pub type Renamed = Vec<(String, String)>;

/// The number of renamed columns that are named.
const NOTICES: usize = 3;

/// Gives columns with the same name distinct names: `x`, `x_2`, `x_3`.
pub fn distinct<'a>(names: impl IntoIterator<Item = &'a mut String>) -> Renamed {
    let names: Vec<&mut String> = names.into_iter().collect();
    let mut taken: HashSet<String> = names.iter().map(|name| name.to_string()).collect();
    let (mut seen, mut renamed) = (HashSet::new(), Vec::new());
    // The next number to try for each name.
    let mut next: HashMap<String, u64> = HashMap::new();
    for name in names {
        if seen.insert(name.clone()) {
            continue;
        }
        let number = next.entry(name.clone()).or_insert(2);
        let free = loop {
            let free = format!("{name}_{number}");
            *number += 1;
            if !taken.contains(&free) {
                break free;
            }
        };
        renamed.push((std::mem::replace(name, free.clone()), free.clone()));
        taken.insert(free.clone());
        seen.insert(free);
    }
    renamed
}

/// Gives fields with the same name distinct names.
pub fn distinct_fields(fields: &mut [Field]) -> Renamed {
    distinct(fields.iter_mut().map(|field| &mut field.name))
}

/// Notices for renamed columns.
///
/// # Errors
/// The notices, under `--strict`.
pub fn announce(input: &str, renamed: &Renamed, options: &Options) -> Result<()> {
    renamed.iter().take(NOTICES).try_for_each(|(old, new)| {
        let named = if old.is_empty() { "have no name".to_owned() } else { format!("are named {}", quoted(old)) };
        let text = format!("two columns {named}; the later one is read as {}", quoted(new));
        options.notices.add_about(input, text, options.strict)
    })?;
    match renamed.len().saturating_sub(NOTICES) {
        0 => Ok(()),
        more => {
            options.notices.add_about(input, format!("{more} more columns with repeated names are read as NAME_2, ..."), options.strict)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn names_become_distinct() {
        let mut names = ["x", "x_2", "x", "y", "x"].map(str::to_owned);
        let renamed = distinct(&mut names);
        assert_eq!(names, ["x", "x_2", "x_3", "y", "x_4"]);
        assert_eq!(renamed.len(), 2);
    }
}
