//! The architecture listed in `src/lib.rs`: modules use only lower levels, there are no cyclic dependencies, and
//! formats and verbs do not depend on each other.

use crate::modules::{Module, Modules, Name};
use crate::tatter::root;
use std::collections::BTreeMap;
use std::fs;

/// Files that may use threads, locks and channels, with reasons.
const CONCURRENT: &[(&str, &str)] = &[
    ("run/engine/", "the stages of a run"),
    ("notice.rs", "notices come from any thread"),
    ("schema/search.rs", "a shared schema remembers where it was last searched"),
    ("run/outline.rs", "gives up after a moment"),
    ("run/progress.rs", "draws while the engine works"),
    ("verbs/stats/collect.rs", "any thread adds to a share of the fields"),
    ("formats/columnar/lanes.rs", "the tasks of a record batch or a row group share its columns"),
    ("io/", "outputs are created on any thread, and pipes are remembered"),
];

/// The levels in `src/lib.rs`.
fn levels() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut levels = BTreeMap::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("//! ")) {
        let Some((level, names)) = line.split_once(' ') else { continue };
        let Ok(level) = level.parse::<usize>() else { continue };
        for name in names.split([' ', ',']).filter(|n| !n.is_empty()) {
            levels.insert(name.to_owned(), level);
        }
    }
    levels
}

/// Cyclic dependencies between modules, by folder. This list may only get shorter.
const KNOWN_CIRCLES: &[&str] = &[];

/// Formats and verbs that use another format or verb. This list may only get shorter.
const KNOWN_SIBLINGS: &[&str] = &[];

/// Below the top level, siblings in `formats` and `verbs` must not use each other; these are shared.
const SHARED: &[(&str, &[&str])] = &[
    (
        "formats",
        &[
            "format",
            "appending",
            "columnar",
            "arrays",
            "matrix",
            "cut",
            "dense_shape",
            "first_wins",
            "lines",
            "json_members",
            "records",
            "examples",
            "riegeli",
        ],
    ),
    ("verbs", &["verb", "combine", "shared"]),
];

#[test]
fn modules_use_only_lower_levels() {
    let (levels, modules) = (levels(), Modules::read());
    let mut wrong = Vec::new();
    for (name, module) in &modules.0 {
        let Some(top) = name.first() else { continue };
        let Some(own) = levels.get(top) else {
            wrong.push(format!("src/{}: `{top}` has no level in src/lib.rs", module.file));
            continue;
        };
        for used in modules.used_by(name) {
            match used.first().map(|used| (used, levels.get(used))) {
                Some((used, Some(level))) if level > own => {
                    wrong.push(format!("src/{}: `{top}` (level {own}) uses `{used}` (level {level})", module.file));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn formats_and_verbs_never_see_each_other() {
    let modules = Modules::read();
    let rooms = [("formats", "verbs"), ("verbs", "formats")];
    let sees = |(from, to): (&str, &str)| {
        let inside = modules.0.iter().filter(move |(name, _)| name.first().is_some_and(|top| top == from));
        let wrong = inside.filter(|(name, _)| modules.used_by(name).iter().any(|used| used[0] == to));
        wrong.map(|(_, module)| module.file.clone()).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = rooms.into_iter().flat_map(sees).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn siblings_never_see_each_other() {
    let modules = Modules::read();
    let mut wrong = Vec::new();
    for (room, shared) in SHARED {
        let sibling = |name: &Name| match name.as_slice() {
            [top, sibling, ..] if top == room && !shared.contains(&sibling.as_str()) => Some(sibling.clone()),
            _ => None,
        };
        for (name, module) in &modules.0 {
            let Some(own) = sibling(name) else { continue };
            let others = modules.used_by(name).into_iter().filter_map(|used| sibling(&used)).filter(|other| *other != own);
            wrong.extend(others.map(|other| format!("src/{}: uses `{other}`", module.file)));
        }
    }
    check_known(wrong, KNOWN_SIBLINGS);
}

#[test]
fn no_circles() {
    let modules = Modules::read();
    let mut wrong = Vec::new();
    for folder in modules.folders() {
        for circle in modules.circles(&folder) {
            let room = if folder.is_empty() { "src".to_owned() } else { format!("src/{}", folder.join("/")) };
            wrong.extend(circle.into_iter().map(|entry| format!("{room}: {entry}")));
        }
    }
    check_known(wrong, KNOWN_CIRCLES);
}

/// Every violation must be listed, and every listed one must exist.
fn check_known(wrong: Vec<String>, known: &[&str]) {
    let new: Vec<_> = wrong.iter().filter(|w| !known.contains(&w.as_str())).collect();
    let mended: Vec<_> = known.iter().filter(|k| !wrong.iter().any(|w| w == **k)).collect();
    assert!(new.is_empty(), "not allowed:\n{new:#?}\nbesides what is known: {}", known.len());
    assert!(mended.is_empty(), "no longer so; take these lines off the list of what is known: {mended:#?}");
}

#[test]
fn every_module_has_a_level() {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let levels = levels();
    for module in &declared {
        assert!(levels.contains_key(*module), "{module} has no level in src/lib.rs");
    }
}

#[test]
fn threads_locks_and_channels_stay_in_their_rooms() {
    let words = ["thread::spawn", "thread::scope", "thread::Builder", "Mutex", "RwLock", "Condvar", "mpsc", "Atomic"];
    let allowed = |file: &str| CONCURRENT.iter().any(|(room, _)| file == *room || (room.ends_with('/') && file.starts_with(room)));
    let modules = Modules::read();
    let others = modules.0.values().filter(|module| !allowed(&module.file));
    let wrong: Vec<String> =
        others.filter_map(|module| words.iter().find(|w| module.code.contains(**w)).map(|w| format!("src/{}: {w}", module.file))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_main_and_progress_print() {
    let prints = |module: &&Module| ["println!", "eprintln!", "print!(", "eprint!(", "dbg!"].iter().any(|w| module.code.contains(w));
    let modules = Modules::read();
    let others = modules.0.values().filter(|module| module.file != "run/progress.rs");
    let wrong: Vec<&str> = others.filter(prints).map(|module| module.file.as_str()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
