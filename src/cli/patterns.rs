//! The patterns of `grep`, `sed` and jq, written as expressions.

use super::split::is_option;

/// What a `grep` command searches for.
pub struct Search {
    /// A regular expression that matches whole values.
    regex: String,
    /// The same, with the first match as its first group.
    first_match: Option<String>,
    is_inverted: bool,
    /// The verb that limits or counts what is found.
    after: String,
    /// The only column that is searched.
    pub column: Option<String>,
    /// The words after the pattern.
    pub files: Vec<String>,
}

/// The tools that search, each with its options that take a value.
const SEARCHES: &[(&str, &[&str])] = &[
    ("grep", &["-e", "--regexp", "-m", "--max-count"]),
    ("rg", &["-e", "--regexp", "-m", "--max-count"]),
    ("search", &["-s", "--select"]),
    ("csvgrep", &["-c", "--columns", "-m", "--match", "-r", "--regex"]),
];

/// Whether the tool searches text.
pub fn is_search(name: &str) -> bool {
    SEARCHES.iter().any(|(tool, _)| *tool == name)
}

/// A regular expression for whole texts that contain the pattern. `flags`: those of the expression besides `s`.
pub fn containing(pattern: &str, flags: &str) -> String {
    format!("(?s{flags}).*{}.*", grouped(pattern))
}

/// The pattern as one unit: `.*a|b.*` would be `(.*a)|(b.*)`.
fn grouped(pattern: &str) -> String {
    if pattern.contains('|') { format!("(?:{pattern})") } else { pattern.to_owned() }
}

/// A regular expression for the text itself.
fn literal(text: &str) -> String {
    let special = |c: char| r"\.+*?()|[]{}^$".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// A pattern in the basic syntax of `grep` and `sed`, where `\(` groups and `(` is an ordinary character. A bare `|` is no
/// operator there either, but seldom meant as a character: such a pattern is taken for an extended one.
fn extended(basic: &str) -> String {
    if basic.replace("\\|", "").contains('|') {
        return basic.to_owned();
    }
    let (mut out, mut chars) = (String::new(), basic.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c) if "(){}+?|".contains(c) => out.push(c),
                Some('<' | '>') => out.push_str("\\b"),
                c => out.extend(['\\'].into_iter().chain(c)),
            },
            // Up to its end, a set has no escapes.
            '[' => {
                let rest = chars.as_str();
                let first = rest.len() - rest.trim_start_matches('^').trim_start_matches(']').len();
                let end = rest.get(first..).and_then(|set| set.find(']')).map_or(rest.len(), |end| first + end + 1);
                out.push('[');
                out.push_str(&rest[..end].replace('\\', "\\\\"));
                chars = rest[end..].chars();
            }
            c if "(){}+?".contains(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

impl Search {
    /// `name` is the other tool, and `given` its words. `None` if it does not search, or if an option asks for what no verb does.
    pub fn of(name: &str, given: &[String]) -> Option<Search> {
        let (_, valued) = SEARCHES.iter().find(|(tool, _)| *tool == name)?;
        let (mut flags, mut values, mut others) = (Vec::<String>::new(), Vec::<(String, String)>::new(), Vec::<String>::new());
        let mut words = given.iter();
        while let Some(word) = words.next() {
            if !is_option(word) {
                others.push(word.clone());
                continue;
            }
            let (option, inline) = word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
            // `-ie PATTERN`, `-m1`
            let letters = if option.starts_with("--") { "" } else { option.get(1..).unwrap_or_default() };
            let at = letters.find(|c: char| valued.contains(&format!("-{c}").as_str()));
            let attached = at.and_then(|at| letters.get(at + 1..)).filter(|value| !value.is_empty());
            match at {
                Some(at) => {
                    flags.extend(letters[..at].chars().map(|c| format!("-{c}")));
                    let value = attached.map(str::to_owned).or_else(|| words.next().cloned())?;
                    values.push((format!("-{}", &letters[at..=at]), value));
                }
                None if valued.contains(&option) => {
                    values.push((option.to_owned(), inline.map(str::to_owned).or_else(|| words.next().cloned())?));
                }
                None if letters.is_empty() => flags.push(option.to_owned()),
                None => flags.extend(letters.chars().map(|c| format!("-{c}"))),
            }
        }
        let has = |names: &[&str]| flags.iter().any(|flag| names.contains(&flag.as_str()));
        let value = |names: &[&str]| values.iter().find(|(option, _)| names.contains(&option.as_str())).map(|(_, value)| value.clone());
        let (is_csvkit, is_grep) = (name == "csvgrep", ["grep", "rg"].contains(&name));
        // Context, or the names of files.
        if is_grep && has(&["-A", "-B", "-C", "-l", "-L", "--files-with-matches", "--files-without-match"]) {
            return None;
        }
        let named: &[&str] = if is_csvkit { &["-m", "--match", "-r", "--regex"] } else { &["-e", "--regexp"] };
        let mut patterns: Vec<String> =
            values.iter().filter(|(option, _)| named.contains(&option.as_str())).map(|(_, v)| v.clone()).collect();
        if patterns.is_empty() && !others.is_empty() {
            patterns.push(others.remove(0));
        }
        let is_literal = match is_csvkit {
            true => value(&["-m", "--match"]).is_some(),
            false => has(&["-F", "--fixed-strings", "-Q", "--literal"]),
        };
        let is_basic = name == "grep" && !has(&["-E", "-P", "--extended-regexp", "--perl-regexp"]);
        let regex = |pattern: &String| match (is_literal, is_basic) {
            (true, _) => literal(pattern),
            (_, true) => extended(pattern),
            _ => pattern.clone(),
        };
        let pattern = match patterns.as_slice() {
            [] => return None,
            all => all.iter().map(regex).collect::<Vec<_>>().join("|"),
        };
        let is_word = is_grep && has(&["-w", "--word-regexp"]);
        let pattern = if is_word { format!("\\b(?:{pattern})\\b") } else { pattern };
        // csvgrep -i inverts.
        let flags = if !is_csvkit && has(&["-i", "--ignore-case"]) { "i" } else { "" };
        let is_whole = is_grep && has(&["-x", "--line-regexp"]);
        let most = value(&["-m", "--max-count"]).filter(|_| is_grep);
        let counts = is_grep && has(&["-c", "--count"]);
        Some(Search {
            regex: if is_whole { format!("(?s{flags}){}", grouped(&pattern)) } else { containing(&pattern, flags) },
            first_match: (is_grep && has(&["-o", "--only-matching"])).then(|| format!("(?s{flags})^.*?({pattern}).*")),
            is_inverted: has(&["--invert-match", if is_csvkit { "-i" } else { "-v" }]),
            after: most
                .map(|most| format!("then head {most}"))
                .into_iter()
                .chain(counts.then(|| "then count".to_owned()))
                .collect::<Vec<_>>()
                .join(" "),
            column: if is_csvkit { value(&["-c", "--columns"]) } else { value(&["-s", "--select"]) },
            files: others,
        })
    }

    /// Whether records are searched, for each of which the test is negated or not; otherwise parts of their text.
    pub fn test(&self) -> Option<(String, bool)> {
        self.first_match.is_none().then(|| (in_shell_string(&self.regex), self.is_inverted))
    }

    /// The regular expressions of a search for parts of text: of the texts that have one, and of its place in them.
    pub fn extraction(&self) -> Option<[String; 2]> {
        let first = self.first_match.as_ref().filter(|_| !self.is_inverted && self.after.is_empty())?;
        Some([&self.regex, first].map(|regex| in_shell_string(regex)))
    }

    /// The verb that counts what is found, or limits it.
    pub fn after(&self) -> String {
        self.after.clone()
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
        let is_extended = given.iter().any(|word| ["-E", "-r", "--regexp-extended"].contains(&word.as_str()));
        given.iter().find_map(|word| {
            let rest = word.strip_prefix('s')?;
            let separator = rest.chars().next().filter(|c| !c.is_alphanumeric())?;
            let mut parts = rest[separator.len_utf8()..].split(separator);
            let (old, new, flags) = (parts.next()?, parts.next()?, parts.next()?);
            let old = if is_extended { old.to_owned() } else { extended(old) };
            let old = if flags.contains(['i', 'I']) { format!("(?i){old}") } else { old };
            // With an escaped separator there are more parts.
            parts.next().is_none().then(|| Substitution { old, new: replacement(new), is_global: flags.contains('g') })
        })
    }

    /// `{old}`, `{new}` and `{once}`.
    pub fn place(found: Option<&Substitution>, place: &str) -> String {
        match (place, found) {
            ("old", Some(found)) => in_shell_string(&found.old),
            ("new", Some(found)) => in_shell_string(&found.new),
            ("once", Some(found)) if !found.is_global => ", replace_global=False".to_owned(),
            ("old", None) => "OLD".to_owned(),
            ("new", None) => "NEW".to_owned(),
            _ => String::new(),
        }
    }
}

/// A replacement of `sed`, where `&` is the match.
fn replacement(new: &str) -> String {
    let (mut out, mut chars) = (String::new(), new.chars());
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("\\0"),
            '\\' => match chars.next() {
                Some('&') => out.push('&'),
                c => out.extend(['\\'].into_iter().chain(c)),
            },
            c => out.push(c),
        }
    }
    out
}

