//! Inference and decoding of records, independent of their container.

use super::decode::Decoder;
use super::observe::{Observation, Part, Scan, declared_features};
use super::wire::Message;
use super::{mapping, raw};
use crate::chunk::Decoded;
use crate::demand::Wanted;
use crate::error::Result;
use crate::formats::columnar::adapt::{Columns, declared_over};
use crate::formats::first_wins;
use crate::formats::format::{Inference, Observed, Request, Task, Tasks};
use crate::formats::records::block::{Piece, Pieces};
use crate::schema::Schema;
use std::sync::Arc;

/// The schema of records of that message type.
///
/// # Errors
/// The input cannot be read.
pub fn infer(name: &Arc<str>, message: Message, request: &Request, pieces: impl FnOnce() -> Result<Pieces>) -> Result<Inference> {
    if request.options.raw_records {
        return Ok(Inference::Known(declared_over(&request.declared, raw::schema())));
    }
    if let Some(schema) = known_schema(request) {
        return Ok(Inference::Known(schema));
    }
    let leaves_out = request.leaves_out();
    let scan = Arc::new(Scan {
        wanted: request.wanted.clone(),
        declared: declared_features(&request.declared.fields),
        verify: !request.options.no_verify,
        sequences: message == Message::SequenceExample,
        recognised: request.options.from.is_none(),
        leaves_out,
        input: name.clone(),
    });
    let sequences = scan.sequences;
    let declared =
        request.declared_alone(|schema, request| Decoder::new(&Arc::new(schema), &request, name.clone(), sequences).map(Arc::new));
    let observe = move |block: Task<_>| {
        let (scan, declared) = (scan.clone(), declared.clone());
        Box::new(move || {
            let block = block()?;
            let misfits = declared.map(|declared| declared.misfits(&block)).unwrap_or_default();
            let seen = match leaves_out {
                true => first_wins::observe(Part { block, scan, misfits })?,
                false => Observation::in_block(&block, &scan, &misfits),
            };
            Ok(Box::new(seen) as Box<dyn Observed>)
        }) as Task<_>
    };
    Ok(Inference::Scan(Box::new(pieces()?.filter_map(move |piece| match piece {
        Ok(Piece::Block(block)) => Some(Ok(observe(Box::new(move || Ok(block))))),
        Ok(Piece::Packed(block)) => Some(Ok(observe(block))),
        // Reading encounters the damage again and reports it.
        Ok(Piece::Lost(_)) => None,
        Err(error) => Some(Err(error)),
    }))))
}

/// Decodes the records.
///
/// # Errors
/// A type that no feature can hold.
pub fn read(name: &Arc<str>, message: Message, schema: &Arc<Schema>, request: &Request, pieces: Pieces) -> Result<Tasks<Decoded>> {
    let decoder = Arc::new(match request.options.raw_records {
        true => {
            let columns = Columns::plan(&raw::schema().fields, schema, request).map_err(|e| e.in_input(name.clone()))?;
            Decoder::raw(columns, request, name.clone())
        }
        false => Decoder::new(schema, request, name.clone(), message == Message::SequenceExample)?,
    });
    Ok(Box::new(pieces.map(move |piece| {
        let decoder = decoder.clone();
        Ok(match piece? {
            Piece::Block(block) => Box::new(move || decoder.decode(&block)) as Task<Decoded>,
            Piece::Packed(block) => Box::new(move || {
                let mut block = block()?;
                let damage = block.damage.take();
                let mut decoded = decoder.decode(&block)?;
                decoded.faults.extend(damage);
                Ok(decoded)
            }),
            Piece::Lost(fault) => Box::new(move || decoder.lost(fault)),
        })
    })))
}

/// The schema, if it does not require reading records: nothing is required, or everything required is declared.
fn known_schema(request: &Request) -> Option<Schema> {
    let Wanted::Matching(names) = &request.wanted else { return None };
    let declared = |name: &String| request.declared.fields.iter().any(|f| f.name == *name && mapping::is_complete(&f.ty));
    names
        .plain()?
        .iter()
        .all(declared)
        .then(|| Schema::new(request.declared.fields.iter().filter(|f| mapping::is_complete(&f.ty)).cloned().collect()))
}
