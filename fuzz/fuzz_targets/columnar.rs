//! Any bytes as an Arrow stream, an Arrow file and a Parquet file: the door through which columns come in. What
//! is let in prints as JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter_fuzz::{format, infer, read, request};

fuzz_target!(|bytes: &[u8]| {
    let request = request(false, false);
    for name in ["arrow", "arrow-file", "parquet"] {
        let Ok(schema) = infer(name, bytes, &request) else { continue };
        let Ok(chunks) = read(name, bytes, &schema, &request) else { continue };
        let Some(Ok(writer)) = format("jsonl").writer(&schema, &request.options) else { continue };
        for chunk in chunks {
            let _ = writer.encoder().encode(chunk);
        }
    }
});
