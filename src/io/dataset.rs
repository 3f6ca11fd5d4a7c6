//! Checks inputs as files of a dataset: missing shards, shards of two runs, and files that are read twice.

use super::folder::Folder;
use super::sharded::Sharded;
use crate::error::Result;
use crate::options::Options;
use crate::printable::is_or_are;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedInput {
    /// `None` for standard input.
    pub path: Option<PathBuf>,
    /// Whether it was found by a glob, a list or a directory, rather than named individually.
    pub is_searched: bool,
    /// The directory that was named, if it was found in one.
    pub folder: Option<Arc<Folder>>,
    /// Whether it is a directory that is a single dataset.
    pub is_dataset: bool,
}

/// Adds a notice for missing shards, for datasets that exist with two different numbers of shards, as after a second
/// run with another number, and for files that are read more than once. Files named individually are intentional:
/// repeats among them are reported only if a glob, list or directory also found them, and a single named shard does not
/// count as a dataset.
///
/// # Errors
/// The notice itself, under `--strict`.
pub fn check(found: &[NamedInput], options: &Options) -> Result<()> {
    let datasets = datasets(found);
    for text in missing_shards(&datasets).into_iter().chain(divided_twice(&datasets)).chain(repeated(found)) {
        options.notices.add(text, options.strict)?;
    }
    Ok(())
}

/// The shard numbers of each dataset, by its directory, and whether it was named as a whole.
type Datasets<'a> = BTreeMap<(&'a Path, Sharded), (BTreeSet<usize>, bool)>;

fn datasets(found: &[NamedInput]) -> Datasets<'_> {
    let mut datasets = Datasets::new();
    for NamedInput { path, is_searched, .. } in found {
        if let Some((dataset, index)) = path.as_deref().and_then(shard) {
            let (indices, is_dataset) = datasets.entry(dataset).or_default();
            *is_dataset |= *is_searched || !indices.is_empty();
            indices.insert(index);
        }
    }
    datasets
}

/// Datasets that differ only in the number of shards.
fn divided_twice(datasets: &Datasets) -> Vec<String> {
    let mut by_name: BTreeMap<(&Path, &str, &str), Vec<String>> = BTreeMap::new();
    for ((directory, sharded), _) in datasets.iter().filter(|(_, (_, is_dataset))| *is_dataset) {
        let same = by_name.entry((directory, sharded.front(), sharded.back())).or_default();
        same.push(directory.join(sharded.pattern()).display().to_string());
    }
    let twice = by_name.into_values().filter(|patterns| patterns.len() > 1);
    twice
        .map(|patterns| format!("{} are read; if they contain the same records, specify only one of them", patterns.join(" and ")))
        .collect()
}

fn missing_shards(datasets: &Datasets) -> Vec<String> {
    let mut notices = Vec::new();
    for ((directory, sharded), (indices, _)) in datasets.iter().filter(|(_, (_, is_dataset))| *is_dataset) {
        let nshards = sharded.nshards;
        // Some programs number shards from 1.
        let first = usize::from(indices.contains(&nshards));
        // The shard exists, so it was left out on purpose.
        let missing: Vec<PathBuf> = (first..nshards + first)
            .filter(|index| !indices.contains(index))
            .map(|index| directory.join(sharded.name(index)))
            .filter(|path| !path.exists())
            .collect();
        if let Some(first) = missing.first() {
            let verb = is_or_are(missing.len());
            notices.push(format!("{} of {nshards} shards {verb} missing: {}{}", missing.len(), first.display(), more(missing.len() - 1)));
        }
    }
    notices
}

fn more(n: usize) -> String {
    if n == 0 { String::new() } else { format!(" and {n} more") }
}

/// The directory and dataset of a shard, and its number.
fn shard(path: &Path) -> Option<((&Path, Sharded), usize)> {
    let (sharded, index) = Sharded::of(path.file_name()?.to_str()?)?;
    Some(((path.parent()?, sharded), index))
}

fn repeated(found: &[NamedInput]) -> Option<String> {
    let mut seen: BTreeMap<&Path, (usize, bool)> = BTreeMap::new();
    for NamedInput { path, is_searched, .. } in found {
        if let Some(path) = path.as_deref() {
            let (times, was_searched) = seen.entry(path.strip_prefix(".").unwrap_or(path)).or_default();
            *times += 1;
            *was_searched |= *is_searched;
        }
    }
    let repeated: Vec<&Path> = seen.into_iter().filter(|(_, (times, searched))| *times > 1 && *searched).map(|(path, _)| path).collect();
    let first = repeated.first()?.display();
    let verb = is_or_are(repeated.len());
    Some(format!("{first}{} {verb} named more than once: each is read as many times as it is named", more(repeated.len() - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notices(names: &[&str], is_searched: bool) -> Vec<String> {
        let found: Vec<NamedInput> =
            names.iter().map(|name| NamedInput { path: Some(name.into()), is_searched, folder: None, is_dataset: false }).collect();
        let options = Options::default();
        check(&found, &options).unwrap();
        options.notices.take()
    }

    #[test]
    fn missing_shards_are_noticed() {
        assert_eq!(notices(&["d/a-00000-of-00003.x", "d/a-00002-of-00003.x"], true), ["1 of 3 shards is missing: d/a-00001-of-00003.x"]);
        assert_eq!(notices(&["a-00001-of-00003.x"], true), ["2 of 3 shards are missing: a-00000-of-00003.x and 1 more"]);
        assert_eq!(notices(&["a-00001-of-00003.x"], false), [""; 0]);
        assert_eq!(notices(&["a-00001-of-00003.x", "a-00003-of-00003.x"], false), ["1 of 3 shards is missing: a-00002-of-00003.x"]);
        assert_eq!(notices(&["a-00001-of-00002", "a-00002-of-00002", "a-1-of-2", "-00003-of-00002"], true), [""; 0]);
    }

    #[test]
    fn two_sets_of_shards_are_noticed() {
        let names = ["d/a-00000-of-00001.x", "d/a-00000-of-00002.x", "d/a-00001-of-00002.x", "d/b-00000-of-00001.x"];
        let text = "d/a@1.x and d/a@2.x are read; if they contain the same records, specify only one of them";
        assert_eq!(notices(&names, true), [text]);
        assert_eq!(notices(&["a-00000-of-00001.x", "b/a-00000-of-00002.x", "b/a-00001-of-00002.x"], true), [""; 0]);
    }

    #[test]
    fn files_named_twice_are_noticed() {
        let text = "a.x is named more than once: each is read as many times as it is named";
        assert_eq!(notices(&["a.x", "./a.x", "b.x"], true), [text]);
        assert_eq!(notices(&["a.x", "a.x"], false), [""; 0]);
    }
}
