//! Suggests equivalent commands for verbs of other tools.

mod given;

use super::line::shell_words;
use super::split::Words;
use crate::expr::names_used;
use crate::schema::Schema;
use given::Given;
use std::ffi::OsString;

/// Names in other tools, some with a word that follows, and equivalent commands. In a command, `{args}` is all words after the
/// name, `{key}` the first word that is not a file (or the word after -f), `{by}` is `--by {key}` if there is a key, `{n}` and
/// `{skipped}` the first two numbers, `{number}` the first or 1, `{range}` both as in 2-4, `{listed}` numbers as in 2,4,
/// `{value}` a word after the key, `{files}` the files, and `{file}` and `{other}` the first two files. `{field}` is the key
/// inside an expression in single quotes, and `{column}` inside SQL in double quotes. `{fields}` is `-f {key}` if there is a key,
/// `{shape}` gives it the size `{n}`, `{condition}` is all words after the name if one of them compares, and `{promoted}` moves
/// the fields out of a structure; `{name}` is the name itself. The others belong to `grep` and `sed` (`patterns.rs`). A command
/// with a place that has no value, or one that would be refused, is not suggested.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["limit offset", "take offset"], &["tatter skip {skipped} then head {n} {files}"]),
    (&["take", "limit"], &["tatter head {args}"]),
    (&["first"], &["tatter head {number} {files}"]),
    (&["offset"], &["tatter skip {args}"]),
    (&["top", "topk", "nlargest"], &["tatter sort --by {key} --descending then head {n} {files}", "tatter head {n} {files}"]),
    (&["nsmallest"], &["tatter sort --by {key} then head {n} {files}"]),
    (&["last"], &["tatter tail {number} {files}"]),
    (&["cat -n", "cat --number"], &["tatter enumerate {files}"]),
    (
        &["cat", "concat", "save", "export", "import", "load", "dump", "cp", "copy", "append", "write", "read", "snapshot"],
        &["tatter convert {args}"],
    ),
    (&["vstack", "rbind", "union", "union-all", "union_all", "bind-rows", "bind_rows", "csvstack"], &["tatter convert {files}"]),
    (&["where", "match"], &["tatter filter {args}"]),
    (&["grep", "rg", "search"], &["tatter filter '{not}strings.regex_full_match(FIELD, \"(?s{i}).*{pattern}.*\")' {counted} {files}"]),
    (&["csvgrep"], &["tatter filter '{not}strings.regex_full_match({field}, \"(?s{i}).*{pattern}.*\")' {files}"]),
    (&["project", "pick", "keep"], &["tatter select {args}"]),
    (&["cut -x", "cut --complement"], &["tatter drop {key} {files}"]),
    (&["cut", "csvcut"], &["tatter select {key} {files}"]),
    (&["remove", "delete", "rm", "exclude", "without"], &["tatter drop {args}"]),
    (&["astype"], &["tatter cast {args}"]),
    (&["fillna", "fill-na", "fill_null", "coalesce"], &["tatter fill-null {args}", "tatter fill-null '{field}={value}' {files}"]),
    (
        &[
            "apply",
            "mutate",
            "transform",
            "assign",
            "with",
            "with-columns",
            "with_columns",
            "add-column",
            "add_column",
            "compute",
            "eval",
            "put",
            "set",
        ],
        &["tatter map {args}", "tatter filter {condition}"],
    ),
    (&["hash"], &["tatter map 'hash = strings.to_hash_bucket_fast({field}, 1000)' {files}"]),
    (&["reorder", "move"], &["tatter select '{field},*' {files}"]),
    (&["order-by", "orderby", "order", "arrange"], &["tatter sort --by {key} {files}"]),
    (&["nth", "row", "rows", "iloc"], &["tatter get {listed} {files}", "tatter get {range} {files}"]),
    (&["slice"], &["tatter get {listed} {files}", "tatter get {range} {files}", "tatter skip {n} then head {skipped} {files}"]),
    (&["to-csv", "to_csv", "tocsv", "csv", "in2csv", "json2csv"], &["tatter convert {args} --to csv"]),
    (&["to-json", "to_json", "tojson", "csvjson", "csv2json"], &["tatter convert {args} --to json"]),
    (&["to-parquet", "to_parquet"], &["tatter convert {args} -o data.parquet --no-clobber"]),
    (&["nunique", "count-unique"], &["tatter count --by {key} then count {files}"]),
    (&["sum"], &["tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT sum({column}) FROM 'data.parquet'\""]),
    (&["order_by", "sort-by", "sort_by", "sort-values", "sort_values", "csvsort"], &["tatter sort --by {key} {files}"]),
    (&["tac", "reverse"], &["tatter enumerate then sort --by -index then drop index {files}"]),
    (&["mean", "avg", "min", "max", "quantile", "stats1"], &["tatter stats -f {key} {files}"]),
    (
        &["value-counts", "value_counts", "count-distinct", "count-by", "frequencies", "frequency", "freq", "tally"],
        &["tatter count --by {key} {files}"],
    ),
    (&["histogram", "hist"], &["tatter stats -f {key} --histogram {files}", "tatter count --by {key} {files}"]),
    (
        &["group-by", "group_by", "groupby", "group", "aggregate", "agg"],
        &[
            "tatter count --by {key} {files}",
            "tatter sort --by {key} then implode --by {key} {files}",
            "tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT {column}, count(*) FROM 'data.parquet' GROUP BY {column}\"",
        ],
    ),
    (
        &["join", "left-join", "left_join", "inner-join", "inner_join", "csvjoin"],
        &[
            "tatter lookup {key} in {other} --take '*' {file}",
            "tatter convert {file} -o a.parquet --no-clobber && tatter convert {other} -o b.parquet --no-clobber && duckdb -c \"SELECT * FROM 'a.parquet' JOIN 'b.parquet' USING ({column})\"",
        ],
    ),
    (&["merge"], &["tatter lookup {key} in {other} --take '*' {file}", "tatter convert {files}"]),
    (&["distinct"], &["tatter unique {by} {files}"]),
    (&["uniq -c", "uniq --count"], &["tatter count --by {key} {files}"]),
    (&["uniq -d", "uniq --repeated"], &["tatter count --by {key} then filter 'count > 1' {files}"]),
    (&["uniq -u", "uniq --unique"], &["tatter count --by {key} then filter 'count == 1' {files}"]),
    (&["uniq"], &["tatter unique {by} {files}", "tatter count --by {key} {files}"]),
    (&["dedup", "dedupe", "deduplicate", "drop-duplicates", "drop_duplicates"], &["tatter unique {by} {files}"]),
    (&["shuf"], &["tatter sample {n} {files}", "tatter shuffle {files}"]),
    (&["dropna", "drop-na", "drop-null", "drop-nulls"], &["tatter filter 'not is_null({field}, level=0)' {files}"]),
    (&["sed", "replace", "gsub"], &["tatter map '{field} = strings.regex_replace({field}, \"{old}\", \"{new}\"{once})' {files}"]),
    (&["compare", "cmp", "comm"], &["tatter diff {file} {other}"]),
    (&["takewhile", "take_while"], &["tatter take-while {args}"]),
    (&["dropwhile", "drop-while", "skip_while"], &["tatter skip-while {args}"]),
    (&["nl", "number", "with-index"], &["tatter enumerate {args}"]),
    (&["sample-from-datasets", "sample_from_datasets", "blend"], &["tatter mix {files}"]),
    (&["choose-from-datasets", "choose_from_datasets"], &["tatter choose --by {key} {files}"]),
    (&["paste", "hstack", "cbind", "bind-cols", "bind_cols"], &["tatter zip {files}"]),
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
        &["tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"PIVOT 'data.parquet' ON {column} USING count(*)\""],
    ),
    (
        &["unpivot", "melt", "pivot-longer"],
        &[
            "tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"UNPIVOT 'data.parquet' ON {column} INTO NAME name VALUE value\"",
        ],
    ),
    (&["query"], &["tatter filter {args}"]),
    (&["sql", "query select"], &["tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT * FROM 'data.parquet'\""]),
    (
        &["flatten", "json-normalize", "json_normalize"],
        &["tatter {promoted} {files}", "tatter merge-dims {list} 0 -1 {files}", "tatter explode {list} {files}"],
    ),
    (&["flat-map", "flat_map", "unnest"], &["tatter explode {args}"]),
    (&["nest"], &["tatter implode --by {key} {files}"]),
    (&["unstack", "from-tensor-slices", "from_tensor_slices"], &["tatter unbatch {args}"]),
    (&["ragged-batch", "ragged_batch", "dense-to-ragged-batch", "dense_to_ragged_batch", "stack", "chunk"], &["tatter batch {args}"]),
    (&["padded_batch", "pad-batch", "collate"], &["tatter padded-batch {args}"]),
    (&["bucket-by-sequence-length", "bucket_by_sequence_length"], &["tatter bucket {args}"]),
    (&["pad", "dense", "to-tensor", "to_tensor"], &["tatter to-dense {args}", "tatter to-dense {fields} {shape} {files}"]),
    (&["unpad", "from-tensor", "from_tensor"], &["tatter from-dense {args}"]),
    (&["sparse"], &["tatter to-sparse {args}", "tatter to-sparse {fields} {files}"]),
    (&["one-hot", "one_hot", "onehot", "get-dummies", "get_dummies"], &["tatter map 'one_hot = one_hot({field}, {n})' {files}"]),
    (&["train-test-split", "train_test_split", "random-split"], &["tatter split --into {shares} -o data.parquet --no-clobber {files}"]),
    (&["ensure", "require"], &["tatter assert {args}"]),
    (&["verify", "check", "lint"], &["tatter validate {args}"]),
    (&["describe", "summary", "summarize", "summarise", "profile", "csvstat"], &["tatter stats {args}"]),
    (
        &[
            "info",
            "ls",
            "inspect",
            "types",
            "dtypes",
            "columns",
            "fields",
            "headers",
            "keys",
            "cols",
            "shape",
            "meta",
            "metadata",
            "element-spec",
            "element_spec",
        ],
        &["tatter schema {args}"],
    ),
    (
        &["print", "view", "less", "more", "peek", "preview", "look", "csvlook", "as-numpy-iterator", "as_numpy_iterator"],
        &["tatter show {args}"],
    ),
    (&["version"], &["tatter --version"]),
    (&["usage", "list", "commands"], &["tatter -h"]),
    (&["functions", "expressions", "operators", "formats", "options", "topics"], &["tatter help {name}"]),
    (&["explain", "plan"], &["tatter convert {args} --dry-run"]),
    (&["len", "length", "wc", "size", "nrow", "nrows", "cardinality"], &["tatter count {args}"]),
    (&["lower", "lowercase"], &["tatter map '{field} = strings.lower({field})' {files}"]),
    (&["upper", "uppercase"], &["tatter map '{field} = strings.upper({field})' {files}"]),
    (&["sec2gmt", "sec2date"], &["tatter map '{field} = timestamp({field}, unit=\"s\")' {files}"]),
    (&["tokenize", "words"], &["tatter map '{field} = strings.split({field})' {files}"]),
];

