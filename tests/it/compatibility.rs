//! Files written by earlier versions are read as the same records; see `fixtures/written`.

use crate::tatter::{root, tatter};
use std::fs;
use std::path::Path;

/// The records of a file under the types given by the schema with its name.
fn records(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    let schema = path.with_file_name(format!("{}.schema", name.split('.').next().unwrap()));
    let mut arguments = vec!["convert".into(), "--schema".into(), format!("@{}", schema.display()), path.display().to_string()];
    if name.ends_with(".csv") || name.ends_with(".tsv") {
        arguments.extend(["--list-separator".into(), "|".into()]);
    }
    let outcome = tatter(&arguments, b"");
    assert_eq!(outcome.status, 0, "{name}: {}", outcome.stderr);
    outcome.text()
}

#[test]
fn files_of_earlier_versions_stay_readable() {
    let mut nfiles = 0;
    for version in fs::read_dir(root().join("fixtures/written")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for path in fs::read_dir(version).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if !name.ends_with(".schema") {
                let expected = records(&path.with_file_name(format!("{}.jsonl", name.split('.').next().unwrap())));
                assert_eq!(records(&path), expected, "{}", path.display());
                nfiles += 1;
            }
        }
    }
    assert!(nfiles >= 31, "{nfiles}");
}
