//! Suggests equivalent commands for verbs of other tools.

use super::brackets::typed_word;
use super::split::{Words, find_option, has_option};
use super::typed::Typed;
use clap::{Args, Command};
use std::ffi::OsString;
use std::path::Path;

/// Names in other tools, some with an option, and equivalent commands. In a command, `{args}` is all words after the name, `{key}` the first
/// word that is not a file (or the word after -f), `{by}` is `--by {key}` if there is a key, `{n}` a number, `{files}`
/// the files, and `{file}` and `{other}` the first two files.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["take", "limit", "first"], &["tatter head {args}"]),
    (&["top", "nlargest"], &["tatter sort --by {key} --descending then head {n} {files}", "tatter head {n} {files}"]),
    (&["nsmallest"], &["tatter sort --by {key} then head {n} {files}"]),
    (&["last"], &["tatter tail {args}"]),
    (&["cat", "concat", "save", "export", "dump", "cp", "copy", "append", "merge", "write", "read"], &["tatter convert {args}"]),
    (&["where", "match"], &["tatter filter {args}"]),
    (&["grep", "rg", "search"], &["tatter filter 'strings.regex_full_match(FIELD, \"(?s).*{key}.*\")' {files}"]),
    (&["project", "pick", "keep"], &["tatter select {args}"]),
    (&["cut"], &["tatter select {key} {files}"]),
    (&["remove", "delete", "rm", "exclude", "without"], &["tatter drop {args}"]),
    (&["astype"], &["tatter cast {args}"]),
    (&["fillna", "fill-na", "fill_null", "coalesce"], &["tatter fill-null {args}"]),
    (
        &["apply", "mutate", "assign", "with", "with-columns", "with_columns", "add-column", "add_column", "compute", "eval", "put"],
        &["tatter map {args}"],
    ),
    (&["hash"], &["tatter map 'hash = strings.to_hash_bucket_fast({key}, 1000)' {files}"]),
    (&["reorder", "move"], &["tatter select '{key},*' {files}"]),
    (&["order-by", "orderby", "order", "arrange"], &["tatter sort --by {key} {files}"]),
    (&["nth", "row", "rows"], &["tatter get {args}"]),
    (&["to-csv", "to_csv", "tocsv", "csv"], &["tatter convert {args} --to csv"]),
    (&["to-json", "to_json", "tojson"], &["tatter convert {args} --to json"]),
    (&["to-parquet", "to_parquet"], &["tatter convert {args} -o data.parquet"]),
    (&["nunique", "count-unique"], &["tatter count --by {key} then count {files}"]),
    (&["sum"], &["tatter convert {files} -o data.parquet && duckdb -c \"SELECT sum({key}) FROM 'data.parquet'\""]),
    (&["order_by", "sort-by", "sort_by", "sort-values", "sort_values"], &["tatter sort --by {key} {files}"]),
    (&["tac", "reverse"], &["tatter enumerate then sort --by -index then drop index {files}"]),
    (&["mean", "avg", "min", "max", "quantile", "stats1"], &["tatter stats -f {key} {files}"]),
    (
        &["value-counts", "value_counts", "count-distinct", "count-by", "frequencies", "frequency", "freq", "tally", "histogram"],
        &["tatter count --by {key} {files}"],
    ),
    (
        &["group-by", "group_by", "groupby", "group", "aggregate"],
        &[
            "tatter count --by {key} {files}",
            "tatter sort --by {key} then implode --by {key} {files}",
            "tatter convert {files} -o data.parquet && duckdb -c \"SELECT {key}, count(*) FROM 'data.parquet' GROUP BY {key}\"",
        ],
    ),
    (
        &["join"],
        &[
            "tatter convert {file} -o a.parquet && tatter convert {other} -o b.parquet && duckdb -c \"SELECT * FROM 'a.parquet' JOIN 'b.parquet' USING ({key})\"",
        ],
    ),
    (&["distinct"], &["tatter unique {by} {files}"]),
    (&["uniq -c", "uniq --count"], &["tatter count --by {key} {files}"]),
    (&["uniq -d", "uniq --repeated"], &["tatter count --by {key} then filter 'count > 1' {files}"]),
    (&["uniq -u", "uniq --unique"], &["tatter count --by {key} then filter 'count == 1' {files}"]),
    (&["uniq"], &["tatter unique {by} {files}", "tatter count --by {key} {files}"]),
    (&["dedup", "drop-duplicates", "drop_duplicates"], &["tatter unique {by} {files}"]),
    (&["shuf"], &["tatter sample {n} {files}", "tatter shuffle {files}"]),
    (&["dropna", "drop-na", "drop-null", "drop-nulls"], &["tatter filter 'not is_null({key}, level=0)' {files}"]),
    (&["sed", "replace", "gsub"], &["tatter map '{key} = strings.regex_replace({key}, \"OLD\", \"NEW\")' {files}"]),
    (&["compare", "cmp", "comm"], &["tatter diff {file} {other}"]),
    (&["takewhile", "take_while"], &["tatter take-while {args}"]),
    (&["dropwhile", "drop-while", "skip_while"], &["tatter skip-while {args}"]),
    (&["nl", "number", "with-index"], &["tatter enumerate {args}"]),
    (&["sample-from-datasets", "sample_from_datasets", "blend"], &["tatter mix {files}"]),
    (&["choose-from-datasets", "choose_from_datasets"], &["tatter choose --by {key} {files}"]),
    (&["paste"], &["tatter zip {files}"]),
    (&["roundrobin", "round-robin", "cycle"], &["tatter interleave {files}"]),
    (&["sliding-window", "rolling"], &["tatter window --size 3 --shift 1 {files}"]),
    (&["frame", "unfold"], &["tatter windows {key} --size 4 --shift 2 {files}"]),
    (&["group-by-window", "group_by_window"], &["tatter bucket --by {key} --batch-sizes 8 {files}"]),
    (&["rejection_resample"], &["tatter rejection-resample {args}"]),
    (&["drift"], &["tatter stats --against {other} {file}"]),
    (&["scan", "running-total", "cumulative-sum"], &["tatter cumsum {args}"]),
    (&["assert_cardinality"], &["tatter assert-cardinality {args}"]),
    (
        &["jq", "yq", "awk", "gawk", "mlr"],
        &["tatter select FIELDS {files}", "tatter filter CONDITION {files}", "tatter map 'NAME = EXPR' {files}"],
    ),
    (
        &["pivot", "pivot-table", "pivot_table", "pivot-wider", "crosstab"],
        &["tatter convert {files} -o data.parquet && duckdb -c \"PIVOT 'data.parquet' ON {key} USING count(*)\""],
    ),
    (
        &["unpivot", "melt", "pivot-longer"],
        &["tatter convert {files} -o data.parquet && duckdb -c \"UNPIVOT 'data.parquet' ON {key} INTO NAME name VALUE value\""],
    ),
    (&["query"], &["tatter filter {args}"]),
    (&["sql"], &["tatter convert {files} -o data.parquet && duckdb -c \"SELECT * FROM 'data.parquet'\""]),
    (&["flatten"], &["tatter merge-dims {key} 0 -1 {files}", "tatter explode {key} {files}"]),
    (&["flat-map", "flat_map", "unnest"], &["tatter explode {args}"]),
    (&["nest"], &["tatter implode --by {key} {files}"]),
    (&["unstack"], &["tatter unbatch {args}"]),
    (&["ragged-batch", "ragged_batch", "dense-to-ragged-batch", "dense_to_ragged_batch", "stack", "chunk"], &["tatter batch {args}"]),
    (&["padded_batch", "pad-batch", "collate"], &["tatter padded-batch {args}"]),
    (&["bucket-by-sequence-length", "bucket_by_sequence_length"], &["tatter bucket {args}"]),
    (&["pad", "dense", "to-tensor", "to_tensor"], &["tatter to-dense {args}"]),
    (&["unpad", "from-tensor", "from_tensor"], &["tatter from-dense {args}"]),
    (&["sparse"], &["tatter to-sparse {args}"]),
    (&["train-test-split", "train_test_split", "random-split"], &["tatter split --into train=0.9,test=0.1 -o data.parquet {files}"]),
    (&["ensure", "require"], &["tatter assert {args}"]),
    (&["verify", "check", "lint"], &["tatter validate {args}"]),
    (&["describe", "summary", "summarize", "profile"], &["tatter stats {args}"]),
    (&["info", "ls", "inspect", "types", "dtypes", "columns", "fields", "headers", "keys"], &["tatter schema {args}"]),
    (&["print", "view", "less", "more", "peek", "preview", "look"], &["tatter show {args}"]),
    (&["version"], &["tatter --version"]),
    (&["explain", "plan"], &["tatter convert {args} --dry-run"]),
    (&["len", "length", "wc", "size", "nrows"], &["tatter count {args}"]),
    (&["tokenize", "words"], &["tatter map '{key} = strings.split({key})' {files}"]),
];