/// Words in templates that stand for what the command line does not tell.
const PLACEHOLDERS: [&str; 3] = ["FIELD", "N", "VALUE"];

/// What is known about other commands.
pub struct Known<'a> {
    /// Whether these words of a command are accepted.
    pub accepts: &'a dyn Fn(Vec<OsString>) -> bool,
    /// The schema of the records after these verbs, followed by FILEs, if it is found at once.
    pub outline: &'a dyn Fn(Vec<OsString>) -> Option<Schema>,
}

/// The commands to suggest for the verb `name`, at position `index` in the chain.
pub fn suggestions(name: &str, index: usize, words: &Words, known: &Known) -> Vec<String> {
    let mut own = words.verbs.get(index).into_iter().flatten().skip(1).filter_map(|word| word.to_str());
    // `query 'SELECT id'` is one word.
    let followed = |word: &str| format!("{name} {}", word.split(' ').next().unwrap_or_default().to_lowercase());
    let Some(templates) = own.find_map(|word| templates(&followed(word))).or_else(|| templates(name)) else {
        return Vec::new();
    };
    let given = Given::of(name, index, words);
    let mut found: Vec<String> = Vec::new();
    for template in templates.iter().filter(|template| !template.contains("duckdb") || words.verbs.len() == 1) {
        found.extend(given.command_line(template, known).filter(|command| !found.contains(command)));
    }
    // Complete commands are preferred; if there is none, the first is better than nothing, and a form better than a command
    // that fails.
    let whole: Vec<String> = found.iter().filter(|command| is_whole(command)).cloned().collect();
    if !whole.is_empty() {
        return whole;
    }
    let first = found.into_iter().take(1).collect::<Vec<_>>();
    if first.is_empty() { forms(name).into_iter().take(1).collect() } else { first }
}

