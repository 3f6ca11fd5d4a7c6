//! The patterns of `grep` and `sed`, written as expressions.

use super::split::is_option;

/// What a `grep` command searches for.
pub struct Search {
    pattern: String,
    is_inverted: bool,
    ignores_case: bool,
    counts: bool,
    /// The only column that is searched.
    pub column: Option<String>,
    /// The words after the pattern.
    pub files: Vec<String>,
}

impl Search {
    /// `name` is the other tool, and `given` its words.
    pub fn of(name: &str, given: &[String]) -> Option<Search> {
        let is_csvkit = name == "csvgrep";
        if !is_csvkit && !["grep", "rg", "search"].contains(&name) {
            return None;
        }
        let has = |letter: char, long: &str| {
            given.iter().any(|word| word == long || (is_option(word) && !word.starts_with("--") && word.contains(letter)))
        };
        let after = |options: &[&str]| given.iter().position(|word| options.contains(&word.as_str())).and_then(|at| given.get(at + 1));
        let named = if is_csvkit { after(&["-m", "-r", "--match", "--regex"]) } else { after(&["-e"]) };
        let column = match name {
            "csvgrep" => after(&["-c", "--columns"]),
            "search" => after(&["-s", "--select"]),
            _ => None,
        };
        let mut others = given.iter().filter(|word| !is_option(word) && Some(*word) != named && Some(*word) != column);
        let pattern = named.or_else(|| others.next())?;
        Some(Search {
            pattern: pattern.clone(),
            is_inverted: has('v', "--invert-match"),
            ignores_case: has('i', "--ignore-case"),
            counts: !is_csvkit && has('c', "--count"),
            column: column.cloned(),
            files: others.cloned().collect(),
        })
    }

    /// `{not}`, `{i}`, `{counted}` and `{pattern}`.
    pub fn place(&self, place: &str) -> Option<String> {
        let when = |is: bool, text: &str| Some(if is { text.to_owned() } else { String::new() });
        match place {
            "not" => when(self.is_inverted, "not "),
            "i" => when(self.ignores_case, "i"),
            "counted" => when(self.counts, "then count"),
            "pattern" => Some(in_single_quotes(&in_string(&self.pattern))),
            _ => None,
        }
    }
}

/// `s/OLD/NEW/` of `sed`.
pub struct Substitution {
    old: String,
    new: String,
    is_global: bool,
}

impl Substitution {
    /// See [`Search::of`].
    pub fn of(name: &str, given: &[String]) -> Option<Substitution> {
        if name != "sed" {
            return None;
        }
        given.iter().find_map(|word| {
            let rest = word.strip_prefix('s')?;
            let separator = rest.chars().next().filter(|c| !c.is_alphanumeric())?;
            let mut parts = rest[separator.len_utf8()..].split(separator);
            let (old, new, flags) = (parts.next()?, parts.next()?, parts.next()?);
            // With an escaped separator there are more parts.
            parts.next().is_none().then(|| Substitution { old: old.to_owned(), new: new.to_owned(), is_global: flags.contains('g') })
        })
    }

    /// `{old}`, `{new}` and `{once}`.
    pub fn place(found: Option<&Substitution>, place: &str) -> String {
        match (place, found) {
            ("old", Some(found)) => in_single_quotes(&in_string(&found.old)),
            ("new", Some(found)) => in_single_quotes(&in_string(&found.new)),
            ("once", Some(found)) if !found.is_global => ", replace_global=False".to_owned(),
            ("old", None) => "OLD".to_owned(),
            ("new", None) => "NEW".to_owned(),
            ("pattern", _) => "PATTERN".to_owned(),
            _ => String::new(),
        }
    }
}

/// A string of an expression, without its quotes.
fn in_string(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Text inside the single quotes of a shell word.
pub fn in_single_quotes(text: &str) -> String {
    text.replace('\'', "'\\''")
}
