use super::{arrow, features, json, load, spec};
use crate::options::Options;
use crate::schema::notation;

const RECORD: &str = "id: int64; name: optional string; embed: float32[4, 32]; tokens: int32[?]; batch: int64[?, (?)]; vecs: float64[?, \
                      32]; deep: bool[2, (words), 3, ?]; docs: {title: string, tokens: bytes[?]}[?]; meta: {on: bool, at: {x: \
                      float16[2]}}; feats: sparse<float32>[100, 20]; bag: sparse<int64>[?]; open: sparse<int8>[?, 3]; tags: string[?] with \
                      nulls; when: arrow<timestamp[us]>; raw: json; gone: null";

#[test]
fn one_object_for_programs() {
    let schema =
        notation::parse("out: int64[3, (w), 2]; s: optional sparse<float32>[?, 1000]; p: {a: string[?] with nulls}[?]; w: arrow<date32>")
            .unwrap();
    let want = r#"{"fields": [
  {"name":"out","type":"int64[3, (w), 2]","kind":"tensor","dtype":"int64","shape":[3,null,2],"ragged":[false,true,false],"labels":[null,"w",null]},
  {"name":"s","type":"optional sparse<float32>[?, 1000]","kind":"sparse","dtype":"float32","shape":[null,1000],"optional":true},
  {"name":"p","type":"{a: string[?] with nulls}[?]","kind":"struct","shape":[null],"ragged":[false],"fields":[{"name":"a","kind":"tensor","dtype":"string","shape":[null],"ragged":[false],"with_nulls":true}]},
  {"name":"w","type":"arrow<date32>","kind":"tensor","dtype":"arrow<date32>","shape":[],"ragged":[]}
]}
"#;
    assert_eq!(json::object(&schema), want);
    assert_eq!(json::object(&notation::parse("").unwrap()), "{\"fields\": []}\n");
    for text in
        [RECORD, "", "`a b`: map<string, int64>[?]; `c``: d`: int64 = -1; u: arrow<uuid>; v: int64[?, (?)] from w split by row_lengths(n)"]
    {
        let object = json::object(&notation::parse(text).unwrap());
        assert!(notation::is_json(object.as_bytes()));
        assert_eq!(notation::parse_json(&object).unwrap().to_string(), notation::parse(text).unwrap().to_string());
    }
    for text in ["{\"fields\": [", "{\"fields\": [1]}", "{\"fields\": [{\"name\": \"x\", \"type\": \"int64; y: int64\"}]}"] {
        assert!(notation::parse_json(text).is_err(), "{text}");
    }
}

#[test]
fn a_feature_specification() {
    let want = r#"import tensorflow as tf

feature_specification = {
    "id": tf.io.FixedLenFeature([], tf.int64),
    "name": tf.io.RaggedFeature(tf.string),  # null is read as no values
    "embed": tf.io.FixedLenFeature([4, 32], tf.float32),
    "tokens": tf.io.RaggedFeature(tf.int64),
    "batch": tf.io.RaggedFeature(tf.int64, value_key="batch", partitions=[tf.io.RaggedFeature.RowLengths("batch/row_lengths_1")]),
    "vecs": tf.io.RaggedFeature(tf.float32, value_key="vecs", partitions=[tf.io.RaggedFeature.UniformRowLength(32)]),
    "deep": tf.io.RaggedFeature(tf.int64, value_key="deep", partitions=[tf.io.RaggedFeature.RowLengths("deep/row_lengths_1"), tf.io.RaggedFeature.UniformRowLength(3), tf.io.RaggedFeature.RowLengths("deep/row_lengths_2")]),
    "docs.title": tf.io.RaggedFeature(tf.string),
    "docs.tokens": tf.io.RaggedFeature(tf.string, value_key="docs.tokens", partitions=[tf.io.RaggedFeature.RowLengths("docs.tokens/row_lengths_1")]),
    "meta.on": tf.io.FixedLenFeature([], tf.int64),
    "meta.at.x": tf.io.FixedLenFeature([2], tf.float32),
    "feats": tf.io.SparseFeature(index_key=["feats/indices_0", "feats/indices_1"], value_key="feats/values", dtype=tf.float32, size=[100, 20]),
    # "bag": tf.io.SparseFeature needs all sizes; declare them with --schema
    # "open": tf.io.SparseFeature needs all sizes; declare them with --schema
    "tags": tf.io.RaggedFeature(tf.string),  # a tf.Example cannot store nulls inside a list
    # "when": a tf.Example cannot store arrow<timestamp[us]>
    "raw": tf.io.FixedLenFeature([], tf.string),
    # "gone": has no values
}
"#;
    assert_eq!(features::code(&notation::parse(RECORD).unwrap()), want);
}

#[test]
fn specs_of_the_tensors_of_one_record() {
    let want = r#"import tensorflow as tf

spec = {
    "id": tf.TensorSpec([], tf.int64),
    "name": tf.TensorSpec([], tf.string),  # may contain nulls; see fill-null
    "embed": tf.TensorSpec([4, 32], tf.float32),
    "tokens": tf.TensorSpec([None], tf.int32),
    "batch": tf.RaggedTensorSpec([None, None], tf.int64, ragged_rank=1),
    "vecs": tf.TensorSpec([None, 32], tf.float64),
    "deep": tf.RaggedTensorSpec([2, None, 3, None], tf.bool, ragged_rank=1),
    "docs": {
        "title": tf.TensorSpec([None], tf.string),
        "tokens": tf.RaggedTensorSpec([None, None], tf.string, ragged_rank=1),
    },
    "meta": {
        "on": tf.TensorSpec([], tf.bool),
        "at": {
            "x": tf.TensorSpec([2], tf.float16),
        },
    },
    "feats": tf.SparseTensorSpec([100, 20], tf.float32),
    "bag": tf.SparseTensorSpec([None], tf.int64),
    "open": tf.SparseTensorSpec([None, 3], tf.int8),
    "tags": tf.TensorSpec([None], tf.string),  # may contain nulls; see fill-null
    # "when": arrow<timestamp[us]> is not a tensor type
    "raw": tf.TensorSpec([], tf.string),
    # "gone": null is not a tensor type
}
"#;
    assert_eq!(spec::code(&notation::parse(RECORD).unwrap()), want);
}

