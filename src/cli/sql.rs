//! Suggests chains of verbs for simple SQL queries.

use crate::expr::condition;
use crate::printable::shell_word;
use crate::quotes::{QUOTES, words};

/// The command for a query of one table: columns, WHERE, ORDER BY and LIMIT become verbs. A query with anything else is left to
/// DuckDB. `None` if the text is not a query of a FILE.
pub fn equivalent(query: &str, is_file: impl Fn(&str) -> bool) -> Option<String> {
    let words = words(query.trim().trim_end_matches(';'), QUOTES);
    if !words.first()?.eq_ignore_ascii_case("select") {
        return None;
    }
    let at = |keyword: &str| words.iter().position(|word| word.eq_ignore_ascii_case(keyword));
    let from = at("from")?;
    let table = words.get(from + 1)?.trim_matches(['\'', '"', '`']);
    if !is_file(table) {
        return None;
    }
    let columns = words[1..from].concat();
    let clauses = words.get(from + 2..)?;
    match verbs_for(&columns, clauses) {
        Some(verbs) => Some(format!("tatter {verbs} {}", shell_word(table))),
        None => {
            let query = [&words[..=from], &[&format!("'{table}'")], clauses].concat().join(" ");
            let is_plain = !query.contains(['"', '$', '`', '\\', '!']);
            Some(if is_plain { format!("duckdb -c \"{query}\"") } else { format!("duckdb -c {}", shell_word(&query)) })
        }
    }
}

fn verbs_for(columns: &str, clauses: &[&str]) -> Option<String> {
    let is_names = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.,".contains(c));
    let mut verbs = Vec::new();
    let mut limit = None;
    let mut rest = clauses;
    while let Some((keyword, after)) = rest.split_first() {
        let is_next = |word: &&str| ["where", "order", "limit"].iter().any(|next| word.eq_ignore_ascii_case(next));
        let end = after.iter().position(is_next).unwrap_or(after.len());
        let clause = &after[..end];
        match (keyword.to_ascii_lowercase().as_str(), clause) {
            ("where", [_, ..]) => verbs.push(format!("filter {}", shell_word(&condition(&clause.join(" "))?))),
            ("order", [by, key]) if by.eq_ignore_ascii_case("by") && is_names(key) => verbs.push(format!("sort --by {key}")),
            ("order", [by, key, way]) if by.eq_ignore_ascii_case("by") && is_names(key) && !key.contains(',') => {
                let descends = way.eq_ignore_ascii_case("desc");
                verbs.push(format!("sort --by {}{key}", if descends { "-" } else { "" }));
            }
            ("limit", [number]) if number.parse::<u64>().is_ok() => limit = Some(format!("head {number}")),
            _ => return None,
        }
        rest = &after[end..];
    }
    verbs.extend(limit);
    match columns {
        "*" if verbs.is_empty() => verbs.push("convert".to_owned()),
        "*" => {}
        names if is_names(names) => verbs.push(format!("select {names}")),
        _ => return None,
    }
    Some(verbs.join(" then "))
}

#[cfg(test)]
mod tests {
    use super::equivalent;

    #[test]
    fn queries_of_one_table_become_chains() {
        for (query, command) in [
            ("select * from a.csv", Some("tatter convert a.csv")),
            ("SELECT id, name FROM 'a.csv' LIMIT 5;", Some("tatter head 5 then select id,name a.csv")),
            (
                "select id from a.csv where price <> 2 and name = 'x' order by price desc limit 3",
                Some(r#"tatter filter 'price != 2 and name == "x"' then sort --by -price then head 3 then select id a.csv"#),
            ),
            ("select * from a.csv where s = 'x  order y'", Some(r#"tatter filter 's == "x  order y"' a.csv"#)),
            ("select count(*) from a.csv group by id", Some(r#"duckdb -c "select count(*) from 'a.csv' group by id""#)),
            ("select id from b.csv", None),
            ("select", None),
            ("head 3", None),
        ] {
            assert_eq!(equivalent(query, |table| table == "a.csv").as_deref(), command, "{query}");
        }
    }
}
