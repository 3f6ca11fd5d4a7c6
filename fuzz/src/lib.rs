//! The fuzz targets and shared code, which reads bytes in a format as the program reads a file. `tests/it/fuzz.rs` runs
//! each target over its seeds.

pub mod array_record;
pub mod arrays;
pub mod chain;
pub mod columnar;
pub mod command;
pub mod compare;
pub mod csv;
pub mod declared;
pub mod expression;
pub mod files;
pub mod json;
pub mod matrices;
pub mod megatron;
pub mod schema;
pub mod structure;
pub mod text;
pub mod tfds;
pub mod tfrecord;
pub mod webdataset;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tatter::chunk::Chunk;
use tatter::cli;
use tatter::error::Result;
use tatter::formats::{self, Format, Inference, Request};
use tatter::io::Input;
use tatter::options::{OnError, Options};
use tatter::schema::Schema;
use tatter::verbs::Verdict;

/// The targets, by name.
pub const TARGETS: [(&str, fn(&[u8])); 18] = [
    ("array_record", array_record::run),
    ("arrays", arrays::run),
    ("chain", chain::run),
    ("columnar", columnar::run),
    ("command", command::run),
    ("compare", compare::run),
    ("csv", csv::run),
    ("declared", declared::run),
    ("expression", expression::run),
    ("files", files::run),
    ("json", json::run),
    ("matrices", matrices::run),
    ("megatron", megatron::run),
    ("schema", schema::run),
    ("text", text::run),
    ("tfds", tfds::run),
    ("tfrecord", tfrecord::run),
    ("webdataset", webdataset::run),
];

/// The formats that read bytes.
pub const FORMATS: [&str; 16] = [
    "jsonl",
    "json",
    "tfrecord",
    "sequence-example",
    "parquet",
    "arrow",
    "arrow-file",
    "npz",
    "safetensors",
    "csv",
    "tsv",
    "libsvm",
    "matrix-market",
    "scipy",
    "webdataset",
    "array-record",
];

/// A request for everything; invalid records either fail the run or are skipped.
pub fn request(skip: bool, mixed: bool) -> Request {
    let options =
        Options { on_error: if skip { OnError::Skip } else { OnError::Fail }, mixed, max_record_bytes: 1 << 20, ..Options::default() };
    Request::everything(Arc::default(), Arc::new(options))
}

pub fn format(name: &str) -> &'static dyn Format {
    formats::find(name).expect("a format")
}

/// The schema declared by the input or inferred from all of it.
pub fn infer(name: &str, bytes: &[u8], request: &Request) -> Result<Arc<Schema>> {
    let input = Arc::new(Input::memory("fuzz", bytes));
    let mut reader = format(name).reader(input, &request.options).expect("a reader")?;
    let tasks = match reader.infer(request)? {
        Inference::Known(schema) => return Ok(Arc::new(schema)),
        Inference::Scan(tasks) => tasks,
    };
    let mut all: Option<Box<dyn formats::Observed>> = None;
    for task in tasks {
        let seen = task?()?;
        match &mut all {
            Some(all) => all.merge(seen),
            None => all = Some(seen),
        }
    }
    all.map_or_else(|| Ok(Arc::default()), |all| all.schema(request).map(Arc::new))
}

/// The chunks of the input, with that schema.
pub fn read(name: &str, bytes: &[u8], schema: &Arc<Schema>, request: &Request) -> Result<Vec<Chunk>> {
    let input = Arc::new(Input::memory("fuzz", bytes));
    let mut reader = format(name).reader(input, &request.options).expect("a reader")?;
    let mut chunks = Vec::new();
    for task in reader.read(schema, request)? {
        let decoded = task?()?;
        decoded.chunk.check(&schema.plain()).expect("a chunk of its schema");
        chunks.push(decoded.chunk);
    }
    Ok(chunks)
}

/// Reads the input and writes the records as JSON Lines.
pub fn print(name: &str, bytes: &[u8]) {
    print_as(name, bytes, &request(false, false));
}

/// Like [`print`], with a given request.
pub fn print_as(name: &str, bytes: &[u8], request: &Request) {
    let Ok(schema) = infer(name, bytes, request) else { return };
    let Ok(chunks) = read(name, bytes, &schema, request) else { return };
    let Some(Ok(writer)) = format("jsonl").writer(&schema, &request.options) else { return };
    for chunk in chunks {
        let _ = writer.encoder().encode(chunk);
    }
}

/// An empty folder for the files of this process.
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tatter-fuzz-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Parses and runs a command line in this process, with an output that is dropped. None if it fails, which is no bug.
pub fn command(words: impl IntoIterator<Item = OsString>) -> Option<Verdict> {
    let result = match cli::parse(words) {
        Ok(cli::Request::Chain(chain)) => tatter::run::run(*chain),
        Ok(cli::Request::Standalone(run)) => run(&mut std::io::sink()),
        Ok(_) => return None,
        Err(error) => Err(error),
    };
    result.map_err(|error| assert_ne!(error.exit_code(), 70, "{error}")).ok()
}

/// Like [`print`], for a directory with these files.
pub fn print_directory(name: &str, files: &[(&str, &[u8])]) {
    let folder = std::env::temp_dir().join(format!("tatter-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (file, bytes) in files {
        std::fs::write(folder.join(file), bytes).expect("a file");
    }
    let request = request(false, false);
    let open = || format(name).reader(Arc::new(Input::dataset(folder.clone(), &request.options)), &request.options).expect("a reader");
    let Ok(Ok(Inference::Known(schema))) = open().map(|mut reader| reader.infer(&request)) else { return };
    let schema = Arc::new(schema);
    let Ok(Ok(tasks)) = open().map(|mut reader| reader.read(&schema, &request)) else { return };
    for task in tasks {
        let Ok(decoded) = task.and_then(|task| task()) else { return };
        decoded.chunk.check(&schema.plain()).expect("a chunk of its schema");
    }
}

/// Like [`print`], for a file with companion files, for formats that read several.
pub fn print_file(name: &str, file: &str, bytes: &[u8], others: &[(&str, &[u8])]) {
    let folder = std::env::temp_dir().join(format!("tatter-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (other, bytes) in others {
        std::fs::write(folder.join(other), bytes).expect("a file");
    }
    std::fs::write(folder.join(file), bytes).expect("a file");
    let request = request(false, false);
    let open = || {
        let input = Arc::new(Input::regular(&folder.join(file)).expect("a file"));
        format(name).reader(input, &request.options).expect("a reader").expect("a reader")
    };
    let Ok(Inference::Known(schema)) = open().infer(&request) else { return };
    let schema = Arc::new(schema);
    let Ok(tasks) = open().read(&schema, &request) else { return };
    let Some(Ok(writer)) = format("jsonl").writer(&schema, &request.options) else { return };
    for task in tasks {
        let Ok(decoded) = task.and_then(|task| task()) else { return };
        decoded.chunk.check(&schema.plain()).expect("a chunk of its schema");
        let _ = writer.encoder().encode(decoded.chunk);
    }
}
