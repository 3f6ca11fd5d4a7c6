//! Arbitrary text as statements of `map`, and text assembled from names of functions, fields, operators and literals:
//! rejected, or bound to a small schema and applied to a small chunk, whose result must have the declared schema.

use super::{read, request};
use std::sync::{Arc, LazyLock};
use tatter::chunk::Chunk;
use tatter::expr::{Program, functions};
use tatter::options::Options;
use tatter::schema::{Schema, notation};

const SCHEMA: &str = "n: int64; f: float32[?]; b: bool; t: string[?]; o: optional int64[?]; \
    x: int64[?, (?)]; y: float32[?, (?), 2]; z: float64[2, 3]; deep: int32[?, (?), (?)]; w: string[?, (?)]; \
    sp: sparse<float32>[?, 4]; st: {a: int64, r: string[?]}[?]";

const RECORDS: &str = concat!(
    r#"{"n":2,"f":[1.5,-2.0],"b":true,"t":["a b","c"],"o":[1],"x":[[1,2],[],[3]],"y":[[[1,2]],[]],"z":[[1,2,3],[4,5,6]],"#,
    r#""deep":[[[1],[2,3]],[]],"w":[["a"],["b","é"]],"sp":{"indices":[[0,1],[2,3]],"values":[1,2],"dense_shape":[3,4]},"st":[{"a":1,"r":["p"]}]}"#,
    "\n",
    r#"{"n":-1,"f":[],"b":false,"t":[],"o":null,"x":[],"y":[],"z":[[0,0,0],[0,0,0]],"#,
    r#""deep":[],"w":[],"sp":{"indices":[],"values":[],"dense_shape":[0,4]},"st":[]}"#,
    "\n",
    r#"{"n":0,"f":[0.0],"b":true,"t":[""],"o":[],"x":[[-3]],"y":[[[0,0],[1,1],[2,2]]],"z":[[1,1,1],[2,2,2]],"#,
    r#""deep":[[]],"w":[[]],"sp":{"indices":[[0,0]],"values":[3],"dense_shape":[1,4]},"st":[{"a":2,"r":[]},{"a":3,"r":["q","r"]}]}"#,
    "\n",
);

const WORDS: &[&str] = &[
    "n",
    "f",
    "b",
    "t",
    "o",
    "x",
    "y",
    "z",
    "deep",
    "w",
    "sp",
    "st",
    "out",
    " = ",
    ", ",
    ", ",
    ", ",
    "(",
    "(",
    "(",
    ")",
    ")",
    ")",
    "[",
    "]",
    "[",
    "]",
    "{",
    "}",
    ": ",
    ":",
    ".",
    "...",
    ";",
    "\n",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "&",
    "|",
    "^",
    "~",
    "==",
    "!=",
    "<",
    ">=",
    " and ",
    " or ",
    " not ",
    "None",
    "True",
    "False",
    "newaxis",
    "0",
    "1",
    "2",
    "-1",
    "3.5",
    "1e9",
    "1099511627776",
    "9223372036854775807",
    "\"\"",
    "\"a\"",
    "\"sum\"",
    "b\"\\xff\"",
    "int32",
    "\"float32\"",
    "string",
    "axis=",
    "shape=",
    "dtype=",
    "keepdims=True",
    "default_value=",
    "tf.",
    "[[1, 2], [3]]",
    "[[1.0], []]",
    "row_lengths=",
    "#",
    "`",
    "'",
];

static SCHEMA_OF: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(notation::parse(SCHEMA).expect("a schema")));

static CHUNK: LazyLock<Chunk> = LazyLock::new(|| {
    let chunks = read("jsonl", RECORDS.as_bytes(), &SCHEMA_OF, &request(false, false)).expect("records");
    chunks.into_iter().next().expect("a chunk")
});

static PIECES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let calls = functions::all().flat_map(|f| f.names.iter().map(|name| format!("{name}(")));
    WORDS.iter().map(|word| (*word).to_owned()).chain(calls).collect()
});

/// Two bytes choose a piece; words are as frequent as calls.
fn spliced(bytes: &[u8]) -> String {
    let piece = |pair: &[u8]| {
        let number = usize::from(pair[0]) << 8 | usize::from(pair[1]);
        let (from, of) = if number % 2 == 0 { (0, WORDS.len()) } else { (WORDS.len(), PIECES.len() - WORDS.len()) };
        PIECES[from + number / 2 % of].as_str()
    };
    bytes.chunks_exact(2).map(piece).collect()
}

pub fn run(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let text = match first % 3 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        1 => format!("out = {}", String::from_utf8_lossy(rest)),
        _ => format!("out = {}", spliced(rest)),
    };
    let Ok(program) = Program::bind(&text, &SCHEMA_OF, &Options::default()) else { return };
    if let Ok(out) = program.apply(CHUNK.clone()) {
        out.check(program.schema()).expect("a chunk of the schema that was promised");
    }
}
