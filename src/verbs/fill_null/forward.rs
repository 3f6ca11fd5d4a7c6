//! `fill-null --forward`: the last value of an earlier record.

use crate::chunk::Chunk;
use crate::error::Result;
use crate::options::Options;
use crate::tensor::Tensor;
use crate::verbs::shared::key_table::KeyTable;
use crate::verbs::shared::keys::{KeyField, key_columns};
use crate::verbs::shared::memory::owned;
use crate::verbs::shared::pool::{Pool, RecordId};
use crate::verbs::verb::{Flow, Fold};

/// Replaces nulls with the last value of the records before that have the same key.
pub struct Forward {
    /// The fields of the key. Without any, all records have the same.
    keys: Vec<KeyField>,
    table: KeyTable,
    fields: Vec<Carried>,
}

/// The last values of a field.
struct Carried {
    /// The position of the field.
    position: usize,
    /// By key number: the index of its value among `values`.
    places: Vec<Option<usize>>,
    values: Vec<RecordId>,
    /// Chunks of this field alone.
    pool: Pool,
}

const WAY_OUT: &str = "use fewer --by fields, or a coarser key computed with map";

impl Forward {
    /// Fills the fields at these positions.
    pub fn new(positions: &[usize], keys: Vec<KeyField>, options: &Options) -> Forward {
        let verb = "fill-null --forward";
        let carried = |position: &usize| Carried {
            position: *position,
            places: Vec::new(),
            values: Vec::new(),
            pool: Pool::new(verb, WAY_OUT, options),
        };
        Forward { keys, table: KeyTable::new(verb, WAY_OUT, options), fields: positions.iter().map(carried).collect() }
    }
}

impl Fold for Forward {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let numbers = match self.keys.is_empty() {
            true => vec![0; chunk.nrows],
            false => self.table.insert(&key_columns(&self.keys, &chunk)?)?.numbers,
        };
        let mut columns = chunk.columns.clone();
        for field in &mut self.fields {
            let column = &mut columns[field.position];
            *column = field.filled(chunk.with_columns(vec![column.clone()])?, &numbers, self.table.len().max(1))?;
        }
        out.push(chunk.with_columns(columns)?);
        Ok(Flow::More)
    }
}

impl Carried {
    /// The column of the field, filled, given the key number of each row.
    fn filled(&mut self, alone: Chunk, numbers: &[u32], nkeys: usize) -> Result<Tensor> {
        self.places.resize(nkeys, None);
        let validity = alone.columns[0].validity();
        let part = self.pool.next_part();
        // The places of values in this chunk, which may repeat.
        let mut fresh: Vec<usize> = Vec::new();
        let mut sources: Vec<RecordId> = Vec::with_capacity(alone.nrows);
        let mut is_changed = false;
        for (row, key) in numbers.iter().enumerate() {
            let place = &mut self.places[*key as usize];
            if validity.as_ref().is_some_and(|validity| validity.is_null(row)) {
                is_changed |= place.is_some();
                sources.push(place.map_or((part, row), |place| self.values[place]));
                continue;
            }
            sources.push((part, row));
            let place = *place.get_or_insert(self.values.len());
            match self.values.get_mut(place) {
                Some(value) => *value = (part, row),
                None => self.values.push((part, row)),
            }
            fresh.push(place);
        }
        let filled = if is_changed { self.pool.gather_with(&alone, &sources)? } else { alone.clone() };
        self.hold(&alone, fresh)?;
        filled.columns.into_iter().next().ok_or_else(|| crate::error::Error::internal("a chunk without its column"))
    }

    /// Holds the values of a chunk at these places.
    fn hold(&mut self, alone: &Chunk, mut places: Vec<usize>) -> Result<()> {
        places.sort_unstable();
        places.dedup();
        if places.is_empty() {
            return Ok(());
        }
        let rows: Vec<usize> = places.iter().map(|place| self.values[*place].1).collect();
        self.pool.add(owned(&alone.gather(&rows)?)?)?;
        places.iter().enumerate().for_each(|(row, place)| self.values[*place].1 = row);
        if self.pool.nrows() > self.values.len().saturating_mul(2).saturating_add(64) {
            self.pool.compact(&mut self.values)?;
        }
        Ok(())
    }
}
