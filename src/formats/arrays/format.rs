//! Implements a format on top of a [`Container`].

use super::container::Container;
use super::read::{ArraysReader, constant};
use super::write;
use crate::error::Result;
use crate::formats::format::{Format, Reader, Writer};
use crate::io::Input;
use crate::options::Options;
use crate::schema::arrays::Stacking;
use crate::schema::{Schema, Type};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The format of such files.
pub struct Arrays<C>(pub C);

impl<C: Container> Arrays<C> {
    fn stacked(&self, schema: &Arc<Schema>, stacking: Stacking, options: &Options) -> Result<Box<dyn Writer>> {
        self.0.check_fields(schema)?;
        write::writer(self.0, schema, stacking, options)
    }
}

impl<C: Container> Format for Arrays<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn summary(&self) -> &'static str {
        C::SUMMARY
    }

    fn extensions(&self) -> &'static [&'static str] {
        const { &[C::NAME] }
    }

    fn sniff(&self, head: &[u8]) -> bool {
        C::sniff(head)
    }

    fn reader(&self, input: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(ArraysReader::new(input, C::open))))
    }

    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(self.stacked(schema, Stacking::Records, options))
    }

    fn record_writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        Some(self.stacked(schema, Stacking::One, options))
    }

    fn constant(&self, input: &Input) -> Option<Result<(Type, Tensor)>> {
        Some(constant(input, C::open))
    }

    /// The files are complete only at the end.
    fn needs_file(&self) -> bool {
        true
    }
}
