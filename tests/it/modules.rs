//! The modules under `src` and their dependencies, for the architecture tests.
//!
//! Every path that starts with `crate`, `super`, `self` or a module declared in the same file is resolved to the file
//! it refers to, through re-exports. A re-export alone does not count as a use.

use crate::tatter::{files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The modules from the crate root to this one, such as `["verbs", "head"]`; a `mod.rs` stands for its folder.
pub type Name = Vec<String>;

/// One file.
pub struct Module {
    /// The path below `src`, such as `verbs/head.rs`.
    pub file: String,
    /// The source without tests and comments.
    pub code: String,
    children: BTreeSet<String>,
    /// Re-exported names, and the path of each from this module.
    reexports: BTreeMap<String, Vec<String>>,
}

/// All files of the crate.
pub struct Modules(pub BTreeMap<Name, Module>);

impl Modules {
    /// Reads `src`, except `main.rs`, which is a separate crate, and test files.
    pub fn read() -> Modules {
        let mut modules = BTreeMap::new();
        for path in files(&root().join("src"), "rs") {
            let file = path.strip_prefix(root().join("src")).unwrap().to_string_lossy().into_owned();
            let mut name: Name = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if name.iter().any(|part| part == "tests" || part == "main") {
                continue;
            }
            if ["mod", "lib"].contains(&name.last().unwrap().as_str()) {
                name.pop();
            }
            modules.insert(name, Module::new(file, &fs::read_to_string(&path).unwrap()));
        }
        Modules(modules)
    }

    /// The modules that a module uses, except itself.
    pub fn used_by(&self, name: &Name) -> BTreeSet<Name> {
        let module = &self.0[name];
        let mut paths = paths(&module.code, &module.children);
        paths.retain(|(is_reexport, _)| !is_reexport);
        let used = paths.into_iter().filter_map(|(_, path)| self.resolve(name, &path, 0));
        used.filter(|used| used != name).collect()
    }

    /// The module that contains the target of a path, as seen from another module.
    fn resolve(&self, from: &Name, path: &[String], depth: usize) -> Option<Name> {
        let mut at = from.clone();
        for (i, part) in path.iter().enumerate() {
            match part.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()?),
                part => {
                    let module = self.0.get(&at)?;
                    if module.children.contains(part) {
                        at.push(part.to_owned());
                    } else if let Some(target) = module.reexports.get(part).filter(|_| depth < 8) {
                        let rest: Vec<String> = target.iter().chain(&path[i + 1..]).cloned().collect();
                        return self.resolve(&at, &rest, depth + 1);
                    } else {
                        break;
                    }
                }
            }
        }
        self.0.contains_key(&at).then_some(at)
    }

    /// The groups of entries in a folder with cyclic dependencies. An entry is a file or a whole folder, and `mod` is
    /// the folder's own file.
    pub fn circles(&self, folder: &[String]) -> Vec<BTreeSet<String>> {
        let entry = |name: &Name| -> Option<String> {
            name.starts_with(folder).then(|| name.get(folder.len()).cloned().unwrap_or_else(|| "mod".to_owned()))
        };
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in self.0.keys() {
            let Some(from) = entry(name) else { continue };
            let to = self.used_by(name).iter().filter_map(entry).filter(|to| *to != from).collect::<BTreeSet<_>>();
            uses.entry(from).or_default().extend(to);
        }
        let reached: BTreeMap<&String, BTreeSet<&String>> = uses.keys().map(|from| (from, reachable(&uses, from))).collect();
        let mut circles: Vec<BTreeSet<String>> = Vec::new();
        for from in uses.keys().filter(|from| reached[from].contains(from)) {
            if circles.iter().all(|circle| !circle.contains(from)) {
                let circle = reached[from].iter().filter(|to| reached[**to].contains(from));
                circles.push(circle.map(|to| (*to).clone()).collect());
            }
        }
        circles
    }

    /// All folders, the root first.
    pub fn folders(&self) -> BTreeSet<Name> {
        self.0.keys().flat_map(|name| (0..name.len()).map(|n| name[..n].to_vec())).collect()
    }
}

