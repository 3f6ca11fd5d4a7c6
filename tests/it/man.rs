//! The pages in `man/` match the definitions.
//!
//! `TATTER_BLESS=1 cargo test --test it man` rewrites them.

use crate::tatter::root;
use std::collections::BTreeMap;
use std::fs;
use tatter::cli::{COMMANDS, pages};

/// roff would continue a command to type with the text of the next line.
#[test]
fn commands_in_man_pages_end_their_line() {
    for (name, text) in pages(COMMANDS).unwrap() {
        let text = String::from_utf8(text).unwrap();
        let filled = text.split(".nf\n").map(|part| part.split_once(".fi\n").map_or(part, |(_, rest)| rest));
        for part in filled {
            let joined = part.lines().zip(part.lines().skip(1)).find(|(line, next)| line.starts_with("    ") && !next.starts_with('.'));
            assert!(joined.is_none(), "{name}: {joined:?}");
        }
    }
}

#[test]
fn man_pages_are_not_stale() {
    let directory = root().join("man");
    let pages: BTreeMap<String, Vec<u8>> = pages(COMMANDS).unwrap().into_iter().collect();
    if std::env::var_os("TATTER_BLESS").is_some() {
        fs::remove_dir_all(&directory).unwrap();
        fs::create_dir(&directory).unwrap();
        for (name, text) in &pages {
            fs::write(directory.join(name), text).unwrap();
        }
    }
    let committed: BTreeMap<String, Vec<u8>> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    let stale: Vec<&String> = pages.iter().filter(|(name, text)| committed.get(*name) != Some(text)).map(|(name, _)| name).collect();
    let left: Vec<&String> = committed.keys().filter(|name| !pages.contains_key(*name)).collect();
    assert!(
        stale.is_empty() && left.is_empty(),
        "man/ is stale: {stale:?}; too many: {left:?}\nTATTER_BLESS=1 cargo test --test it man writes it anew"
    );
}
