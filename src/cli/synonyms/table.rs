//! Names of commands in other tools, with templates of equivalent commands.

use super::conversions::Target;

/// For a program in the language of another tool.
const FOR_PROGRAMS: &str =
    "write a chain of verbs, such as filter CONDITION then map 'NAME = EXPR' then select FIELDS; `tatter -h` lists them";

/// Names in other tools, some with a word that follows, and equivalent commands. In a command, `{args}` is all words after the
/// name, `{key}` the first word that is not a file (or the word after -f), `{by}` is `--by {key}` if there is a key, `{n}` and
/// `{skipped}` the first two numbers, `{number}` the first or 1, `{listed}` numbers as in 2,4, `{records}` a verb that chooses
/// records by number, `{sorted}` the keys of a sort with their directions,
/// `{value}` a word after the key, `{files}` the files, and `{file}` and `{other}` the first two files. `{field}` is the key
/// inside an expression in single quotes, and `{column}` inside SQL in double quotes. `{fields}` is `-f {key}` if there is a key,
/// `{shape}` gives it, or all lists, the size `{n}`, `{condition}` is all words after the name if one of them compares, and `{promoted}` moves
/// the fields out of a structure; `{name}` is the name itself. `{inputs}` and `{target}` are the files
/// that exist, and `-o` with the one that does not; `{where}` is a condition, `{grouped}` the word after -g, `{numbered}` fields by
/// number, as in `cut -f2`, and `{whole}` is the key or all fields. `{searched}` and `{complete}` test all fields; `{exploded}` explodes
/// the key, if it is a list. The other placeholders belong to `grep` and `sed`
/// (`patterns.rs`). A command with a placeholder that has no value, or one that would be rejected, is not suggested.
/// `{casts}` is pairs of fields and dtypes with the names of dtypes here, `{computed}` an assignment of a value that has no name,
/// `{common}` the key or the only field that both files have, `{others}` all fields but the key, and `{separated}` splits the key if it
/// is a string; `{converted}` names the output in the format of the name. `{flat}` is nothing, for fields that are values. `{string}` is the key or the only string, `{filled}` a value
/// for each field with nulls, `{aggregated}` and `{per}` what is summed and by what, `{program}` the verbs for a program of awk or
/// sed, `{query}` the command for a query of data.parquet. A template that is no command is a line of advice.
pub const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["limit offset", "take offset"], &["tatter skip {skipped} then head {n} {files}"]),
    (&["take", "limit"], &["tatter head {args}"]),
    (&["first"], &["tatter head {number} {files}"]),
    (&["offset"], &["tatter skip {args}"]),
    (&["top -g"], &["tatter sort --by -{key} then head {number} --by {grouped} {files}"]),
    (&["groupby head", "group-by head", "group_by head"], &["tatter head {number} --by {key} {files}"]),
    (&["groupby tail", "group-by tail", "group_by tail"], &["tatter tail {number} --by {key} {files}"]),
    (&["groupby sample", "group-by sample", "group_by sample"], &["tatter sample {number} --by {key} {files}"]),
    (&["stratify", "stratified-sample", "stratified_sample", "sample-by", "sample_by"], &["tatter sample {number} --by {key} {files}"]),
    (&["top", "topk", "nlargest"], &["tatter sort --by {key} --descending then head {n} {files}", "tatter head {n} {files}"]),
    (&["nsmallest"], &["tatter sort --by {key} then head {n} {files}"]),
    (&["last"], &["tatter tail {number} {files}"]),
    (&["cat -n", "cat --number"], &["tatter enumerate {files}"]),
    (&["collect", "collect_list", "collect-list"], &["tatter select {key} then batch all {files}", "tatter convert {files}"]),
    (
        &[
            "cat",
            "concat",
            "import",
            "load",
            "append",
            "read",
            "read_csv",
            "read-csv",
            "to_list",
            "to-list",
            "snapshot",
            "parse_example",
            "parse-example",
        ],
        &["tatter convert {args}"],
    ),
    (&["save", "export", "dump", "cp", "copy", "write"], &["tatter convert {inputs} {target}"]),
    (&["vstack", "rbind", "union", "union-all", "union_all", "bind-rows", "bind_rows", "csvstack"], &["tatter convert {files}"]),
    (&["where", "match"], &["tatter filter {where}"]),
    (
        &["grep", "rg", "search", "csvgrep"],
        &["tatter filter '{searched}' {counted} {files}", "for the first match in each record: tatter {extracted} {files}"],
    ),
    (&["project", "pick", "keep"], &["tatter select {args}"]),
    (&["cut -x", "cut --complement"], &["tatter drop {numbered} {files}", "tatter drop {key} {files}"]),
    (&["cut"], &["tatter map {cut} {files}", "tatter select {numbered} {files}", "tatter select {key} {files}"]),
    (&["csvcut"], &["tatter select {numbered} {files}", "tatter select {key} {files}"]),
    (&["remove", "delete", "rm", "exclude", "without"], &["tatter drop {args}"]),
    (&["astype"], &["tatter cast {casts} {files}"]),
    (
        &["fillna", "fill-na", "fill_null", "fill-empty", "coalesce"],
        &["tatter fill-null {args}", "tatter fill-null {filled} {files}", "tatter fill-null '{field}={value}' {files}"],
    ),
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
        &["tatter map {args}", "tatter filter {condition}", "tatter map {computed} {files}", "tatter map {joined} {files}"],
    ),
    (&["hash"], &["tatter map 'hash = strings.to_hash_bucket_fast({field}, 1000)' {files}"]),
    (&["reorder", "move"], &["tatter select '{field},*' {files}"]),
    (&["order-by", "orderby", "orderBy", "order", "arrange"], &["tatter sort --by {sorted} {files}"]),
    (&["nth", "row", "rows", "iloc"], &["tatter {records} {files}", "tatter get {listed} {files}"]),
    (&["slice"], &["tatter {records} {files}", "tatter get {listed} {files}", "tatter {skipping} {files}"]),
    (&["to-csv", "to_csv", "tocsv", "csv", "in2csv", "json2csv"], &["tatter convert {args} --to csv"]),
    (&["to-json", "to_json", "tojson", "csvjson", "csv2json"], &["tatter convert {args} --to json"]),
    (&["nunique", "count-unique"], &["tatter count --by {key} then count {files}"]),
    (&["vocab", "vocabulary"], &["tatter {exploded}count --by {key} {files}"]),
    (&["sum -g"], &["tatter stats -f {key} --by {grouped} --as json {files}"]),
    (
        &["sum"],
        &[
            "tatter stats -f {key} --as json {files}",
            "tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT sum({column}) FROM 'data.parquet'\"",
        ],
    ),
    (&["order_by", "sort-by", "sort_by", "sort-values", "sort_values", "csvsort"], &["tatter sort --by {sorted} {files}"]),
    (&["tac", "reverse"], &["tatter enumerate then sort --by -index then drop index {files}"]),
    (&["stats1 -g", "mean -g", "avg -g", "min -g", "max -g"], &["tatter stats -f {key} --by {grouped} {files}"]),
    (&["mean", "avg", "min", "max", "quantile", "stats1"], &["tatter stats -f {key} {files}"]),
    (
        &["value-counts", "value_counts", "count-distinct", "count-by", "frequencies", "frequency", "freq", "tally"],
        &["tatter count --by {given} {files}", "tatter stats {files}"],
    ),
    (&["histogram", "hist"], &["tatter stats -f {key} --histogram {files}", "tatter count --by {key} {files}"]),
    (
        &[
            "group-by sum",
            "group_by sum",
            "groupby sum",
            "group-by mean",
            "group_by mean",
            "groupby mean",
            "group-by min",
            "group_by min",
            "groupby min",
            "group-by max",
            "group_by max",
            "groupby max",
            "group-by median",
            "group_by median",
            "groupby median",
        ],
        &["tatter stats -f {aggregated} {per} --as json {files}"],
    ),
    (
        &["group-by", "group_by", "groupby", "group", "aggregate", "agg"],
        &[
            "tatter count --by {key} {files}",
            "tatter sort --by {key} then implode --by {key} {files}",
            "tatter stats -f {aggregated} {per} --as json {files}",
            "tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT {aggregate} FROM 'data.parquet'\"",
            "tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT {column}, count(*) FROM 'data.parquet' GROUP BY {column}\"",
        ],
    ),
    (
        &["join", "left-join", "left_join", "inner-join", "inner_join", "csvjoin"],
        &[
            "tatter lookup {common} in {other} --take '*' {file}",
            "tatter convert {file} -o a.parquet --no-clobber && tatter convert {other} -o b.parquet --no-clobber && duckdb -c \"SELECT * FROM 'a.parquet' JOIN 'b.parquet' USING ({column})\"",
        ],
    ),
    (&["merge"], &["tatter lookup {common} in {other} --take '*' {file}", "tatter convert {files}"]),
    (&["distinct"], &["tatter unique {by} {files}"]),
    (&["uniq -c", "uniq --count"], &["tatter count --by {whole} {files}"]),
    (&["uniq -d", "uniq --repeated"], &["tatter count --by {whole} then filter 'count > 1' {files}"]),
    (&["uniq -u", "uniq --unique"], &["tatter count --by {whole} then filter 'count == 1' {files}"]),
    (&["uniq"], &["tatter unique {by} {files}", "tatter count --by {key} {files}"]),
    (&["dedup last", "deduplicate last", "drop-duplicates last", "drop_duplicates last"], &["tatter tail 1 --by {key} {files}"]),
    (&["dedup", "dedupe", "deduplicate", "drop-duplicates", "drop_duplicates"], &["tatter unique {by} {files}"]),
    (&["shuf"], &["tatter sample {n} {files}", "tatter shuffle {files}"]),
    (&["dropna", "drop-na", "drop-null", "drop-nulls"], &["tatter filter '{complete}' {files}"]),
    (
        &["sed", "replace", "gsub"],
        &["tatter {program} {files}", "tatter map '{string} = strings.regex_replace({string}, \"{old}\", \"{new}\"{once})' {files}"],
    ),
    (&["compare", "cmp", "comm"], &["tatter diff {file} {other}"]),
    (&["takewhile", "take_while"], &["tatter take-while {args}"]),
    (&["dropwhile", "drop-while", "skip_while"], &["tatter skip-while {args}"]),
    (&["nl", "number", "with-index"], &["tatter enumerate {args}"]),
    (&["sample-from-datasets", "sample_from_datasets", "blend"], &["tatter mix {files}"]),
    (&["choose-from-datasets", "choose_from_datasets"], &["tatter choose --by {key} {files}"]),
    (&["paste", "hstack", "cbind", "bind-cols", "bind_cols"], &["tatter zip {files}"]),
    (&["roundrobin", "round-robin", "cycle"], &["tatter interleave {files}"]),
    (&["sliding-window", "rolling"], &["tatter window --size {n} --shift 1 --drop-remainder {files}"]),
    (&["frame", "unfold"], &["tatter windows {key} --size {n} --shift {skipped} {files}"]),
    (&["group-by-window", "group_by_window"], &["tatter bucket --by {key} --batch-sizes {n} {files}"]),
    (
        &["rejection_resample", "resample", "upsample", "oversample", "undersample", "downsample", "balance"],
        &["tatter rejection-resample {args}"],
    ),
    (&["drift"], &["tatter stats --against {other} {file}"]),
    (&["scan", "running-total", "cumulative-sum"], &["tatter cumsum {args}"]),
    (&["step rsum", "step counter"], &["tatter cumsum {key} {files}"]),
    (
        &["step", "lag", "shift"],
        &[
            "tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT *, lag({column}) OVER () AS previous FROM 'data.parquet'\"",
        ],
    ),
    (
        &["rank"],
        &[
            "tatter sort --by {key} then enumerate --start 1 --as rank {files}",
            "tatter convert {files} -o data.parquet --no-clobber && duckdb -c \"SELECT *, rank() OVER (ORDER BY {column}) AS rank FROM 'data.parquet'\"",
        ],
    ),
    (
        &["fill-down", "fill_down", "ffill", "pad-null", "fill-forward", "fill_forward", "forward-fill", "forward_fill"],
        &["tatter fill-null --forward {whole} {files}"],
    ),
    (
        &["bfill", "backfill", "fill-up", "fill_up", "fill-backward", "fill_backward", "backward-fill", "backward_fill"],
        &["tatter enumerate then sort --by -index then fill-null --forward {whole} then sort --by index then drop index {files}"],
    ),
    (&["nothing"], &["tatter head 0 {files}"]),
    (&["assert_cardinality"], &["tatter assert-cardinality {args}"]),
    (&["awk", "gawk"], &["tatter {program} {files}", FOR_PROGRAMS]),
    (&["jq", "yq", "mlr"], &[FOR_PROGRAMS]),
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
    (&["query"], &["tatter filter {where}"]),
    (&["sql", "query select", "csvsql"], &["tatter convert {files} -o data.parquet --no-clobber && duckdb {query}"]),
    (
        &["flatten", "json-normalize", "json_normalize"],
        &["tatter {promoted} {files}", "tatter merge-dims {list} 0 -1 {files}", "tatter explode {list} {files}"],
    ),
    (&["json-parse", "parse-json", "parse_json", "from-json", "from_json", "fromjson"], &["tatter cast '{string}=json' {files}"]),
    (&["json-stringify"], &["tatter cast '{string}=json' then cast '{string}=string' {files}"]),
    (&["flat-map", "flat_map"], &["tatter explode {args}"]),
    (&["unnest"], &["tatter {promoted} {files}", "tatter explode {list} {files}"]),
    (&["nest --explode", "nest --evar"], &["tatter {separated}explode {key} {files}"]),
    (&["nest --implode", "nest --ivar"], &["tatter implode --by {others} {files}"]),
    (&["nest"], &["tatter implode --by {key} {files}"]),
    (&["unstack", "from-tensor-slices", "from_tensor_slices"], &["tatter unbatch {args}"]),
    (&["ragged-batch", "ragged_batch", "dense-to-ragged-batch", "dense_to_ragged_batch", "stack", "chunk"], &["tatter batch {args}"]),
    (&["padded_batch", "pad-batch", "collate"], &["tatter padded-batch {args}"]),
    (&["bucket-by-sequence-length", "bucket_by_sequence_length"], &["tatter bucket {args}"]),
    (&["pad", "dense", "to-tensor", "to_tensor"], &["tatter to-dense {fields} {shape} {files}"]),
    (&["unpad", "from-tensor", "from_tensor"], &["tatter from-dense {args}"]),
    (&["sparse"], &["tatter to-sparse {args}", "tatter to-sparse {fields} {files}"]),
    (&["one-hot", "one_hot", "onehot", "get-dummies", "get_dummies"], &["tatter map 'one_hot = one_hot({field}, {n})' {files}"]),
    (
        &["train-test-split", "train_test_split", "random-split", "random_split"],
        &["tatter split --into {shares} -o data.parquet --no-clobber {files}"],
    ),
    (&["ensure", "require"], &["tatter assert {args}"]),
    (&["verify", "check"], &["tatter assert {condition}", "tatter validate {files}"]),
    (&["lint"], &["tatter validate {args}"]),
    (&["decompress", "gunzip", "zcat", "gzcat", "zstdcat", "unzstd"], &["tatter convert {args}"]),
    (&["describe", "summary", "summarize", "summarise", "profile", "csvstat"], &["tatter stats {args}"]),
    (
        &[
            "info",
            "file",
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
            "printSchema",
        ],
        &["tatter schema {args}"],
    ),
    (&["print", "view", "less", "more", "peek", "preview", "look", "as-numpy-iterator", "as_numpy_iterator"], &["tatter show {args}"]),
    (
        &["pretty", "table", "column", "csvlook"],
        &["tatter convert {files} --to tsv{flat} | column -t -s \"$(printf '\\t')\"", "tatter show {files}"],
    ),
    (&["label"], &["tatter rename {labelled} {files}"]),
    (&["decimate"], &["tatter shard {decimated} {files}"]),
    (&["row_number", "row-number"], &["tatter enumerate --start 1 {files}"]),
    (&["withColumn", "with_column", "with-column"], &["tatter map {assigned} {files}"]),
    (&["explode_outer", "explode-outer"], &["tatter explode {key} --keep-empty {files}"]),
    (&["template"], &["tatter select {key} {files}"]),
    (&["case -u", "case --upper"], &["tatter map '{string} = strings.upper({string})' {files}"]),
    (&["case -l", "case --lower"], &["tatter map '{string} = strings.lower({string})' {files}"]),
    (&["most-frequent", "most_frequent"], &["tatter count --by {key} then head 10 {files}"]),
    (
        &["strptime"],
        &["tatter map '{field} = timestamp({field}, format=\"{value}\")' {files}", "tatter map '{field} = timestamp({field})' {files}"],
    ),
    (&["version"], &["tatter --version"]),
    (&["usage", "list", "commands"], &["tatter -h"]),
    (&["functions", "expressions", "operators", "formats", "options", "topics"], &["tatter help {name}"]),
    (&["explain", "plan"], &["tatter convert {args} --dry-run"]),
    (&["len", "length", "wc", "size", "nrow", "nrows", "cardinality"], &["tatter count {args}"]),
    (&["lower", "lowercase"], &["tatter map '{string} = strings.lower({string})' {files}"]),
    (&["upper", "uppercase"], &["tatter map '{string} = strings.upper({string})' {files}"]),
    (&["sec2gmtdate", "sec2date"], &["tatter map '{field} = cast(timestamp({field}, unit=\"s\"), date32)' {files}"]),
    (&["sec2gmt"], &["tatter map '{field} = timestamp({field}, unit=\"s\")' {files}"]),
    (&["tokenize", "words"], &["tatter map '{string} = strings.split({string})' {files}"]),
];

/// For names such as `csv2parquet`.
const CONVERSION: &[&str] = &["tatter convert {inputs} {converted}"];

/// The templates for a name, which may be followed by a word.
pub fn templates(name: &str) -> Option<&'static [&'static str]> {
    let known = SYNONYMS.iter().find(|(names, _)| names.contains(&name)).map(|(_, templates)| *templates);
    known.or_else(|| Target::of(name).map(|_| CONVERSION))
}

/// The command for a name from another tool that takes the same arguments.
pub fn renamed(name: &str) -> Option<&'static str> {
    templates(name)?.first()?.strip_prefix("tatter ").filter(|template| template.ends_with(" {args}"))
}
