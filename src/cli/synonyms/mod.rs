//! Suggests equivalent commands for verbs of other tools.

mod aggregation;
mod awk;
mod conversions;
mod fields;
mod given;
mod known;
mod order;
mod table;
mod template;
mod words;

use super::misplaced::copy;
use super::split::Words;
use conversions::Target;
use given::Given;
pub use known::Known;
pub use order::sort_keys;
use table::templates;
pub use template::is_command;
use template::{is_whole, placed};

/// The commands to suggest for the verb `name`, at position `index` in the chain, or lines of advice.
pub fn suggestions(name: &str, index: usize, words: &Words, known: &Known) -> Vec<String> {
    // `group_by k then sum x` is one verb here.
    if let [_, next, ..] = words.verbs.get(index..).unwrap_or(&[])
        && let Some(function) = next.first().and_then(|name| name.to_str()).filter(|name| aggregation::is_function(name))
        && templates(&format!("{name} {function}")).is_some()
    {
        let mut both = copy(words);
        let next = both.verbs.remove(index + 1);
        both.verbs[index].extend(next);
        return suggestions(name, index, &both, known);
    }
    let mut own = words.verbs.get(index).into_iter().flatten().skip(1).filter_map(|word| word.to_str());
    // `query 'SELECT id'` is one word.
    let followed = |word: &str| format!("{name} {}", word.split(' ').next().unwrap_or_default().to_lowercase());
    let Some(templates) = own.find_map(|word| templates(&followed(word))).or_else(|| templates(name)) else {
        return Vec::new();
    };
    let given = Given::of(name, index, words);
    let mut found: Vec<String> = Vec::new();
    for template in templates.iter().filter(|template| !template.contains("duckdb") || words.verbs.len() == 1) {
        let is_last_resort = !is_command(template) && !template.contains('{');
        if is_last_resort && found.iter().any(|command| is_whole(command)) {
            continue;
        }
        found.extend(given.command_line(template, known).filter(|command| !found.contains(command)));
    }
    // Complete commands are preferred; a form is better than nothing, and the name of a verb than a command that fails.
    let whole: Vec<String> = found.iter().filter(|command| is_whole(command)).cloned().collect();
    if !whole.is_empty() {
        return whole;
    }
    if let Some(form) = found.into_iter().next() {
        let choices = given.choices(&form, known);
        return [form].into_iter().chain(choices).collect();
    }
    let verb = |template: &&str| template.strip_prefix("tatter ")?.split(' ').next().and_then(crate::verbs::find);
    match templates.iter().filter(|template| !template.contains("duckdb")).find_map(verb) {
        Some(verb) => vec![format!("did you mean the verb `{0}`? see `tatter help {0}`", verb.name)],
        None => forms(name).into_iter().take(1).collect(),
    }
}

