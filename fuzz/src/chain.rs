//! Random chains of verbs over a small input, run by the engine and written in any format: refused, failed with a message,
//! or completed. Two bytes choose a word; after byte 1 the words are given, one a line, and those that name files are refused.

use super::{command, folder};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

const RECORDS: &str = concat!(
    r#"{"n":2,"k":"a","f":[1.5,-2.0],"x":[[1,2],[],[3]],"z":[[1,2],[3,4]],"t":["a b","c"],"o":null,"#,
    r#""sp":{"indices":[[0,1],[2,3]],"values":[1,2],"dense_shape":[3,4]},"st":[{"a":1,"r":["p"]}]}"#,
    "\n",
    r#"{"n":-1,"k":"b","f":[],"x":[],"z":[[0,0],[0,0]],"t":[],"o":1,"#,
    r#""sp":{"indices":[],"values":[],"dense_shape":[3,4]},"st":[]}"#,
    "\n",
    r#"{"n":7,"k":"a","f":[0.0],"x":[[-3]],"z":[[1,1],[2,2]],"t":[""],"o":2,"#,
    r#""sp":{"indices":[[0,0]],"values":[3],"dense_shape":[3,4]},"st":[{"a":2,"r":[]},{"a":3,"r":["q","r"]}]}"#,
    "\n",
);

/// The first byte chooses one; most chains write JSON Lines.
const OUTPUTS: [&str; 16] = [
    "jsonl",
    "jsonl",
    "jsonl",
    "parquet",
    "arrow",
    "arrows",
    "npz",
    "safetensors",
    "tfrecord",
    "csv",
    "json",
    "array_record",
    "mtx",
    "libsvm",
    "txt",
    "jsonl.gz",
];

/// Verbs with arguments that often fit.
const STEPS: [&str; 75] = [
    "head 2",
    "tail 2",
    "skip 1",
    "get 1,3",
    "take-while|n > 0",
    "skip-while|n > 0",
    "shard 1/2",
    "sample 0.5",
    "shuffle",
    "shuffle --buffer 2",
    "sort --by n",
    "sort --by k,n -r",
    "filter|n > 0",
    "filter|len(f) > 0",
    "unique",
    "unique --by k",
    "repeat 2",
    "assert|n < 100",
    "assert-cardinality 3",
    "select n,f,x",
    "select k",
    "drop st",
    "drop sp,o",
    "rename n=m",
    "cast n=int32",
    "cast f=float64",
    "fill-null o=0",
    "drop o",
    "map|y = n + 1",
    "map|y = reduce_sum(x, axis=-1)",
    "map|f = f * 2; n = len(f)",
    "map|w = [n, n]",
    "enumerate",
    "enumerate --as i",
    "cumsum n",
    "cumsum n --as total",
    "batch 2",
    "batch all",
    "batch 2 --drop-remainder",
    "window --size 2",
    "window --size 2 --shift 1",
    "unbatch",
    "batch 2 then unbatch",
    "explode f",
    "explode x",
    "explode st",
    "implode --by k",
    "select n,k then implode --by k",
    "select n,f,x then padded-batch 2",
    "select f then pack --length 4",
    "bucket --by len(f) --boundaries 1 --batch-sizes 2,1",
    "to-dense",
    "to-dense -f x --default 0",
    "to-sparse -f z",
    "from-dense -f z --padding 0",
    "from-sparse",
    "merge-dims x 0 1",
    "partition f --row-lengths t",
    "promote st.a --as a",
    "decompose x --encoding row_lengths",
    "windows f --size 2",
    "schema",
    "schema --as tf",
    "schema --as json",
    "count",
    "show",
    "show -n 2",
    "stats",
    "stats --by k",
    "validate",
    "zip",
    "concatenate",
    "interleave",
    "mix",
    "compose x --values f --row-lengths n",
];
const WORDS: [&str; 40] = [
    "then",
    "then",
    "then",
    "then",
    "n",
    "k",
    "f",
    "x",
    "z",
    "t",
    "o",
    "sp",
    "st",
    "st.a",
    "st.r",
    "*",
    "0",
    "1",
    "2",
    "-1",
    "all",
    "-f",
    "--by",
    "--as",
    "--default",
    "--shape",
    "--shape=x=[?, 4]",
    "[2, 2]",
    "--strict",
    "--on-error",
    "skip",
    "--chunk-rows=1",
    "-r",
    "-n",
    "--axis",
    "int32",
    "string",
    "show",
    "stats",
    "validate",
];

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = folder("chain");
    std::fs::write(folder.join("in.jsonl"), RECORDS).expect("a file");
    folder
});

/// Words of a step: apart from an expression, which follows `|`, they are separated by spaces.
fn words(step: &str) -> Vec<String> {
    match step.split_once('|') {
        Some((verb, expression)) => vec![verb.to_owned(), expression.to_owned()],
        None => step.split(' ').map(str::to_owned).collect(),
    }
}

/// Two bytes choose a step or a word; `then` precedes a step that follows another.
fn chosen(bytes: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for pair in bytes.chunks_exact(2).take(12) {
        if pair[0] % 4 == 0 {
            all.push(WORDS[usize::from(pair[1]) % WORDS.len()].to_owned());
        } else {
            all.extend((!all.is_empty()).then(|| "then".to_owned()));
            all.extend(words(STEPS[usize::from(pair[1]) % STEPS.len()]));
        }
    }
    all
}

/// Whether a word can name a file, or has an effect outside the output.
fn is_outside(word: &str) -> bool {
    let options = [
        "-o",
        "-q",
        "--",
        "--from",
        "--to",
        "--in",
        "--out",
        "--man",
        "--sum",
        "--temp",
        "--with",
        "--else",
        "--read",
        "--on-error=q",
        "quarantine",
    ];
    let is_option = word.starts_with('-')
        && !word.starts_with("--shape")
        && options.iter().any(|option| word == *option || (option.len() > 2 && word.starts_with(option)));
    is_option
        || word.contains(['/', '@'])
        || word.starts_with("quarantine")
        || ["split", "lookup", "man", "index", "repeat"].contains(&word)
}

pub fn run(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let words: Vec<String> = match first {
        1 => match std::str::from_utf8(rest) {
            Ok(text) => text.split('\n').map(str::to_owned).collect(),
            Err(_) => return,
        },
        _ => chosen(rest),
    };
    if *first == 1 && words.iter().any(|word| is_outside(word)) {
        return;
    }
    let threads = (1 + first / 2 % 2).to_string();
    let input = FOLDER.join("in.jsonl");
    let out = FOLDER.join("out").with_extension(OUTPUTS[usize::from(first / 4) % OUTPUTS.len()]);
    // Twice, for the verbs that combine inputs.
    let inputs = vec![OsString::from(input); if first / 64 % 2 == 1 { 2 } else { 1 }];
    let ends = ["-q", "--max-memory", "64M", "--max-record-bytes", "1M", "--force", "--threads", &threads].map(OsString::from);
    command(words.into_iter().map(OsString::from).chain(inputs).chain(["-o".into(), out.into()]).chain(ends));
}
