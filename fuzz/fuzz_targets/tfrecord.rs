//! Any bytes as a TFRecord file: framing, damage and what follows it. And the same bytes as the payload of
//! a record in a sound frame: tf.Example and tf.SequenceExample. What is read is written, and reads as itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use tatter::chunk::Chunk;
use tatter::demand::Wanted;
use tatter::error::Result;
use tatter::formats::{self, Inference, Request};
use tatter::io::{Input, masked_crc32c};
use tatter::options::Options;
use tatter::schema::Schema;

fn request(skip: bool) -> Request {
    let on_error = if skip { "skip" } else { "fail" };
    let options = Options { on_error: on_error.into(), max_record_bytes: 1 << 20, ..Options::default() };
    Request { wanted: Wanted::All, records: None, sample_bytes: None, declared: Arc::default(), options: Arc::new(options) }
}

fn read(format: &str, bytes: &[u8], request: &Request) -> Result<(Arc<Schema>, Vec<Chunk>)> {
    let input = Arc::new(Input::memory("fuzz", bytes));
    let mut reader = formats::find(format).and_then(|f| f.reader(input, &request.options)).expect("a reader")?;
    let schema = match reader.infer(request)? {
        Inference::Known(schema) => schema,
        Inference::Scan(tasks) => {
            let mut all: Option<Box<dyn formats::Observed>> = None;
            for task in tasks {
                let seen = task?()?;
                match &mut all {
                    Some(all) => all.merge(seen),
                    None => all = Some(seen),
                }
            }
            all.map_or_else(|| Ok(Schema::default()), |all| all.schema(request))?
        }
    };
    let schema = Arc::new(schema);
    let mut chunks = Vec::new();
    for task in reader.read(&schema, request)? {
        let decoded = task?()?;
        decoded.chunk.check(&schema.plain()).expect("a chunk of its schema");
        chunks.push(decoded.chunk);
    }
    Ok((schema, chunks))
}

fn frame(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    [&length[..], &masked_crc32c(&length).to_le_bytes(), payload, &masked_crc32c(payload).to_le_bytes()].concat()
}

fuzz_target!(|bytes: &[u8]| {
    for format in ["tfrecord", "sequence-example"] {
        for skip in [false, true] {
            for bytes in [bytes.to_vec(), frame(bytes), [frame(b""), bytes.to_vec(), frame(b"")].concat()] {
                let Ok((schema, chunks)) = read(format, &bytes, &request(skip)) else { continue };
                let Some(Ok(writer)) = formats::find(format).and_then(|f| f.writer(&schema, &request(skip).options)) else { continue };
                for chunk in chunks {
                    let _ = writer.encoder().encode(chunk);
                }
            }
        }
    }
});