/// Text in a string of an expression in single quotes of the shell.
fn in_shell_string(text: &str) -> String {
    in_single_quotes(&text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Text inside the single quotes of a shell word.
pub fn in_single_quotes(text: &str) -> String {
    text.replace('\'', "'\\''")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_match_whole_values() {
        for (line, expected) in [
            ("grep -E fox|dog f", Some("(?s).*(?:fox|dog).*")),
            ("grep fox\\|dog f", Some("(?s).*(?:fox|dog).*")),
            ("grep fox|dog f", Some("(?s).*(?:fox|dog).*")),
            ("grep f(x) f", Some("(?s).*f\\\\(x\\\\).*")),
            ("grep [(\\] f", Some("(?s).*[(\\\\\\\\].*")),
            ("grep -F a.b|c f", Some("(?s).*(?:a\\\\.b\\\\|c).*")),
            ("grep -w disk f", Some("(?s).*\\\\b(?:disk)\\\\b.*")),
            ("grep -xi fox f", Some("(?si)fox")),
            ("rg -e fox -e dog f", Some("(?s).*(?:fox|dog).*")),
            ("grep -A 1 fox f", None),
            ("grep -o fox f", None),
            ("csvgrep -c name -m A.n f", Some("(?s).*A\\\\.n.*")),
            ("csvgrep -c dept -r sales|ops f", Some("(?s).*(?:sales|ops).*")),
            ("search -s name A.n f", Some("(?s).*A.n.*")),
            ("grep", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = Search::of(&words[0], &words[1..]);
            assert_eq!(found.as_ref().and_then(Search::test).map(|(regex, _)| regex).as_deref(), expected, "{line}");
            assert!(found.is_none_or(|search| search.files == ["f"]), "{line}");
        }
    }
}
