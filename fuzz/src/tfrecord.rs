//! Arbitrary bytes as a TFRecord file: framing, damage and recovery. Also the same bytes as the payload of a record in
//! a valid frame: tf.Example and tf.SequenceExample. Records read are written and must read back unchanged.

use super::{format, infer, read, request};
use tatter::io::masked_crc32c;

fn frame(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    [&length[..], &masked_crc32c(&length).to_le_bytes(), payload, &masked_crc32c(payload).to_le_bytes()].concat()
}

pub fn run(bytes: &[u8]) {
    for name in ["tfrecord", "sequence-example"] {
        for request in [request(false, false), request(true, false)] {
            for bytes in [bytes.to_vec(), frame(bytes), [frame(b""), bytes.to_vec(), frame(b"")].concat()] {
                let Ok(schema) = infer(name, &bytes, &request) else { continue };
                let Ok(chunks) = read(name, &bytes, &schema, &request) else { continue };
                let Some(Ok(writer)) = format(name).writer(&schema, &request.options) else { continue };
                for chunk in chunks {
                    let _ = writer.encoder().encode(chunk);
                }
            }
        }
    }
}
