//! Formats: one file or folder each, registered by one line in [`FORMATS`].
//!
//! - [`mod@format`]: the contract between runs and formats.
//! - `columnar`: shared by Parquet, Arrow and files of arrays; `arrays`: shared by npz, npy and safetensors; `matrix`:
//!   shared by the formats of sparse rows; `records`, `examples`: serialized records and tf.Examples in them, shared
//!   by TFRecord, TFDS and ArrayRecord; `riegeli`: the container of ArrayRecord; `json_members`: JSON inside other containers;
//!   `appending`: writing chunk after chunk; `lines`: writing lines; `cut`: cutting an input until it ends;
//!   `first_wins`: which records are left out of the inference under `--on-error skip`.
//! - Every other module is a format. A format imports no other format (`tests/it/layers.rs` checks it).

mod appending;
mod array_record;
mod arrays;
mod arrow;
mod columnar;
mod csv;
mod cut;
mod dense_shape;
mod examples;
mod first_wins;
pub mod format;
mod json_members;
mod jsonl;
mod libsvm;
mod lines;
mod matrix;
mod matrix_market;
mod megatron;
mod none;
mod npy;
mod npz;
mod parquet;
mod records;
mod riegeli;
mod safetensors;
mod scipy;
mod text;
mod tfds;
mod tfrecord;
mod webdataset;

pub use format::{
    Directory, Encode, Encoded, Format, Grouping, Inference, Numbered, Observed, Reader, Request, Shard, Task, Tasks, Writer,
};
pub use records::index::{IndexForm, write_index};

use crate::error::{Error, Result};
use crate::io::Input;
use crate::schema::Type;
use crate::tensor::Tensor;
use arrays::format::Arrays;

/// All formats. To add one, add its file, a `mod` line and a line here.
pub static FORMATS: &[&dyn Format] = &[
    &tfrecord::TfRecord::Example,
    &tfrecord::TfRecord::SequenceExample,
    &array_record::ArrayRecord,
    &megatron::Megatron,
    &tfds::Tfds,
    &parquet::Parquet,
    &arrow::Arrow::File,
    &arrow::Arrow::Stream,
    &scipy::Scipy,
    &Arrays(npz::Npz),
    &Arrays(npy::Npy),
    &Arrays(safetensors::Safetensors),
    &webdataset::WebDataset,
    &jsonl::Json::Lines,
    &jsonl::Json::Values,
    &csv::Csv::Comma,
    &csv::Csv::Tab,
    &libsvm::Libsvm,
    &matrix_market::MatrixMarket,
    &text::Text,
    &none::Nothing,
];

/// Finds a format by name.
pub fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|f| f.name() == name).copied()
}

/// The single array of a file, with all its axes, as a constant: one row that is the same for all records.
///
/// # Errors
/// The file is not npy, npz or safetensors, cannot be read, or holds several arrays.
pub fn constant(path: &str) -> Result<(Type, Tensor)> {
    let input = Input::regular(std::path::Path::new(path))?;
    match FORMATS.iter().find(|f| f.sniff(input.head())).and_then(|f| f.constant(&input)) {
        Some(constant) => constant.map_err(|e| e.in_input(path)),
        None => {
            let error = Error::usage("not an array file: expected an npy, an npz of one array, or a safetensors file of one tensor");
            Err(error.in_input(path).help("to write one: numpy.save(\"x.npy\", array)"))
        }
    }
}
