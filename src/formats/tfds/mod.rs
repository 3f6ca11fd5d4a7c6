//! A TensorFlow Datasets (TFDS) directory, including RLDS episodes, read without TensorFlow.
//!
//! ```text
//! dataset_info.json -> info      name, splits, lengths and names of shards
//!   --split         -> split     the selected records: train+test, train[:10%]
//! features.json     -> features  the tree of feature connectors, in all generations of the file
//!                   -> mapping   the schema, and the source tf.Example features of each field
//! shards            -> shards    cut as TFRecords or ArrayRecords and decoded (formats/tfrecord, formats/riegeli)
//! ```
//!
//! A directory is one input: the records of the split, shard by shard in numerical order (tfds.load interleaves
//! shards). The number of records in each shard is compared with that in dataset_info.json. `get` counts the records of
//! the selected split across all shards; messages and `--source` give the shard and the number within it.
//!
//! Semantics, from tensorflow/datasets: `core/features/*.py`, `core/example_parser.py`,
//! `core/example_serializer.py`, `core/splits.py`, `core/naming.py`, `core/utils/shard_utils.py`. Data is read as
//! stored: images, video and audio files are their encoded bytes, and a missing optional feature is null.

mod features;
mod info;
mod json;
mod labels;
mod mapping;
mod names;
mod read;
mod shards;
mod split;
mod write;

use self::json::{FEATURES, INFO};
use crate::error::Result;
use crate::formats::format::{Directory, Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::path::Path;
use std::sync::Arc;

/// `tfds`.
pub struct Tfds;

impl Format for Tfds {
    fn name(&self) -> &'static str {
        "tfds"
    }

    fn summary(&self) -> &'static str {
        "a TensorFlow Datasets or RLDS directory: features.json, dataset_info.json, TFRecords"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--no-verify", "--class-names", "--name"]
    }

    fn recognises(&self, input: &Input) -> bool {
        input.directory().is_some()
    }

    fn holds(&self, directory: &Path) -> bool {
        [FEATURES, INFO].iter().all(|name| directory.join(name).is_file())
    }

    fn has_splits(&self) -> bool {
        true
    }

    fn has_compression(&self) -> bool {
        true
    }

    fn directory(&self) -> Option<&'static dyn Directory> {
        Some(&write::Dataset)
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::writer(schema, options))
    }

    fn reader(&self, input: Arc<Input>, options: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(read::TfdsReader::open(input, options).map(|reader| Box::new(reader) as Box<dyn Reader>))
    }
}
