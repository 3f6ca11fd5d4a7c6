//! Checks what `docs/dependencies.md` says about the crates: their purpose, origin and license.

use crate::tatter::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// For the crates that this machine builds; others may not be available.
fn metadata() -> Value {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(rustc.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let run = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", host])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap()
}

/// The words of a sentence on the page, from `start` to the next period.
fn listed<'a>(page: &'a str, start: &str) -> BTreeSet<&'a str> {
    let rest = page.split_once(start).unwrap().1;
    rest.split_once(".\n").unwrap().0.split(',').map(str::trim).collect()
}

#[test]
fn every_crate_is_listed_with_what_it_is_for() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let own = packages.iter().find(|package| package["name"] == "tatter").unwrap();
    let used: BTreeSet<&str> = own["dependencies"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
    let page = page();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).filter(|cell| *cell != "crate");
    let said: BTreeSet<&str> = rows.flat_map(|cell| cell.split(", ")).collect();
    assert_eq!(said, used);
}

#[test]
fn licences_are_allowed() {
    let (metadata, page) = (metadata(), page());
    let allowed = listed(&page, "under one of these licenses:");
    let fits = |license: &str| {
        let all = license.replace(['(', ')'], "").replace('/', " OR ");
        all.split(" AND ").all(|any| any.split(" OR ").any(|one| allowed.contains(one.trim())))
    };
    let wrong: Vec<String> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(fits))
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn crates_come_from_the_registry_and_in_one_version() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let page = page();
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for package in lock.split("[[package]]\n").skip(1) {
        let of = |key: &str| package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'));
        let name = of("name").unwrap();
        let from_registry = of("source") == Some("registry+https://github.com/rust-lang/crates.io-index") && of("checksum").is_some();
        assert!(from_registry || name == "tatter", "{name}");
        *versions.entry(name).or_default() += 1;
    }
    let several: BTreeSet<&str> = versions.into_iter().filter(|(_, n)| *n > 1).map(|(name, _)| name).collect();
    assert_eq!(several, listed(&page, "because other crates require different ones:"));
}

/// The minimum versions in `Cargo.toml` are those of the lock file, so the stated versions are the tested ones.
#[test]
fn the_lowest_versions_are_those_that_are_tested() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let own = packages.iter().find(|package| package["name"] == "tatter").unwrap();
    for dependency in own["dependencies"].as_array().unwrap() {
        let (name, lowest) = (&dependency["name"], dependency["req"].as_str().unwrap().trim_start_matches('^'));
        let locked: Vec<&str> = packages.iter().filter(|p| p["name"] == *name).map(|p| p["version"].as_str().unwrap()).collect();
        assert!(locked.iter().any(|version| version.split('+').next() == Some(lowest)), "{name} {lowest}: locked is {locked:?}");
    }
}
