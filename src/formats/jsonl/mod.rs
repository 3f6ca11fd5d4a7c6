//! JSON: one object per line (`jsonl`), or any JSON values, or one array of them (`json`).
//!
//! ```text
//! reading   sniff                             detects lines or values from the first bytes
//!           lines, stream                     cut the input into blocks of whole records
//!           decode                            decodes a block into columns, or observes it; records: its records
//!           observe                           inference, part by part
//!           clash                             whether values have one type, for `--on-error skip`
//! writing   writer                            lines, or one array
//! ```
//!
//! The text itself is decoded, observed and encoded by [`crate::json`].

mod block;
mod clash;
mod decode;
mod limits;
mod lines;
mod observe;
mod reader;
mod records;
mod sniff;
mod stream;
mod writer;

/// For JSON inside other containers.
pub(super) use self::{
    block::{Block, Framing, Piece},
    decode::{decode, observe},
};

use self::reader::JsonReader;
use self::sniff::{First, first_value, is_value};
use crate::error::Result;
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `jsonl` and `json`.
#[derive(PartialEq, Eq)]
pub enum Json {
    /// A value on each line.
    Lines,
    /// Values separated by whitespace, or one array of them.
    Values,
}

impl Format for Json {
    fn name(&self) -> &'static str {
        match self {
            Json::Lines => "jsonl",
            Json::Values => "json",
        }
    }
    fn summary(&self) -> &'static str {
        match self {
            Json::Lines => "JSON Lines: one object per line",
            Json::Values => "JSON values separated by whitespace, or one array of objects; written as an array",
        }
    }
    fn family(&self) -> &'static str {
        "jsonl"
    }
    fn options(&self) -> &'static [&'static str] {
        &["--omit-null"]
    }
    fn extensions(&self) -> &'static [&'static str] {
        match self {
            Json::Lines => &["jsonl", "ndjson"],
            Json::Values => &["json"],
        }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let own = match self {
            Json::Lines => First::Line,
            Json::Values => First::Values,
        };
        first_value(head) == Some(own)
    }
    fn is_evident(&self, input: &Input) -> bool {
        self.recognises(input) && is_value(input.head())
    }
    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(JsonReader { input, lines: *self == Json::Lines })))
    }
    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(writer::writer(schema, options, *self == Json::Values))
    }
    fn has_offsets(&self) -> bool {
        true
    }
    fn may_be_empty(&self) -> bool {
        true
    }
    fn is_text(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
