//! The longest prefix of the stream for which a condition is true: shared by `take-while` and `skip-while`.

use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Kind, Result};
use crate::expr::{ScalarExpr, bind_scalar, names_used};
use crate::options::Options;
use crate::schema::Schema;

/// A condition that is evaluated up to the first record for which it is false.
pub struct Prefix {
    condition: ScalarExpr,
}

impl Prefix {
    /// Binds the condition.
    ///
    /// # Errors
    /// The expression is not a bool for each record.
    pub fn bind(text: &str, schema: &Schema, options: &Options) -> Result<Prefix> {
        Ok(Prefix { condition: bind_scalar(text, schema, options)?.into_condition(text)? })
    }

    /// The number of rows before the first for which the condition is false.
    ///
    /// # Errors
    /// The condition cannot be evaluated for a row; whether the row matters is found by passing fewer rows, see
    /// [`crate::verbs::Fold::rejects_as_a_whole`].
    pub fn nrows(&self, chunk: &Chunk) -> Result<usize> {
        // An error of any row is found in fewer rows, also if it does not name its own.
        let of_a_row = |e: Error| if e.location().row.is_none() && e.kind() == Kind::Data { e.at_row(0) } else { e };
        let rows = self.condition.rows_where_true(chunk).map_err(of_a_row)?;
        Ok(rows.iter().zip(0..).take_while(|(row, i)| **row == *i).count())
    }
}

/// The demand of such a verb: the fields of the condition, and an unknown number of records.
pub fn prefix_demand(condition: &str, after: Demand) -> Demand {
    match names_used(condition, false) {
        Some(used) => Demand { records: None, ..after }.and_fields(used.read),
        None => Demand::everything(),
    }
}
