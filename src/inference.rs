//! What all parts of an input show of its types, looked at in parallel and put together in order.

use crate::engine::{self, Node, Serial, Source};
use crate::error::{Error, Result};
use crate::formats::{Observed, Task, Tasks};
use std::sync::Arc;

/// A piece of inference: a task, and what it saw.
struct Look {
    task: Option<Task<Box<dyn Observed>>>,
    seen: Option<Result<Box<dyn Observed>>>,
}

/// Puts together what all tasks see.
struct Merge<'a>(&'a mut Option<Result<Box<dyn Observed>>>);

impl Serial<Look> for Merge<'_> {
    fn push(&mut self, look: Look, _: &mut Vec<Look>) -> bool {
        match (self.0.as_mut(), look.seen) {
            (_, None) => true,
            (Some(Ok(all)), Some(Ok(more))) => {
                all.merge(more);
                true
            }
            (None, Some(Ok(first))) => {
                *self.0 = Some(Ok(first));
                true
            }
            (_, Some(Err(error))) => {
                *self.0 = Some(Err(error));
                false
            }
            (Some(Err(_)), _) => false,
        }
    }
}

/// Looks at all parts; `None` of an input without any.
///
/// # Errors
/// The first in the order of the parts.
pub fn observe(mut tasks: Tasks<Box<dyn Observed>>, threads: usize) -> Result<Option<Box<dyn Observed>>> {
    let mut all = None;
    let source: Source<Look> = Box::new(move || {
        tasks.next().map(|task| match task {
            Ok(task) => Look { task: Some(task), seen: None },
            Err(error) => Look { task: None, seen: Some(Err(error)) },
        })
    });
    let look = |mut look: Look| {
        if let Some(task) = look.task.take() {
            look.seen = Some(task());
        }
        look
    };
    let nodes = vec![Node::Parallel(Arc::new(look)), Node::Serial(Box::new(Merge(&mut all)))];
    engine::run(source, nodes, threads).map_err(|panic| Error::internal(format!("{panic}")))?;
    all.transpose()
}
