//! Suggests chains of verbs for simple jq programs.

use crate::printable::shell_word;
use crate::quotes::{Piece, split};

/// The characters that quote strings.
const QUOTES_OF_JQ: &[char] = &['"'];

/// The command for a program of paths, `select(...)`, `length` and objects of paths, separated by `|`; `None` for any other
/// program. `files` is what follows the program.
pub fn equivalent(program: &str, files: &str) -> Option<String> {
    let mut verbs = Vec::new();
    let mut stages = top_level(program, '|').into_iter().peekable();
    while let Some(stage) = stages.next() {
        if matches!(stage, "." | ".[]") {
            continue;
        }
        if let Some(condition) = stage.strip_prefix("select(").and_then(|rest| rest.strip_suffix(')')) {
            verbs.push(format!("filter {}", shell_word(&expression(condition)?)));
            continue;
        }
        // Nothing follows a value that is no object.
        let value = match (stage, stages.next()) {
            ("length", None) => "count".to_owned(),
            ("keys" | "keys_unsorted", None) => "schema".to_owned(),
            (path, Some("length")) if stages.peek().is_none() => {
                let path = field_path(path)?;
                let name = path.rsplit('.').next()?;
                format!("map {} then select {name}", shell_word(&format!("{name} = len({path})")))
            }
            (stage, None) => fields(stage)?,
            _ => return None,
        };
        verbs.push(value);
    }
    if verbs.is_empty() {
        verbs.push("convert".to_owned());
    }
    Some(["tatter", &verbs.join(" then "), files].join(" ").trim_end().to_owned())
}

/// The verbs that choose the fields of `.a, .b.c` and `{a, c: .b.c}`.
fn fields(stage: &str) -> Option<String> {
    let Some(object) = stage.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        let paths: Vec<String> = top_level(stage, ',').into_iter().map(field_path).collect::<Option<_>>()?;
        return Some(format!("select {}", paths.join(",")));
    };
    let (mut names, mut assigned) = (Vec::new(), Vec::new());
    for entry in top_level(object, ',') {
        let (name, value) = entry.split_once(':').map_or((entry, None), |(name, value)| (name.trim(), Some(value.trim())));
        let name = name.trim_matches('"');
        if !is_name(name) {
            return None;
        }
        if let Some(path) = value.map(field_path) {
            let path = path?;
            if path != name {
                assigned.push(format!("{name} = {path}"));
            }
        }
        names.push(name);
    }
    let map = if assigned.is_empty() { String::new() } else { format!("map {} then ", shell_word(&assigned.join("; "))) };
    Some(format!("{map}select {}", names.join(",")))
}

/// A condition with fields by their names alone.
fn expression(condition: &str) -> Option<String> {
    let mut out = String::new();
    for part in top_level(condition, '|') {
        match part.strip_prefix("length") {
            None if out.is_empty() => out = without_dots(part)?,
            Some(compared) if is_path(&out) => out = format!("len({out}){compared}"),
            _ => return None,
        }
    }
    Some(out.replace("== true", "== True").replace("== false", "== False"))
}

/// The text without the dots before fields; `None` if it has anything but fields, numbers, strings and comparisons.
fn without_dots(text: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '"' => match Piece::first(rest, QUOTES_OF_JQ)? {
                Piece::Quoted(string) => string.len(),
                _ => return None,
            },
            '.' if rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') && !out.ends_with(|c: char| c.is_alphanumeric()) => {
                let end = rest[1..].find(|c: char| !(c.is_alphanumeric() || "_.[]".contains(c))).map_or(rest.len(), |end| end + 1);
                let path = field_path(&rest[..end])?;
                rest = &rest[end..];
                let test = [("== null", ""), ("!= null", "not ")];
                match test.iter().find_map(|(null, not)| Some((rest.trim_start().strip_prefix(null)?, not))) {
                    Some((after, not)) => {
                        out.push_str(&format!("{not}is_null({path})"));
                        rest = after;
                    }
                    None => out.push_str(&path),
                }
                continue;
            }
            c if c.is_alphabetic() => {
                let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                if !["and", "or", "not", "true", "false"].contains(&&rest[..end]) {
                    return None;
                }
                end
            }
            c if c.is_ascii_digit() || " .<>=!()+-*/%".contains(c) => 1,
            _ => return None,
        };
        out.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Some(out)
}

/// The field path for a path of jq: `.docs[].title` is docs.title.
pub fn field_path(path: &str) -> Option<String> {
    let path = path.trim().strip_prefix('.')?.replace("[]", "");
    is_path(&path).then_some(path)
}

fn is_path(path: &str) -> bool {
    path.split('.').all(is_name)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The parts between separators outside of strings and brackets.
fn top_level(text: &str, separator: char) -> Vec<&str> {
    split(text, QUOTES_OF_JQ, separator)
}

#[cfg(test)]
mod tests {
    use super::equivalent;

    #[test]
    fn programs_become_chains() {
        for (program, expected) in [
            (".", Some("tatter convert f")),
            (".[]", Some("tatter convert f")),
            ("length", Some("tatter count f")),
            ("keys", Some("tatter schema f")),
            (".x", Some("tatter select x f")),
            (".docs[].title", Some("tatter select docs.title f")),
            (".[] | .a, .b", Some("tatter select a,b f")),
            (".x | length", Some("tatter map 'x = len(x)' then select x f")),
            ("{a, b: .c.d}", Some("tatter map 'b = c.d' then select a,b f")),
            ("select(.x > 1 and .s == \"a.b\")", Some("tatter filter 'x > 1 and s == \"a.b\"' f")),
            ("select(.tags | length > 2) | .id", Some("tatter filter 'len(tags) > 2' then select id f")),
            ("select(.x != null and .y > 1)", Some("tatter filter 'not is_null(x) and y > 1' f")),
            ("select(.s | test(\"a\"))", None),
            ("map(.x + 1)", None),
            ("group_by(.x)", None),
        ] {
            assert_eq!(equivalent(program, "f").as_deref(), expected, "{program}");
        }
    }
}