/// The commands to suggest for the verb `name`, at position `index` in the chain.
pub fn suggestions(name: &str, index: usize, words: &Words) -> Vec<String> {
    let of = |name: &str| SYNONYMS.iter().find(|(names, _)| names.contains(&name)).map(|(_, templates)| templates);
    let mut options =
        words.verbs.get(index).into_iter().flatten().skip(1).filter_map(|word| word.to_str()).filter(|word| word.starts_with('-'));
    let Some(templates) = options.find_map(|option| of(&format!("{name} {option}"))).or_else(|| of(name)) else { return Vec::new() };
    let is_last = index + 1 == words.verbs.len();
    let found: Vec<String> = templates
        .iter()
        .filter(|template| !template.contains("duckdb") || words.verbs.len() == 1)
        .map(|template| filled(template, index, words, is_last))
        .collect();
    // Complete commands are preferred; if there is none, the first is better than nothing.
    let is_whole = |command: &&String| !command.split([' ', '(']).any(|word| word == "FIELD" || word == "N");
    let whole: Vec<String> = found.iter().filter(is_whole).cloned().collect();
    if whole.is_empty() { found.into_iter().take(1).collect() } else { whole }
}

/// The command line with the verb replaced by the template.
fn filled(template: &str, index: usize, words: &Words, is_last: bool) -> String {
    let given = words.verbs.get(index).map_or_else(Vec::new, |verb| texts(verb.get(1..).unwrap_or(&[])));
    let (globals, given) = global_options(given);
    let dashed = if is_last { texts(&words.files) } else { Vec::new() };
    // A program in the language of another tool has points too.
    let is_program = |word: &str| word.starts_with(['.', '{', '$']) || word.contains('(');
    let is_file = |word: &&String| *word == "-" || Path::new(word.as_str()).exists() || (word.contains('.') && !is_program(word));
    let is_option = |word: &&String| word.starts_with('-') && word.len() > 1;
    let is_name = |word: &&String| word.contains(char::is_alphanumeric) && word.parse::<f64>().is_err();
    let key = given.iter().skip_while(|word| *word != "-f").nth(1).filter(is_name);
    let key = key.or_else(|| given.iter().find(|word| !is_file(word) && !is_option(word) && is_name(word)));
    let number = given.iter().map(|word| word.trim_start_matches("-n")).find(|word| word.parse::<u64>().is_ok());
    let files: Vec<&String> = given.iter().filter(is_file).chain(&dashed).collect();
    let joined = |words: &[&String]| words.iter().map(|word| typed_word(word)).collect::<Vec<_>>().join(" ");
    let file = |number: usize| files.get(number).map_or_else(|| "FILE".to_owned(), |file| typed_word(file));
    // Keep only options of the suggested verb, not those of the other tool.
    let verb = template.trim_start_matches("tatter ").split(' ').next().and_then(crate::verbs::find).map(|entry| entry.command());
    let is_foreign =
        |word: &&String| is_option(word) && word.parse::<f64>().is_err() && verb.as_ref().is_some_and(|verb| !has_option(verb, bare(word)));
    let all: Vec<&String> = given.iter().filter(|word| !is_foreign(word)).chain(&dashed).collect();
    // A pipeline of several programs has no place for global options.
    let globals = if template.contains("&&") { Vec::new() } else { globals };
    let command = template
        .trim_start_matches("tatter ")
        .replace("{args}", &joined(&all))
        .replace("{files}", &joined(&files))
        .replace("{file}", &file(0))
        .replace("{other}", &file(1))
        .replace("{n}", number.unwrap_or("N"))
        .replace("{by}", &key.map_or_else(String::new, |key| format!("--by {key}")))
        .replace("{key}", key.map_or("FIELD", |key| key.as_str()));
    // Other verbs of the chain can also be names from other tools.
    let other = |verb: &[String]| match verb.split_first().map(|(name, args)| (renamed(name), args)) {
        Some((Some(command), args)) => command.replace("{args}", &joined(&args.iter().collect::<Vec<_>>())),
        _ => joined(&verb.iter().collect::<Vec<_>>()),
    };
    let verb = |(number, verb): (usize, &Vec<OsString>)| if number == index { command.clone() } else { other(&texts(verb)) };
    let verbs: Vec<String> = words.verbs.iter().enumerate().map(verb).collect();
    let before = texts(&words.before);
    let whole = |words: &[String]| joined(&words.iter().collect::<Vec<_>>());
    let line = format!("tatter {} {} {}", whole(&before), verbs.join(" then "), whole(&globals));
    line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The global options that take a value, with their values, and the remaining words.
fn global_options(words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let globals = Typed::augment_args(Command::new("tatter"));
    let takes_value = |word: &str| find_option(&globals, word).is_some_and(|arg| arg.get_action().takes_values());
    let (mut own, mut others) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if !takes_value(bare(&word)) {
            others.push(word);
            continue;
        }
        let value = if word.contains('=') { None } else { words.next() };
        own.push(word);
        own.extend(value);
    }
    (own, others)
}

