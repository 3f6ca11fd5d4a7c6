//! Any bytes as JSON lines and as JSON values: read, inferred, written and read again. What is written reads
//! back as itself under the schema found.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use tatter::demand::Wanted;
use tatter::error::Result;
use tatter::formats::{self, Inference, Request};
use tatter::io::Input;
use tatter::options::Options;
use tatter::schema::Schema;

fn request(skip: bool) -> Request {
    let on_error = if skip { "skip" } else { "fail" };
    let mixed = (!skip).then(|| "json".to_owned());
    let options = Options { on_error: on_error.into(), mixed, max_record_bytes: 1 << 20, ..Options::default() };
    Request { wanted: Wanted::All, records: None, sample_bytes: None, declared: Arc::default(), options: Arc::new(options) }
}

fn infer(format: &str, bytes: &[u8], request: &Request) -> Result<Arc<Schema>> {
    let input = Arc::new(Input::memory("fuzz", bytes));
    let mut reader = formats::find(format).and_then(|f| f.reader(input, &request.options)).expect("a reader")?;
    let Inference::Scan(tasks) = reader.infer(request)? else { return Ok(Arc::default()) };
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

fn rewrite(format: &str, bytes: &[u8], schema: &Arc<Schema>, request: &Request) -> Result<Vec<u8>> {
    let input = Arc::new(Input::memory("fuzz", bytes));
    let jsonl = formats::find("jsonl").expect("a format");
    let encoder = jsonl.writer(schema, &request.options).expect("a writer")?.encoder();
    let mut reader = formats::find(format).and_then(|f| f.reader(input, &request.options)).expect("a reader")?;
    let mut out = Vec::new();
    for task in reader.read(schema, request)? {
        let decoded = task?()?;
        decoded.chunk.check(&schema.plain()).expect("a chunk of its schema");
        let text = encoder.encode(decoded.chunk)?;
        out.extend_from_slice(text.downcast_ref::<Vec<u8>>().expect("text"));
    }
    Ok(out)
}

fuzz_target!(|bytes: &[u8]| {
    for format in ["jsonl", "json"] {
        for skip in [false, true] {
            let request = request(skip);
            let Ok(schema) = infer(format, bytes, &request) else { continue };
            let Ok(written) = rewrite(format, bytes, &schema, &request) else { continue };
            let again = rewrite("jsonl", &written, &schema, &request).expect("what was written reads back");
            assert_eq!(written, again);
        }
    }
});
