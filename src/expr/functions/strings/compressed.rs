//! Decompression of byte strings.
//!
//! Semantics: `tf.io.decode_compressed`.

use super::shared::{each, text};
use crate::error::Error;
use crate::expr::call::{Call, Function};
use crate::expr::error::ExprResult;
use crate::expr::operand::{Operand, OperandKind};
use crate::schema::DType;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::io::Read;

pub static FUNCTIONS: &[Function] = &[function!(
    ["io.decode_compressed", "decode_compressed"],
    "bytes|x, compression_type=\"\"",
    "Decompress bytes compressed with \"GZIP\" or \"ZLIB\"; \"\" leaves them unchanged.",
    [("strings.length(io.decode_compressed(io.decode_base64(\"eNpLAgAAYwBj\"), compression_type=\"ZLIB\"))", "1")],
    decode_compressed
)];

/// Maximum number of decompressed bytes per value.
const MOST: u64 = 1 << 28;

fn decode_compressed(call: &mut Call) -> ExprResult<OperandKind> {
    let x = text(call, 0)?;
    let kind = call.string(1)?.unwrap_or_default();
    if !["", "GZIP", "ZLIB"].contains(&kind.as_str()) {
        let span = call.given(1).map_or(call.span.clone(), |item: &Operand| item.span.clone());
        return Err(crate::expr::error::ExprError::at(span, format!("the compression must be \"GZIP\", \"ZLIB\" or \"\", not {kind:?}")));
    }
    each(call, x, DType::Bytes, move |bytes, out| {
        let before = out.len() as u64;
        let read = match kind.as_str() {
            "GZIP" => MultiGzDecoder::new(bytes).take(MOST + 1).read_to_end(out),
            "ZLIB" => ZlibDecoder::new(bytes).take(MOST + 1).read_to_end(out),
            _ => bytes.take(MOST + 1).read_to_end(out),
        };
        read.map_err(|e| Error::data(format!("the bytes are not {kind}: {e}")))?;
        if out.len() as u64 - before > MOST {
            return Err(Error::data(format!("the decompressed data exceeds {MOST} bytes")));
        }
        Ok(())
    })
}