/// An option without its value.
fn bare(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The command for a name from another tool that takes the same arguments.
fn renamed(name: &str) -> Option<&'static str> {
    let (_, templates) = SYNONYMS.iter().find(|(names, _)| names.contains(&name))?;
    templates.first()?.strip_prefix("tatter ").filter(|template| template.ends_with(" {args}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse::{Request, parse};
    use crate::cli::split::split;

    #[test]
    fn every_suggested_command_is_parsed() {
        for (names, _) in SYNONYMS {
            for name in *names {
                assert!(crate::verbs::find(name).is_none(), "{name} is a verb");
                // Keep words that fit the suggested verb.
                let words = match *name {
                    "take"
                    | "limit"
                    | "first"
                    | "last"
                    | "ragged-batch"
                    | "ragged_batch"
                    | "dense-to-ragged-batch"
                    | "dense_to_ragged_batch"
                    | "stack"
                    | "chunk"
                    | "assert_cardinality"
                    | "padded_batch"
                    | "pad-batch"
                    | "collate" => vec!["2", "Cargo.toml"],
                    "nth" | "row" | "rows" => vec!["2", "Cargo.toml"],
                    "nunique" | "count-unique" | "sum" | "sort-values" | "sort_values" => vec!["x", "Cargo.toml"],
                    "rejection_resample" => vec!["--by", "x", "--target", "a=0.5,b=0.5", "Cargo.toml"],
                    "astype" => vec!["x=int8", "Cargo.toml"],
                    "fillna" | "fill-na" | "fill_null" | "coalesce" => vec!["x=0", "Cargo.toml"],
                    "bucket-by-sequence-length" | "bucket_by_sequence_length" => {
                        vec!["--by", "len(x)", "--boundaries", "3", "--batch-sizes", "2,2", "Cargo.toml"]
                    }
                    "where" | "query" | "grep" | "rg" | "search" | "match" | "ensure" | "require" | "takewhile" | "take_while"
                    | "dropwhile" | "drop-while" | "skip_while" => {
                        vec!["x > 1", "Cargo.toml"]
                    }
                    "apply" | "mutate" | "assign" | "with" | "with-columns" | "with_columns" | "add-column" | "add_column" | "compute"
                    | "eval" | "put" => vec!["y = x", "Cargo.toml"],
                    "top" | "nlargest" | "nsmallest" => vec!["-n", "3", "-f", "x", "Cargo.toml"],
                    "distinct" | "sed" | "replace" | "gsub" | "count-by" | "scan" | "running-total" | "cumulative-sum" | "cut"
                    | "project" | "pick" | "keep" | "remove" | "delete" | "rm" | "exclude" | "without" | "flat-map" | "flat_map"
                    | "unnest" | "order-by" | "orderby" | "order" | "arrange" | "group-by" | "group_by" | "groupby" | "group"
                    | "aggregate" | "flatten" | "nest" | "tokenize" | "words" | "join" => {
                        vec!["x", "Cargo.toml", "Cargo.toml"]
                    }
                    _ => vec!["Cargo.toml"],
                };
                let line: Vec<OsString> = name.split(' ').chain(words).map(OsString::from).collect();
                let found = suggestions(name.split(' ').next().unwrap(), 0, &split(line).unwrap());
                assert!(!found.is_empty(), "{name}");
                for command in found.iter().flat_map(|line| line.split(" && ")).filter(|command| command.starts_with("tatter ")) {
                    let words: Vec<OsString> = shell_words(command).into_iter().skip(1).map(Into::into).collect();
                    assert!(matches!(parse(words), Ok(Request::Chain(_) | Request::Text(_) | Request::Standalone(_))), "{name}: {command}");
                }
            }
        }
    }

    /// The words of a command that uses only single quotes.
    fn shell_words(command: &str) -> Vec<String> {
        let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
        for c in command.chars() {
            match c {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn suggestions_keep_the_rest_of_the_command() {
        let line = "-q select id then take 3 Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("take", 1, &split(line).unwrap()), ["tatter -q select id then head 3 Cargo.toml"]);
        let line = "wc -l Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("wc", 0, &split(line).unwrap()), ["tatter count Cargo.toml"]);
        let line = "concat Cargo.toml build.rs -o out.jsonl --threads=2".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("concat", 0, &split(line).unwrap()), ["tatter convert Cargo.toml build.rs -o out.jsonl --threads=2"]);
        let line = "top -n 3 -f x -g user Cargo.toml".split(' ').map(OsString::from).collect();
        let best = "tatter sort --by x --descending then head 3 Cargo.toml";
        assert_eq!(suggestions("top", 0, &split(line).unwrap()), [best, "tatter head 3 Cargo.toml"]);
        let line = "shuf -n2 Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("shuf", 0, &split(line).unwrap())[0], "tatter sample 2 Cargo.toml");
        let line = "uniq id Cargo.toml -o out.jsonl".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("uniq", 0, &split(line).unwrap())[0], "tatter unique --by id Cargo.toml -o out.jsonl");
        let line = "stats1 -a mean -f fare Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("stats1", 0, &split(line).unwrap()), ["tatter stats -f fare Cargo.toml"]);
        let line = "grep -i cat Cargo.toml".split(' ').map(OsString::from).collect();
        let filter = "tatter filter 'strings.regex_full_match(FIELD, \"(?s).*cat.*\")' Cargo.toml";
        assert_eq!(suggestions("grep", 0, &split(line).unwrap()), [filter]);
        let line = "where id then take 3".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("where", 0, &split(line).unwrap()), ["tatter filter id then head 3"]);
    }
}
