//! What formats that know their types share: Parquet, Arrow, and files of arrays.
//!
//! - [`adapt`]: the columns of a file made to fit the schema of the run;
//! - [`source`]: a file that threads read at different places;
//! - [`facts`]: metadata that is written, and notices for what is not;
//! - [`names`]: columns of one name;
//! - [`contain`]: panics of decoders contained.

pub(super) mod adapt;
pub(super) mod contain;
pub(super) mod facts;
pub(super) mod names;
pub(super) mod source;
