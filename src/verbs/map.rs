//! `map`: computes fields.

use super::shared::divided::{PART_NBYTES, by_trial};
use super::verb::{Bound, ChunkParts, Example, Map as MapStep, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::expr::{Program, names_used};
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Computes fields with expressions.
#[derive(clap::Args)]
pub struct Map {
    /// Assignments separated by `;` or newlines: 'y = x * 2; m = reduce_mean(lengths, axis=0)'
    #[arg(value_name = "ASSIGNMENTS")]
    assignments: String,
}

impl Verb for Map {
    const NAME: &'static str = "map";
    const SUMMARY: &'static str = "Compute fields with expressions";
    const ABOUT: &'static str = "\
Each assignment computes a field: a new field is appended, an existing one is replaced, `a.b = ...` assigns inside \
structures (a null structure stays null), and `a = None` deletes a field. Later assignments see the results of earlier ones. Expressions have \
Python's syntax and TensorFlow's functions (see `tatter help functions`); `y, z = f(x)` unpacks several results. Types are \
checked before the first record is read.";
    const MEANING: &'static str = "tf.data.Dataset.map, StructuredTensor.with_updates";
    const COMPUTES: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "twice each value, and the sum of each record",
            args: "map 'y = x * 2; total = reduce_sum(x)'",
            input: "{\"x\":[1,2]}\n{\"x\":[]}\n{\"x\":[5]}\n",
            output: "{\"x\":[1,2],\"y\":[2,4],\"total\":3}\n{\"x\":[],\"y\":[],\"total\":0}\n{\"x\":[5],\"y\":[10],\"total\":5}\n",
        },
        Example {
            about: "the mean of each row",
            args: "map 'm = reduce_mean(rows, axis=1); rows = None'",
            input: "{\"rows\":[[1,2],[3]]}\n{\"rows\":[[4,4,1],[]]}\n",
            output: "{\"m\":[1.5,3.0]}\n{\"m\":[3.0,\"NaN\"]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let program = Program::bind(&self.assignments, schema, options)?;
        Ok(Bound { schema: program.schema().clone(), operator: Operator::Map(Arc::new(Computes { program })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        match names_used(&self.assignments, true) {
            Some(used) => after.and_fields(used.read),
            None => Demand::everything(),
        }
    }
}

struct Computes {
    program: Program,
}

impl MapStep for Computes {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        self.program.apply(chunk)
    }

    fn grows(&self) -> bool {
        self.program.grows()
    }

    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        Ok(Box::new(by_trial(chunk, PART_NBYTES, &|part| self.program.most_nbytes(part)).map(Ok)))
    }
}
