//! Suggests functions for the names that other languages use.

use super::error::{ExprError, PARSE_JSON, SEARCH_LIST, SEARCH_REGEX, SEARCH_TEXT};
use super::functions;
use super::span::Span;
use super::syntax::Expr;
use super::template::Arguments;
use crate::error::nearest;
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::schema::notation::{self, parse_type};

/// Names in other languages, with advice; see [`Arguments::filled`].
const KNOWN: &[(&[&str], &[&str])] = &[
    (&["input", "open", "exec", "eval"], &["expressions cannot read files or run code"]),
    (&["int"], &["to convert a number: cast({0:x}, int64); to parse text: strings.to_number({0:x}, int64)"]),
    (&["float"], &["to convert a number: cast({0:x}, float64); to parse text: strings.to_number({0:x}, float64)"]),
    (&["bool"], &["to convert a number: cast({0:x}, bool)"]),
    (&["str"], &["to convert a number to a string: strings.as_string({0:x})"]),
    (&["var", "variance"], &["did you mean reduce_variance({0:x}, axis=None)?"]),
    (&["median"], &["`tatter stats` prints medians"]),
    (&["length", "count"], &["for the size of axis 0: len({0:x}); for the number of bytes in strings: strings.length({0:x})"]),
    (&["startswith", "starts_with"], &["write strings.regex_full_match({0:x}, \"(?s){1~PREFIX}.*\")"]),
    (&["endswith", "ends_with"], &["write strings.regex_full_match({0:x}, \"(?s).*{1~SUFFIX}\")"]),
    (&["replace", "strings.replace", "replace_all"], &["write strings.regex_replace({0:x}, \"{1~PATTERN}\", {2:\"REPLACEMENT\"})"]),
    (&["isnan"], &["did you mean math.is_nan?"]),
    (&["regex_match", "regexp_matches", "fullmatch"], &["did you mean strings.regex_full_match?"]),
    (&["exists", "has", "is_present"], &["write not is_null({0:x})"]),
    (&["trim"], &["did you mean strings.strip?"]),
    (&["substring", "mid", "slice_text"], &["write strings.substr({0:x}, pos, len), where pos counts from 0"]),
    (
        &["concatenate", "join", "format", "sprintf"],
        &["join strings with +; to join the strings of a list: strings.reduce_join({0:x}, separator=\",\")"],
    ),
    (&["hash", "crc32"], &["to map strings to numbers from 0 to N - 1: strings.to_hash_bucket_fast({0:x}, N)"]),
    (
        &["md5", "sha1", "sha256", "sha512"],
        &[
            "to keep one record for each value, use the verb unique: unique --by {0#FIELD}",
            "to map strings to numbers from 0 to N - 1: strings.to_hash_bucket_fast({0:x}, N)",
        ],
    ),
    (
        &["has_key", "map_contains", "map_contains_key", "contains_key", "containsKey"],
        &["to test for a key of a map: reduce_any(keys({0:m}) == {1:\"KEY\"})"],
    ),
    (&["map_keys", "mapKeys"], &["did you mean keys?"]),
    (&["map_values", "mapValues"], &["for the values of a map: {0:m}.value"]),
    (&["rand", "random", "uniform"], &["to draw a number from 0 to 1 for each record: random.uniform([])"]),
    (
        &["now", "today", "current_timestamp", "current_date"],
        &["pass the time with --arg now=\"$(date -u +%FT%TZ)\", and read it with timestamp(now)"],
    ),
    (&["date_format", "format_date", "dateformat", "format_datetime", "to_char"], &["to write a time as text: strftime(t, \"%Y-%m-%d\")"]),
    (&["if", "ifelse", "if_else", "iff"], &["write where({0:condition}, {1:x}, {2:y})"]),
    (&["coalesce", "ifnull", "nvl", "fillna"], &["did you mean fill_null?"]),
    (&["nullif"], &["did you mean null_if?"]),
    (&["lower", "tolower", "to_lower", "toLower", "lcase", "lowercase", "ascii_downcase"], &["did you mean strings.lower?"]),
    (&["upper", "toupper", "to_upper", "toUpper", "ucase", "uppercase", "ascii_upcase"], &["did you mean strings.upper?"]),
    (&["ltrim", "lstrip"], &["to remove leading whitespace: strings.regex_replace({0:x}, \"^\\\\s+\", \"\")"]),
    (&["rtrim", "rstrip"], &["to remove trailing whitespace: strings.regex_replace({0:x}, \"\\\\s+$\", \"\")"]),
    (&["lpad", "zfill", "rjust"], &["to pad numbers: strings.as_string({0:x}, width=8, fill=\"0\")"]),
    (&["left"], &["for the first N bytes: strings.substr({0:x}, 0, {1:N})"]),
    (&["right"], &["for the last N bytes: strings.substr({0:x}, -{1:N}, {1:N})"]),
    (&["concat_ws"], &["to join strings: strings.join([x, y], separator=\"-\")"]),
    (&["split_part"], &["for one part: strings.split({0:x}, {1:\"-\"})[0]"]),
    (&["regexp_replace", "regex_replace_all", "str_replace", "str_replace_all", "gsub", "sub"], &["did you mean strings.regex_replace?"]),
    (
        &["regexp_extract", "regexp_substr", "regex_extract", "strings.regex_extract", "str_extract"],
        &["for the text of a group, or all of {0:x} without a match: strings.regex_replace({0:x}, \"(?s)^.*?(GROUP).*\", \"\\\\1\")"],
    ),
    (&["tokenize", "word_tokenize", "words", "wordcount", "word_count"], &["to split text at whitespace: strings.split({0:x})"]),
    (&["char_length", "character_length"], &["write strings.length({0:x}, unit=\"UTF8_CHAR\")"]),
    (&["byte_length", "bytes_length", "octet_length", "strlen"], &["did you mean strings.length?"]),
    (&["base64", "b64encode", "to_base64"], &["did you mean io.encode_base64?"]),
    (&["b64decode", "from_base64", "unbase64"], &["did you mean io.decode_base64?"]),
    (
        &[
            "json",
            "json_extract",
            "json_extract_string",
            "json_extract_path_text",
            "json_extract_scalar",
            "json_value",
            "json_query",
            "json_transform",
            "json_tuple",
            "json_parse",
            "json_decode",
            "parse_json",
            "from_json",
            "fromjson",
            "loads",
            "json.loads",
            "get_json_object",
        ],
        &[PARSE_JSON],
    ),
    (
        &["to_json", "to_json_string", "tojson", "json_encode", "json_dumps", "dumps", "json.dumps"],
        &["JSON text is written by the verb cast: cast {0#FIELD}=json"],
    ),
    (
        &["tonumber", "to_number", "parseFloat", "parse_float", "parseInt", "parse_int", "to_int", "to_float", "to_numeric", "atoi"],
        &["did you mean strings.to_number?"],
    ),
    (&["tostring", "to_string", "to_str"], &["did you mean strings.as_string?"]),
    (&["flatten", "ravel"], &["to merge all axes into one: merge_dims({0:x}, 0, -1)"]),
    (&["nunique", "n_unique", "count_distinct", "approx_count_distinct"], &["for the number of distinct items: len(unique({0:x}).y)"]),
    (&["set", "distinct", "array_distinct", "list_distinct", "list_unique"], &["for the distinct items of a list: unique({0:x}).y"]),
    (&["value_counts"], &["to count how often each item of a list occurs: unique_with_counts({0:x})"]),
    (&["first", "head"], &["for the first item of a list: {0:x}[0]; for the first N items: {0:x}[:N]"]),
    (&["last", "tail"], &["for the last item of a list: {0:x}[-1]; for the last N items: {0:x}[-N:]"]),
    (&["element_at", "get", "nth", "list_extract"], &["for the first item of a list: {0:x}[0]; for the last item: {0:x}[-1]"]),
    (&["list_slice", "array_slice"], &["for a part of a list: {0:x}[START:STOP]"]),
    (&["list_contains", "array_contains", "list_has", "array_has"], &[SEARCH_LIST]),
    (&["isin", "is_in"], &["write reduce_any({0:x} == {1:[1, 2]})"]),
    (&["not_in"], &["write not reduce_any({0:x} == {1:[1, 2]})"]),
    (&["array_length", "array_size", "list_length", "cardinality"], &["did you mean len?"]),
    (&["sorted", "array_sort", "list_sort", "sort_array"], &["did you mean sort?"]),
    (&["enumerate"], &["to number the items of a list: range(len({0:x})); to number the records, use the verb enumerate"]),
    (&["map", "apply", "transform", "list_transform"], &["to apply a function to each item of a list: map_fn(lambda item: ..., x)"]),
    (&["append", "list_append", "array_append"], &["to add an item to a list: concat([{0:x}, [{1:y}]], 0)"]),
    (&["empty", "is_empty"], &["write len({0:x}) == 0"]),
    (&["struct", "struct_pack", "named_struct", "row"], &["to make a structure: {\"a\": x, \"b\": y}"]),
    (
        &["array_to_string", "list_to_string", "string_agg"],
        &["to join the strings of a list: strings.reduce_join({0:x}, separator={1:\",\"})"],
    ),
    (&["re.sub"], &["write strings.regex_replace({2:x}, {0:PATTERN}, {1:REPLACEMENT}); in a PATTERN, \\\\. is a dot"]),
    (&["splitax", "str_split", "string_split", "string_to_array"], &["write strings.split({0:x}, {1:\" \"})"]),
    (&["zip"], &["to pair the items of two lists: stack([{0:x}, {1:y}], axis=1)"]),
    (&["clip", "clamp"], &["did you mean clip_by_value?"]),
    (&["case", "case_when", "cond", "switch_case", "if_then", "np.select"], &["to choose for each value: where(condition, x, y)"]),
    (&["greatest"], &["did you mean maximum?"]),
    (&["least"], &["did you mean minimum?"]),
    (&["between"], &["comparisons can be chained: {1:1} <= {0:x} <= {2:5}"]),
    (&["power"], &["did you mean pow?"]),
    (&["div"], &["for the quotient rounded down: {0:x} // {1:y}"]),
    (&["ln"], &["did you mean math.log?"]),
    (&["log10"], &["write math.log({0:x}) / math.log(10.0)"]),
    (&["log2"], &["write math.log({0:x}) / math.log(2.0)"]),
    (&["ceiling"], &["did you mean math.ceil?"]),
    (&["trunc", "truncate"], &["to truncate numbers toward zero: cast({0:x}, int64)"]),
    (&["nan_to_num"], &["to replace NaN: where(math.is_nan({0:x}), 0.0, {0:x})"]),
    (&["stddev", "stdev"], &["did you mean math.reduce_std({0:x}, axis=None)?"]),
    (&["quantile", "percentile", "mode"], &["`tatter stats` prints quantiles and the most frequent values"]),
    (&["zscore", "standardize", "Normalization"], &["to standardize a list: ({0:x} - reduce_mean({0:x})) / math.reduce_std({0:x})"]),
    (&["normalize", "l2norm"], &["did you mean math.l2_normalize?"]),
    (&["dot", "cosine_similarity"], &["for the dot product of two vectors: reduce_sum({0:x} * {1:y})"]),
    (&["sample", "choice", "permutation"], &["to draw N items of a list: random.shuffle({0:x})[:N]"]),
    (&["randn"], &["to draw a normally distributed number for each record: random.normal([])"]),
    (&["randint"], &["to draw an integer from 0 to 9 for each record: random.uniform([], 0, 10, dtype=int64)"]),
    (&["uuid"], &["to number the records, use the verb enumerate"]),
    (&["rolling"], &["to group the items of a list into sliding windows, use the verb windows"]),
    (&["pad_sequences"], &["to pad lists, use the verb padded-batch or to-dense"]),
    (&["to_categorical", "get_dummies", "OneHotEncoder", "CategoryEncoding"], &["did you mean one_hot?"]),
    (&["TextVectorization"], &["for the index of each word in a vocabulary: lookup(strings.split({0:x}), [\"a\", \"b\"])"]),
    (&["HashedCrossing"], &["did you mean ragged.cross_hashed?"]),
    (&["date_part", "datepart", "extract"], &["for the components of a time, use year(t), month(t), day(t) and others"]),
    (&["weekday", "dayofweek", "dow"], &["did you mean day_of_week?"]),
    (&["dayofyear", "doy"], &["did you mean day_of_year?"]),
    (&["week", "weekofyear", "week_of_year"], &["did you mean iso_week?"]),
    (
        &["datediff", "date_diff", "timestampdiff", "age"],
        &["for the duration between two times: x - y; for its seconds: (x - y) / \"PT1S\""],
    ),
    (
        &["date_add", "dateadd", "date_sub", "timedelta", "interval"],
        &["to add to a time: t + \"P1D\"; durations are written as P1D, PT1H30M or PT0.5S"],
    ),
    (&["time_bucket", "datetrunc", "floor_temporal", "truncate_time"], &["to round a time down: date_trunc(t, \"hour\")"]),
    (&["epoch", "unix_timestamp", "to_unixtime"], &["for the number of microseconds since 1970: cast(timestamp({0:x}), int64)"]),
    (&["from_unixtime", "fromtimestamp"], &["to read seconds since 1970: timestamp({0:x}, unit=\"s\")"]),
    (
        &["io.parse_single_example", "io.parse_example", "io.decode_json_example", "parse_example"],
        &["tf.Examples are parsed when a file is read; --schema declares the features"],
    ),
    (
        &[
            "image.decode_jpeg",
            "image.decode_png",
            "image.decode_image",
            "io.decode_jpeg",
            "io.decode_png",
            "io.decode_image",
            "decode_jpeg",
            "decode_png",
        ],
        &["images are read as bytes; tatter does not decode them"],
    ),
    (
        &["while_loop"],
        &[
            "expressions have no loops: an operation applies to all values at once",
            "for a result that depends on the one before: scan(lambda a, x: a * 0.9 + x, xs, 0.0)",
        ],
    ),
    (&["py_function", "numpy_function", "io.read_file"], &["expressions cannot read files or run code"]),
    (&["row_number", "rownum", "rowid"], &["to number the records, use the verb enumerate"]),
    (
        &["string_lookup", "StringLookup", "IntegerLookup", "LabelEncoder", "StaticVocabularyTable", "lookup.StaticHashTable"],
        &["for the index of each value in a vocabulary: lookup({0:x}, [\"a\", \"b\"])"],
    ),
    (
        &["bucketize", "digitize", "Discretization", "cut"],
        &["for the bin of each item of a list: searchsorted([10, 20], {0:x}, side=\"right\"); [{0:x}] is a list of one number"],
    ),
    (&["Hashing"], &["to map strings to numbers from 0 to N - 1: strings.to_hash_bucket_fast({0:x}, N)"]),
    (&["isnull", "isna"], &["did you mean is_null?"]),
    (&["notnull", "notna", "not_null", "is_not_null"], &["write not is_null({0:x})"]),
    (
        &["date", "date32", "datetime", "parse_date", "to_date", "to_timestamp", "to_datetime"],
        &["to parse text: timestamp({0:x}), or timestamp({0:x}, format=\"%d/%m/%Y\"); for a date: cast({0:x}, date32)"],
    ),
];

