//! No input: a single record without fields, for expressions that need no file.

use crate::chunk::{Chunk, Decoded, Origin};
use crate::error::{Error, Result};
use crate::formats::format::{Format, Inference, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// `--from none`.
pub struct Nothing;

impl Format for Nothing {
    fn name(&self) -> &'static str {
        "none"
    }

    fn summary(&self) -> &'static str {
        "no file: one record without fields"
    }

    fn reader(&self, _: Arc<Input>, _: &Options) -> Option<Result<Box<dyn Reader>>> {
        Some(Ok(Box::new(OneRecord)))
    }
}

struct OneRecord;

impl Reader for OneRecord {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        match request.declared.fields.first() {
            Some(field) => Err(Error::usage(format!("the record of --from none has no fields, but --schema names {}", field.name))
                .help("map creates fields: tatter map 'x = [1, 2, 3]' --from none")),
            None => Ok(Inference::Known(Schema::default())),
        }
    }

    fn read(&mut self, _: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let nrecords = usize::from(request.records != Some(0));
        Ok(Box::new((0..nrecords).map(|_| {
            let task: Task<Decoded> = Box::new(|| {
                Ok(Decoded {
                    chunk: Chunk::try_new(1, Vec::new(), Origin::of_stream(1))?,
                    faults: Vec::new(),
                    nbytes: 0,
                    offsets: Vec::new(),
                })
            });
            Ok(task)
        })))
    }
}