#[test]
fn lines_that_load_an_npz() {
    let record = "id: int64; embed: float32[4]; tokens: int64[?]; vecs: float32[?, 2]; batch: int64[2, (?)]; \
                  words: string[?]; blob: bytes; s: sparse<float32>[?, 9]; o: optional int64";
    let schema = notation::parse(record).unwrap();
    let helpers = r#"
data = np.load("data.npz")


def rows(values, splits):
    return [values[a:b] for a, b in zip(splits, splits[1:])]


def text(values, splits):
    return [values[a:b].tobytes().decode() for a, b in zip(splits, splits[1:])]


def raw(values, splits):
    return [values[a:b].tobytes() for a, b in zip(splits, splits[1:])]


records = {
"#;
    let numpy = r#"    "id": data["id"],  # int64
    "embed": data["embed"],  # float32[4]
    "tokens": rows(data["tokens/values"], data["tokens/row_splits_0"]),  # int64[?]
    "vecs": rows(data["vecs/values"], data["vecs/row_splits_0"]),  # float32[?, 2]
    "batch": rows(rows(data["batch/values"], data["batch/row_splits_1"]), data["batch/row_splits_0"]),  # int64[2, (?)]
    "words": rows(text(data["words/values"], data["words/row_splits_1"]), data["words/row_splits_0"]),  # string[?]
    "blob": raw(data["blob/values"], data["blob/row_splits_0"]),  # bytes
    "s": (data["s/indices"], data["s/values"], data["s/dense_shape"]),  # sparse<float32>[?, 9]
    # "o": may contain nulls, which NumPy does not support; see fill-null
}
"#;
    let torch = r#"    "id": torch.from_numpy(data["id"]),  # int64
    "embed": torch.from_numpy(data["embed"]),  # float32[4]
    "tokens": torch.nested.nested_tensor_from_jagged(torch.from_numpy(data["tokens/values"]), torch.from_numpy(data["tokens/row_splits_0"])),  # int64[?]
    "vecs": torch.nested.nested_tensor_from_jagged(torch.from_numpy(data["vecs/values"]), torch.from_numpy(data["vecs/row_splits_0"])),  # float32[?, 2]
    "batch": rows(rows(torch.from_numpy(data["batch/values"]), data["batch/row_splits_1"]), data["batch/row_splits_0"]),  # int64[2, (?)]
    "words": rows(text(data["words/values"], data["words/row_splits_1"]), data["words/row_splits_0"]),  # string[?]
    "blob": raw(data["blob/values"], data["blob/row_splits_0"]),  # bytes
    "s": torch.sparse_coo_tensor(torch.from_numpy(data["s/indices"]).T, torch.from_numpy(data["s/values"]), tuple(data["s/dense_shape"])),  # sparse<float32>[?, 9]
    # "o": may contain nulls, which NumPy does not support; see fill-null
}
"#;
    assert_eq!(load::numpy(&schema, load::File::Npz), format!("import numpy as np\n{helpers}{numpy}"));
    assert_eq!(load::torch(&schema, load::File::Npz), format!("import numpy as np\nimport torch\n{helpers}{torch}"));
    let import = "from safetensors.numpy import load_file\n";
    let helpers = helpers.replace("np.load(\"data.npz\")", "load_file(\"data.safetensors\")");
    assert_eq!(load::numpy(&schema, load::File::Safetensors), format!("{import}{helpers}{numpy}"));
    assert_eq!(load::torch(&schema, load::File::Safetensors), format!("import torch\n{import}{helpers}{torch}"));
}

#[test]
fn a_pyarrow_schema() {
    let record = "id: int64; v: optional float32[?, 2] with nulls; d: {t: string}[?]; w: arrow<timestamp[us, UTC]>; \
                  m: map<string, optional int32>; q: arrow<decimal128(10, 2)>; r: int8[?, ?]; i: arrow<interval[day_time]>";
    let want = r#"import pyarrow as pa

schema = pa.schema([
    pa.field("id", pa.int64(), nullable=False),
    pa.field("v", pa.list_(pa.field("element", pa.list_(pa.field("element", pa.float32()), 2)))),
    pa.field("d", pa.list_(pa.field("element", pa.struct([pa.field("t", pa.string(), nullable=False)]), nullable=False)), nullable=False),
    pa.field("w", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("m", pa.map_(pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int32())), nullable=False),
    pa.field("q", pa.decimal128(10, 2), nullable=False),
    pa.field("r", pa.list_(pa.field("element", pa.list_(pa.field("element", pa.int8(), nullable=False)), nullable=False)), nullable=False, metadata={"tatter:type": "int8[?, ?]"}),
    # "i": pyarrow has no such interval
])
"#;
    assert_eq!(arrow::code(&notation::parse(record).unwrap(), &Options::default()).unwrap(), want);
}