/// The forms of the commands for the name in other tools, without the words of a command line, for `tatter help NAME`.
pub fn forms(name: &str) -> Vec<String> {
    let place = |place: &str| {
        let text = match place {
            "args" => "...",
            "casts" => "FIELD=TYPE",
            "computed" | "aggregate" | "skipping" | "program" | "filled" | "cut" | "joined" | "extracted" | "labelled" | "assigned"
            | "flat" => {
                return None;
            }
            "decimated" => "I/N",
            "converted" => return Target::of(name).map(|target| target.options("OUT")),
            "key" | "field" | "string" | "column" | "common" | "others" | "sorted" | "aggregated" | "given" => "FIELD",
            "by" => "--by FIELD",
            "n" | "skipped" | "number" => "N",
            "records" => "get N",
            "query" => "-c \"SELECT * FROM 'data.parquet'\"",
            "listed" => "N",
            "value" => "VALUE",
            "list" => "FIELD",
            "fields" => "-f FIELD",
            "shape" => "--shape 'FIELD=[N]'",
            "condition" | "where" => "CONDITION",
            "inputs" => "FILE",
            "target" => "-o OUT",
            "whole" | "numbered" => "FIELD",
            "complete" => "not is_null(FIELD, level=0)",
            "searched" => "strings.regex_full_match(FIELD, \"(?s).*PATTERN.*\")",
            "promoted" => "promote FIELD.NAME",
            "file" | "files" => "FILE",
            "other" => "OTHER",
            "old" => "OLD",
            "shares" => "train=0.9,test=0.1",
            "new" => "NEW",
            "name" => name,
            _ => "",
        };
        Some(text.to_owned())
    };
    let commands = templates(name).unwrap_or(&[]).iter().filter(|template| is_command(template));
    commands.filter_map(|template| placed(template, place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::line::shell_words;
    use crate::cli::parse::{Request, parse};
    use crate::cli::split::split;
    use std::ffi::OsString;
    use table::SYNONYMS;

    fn known() -> Known<'static> {
        Known { accepts: &|words| parse(words).is_ok(), refuses: &|_| false, outline: &|_| None }
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
                    "rejection_resample" | "resample" | "upsample" | "oversample" | "undersample" | "downsample" | "balance" => {
                        vec!["--by", "x", "--target", "a=0.5,b=0.5", "Cargo.toml"]
                    }
                    "sliding-window" | "rolling" | "group-by-window" | "group_by_window" | "hash" => vec!["x", "2", "Cargo.toml"],
                    "frame" | "unfold" => vec!["x", "2", "1", "Cargo.toml"],
                    "astype" => vec!["x=int8", "Cargo.toml"],
                    "fillna" | "fill-na" | "fill_null" | "fill-empty" | "coalesce" => vec!["x=0", "Cargo.toml"],
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
                    "top -g" => vec!["k", "-n", "3", "-f", "x", "Cargo.toml"],
                    "groupby head" | "group-by head" | "group_by head" | "groupby tail" | "group-by tail" | "group_by tail"
                    | "groupby sample" | "group-by sample" | "group_by sample" => vec!["x", "2", "Cargo.toml"],
                    "stratify" | "stratified-sample" | "stratified_sample" | "sample-by" | "sample_by" => vec!["x", "2", "Cargo.toml"],
                    "fill-down" | "fill_down" | "ffill" | "pad-null" | "fill-forward" | "fill_forward" | "forward-fill"
                    | "forward_fill" | "bfill" | "backfill" | "fill-up" | "fill_up" | "fill-backward" | "fill_backward"
                    | "backward-fill" | "backward_fill" => vec!["x", "Cargo.toml"],
                    "top" | "topk" | "nlargest" | "nsmallest" => vec!["-n", "3", "-f", "x", "Cargo.toml"],
                    "distinct" | "sed" | "replace" | "gsub" | "count-by" | "scan" | "running-total" | "cumulative-sum" | "cut"
                    | "project" | "pick" | "keep" | "remove" | "delete" | "rm" | "exclude" | "without" | "flat-map" | "flat_map"
                    | "unnest" | "order-by" | "orderby" | "order" | "arrange" | "group-by" | "group_by" | "groupby" | "group" | "agg"
                    | "aggregate" | "flatten" | "nest" | "tokenize" | "words" | "join" | "merge" | "left-join" | "left_join"
                    | "inner-join" | "inner_join" | "csvjoin" | "csvsort" | "csvcut" | "one-hot" | "json_normalize" | "lower"
                    | "json-parse" | "parse-json" | "parse_json" | "from-json" | "from_json" | "fromjson" | "json-stringify"
                    | "lowercase" | "upper" | "uppercase" | "sec2gmt" | "sec2date" => {
                        vec!["x", "Cargo.toml", "Cargo.toml"]
                    }
                    _ => vec!["Cargo.toml"],
                };
                let line: Vec<OsString> = name.split(' ').chain(words).map(OsString::from).collect();
                let found = suggestions(name.split(' ').next().unwrap(), 0, &split(line).unwrap(), &known());
                assert!(!found.is_empty(), "{name}");
                for command in found.iter().flat_map(|line| line.split(" && ")).filter(|command| command.starts_with("tatter ")) {
                    let words: Vec<OsString> = shell_words(command.split(" | ").next().unwrap()).into_iter().map(Into::into).collect();
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
        let best = "tatter sort --by -x then head 3 --by user Cargo.toml";
        assert_eq!(suggestions("top", 0, &split(line).unwrap(), &known()), [best]);
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
