//! Code shared by formats that declare their types: Parquet, Arrow, and files of arrays.
//!
//! - [`adapt`]: adapts the columns of a file to the schema of the run;
//! - [`source`]: a file that threads read at different positions;
//! - [`facts`]: metadata to write, and notices for what is dropped;
//! - [`names`]: columns with the same name; [`wide_integers`]: 128-bit integers;
//! - [`lanes`]: columns that several tasks read together; [`contain`]: containment of decoder panics.

pub(super) mod adapt;
pub(super) mod contain;
pub(super) mod facts;
pub(super) mod lanes;
pub(super) mod names;
pub(super) mod source;
pub(super) mod wide_integers;
