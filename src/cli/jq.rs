//! Suggests chains of verbs for simple jq programs.

use super::brackets::typed;
use super::patterns::containing;
use super::records::Records;
use crate::expr::{function_help, names_used};
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::quotes::{Piece, split};
use crate::schema::notation::parsing;
use std::ffi::OsString;

/// The characters that quote strings.
const QUOTES_OF_JQ: &[char] = &['"'];

/// The command for a program; see [`verbs`]. `files` is what follows the program.
pub fn equivalent(program: &str, files: &str) -> Option<String> {
    Some(["tatter", &verbs(program)?, files].join(" ").trim_end().to_owned())
}

/// The advice for a call of jq without its name: options and a program, as in `-r '.user.name' FILE`.
pub fn of_options(words: &[OsString]) -> Option<String> {
    let texts: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let at = texts.iter().position(|word| !word.starts_with('-'))?;
    let is_own = |word: &&str| match word.strip_prefix("--") {
        Some(long) => ["raw-output", "compact-output", "slurp", "sort-keys", "exit-status"].contains(&long),
        None => word[1..].chars().all(|c| "rcsSe".contains(c)),
    };
    let (program, files) = (texts[at], typed(&words[at + 1..]));
    if !texts[..at].iter().all(is_own) || !is_program(program) {
        return None;
    }
    if !texts[..at].iter().any(|word| *word == "--raw-output" || !word.starts_with("--") && word.contains('r')) {
        return equivalent(program, &files).map(|command| format!("did you mean: {command}"));
    }
    let path = field_path(program).filter(|_| !program.contains('['))?;
    let (outer, name) = path.rsplit_once('.').map_or((None, path.as_str()), |(_, name)| (Some(&path), name));
    let promote = outer.map_or_else(String::new, |path| format!("promote {path} then "));
    let rename = if name == "text" { String::new() } else { format!(" then rename {name}=text") };
    Some(format!("to print a string as lines: tatter {promote}select {name}{rename} --to text {files}").trim_end().to_owned())
}

/// The functions of jq that reduce a list, and those for it here.
const REDUCTIONS: &[(&str, &str)] = &[
    ("sum", "reduce_sum"),
    ("add", "reduce_sum"),
    ("any", "reduce_any"),
    ("all", "reduce_all"),
    ("min", "reduce_min"),
    ("max", "reduce_max"),
    ("length", "len"),
];

/// Whether a text that is no file looks like a program, such as `map(.x)`.
pub fn is_program(text: &str) -> bool {
    let is_call = || text.ends_with(')') && text.split_once('(').is_some_and(|(name, _)| is_name(name));
    let starts = text.starts_with(['.', '[', '{']) && !text.starts_with("./") && !text.starts_with("..");
    (starts && (text.len() > 1 || text == ".")) || is_call() || (text.contains('|') && text.contains('.'))
}

