//! WebDataset: a tar archive in which members with the same name up to the first dot form a record.
//! Source: `webdataset/tariterators.py` (`base_plus_ext`, `group_by_keys`) and `webdataset/autodecode.py`.
//!
//! ```text
//! images/0001.jpg  images/0001.json  images/0001.cls      one record: __key__ = "images/0001", jpg, json, cls
//! ```
//!
//! Each extension is a field: `json`, `cls` and similar ones are JSON values, `txt` is text, and all others are bytes.
//! Names are never used as paths for writing.
//!
//! `archive` iterates over members, `names` derives keys and fields from their names, `cut` groups them into records,
//! `observe` and `decode` process their contents, and `write` creates archives.

mod archive;
mod cut;
mod decode;
mod names;
mod observe;
mod write;

use self::cut::Cutter;
use self::decode::Decoder;
use self::names::Kinds;
use crate::chunk::Decoded;
use crate::error::Result;
use crate::formats::cut::{Cut, first_bytes};
use crate::formats::format::{Format, Inference, Observed, Reader, Request, Task, Tasks, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `webdataset`.
pub struct WebDataset;

impl Format for WebDataset {
    fn name(&self) -> &'static str {
        "webdataset"
    }

    fn summary(&self) -> &'static str {
        "tar archive: members with the same stem form a record, with a field for each extension"
    }

    fn options(&self) -> &'static [&'static str] {
        &["--raw-members", "--omit-null"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tar"]
    }

    fn sniff(&self, head: &[u8]) -> bool {
        archive::is_header(head)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(MemberReader { input })))
    }

    fn has_offsets(&self) -> bool {
        true
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(write::writer(schema, options))
    }
}

struct MemberReader {
    input: Arc<Input>,
}

impl Reader for MemberReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let kinds = Kinds::of_declared(&request.declared, request.options.raw_members);
        let cutter = Cutter::open(&self.input, kinds.clone(), request, true)?;
        let blocks = first_bytes(cutter.pieces(), request.sample_bytes, |block| block.nbytes);
        let (request, input) = (Arc::new(request.clone()), self.input.name().clone());
        Ok(Inference::Scan(Box::new(blocks.map(move |block| {
            let (block, input, kinds, request) = (block?, input.clone(), kinds.clone(), request.clone());
            let task: Task<Box<dyn Observed>> = Box::new(move || Ok(Box::new(observe::observe(&block, &input, kinds, &request)?)));
            Ok(task)
        }))))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let kinds = Kinds::of_schema(schema, &request.wanted, request.options.raw_members);
        let cutter = Cutter::open(&self.input, kinds.clone(), request, false)?;
        let decoder = Arc::new(Decoder::new(self.input.name().clone(), kinds, schema, request));
        Ok(Box::new(cutter.pieces().map(move |block| {
            let (block, decoder) = (block?, decoder.clone());
            let task: Task<Decoded> = Box::new(move || decoder.decode(&block));
            Ok(task)
        })))
    }
}