/// Names that mean something else for a list than for a single value: with the advice for a list, and for a value.
const BY_RANK: &[(&[&str], &[&str], &[&str])] = &[
    (
        &["min", "max"],
        &["for the {name}imum of all items: reduce_{name}({0:x}, axis=None)"],
        &["for the {name}imum of two values: {name}imum({0:x}, {1:y})", OF_ALL_RECORDS],
    ),
    (&["sum"], &["for the sum of all items: reduce_sum({0:x}, axis=None)"], &[OF_ALL_RECORDS, "for sums so far, use the verb cumsum"]),
    (&["any", "all", "prod"], &["did you mean reduce_{name}({0:x}, axis=None)?"], &[ONE_RECORD]),
    (&["std"], &["did you mean math.reduce_std({0:x}, axis=None)?"], &[OF_ALL_RECORDS]),
    (
        &["mean", "avg", "average"],
        &["for the mean: reduce_mean(cast({0:x}, float64), axis=None); without the cast, the mean of integers is an integer"],
        &[OF_ALL_RECORDS],
    ),
    (&["contains", "like", "ilike"], &[SEARCH_LIST], &[SEARCH_TEXT]),
    (&["search", "match", "rlike", "regex", "test"], &[SEARCH_LIST], &[SEARCH_REGEX]),
    (
        &["diff", "lag", "lead", "shift"],
        &["for the differences of consecutive items of a list: {0:x}[1:] - {0:x}[:-1]"],
        &[ONE_RECORD, "to see the record before too, use the verb window: window --size 2 --shift 1"],
    ),
];

