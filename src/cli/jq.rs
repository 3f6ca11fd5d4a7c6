//! Suggests chains of verbs for simple jq programs.

use crate::expr::names_used;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::quotes::{Piece, split};
use crate::schema::notation::parsing;

/// The characters that quote strings.
const QUOTES_OF_JQ: &[char] = &['"'];

/// The command for a program; see [`verbs`]. `files` is what follows the program.
pub fn equivalent(program: &str, files: &str) -> Option<String> {
    Some(["tatter", &verbs(program)?, files].join(" ").trim_end().to_owned())
}

/// The chain for a program of paths, `select(...)`, `del(...)`, `length` and objects, separated by `|`; `None` for any other
/// program.
pub fn verbs(program: &str) -> Option<String> {
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
        if let Some(paths) = stage.strip_prefix("del(").and_then(|rest| rest.strip_suffix(')')) {
            let path = |path| field_path(path).or_else(|| Some(path.to_owned()).filter(|path| is_path(path)));
            let paths: Vec<String> = top_level(paths, ',').into_iter().map(path).collect::<Option<_>>()?;
            verbs.push(format!("drop {}", paths.join(",")));
            continue;
        }
        // Nothing follows a value that is no object.
        let value = match (stage, stages.next()) {
            (path, Some("= fromjson")) => {
                verbs.push(format!("cast {}=json", field_path(path)?));
                continue;
            }
            (path, Some("fromjson")) => parsed(&field_path(path)?, stages.next(), stages.next())?,
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
    Some(verbs.join(" then "))
}

/// The verbs for JSON text in a field, and for a value in it, if one follows.
fn parsed(texts: &str, path: Option<&str>, more: Option<&str>) -> Option<String> {
    match (path.map(field_path), more) {
        (None, None) => Some(format!("cast {texts}=json then select {texts}")),
        (Some(Some(inner)), None) => {
            let path = |text: &str| FieldPath::try_new(text.split('.').map(str::to_owned).collect()).ok();
            Some(format!("{} then select {texts}.{inner}", parsing(&path(texts)?, &path(&inner)?)))
        }
        _ => None,
    }
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
        if let Some(value) = value {
            let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(value);
            let value = field_path(value).or_else(|| expression(inner)).or_else(|| expression(value))?;
            if value != name {
                assigned.push(format!("{name} = {value}"));
            }
        }
        names.push(name);
    }
    let map = if assigned.is_empty() { String::new() } else { format!("map {} then ", shell_word(&assigned.join("; "))) };
    Some(format!("{map}select {}", names.join(",")))
}

/// The expression for a condition or value; `None` if it has anything but fields, literals, operators, `select(...)`, `length`,
/// `test("...")` and functions of tatter.
pub fn expression(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix("select(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    let mut out = String::new();
    for part in top_level(text, '|') {
        let pattern = part.strip_prefix("test(\"").and_then(|rest| rest.strip_suffix("\")")).filter(|pattern| !pattern.contains('"'));
        out = match (part.strip_prefix("length"), pattern) {
            (None, None) if out.is_empty() => without_dots(part)?,
            (Some(compared), _) if is_path(&out) => format!("len({out}){compared}"),
            (None, Some(pattern)) if is_path(&out) => format!("strings.regex_full_match({out}, \"(?s).*{pattern}.*\")"),
            _ => return None,
        }
    }
    names_used(&out, false).is_some().then_some(out)
}

/// The assignments with fields by their names alone, as in `y = x` for `.y = .x`; `None` if they are not those of tatter even then.
pub fn statements(text: &str) -> Option<String> {
    without_dots(text).filter(|text| names_used(text, true).is_some())
}

/// The text without the dots before fields.
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
                let is_null = test.iter().find_map(|(null, not)| Some((rest.trim_start().strip_prefix(null)?, not)));
                match (is_null, replacement(rest)) {
                    (Some((after, not)), _) => {
                        out.push_str(&format!("{not}is_null({path})"));
                        rest = after;
                    }
                    (None, Some((value, after))) => {
                        out.push_str(&format!("fill_null({path}, {value})"));
                        rest = after;
                    }
                    (None, None) => out.push_str(&path),
                }
                continue;
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len());
                match &rest[..end] {
                    "true" => out.push_str("True"),
                    "false" => out.push_str("False"),
                    word => out.push_str(word),
                }
                rest = &rest[end..];
                continue;
            }
            c if c.is_ascii_digit() || " .<>=!()+-*/%,;".contains(c) => 1,
            _ => return None,
        };
        out.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Some(out)
}

/// The value that replaces null, after a path, as in `// "none"`, and the text after it.
fn replacement(text: &str) -> Option<(&str, &str)> {
    let value = text.trim_start().strip_prefix("//")?.trim_start();
    let end = match value.strip_prefix('"') {
        Some(string) => string.find('"')? + 2,
        None => value.find(|c: char| !(c.is_ascii_digit() || "-.".contains(c))).unwrap_or(value.len()),
    };
    (end > 0).then(|| value.split_at(end))
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
    use super::{equivalent, statements};

    #[test]
    fn assignments_name_fields_without_dots() {
        for (text, expected) in [
            (".y = .x + 1", Some("y = x + 1")),
            ("l = .meta.lang // \"none\"; n = .n // 0", Some("l = fill_null(meta.lang, \"none\"); n = fill_null(n, 0)")),
            ("y = strings.lower(.s)", Some("y = strings.lower(s)")),
            (".x |= . + 1", None),
            (".x", None),
        ] {
            assert_eq!(statements(text).as_deref(), expected, "{text}");
        }
    }

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
            (".p | fromjson", Some("tatter cast p=json then select p f")),
            (".p | fromjson | .user.id", Some("tatter cast 'p={user: {id: optional json}}' then select p.user.id f")),
            (".p |= fromjson | .p", Some("tatter cast p=json then select p f")),
            (".p | fromjson | length", None),
            ("{a, b: .c.d}", Some("tatter map 'b = c.d' then select a,b f")),
            ("select(.x > 1 and .s == \"a.b\")", Some("tatter filter 'x > 1 and s == \"a.b\"' f")),
            ("select(.tags | length > 2) | .id", Some("tatter filter 'len(tags) > 2' then select id f")),
            ("select(.x != null and .y > 1)", Some("tatter filter 'not is_null(x) and y > 1' f")),
            ("select(.s | test(\"a\"))", Some("tatter filter 'strings.regex_full_match(s, \"(?s).*a.*\")' f")),
            ("select(.s // \"\" == \"a\" and .ok == true)", Some("tatter filter 'fill_null(s, \"\") == \"a\" and ok == True' f")),
            ("{user, n: len(tags), m: (.b | length)}", Some("tatter map 'n = len(tags); m = len(b)' then select user,n,m f")),
            ("del(.a, .b.c) | .x", Some("tatter drop a,b.c then select x f")),
            ("select(.a | ascii_downcase == \"x\")", None),
            ("select(.[0] == 1)", None),
            ("map(.x + 1)", None),
            ("group_by(.x)", None),
        ] {
            assert_eq!(equivalent(program, "f").as_deref(), expected, "{program}");
        }
    }
}