/// Whether the commands of a suggestion are accepted: their words are parsed, and so are their expressions.
fn is_accepted(suggestion: &str, known: &Known) -> bool {
    suggestion.split(" && ").filter(|command| command.starts_with("tatter ")).all(|command| {
        let words = shell_words(command);
        let argument = words.first().and_then(|name| crate::verbs::find(name)).and_then(|verb| {
            let command = verb.command();
            command.get_positionals().next().map(|argument| argument.get_id().to_string())
        });
        let expression = words.get(1).filter(|word| !word.starts_with('-'));
        let is_parsed = match (argument.as_deref(), expression) {
            (Some("condition"), Some(text)) => names_used(text, false).is_some(),
            (Some("assignments"), Some(text)) => names_used(text, true).is_some(),
            _ => true,
        };
        is_parsed && (known.accepts)(words.into_iter().map(OsString::from).collect())
    })
}

fn templates(name: &str) -> Option<&'static [&'static str]> {
    SYNONYMS.iter().find(|(names, _)| names.contains(&name)).map(|(_, templates)| *templates)
}

/// The forms of the commands for the name in other tools, without the words of a command line, for `tatter help NAME`.
pub fn forms(name: &str) -> Vec<String> {
    let place = |place: &str| match place {
        "args" => "...",
        "key" | "field" | "column" => "FIELD",
        "by" => "--by FIELD",
        "n" | "skipped" | "number" => "N",
        "range" => "N-N",
        "listed" => "N",
        "value" => "VALUE",
        "list" => "FIELD",
        "fields" => "-f FIELD",
        "shape" => "--shape 'FIELD=[N]'",
        "condition" => "CONDITION",
        "promoted" => "promote FIELD.NAME",
        "file" | "files" => "FILE",
        "other" => "OTHER",
        "pattern" => "PATTERN",
        "old" => "OLD",
        "shares" => "train=0.9,test=0.1",
        "new" => "NEW",
        "name" => name,
        _ => "",
    };
    templates(name).unwrap_or(&[]).iter().filter_map(|template| placed(template, |name| Some(place(name).to_owned()))).collect()
}

