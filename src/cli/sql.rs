//! Suggests chains of verbs for simple SQL queries.

use crate::expr::{condition, names_used};
use crate::path::in_expression;
use crate::printable::shell_word;
use crate::quotes::{QUOTES, words};

/// Whether a word is a query.
pub fn is_query(word: &str) -> bool {
    word.split_whitespace().next().is_some_and(|first| first.eq_ignore_ascii_case("select")) && word.trim().contains(char::is_whitespace)
}

/// A query of one table.
struct Query<'a> {
    words: Vec<&'a str>,
    /// The position of FROM.
    from: usize,
    table: &'a str,
}

impl Query<'_> {
    /// `None` for a query of no table, or of several.
    fn of(query: &str) -> Option<Query<'_>> {
        let words = words(query.trim().trim_end_matches(';'), QUOTES);
        if !words.first()?.eq_ignore_ascii_case("select") {
            return None;
        }
        let at = |keyword: &str| words.iter().position(|word| word.eq_ignore_ascii_case(keyword));
        let from = at("from")?;
        let table = words.get(from + 1)?.trim_matches(['\'', '"', '`']);
        let is_one = at("join").is_none()
            && !words.get(from + 1)?.ends_with(',')
            && words.iter().filter(|word| word.eq_ignore_ascii_case("from")).count() == 1;
        is_one.then_some(Query { words, from, table })
    }

    /// DuckDB's command for the query, of this file.
    fn command(&self, file: &str) -> Option<String> {
        let clauses = self.words.get(self.from + 2..)?;
        let query = [&self.words[..=self.from], &[&format!("'{file}'")], clauses].concat().join(" ");
        let is_plain = !query.contains(['"', '$', '`', '\\', '!']);
        Some(if is_plain { format!("duckdb -c \"{query}\"") } else { format!("duckdb -c {}", shell_word(&query)) })
    }
}

/// DuckDB's command for a query, with the file for its table.
pub fn command(query: &str, file: &str) -> Option<String> {
    Query::of(query)?.command(file)
}

/// The command for a query of one table: columns, WHERE, ORDER BY and LIMIT become verbs. A query with anything else is left to
/// DuckDB. `file_of`: the FILE that a table is read from; `has_nulls`: whether a field of it may be null. `None` if the text is not a query of a FILE.
pub fn equivalent(query: &str, file_of: impl Fn(&str) -> Option<String>, has_nulls: impl Fn(&str, &str) -> bool) -> Option<String> {
    let query = Query::of(query)?;
    let file = file_of(query.table)?;
    let columns = query.words[1..query.from].concat();
    let clauses = query.words.get(query.from + 2..)?;
    if let Some(verbs) = verbs_for(&columns, clauses, |field| has_nulls(&file, field)) {
        return Some(format!("tatter {verbs} {}", shell_word(&file)));
    }
    // DuckDB reads these by their names.
    let stem = file.trim_end_matches(".gz").trim_end_matches(".zst");
    if [".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson"].iter().any(|extension| stem.ends_with(extension)) {
        return query.command(&file);
    }
    Some(format!("tatter convert {} -o data.parquet --no-clobber && {}", shell_word(&file), query.command("data.parquet")?))
}

fn verbs_for(columns: &str, clauses: &[&str], has_nulls: impl Fn(&str) -> bool) -> Option<String> {
    let is_names = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.,".contains(c));
    let mut verbs = Vec::new();
    let mut limit = None;
    let mut rest = clauses;
    while let Some((keyword, after)) = rest.split_first() {
        let is_next = |word: &&str| ["where", "order", "limit"].iter().any(|next| word.eq_ignore_ascii_case(next));
        let end = after.iter().position(is_next).unwrap_or(after.len());
        let clause = &after[..end];
        match (keyword.to_ascii_lowercase().as_str(), clause) {
            ("where", [_, ..]) => {
                let test = condition(&clause.join(" "))?;
                // A comparison with null holds for no record in SQL, and is an error here.
                let nullable: Vec<String> = names_used(&test, false)?.read.into_iter().filter(|field| has_nulls(field)).collect();
                if !nullable.is_empty() && (test.contains("is_null") || test.contains(" or ")) {
                    return None;
                }
                if !nullable.is_empty() {
                    let tests: Vec<String> = nullable.iter().map(|field| format!("not is_null({})", in_expression(field))).collect();
                    verbs.push(format!("filter {}", shell_word(&tests.join(" and "))));
                }
                verbs.push(format!("filter {}", shell_word(&test)));
            }
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
            ("select id from a where n > 1", Some("tatter filter 'not is_null(n)' then filter 'n > 1' then select id a.csv")),
            ("select id from a", Some("tatter select id a.csv")),
            (
                "select count(*) from x.tfrecord",
                Some(r#"tatter convert x.tfrecord -o data.parquet --no-clobber && duckdb -c "select count(*) from 'data.parquet'""#),
            ),
            ("select id from a.csv join b.csv using (id)", None),
            ("select id from b.csv", None),
            ("select", None),
            ("head 3", None),
        ] {
            let file_of = |table: &str| match table {
                "a" | "a.csv" => Some("a.csv".to_owned()),
                "x.tfrecord" => Some(table.to_owned()),
                _ => None,
            };
            assert_eq!(equivalent(query, file_of, |_, field| field == "n").as_deref(), command, "{query}");
        }
    }
}