fn reachable<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&String> = uses[from].iter().collect();
    while let Some(name) = next.pop() {
        if found.insert(name) {
            next.extend(&uses[name]);
        }
    }
    found
}

impl Module {
    fn new(file: String, text: &str) -> Module {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let declared = |line: &str| -> Option<String> {
            let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").trim_start_matches("pub ");
            Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
        };
        let children: BTreeSet<String> = code.lines().filter_map(declared).collect();
        let reexports = paths(&code, &children).into_iter().filter(|(is_reexport, _)| *is_reexport);
        let reexports = reexports.filter_map(|(_, path)| Some((path.last()?.clone(), path))).collect();
        Module { file, code, children, reexports }
    }
}

/// Every path in a text that starts with `crate`, `super`, `self` or a child module, and whether it is part of a `pub
/// use`.
pub fn paths(code: &str, children: &BTreeSet<String>) -> Vec<(bool, Vec<String>)> {
    let mut found = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut start = 0;
    while let Some(length) = code[start..].find("::") {
        let end = start + length;
        let word_start = code[..end].rfind(|c: char| !is_word(c)).map_or(0, |i| i + code[i..].chars().next().map_or(1, char::len_utf8));
        let word = &code[word_start..end];
        let is_root = ["crate", "super", "self"].contains(&word) || children.contains(word);
        if is_root && !code[..word_start].ends_with("::") {
            let before = code[..word_start].trim_end();
            let is_reexport = before.ends_with("use") && before[..before.len() - 3].trim_end().ends_with(['b', ')']);
            let mut here = Vec::new();
            tree(&code[end + 2..], &[word.to_owned()], &mut here);
            found.extend(here.into_iter().map(|path| (is_reexport, path)));
        }
        start = end + 2;
    }
    found
}

/// Expands `a::b`, `{a, b::{c, d}}` or `*` after a prefix to paths; returns the rest of the text.
fn tree<'a>(text: &'a str, prefix: &[String], found: &mut Vec<Vec<String>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(rest) = rest.strip_prefix('}') {
                return rest;
            }
            let before = rest.len();
            rest = tree(rest, prefix, found);
            if rest.len() == before {
                return rest;
            }
        }
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (word, mut rest) = text.split_at(end);
    let mut path = prefix.to_vec();
    let is_prefix = word == "self" && !prefix.is_empty();
    if !word.is_empty() && !is_prefix {
        path.push(word.to_owned());
    }
    if let Some(after) = rest.strip_prefix("::") {
        return tree(after, &path, found);
    }
    rest = rest.strip_prefix('*').unwrap_or(rest);
    if let Some(alias) = rest.strip_prefix(" as ") {
        let end = alias.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(alias.len());
        rest = &alias[end..];
    }
    found.push(path);
    rest
}

#[test]
fn paths_are_found_however_they_are_written() {
    let table: [(&str, &[&str]); 6] = [
        ("use crate::error::{Error, Result};", &["crate error Error", "crate error Result"]),
        ("use crate::{path, schema::{self, Type}};", &["crate path", "crate schema", "crate schema Type"]),
        ("fn f() -> super::super::Chunk", &["super super Chunk"]),
        ("use self::a::*; child::f(x)", &["self a", "child f"]),
        ("pub use child::{A, B as C};\nx", &["pub child A", "pub child B"]),
        ("pub(crate) fn f() { Vec::new() }", &[]),
    ];
    let children = BTreeSet::from(["child".to_owned()]);
    for (code, expected) in table {
        let found =
            paths(code, &children).into_iter().map(|(reexport, path)| (if reexport { "pub " } else { "" }).to_owned() + &path.join(" "));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{code}");
    }
}