/// The chain for a program of paths, objects, `select(...)`, `del(...)`, `sort_by(...)` and the like, separated by `|`; `None` for
/// any other program.
pub fn verbs(program: &str) -> Option<String> {
    let mut verbs: Vec<String> = Vec::new();
    let stages = with_joined_paths(top_level(program, '|'));
    let mut stages = stages.iter().map(String::as_str).peekable();
    while let Some(stage) = stages.next() {
        if matches!(stage, "." | ".[]") {
            continue;
        }
        if stage == "reverse" {
            let key = verbs.pop()?.strip_prefix("sort --by ")?.to_owned();
            verbs.push(format!("sort --by -{}", Some(key).filter(|key| !key.contains([',', '-']))?));
            continue;
        }
        if let Some(program) = inside(stage, "map(") {
            verbs.push(self::verbs(program)?);
            continue;
        }
        if let Some(verb) = of_records(stage).or_else(|| changing(stage)) {
            verbs.push(verb);
            continue;
        }
        if let (Some(list), Some("@csv" | "@tsv")) =
            (stage.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')), stages.peek().copied())
        {
            let format = stages.next()?.trim_start_matches('@');
            verbs.push(format!("{} --to {format}", fields(list)?));
            return stages.next().is_none().then(|| verbs.join(" then "));
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

/// The stages, with `.a | .b` as one: `.a.b`.
fn with_joined_paths(stages: Vec<&str>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for stage in stages {
        match joined.last_mut() {
            Some(last) if field_path(last).is_some() && field_path(stage).is_some() => last.push_str(stage),
            _ => joined.push(stage.to_owned()),
        }
    }
    joined
}

/// The argument of a call.
fn inside<'a>(stage: &'a str, call: &str) -> Option<&'a str> {
    let argument = stage.strip_prefix(call)?.strip_suffix(')')?;
    (!argument.contains(')') || argument.contains('(')).then_some(argument)
}

/// The verb for a stage that chooses or orders records.
fn of_records(stage: &str) -> Option<String> {
    let paths = |list| top_level(list, ',').into_iter().map(field_path).collect::<Option<Vec<_>>>().map(|paths| paths.join(","));
    if let Some(condition) = inside(stage, "select(") {
        return Some(format!("filter {}", shell_word(&expression(condition)?)));
    }
    if let Some(keys) = inside(stage, "sort_by(") {
        let (sign, key) = keys.strip_prefix('-').map_or(("", keys), |key| ("-", key));
        return Some(format!("sort --by {sign}{}", paths(key).filter(|key| sign.is_empty() || !key.contains(','))?));
    }
    if let Some(key) = inside(stage, "unique_by(") {
        return Some(format!("unique --by {}", paths(key)?));
    }
    if let Some(key) = inside(stage, "group_by(") {
        let key = paths(key)?;
        return Some(format!("sort --by {key} then implode --by {key}"));
    }
    if let Some((number, ".[]")) =
        inside(stage, "limit(").and_then(|arguments| arguments.split_once(';')).map(|(n, of)| (n.trim(), of.trim()))
    {
        return number.parse::<u64>().ok().map(|number| format!("head {number}"));
    }
    match stage {
        "first" => Some("head 1".to_owned()),
        "last" => Some("tail 1".to_owned()),
        _ => {
            let numbers = stage.strip_prefix(".[")?.strip_suffix(']')?;
            Records::of("iloc", &[numbers.to_owned()])?.verbs()
        }
    }
}

/// The verb for a stage that changes fields.
fn changing(stage: &str) -> Option<String> {
    if let Some(paths) = inside(stage, "del(") {
        let path = |path| field_path(path).or_else(|| Some(path.to_owned()).filter(|path| is_path(path)));
        let paths: Vec<String> = top_level(paths, ',').into_iter().map(path).collect::<Option<_>>()?;
        return Some(format!("drop {}", paths.join(",")));
    }
    let (name, value) = stage.split_once('=')?;
    field_path(name.trim())?;
    (!value.starts_with('=')).then(|| statements(stage))?.map(|assignment| format!("map {}", shell_word(&assignment)))
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
    let text = inside(text, "map(").filter(|inner| inner.trim_start().starts_with("select(")).unwrap_or(text).trim();
    let text = inside(text, "select(").unwrap_or(text);
    let mut out = String::new();
    for part in top_level(text, '|') {
        if let (true, Some((_, reduction))) = (is_path(&out), REDUCTIONS.iter().find(|(name, _)| *name == part && part != "length")) {
            out = format!("{reduction}({out})");
            continue;
        }
        let pattern = part.strip_prefix("test(\"").and_then(|rest| rest.strip_suffix("\")")).filter(|pattern| !pattern.contains('"'));
        out = match (part.strip_prefix("length"), pattern) {
            (None, None) if out.is_empty() => without_dots(part)?,
            (Some(compared), _) if is_path(&out) => format!("len({out}){compared}"),
            (None, Some(pattern)) if is_path(&out) => format!("strings.regex_full_match({out}, \"{}\")", containing(pattern, "")),
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
                    name if rest[end..].starts_with('(') => out.push_str(function(name)?),
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

/// The function here for one of jq, or of the same name.
fn function(name: &str) -> Option<&str> {
    let reduction = REDUCTIONS.iter().find(|(own, _)| *own == name).map(|(_, reduction)| *reduction);
    let is_known = ["and", "or", "not", "in"].contains(&name) || function_help(name).is_some();
    reduction.or_else(|| is_known.then_some(name))
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
            (".t = sum(.items[].qty)", Some("t = reduce_sum(items.qty)")),
            (".t = sum(map(.qty))", None),
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
            ("map(.x)", Some("tatter select x f")),
            ("map(select(.x > 1)) | length", Some("tatter filter 'x > 1' then count f")),
            ("group_by(.x)", Some("tatter sort --by x then implode --by x f")),
            ("sort_by(.x) | reverse", Some("tatter sort --by -x f")),
            ("sort_by(-.x)", Some("tatter sort --by -x f")),
            ("unique_by(.x)", Some("tatter unique --by x f")),
            (".a | .b", Some("tatter select a.b f")),
            (".[0]", Some("tatter get 1 f")),
            (".[2:4]", Some("tatter get 3-4 f")),
            (".[-1]", Some("tatter tail 1 f")),
            ("limit(3; .[])", Some("tatter head 3 f")),
            (".x = .y * 2", Some("tatter map 'x = y * 2' f")),
            ("[.a, .b] | @csv", Some("tatter select a,b --to csv f")),
            ("select(.s | test(\"a|b\"))", Some("tatter filter 'strings.regex_full_match(s, \"(?s).*(?:a|b).*\")' f")),
            ("sort_by(.a) | .[0:2]", Some("tatter sort --by a then head 2 f")),
        ] {
            assert_eq!(equivalent(program, "f").as_deref(), expected, "{program}");
        }
    }
}
