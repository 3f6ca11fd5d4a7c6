//! Field paths: `docs.tokens`, `image/encoded`, `` `a.b`.c ``.
//!
//! On the command line, only names that contain `. , = *`, spaces or backquotes need backquotes. The empty name is two
//! backquotes. A backquote inside a quoted name is doubled.

use crate::error::{Error, Result, mismatch};
use std::collections::HashSet;
use std::fmt;

/// The names on the path from the record to a field, outermost first; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// A path with one name, taken verbatim.
    pub fn name(name: impl Into<String>) -> FieldPath {
        FieldPath(vec![name.into()])
    }

    /// A path with these names, taken verbatim.
    ///
    /// # Errors
    /// There are no names.
    pub fn try_new(names: Vec<String>) -> Result<FieldPath> {
        if names.is_empty() {
            return Err(Error::usage("a field path needs at least one name"));
        }
        Ok(FieldPath(names))
    }

    /// Parses `a.b`, with backquotes around names that need them.
    ///
    /// # Errors
    /// A usage error for an empty name without backquotes or an unclosed backquote.
    pub fn parse(text: &str) -> Result<FieldPath> {
        Ok(FieldPath(split(text, '.')?.iter().map(|part| unquote(part, text)).collect::<Result<_>>()?))
    }

    /// Parses a comma-separated list of paths.
    ///
    /// # Errors
    /// See [`FieldPath::parse`].
    pub fn parse_list(text: &str) -> Result<Vec<FieldPath>> {
        split(text, ',')?.iter().map(|part| FieldPath::parse(part)).collect()
    }

    /// The names, outermost first.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The innermost name.
    pub fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// The path without its innermost name; `None` for a top-level field.
    pub fn parent(&self) -> Option<FieldPath> {
        (self.0.len() > 1).then(|| FieldPath(self.0[..self.0.len() - 1].to_vec()))
    }

    /// Whether the path or a structure around it is one of these.
    pub fn is_within(&self, paths: &HashSet<FieldPath>) -> bool {
        std::iter::successors(Some(self.clone()), FieldPath::parent).any(|path| paths.contains(&path))
    }

    /// The path in expression syntax: `docs.tokens`, ``docs.`a-b` ``.
    pub fn in_expression(&self) -> String {
        self.0.iter().map(|name| in_expression(name)).collect::<Vec<_>>().join(".")
    }

    /// The path of a field inside this field.
    pub fn join(&self, name: &str) -> FieldPath {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        FieldPath(names)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            f.write_str(&quoted(name))?;
        }
        Ok(())
    }
}

/// A name in path syntax, with backquotes only if needed.
pub fn quoted(name: &str) -> String {
    // At the start of a text, U+FEFF would be dropped as a byte order mark.
    // `-f` would be an option, `then` a separator, `@f` a file, `{` a structure.
    let needs = name.is_empty()
        || name == "then"
        || name.starts_with(['\u{feff}', '-', '@', '{', '['])
        || name.chars().any(|c| ".,=*` ".contains(c) || c.is_control());
    if needs { format!("`{}`", name.replace('`', "``")) } else { name.to_owned() }
}

/// Python keywords that cannot be names in expressions.
const KEYWORDS: [&str; 18] = [
    "False", "None", "True", "and", "await", "def", "else", "for", "if", "import", "in", "is", "lambda", "not", "or", "return", "while",
    "yield",
];

/// A name in expression syntax, with backquotes unless it is an identifier.
pub fn in_expression(name: &str) -> String {
    let is_identifier =
        !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_identifier && !KEYWORDS.contains(&name) { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

/// Parses the name of a new field.
///
/// # Errors
/// A path.
pub fn new_name(text: &str) -> Result<String> {
    match FieldPath::parse(text)?.names() {
        [name] => Ok(name.clone()),
        _ => Err(Error::usage(mismatch("one name", format_args!("the path {text}")))
            .help(format!("write a name that contains a dot in backquotes: '`{text}`'"))),
    }
}

/// Splits at `separator` outside backquotes.
///
/// # Errors
/// A backquote that is not closed; a comma with nothing after it.
pub fn split(text: &str, separator: char) -> Result<Vec<&str>> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (i, c) in text.char_indices() {
        if c == '`' {
            inside = !inside;
        } else if c == separator && !inside {
            parts.push(&text[start..i]);
            start = i + c.len_utf8();
        }
    }
    if inside {
        return Err(Error::usage(format!("unterminated backquoted name in {text}")));
    }
    parts.push(&text[start..]);
    if separator == ',' && parts.len() > 1 && text[start..].trim().is_empty() {
        let error = Error::usage(format!("expected another item after the comma of `{text}`"));
        return Err(error.help("a list is a single shell argument, without spaces: a,b"));
    }
    Ok(parts)
}

/// Parses one name of a path, removing backquotes.
pub fn unquote(part: &str, whole: &str) -> Result<String> {
    let part = part.trim();
    if let Some(inner) = part.strip_prefix('`').and_then(|p| p.strip_suffix('`'))
        && !part.is_empty()
        && part.len() > 1
    {
        return Ok(inner.replace("``", "`"));
    }
    if part.is_empty() {
        let error = Error::usage(match whole {
            "" => mismatch("a name", "nothing"),
            _ => format!("`{whole}` contains an empty name").into(),
        });
        return Err(match whole.strip_prefix('.').filter(|rest| !rest.is_empty()) {
            Some(rest) => error.help(format!("omit the dot before a field name: {rest}")),
            None => error.help("write the empty name as two backquotes"),
        });
    }
    if part.contains('`') {
        return Err(Error::usage(format!("{part}: backquotes must enclose a whole name")));
    }
    Ok(part.to_owned())
}

/// Whether `name` matches `pattern`, in which `*` matches any sequence of characters.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    // By bytes: a piece of a pattern is valid UTF-8, so it matches only whole characters.
    let (p, n) = (pattern.as_bytes(), name.as_bytes());
    let (mut i, mut j, mut star, mut mark) = (0, 0, None, 0);
    while j < n.len() {
        if i < p.len() && p[i] == b'*' {
            star = Some(i);
            mark = j;
            i += 1;
        } else if i < p.len() && p[i] == n[j] {
            i += 1;
            j += 1;
        } else if let Some(s) = star {
            i = s + 1;
            mark += 1;
            j = mark;
        } else {
            return false;
        }
    }
    p[i..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_they_are_parsed() {
        for text in ["docs.tokens", "image/encoded", "`a.b`.c", "``", "a.``", "`x``y`", "日本"] {
            assert_eq!(FieldPath::parse(text).map(|p| p.to_string()).ok().as_deref(), Some(text));
        }
        for (text, expected) in [
            ("", "expected a name, found nothing"),
            ("a.", "`a.` contains an empty name"),
            ("`a", "unterminated backquoted name in `a"),
            ("a`b`", "a`b`: backquotes must enclose a whole name"),
        ] {
            assert_eq!(FieldPath::parse(text).unwrap_err().message(), expected);
        }
    }

    #[test]
    fn a_star_matches_any_run() {
        assert!(
            glob_matches("*", "") && glob_matches("a*c", "abbc") && glob_matches("*_id*", "user_id") && glob_matches("日*语", "日本语")
        );
        assert!(!glob_matches("a*c", "abb") && !glob_matches("a", "ab"));
    }
}
