//! Functions, and calls while they are being bound.
//!
//! - [`signature`]: the parameters of a function; [`function`]: a row of the function tables.
//! - [`binding`]: a call, with its arguments matched to the parameters.
//! - [`arguments`]: arguments as tensors, integers, flags, shapes ...
//! - [`integer`]: integers known before the first record, or one per record.
//! - [`coerce`]: operands as tensors of one dtype, without nulls; [`pack`]: lists of tensors as one tensor; [`shape`]:
//!   shapes as tensors; [`dicts`]: dictionaries as structures.
//! - [`known`]: what is known about an operand before the first record; [`fold`]: evaluation of constant calls.
//! - [`subscript`] binds `x[keys]`; [`maps`] binds `m["key"]`.

mod arguments;
mod binding;
mod coerce;
mod dicts;
mod fold;
mod function;
mod integer;
mod known;
mod maps;
mod pack;
mod shape;
mod signature;
mod storage;
mod subscript;

pub use arguments::INDEX_DTYPES;
pub use binding::{Arg, Call, Written};
pub use coerce::{
    NULLS, alike, as_node, cast_node, common, common_moved, computable, index_node, is_of_structures, is_of_times, kept, kept_node,
    moved_node, not_null, present, strict, strict_node, valueless,
};
pub use dicts::{check_name, key_name, key_text, same_keys};
pub use fold::fold;
pub use function::{Function, Meaning};
pub use integer::{Integer, Integers};
pub use known::{dtype_named, dtype_near, positive_axis, static_int, static_ints, static_text};
pub use maps::{as_maps, is_map, map_lookup, map_part};
pub use pack::nth;
pub use shape::shape_vector;
pub use storage::field_of_value;
pub use subscript::{named_fields, subscript};
