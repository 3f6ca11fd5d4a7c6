//! The keys of a sort and their directions, in the words of other tools.

use crate::cli::split::is_option;
use crate::path::in_expression;

/// Options for descending order.
const DESCENDING: &[&str] = &["-r", "-R", "--reverse", "--descending", "--desc"];
/// Options that a key follows, in ascending order; with an `r`, as in `-nr`, in descending order.
const KEYS: &[&str] = &["-f", "-n", "-nf", "-k", "-nk", "-c", "-t", "-s", "--by", "--key", "--columns", "--select", "--fields"];
const DESCENDING_KEYS: &[&str] = &["-r", "-nr", "-rn", "-rk", "-nrk", "-rnk", "-kr", "-tr", "-cr", "-nt", "-ntr"];

/// The keys as `sort --by` takes them, with `-` before those in descending order; `None` if there are none. `is_field`: whether
/// the records have a field of this name, if that is known.
pub fn sort_keys<'a>(own: impl IntoIterator<Item = &'a str>, is_field: impl Fn(&str) -> Option<bool>) -> Option<String> {
    let mut keys: Vec<(String, bool)> = Vec::new();
    let (mut all_descend, mut next_descends, mut named) = (false, None, false);
    let words: Vec<&str> =
        own.into_iter().flat_map(|word| if word.contains(['(', '"']) { vec![word] } else { word.split([' ', ',']).collect() }).collect();
    let mut words = words.into_iter().filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let (option, inline) = word.split_once('=').unwrap_or((word, ""));
        match word.to_ascii_lowercase().as_str() {
            "asc" | "ascending" => continue,
            "desc" | "descending" => {
                keys.last_mut()?.1 = true;
                continue;
            }
            "by" if words.peek().is_some() => continue,
            _ => {}
        }
        if ["--ascending", "ascending"].contains(&option) {
            let value = if inline.is_empty() { words.next().unwrap_or_default() } else { inline };
            all_descend |= ["false", "0", "no"].contains(&value.to_ascii_lowercase().as_str());
        } else if let Some(name) =
            word.strip_prefix('-').filter(|name| is_option(word) && is_field(name).unwrap_or(name.len() > 3 && !name.starts_with('-')))
        {
            keys.push((name.to_owned(), true));
        } else if KEYS.contains(&option) && !inline.is_empty() {
            keys.push((inline.to_owned(), false));
        } else if is_option(word) {
            // `-r x` is the key x where keys follow options, and else the order of all.
            let is_followed = words.peek().is_some_and(|next| !is_option(next));
            next_descends = match (KEYS.contains(&word), DESCENDING_KEYS.contains(&word), DESCENDING.contains(&word)) {
                (true, ..) => Some(false),
                (_, _, true) if !is_followed || !named => {
                    all_descend |= true;
                    None
                }
                (_, true, _) if is_followed => Some(true),
                (_, true, _) => {
                    all_descend |= true;
                    None
                }
                _ => None,
            };
            named |= next_descends.is_some();
        } else if let Some((name, key)) =
            word.strip_suffix(')').and_then(|call| call.split_once('(')).filter(|(name, _)| ["desc", "asc"].contains(name))
        {
            keys.push((key.to_owned(), name == "desc"));
        } else {
            keys.push((word.to_owned(), next_descends.unwrap_or(false)));
        }
    }
    let is_plain = |key: &str| key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let key = |(key, descends): &(String, bool)| {
        let sign = if *descends || all_descend { "-" } else { "" };
        format!("{sign}{}", if is_plain(key) { in_expression(key) } else { key.clone() })
    };
    (!keys.is_empty()).then(|| keys.iter().map(key).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::sort_keys;

    #[test]
    fn keys_have_directions() {
        for (line, expected) in [
            ("salary", Some("salary")),
            ("-r -c salary", Some("-salary")),
            ("-c salary -r", Some("-salary")),
            ("-r dept salary", Some("-dept,-salary")),
            ("-nr salary", Some("-salary")),
            ("-f dept -nr salary", Some("dept,-salary")),
            ("-f dept -r salary", Some("dept,-salary")),
            ("--by salary --ascending False", Some("-salary")),
            ("--by salary --ascending=True", Some("salary")),
            ("salary ascending=False", Some("-salary")),
            ("dept,salary --descending", Some("-dept,-salary")),
            ("dept -salary", Some("dept,-salary")),
            ("desc(salary)", Some("-salary")),
            ("by salary desc", Some("-salary")),
            ("my-key", Some("`my-key`")),
            ("len(x)", Some("len(x)")),
            ("-r", None),
        ] {
            let is_field = |name: &str| Some(["salary", "dept", "my-key"].contains(&name));
            assert_eq!(sort_keys(line.split(' '), is_field).as_deref(), expected, "{line}");
        }
    }
}
