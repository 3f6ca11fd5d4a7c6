//! Strings stored in a feature as indices into a list of names.

use super::features::Span;
use super::mapping::DefaultValues;
use super::values::{Append, ByteValues, Bytes};
use super::wire::{self, Cursor, FeatureKind, Parse, fail};
use crate::error::{Result, mismatch};
use crate::schema::DType;
use crate::tensor::Tensor;
use arrow_buffer::NullBuffer;
use std::sync::Arc;

/// Looks up the names at the indices stored in lists.
pub struct Named {
    names: Arc<[String]>,
    strings: Bytes,
    positions: Vec<i64>,
}

impl Named {
    /// An empty column.
    pub fn new(names: Arc<[String]>) -> Named {
        Named { names, strings: Bytes::new(&DType::String, false), positions: Vec::new() }
    }
}

impl Append for Named {
    type Store = ByteValues;

    fn store(&mut self) -> &mut ByteValues {
        self.strings.store()
    }
    fn reserve(&mut self, _: &[u8], spans: &[Span]) {
        let _ = spans;
    }
    fn append(&mut self, kind: FeatureKind, list: Cursor) -> Parse<()> {
        let at = list.at();
        if kind != FeatureKind::Int64 {
            return fail(at, mismatch("an int64_list", kind.described()));
        }
        self.positions.clear();
        wire::int64s(list, &mut self.positions)?;
        for position in &self.positions {
            let name = usize::try_from(*position).ok().and_then(|position| self.names.get(position));
            let Some(name) = name else {
                return fail(
                    at,
                    format!(
                        "class {position} has no name: there are {} names, numbered from 0; to read numbers, omit --class-names",
                        self.names.len()
                    ),
                );
            };
            self.strings.store().push(name.as_bytes());
        }
        Ok(())
    }
    fn default(&mut self, _: &DefaultValues) {}
    fn finish(self, nulls: Option<NullBuffer>) -> Result<Tensor> {
        self.strings.finish(nulls)
    }
}
