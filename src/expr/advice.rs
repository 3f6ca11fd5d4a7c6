//! Functions for names that other languages use.

use super::error::{SEARCH_LIST, SEARCH_TEXT};
use super::functions;
use crate::error::nearest;

/// Names in other languages, with advice. `{name}` stands for the name.
const KNOWN: &[(&[&str], &[&str])] = &[
    (&["input", "open", "exec", "eval"], &["expressions only compute values"]),
    (&["int"], &["cast(x, int64) converts numbers, strings.to_number(x, int64) reads text"]),
    (&["float"], &["cast(x, float64) converts numbers, strings.to_number(x, float64) reads text"]),
    (&["bool"], &["cast(x, bool) converts numbers"]),
    (&["str"], &["strings.as_string(x) formats numbers"]),
    (&["min", "max"], &["reduce_{name}(x, axis=None) reduces all items, {name}imum(x, y) compares two"]),
    (&["sum", "mean", "any", "all", "prod", "std"], &["it is called reduce_{name}(x, axis=None)"]),
    (&["avg", "average"], &["it is called reduce_mean(x, axis=None)"]),
    (&["var", "variance"], &["it is called reduce_variance(x, axis=None)"]),
    (&["median"], &["`tatter stats` prints medians"]),
    (&["length", "count"], &["len(x) is the size of axis 0; strings.length(x) counts the bytes of strings"]),
    (&["startswith", "starts_with"], &["write strings.regex_full_match(x, \"(?s)PREFIX.*\")"]),
    (&["endswith", "ends_with"], &["write strings.regex_full_match(x, \"(?s).*SUFFIX\")"]),
    (&["contains", "search", "match", "like", "regex", "isin"], &[SEARCH_TEXT, SEARCH_LIST]),
    (&["replace"], &["write strings.regex_replace(x, PATTERN, REPLACEMENT)"]),
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
        &["times have no such function; year(t), month(t), day(t) and others return their parts"],
    ),
    (&["if", "ifelse", "if_else", "iff"], &["write where(condition, x, y)"]),
    (&["coalesce", "ifnull", "nvl", "fillna"], &["did you mean fill_null?"]),
    (&["diff", "lag", "lead"], &["x[1:] - x[:-1] is the difference of consecutive items of a list"]),
    (&["row_number", "rownum", "rowid"], &["the verb enumerate numbers the records"]),
    (
        &["string_lookup", "StringLookup", "IntegerLookup", "StaticVocabularyTable", "StaticHashTable"],
        &["lookup(x, [\"a\", \"b\"]) returns the index of each value in a vocabulary"],
    ),
    (
        &["bucketize", "digitize", "Discretization", "cut"],
        &["searchsorted([10, 20], x, side=\"right\") returns the bin of each item of a list; [x] is a list of one number"],
    ),
    (&["Hashing"], &["strings.to_hash_bucket_fast(x, N) maps strings to numbers from 0 to N - 1"]),
    (&["isnull", "isna"], &["did you mean is_null?"]),
    (&["notnull", "not_null", "is_not_null"], &["write not is_null(x)"]),
    (&["date", "datetime", "strptime", "parse_date", "to_timestamp"], &["did you mean timestamp?"]),
];

/// Modules of Python whose functions have other names here.
const MODULES: [&str; 5] = ["np", "numpy", "pd", "math", "re"];

/// Hints at what there is instead of a function of this name; with `guesses`, also at functions of similar names.
pub fn instead_of(name: &str, guesses: bool) -> Vec<String> {
    if let Some(why) = functions::reason(name) {
        return vec![why.to_owned()];
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    // Such as `np.sum`.
    let own = if name.split('.').next().is_some_and(|module| MODULES.contains(&module)) { last } else { name };
    if let Some((_, advice)) = KNOWN.iter().find(|(names, _)| names.contains(&own)) {
        return advice.iter().map(|line| line.replace("{name}", own)).collect();
    }
    let all = functions::all().flat_map(|f| f.names.iter().copied());
    let guess = nearest(name, all.clone()).filter(|_| guesses);
    let same = || all.clone().find(|n| n.rsplit('.').next() == Some(last));
    guess.or_else(same).map(|near| format!("did you mean {near}?")).into_iter().collect()
}