/// Whether a command names only what the command line tells.
fn is_whole(command: &str) -> bool {
    !command.split(|c: char| !c.is_alphanumeric()).any(|word| PLACEHOLDERS.contains(&word))
}

/// The template with its places filled. An empty value leaves no space behind.
fn placed(template: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, place, after)) = rest.split_once('{').and_then(|(before, rest)| {
        let (place, after) = rest.split_once('}')?;
        Some((before, place, after))
    }) {
        let value = value(place)?;
        let ends_word = after.is_empty() || after.starts_with(' ');
        out.push_str(if value.is_empty() && ends_word { before.strip_suffix(' ').unwrap_or(before) } else { before });
        out.push_str(&value);
        rest = after;
    }
    Some(out + rest)
}

/// The command for a name from another tool that takes the same arguments.
fn renamed(name: &str) -> Option<&'static str> {
    templates(name)?.first()?.strip_prefix("tatter ").filter(|template| template.ends_with(" {args}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse::{Request, parse};
    use crate::cli::split::split;

    fn known() -> Known<'static> {
        Known { accepts: &|words| parse(words).is_ok(), outline: &|_| None }
    }

    #[test]
    fn every_suggested_command_is_parsed() {
        for (names, _) in SYNONYMS {
            for name in *names {
                assert!(crate::verbs::find(name).is_none(), "{name} is a verb");
                // Keep words that fit the suggested verb.
                let words = match *name {
                    "take offset" | "limit offset" => vec!["2", "1", "Cargo.toml"],
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
                    "query select" => vec!["Cargo.toml"],
                    "nth" | "row" | "rows" | "iloc" | "slice" => vec!["2", "Cargo.toml"],
                    "nunique" | "count-unique" | "sum" | "sort-values" | "sort_values" => vec!["x", "Cargo.toml"],
                    "rejection_resample" => vec!["--by", "x", "--target", "a=0.5,b=0.5", "Cargo.toml"],
                    "astype" => vec!["x=int8", "Cargo.toml"],
                    "fillna" | "fill-na" | "fill_null" | "coalesce" => vec!["x=0", "Cargo.toml"],
                    "bucket-by-sequence-length" | "bucket_by_sequence_length" => {
                        vec!["--by", "len(x)", "--boundaries", "3", "--batch-sizes", "2,2", "Cargo.toml"]
                    }
                    "where" | "query" | "grep" | "rg" | "search" | "csvgrep" | "match" | "ensure" | "require" | "takewhile"
                    | "take_while" | "dropwhile" | "drop-while" | "skip_while" => {
                        vec!["x > 1", "Cargo.toml"]
                    }
                    "apply" | "mutate" | "transform" | "assign" | "with" | "with-columns" | "with_columns" | "add-column"
                    | "add_column" | "compute" | "eval" | "put" | "set" => vec!["y = x", "Cargo.toml"],
                    "offset" => vec!["1", "Cargo.toml"],
                    "top" | "topk" | "nlargest" | "nsmallest" => vec!["-n", "3", "-f", "x", "Cargo.toml"],
                    "distinct" | "sed" | "replace" | "gsub" | "count-by" | "scan" | "running-total" | "cumulative-sum" | "cut"
                    | "project" | "pick" | "keep" | "remove" | "delete" | "rm" | "exclude" | "without" | "flat-map" | "flat_map"
                    | "unnest" | "order-by" | "orderby" | "order" | "arrange" | "group-by" | "group_by" | "groupby" | "group" | "agg"
                    | "aggregate" | "flatten" | "nest" | "tokenize" | "words" | "join" | "merge" | "left-join" | "left_join"
                    | "inner-join" | "inner_join" | "csvjoin" | "csvsort" | "csvcut" | "one-hot" | "json_normalize" | "lower"
                    | "lowercase" | "upper" | "uppercase" | "sec2gmt" | "sec2date" => {
                        vec!["x", "Cargo.toml", "Cargo.toml"]
                    }
                    _ => vec!["Cargo.toml"],
                };
                let line: Vec<OsString> = name.split(' ').chain(words).map(OsString::from).collect();
                let found = suggestions(name.split(' ').next().unwrap(), 0, &split(line).unwrap(), &known());
                assert!(!found.is_empty(), "{name}");
                for command in found.iter().flat_map(|line| line.split(" && ")).filter(|command| command.starts_with("tatter ")) {
                    let words: Vec<OsString> = shell_words(command).into_iter().map(Into::into).collect();
                    assert!(matches!(parse(words), Ok(Request::Chain(_) | Request::Text(_) | Request::Standalone(_))), "{name}: {command}");
                }
            }
        }
    }

    #[test]
    fn suggestions_keep_the_rest_of_the_command() {
        let line = "-q select id then take 3 Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("take", 1, &split(line).unwrap(), &known()), ["tatter -q select id then head 3 Cargo.toml"]);
        let line = "wc -l Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("wc", 0, &split(line).unwrap(), &known()), ["tatter count Cargo.toml"]);
        let line = "concat Cargo.toml build.rs -o out.jsonl --threads=2".split(' ').map(OsString::from).collect();
        assert_eq!(
            suggestions("concat", 0, &split(line).unwrap(), &known()),
            ["tatter convert Cargo.toml build.rs -o out.jsonl --threads=2"]
        );
        let line = "top -n 3 -f x -g user Cargo.toml".split(' ').map(OsString::from).collect();
        let best = "tatter sort --by x --descending then head 3 Cargo.toml";
        assert_eq!(suggestions("top", 0, &split(line).unwrap(), &known()), [best, "tatter head 3 Cargo.toml"]);
        let line = "shuf -n2 Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("shuf", 0, &split(line).unwrap(), &known())[0], "tatter sample 2 Cargo.toml");
        let line = "uniq id Cargo.toml -o out.jsonl".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("uniq", 0, &split(line).unwrap(), &known())[0], "tatter unique --by id Cargo.toml -o out.jsonl");
        let line = "stats1 -a mean -f fare Cargo.toml".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("stats1", 0, &split(line).unwrap(), &known()), ["tatter stats -f fare Cargo.toml"]);
        let line = "grep -i cat Cargo.toml".split(' ').map(OsString::from).collect();
        let filter = "tatter filter 'strings.regex_full_match(FIELD, \"(?si).*cat.*\")' Cargo.toml";
        assert_eq!(suggestions("grep", 0, &split(line).unwrap(), &known()), [filter]);
        let line = "where id then take 3".split(' ').map(OsString::from).collect();
        assert_eq!(suggestions("where", 0, &split(line).unwrap(), &known()), ["tatter filter id then head 3"]);
    }
}
