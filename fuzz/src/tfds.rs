//! A TFDS dataset with arbitrary bytes as one of its files; the first byte selects the file.

use super::print_directory;

const FEATURES: &[u8] = include_bytes!("../../fixtures/inputs/episodes/1.0.0/features.json");
const SHARD: &[u8] = include_bytes!("../../fixtures/inputs/episodes/1.0.0/episodes-train.tfrecord-00000-of-00002");
/// One split with one shard, so that none needs to be selected.
const INFO: &[u8] = br#"{"name": "x", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": ["2"],
    "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}]}"#;
const SHARD_NAME: &str = "x-train.tfrecord-00000-of-00001";

pub fn run(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let mut files = [("features.json", FEATURES), ("dataset_info.json", INFO), (SHARD_NAME, SHARD)];
    files[usize::from(*choice) % 3].1 = bytes;
    print_directory("tfds", &files);
}
