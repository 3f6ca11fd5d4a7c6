//! Arbitrary bytes as JSON Lines and as JSON values: read, inferred, written and read again. Output must read back
//! unchanged under the inferred schema.

use super::{format, infer, read, request};
use std::sync::Arc;
use tatter::error::Result;
use tatter::formats::Request;
use tatter::io::buffers::Buffer;
use tatter::schema::Schema;

fn rewrite(name: &str, bytes: &[u8], schema: &Arc<Schema>, request: &Request) -> Result<Vec<u8>> {
    let encoder = format("jsonl").writer(schema, &request.options).expect("a writer")?.encoder();
    let mut out = Vec::new();
    for chunk in read(name, bytes, schema, request)? {
        let text = encoder.encode(chunk)?;
        out.extend_from_slice(text.downcast_ref::<Buffer>().expect("text"));
    }
    Ok(out)
}

pub fn run(bytes: &[u8]) {
    for format in ["jsonl", "json"] {
        for skip in [false, true] {
            let request = request(skip, !skip);
            let Ok(schema) = infer(format, bytes, &request) else { continue };
            let Ok(written) = rewrite(format, bytes, &schema, &request) else { continue };
            let again = rewrite("jsonl", &written, &schema, &request).expect("what was written reads back");
            assert_eq!(written, again);
        }
    }
}
