//! safetensors: tensors of PyTorch, JAX and others after a single header. Source: [`header`].
//!
//! Tensors are ordered by the width of their numbers, widest first, so that all are aligned. The schema is kept in
//! `__metadata__`, so that output reads back unchanged; other metadata is that of the schema. bfloat16 is read as float32,
//! with a notice.

mod header;

use crate::error::{Error, Result};
use crate::formats::arrays::container::Container;
use crate::formats::arrays::contents::{Contents, Location, StoredArray};
use crate::formats::arrays::embedded::EmbeddedSchema;
use crate::formats::arrays::finished::Finished;
use crate::formats::arrays::spool::Spool;
use crate::formats::arrays::stored::StoredSchema;
use crate::formats::columnar::source::Source;
use crate::io::Input;
use crate::printable::shell_word;
use crate::schema::arrays::Contents as ValueKind;
use header::Entry;
use std::io::Write;

/// `safetensors`.
#[derive(Clone, Copy)]
pub struct Safetensors;

/// The key of the schema in `__metadata__`.
const KEY: &str = "tatter";

impl Container for Safetensors {
    const NAME: &'static str = "safetensors";
    const SUMMARY: &'static str = "PyTorch, JAX and other tensors, all records stacked";
    const CHECKSUMS: bool = false;
    const SCHEMA_KEY: Option<&'static str> = Some(KEY);

    fn sniff(head: &[u8]) -> bool {
        // The length of the header, and either its first key or its end.
        let Some((length, text)) = head.split_first_chunk::<8>() else { return false };
        let opens = |text: &[u8]| text.first() == Some(&b'{') && matches!(text[1..].trim_ascii_start().first(), None | Some(b'"' | b'}'));
        (2..=header::MAX_NBYTES).contains(&u64::from_le_bytes(*length)) && opens(text)
    }

    fn open(input: &Input) -> Result<Contents> {
        let source = Source::new(input.file()?).map_err(|e| Error::io(input.name(), "cannot read", &e))?;
        let read = |start, length| source.bytes(start, length).map_err(|e| Error::io(input.name(), "cannot read", &e));
        let too_short = || source.too_short("a safetensors file");
        let first = if source.nbytes() < 8 { Err(too_short()) } else { read(0, 8) }?;
        let length = header::length(first.try_into().map_err(|_| too_short())?, source.nbytes())?;
        let start = 8 + length;
        let text = read(8, usize::try_from(length).map_err(|_| too_short())?)?;
        let header::Header { entries, unusable, metadata } = header::parse(&text, source.nbytes() - start)?;
        let embedded = metadata.iter().find(|(key, _)| key == KEY).and_then(|(_, text)| EmbeddedSchema::parse(text));
        let arrays = entries.into_iter().map(|entry| StoredArray {
            name: entry.name,
            element: entry.element,
            shape: entry.shape,
            fortran: false,
            location: Location::At { start: start + entry.start },
            nbytes: entry.end - entry.start,
            dense_shape: Vec::new(),
            part: None,
        });
        // Another tool's metadata may have the same key.
        let metadata = metadata.into_iter().filter(|(key, _)| embedded.is_none() || key != KEY).collect();
        Ok(Contents { arrays: arrays.collect(), unusable, embedded, metadata, ..Contents::default() })
    }

    fn check(&self, layout: &StoredSchema) -> Result<()> {
        if let Some(leaf) = layout.leaves.iter().find(|leaf| leaf.stored.contents == ValueKind::Times) {
            let error = Error::usage(format!("safetensors has no {}", leaf.dtype)).in_field(&leaf.path);
            return Err(error.help(format!("store the integers: cast {}", shell_word(&format!("{}=int64", leaf.path)))));
        }
        match layout.arrays.iter().zip(&layout.leaves).find(|(spec, _)| spec.name == header::METADATA) {
            Some((_, leaf)) => {
                let error = Error::usage("safetensors reserves this name").in_field(&leaf.path);
                Err(error.help(format!("choose another name for the field: rename {}=metadata", header::METADATA)))
            }
            None => Ok(()),
        }
    }

    fn write(&self, arrays: &[Finished], embedded: &EmbeddedSchema, spool: &mut Spool, out: &mut dyn Write) -> Result<()> {
        let mut order: Vec<usize> = (0..arrays.len()).collect();
        order.sort_by_key(|number| std::cmp::Reverse(arrays[*number].element.nbytes()));
        let mut at = 0;
        let entries: Vec<Entry> = order
            .iter()
            .map(|number| {
                let array = &arrays[*number];
                let start = at;
                at += array.nbytes;
                Entry { name: array.name.clone(), element: array.element.clone(), shape: array.shape.clone(), start, end: at }
            })
            .collect();
        let kept =
            embedded.schema.facts.metadata.iter().filter(|(key, _)| *key != KEY).map(|(key, text)| (key.to_string(), text.to_string()));
        let metadata: Vec<(String, String)> = kept.chain([(KEY.to_owned(), embedded.text())]).collect();
        out.write_all(&header::bytes(&entries, &metadata)?).map_err(Error::output)?;
        order.iter().try_for_each(|number| spool.copy(*number, out))
    }
}
