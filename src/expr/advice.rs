//! Suggests functions for the names that other languages use.

use super::error::{SEARCH_LIST, SEARCH_TEXT};
use super::functions;
use crate::error::{OLD_JQ, nearest};

/// Names in other languages, with advice. `{name}` stands for the name.
const KNOWN: &[(&[&str], &[&str])] = &[
    (&["input", "open", "exec", "eval"], &["expressions cannot read files or run code"]),
    (&["int"], &["cast(x, int64) converts numbers; strings.to_number(x, int64) parses text"]),
    (&["float"], &["cast(x, float64) converts numbers; strings.to_number(x, float64) parses text"]),
    (&["bool"], &["cast(x, bool) converts numbers"]),
    (&["str"], &["strings.as_string(x) formats numbers"]),
    (&["min", "max"], &["reduce_{name}(x, axis=None) reduces all items; {name}imum(x, y) compares two"]),
    (&["sum", "any", "all", "prod", "std"], &["it is called reduce_{name}(x, axis=None)"]),
    (
        &["mean", "avg", "average"],
        &["reduce_mean(cast(x, float64), axis=None) is the mean; without the cast, that of integers is an integer"],
    ),
    (&["var", "variance"], &["it is called reduce_variance(x, axis=None)"]),
    (&["median"], &["`tatter stats` prints medians"]),
    (&["length", "count"], &["len(x) is the size of axis 0; strings.length(x) counts the bytes of strings"]),
    (&["startswith", "starts_with"], &["write strings.regex_full_match(x, \"(?s)PREFIX.*\")"]),
    (&["endswith", "ends_with"], &["write strings.regex_full_match(x, \"(?s).*SUFFIX\")"]),
    (&["contains", "search", "match", "like", "ilike", "rlike", "regex", "isin"], &[SEARCH_TEXT, SEARCH_LIST]),
    (&["replace", "strings.replace", "replace_all"], &["write strings.regex_replace(x, PATTERN, REPLACEMENT)"]),
    (&["isnan"], &["did you mean math.is_nan?"]),
    (&["regex_match", "regexp_matches", "fullmatch"], &["did you mean strings.regex_full_match?"]),
    (&["exists", "has", "is_present"], &["write not is_null(x)"]),
    (&["trim"], &["did you mean strings.strip?"]),
    (&["substring", "slice_text"], &["did you mean strings.substr?"]),
    (&["concatenate", "join", "format", "sprintf"], &["join strings with +; strings.reduce_join(x) joins those of a list"]),
    (&["hash", "md5", "sha1", "sha256", "crc32"], &["strings.to_hash_bucket_fast(x, N) maps strings to numbers from 0 to N - 1"]),
    (&["rand", "random", "uniform"], &["random.uniform([]) is a number from 0 to 1 for each record"]),
    (&["now", "today", "current_timestamp", "current_date"], &["pass the time: --arg now=\"$(date -u +%FT%TZ)\", read by timestamp(now)"]),
    (
        &["strftime", "date_format", "format_date", "dateformat"],
        &["there is no such function for times; year(t), month(t), day(t) and others return their parts"],
    ),
    (&["if", "ifelse", "if_else", "iff"], &["write where(condition, x, y)"]),
    (&["coalesce", "ifnull", "nvl", "fillna"], &["did you mean fill_null?"]),
    (&["diff", "lag", "lead", "shift"], &["x[1:] - x[:-1] is the difference of consecutive items of a list"]),
    (&["lower", "tolower", "to_lower", "toLower", "lcase", "lowercase", "ascii_downcase"], &["did you mean strings.lower?"]),
    (&["upper", "toupper", "to_upper", "toUpper", "ucase", "uppercase", "ascii_upcase"], &["did you mean strings.upper?"]),
    (&["ltrim", "lstrip"], &["strings.regex_replace(x, \"^\\\\s+\", \"\") removes leading whitespace"]),
    (&["rtrim", "rstrip"], &["strings.regex_replace(x, \"\\\\s+$\", \"\") removes trailing whitespace"]),
    (&["lpad", "zfill", "rjust"], &["strings.as_string(x, width=8, fill=\"0\") pads numbers"]),
    (&["left"], &["strings.substr(x, 0, N) returns the first N bytes"]),
    (&["right"], &["strings.substr(x, -N, N) returns the last N bytes"]),
    (&["concat_ws"], &["strings.join([x, y], separator=\"-\") joins strings"]),
    (&["split_part"], &["strings.split(x, \"-\")[0] returns a part"]),
    (&["regexp_replace", "regex_replace_all", "str_replace", "str_replace_all", "gsub", "sub"], &["did you mean strings.regex_replace?"]),
    (
        &["regexp_extract", "regexp_substr", "regex_extract", "strings.regex_extract", "str_extract"],
        &["strings.regex_replace(x, \".*(GROUP).*\", \"\\\\1\") returns the text of a group"],
    ),
    (&["tokenize", "word_tokenize", "words", "wordcount", "word_count"], &["strings.split(x) splits text at whitespace"]),
    (&["char_length", "character_length"], &["write strings.length(x, unit=\"UTF8_CHAR\")"]),
    (&["byte_length", "bytes_length", "octet_length"], &["did you mean strings.length?"]),
    (&["base64", "b64encode", "to_base64"], &["did you mean io.encode_base64?"]),
    (&["b64decode", "from_base64", "unbase64"], &["did you mean io.decode_base64?"]),
    (
        &["json", "json_extract", "parse_json", "from_json", "fromjson", "loads", "get_json_object"],
        &["expressions do not parse JSON; jq does: jq -c '.FIELD |= fromjson' FILE | tatter ... -", OLD_JQ],
    ),
    (
        &["tonumber", "to_number", "parseFloat", "parse_float", "parseInt", "parse_int", "to_int", "to_float", "atoi"],
        &["did you mean strings.to_number?"],
    ),
    (&["tostring", "to_string", "to_str"], &["did you mean strings.as_string?"]),
    (&["flatten", "ravel"], &["merge_dims(x, 0, -1) merges all axes into one"]),
    (&["nunique", "n_unique", "count_distinct", "approx_count_distinct"], &["len(unique(x).y) is the number of distinct items"]),
    (&["distinct", "array_distinct", "list_distinct", "list_unique"], &["unique(x).y returns the distinct items of a list"]),
    (&["value_counts"], &["unique_with_counts(x) counts how often each item of a list occurs"]),
    (&["first", "head"], &["x[0] is the first item of a list; x[:N] are the first N"]),
    (&["last", "tail"], &["x[-1] is the last item of a list; x[-N:] are the last N"]),
    (&["element_at", "get", "nth", "list_extract"], &["x[0] is the first item of a list, x[-1] the last"]),
    (&["list_slice", "array_slice"], &["x[START:STOP] is a part of a list"]),
    (&["list_contains", "array_contains", "list_has", "array_has", "is_in"], &[SEARCH_LIST]),
    (&["not_in"], &["write not reduce_any(x == [1, 2])"]),
    (&["array_length", "array_size", "list_length", "cardinality"], &["did you mean len?"]),
    (&["sorted", "array_sort", "list_sort", "sort_array"], &["did you mean sort?"]),
    (&["enumerate"], &["range(len(x)) numbers the items of a list; the verb enumerate numbers the records"]),
    (&["zip"], &["stack([x, y], axis=1) pairs the items of two lists"]),
    (&["clip", "clamp"], &["did you mean clip_by_value?"]),
    (&["case", "case_when", "cond", "switch_case", "if_then", "np.select"], &["where(condition, x, y) chooses for each value"]),
    (&["greatest"], &["did you mean maximum?"]),
    (&["least"], &["did you mean minimum?"]),
    (&["between"], &["comparisons can be chained: 1 <= x <= 5"]),
    (&["power"], &["did you mean pow?"]),
    (&["div"], &["x // y is the quotient rounded down"]),
    (&["ln"], &["did you mean math.log?"]),
    (&["log10"], &["write math.log(x) / math.log(10.0)"]),
    (&["log2"], &["write math.log(x) / math.log(2.0)"]),
    (&["ceiling"], &["did you mean math.ceil?"]),
    (&["trunc", "truncate"], &["cast(x, int64) truncates numbers toward zero"]),
    (&["nan_to_num"], &["where(math.is_nan(x), 0.0, x) replaces NaN"]),
    (&["stddev", "stdev"], &["it is called math.reduce_std(x, axis=None)"]),
    (&["quantile", "percentile", "mode"], &["`tatter stats` prints quantiles and the most frequent values"]),
    (&["zscore", "standardize", "Normalization"], &["(x - reduce_mean(x)) / math.reduce_std(x) standardizes a list"]),
    (&["normalize", "l2norm"], &["did you mean math.l2_normalize?"]),
    (&["dot", "cosine_similarity"], &["reduce_sum(x * y) is the dot product of two vectors"]),
    (&["sample", "choice", "permutation"], &["random.shuffle(x)[:N] draws N items of a list"]),
    (&["randn"], &["random.normal([]) is a normally distributed number for each record"]),
    (&["randint"], &["random.uniform([], 0, 10, dtype=int64) is an integer from 0 to 9 for each record"]),
    (&["uuid"], &["the verb enumerate numbers the records"]),
    (&["rolling"], &["the verb windows groups the items of a list into sliding windows"]),
    (&["pad_sequences"], &["the verbs padded-batch and to-dense pad lists"]),
    (&["to_categorical", "get_dummies", "OneHotEncoder", "CategoryEncoding"], &["did you mean one_hot?"]),
    (&["TextVectorization"], &["lookup(strings.split(x), [\"a\", \"b\"]) returns the index of each word in a vocabulary"]),
    (&["HashedCrossing"], &["did you mean ragged.cross_hashed?"]),
    (&["date_part", "datepart", "extract"], &["year(t), month(t), day(t) and others return the parts of a time"]),
    (&["weekday", "dayofweek", "dow"], &["did you mean day_of_week?"]),
    (&["dayofyear", "doy"], &["did you mean day_of_year?"]),
    (&["week", "weekofyear", "week_of_year"], &["did you mean iso_week?"]),
    (
        &["datediff", "date_diff", "timestampdiff", "date_add", "dateadd", "date_sub", "timedelta", "age"],
        &["arithmetic on times is not supported; cast(t, int64) gives a count of units, such as microseconds"],
    ),
    (&["epoch", "unix_timestamp", "to_unixtime"], &["cast(timestamp(x), int64) counts microseconds since 1970"]),
    (&["from_unixtime", "fromtimestamp"], &["timestamp(x, unit=\"s\") reads seconds since 1970"]),
    (
        &["io.parse_single_example", "io.parse_example", "io.decode_json_example", "parse_example"],
        &["reading a file parses its examples; --schema declares the features"],
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
    (&["while_loop", "scan"], &["expressions have no loops: each applies to all values at once"]),
    (&["py_function", "numpy_function", "io.read_file"], &["expressions cannot read files or run code"]),
    (&["row_number", "rownum", "rowid"], &["the verb enumerate numbers the records"]),
    (
        &["string_lookup", "StringLookup", "IntegerLookup", "LabelEncoder", "StaticVocabularyTable", "lookup.StaticHashTable"],
        &["lookup(x, [\"a\", \"b\"]) returns the index of each value in a vocabulary"],
    ),
    (
        &["bucketize", "digitize", "Discretization", "cut"],
        &["searchsorted([10, 20], x, side=\"right\") returns the bin of each item of a list; [x] is a list of one number"],
    ),
    (&["Hashing"], &["strings.to_hash_bucket_fast(x, N) maps strings to numbers from 0 to N - 1"]),
    (&["isnull", "isna"], &["did you mean is_null?"]),
    (&["notnull", "not_null", "is_not_null"], &["write not is_null(x)"]),
    (&["date", "datetime", "strptime", "parse_date", "to_date", "to_timestamp"], &["did you mean timestamp?"]),
];

/// Python modules whose functions have other names here.
const MODULES: [&str; 5] = ["np", "numpy", "pd", "math", "re"];

/// Hints on what to use instead of a function of this name; with `guesses`, also on functions with similar names.
pub fn instead_of(name: &str, guesses: bool) -> Vec<String> {
    if let Some(why) = functions::reason(name) {
        return vec![why.to_owned()];
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    // Such as `np.sum`.
    let own = if name.split('.').next().is_some_and(|module| MODULES.contains(&module)) { last } else { name };
    // SQL is often written in uppercase.
    let lower = own.to_ascii_lowercase();
    let known = |name: &str| KNOWN.iter().find(|(names, _)| names.contains(&name));
    if let Some((_, advice)) = known(own).or_else(|| known(&lower)) {
        return advice.iter().map(|line| line.replace("{name}", &lower)).collect();
    }
    let all = functions::all().flat_map(|f| f.names.iter().copied());
    let guess = nearest(name, all.clone()).filter(|_| guesses);
    let same = || all.clone().find(|n| n.rsplit('.').next().is_some_and(|n| n.eq_ignore_ascii_case(last)));
    guess.or_else(same).map(|near| format!("did you mean {near}?")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_functions_that_exist() {
        let mut seen = Vec::new();
        for (names, advice) in KNOWN {
            for name in *names {
                assert!(functions::find(name).is_none(), "{name} is a function");
                assert!(!seen.contains(name), "{name} occurs twice");
                seen.push(name);
            }
            for line in *advice {
                let meant = line.strip_prefix("did you mean ").and_then(|rest| rest.strip_suffix('?'));
                assert!(meant.is_none_or(|meant| functions::find(meant).is_some()), "{line}");
            }
        }
    }
}
