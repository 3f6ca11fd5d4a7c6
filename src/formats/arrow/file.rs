//! Reads files: first the dictionaries, then the record batches, each from its block.

use super::batches;
use super::known::{Dictionaries, Known, unexpected};
use super::message::{self, MAGIC, MAGIC_NBYTES, Memory, lifted};
use crate::chunk::Decoded;
use crate::error::{Error, Result};
use crate::formats::columnar::contain::contain;
use crate::formats::columnar::source::Source;
use crate::formats::format::{Inference, Numbered, Reader, Request, Tasks};
use crate::io::Input;
use crate::schema::Schema;
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Block, root_as_footer};
use std::collections::HashSet;
use std::sync::Arc;

/// The most bytes between the last block of a file and its footer: the end marker, and padding.
const END_NBYTES: u64 = 8 + 64;

/// Reads a file: first the dictionaries, then its record batches, each from its block.
pub struct FileReader {
    input: Arc<Input>,
    memory: Memory,
    opened: Option<Arc<Footer>>,
}

struct Footer {
    known: Known,
    source: Source,
    dictionaries: Arc<Dictionaries>,
    blocks: Vec<Block>,
    /// The keys of the footer's own metadata, which is not part of the schema.
    keys: Vec<String>,
}

impl FileReader {
    pub fn new(input: Arc<Input>, memory: Memory) -> FileReader {
        FileReader { input, memory, opened: None }
    }

    fn opened(&mut self) -> Result<Arc<Footer>> {
        if let Some(opened) = &self.opened {
            return Ok(opened.clone());
        }
        let name = self.input.name().clone();
        let source = self.input.file().and_then(|file| Source::new(file).map_err(|e| Error::io(&name, "cannot read", &e)))?;
        let read = || Footer::read(name.clone(), source, self.memory);
        let footer = contain("the Arrow footer", read).map_err(|e| e.in_input(name.clone()))?;
        Ok(self.opened.insert(Arc::new(footer)).clone())
    }
}

impl Footer {
    fn read(name: Arc<str>, source: Source, memory: Memory) -> Result<Footer> {
        let cut = || Error::data("the file has no Arrow footer at its end: it is truncated, or still being written");
        let tail_at = source.nbytes().checked_sub(10).filter(|at| *at >= MAGIC_NBYTES).ok_or_else(cut)?;
        let tail = source.bytes(tail_at, 10).map_err(|e| lifted(&e))?;
        if !tail.ends_with(MAGIC) {
            return Err(cut());
        }
        let tail = <[u8; 10]>::try_from(tail).map_err(|_| cut())?;
        let length = read_footer_length(tail).map_err(unexpected)?;
        let start = tail_at
            .checked_sub(length as u64)
            .ok_or_else(|| Error::data(format!("the footer claims {length} bytes, but the Arrow file has only {}", source.nbytes())))?;
        let bytes = source.bytes(start, length).map_err(|e| lifted(&e))?;
        let footer = root_as_footer(&bytes).map_err(|e| message::invalid("the Arrow footer", &e))?;
        let schema = footer.schema().ok_or_else(|| Error::data("the Arrow footer has no schema"))?;
        let blocks: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
        let listed = footer.dictionaries().iter().flatten().map(|block| message::at(&source, block)).collect::<Result<Vec<_>>>()?;
        let mut complete = HashSet::new();
        for dictionary in &listed {
            complete.extend(message::complete_dictionary(&dictionary.message()?));
        }
        check_blocks(&source, footer.dictionaries().iter().flatten().chain(&blocks).copied(), &complete, start)?;
        let (mut known, mut dictionaries) = (Known::new(name, schema)?, Dictionaries::default());
        for dictionary in &listed {
            dictionaries.decode(dictionary, &known.schema, memory)?;
        }
        known.learn(&dictionaries.by_id);
        let keys = footer.custom_metadata().iter().flatten().filter_map(|pair| pair.key()).map(str::to_owned).collect();
        Ok(Footer { known, source, blocks, dictionaries: Arc::new(dictionaries), keys })
    }
}

/// Checks that the blocks of the footer do not overlap, and that there is no message between or after them: records
/// would be repeated or lost. A dictionary that is replaced by another one with the same id need not be listed;
/// `dictionaries` are the ids of those that are.
fn check_blocks(source: &Source, blocks: impl Iterator<Item = Block>, dictionaries: &HashSet<i64>, footer: u64) -> Result<()> {
    let end = |b: &Block| b.offset().saturating_add(b.metaDataLength().into()).saturating_add(b.bodyLength());
    let mut places: Vec<(u64, u64)> = blocks
        .map(|block| (u64::try_from(block.offset()).unwrap_or(0), u64::try_from(end(&block)).unwrap_or(0)))
        .filter(|(start, end)| start < end)
        .collect();
    places.sort_unstable();
    // The schema comes first; it was read from the footer.
    let schema = message::end(source, MAGIC_NBYTES)?.filter(|end| places.first().is_none_or(|(start, _)| end <= start));
    let mut at = schema.or(places.first().map(|(start, _)| *start)).unwrap_or(footer);
    for (start, end) in places.into_iter().chain([(footer, footer)]) {
        if start < at {
            return Err(Error::data(format!("the Arrow footer is damaged: a block starts at byte {start}, inside the one before")));
        }
        while let Some(end) = message::end_of_dictionary(source, at, dictionaries)?.filter(|end| *end <= start) {
            at = end;
        }
        if start - at >= 8 && message::end(source, at)?.is_some() {
            return Err(Error::data(format!("the Arrow footer is damaged: it does not list the message at byte {at}")));
        }
        if start == footer && start - at > END_NBYTES {
            return Err(Error::data(format!("the Arrow footer does not list the {} bytes before it", start - at))
                .help("if several files were concatenated: pass them as several inputs instead"));
        }
        at = end;
    }
    Ok(())
}

impl Reader for FileReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let footer = self.opened()?;
        if !footer.keys.is_empty() {
            let text = format!("the metadata of the footer is not kept: {}", footer.keys.join(", "));
            request.options.notices.add_about(&footer.known.name, text, request.options.strict)?;
        }
        footer.known.inference(request)
    }

    fn numbered(&mut self, _: &Request) -> Result<Option<Numbered>> {
        if !self.input.is_regular() {
            return Ok(None);
        }
        let footer = self.opened()?;
        let name = &footer.known.name;
        let nrows = |block| message::at(&footer.source, block)?.nrows(footer.known.fields.len());
        let rows: Vec<u64> = footer.blocks.iter().map(nrows).collect::<Result<_>>().map_err(|e| e.in_input(name.clone()))?;
        let nrecords = rows.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let nread = nrecords.div_ceil((rows.len() as u64).max(1)).max(1);
        Ok(Some(Numbered { nrecords, nread, nbytes: footer.source.nbytes(), by: format!("the footer of {name}").into() }))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let footer = self.opened()?;
        let (known, dictionaries, mut next) = (footer.known.clone(), footer.dictionaries.clone(), 0);
        let messages = std::iter::from_fn(move || {
            let block = footer.blocks.get(next)?;
            next += 1;
            // Another kind of message would be a batch that is lost.
            Some(message::at(&footer.source, block).and_then(|framed| framed.nrows(footer.known.fields.len()).map(|_| framed)))
        });
        batches::tasks(&known, Box::new(messages), dictionaries, schema, request)
    }
}