const ONE_RECORD: &str = "an expression sees one record at a time";

const OF_ALL_RECORDS: &str = "an expression sees one record at a time; for all records, use the verb stats: stats -f {0#FIELD} --as json";

/// Python modules whose functions have other names here.
const RENAMING_MODULES: [&str; 6] = ["np", "numpy", "pd", "pandas", "math", "re"];

/// "did you mean F?" with the argument of a call that has only one.
fn renamed(line: &str, call: &Arguments) -> String {
    let function = line.strip_prefix("did you mean ").and_then(|rest| rest.strip_suffix('?')).filter(|name| !name.contains('('));
    match function {
        Some(function) if call.texts.len() == 1 => format!("write {function}({{0:x}})"),
        _ => line.to_owned(),
    }
}

/// What to use instead of a function of this name.
pub fn instead_of(name: &str) -> Vec<String> {
    instead_of_call(name, &Arguments::default(), false)
}

/// What to use instead of a call of a function of this name; with `guesses`, also functions with similar names.
pub fn instead_of_call(name: &str, call: &Arguments, guesses: bool) -> Vec<String> {
    if let Some(why) = functions::reason(name) {
        return vec![why.to_owned()];
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    // Such as `np.sum`.
    let own = if name.split('.').next().is_some_and(|module| RENAMING_MODULES.contains(&module)) { last } else { name };
    // SQL is often written in uppercase.
    let lower = own.to_ascii_lowercase();
    let known = |name: &str| -> Option<Vec<&str>> {
        let lines = KNOWN.iter().find(|(names, _)| names.contains(&name)).map(|(_, lines)| lines.to_vec());
        lines.or_else(|| {
            let (_, list, value) = BY_RANK.iter().find(|(names, ..)| names.contains(&name))?;
            Some(match call.of_list {
                Some(true) => list.to_vec(),
                Some(false) => value.to_vec(),
                None => [*list, *value].concat(),
            })
        })
    };
    if let Some(lines) = known(name).or_else(|| known(own)).or_else(|| known(&lower)) {
        return lines.into_iter().map(|line| call.filled(&renamed(line, call).replace("{name}", &lower))).collect();
    }
    let all = functions::all().flat_map(|f| f.names.iter().copied());
    let guess = nearest(name, all.clone()).filter(|_| guesses);
    let same = || all.clone().find(|n| n.rsplit('.').next().is_some_and(|n| n.eq_ignore_ascii_case(last)));
    guess.or_else(same).map(|near| format!("did you mean {near}?")).into_iter().collect()
}

/// Whether a name is that of a type of times, which no tensor has.
pub fn is_time(name: &str) -> bool {
    parse_type(name).is_ok_and(|ty| ty.dtype().is_some_and(|dtype| dtype.time().is_some()))
}

/// Advice to convert to a type of times.
pub fn to_time(name: &str) -> String {
    format!("to convert a field to {name}, use the verb cast: cast {}", shell_word(&format!("FIELD={name}")))
}

pub fn unknown_function(name: &str, span: Span, call: &Arguments) -> ExprError {
    if is_time(name) {
        let error = ExprError::at(span, format!("{name} is a type of times, not a function"));
        return error.help(to_time(name)).help("times can be compared with text: t > \"2024-05-15\"");
    }
    with_function(ExprError::at(span, format!("unknown function `{name}`")), name, call, true)
}

/// Adds hints on what to use instead of a call of a function of this name; with `guesses`, also on functions with similar names.
pub fn with_function(error: ExprError, name: &str, call: &Arguments, guesses: bool) -> ExprError {
    let advice = instead_of_call(name, call, guesses);
    let is_at_loss = advice.is_empty() && guesses;
    let error = advice.into_iter().fold(error, ExprError::help);
    if is_at_loss { error.help("for a list of functions: tatter help functions") } else { error }
}

/// Adds advice on text that has no such field before it is parsed.
pub fn parse_first(error: ExprError, texts: &Expr, names: &[&str]) -> ExprError {
    let path = |names: &[&str]| FieldPath::try_new(names.iter().map(|name| (*name).to_owned()).collect()).ok();
    match (texts.dotted().and_then(|(names, _)| path(&names)), path(names)) {
        (Some(texts), Some(inner)) => error.help(format!("parse JSON text first: {}", notation::parsing(&texts, &inner))),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_functions_that_exist() {
        let mut seen = Vec::new();
        let known = KNOWN.iter().map(|(names, lines)| (*names, lines.to_vec()));
        for (names, advice) in known.chain(BY_RANK.iter().map(|(names, list, value)| (*names, [*list, *value].concat()))) {
            for name in names {
                assert!(functions::find(name).is_none(), "{name} is a function");
                assert!(!seen.contains(name), "{name} occurs twice");
                seen.push(name);
            }
            for line in advice {
                let meant = line.strip_prefix("did you mean ").and_then(|rest| rest.strip_suffix('?'));
                // A function can be shown with its arguments.
                let meant = meant.and_then(|meant| meant.split('(').next());
                let exists = |meant: &str, name: &str| functions::find(&meant.replace("{name}", name)).is_some();
                assert!(meant.is_none_or(|meant| names.iter().all(|name| exists(meant, name))), "{line}");
            }
        }
    }
}
