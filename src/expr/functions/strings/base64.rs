//! Web-safe base64 encoding and decoding.
//!
//! Semantics: `tf.io.encode_base64`, `tf.io.decode_base64`.

use super::shared::{each, text};
use crate::error::Error;
use crate::expr::call::Function;
use crate::schema::DType;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE as PADDED, URL_SAFE_NO_PAD};

/// Bits after the last byte are ignored.
const fn lenient(padding: DecodePaddingMode) -> GeneralPurpose {
    GeneralPurpose::new(&URL_SAFE, GeneralPurposeConfig::new().with_decode_padding_mode(padding).with_decode_allow_trailing_bits(true))
}

const WITH_PADDING: GeneralPurpose = lenient(DecodePaddingMode::RequireCanonical);
const WITHOUT_PADDING: GeneralPurpose = lenient(DecodePaddingMode::RequireNone);

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["io.encode_base64", "encode_base64"],
        "input|x, pad=False",
        "Encode bytes as web-safe base64, with - and _.",
        [("io.encode_base64([\"hello\", \"a?>~\"])", "[\"aGVsbG8\", \"YT8-fg\"]")],
        |c| {
            let x = text(c, 0)?;
            let pad = c.flag(1, false)?;
            each(c, x, DType::String, move |bytes, out| {
                let encoded = if pad { PADDED.encode(bytes) } else { URL_SAFE_NO_PAD.encode(bytes) };
                out.extend_from_slice(encoded.as_bytes());
                Ok(())
            })
        }
    ),
    function!(
        ["io.decode_base64", "decode_base64"],
        "input|x",
        "Decode web-safe base64, with - and _. Padding must be complete or absent.",
        [("cast(io.decode_base64(\"aGVsbG8\"), string)", "\"hello\"")],
        |c| {
            let x = text(c, 0)?;
            each(c, x, DType::Bytes, |text, out| {
                let engine = if text.ends_with(b"=") { WITH_PADDING } else { WITHOUT_PADDING };
                engine.decode_vec(text, out).map_err(|e| {
                    Error::data(format!("{:?} is not valid base64: {e}", String::from_utf8_lossy(&text[..text.len().min(40)])))
                        .help("the alphabet is A-Z a-z 0-9 - _")
                })
            })
        }
    ),
];
