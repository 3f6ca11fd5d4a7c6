//! The JSON reader and writer by themselves, on one thread: MB of text a second for inference, decoding and
//! encoding. `cargo bench --bench json -- FILE...`; without FILEs what `jobs` has left in `target/bench-data`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark may stop at the first surprise")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tatter::chunk::{Chunk, Decoded};
use tatter::formats::{self, Format, Inference, Observed, Reader, Request, Task};
use tatter::io::Input;
use tatter::options::Options;
use tatter::schema::Schema;

const RUNS: usize = 5;

fn main() {
    let mut files: Vec<PathBuf> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).map(PathBuf::from).collect();
    if files.is_empty() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-data");
        let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
        files = entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "jsonl")).collect();
        files.sort();
    }
    println!("{:30} {:>6} {:>10} {:>10} {:>10}", "file", "MB", "infer", "decode", "encode");
    for file in files {
        let bytes: Arc<[u8]> = std::fs::read(&file).unwrap().into();
        let megabytes = bytes.len() as f64 / 1e6;
        let (mut infer_best, mut decode_best, mut encode_best) = (0f64, 0f64, 0f64);
        for _ in 0..RUNS {
            let (schema, seconds) = timed(|| infer(&bytes));
            infer_best = infer_best.max(megabytes / seconds);
            let (chunks, seconds) = timed(|| decode(&bytes, &schema));
            decode_best = decode_best.max(megabytes / seconds);
            let (_, seconds) = timed(|| encode(chunks, &schema));
            encode_best = encode_best.max(megabytes / seconds);
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        println!("{name:30} {megabytes:6.0} {infer_best:10.0} {decode_best:10.0} {encode_best:10.0}");
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

fn jsonl() -> &'static dyn Format {
    formats::find("jsonl").unwrap()
}

fn request() -> Request {
    let options = Options { max_record_bytes: 1 << 28, ..Options::default() };
    Request::everything(Arc::default(), Arc::new(options))
}

fn reader(bytes: &Arc<[u8]>) -> Box<dyn Reader> {
    jsonl().reader(Arc::new(Input::memory("bench", bytes.clone())), &request().options).unwrap().unwrap()
}

fn infer(bytes: &Arc<[u8]>) -> Arc<Schema> {
    let Inference::Scan(tasks) = reader(bytes).infer(&request()).unwrap() else { return Arc::default() };
    let seen = tasks.map(|task: Result<Task<Box<dyn Observed>>, _>| task.unwrap()().unwrap());
    let all = seen.reduce(|mut all, more| {
        all.merge(more);
        all
    });
    Arc::new(all.unwrap().schema(&request()).unwrap())
}

fn decode(bytes: &Arc<[u8]>, schema: &Arc<Schema>) -> Vec<Chunk> {
    let tasks = reader(bytes).read(schema, &request()).unwrap();
    tasks.map(|task| task.unwrap()().map(|decoded: Decoded| decoded.chunk).unwrap()).collect()
}

fn encode(chunks: Vec<Chunk>, schema: &Arc<Schema>) {
    let encoder = jsonl().writer(schema, &request().options).unwrap().unwrap().encoder();
    for chunk in chunks {
        std::hint::black_box(encoder.encode(chunk).unwrap());
    }
}
