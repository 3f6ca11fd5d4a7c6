//! The architecture as `src/lib.rs` lists it: a module uses only what stands above it.

use crate::tatter::{files, root};
use std::collections::BTreeMap;
use std::fs;

/// Files that may hold threads, locks and channels, and what for.
const CONCURRENT: &[(&str, &str)] = &[
    ("run/engine.rs", "the stages of a run"),
    ("notice.rs", "notices come from any thread"),
    ("run/progress.rs", "draws while the engine works"),
    ("io/", "outputs are created on any thread, and pipes are remembered"),
    ("main.rs", "one report of however many panics"),
];

/// The levels of `src/lib.rs`: the number and the order in its line of every top module.
fn levels() -> BTreeMap<String, (usize, usize)> {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut levels = BTreeMap::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("//! ")) {
        let Some((level, names)) = line.split_once(' ') else { continue };
        let Ok(level) = level.parse::<usize>() else { continue };
        for (i, name) in names.split([' ', ',']).filter(|n| !n.is_empty()).enumerate() {
            levels.insert(name.to_owned(), (level, i));
        }
    }
    levels
}

/// `(file below src, its top module, text without tests and comments)` of every source file.
fn sources() -> Vec<(String, String, String)> {
    files(&root().join("src"), "rs")
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(root().join("src")).unwrap().to_string_lossy().into_owned();
            let module = name.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            (name, module, code)
        })
        .collect()
}

/// The modules that a text names as `crate::module` or in `crate::{...}`.
fn used(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        match rest.strip_prefix('{') {
            Some(group) => {
                let mut depth = 0;
                let mut start = true;
                for (i, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        c if start && c.is_alphabetic() => {
                            names.push(word(&group[i..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
            None => names.push(word(rest)),
        }
    }
    names
}

#[test]
fn modules_use_only_what_stands_above_them() {
    let levels = levels();
    let mut wrong = Vec::new();
    for (file, module, code) in sources() {
        if module == "lib" || module == "main" {
            continue;
        }
        let Some(own) = levels.get(&module) else {
            wrong.push(format!("src/{file}: `{module}` has no level in src/lib.rs"));
            continue;
        };
        for name in used(&code) {
            if name == module || name.starts_with(char::is_uppercase) || name.is_empty() {
                continue;
            }
            match levels.get(&name) {
                None => wrong.push(format!("src/{file}: uses `{name}`, which has no level in src/lib.rs")),
                Some(level) if level > own => {
                    wrong.push(format!("src/{file}: `{module}` (level {}) uses `{name}` (level {})", own.0, level.0))
                }
                Some(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn formats_and_verbs_never_see_each_other() {
    let wrong: Vec<String> = sources()
        .into_iter()
        .filter(|(_, module, code)| match module.as_str() {
            "formats" => used(code).iter().any(|n| n == "verbs"),
            "verbs" => used(code).iter().any(|n| n == "formats"),
            _ => false,
        })
        .map(|(file, ..)| file)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
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
    let wrong: Vec<String> = sources()
        .into_iter()
        .filter(|(file, ..)| !allowed(file))
        .filter_map(|(file, _, code)| words.iter().find(|w| code.contains(**w)).map(|w| format!("src/{file}: {w}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_main_and_progress_print() {
    let wrong: Vec<String> = sources()
        .into_iter()
        .filter(|(file, ..)| file != "main.rs" && file != "run/progress.rs")
        .filter(|(_, _, code)| ["println!", "eprintln!", "print!(", "eprint!(", "dbg!"].iter().any(|w| code.contains(w)))
        .map(|(file, ..)| file)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn uses_are_found_however_they_are_written() {
    let table: [(&str, &[&str]); 4] = [
        ("use crate::error::{Error, Result};", &["error"]),
        ("use crate::{path, schema::{Schema, Type}, tensor::Tensor};", &["path", "schema", "tensor"]),
        ("fn f() -> crate::chunk::Chunk", &["chunk"]),
        ("pub(crate) fn f()", &[]),
    ];
    for (code, expected) in table {
        assert_eq!(used(code), expected, "{code}");
    }
}

#[test]
fn a_format_imports_no_other_format() {
    /// What formats share; each may use those before it.
    const SHARED: [&str; 3] = ["format", "columnar", "arrays"];
    let room = |file: &str| file.strip_prefix("formats/").map(|rest| rest.split(['/', '.']).next().unwrap_or_default().to_owned());
    let mut wrong = Vec::new();
    for (file, _, code) in sources() {
        let Some(own) = room(&file).filter(|own| own != "mod") else { continue };
        for (at, _) in code.match_indices("crate::formats::") {
            let used: String = code[at + "crate::formats::".len()..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let level = |room: &str| SHARED.iter().position(|shared| *shared == room).unwrap_or(SHARED.len());
            let allowed = used == own || level(&used) < level(&own);
            if !allowed {
                wrong.push(format!("src/{file}: uses formats::{used}"));
            }
        }
        if file == format!("formats/{own}.rs") && code.contains("use super::") {
            wrong.push(format!("src/{file}: names what it uses by crate::formats::..., so that this test sees it"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
