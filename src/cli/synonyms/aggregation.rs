//! Sums, means and counts in the words of other tools: `sum(x) by k`, `x=mean`, `group_by k then sum x`.

/// What `stats` can compute.
const FUNCTIONS: &[&str] = &["sum", "mean", "avg", "min", "max", "median", "std", "stddev", "var", "quantile"];

/// Fields whose values are summarized, and the key of the groups.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Aggregation {
    pub fields: Vec<String>,
    pub by: Option<String>,
}

/// Whether it is the name of such a function.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name.to_ascii_lowercase().as_str())
}

impl Aggregation {
    /// The aggregation that the words name; `None` if they name none. `is_file`: whether a word is a file.
    pub fn of(words: &[String], is_file: impl Fn(&str) -> bool) -> Option<Aggregation> {
        let mut found = Aggregation::default();
        let mut parts = words.iter().filter(|word| !is_file(word)).flat_map(|word| word.split([' ', ',']).filter(|part| !part.is_empty()));
        while let Some(part) = parts.next() {
            let call = part.strip_suffix(')').and_then(|call| call.split_once('('));
            match (part, part.split_once('='), call) {
                ("by" | "-g" | "--by", ..) => found.by = Some(parts.next()?.to_owned()),
                (_, _, Some((function, field))) if is_function(function) && is_field(field) => found.fields.push(field.to_owned()),
                (_, Some((field, function)), _) if is_function(function) && is_field(field) => found.fields.push(field.to_owned()),
                (function, ..) if is_function(function) => found.fields.push(parts.next().filter(|part| is_field(part))?.to_owned()),
                // `group_by k then sum x`
                (field, None, None) if found.by.is_none() && found.fields.is_empty() && is_field(field) => {
                    found.by = Some(field.to_owned())
                }
                _ => return None,
            }
        }
        (!found.fields.is_empty()).then_some(found)
    }
}

fn is_field(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && text.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregations_are_told_apart() {
        for (line, expected) in [
            ("salary=mean", Some((vec!["salary"], None))),
            ("sum(salary) by dept", Some((vec!["salary"], Some("dept")))),
            ("dept sum salary f", Some((vec!["salary"], Some("dept")))),
            ("-g dept sum(a),mean(b)", Some((vec!["a", "b"], Some("dept")))),
            ("dept", None),
            ("count(*)", None),
            ("sum(a+b)", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = Aggregation::of(&words, |word| word == "f");
            let found = found.as_ref().map(|found| (found.fields.iter().map(String::as_str).collect(), found.by.as_deref()));
            assert_eq!(found, expected, "{line}");
        }
    }
}
